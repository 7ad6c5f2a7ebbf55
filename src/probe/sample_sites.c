/* sample_sites.c - sums of samples by place: stack, size of block, thread, labels.
 *
 * Large blocks have sizes without number, and one that grows has them all: their sizes are told apart no finer than classes are.
 *
 * Climate: malloc.   Owns: the sites; they are never forgotten.   Locks: probe.
 * Limit: past SITES_WITH_THREADS, new sites are not told apart by thread.
 */
#include "heap/class.h"
#include "probe/impl.h"
#include "probe/table.h"

#define SITES_WITH_THREADS (1u << 18)

static uint64_t hash_key(const struct vt_site *k) {
    return vt__mix(vt__mix((uint64_t)k->stack << 32 | k->thread) + ((uint64_t)k->label << 40) +
                   k->block_bytes);
}

static struct vt_rows rows = {.row_bytes = sizeof(struct vt_site)};
static uint64_t hash_of(uint32_t id) { return hash_key(vt__row(&rows, id)); }
static struct vt_index by_key = {.hash_of = hash_of};

static bool is_same(uint32_t id, const void *key) {
    const struct vt_site *a = vt__row(&rows, id), *b = key;
    return a->stack == b->stack && a->thread == b->thread && a->label == b->label &&
           a->block_bytes == b->block_bytes;
}

/* As if there were classes for large blocks too. */
static size_t size_apart(size_t block_bytes) {
    if (block_bytes <= VT_MEDIUM_MAX) return block_bytes;
    return vt_round_up(block_bytes, (size_t)1 << (vt_log2(block_bytes - 1) - 3));
}

struct vt_site *vt__site(uint32_t id) {
    return vt__row(&rows, id);
}

struct vt_site *vt__site_of(uint32_t stack, uint32_t thread, uint32_t label, size_t block_bytes,
                            uint32_t *id) {
    struct vt_site key = {
        .stack = stack, .thread = thread, .label = label, .block_bytes = size_apart(block_bytes)};
    if (rows.n >= SITES_WITH_THREADS) key.thread = 0;
    *id = vt__index_find(&by_key, hash_key(&key), is_same, &key);
    if (*id != 0) return vt__row(&rows, *id);
    *id = vt__row_add(&rows);
    if (*id == 0) return NULL;
    struct vt_site *s = vt__row(&rows, *id);
    *s = key;
    if (vt__index_add(&by_key, *id)) return s;
    rows.n--;
    return NULL;
}

static void subtract(struct vt_site_counts *out, const struct vt_site_counts *a,
                     const struct vt_site_counts *b) {
    out->n_seen = a->n_seen - b->n_seen;
    out->objects = a->objects - b->objects;
    out->bytes = a->bytes - b->bytes;
    out->requested_bytes = a->requested_bytes - b->requested_bytes;
}

void vt__sites_take_peak(void) {
    for (uint32_t id = 1; id <= rows.n; id++) {
        struct vt_site *s = vt__row(&rows, id);
        subtract(&s->peak, &s->alloc, &s->freed);
    }
}

void vt__sites_forget(void) {
    for (uint32_t id = 1; id <= rows.n; id++) {
        struct vt_site *s = vt__row(&rows, id);
        *s = (struct vt_site){.stack = s->stack,
                              .thread = s->thread,
                              .label = s->label,
                              .block_bytes = s->block_bytes};
    }
}

bool vt__sample_next_site(uint32_t *cursor, struct vt_site *out) {
    if (!vt__probe_enter()) return false;
    bool is_there = *cursor < rows.n;
    if (is_there) *out = *vt__site(++*cursor);
    vt__probe_leave();
    return is_there;
}
