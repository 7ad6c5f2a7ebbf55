/* subject.c - writes a heap profile of its own call sites, with real return addresses and numbers that it knows.
 *
 *   profile_subject FORMAT KIND PERIOD PATH       proto|gperftools|jemalloc|collapsed   sampled|exact|growth|peak
 *
 * Prints what a reader must find, one line per row, fields separated by tabs:
 *   thread  labels (k=v,k=v or -)  seen: inuse objects, bytes, alloc objects, bytes  estimates: the same  functions, leaf first
 */
#include <execinfo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dump/profile.h"

#define NOINLINE __attribute__((noinline))
#define MAX_DEPTH 32

struct row {
    void *pc[MAX_DEPTH];
    int n_pcs;
    struct vt_heap_row row;
};

static struct row rows[32];
static size_t n_rows, at;
static uint64_t period;
static uint32_t thread;
static const char *const label_keys[] = {"tenant", "phase"};
static const char *const label_values[] = {"blue", "warm up"};
static unsigned n_labels;
static const char
    *path_to_site[MAX_DEPTH]; /* names of the functions that are active, outermost first */
static int n_active;
static volatile unsigned calls; /* keeps calls calls */

#define ENTER()                                                                                    \
    do {                                                                                           \
        path_to_site[n_active++] = __func__;                                                       \
        calls++;                                                                                   \
    } while (0)
#define LEAVE()                                                                                    \
    do {                                                                                           \
        n_active--;                                                                                \
        calls++;                                                                                   \
    } while (0)

static uint64_t scaled(uint64_t n, uint64_t n_objects, uint64_t n_bytes) {
    if (period == 1 || n_objects == 0) return n;
    double mean = (double)n_bytes / (double)n_objects;
    return (uint64_t)llround((double)n / (1 - exp(-mean / (double)period)));
}

static void print_row(const struct vt_heap_row *r) {
    printf("%u\t%s\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t", r->thread,
           r->n_labels > 0 ? "tenant=blue,phase=warm up" : "-", r->seen_inuse_objects,
           r->seen_inuse_bytes, r->seen_alloc_objects, r->seen_alloc_bytes, r->inuse_objects,
           r->inuse_bytes, r->alloc_objects, r->alloc_bytes);
    for (int i = n_active; i-- > 0;) printf("%s%s", path_to_site[i], i > 0 ? "," : "\n");
}

/* Stands for malloc: its caller is the leaf of the stack. */
static NOINLINE void record(uint64_t inuse_objects, uint64_t alloc_objects, uint64_t block_bytes) {
    struct row *r = &rows[n_rows++];
    void *pc[MAX_DEPTH + 1];
    r->n_pcs = backtrace(pc, MAX_DEPTH + 1) - 1; /* without ourselves */
    memcpy(r->pc, pc + 1, (size_t)r->n_pcs * sizeof(void *));
    struct vt_heap_row *row = &r->row;
    row->pc = (const uintptr_t *)(void *)r->pc;
    row->n_pcs = (unsigned)r->n_pcs;
    row->thread = thread;
    row->thread_name = thread == 12 ? "worker" : NULL;
    row->n_labels = n_labels;
    row->label_keys = label_keys;
    row->label_values = label_values;
    row->seen_inuse_objects = inuse_objects;
    row->seen_inuse_bytes = inuse_objects * block_bytes;
    row->seen_alloc_objects = alloc_objects;
    row->seen_alloc_bytes = alloc_objects * block_bytes;
    row->inuse_objects = scaled(inuse_objects, inuse_objects, row->seen_inuse_bytes);
    row->inuse_bytes = scaled(row->seen_inuse_bytes, inuse_objects, row->seen_inuse_bytes);
    row->alloc_objects = scaled(alloc_objects, alloc_objects, row->seen_alloc_bytes);
    row->alloc_bytes = scaled(row->seen_alloc_bytes, alloc_objects, row->seen_alloc_bytes);
    row->inuse_requested_bytes = row->inuse_bytes - row->inuse_objects; /* a byte each is wasted */
    row->alloc_requested_bytes = row->alloc_bytes - row->alloc_objects;
    row->inuse_samples = period == 1 ? 0 : inuse_objects;
    row->alloc_samples = period == 1 ? 0 : alloc_objects;
    print_row(row);
    calls++;
}

static NOINLINE void site_small(void) {
    ENTER();
    record(100, 150, 64);
    LEAVE();
}

static NOINLINE void site_large(void) {
    ENTER();
    record(3, 3, 4 << 20);
    LEAVE();
}

static NOINLINE void site_two_sizes(
    void) { /* one stack, two rows: readers must add up what they scaled row by row */
    ENTER();
    for (int i = 0; i < 2; i++) record(5, 5, i == 0 ? 48 : 1 << 20);
    LEAVE();
}

static NOINLINE void site_freed(void) {
    ENTER();
    record(0, 10, 1024);
    LEAVE();
}

static NOINLINE void middle(void) {
    ENTER();
    site_small();
    site_large();
    LEAVE();
}

static NOINLINE void outer(void) {
    ENTER();
    middle();
    site_two_sizes();
    LEAVE();
}

static NOINLINE void recurse(int n) {
    ENTER();
    if (n > 0)
        recurse(n - 1);
    else
        site_small();
    LEAVE();
}

/* Called by libc, so that the stack leads through another module. */
static NOINLINE int site_in_callback(const void *a, const void *b) {
    static unsigned n_calls;
    ENTER();
    if (n_calls++ == 0) record(7, 9, 256);
    LEAVE();
    return *(const int *)a - *(const int *)b;
}

static NOINLINE void through_libc(void) {
    int numbers[] = {2, 1};
    ENTER();
    path_to_site[n_active++] = "?libc"; /* one frame or more */
    qsort(numbers, 2, sizeof(numbers[0]), site_in_callback);
    n_active--;
    LEAVE();
}

static NOINLINE void in_thread(uint32_t id, void (*f)(void)) {
    ENTER();
    thread = id;
    n_labels = id == 12 ? 2 : 0;
    f();
    thread = 0;
    n_labels = 0;
    LEAVE();
}

static void rewind_rows(void *state, bool by_thread) {
    (void)by_thread;
    (void)state;
    at = 0;
}

static bool next_row(void *state, struct vt_heap_row *row) {
    (void)state;
    if (at == n_rows) return false;
    *row = rows[at++].row;
    return true;
}

static int index_of(const char *word, const char *const *words, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(word, words[i]) == 0) return i;
    fprintf(stderr, "unknown word '%s'\n", word);
    exit(2);
}

int main(int argc, char **argv) {
    static const char *const formats[] = {"proto", "gperftools", "jemalloc", "collapsed"};
    static const char *const kinds[] = {"sampled", "exact", "growth", "peak"};
    if (argc != 5) return 2;
    struct vt_heap_source src = {.rewind = rewind_rows, .next = next_row};
    enum vt_heap_format format = index_of(argv[1], formats, 4);
    src.kind = index_of(argv[2], kinds, 4);
    src.period_bytes = period = strtoull(argv[3], NULL, 10);
    src.time_ns = (uint64_t)time(NULL) * 1000000000;
    src.duration_ns = 1500000000;
    ENTER();
    outer();
    recurse(3);
    through_libc();
    site_freed();
    in_thread(11, site_small);
    in_thread(12, site_small);
    in_thread(12, site_large);
    LEAVE();
    return vt__heap_write_file(argv[4], format, &src) != 0;
}
