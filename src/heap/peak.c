/* peak.c - the most that a thread had in use at once.
 *
 * malloc and free count nothing, so this is looked at by the way: at the end of a slow malloc, when LOOK_BYTES were allocated since
 * the last look, or a 32nd of what is in use if that is more (a look walks the heap's slabs). Nothing is looked at until the thread asks
 * for its peak. Approximate: what came and went between two looks is missed, and blocks in lists count as in use; a question
 * empties those first, so what is in use then is exact.
 *
 * Climate: malloc.   Owns: heap.peak.   Locks: none; the heap's owner calls.
 */
#include "heap/impl.h"

#define LOOK_BYTES KiB(64)
#define LOOK_SHIFT 5

static uint64_t medium_ready_bytes(const struct heap *h) {
    uint64_t n = 0;
    for (unsigned c = VT_N_SMALL; c < VT_N_CLASSES; c++) n += h->shelf[c].n * vt__class_bytes(c);
    return n;
}

/* As if small blocks were counted by what is out of its slabs, and all others as they come and go. */
static uint64_t in_use_bytes(struct heap *h) {
    uint64_t others_allocated = h->bytes.allocated - h->small_allocated;
    uint64_t others_freed = h->bytes.freed - h->small_freed + medium_ready_bytes(h);
    return vt__heap_small_out_bytes(h) + others_allocated - others_freed;
}

static void look(struct heap *h) {
    uint64_t now = in_use_bytes(h);
    int64_t more = (int64_t)(now - h->peak.base); /* it may free what another thread allocated */
    if (more > (int64_t)h->peak.most) h->peak.most = (uint64_t)more;
    h->peak.look_at =
        vt__draws_taken_bytes(h) + vt_max(LOOK_BYTES, more > 0 ? (uint64_t)more >> LOOK_SHIFT : 0);
}

void vt__heap_do_chores(struct heap *h) {
    if (h->peak.is_kept && vt__enter()) {
        if (vt__draws_taken_bytes(h) >= h->peak.look_at) look(h);
        vt__leave();
    }
    if (h->is_borrowed) vt__heap_detach_thread();
}

/* The calling thread's heap, entered, with empty lists; NULL: none, or in a handler. */
static struct heap *begin(void) {
    if (vt__heap_thread_bytes(VT_BYTES_TO_WATCH) == NULL || !vt__enter()) return NULL;
    vt__tls.real->peak.is_kept = vt__tls.real->has_chores = true;
    return vt__tls.real;
}

bool vt__heap_peak(uint64_t *out) {
    struct heap *h = begin();
    if (h == NULL) return false;
    look(h);
    *out = h->peak.most;
    vt__leave();
    return true;
}

bool vt__heap_reset_peak(void) {
    struct heap *h = begin();
    if (h == NULL) return false;
    h->peak.base = in_use_bytes(h);
    h->peak.most = 0;
    look(h);
    vt__leave();
    return true;
}
