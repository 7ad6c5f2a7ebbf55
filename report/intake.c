/* intake.c - see intake.h. Climate: cli. */
#include "report/intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define HEAD_BYTES 4 /* tell what it is */

static bool is_gzip(const void *bytes, size_t n) {
    return n >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0;
}

static bool is_zstd(const void *bytes, size_t n) {
    return n >= 4 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0;
}

bool intake_is_packed(const void *bytes, size_t n) {
    return is_gzip(bytes, n) || is_zstd(bytes, n);
}

/* ---- the limit */

static uint64_t limit(uint64_t n_packed, uint64_t max_bytes) {
    if (max_bytes != 0) return max_bytes;
    if (n_packed == 0 || n_packed >= INTAKE_MAX_BYTES / INTAKE_RATIO) return INTAKE_MAX_BYTES;
    uint64_t by_ratio = n_packed * INTAKE_RATIO;
    return by_ratio > INTAKE_FREE_BYTES ? by_ratio : INTAKE_FREE_BYTES;
}

bool intake_is_too_much(uint64_t n_bytes, uint64_t n_packed, uint64_t max_bytes) {
    return n_bytes > limit(n_packed, max_bytes);
}

uint64_t intake_max_frames(uint64_t n_bytes, uint64_t max_bytes) {
    const uint64_t most = INTAKE_MAX_BYTES / sizeof(uint32_t);
    if (max_bytes == INTAKE_ANY) return UINT64_MAX;
    uint64_t n = n_bytes < most / INTAKE_FRAMES_RATIO ? n_bytes * INTAKE_FRAMES_RATIO : most;
    if (n < INTAKE_FREE_FRAMES) n = INTAKE_FREE_FRAMES;
    return max_bytes / sizeof(uint32_t) > n ? max_bytes / sizeof(uint32_t) : n;
}

static bool is_too_much(const struct intake *in) {
    return intake_is_too_much(in->out.n, in->n_packed, in->max_bytes) ||
           intake_is_too_much(in->n_packed, 0, in->max_bytes);
}

static int too_much(const struct intake *in, struct report_error *e) {
    uint64_t most = limit(in->n_packed, in->max_bytes);
    bool is_in_mib = most >= 1 << 20;
    unsigned long long n = is_in_mib ? most >> 20 : most;
    const char *unit = is_in_mib ? "MiB" : "bytes";
    if (in->kind <= INTAKE_PLAIN || in->n_packed > in->out.n)
        return report_fail(e, EFBIG, "'%s': has more than %llu %s; --limit=SIZE reads more",
                           in->name, n, unit);
    return report_fail(
        e, EFBIG, "'%s': its first %llu bytes unpack to more than %llu %s; --limit=SIZE reads more",
        in->name, (unsigned long long)in->n_packed, n, unit);
}

/* ---- kinds */

static void take_plain(struct intake *in, const void *bytes, size_t n) {
    buffer_room(&in->out, n);
    if (n > 0) memcpy(in->out.bytes + in->out.n, bytes, n);
    in->out.n += n;
}

static int damaged(const struct intake *in, const char *how, struct report_error *e) {
    return report_fail(e, EINVAL, "'%s': is a %s file that %s", in->name,
                       in->kind == INTAKE_GZIP ? "gzip" : "zstd", how);
}

static int take_gzip(struct intake *in, const void *bytes, size_t n, struct report_error *e) {
    z_stream *z = in->stream;
    z->next_in = (Bytef *)bytes;
    z->avail_in = (uInt)n;
    do {
        buffer_room(&in->out, BUFFER_STEP);
        z->next_out = (Bytef *)in->out.bytes + in->out.n;
        z->avail_out = (uInt)BUFFER_STEP;
        uInt n_before = z->avail_in;
        int status = in->is_whole && n_before > 0 ? inflateReset(z) : Z_OK; /* another member */
        if (n_before > 0) in->is_whole = false;
        if (status == Z_OK) status = inflate(z, Z_NO_FLUSH);
        in->out.n += BUFFER_STEP - z->avail_out;
        in->n_packed += n_before - z->avail_in;
        if (status == Z_STREAM_END)
            in->is_whole = true;
        else if (status != Z_OK && status != Z_BUF_ERROR)
            return damaged(in, "is damaged", e);
        if (is_too_much(in)) return too_much(in, e);
    } while (z->avail_in > 0 || (z->avail_out == 0 && !in->is_whole));
    return 0;
}

static int take_zstd(struct intake *in, const void *bytes, size_t n, struct report_error *e) {
    ZSTD_inBuffer from = {bytes, n, 0};
    ZSTD_outBuffer to;
    do {
        size_t before = from.pos;
        buffer_room(&in->out, BUFFER_STEP);
        to = (ZSTD_outBuffer){in->out.bytes + in->out.n, BUFFER_STEP, 0};
        size_t status = ZSTD_decompressStream(in->stream, &to, &from);
        in->out.n += to.pos;
        in->n_packed += from.pos - before;
        if (ZSTD_isError(status))
            return damaged(in,
                           ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge
                               ? "wants a window of more than 128 MiB (--long)"
                               : "is damaged",
                           e);
        in->is_whole = status == 0;
        if (is_too_much(in)) return too_much(in, e);
    } while (from.pos < from.size || (to.pos == to.size && !in->is_whole));
    return 0;
}

/* ---- the door */

static bool open_stream(struct intake *in) {
    if (in->kind == INTAKE_ZSTD) {
        in->stream = ZSTD_createDStream(); /* takes windows of up to 128 MiB */
    } else {
        in->stream = report_alloc(sizeof(z_stream));
        if (inflateInit2((z_stream *)in->stream, /* gzip only */ 16 + MAX_WBITS) != Z_OK) {
            free(in->stream);
            in->stream = NULL;
        }
    }
    return in->stream != NULL;
}

static int take(struct intake *in, const void *bytes, size_t n, struct report_error *e) {
    if (in->kind == INTAKE_GZIP) return take_gzip(in, bytes, n, e);
    if (in->kind == INTAKE_ZSTD) return take_zstd(in, bytes, n, e);
    take_plain(in, bytes, n);
    return is_too_much(in) ? too_much(in, e) : 0;
}

/* What came so far tells the kind; of a packed one it goes through the stream. */
static int tell_kind(struct intake *in, struct report_error *e) {
    char head[HEAD_BYTES];
    size_t n = in->out.n;
    in->kind = INTAKE_PLAIN;
    if (in->keeps_packed || !intake_is_packed(in->out.bytes, n)) return 0;
    in->kind = is_zstd(in->out.bytes, n) ? INTAKE_ZSTD : INTAKE_GZIP;
    memcpy(head, in->out.bytes, n);
    in->out.n = 0;
    if (!open_stream(in)) return report_fail(e, ENOMEM, "'%s': cannot unpack", in->name);
    return take(in, head, n, e);
}

int intake_take(struct intake *in, const void *bytes, size_t n, struct report_error *e) {
    const char *at = bytes;
    while (n > 0) {
        bool is_head = in->kind == INTAKE_UNTOLD;
        size_t most = is_head ? HEAD_BYTES - in->out.n : BUFFER_STEP, piece = n < most ? n : most;
        int error = take(in, at, piece, e);
        if (error == 0 && is_head && in->out.n == HEAD_BYTES) error = tell_kind(in, e);
        if (error != 0) return error;
        at += piece;
        n -= piece;
    }
    return 0;
}

int intake_end(struct intake *in, struct report_error *e) {
    int error = in->kind == INTAKE_UNTOLD ? tell_kind(in, e) : 0;
    if (error == 0 && in->kind > INTAKE_PLAIN && !in->is_whole)
        error = damaged(in, "is truncated", e);
    return error;
}

void intake_free(struct intake *in) {
    if (in->stream && in->kind == INTAKE_GZIP) {
        (void)inflateEnd(in->stream);
        free(in->stream);
    }
    if (in->stream && in->kind == INTAKE_ZSTD) (void)ZSTD_freeDStream(in->stream);
    free(in->out.bytes);
    *in = (struct intake){.name = in->name};
}
