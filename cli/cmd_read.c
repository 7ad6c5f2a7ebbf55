/* cmd_read.c - profiles of processes that are gone: of a black box, or of a core file.
 *
 *   vitrine read app.box          app.box.heap, app.box.peak.heap, app.box.cpu: what there is
 *   vitrine core core.4711 ./app  core.4711.heap, ...
 *
 * Climate: cli.
 */
#include <math.h>
#include <string.h>

#include "cli/box_files.h"
#include "report/estimate.h"
#include "report/text.h"

#define BEHIND_COLUMNS 12 /* " ±12% in use" */

/* p is in its file already: here its numbers of blocks lose their rounding. */
static void say_written(struct profile *p, enum box_kind kind, const char *path) {
    char number[64], error[ESTIMATE_BYTES];
    bool is_cpu = kind == BOX_CPU;
    uint32_t type = is_cpu ? p->default_type : profile_find_type(p, "inuse_space");
    estimate_errors(p);
    double sum = profile_total(p, type);
    bool is_estimate = *estimate_text(sum, sqrt(profile_total_variance(p, type)), error) != '\0';
    (void)fprintf(stderr, "  %-5s %12s", box_words[kind],
                  table_amount(is_cpu ? "nanoseconds" : "bytes", sum, number, sizeof number));
    int n = fprintf(stderr, "%s%s%s", is_estimate ? " " : "", error, is_cpu ? "" : " in use");
    if (is_estimate) n--; /* ± has two bytes */
    (void)fprintf(stderr, "%*s  %s\n", n < BEHIND_COLUMNS ? BEHIND_COLUMNS - n : 0, "",
                  text_shown(path));
}

static int write_kind(const struct image *m, const struct vt_box *b, enum box_kind kind,
                      const char *prefix, const struct settings *s) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s%s", prefix, box_endings[kind]) >= (int)sizeof path) {
        say_error("'%s': the name is too long", prefix);
        return EXIT_COULD_NOT;
    }
    struct report_error e;
    struct profile *p = box_profile(m, b, kind, &e);
    if (p == NULL) {
        say_error("%s", e.line);
        return EXIT_COULD_NOT;
    }
    int status = box_write(p, path, s);
    if (status == EXIT_FINE) say_written(p, kind, path);
    box_say_notes(p, kind);
    profile_free(p);
    return status;
}

static const char *end_of(const struct vt_box *b) {
    if (b->state == VT_BOX_ENDED) return "which ended by itself";
    if (b->state == VT_BOX_REPLACED) return "which went on with another program (exec)";
    return "which runs, or ended without its exit handlers";
}

static void say_process(const struct image *m, const struct vt_box *b) {
    (void)fprintf(stderr, "vitrine: %s: process %u", text_shown(m->name), b->pid);
    if (m->signal > 0 && m->signal < 65)
        (void)fprintf(stderr, ", signal %d (%s)", m->signal, strsignal(m->signal));
    else if (!m->is_core)
        (void)fprintf(stderr, ", %s", end_of(b));
    (void)fputc('\n', stderr);
}

static int write_all(const struct image *m, const struct vt_box *b, const char *prefix,
                     const struct settings *s) {
    int status = EXIT_FINE;
    unsigned n = 0;
    say_process(m, b);
    for (unsigned kind = 0; kind < BOX_N_KINDS; kind++) {
        if (!box_has(b, (enum box_kind)kind)) continue;
        int one = write_kind(m, b, (enum box_kind)kind, prefix, s);
        n++;
        if (one == EXIT_FINE) continue;
        status = one; /* the others would fail for the same reason */
        break;
    }
    if (n == 0) say_warning("'%s': nothing was recorded: no sample was due yet", m->name);
    return status;
}

/* PREFIX as it was asked for, with the process where there are several; else the file's own name, here. */
static void choose_prefix(const struct settings *s, const char *file, uint32_t pid, bool has_many,
                          char out[PATH_MAX]) {
    const char *slash = strrchr(file, '/');
    if (s->output == NULL)
        (void)snprintf(out, PATH_MAX, "%s", slash ? slash + 1 : file);
    else if (has_many)
        (void)snprintf(out, PATH_MAX, "%s.%u", s->output, pid);
    else
        (void)snprintf(out, PATH_MAX, "%s", s->output);
}

/* Of a core file whose process had a black box. */
static int read_moved(const struct image *core, const struct vt_box *moved, const char *prefix,
                      const struct settings *s) {
    struct image m;
    struct vt_box b;
    struct report_error e;
    char path[IMAGE_PATH];
    if (image_open_moved(core, moved, path, &m, &b, &e) != 0) {
        say_error("%s", e.line);
        return EXIT_COULD_NOT;
    }
    int status = write_all(&m, &b, prefix, s);
    image_close(&m);
    return status;
}

static int read_one(const struct settings *s, const char *file, bool has_many) {
    struct image m;
    struct vt_box b;
    struct report_error e;
    char prefix[PATH_MAX];
    int status = EXIT_COULD_NOT;
    if (image_open(&m, file, s->limit, &e) != 0) {
        say_error("%s", e.line);
        return status;
    }
    if (image_find_box(&m, &b, &e) == 0) {
        choose_prefix(s, file, b.pid, has_many, prefix);
        status = m.is_core && b.state == VT_BOX_MOVED ? read_moved(&m, &b, prefix, s)
                                                      : write_all(&m, &b, prefix, s);
    } else {
        say_error("%s", e.line);
    }
    image_close(&m);
    return status;
}

static int run_read(struct settings *s) {
    int status = EXIT_FINE;
    for (uint32_t i = 0; i < s->n_files; i++) {
        int one = read_one(s, s->files[i], s->n_files > 1);
        if (one != EXIT_FINE) status = one;
    }
    return status;
}

static int run_core(struct settings *s) {
    if (s->n_files > 2) {
        say_error("a core file and its program are all that 'core' takes");
        return EXIT_USAGE;
    }
    if (s->n_files == 2) s->program = s->files[1];
    return read_one(s, s->files[0], /* has_many */ false);
}

#define AT(field) offsetof(struct settings, field)

static const struct option_row options_box[] = {
    {"output", 'o', OPTION_TEXT, AT(output), "PREFIX",
     "write PREFIX.heap, PREFIX.peak.heap, PREFIX.cpu (default: the file's name, here)"},
    {"path", 0, OPTION_LIST, AT(moves), "OLD=NEW",
     "look for binaries below NEW instead of OLD; may be repeated"},
    {"no-symbols", 0, OPTION_FLAG, AT(no_symbols), NULL, "do not look up names"},
    {"limit", 0, OPTION_LIMIT, AT(limit), "SIZE",
     "read so much of what was recorded; 0: all (default: 2G)"},
    {0},
};

const struct command cmd_read = {
    .name = "read",
    .usage = "read [OPTION...] BOX...",
    .summary = "write the profiles that a black box holds, however its process ended",
    .example = "vitrine read -o died app.4711.box",
    .groups = {options_box},
    .min_files = 1,
    .missing = "no black box is given",
    .run = run_read,
};

const struct command cmd_core = {
    .name = "core",
    .usage = "core [OPTION...] CORE [PROGRAM]",
    .summary = "write the profiles that a core file holds: what had the memory when it died",
    .example = "vitrine core core.4711 ./app",
    .groups = {options_box},
    .min_files = 1,
    .missing = "no core file is given",
    .run = run_core,
};
