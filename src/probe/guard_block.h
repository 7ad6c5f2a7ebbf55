/* guard_block.h - blocks with something around them: mistakes of the program are found where they are made, or soon after.
 *
 *     base                      p                            p + n_bytes
 *      | 32 bytes of a pattern  | n_bytes, 0xab when fresh    | 16 bytes of the pattern |
 *
 * A freed block is filled with 0xcd and waits in a queue; when it leaves, and at the end, it must be as it was. What is known of a
 * block is kept elsewhere, by its address. One lock for all: this is for finding mistakes, not for speed.
 *
 * Climate: malloc.   Callers: dialect/blocks_guarded.h, dialect/gperftools_debug.c.
 */
#ifndef VT_PROBE_GUARD_BLOCK_H
#define VT_PROBE_GUARD_BLOCK_H

#include "base/base.h"
#include "base/made_by.h"

VT_HIDDEN_BEGIN

enum vt_fault {
    VT_FAULT_FREED_BEFORE,
    VT_FAULT_NEVER_MADE,
    VT_FAULT_BEFORE, /* something was written before the block */
    VT_FAULT_AFTER,
    VT_FAULT_MISMATCH,
    VT_FAULT_SIZE,   /* not the size that delete was told */
    VT_FAULT_WRITTEN /* after it was freed */
};
struct vt_guard_fault {
    enum vt_fault fault;
    const void *p;
    enum vt_made_by made_by, freed_by;
    const unsigned char *base; /* with what is around it */
    size_t block_bytes;
    uint32_t stack;   /* of who freed it */
    uintptr_t thread; /* and which thread that was */
};

#define VT_FREED_BYTE 0xcd

struct vt_guard_options {
    /* Where these are kept: the program may change them while it runs, and they hold from the next block on. */
    const int32_t *queue_bytes;
    const bool *has_fence, *keeps_fenced,
        *is_fence_readable;                            /* each ends at a page without access */
    const bool *is_reused;                             /* no: what was freed stays as it is */
    void (*fault)(const struct vt_guard_fault *fault); /* does not return */
    /* Hears of each block that was made ("malloc", "realloc") or freed ("free"; of NULL too), while it is asked to. */
    const bool *is_traced;
    void (*trace)(const char *what, size_t n_bytes, const void *p);
};
void vt__guard_set(const struct vt_guard_options *options); /* before the first block */
struct vt_heap_hooks;
void vt__guard_set_hooks(
    const struct vt_heap_hooks *hooks); /* as vt__heap_set_hooks, of these blocks */

#define VT_SIZE_NOT_SAID SIZE_MAX
void *vt__guard_alloc(size_t align, size_t n_bytes, enum vt_made_by by); /* align: a power of two */
void *vt__guard_calloc(size_t n, size_t each_bytes);
void *vt__guard_realloc(void *p, size_t n_bytes);
void vt__guard_free(void *p, enum vt_made_by by, size_t n_bytes);
size_t vt__guard_size(const void *p); /* as asked for; 0 for NULL */

void vt__guard_check(const void *p, enum vt_made_by by);
void vt__guard_check_all(void);
void vt__guard_check_queue(void);
size_t vt__guard_queued_bytes(void); /* of the heap, in freed blocks that wait; walks over them */
void vt__guard_visit(void (*visit)(size_t n_bytes, void *arg), void *arg); /* what is in use */

VT_HIDDEN_END

#endif
