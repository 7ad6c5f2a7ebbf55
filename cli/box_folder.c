/* box_folder.c - see box_folder.h. Climate: cli. */
#include "cli/box_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "report/text.h"

#define ROOM_BYTES ((uint64_t)256 << 20) /* a box has no more; below that another place is better */

#define TOLD_NAME ".told"
#define N_NAMES 100
#define MOST_LEFT 8 /* folders that are kept; what they have may be memory */
#define LEFT_SECONDS (24 * 3600)

/* ---- folders by descriptor */

static int open_folder(int in, const char *name) {
    return openat(in, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The descriptor stays the caller's. NULL: it cannot be read. */
static DIR *names_of(int folder) {
    int fd = open_folder(folder, ".");
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (d == NULL && fd >= 0) (void)close(fd);
    return d;
}

static bool is_dots(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

/* With folders there, but no deeper: a program may have made any. */
static void empty_folder(int folder, bool has_folders) {
    DIR *d = names_of(folder);
    if (d == NULL) return;
    for (const struct dirent *f; (f = readdir(d)) != NULL;) {
        if (is_dots(f->d_name) || unlinkat(folder, f->d_name, 0) == 0 || !has_folders) continue;
        int below = open_folder(folder, f->d_name);
        if (below < 0) continue;
        empty_folder(below, /* has_folders */ false);
        (void)close(below);
        (void)unlinkat(folder, f->d_name, AT_REMOVEDIR);
    }
    (void)closedir(d);
}

/* Has it still that name? */
static bool is_at(int parent, const char *name, int folder) {
    struct stat there, ours;
    return fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && fstat(folder, &ours) == 0 &&
           there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
}

static void remove_top(int parent, const char *name, int top) {
    empty_folder(top, /* has_folders */ true);
    if (is_at(parent, name, top)) (void)unlinkat(parent, name, AT_REMOVEDIR);
}

/* ---- who runs */

/* Does /proc/PID/FILE have the text? 0 or 1; or -errno. */
static int has_text(pid_t pid, const char *file, const char *text) {
    char path[64], piece[1 << 14];
    size_t n_text = strlen(text), n = 0;
    bool is_found = false;
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -errno;
    for (ssize_t more; !is_found && (more = read(fd, piece + n, sizeof piece - n)) > 0;) {
        n += (size_t)more;
        is_found = memmem(piece, n, text, n_text) != NULL;
        size_t n_kept = n < n_text ? n : n_text - 1; /* it may begin there */
        memmove(piece, piece + n - n_kept, n_kept);
        n = n_kept;
    }
    (void)close(fd);
    return is_found;
}

static bool has_process(const struct processes *p, pid_t pid) {
    for (uint32_t i = 0; i < p->n; i++)
        if (p->all[i] == pid) return true;
    return false;
}

static void add_process(struct processes *p, pid_t pid) {
    if (!has_process(p, pid)) *REPORT_PUSH(p->all, p->n, p->cap) = pid;
}

/* Programs that write their title over their environment have the box mapped. Whose map we may not read is there. */
static bool maps_box(pid_t pid, const char *name) {
    int has = has_text(pid, "maps", name);
    return has > 0 || has == -EACCES || has == -EPERM;
}

struct processes box_folder_processes(const struct box_folder *f, const struct box_list *l) {
    struct processes p = {0};
    DIR *d = opendir("/proc");
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        pid_t pid = (pid_t)atoi(e->d_name);
        if (pid > 0 && pid != getpid() && has_text(pid, "environ", f->name) > 0)
            add_process(&p, pid);
    }
    if (d != NULL) (void)closedir(d);
    for (uint32_t i = 0; i < l->n; i++) {
        pid_t pid = (pid_t)l->all[i].box.pid;
        if (pid > 0 && !has_process(&p, pid) && maps_box(pid, f->name)) add_process(&p, pid);
    }
    return p;
}

/* The program before an exec does not. */
bool box_is_running(const struct processes *p, const struct vt_box *b) {
    return b->state != VT_BOX_REPLACED && has_process(p, (pid_t)b->pid);
}

/* ---- what is in a folder */

static int by_process_and_time(const void *a, const void *b) {
    const struct vt_box *x = &((const struct box_file *)a)->box,
                        *y = &((const struct box_file *)b)->box;
    if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* PID or PID.1, as the library calls them: the user may be told to name it to his shell. */
static bool is_box_name(const char *name) {
    return name[0] != '.' && name[strspn(name, "0123456789.")] == '\0';
}

struct box_list box_folder_list(const struct box_folder *f) {
    struct box_list l = {0};
    struct image m;
    struct report_error e;
    DIR *d = names_of(f->boxes);
    if (d == NULL) return l;
    for (const struct dirent *file; (file = readdir(d)) != NULL;) {
        struct box_file one;
        if (!is_box_name(file->d_name) || image_open_at(&m, f->boxes, file->d_name, 0, &e) != 0)
            continue;
        (void)snprintf(one.name, sizeof one.name, "%s", file->d_name);
        if (!m.is_core && image_find_box(&m, &one.box, &e) == 0)
            *REPORT_PUSH(l.all, l.n, l.cap) = one;
        image_close(&m);
    }
    (void)closedir(d);
    if (l.n > 0) qsort(l.all, l.n, sizeof *l.all, by_process_and_time);
    return l;
}

bool box_has_record(const struct vt_box *b, enum box_kind kind) {
    uint32_t own = kind == BOX_CPU ? VT_BOX_WROTE_CPU : VT_BOX_WROTE_HEAP;
    return box_has(b, kind) && (b->written & own) == 0;
}

static bool has_any_record(const struct vt_box *b) {
    for (unsigned kind = 0; kind < BOX_N_KINDS; kind++)
        if (box_has_record(b, (enum box_kind)kind)) return true;
    return false;
}

/* Where the boxes are: `below` the folder, or, if that is empty, in it. `where` is short enough, or was when the folder was made. */
static void set_path(struct box_folder *f, const char *where, const char *below) {
    const char *slash = below[0] != '\0' ? "/" : "";
    if (snprintf(f->path, sizeof f->path, "%s/%s%s%s", where, f->name, slash, below) >= PATH_MAX)
        f->path[0] = '\0';
}

/* ---- what earlier runs left */

/* The folder for processes that give up root; -1: there is none. */
static int find_below(int top, char name[NAME_MAX + 1]) {
    struct stat s;
    int below = -1;
    DIR *d = names_of(top);
    if (d == NULL) return -1;
    for (const struct dirent *f; below < 0 && (f = readdir(d)) != NULL;) {
        if (is_dots(f->d_name) || fstatat(top, f->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (!S_ISDIR(s.st_mode) || s.st_uid != geteuid()) continue;
        (void)snprintf(name, NAME_MAX + 1, "%s", f->d_name);
        below = open_folder(top, name);
    }
    (void)closedir(d);
    return below;
}

static int64_t now_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void say_left(const struct box_folder *f, const struct box_list *l) {
    const struct box_file *one = NULL;
    unsigned n = 0;
    for (uint32_t i = 0; i < l->n; i++)
        if (has_any_record(&l->all[i].box)) one = &l->all[i], n++;
    if (n == 1)
        say_warning("process %u of an earlier run left a black box: 'vitrine read %s/%s' makes "
                    "profiles of it; it is kept for a day",
                    one->box.pid, f->path, one->name);
    else
        say_warning("an earlier run left %u black boxes: 'vitrine read %s/*' makes profiles of "
                    "them; they are kept for a day",
                    n, f->path);
}

/* Since when the user knows, in ns since 1970; he is told now if he was not. */
static int64_t tell(const struct box_folder *f, const struct box_list *l) {
    struct stat s;
    if (fstatat(f->top, TOLD_NAME, &s, AT_SYMLINK_NOFOLLOW) == 0)
        return (int64_t)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec;
    int fd = openat(f->top, TOLD_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) (void)close(fd);
    say_left(f, l);
    return now_ns();
}

static bool has_records(const struct box_list *l) {
    for (uint32_t i = 0; i < l->n; i++)
        if (has_any_record(&l->all[i].box)) return true;
    return false;
}

/* A folder whose lock we have. Removes it if nothing is in it that somebody may want. Gives since when the user knows; 0: it is gone, or
 * somebody still writes there. */
static int64_t tend(struct box_folder *f) {
    struct box_list l = box_folder_list(f);
    struct processes p = box_folder_processes(f, &l);
    int64_t told = 0;
    if (p.n == 0 && has_records(&l)) told = tell(f, &l);
    bool is_old = told > 0 && now_ns() - told > (int64_t)LEFT_SECONDS * 1000000000;
    if (p.n == 0 && (told == 0 || is_old)) remove_top(f->parent, f->name, f->top);
    free(p.all);
    free(l.all);
    return is_old ? 0 : told;
}

/* Ours, and nobody's now: the lock of a command that is gone is free. -1: it is not. */
static int open_left(int parent, const char *name) {
    struct stat s;
    int top = open_folder(parent, name);
    if (top < 0) return -1;
    if (fstat(top, &s) == 0 && s.st_uid == geteuid() && flock(top, LOCK_EX | LOCK_NB) == 0 &&
        is_at(parent, name, top))
        return top;
    (void)close(top);
    return -1;
}

struct left {
    char name[sizeof((struct box_folder *)0)->name];
    int64_t told_ns;
};

static int by_age(const void *a, const void *b) {
    const struct left *x = a, *y = b;
    return x->told_ns > y->told_ns ? -1 : x->told_ns < y->told_ns;
}

static int64_t tend_one(int parent, const char *where, const char *name) {
    struct box_folder f = {.parent = parent, .top = open_left(parent, name)};
    char below[NAME_MAX + 1];
    if (f.top < 0) return 0;
    int fd = geteuid() == 0 ? find_below(f.top, below) : -1;
    f.boxes = fd >= 0 ? fd : f.top;
    (void)snprintf(f.name, sizeof f.name, "%s", name);
    set_path(&f, where, fd >= 0 ? below : "");
    int64_t told = tend(&f);
    if (fd >= 0) (void)close(fd);
    (void)close(f.top);
    return told;
}

static void remove_one(int parent, const char *name) {
    int top = open_left(parent, name);
    if (top < 0) return;
    remove_top(parent, name, top);
    (void)close(top);
}

/* The latest stay. */
static void tend_left(int parent, const char *where) {
    struct {
        struct left *all;
        uint32_t n, cap;
    } l = {0};
    struct left one;
    DIR *d = names_of(parent);
    if (d == NULL) return;
    for (const struct dirent *f; (f = readdir(d)) != NULL;) {
        if (strncmp(f->d_name, BOX_FOLDER_NAME, strlen(BOX_FOLDER_NAME)) != 0) continue;
        if (snprintf(one.name, sizeof one.name, "%s", f->d_name) >= (int)sizeof one.name) continue;
        one.told_ns = tend_one(parent, where, one.name);
        if (one.told_ns > 0) *REPORT_PUSH(l.all, l.n, l.cap) = one;
    }
    (void)closedir(d);
    if (l.n > MOST_LEFT) qsort(l.all, l.n, sizeof *l.all, by_age);
    for (uint32_t i = MOST_LEFT; i < l.n; i++) remove_one(parent, l.all[i].name);
    free(l.all);
}

/* ---- making one */

static bool has_room(int folder) {
    struct statvfs fs;
    return fstatvfs(folder, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize >= ROOM_BYTES;
}

/* Another run that looks for what was left may have had the lock first, and removed it. A file system without locks does without. */
static bool make_top(struct box_folder *f) {
    uint64_t random;
    for (unsigned i = 0; i < N_NAMES; i++) {
        if (getentropy(&random, sizeof random) != 0) return false;
        (void)snprintf(f->name, sizeof f->name, BOX_FOLDER_NAME "%016llx",
                       (unsigned long long)random);
        if (mkdirat(f->parent, f->name, 0700) != 0) {
            if (errno == EEXIST) continue;
            return false;
        }
        f->top = open_folder(f->parent, f->name);
        if (f->top < 0) return false;
        (void)flock(f->top, LOCK_EX);
        if (is_at(f->parent, f->name, f->top)) return true;
        (void)close(f->top);
    }
    f->top = -1;
    return false;
}

/* Processes of root may give up root before they record anything. Others may pass then, but not look: who does not know the name of the
 * folder below, which is in the environment of the program, does not find it. */
static bool make_below(struct box_folder *f, char name[40]) {
    uint64_t secret[2];
    if (getentropy(secret, sizeof secret) != 0) return false;
    (void)snprintf(name, 40, "%016llx%016llx", (unsigned long long)secret[0],
                   (unsigned long long)secret[1]);
    if (mkdirat(f->top, name, 0700) != 0) return false;
    int below = open_folder(f->top, name);
    if (below >= 0 && fchmod(below, 01777) == 0 && fchmod(f->top, 0711) == 0) {
        f->boxes = below;
        return true;
    }
    if (below >= 0) (void)close(below);
    return false;
}

static bool make_in(const char *where, struct box_folder *f) {
    char below[40];
    if (strpbrk(where, ",%") != NULL || strlen(where) >= PATH_MAX / 2 || !make_top(f)) return false;
    bool has_below = geteuid() == 0 && make_below(f, below);
    if (!has_below) f->boxes = f->top;
    set_path(f, where, has_below ? below : "");
    return true;
}

/* Only where nobody else can move it. What was left there goes first: it may be what takes the room. */
static bool try_place(const char *place, bool is_memory, struct box_folder *f) {
    char where[PATH_MAX];
    *f = BOX_FOLDER_NONE;
    if (place == NULL || place[0] != '/') return false;
    f->parent = folder_open_safe(place, where);
    if (f->parent < 0) return false;
    tend_left(f->parent, where);
    if ((!is_memory || has_room(f->parent)) && make_in(where, f)) return true;
    (void)close(f->parent);
    return false;
}

bool box_folder_make(struct box_folder *f) {
    const char *places[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", getenv("TMPDIR"), "/tmp"};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++)
        if (try_place(places[i], /* is_memory */ i < 2, f)) return true;
    *f = BOX_FOLDER_NONE;
    say_warning(
        "there is no folder for black boxes that others cannot change: who is killed leaves "
        "no profile; TMPDIR=DIR chooses one");
    return false;
}

void box_folder_leave(struct box_folder *f) {
    if (!box_folder_is_there(f)) return;
    if (f->boxes != f->top) (void)close(f->boxes);
    (void)close(f->top);
    (void)close(f->parent);
    *f = BOX_FOLDER_NONE;
}

void box_folder_remove(struct box_folder *f) {
    if (box_folder_is_there(f)) remove_top(f->parent, f->name, f->top);
    box_folder_leave(f);
}
