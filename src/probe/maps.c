/* maps.c - which addresses the program mapped by itself, and at which stack.
 *
 *   mmap, sbrk   a mapping of one piece   site.mapped += its bytes
 *   munmap       takes bytes off pieces: from an end, from the middle (one becomes two), or all
 *   mremap       as realloc: the old pieces go, a new mapping comes, at the stack of who called it
 *
 *   piece   [start, end) -> mapping     pieces never overlap; a tree by address
 *   mapping -> site, pieces left        a call; it is in use while one piece is left
 *   site    (stack, use) -> sums        never forgotten
 *
 * The tree is a treap: by address from left to right, by a hash of the piece's number from above to below, so it is as
 * balanced as a random one, and two operations do everything: split at an address, join two halves.
 *
 * Our own mappings are not here: they are made by raw system calls, and never by the names that dialect/mmap.c has.
 *
 * Climate: malloc, but for the two system calls made under the lock.   Owns: the tables.   Locks: probe.
 * Limit: MAX_PIECES pieces, 5 MiB; what comes beyond is counted as lost.
 */
#include "probe/maps.h"

#include <sys/mman.h>

#include "os/os.h"
#include "probe/impl.h"
#include "probe/table.h"
#include "stack/stack.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#define MAX_PIECES (1u << 17) /* twice what the kernel allows a process by default */

struct piece {
    uintptr_t start, end;
    uint32_t left, right; /* in the free list: right is the next */
    uint32_t mapping;
};

struct mapping {
    uint32_t site;
    uint32_t n_pieces; /* 0: free, and site is the next free one */
};

_Atomic bool vt__maps_are_on;
_Atomic bool vt__maps_are_recorded;
static _Atomic(void (*)(const struct vt_map_call *)) listener;

static struct {
    struct vt_rows pieces, mappings, sites;
    uint32_t free_piece, free_mapping;
    uint32_t root;
    uint64_t n_lost_locked;
    _Atomic uint64_t n_lost_elsewhere; /* by those who could not have the lock */
} maps = {.pieces = {.row_bytes = sizeof(struct piece)},
          .mappings = {.row_bytes = sizeof(struct mapping)},
          .sites = {.row_bytes = sizeof(struct vt_map_row)}};

/* Under the same lock; too large for the stack of whoever maps, and for the OS pages of data that every program has. */
static struct vt_frames frames_now;

static struct piece *piece(uint32_t id) { return vt__row(&maps.pieces, id); }
static struct mapping *mapping(uint32_t id) { return vt__row(&maps.mappings, id); }
static struct vt_map_row *site(uint32_t id) { return vt__row(&maps.sites, id); }

static uint64_t hash_site(const struct vt_map_row *s) {
    return vt__mix((uint64_t)s->stack << 8 | (unsigned)s->use);
}
static uint64_t hash_of(uint32_t id) { return hash_site(site(id)); }
static struct vt_index by_stack = {.hash_of = hash_of};

static bool is_same(uint32_t id, const void *key) {
    const struct vt_map_row *a = site(id), *b = key;
    return a->stack == b->stack && a->use == b->use;
}

static uint32_t site_of(uint32_t stack, enum vt_map_use use) {
    struct vt_map_row key = {.stack = stack, .use = use};
    uint32_t id = vt__index_find(&by_stack, hash_site(&key), is_same, &key);
    if (id != 0 || (id = vt__row_add(&maps.sites)) == 0) return id;
    *site(id) = key;
    if (vt__index_add(&by_stack, id)) return id;
    maps.sites.n--;
    return 0;
}

/* ---- pieces and their mappings ---- */

static uint32_t piece_new(uintptr_t start, uintptr_t end, uint32_t of) {
    uint32_t id = maps.free_piece;
    if (id != 0)
        maps.free_piece = piece(id)->right;
    else if (maps.pieces.n >= MAX_PIECES || (id = vt__row_add(&maps.pieces)) == 0)
        return 0;
    *piece(id) = (struct piece){.start = start, .end = end, .mapping = of};
    mapping(of)->n_pieces++;
    return id;
}

static void take_bytes(uint32_t of, uintptr_t n_bytes) {
    site(mapping(of)->site)->inuse_bytes -= n_bytes;
}

static void piece_drop(uint32_t id) {
    struct piece *p = piece(id);
    struct mapping *m = mapping(p->mapping);
    take_bytes(p->mapping, p->end - p->start);
    if (--m->n_pieces == 0) {
        site(m->site)->n_inuse--;
        m->site = maps.free_mapping;
        maps.free_mapping = p->mapping;
    }
    p->right = maps.free_piece;
    maps.free_piece = id;
}

static uint32_t mapping_new(uint32_t of_site) {
    uint32_t id = maps.free_mapping;
    if (id != 0)
        maps.free_mapping = mapping(id)->site;
    else if ((id = vt__row_add(&maps.mappings)) == 0)
        return 0;
    *mapping(id) = (struct mapping){.site = of_site};
    return id;
}

/* ---- the tree ---- */

static bool is_above(uint32_t a, uint32_t b) { return vt__mix(a) > vt__mix(b); }

/* Pieces that start below `at`, and the others. */
static void split(uint32_t tree, uintptr_t at, uint32_t *low, uint32_t *high) {
    while (tree != 0) {
        struct piece *p = piece(tree);
        if (p->start < at) {
            *low = tree;
            low = &p->right;
            tree = p->right;
        } else {
            *high = tree;
            high = &p->left;
            tree = p->left;
        }
    }
    *low = *high = 0;
}

/* All of `low` is below all of `high`. */
static uint32_t join(uint32_t low, uint32_t high) {
    uint32_t tree = 0, *at = &tree;
    while (low != 0 && high != 0) {
        if (is_above(low, high)) {
            *at = low;
            at = &piece(low)->right;
            low = *at;
        } else {
            *at = high;
            at = &piece(high)->left;
            high = *at;
        }
    }
    *at = low != 0 ? low : high;
    return tree;
}

static uint32_t last_of(uint32_t tree) {
    while (tree != 0 && piece(tree)->right != 0) tree = piece(tree)->right;
    return tree;
}

/* By turning it into a list as we go: no recursion. */
static void drop_all(uint32_t tree) {
    while (tree != 0) {
        uint32_t left = piece(tree)->left;
        if (left != 0) { /* turn right */
            piece(tree)->left = piece(left)->right;
            piece(left)->right = tree;
            tree = left;
        } else {
            uint32_t next = piece(tree)->right;
            piece_drop(tree);
            tree = next;
        }
    }
}

/* The last piece of `tree` ends at `at`, if it goes beyond; what was behind is a piece of its own, or lost. */
static uint32_t cut_last(uint32_t tree, uintptr_t at) {
    uint32_t id = last_of(tree);
    if (id == 0 || piece(id)->end <= at) return 0;
    uintptr_t end = piece(id)->end;
    uint32_t of = piece(id)->mapping;
    piece(id)->end = at;
    uint32_t behind = piece_new(at, end, of);
    if (behind != 0) return behind;
    take_bytes(of, end - at);
    maps.n_lost_locked++;
    return 0;
}

/* Nothing between start and end is mapped any more. */
static void remove_range(uintptr_t start, uintptr_t end) {
    uint32_t low, within, high;
    split(maps.root, start, &low, &within);
    within = join(cut_last(low, start), within);
    split(within, end, &within, &high);
    high = join(cut_last(within, end), high);
    drop_all(within);
    maps.root = join(low, high);
}

static void add_range(uintptr_t start, uintptr_t end, enum vt_map_use use) {
    uint32_t low, high;
    uint32_t s = site_of(vt__stack_id_here(&frames_now, NULL), use);
    uint32_t m = s != 0 ? mapping_new(s) : 0;
    uint32_t p = m != 0 ? piece_new(start, end, m) : 0;
    if (p == 0) {
        maps.n_lost_locked++;
        if (m == 0) return;
        mapping(m)->site = maps.free_mapping;
        maps.free_mapping = m;
        return;
    }
    site(s)->n_mapped++;
    site(s)->n_inuse++;
    site(s)->mapped_bytes += end - start;
    site(s)->inuse_bytes += end - start;
    split(maps.root, start, &low, &high);
    maps.root = join(join(low, p), high);
}

/* ---- what the program did ---- */

/* False: in a signal handler that interrupted us, where the lock is not to be had. */
static bool enter(void) {
    if (vt__probe_enter()) return true;
    atomic_fetch_add_explicit(&maps.n_lost_elsewhere, 1, memory_order_relaxed);
    return false;
}

void vt__maps_added(uintptr_t at, size_t n_bytes, enum vt_map_use use) {
    uintptr_t end = at + (use == VT_MAP_BREAK ? n_bytes : vt_round_up(n_bytes, VT_OS_PAGE));
    if (!enter()) return;
    remove_range(at, end); /* MAP_FIXED */
    add_range(at, end, use);
    vt__probe_leave();
}

void vt__maps_removed(uintptr_t at, size_t n_bytes) {
    if (!enter()) return;
    remove_range(at, at + n_bytes);
    vt__probe_leave();
}

int vt__maps_unmap(void *at, size_t n_bytes) {
    bool is_entered = enter();
    int err = vt__os_program_munmap(at, n_bytes);
    if (err == 0 && is_entered)
        remove_range((uintptr_t)at, (uintptr_t)at + vt_round_up(n_bytes, VT_OS_PAGE));
    if (is_entered) vt__probe_leave();
    return err;
}

/* What a piece at this address is used for. */
static enum vt_map_use use_at(uintptr_t at) {
    uint32_t low, high;
    split(maps.root, at + 1, &low, &high);
    uint32_t id = last_of(low);
    enum vt_map_use use = id != 0 && piece(id)->end > at
                              ? site(mapping(piece(id)->mapping)->site)->use
                              : VT_MAP_ANONYMOUS;
    maps.root = join(low, high);
    return use;
}

int vt__maps_remap(void *at, size_t old_bytes, size_t new_bytes, int flags, void *to, void **out) {
    uintptr_t from = (uintptr_t)at;
    bool is_entered = enter();
    int err = vt__os_program_mremap(at, old_bytes, new_bytes, flags, to, out);
    if (err == 0 && is_entered) {
        uintptr_t start = (uintptr_t)*out, end = start + vt_round_up(new_bytes, VT_OS_PAGE);
        enum vt_map_use use = use_at(from);
        /* old_bytes 0: a second view of a shared mapping, and the first one stays */
        if ((flags & MREMAP_DONTUNMAP) == 0)
            remove_range(from, from + vt_round_up(old_bytes, VT_OS_PAGE));
        remove_range(start, end);
        add_range(start, end, use);
    }
    if (is_entered) vt__probe_leave();
    return err;
}

/* ---- on, off, reading ---- */

/* relaxed: a call that is being made meanwhile may be heard of or not */
static void look_who_is_there(void) {
    bool is_anybody = atomic_load_explicit(&vt__maps_are_recorded, memory_order_relaxed) ||
                      atomic_load_explicit(&listener, memory_order_relaxed) != NULL;
    atomic_store_explicit(&vt__maps_are_on, is_anybody, memory_order_relaxed);
}

void vt__maps_set(bool on) {
    atomic_store_explicit(&vt__maps_are_recorded, on, memory_order_relaxed);
    look_who_is_there();
}

void vt__maps_set_listener(void (*heard)(const struct vt_map_call *call)) {
    atomic_store_explicit(&listener, heard, memory_order_relaxed);
    look_who_is_there();
}

void vt__maps_tell(const struct vt_map_call *call) {
    void (*heard)(const struct vt_map_call *) =
        atomic_load_explicit(&listener, memory_order_relaxed);
    if (heard != NULL) heard(call);
}

bool vt__maps_next(uint32_t *cursor, struct vt_map_row *out) {
    if (!vt__probe_enter()) return false;
    bool is_there = *cursor < maps.sites.n;
    if (is_there) *out = *site(++*cursor);
    vt__probe_leave();
    return is_there;
}

uint64_t vt__maps_lost(void) {
    uint64_t n = atomic_load_explicit(&maps.n_lost_elsewhere, memory_order_relaxed);
    if (!vt__probe_enter()) return n;
    n += maps.n_lost_locked;
    vt__probe_leave();
    return n;
}
