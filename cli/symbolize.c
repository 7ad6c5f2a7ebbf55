/* symbolize.c - see symbolize.h.
 *
 * A profile.proto has a place for names and is written anew. The text formats and gperftools' CPU profiles keep every byte they
 * have; names follow behind the map of libraries, in lines that google-pprof, jeprof and go tool pprof skip (report/kept_names.h).
 *
 * Climate: cli.
 */
#include "cli/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/terminal.h"
#include "report/intake.h"
#include "report/kept_names.h"

static bool has_unnamed(const struct profile *p) {
    for (uint32_t i = 0; i < p->n_locations; i++)
        if (p->locations[i].n_lines == 0 && p->locations[i].address != 0) return true;
    return false;
}

/* The rest of a file that has some names may be known here. */
static void look_up(struct profile *p, const struct symbols_options *o) {
    for (uint32_t i = 0; i < p->n_mappings; i++) p->mappings[i].has_functions = false;
    symbols_resolve(p, o);
}

static void put_file(const struct profile *p, const struct buffer *bytes, FILE *out) {
    if (p->keeps == KEEPS_NAMES_INSIDE) {
        (void)profile_write_proto(p, out); /* who closes it looks at ferror() */
        return;
    }
    size_t n = kept_names_find(bytes->bytes, bytes->n);
    (void)fwrite(bytes->bytes, 1, n, out);
    if (n > 0 && bytes->bytes[n - 1] != '\n') (void)fputc('\n', out);
    kept_names_write(p, out);
}

/* Who could read the old one can read the new one, and nobody else: `st` is of the file whose bytes were read. */
static void keep_mode(int fd, const struct stat *st) {
    if (st->st_uid != geteuid() || st->st_gid != getegid())
        if (fchown(fd, st->st_uid, st->st_gid) != 0) errno = 0; /* then it is ours */
    (void)fchmod(fd, st->st_mode & 0777);
}

static int write_file(const char *path, const struct profile *p, const struct buffer *bytes,
                      const struct stat *st, struct report_error *e) {
    struct report_error why;
    FILE *out = file_create(path, &why);
    if (out == NULL) return report_fail(e, EIO, "cannot write '%s': %s", path, why.line);
    keep_mode(fileno(out), st);
    put_file(p, bytes, out);
    if (file_finish(out, /* is_wanted */ true, &why) == 0) return 0;
    return report_fail(e, EIO, "cannot write '%s': %s", path, why.line);
}

static int read_file(const char *path, uint64_t max_bytes, struct buffer *bytes, struct stat *st,
                     struct profile **p, struct report_error *e) {
    const struct report_options o = {.max_bytes = max_bytes};
    int error = report_read_raw(path, max_bytes, bytes, st, e);
    if (error != 0) return error;
    error = report_read_bytes(path, bytes->bytes, bytes->n, &o, p, e);
    if (error != 0) return error;
    if ((*p)->keeps == KEEPS_NO_NAMES)
        return report_fail(
            e, ENOTSUP,
            "'%s': is of a kind that has no place for names; 'vitrine convert' makes "
            "a .pb.gz of it",
            path);
    if ((*p)->keeps == KEEPS_NAMES_BEHIND && intake_is_packed(bytes->bytes, bytes->n))
        return report_fail(e, EINVAL, "'%s': is packed text: unpack it first", path);
    return 0;
}

/* The file with its names, if it can have any. The profile goes to *p, also when there is an error; what is to be said of the
 * names are its notes from *n_notes on. */
static int name_file(const struct symbolizing *y, const char *path, struct profile **p,
                     uint32_t *n_notes, struct report_error *e) {
    struct buffer bytes = {0};
    struct stat st;
    int error = read_file(path, y->max_bytes, &bytes, &st, p, e);
    if (error == 0 && has_unnamed(*p)) {
        uint32_t n_before = (*p)->n_lines;
        *n_notes = (*p)->n_notes;
        look_up(*p, &y->options);
        if ((*p)->n_lines > n_before) error = write_file(path, *p, &bytes, &st, e);
    }
    free(bytes.bytes);
    return error;
}

/* What was said of another file is not said again. */
static void say_notes(struct symbolizing *y, const struct profile *p, uint32_t first) {
    for (uint32_t i = first; i < p->n_notes && !y->is_quiet; i++) {
        uint32_t n_before = y->said->n_strings;
        (void)profile_string(y->said, profile_text(p, p->notes[i]));
        if (y->said->n_strings > n_before) say_warning("%s", profile_text(p, p->notes[i]));
    }
}

void symbolize_begin(struct symbolizing *y, const struct settings *s) {
    *y = (struct symbolizing){
        .options = symbols_from(s), .max_bytes = s->limit, .said = profile_new()};
    y->options.cache = symbols_cache_new();
}

bool symbolize_file(struct symbolizing *y, const char *path) {
    struct profile *p = NULL;
    struct report_error e;
    uint32_t n_notes = UINT32_MAX;
    progress_begin();
    int error = name_file(y, path, &p, &n_notes, &e);
    progress_end();
    if (error == -ENOTSUP && y->is_lenient) error = 0;
    if (error != 0) say_error("%s", e.line);
    if (error == 0) say_notes(y, p, n_notes);
    profile_free(p);
    return error == 0;
}

void symbolize_end(struct symbolizing *y) {
    symbols_cache_free(y->options.cache);
    profile_free(y->said);
}
