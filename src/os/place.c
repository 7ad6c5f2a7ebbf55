/* place.c - see place.h. Climate: malloc.   Owns: nothing.   Callers: draft.c, dialect/, cli/. */
#include "os/place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/text.h"
#include "os/impl.h"

#define MAX_LINKS 40 /* as the kernel has it */
#define PROC_MAGIC 0x9fa0

struct walk {
    struct vt_place *p;
    char *buf;        /* VT_PLACE_BYTES */
    char *rest;       /* of the path, in buf */
    unsigned n_links; /* followed */
};

/* ---- whose is it? ---- */

static int look(int fd, struct stat *s) {
    return (int)vt__syscall(SYS_fstat, fd, (long)s, 0, 0, 0, 0);
}

static bool is_trusted(const struct vt_place *p, const struct stat *s) {
    return s->st_uid == p->me || s->st_uid == 0;
}

/* A group that has its owner's number is that user's own, as most systems make them. */
static bool has_other_writers(const struct stat *s) {
    bool is_own_group = s->st_gid == s->st_uid && s->st_gid != 0;
    return (s->st_mode & S_IWOTH) != 0 || ((s->st_mode & S_IWGRP) != 0 && !is_own_group);
}

static bool is_private(const struct vt_place *p, const struct stat *folder) {
    return !has_other_writers(folder) && (is_trusted(p, folder) || folder->st_uid == p->top);
}

/* Names of files of ours are moved by us alone, and there is no second name that another has made. */
static bool may_follow(const struct vt_place *p, const struct stat *folder,
                       const struct stat *link) {
    if (is_private(p, folder)) return true;
    bool is_sticky = is_trusted(p, folder) && (folder->st_mode & S_ISVTX) != 0;
    return is_sticky && is_trusted(p, link) && link->st_nlink == 1;
}

static bool may_write(const struct vt_place *p, const struct stat *folder,
                      const struct stat *special) {
    return is_private(p, folder) || (is_trusted(p, special) && special->st_nlink == 1);
}

static bool is_in_proc(int folder) {
    struct statfs s = {0};
    return vt__syscall(SYS_fstatfs, folder, (long)&s, 0, 0, 0, 0) == 0 && s.f_type == PROC_MAGIC;
}

/* ---- a step ---- */

/* The new folder takes the place of the old one; an error is handed on. */
static int enter(struct walk *w, int folder) {
    if (folder < 0) return folder;
    vt__os_close(w->p->folder);
    w->p->folder = folder;
    return 0;
}

/* The path goes on with what the link says, then with the rest. The text of a link never changes. */
static int follow(struct walk *w, int link) {
    size_t n_rest = vt__str_len(w->rest) + 1;
    size_t room = VT_PLACE_BYTES - n_rest - 1;
    if (++w->n_links > MAX_LINKS) return -EMLINK;
    char *rest = w->buf + VT_PLACE_BYTES - n_rest;
    __builtin_memmove(rest, w->rest, n_rest);
    long n = vt__syscall(SYS_readlinkat, link, (long)"", (long)w->buf, (long)room, 0, 0);
    if (n <= 0) return n < 0 ? (int)n : -ENOENT;
    if ((size_t)n >= room) return -ENAMETOOLONG;
    if (n_rest > 1) w->buf[n++] = '/';
    __builtin_memmove(w->buf + n, rest, n_rest);
    w->rest = w->buf;
    if (w->buf[0] != '/') return 0;
    return enter(w, vt__os_open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0));
}

/* What a name stands for; 1: a link that was followed, and the walk goes on. */
static int step(struct walk *w, const char *name, bool is_last, const struct stat *s, int fd) {
    struct vt_place *p = w->p;
    struct stat folder = {0};
    int err = look(p->folder, &folder);
    if (err != 0) return err;
    if (S_ISLNK(s->st_mode)) {
        if (!is_in_proc(p->folder)) {
            err = may_follow(p, &folder, s) ? follow(w, fd) : -ELOOP;
            return err != 0 ? err : 1;
        }
        if (!is_private(p, &folder)) return -ELOOP;
        if (is_last) return p->kind = VT_PLACE_DESCRIPTOR, 0;
        err = enter(w, vt__os_open_at(p->folder, name, O_PATH | O_DIRECTORY, 0));
        return err != 0 ? err : 1;
    }
    if (!is_last) return -ENOTDIR;
    if (S_ISDIR(s->st_mode)) return -EISDIR;
    p->kind = S_ISREG(s->st_mode) ? VT_PLACE_FILE : VT_PLACE_SPECIAL;
    return S_ISREG(s->st_mode) || may_write(p, &folder, s) ? 0 : -EISNAM;
}

static int look_at(struct walk *w, const char *name, bool is_last) {
    struct stat s = {0};
    int fd = vt__os_open_at(w->p->folder, name, O_PATH | O_NOFOLLOW, 0);
    if (fd == -ENOENT && is_last) return w->p->kind = VT_PLACE_FILE, 0; /* nothing yet */
    if (fd < 0) return fd;
    int err = look(fd, &s);
    if (err == 0) err = step(w, name, is_last, &s, fd);
    vt__os_close(fd);
    return err;
}

/* The next name of the path, ended; NULL: there is none. */
static char *next_name(struct walk *w, bool *is_last) {
    char *name = w->rest;
    while (*name == '/') name++;
    char *end = name;
    while (*end != '\0' && *end != '/') end++;
    *is_last = *end == '\0';
    w->rest = *is_last ? end : end + 1;
    *end = '\0';
    return *name != '\0' ? name : NULL;
}

static int walk(struct walk *w, bool wants_folder) {
    bool is_last;
    for (;;) {
        char *name = next_name(w, &is_last);
        if (name == NULL) return wants_folder ? 0 : -EISDIR;
        if (is_last && !wants_folder) {
            w->p->name = name;
            int err = look_at(w, name, /* is_last */ true);
            if (err <= 0) return err;
            continue;
        }
        int folder = vt__os_open_at(w->p->folder, name, O_PATH | O_NOFOLLOW | O_DIRECTORY, 0);
        int err = folder == -ENOTDIR || folder == -ELOOP ? look_at(w, name, /* is_last */ false)
                                                         : enter(w, folder);
        if (err < 0) return err;
    }
}

/* Our user, and the owner of "/". */
static void note_users(struct vt_place *p) {
    struct stat top = {0};
    p->me = (uint32_t)vt__syscall(SYS_geteuid, 0, 0, 0, 0, 0, 0);
    vt__syscall(SYS_newfstatat, AT_FDCWD, (long)"/", (long)&top, 0, 0, 0);
    p->top = top.st_uid;
}

static int find(struct vt_place *p, const char *path, char *buf, bool wants_folder) {
    struct walk w = {.p = p, .buf = buf, .rest = buf};
    size_t n = vt__str_len(path);
    *p = (struct vt_place){.folder = -1};
    if (n == 0) return -ENOENT;
    if (n >= VT_PLACE_BYTES) return -ENAMETOOLONG;
    __builtin_memcpy(buf, path, n + 1);
    note_users(p);
    p->folder = vt__os_open_at(AT_FDCWD, buf[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY, 0);
    if (p->folder < 0) return p->folder;
    int err = walk(&w, wants_folder);
    if (err != 0) vt__os_close(p->folder);
    return err;
}

int vt__place_find(struct vt_place *p, const char *path, char *buf) {
    return find(p, path, buf, /* wants_folder */ false);
}

int vt__place_folder(const char *path, char *buf) {
    struct vt_place p;
    int err = find(&p, path, buf, /* wants_folder */ true);
    return err != 0 ? err : p.folder;
}

int vt__place_names(int folder) { return vt__os_open_at(folder, ".", O_RDONLY | O_DIRECTORY, 0); }

bool vt__place_is_safe(int folder) {
    struct vt_place p = {.folder = folder};
    struct stat s = {0};
    note_users(&p);
    if (look(folder, &s) != 0 || !S_ISDIR(s.st_mode)) return false;
    bool is_sticky = (s.st_mode & S_ISVTX) != 0 && (is_trusted(&p, &s) || s.st_uid == p.top);
    return is_private(&p, &s) || is_sticky;
}

/* ---- opening ---- */

#define WRITE_FLAGS (O_WRONLY | O_NOCTTY | O_NONBLOCK)

/* The system says ENXIO of a pipe that nobody reads, of a device that nothing is behind, and of a socket. */
static int open_to_write(const struct vt_place *p, int flags) {
    struct stat s = {0};
    int fd = vt__os_open_at(p->folder, p->name, WRITE_FLAGS | flags, 0);
    if (fd != -ENXIO) return fd;
    int how = (flags & O_NOFOLLOW) != 0 ? AT_SYMLINK_NOFOLLOW : 0;
    if (vt__syscall(SYS_newfstatat, p->folder, (long)p->name, (long)&s, how, 0, 0) != 0) return fd;
    return S_ISFIFO(s.st_mode) ? -ENXIO : S_ISSOCK(s.st_mode) ? -EOPNOTSUPP : -ENODEV;
}

static int open_special(const struct vt_place *p) {
    struct stat s = {0}, folder = {0};
    int fd = vt__os_open_at(p->folder, p->name, O_PATH | O_NOFOLLOW, 0);
    if (fd < 0) return fd;
    int err = look(fd, &s);
    vt__os_close(fd);
    if (err == 0 && S_ISSOCK(s.st_mode)) return -EOPNOTSUPP;
    fd = open_to_write(p, O_NOFOLLOW);
    if (fd < 0) return fd;
    /* it may be another thing by now */
    if (err == 0) err = look(fd, &s);
    if (err == 0) err = look(p->folder, &folder);
    if (err == 0 && (S_ISREG(s.st_mode) || !may_write(p, &folder, &s))) err = -EISNAM;
    if (err != 0) vt__os_close(fd);
    return err != 0 ? err : fd;
}

/* -1: no number of a descriptor. */
static int number_of(const char *name) {
    int n = 0;
    for (; *name >= '0' && *name <= '9' && n < 100000000; name++) n = n * 10 + (*name - '0');
    return *name == '\0' ? n : -1;
}

#define NOT_OURS (-EXDEV) /* another process's */

/* The number of our own, NOT_OURS, or -errno. */
static int own_descriptor(const struct vt_place *p) {
    struct stat there = {0}, ours = {0};
    int n = number_of(p->name);
    int fd = vt__os_open_at(p->folder, p->name, O_PATH, 0);
    if (fd < 0) return fd;
    bool is_ours = n >= 0 && look(fd, &there) == 0 && look(n, &ours) == 0 &&
                   there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
    vt__os_close(fd);
    return is_ours ? n : NOT_OURS;
}

/* Our own is copied: it stands where the program writes on, and a socket cannot be opened. Another process's is opened. */
static int open_descriptor(const struct vt_place *p) {
    int n = own_descriptor(p);
    if (n >= 0) return (int)vt__syscall(SYS_fcntl, n, F_DUPFD_CLOEXEC, 3, 0, 0, 0);
    return n == NOT_OURS ? open_to_write(p, O_TRUNC) : n;
}

int vt__place_open(const struct vt_place *p) {
    return p->kind == VT_PLACE_DESCRIPTOR ? open_descriptor(p) : open_special(p);
}

/* ---- asking ---- */

/* The system answers for the real user. If we are another, opening will tell. */
static int may_write_by_mode(const struct vt_place *p) {
    if ((uint32_t)vt__syscall(SYS_getuid, 0, 0, 0, 0, 0, 0) != p->me) return 0;
    return (int)vt__syscall(SYS_faccessat, p->folder, (long)p->name, W_OK, 0, 0, 0);
}

static int can_open_special(const struct vt_place *p) {
    struct stat s = {0};
    int fd = vt__os_open_at(p->folder, p->name, O_PATH | O_NOFOLLOW, 0);
    if (fd < 0) return fd;
    int err = look(fd, &s);
    vt__os_close(fd);
    if (err != 0) return err;
    return S_ISSOCK(s.st_mode) ? -EOPNOTSUPP : may_write_by_mode(p);
}

static int can_open_descriptor(const struct vt_place *p) {
    int n = own_descriptor(p);
    if (n == NOT_OURS) return may_write_by_mode(p);
    if (n < 0) return n;
    long flags = vt__syscall(SYS_fcntl, n, F_GETFL, 0, 0, 0, 0);
    if (flags < 0) return (int)flags;
    return (flags & O_ACCMODE) == O_RDONLY ? -EBADF : 0;
}

int vt__place_can_open(const struct vt_place *p) {
    return p->kind == VT_PLACE_DESCRIPTOR ? can_open_descriptor(p) : can_open_special(p);
}
