/* timer.c - clocks that send signals, signals held back, and the process's threads: what the CPU profiler asks of the kernel.
 *
 * Climate: signal.   Owns: nothing.   Callers: probe/cpu_*.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <time.h>

#include "base/text.h"
#include "os/impl.h"

#define NSEC_PER_SEC UINT64_C(1000000000)
#define NOTIFY_THREAD 4 /* SIGEV_THREAD_ID, which not every libc names */

struct kernel_sigevent { /* 64 bytes */
    void *value;
    int signal, notify;
    int tid;
    int pad[11];
};
_Static_assert(sizeof(struct kernel_sigevent) == 64, "as the kernel has it");

/* linux/perf_event.h, which a musl tree lacks: the first version of struct perf_event_attr */
struct perf_attr {
    uint32_t type, n_bytes;
    uint64_t config, sample_period, sample_type, read_format;
    uint64_t flags;
    uint32_t wakeup_events, unused[3];
};
_Static_assert(sizeof(struct perf_attr) == 64, "as the kernel has it");
#define PERF_SOFTWARE 1
#define PERF_TASK_CLOCK 1
#define PERF_DISABLED UINT64_C(1)
#define PERF_EXCLUDE_KERNEL (UINT64_C(1) << 5)
#define PERF_CLOEXEC 8
#define PERF_ENABLE 0x2400 /* of ioctl */

static struct timespec timespec_of(uint64_t ns) {
    return (struct timespec){(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};
}

/* The kernel's encoding: the complement of the id, and "per thread, as the scheduler counts". */
int vt__os_thread_clock(int tid) { return (int)(~(unsigned)tid << 3 | 6); }

uint64_t vt__os_clock_ns(int clock) {
    struct timespec t = {0, 0};
    vt__syscall(SYS_clock_gettime, clock, (long)&t, 0, 0, 0, 0);
    return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

uint64_t vt__os_tick_ns(void) {
    struct timespec t = {0, 0};
    vt__syscall(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, (long)&t, 0, 0, 0, 0);
    return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

void vt__os_sleep_ns(uint64_t ns) {
    struct timespec t = timespec_of(ns);
    vt__syscall(SYS_nanosleep, (long)&t, 0, 0, 0, 0, 0);
}

int vt__os_timer_create(int clock, int signal, int tid, void *value, int *out) {
    struct kernel_sigevent e = {.value = value, .signal = signal, .tid = tid};
    e.notify = tid != 0 ? NOTIFY_THREAD : SIGEV_SIGNAL;
    return (int)vt__syscall(SYS_timer_create, clock, (long)&e, (long)out, 0, 0, 0);
}

int vt__os_timer_set(int timer, uint64_t first_ns, uint64_t period_ns) {
    struct itimerspec t = {timespec_of(period_ns), timespec_of(first_ns)};
    return (int)vt__syscall(SYS_timer_settime, timer, 0, (long)&t, 0, 0, 0);
}

void vt__os_timer_delete(int timer) { vt__syscall(SYS_timer_delete, timer, 0, 0, 0, 0, 0); }

int vt__os_itimer_set(int which, uint64_t period_ns) {
    struct timeval t = {(time_t)(period_ns / NSEC_PER_SEC),
                        (long)(period_ns % NSEC_PER_SEC / 1000)};
    struct itimerval both = {t, t};
    return (int)vt__syscall(SYS_setitimer, which, (long)&both, 0, 0, 0, 0);
}

/* The signal goes to the thread that is counted. -EACCES or -EPERM: perf_event_paranoid, or a filter, forbids it. */
static int send_signals(int fd, int tid, int signal) {
    struct {
        int type, pid;
    } owner = {0 /* F_OWNER_TID */, tid};
    long err = vt__syscall(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK, 0, 0, 0);
    if (err == 0) err = vt__syscall(SYS_fcntl, fd, 10 /* F_SETSIG */, signal, 0, 0, 0);
    if (err == 0) err = vt__syscall(SYS_fcntl, fd, 15 /* F_SETOWN_EX */, (long)&owner, 0, 0, 0);
    if (err == 0) err = vt__syscall(SYS_ioctl, fd, PERF_ENABLE, 0, 0, 0, 0);
    return (int)err;
}

/* It ticks in the program alone, not in the kernel: a signal from there would end calls with EINTR, and a program that is just
 * being started, which has no handler. */
int vt__os_perf_clock(int tid, int signal, uint64_t period_ns) {
    struct perf_attr a = {.type = PERF_SOFTWARE,
                          .n_bytes = sizeof(a),
                          .config = PERF_TASK_CLOCK,
                          .sample_period = period_ns,
                          .flags = PERF_DISABLED | PERF_EXCLUDE_KERNEL,
                          .wakeup_events = 1};
    long fd = vt__syscall(SYS_perf_event_open, (long)&a, tid, -1, -1, PERF_CLOEXEC, 0);
    if (fd < 0) return (int)fd;
    int err = send_signals((int)fd, tid, signal);
    if (err == 0) return (int)fd;
    vt__os_close((int)fd);
    return err;
}

struct task_visit {
    void (*visit)(int tid, void *arg);
    void *arg;
};

static void visit_task(const char *name, void *arg) {
    const struct task_visit *v = arg;
    int tid = 0;
    for (; *name >= '0' && *name <= '9'; name++) tid = tid * 10 + (*name - '0');
    if (tid != 0) v->visit(tid, v->arg);
}

int vt__os_each_task(void (*visit)(int tid, void *arg), void *arg) {
    struct task_visit v = {visit, arg};
    int fd = vt__os_open_read("/proc/self/task");
    if (fd < 0) return fd;
    vt__os_each_name(fd, visit_task, &v);
    vt__os_close(fd);
    return 0;
}

bool vt__os_task_is_there(int tid) {
    return vt__syscall(SYS_tgkill, vt__os_pid(), tid, 0, 0, 0, 0) != -ESRCH;
}

void vt__os_task_name(int tid, char name[VT_TASK_NAME_BYTES]) {
    char path[64];
    struct vt_text t = VT_TEXT(path);
    vt__text_put(&t, "/proc/self/task/");
    vt__text_uint(&t, (uint64_t)tid);
    vt__text_put(&t, "/comm");
    vt__text_char(&t, '\0');
    char found[VT_TASK_NAME_BYTES + 1];
    size_t n = vt__os_read_file(path, found, sizeof(found));
    if (n == 0) return;
    if (found[n - 1] == '\n') n--;
    for (size_t i = 0; i < VT_TASK_NAME_BYTES; i++) name[i] = i < n ? found[i] : '\0';
    name[VT_TASK_NAME_BYTES - 1] = '\0';
}

void vt__os_my_name(char name[VT_TASK_NAME_BYTES]) {
    vt__syscall(SYS_prctl, PR_GET_NAME, (long)name, 0, 0, 0, 0);
}

uint64_t vt__os_hold_signals(uint64_t set) {
    uint64_t before = 0;
    vt__syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&set, (long)&before, KERNEL_SIGSET_BYTES, 0,
                0);
    return before;
}

void vt__os_restore_signals(uint64_t mask) {
    vt__syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, KERNEL_SIGSET_BYTES, 0, 0);
}
