/* cpu_tick.c - what happens when a clock of the CPU profiler ticks.
 *
 * The handler finds its thread, takes the stack of what was interrupted, and adds to a count: no lock is waited for, no file
 * touched, nothing allocated, errno kept. All other signals are held back meanwhile. It may run inside malloc, ld.so, another
 * handler, on a small alternate stack, and before or after the thread is known to libc.
 *
 * A tick counts for as many periods as passed: a timer tells how often it expired before its signal was handled, perf's clock
 * is compared with the thread's CPU time, and the timers of the process, which tell nothing, with the clock they should have kept.
 * A timer that is late for a thread which is about to change its label is not waited for: vt__cpu_label_changes.
 *
 * No clock ticks while its thread is in the kernel, but those of wall time and, before Linux 5.10, timers: calls that sleep are not
 * ended with EINTR.
 *
 * A signal may be the program's own, too, which had a handler before ours or sets one later (dialect/sigaction.c): what no clock of ours
 * sent goes there.
 *
 * Climate: signal.   Owns: the program's handlers for our signals.   Locks: none.
 */
#include <errno.h>
#include <time.h>
#include <ucontext.h>

#include "os/box.h"
#include "probe/cpu_impl.h"

#define N_SIGNALS 65
#define N_OUTERMOST 4 /* frames that libc begins a thread with, and ours */

typedef void handler_function(int, siginfo_t *, void *);

/* What the program has for the signals that our handler is on. Each is read and written by itself: a program that changes its handler while
 * another thread's signal comes has the old one or the new one called, as with libc's. */
static struct {
    _Atomic(handler_function *) handler; /* one that takes the number alone does not see the rest */
    _Atomic int flags;
    _Atomic uint64_t mask;
} others[N_SIGNALS];

static uint64_t bits_of(const sigset_t *set) {
    uint64_t bits;
    __builtin_memcpy(&bits, set, sizeof(bits)); /* the kernel knows of 64 */
    return bits;
}

_Atomic uint64_t vt__cpu_signals;

void vt__cpu_take_signal(int number) {
    /* release: what the program has there before the mark; pairs with the acquire in vt__cpu_has_signal */
    atomic_fetch_or_explicit(&vt__cpu_signals, UINT64_C(1) << (number - 1), memory_order_release);
}

bool vt__cpu_is_own(const struct sigaction *a) {
    return (a->sa_flags & SA_SIGINFO) != 0 && a->sa_sigaction == vt__cpu_on_signal;
}

void vt__cpu_pass_on_to(int number, const struct sigaction *a) {
    atomic_store_explicit(&others[number].flags, a->sa_flags, memory_order_relaxed);
    atomic_store_explicit(&others[number].mask, bits_of(&a->sa_mask), memory_order_relaxed);
    atomic_store_explicit(&others[number].handler, a->sa_sigaction, memory_order_relaxed);
}

void vt__cpu_passes_on_to(int number, struct sigaction *a) {
    *a = (struct sigaction){
        .sa_sigaction = atomic_load_explicit(&others[number].handler, memory_order_relaxed),
        .sa_flags = atomic_load_explicit(&others[number].flags, memory_order_relaxed)};
    uint64_t mask = atomic_load_explicit(&others[number].mask, memory_order_relaxed);
    __builtin_memcpy(&a->sa_mask, &mask, sizeof(mask));
}

/* A signal that is none of ours. By default it would end the program, which is not what anybody means who sends it to a
 * program that is profiled: it is ignored then. The program's handler finds the signals held back that it asked for, and may not
 * return. */
static void pass_on(int number, siginfo_t *info, void *context) {
    struct sigaction a;
    vt__cpu_passes_on_to(number, &a);
    if (a.sa_handler == SIG_DFL || a.sa_handler == SIG_IGN) return;
    if ((a.sa_flags & (int)SA_RESETHAND) != 0)
        atomic_store_explicit(&others[number].handler, NULL, memory_order_relaxed);
    uint64_t mine = (a.sa_flags & SA_NODEFER) != 0 ? 0 : UINT64_C(1) << (number - 1);
    vt__os_restore_signals(bits_of(&((const ucontext_t *)context)->uc_sigmask) |
                           bits_of(&a.sa_mask) | mine);
    a.sa_sigaction(number, info, context);
}

struct tick {
    uint32_t task; /* 0: not known */
    uint64_t n;    /* periods */
    uint64_t on_ns, off_ns;
};

/* Relaxed: its own thread writes it, the handler in one go as others see it; whoever else reads it, estimates. */
static uint64_t counted_ns(struct vt_cpu_task *t) {
    return atomic_load_explicit(&t->cpu_ns, memory_order_relaxed);
}
static void set_counted_ns(struct vt_cpu_task *t, uint64_t ns) {
    atomic_store_explicit(&t->cpu_ns, ns, memory_order_relaxed);
}

/* By the thread's CPU time since its last tick. The rest of a period stays for the next. */
static void by_cpu_time(struct tick *k, struct vt_cpu_task *t, int tid) {
    uint64_t now_ns = vt__os_clock_ns(vt__os_thread_clock(tid));
    int64_t owed_ns = (int64_t)(now_ns - counted_ns(t));
    int64_t period_ns = (int64_t)vt__cpu.period_ns;
    int64_t n = owed_ns > period_ns ? owed_ns / period_ns : 1;
    int64_t rest_ns = owed_ns - n * period_ns;
    k->n = (uint64_t)n;
    set_counted_ns(t, now_ns - (uint64_t)(rest_ns > 0 ? rest_ns : 0));
}

/* By what the timer tells, less what counted when labels changed. */
static void by_timer(struct tick *k, struct vt_cpu_task *t) {
    t->told_ns += k->n * vt__cpu.period_ns;
    int64_t new_ns = (int64_t)(t->told_ns - counted_ns(t));
    k->n = new_ns > 0 ? (uint64_t)new_ns / vt__cpu.period_ns : 0;
    if (k->n != 0) set_counted_ns(t, t->told_ns);
}

uint64_t vt__cpu_common_ns(void) {
    return vt__cpu.plan.clock == VT_CPU_REAL ? vt__os_now_ns()
                                             : vt__os_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* The system keeps ITIMER_PROF by whole ticks of its own, each charged to whoever runs when it comes: the timer expires too often or too
 * seldom, by what else the machine does. And an expiry while a signal is pending is lost. So a tick may count for none or for several. */
uint64_t vt__cpu_take_common(void) {
    uint64_t now_ns = vt__cpu_common_ns();
    uint64_t seen_ns = atomic_load_explicit(&vt__cpu.common_ns, memory_order_relaxed);
    uint64_t n;
    do { /* relaxed: whoever moves it counts for the time; there is nothing else to see */
        int64_t owed_ns = (int64_t)(now_ns - seen_ns);
        n = owed_ns > 0 ? (uint64_t)owed_ns / vt__cpu.period_ns : 0;
    } while (n != 0 && !atomic_compare_exchange_weak_explicit(
                           &vt__cpu.common_ns, &seen_ns, seen_ns + n * vt__cpu.period_ns,
                           memory_order_relaxed, memory_order_relaxed));
    return n;
}

/* What of the time since the last tick was spent running. */
static void by_both_times(struct tick *k, struct vt_cpu_task *t, int tid) {
    uint64_t cpu_ns = vt__os_clock_ns(vt__os_thread_clock(tid));
    uint64_t passed_ns = k->n * vt__cpu.period_ns;
    k->on_ns = vt_min(cpu_ns - counted_ns(t), passed_ns);
    set_counted_ns(t, cpu_ns);
    k->off_ns = passed_ns - k->on_ns;
}

/* Relaxed: a start or a stop that is under way may have happened or not. */
static bool is_common_tick(void) {
    uint64_t until_ns = atomic_load_explicit(&vt__cpu.common_until_ns, memory_order_relaxed);
    return until_ns == VT_CPU_IS_ARMED || (until_ns != 0 && vt__os_now_ns() < until_ns);
}

/* Of perf, or of whatever else tells by signals of files. */
static bool is_perf_tick(const siginfo_t *info) {
    return (info->si_code == POLL_IN || info->si_code == POLL_HUP) &&
           atomic_load_explicit(&vt__cpu.has_perf, memory_order_relaxed);
}

/* False: not one of our clocks. One that is off by now sends its last tick late: that is ours, and counts for nothing. */
static bool read_tick(struct tick *k, const siginfo_t *info, int tid) {
    enum vt_cpu_clock clock = vt__cpu.plan.clock;
    *k = (struct tick){.n = 1};
    if (info->si_code == SI_TIMER) {
        if (info->si_value.sival_ptr == VT_CPU_SCOUT) {
            k->n = 0;
            (void)vt__cpu_task_try(tid);
            return true;
        }
        k->task = vt__cpu_task_at(info->si_value.sival_ptr);
        if (k->task == 0) return false;
        if (info->si_overrun > 0) k->n += (uint64_t)info->si_overrun;
        if (vt__cpu_task_of(tid) != k->task) k->task = 0; /* of a timer that is no more */
        return true;
    }
    if (info->si_code == SI_KERNEL && is_common_tick()) {
        k->task = vt__cpu_task_try(tid);
        k->n = vt__cpu_take_common();
        return true;
    }
    if (is_perf_tick(info)) {
        uint32_t task = clock == VT_CPU_PERF ? vt__cpu_task_of(tid) : 0;
        if (task == 0 || vt__cpu_task(task)->fd != info->si_fd)
            k->n = 0;
        else
            k->task = task;
        return true;
    }
    return false;
}

/* A thread that was born while we looked began in our code (life/cpu_births.c): that frame is not the program's. */
static void leave_out_birth(struct vt_frames *f) {
    for (unsigned i = f->n > N_OUTERMOST ? f->n - N_OUTERMOST : 1; i < f->n; i++) {
        if (!vt__is_own(f->pc[i])) continue;
        for (f->n--; i < f->n; i++) f->pc[i] = f->pc[i + 1];
        f->hash = vt__frames_hash(f->pc, f->n);
    }
}

static void count(const struct tick *k, vt_stack_id stack, uint32_t label) {
    struct vt_cpu_task *t = vt__cpu_task(k->task);
    if (!atomic_load_explicit(&t->has_samples, memory_order_relaxed)) {
        vt__os_my_name(t->name); /* it may have got one since it was found */
        vt__life_cpu_seen();
    }
    atomic_store_explicit(&t->last_stack, stack, memory_order_relaxed);
    atomic_store_explicit(&t->last_label, label, memory_order_relaxed);
    atomic_store_explicit(&t->label, label, memory_order_relaxed);
    atomic_store_explicit(&t->has_samples, true, memory_order_relaxed);
    atomic_store_explicit(&vt__cpu.last_task, k->task, memory_order_relaxed);
    struct vt_count c = {stack, label, k->task, k->n, k->on_ns, k->off_ns};
    if (!vt__cpu_count(&c)) atomic_fetch_add_explicit(&vt__cpu.n_lost, k->n, memory_order_relaxed);
}

static void sample(struct tick *k, int tid, const void *context) {
    enum vt_cpu_clock clock = vt__cpu.plan.clock;
    struct vt_cpu_task *t = vt__cpu_task(k->task);
    if (clock == VT_CPU_PERF) by_cpu_time(k, t, tid);
    if (clock == VT_CPU_THREAD) by_timer(k, t);
    k->on_ns = k->n * vt__cpu.period_ns;
    if (clock == VT_CPU_WALL) by_both_times(k, t, tid);
    if (k->n == 0) return;
    if (vt__cpu.plan.filter != NULL && vt__cpu.plan.filter(vt__cpu.plan.filter_arg) == 0) return;
    if (!vt__box_is_mine()) vt__life_box_attend();
    vt__stack_of_context(context, &t->frames);
    leave_out_birth(&t->frames);
    count(k, vt__depot_put(&t->frames), vt__life_cpu_label());
}

/* One system call less for each tick. */
static __thread int my_tid __attribute__((tls_model("initial-exec")));

void vt__cpu_tick_fork_child(void) { my_tid = 0; }

static int tid_of_mine(void) {
    if (my_tid == 0) my_tid = vt__os_tid();
    return my_tid;
}

/* Where the thread was last seen under this label; here, if it was not. */
static vt_stack_id stack_under(uint32_t label, const struct vt_cpu_task *t) {
    vt_stack_id last = atomic_load_explicit(&t->last_stack, memory_order_relaxed);
    if (last != 0 && atomic_load_explicit(&t->last_label, memory_order_relaxed) == label)
        return last;
    struct vt_frames here; /* the task's are the handler's, which may come meanwhile */
    vt__stack_here(&here);
    if (here.n == 0) return 0;
    leave_out_birth(&here);
    here.pc[0]--; /* the call: a sample's first frame is no return address */
    here.hash = vt__frames_hash(here.pc, here.n);
    return vt__depot_put(&here);
}

/* Not what the next tick tells in time: it has the better stack, and finds labels in proportion to their time. */
static void settle_label(struct tick k, int tid) {
    struct vt_cpu_task *t = vt__cpu_task(k.task);
    uint64_t now_ns = vt__os_now_ns();
    if (now_ns < t->late_from_ns) return; /* saves the system call */
    uint64_t seen_ns = counted_ns(t);
    int64_t owed_ns = (int64_t)(vt__os_clock_ns(vt__os_thread_clock(tid)) - seen_ns);
    if (owed_ns <= (int64_t)vt__cpu.late_ns) {
        t->late_from_ns = now_ns + (vt__cpu.late_ns - (uint64_t)owed_ns);
        return;
    }
    k.n = (uint64_t)owed_ns / vt__cpu.period_ns;
    k.on_ns = k.n * vt__cpu.period_ns;
    /* relaxed: against a tick of this thread only, which has counted then */
    if (!atomic_compare_exchange_strong_explicit(&t->cpu_ns, &seen_ns, seen_ns + k.on_ns,
                                                 memory_order_relaxed, memory_order_relaxed))
        return;
    uint32_t label = vt__life_cpu_label();
    count(&k, stack_under(label, t), label);
}

static void change_label(uint32_t next) {
    int tid = tid_of_mine();
    uint32_t number = vt__cpu_task_of(tid);
    if (number == 0) return;
    settle_label((struct tick){.task = number}, tid);
    atomic_store_explicit(&vt__cpu_task(number)->label, next, memory_order_relaxed);
}

void vt__cpu_label_changes(uint32_t next) {
    /* relaxed: looked at again. A filter wants to be asked by ticks; clocks other than timers of threads are in time, or tell nothing
     * of single threads. */
    if (!atomic_load_explicit(&vt__cpu.is_on, memory_order_relaxed)) return;
    if (vt__cpu.plan.clock != VT_CPU_THREAD || vt__cpu.plan.filter != NULL) return;
    /* seq_cst and release: as in vt__cpu_on_signal */
    atomic_fetch_add_explicit(&vt__cpu.n_inside, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&vt__cpu.is_on, memory_order_seq_cst)) change_label(next);
    atomic_fetch_sub_explicit(&vt__cpu.n_inside, 1, memory_order_release);
}

void vt__cpu_on_signal(int number, siginfo_t *info, void *context) {
    int saved = errno;
    int tid = tid_of_mine();
    struct tick k;
    /* seq_cst, both: a start that does not see us in n_inside comes after a stop that we see; pairs with vt__cpu_start. Then there is
     * no sample, whatever the tables say meanwhile. */
    atomic_fetch_add_explicit(&vt__cpu.n_inside, 1, memory_order_seq_cst);
    bool is_on = atomic_load_explicit(&vt__cpu.is_on, memory_order_seq_cst);
    if (!read_tick(&k, info, tid)) {
        atomic_fetch_sub_explicit(&vt__cpu.n_inside, 1, memory_order_release);
        pass_on(number, info, context); /* and perhaps it does not return */
        errno = saved;
        return;
    }
    if (k.n != 0 && is_on) {
        atomic_fetch_add_explicit(&vt__cpu.n_signals, 1, memory_order_relaxed);
        if (k.task != 0)
            sample(&k, tid, context);
        else
            atomic_fetch_add_explicit(&vt__cpu.n_lost, k.n, memory_order_relaxed);
    }
    /* release: done with the task; pairs with the load in await_handlers */
    atomic_fetch_sub_explicit(&vt__cpu.n_inside, 1, memory_order_release);
    errno = saved;
}
