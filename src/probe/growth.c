/* growth.c - where the heap took address space from the system, by stack. Never decreases.
 *
 * Climate: malloc.   Owns: the table.   Locks: none of its own: the heap calls under its pool lock, the readers copy rows that
 * only ever grow. Limit: GROWTHS stacks; what comes later is added to the last.
 */
#include <stdatomic.h>

#include "heap/heap.h"
#include "heap/upcalls.h"
#include "probe/probe.h"
#include "stack/stack.h"

#define GROWTHS 1024

static _Atomic bool asks_for_dumps;

static struct {
    struct vt_frames frames; /* before the rows, of which few are used */
    _Atomic uint32_t n;
    struct {
        _Atomic uint32_t stack;
        _Atomic uint64_t n, n_bytes;
    } row[GROWTHS];
} growth;

void vt__probe_grown(size_t n_bytes) {
    uint32_t stack = vt__stack_id_here(&growth.frames, NULL);
    uint32_t n = atomic_load_explicit(&growth.n, memory_order_relaxed), i = 0;
    while (i < n && atomic_load_explicit(&growth.row[i].stack, memory_order_relaxed) != stack) i++;
    if (i == GROWTHS) i--;
    atomic_store_explicit(&growth.row[i].stack, stack, memory_order_relaxed);
    atomic_fetch_add_explicit(&growth.row[i].n, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&growth.row[i].n_bytes, n_bytes, memory_order_relaxed);
    /* release: a reader that sees the row counted sees what is in it */
    if (i == n) atomic_store_explicit(&growth.n, n + 1, memory_order_release);
    if (!atomic_load_explicit(&asks_for_dumps, memory_order_relaxed)) return;
    atomic_store_explicit(&vt__dump_cause, VT_CAUSE_INUSE, memory_order_relaxed);
    atomic_store_explicit(&vt__dump_is_wanted, true, memory_order_relaxed);
}

void vt__growth_asks_for_dumps(bool on) {
    atomic_store_explicit(&asks_for_dumps, on, memory_order_relaxed);
}

bool vt__growth_next(uint32_t *cursor, struct vt_growth *out) {
    if (*cursor >= atomic_load_explicit(&growth.n, memory_order_acquire)) return false;
    uint32_t i = (*cursor)++;
    out->stack = atomic_load_explicit(&growth.row[i].stack, memory_order_relaxed);
    out->n = atomic_load_explicit(&growth.row[i].n, memory_order_relaxed);
    out->n_bytes = atomic_load_explicit(&growth.row[i].n_bytes, memory_order_relaxed);
    return true;
}

uint64_t vt__growth_count(void) {
    struct vt_growth g;
    uint64_t n = 0;
    for (uint32_t cursor = 0; vt__growth_next(&cursor, &g);) n += g.n;
    return n;
}
