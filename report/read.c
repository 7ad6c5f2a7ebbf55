/* read.c - opening a file, unpacking it, and finding the reader that knows it. See read.h.
 *
 *   bytes --intake.c--> bytes --which reader knows them?--> read_*.c --> profile
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

#include "report/estimate.h"
#include "report/intake.h"
#include "report/regular.h"

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
    if (intake_is_packed(s.at, (size_t)(s.end - s.at))) return "is packed twice";
    if (span_starts(s, "%PDF") || span_starts(s, "\x89PNG")) return "is a picture, not a profile";
    return is_text(in) ? "is text, but of no kind of profile that is known"
                       : "is no kind of profile that is known";
}

/* ---- bytes */

/* In pieces, so that what is packed is not held besides what comes of it. */
static int read_descriptor(int fd, struct intake *in, struct report_error *e) {
    struct stat st;
    uint64_t n_all = 0, n_read = 0;
    if (fstat(fd, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return report_fail(e, EISDIR, "'%s': is a directory, not a profile", in->name);
        if (S_ISREG(st.st_mode)) n_all = (uint64_t)st.st_size;
    }
    char *piece = report_resize(NULL, BUFFER_STEP);
    int error = 0;
    while (error == 0) {
        ssize_t got = read(fd, piece, BUFFER_STEP);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            error = report_fail(e, errno, "'%s': cannot read: %s", in->name, strerror(errno));
        if (got <= 0) break;
        error = intake_take(in, piece, (size_t)got, e);
        n_read += (uint64_t)got;
        progress("reading", in->name, n_read, n_all);
    }
    free(piece);
    return error ? error : intake_end(in, e);
}

static int read_file(const char *path, struct intake *in, struct report_error *e) {
    if (strcmp(path, "-") == 0) {
        in->name = "standard input";
        return read_descriptor(0, in, e);
    }
    in->name = path;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return report_fail(e, errno, "'%s': cannot open: %s", path, strerror(errno));
    int error = read_descriptor(fd, in, e);
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
    in->profile->keeps = reader->keeps;
    kept_names_apply(&in->names, in->profile);
    bool may_be_empty = in->options != NULL && in->options->may_be_empty;
    if (error == 0 && in->profile->n_samples == 0 && !may_be_empty)
        profile_note(in->profile, "'%s': is a %s without samples", in->name, reader->kind);
    return error;
}

static uint64_t limit_of(const struct report_options *options) {
    return options ? options->max_bytes : 0;
}

int report_read_unpacked(const char *name, const void *bytes, size_t n,
                         const struct report_options *options, struct profile **result,
                         struct report_error *e) {
    *result = NULL;
    if (n == 0) bytes = "";
    struct input in = {.name = name,
                       .at = bytes,
                       .begin = bytes,
                       .end = (const char *)bytes + n,
                       .options = options,
                       .profile = profile_new(),
                       .error = e};
    in.profile->max_frames = intake_max_frames(n, limit_of(options));
    int error = read_known(&in);
    free(in.frames);
    if (error == 0) {
        estimate_errors(in.profile);
        *result = in.profile;
    } else {
        profile_free(in.profile);
    }
    return error;
}

int report_read_bytes(const char *name, const void *bytes, size_t n,
                      const struct report_options *options, struct profile **result,
                      struct report_error *e) {
    struct intake in = {.name = name, .max_bytes = limit_of(options)};
    *result = NULL;
    if (!intake_is_packed(bytes, n))
        return report_read_unpacked(name, bytes, n, options, result, e);
    int error = intake_take(&in, bytes, n, e);
    if (error == 0) error = intake_end(&in, e);
    if (error == 0) error = report_read_unpacked(name, in.out.bytes, in.out.n, options, result, e);
    intake_free(&in);
    return error;
}

int report_read(const char *path, const struct report_options *options, struct profile **result,
                struct report_error *e) {
    struct intake in = {.max_bytes = limit_of(options)};
    *result = NULL;
    int error = read_file(path, &in, e);
    if (error == 0)
        error = report_read_unpacked(in.name, in.out.bytes, in.out.n, options, result, e);
    intake_free(&in);
    return error;
}

int report_read_raw(const char *path, uint64_t max_bytes, struct buffer *out, struct stat *st,
                    struct report_error *e) {
    struct intake in = {.name = path, .max_bytes = max_bytes, .keeps_packed = true};
    *out = (struct buffer){0};
    int fd = regular_open(path);
    if (fd < 0)
        return report_fail(e, -fd, "'%s': %s%s", path,
                           fd == -EINVAL ? "is no ordinary file" : "cannot open: ",
                           fd == -EINVAL ? "" : strerror(-fd));
    int error = fstat(fd, st) == 0 ? read_descriptor(fd, &in, e)
                                   : report_fail(e, errno, "'%s': %s", path, strerror(errno));
    (void)close(fd);
    if (error == 0) {
        *out = in.out;
        in.out = (struct buffer){0};
    }
    intake_free(&in);
    return error;
}

int report_read_addresses(const char *path, uint64_t max_bytes, struct profile **result,
                          struct report_error *e) {
    struct intake taken = {.max_bytes = max_bytes};
    const double one = 1;
    *result = NULL;
    int error = read_file(path, &taken, e);
    if (error == 0) {
        const char *begin = taken.out.n ? taken.out.bytes : "";
        struct input in = {.name = path,
                           .at = begin,
                           .begin = begin,
                           .end = begin + taken.out.n,
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
        kept_names_apply(&in.names, in.profile);
        free(in.frames);
        *result = in.profile;
    }
    intake_free(&taken);
    return error;
}

bool report_is_program(const char *path) {
    char magic[4] = "";
    int fd = regular_open(path); /* a pipe would lose its first bytes */
    if (fd < 0) return false;
    bool is_elf = read(fd, magic, 4) == 4 && memcmp(magic, "\177ELF", 4) == 0;
    (void)close(fd);
    return is_elf;
}
