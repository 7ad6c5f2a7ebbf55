/* stress.h - what the scenarios share: the malloc under test, blocks that check themselves, seeds, and shared slots.
 *
 * The same sources are compiled twice: against the library's own names (VT_STRESS_PLAIN, with and without sanitizers), and
 * against malloc, to run with the library preloaded.
 *
 * A block describes itself: its first word tells its size, mixed with its address, and the rest is a pattern that follows
 * from both. Whoever gets a pointer can check the block, and two blocks in one place spoil each other.
 */
#ifndef VT_TESTS_STRESS_H
#define VT_TESTS_STRESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef VT_STRESS_PLAIN
#include "heap/heap.h"
#define s_malloc vt__malloc
#define s_free vt__free
#define s_calloc vt__calloc
#define s_realloc vt__realloc
#define s_aligned vt__aligned_alloc
#define s_usable vt__usable_size
#define s_audit vt__heap_audit
#else
#include <malloc.h>
#define s_malloc malloc
#define s_free free
#define s_calloc calloc
#define s_realloc realloc
#define s_aligned memalign
#define s_usable malloc_usable_size
#define s_audit() ((void)0)
#endif

struct scenario {
    const char *name;
    void (*run)(void); /* one round; the main loop repeats it until time is up */
    const char *what;
};

extern const struct scenario random_scenario, handover_scenario, orphans_scenario, rings_scenario,
    sleeper_scenario, late_scenario, forks_scenario, mix_scenario;

/* ---- one run ---- */

struct run {
    const char *scenario;
    uint64_t seed; /* of the round that is running */
    unsigned n_threads;
    _Atomic bool is_over; /* time is up: long rounds end early */
    bool is_soak;
};
extern struct run run;

__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Starts n threads, f(0) ... f(n - 1), and waits for them. */
void in_threads(unsigned n, void *(*f)(void *));

/* Bytes the program holds, thread heaps in use and in all, as the library sees it; false when it cannot be asked. */
bool ask_stats(uint64_t *allocated, uint64_t *n_threads, uint64_t *n_heaps);

/* A seed for thread i of this round. */
static inline uint64_t seed_of(uint64_t i) {
    return (run.seed + i * 7919) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

static inline uint64_t next_random(uint64_t *state) { /* xorshift64* */
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* ---- blocks ---- */

#define BLOCK_MIN sizeof(uint64_t)

static inline uint64_t word_of(const void *p, size_t n) {
    return ((uint64_t)n ^ (uint64_t)(uintptr_t)p << 20) * UINT64_C(0x9e3779b97f4a7c15) + n;
}

/* Bytes of a block that are written and checked: all of a small one, some of each page of a large one. */
static inline size_t step_of(size_t n) { return n <= 2048 ? 1 : n <= 65536 ? 61 : 1021; }

static inline void fill_block(void *p, size_t n) {
    uint64_t word = word_of(p, n);
    unsigned char *b = p;
    for (size_t i = BLOCK_MIN; i < n; i += step_of(n)) b[i] = (unsigned char)(word >> (i % 7 * 8));
    if (n > BLOCK_MIN) b[n - 1] = (unsigned char)(word >> 56);
    *(uint64_t *)p = (uint64_t)n ^ (uint64_t)(uintptr_t)p << 16;
}

static inline size_t size_of_block(const void *p) {
    return *(const uint64_t *)p ^ (uint64_t)(uintptr_t)p << 16;
}

/* The block was filled when it was at `as` with n bytes; its first n_kept bytes are still there. */
static inline void check_moved(const void *p, const void *as, size_t n, size_t n_kept) {
    uint64_t word = word_of(as, n);
    const unsigned char *b = p;
    size_t seen = *(const uint64_t *)p ^ (uint64_t)(uintptr_t)as << 16;
    if (seen != n) die("block %p of %zu bytes: its first word says %zu", p, n, seen);
    for (size_t i = BLOCK_MIN; i < n_kept && i < n - 1; i += step_of(n))
        if (b[i] != (unsigned char)(word >> (i % 7 * 8)))
            die("block %p of %zu bytes: byte %zu: expected %u, seen %u", p, n, i,
                (unsigned char)(word >> (i % 7 * 8)), b[i]);
    if (n > BLOCK_MIN && n_kept >= n && b[n - 1] != (unsigned char)(word >> 56))
        die("block %p of %zu bytes: last byte: expected %u, seen %u", p, n,
            (unsigned char)(word >> 56), b[n - 1]);
}

static inline void check_block(const void *p, size_t n) { check_moved(p, p, n, n); }

/* A filled block of at least BLOCK_MIN bytes; NULL only where the caller allows it. */
static inline void *new_block(size_t n) {
    if (n < BLOCK_MIN) n = BLOCK_MIN;
    void *p = s_malloc(n);
    if (p == NULL) die("malloc(%zu): expected a block, seen NULL", n);
    if ((uintptr_t)p % 16 != 0) die("malloc(%zu): expected a multiple of 16, seen %p", n, p);
    fill_block(p, n);
    return p;
}

/* Checks a block by its own word and frees it. */
static inline void drop_block(void *p) {
    if (p == NULL) return;
    check_block(p, size_of_block(p));
    *(uint64_t *)p = 0x5ca1ab1e; /* a second drop finds no block here */
    s_free(p);
}

/* Sizes as programs have them: mostly small, some medium, few large. */
static inline size_t some_size(uint64_t r) {
    unsigned kind = r % 1024;
    r >>= 10;
    if (kind < 1) return 65536 + r % (4u << 20);
    if (kind < 8) return 65536 + r % 300000;
    if (kind < 60) return 1025 + r % 64512;
    if (kind < 300) return 128 + r % 900;
    return BLOCK_MIN + r % 121;
}

/* ---- blocks on their way between threads ---- */

#define N_SLOTS 512
extern _Atomic(void *) slots[N_SLOTS];

static inline void *swap_slot(uint64_t r, void *p) {
    return atomic_exchange(&slots[r % N_SLOTS], p);
}
void empty_slots(void);

#endif
