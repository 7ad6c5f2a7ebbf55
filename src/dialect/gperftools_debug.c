/* gperftools_debug.c - the debug libraries: blocks with guards (probe/guard_block.c), and what is said about them. Each mistake is a
 * line or some on stderr, and then the end of the process. gperftools_no_debug.c is the other choice.
 *
 *   TCMALLOC_MAX_FREE_QUEUE_SIZE           bytes of freed blocks that wait
 *   TCMALLOC_RECLAIM_MEMORY=false          they wait for good
 *   TCMALLOC_PAGE_FENCE, _NEVER_RECLAIM, _READABLE
 *   TCMALLOC_TRACE, _TRACE_FILE            gperftools_trace.c
 *
 * Translation, no logic.   Climate: malloc.
 */
#include "dialect/gperftools_debug.h"

#include "dialect/gperftools.h"
#include "dialect/gperftools_new_mode.h"
#include "heap/heap.h"
#include "os/os.h"
#include "stack/stack.h"

#define N_BYTES_SHOWN 32

static const char *const allocators[] = {
    [VT_MADE_BY_MALLOC] = "malloc", [VT_MADE_BY_NEW] = "new", [VT_MADE_BY_NEW_ARRAY] = "new []"};
static const char *const deallocators[] = {[VT_MADE_BY_MALLOC] = "free",
                                           [VT_MADE_BY_NEW] = "delete",
                                           [VT_MADE_BY_NEW_ARRAY] = "delete []"};

/* A sentence with the address of the block where % stands. */
static void put(struct vt_text *t, const char *words, const void *p) {
    for (; *words != '\0'; words++) {
        if (*words == '%')
            vt__text_hex(t, (uintptr_t)p);
        else
            vt__text_char(t, *words);
    }
}

static void put_byte(struct vt_text *t, unsigned byte) {
    static const char digits[] = "0123456789abcdef";
    vt__text_put(t, "0x");
    vt__text_char(t, digits[byte >> 4 & 15]);
    vt__text_char(t, digits[byte & 15]);
}

static void say_line(struct vt_text *t) {
    vt__say(VT_LEVEL_ERROR, t);
    t->len = 0;
}

/* Several lines before the last: what was written, and who had freed it. */
static void say_written(const struct vt_guard_fault *f, struct vt_text *t) {
    const uintptr_t *pc = NULL;
    unsigned n_shown = 0;
    put(t,
        "Found a corrupted memory buffer in MallocBlock (may be offset from user ptr): buffer index: "
        "0, buffer ptr: %, size of buffer: ",
        f->base);
    vt__text_uint(t, f->block_bytes);
    say_line(t);
    for (size_t i = 0; i < f->block_bytes && n_shown < N_BYTES_SHOWN; i++) {
        if (f->base[i] == VT_FREED_BYTE) continue;
        vt__text_put(t, "Buffer byte ");
        vt__text_uint(t, i);
        vt__text_put(t, " is ");
        put_byte(t, f->base[i]);
        vt__text_put(t, " (should be 0xcd).");
        say_line(t);
        n_shown++;
    }
    put(t, "Deleted by thread %", (const void *)f->thread);
    say_line(t);
    for (unsigned i = 0, n = vt__depot_get(f->stack, &pc); i < n; i++) {
        put(t, "    @ % ", (const void *)pc[i]);
        say_line(t);
    }
}

static void put_fault(const struct vt_guard_fault *f, struct vt_text *t) {
    switch (f->fault) {
    case VT_FAULT_FREED_BEFORE:
        put(t,
            "memory allocation bug: object at % has been already deallocated (it was allocated with ",
            f->p);
        vt__text_put(t, allocators[f->made_by]);
        vt__text_char(t, ')');
        break;
    case VT_FAULT_NEVER_MADE:
        put(t, "memory allocation bug: object at % has never been allocated", f->p);
        break;
    case VT_FAULT_BEFORE:
        put(t, "memory stomping bug: a word before object at % has been corrupted", f->p);
        break;
    case VT_FAULT_AFTER:
        put(t, "memory stomping bug: a word after object at % has been corrupted", f->p);
        break;
    case VT_FAULT_MISMATCH:
        put(t, "memory allocation/deallocation mismatch at %: allocated with ", f->p);
        vt__text_put(t, allocators[f->made_by]);
        vt__text_put(t, " being deallocated with ");
        vt__text_put(t, deallocators[f->freed_by]);
        break;
    case VT_FAULT_SIZE:
        vt__text_put(
            t,
            "Check failed: the block has another size: right size must be passed to sized delete");
        break;
    case VT_FAULT_WRITTEN:
        put(t, "Memory was written to after being freed.  MallocBlock: %", f->base);
        put(t, ", user ptr: %, size: ", f->p);
        vt__text_uint(t, f->block_bytes);
        vt__text_put(t, ".  Above is who freed it.");
        break;
    }
}

static void say_fault(const struct vt_guard_fault *f) {
    char buf[600];
    struct vt_text t = VT_TEXT(buf);
    if (f->fault == VT_FAULT_WRITTEN) say_written(f, &t);
    put_fault(f, &t);
    vt__say(VT_LEVEL_FATAL, &t);
    vt__os_abort();
}

static bool is_set(const char *name, bool dflt) {
    const char *v = vt__os_getenv(name);
    return v != NULL ? vt__gperftools_is_on(v) : dflt;
}

void vt__debug_begin(void) {
    const char *queue = vt__os_getenv("TCMALLOC_MAX_FREE_QUEUE_SIZE");
    int64_t n = queue != NULL ? vt__gperftools_number(queue) : (int64_t)MiB(10);
    bool has_trace = is_set("TCMALLOC_TRACE", false) && vt__debug_trace_begin();
    vt__guard_set(&(struct vt_guard_options){
        .queue_bytes = n > 0 ? (size_t)n : 0,
        .has_fence = is_set("TCMALLOC_PAGE_FENCE", false),
        .keeps_fenced = is_set("TCMALLOC_PAGE_FENCE_NEVER_RECLAIM", false),
        .is_fence_readable = is_set("TCMALLOC_PAGE_FENCE_READABLE", false),
        .is_never_reused = !is_set("TCMALLOC_RECLAIM_MEMORY", true),
        .fault = say_fault,
        .trace = has_trace ? vt__debug_trace : NULL,
    });
}

void vt__debug_end(void) { vt__guard_check_queue(); }

bool vt__debug_verify_all(void) {
    vt__guard_check_all();
    return true;
}

bool vt__debug_verify(const void *p, enum vt_made_by by) {
    vt__guard_check(p, by);
    return true;
}

static void count(size_t n_bytes, void *arg) {
    struct vt_debug_counts *c = arg;
    c->n_blocks++;
    c->n_bytes += n_bytes;
    c->histogram[n_bytes > 0 ? vt_log2(n_bytes) : 0]++;
}

void vt__debug_count(struct vt_debug_counts *out) {
    *out = (struct vt_debug_counts){0};
    vt__guard_visit(count, out);
}

size_t vt__debug_size(const void *p) { return vt__guard_size(p); }

void vt__debug_set_hooks(const struct vt_heap_hooks *hooks) { vt__guard_set_hooks(hooks); }

size_t vt__debug_estimate(size_t block_bytes, size_t n_bytes) {
    (void)block_bytes;
    return n_bytes;
}

/* ---- blocks ---- */

void *vt__debug_alloc(size_t align, size_t n_bytes, enum vt_made_by by) {
    void *p;
    do p = vt__guard_alloc(align, n_bytes, by);
    while (p == NULL && by == VT_MADE_BY_MALLOC && vt__new_mode_helped());
    return p;
}

void *vt__debug_calloc(size_t n, size_t each_bytes) {
    void *p;
    do p = vt__guard_calloc(n, each_bytes);
    while (p == NULL && vt__new_mode_helped());
    return p;
}

void *vt__debug_realloc(void *p, size_t n_bytes) {
    void *to;
    do to = vt__guard_realloc(p, n_bytes);
    while (to == NULL && n_bytes != 0 && vt__new_mode_helped());
    return to;
}

void *vt__debug_alloc_once(size_t n_bytes) {
    return vt__guard_alloc(1, n_bytes, VT_MADE_BY_MALLOC);
}

void vt__debug_mode_changed(bool asks) { (void)asks; }
