/* unpack.c - gzip and zstd. See buffer.h. Climate: cli. */
#include "report/buffer.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define MAX_BYTES ((size_t)1 << 34) /* a file that unpacks to more is not a profile */

static bool is_gzip(const void *bytes, size_t n) {
    return n >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0;
}

static bool is_zstd(const void *bytes, size_t n) {
    return n >= 4 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0;
}

bool unpack_is_packed(const void *bytes, size_t n) {
    return is_gzip(bytes, n) || is_zstd(bytes, n);
}

static int too_much(const char *name, struct report_error *e) {
    return report_fail(e, EFBIG, "'%s': unpacks to too much to be a profile", name);
}

static int unpack_gzip(const char *name, const void *packed, size_t n, struct buffer *b,
                       struct report_error *e) {
    z_stream z = {.next_in = (Bytef *)packed};
    size_t left = n;
    int status = inflateInit2(&z, /* gzip only */ 16 + MAX_WBITS);
    if (status != Z_OK) return report_fail(e, ENOMEM, "'%s': cannot unpack", name);
    do {
        if (z.avail_in == 0) {
            z.avail_in = left > BUFFER_STEP ? (uInt)BUFFER_STEP : (uInt)left;
            left -= z.avail_in;
        }
        buffer_room(b, BUFFER_STEP);
        z.next_out = (Bytef *)b->bytes + b->n;
        z.avail_out = (uInt)BUFFER_STEP;
        status = inflate(&z, Z_NO_FLUSH);
        b->n += BUFFER_STEP - z.avail_out;
        if (status == Z_STREAM_END && (left > 0 || z.avail_in > 0)) status = inflateReset(&z);
    } while (status == Z_OK && b->n < MAX_BYTES);
    (void)inflateEnd(&z);
    if (b->n >= MAX_BYTES) return too_much(name, e);
    if (status == Z_STREAM_END) return 0;
    return report_fail(e, EINVAL, "'%s': is a gzip file that is %s", name,
                       status == Z_BUF_ERROR ? "cut" : "damaged");
}

static int unpack_zstd(const char *name, const void *packed, size_t n, struct buffer *b,
                       struct report_error *e) {
    ZSTD_DStream *z = ZSTD_createDStream();
    ZSTD_inBuffer in = {packed, n, 0};
    size_t status = 1; /* bytes that the frame still wants; 0 at its end */
    if (z == NULL) return report_fail(e, ENOMEM, "'%s': cannot unpack", name);
    for (;;) {
        buffer_room(b, BUFFER_STEP);
        ZSTD_outBuffer out = {b->bytes + b->n, BUFFER_STEP, 0};
        status = ZSTD_decompressStream(z, &out, &in);
        b->n += out.pos;
        if (ZSTD_isError(status) || b->n >= MAX_BYTES) break;
        if (in.pos == in.size && (status == 0 || out.pos < out.size)) break; /* no more comes */
    }
    (void)ZSTD_freeDStream(z);
    if (b->n >= MAX_BYTES) return too_much(name, e);
    if (status == 0) return 0;
    return report_fail(e, EINVAL, "'%s': is a zstd file that is %s", name,
                       ZSTD_isError(status) ? "damaged" : "cut");
}

int unpack(const char *name, const void *packed, size_t n, struct buffer *b,
           struct report_error *e) {
    return is_zstd(packed, n) ? unpack_zstd(name, packed, n, b, e)
                              : unpack_gzip(name, packed, n, b, e);
}
