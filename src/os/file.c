/* file.c - files: those we read below /proc, and those we write.
 *
 * Climate: malloc.   Owns: nothing.   Callers: dump/.
 * Every step of writing a file (create, write, close, rename) can be made to fail, see fail.c: `file`.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "base/text.h"
#include "os/impl.h"

#define WRITE_SIGNALS (SIGNAL_BIT(SIGPIPE) | SIGNAL_BIT(SIGXFSZ))

/* Never 0, 1 or 2: a program that closed its stderr would write its messages into our file. */
static int open_at(int folder, const char *name, int flags) {
    long fd = vt__syscall(SYS_openat, folder, (long)name, flags | O_CLOEXEC, 0644, 0, 0);
    if (fd < 0 || fd > 2) return (int)fd;
    long higher = vt__syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3, 0, 0, 0);
    vt__syscall(SYS_close, fd, 0, 0, 0, 0, 0);
    return (int)higher;
}

void vt__os_folder(char *buf, size_t n_bytes) {
    long n = vt__syscall(SYS_getcwd, (long)buf, (long)n_bytes, 0, 0, 0, 0);
    if (n <= 0 || buf[0] != '/') buf[0] = '\0'; /* "(unreachable)/...": outside of our root */
}

long vt__os_read_link(const char *path, char *buf, size_t n_bytes) {
    long n = vt__syscall(SYS_readlinkat, AT_FDCWD, (long)path, (long)buf, (long)n_bytes - 1, 0, 0);
    buf[n > 0 ? n : 0] = '\0';
    return n;
}

int vt__os_open_read(const char *path) {
    int err = vt__str_starts(path, "/proc/") ? vt__os_forced_failure(VT_CALL_PROC) : 0;
    return err != 0 ? err : open_at(AT_FDCWD, path, O_RDONLY);
}

int vt__os_open_folder(const char *path) { return open_at(AT_FDCWD, path, O_PATH | O_DIRECTORY); }

int vt__os_create(int folder, const char *name) {
    int err = vt__os_forced_failure(VT_CALL_FILE);
    return err != 0 ? err : open_at(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
}

/* Opened without blocking, so that a pipe nobody reads is an error and not the end of all progress; written to as usual. */
int vt__os_open_in_place(int folder, const char *name) {
    int fd = open_at(folder, name, O_WRONLY | O_TRUNC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0) vt__syscall(SYS_fcntl, fd, F_SETFL, O_WRONLY, 0, 0, 0);
    return fd;
}

long vt__os_read(int fd, void *buf, size_t n_bytes) {
    for (;;) {
        long n = vt__syscall(SYS_read, fd, (long)buf, (long)n_bytes, 0, 0, 0);
        if (n != -EINTR) return n;
    }
}

long vt__os_read_at(int fd, void *buf, size_t n_bytes, uint64_t offset) {
    for (;;) {
        long n = vt__syscall(SYS_pread64, fd, (long)buf, (long)n_bytes, (long)offset, 0, 0);
        if (n != -EINTR) return n;
    }
}

int vt__os_seek_start(int fd) {
    return (int)vt__syscall(SYS_lseek, fd, 0, 0 /* SEEK_SET */, 0, 0, 0);
}

int vt__os_empty(int fd) { return (int)vt__syscall(SYS_ftruncate, fd, 0, 0, 0, 0, 0); }

void vt__os_close(int fd) { vt__syscall(SYS_close, fd, 0, 0, 0, 0, 0); }

int vt__os_close_written(int fd) {
    int forced = vt__os_forced_failure(VT_CALL_FILE);
    int err = (int)vt__syscall(SYS_close, fd, 0, 0, 0, 0, 0);
    if (err == -EINTR) err = 0; /* on Linux the descriptor is gone even so */
    return forced != 0 ? forced : err;
}

int vt__os_rename(int folder, const char *from, const char *to) {
    int err = vt__os_forced_failure(VT_CALL_FILE);
    if (err != 0) return err;
    return (int)vt__syscall(SYS_renameat, folder, (long)from, folder, (long)to, 0, 0);
}

int vt__os_unlink(int folder, const char *name) {
    return (int)vt__syscall(SYS_unlinkat, folder, (long)name, 0, 0, 0, 0);
}

bool vt__os_is_special(int folder, const char *name) {
    struct stat s = {0};
    return vt__syscall(SYS_newfstatat, folder, (long)name, (long)&s, AT_SYMLINK_NOFOLLOW, 0, 0) ==
               0 &&
           !S_ISREG(s.st_mode);
}

static void wait_until_writable(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    vt__syscall(SYS_ppoll, (long)&p, 1, 0, 0, KERNEL_SIGSET_BYTES, 0);
}

int vt__os_write_all(int fd, const char *data, size_t n_bytes) {
    int err = vt__os_forced_failure(VT_CALL_FILE);
    if (err != 0) return err;
    while (n_bytes > 0) {
        long n = vt__syscall(SYS_write, fd, (long)data, (long)n_bytes, 0, 0, 0);
        if (n == -EINTR) continue;
        if (n == -EAGAIN) {
            wait_until_writable(fd);
            continue;
        }
        if (n <= 0) return n < 0 ? (int)n : -EIO;
        data += n;
        n_bytes -= (size_t)n;
    }
    return 0;
}

void vt__os_hold_write_signals(struct vt_held_signals *held) {
    uint64_t set = WRITE_SIGNALS;
    *held = (struct vt_held_signals){UINT64_MAX, UINT64_MAX};
    vt__syscall(SYS_rt_sigpending, (long)&held->pending, KERNEL_SIGSET_BYTES, 0, 0, 0, 0);
    vt__syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&set, (long)&held->mask, KERNEL_SIGSET_BYTES,
                0, 0);
}

/* The kernel sends both signals to the thread that wrote, so one that was not pending before is ours. */
void vt__os_release_write_signals(const struct vt_held_signals *held, int err) {
    struct timespec at_once = {0, 0};
    uint64_t ours =
        (err == -EPIPE ? SIGNAL_BIT(SIGPIPE) : 0) | (err == -EFBIG ? SIGNAL_BIT(SIGXFSZ) : 0);
    ours &= ~held->pending;
    if (ours != 0)
        vt__syscall(SYS_rt_sigtimedwait, (long)&ours, 0, (long)&at_once, KERNEL_SIGSET_BYTES, 0, 0);
    if (held->mask != UINT64_MAX)
        vt__syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&held->mask, 0, KERNEL_SIGSET_BYTES, 0,
                    0);
}

const char *vt__os_error_words(int err) {
    static const struct {
        int err;
        const char *words;
    } table[] = {
        {-ENOSPC, "no space left on device"},
        {-ENOENT, "no such file or directory"},
        {-ENOTDIR, "not a directory"},
        {-EISDIR, "is a directory"},
        {-EACCES, "permission denied"},
        {-EPERM, "operation not permitted"},
        {-EROFS, "read-only file system"},
        {-EDQUOT, "disk quota exceeded"},
        {-EFBIG, "file size limit exceeded"},
        {-EIO, "input/output error"},
        {-EBADF, "bad file descriptor"},
        {-EPIPE, "nobody reads the pipe"},
        {-ENXIO, "nobody reads the pipe"},
        {-EMFILE, "too many open files"},
        {-ENFILE, "too many open files in the system"},
        {-ENOMEM, "out of memory"},
        {-ENAMETOOLONG, "name too long"},
        {-ELOOP, "too many symbolic links"},
        {-ETXTBSY, "text file busy"},
        {-EXDEV, "different file systems"},
        {-ENOSYS, "not supported by the system"},
    };
    for (size_t i = 0; i < vt_countof(table); i++)
        if (table[i].err == err) return table[i].words;
    return NULL;
}

/* As the kernel has it; libc's may differ. */
struct kernel_dirent { /* of getdents64 */
    uint64_t inode;
    int64_t next;
    uint16_t n_bytes;
    uint8_t type;
    char name[];
};

void vt__os_each_name(int folder, void (*visit)(const char *name, void *arg), void *arg) {
    uint64_t buf[512 / sizeof(uint64_t)] = {0};
    for (;;) {
        long n = vt__syscall(SYS_getdents64, folder, (long)buf, sizeof(buf), 0, 0, 0);
        if (n <= 0) return;
        for (char *at = (char *)buf; at < (char *)buf + n;) {
            const struct kernel_dirent *d = (const struct kernel_dirent *)(void *)at;
            visit(d->name, arg);
            at += d->n_bytes;
        }
    }
}
