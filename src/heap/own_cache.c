/* own_cache.c - see own_cache.h: where blocks that a thread keeps come from and go to. Climate: malloc. */
#include "heap/own_cache.h"

#include "heap/fast.h"
#include "os/os.h"

#define MISSES_MAX 64 /* then the other heap seems to be in use more */
#define KEPT_BYTES KiB(8)
#define KEPT_MIN 16
#define KEPT_MAX 128

/* The newest n_kept stay. */
static void trim(struct own_cache *c, unsigned cls, uint32_t n_kept) {
    struct own_shelf *f = &c->shelf[cls];
    struct block *list = f->top;
    f->room = f->max - n_kept;
    if (n_kept == 0) {
        f->top = NULL;
    } else {
        struct block *last = list;
        while (--n_kept > 0) last = link_next_salted(last, cls, 0);
        list = link_next_salted(last, cls, 0);
        last->link = link_encode(NULL, last);
    }
    vt__own_give_list(c, cls, list);
}

static void clear(struct own_cache *c) {
    if (c->own == NULL) return;
    for (unsigned cls = 0; cls < VT_N_SMALL; cls++)
        if (c->shelf[cls].top != NULL) trim(c, cls, 0);
    vt__own_remove_cache(c);
    c->own = NULL;
}

static void begin(struct own_cache *c, struct vt_own *o) {
    *c = (struct own_cache){0};
    for (unsigned cls = 0; cls < VT_N_SMALL; cls++) {
        size_t n = KEPT_BYTES / vt__class_bytes(cls);
        c->shelf[cls].max = (uint32_t)vt_max(KEPT_MIN, vt_min(n, KEPT_MAX));
        c->shelf[cls].room = c->shelf[cls].max;
    }
    vt__own_add_cache(c, o);
}

struct own_cache *vt__own_cache_claim(struct heap *h, struct vt_own *o) {
    if (VT_HARDEN > 1) return NULL;
    if (h->own_caches == NULL)
        h->own_caches =
            vt__arena_take(N_OWN_CACHES * sizeof(struct own_cache), _Alignof(struct own_cache));
    if (h->own_caches == NULL) return NULL;
    struct own_cache *c = own_cache_place(h, o);
    if (own_cache_is_of(c, o)) return c;
    if (c->own != NULL && own_cache_is_of(c, c->own) && c->n_missed++ < MISSES_MAX) return NULL;
    clear(c);
    begin(c, o);
    return c;
}

VT_COLD static void overflow(struct own_cache *c, unsigned cls) {
    if (!vt__enter()) return; /* a signal handler: the next free will do it */
    trim(c, cls, c->shelf[cls].max / 2);
    vt__leave();
    vt__poll();
}

/* Others may be changing other bits of the word; that of a block we hold stands still. */
__attribute__((no_sanitize("thread"))) static bool is_at_home(const struct slab *s, size_t k) {
    return (s->is_free[k / 32] >> (k % 32) & 1) != 0;
}

void vt__own_cache_free(void *p, struct slab *s, uintptr_t owner) {
    struct own_cache *c = own_cache_now(vt__tls.real, vt__own_of_owner(owner));
    unsigned cls = s->cls;
    if (vt_unlikely(c == NULL) || cls >= VT_N_SMALL || vt_unlikely(n_sampled(s) > 0)) {
        vt__free_of_own(p, s, owner);
        return;
    }
    size_t k = block_number((uintptr_t)p & (VT_SLICE - 1), s);
    if (vt_unlikely(k >= vt_racy_read(s->carved))) vt__bad_free(p);
    uintptr_t mark = own_mark(p, c->key);
    bool is_kept_already = VT_HARDEN > 0 && ((struct block *)p)->mark == mark;
    if (vt_unlikely(is_kept_already) || vt_unlikely(is_at_home(s, k))) vt__double_free(p, s);
    struct own_shelf *f = &c->shelf[cls];
    own_cache_put(f, p, mark);
    if (vt_unlikely((int32_t)f->room <= 0)) overflow(c, cls);
}

void vt__own_cache_leave(struct heap *h, const struct vt_own *o) {
    if (h->own_caches != NULL && own_cache_place(h, o)->own == o) clear(own_cache_place(h, o));
}

void vt__own_caches_clear(struct heap *h) {
    for (unsigned i = 0; h->own_caches != NULL && i < N_OWN_CACHES; i++) clear(&h->own_caches[i]);
}
