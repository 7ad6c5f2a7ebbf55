/* read.c - opening a file, unpacking it, and finding the reader that knows it. See read.h.
 *
 *   bytes --unpack--> bytes --which reader knows them?--> read_*.c --> profile
 *
 * Climate: cli.
 */
#include "report/progress.h"
#include "report/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/buffer.h"

/* Those that are told by a word first; collapsed stacks, which nearly any text could be, last. */
static const struct reader *const readers[] = {
    &reader_heap,  &reader_jemalloc, &reader_contention, &reader_symbolized, &reader_cpu,
    &reader_proto, &reader_perf,     &reader_heaptrack,  &reader_collapsed,  NULL,
};

const struct reader *reader_find(const struct input *in) {
    for (unsigned i = 0; readers[i]; i++)
        if (readers[i]->knows(in)) return readers[i];
    return NULL;
}

/* ---- what it is instead */

static bool is_text(const struct input *in) {
    for (const char *c = in->at; c < in->end && c < in->at + 512; c++)
        if ((unsigned char)*c < ' ' && strchr("\t\r\n\f", *c) == NULL) return false;
    return true;
}

/* For the message about a file that no reader knows. */
static const char *what_instead(const struct input *in) {
    struct span_text s = {in->at, in->end};
    while (s.at < s.end && (*s.at == ' ' || *s.at == '\n' || *s.at == '\r' || *s.at == '\t'))
        s.at++;
    if (s.at == s.end) return "holds only blanks";
    if (span_starts(s, "\177ELF")) return "is a program or library, not a profile";
    if (span_starts(s, "PERFILE2"))
        return "is perf's own file; give the output of 'perf script' instead";
    if (span_starts(s, "<!") || span_starts(s, "<html") || span_starts(s, "<HTML"))
        return "is a web page, not a profile: perhaps a server's error message";
    if (unpack_is_packed(s.at, (size_t)(s.end - s.at))) return "is packed twice";
    if (span_starts(s, "%PDF") || span_starts(s, "\x89PNG")) return "is a picture, not a profile";
    return is_text(in) ? "is text, but of no kind of profile that is known"
                       : "is no kind of profile that is known";
}

/* ---- bytes */

static int read_descriptor(int fd, const char *name, struct buffer *b, struct report_error *e) {
    struct stat st;
    uint64_t n_all = 0;
    if (fstat(fd, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return report_fail(e, EISDIR, "'%s': is a directory, not a profile", name);
        if (S_ISREG(st.st_mode) && st.st_size > 0) buffer_room(b, (size_t)st.st_size + 1);
        if (S_ISREG(st.st_mode)) n_all = (uint64_t)st.st_size;
    }
    for (;;) {
        if (b->cap == b->n) buffer_room(b, BUFFER_STEP);
        ssize_t got = read(fd, b->bytes + b->n, b->cap - b->n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return report_fail(e, errno, "'%s': cannot read: %s", name, strerror(errno));
        if (got == 0) return 0;
        b->n += (size_t)got;
        progress("reading", name, b->n, n_all);
    }
}

static int read_file(const char *path, struct buffer *b, struct report_error *e) {
    if (strcmp(path, "-") == 0) return read_descriptor(0, "standard input", b, e);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return report_fail(e, errno, "'%s': cannot open: %s", path, strerror(errno));
    int error = read_descriptor(fd, path, b, e);
    (void)close(fd);
    return error;
}

/* ---- the door */

/* Lines of warnings that a server put in front: "%warn text" is for the user; others are told and skipped. */
static void read_remarks(struct input *in) {
    while (in->at < in->end && *in->at == '%' && !span_starts(input_peek_line(in), "%PDF")) {
        struct span_text line = input_line(in);
        if (!span_take(&line, "%warn")) {
            profile_note(in->profile, "'%s': a line that nobody knows is skipped: %.*s", in->name,
                         span_shown(line), line.at);
            continue;
        }
        span_blanks(&line);
        profile_note(in->profile, "'%s': %.*s", in->name, span_shown(line), line.at);
    }
}

static int read_known(struct input *in) {
    read_remarks(in);
    if (in->at == in->end) return input_fail(in, "is empty");
    const struct reader *reader = reader_find(in);
    if (reader == NULL) return input_fail(in, "%s", what_instead(in));
    int error = reader->read(in);
    if (error == 0 && in->profile->n_samples == 0)
        profile_note(in->profile, "'%s': is a %s without samples", in->name, reader->kind);
    return error;
}

int report_read_bytes(const char *name, const void *bytes, size_t n,
                      const struct report_options *options, struct profile **result,
                      struct report_error *e) {
    struct buffer unpacked = {0};
    *result = NULL;
    if (unpack_is_packed(bytes, n)) {
        int error = unpack(name, bytes, n, &unpacked, e);
        if (error != 0) {
            free(unpacked.bytes);
            return error;
        }
        bytes = unpacked.bytes;
        n = unpacked.n;
    }
    if (n == 0) bytes = "";
    struct input in = {.name = name,
                       .at = bytes,
                       .begin = bytes,
                       .end = (const char *)bytes + n,
                       .options = options,
                       .profile = profile_new(),
                       .error = e};
    int error = read_known(&in);
    free(in.frames);
    free(unpacked.bytes);
    if (error == 0)
        *result = in.profile;
    else
        profile_free(in.profile);
    return error;
}

int report_read(const char *path, const struct report_options *options, struct profile **result,
                struct report_error *e) {
    struct buffer b = {0};
    *result = NULL;
    int error = read_file(path, &b, e);
    if (error == 0)
        error = report_read_bytes(strcmp(path, "-") == 0 ? "standard input" : path, b.bytes, b.n,
                                  options, result, e);
    free(b.bytes);
    return error;
}

int report_read_addresses(const char *path, struct profile **result, struct report_error *e) {
    struct buffer b = {0};
    const double one = 1;
    *result = NULL;
    int error = read_file(path, &b, e);
    if (error == 0) {
        const char *begin = b.n ? b.bytes : "";
        struct input in = {.name = path,
                           .at = begin,
                           .begin = begin,
                           .end = begin + b.n,
                           .profile = profile_new(),
                           .error = e};
        (void)profile_add_type(in.profile, "addresses", "count");
        while (!input_is_done(&in)) {
            struct span_text line = input_line(&in);
            uint64_t address;
            span_blanks(&line);
            if (span_starts(line, "0x") && span_hex(&line, &address)) frames_add(&in, address, 0);
        }
        frames_sample(&in, &one);
        in.at = begin;
        input_read_maps(&in);
        free(in.frames);
        *result = in.profile;
    }
    free(b.bytes);
    return error;
}

bool report_is_program(const char *path) {
    char magic[4] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool is_elf = read(fd, magic, 4) == 4 && memcmp(magic, "\177ELF", 4) == 0;
    (void)close(fd);
    return is_elf;
}
