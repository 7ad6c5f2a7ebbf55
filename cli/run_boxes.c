/* run_boxes.c - the black boxes of what `vitrine run` runs: profiles of processes that did not write their own.
 *
 * Each process has a file of its own in a folder that we make (box_folder.h), in memory where there is room. One that comes to its exit
 * handlers writes its profiles and removes the file. What is left is of those that were killed, crashed, called _exit or exec; and of
 * those that outlive the program: these keep their box, and the folder.
 *
 *   FOLDER/NAME.PID.NNNN.heap, .PID.peak.heap, NAME.cpu, NAME.cpu_PID      as the process would have called them
 *   FOLDER/NAME.PID.execN.heap, ...                                        of a program that called exec: N is which
 *
 * Climate: cli.
 */
#include "cli/run_boxes.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/box_files.h"
#include "report/text.h"

#define LITTLE_BYTES (1 << 20)
#define MAX_ENDS 1000000 /* processes: it may have been written by anybody */
#define LAST_MS 200      /* for those that a signal to all reached at this moment */
#define STEP_MS 10

/* For processes that gave up root, too. */
static int make_ends(const struct box_folder *f) {
    int fd =
        openat(f->boxes, VT_BOX_ENDS, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && geteuid() == 0) (void)fchmod(fd, 0666);
    return fd;
}

bool boxes_begin(struct boxes *b) {
    if (!box_folder_make(&b->folder)) return false;
    b->ends = make_ends(&b->folder);
    return true;
}

void boxes_end(struct boxes *b) {
    if (b->n_running == 0)
        box_folder_remove(&b->folder);
    else
        box_folder_leave(&b->folder);
    if (b->ends >= 0) (void)close(b->ends);
}

void boxes_read_ends(const struct boxes *b, struct residence *r) {
    struct vt_box_end e;
    for (off_t i = 0; b->ends >= 0 && i < MAX_ENDS; i++) {
        if (pread(b->ends, &e, sizeof e, i * (off_t)sizeof e) != (ssize_t)sizeof e) return;
        if (memcmp(e.magic, VT_BOX_END_MAGIC, sizeof e.magic) != 0 || e.n_bytes != sizeof e) return;
        residence_add_end(r, &e);
    }
}

/* ---- names of files */

/* One more than the last that the process wrote itself. */
static unsigned long next_number(const struct run *r, uint32_t pid) {
    unsigned long last = 0;
    size_t n = strlen(r->name);
    DIR *d = opendir(r->folder);
    if (d == NULL) return 1;
    for (const struct dirent *f; (f = readdir(d)) != NULL;) {
        struct dump_name name = {0};
        if (strncmp(f->d_name, r->name, n) != 0 || !run_heap_name(f->d_name + n, &name)) continue;
        if (name.pid == (pid_t)pid && !name.is_peak && name.number > last) last = name.number;
    }
    (void)closedir(d);
    return last + 1;
}

/* n_exec: the how-manieth that this process left by exec; 0: it is the last. */
static void choose_path(const struct run *r, const struct vt_box *b, enum box_kind kind,
                        unsigned n_exec, char path[PATH_MAX]) {
    if (n_exec > 0)
        (void)snprintf(path, PATH_MAX, "%s/%s.%u.exec%u%s", r->folder, r->name, b->pid, n_exec,
                       box_endings[kind]);
    else if (kind == BOX_PEAK)
        (void)snprintf(path, PATH_MAX, "%s/%s.%u.peak.heap", r->folder, r->name, b->pid);
    else if (kind == BOX_HEAP)
        (void)snprintf(path, PATH_MAX, "%s/%s.%u.%04lu.heap", r->folder, r->name, b->pid,
                       next_number(r, b->pid));
    else if (b->pid == (uint32_t)r->pid)
        (void)snprintf(path, PATH_MAX, "%s/%s.cpu", r->folder, r->name);
    else
        (void)snprintf(path, PATH_MAX, "%s/%s.cpu_%u", r->folder, r->name, b->pid);
}

/* ---- writing */

static bool is_missing(const struct vt_box *b, enum box_kind kind, const struct settings *s) {
    return (kind == BOX_CPU ? s->cpu : s->heap) && box_has_record(b, kind);
}

/* A shell that called _exit says nothing about the program that it ran. */
static bool is_little(const struct profile *p) {
    uint32_t bytes = profile_find_type(p, "alloc_space");
    return p->n_samples == 0 || (bytes != PROFILE_NONE && profile_total(p, bytes) < LITTLE_BYTES);
}

/* When box i ends to tell, in ns since 1970: the next program of the process begins, or the run is over. 0: not known, of children. */
static int64_t end_ns(const struct run *r, const struct box_list *l, uint32_t i) {
    const struct vt_box *b = &l->all[i].box;
    bool has_next = i + 1 < l->n && l->all[i + 1].box.pid == b->pid;
    if (has_next) return (int64_t)l->all[i + 1].box.start_ns;
    if (b->pid != (uint32_t)r->pid) return 0;
    return r->over_ns;
}

static void tell_before_exec(struct run *r, const char *path) {
    for (uint32_t i = 0; i < r->n_before_exec; i++)
        if (strcmp(r->before_exec[i], path) == 0) return;
    char *copy = strdup(path);
    if (copy == NULL) report_no_memory();
    *REPORT_PUSH(r->before_exec, r->n_before_exec, r->cap_before_exec) = copy;
    (void)fprintf(stderr, "  %-16s %s\n", "before exec", text_shown(path));
}

/* Those of which there is little are left out, unless is_all; how many. */
static unsigned write_one(struct run *r, const struct settings *s, const struct box_file *left,
                          int64_t until_ns, unsigned n_exec, bool is_all) {
    char path[PATH_MAX], name[PATH_MAX];
    struct image m;
    struct report_error e;
    unsigned n_left_out = 0;
    if (image_open_at(&m, r->boxes->folder.boxes, left->name, 0, &e) != 0) return 0;
    (void)snprintf(name, sizeof name, "%s.%u", r->name, left->box.pid);
    m.name = name; /* the folder means nothing to the user */
    for (unsigned kind = 0; kind < BOX_N_KINDS; kind++) {
        if (!is_missing(&left->box, (enum box_kind)kind, s)) continue;
        struct profile *p = box_profile(&m, &left->box, (enum box_kind)kind, &e);
        if (p == NULL) {
            say_warning("%s", e.line);
            continue;
        }
        if (until_ns > p->time_ns && p->time_ns > 0) p->duration_ns = until_ns - p->time_ns;
        choose_path(r, &left->box, (enum box_kind)kind, n_exec, path);
        bool is_left_out = !is_all && is_little(p);
        n_left_out += is_left_out;
        if (!is_left_out) box_say_notes(p, (enum box_kind)kind);
        if (!is_left_out && p->n_samples > 0 &&
            box_write(p, path, &(struct settings){0}) == EXIT_FINE && n_exec > 0)
            tell_before_exec(r, path);
        profile_free(p);
    }
    image_close(&m);
    return n_left_out;
}

/* Of processes that are over. */
static unsigned write_boxes(struct run *r, const struct settings *s, const struct box_list *l,
                            const struct processes *running, bool is_all) {
    unsigned n_exec = 0, n_left_out = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct vt_box *b = &l->all[i].box;
        if (i == 0 || b->pid != l->all[i - 1].box.pid) n_exec = 0;
        if (box_is_running(running, b)) continue;
        r->boxes->has_lost |= b->n_lost_bytes > 0;
        bool is_replaced = b->state == VT_BOX_REPLACED;
        n_left_out +=
            write_one(r, s, &l->all[i], end_ns(r, l, i), is_replaced ? ++n_exec : 0, is_all);
    }
    return n_left_out;
}

/* Any profile of this run, whoever wrote it. */
static bool has_heap_file(const struct run *r) {
    bool is_found = false;
    size_t n = strlen(r->name);
    DIR *d = opendir(r->folder);
    if (d == NULL) return false;
    for (const struct dirent *f; !is_found && (f = readdir(d)) != NULL;) {
        struct dump_name name = {0};
        is_found = strncmp(f->d_name, r->name, n) == 0 && run_heap_name(f->d_name + n, &name);
    }
    (void)closedir(d);
    return is_found;
}

static void note_cut_off(struct run *r, const struct box_list *l, const struct processes *running) {
    for (uint32_t i = 0; i < l->n; i++)
        if (l->all[i].box.state == VT_BOX_LIVE && !box_is_running(running, &l->all[i].box))
            *REPORT_PUSH(r->cut_off, r->n_cut_off, r->cap_cut_off) = (pid_t)l->all[i].box.pid;
}

/* ---- processes that outlive the program */

/* What is in the folder, and who may still write there when the last moment is over. */
static struct processes await_others(const struct box_folder *f, struct box_list *l) {
    const struct timespec step = {0, STEP_MS * 1000000L};
    *l = box_folder_list(f);
    struct processes p = box_folder_processes(f, l);
    for (int ms = 0; p.n > 0 && ms < LAST_MS; ms += STEP_MS) {
        (void)nanosleep(&step, NULL);
        free(p.all);
        free(l->all);
        *l = box_folder_list(f);
        p = box_folder_processes(f, l);
    }
    return p;
}

/* Their boxes are all that stays. */
static void keep_running(struct boxes *b, const struct box_list *l, const struct processes *p) {
    const char *name = "*";
    for (uint32_t i = 0; i < l->n; i++) {
        if (!box_is_running(p, &l->all[i].box))
            (void)unlinkat(b->folder.boxes, l->all[i].name, 0);
        else if (p->n == 1)
            name = l->all[i].name;
    }
    b->n_running = p->n;
    b->running = p->all[0];
    (void)snprintf(b->running_path, sizeof b->running_path, "%s/%s", b->folder.path, name);
}

void boxes_say_running(const struct run *r) {
    const struct boxes *b = r->boxes;
    char others[32] = "";
    if (b->n_running == 0) return;
    if (b->n_running > 1) (void)snprintf(others, sizeof others, " and %u more", b->n_running - 1);
    say_warning("process %d%s still run%s: at exit profiles are written into '%s'; 'vitrine read "
                "%s' makes some now, or when it was killed",
                (int)b->running, others, b->n_running > 1 ? "" : "s", r->folder, b->running_path);
}

void boxes_write(struct run *r, const struct settings *s) {
    struct box_list l;
    if (!box_folder_is_there(&r->boxes->folder)) return;
    struct processes running = await_others(&r->boxes->folder, &l);
    note_cut_off(r, &l, &running);
    if (write_boxes(r, s, &l, &running, /* is_all */ false) > 0 && !has_heap_file(r))
        (void)write_boxes(r, s, &l, &running, /* is_all */ true);
    if (running.n > 0) keep_running(r->boxes, &l, &running);
    free(running.all);
    free(l.all);
}
