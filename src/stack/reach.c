/* reach.c - what a walk may read without a fault.
 *
 * A walk follows numbers that may be damage. Before it reads where it has not been, it asks the kernel, one system call per
 * OS page (vt__os_is_readable). Answers are believed during the walk: a stack that is in use stays mapped. They are not kept
 * any longer, because a coroutine's stack may be unmapped between two walks, except for the thread's own stack, the base:
 *
 *            base_lo                       base_hi
 *   guard    |  sp of the deepest walk so far       |  first frame    | the thread's control block, or the
 *                                                                       kernel's arguments: known to be there
 *
 * Climate: signal.   Owns: nothing.   Callers: unwind.c, full.c.
 */
#include <sys/auxv.h>

#include "stack/impl.h"

#define MAX_ASKED 600   /* per walk: 250 frames touch no more OS pages than that in earnest */
#define MAX_EXTENDED 64 /* OS pages that one walk adds to the base */
#define MAX_BASE_BYTES MiB(64) /* farther from its end nothing is taken for the same stack */

bool vt__reach_ask(struct vt_reach *r, uintptr_t at) {
    uintptr_t page = vt_round_down(at, VT_OS_PAGE);
    r->is_outside = true;
    if (at - r->lo < r->hi - r->lo) return true;
    if (page == 0 || at > VT_PC_MASK || ++r->n_asked > MAX_ASKED) return false;
    if (!vt__os_is_readable((const void *)page)) return false;
    if (page == r->hi) {
        r->hi += VT_OS_PAGE;
    } else if (page + VT_OS_PAGE == r->lo) {
        r->lo = page;
    } else {
        r->lo = page;
        r->hi = page + VT_OS_PAGE;
    }
    return true;
}

/* The kernel puts no mapping nearer than this below the first thread's stack. Told by the address: to ask for the thread's id
 * would be a system call, which a filter may forbid. */
#define FIRST_STACK_BYTES MiB(64)

/* The end of the calling thread's stack. libc keeps a thread's control block, which the thread pointer leads to, right
 * above its stack; above the first thread's stack are the kernel's gifts to the program. */
void vt__reach_find_base(struct vt_reach *r, uintptr_t sp) {
    uintptr_t gifts = getauxval(AT_RANDOM);
    bool is_first = gifts - sp < FIRST_STACK_BYTES;
    uintptr_t end = is_first ? gifts : vt__arch_thread_pointer();
    r->base_hi = end;
    r->base_lo = vt_round_down(end, VT_OS_PAGE);
}

/* Keeps base_lo <= every address of the base that was asked for, without holes. */
void vt__reach_extend_base(struct vt_reach *r, uintptr_t sp) {
    if (sp >= r->base_lo || r->base_hi - sp > MAX_BASE_BYTES) return;
    for (unsigned i = 0; i < MAX_EXTENDED && r->base_lo > sp; i++) {
        uintptr_t page = r->base_lo - VT_OS_PAGE;
        if (!vt__os_is_readable((const void *)page)) return; /* sp is on another stack */
        r->base_lo = page;
    }
}
