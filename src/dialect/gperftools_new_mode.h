/* gperftools_new_mode.h - what a malloc that fails does by tc_set_new_mode: gperftools_new_mode.c. Climate: malloc. */
#ifndef VT_DIALECT_GPERFTOOLS_NEW_MODE_H
#define VT_DIALECT_GPERFTOOLS_NEW_MODE_H

#include "base/base.h"

VT_HIDDEN_BEGIN

/* Is it worth trying again? Not if malloc is not to ask the new-handler, or that did not help. */
bool vt__new_mode_helped(void);

/* The heap's functions, which try for as long as that helps: gperftools_no_debug.c. The first is vt__malloc_slow itself while
 * malloc does not ask. */
extern void *(*vt__tc_malloc_slow)(size_t n_bytes);
void *vt__tc_aligned_alloc(size_t align, size_t n_bytes);
void *vt__tc_calloc(size_t n, size_t each_bytes);
void *vt__tc_realloc(void *p, size_t n_bytes);

/* Of this library's blocks, in one try: gperftools_debug.c or gperftools_no_debug.c. */
void *vt__debug_alloc_once(size_t n_bytes);
void vt__debug_mode_changed(bool asks);

VT_HIDDEN_END

#endif
