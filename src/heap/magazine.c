/* magazine.c - how many blocks a magazine may hold, and what goes back.
 *
 * A class that takes and gives gets room for as many blocks as go round, as long as all magazines of the thread together may not
 * hold more than half of what it took from slabs and has not given back, or a quarter of its share of all there is, or a fixed little. Where there is no room, another class gives up half of
 * its own, or half of the blocks go back.
 *
 * Climate: malloc.   Owns: heap.magazines.   Locks: none here.
 */
#include "heap/magazine.h"

#include "heap/chunk.h"
#include "os/os.h"

#define BLOCKS_MAX 128
#define ROOM_MIN 4
#define BYTES_MIN KiB(256)
#define SPILL_BLOCKS 256
#define SPILL_BYTES MiB(1)
#define BYTES_MAX MiB(4)

static size_t bytes_of(size_t i) { return vt__classes[VT_N_SMALL + i].block_bytes; }

/* Else the thread frees what others allocate, or what it allocated long ago, and has no use for what it keeps. */
static bool goes_round(const struct heap *h, size_t i) {
    size_t n = h->magazines.use[i].n_spilled;
    return n < SPILL_BLOCKS && n * bytes_of(i) < SPILL_BYTES;
}

/* A thread has on average so much: it may have come to its blocks by way of others that have ended. */
static size_t share_bytes(void) {
    size_t n = atomic_load_explicit(&vt__pool.used_slices, memory_order_relaxed);
    return (n << VT_SLICE_SHIFT) / vt__heaps_live();
}

static size_t budget_bytes(const struct heap *h) {
    size_t held = h->medium_held > 0 ? (size_t)h->medium_held : 0;
    return vt_min(vt_max(vt_max(held / 2, share_bytes() / 4), BYTES_MIN), BYTES_MAX);
}

static unsigned most_of(const struct heap *h, size_t i) { return (unsigned)h->magazines.most[i]; }

static void set_most(struct heap *h, size_t i, unsigned most) {
    /* may wrap, and back */
    h->magazines.most_bytes += ((size_t)most - most_of(h, i)) * bytes_of(i);
    h->magazines.most[i] = most;
}

/* All but the newest n_kept blocks. */
static void trim(struct heap *h, size_t i, unsigned n_kept) {
    struct block **slot = h->magazines.slot[i];
    unsigned n_has = (unsigned)h->magazines.n[i];
    if (n_has <= n_kept) return;
    unsigned n = n_has - n_kept;
    h->magazines.use[i].n_spilled += n;
    vt__medium_pass_on(h, VT_N_SMALL + (unsigned)i, slot, n);
    for (unsigned k = 0; k < n_kept; k++) slot[k] = slot[k + n];
    h->magazines.n[i] = n_kept;
}

static void shrink(struct heap *h, size_t i) {
    set_most(h, i, most_of(h, i) / 2);
    trim(h, i, most_of(h, i));
}

/* One other class gives up half of its room. */
static void take_room_from_another(struct heap *h, size_t than) {
    for (unsigned tries = 0; tries < VT_N_MEDIUM; tries++) {
        size_t i = h->magazines.hand++ % VT_N_MEDIUM;
        if (i == than || most_of(h, i) == 0) continue;
        shrink(h, i);
        return;
    }
}

static bool has_slots(struct heap *h, size_t i, unsigned n) {
    struct magazine_use *u = &h->magazines.use[i];
    if (n <= u->room) return true;
    unsigned room = (unsigned)vt_max(2u * u->room, vt_max(n, ROOM_MIN));
    struct block **slot = vt__arena_take(room * sizeof(void *), sizeof(void *));
    if (slot == NULL) return false;
    for (int k = 0; k < h->magazines.n[i]; k++) slot[k] = h->magazines.slot[i][k];
    h->magazines.slot[i] = slot; /* the old one is lost: together they are as much as this */
    u->room = room;
    return true;
}

static bool may_grow(struct heap *h, size_t i, unsigned n_more) {
    size_t n_bytes = n_more * bytes_of(i), budget = budget_bytes(h);
    if (most_of(h, i) + n_more > BLOCKS_MAX) return false;
    if (h->magazines.most_bytes + n_bytes > budget) take_room_from_another(h, i);
    return h->magazines.most_bytes + n_bytes <= budget && has_slots(h, i, most_of(h, i) + n_more);
}

void vt__magazine_overflow(struct heap *h, unsigned cls) {
    size_t i = magazine_of(cls);
    unsigned n_more = (unsigned)vt_max(most_of(h, i) / 2, 1u);
    if (goes_round(h, i) && may_grow(h, i, n_more)) {
        set_most(h, i, most_of(h, i) + n_more);
        return;
    }
    if (!goes_round(h, i) || h->magazines.most_bytes > budget_bytes(h))
        shrink(h, i);
    else
        trim(h, i, most_of(h, i) / 2);
}

bool vt__magazine_can_grow(struct heap *h, unsigned cls) {
    size_t i = magazine_of(cls);
    unsigned most = most_of(h, i);
    if (most == BLOCKS_MAX || h->magazines.most_bytes + bytes_of(i) > budget_bytes(h)) return false;
    if (!has_slots(h, i, most + 1)) return false;
    set_most(h, i, most + 1);
    return true;
}

bool vt__magazine_has_room(struct heap *h, unsigned cls) {
    size_t i = magazine_of(cls);
    return h->magazines.n[i] < h->magazines.most[i] || vt__magazine_can_grow(h, cls);
}

void vt__magazines_clear(struct heap *h) {
    for (size_t i = 0; i < VT_N_MEDIUM; i++) {
        trim(h, i, 0);
        set_most(h, i, 0);
    }
}

/* Four classes at a time: 32 bits each, of which 16 suffice. Sizes are counted in units of 128 bytes, so that all magazines of a
 * thread together come to no more than 16 bits hold. From the largest down: each doubling counts twice the one below it. */
#define UNIT 128
typedef uint16_t halves __attribute__((vector_size(16)));
static const halves units[2] = {/* of the classes from 1 to 2 KiB */
                                {9, 0, 10, 0, 11, 0, 12, 0},
                                {13, 0, 14, 0, 15, 0, 16, 0}};
_Static_assert(BYTES_MAX / UNIT <= UINT16_MAX, "the sum of all magazines fits");

VT_READS_RACILY size_t vt__magazines_bytes(const struct heap *h) {
    halves sum = {0}, n[2];
    for (unsigned i = VT_N_MEDIUM; i > 0;) {
        i -= 8;
        __builtin_memcpy(n, &h->magazines.n[i], sizeof(n));
        sum += sum + n[0] * units[0] + n[1] * units[1];
    }
    uint16_t n_units = 0;
    for (unsigned i = 0; i < 8; i += 2) n_units = (uint16_t)(n_units + sum[i]);
    return (size_t)n_units * UNIT;
}
