/* unload.c - no table is read while the library it is in goes.
 *
 * A stack that is whole leads to libraries that are in use, and those stay. A broken one leads anywhere: to one that another
 * thread is unloading, whose tables are there when libc is asked and gone when they are read. So the two keep out of each
 * other's way:
 *
 *   a walk     n_reading + 1, then looks at n_unloading: not 0, it does without the tables of what may go
 *   dlclose    n_unloading + 1, then looks at n_reading: not 0, it waits
 *
 * A walk never waits. For rules that are in the cache no table is read, and those of the modules the program began with are
 * never gone; so what this costs is the end of a few stacks, those that meet a new address of a library that was loaded
 * later while another thread is in dlclose.
 *
 * Climate: signal, but for the two calls around dlclose: host.   Owns: the gate.   Callers: modules.c, dialect/, life/.
 * Limit:   unloads that libc does by itself (iconv, NSS, a dlopen that fails half-way) are not seen.
 */
#include "stack/impl.h"
#include "stack/upcalls.h"

#define WAIT_MS 1000 /* a table is read in microseconds, if the reader is not stopped meanwhile */

static struct {
    _Atomic uint32_t n_unloading; /* dlcloses under way */
    _Atomic uint32_t n_reading;   /* walks that read tables of libraries */
} gate;

static __thread uint32_t n_mine __attribute__((tls_model("initial-exec"))); /* of n_unloading */

bool vt__tables_hold(void) {
    /* seq_cst, both here and in vt__stack_unload_begins: one of the two sees the other's mark */
    atomic_fetch_add_explicit(&gate.n_reading, 1, memory_order_seq_cst);
    /* our own dlclose is not at it while we are here, and libc has taken off its list what is unmapped next */
    if (atomic_load_explicit(&gate.n_unloading, memory_order_seq_cst) == n_mine) return true;
    vt__tables_release();
    return false;
}

void vt__tables_release(void) {
    /* release: what was read is read; pairs with the load in vt__stack_unload_begins */
    atomic_fetch_sub_explicit(&gate.n_reading, 1, memory_order_release);
}

void vt__stack_unload_begins(void) {
    vt__loads_look();
    atomic_fetch_add_explicit(&gate.n_unloading, 1, memory_order_seq_cst);
    n_mine++; /* behind it: a handler in between must not take another thread's dlclose for ours */
    for (int ms = 0; ms < WAIT_MS; ms++) {
        uint32_t n = atomic_load_explicit(&gate.n_reading, memory_order_seq_cst);
        if (n == 0) return;
        vt__os_wait_ms(&gate.n_reading, n, 1); /* nobody wakes us: a handler would pay for it */
    }
}

void vt__stack_unload_ends(void) {
    vt__loads_look();
    vt__stack_modules_changed();
    vt__life_modules_changed();
    n_mine--;
    /* release: whoever reads tables again does not find the library in ours */
    atomic_fetch_sub_explicit(&gate.n_unloading, 1, memory_order_release);
}

void vt__tables_forget_threads(void) {
    atomic_store_explicit(&gate.n_reading, 0, memory_order_relaxed);
    atomic_store_explicit(&gate.n_unloading, n_mine, memory_order_relaxed);
}
