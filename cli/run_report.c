/* run_report.c - what came of a program that was run: cli/cmd_run.c.
 *
 *   FOLDER/NAME.PID.NNNN.heap   the last one tells what is live at exit
 *   FOLDER/NAME.PID.peak.heap   what was in use when most was
 *   FOLDER/NAME.cpu             CPU time; of children NAME.cpu_PID
 *   FOLDER/NAME.contention      time waited; of children as with .cpu
 *   FOLDER/NAME.PID.heap.svg    made here; for CPU time .CPU.svg, for waits .contention.svg
 *
 * Climate: cli.
 */
#include "cli/run.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run_boxes.h"
#include "cli/run_summary.h"
#include "cli/symbolize.h"
#include "cli/terminal.h"
#include "report/estimate.h"
#include "report/read.h"
#include "report/symbols.h"
#include "report/text.h"

#define N_SITES 10
#define SPARK_COLUMNS 60
#define UNSEEN 0.02          /* of what was resident: more is told */
#define LITTLE_BYTES 1048576 /* allocated by a child in all: no files for less */
#define LITTLE_FILE 262144   /* a larger file is kept without a look into it */
#define THINNED 0.98 /* of the samples that the period promises: fewer, and some were thinned out */
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

/* Is it the probe's, and was written since the program began? */
static bool is_of_run(const struct run *r, const struct probe *p, const char *file, int folder,
                      struct dump_name *name, struct stat *st) {
    size_t n = strlen(r->name);
    *name = (struct dump_name){0};
    return strncmp(file, r->name, n) == 0 && p->read_name(file + n, name) &&
           fstatat(folder, file, st, 0) == 0 && !is_earlier(st->st_mtim, r->began);
}

static pid_t process_of(const struct run *r, const struct dump_name *name) {
    return name->pid > 0 ? name->pid : r->pid;
}

static void note_file(struct found *f, const struct run *r, const struct probe *p, const char *file,
                      int folder) {
    struct stat st;
    struct dump_name name;
    if (!is_of_run(r, p, file, folder, &name, &st)) return;
    struct dumps *d = dumps_of(f, process_of(r, &name));
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

/* The files that are not shown get their names last, when the user has his report. */
static void name_others(const struct run *r, const struct probe *p, struct symbolizing *y) {
    char path[PATH_MAX];
    struct stat st;
    struct dump_name name;
    DIR *folder = opendir(r->folder);
    y->is_quiet = true;
    for (const struct dirent *d; folder && (d = readdir(folder)) != NULL;) {
        if (!is_of_run(r, p, d->d_name, dirfd(folder), &name, &st) || !S_ISREG(st.st_mode))
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", r->folder, d->d_name);
        (void)symbolize_file(y, path);
    }
    if (folder) (void)closedir(folder);
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

/* What was allocated in all; of other kinds, the time that the profile tells of. */
static double weight_of(const struct profile *p) {
    uint32_t type = profile_find_type(p, "alloc_space");
    return profile_total(p, type == PROFILE_NONE ? p->default_type : type);
}

/* The child that allocated most, took most time or waited longest. Its last profile goes to *figures. NULL: there is none. */
static const struct dumps *choose_child(const struct found *f, const struct run *r,
                                        struct profile **figures) {
    const struct dumps *best = NULL;
    *figures = NULL;
    for (uint32_t i = 0; i < f->n; i++) {
        if (f->all[i].pid == r->pid) continue;
        struct profile *p = read_last(r, &f->all[i]), *less = p;
        if (best == NULL || (p && (*figures == NULL || weight_of(p) > weight_of(*figures)))) {
            less = *figures;
            best = &f->all[i];
            *figures = p;
        }
        profile_free(less);
    }
    return best;
}

static bool is_cut_off(const struct run *r, pid_t pid) {
    for (uint32_t i = 0; i < r->n_cut_off; i++)
        if (r->cut_off[i] == pid) return true;
    return pid == r->pid && WIFSIGNALED(r->ended);
}

/* The file of a probe that writes when it begins and when it ends, and here only did the first. */
static bool is_never_ended(const struct run *r, const struct dumps *d, const struct profile *p) {
    return p != NULL && p->kind == PROFILE_CONTENTION && p->n_samples == 0 && is_cut_off(r, d->pid);
}

/* Too little to be worth a file: of all that was allocated less than LITTLE_BYTES, or no time at all. */
static bool is_little(const struct profile *p) {
    bool is_heap = profile_find_type(p, "alloc_space") != PROFILE_NONE;
    return weight_of(p) < (is_heap ? LITTLE_BYTES : 1);
}

static bool is_only_child(const struct found *f, const struct dumps *own) {
    return f->n == (own ? 2 : 1);
}

/* The program's own, unless that is little (sh ends without saying so, gcc has others do the work) and a child has more. Where all did
 * little, a child has to be the only one: of many it would be chance which of them had a sample. The last profile goes to *figures.
 * NULL: there is none that is worth it. *has_own: the program itself has samples. */
static const struct dumps *choose(const struct found *f, const struct run *r,
                                  struct profile **figures, bool *has_own) {
    const struct dumps *own = NULL;
    for (uint32_t i = 0; i < f->n; i++)
        if (f->all[i].pid == r->pid) own = &f->all[i];
    struct profile *mine = own ? read_last(r, own) : NULL, *others = NULL;
    *has_own = mine && mine->n_samples > 0;
    const struct dumps *child = *has_own && !is_little(mine) ? NULL : choose_child(f, r, &others);
    if (others && is_little(others) && !is_never_ended(r, child, others) &&
        (*has_own || others->n_samples == 0 || !is_only_child(f, own)))
        child = NULL;
    if (*has_own && others == NULL) child = NULL;
    profile_free(child ? mine : others);
    *figures = child ? others : mine;
    return child ? child : own;
}

/* ---- processes that did next to nothing */

typedef void visit_dump(void *context, int folder, const char *file, bool is_peak);

/* Everything that one process wrote in this run for the probe. */
static void each_dump(const struct run *r, const struct probe *p, pid_t pid, visit_dump *visit,
                      void *context) {
    DIR *folder = opendir(r->folder);
    size_t n = strlen(r->name);
    struct stat st;
    if (folder == NULL) return;
    for (const struct dirent *d; (d = readdir(folder)) != NULL;) {
        struct dump_name name = {0};
        if (strncmp(d->d_name, r->name, n) != 0 || !p->read_name(d->d_name + n, &name)) continue;
        if (process_of(r, &name) != pid ||
            fstatat(dirfd(folder), d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (!is_earlier(st.st_mtim, r->began))
            visit(context, dirfd(folder), d->d_name, name.is_peak);
    }
    (void)closedir(folder);
}

static void remove_dump(void *context, int folder, const char *file, bool is_peak) {
    (void)context, (void)is_peak;
    (void)unlinkat(folder, file, 0);
}

static bool did_little(const struct run *r, const struct dumps *d) {
    if (d->n_bytes > LITTLE_FILE || d->last[0] == '\0') return false;
    struct profile *p = read_last(r, d);
    bool is_so = p != NULL && is_little(p);
    profile_free(p);
    return is_so;
}

/* Gives how many processes other than the chosen one lost their files. */
static uint32_t leave_out_little(const struct run *r, const struct probe *p, const struct found *f,
                                 const struct dumps *chosen) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const struct dumps *d = &f->all[i];
        if (d == chosen || d->pid == r->pid || !did_little(r, d)) continue;
        each_dump(r, p, d->pid, remove_dump, NULL);
        n++;
    }
    return n;
}

/* ---- one profile */

double run_total(const struct profile *p, uint32_t type, bool is_mapped) {
    double sum = 0;
    for (uint32_t i = 0; i < p->n_samples; i++)
        if (profile_has_label(p, i, "mapped") == is_mapped)
            sum += p->values[(size_t)i * p->n_types + type];
    return sum;
}

static double total_of(const struct profile *p, const char *type) {
    uint32_t t = profile_find_type(p, type);
    return t == PROFILE_NONE ? 0 : run_total(p, t, /* is_mapped */ false);
}

/* " ±6%" of a type's total; nothing when it is exact. */
static void put_error(const struct profile *p, const char *type) {
    char error[ESTIMATE_BYTES];
    uint32_t t = profile_find_type(p, type);
    if (t == PROFILE_NONE) return;
    (void)estimate_text(run_total(p, t, /* is_mapped */ false), sqrt(profile_total_variance(p, t)),
                        error);
    if (*error) (void)fprintf(stderr, " %s", error);
}

static void put_line(const char *what, const struct profile *p, const char *space,
                     const char *blocks) {
    char number[64];
    double bytes = total_of(p, space), objects = total_of(p, blocks);
    (void)fprintf(stderr, "  %-16s %12s", what,
                  table_amount("bytes", bytes, number, sizeof number));
    put_error(p, space);
    if (objects > 0) {
        (void)fprintf(stderr, "  in %.0f", objects);
        put_error(p, blocks);
        (void)fprintf(stderr, " block%s", rint(objects) == 1 ? "" : "s");
    }
    (void)fputc('\n', stderr);
}

/* How many allocations are seen at the period that the profile names: a line of it has one size of block, and says how many
 * there are by estimate. */
static double n_expected(const struct profile *p) {
    uint32_t objects = profile_find_type(p, "alloc_objects");
    uint32_t bytes = profile_find_type(p, "alloc_class_space"); /* samples are drawn by blocks */
    double n = 0;
    if (bytes == PROFILE_NONE) bytes = profile_find_type(p, "alloc_space");
    if (objects == PROFILE_NONE || bytes == PROFILE_NONE) return 0;
    for (uint32_t i = 0; i < p->n_samples; i++) {
        const double *values = p->values + (size_t)i * p->n_types;
        if (values[objects] <= 0 || profile_has_label(p, i, "mapped")) continue;
        n += rint(values[objects] * -expm1(-values[bytes] / values[objects] / (double)p->period));
    }
    return n;
}

static bool is_sampled(const struct profile *p) { return p->period > 1; }

/* Of a heap profile: what is in use at the end, and what was in all. */
static void put_heap(const struct profile *at_exit) {
    char number[64];
    put_line("live at exit", at_exit, "inuse_space", "inuse_objects");
    put_line("allocated", at_exit, "alloc_space", "alloc_objects");
    if (!is_sampled(at_exit)) return;
    double expected = n_expected(at_exit), period = (double)at_exit->period, n = expected;
    if (profile_find_type(at_exit, "alloc_samples") != PROFILE_NONE)
        n = total_of(at_exit, "alloc_samples");
    bool is_thinned = n < THINNED * expected;
    (void)fprintf(stderr, "  %-16s %12.0f  one for each %s%s%s\n", "samples", n,
                  table_amount("bytes", period, number, sizeof number),
                  is_thinned ? ", fewer in bursts" : " on average",
                  n < FEW_SAMPLES ? "; few: a smaller --rate, or --exact, sees more" : "");
}

/* ---- the report */

static void put_end(const struct run *r) {
    char number[64];
    (void)fprintf(stderr, "vitrine: %s ", text_shown(r->name));
    if (WIFSIGNALED(r->ended))
        (void)fprintf(stderr, "was ended by signal %d (%s)", WTERMSIG(r->ended),
                      strsignal(WTERMSIG(r->ended)));
    else
        (void)fprintf(stderr, "ended with status %d", WEXITSTATUS(r->ended));
    (void)fprintf(stderr, " after %.2f s, at most %s resident\n", r->seconds,
                  table_amount("bytes", r->peak_resident_bytes, number, sizeof number));
}

/* "  resident  77.1MB  heap 16.2MB, other mappings 41.0MB, stacks 132kB, files 19.8MB, profiler's tables 1.20MB": adds up to what the
 * kernel says. Of a child: "process 1234 (cc1): heap ...". */
static void put_residence(const struct run *r) {
    const struct residence *e = &r->residence;
    char number[64];
    const char *comma = "";
    double all = r->peak_resident_bytes, unseen = all - e->total;
    (void)fprintf(stderr, "  %-16s %12s  ", "resident",
                  table_amount("bytes", all, number, sizeof number));
    if (e->pid == 0) {
        (void)fputs("not known of what: it ended before anybody looked\n", stderr);
        return;
    }
    if (e->pid != r->pid)
        (void)fprintf(stderr, "process %d (%s): ", (int)e->pid, text_shown(e->name));
    for (unsigned i = 0; i < RESIDENCE_PARTS; i++) {
        if (i == RESIDENCE_HEAP && !e->has_heap) continue;
        (void)fprintf(
            stderr, "%s%s%s %s", comma, i == RESIDENCE_MAPPINGS && !e->has_heap ? "heap and " : "",
            residence_words[i], table_amount("bytes", e->bytes[i], number, sizeof number));
        comma = ", ";
    }
    if (unseen > UNSEEN * all)
        (void)fprintf(stderr, ", too short to be seen %s",
                      table_amount("bytes", unseen, number, sizeof number));
    (void)fputc('\n', stderr);
}

static void say_none(const struct run *r, const struct probe *p) {
    if (r->boxes->n_running > 0)
        say_warning("no %s profile yet: what still runs has not written it", p->what);
    else if (r->boxes->has_lost)
        say_warning("no %s profile: there was no room for the black box of '%s'; "
                    "TMPDIR=DIR chooses another place",
                    p->what, r->name);
    else if (r->boxes->of_user != NULL && r->boxes->of_user[0] != '\0')
        say_warning(
            "no %s profile: 'vitrine read' makes one of the black box '%s', which was asked for",
            p->what, r->boxes->of_user);
    else if (WIFSIGNALED(r->ended))
        say_warning("no %s profile: a signal ended '%s' before one was due; "
                    "--every=10s writes them on the way",
                    p->what, r->name);
    else
        say_warning("no %s profile: '%s' %s", p->what, r->name, p->none);
}

/* Of profiles that tell of time, by their type: words for it and for what was counted, and the latter's type. */
static const struct lasting {
    const char *type, *time, *count, *count_type;
} lastings[] = {
    {"wall", "time passed", "samples", "samples"}, /* has a type cpu as well */
    {"cpu", "CPU time", "samples", "samples"},
    {"delay", "time waited", "waits", "contentions"},
};

static const struct lasting *lasting_of(const struct profile *p) {
    for (unsigned i = 0; p != NULL && i < sizeof lastings / sizeof *lastings; i++)
        if (profile_find_type(p, lastings[i].type) != PROFILE_NONE) return &lastings[i];
    return NULL;
}

/* ---- what a process takes along that has no exit */

static void put_lost(const struct run *r, pid_t pid, const char *what) {
    if (pid == r->pid && WIFSIGNALED(r->ended))
        (void)fprintf(stderr, "lost: %s: signal %d ended '%s', and they are written at exit\n",
                      what, WTERMSIG(r->ended), text_shown(r->name));
    else
        (void)fprintf(stderr,
                      "lost: %s: process %d ended without its exit handlers, which write them\n",
                      what, (int)pid);
}

static bool has_label(const struct profile *p, const char *key) {
    for (uint32_t i = 0; i < p->n_samples; i++)
        if (profile_has_label(p, i, key)) return true;
    return false;
}

/* What is shown of a process: one profile in detail. */
struct subject {
    const struct run *run;
    const struct settings *asked;
    const struct dumps *dumps;
    char last[PATH_MAX], peak[PATH_MAX], svg[PATH_MAX]; /* as the user would write them */
    const char *shown;                                  /* one of the first two */
    const char *type;                                   /* of its values; NULL: its own */
    const char *what;                                   /* that is */
    struct profile *figures;                            /* the last one, without names; or NULL */
    bool has_names;                                     /* they are in the files */
    bool has_colour;                                    /* who reads the report */
    const char *probe;                                  /* what made it */
    bool has_own;                                       /* the program itself has samples */
    uint32_t n_others, n_left_out; /* other processes: with files, and with too little for them */
    struct summary *summary;
    struct timeline over_time; /* of several profiles */
    char page[PATH_MAX];       /* has it */
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

/* The program's own mappings are in its last profile, which put_mapped() tells of; all else is of the heap. */
static bool has_mapped(const struct subject *j) {
    return j->asked->mmap && j->figures && has_label(j->figures, "mapped");
}

static void add_to_summary(const struct view *v, const struct subject *j) {
    summary_add(j->summary, &(struct summary_probe){.what = j->probe,
                                                    .pid = j->dumps->pid,
                                                    .figures = j->figures,
                                                    .shown = v,
                                                    .moment = j->what,
                                                    .is_peak = j->dumps->peak[0] != '\0',
                                                    .has_mapped = has_mapped(j),
                                                    .last = j->dumps->last[0] ? j->last : NULL,
                                                    .peak = j->dumps->peak[0] ? j->peak : NULL,
                                                    .picture = v->n_stacks > 0 ? j->svg : NULL,
                                                    .over_time = &j->over_time,
                                                    .n_others = j->n_others,
                                                    .n_left_out = j->n_left_out});
}

/* The flame graph as a picture, or as a page with the timeline. */
static void draw(const struct view *v, const struct subject *j, const char *path, bool is_page) {
    char title[300];
    struct settings to = {.output = path};
    (void)snprintf(title, sizeof title, "%s: %s", j->run->name, j->what);
    FILE *out = output_open(&to);
    if (out == NULL) return;
    if (is_page)
        view_flame_page(v, out, title, &j->over_time);
    else
        view_flame(v, out, title);
    if (output_close(&to, out) == EXIT_FINE)
        (void)fprintf(stderr, "  %-16s %s\n", is_page ? "with timeline" : "flame graph",
                      text_shown(path));
}

/* ---- the heap over time */

static int by_time(const void *a, const void *b) {
    const struct timeline_point *x = a, *y = b;
    return x->seconds < y->seconds ? -1 : x->seconds > y->seconds;
}

/* Adds what was in use when the file was written. context: the subject */
static void add_point(void *context, int folder, const char *file, bool is_peak) {
    struct subject *j = context;
    char path[PATH_MAX];
    struct profile *p = NULL;
    struct report_error e;
    (void)folder;
    (void)snprintf(path, sizeof path, "%s/%s", j->run->folder, file);
    if (is_peak || report_read(path, &(struct report_options){0}, &p, &e) != 0) return;
    if (p->duration_ns > 0) /* 0: nobody knows when; a child that was killed, or a text format */
        *REPORT_PUSH(j->over_time.all, j->over_time.n, j->over_time.cap) =
            (struct timeline_point){(double)p->duration_ns / 1e9, total_of(p, "inuse_space")};
    profile_free(p);
}

/* From all profiles of the process, which --every asked for. */
static void read_timeline(struct subject *j, const struct probe *p) {
    struct timeline *t = &j->over_time;
    if (j->asked->every == NULL || j->figures == NULL || j->figures->kind != PROFILE_HEAP) return;
    t->unit = "bytes";
    each_dump(j->run, p, j->dumps->pid, add_point, j);
    if (t->n > 1) qsort(t->all, t->n, sizeof *t->all, by_time);
}

static bool is_ascii_only(void) {
    const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"}, *locale = NULL;
    for (unsigned i = 0; i < 3 && (locale == NULL || *locale == '\0'); i++)
        locale = getenv(names[i]);
    return locale == NULL ||
           (strcasestr(locale, "utf-8") == NULL && strcasestr(locale, "utf8") == NULL);
}

static void put_timeline(const struct subject *j) {
    const struct timeline *t = &j->over_time;
    char number[64];
    if (t->n < 2) return;
    (void)fprintf(stderr, "  %-16s ", "over time");
    timeline_spark(t, SPARK_COLUMNS, is_ascii_only(), stderr);
    (void)fprintf(stderr, "  at most %s in %u profiles, %.1f s\n",
                  table_amount(t->unit, timeline_largest(t), number, sizeof number), t->n,
                  t->all[t->n - 1].seconds);
}

static void put_figures(const struct subject *j, const struct view *v) {
    char number[64];
    if (j->dumps->peak[0]) put_line("peak", v->p, "inuse_space", "inuse_objects");
    if (j->figures == NULL) return;
    if (j->figures->kind == PROFILE_HEAP) {
        put_heap(j->figures);
        return;
    }
    const struct lasting *l = lasting_of(j->figures);
    if (l == NULL) return;
    (void)fprintf(stderr, "  %-16s %12s\n  %-16s %12.0f\n", l->time,
                  table_amount(view_unit(v), v->total, number, sizeof number), l->count,
                  total_of(j->figures, l->count_type));
}

/* Are rows with this label what the process took along? Then it is said. */
static bool is_lost(const struct subject *j, const char *label, const char *what) {
    if (has_label(j->figures, label) || !is_cut_off(j->run, j->dumps->pid)) return false;
    put_lost(j->run, j->dumps->pid, what);
    return true;
}

/* A table of a label's values, of the last profile. */
static void put_label(const struct subject *j, const char *key, const char *heading) {
    struct view_options o = {.type = profile_find_type(j->figures, "alloc_space"), .tag_show = key};
    struct report_error e;
    struct view *v = view_new(j->figures, &o, &e);
    if (v == NULL) return;
    (void)fprintf(stderr, "%s:\n", heading);
    (void)view_tags(v, &(struct view_print){.out = stderr, .has_colour = j->has_colour}, &e);
    view_free(v);
}

/* Where the program mapped memory itself. */
static void put_mapped(const struct subject *j) {
    struct settings s = {.all_frames = j->asked->all_frames};
    struct symbols_options so = symbols_from(&s);
    struct view_options o = {.type = profile_find_type(j->figures, "alloc_space"),
                             .all_frames = j->asked->all_frames,
                             .tag_focus = "mapped=."};
    struct report_error e;
    symbols_resolve(j->figures, &so);
    struct view *v = view_new(j->figures, &o, &e);
    if (v == NULL) return;
    (void)fputs("mapped by the program itself, since its start:\n", stderr);
    view_sites(v,
               &(struct view_print){.out = stderr, .n_max = N_SITES, .has_colour = j->has_colour});
    view_free(v);
}

static void put_more(const struct subject *j, const struct view *v) {
    if (v->p->kind != PROFILE_HEAP || j->figures == NULL) return;
    if (j->asked->lifetimes && !is_lost(j, "lifetime", "ages of blocks"))
        put_label(j, "^lifetime$", "allocated and freed, by how long it lived at most");
    if (j->asked->mmap && !is_lost(j, "mapped", "the program's own mappings")) put_mapped(j);
}

static void put_subject(const struct subject *j) {
    const char *files[] = {j->shown};
    struct settings s = {.files = files,
                         .n_files = 1,
                         .type = j->type,
                         .tag_ignore = has_mapped(j) ? "mapped=." : NULL,
                         .all_frames = j->asked->all_frames,
                         .no_symbols = j->has_names,
                         .may_be_empty = true,
                         .has_told_gaps = true}; /* when it was made of its black box */
    struct profile *p;
    int status;
    struct view *v = load_view(&s, &p, &status);
    if (v == NULL) return;
    put_figures(j, v);
    put_timeline(j);
    if (v->n_stacks > 0) {
        if (view_sites_by_function(v))
            (void)fprintf(stderr, "%s, by function, of %u stacks:\n", j->what, v->n_stacks);
        else
            (void)fprintf(stderr, "%s:\n", j->what);
        view_sites(v, &(struct view_print){.out = stderr,
                                           .n_max = N_SITES,
                                           .has_colour = j->has_colour,
                                           .has_errors = true});
        put_more(j, v);
        (void)fprintf(stderr, "files:\n");
        draw(v, j, j->svg, /* is_page */ false);
        if (j->over_time.n > 1) draw(v, j, j->page, /* is_page */ true);
    }
    if (j->dumps->peak[0])
        (void)fprintf(stderr, "  %-16s %s\n", "peak profile", text_shown(j->peak));
    if (j->dumps->last[0])
        (void)fprintf(stderr, "  %-16s %s\n", "last profile", text_shown(j->last));
    add_to_summary(v, j);
    view_free(v);
    profile_free(p);
}

/* Those that are shown. */
static bool name_shown(const struct subject *j, struct symbolizing *y) {
    y->is_quiet = false;
    return (j->dumps->peak[0] == '\0' || symbolize_file(y, j->peak)) &&
           (j->dumps->last[0] == '\0' || symbolize_file(y, j->last));
}

static void put_shown(struct subject *j, const struct probe *p, struct symbolizing *y) {
    const struct run *r = j->run;
    const struct dumps *d = j->dumps;
    char own_little[64];
    (void)snprintf(own_little, sizeof own_little, "itself %s", p->little);
    if (d->pid != r->pid)
        (void)fprintf(stderr,
                      "  %s %s; this is its child with the largest %s profile, process %d\n",
                      text_shown(r->name), j->has_own ? own_little : "recorded nothing itself",
                      p->what, (int)d->pid);
    (void)snprintf(j->last, sizeof j->last, "%s/%s", r->folder, d->last);
    (void)snprintf(j->peak, sizeof j->peak, "%s/%s", r->folder, d->peak);
    (void)snprintf(j->svg, sizeof j->svg, "%s/%s.%d.%s.svg", r->folder, r->name, (int)d->pid,
                   p->what);
    (void)snprintf(j->page, sizeof j->page, "%s/%s.%d.%s.html", r->folder, r->name, (int)d->pid,
                   p->what);
    read_timeline(j, p);
    choose_view(j);
    j->has_names = name_shown(j, y);
    put_subject(j);
}

static void put_others(const struct subject *j, const struct probe *p) {
    if (j->n_others > 0)
        (void)fprintf(stderr, "  and those of %u other process%s in %s\n", j->n_others,
                      j->n_others == 1 ? "" : "es", text_shown(j->run->folder));
    if (j->n_left_out > 0)
        (void)fprintf(stderr, "  none of %u other process%s that %s\n", j->n_left_out,
                      j->n_left_out == 1 ? "" : "es", p->little);
}

static void put_probe(const struct run *r, const struct settings *s, const struct probe *p,
                      struct symbolizing *y, struct summary *summary) {
    struct found found = find_files(r, p);
    struct subject j = {.run = r,
                        .asked = s,
                        .probe = p->what,
                        .summary = summary,
                        .has_colour = terminal_has_colour(stderr)};
    const struct dumps *d = j.dumps = choose(&found, r, &j.figures, &j.has_own);
    j.n_left_out = leave_out_little(r, p, &found, d);
    j.n_others = found.n - (d != NULL) - j.n_left_out;
    if (d == NULL) {
        say_none(r, p);
    } else if (is_never_ended(r, d, j.figures)) {
        put_lost(r, d->pid, "waits");
        each_dump(r, p, d->pid, remove_dump, NULL);
    } else {
        put_shown(&j, p, y);
    }
    put_others(&j, p);
    profile_free(j.figures);
    free(j.over_time.all);
    free(found.all);
}

void run_report(const struct run *r, const struct settings *s) {
    struct symbolizing y;
    struct summary summary;
    summary_begin(&summary, r, s);
    put_end(r);
    put_residence(r);
    boxes_say_running(r);
    symbolize_begin(&y, &(struct settings){0});
    y.is_lenient = true;
    for (const struct probe *p = probes; p->variable; p++)
        if (probe_is_asked(p, s)) put_probe(r, s, p, &y, &summary);
    for (const struct probe *p = probes; p->variable; p++)
        if (probe_is_asked(p, s)) name_others(r, p, &y);
    symbolize_end(&y);
    summary_end(&summary, r);
}
