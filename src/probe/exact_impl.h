/* exact_impl.h - what the files of exact mode share. Climate: malloc.
 *
 *   exact.c          what the heap tells: tables, notes, the peak
 *   exact_places.c   stacks with labels, and of other threads' blocks
 *   exact_read.c     sums over all tables
 */
#ifndef VT_PROBE_EXACT_IMPL_H
#define VT_PROBE_EXACT_IMPL_H

#include "probe/exact.h"
#include "probe/impl.h"
#include "stack/stack.h"

VT_HIDDEN_BEGIN

/* A place is a stack's id, or a number above all of these: a stack with labels, or one whose block another thread allocated. */
#define VT_EXACT_PLACES (1u << 18)
#define VT_EXACT_BLOCKS ((VT_STACK_MAX_ID + VT_EXACT_PLACES) / VT_BLOCK_ROWS + 1)
#define VT_EXACT_NOBODY UINT32_MAX /* the thread of those that have no heap */

struct
    vt_exact_block { /* of a table: sums of so many places; struct vt_box_exact_row says what they are */
    struct vt_box_exact_row row[VT_BLOCK_ROWS];
    struct vt_box_exact_peak peak[VT_BLOCK_ROWS];
};

/* By age, in blocks as above. Only while ages are asked for. */
struct vt_exact_ages {
    struct vt_exact_counts *_Atomic block[VT_EXACT_BLOCKS];
};

/* A thread's sums: rows by place, in blocks that are made as places in them are met. */
struct vt_exact_table {
    /* as in struct vt_box_exact */
    struct vt_exact_table *next;
    int64_t untold_alloc, untold_live;
    uint32_t thread; /* whose it is; NOBODY: under the lock */
    /* its thread's alone */
    uint32_t n_allocated;
    int64_t peak_room; /* more than this in untold_live is a new peak */
    int64_t live_step; /* more than this in untold_live, up or down, is told */
    struct vt_exact_late {
        uint32_t stack, label, thread, place;
    } late[64];                           /* places of late */
    _Atomic(struct vt_exact_ages *) ages; /* NULL: none yet */
    struct vt_frames frames;              /* too large for the stack of whoever mallocs */
    _Atomic(void *) block[VT_EXACT_BLOCKS];
};

/* exact_places.c. `thread` 0: the block is the table's own thread's. */
uint32_t vt__exact_find_place(struct vt_exact_late *late, uint32_t stack, uint32_t label,
                              uint32_t thread, bool has_lock);
void vt__exact_place(uint32_t place, uint32_t *stack, uint32_t *label, uint32_t *thread);
/* With the lock, for readers: 0: there is none. */
uint32_t vt__exact_known_place(uint32_t stack, uint32_t label, uint32_t thread);
uint32_t vt__exact_places(void);                   /* so many are above the stacks */
uint32_t vt__exact_place_of_stack(uint32_t stack); /* the first of them; 0: none */
uint32_t vt__exact_place_after(uint32_t place);    /* the next of the same stack; 0: none */

/* exact.c */
const struct vt_exact_table *vt__exact_tables(void); /* with the lock */
uint32_t vt__exact_run(void);
uint32_t vt__exact_peak_number(void);

VT_HIDDEN_END

#endif
