/* magazine.c - how many blocks a magazine may hold, and what goes back.
 *
 * A class that takes and gives gets room for as many blocks as go round, as long as all magazines of the thread together may not
 * hold more than half of what it took from slabs and has not given back, or a fixed little. Where there is no room, another class gives up half of
 * its own, or half of the blocks go back.
 *
 * Climate: malloc.   Owns: heap.magazine.   Locks: none here.
 */
#include "heap/magazine.h"

#include "os/os.h"

#define BLOCKS_MAX 128
#define ROOM_MIN 4
#define BYTES_MIN KiB(256)
#define BYTES_MAX MiB(4)

static size_t bytes_of(unsigned i) { return vt__classes[VT_N_SMALL + i].block_bytes; }

static size_t budget_bytes(const struct heap *h) {
    size_t held = h->medium_held > 0 ? (size_t)h->medium_held : 0;
    return vt_min(vt_max(held / 2, BYTES_MIN), BYTES_MAX);
}

static void set_most(struct heap *h, unsigned i, unsigned most) {
    struct magazine *m = &h->magazine[i];
    h->magazines_most_bytes += ((size_t)most - m->most) * bytes_of(i); /* may wrap, and back */
    m->most = most;
    uint64_t bit = UINT64_C(1) << i;
    h->magazines_used = most > 0 ? h->magazines_used | bit : h->magazines_used & ~bit;
}

/* All but the newest n_kept blocks. */
static void trim(struct heap *h, unsigned i, unsigned n_kept) {
    struct magazine *m = &h->magazine[i];
    if (m->n <= n_kept) return;
    unsigned n = m->n - n_kept;
    vt__medium_give_some(h, VT_N_SMALL + i, m->slot, n);
    for (unsigned k = 0; k < n_kept; k++) m->slot[k] = m->slot[k + n];
    m->n = n_kept;
}

static void shrink(struct heap *h, unsigned i) {
    set_most(h, i, h->magazine[i].most / 2u);
    trim(h, i, h->magazine[i].most);
}

/* One other class gives up half of its room. */
static void take_room_from_another(struct heap *h, unsigned than) {
    for (unsigned tries = 0; tries < VT_N_MEDIUM; tries++) {
        unsigned i = h->magazine_hand++ % VT_N_MEDIUM;
        if (i == than || h->magazine[i].most == 0) continue;
        shrink(h, i);
        return;
    }
}

static bool has_slots(struct magazine *m, unsigned n) {
    if (n <= m->room) return true;
    unsigned room = (unsigned)vt_max(2u * m->room, vt_max(n, ROOM_MIN));
    struct block **slot = vt__arena_take(room * sizeof(void *), sizeof(void *));
    if (slot == NULL) return false;
    for (unsigned i = 0; i < m->n; i++) slot[i] = m->slot[i];
    m->slot = slot; /* the old one is lost: together they are as much as this */
    m->room = room;
    return true;
}

static bool may_grow(struct heap *h, unsigned i, unsigned n_more) {
    struct magazine *m = &h->magazine[i];
    size_t n_bytes = n_more * bytes_of(i), budget = budget_bytes(h);
    if (m->most + n_more > BLOCKS_MAX) return false;
    if (h->magazines_most_bytes + n_bytes > budget) take_room_from_another(h, i);
    return h->magazines_most_bytes + n_bytes <= budget && has_slots(m, m->most + n_more);
}

void vt__magazine_overflow(struct heap *h, unsigned cls) {
    unsigned i = cls - VT_N_SMALL;
    struct magazine *m = &h->magazine[i];
    unsigned n_more = (unsigned)vt_max(m->most / 2u, 1);
    if (may_grow(h, i, n_more)) {
        set_most(h, i, m->most + n_more);
        return;
    }
    if (h->magazines_most_bytes > budget_bytes(h))
        shrink(h, i);
    else
        trim(h, i, m->most / 2u);
}

void vt__magazines_clear(struct heap *h) {
    for (unsigned i = 0; i < VT_N_MEDIUM; i++) {
        trim(h, i, 0);
        set_most(h, i, 0);
    }
}

VT_READS_RACILY size_t vt__magazines_bytes(const struct heap *h) {
    size_t n_bytes = 0;
    for (uint64_t used = h->magazines_used; used != 0; used &= used - 1) {
        unsigned i = (unsigned)__builtin_ctzll(used);
        n_bytes += h->magazine[i].n * bytes_of(i);
    }
    return n_bytes;
}
