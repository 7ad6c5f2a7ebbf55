/* remote.c - profiles that a running process serves: fetched, named by the server, and kept where the old tools kept
 * them.
 *
 *   ~/pprof/app.1700000000.localhost:9002.pprof.heap
 *
 * Climate: cli.
 */
#include "report/remote.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/command.h"
#include "report/read.h"
#include "report/text.h"

#define DEFAULT_SECONDS 30

bool load_is_remote(const char *name) {
    struct stat st;
    return strcmp(name, "-") != 0 && stat(name, &st) != 0 && remote_is_url(name);
}

/* The name under which the profile is kept, malloc'ed. */
static char *kept_name(const struct settings *s, const struct remote *r) {
    const char *program = s->program ? s->program : s->remote_program;
    const char *slash = strrchr(program, '/');
    char *path = NULL, *begin;
    program = slash ? slash + 1 : program;
    if (asprintf(&path, "%s/%s.%lld.%s", s->save_folder, *program ? text_shown(program) : "unknown",
                 (long long)time(NULL), r->host) < 0)
        report_no_memory();
    if (r->n_seconds == 0) { /* the page, with points for slashes */
        char *longer = NULL;
        if (asprintf(&longer, "%s%s", path, r->service) < 0) report_no_memory();
        for (begin = longer + strlen(path); *begin; begin++)
            if (*begin == '/') *begin = '.';
        free(path);
        path = longer;
    }
    return path;
}

static void tell_begin(const struct remote *r, const char *file) {
    if (r->n_seconds > 0)
        (void)fprintf(stderr,
                      "Gathering CPU profile from %s for %u seconds to\n  %s\nBe patient...\n",
                      text_shown(r->url), r->n_seconds, text_shown(file));
    else
        (void)fprintf(stderr, "Fetching %s profile from %s to\n  %s\n", r->service,
                      text_shown(r->url), text_shown(file));
}

static void keep(struct settings *s, char *file, const struct buffer *b) {
    struct report_error e;
    FILE *out = folder_make(s->save_folder, &e) ? file_create(file, &e) : NULL;
    if (out != NULL && b->n > 0) (void)fwrite(b->bytes, b->n, 1, out);
    if (out != NULL && file_finish(out, /* is_wanted */ true, &e) == 0) {
        (void)fprintf(stderr, "Wrote profile to %s\n", text_shown(file));
        free(s->saved);
        s->saved = file;
        return;
    }
    say_warning("cannot keep the profile as '%s': %s", file, e.line);
    free(file);
}

/* A name becomes part of a file's and of a command that can be pasted: what a shell would obey is '_'. */
static void make_plain(char *name) {
    static const char plain[] = "_./+@,:=~%-";
    for (char *c = name; *c; c++) {
        bool is_plain = isalnum((unsigned char)*c) || (unsigned char)*c >= 0x80 ||
                        (strchr(plain, *c) && !(c == name && *c == '-'));
        if (!is_plain) *c = '_';
    }
}

/* What is known of the program, for titles and the name of the kept file. */
static int ask_program(struct settings *s, const struct remote *r, struct report_error *e) {
    char program[1024];
    if (s->remote_program) return 0;
    int error = remote_program(r, program, sizeof program, e);
    make_plain(program);
    if (error == 0) s->remote_program = report_copy(program, strlen(program));
    return error;
}

struct profile *load_remote(struct settings *s, const char *url, struct report_error *e) {
    struct report_options o = report_options_from(s);
    struct intake in = {.max_bytes = s->limit, .keeps_packed = s->save_folder != NULL};
    struct remote r;
    struct profile *p = NULL;
    char *file = NULL;
    if (remote_parse(url, s->n_seconds ? s->n_seconds : DEFAULT_SECONDS, &r, e) != 0) return NULL;
    if (s->timeout_s) r.deadline_ms = remote_now_ms() + (uint64_t)s->timeout_s * 1000;
    r.max_bytes = s->limit;
    r.tls = s->tls;
    if ((s->program == NULL || s->save_folder) && ask_program(s, &r, e) != 0) return NULL;
    if (s->save_folder) {
        file = kept_name(s, &r);
        tell_begin(&r, file);
    } else if (r.n_seconds > 0) {
        (void)fprintf(stderr, "%s: '%s' takes %u seconds\n", said_by, text_shown(r.url),
                      r.n_seconds);
    }
    in.name = r.url;
    if (remote_fetch(&r, &in, e) == 0) {
        if (file) keep(s, file, &in.out);
        file = NULL;
        (void)(in.keeps_packed ? report_read_bytes : report_read_unpacked)(r.url, in.out.bytes,
                                                                           in.out.n, &o, &p, e);
    }
    free(file);
    intake_free(&in);
    if (p != NULL && s->program == NULL && !s->no_symbols) {
        struct report_error why;
        if (remote_symbolize(&r, s->symbol_query ? s->symbol_query : "", p, &why) != 0)
            profile_note(p, "no names from the server: %s", why.line);
    }
    return p;
}
