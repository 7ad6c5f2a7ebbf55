/* jemalloc_arenas.c - arenas and thread caches, which are numbers here: they are given out, kept and asked about, and all memory
 * comes from the common heap.
 *
 * Climate: host.   Owns: which numbers are in use, and what was said about them.   Locks: none.
 */
#include <errno.h>
#include <stdatomic.h>

#include "conf/options.h"
#include "dialect/jemalloc_nodes.h"
#include "compat/jemalloc/jemalloc.h"
#include "os/os.h"

#define NAME_BYTES 32
#define MAX_CACHES 4093u

static struct {
    _Atomic unsigned n; /* made by the program so far, those destroyed too */
    _Atomic unsigned n_caches;
    _Atomic bool was_destroyed; /* one of them */
    _Atomic uint8_t is_there[VT_JE_MAX_ARENAS];
    _Atomic(extent_hooks_t *) hooks[VT_JE_MAX_ARENAS];
    _Atomic(const char *) name[VT_JE_MAX_ARENAS];
    _Atomic int64_t decay_ms[2]; /* dirty, muzzy; plus one, so that 0 is: as the option says */
} arenas;

/* ---- numbers ---- */

static unsigned n_automatic(void) {
    return (unsigned)vt_min((uint64_t)vt_je(narenas), VT_JE_MAX_ARENAS - 1);
}

unsigned vt__je_narenas(void) {
    return n_automatic() + atomic_load_explicit(&arenas.n, memory_order_relaxed);
}

static bool is_made(size_t i) {
    return i >= n_automatic() && i < VT_JE_MAX_ARENAS &&
           atomic_load_explicit(&arenas.is_there[i], memory_order_relaxed) != 0;
}

bool vt__je_arena_is_there(size_t i) {
    if (i == VT_JE_DESTROYED_ARENAS)
        return atomic_load_explicit(&arenas.was_destroyed, memory_order_relaxed);
    return i == 0 || is_made(i);
}

static bool is_all(size_t i) { return i == VT_JE_ALL_ARENAS || i == vt__je_narenas(); }

static bool claim(unsigned i) {
    uint8_t free_mark = 0;
    return atomic_compare_exchange_strong(&arenas.is_there[i], &free_mark, 1);
}

/* One that was destroyed is used again. UINT32_MAX: there are no more. */
static unsigned take_number(void) {
    unsigned first = n_automatic();
    for (unsigned i = first; i < vt__je_narenas(); i++)
        if (claim(i)) return i;
    unsigned i = first + atomic_fetch_add_explicit(&arenas.n, 1, memory_order_relaxed);
    if (i < VT_JE_MAX_ARENAS && claim(i)) return i;
    atomic_fetch_sub_explicit(&arenas.n, 1, memory_order_relaxed);
    return UINT32_MAX;
}

int vt__je_read_narenas(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = vt__je_narenas();
    return 0;
}

int vt__je_read_arena_is_there(const struct vt_je_call *c, uint64_t *out) {
    *out = is_all(c->index[0]) || vt__je_arena_is_there(c->index[0]);
    return 0;
}

/* A result of so many bytes is asked for, or none. */
static int check_result(const struct vt_je_call *c, size_t n_bytes) {
    if (c->oldp == NULL || c->oldlenp == NULL || *c->oldlenp == n_bytes) return 0;
    *c->oldlenp = 0;
    return EINVAL;
}

static void put_result(const struct vt_je_call *c, const void *from, size_t n_bytes) {
    if (c->oldp != NULL && c->oldlenp != NULL) __builtin_memcpy(c->oldp, from, n_bytes);
}

int vt__je_write_arenas_create(const struct vt_je_call *c, uint64_t value) {
    struct {
        extent_hooks_t *hooks;
        bool uses_for_metadata;
    } wish = {NULL, false};
    size_t n_bytes = c->what == 1 ? sizeof(wish) : sizeof(wish.hooks);
    (void)value;
    int err = check_result(c, sizeof(unsigned));
    if (err != 0) return err;
    if (c->has_new && c->newlen != n_bytes) return EINVAL;
    if (c->has_new) __builtin_memcpy(&wish, c->newp, n_bytes);
    unsigned i = take_number();
    if (i == UINT32_MAX) return EAGAIN;
    atomic_store_explicit(&arenas.hooks[i], wish.hooks, memory_order_relaxed);
    put_result(c, &i, sizeof(i));
    return 0;
}

int vt__je_write_arenas_lookup(const struct vt_je_call *c, uint64_t value) {
    unsigned first = 0;
    const void *p;
    (void)value;
    if (!c->has_new || c->newlen != sizeof(p)) return EINVAL;
    __builtin_memcpy(&p, c->newp, sizeof(p));
    if (!vt__heap_owns(p)) return EINVAL;
    int err = check_result(c, sizeof(first));
    if (err == 0) put_result(c, &first, sizeof(first));
    return err;
}

/* Its blocks cannot be told from others, so they stay. */
int vt__je_write_arena_reset(const struct vt_je_call *c, uint64_t value) {
    (void)value;
    return is_made(c->index[0]) ? 0 : EFAULT;
}

int vt__je_write_arena_destroy(const struct vt_je_call *c, uint64_t value) {
    (void)value;
    if (!is_made(c->index[0])) return EFAULT;
    atomic_store_explicit(&arenas.name[c->index[0]], NULL, memory_order_relaxed);
    atomic_store_explicit(&arenas.was_destroyed, true, memory_order_relaxed);
    atomic_store_explicit(&arenas.is_there[c->index[0]], 0, memory_order_relaxed);
    return 0;
}

/* ---- giving memory back ---- */

int vt__je_write_purge(const struct vt_je_call *c, uint64_t value) {
    (void)c, (void)value;
    (void)vt__heap_release_all();
    return 0;
}

int vt__je_write_decay(const struct vt_je_call *c, uint64_t value) {
    (void)c, (void)value;
    (void)vt__heap_purge_step();
    return 0;
}

int vt__je_read_decay_ms(const struct vt_je_call *c, uint64_t *out) {
    int64_t set = atomic_load_explicit(&arenas.decay_ms[c->what], memory_order_relaxed);
    int64_t ms = set != 0 ? set - 1 : c->what == 0 ? vt_je(dirty_decay_ms) : vt_je(muzzy_decay_ms);
    if (set == INT64_MIN) ms = -1;
    *out = (uint64_t)ms;
    return 0;
}

/* One for all arenas. */
int vt__je_write_decay_ms(const struct vt_je_call *c, uint64_t value) {
    int64_t ms = (int64_t)value;
    if (ms < -1 || ms > INT64_MAX / 1000000) return EFAULT;
    atomic_store_explicit(&arenas.decay_ms[c->what], ms == -1 ? INT64_MIN : ms + 1,
                          memory_order_relaxed);
    if (c->what != 0) return 0;
    if (ms >= 0)
        vt_opt(purge_delay) = vt_min((uint64_t)ms, vt__option_rows[VT_OPT_purge_delay].high);
    if (ms <= 0) vt_opt(retain) = ms < 0 ? vt__option_rows[VT_OPT_retain].high : 0;
    if (ms == 0) (void)vt__heap_release_all();
    return 0;
}

int vt__je_read_retain_grow_limit(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = UINT64_C(7) << 60;
    return 0;
}

/* ---- what was said about them ---- */

int vt__je_read_dss(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = (uintptr_t)vt_je_text(dss);
    return 0;
}

int vt__je_write_dss(const struct vt_je_call *c, uint64_t value) {
    static const char *const words[] = {"disabled", "primary", "secondary"};
    (void)c;
    const char *wanted = (const char *)(uintptr_t)value;
    for (size_t i = 0; i < vt_countof(words); i++)
        if (wanted != NULL && vt__str_equal(wanted, words[i])) {
            vt__je_values[VT_JE_OPT_dss].text = words[i];
            return 0;
        }
    return EINVAL;
}

/* Programs copy the default ones, replace a member and write the copy back. Nobody calls them. */
static extent_hooks_t default_hooks;

int vt__je_read_extent_hooks(const struct vt_je_call *c, uint64_t *out) {
    if (c->index[0] >= vt_min(vt__je_narenas(), VT_JE_MAX_ARENAS)) return EFAULT;
    extent_hooks_t *hooks = atomic_load_explicit(&arenas.hooks[c->index[0]], memory_order_relaxed);
    *out = (uintptr_t)(hooks != NULL ? hooks : &default_hooks);
    return 0;
}

int vt__je_write_extent_hooks(const struct vt_je_call *c, uint64_t value) {
    atomic_store_explicit(&arenas.hooks[c->index[0]], (extent_hooks_t *)(uintptr_t)value,
                          memory_order_relaxed);
    return 0;
}

static void put_name(char out[NAME_BYTES], size_t i) {
    struct vt_text t = {out, NAME_BYTES - 1, 0, false, NULL, NULL};
    const char *told = atomic_load_explicit(&arenas.name[i], memory_order_acquire);
    if (told != NULL) {
        vt__text_put(&t, told);
    } else {
        vt__text_put(&t, i < n_automatic() ? "auto_" : "manual_");
        vt__text_uint(&t, i < n_automatic() ? i : i - n_automatic());
    }
    out[t.len] = '\0';
}

/* Through a pointer to the caller's 32 bytes, both ways. */
int vt__je_write_arena_name(const struct vt_je_call *c, uint64_t value) {
    char *buffer;
    const char *name;
    size_t i = c->index[0];
    (void)value;
    if (!vt__je_arena_is_there(i)) return ENOENT;
    if (c->oldp != NULL && c->oldlenp != NULL) {
        if (*c->oldlenp != sizeof(buffer)) return EINVAL;
        __builtin_memcpy(&buffer, c->oldp, sizeof(buffer));
        put_name(buffer, i);
    }
    if (!c->has_new) return 0;
    if (c->newlen != sizeof(name)) return EINVAL;
    __builtin_memcpy(&name, c->newp, sizeof(name));
    char *copy = name != NULL ? vt__arena_take(NAME_BYTES, 1) : NULL;
    if (copy == NULL) return name == NULL ? EINVAL : EAGAIN;
    struct vt_text t = {copy, NAME_BYTES - 1, 0, false, NULL, NULL};
    vt__text_put(&t, name);
    /* release: the text before the pointer; pairs with put_name */
    atomic_store_explicit(&arenas.name[i], copy, memory_order_release);
    return 0;
}

/* ---- thread caches ---- */

int vt__je_write_tcache_create(const struct vt_je_call *c, uint64_t value) {
    (void)value;
    if (c->newp != NULL || c->newlen != 0) return EPERM;
    if (c->oldp == NULL || c->oldlenp == NULL || *c->oldlenp != sizeof(unsigned)) {
        if (c->oldlenp != NULL) *c->oldlenp = 0;
        return EINVAL;
    }
    unsigned i = atomic_fetch_add_explicit(&arenas.n_caches, 1, memory_order_relaxed) % MAX_CACHES;
    put_result(c, &i, sizeof(i));
    return 0;
}

int vt__je_write_tcache_is_known(const struct vt_je_call *c, uint64_t value) {
    return c->has_new && value < MAX_CACHES ? 0 : EFAULT;
}
