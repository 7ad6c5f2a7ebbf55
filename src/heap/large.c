/* large.c - blocks above 64 KiB: whole slices, or whole chunks.
 *
 * The first slice's descriptor says LARGE, how many slices the run has, and how many OS pages the block; the other
 * slices have no owner, so a pointer into the middle is not taken for a block. A block whose inside is to be aligned does not begin
 * where its run does, but `carved` bytes behind that.
 *
 * Climate: malloc.   Owns: slab.run_slices, held_slices, room of LARGE slices.   Locks: none.
 */
#include <errno.h>

#include "heap/impl.h"
#include "heap/upcalls.h"
#include "os/os.h"

#define MOVES_MAX 256
#define MOVE_MIN_BYTES MiB(1) /* below this, copying is cheaper than changing page tables */

static size_t slices_for(size_t n_bytes) { return vt_div_up(n_bytes, VT_SLICE); }

size_t vt__large_usable(const struct slab *s) { return (size_t)s->room * VT_OS_PAGE - s->carved; }

void *vt__large_start(const struct slab *s) {
    return (void *)(vt__slice_address(vt__slab_id(s)) + s->carved);
}

static void set_size(struct slab *s, size_t n_bytes) {
    s->room = (uint32_t)vt_div_up(n_bytes + s->carved, VT_OS_PAGE);
}

/* `skipped`: bytes before the block, less than a slice. */
static void *alloc(struct vt_tract *t, size_t n_bytes, size_t align_slices, size_t skipped,
                   bool zero) {
    slab_id first;
    bool is_zero;
    size_t n_slices = slices_for(vt_max(n_bytes, 1) + skipped);
    if (vt__slices_take_in(t, n_slices, align_slices, VT_CLASS_NONE, &first, &is_zero) != 0)
        return NULL;
    struct slab *s = vt__slab(first);
    s->run_slices = (uint32_t)n_slices;
    s->delta = 0;
    s->cls = VT_CLASS_NONE;
    s->state = SLAB_FREE; /* not sampled */
    s->free = NULL;
    s->was_zero = !zero ? ZERO_UNKNOWN : is_zero ? ZERO_AS_IT_CAME : ZERO_CLEARED;
    s->carved = skipped;
    s->held_slices = (uint32_t)n_slices;
    set_size(s, vt_max(n_bytes, 1));
    /* release: whoever is handed the pointer may free it */
    atomic_store_explicit(&s->owner, VT_OWNER_LARGE, memory_order_release);
    if (!is_zero && vt__purge_is_pressed()) vt__purge_tail(first, n_slices, n_bytes + skipped);
    if (zero && !is_zero) vt__slices_zero(first, n_slices);
    return vt__large_start(s);
}

void *vt__large_alloc_in(struct vt_tract *t, size_t n_bytes, size_t align, size_t skipped,
                         bool zero) {
    if (n_bytes > PTRDIFF_MAX || align > PTRDIFF_MAX / 2) return NULL;
    return alloc(t, n_bytes, vt_max(align >> VT_SLICE_SHIFT, 1), skipped, zero);
}

/* For a thread, which holds no lock: what is kept for the next blocks may be in the way. */
static void *alloc_anywhere(size_t n_bytes, size_t align_slices, size_t skipped, bool zero) {
    if (n_bytes > PTRDIFF_MAX) return NULL;
    void *p = alloc(/* tract */ NULL, n_bytes, align_slices, skipped, zero);
    if (vt_likely(p != NULL) || slices_for(n_bytes) > vt__heap_max_slices() || !vt__give_kept())
        return p;
    return alloc(/* tract */ NULL, n_bytes, align_slices, skipped, zero);
}

void *vt__large_alloc(size_t n_bytes, size_t align, bool zero) {
    if (align > PTRDIFF_MAX / 2) return NULL;
    return alloc_anywhere(n_bytes, vt_max(align >> VT_SLICE_SHIFT, 1), /* skipped */ 0, zero);
}

void *vt__large_alloc_behind(size_t n_bytes, size_t skipped, bool zero) {
    return alloc_anywhere(n_bytes, /* aligned to slices */ 1, skipped, zero);
}

void *vt__large_alloc_growing(size_t n_bytes) {
    return alloc_anywhere(n_bytes, VT_ROOM_TO_GROW, /* skipped */ 0, /* zero */ false);
}

static VT_NOINLINE void end_sample(const struct slab *s, const void *p) {
    enum vt_probe_known known = vt__probe_freed(p);
    if (vt__tls.real != NULL)
        vt__draw_ended(vt__tls.real, vt__draw_of_large(vt__large_usable(s)), known);
}

void vt__large_free(struct slab *s, void *p) {
    uintptr_t owner = VT_OWNER_LARGE;
    if (p != vt__large_start(s)) vt__bad_free(p);
    /* Only one of two threads that free it at once may go on. acquire: run_slices is what large_alloc wrote. */
    if (!atomic_compare_exchange_strong_explicit(&s->owner, &owner, VT_OWNER_NONE,
                                                 memory_order_acquire, memory_order_relaxed))
        vt__bad_free(p);
    if (vt_unlikely(s->state == SLAB_SAMPLED)) end_sample(s, p);
    if (vt_unlikely(vt_racy_read(s->free) != NULL)) vt__own_forget_run(s);
    s->carved = 0;
    if (s->was_zero != ZERO_UNKNOWN)
        vt__slices_give_unused(vt__slab_id(s), s->run_slices, s->was_zero == ZERO_CLEARED);
    else
        vt__slices_give(vt__slab_id(s), s->run_slices);
}

/* A block that shrinks gives its end back at once if that is worth the way to the lock, and perhaps a system call: 256 KiB, or a
 * quarter of a smaller block, or a 32nd of a very large one. So a block that goes down page by page comes seldom, and one that swings
 * by less not at all; yet what stays adds up to no more than that, however small the steps. What it took ahead to grow into and
 * never used is no reason: it costs no memory. */
static bool is_worth_giving(const struct slab *s, size_t n_slices) {
    size_t least = vt_max(s->held_slices / 32, vt_min(vt_div_up(s->held_slices, 4), 8));
    return s->held_slices >= n_slices + least;
}

/* A shorter run: what is behind it is given back. */
static void shrink(struct slab *s, size_t n_bytes) {
    size_t n_slices = slices_for(n_bytes);
    size_t n_before = s->run_slices;
    set_size(s, n_bytes);
    if (!is_worth_giving(s, n_slices)) return;
    s->run_slices = s->held_slices = (uint32_t)n_slices;
    vt__slices_give_end(vt__slab_id(s) + (slab_id)n_slices, n_before - n_slices);
}

/* The pages themselves go to a new place: the time does not depend on what they hold. To the system, moved pages are a
 * mapping apart from their neighbours for good, and a process may have only so many: after a number of moves we copy. */
static void *move(struct slab *s, void *p, size_t n_bytes) {
    static _Atomic unsigned n_moves;
    size_t old_bytes = vt__large_usable(s);
    if (old_bytes < MOVE_MIN_BYTES ||
        atomic_load_explicit(&n_moves, memory_order_relaxed) >= MOVES_MAX)
        return NULL;
    void *to = vt__large_alloc_growing(n_bytes);
    if (to == NULL) return NULL;
    int err = vt__os_move(p, old_bytes, to);
    if (err == -ENOTRECOVERABLE) return NULL; /* not ours any more: its slices stay used for good */
    if (err == 0)
        atomic_fetch_add_explicit(&n_moves, 1, memory_order_relaxed);
    else
        __builtin_memcpy(to, p, old_bytes);
    vt__large_free(s, p);
    return to;
}

bool vt__large_resize(struct slab *s, size_t n_bytes) {
    size_t n_slices = slices_for(n_bytes);
    if (s->carved != 0) return false;
    if (n_bytes <= vt__large_usable(s)) {
        shrink(s, vt_max(n_bytes, 1));
        return true;
    }
    if (n_slices > s->run_slices) {
        size_t n_more = n_slices - s->run_slices;
        size_t n_ahead = n_slices / 8; /* address space for the next steps, if it is free */
        if (n_ahead > 0 && vt__slices_extend(vt__slab_id(s), s->run_slices, n_more + n_ahead))
            n_slices += n_ahead;
        else if (!vt__slices_extend(vt__slab_id(s), s->run_slices, n_more))
            return false;
        s->run_slices = (uint32_t)n_slices;
        s->was_zero = ZERO_UNKNOWN;
    }
    s->held_slices = (uint32_t)vt_max(s->held_slices, slices_for(n_bytes));
    set_size(s, n_bytes);
    return true;
}

void *vt__large_realloc(struct slab *s, void *p, size_t n_bytes) {
    if (n_bytes < VT_GROWING_MIN && n_bytes <= vt__large_usable(s))
        return NULL;                 /* small enough for a class again */
    if (s->carved != 0) return NULL; /* it begins behind its slice's start */
    return vt__large_resize(s, n_bytes) ? p : move(s, p, n_bytes);
}
