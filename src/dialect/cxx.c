/* cxx.c - operator new and operator delete, from C, by their mangled names. No C++ run-time library is needed: what
 * failing takes of it is referred to weakly, and is there in every program that can see the failure.
 *
 * Out of memory: call the new-handler and try again for as long as there is one; then throw std::bad_alloc, or return NULL
 * from the nothrow forms. A library's door may have another way (vt_door.new_fails). Compiled with -fexceptions, because a handler may throw through us.
 *
 * Climate: malloc, but for failing.
 */
#include <stdlib.h>

#include "dialect/blocks.h"
#include "dialect/cxx.h"
#include "life/upcalls.h"
#include "os/os.h"

#define OF_CXX __attribute__((weak))

typedef void (*new_handler)(void);
extern new_handler std_get_new_handler(void) __asm__("_ZSt15get_new_handlerv") OF_CXX;
extern void std_throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv") OF_CXX;
extern void *cxa_allocate_exception(size_t n_bytes) __asm__("__cxa_allocate_exception") OF_CXX;
extern void cxa_throw(void *exception, void *type,
                      void (*destroy)(void *)) __asm__("__cxa_throw") OF_CXX;
extern const char bad_alloc_typeinfo[] __asm__("_ZTISt9bad_alloc") OF_CXX;
extern const char bad_alloc_vtable[] __asm__("_ZTVSt9bad_alloc") OF_CXX;
extern void bad_alloc_destroy(void *exception) __asm__("_ZNSt9bad_allocD1Ev") OF_CXX;

/* A static program that knows only operator new must get the malloc family from us as well, or it would have two heaps. */
__attribute__((used)) static void *(*const whole_family)(size_t) = malloc;

/* Calls f; true when it threw, and the exception ends here. C has no catch: cxx_catch.S. */
bool vt__call_catching(void (*f)(void));

static void *try_alloc(size_t n_bytes, size_t align, enum vt_made_by by) {
    return align <= VT_BLOCK_ALIGN ? block_alloc(n_bytes, by) : block_aligned(align, n_bytes, by);
}

static bool is_refused_otherwise(size_t n_bytes) {
    return vt__door.new_fails != NULL && vt__door.new_fails(n_bytes);
}

static new_handler handler_now(void) {
    return std_get_new_handler != NULL ? std_get_new_handler() : NULL;
}

/* libstdc++ has a function for it; a static program may lack that one and yet have what it takes to throw by hand. One that
 * has neither cannot catch it. */
VT_NORETURN static void throw_bad_alloc(void) {
    if (std_throw_bad_alloc != NULL) std_throw_bad_alloc();
    if (cxa_allocate_exception != NULL && cxa_throw != NULL && bad_alloc_typeinfo != NULL &&
        bad_alloc_vtable != NULL) {
        void **exception = cxa_allocate_exception(sizeof(void *));
        *exception = (char *)bad_alloc_vtable + 2 * sizeof(void *);
        cxa_throw(exception, (void *)bad_alloc_typeinfo, bad_alloc_destroy);
    }
    static const char line[] =
        "vitrine: error: operator new: out of memory, and nothing here can throw std::bad_alloc\n";
    vt__os_write(2, line, sizeof(line) - 1);
    vt__os_abort();
}

VT_COLD static void *alloc_or_throw(size_t n_bytes, size_t align, enum vt_made_by by) {
    for (;;) {
        void *p = try_alloc(n_bytes, align, by);
        if (p != NULL || is_refused_otherwise(n_bytes)) return p;
        new_handler handler = handler_now();
        if (handler == NULL) break;
        handler(); /* frees something, installs another handler, or throws */
    }
    throw_bad_alloc();
}

bool vt__new_handler_helped(void) {
    new_handler handler = handler_now();
    return handler != NULL && !vt__call_catching(handler);
}

/* A nothrow new must not let the handler's exception out. */
VT_COLD static void *alloc_or_null(size_t n_bytes, size_t align, enum vt_made_by by) {
    for (;;) {
        void *p = try_alloc(n_bytes, align, by);
        if (p != NULL || is_refused_otherwise(n_bytes)) return p;
        if (!vt__new_handler_helped()) return NULL;
    }
}

VT_INLINE void *new_throwing(size_t n_bytes, enum vt_made_by by) {
    void *p = block_alloc(n_bytes, by);
    return vt_likely(p != NULL) ? p : alloc_or_throw(n_bytes, VT_BLOCK_ALIGN, by);
}

VT_INLINE void *new_nothrow(size_t n_bytes, enum vt_made_by by) {
    void *p = block_alloc(n_bytes, by);
    return vt_likely(p != NULL) ? p : alloc_or_null(n_bytes, VT_BLOCK_ALIGN, by);
}

VT_INLINE void *new_aligned(size_t n_bytes, size_t align, enum vt_made_by by) {
    void *p = block_aligned(align, n_bytes, by);
    return vt_likely(p != NULL) ? p : alloc_or_throw(n_bytes, align, by);
}

VT_INLINE void *new_aligned_nothrow(size_t n_bytes, size_t align, enum vt_made_by by) {
    void *p = block_aligned(align, n_bytes, by);
    return vt_likely(p != NULL) ? p : alloc_or_null(n_bytes, align, by);
}

#define ONE VT_MADE_BY_NEW
#define ARRAY VT_MADE_BY_NEW_ARRAY

/* One row per operator: C name, mangled name, parameters, body. `nt` is const std::nothrow_t &. */
#define OPERATOR(result, name, mangled, params, body)                                              \
    VT_EXPORT result name params __asm__(mangled);                                                 \
    VT_EXPORT result name params body

#define NEW(name, mangled, params, call) OPERATOR(void *, name, mangled, params, { return call; })
#define DELETE(name, mangled, params, call) OPERATOR(void, name, mangled, params, { call; })

/* clang-format off */
NEW(vt_new,              "_Znwm",                               (size_t n), new_throwing(n, ONE))
NEW(vt_new_array,        "_Znam",                               (size_t n), new_throwing(n, ARRAY))
NEW(vt_new_nt,           "_ZnwmRKSt9nothrow_t",                 (size_t n, VT_UNUSED const void *nt), new_nothrow(n, ONE))
NEW(vt_new_array_nt,     "_ZnamRKSt9nothrow_t",                 (size_t n, VT_UNUSED const void *nt), new_nothrow(n, ARRAY))
NEW(vt_new_al,           "_ZnwmSt11align_val_t",                (size_t n, size_t al), new_aligned(n, al, ONE))
NEW(vt_new_array_al,     "_ZnamSt11align_val_t",                (size_t n, size_t al), new_aligned(n, al, ARRAY))
NEW(vt_new_al_nt,        "_ZnwmSt11align_val_tRKSt9nothrow_t",  (size_t n, size_t al, VT_UNUSED const void *nt), new_aligned_nothrow(n, al, ONE))
NEW(vt_new_array_al_nt,  "_ZnamSt11align_val_tRKSt9nothrow_t",  (size_t n, size_t al, VT_UNUSED const void *nt), new_aligned_nothrow(n, al, ARRAY))
DELETE(vt_del,             "_ZdlPv",                              (void *p), block_free(p, ONE))
DELETE(vt_del_array,       "_ZdaPv",                              (void *p), block_free(p, ARRAY))
DELETE(vt_del_nt,          "_ZdlPvRKSt9nothrow_t",                (void *p, VT_UNUSED const void *nt), block_free(p, ONE))
DELETE(vt_del_array_nt,    "_ZdaPvRKSt9nothrow_t",                (void *p, VT_UNUSED const void *nt), block_free(p, ARRAY))
DELETE(vt_del_sz,          "_ZdlPvm",                             (void *p, size_t n), block_free_sized(p, 1, n, ONE))
DELETE(vt_del_array_sz,    "_ZdaPvm",                             (void *p, size_t n), block_free_sized(p, 1, n, ARRAY))
DELETE(vt_del_al,          "_ZdlPvSt11align_val_t",               (void *p, VT_UNUSED size_t al), block_free(p, ONE))
DELETE(vt_del_array_al,    "_ZdaPvSt11align_val_t",               (void *p, VT_UNUSED size_t al), block_free(p, ARRAY))
DELETE(vt_del_al_nt,       "_ZdlPvSt11align_val_tRKSt9nothrow_t", (void *p, VT_UNUSED size_t al, VT_UNUSED const void *nt), block_free(p, ONE))
DELETE(vt_del_array_al_nt, "_ZdaPvSt11align_val_tRKSt9nothrow_t", (void *p, VT_UNUSED size_t al, VT_UNUSED const void *nt), block_free(p, ARRAY))
DELETE(vt_del_sz_al,       "_ZdlPvmSt11align_val_t",              (void *p, size_t n, VT_UNUSED size_t al), block_free_sized(p, al, n, ONE))
DELETE(vt_del_array_sz_al, "_ZdaPvmSt11align_val_t",              (void *p, size_t n, VT_UNUSED size_t al), block_free_sized(p, al, n, ARRAY))
