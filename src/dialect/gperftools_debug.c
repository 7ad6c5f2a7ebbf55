/* gperftools_debug.c - the debug libraries: blocks with guards (probe/guard_block.c), and what is said about them. Each mistake is a
 * line or some on stderr, and then the end of the process. gperftools_no_debug.c is the other choice.
 *
 *   TCMALLOC_MAX_FREE_QUEUE_SIZE           bytes of freed blocks that wait
 *   TCMALLOC_RECLAIM_MEMORY=false          they wait for good
 *   TCMALLOC_PAGE_FENCE, _NEVER_RECLAIM, _READABLE
 *   TCMALLOC_TRACE, _TRACE_FILE            gperftools_trace.c
 *   TCMALLOC_SYMBOLIZE_STACKTRACE=false    stacks in reports are addresses alone
 *
 * All but the name of the file are flags, too (gperftools.h).
 *
 * Translation, no logic.   Climate: malloc; what is said of a mistake, host.
 */
#include "dialect/gperftools_debug.h"

#include "dialect/gperftools.h"
#include "dialect/gperftools_new_mode.h"
#include "dump/symbol.h"
#include "heap/heap.h"
#include "os/os.h"
#include "stack/stack.h"

#define N_BYTES_SHOWN 32
#define MAX_FRAMES 16 /* of a stack in a report, as there */

extern char *cxx_demangle(const char *name, char *buf, size_t *n_bytes,
                          int *status) __asm__("__cxa_demangle")
    __attribute__((weak, visibility("default")));

VT_FLAG_INT32(flag_queue_bytes, "25FLAGS_max_free_queue_size");
VT_FLAG_BOOL(flag_page_fence, "23FLAGS_malloc_page_fence");
VT_FLAG_BOOL(flag_fence_kept, "37FLAGS_malloc_page_fence_never_reclaim");
VT_FLAG_BOOL(flag_fence_readable, "32FLAGS_malloc_page_fence_readable");
VT_FLAG_BOOL(flag_reclaim, "27FLAGS_malloc_reclaim_memory");
VT_FLAG_BOOL(flag_symbolize, "26FLAGS_symbolize_stacktrace");
VT_FLAG_BOOL(flag_trace, "17FLAGS_malloctrace");

int32_t flag_queue_bytes = (int32_t)MiB(10);
bool flag_page_fence, flag_fence_kept, flag_fence_readable, flag_trace;
bool flag_reclaim = true, flag_symbolize = true;

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

/* As people write it, if the program has C++ in it. That takes memory from malloc, for good: the process is about to end. */
static const char *demangled(const char *name) {
    int status = 0;
    const char *words = cxx_demangle != NULL ? cxx_demangle(name, NULL, NULL, &status) : NULL;
    return words != NULL ? words : name;
}

static void say_frame(void *text, uintptr_t call, const char *name) {
    struct vt_text *t = text;
    put(t, "    @ % ", (const void *)(call + 1));
    if (name != NULL) {
        const char *words = demangled(name);
        vt__text_shown(t, words, vt__str_len(words));
    }
    say_line(t);
}

/* A line for each frame. The function is that of the call, one byte before the return address. */
static void say_stack(const uintptr_t *pc, unsigned n, struct vt_text *t) {
    uintptr_t calls[MAX_FRAMES];
    n = (unsigned)vt_min(n, MAX_FRAMES);
    for (unsigned i = 0; i < n; i++) calls[i] = pc[i] - 1;
    if (flag_symbolize)
        vt__symbols_tell(calls, n, say_frame, t);
    else
        for (unsigned i = 0; i < n; i++) say_frame(t, calls[i], NULL);
}

/* Several lines before the last: what was written, and who had freed it. */
static void say_written(const struct vt_guard_fault *f, struct vt_text *t) {
    const uintptr_t *pc = NULL;
    unsigned n_shown = 0, n_pcs = vt__depot_get(f->stack, &pc);
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
    say_stack(pc, n_pcs, t);
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

static void read_switch(const char *name, bool *flag) {
    const char *v = vt__os_getenv(name);
    if (v != NULL) *flag = vt__gperftools_is_on(v);
}

static void read_queue_bytes(void) {
    const char *v = vt__os_getenv("TCMALLOC_MAX_FREE_QUEUE_SIZE");
    int64_t n = v != NULL ? vt__gperftools_number(v) : flag_queue_bytes;
    flag_queue_bytes = n > 0 ? (int32_t)vt_min(n, INT32_MAX) : 0;
}

/* The file is begun when the first line is to be written. */
static void trace(const char *function, size_t n_bytes, const void *p) {
    static int8_t is_begun; /* 0: not yet; -1: there is nowhere to write to */
    if (is_begun == 0) is_begun = vt__debug_trace_begin() ? 1 : -1;
    if (is_begun > 0) vt__debug_trace(function, n_bytes, p);
}

void vt__debug_begin(void) {
    read_queue_bytes();
    read_switch("TCMALLOC_PAGE_FENCE", &flag_page_fence);
    read_switch("TCMALLOC_PAGE_FENCE_NEVER_RECLAIM", &flag_fence_kept);
    read_switch("TCMALLOC_PAGE_FENCE_READABLE", &flag_fence_readable);
    read_switch("TCMALLOC_RECLAIM_MEMORY", &flag_reclaim);
    read_switch("TCMALLOC_SYMBOLIZE_STACKTRACE", &flag_symbolize);
    read_switch("TCMALLOC_TRACE", &flag_trace);
    vt__guard_set(&(struct vt_guard_options){.queue_bytes = &flag_queue_bytes,
                                             .has_fence = &flag_page_fence,
                                             .keeps_fenced = &flag_fence_kept,
                                             .is_fence_readable = &flag_fence_readable,
                                             .is_reused = &flag_reclaim,
                                             .fault = say_fault,
                                             .is_traced = &flag_trace,
                                             .trace = trace});
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

bool vt__debug_has_queue(void) { return true; }

size_t vt__debug_queued_bytes(void) { return vt__guard_queued_bytes(); }

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
