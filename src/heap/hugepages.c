/* hugepages.c - when to ask the system for huge pages.
 *
 * `thp=auto`: for a chunk that is 7/8 full in a heap above 64 MiB. Not before: a first touch that waits for 2 MiB to be
 * compacted and cleared costs more than it gains, and small programs would grow. `on`: for every chunk when it comes into use.
 * When part of such a chunk is purged, `auto` takes the wish back until it is full again: the next touch, or the kernel's own
 * collector, would make all of it resident. The number of chunks is bounded, because each may become a mapping of its own.
 *
 * Where the kernel gives huge pages unasked (policy `always`), as with `on`, the first touch of a chunk makes all of it resident:
 * what is free of it counts as dirty from then on, and goes back with other free memory. Then the chunk is refused huge pages as
 * above. The first 8 MiB have none (window.c).
 *
 * Climate: malloc.   Owns: chunk.huge.   Locks: shard, not across the system call.
 */
#include "conf/options.h"
#include "heap/chunk.h"
#include "os/os.h"

#define AUTO_MIN_BYTES MiB(64)
#define MAX_CHUNKS 4096

static _Atomic unsigned n_asked;

VT_READS_RACILY static bool is_worth_it(const struct chunk *c) {
    if (vt_opt(thp) == VT_ON) return true;
    size_t used = atomic_load_explicit(&vt__pool.used_slices, memory_order_relaxed)
                  << VT_SLICE_SHIFT;
    if (used < AUTO_MIN_BYTES) return false;
    return vt_count_bits(c->free_slices) <= VT_CHUNK_SLICES / 8;
}

/* Without the lock it is a hint. */
VT_READS_RACILY static bool should_ask(const struct chunk *c) {
    return c->huge != CHUNK_HUGE && is_worth_it(c);
}

void vt__hugepages_consider(size_t chunk) {
    struct chunk *c = &vt__chunks[chunk];
    struct vt_shard *sh = vt__shard_of(c);
    if (vt_opt(thp) == VT_OFF || atomic_load_explicit(&n_asked, memory_order_relaxed) >= MAX_CHUNKS)
        return;
    if (!should_ask(c)) return;
    vt_lock(&sh->lock);
    bool is_due = should_ask(c);
    bool is_first = c->huge == CHUNK_AS_IT_CAME;
    if (is_due) c->huge = CHUNK_HUGE;
    vt_unlock(&sh->lock);
    if (!is_due) return;
    if (is_first) atomic_fetch_add_explicit(&n_asked, 1, memory_order_relaxed);
    vt__os_hugepages(vt__chunk_address(chunk), VT_CHUNK, /* allow */ true);
}

bool vt__hugepages_fill(size_t chunk) {
    return chunk >= vt__window.first_huge && vt__chunks[chunk].huge != CHUNK_WITHDRAWN;
}

void vt__hugepages_withdraw(size_t chunk, bool is_whole) {
    struct chunk *c = &vt__chunks[chunk];
    struct vt_shard *sh = vt__shard_of(c);
    if (vt_opt(thp) == VT_ON) return;
    bool may_refuse = !is_whole && chunk >= vt__window.first_huge &&
                      atomic_load_explicit(&n_asked, memory_order_relaxed) < MAX_CHUNKS;
    vt_lock(&sh->lock);
    bool is_first = c->huge == CHUNK_AS_IT_CAME && may_refuse;
    bool is_due = c->huge == CHUNK_HUGE || is_first;
    if (is_due) c->huge = CHUNK_WITHDRAWN;
    vt_unlock(&sh->lock);
    if (is_first) atomic_fetch_add_explicit(&n_asked, 1, memory_order_relaxed);
    if (is_due) vt__os_hugepages(vt__chunk_address(chunk), VT_CHUNK, /* allow */ false);
}
