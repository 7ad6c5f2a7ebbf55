/* cpu.c - CPU profiles: when they begin and end, and what their files are called.
 *
 *   by option (cpu_profile, or gperftools' CPUPROFILE) from before main to the end; by a signal (cpu_switch), on and off in turns;
 *   by call (vt_cpu_start, ProfilerStart) or by another process (control.c)
 *
 * A file is written when the profile begins, so that a name that cannot be written is known then, and again when it ends. A pipe, a
 * device or a descriptor is looked at when it begins, and written when it ends. A child leaves no file if it has no sample.
 * profile_file.h has the names.
 *
 * Climate: host, no malloc. The switch is a signal handler; it only tries the lock, and leaves the work to who has it. That
 * one holds signals back meanwhile, so no handler ever waits for what it interrupted.
 * Owns: the state below.   Locks: cpu.
 */
#include "life/cpu.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "conf/options.h"
#include "dump/cpu_profile.h"
#include "life/box.h"
#include "life/forks.h"
#include "life/since.h"
#include "os/held.h"
#include "os/os.h"
#include "probe/cpu.h"
#include "stack/stack.h"
#include "vitrine-box.h"

static struct vt_lock lock = VT_LOCK_INIT(VT_LOCK_CPU);
static struct {
    _Atomic uint32_t n_switched; /* signals that nobody has acted upon yet */
    /* under the lock */
    struct vt_cpu_wish wish; /* its path is the file's */
    bool is_on;
    struct vt_profile_file file;
} cpu;

/* ---- files ---- */

static enum vt_cpu_format format_of_options(void) {
    static const struct vt_choice formats = {
        VT_OPT_cpu_format,
        "unknown format",
        " in option cpu_format: it takes proto or gperftools",
        {[VT_CPU_PROTO_FORMAT] = "proto", [VT_CPU_GPERFTOOLS_FORMAT] = "gperftools"}};
    return (enum vt_cpu_format)vt__option_choice(
        &formats, cpu.wish.is_gperftools ? VT_CPU_GPERFTOOLS_FORMAT : VT_CPU_PROTO_FORMAT);
}

/* The profile's own file, if `path` is NULL. */
static int write_profile(const char *path, bool is_over, bool says) {
    char own[VT_PROFILE_NAME_BYTES];
    struct vt_cpu_rows rows;
    struct vt_cpu_source source = vt__cpu_source(&rows);
    bool is_early = path == NULL && !is_over;
    if (path == NULL) {
        if (cpu.file.is_child && vt__cpu_n_periods(&source) == 0) return 0;
        int err = vt__profile_file_name(&cpu.file, own);
        if (err != 0) return err;
        path = own;
    }
    int err = is_early ? vt__written_in_place(path) : 0;
    if (err > 0) return 0; /* what is written there stays: it gets the last one alone */
    if (err == 0) err = vt__cpu_write_file(path, format_of_options(), &source);
    if (err != 0 && says) vt__say_not_written(path, err);
    return err;
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
    static const struct vt_choice clocks = {
        VT_OPT_cpu_clock,
        "unknown clock",
        " in option cpu_clock: it takes thread, perf, process, real or wall",
        {[VT_CPU_THREAD] = "thread",
         [VT_CPU_PERF] = "perf",
         [VT_CPU_PROCESS] = "process",
         [VT_CPU_REAL] = "real",
         [VT_CPU_WALL] = "wall"}};
    return (enum vt_cpu_clock)vt__option_choice(&clocks, VT_CPU_THREAD);
}

static int start_clock(void) {
    struct vt_cpu_plan plan = {.clock = clock_of_options(),
                               .frequency = (unsigned)vt_opt(cpu_frequency),
                               .signal = (int)vt_opt(cpu_signal),
                               .filter = cpu.wish.filter,
                               .filter_arg = cpu.wish.filter_arg,
                               .since_ns = cpu.wish.since_ns};
    int err = vt__cpu_start(&plan);
    if (err == 0 || plan.clock != VT_CPU_PERF) return err;
    vt__warn("the system refuses the clock", "perf",
             ": timers of threads are used (see /proc/sys/kernel/perf_event_paranoid)");
    plan.clock = VT_CPU_THREAD;
    return vt__cpu_start(&plan);
}

static int start_locked(bool says) {
    if (cpu.is_on) return -EBUSY;
    int err = start_clock();
    if (err != 0) return err;
    err = write_profile(NULL, /* is_over */ false, says);
    if (err != 0) {
        vt__cpu_stop();
        return err;
    }
    cpu.is_on = true;
    return 0;
}

static int stop_locked(void) {
    if (!cpu.is_on) return -ENOENT;
    vt__cpu_stop();
    cpu.is_on = false;
    int err = write_profile(NULL, /* is_over */ true, /* says */ true);
    if (cpu.wish.is_gperftools) say_closing_line();
    return err;
}

static void switch_locked(void) {
    if (!cpu.is_on) {
        if (cpu.file.has_number) cpu.file.number++;
        cpu.file.has_number = true;
        (void)start_locked(/* says */ true);
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

static void leave(uint64_t mask) {
    act_on_switches();
    vt__unlock_held(&lock, mask);
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

static void fork_prepare(void) {
    vt_lock(&lock);
    vt__cpu_fork_prepare();
}

static void fork_parent(void) {
    vt__cpu_fork_done(/* is_child */ false);
    act_on_switches();
    vt_unlock(&lock);
}

static void fork_child(void) {
    vt__cpu_fork_done(/* is_child */ true);
    vt__profile_file_fork_child(&cpu.file);
    vt_lock_reset(&lock);
}

static _Atomic bool is_watched; /* forks and births: a profile has begun, at least once */

static void watch(void) {
    static const struct vt_fork_hook hook = {fork_prepare, fork_parent, fork_child};
    if (atomic_exchange_explicit(&is_watched, true, memory_order_relaxed)) return;
    vt__life_at_fork(VT_FORK_CPU, &hook);
    vt__life_watch_births();
}

/* ---- for others ---- */

static void set_wish(const struct vt_cpu_wish *wish) {
    cpu.wish = *wish;
    cpu.wish.path = cpu.file.path;
}

int vt__life_cpu_start(const struct vt_cpu_wish *wish) {
    uint64_t mask;
    if (vt__os_is_secure()) return -EPERM; /* a set-uid program writes no files for others */
    watch();
    if (!wish->is_unprepared) vt__stack_modules_changed(); /* where libc does not tell, we look */
    mask = vt__lock_held(&lock);
    int err = cpu.is_on ? -EBUSY : vt__profile_file_set(&cpu.file, wish->path);
    if (err == 0) {
        set_wish(wish);
        err = start_locked(/* says */ true);
    }
    leave(mask);
    return err;
}

int vt__life_cpu_stop(void) {
    uint64_t mask = vt__lock_held(&lock);
    int err = stop_locked();
    leave(mask);
    return err;
}

static int write_in_between(const char *path) {
    vt__cpu_rescan();
    vt__cpu_lend();
    int err = write_profile(path, /* is_over */ false, /* says */ true);
    vt__cpu_take_back();
    return err;
}

int vt__life_cpu_dump(const char *path) {
    uint64_t mask = vt__lock_held(&lock);
    int err = cpu.is_on ? write_in_between(path) : -ENOENT;
    leave(mask);
    return err;
}

void vt__life_cpu_file(char name[VT_PROFILE_NAME_BYTES]) {
    uint64_t mask = vt__lock_held(&lock);
    (void)vt__profile_file_name(&cpu.file, name);
    leave(mask);
}

void vt__life_cpu_state(struct vt_cpu_state_now *out) {
    uint64_t mask;
    struct vt_cpu_rows rows;
    struct vt_cpu_source source = vt__cpu_source(&rows);
    *out = (struct vt_cpu_state_now){0};
    mask = vt__lock_held(&lock);
    if (cpu.is_on) {
        out->is_on = true;
        out->since_ns = source.time_ns;
        out->n_periods = vt__cpu_n_periods(&source);
        __builtin_memcpy(out->path, cpu.file.path, sizeof(out->path));
    }
    leave(mask);
}

/* ---- from the environment ---- */

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

static int add_to_path(struct vt_profile_file *f, const char *behind) {
    size_t n = vt__str_len(f->path);
    struct vt_text t = {f->path, sizeof(f->path) - 1, n, false, NULL, NULL};
    vt__text_put(&t, behind);
    f->path[t.len] = '\0';
    return t.is_cut ? -ENAMETOOLONG : 0;
}

static void say_no_profile(int err) {
    char words[80];
    struct vt_text t = {words, sizeof(words) - 1, 0, false, NULL, NULL};
    if (err != -EINVAL || vt_opt(cpu_signal) == 0) {
        vt__warn_because("no CPU profile", cpu.file.path, err);
        return;
    }
    vt__text_put(&t, ": no program can handle signal ");
    vt__text_uint(&t, vt_opt(cpu_signal));
    vt__text_put(&t, " of option cpu_signal");
    words[t.len] = '\0';
    vt__warn("no CPU profile", cpu.file.path, words);
}

void vt__life_cpu_begin(bool is_gperftools, bool wants_pid, const char *behind) {
    uint64_t mask;
    struct vt_cpu_wish wish = {.path = vt_opt_text(cpu_profile), .is_gperftools = is_gperftools};
    if (vt_opt(cpu_switch) == 0) wish.since_ns = vt__life_since_ns();
    if (wish.path == NULL || wish.path[0] == '\0' || vt__os_is_secure()) return;
    watch();
    mask = vt__lock_held(&lock);
    int err = vt__profile_file_from_environment(&cpu.file, wish.path);
    if (err == 0) err = add_to_path(&cpu.file, behind);
    cpu.file.has_pid = wants_pid;
    set_wish(&wish);
    if (err == 0 && vt_opt(cpu_switch) == 0) err = start_locked(/* says */ false);
    leave(mask);
    if (err != 0)
        say_no_profile(err);
    else if (vt_opt(cpu_switch) != 0)
        watch_switch(is_gperftools);
}

/* After everything that the program runs at its end. A process that was made without libc's knowledge is another's copy. */
__attribute__((destructor)) static void end(void) {
    vt__life_control_end();
    if (is_watched && vt__cpu_is_on() && cpu.file.pid == vt__os_pid() && vt__life_cpu_stop() == 0)
        vt__life_box_end(VT_BOX_WROTE_CPU);
}
