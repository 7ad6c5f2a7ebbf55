/* load.c - what commands have in common: messages, reading what was named, the view, the output.
 * Climate: cli.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/terminal.h"
#include "report/estimate.h"
#include "report/label_frames.h"
#include "report/read.h"
#include "report/regular.h"
#include "report/symbols.h"
#include "report/text.h"

/* ---- messages */

const char *said_by = "vitrine";

static void say(const char *how, const char *format, va_list ap) {
    (void)fflush(stdout);
    progress_end();
    char *line = NULL;
    if (vasprintf(&line, format, ap) < 0) report_no_memory();
    (void)fprintf(stderr, "%s: %s: %s\n", said_by, how, text_shown(line));
    free(line);
}

void say_error(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    say("error", format, ap);
    va_end(ap);
}

void say_warning(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    say("warning", format, ap);
    va_end(ap);
}

/* ---- reading */

/* ELF files among the arguments: the first is the program, unless the only files are programs. */
static bool take_program(struct settings *s) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_files; i++) {
        if (strcmp(s->files[i], "-") == 0 || !report_is_program(s->files[i])) {
            s->files[n++] = s->files[i];
        } else if (s->program == NULL) {
            s->program = s->files[i];
        } else {
            say_error("two programs: '%s' and '%s'", s->program, s->files[i]);
            return false;
        }
    }
    s->n_files = n;
    if (n > 0) return true;
    say_error("'%s' is a program or library, not a profile: give the profile after it", s->program);
    return false;
}

/* Each type of p is scaled to the total that it has in `base`. */
static void scale_to(struct profile *p, const struct profile *base) {
    for (uint32_t t = 0; t < p->n_types; t++) {
        uint32_t same = profile_find_type(base, profile_text(p, p->types[t].name));
        double total = profile_total(p, t);
        if (same == PROFILE_NONE || total == 0) continue;
        profile_scale(p, t, profile_total(base, same) / total);
    }
}

static bool merge(struct profile *p, const struct profile *more, const char *path, double factor) {
    if (profile_merge(p, more, factor) == 0) return true;
    say_error("'%s' has %s, the others have %s: they cannot be put together", path,
              profile_text(more, more->types[more->default_type].name),
              profile_text(p, p->types[p->default_type].name));
    return false;
}

struct report_options report_options_from(const struct settings *s) {
    return (struct report_options){.thread = s->thread,
                                   .is_by_thread = s->is_by_thread,
                                   .keeps_handler = s->keeps_handler,
                                   .max_bytes = s->limit,
                                   .may_be_empty = s->may_be_empty};
}

void say_gaps(const struct profile *p, const char *path) {
    const char *gap;
    for (uint32_t i = 0; (gap = profile_gap(p, i)) != NULL; i++)
        say_warning("'%s' is incomplete: %s", path, gap);
}

/* Adds the file to *p, which is NULL for the first one. */
static bool read_into(struct settings *s, struct profile **p, const char *path) {
    struct report_options o = report_options_from(s);
    struct report_error e;
    struct profile *more = NULL;
    if (load_is_remote(path))
        more = load_remote(s, path, &e);
    else
        (void)report_read(path, &o, &more, &e);
    if (more == NULL) {
        say_error("%s", e.line);
        return false;
    }
    if (!s->has_told_gaps) say_gaps(more, path);
    if (*p == NULL) {
        *p = more;
        return true;
    }
    bool is_good = merge(*p, more, path, 1);
    profile_free(more);
    return is_good;
}

/* What shares of the difference are of. */
static void set_base_totals(struct profile *p, const struct profile *base) {
    p->base_totals = report_alloc(p->n_types * sizeof *p->base_totals);
    for (uint32_t t = 0; t < p->n_types; t++) {
        uint32_t same = profile_find_type(base, profile_text(p, p->types[t].name));
        for (uint32_t i = 0; same != PROFILE_NONE && i < base->n_samples; i++)
            p->base_totals[t] += fabs(base->values[(size_t)i * base->n_types + same]);
    }
}

/* ---- two builds */

static bool has_location(const struct profile *p, uint32_t mapping, bool is_named) {
    for (uint32_t i = 0; i < p->n_locations; i++)
        if (p->locations[i].mapping == mapping && (p->locations[i].n_lines > 0) == is_named)
            return true;
    return false;
}

static bool has_no_names(const struct profile *p, uint32_t mapping) {
    return has_location(p, mapping, false) && !has_location(p, mapping, true);
}

static bool is_other_build(const struct profile *p, uint32_t mapping, const struct profile *base,
                           uint32_t of_base) {
    const struct profile_mapping *m = &p->mappings[mapping], *b = &base->mappings[of_base];
    const char *file = profile_text(p, m->file), *other = profile_text(base, b->file);
    const char *name = strrchr(file, '/'), *other_name = strrchr(other, '/');
    return m->build_id && b->build_id && name && other_name && strcmp(name, other_name) == 0 &&
           strcmp(profile_text(p, m->build_id), profile_text(base, b->build_id)) != 0;
}

/* What was said of a file that is not the one that ran; one line about it suffices. */
static void drop_notes(struct profile *p, uint32_t mapping) {
    const char *file = profile_text(p, p->mappings[mapping].file);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_notes; i++)
        if (strstr(profile_text(p, p->notes[i]), file) == NULL) p->notes[n++] = p->notes[i];
    p->n_notes = n;
}

static void note_nameless(struct profile *p, uint32_t mapping, const char *path) {
    char file[512];
    (void)snprintf(file, sizeof file, "%s", profile_text(p, p->mappings[mapping].file));
    drop_notes(p, mapping);
    profile_note(
        p,
        "'%s' is of another build of '%s', and has no names: functions of the two cannot be "
        "matched; 'vitrine symbolize' stores names while the program is there",
        path, file);
}

/* Functions of two builds meet by their names. Where a side has none, somebody must know. */
static void note_builds(struct profile *p, const char *path, struct profile *base,
                        const char *base_path) {
    for (uint32_t i = 0; i < p->n_mappings; i++)
        for (uint32_t k = 0; k < base->n_mappings; k++) {
            if (!is_other_build(p, i, base, k)) continue;
            if (has_no_names(base, k)) note_nameless(base, k, base_path);
            if (has_no_names(p, i)) note_nameless(p, i, path);
        }
}

/* The bases, added up, have their names looked up by themselves: they may be of another build at the same path. */
static bool subtract(struct settings *s, struct profile *p) {
    struct symbols_options so = symbols_from(s);
    struct profile *base = NULL;
    bool is_good = true;
    for (const char *const *b = s->bases; is_good && *b; b++) is_good = read_into(s, &base, *b);
    if (is_good && base) {
        if (!s->no_symbols) symbols_resolve(base, &so);
        if (!s->no_symbols) note_builds(p, s->files[0], base, s->bases[0]);
        if (s->normalizes) scale_to(p, base);
        if (s->of && strcmp(s->of, "base") == 0) set_base_totals(p, base);
        bool is_one_run = !s->normalizes && estimate_is_one_run(p, base);
        bool is_later = p->duration_ns >= base->duration_ns;
        uint32_t n_before = p->n_samples;
        is_good = merge(p, base, s->bases[0], -1);
        if (is_good && is_one_run) estimate_one_run(p, n_before, is_later);
    }
    profile_free(base);
    return is_good;
}

/* Of two files the same may have to be said; once is enough. */
static void say_note(const struct profile *p, uint32_t i) {
    for (uint32_t k = 0; k < i; k++)
        if (p->notes[k] == p->notes[i]) return;
    say_warning("%s", profile_text(p, p->notes[i]));
}

/* $PPROF_BINARY_PATH; unless it is set, where Go's pprof looks. */
static const char *binary_folders(void) {
    static char path[4096];
    const char *folders = getenv("PPROF_BINARY_PATH"), *home = getenv("HOME");
    if (folders || home == NULL) return folders;
    (void)snprintf(path, sizeof path, "%s/pprof/binaries", home);
    return path;
}

struct symbols_options symbols_from(const struct settings *s) {
    return (struct symbols_options){.program = s->program,
                                    .moves = s->moves,
                                    .prefixes = s->lib_prefix,
                                    .folders = binary_folders(),
                                    .extra = s->add_lib};
}

/* The first mapping is the program's. */
static void set_build_id(struct profile *p, const char *build_id) {
    if (build_id == NULL || p->n_mappings == 0) return;
    uint32_t id = profile_string(p, build_id), program = p->mappings[0].file;
    for (uint32_t i = 0; i < p->n_mappings; i++)
        if (p->mappings[i].file == program) p->mappings[i].build_id = id;
}

bool load_program(struct settings *s) {
    if (!take_program(s)) return false;
    if (s->program == NULL || report_is_program(s->program)) return true;
    int fd = regular_open(s->program);
    if (fd < 0 && fd != -EINVAL)
        say_error("'%s': cannot open: %s", s->program, strerror(-fd));
    else
        say_error("'%s' is not a program", s->program);
    if (fd >= 0) (void)close(fd);
    return false;
}

struct profile *load_profiles(struct settings *s) {
    struct profile *p = NULL;
    progress_begin();
    if (!load_program(s)) return NULL;
    bool is_good = true;
    for (uint32_t i = 0; is_good && i < s->n_files; i++) is_good = read_into(s, &p, s->files[i]);
    if (!is_good || p == NULL) {
        profile_free(p);
        return NULL;
    }
    struct symbols_options so = symbols_from(s);
    set_build_id(p, s->build_id);
    if (!s->no_symbols) symbols_resolve(p, &so);
    if (s->bases[0] && !subtract(s, p)) {
        profile_free(p);
        return NULL;
    }
    if (s->type) profile_make_waste(p, s->type);
    profile_add_label_frames(p, s->tag_root, s->tag_leaf);
    progress_end();
    for (uint32_t i = 0; i < p->n_notes; i++) say_note(p, i);
    return p;
}

/* ---- the view */

static bool type_from(const struct settings *s, const struct profile *p, uint32_t *type) {
    *type = p->default_type;
    if (s->type == NULL) return true;
    *type = profile_find_type(p, s->type);
    if (*type != PROFILE_NONE) return true;
    char names[300];
    size_t n = 0;
    for (uint32_t t = 0; t < p->n_types && n < sizeof names; t++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", t ? ", " : "",
                              profile_text(p, p->types[t].name));
    say_error("no type '%s' in this profile; it has %s", s->type, names);
    return false;
}

static bool by_from(const char *word, enum view_by *by) {
    int i = word ? word_find(WORDS_OF_BY, word) : (int)VIEW_FUNCTIONS;
    *by = i < 0 ? VIEW_FUNCTIONS : (enum view_by)i;
    if (i >= 0) return true;
    say_error("'--by' is functions, filefunctions, lines, files or addresses, not '%s'", word);
    return false;
}

static bool of_is_known(const char *word) {
    if (word == NULL || word_find(WORDS_OF_OF, word) >= 0) return true;
    say_error("'--of' is all, rest or base, not '%s'", word);
    return false;
}

bool view_options_from(const struct settings *s, const struct profile *p, struct view_options *o,
                       int *status) {
    *o = (struct view_options){.full_names = s->full_names,
                               .mangled_names = s->mangled_names,
                               .tells_instances = !s->is_old_name,
                               .shows_address = s->shows_address,
                               .no_inlines = s->no_inlines,
                               .all_frames = s->all_frames,
                               .drops_negative = s->drop_negative,
                               .sorts_by_cum = s->cum,
                               .is_relative = s->of && strcmp(s->of, "rest") == 0,
                               .focus = s->focus,
                               .ignore = s->ignore,
                               .show = s->show,
                               .hide = s->hide,
                               .show_from = s->show_from,
                               .prune_from = s->prune_from,
                               .shows_columns = s->shows_columns,
                               .by_path = s->by_path,
                               .tag_focus = s->tag_focus,
                               .tag_ignore = s->tag_ignore,
                               .tag_show = s->tag_show,
                               .tag_hide = s->tag_hide};
    *status = EXIT_USAGE;
    return by_from(s->by, &o->by) && of_is_known(s->of) && type_from(s, p, &o->type);
}

struct view *load_view(struct settings *s, struct profile **p, int *status) {
    struct view_options o;
    struct report_error e;
    *status = EXIT_COULD_NOT;
    *p = load_profiles(s);
    if (*p == NULL) return NULL;
    struct view *v = NULL;
    if (view_options_from(s, *p, &o, status)) {
        v = view_new(*p, &o, &e);
        if (v == NULL) say_error("%s", e.line);
        if (v == NULL && e.code == EFBIG) *status = EXIT_COULD_NOT; /* else a bad regexp */
    }
    if (v == NULL) {
        profile_free(*p);
        *p = NULL;
        return NULL;
    }
    if (v->n_stacks == 0 && (*p)->n_samples > 0) say_warning("no stack is left by the filters");
    *status = EXIT_FINE;
    return v;
}

struct view_print print_from(const struct settings *s, FILE *out) {
    return (struct view_print){.out = out,
                               .form = s->json  ? TABLE_AS_JSON
                                       : s->csv ? TABLE_AS_CSV
                                                : TABLE_AS_TEXT,
                               .n_max = s->n_max,
                               .width = terminal_width(out),
                               .has_colour = terminal_has_colour(out),
                               .has_errors = true};
}

const char *title_from(const struct settings *s) {
    const char *slash = strrchr(s->files[0], '/');
    return slash ? slash + 1 : s->files[0];
}

const char *picture_title(const struct settings *s, char *out, size_t n_bytes) {
    const char *name = title_from(s);
    if (s->title) return s->title;
    if (s->bases[0])
        (void)snprintf(out, n_bytes, "%s less %s%s", name, s->bases[0],
                       s->bases[1] ? " and more" : "");
    else if (s->n_files > 1)
        (void)snprintf(out, n_bytes, "%s and %u more", name, s->n_files - 1);
    else
        (void)snprintf(out, n_bytes, "%s", strcmp(name, "-") == 0 ? "standard input" : name);
    return out;
}

/* ---- from files to a file */

int write_of_view(struct settings *s, view_writer *write, const void *context) {
    struct profile *p;
    int status;
    struct view *v = load_view(s, &p, &status);
    if (v == NULL) return status;
    FILE *out = output_open(s);
    status = out ? output_finish(s, out, write(s, v, out, context)) : EXIT_COULD_NOT;
    view_free(v);
    profile_free(p);
    return status;
}

int write_of_profile(struct settings *s, profile_writer *write) {
    struct profile *p = load_profiles(s);
    if (p == NULL) return EXIT_COULD_NOT;
    FILE *out = output_open(s);
    int status = out ? output_finish(s, out, write(s, p, out)) : EXIT_COULD_NOT;
    profile_free(p);
    return status;
}
