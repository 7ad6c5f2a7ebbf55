/* control.c - see control.h. Climate: cli.
 *
 *   lock        flock of /proc/PID/mem, which only those can open who may ask: one client at a time; gone with the client, and
 *               nothing is left behind. Root's clients have a lock of their own before it, and wait for others' only a while: the
 *               file and its lock survive exec, so who had it open before the process became root's holds it still
 *   request     then its id in `wanted`: what comes first is there when the second is
 *   wait        a busy program answers by itself within milliseconds; then it is woken by its signal, again and again
 *   too late    the request is taken back, and the program would not obey it any more
 */
#include "report/control.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "report/memory.h"

#define STEP_MS 1
#define BEFORE_SIGNAL_MS                                                                           \
    20 /* a program that allocates comes by on its own; no need to interrupt it */
#define BETWEEN_SIGNALS_MS 50 /* one that came in the middle of malloc was put off */
#define OTHERS_MS 500         /* root waits so long for a client that is not root's */
#define DATA_MAX_BYTES (1u << 24)

struct control {
    int pid;
    int mem;     /* descriptor, and the lock; -1: not open */
    int guard;   /* root's own lock; -1: none */
    uint64_t at; /* of vt_control, in the process */
    struct vt_control head;
};

static uint64_t now_ms(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static uint64_t wall_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_ms(unsigned ms) {
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    (void)nanosleep(&t, NULL);
}

/* ---- memory of the process */

static bool read_at(const struct control *c, uint64_t at, void *out, size_t n_bytes) {
    return pread(c->mem, out, n_bytes, (off_t)at) == (ssize_t)n_bytes;
}

static bool write_at(const struct control *c, uint64_t at, const void *data, size_t n_bytes) {
    return pwrite(c->mem, data, n_bytes, (off_t)at) == (ssize_t)n_bytes;
}

#define FIELD(c, name) ((c)->at + offsetof(struct vt_control, name))

/* ---- /proc */

/* The number behind "Name:" in a status file, the last one of the line; false: no such line. */
static bool read_status(const char *path, const char *name, int base, uint64_t *out) {
    char line[512];
    bool is_found = false;
    FILE *f = fopen(path, "re");
    if (f == NULL) return false;
    while (!is_found && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, name, strlen(name)) != 0) continue;
        line[strcspn(line, "\n")] = '\0';
        const char *last = strrchr(line, '\t');
        if (last == NULL) break;
        *out = strtoull(last + 1, NULL, base);
        is_found = true;
    }
    (void)fclose(f);
    return is_found;
}

static const char *proc_path(const struct control *c, const char *name, char *path,
                             size_t n_bytes) {
    (void)snprintf(path, n_bytes, "/proc/%d/%s", c->pid, name);
    return path;
}

/* What getpid() tells there, in its own namespace. */
static uint32_t pid_inside(const struct control *c) {
    char path[64];
    uint64_t pid = (uint64_t)c->pid;
    (void)read_status(proc_path(c, "status", path, sizeof path), "NSpid:", 10, &pid);
    return (uint32_t)pid;
}

static bool is_stopped(const struct control *c) {
    char path[64], line[256] = "";
    FILE *f = fopen(proc_path(c, "status", path, sizeof path), "re");
    bool is = false;
    while (f != NULL && !is && fgets(line, sizeof line, f) != NULL)
        is = strncmp(line, "State:\tT", 8) == 0 || strncmp(line, "State:\tt", 8) == 0;
    if (f != NULL) (void)fclose(f);
    return is;
}

/* ---- opening */

static int no_process(const struct control *c, struct report_error *e) {
    return report_fail(e, ESRCH, "no process %d", c->pid);
}

static bool has_memory(const struct control *c) {
    char path[64];
    uint64_t n_kib;
    return read_status(proc_path(c, "status", path, sizeof path), "VmSize:", 10, &n_kib);
}

static int not_permitted(const struct control *c, struct report_error *e) {
    if (!has_memory(c)) return no_process(c, e); /* it is ending: then nobody is permitted */
    FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    int scope = f ? fgetc(f) : '0';
    if (f != NULL) (void)fclose(f);
    return report_fail(e, EPERM, "process %d: not permitted%s", c->pid,
                       scope > '0' ? " (kernel.yama.ptrace_scope is set: only root may)"
                                   : " (it is another user's, or changed its user)");
}

static int no_library(const struct control *c, struct report_error *e) {
    return report_fail(e, ENOENT, "process %d runs without the vitrine library", c->pid);
}

static int read_head(struct control *c, struct report_error *e) {
    if (!read_at(c, c->at, &c->head, offsetof(struct vt_control, request))) return no_library(c, e);
    if (memcmp(c->head.magic, VT_CONTROL_MAGIC, sizeof VT_CONTROL_MAGIC) != 0)
        return no_library(c, e);
    if (c->head.version != VT_CONTROL_VERSION || c->head.n_bytes < sizeof c->head)
        return report_fail(
            e, EPROTO,
            "process %d has version %" PRIu32
            " of the control block, and this vitrine knows %d: use the one that came "
            "with its library",
            c->pid, c->head.version, VT_CONTROL_VERSION);
    return 0;
}

static int open_all(struct control *c, struct symbol_cache *cache, enum control_access access,
                    struct report_error *e) {
    char path[64];
    if (c->pid <= 0) return no_process(c, e);
    c->mem = open(proc_path(c, "mem", path, sizeof path),
                  (access == CONTROL_ASK ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (c->mem < 0 && errno == ENOENT) return no_process(c, e);
    if (c->mem < 0 && (errno == EACCES || errno == EPERM)) return not_permitted(c, e);
    int err = process_symbol_find(cache, c->pid, "vt_control", &c->at);
    if (err == -EACCES || err == -EPERM) return not_permitted(c, e);
    if (err != 0 || c->mem < 0) return no_library(c, e);
    return read_head(c, e);
}

int control_open(struct symbol_cache *cache, int pid, enum control_access access,
                 struct control **out, struct report_error *e) {
    struct control *c = report_alloc(sizeof *c);
    *c = (struct control){.pid = pid, .mem = -1, .guard = -1};
    int err = open_all(c, cache, access, e);
    if (err != 0) {
        control_close(c);
        return err;
    }
    *out = c;
    return 0;
}

void control_close(struct control *c) {
    if (c->mem >= 0) (void)close(c->mem); /* and with it the lock */
    if (c->guard >= 0) (void)close(c->guard);
    free(c);
}

bool control_look(const struct control *c, struct control_figures *out) {
    uint64_t n_slices;
    uint8_t is_exact;
    if (!read_at(c, (uintptr_t)c->head.used_slices, &n_slices, sizeof n_slices) ||
        !read_at(c, (uintptr_t)c->head.period, &out->period_bytes, sizeof out->period_bytes) ||
        !read_at(c, (uintptr_t)c->head.is_exact, &is_exact, sizeof is_exact))
        return false;
    out->heap_bytes = n_slices * c->head.slice_bytes;
    out->is_exact = is_exact != 0;
    return true;
}

/* ---- waking */

/* Calls that give up with EINTR when a handler ran, whatever its flags: signal(7). */
static bool gives_up(long call) {
    static const long calls[] = {
#ifdef SYS_poll
        SYS_poll,          SYS_select,          SYS_epoll_wait,
        SYS_pause,
#endif
        SYS_ppoll,         SYS_pselect6,        SYS_epoll_pwait,
        SYS_nanosleep,     SYS_clock_nanosleep, SYS_rt_sigtimedwait,
        SYS_rt_sigsuspend, SYS_semop,           SYS_semtimedop,
        SYS_msgrcv,        SYS_msgsnd,          SYS_io_getevents,
#ifdef SYS_epoll_pwait2
        SYS_epoll_pwait2,
#endif
    };
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i] == call) return true;
    return false;
}

/* How little a thread minds: 3 it runs, 2 its call goes on afterwards, 1 its call gives up, 0 the signal does not reach it. */
static int patience_of(const struct control *c, const char *tid) {
    char path[300], line[64] = "";
    uint64_t blocked;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%s/status", c->pid, tid);
    if (!read_status(path, "SigBlk:", 16, &blocked)) return 0;
    if (blocked >> (c->head.signal - 1) & 1) return 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task/%s/syscall", c->pid, tid);
    FILE *f = fopen(path, "re");
    if (f == NULL) return 1;
    bool is_read = fgets(line, sizeof line, f) != NULL;
    (void)fclose(f);
    if (is_read && strncmp(line, "running", 7) == 0) return 3;
    return is_read && !gives_up(strtol(line, NULL, 10)) ? 2 : 1;
}

static int most_patient_thread(const struct control *c) {
    char path[64];
    int best = 0, best_tid = 0;
    DIR *tasks = opendir(proc_path(c, "task", path, sizeof path));
    for (const struct dirent *d; tasks != NULL && (d = readdir(tasks)) != NULL;) {
        int patience = d->d_name[0] == '.' ? 0 : patience_of(c, d->d_name);
        if (patience <= best) continue;
        best = patience;
        best_tid = (int)strtol(d->d_name, NULL, 10);
        if (best == 3) break;
    }
    if (tasks != NULL) (void)closedir(tasks);
    return best_tid;
}

/* Only a signal that somebody handles: another one may end the program. */
static void wake(const struct control *c) {
    char path[64];
    uint64_t caught;
    if (c->head.signal == 0 || c->head.signal > 64) return;
    if (!read_status(proc_path(c, "status", path, sizeof path), "SigCgt:", 16, &caught)) return;
    if ((caught >> (c->head.signal - 1) & 1) == 0) return;
    int tid = most_patient_thread(c);
    if (tid != 0) (void)syscall(SYS_tgkill, c->pid, tid, (int)c->head.signal);
}

/* ---- asking */

static bool is_roots(int fd, mode_t nobodys) {
    struct stat s;
    return fstat(fd, &s) == 0 && s.st_uid == 0 && (s.st_mode & nobodys) == 0;
}

/* A file that only root can open. -1: we are not root, or there is no folder where only root can make one. */
static int open_guard(void) {
    int fd = -1, folder = geteuid() == 0 ? open("/run", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder < 0) return -1;
    if (is_roots(folder, S_IWGRP | S_IWOTH))
        fd = openat(folder, "vitrine.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    (void)close(folder);
    if (fd < 0 || is_roots(fd, S_IRWXG | S_IRWXO)) return fd;
    (void)close(fd);
    return -1;
}

/* Each process has its byte, so that the file is one and need not be removed. */
static bool try_guard(const struct control *c) {
    struct flock byte = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)c->pid, .l_len = 1};
    return fcntl(c->guard, F_OFD_SETLK, &byte) == 0;
}

static bool try_mem(const struct control *c) { return flock(c->mem, LOCK_EX | LOCK_NB) == 0; }

/* 0, or -errno: -EBUSY when another has it until then. */
static int await_lock(const struct control *c, bool (*try)(const struct control *c),
                      uint64_t until_ms) {
    while (!try(c)) {
        if (errno != EWOULDBLOCK && errno != EACCES && errno != EINTR) return -errno;
        if (now_ms() >= until_ms) return -EBUSY;
        sleep_ms(STEP_MS);
    }
    return 0;
}

static int lock(struct control *c, uint64_t until_ms, struct report_error *e) {
    if (c->guard < 0) c->guard = open_guard();
    int err = c->guard >= 0 ? await_lock(c, try_guard, until_ms) : 0;
    if (err == 0 && c->guard >= 0) {
        uint64_t now = now_ms(), left_ms = until_ms > now ? (until_ms - now) / 2 : 0;
        err = await_lock(c, try_mem, now + (left_ms < OTHERS_MS ? left_ms : OTHERS_MS));
        if (err == -EBUSY) return 0; /* whoever that is does not keep root out */
    } else if (err == 0) {
        err = await_lock(c, try_mem, until_ms);
    }
    if (err == 0) return 0;
    if (err == -EBUSY)
        return report_fail(e, EBUSY, "process %d: another vitrine is asking it", c->pid);
    return report_fail(e, -err, "cannot lock process %d: %s", c->pid, strerror(-err));
}

static int ended(const struct control *c, struct report_error *e) {
    return report_fail(e, ESRCH, "process %d ended before it answered", c->pid);
}

static int too_late(const struct control *c, uint32_t id, unsigned timeout_ms,
                    struct report_error *e) {
    uint32_t wanted = 0, none = 0;
    if (!read_at(c, FIELD(c, wanted), &wanted, sizeof wanted)) return ended(c, e);
    if (wanted == id) (void)write_at(c, FIELD(c, wanted), &none, sizeof none);
    const char *why = "it neither allocates nor takes the signal";
    if (wanted != id) why = "it has begun, and is not done";
    if (is_stopped(c)) why = "it is stopped";
    return report_fail(e, ETIMEDOUT, "process %d does not answer within %.1f s: %s", c->pid,
                       timeout_ms / 1000.0, why);
}

static int await(const struct control *c, uint32_t id, unsigned timeout_ms, uint64_t until_ms,
                 struct report_error *e) {
    uint64_t signal_ms = now_ms() + BEFORE_SIGNAL_MS;
    for (;;) {
        uint32_t answered;
        if (!read_at(c, FIELD(c, answer.id), &answered, sizeof answered)) return ended(c, e);
        if (answered == id) return 0;
        uint64_t now = now_ms();
        if (now >= until_ms) return too_late(c, id, timeout_ms, e);
        if (now >= signal_ms) {
            wake(c);
            signal_ms = now + BETWEEN_SIGNALS_MS;
        }
        sleep_ms(STEP_MS);
    }
}

static int read_reply(const struct control *c, struct control_reply *reply,
                      struct report_error *e) {
    struct vt_control_answer *a = &reply->answer;
    if (!read_at(c, FIELD(c, answer), a, sizeof *a)) return ended(c, e);
    a->text[sizeof a->text - 1] = '\0';
    if (a->error != 0)
        return report_fail(e, -a->error, "process %d: %s", c->pid,
                           a->text[0] ? a->text : strerror(-a->error));
    if (a->data == 0 || a->n_bytes > DATA_MAX_BYTES) return 0;
    reply->data = report_alloc(a->n_bytes + 1);
    if (read_at(c, a->data, reply->data, a->n_bytes)) return 0;
    free(reply->data);
    reply->data = NULL;
    return ended(c, e);
}

int control_ask(struct control *c, const struct control_question *q, unsigned timeout_ms,
                struct control_reply *reply, struct report_error *e) {
    uint64_t until_ms = now_ms() + timeout_ms;
    struct vt_control_request r = {.pid = pid_inside(c),
                                   .until_ns = wall_ns() + timeout_ms * UINT64_C(1000000),
                                   .command = q->command,
                                   .format = q->format,
                                   .number = q->number};
    size_t n = q->text ? strlen(q->text) : 0;
    *reply = (struct control_reply){.data = NULL};
    if (n >= sizeof r.text)
        return report_fail(e, ENAMETOOLONG, "'%s': longer than %zu bytes", q->text,
                           sizeof r.text - 1);
    if (n > 0) memcpy(r.text, q->text, n);
    while (r.id == 0)
        if (getrandom(&r.id, sizeof r.id, 0) != (ssize_t)sizeof r.id) r.id = (uint32_t)wall_ns();
    r.sum = vt_control_sum(&r);
    int err = lock(c, until_ms, e);
    if (err != 0) return err;
    if (!write_at(c, FIELD(c, request), &r, sizeof r) ||
        !write_at(c, FIELD(c, wanted), &r.id, sizeof r.id))
        return ended(c, e);
    err = await(c, r.id, timeout_ms, until_ms, e);
    return err != 0 ? err : read_reply(c, reply, e);
}
