/* handover.c - blocks allocated by one thread and freed by another, in every way the owner can be absent.
 *
 *   handover   producers allocate, consumers free, both without pause
 *   orphans    threads allocate, leave their blocks behind and end; others free them, and later threads take over the heaps
 *   rings      threads free a few blocks of each of many slabs and end: what waited in their rings must come home
 *   sleeper    a thread allocates much and sleeps; others free all of it; it wakes up and allocates again
 *   late       threads allocate and free in the destructors of their keys, round after round
 */
#include "stress.h"

/* ---- handover ---- */

static _Atomic unsigned n_producing;

static void *produce_or_consume(void *i) {
    uint64_t rng = seed_of((uintptr_t)i);
    bool is_producer = (uintptr_t)i % 2 == 0;
    /* sizes whose slabs hold few blocks are as frequent as small ones: slabs then come back whole */
    for (int n = 0; is_producer && n < 30000 && !atomic_load(&run.is_over); n++) {
        uint64_t r = next_random(&rng);
        size_t size = (r >> 20) % 4 == 0 ? 2000 + (r >> 24) % 30000 : some_size(r >> 24);
        drop_block(swap_slot(r, new_block(size)));
    }
    if (is_producer) atomic_fetch_sub(&n_producing, 1);
    while (!is_producer && atomic_load(&n_producing) > 0)
        drop_block(swap_slot(next_random(&rng), NULL));
    return NULL;
}

static void run_handover(void) {
    unsigned n = run.n_threads < 2 ? 2 : run.n_threads;
    atomic_store(&n_producing, (n + 1) / 2);
    in_threads(n, produce_or_consume);
    empty_slots();
}

const struct scenario handover_scenario = {"handover", run_handover, "producers and consumers"};

/* ---- orphans ---- */

static _Atomic unsigned orphans_turn;

static void *leave_behind(void *i) {
    uint64_t rng = seed_of((uintptr_t)i + 64 * atomic_load(&orphans_turn));
    void *mine[64];
    for (int k = 0; k < 64; k++) mine[k] = new_block(some_size(next_random(&rng)));
    for (int k = 0; k < 64; k++) {
        uint64_t r = next_random(&rng);
        if (r % 3 == 0)
            drop_block(mine[k]);
        else
            drop_block(swap_slot(
                r >> 8, mine[k])); /* what was there is an older thread's, most of them ended */
    }
    return NULL;
}

static void run_orphans(void) {
    uint64_t allocated, n_threads, first_heaps = 0, n_heaps = 0;
    for (int i = 0; i < 30; i++) {
        atomic_store(&orphans_turn, (unsigned)i);
        in_threads(run.n_threads, leave_behind);
        if (i == 0) ask_stats(&allocated, &n_threads, &first_heaps);
    }
    bool is_alone =
        strcmp(run.scenario, orphans_scenario.name) == 0; /* no other threads come and go */
    if (is_alone && ask_stats(&allocated, &n_threads, &n_heaps) &&
        n_heaps > first_heaps + run.n_threads)
        die("expected the heaps of ended threads to be used again: at most %llu, seen %llu",
            (unsigned long long)first_heaps + run.n_threads, (unsigned long long)n_heaps);
    empty_slots();
}

const struct scenario orphans_scenario = {"orphans", run_orphans,
                                          "threads end and leave blocks and heaps to others"};

/* ---- rings ---- */

#define N_SLABS_WORTH 4000
static void *many[N_SLABS_WORTH];

static void *free_some_and_end(void *i) {
    drop_block(new_block(500)); /* a heap of our own: frees are batched */
    for (size_t k = (uintptr_t)i; k < N_SLABS_WORTH; k += run.n_threads) drop_block(many[k]);
    return NULL;
}

static void run_rings(void) {
    uint64_t rng = seed_of(0);
    for (size_t k = 0; k < N_SLABS_WORTH; k++) many[k] = new_block(some_size(next_random(&rng)));
    for (size_t k = N_SLABS_WORTH - 1; k > 0;
         k--) { /* neighbours in a slab go to different threads at different times */
        size_t other = next_random(&rng) % (k + 1);
        void *p = many[k];
        many[k] = many[other];
        many[other] = p;
    }
    in_threads(run.n_threads, free_some_and_end);
}

const struct scenario rings_scenario = {"rings", run_rings,
                                        "threads end with blocks of many slabs in their rings"};

/* ---- sleeper ---- */

static pthread_barrier_t stage;

static void *sleep_through(void *unused) {
    uint64_t rng = seed_of(0);
    static const size_t sizes[] = {16, 48, 64, 200, 1000, 1500, 5000, 20000, 60000};
    for (int turn = 0; turn < 3; turn++) {
        size_t size = sizes[next_random(&rng) % (sizeof(sizes) / sizeof(sizes[0]))];
        for (size_t k = 0; k < N_SLABS_WORTH; k++) many[k] = new_block(size);
        pthread_barrier_wait(&stage); /* the others free everything now */
        pthread_barrier_wait(&stage);
        for (size_t k = 0; k < N_SLABS_WORTH / 4;
             k++) { /* what comes back is zero if it should be */
            unsigned char *p = s_calloc(1, size);
            if (p == NULL) die("calloc(%zu): expected a block, seen NULL", size);
            for (size_t b = 0; b < size; b++)
                if (p[b] != 0) die("calloc(%zu): byte %zu: expected 0, seen %u", size, b, p[b]);
            fill_block(p, size);
            many[k] = p;
        }
        for (size_t k = 0; k < N_SLABS_WORTH / 4; k++) drop_block(many[k]);
        s_audit();
    }
    return unused;
}

static void *free_for_sleeper(void *i) {
    for (int turn = 0; turn < 3; turn++) {
        pthread_barrier_wait(&stage);
        for (size_t k = (uintptr_t)i - 1; k < N_SLABS_WORTH; k += run.n_threads - 1)
            drop_block(many[k]);
        pthread_barrier_wait(&stage);
    }
    return NULL;
}

static void *sleeper_or_not(void *i) {
    return (uintptr_t)i == 0 ? sleep_through(i) : free_for_sleeper(i);
}

static void run_sleeper(void) {
    if (run.n_threads < 2) run.n_threads = 2;
    pthread_barrier_init(&stage, NULL, run.n_threads);
    in_threads(run.n_threads, sleeper_or_not);
    pthread_barrier_destroy(&stage);
}

const struct scenario sleeper_scenario = {"sleeper", run_sleeper,
                                          "an owner sleeps while others free all it has"};

/* ---- late ---- */

#define N_LATE_KEYS 3
static pthread_key_t late_keys[N_LATE_KEYS];
static pthread_once_t late_once = PTHREAD_ONCE_INIT;

/* The value is a block of ours: freed, and as long as libc goes round, another one takes its place. */
static void end_late(void *block) {
    size_t n = size_of_block(block);
    drop_block(block);
    drop_block(swap_slot(n, new_block(n + 100)));
#if !defined(                                                                                      \
    VT_FLAVOUR_tsan) /* the sanitizer's own end of a thread comes in these rounds, and nothing may follow it */
    if (n % 5 != 4) {
        for (int i = 0; i < N_LATE_KEYS; i++)
            if (pthread_getspecific(late_keys[i]) == NULL) {
                pthread_setspecific(late_keys[i], new_block(n + 1));
                return;
            }
    }
#endif
}

/* Values that were set in the last round of all are not destroyed by anybody: n % 5 ends the chain before. */
static void make_late_keys(void) {
    for (int i = 0; i < N_LATE_KEYS; i++)
        if (pthread_key_create(&late_keys[i], end_late) != 0) die("pthread_key_create: expected 0");
}

static void *end_with_values(void *i) {
    uint64_t rng = seed_of((uintptr_t)i);
    for (int k = 0; k < N_LATE_KEYS; k++)
        pthread_setspecific(late_keys[k], new_block(1000 / 5 * 5 + 2 + next_random(&rng) % 3));
    drop_block(new_block(some_size(next_random(&rng))));
    return NULL;
}

static void run_late(void) {
    pthread_once(&late_once, make_late_keys);
    for (int i = 0; i < 10; i++) in_threads(run.n_threads, end_with_values);
    empty_slots();
}

const struct scenario late_scenario = {"late", run_late, "threads allocate while they end"};
