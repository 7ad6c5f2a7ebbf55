/* look.h - what the tests of the heap share: looking into it, and blocks that carry a pattern of their own. */
#ifndef VT_TESTS_UNIT_LOOK_H
#define VT_TESTS_UNIT_LOOK_H

#include "unit.h"

#include "heap/chunk.h"
#include "heap/impl.h"
#include "heap/stock.h"
#include "vitrine.h"

/* But for those that threads keep for their next slabs. */
__attribute__((unused)) static size_t n_used_slices(void) {
    size_t n = atomic_load(&vt__pool.used_slices);
    for (const struct heap *h = vt__heaps_first(); h != NULL; h = h->next) n -= vt__stock_slices(h);
    return n;
}
__attribute__((unused)) static size_t n_dirty_slices(void) {
    return atomic_load(&vt__pool.dirty_slices);
}

/* The slab p is a block of. */
__attribute__((unused)) static struct slab *slab_of(const void *p) {
    struct slab *s = vt__slab(vt__slice_of(p));
    return s - s->delta;
}

__attribute__((unused)) static const struct vt_class *class_row(size_t n_bytes) {
    return &vt__classes[vt__class_of(n_bytes)];
}

__attribute__((unused)) static struct vt_stats stats_now(void) {
    struct vt_stats s = {.size = sizeof(s)};
    assert_int_equal(vt_stats_get(&s), 0);
    return s;
}

/* ---- contents ---- */

/* A block's bytes follow from its address and size, so that overlap, loss and mixing up show. */
__attribute__((unused)) static unsigned char byte_of(const void *p, size_t i) {
    return (unsigned char)(((uintptr_t)p >> 4) * 31 + i * 7 + (i >> 8));
}

__attribute__((unused)) static void *fill(void *p, size_t n) {
    for (size_t i = 0; i < n; i++) ((unsigned char *)p)[i] = byte_of(p, i);
    return p;
}

/* `as` is the address the block had when it was filled. */
__attribute__((unused)) static void check_filled(const void *p, const void *as, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (((const unsigned char *)p)[i] != byte_of(as, i))
            fail_msg("byte %zu of %zu at %p: expected %u, seen %u", i, n, p, byte_of(as, i),
                     ((const unsigned char *)p)[i]);
}

__attribute__((unused)) static void check_zero(const void *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (((const unsigned char *)p)[i] != 0)
            fail_msg("byte %zu of %zu at %p: expected 0, seen %u", i, n, p,
                     ((const unsigned char *)p)[i]);
}

/* ---- many blocks ---- */

struct blocks {
    void **at;
    size_t n, n_bytes;
};

__attribute__((unused)) static struct blocks take_blocks(size_t n, size_t n_bytes) {
    struct blocks b = {calloc(n, sizeof(void *)), n, n_bytes};
    for (size_t i = 0; i < n; i++) {
        b.at[i] = vt__malloc(n_bytes);
        assert_non_null(b.at[i]);
        *(void **)b.at[i] = b.at[i]; /* two blocks in one place would overwrite each other's name */
    }
    for (size_t i = 0; i < n; i++) assert_ptr_equal(*(void **)b.at[i], b.at[i]);
    return b;
}

__attribute__((unused)) static void free_blocks(struct blocks b) {
    for (size_t i = 0; i < b.n; i++) vt__free(b.at[i]);
    free(b.at);
}

__attribute__((unused)) static void *free_in_thread(void *blocks) {
    free_blocks(*(struct blocks *)blocks);
    return NULL;
}

#endif
