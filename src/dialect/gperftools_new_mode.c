/* gperftools_new_mode.c - tc_set_new_mode(1): a malloc that fails calls the program's new-handler and tries again, for as long as
 * there is one that returns; then it is NULL. operator new does so in any mode, and throws.
 *
 * Climate: malloc, but for the handler.   Owns: the mode.
 */
#include "dialect/gperftools_new_mode.h"

#include <stdatomic.h>

#include "dialect/cxx.h"

static _Atomic int new_mode;

bool vt__new_mode_helped(void) {
    return atomic_load_explicit(&new_mode, memory_order_relaxed) != 0 && vt__new_handler_helped();
}

VT_EXPORT int tc_set_new_mode(int flag);
VT_EXPORT int tc_set_new_mode(int flag) {
    int before = atomic_exchange(&new_mode, flag);
    vt__debug_mode_changed(flag != 0);
    return before;
}

VT_EXPORT int tc_query_new_mode(void);
VT_EXPORT int tc_query_new_mode(void) { return atomic_load(&new_mode); }

VT_EXPORT void *tc_malloc_skip_new_handler(size_t n_bytes);
VT_EXPORT void *tc_malloc_skip_new_handler(size_t n_bytes) { return vt__debug_alloc_once(n_bytes); }
