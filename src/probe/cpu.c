/* cpu.c - the CPU profiler on and off. See cpu.h.
 *
 * The handler is installed by the first start and stays: a signal that was held back while the profiler stopped must not end
 * the program.
 *
 * Climate: host.   Owns: the state, the counts.   Locks: none of its own; life/cpu.c lets one caller in at a time.
 */
#include <errno.h>

#include "os/box.h"
#include "probe/cpu_impl.h"

#define NSEC_PER_SEC UINT64_C(1000000000)
#define NSEC_PER_MSEC UINT64_C(1000000)
#define AWAIT_MS 500

struct vt_cpu_state vt__cpu;

static _Atomic uint64_t since_ns;
static struct vt_counts counts = VT_BOXED_COUNTS(VT_BOX_CPU_COUNTS); /* by task */

bool vt__cpu_is_on(void) { return atomic_load_explicit(&vt__cpu.is_on, memory_order_acquire); }

/* On the alternate stack, where a thread has one: some programs' own stacks are tiny. What others have there is known before the first of
 * their signals comes to us; by calls that pass dialect/sigaction.c by, they may have taken ours off since. */
static int install(int signal) {
    struct sigaction now = {.sa_sigaction = vt__cpu_on_signal,
                            .sa_flags = SA_RESTART | SA_SIGINFO | SA_ONSTACK};
    struct sigaction before;
    sigfillset(&now.sa_mask);
    if (sigaction(signal, NULL, &before) != 0) return -EINVAL;
    if (!vt__cpu_is_own(&before)) vt__cpu_pass_on_to(signal, &before);
    if (sigaction(signal, &now, &before) != 0) return -EINVAL;
    if (!vt__cpu_is_own(&before)) vt__cpu_pass_on_to(signal, &before);
    vt__cpu_take_signal(signal);
    return 0;
}

static void forget(uint64_t from_ns) {
    vt__counts_forget(&counts);
    atomic_store_explicit(&vt__cpu.n_signals, 0, memory_order_relaxed);
    atomic_store_explicit(&vt__cpu.n_lost, 0, memory_order_relaxed);
    atomic_store_explicit(&since_ns, from_ns, memory_order_relaxed);
    if (vt__box_is_begun()) vt__box->cpu_since_ns = from_ns;
}

static void note_in_box(void) {
    struct vt_box *b = vt__box_begun();
    b->cpu_period_ns = vt__cpu.period_ns;
    b->cpu_clock = vt__cpu.plan.clock;
    b->cpu_task_bytes = sizeof(struct vt_cpu_task);
    b->cpu_tid_at = offsetof(struct vt_cpu_task, last_tid);
}

/* A handler that began before the last stop may not be done: its thread waits for a core. It would add to the tasks of the new start what
 * is of the last. Handlers never wait, so this is short; a filter of the program's that never came back is not waited for. */
static void await_handlers(void) {
    for (unsigned i = 0; i < AWAIT_MS; i++) {
        if (atomic_load_explicit(&vt__cpu.n_inside, memory_order_seq_cst) == 0) return;
        vt__os_sleep_ns(NSEC_PER_MSEC);
    }
}

/* The system has its own for the timers of the process: without a handler it would end the program. */
static int signal_of(const struct vt_cpu_plan *plan) {
    if (plan->clock == VT_CPU_PROCESS) return SIGPROF;
    if (plan->clock == VT_CPU_REAL) return SIGALRM;
    return plan->signal != 0 ? plan->signal : SIGPROF;
}

int vt__cpu_start(const struct vt_cpu_plan *plan) {
    if (vt__cpu_is_on()) return -EBUSY;
    await_handlers();
    if (plan->frequency == 0 || plan->frequency > VT_CPU_MAX_FREQUENCY ||
        plan->clock >= VT_CPU_N_CLOCKS)
        return -EINVAL;
    vt__cpu.plan = *plan;
    vt__cpu.period_ns = NSEC_PER_SEC / plan->frequency;
    vt__cpu.late_ns = vt__cpu.period_ns + vt__os_tick_ns();
    vt__cpu.signal = signal_of(plan);
    int err = install(vt__cpu.signal);
    if (err != 0) return err;
    note_in_box();
    forget(plan->since_ns != 0 ? plan->since_ns : vt__os_wall_ns());
    /* release: all of the above before the first sample; before the threads are looked for, so that those born meanwhile
     * make themselves known */
    atomic_store_explicit(&vt__cpu.is_on, true, memory_order_release);
    err = vt__cpu_tasks_begin(/* is_alone */ false);
    if (err != 0) vt__cpu_stop();
    return err;
}

void vt__cpu_stop(void) {
    if (!atomic_exchange_explicit(&vt__cpu.is_on, false, memory_order_seq_cst)) return;
    vt__cpu_tasks_end();
}

bool vt__cpu_count(const struct vt_count *more) { return vt__counts_add(&counts, more); }

bool vt__cpu_next(uint32_t *cursor, struct vt_cpu_row *out) {
    if (!vt__counts_next(&counts, cursor, &out->count)) return false;
    const struct vt_cpu_task *t = vt__cpu_task(out->count.who);
    out->tid = t->last_tid;
    out->thread_name = t->name;
    return true;
}

void vt__cpu_totals(struct vt_cpu_totals *out) {
    *out = (struct vt_cpu_totals){
        .period_ns = vt__cpu.period_ns,
        .n_signals = atomic_load_explicit(&vt__cpu.n_signals, memory_order_relaxed),
        .n_lost = atomic_load_explicit(&vt__cpu.n_lost, memory_order_relaxed),
        .since_ns = atomic_load_explicit(&since_ns, memory_order_relaxed),
        .clock = vt__cpu.plan.clock};
}

void vt__cpu_fork_prepare(void) { vt__cpu_tasks_fork_prepare(); }

void vt__cpu_fork_done(bool is_child) {
    if (is_child) {
        forget(vt__os_wall_ns());
        vt__cpu_tick_fork_child();
        /* who was inside is not here */
        atomic_store_explicit(&vt__cpu.n_inside, 0, memory_order_relaxed);
    }
    vt__cpu_tasks_fork_done(is_child);
}
