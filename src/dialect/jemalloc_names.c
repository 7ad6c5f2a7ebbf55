/* jemalloc_names.c - what libjemalloc's malloc and its sisters do beyond the heap's: blocks of the calling thread's arena, the options
 * junk, zero and xmalloc, and telling of samples. All of it is on slow paths, and nothing of it is asked about until one of them is
 * set. With junk, zero or xmalloc every malloc and free is slow.
 *
 * Climate: malloc.   Owns: whether anything of it is wanted.   Locks: none.
 */
#include <errno.h>
#include <stdatomic.h>

#include "dialect/jemalloc_nodes.h"
#include "heap/class.h"
#include "heap/fast.h"
#include "heap/heap.h"
#include "os/os.h"

#define JUNK_NEW 0xa5
#define JUNK_FREED 0x5a

static _Atomic bool is_special;

/* relaxed: who is late by a moment misses a block of that moment */
bool vt__je_is_special(void) {
    return vt_unlikely(atomic_load_explicit(&is_special, memory_order_relaxed));
}

void vt__je_be_special(void) { atomic_store_explicit(&is_special, true, memory_order_relaxed); }

/* ---- junk, zero, xmalloc ---- */

enum { JUNK_BOTH, JUNK_NONE, JUNK_ALLOC, JUNK_FREE }; /* the words of the option */
static bool fills_new(void) { return vt_je(junk) == JUNK_BOTH || vt_je(junk) == JUNK_ALLOC; }
static bool fills_freed(void) { return vt_je(junk) == JUNK_BOTH || vt_je(junk) == JUNK_FREE; }

static VT_COLD void no_memory(const char *where) {
    if (!vt_je(xmalloc)) return;
    vt__je_say("Error ", where, ": out of memory");
    vt__os_abort();
}

void *vt__je_grown(void *p, size_t before, const char *where) {
    vt__je_deliver_samples();
    if (p == NULL) {
        no_memory(where);
        return NULL;
    }
    if (!fills_new() && !vt_je(zero)) return p;
    size_t usable = vt__usable_size(p);
    if (usable > before)
        __builtin_memset((char *)p + before, fills_new() ? JUNK_NEW : 0, usable - before);
    return p;
}

void *vt__je_given(void *p, bool is_zero, const char *where) {
    return vt__je_grown(p, is_zero ? SIZE_MAX : 0, where);
}

static _Atomic(uintptr_t) abort_hook; /* void (*)(const char *); 0: none */

int vt__je_write_abort_hook(const struct vt_je_call *c, uint64_t value) {
    (void)c;
    atomic_store_explicit(&abort_hook, (uintptr_t)value, memory_order_relaxed);
    return 0;
}

/* Says it and ends the process; with the program's hook, that is told and decides. */
static VT_COLD void fail(const char *line) {
    uintptr_t hook = atomic_load_explicit(&abort_hook, memory_order_relaxed);
    if (hook != 0) {
        ((void (*)(const char *))hook)(line);
        return;
    }
    vt__je_write(line);
    vt__os_abort();
}

VT_COLD bool vt__je_new_fails(size_t n_bytes) {
    char line[400];
    struct vt_text t = {line, sizeof(line) - 1, 0, false, NULL, NULL};
    if (!vt_je(experimental_infallible_new)) return false;
    vt__text_put(&t, "<jemalloc>: Allocation of size ");
    vt__text_uint(&t, n_bytes);
    vt__text_put(&t, " failed. ");
    if (n_bytes >= GiB(1))
        vt__text_put(&t, "This may be caused by heap corruption, if the large size is unexpected "
                         "(suggest building with sanitizers for debugging).");
    vt__text_put(&t, " opt.experimental_infallible_new is true. Aborting.\n");
    line[t.len] = '\0';
    fail(line);
    return true;
}

/* Not the first two words, which tell a block that is free already. */
void vt__je_fill_freed(const void *p) {
    size_t usable = fills_freed() && p != NULL && vt__heap_owns(p) ? vt__usable_size(p) : 0;
    if (usable > sizeof(struct block))
        __builtin_memset((char *)p + sizeof(struct block), JUNK_FREED,
                         usable - sizeof(struct block));
}

void vt__je_names_begin(void) {
    if (!fills_new() && !fills_freed() && !vt_je(zero) && !vt_je(xmalloc)) return;
    vt__je_be_special();
    vt__je_watch_blocks();
}

/* ---- the names ---- */

void *vt__je_alloc_in(struct vt_own *heap, size_t align, size_t n_bytes, bool zero) {
    if (heap != NULL) return vt__own_alloc(heap, vt_max(align, VT_BLOCK_ALIGN), n_bytes, zero);
    if (align <= VT_BLOCK_ALIGN) return zero ? vt__calloc(1, n_bytes) : vt__malloc(n_bytes);
    void *p = vt__aligned_alloc(align, n_bytes);
    if (p != NULL && zero) __builtin_memset(p, 0, vt__usable_size(p));
    return p;
}

static void *malloc_specially(size_t n_bytes) {
    void *p = vt__je_alloc_in(vt__je_thread_heap(), 1, n_bytes, /* zero */ false);
    return vt__je_given(p, /* is_zero */ false, "in malloc()");
}

void *vt__je_malloc_slow(size_t n_bytes) {
    return vt__je_is_special() ? malloc_specially(n_bytes) : vt__malloc_slow(n_bytes);
}

void *vt__je_malloc(size_t n_bytes) { return vt__fast_malloc_or(n_bytes, vt__je_malloc_slow); }

void *vt__je_calloc(size_t n, size_t each_bytes) {
    size_t n_bytes;
    struct vt_own *heap = vt__je_is_special() ? vt__je_thread_heap() : NULL;
    void *p = heap != NULL && !__builtin_mul_overflow(n, each_bytes, &n_bytes)
                  ? vt__je_alloc_in(heap, 1, n_bytes, /* zero */ true)
                  : vt__calloc(n, each_bytes);
    return vt__je_is_special() ? vt__je_given(p, /* is_zero */ true, "in calloc()") : p;
}

void *vt__je_aligned_alloc(size_t align, size_t n_bytes) {
    if (!vt__je_is_special()) return vt__aligned_alloc(align, n_bytes);
    void *p = vt__je_alloc_in(vt__je_thread_heap(), align, n_bytes, /* zero */ false);
    return vt__je_given(p, /* is_zero */ false, "allocating aligned memory");
}

/* A block that stays where it is counts as freed, and as allocated again, as there. */
static void *stayed(void *p, size_t before) {
    vt__heap_count_again(vt_min(before, vt__usable_size(p)));
    return p;
}

/* A block of a class stays if it is of the right one. A large one can get another size, in whole OS pages. */
static bool can_stay(void *p, size_t before, size_t wanted, size_t n_bytes) {
    if (before == wanted) return vt__resize_in_place(p, n_bytes);
    if (wanted > VT_MEDIUM_MAX) return vt__realloc_in_place(p, n_bytes);
    return before > VT_MEDIUM_MAX && wanted == vt_round_up(n_bytes, VT_OS_PAGE) &&
           vt__realloc_in_place(p, n_bytes) && vt__usable_size(p) == wanted;
}

/* Unlike vt__realloc(), it leaves no more than nallocx() tells, nor less. */
void *vt__je_realloc_in(struct vt_own *heap, void *p, size_t align, size_t n_bytes) {
    size_t before = vt__usable_size(p), wanted = vt__good_size(align, n_bytes);
    bool is_aligned = ((uintptr_t)p & (align - 1)) == 0;
    if (is_aligned && can_stay(p, before, wanted, n_bytes)) return stayed(p, before);
    /* The end of a large block is cut off first: free would keep it for the next. */
    if (is_aligned && n_bytes <= VT_MEDIUM_MAX && before > VT_MEDIUM_MAX)
        (void)vt__resize_in_place(p, VT_MEDIUM_MAX);
    void *to = vt__je_alloc_in(heap, align, n_bytes, /* zero */ false);
    if (to == NULL) return is_aligned && vt__resize_in_place(p, n_bytes) ? stayed(p, before) : NULL;
    __builtin_memcpy(to, p, vt_min(vt__usable_size(p), vt__usable_size(to)));
    vt__free(p);
    return to;
}

static void *realloc_plainly(void *p, size_t n_bytes) {
    uintptr_t from = (uintptr_t)p;
    size_t before = n_bytes != 0 ? vt__usable_size(p) : 0;
    void *to = vt__realloc(p, n_bytes);
    return before != 0 && (uintptr_t)to == from ? stayed(to, before) : to;
}

void *vt__je_realloc_for(void *p, size_t n_bytes, const char *where) {
    if (!vt__je_is_special() || n_bytes == 0) return realloc_plainly(p, n_bytes);
    if (p == NULL) return vt__je_malloc(n_bytes);
    struct vt_own *heap = vt__heap_owns(p) ? vt__je_thread_heap() : NULL;
    size_t before = vt__usable_size(p);
    void *to = heap != NULL ? vt__je_realloc_in(heap, p, 1, n_bytes) : realloc_plainly(p, n_bytes);
    return vt__je_grown(to, before, where);
}

void *vt__je_realloc(void *p, size_t n_bytes) {
    return vt__je_realloc_for(p, n_bytes, "in realloc()");
}

void vt__je_free_other(void *p, struct slab *s) {
    vt__free_other(p, s);
    if (vt__je_is_special()) vt__je_deliver_samples();
}
