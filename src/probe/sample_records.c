/* sample_records.c - what is known of each sampled block, found by its address.
 *
 *   record   in use        its block is live: `site` says where it was allocated
 *            at rest       its block is freed, and kept by a thread for the next sample: `site` is 0
 *            not there     its block is somebody else's again: out of the index, `at` is 0
 *
 * A record is written by the thread that has the block: the one that allocates or frees it. Only coming and going needs the lock;
 * finding a block that one has does not. A reader without the lock looks at the version before and after: whoever changes the
 * index makes it odd meanwhile. Tables that the index has outgrown stay, because somebody may be reading them.
 *
 * Climate: malloc.   Owns: records.   Locks: probe, to add and to drop.
 */
#include <stdatomic.h>

#include "probe/impl.h"
#include "probe/table.h"

static struct {
    struct vt_rows rows;
    uint32_t free; /* chained by `next_free` */
    _Atomic uint32_t version;
} records = {.rows = {.row_bytes = sizeof(struct vt_record)}};

struct vt_record *vt__record(uint32_t id) {
    return vt__row(&records.rows, id);
}

static uintptr_t at_of(uint32_t id) {
    return __atomic_load_n(&vt__record(id)->at, __ATOMIC_ACQUIRE);
}
static uint64_t hash_at(uintptr_t at) { return vt__mix(at); }
static uint64_t hash_of(uint32_t id) { return hash_at(at_of(id)); }
static bool is_at(uint32_t id, const void *at) { return at_of(id) == (uintptr_t)at; }

static struct vt_index by_address = {.hash_of = hash_of, .is_read_by_others = true};

uint32_t vt__record_find(const void *p) {
    return vt__index_find(&by_address, hash_at((uintptr_t)p), is_at, p);
}

uint32_t vt__record_find_unlocked(const void *p) {
    /* acquire: the index is read after it. Pairs with the release in change_ends. */
    uint32_t before = atomic_load_explicit(&records.version, memory_order_acquire);
    struct vt_index_view view;
    if ((before & 1) != 0) return 0;
    vt__index_look(&by_address, &view);
    /* a table and the size of another one would lead anywhere */
    if (atomic_load_explicit(&records.version, memory_order_acquire) != before) return 0;
    uint32_t id = vt__index_find_in(&view, hash_at((uintptr_t)p), is_at, p);
    /* relaxed: all that was read before was acquired */
    return atomic_load_explicit(&records.version, memory_order_relaxed) == before ? id : 0;
}

static void change_begins(void) {
    uint32_t v = atomic_load_explicit(&records.version, memory_order_relaxed);
    /* relaxed: what changes next is released, so whoever sees it sees the odd version */
    atomic_store_explicit(&records.version, v + 1, memory_order_relaxed);
}

static void change_ends(void) {
    uint32_t v = atomic_load_explicit(&records.version, memory_order_relaxed);
    /* release: the changes come before; pairs with the acquire in vt__record_find_unlocked */
    atomic_store_explicit(&records.version, v + 1, memory_order_release);
}

static uint32_t take(void) {
    uint32_t id = records.free;
    if (id == 0) return vt__row_add(&records.rows);
    records.free = vt__record(id)->next_free;
    return id;
}

static void give(uint32_t id) {
    struct vt_record *r = vt__record(id);
    __atomic_store_n(&r->at, 0, __ATOMIC_RELEASE);
    r->next_free = records.free;
    records.free = id;
}

uint32_t vt__record_add(const void *p) {
    uint32_t id = take();
    if (id == 0) return 0;
    struct vt_record *r = vt__record(id);
    change_begins();
    atomic_store_explicit(&r->site, 0, memory_order_relaxed);
    __atomic_store_n(&r->at, (uintptr_t)p, __ATOMIC_RELEASE);
    bool is_added = vt__index_add(&by_address, id);
    if (!is_added) give(id);
    change_ends();
    return is_added ? id : 0;
}

void vt__record_drop(uint32_t id) {
    change_begins();
    vt__index_remove(&by_address, id);
    give(id);
    change_ends();
}

uint32_t vt__records_count(void) { return records.rows.n; }
