/* jemalloc_arenas.c - arenas: their numbers, their memory, and what was said about them.
 *
 *   0            the threads' own memory, and what they share; every block for which nobody named another
 *   1 ... n      automatic, where `narenas` asks for them; a heap of its own (heap/own.c) from the first use on
 *   above        made by arenas.create, with a heap of its own; these alone can be reset and destroyed
 *
 * Memory that no block is in belongs to none of them: it is kept and given back for all together. What an arena's hooks brought is
 * the exception (jemalloc_extents.c): it is that arena's alone.
 *
 * Climate: host, but for vt__je_arena_heap (malloc).   Owns: the table.   Locks: none.
 */
#include <errno.h>
#include <stdatomic.h>

#include "conf/options.h"
#include "dialect/jemalloc_nodes.h"
#include "os/os.h"

static struct vt_je_arena arenas[VT_JE_MAX_ARENAS];
static _Atomic unsigned n_made; /* so far, those destroyed too */
static _Atomic bool was_destroyed;
static _Atomic int64_t new_decay_ms[2]; /* of arenas to come, plus VT_JE_DECAY_BIAS */

/* ---- numbers ---- */

unsigned vt__je_n_automatic(void) {
    return (unsigned)vt_min((uint64_t)vt_je(narenas), VT_JE_MAX_ARENAS - 1);
}

unsigned vt__je_narenas(void) {
    return vt__je_n_automatic() + atomic_load_explicit(&n_made, memory_order_relaxed);
}

struct vt_je_arena *vt__je_arena(size_t i) {
    return &arenas[i];
}

static bool is_there(size_t i) {
    /* acquire: its heap is; pairs with the release in begin_arena */
    return i < VT_JE_MAX_ARENAS &&
           atomic_load_explicit(&arenas[i].state, memory_order_acquire) == VT_JE_ARENA_IS_THERE;
}

static bool is_made(size_t i) { return i >= vt__je_n_automatic() && is_there(i); }

bool vt__je_arena_is_there(size_t i) {
    if (i == VT_JE_DESTROYED_ARENAS)
        return atomic_load_explicit(&was_destroyed, memory_order_relaxed);
    return i == 0 || is_there(i);
}

bool vt__je_arena_is_all(size_t i) { return i == VT_JE_ALL_ARENAS || i == vt__je_narenas(); }

static bool claim(unsigned i) {
    uint8_t unused = VT_JE_ARENA_UNUSED;
    return atomic_compare_exchange_strong(&arenas[i].state, &unused, VT_JE_ARENA_COMES);
}

/* One that was destroyed is used again. UINT32_MAX: there are no more. */
static unsigned take_number(void) {
    unsigned first = vt__je_n_automatic();
    for (unsigned i = first; i < vt__je_narenas(); i++)
        if (claim(i)) return i;
    unsigned i = first + atomic_fetch_add_explicit(&n_made, 1, memory_order_relaxed);
    if (i < VT_JE_MAX_ARENAS && claim(i)) return i;
    atomic_fetch_sub_explicit(&n_made, 1, memory_order_relaxed);
    return UINT32_MAX;
}

/* A claimed one gets its heap. */
static bool begin_arena(struct vt_je_arena *a, void *hooks) {
    a->heap = vt__own_new_counted();
    if (a->figures == NULL) a->figures = vt__arena_take(sizeof(*a->figures), VT_CACHE_LINE);
    bool is_done = a->heap != NULL && a->figures != NULL;
    a->started_ms = vt__os_now_ms();
    a->name = NULL;
    a->dss = 0;
    a->oversize_threshold = a->retain_grow_limit = 0;
    for (int i = 0; i < 2; i++)
        a->decay_ms[i] = atomic_load_explicit(&new_decay_ms[i], memory_order_relaxed);
    if (is_done) is_done = vt__je_set_hooks(a, hooks) == 0;
    if (!is_done && a->heap != NULL) vt__own_destroy(a->heap);
    atomic_store_explicit(&a->state, is_done ? VT_JE_ARENA_IS_THERE : VT_JE_ARENA_UNUSED,
                          memory_order_release);
    return is_done;
}

bool vt__je_arena_heap(size_t i, struct vt_own **out) {
    *out = NULL;
    if (i == 0) return true;
    if (i < vt__je_n_automatic() && !is_there(i) && claim((unsigned)i))
        (void)begin_arena(&arenas[i], NULL);
    if (!is_there(i)) return false;
    *out = arenas[i].heap;
    return true;
}

int vt__je_read_narenas(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = vt__je_narenas();
    return 0;
}

int vt__je_read_arena_is_there(const struct vt_je_call *c, uint64_t *out) {
    *out = vt__je_arena_is_all(c->index[0]) || vt__je_arena_is_there(c->index[0]);
    return 0;
}

/* ---- they come and go ---- */

int vt__je_check_result(const struct vt_je_call *c, size_t n_bytes) {
    if (c->oldp == NULL || c->oldlenp == NULL || *c->oldlenp == n_bytes) return 0;
    *c->oldlenp = 0;
    return EINVAL;
}

void vt__je_put_result(const struct vt_je_call *c, const void *from, size_t n_bytes) {
    if (c->oldp != NULL && c->oldlenp != NULL) __builtin_memcpy(c->oldp, from, n_bytes);
}

int vt__je_write_arenas_create(const struct vt_je_call *c, uint64_t value) {
    struct {
        void *hooks;
        bool uses_for_metadata;
    } wish = {NULL, false};
    size_t n_bytes = c->what == 1 ? sizeof(wish) : sizeof(void *);
    (void)value;
    int err = vt__je_check_result(c, sizeof(unsigned));
    if (err != 0) return err;
    if (c->has_new && c->newlen != n_bytes) return EINVAL;
    if (c->has_new) __builtin_memcpy(&wish, c->newp, n_bytes);
    unsigned i = take_number();
    if (i == UINT32_MAX || !begin_arena(&arenas[i], wish.hooks)) return EAGAIN;
    vt__je_put_result(c, &i, sizeof(i));
    return 0;
}

static unsigned arena_of(const struct vt_own *heap) {
    for (unsigned i = 1; heap != NULL && i < vt__je_narenas(); i++)
        if (is_there(i) && arenas[i].heap == heap) return i;
    return 0;
}

int vt__je_write_arenas_lookup(const struct vt_je_call *c, uint64_t value) {
    const void *p;
    (void)value;
    if (!c->has_new || c->newlen != sizeof(p)) return EINVAL;
    __builtin_memcpy(&p, c->newp, sizeof(p));
    if (!vt__heap_owns(p)) return EINVAL;
    unsigned i = arena_of(vt__own_of(p));
    int err = vt__je_check_result(c, sizeof(i));
    if (err == 0) vt__je_put_result(c, &i, sizeof(i));
    return err;
}

int vt__je_write_arena_reset(const struct vt_je_call *c, uint64_t value) {
    (void)value;
    if (!is_made(c->index[0])) return EFAULT;
    const struct vt_je_arena *a = &arenas[c->index[0]];
    vt__own_reset(a->heap);
    if (a->estate != NULL) vt__estate_purge(a->estate);
    return 0;
}

int vt__je_write_arena_destroy(const struct vt_je_call *c, uint64_t value) {
    (void)value;
    if (!is_made(c->index[0]) || vt__je_arena_threads(c->index[0]) != 0) return EFAULT;
    struct vt_je_arena *a = &arenas[c->index[0]];
    uint8_t there = VT_JE_ARENA_IS_THERE;
    if (!atomic_compare_exchange_strong(&a->state, &there, VT_JE_ARENA_COMES)) return EFAULT;
    vt__je_count_destroyed(a->heap);
    vt__own_destroy(a->heap);
    if (a->estate != NULL) vt__estate_drop(a->estate);
    atomic_store_explicit(&was_destroyed, true, memory_order_relaxed);
    atomic_store_explicit(&a->state, VT_JE_ARENA_UNUSED, memory_order_release);
    return 0;
}

/* ---- giving memory back ---- */

static void collect(size_t which) {
    for (size_t i = 1; i < vt__je_narenas(); i++)
        if (is_there(i) && (i == which || vt__je_arena_is_all(which))) {
            vt__own_collect(arenas[i].heap);
            if (arenas[i].estate != NULL) vt__estate_purge(arenas[i].estate);
        }
}

int vt__je_write_purge(const struct vt_je_call *c, uint64_t value) {
    (void)value;
    collect(c->index[0]);
    (void)vt__heap_release_all();
    return 0;
}

/* What hooks brought has no time of its own: all of it is due. */
int vt__je_write_decay(const struct vt_je_call *c, uint64_t value) {
    (void)value;
    for (size_t i = 1; i < vt__je_narenas(); i++)
        if (is_there(i) && arenas[i].estate != NULL &&
            (i == c->index[0] || vt__je_arena_is_all(c->index[0])))
            vt__estate_purge(arenas[i].estate);
    (void)vt__heap_purge_step();
    return 0;
}

static int64_t decay_of(int64_t said, int which) {
    if (said != 0) return said - VT_JE_DECAY_BIAS;
    return which == 0 ? vt_je(dirty_decay_ms) : vt_je(muzzy_decay_ms);
}

int64_t vt__je_dirty_decay_ms(const struct vt_je_arena *a) { return decay_of(a->decay_ms[0], 0); }

/* That of arenas to come is what those have that never had another. */
int vt__je_read_decay_ms(const struct vt_je_call *c, uint64_t *out) {
    size_t i = c->index[0];
    bool is_one = !c->is_default && i < VT_JE_MAX_ARENAS && vt__je_arena_is_there(i);
    *out = (uint64_t)decay_of(
        is_one ? arenas[i].decay_ms[c->what]
               : atomic_load_explicit(&new_decay_ms[c->what], memory_order_relaxed),
        c->what);
    return 0;
}

static void obey_decay(int64_t ms) {
    if (ms >= 0)
        vt_opt(purge_delay) = vt_min((uint64_t)ms, vt__option_rows[VT_OPT_purge_delay].high);
    if (ms <= 0) vt_opt(retain) = ms < 0 ? vt__option_rows[VT_OPT_retain].high : 0;
    if (ms == 0) (void)vt__heap_release_all();
}

/* Free memory is common, so the time it waits is arena 0's. */
int vt__je_write_decay_ms(const struct vt_je_call *c, uint64_t value) {
    int64_t ms = (int64_t)value;
    size_t which = c->index[0];
    if (ms < -1 || ms > INT64_MAX / 1000000) return EFAULT;
    bool is_all = !c->is_default && vt__je_arena_is_all(which);
    if (!c->is_default && !is_all && !vt__je_arena_is_there(which)) return EFAULT;
    if (c->is_default || is_all)
        atomic_store_explicit(&new_decay_ms[c->what], ms + VT_JE_DECAY_BIAS, memory_order_relaxed);
    if (c->is_default) return 0;
    for (size_t i = 0; i < vt_min(vt__je_narenas(), VT_JE_MAX_ARENAS); i++)
        if (i == which || is_all) arenas[i].decay_ms[c->what] = ms + VT_JE_DECAY_BIAS;
    if (ms == 0) collect(which);
    if (c->what == 0 && (is_all || which == 0)) obey_decay(ms);
    return 0;
}
