/* waits.c - waits for locks and conditions, counted by stack. See waits.h.
 *
 * A stack is walked when the wait is over: nobody is kept longer by it than the one who waited anyway. The memory for a walk is one of
 * a few, taken by a bit; a thread's own stack may be small.
 *
 * Whose a wait was is asked of the system then, too. A thread has a row of its own, which nobody else writes; under another name, another
 * row. Past N_THREADS or so since the start, waits are of no thread.
 *
 * Climate: signal.   Owns: the counts, the memory for walks.   Locks: none.
 */
#include "probe/waits.h"

#include "os/os.h"
#include "probe/upcalls.h"
#include "stack/stack.h"

#define N_WALKS 64 /* at the same time; each takes about a microsecond */
#define MAX_FUNCTIONS 32
#define N_THREADS (1u << 12)
#define WINDOW 32 /* rows to look at */

/* vt_count.who: | thread, from 1; 0: no row | function 6 | */
#define FUNCTION_BITS 6
_Static_assert(MAX_FUNCTIONS < 1u << FUNCTION_BITS &&
                   (uint64_t)(N_THREADS + 1) << FUNCTION_BITS <= 1u << 20,
               "counts.h");

union thread_name {
    char text[VT_TASK_NAME_BYTES];
    uint64_t word[VT_TASK_NAME_BYTES / sizeof(uint64_t)];
};

struct thread_row {
    _Atomic uint32_t tid; /* 0: nobody's */
    _Atomic uint64_t name[vt_countof(((union thread_name *)0)->word)];
};

static struct vt_counts counts = VT_COUNTS; /* by number of the function */
static struct {
    _Atomic bool is_on;
    uint64_t period_ns; /* written before is_on */
    _Atomic uint64_t n_lost, since_ns;
    _Atomic uint64_t n_draws;                   /* random numbers so far */
    _Atomic uint64_t busy;                      /* bit: a walk has these frames */
    _Atomic uintptr_t functions[MAX_FUNCTIONS]; /* by number; 0: none yet */
} waits;
static struct vt_frames frames[N_WALKS];     /* takes no room in the file */
static struct thread_row threads[N_THREADS]; /* neither */
_Static_assert(N_WALKS == 64, "bits of `busy`");

/* ---- telling ---- */

/* splitmix64: each number of a row is mixed, so threads need no state of their own. */
static uint64_t draw(void) {
    uint64_t x = UINT64_C(0x9e3779b97f4a7c15) *
                 (atomic_fetch_add_explicit(&waits.n_draws, 1, memory_order_relaxed) + 1);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* What a wait of so long counts for; n is 0 if it is not drawn. A whole number of times, right on average. */
static struct vt_count weigh(uint64_t ns) {
    uint64_t period = waits.period_ns;
    if (ns >= period) return (struct vt_count){.n = 1, .on_ns = ns};
    if (draw() % period >= ns) return (struct vt_count){0};
    return (struct vt_count){.n = period / ns + (draw() % ns < period % ns), .on_ns = period};
}

static uint32_t number_of(uintptr_t function) {
    for (uint32_t i = 0; i < MAX_FUNCTIONS; i++) {
        uintptr_t seen = 0;
        /* relaxed: the address is all there is to it */
        if (atomic_load_explicit(&waits.functions[i], memory_order_relaxed) == function) return i;
        if (atomic_compare_exchange_strong_explicit(&waits.functions[i], &seen, function,
                                                    memory_order_relaxed, memory_order_relaxed) ||
            seen == function)
            return i;
    }
    return MAX_FUNCTIONS;
}

static bool has_name(struct thread_row *row, const union thread_name *name) {
    for (unsigned i = 0; i < vt_countof(name->word); i++)
        if (atomic_load_explicit(&row->name[i], memory_order_relaxed) != name->word[i])
            return false;
    return true;
}

/* The calling thread's row, from 1; 0: none is left. Relaxed: only this thread makes rows of its id, and a reader takes what is there. */
static uint32_t thread_row_here(void) {
    uint32_t tid = (uint32_t)vt__os_tid();
    union thread_name name = {""};
    vt__os_my_name(name.text);
    for (uint32_t i = 0; i < WINDOW; i++) {
        uint32_t at = (tid + i) % N_THREADS, seen = 0;
        struct thread_row *row = &threads[at];
        bool is_new = atomic_compare_exchange_strong_explicit(
            &row->tid, &seen, tid, memory_order_relaxed, memory_order_relaxed);
        for (unsigned k = 0; is_new && k < vt_countof(name.word); k++)
            atomic_store_explicit(&row->name[k], name.word[k], memory_order_relaxed);
        if (is_new || (seen == tid && has_name(row, &name))) return at + 1;
    }
    return 0;
}

/* The caller's; 0: lost. */
static vt_stack_id walk(void) {
    uint64_t busy = atomic_load_explicit(&waits.busy, memory_order_relaxed);
    unsigned i;
    do {
        if (~busy == 0) return 0;
        i = (unsigned)__builtin_ctzll(~busy);
        /* acquire, and release below: who had these frames before has done with them */
    } while (!atomic_compare_exchange_weak_explicit(&waits.busy, &busy, busy | UINT64_C(1) << i,
                                                    memory_order_acquire, memory_order_relaxed));
    vt_stack_id id = vt__stack_id_here(&frames[i], NULL);
    atomic_fetch_and_explicit(&waits.busy, ~(UINT64_C(1) << i), memory_order_release);
    return id;
}

void vt__wait_ended(uintptr_t function, uint64_t since_ns) {
    /* acquire: the period; pairs with vt__waits_start */
    if (!atomic_load_explicit(&waits.is_on, memory_order_acquire)) return;
    struct vt_count c = weigh(vt__os_now_ns() - since_ns);
    if (c.n == 0) return;
    c.who = thread_row_here() << FUNCTION_BITS | number_of(function);
    vt__life_thread_seen();
    c.stack = walk();
    c.label = vt__life_cpu_label();
    if (c.stack == 0 || !vt__counts_add(&counts, &c))
        atomic_fetch_add_explicit(&waits.n_lost, c.n, memory_order_relaxed);
}

/* ---- on and off ---- */

static void forget(uint64_t since_ns) {
    vt__counts_forget(&counts);
    /* Approximate: a wait that is being counted just now may come to stand under another thread. */
    for (unsigned i = 0; i < N_THREADS; i++)
        if (atomic_load_explicit(&threads[i].tid, memory_order_relaxed) != 0)
            atomic_store_explicit(&threads[i].tid, 0, memory_order_relaxed);
    atomic_store_explicit(&waits.n_lost, 0, memory_order_relaxed);
    atomic_store_explicit(&waits.since_ns, since_ns, memory_order_relaxed);
}

void vt__waits_start(uint64_t period_ns, uint64_t since_ns) {
    waits.period_ns = period_ns;
    forget(since_ns);
    atomic_store_explicit(&waits.is_on, true, memory_order_release);
}

void vt__waits_stop(void) { atomic_store_explicit(&waits.is_on, false, memory_order_relaxed); }

void vt__waits_fork_child(void) {
    forget(vt__os_wall_ns());
    atomic_store_explicit(&waits.busy, 0, memory_order_relaxed); /* who walked is not here */
}

/* ---- reading ---- */

void vt__waits_totals(struct vt_wait_totals *out) {
    *out = (struct vt_wait_totals){
        .period_ns = waits.period_ns,
        .n_lost = atomic_load_explicit(&waits.n_lost, memory_order_relaxed),
        .since_ns = atomic_load_explicit(&waits.since_ns, memory_order_relaxed)};
}

static void read_thread(uint32_t number, struct vt_waiter *who) {
    union thread_name name;
    if (number == 0 || number > N_THREADS) return;
    struct thread_row *row = &threads[number - 1];
    who->tid = atomic_load_explicit(&row->tid, memory_order_relaxed);
    for (unsigned i = 0; i < vt_countof(name.word); i++)
        name.word[i] = atomic_load_explicit(&row->name[i], memory_order_relaxed);
    __builtin_memcpy(who->thread_name, name.text, sizeof(who->thread_name) - 1);
}

bool vt__waits_next(uint32_t *cursor, struct vt_count *out, struct vt_waiter *who) {
    *who = (struct vt_waiter){0};
    if (!vt__counts_next(&counts, cursor, out)) return false;
    uint32_t function = out->who & ((1u << FUNCTION_BITS) - 1);
    if (function < MAX_FUNCTIONS)
        who->function = atomic_load_explicit(&waits.functions[function], memory_order_relaxed);
    read_thread(out->who >> FUNCTION_BITS, who);
    return true;
}
