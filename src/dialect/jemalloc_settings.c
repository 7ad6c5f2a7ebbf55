/* jemalloc_settings.c - what is said about single arenas and thread caches, and has no meaning for our heap: it is kept and
 * answered.
 *
 * Climate: host.   Owns: which numbers of thread caches are in use.   Locks: none.
 */
#include <errno.h>
#include <stdatomic.h>

#include "dialect/jemalloc_nodes.h"
#include "os/os.h"

#define NAME_BYTES 32
#define MAX_CACHES 4094u

/* ---- where address space comes from ---- */

static const char *const dss_words[] = {"disabled", "primary", "secondary"};

/* A single one that is there, in a place where a number below the highest may stand. */
static struct vt_je_arena *one(const struct vt_je_call *c) {
    size_t i = c->index[0];
    return i < VT_JE_MAX_ARENAS && i < vt__je_narenas() ? vt__je_arena(i) : NULL;
}

int vt__je_read_dss(const struct vt_je_call *c, uint64_t *out) {
    const struct vt_je_arena *a = one(c);
    *out = (uintptr_t)(a != NULL && a->dss != 0 ? dss_words[a->dss - 1] : vt_je_text(dss));
    return 0;
}

int vt__je_write_dss(const struct vt_je_call *c, uint64_t value) {
    const char *wanted = (const char *)(uintptr_t)value;
    for (size_t k = 0; k < vt_countof(dss_words); k++) {
        if (wanted == NULL || !vt__str_equal(wanted, dss_words[k])) continue;
        for (size_t i = 0; i < vt_min(vt__je_narenas(), VT_JE_MAX_ARENAS); i++)
            if (i == c->index[0] || vt__je_arena_is_all(c->index[0]))
                vt__je_arena(i)->dss = (uint8_t)(k + 1);
        return 0;
    }
    return EINVAL;
}

int vt__je_read_oversize_threshold(const struct vt_je_call *c, uint64_t *out) {
    const struct vt_je_arena *a = one(c);
    if (a == NULL) return EFAULT;
    *out = a->oversize_threshold != 0 ? a->oversize_threshold : (uint64_t)vt_je(oversize_threshold);
    return 0;
}

int vt__je_write_oversize_threshold(const struct vt_je_call *c, uint64_t value) {
    one(c)->oversize_threshold = value;
    return 0;
}

int vt__je_read_retain_grow_limit(const struct vt_je_call *c, uint64_t *out) {
    const struct vt_je_arena *a = one(c);
    if (a == NULL) return EFAULT;
    *out = a->retain_grow_limit != 0 ? a->retain_grow_limit : UINT64_C(7) << 60;
    return 0;
}

/* As there, the next lower of the sizes that extents may have: pages, then four to a doubling. */
int vt__je_write_retain_grow_limit(const struct vt_je_call *c, uint64_t value) {
    if (value < VT_OS_PAGE) return EFAULT;
    uint64_t step = vt_max((UINT64_C(1) << vt_log2(value)) / 4, VT_OS_PAGE);
    one(c)->retain_grow_limit = value & ~(step - 1);
    return 0;
}

/* ---- names ---- */

static void put_name(char out[NAME_BYTES], size_t i) {
    struct vt_text t = {out, NAME_BYTES - 1, 0, false, NULL, NULL};
    const char *told = atomic_load_explicit(&vt__je_arena(i)->name, memory_order_acquire);
    bool is_automatic = i < vt__je_n_automatic();
    if (told != NULL) {
        vt__text_put(&t, told);
    } else {
        vt__text_put(&t, is_automatic ? "auto_" : "manual_");
        vt__text_uint(&t, i);
    }
    out[t.len] = '\0';
}

/* Through a pointer to the caller's 32 bytes, both ways. */
int vt__je_write_arena_name(const struct vt_je_call *c, uint64_t value) {
    char *buffer;
    const char *name;
    (void)value;
    if (one(c) == NULL) return EINVAL;
    if (!vt__je_arena_is_there(c->index[0])) return EFAULT;
    if (c->oldp != NULL && c->oldlenp != NULL) {
        if (*c->oldlenp != sizeof(buffer)) return EINVAL;
        __builtin_memcpy(&buffer, c->oldp, sizeof(buffer));
        put_name(buffer, c->index[0]);
    }
    if (!c->has_new) return 0;
    if (c->newlen != sizeof(name)) return EINVAL;
    __builtin_memcpy(&name, c->newp, sizeof(name));
    char *copy = name != NULL ? vt__arena_take(NAME_BYTES, 1) : NULL;
    if (copy == NULL) return name == NULL ? EINVAL : EAGAIN;
    struct vt_text t = {copy, NAME_BYTES - 1, 0, false, NULL, NULL};
    vt__text_put(&t, name);
    /* release: the text before the pointer; pairs with put_name */
    atomic_store_explicit(&one(c)->name, copy, memory_order_release);
    return 0;
}

/* ---- thread caches: no heap that can be named has one, so there is nothing to flush ---- */

static _Atomic uint8_t cache_is_there[MAX_CACHES];

int vt__je_write_tcache_create(const struct vt_je_call *c, uint64_t value) {
    (void)value;
    if (c->newp != NULL || c->newlen != 0) return EPERM;
    if (c->oldp == NULL || c->oldlenp == NULL || *c->oldlenp != sizeof(unsigned)) {
        if (c->oldlenp != NULL) *c->oldlenp = 0;
        return EINVAL;
    }
    for (unsigned i = 0; i < MAX_CACHES; i++) {
        uint8_t unused = 0;
        if (!atomic_compare_exchange_strong(&cache_is_there[i], &unused, 1)) continue;
        vt__je_put_result(c, &i, sizeof(i));
        return 0;
    }
    return EFAULT;
}

int vt__je_write_tcache_flush(const struct vt_je_call *c, uint64_t value) {
    if (!c->has_new) return EINVAL;
    return value < MAX_CACHES ? 0 : EFAULT;
}

int vt__je_write_tcache_destroy(const struct vt_je_call *c, uint64_t value) {
    int err = vt__je_write_tcache_flush(c, value);
    if (err == 0) atomic_store_explicit(&cache_is_there[value], 0, memory_order_relaxed);
    return err;
}
