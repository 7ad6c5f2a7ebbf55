/* run_boxes.c - the black boxes of what `vitrine run` runs: profiles of processes that did not write their own.
 *
 * Each process has a file of its own in a folder that we make, in memory where there is room. One that comes to its exit handlers writes
 * its profiles and removes the file. What is left is of those that were killed, crashed, called _exit or exec.
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
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/box_files.h"
#include "report/text.h"

#define ROOM_BYTES ((uint64_t)256 << 20) /* a box has no more; below that another place is better */
#define LITTLE_BYTES (1 << 20)
#define MAX_ENDS 1000000 /* processes: it may have been written by anybody */

/* ---- the folder */

static bool has_room(const char *folder) {
    struct statvfs fs;
    return statvfs(folder, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize >= ROOM_BYTES;
}

/* Processes of root may give up root before they record anything. Others may pass then, but not look: who does not know the name of the
 * folder below, which is in the environment of the program, does not find it. */
static bool make_below(const char *top, char out[PATH_MAX]) {
    uint64_t secret[2];
    if (getentropy(secret, sizeof secret) != 0) return false;
    (void)snprintf(out, PATH_MAX, "%s/%016llx%016llx", top, (unsigned long long)secret[0],
                   (unsigned long long)secret[1]);
    return mkdir(out, 0700) == 0 && chmod(out, 01777) == 0 && chmod(top, 0711) == 0;
}

static bool make_in(const char *folder, struct boxes *b) {
    if (folder == NULL || folder[0] != '/' || strpbrk(folder, ",%") != NULL) return false;
    if (snprintf(b->top, sizeof b->top, "%s/" BOXES_NAME "XXXXXX", folder) >= PATH_MAX / 2)
        return false;
    if (mkdtemp(b->top) == NULL) return false; /* mode 0700 */
    if (geteuid() != 0 || !make_below(b->top, b->folder))
        (void)snprintf(b->folder, sizeof b->folder, "%s", b->top);
    return true;
}

/* For processes that gave up root, too, where make_below() was. */
static int make_ends(const struct boxes *b) {
    char path[PATH_MAX + sizeof VT_BOX_ENDS];
    (void)snprintf(path, sizeof path, "%s/" VT_BOX_ENDS, b->folder);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && geteuid() == 0) (void)fchmod(fd, 0666);
    return fd;
}

/* With what is in it; and with folders there, but no deeper: a program may have made any. */
static void remove_folder(const char *folder, bool has_folders) {
    char path[PATH_MAX + NAME_MAX + 2];
    DIR *d = opendir(folder);
    if (d == NULL) return;
    for (const struct dirent *f; (f = readdir(d)) != NULL;) {
        if (strcmp(f->d_name, ".") == 0 || strcmp(f->d_name, "..") == 0) continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, f->d_name);
        if (unlink(path) != 0 && has_folders) remove_folder(path, /* has_folders */ false);
    }
    (void)closedir(d);
    (void)rmdir(folder);
}

/* Ours while its lock is held: that of a command that was killed is free. */
static int lock_folder(const char *folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0) return -1;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static void remove_left(const char *parent) {
    char path[PATH_MAX];
    DIR *d = opendir(parent);
    if (d == NULL) return;
    for (const struct dirent *f; (f = readdir(d)) != NULL;) {
        if (strncmp(f->d_name, BOXES_NAME, strlen(BOXES_NAME)) != 0) continue;
        (void)snprintf(path, sizeof path, "%s/%s", parent, f->d_name);
        int fd = lock_folder(path);
        if (fd < 0) continue;
        remove_folder(path, /* has_folders */ true);
        (void)close(fd);
    }
    (void)closedir(d);
}

bool boxes_begin(struct boxes *b) {
    const char *temporary = getenv("TMPDIR");
    const char *places[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", temporary, "/tmp"};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        bool is_memory = i < 2;
        if (places[i] == NULL || (is_memory && !has_room(places[i]))) continue;
        remove_left(places[i]);
        if (!make_in(places[i], b)) continue;
        b->lock = lock_folder(b->top);
        b->ends = make_ends(b);
        return true;
    }
    b->top[0] = '\0';
    return false;
}

void boxes_end(struct boxes *b) {
    if (b->top[0] != '\0') remove_folder(b->top, /* has_folders */ true);
    if (b->lock >= 0) (void)close(b->lock);
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

/* ---- what is in it */

struct left {
    char name[NAME_MAX + 1];
    struct vt_box box;
};

struct list {
    struct left *all;
    uint32_t n, cap;
};

static int by_process_and_time(const void *a, const void *b) {
    const struct vt_box *x = &((const struct left *)a)->box, *y = &((const struct left *)b)->box;
    if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* And not a link to one: processes that are others' may write there. */
static bool is_file(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Files that are no box are left out: the program may do there what it likes. */
static struct list list_boxes(const struct boxes *b) {
    struct list l = {0};
    struct image m;
    struct report_error e;
    char path[PATH_MAX + NAME_MAX + 2];
    DIR *d = opendir(b->folder);
    if (d == NULL) return l;
    for (const struct dirent *f; (f = readdir(d)) != NULL;) {
        struct left left;
        (void)snprintf(path, sizeof path, "%s/%s", b->folder, f->d_name);
        if (f->d_name[0] == '.' || !is_file(path) || image_open(&m, path, 0, &e) != 0) continue;
        (void)snprintf(left.name, sizeof left.name, "%s", f->d_name);
        if (image_find_box(&m, &left.box, &e) == 0) *REPORT_PUSH(l.all, l.n, l.cap) = left;
        image_close(&m);
    }
    (void)closedir(d);
    if (l.n > 0) qsort(l.all, l.n, sizeof *l.all, by_process_and_time);
    return l;
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
    if (!box_has(b, kind)) return false;
    if (kind == BOX_CPU) return s->cpu && (b->written & VT_BOX_WROTE_CPU) == 0;
    return s->heap && (b->written & VT_BOX_WROTE_HEAP) == 0;
}

/* A shell that called _exit says nothing about the program that it ran. */
static bool is_little(const struct profile *p) {
    uint32_t bytes = profile_find_type(p, "alloc_space");
    return p->n_samples == 0 || (bytes != PROFILE_NONE && profile_total(p, bytes) < LITTLE_BYTES);
}

/* When box i ends to tell, in ns since 1970: the next program of the process begins, or the run is over. 0: not known, of children. */
static int64_t end_ns(const struct run *r, const struct list *l, uint32_t i) {
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
static unsigned write_one(struct run *r, const struct settings *s, const struct left *left,
                          int64_t until_ns, unsigned n_exec, bool is_all) {
    char from[PATH_MAX + NAME_MAX + 2], path[PATH_MAX], name[PATH_MAX];
    struct image m;
    struct report_error e;
    (void)snprintf(from, sizeof from, "%s/%s", r->boxes->folder, left->name);
    unsigned n_left_out = 0;
    if (image_open(&m, from, 0, &e) != 0) return 0;
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

static unsigned write_boxes(struct run *r, const struct settings *s, const struct list *l,
                            bool is_all) {
    unsigned n_exec = 0, n_left_out = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct vt_box *b = &l->all[i].box;
        if (i == 0 || b->pid != l->all[i - 1].box.pid) n_exec = 0;
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

static void note_cut_off(struct run *r, const struct list *l) {
    for (uint32_t i = 0; i < l->n; i++)
        if (l->all[i].box.state == VT_BOX_LIVE)
            *REPORT_PUSH(r->cut_off, r->n_cut_off, r->cap_cut_off) = (pid_t)l->all[i].box.pid;
}

void boxes_write(struct run *r, const struct settings *s) {
    if (r->boxes->top[0] == '\0') return;
    struct list l = list_boxes(r->boxes);
    note_cut_off(r, &l);
    if (write_boxes(r, s, &l, /* is_all */ false) > 0 && !has_heap_file(r))
        (void)write_boxes(r, s, &l, /* is_all */ true);
    free(l.all);
}
