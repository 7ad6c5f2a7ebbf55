/* storm.c - the walking and allocating half of storm.cpp, with the library from inside. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

#include <fcntl.h>
#include <unistd.h>

#include "heap/heap.h"
#include "life/life.h"
#include "probe/exact.h"
#include "probe/probe.h"
#include "stack/impl.h"
#include "storm.h"
#include "storm_blocks.h"

static _Atomic long n_ticks, n_walks, n_wrong, n_errno;

/* Another thread may unload a library meanwhile: its addresses are marked then (gone.c). */
static bool is_what_was_put(vt_stack_id id, const struct vt_frames *f) {
    const uintptr_t *pc;
    if (vt__depot_get(id, &pc) != f->n) return false;
    for (unsigned i = 0; i < f->n; i++)
        if ((__atomic_load_n(&pc[i], __ATOMIC_RELAXED) & VT_PC_MASK) != f->pc[i]) return false;
    return true;
}

/* What was put must come back, frame by frame. */
static void keep(const struct vt_frames *f) {
    vt_stack_id id = vt__depot_put(f);
    if (f->n == 0 || f->hash != vt__frames_hash(f->pc, f->n))
        n_wrong++;
    else if (id != 0 && !is_what_was_put(id, f))
        n_wrong++;
}

void storm_tick(const void *uc) {
    struct vt_frames f;
    int saved = errno;
    errno = 12345;
    vt__stack_of_context(uc, &f);
    keep(&f);
    if (errno != 12345) n_errno++;
    errno = saved;
    n_ticks++;
}

void storm_here(void) {
    struct vt_frames f;
    vt__stack_here(&f);
    keep(&f);
    n_walks++;
}

void storm_begin(void) {
    vt__stack_modules_stay();
    vt__free(vt__malloc(1));
    vt__sample_set_period(4096);
}

void storm_allocate(void) { use_blocks(vt__malloc, vt__realloc, vt__free); }

void storm_profile(int i) {
    int fd = open("/dev/null", O_WRONLY);
    if (vt__life_heap_write_fd(fd, (enum vt_heap_format)(i % 4)) != 0) storm_failed("a profile");
    close(fd);
    if (i % 20 == 10) vt__exact_set(true);
    if (i % 20 == 15) vt__exact_set(false);
}

void storm_unloading(void) { vt__stack_unload_begins(); }
void storm_unloaded(void) { vt__stack_unload_ends(); }
void storm_thread_ends(void) { vt__stack_thread_ends(); }

void storm_failed(const char *what) {
    printf("failed: %s\n", what);
    n_wrong++;
}

int storm_is_good(void) { return n_wrong == 0 && n_errno == 0; }

#define LEAST 1000 /* signals, and samples */

int storm_has_enough(void) {
    struct vt_sample_totals t;
    vt__sample_totals(&t);
    return n_ticks >= LEAST && t.n_samples >= LEAST;
}

int storm_report(void) {
    struct vt_stack_stats s;
    struct vt_sample_totals t;
    vt__exact_set(false);
    for (int i = 0; i < N_SHARED; i++) vt__free(atomic_exchange(&shared_blocks[i], NULL));
    vt__sample_totals(&t);
    vt__stack_stats(&s);
    printf("%lu samples, %lu lost; expected 0 left, seen %lu\n", (unsigned long)t.n_samples,
           (unsigned long)t.n_lost, (unsigned long)t.n_live);
    if (t.n_live != 0 || t.n_samples < LEAST) storm_failed("samples");
    printf("%ld signals, %ld walks, %lu frames, %lu stacks (%lu lost, %lu KiB); ended:", n_ticks,
           n_walks, (unsigned long)s.n_frames, (unsigned long)s.n_stacks, (unsigned long)s.n_lost,
           (unsigned long)s.depot_bytes / 1024);
    for (int i = 0; i < VT_END_COUNT; i++) printf(" %lu", (unsigned long)s.ended[i]);
    printf("\nexpected 0 wrong stacks and errno left alone, seen %ld and %ld\n", n_wrong, n_errno);
    if (n_ticks < LEAST) {
        printf("expected at least %d signals, seen %ld\n", LEAST, n_ticks);
        return 1;
    }
    return storm_is_good() ? 0 : 1;
}
