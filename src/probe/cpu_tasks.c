/* cpu_tasks.c - the threads that are profiled, each with its timer.
 *
 * Threads are found in four ways: all there are when the profiler starts (/proc/self/task), new ones by themselves
 * (src/dialect/pthread.c), any that runs when the scout ticks, and again whenever a profile is written. The scout is a timer on
 * the CPU time of the whole process. Its signal goes to a thread that is running (Linux 6.4 and newer; before, mostly to the
 * first): if that one is not known yet, it is now.
 *
 * A thread that ends without a sample leaves nothing. One that has samples keeps its number, so that they keep its name; past
 * MANY such, new threads take these numbers too, and the samples of both stand under the later one's name.
 *
 * Climate: signal, but where it says host.   Owns: the tasks.   Locks: tasks; handlers only try.
 */
#include <errno.h>
#include <sys/time.h>
#include <time.h>

#include "base/lock.h"
#include "os/box.h"
#include "os/held.h"
#include "probe/cpu_impl.h"

#define MAX_TASKS (1u << 16)
#define MANY (1u << 13)
#define N_HINTS (1u << 12)
#define TASK_BYTES sizeof(struct vt_cpu_task)
#define SCOUT_PERIOD_NS UINT64_C(200000000)
#define LATE_NS UINT64_C(100000000) /* a thread may have a tick and wait for a core with it */

static struct vt_lock lock = VT_LOCK_INIT(VT_LOCK_TASKS);
/* By thread id: its number, perhaps. Not in `all`, which takes room in the file. */
static _Atomic uint16_t hints[N_HINTS];
static struct {
    /* under the lock */
    uint32_t free; /* number of the first free task that was used before; 0: none */
    uint32_t rover;
    int scout; /* a timer, or -1 */
    /* set under the lock, read by any thread */
    _Atomic uint32_t n; /* numbers so far */
    struct vt_region tasks;
    struct vt_region tids; /* by number; 0: no thread has it */
} all = {.scout = -1,
         .tasks = VT_BOXED_REGION(VT_BOX_CPU_TASKS, (size_t)MAX_TASKS *TASK_BYTES, KiB(64)),
         .tids = VT_REGION((size_t)MAX_TASKS * sizeof(int), KiB(64))};

struct vt_cpu_task *vt__cpu_task(uint32_t number) {
    return (struct vt_cpu_task *)(void *)(vt__region_base(&all.tasks) + number * TASK_BYTES);
}

static _Atomic int *tid_of(uint32_t number) {
    return (_Atomic int *)(void *)vt__region_base(&all.tids) + number;
}

static uint32_t n_tasks(void) { return atomic_load_explicit(&all.n, memory_order_acquire); }

/* Also one of an earlier start, which is none now. */
uint32_t vt__cpu_task_at(const void *task) {
    const char *base = vt__region_base(&all.tasks);
    if (base == NULL) return 0;
    size_t offset = (size_t)((uintptr_t)task - (uintptr_t)base);
    size_t number = offset / TASK_BYTES;
    return offset % TASK_BYTES == 0 && number > 0 && number < MAX_TASKS ? (uint32_t)number : 0;
}

uint32_t vt__cpu_task_of(int tid) {
    uint32_t n = n_tasks();
    uint32_t hint = atomic_load_explicit(&hints[(unsigned)tid % N_HINTS], memory_order_relaxed);
    if (hint > 0 && hint <= n && atomic_load_explicit(tid_of(hint), memory_order_relaxed) == tid)
        return hint;
    for (uint32_t i = 1; i <= n; i++)
        if (atomic_load_explicit(tid_of(i), memory_order_relaxed) == tid) return i;
    return 0;
}

/* ---- timers ---- */

static int arm(struct vt_cpu_task *t, int tid) {
    t->timer = t->fd = -1;
    uint64_t cpu_ns = vt__os_clock_ns(vt__os_thread_clock(tid));
    /* Threads that were born together do not tick together; and one that ends within a period counts for it with the chance of its
     * length, so that many are right on average. */
    uint64_t first_ns = 1 + vt__os_random() % vt__cpu.period_ns;
    if (vt__cpu_is_by_thread()) cpu_ns += first_ns - vt__cpu.period_ns;
    t->told_ns = cpu_ns;
    t->late_from_ns = 0;
    atomic_store_explicit(&t->cpu_ns, cpu_ns, memory_order_relaxed);
    switch (vt__cpu.plan.clock) {
    case VT_CPU_PROCESS:
    case VT_CPU_REAL: return 0; /* one for all */
    case VT_CPU_PERF:           /* its first tick comes after a whole period */
        atomic_store_explicit(&vt__cpu.has_perf, true, memory_order_relaxed);
        t->fd = vt__os_perf_clock(tid, vt__cpu.signal, vt__cpu.period_ns);
        return t->fd < 0 ? t->fd : 0;
    default: break;
    }
    bool is_wall = vt__cpu.plan.clock == VT_CPU_WALL;
    int clock = is_wall ? CLOCK_MONOTONIC : vt__os_thread_clock(tid);
    int err = vt__os_timer_create(clock, vt__cpu.signal, tid, t, &t->timer);
    if (err != 0) {
        t->timer = -1;
        return err;
    }
    return vt__os_timer_set(t->timer, first_ns, vt__cpu.period_ns);
}

static void disarm(struct vt_cpu_task *t) {
    if (t->timer >= 0) vt__os_timer_delete(t->timer);
    if (t->fd >= 0) vt__os_close(t->fd);
    t->timer = t->fd = -1;
}

/* ---- numbers, under the lock ---- */

static uint32_t take_number(void) {
    uint32_t n = n_tasks();
    uint32_t number = all.free;
    if (number != 0) {
        all.free = vt__cpu_task(number)->next_free;
        return number;
    }
    for (uint32_t i = 0; n >= MANY && i < n; i++) {
        all.rover = all.rover % n + 1;
        if (atomic_load_explicit(tid_of(all.rover), memory_order_relaxed) == 0) return all.rover;
    }
    if (n + 1 >= MAX_TASKS || !vt__region_ready(&all.tasks, (n + 2) * TASK_BYTES) ||
        !vt__region_ready(&all.tids, (n + 2) * sizeof(int)))
        return 0;
    vt__cpu_task(n + 1)->timer = vt__cpu_task(n + 1)->fd = -1;
    /* release: the memory is there before the number is */
    atomic_store_explicit(&all.n, n + 1, memory_order_release);
    return n + 1;
}

static void give_number(uint32_t number) {
    struct vt_cpu_task *t = vt__cpu_task(number);
    atomic_store_explicit(tid_of(number), 0, memory_order_relaxed);
    if (atomic_load_explicit(&t->has_samples, memory_order_relaxed)) return;
    t->next_free = all.free;
    all.free = number;
}

static int add(int tid, bool is_me, uint32_t *number) {
    *number = vt__cpu_task_of(tid);
    if (*number != 0) return 0;
    *number = take_number();
    if (*number == 0) return -ENOMEM;
    struct vt_cpu_task *t = vt__cpu_task(*number);
    t->last_tid = tid;
    t->name[0] = '\0';
    t->start = tid == vt__os_pid() ? vt__os_entry() : 0;
    atomic_store_explicit(&t->last_stack, 0, memory_order_relaxed);
    atomic_store_explicit(&t->last_label, 0, memory_order_relaxed);
    atomic_store_explicit(&t->label, 0, memory_order_relaxed);
    if (is_me)
        vt__os_my_name(t->name);
    else
        vt__os_task_name(tid, t->name);
    int err = arm(t, tid);
    if (err != 0) {
        disarm(t);
        give_number(*number);
        *number = 0;
        return err;
    }
    atomic_store_explicit(tid_of(*number), tid, memory_order_relaxed);
    atomic_store_explicit(&hints[(unsigned)tid % N_HINTS], (uint16_t)*number, memory_order_relaxed);
    return 0;
}

/* The label of what a thread owes. A change of labels leaves late_ns at most uncounted: so much was used where the thread was last seen,
 * under the label it had there; more, since then. */
static uint32_t label_of_owed(const struct vt_cpu_task *t, uint64_t owed_ns) {
    bool is_seen = atomic_load_explicit(&t->last_stack, memory_order_relaxed) != 0;
    return is_seen && owed_ns <= vt__cpu.late_ns
               ? atomic_load_explicit(&t->last_label, memory_order_relaxed)
               : atomic_load_explicit(&t->label, memory_order_relaxed);
}

/* So many periods where the thread was last seen, or in its first function. */
static struct vt_count owed_by(uint32_t number, uint64_t n) {
    const struct vt_cpu_task *t = vt__cpu_task(number);
    uint32_t stack = atomic_load_explicit(&t->last_stack, memory_order_relaxed);
    uint64_t owed_ns = n * vt__cpu.period_ns;
    if (stack == 0 && t->start != 0) {
        struct vt_frames f = {.n = 1, .pc = {t->start}};
        f.hash = vt__frames_hash(f.pc, f.n);
        stack = vt__depot_put(&f);
    }
    return (struct vt_count){.stack = stack,
                             .label = label_of_owed(t, owed_ns),
                             .who = number,
                             .n = n,
                             .on_ns = owed_ns};
}

static void count_owed(const struct vt_count *c) {
    if (vt__cpu_count(c))
        atomic_store_explicit(&vt__cpu_task(c->who)->has_samples, true, memory_order_relaxed);
}

/* The system looks at timers when it ticks, every 4 ms or so, and tells what a thread missed at its next tick, which on a busy
 * machine comes late. These are the periods it has not told of. */
static uint64_t n_owed(uint32_t number, int tid) {
    uint64_t now_ns = vt__os_clock_ns(vt__os_thread_clock(tid));
    if (!vt__cpu_is_by_thread() || vt__cpu.plan.filter != NULL || now_ns == 0) return 0;
    /* the first period may end later */
    uint64_t counted_ns = atomic_load_explicit(&vt__cpu_task(number)->cpu_ns, memory_order_relaxed);
    int64_t owed_ns = (int64_t)(now_ns - counted_ns);
    return owed_ns > 0 ? (uint64_t)owed_ns / vt__cpu.period_ns : 0;
}

/* A thread that ends has no next tick. */
static void settle(uint32_t number, int tid) {
    struct vt_count c = owed_by(number, n_owed(number, tid));
    if (c.n != 0) count_owed(&c);
}

/* The same for the timer of all threads: the one that had its last tick, or the one that began. Beside busy neighbours a process
 * may have no tick for long. Time that passes is nobody's. */
static void settle_common(void) {
    uint32_t last = atomic_load_explicit(&vt__cpu.last_task, memory_order_relaxed);
    if (vt__cpu.plan.clock != VT_CPU_PROCESS || vt__cpu.plan.filter != NULL || n_tasks() == 0)
        return;
    struct vt_count c = owed_by(last != 0 ? last : 1, vt__cpu_take_common());
    if (c.n != 0) count_owed(&c);
}

static void remove_task(uint32_t number, int tid, bool is_me) {
    struct vt_cpu_task *t = vt__cpu_task(number);
    disarm(t);
    settle(number, tid);
    if (is_me)
        vt__os_my_name(t->name);
    else
        vt__os_task_name(tid, t->name);
    give_number(number);
}

static void add_visited(int tid, void *unused) {
    uint32_t number;
    (void)unused;
    (void)add(tid, /* is_me */ false, &number);
}

static void forget_all(void) {
    atomic_store_explicit(&all.n, 0, memory_order_relaxed);
    atomic_store_explicit(&vt__cpu.last_task, 0, memory_order_relaxed);
    all.free = all.rover = 0;
}

/* ---- one thread ---- */

uint32_t vt__cpu_task_try(int tid) {
    uint32_t number = vt__cpu_task_of(tid);
    if (number != 0 || !vt_try_lock(&lock)) return number;
    if (vt__cpu_is_on()) (void)add(tid, /* is_me */ true, &number);
    vt_unlock(&lock);
    return number;
}

void vt__cpu_task_begins(uintptr_t start) { /* host */
    uint32_t number;
    uint64_t mask = vt__lock_held(&lock);
    if (vt__cpu_is_on() && add(vt__os_tid(), /* is_me */ true, &number) == 0 && start != 0)
        vt__cpu_task(number)->start = start;
    vt__unlock_held(&lock, mask);
}

void vt__cpu_task_ends(void) { /* host */
    if (n_tasks() == 0) return;
    int tid = vt__os_tid();
    uint64_t mask = vt__lock_held(&lock);
    uint32_t number = vt__cpu_task_of(tid);
    if (number != 0) remove_task(number, tid, /* is_me */ true);
    vt__unlock_held(&lock, mask);
}

/* ---- all of them; host ---- */

static void start_scout(void) {
    if (vt__os_timer_create(CLOCK_PROCESS_CPUTIME_ID, vt__cpu.signal, 0, VT_CPU_SCOUT,
                            &all.scout) != 0)
        all.scout = -1;
    else
        vt__os_timer_set(all.scout, SCOUT_PERIOD_NS, SCOUT_PERIOD_NS);
}

static int process_timer(uint64_t period_ns) {
    return vt__os_itimer_set(vt__cpu.plan.clock == VT_CPU_REAL ? ITIMER_REAL : ITIMER_PROF,
                             period_ns);
}

/* As in arm(): what ends within a period counts for it with the chance of its length. */
static int start_common(void) {
    atomic_store_explicit(&vt__cpu.common_ns,
                          vt__cpu_common_ns() - vt__os_random() % vt__cpu.period_ns,
                          memory_order_relaxed);
    atomic_store_explicit(&vt__cpu.common_until_ns, VT_CPU_IS_ARMED, memory_order_relaxed);
    return process_timer(vt__cpu.period_ns);
}

static int begin_locked(bool is_alone) {
    uint32_t number;
    forget_all();
    int err = add(vt__os_tid(), /* is_me */ true, &number);
    if (err != 0) return err;
    if (vt__cpu_is_common()) return start_common();
    start_scout();
    if (!is_alone)
        (void)vt__os_each_task(add_visited, NULL); /* without /proc the scout finds them */
    return 0;
}

int vt__cpu_tasks_begin(bool is_alone) {
    uint64_t mask = vt__lock_held(&lock);
    int err = begin_locked(is_alone);
    vt__unlock_held(&lock, mask);
    return err;
}

void vt__cpu_tasks_end(void) {
    uint64_t mask = vt__lock_held(&lock);
    if (vt__cpu_is_common()) {
        (void)process_timer(0);
        atomic_store_explicit(&vt__cpu.common_until_ns, vt__os_now_ns() + LATE_NS,
                              memory_order_relaxed);
    }
    settle_common();
    if (all.scout >= 0) vt__os_timer_delete(all.scout);
    all.scout = -1;
    for (uint32_t i = 1; i <= n_tasks(); i++) {
        int tid = atomic_load_explicit(tid_of(i), memory_order_relaxed);
        if (tid == 0) continue;
        remove_task(i, tid, /* is_me */ false);
    }
    vt__unlock_held(&lock, mask);
}

void vt__cpu_rescan(void) {
    uint64_t mask = vt__lock_held(&lock);
    for (uint32_t i = 1; i <= n_tasks(); i++) {
        int tid = atomic_load_explicit(tid_of(i), memory_order_relaxed);
        if (tid == 0) continue;
        if (!vt__os_task_is_there(tid))
            remove_task(i, tid, /* is_me */ false);
        else
            vt__os_task_name(tid, vt__cpu_task(i)->name);
    }
    if (vt__cpu_is_on()) (void)vt__os_each_task(add_visited, NULL);
    vt__unlock_held(&lock, mask);
}

/* What has ticked meanwhile counts twice until it is taken back: a period or two, and rarely. */
void vt__cpu_lend(void) {
    uint64_t mask = vt__lock_held(&lock);
    settle_common(); /* for good: the next tick knows */
    for (uint32_t i = 1; i <= n_tasks(); i++) {
        int tid = atomic_load_explicit(tid_of(i), memory_order_relaxed);
        if (tid == 0) continue;
        vt__cpu_task(i)->lent = owed_by(i, n_owed(i, tid));
        if (vt__cpu_task(i)->lent.n != 0) count_owed(&vt__cpu_task(i)->lent);
    }
    vt__unlock_held(&lock, mask);
}

void vt__cpu_take_back(void) {
    uint64_t mask = vt__lock_held(&lock);
    for (uint32_t i = 1; i <= n_tasks(); i++) {
        struct vt_count *c = &vt__cpu_task(i)->lent;
        if (c->n == 0) continue;
        c->n = 0 - c->n;
        c->on_ns = 0 - c->on_ns;
        (void)vt__cpu_count(c);
        c->n = 0;
    }
    vt__unlock_held(&lock, mask);
}

void vt__cpu_tasks_fork_prepare(void) { vt_lock(&lock); }

/* The system keeps the timers of a process across exec, where their signal would end a program that knows nothing of it: a
 * child, which mostly comes to that, has a timer of its one thread instead. */
static void become_per_thread(void) {
    if (vt__cpu.plan.clock == VT_CPU_PROCESS) vt__cpu.plan.clock = VT_CPU_THREAD;
    if (vt__cpu.plan.clock == VT_CPU_REAL) vt__cpu.plan.clock = VT_CPU_WALL;
    atomic_store_explicit(&vt__cpu.common_until_ns, 0, memory_order_relaxed);
}

/* Timers are the parent's; descriptors are shared with it, and the child gives its own up. */
void vt__cpu_tasks_fork_done(bool is_child) {
    if (is_child) {
        for (uint32_t i = 1; i <= n_tasks(); i++) {
            struct vt_cpu_task *t = vt__cpu_task(i);
            t->timer = -1;
            disarm(t);
            atomic_store_explicit(tid_of(i), 0, memory_order_relaxed);
            atomic_store_explicit(&t->has_samples, false, memory_order_relaxed);
        }
        all.scout = -1;
        vt_lock_reset(&lock);
        become_per_thread();
        if (vt__cpu_is_on() && vt__cpu_tasks_begin(/* is_alone */ true) != 0)
            atomic_store_explicit(&vt__cpu.is_on, false, memory_order_relaxed);
    } else {
        vt_unlock(&lock);
    }
}
