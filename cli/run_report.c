/* run_report.c - what came of a program that was run: cli/cmd_run.c.
 *
 *   FOLDER/NAME.PID.NNNN.heap   the last one tells what is live at exit
 *   FOLDER/NAME.PID.peak.heap   what was in use when most was, unless it was recorded exactly
 *   FOLDER/NAME.PID.svg         made here
 *
 * Climate: cli.
 */
#include "cli/run.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "report/read.h"

#define N_SITES 10
#define FEW_SAMPLES 100 /* a site of a tenth is then off by a third, more often than not */

/* ---- the files */

/* Of one process. */
struct dumps {
    pid_t pid;
    uint32_t n;           /* numbered ones */
    unsigned long number; /* of the last */
    off_t n_bytes;        /* of the last */
    bool has_peak;
};

struct found {
    struct dumps *all;
    uint32_t n, cap;
};

static struct dumps *dumps_of(struct found *f, pid_t pid) {
    for (uint32_t i = 0; i < f->n; i++)
        if (f->all[i].pid == pid) return &f->all[i];
    struct dumps *d = REPORT_PUSH(f->all, f->n, f->cap);
    *d = (struct dumps){.pid = pid};
    return d;
}

/* NAME.PID.NNNN.heap or NAME.PID.peak.heap, written since the program began */
static void note_file(struct found *f, const struct run *r, const struct probe *p, const char *file,
                      int folder) {
    struct stat st;
    char *end;
    size_t n = strlen(r->name);
    if (strncmp(file, r->name, n) != 0 || file[n] != '.') return;
    long pid = strtol(file + n + 1, &end, 10);
    if (pid <= 0 || *end++ != '.') return;
    bool is_peak = strncmp(end, "peak.", 5) == 0;
    char *rest = end + 4;
    unsigned long number = is_peak ? 0 : strtoul(end, &rest, 10);
    if (*rest != '.' || strcmp(rest + 1, p->end) != 0) return;
    if (fstatat(folder, file, &st, 0) != 0 || st.st_mtim.tv_sec < r->began.tv_sec ||
        (st.st_mtim.tv_sec == r->began.tv_sec && st.st_mtim.tv_nsec < r->began.tv_nsec))
        return; /* of an earlier run */
    struct dumps *d = dumps_of(f, (pid_t)pid);
    if (is_peak) {
        d->has_peak = true;
        return;
    }
    d->n++;
    if (number >= d->number) {
        d->number = number;
        d->n_bytes = st.st_size;
    }
}

static struct found find_files(const struct run *r, const struct probe *p) {
    struct found f = {0};
    DIR *folder = opendir(r->folder);
    if (folder == NULL) return f;
    for (const struct dirent *d; (d = readdir(folder)) != NULL;)
        note_file(&f, r, p, d->d_name, dirfd(folder));
    (void)closedir(folder);
    return f;
}

/* The program's own; if it wrote none (sh ends without saying so), those of the child with the largest. */
static const struct dumps *choose(const struct found *f, pid_t pid) {
    const struct dumps *best = NULL;
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->all[i].pid == pid) return &f->all[i];
        if (best == NULL || f->all[i].n_bytes > best->n_bytes) best = &f->all[i];
    }
    return best;
}

/* ---- one profile */

static double total_of(const struct profile *p, const char *type) {
    uint32_t t = profile_find_type(p, type);
    return t == PROFILE_NONE ? 0 : profile_total(p, t);
}

static void put_line(const char *what, double bytes, double objects) {
    char number[64];
    (void)fprintf(stderr, "  %-16s %12s", what,
                  table_number(table_unit_for("bytes", bytes), bytes, number, sizeof number));
    if (objects > 0) (void)fprintf(stderr, "  in %.0f blocks", objects);
    (void)fputc('\n', stderr);
}

/* How many allocations were seen: a line of the profile has one size of block, and says how many there are by estimate. */
static double n_seen(const struct profile *p) {
    uint32_t objects = profile_find_type(p, "alloc_objects");
    uint32_t bytes = profile_find_type(p, "alloc_space");
    double n = 0;
    if (objects == PROFILE_NONE || bytes == PROFILE_NONE) return 0;
    for (uint32_t i = 0; i < p->n_samples; i++) {
        const double *values = p->values + (size_t)i * p->n_types;
        if (values[objects] <= 0) continue;
        n += rint(values[objects] * -expm1(-values[bytes] / values[objects] / (double)p->period));
    }
    return n;
}

static bool is_sampled(const struct profile *p) { return p->period > 1; }

/* Of a heap profile: what is in use at the end, and what was in all. */
static void put_heap(const struct profile *at_exit) {
    char number[64];
    put_line("live at exit", total_of(at_exit, "inuse_space"), total_of(at_exit, "inuse_objects"));
    put_line("allocated", total_of(at_exit, "alloc_space"), total_of(at_exit, "alloc_objects"));
    if (!is_sampled(at_exit)) return;
    double n = n_seen(at_exit), period = (double)at_exit->period;
    (void)fprintf(stderr, "  %-16s %12.0f  one for each %s on average%s\n", "samples", n,
                  table_number(table_unit_for("bytes", period), period, number, sizeof number),
                  n < FEW_SAMPLES ? "; few: a smaller --rate, or --exact, sees more" : "");
}

/* ---- the report */

static void put_end(const struct run *r) {
    char number[64];
    (void)fprintf(stderr, "vitrine: %s ", r->name);
    if (WIFSIGNALED(r->ended))
        (void)fprintf(stderr, "was ended by signal %d (%s)", WTERMSIG(r->ended),
                      strsignal(WTERMSIG(r->ended)));
    else
        (void)fprintf(stderr, "ended with status %d", WEXITSTATUS(r->ended));
    (void)fprintf(stderr, " after %.2f s, at most %s resident\n", r->seconds,
                  table_number(table_unit_for("bytes", r->peak_resident_bytes),
                               r->peak_resident_bytes, number, sizeof number));
}

static void say_none(const struct run *r, const struct probe *p) {
    if (WIFSIGNALED(r->ended))
        say_warning("no %s profile: a signal ended '%s' before one was due; "
                    "--every=10s writes them on the way",
                    p->what, r->name);
    else
        say_warning("no %s profile: '%s' does not use libc's malloc, or ended by _exit()", p->what,
                    r->name);
}

/* What is shown of a process: one profile in detail. */
struct subject {
    char stem[PATH_MAX]; /* FOLDER/NAME.PID */
    char last[PATH_MAX + 32], shown[PATH_MAX + 32];
    const char *type;        /* of its values; NULL: its own */
    const char *what;        /* that is */
    struct profile *figures; /* the last one, without names; or NULL */
};

/* The peak, where it was recorded. Else what is in use at exit; where nothing is then, or all was recorded, what was
 * allocated. */
static void choose_view(struct subject *j, const struct dumps *d, const struct probe *p) {
    j->what = "in use at the peak";
    (void)snprintf(j->shown, sizeof j->shown, "%s.peak.%s", j->stem, p->end);
    if (d->has_peak) return;
    (void)snprintf(j->shown, sizeof j->shown, "%s", j->last);
    if (j->figures == NULL || profile_find_type(j->figures, "alloc_space") == PROFILE_NONE) {
        j->what = p->what;
    } else if (is_sampled(j->figures) && total_of(j->figures, "inuse_space") > 0) {
        j->what = "in use at exit";
    } else {
        j->what = "allocated";
        j->type = "alloc_space";
    }
}

static void draw(const struct view *v, const struct run *r, const struct subject *j) {
    char title[300];
    struct settings to = {0};
    char svg[PATH_MAX + 32];
    (void)snprintf(svg, sizeof svg, "%s.svg", j->stem);
    (void)snprintf(title, sizeof title, "%s: %s", r->name, j->what);
    to.output = svg;
    FILE *out = output_open(&to);
    if (out == NULL) return;
    view_flame(v, out, title);
    if (output_close(&to, out) == EXIT_FINE)
        (void)fprintf(stderr, "  %-16s %s\n", "flame graph", svg);
    else
        (void)remove(svg); /* half a picture */
}

static void put_subject(const struct run *r, const struct subject *j, const struct dumps *d) {
    const char *files[] = {j->shown};
    struct settings s = {.files = files, .n_files = 1, .type = j->type};
    struct profile *p;
    int status;
    struct view *v = load_view(&s, &p, &status);
    if (v == NULL) return;
    if (d->has_peak) put_line("peak", total_of(p, "inuse_space"), total_of(p, "inuse_objects"));
    if (j->figures && j->figures->kind == PROFILE_HEAP) put_heap(j->figures);
    if (v->n_stacks > 0) {
        (void)fprintf(stderr, "%s:\n", j->what);
        view_sites(v, &(struct view_print){.out = stderr, .n_max = N_SITES});
        (void)fprintf(stderr, "files:\n");
        draw(v, r, j);
    }
    if (d->has_peak) (void)fprintf(stderr, "  %-16s %s\n", "peak profile", j->shown);
    if (d->n > 0) (void)fprintf(stderr, "  %-16s %s\n", "last profile", j->last);
    view_free(v);
    profile_free(p);
}

static void put_probe(const struct run *r, const struct probe *p) {
    struct found found = find_files(r, p);
    const struct dumps *d = choose(&found, r->pid);
    struct subject j = {0};
    struct report_error e;
    if (d == NULL) {
        say_none(r, p);
        return;
    }
    if (d->pid != r->pid)
        (void)fprintf(
            stderr,
            "  %s wrote no %s profile itself; this is the largest of its children, process %d\n",
            r->name, p->what, (int)d->pid);
    (void)snprintf(j.stem, sizeof j.stem, "%s/%s.%d", r->folder, r->name, (int)d->pid);
    (void)snprintf(j.last, sizeof j.last, "%s.%04lu.%s", j.stem, d->number, p->end);
    if (d->n > 0 && report_read(j.last, &(struct report_options){0}, &j.figures, &e) != 0)
        say_error("%s", e.line);
    choose_view(&j, d, p);
    put_subject(r, &j, d);
    uint32_t n_others = found.n - 1;
    if (n_others > 0)
        (void)fprintf(stderr, "  and those of %u other process%s in %s\n", n_others,
                      n_others == 1 ? "" : "es", r->folder);
    if (j.figures) profile_free(j.figures);
    free(found.all);
}

void run_report(const struct run *r, const struct settings *s) {
    put_end(r);
    for (const struct probe *p = probes; p->variable; p++)
        if (probe_is_asked(p, s)) put_probe(r, p);
}
