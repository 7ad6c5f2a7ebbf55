/* cpu.c - CPU profiles: when they begin and end, and what their files are called.
 *
 *   by option (cpu_profile, or gperftools' CPUPROFILE) from before main to the end; by a signal (cpu_switch), on and off in turns;
 *   by call (vt_cpu_start, ProfilerStart)
 *
 *   FILE          the process that was asked            FILE.0, FILE.1 ...   the same by signal
 *   FILE_PID      the child of a fork, from there on; a program that such a process started
 *
 * A file is written when the profile begins, so that a name that cannot be written is known then, and again when it ends. A
 * child leaves none if it has no sample. How a program knows that its parent has the name already: the first one writes its
 * process id behind the name in the environment it was given.
 *
 * Climate: host, no malloc. The switch is a signal handler; it only tries the lock, and leaves the work to who has it. That
 * one holds signals back meanwhile, so no handler ever waits for what it interrupted.
 * Owns: the state below.   Locks: cpu.
 */
#include "life/cpu.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "conf/options.h"
#include "dump/cpu_profile.h"
#include "life/mark.h"
#include "os/os.h"
#include "probe/cpu.h"
#include "stack/stack.h"

static struct vt_lock lock = VT_LOCK_INIT(VT_LOCK_CPU);
static struct {
    _Atomic uint32_t n_switched; /* signals that nobody has acted upon yet */
    /* under the lock */
    struct vt_cpu_wish wish; /* its path is `path` */
    bool is_on, is_child, has_number;
    unsigned number;
    char path[VT_CPU_PATH_BYTES];   /* as it was given */
    char folder[VT_CPU_PATH_BYTES]; /* where a relative one belongs: the program may move on */
} cpu;

/* ---- names ---- */

static int name_file(char *buf, size_t n_bytes) {
    struct vt_text t = {buf, n_bytes, 0, false, NULL, NULL};
    if (cpu.path[0] != '/' && cpu.folder[0] != '\0') {
        vt__text_put(&t, cpu.folder);
        vt__text_char(&t, '/');
    }
    vt__text_put(&t, cpu.path);
    if (cpu.is_child) {
        vt__text_char(&t, '_');
        vt__text_uint(&t, (uint64_t)vt__os_pid());
    }
    if (cpu.has_number) {
        vt__text_char(&t, '.');
        vt__text_uint(&t, cpu.number);
    }
    vt__text_char(&t, '\0');
    if (!t.is_cut) return 0;
    buf[0] = '\0';
    return -ENAMETOOLONG;
}

/* ---- files ---- */

static enum vt_cpu_format format_of_options(void) {
    const char *wanted = vt_opt_text(cpu_format);
    if (wanted == NULL)
        return cpu.wish.is_gperftools ? VT_CPU_GPERFTOOLS_FORMAT : VT_CPU_PROTO_FORMAT;
    if (vt__str_equal(wanted, "gperftools")) return VT_CPU_GPERFTOOLS_FORMAT;
    if (!vt__str_equal(wanted, "proto")) {
        vt__warn("unknown format", wanted, " in option cpu_format: it takes proto or gperftools");
        vt_opt(cpu_format) = 0; /* said once */
    }
    return VT_CPU_PROTO_FORMAT;
}

static int write_profile(const char *path) {
    char own[2 * VT_CPU_PATH_BYTES];
    struct vt_cpu_rows rows;
    struct vt_cpu_source source = vt__cpu_source(&rows);
    if (path == NULL) {
        if (cpu.is_child && vt__cpu_n_periods(&source) == 0) return 0;
        int err = name_file(own, sizeof(own));
        if (err != 0) return err;
        path = own;
    }
    return vt__cpu_write_file(path, format_of_options(), &source);
}

/* gperftools' last line. Nothing is ever evicted from our table. */
static void say_closing_line(void) {
    char line[128];
    struct vt_text t = VT_TEXT(line);
    struct vt_cpu_rows rows;
    struct vt_cpu_source source = vt__cpu_source(&rows);
    vt__text_put(&t, "PROFILE: interrupts/evictions/bytes = ");
    vt__text_uint(&t, vt__cpu_n_periods(&source));
    vt__text_put(&t, "/0/");
    vt__text_uint(&t, vt__cpu_gperftools_bytes(&source));
    vt__text_char(&t, '\n');
    struct vt_held_signals held;
    vt__os_hold_write_signals(&held);
    vt__os_release_write_signals(&held, vt__os_write(2, line, t.len));
}

/* ---- on and off, under the lock ---- */

static enum vt_cpu_clock clock_of_options(void) {
    static const char *const names[VT_CPU_N_CLOCKS] = {[VT_CPU_THREAD] = "thread",
                                                       [VT_CPU_PERF] = "perf",
                                                       [VT_CPU_PROCESS] = "process",
                                                       [VT_CPU_REAL] = "real",
                                                       [VT_CPU_WALL] = "wall"};
    const char *wanted = vt_opt_text(cpu_clock);
    if (wanted == NULL) return VT_CPU_THREAD;
    for (unsigned i = 0; i < VT_CPU_N_CLOCKS; i++)
        if (vt__str_equal(wanted, names[i])) return (enum vt_cpu_clock)i;
    vt__warn("unknown clock", wanted,
             " in option cpu_clock: it takes thread, perf, process, real or wall");
    vt_opt(cpu_clock) = 0; /* said once */
    return VT_CPU_THREAD;
}

static int start_clock(void) {
    struct vt_cpu_plan plan = {.clock = clock_of_options(),
                               .frequency = (unsigned)vt_opt(cpu_frequency),
                               .signal = (int)vt_opt(cpu_signal),
                               .filter = cpu.wish.filter,
                               .filter_arg = cpu.wish.filter_arg};
    int err = vt__cpu_start(&plan);
    if (err == 0 || plan.clock != VT_CPU_PERF) return err;
    vt__warn("the system refuses the clock", "perf",
             ": timers of threads are used (see /proc/sys/kernel/perf_event_paranoid)");
    plan.clock = VT_CPU_THREAD;
    return vt__cpu_start(&plan);
}

static int start_locked(void) {
    if (cpu.is_on) return -EBUSY;
    int err = start_clock();
    if (err != 0) return err;
    err = write_profile(NULL);
    if (err != 0) {
        vt__cpu_stop();
        return err;
    }
    cpu.is_on = true;
    return 0;
}

static int stop_locked(void) {
    if (!cpu.is_on) return -ENOENT;
    vt__cpu_rescan(); /* names, as they are now */
    vt__cpu_stop();
    cpu.is_on = false;
    int err = write_profile(NULL);
    if (cpu.wish.is_gperftools) say_closing_line();
    return err;
}

static void switch_locked(void) {
    if (!cpu.is_on) {
        if (cpu.has_number) cpu.number++;
        cpu.has_number = true;
        (void)start_locked();
    } else {
        (void)stop_locked();
    }
}

/* ---- the lock ---- */

static void act_on_switches(void) {
    while (atomic_load_explicit(&cpu.n_switched, memory_order_relaxed) != 0) {
        atomic_fetch_sub_explicit(&cpu.n_switched, 1, memory_order_relaxed);
        switch_locked();
    }
}

static void enter(uint64_t *mask) {
    *mask = vt__os_hold_signals(UINT64_MAX);
    vt_lock(&lock);
}

static void leave(uint64_t mask) {
    act_on_switches();
    vt_unlock(&lock);
    vt__os_restore_signals(mask);
}

static void on_switch(int number) {
    int saved = errno;
    (void)number;
    atomic_fetch_add_explicit(&cpu.n_switched, 1, memory_order_relaxed);
    if (vt_try_lock(&lock)) { /* else who has it acts when it is done */
        act_on_switches();
        vt_unlock(&lock);
    }
    errno = saved;
}

/* ---- fork ---- */

/* A handler that interrupts a fork, and forks, comes here again. Signals are not held back: the time of a fork is counted where
 * it is spent. */
static __thread unsigned n_forks __attribute__((tls_model("initial-exec")));

static void fork_prepare(void) {
    if (n_forks++ != 0) return;
    vt_lock(&lock);
    vt__cpu_fork_prepare();
}

static void fork_parent(void) {
    if (--n_forks != 0) return;
    vt__cpu_fork_done(/* is_child */ false);
    act_on_switches();
    vt_unlock(&lock);
}

static void fork_child(void) {
    n_forks = 0;
    vt__cpu_fork_done(/* is_child */ true);
    cpu.is_child = cpu.is_child || cpu.path[0] != '\0';
    cpu.has_number = cpu.has_number && cpu.is_on;
    vt_lock_reset(&lock);
}

static _Atomic bool is_watched; /* forks and births: a profile has begun, at least once */

static void watch(void) {
    if (atomic_exchange_explicit(&is_watched, true, memory_order_relaxed)) return;
    pthread_atfork(fork_prepare, fork_parent, fork_child);
    vt__life_watch_births();
}

/* ---- for others ---- */

static int set_wish(const struct vt_cpu_wish *wish) {
    struct vt_text t = {cpu.path, VT_CPU_PATH_BYTES - 1, 0, false, NULL, NULL};
    vt__text_put(&t, wish->path);
    cpu.path[t.len] = '\0';
    vt__os_folder(cpu.folder, sizeof(cpu.folder));
    cpu.wish = *wish;
    cpu.wish.path = cpu.path;
    return t.is_cut ? -ENAMETOOLONG : 0;
}

int vt__life_cpu_start(const struct vt_cpu_wish *wish) {
    uint64_t mask;
    if (vt__os_is_secure()) return -EPERM; /* a set-uid program writes no files for others */
    watch();
    vt__stack_modules_changed(); /* where libc does not tell, we look */
    enter(&mask);
    int err = cpu.is_on ? -EBUSY : set_wish(wish);
    if (err == 0) {
        cpu.is_child = cpu.has_number = false;
        err = start_locked();
    }
    leave(mask);
    return err;
}

int vt__life_cpu_stop(void) {
    uint64_t mask;
    enter(&mask);
    int err = stop_locked();
    leave(mask);
    return err;
}

int vt__life_cpu_dump(const char *path) {
    uint64_t mask;
    enter(&mask);
    if (cpu.is_on) vt__cpu_rescan();
    int err = cpu.is_on ? write_profile(path) : -ENOENT;
    leave(mask);
    return err;
}

void vt__life_cpu_state(struct vt_cpu_state_now *out) {
    uint64_t mask;
    struct vt_cpu_rows rows;
    struct vt_cpu_source source = vt__cpu_source(&rows);
    *out = (struct vt_cpu_state_now){0};
    enter(&mask);
    if (cpu.is_on) {
        out->is_on = true;
        out->since_ns = source.time_ns;
        out->n_periods = vt__cpu_n_periods(&source);
        __builtin_memcpy(out->path, cpu.path, sizeof(out->path));
    }
    leave(mask);
}

/* ---- from the environment ---- */

static const char *const names[] = {"CPUPROFILE=", "VITRINE=", "VITRINE_CPU_PROFILE="};

static void watch_switch(bool is_gperftools) {
    struct sigaction action = {.sa_handler = on_switch, .sa_flags = SA_RESTART};
    int number = (int)vt_opt(cpu_switch);
    sigfillset(&action.sa_mask);
    if (sigaction(number, &action, NULL) != 0) {
        vt__warn("cannot handle the signal of option", "cpu_switch", "");
        return;
    }
    if (!is_gperftools) return;
    char line[64];
    struct vt_text t = VT_TEXT(line);
    vt__text_put(&t, "Using signal ");
    vt__text_uint(&t, (uint64_t)number);
    vt__text_put(&t, " as cpu profiling switch\n");
    vt__os_write(2, line, t.len);
}

void vt__life_cpu_begin(bool is_gperftools, bool wants_pid) {
    uint64_t mask;
    struct vt_cpu_wish wish = {.path = vt_opt_text(cpu_profile), .is_gperftools = is_gperftools};
    if (wish.path == NULL || vt__os_is_secure()) return;
    watch();
    enter(&mask);
    int err = set_wish(&wish);
    uint64_t first_pid = vt__life_cut_mark(cpu.path);
    cpu.is_child = wants_pid || (first_pid != 0 && first_pid != (uint64_t)vt__os_pid());
    if (first_pid == 0) vt__life_mark(names, vt_countof(names), cpu.path);
    if (err == 0 && vt_opt(cpu_switch) == 0) err = start_locked();
    leave(mask);
    if (err != 0)
        vt__warn("no CPU profile", cpu.path, "");
    else if (vt_opt(cpu_switch) != 0)
        watch_switch(is_gperftools);
}

/* After everything that the program runs at its end. */
__attribute__((destructor)) static void end(void) {
    if (is_watched && vt__cpu_is_on()) (void)vt__life_cpu_stop();
}
