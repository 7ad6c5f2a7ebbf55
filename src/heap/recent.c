/* recent.c - which slices were slabs of which class, of those given back of late.
 *
 * A slice that was a slab of the same class before has its links on lines that are in the cache, and nothing resident behind its last
 * block. docs/decisions/slices.md
 *
 * Climate: malloc, under the shard lock.   Owns: recent[].   Locks: none of its own.
 */
#include "heap/chunk.h"

#define N_RECENT 31 /* with the counter two cache lines */

/* The newest last. What became of them meanwhile is for the taker to find out. */
static struct recent {
    uint32_t n;
    slab_id slab[N_RECENT];
} recent[VT_MAX_NODES][VT_N_CLASSES];

/* NULL: not a class, or a tract's shard, which remembers nothing. */
static struct recent *recent_of(const struct vt_shard *sh, unsigned cls) {
    size_t node = (size_t)(sh - vt__shards);
    return node < VT_MAX_NODES && cls < VT_N_CLASSES ? &recent[node][cls] : NULL;
}

void vt__recent_note(const struct vt_shard *sh, unsigned cls, slab_id first) {
    struct recent *r = recent_of(sh, cls);
    if (r == NULL) return;
    if (r->n == N_RECENT) /* the oldest goes */
        __builtin_memmove(r->slab, r->slab + 1, --r->n * sizeof(*r->slab));
    r->slab[r->n++] = first;
}

bool vt__recent_next(const struct vt_shard *sh, unsigned cls, slab_id *first) {
    struct recent *r = recent_of(sh, cls);
    if (r == NULL || r->n == 0) return false;
    *first = r->slab[--r->n];
    return true;
}
