/* run_report.c - what came of a program that was run: cli/cmd_run.c.
 *
 *   FOLDER/NAME.PID.NNNN.heap   the last one tells what is live at exit
 *   FOLDER/NAME.PID.peak.heap   what was in use when most was, unless it was recorded exactly
 *   FOLDER/NAME.cpu             CPU time; of children NAME.cpu_PID
 *   FOLDER/NAME.contention      time waited; of children as with .cpu
 *   FOLDER/NAME.PID.heap.svg    made here; for CPU time .CPU.svg, for waits .contention.svg
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

bool run_heap_name(const char *rest, struct dump_name *out) {
    char *end;
    if (*rest++ != '.') return false;
    out->pid = (pid_t)strtol(rest, &end, 10);
    if (out->pid <= 0 || *end++ != '.') return false;
    out->is_peak = strncmp(end, "peak.", 5) == 0;
    out->number = strtoul(end, &end, 10);
    return strcmp(out->is_peak ? end + 4 : end, ".heap") == 0;
}

/* SUFFIX, or SUFFIX_PID. */
static bool read_lasting_name(const char *suffix, const char *rest, struct dump_name *out) {
    char *end;
    size_t n = strlen(suffix);
    if (strncmp(rest, suffix, n) != 0) return false;
    if (rest[n] == '\0') return true;
    if (rest[n] != '_') return false;
    out->pid = (pid_t)strtol(rest + n + 1, &end, 10);
    return out->pid > 0 && *end == '\0';
}

bool run_cpu_name(const char *rest, struct dump_name *out) {
    return read_lasting_name(".cpu", rest, out);
}

bool run_contention_name(const char *rest, struct dump_name *out) {
    return read_lasting_name(".contention", rest, out);
}

/* Of one process. */
struct dumps {
    pid_t pid;
    unsigned long number;                        /* of the last */
    off_t n_bytes;                               /* of the last */
    char last[NAME_MAX + 1], peak[NAME_MAX + 1]; /* files; "" where there is none */
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

static bool is_earlier(struct timespec a, struct timespec b) {
    return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec);
}

/* If it is the probe's, and was written since the program began. */
static void note_file(struct found *f, const struct run *r, const struct probe *p, const char *file,
                      int folder) {
    struct stat st;
    struct dump_name name = {0};
    size_t n = strlen(r->name);
    if (strncmp(file, r->name, n) != 0 || !p->read_name(file + n, &name)) return;
    if (fstatat(folder, file, &st, 0) != 0 || is_earlier(st.st_mtim, r->began)) return;
    struct dumps *d = dumps_of(f, name.pid > 0 ? name.pid : r->pid);
    if (name.is_peak) {
        (void)snprintf(d->peak, sizeof d->peak, "%s", file);
    } else if (d->last[0] == '\0' || name.number > d->number) {
        (void)snprintf(d->last, sizeof d->last, "%s", file);
        d->number = name.number;
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

static struct profile *read_last(const struct run *r, const struct dumps *d) {
    char path[PATH_MAX];
    struct profile *p = NULL;
    struct report_error e;
    (void)snprintf(path, sizeof path, "%s/%s", r->folder, d->last);
    if (d->last[0] && report_read(path, &(struct report_options){0}, &p, &e) != 0)
        say_error("%s", e.line);
    return p;
}

/* The program's own; if it wrote none, or there is nothing in it (sh ends without saying so), those of the child with the
 * largest. Its last profile goes to *figures. */
static const struct dumps *choose(const struct found *f, const struct run *r,
                                  struct profile **figures) {
    const struct dumps *own = NULL, *best = NULL;
    for (uint32_t i = 0; i < f->n; i++)
        if (f->all[i].pid == r->pid)
            own = &f->all[i];
        else if (best == NULL || f->all[i].n_bytes > best->n_bytes)
            best = &f->all[i];
    *figures = own ? read_last(r, own) : NULL;
    if (best == NULL || (*figures && (*figures)->n_samples > 0)) return own;
    profile_free(*figures);
    *figures = read_last(r, best);
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
    if (objects > 0)
        (void)fprintf(stderr, "  in %.0f block%s", objects, rint(objects) == 1 ? "" : "s");
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
        say_warning("no %s profile: '%s' %s", p->what, r->name, p->none);
}

/* Of profiles that tell of time: words for it and for what was counted, and the latter's type. */
static const struct lasting {
    enum profile_kind kind;
    const char *time, *count, *count_type;
} lastings[] = {
    {PROFILE_CPU, "CPU time", "samples", "samples"},
    {PROFILE_CONTENTION, "time waited", "waits", "contentions"},
};

static const struct lasting *lasting_of(const struct profile *p) {
    for (unsigned i = 0; p != NULL && i < sizeof lastings / sizeof *lastings; i++)
        if (lastings[i].kind == p->kind) return &lastings[i];
    return NULL;
}

/* What is shown of a process: one profile in detail. */
struct subject {
    const struct run *run;
    const struct dumps *dumps;
    char last[PATH_MAX], peak[PATH_MAX], svg[PATH_MAX]; /* as the user would write them */
    const char *shown;                                  /* one of the first two */
    const char *type;                                   /* of its values; NULL: its own */
    const char *what;                                   /* that is */
    struct profile *figures;                            /* the last one, without names; or NULL */
};

/* The peak, where it was recorded. Else what is in use at exit; where nothing is then, or all was recorded, what was
 * allocated. */
static void choose_view(struct subject *j) {
    bool is_heap = j->figures && profile_find_type(j->figures, "alloc_space") != PROFILE_NONE;
    j->shown = j->dumps->peak[0] ? j->peak : j->last;
    if (j->dumps->peak[0]) {
        j->what = "in use at the peak";
    } else if (!is_heap) {
        const struct lasting *l = lasting_of(j->figures);
        j->what = l != NULL ? l->time : "in all";
    } else if (is_sampled(j->figures) && total_of(j->figures, "inuse_space") > 0) {
        j->what = "in use at exit";
    } else {
        j->what = "allocated";
        j->type = "alloc_space";
    }
}

static void draw(const struct view *v, const struct subject *j) {
    char title[300];
    struct settings to = {.output = j->svg};
    (void)snprintf(title, sizeof title, "%s: %s", j->run->name, j->what);
    FILE *out = output_open(&to);
    if (out == NULL) return;
    view_flame(v, out, title);
    if (output_close(&to, out) == EXIT_FINE)
        (void)fprintf(stderr, "  %-16s %s\n", "flame graph", j->svg);
    else
        (void)remove(j->svg); /* half a picture */
}

static void put_figures(const struct subject *j, const struct view *v) {
    char number[64];
    if (j->dumps->peak[0])
        put_line("peak", total_of(v->p, "inuse_space"), total_of(v->p, "inuse_objects"));
    if (j->figures == NULL) return;
    if (j->figures->kind == PROFILE_HEAP) {
        put_heap(j->figures);
        return;
    }
    const struct lasting *l = lasting_of(j->figures);
    if (l == NULL) return;
    (void)fprintf(
        stderr, "  %-16s %12s\n  %-16s %12.0f\n", l->time,
        table_number(table_unit_for(view_unit(v), v->total), v->total, number, sizeof number),
        l->count, total_of(j->figures, l->count_type));
}

static void put_subject(const struct subject *j) {
    const char *files[] = {j->shown};
    struct settings s = {.files = files, .n_files = 1, .type = j->type};
    struct profile *p;
    int status;
    struct view *v = load_view(&s, &p, &status);
    if (v == NULL) return;
    put_figures(j, v);
    if (v->n_stacks > 0) {
        (void)fprintf(stderr, "%s:\n", j->what);
        view_sites(v, &(struct view_print){.out = stderr, .n_max = N_SITES});
        (void)fprintf(stderr, "files:\n");
        draw(v, j);
    }
    if (j->dumps->peak[0]) (void)fprintf(stderr, "  %-16s %s\n", "peak profile", j->peak);
    if (j->dumps->last[0]) (void)fprintf(stderr, "  %-16s %s\n", "last profile", j->last);
    view_free(v);
    profile_free(p);
}

static void put_probe(const struct run *r, const struct probe *p) {
    struct found found = find_files(r, p);
    struct subject j = {.run = r};
    const struct dumps *d = j.dumps = choose(&found, r, &j.figures);
    if (d == NULL) {
        say_none(r, p);
        return;
    }
    if (d->pid != r->pid)
        (void)fprintf(
            stderr,
            "  %s recorded nothing itself; this is its child with the largest %s profile, process %d\n",
            r->name, p->what, (int)d->pid);
    (void)snprintf(j.last, sizeof j.last, "%s/%s", r->folder, d->last);
    (void)snprintf(j.peak, sizeof j.peak, "%s/%s", r->folder, d->peak);
    (void)snprintf(j.svg, sizeof j.svg, "%s/%s.%d.%s.svg", r->folder, r->name, (int)d->pid,
                   p->what);
    choose_view(&j);
    put_subject(&j);
    uint32_t n_others = found.n - 1;
    if (n_others > 0)
        (void)fprintf(stderr, "  and those of %u other process%s in %s\n", n_others,
                      n_others == 1 ? "" : "es", r->folder);
    profile_free(j.figures);
    free(found.all);
}

void run_report(const struct run *r, const struct settings *s) {
    put_end(r);
    for (const struct probe *p = probes; p->variable; p++)
        if (probe_is_asked(p, s)) put_probe(r, p);
}
