/* file.c - files: those we read below /proc, and those we write.
 *
 * Climate: malloc.   Owns: nothing.   Callers: dump/, draft.c.
 * Every step of writing a file (create, write, close, rename) can be made to fail, see fail.c: `file`.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "base/text.h"
#include "os/impl.h"

#define WRITE_SIGNALS (SIGNAL_BIT(SIGPIPE) | SIGNAL_BIT(SIGXFSZ))

int vt__os_open_at(int folder, const char *name, int flags, unsigned mode) {
    long fd = vt__syscall(SYS_openat, folder, (long)name, flags | O_CLOEXEC, mode, 0, 0);
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
    return err != 0 ? err : vt__os_open_at(AT_FDCWD, path, O_RDONLY, 0);
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

void vt__os_close(int fd) { vt__syscall(SYS_close, fd, 0, 0, 0, 0, 0); }

int vt__os_close_written(int fd) {
    int forced = vt__os_forced_failure(VT_CALL_FILE);
    int err = (int)vt__syscall(SYS_close, fd, 0, 0, 0, 0, 0);
    if (err == -EINTR) err = 0; /* on Linux the descriptor is gone even so */
    return forced != 0 ? forced : err;
}

int vt__os_unlink(int folder, const char *name) {
    return (int)vt__syscall(SYS_unlinkat, folder, (long)name, 0, 0, 0, 0);
}

/* ---- writing without waiting for ever ---- */

#define PATIENCE_NS (UINT64_C(5) * 1000000000) /* for a reader that takes nothing at all */
#define PIECE_BYTES 4096 /* a pipe that is said to have room has room for these: PIPE_BUF */

static unsigned type_of(int fd) {
    struct stat s = {0};
    vt__syscall(SYS_fstat, fd, (long)&s, 0, 0, 0, 0);
    return s.st_mode & S_IFMT;
}

/* The other end of a terminal is none: opened by its name it would be a new one. */
static bool is_terminal(int fd) {
    struct termios_of_kernel {
        unsigned words[64];
    } settings;
    unsigned number;
    return vt__syscall(SYS_ioctl, fd, TCGETS, (long)&settings, 0, 0, 0) == 0 &&
           vt__syscall(SYS_ioctl, fd, TIOCGPTN, (long)&number, 0, 0, 0) != 0;
}

int vt__os_open_patient(int fd) {
    char path[32];
    struct vt_text t = VT_TEXT(path);
    long flags = vt__syscall(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || (flags & O_NONBLOCK) != 0) return -ENOTSUP;
    unsigned type = type_of(fd);
    if (type != S_IFIFO && !(type == S_IFCHR && is_terminal(fd))) return -ENOTSUP;
    vt__text_put(&t, "/proc/self/fd/");
    vt__text_uint(&t, (uint64_t)fd);
    vt__text_char(&t, '\0');
    return vt__os_open_at(AT_FDCWD, path, O_WRONLY | O_NOCTTY | O_NONBLOCK, 0);
}

/* 0: there is room, or an error that the write will tell. */
static int await_room(int fd, uint64_t until_ns) {
    uint64_t now = vt__os_now_ns();
    if (now >= until_ns) return -ETIMEDOUT;
    uint64_t left = until_ns - now;
    struct timespec t = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    long n = vt__syscall(SYS_ppoll, (long)&p, 1, (long)&t, 0, KERNEL_SIGSET_BYTES, 0);
    return n == 0 ? -ETIMEDOUT : 0;
}

static long write_some(int fd, const char *data, size_t n_bytes, bool is_socket) {
    if (is_socket)
        return vt__syscall(SYS_sendto, fd, (long)data, (long)n_bytes, MSG_DONTWAIT, 0, 0);
    return vt__syscall(SYS_write, fd, (long)data, (long)n_bytes, 0, 0, 0);
}

int vt__os_write_all(int fd, const char *data, size_t n_bytes) {
    int err = vt__os_forced_failure(VT_CALL_FILE);
    unsigned type = type_of(fd);
    bool has_reader = type == S_IFIFO || type == S_IFCHR || type == S_IFSOCK;
    uint64_t until_ns = vt__os_now_ns() + PATIENCE_NS;
    while (err == 0 && n_bytes > 0) {
        if (has_reader) err = await_room(fd, until_ns);
        if (err != 0) break;
        size_t n_piece = has_reader ? vt_min(n_bytes, PIECE_BYTES) : n_bytes;
        long n = write_some(fd, data, n_piece, type == S_IFSOCK);
        if (n == -EINTR || n == -EAGAIN) continue;
        if (n <= 0) return n < 0 ? (int)n : -EIO;
        data += n;
        n_bytes -= (size_t)n;
        until_ns = vt__os_now_ns() + PATIENCE_NS;
    }
    return err;
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
        {-ETIMEDOUT, "its reader stopped reading"},
        {-EMFILE, "too many open files"},
        {-ENFILE, "too many open files in the system"},
        {-ENOMEM, "out of memory"},
        {-ENAMETOOLONG, "name too long"},
        {-ELOOP, "a symbolic link that another user could have planted"},
        {-EISNAM, "a pipe, socket or device that another user could have planted"},
        {-EMLINK, "too many symbolic links"},
        {-EOPNOTSUPP, "not a file that can be written"},
        {-EEXIST, "file exists"},
        {-EBUSY, "device or file busy"},
        {-EAGAIN, "try again later"},
        {-EINTR, "interrupted"},
        {-EINVAL, "invalid argument"},
        {-ENODEV, "no such device"},
        {-ENOTTY, "not possible with this device"},
        {-ENOTEMPTY, "folder not empty"},
        {-EOVERFLOW, "value too large"},
        {-ENOLCK, "no locks available"},
        {-ESTALE, "stale file handle"},
        {-ENOTCONN, "not connected"},
        {-ECONNRESET, "connection closed by its reader"},
        {-EHOSTDOWN, "the file server is down"},
        {-EUCLEAN, "the file system is damaged"},
        {-ENOKEY, "the folder is encrypted, and its key not there"},
        {-EFAULT, "bad address"},
        {-ESRCH, "no such process"},
        {-ETXTBSY, "text file busy"},
        {-EXDEV, "different file systems"},
        {-ENOSYS, "not supported by the system"},
    };
    for (size_t i = 0; i < vt_countof(table); i++)
        if (table[i].err == err) return table[i].words;
    return NULL;
}

bool vt__os_is_refusal(int err) {
    return err == -ELOOP || err == -EISNAM || err == -ETIMEDOUT || err == -ENXIO;
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
