/* peak.c - the most that a thread had in use at once.
 *
 * malloc and free count nothing, so this is looked at by the way: when the thread asks, and at the end of a slow malloc when
 * LOOK_BYTES were allocated since the last look. Nothing is looked at until the thread first asks.
 *
 * A look knows what was allocated (count.c), and what was freed as of the last walk through the thread's slabs. So what it finds in use
 * is the truth or more. Only if that is a new peak does it matter, and a walk is taken if it is short, or due by the clock (pace.h),
 * or paid for by what was allocated since the last one. Without a walk the figure is `unsure`. The next walk tells how much of it was
 * freed by then, and the rest was in use for certain. A reset without a walk has the same doubt about what it begins from.
 *
 * Approximate: what comes and goes between two looks is missed. In a large heap, small blocks that are freed after the last walk count as
 * in use, up to a 32nd of it.
 *
 * Climate: malloc.   Owns: heap.peak.   Locks: none; the heap's owner calls.
 */
#include "heap/impl.h"
#include "heap/magazine.h"

#define LOOK_BYTES KiB(64)
#define SHORT_WALK 16 /* slabs: some 300 instructions */
#define PAID_SHIFT 5  /* a walk through all is paid for by a 32nd of them */

/* Blocks that wait: in the lists of small classes, and in magazines. */
struct ready {
    uint64_t small_bytes, medium_bytes;
};

static struct ready find_ready(struct heap *h) {
    return (struct ready){vt__draws_settle_all(h), vt__magazines_bytes(h)};
}

/* Below 0 in a thread that frees what another allocated. */
static int64_t in_use_bytes(const struct heap *h, const struct ready *r) {
    return (int64_t)(h->bytes.allocated - h->bytes.freed - r->medium_bytes);
}

static void rise_to(uint64_t *most, int64_t n) {
    if (n > (int64_t)*most) *most = (uint64_t)n;
}

/* A walk was taken since the last look, by us or for another question. */
static void settle(struct heap *h) {
    struct peak *p = &h->peak;
    int64_t n_freed = (int64_t)(h->small_freed - p->small_freed);
    if (p->is_base_unsure) { /* then they count as freed before the reset */
        p->base -= n_freed;
        n_freed = 0;
    }
    rise_to(&p->most, (int64_t)p->unsure - n_freed);
    p->is_base_unsure = false;
    p->small_freed = h->small_freed;
    p->unsure = 0;
}

/* True: what was freed is known now. */
static bool walk(struct heap *h, const struct ready *r) {
    struct peak *p = &h->peak;
    bool is_paid = h->bytes.allocated >= p->paid_at;
    if (!vt__heap_count_freed(h, r->small_bytes, is_paid ? SIZE_MAX : SHORT_WALK)) return false;
    int64_t in_use = in_use_bytes(h, r);
    p->paid_at =
        h->bytes.allocated + vt_max(LOOK_BYTES, in_use > 0 ? (uint64_t)in_use >> PAID_SHIFT : 0);
    settle(h);
    return true;
}

static void look(struct heap *h) {
    struct peak *p = &h->peak;
    struct ready r = find_ready(h);
    if (h->small_freed != p->small_freed) settle(h);
    p->look_at = h->bytes.allocated + LOOK_BYTES;
    if (in_use_bytes(h, &r) - p->base <= (int64_t)p->most) return;
    bool is_sure = walk(h, &r);
    rise_to(is_sure ? &p->most : &p->unsure, in_use_bytes(h, &r) - p->base);
}

void vt__heap_do_chores(struct heap *h) {
    if (h->peak.is_kept && vt__enter()) {
        if (vt__draws_taken_bytes(h) >= h->peak.look_at) look(h);
        vt__leave();
    }
    if (h->is_borrowed) vt__heap_detach_thread();
}

/* The calling thread's heap, entered; NULL: none, or in a handler. */
static struct heap *begin(void) {
    struct heap *h = vt_likely(vt__tls.real != NULL) ? vt__tls.real : vt__heap_attach();
    if (h == NULL || !vt__enter()) return NULL;
    h->peak.is_kept = h->has_chores = true;
    return h;
}

bool vt__heap_peak(uint64_t *out) {
    struct heap *h = begin();
    if (h == NULL) return false;
    look(h);
    *out = vt_max(h->peak.most, h->peak.unsure);
    vt__leave();
    return true;
}

bool vt__heap_reset_peak(void) {
    struct heap *h = begin();
    if (h == NULL) return false;
    struct ready r = find_ready(h);
    h->peak.is_base_unsure = !walk(h, &r);
    h->peak.base = in_use_bytes(h, &r);
    h->peak.most = h->peak.unsure = 0;
    h->peak.small_freed = h->small_freed;
    h->peak.look_at = h->bytes.allocated + LOOK_BYTES;
    vt__leave();
    return true;
}
