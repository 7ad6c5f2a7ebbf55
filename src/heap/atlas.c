/* atlas.c - which plot an address outside the window is in: a table of sheets, a sheet for each GiB of addresses, a cell for each OS
 * page. Both are mapped when memory is brought there, and stay.
 *
 * The cells of a plot's first and last page name it, and those of a short plot all. Others may name a plot that was there before:
 * who looks for the plot around an address goes back from cell to cell until one contains it. Cells of pages that nobody brought are
 * empty.
 *
 * Climate: malloc.   Owns: the atlas.   Locks: none; sheets are put in by one compare-and-swap, and so are cells when they are claimed.
 */
#include "heap/estate.h"

#include <errno.h>

#include "os/os.h"

#define ADDRESS_BITS 48
#define PAGE_SHIFT 12
#define SHEET_SHIFT 30
#define SHEET_CELLS ((size_t)1 << (SHEET_SHIFT - PAGE_SHIFT))
#define N_SHEETS ((size_t)1 << (ADDRESS_BITS - SHEET_SHIFT))
#define SHORT_PAGES 16 /* slabs have no more */

_Static_assert(VT_OS_PAGE == (size_t)1 << PAGE_SHIFT, "a cell for each OS page");

struct sheet {
    _Atomic(struct plot *) cell[SHEET_CELLS];
};

_Atomic(_Atomic(struct sheet *) *) vt__atlas;

static bool make_atlas(void) {
    void *made = NULL;
    _Atomic(struct sheet *) *none = NULL;
    if (atomic_load_explicit(&vt__atlas, memory_order_acquire) != NULL) return true;
    if (vt__os_map(N_SHEETS * sizeof(struct sheet *), &made) != 0) return false;
    /* release: that it is empty; pairs with the acquire of all who read it */
    if (!atomic_compare_exchange_strong_explicit(&vt__atlas, &none, made, memory_order_release,
                                                 memory_order_relaxed))
        (void)vt__os_unmap(made, N_SHEETS * sizeof(struct sheet *));
    return true;
}

static bool make_sheet(uintptr_t at) {
    void *made = NULL;
    struct sheet *none = NULL;
    _Atomic(struct sheet *) *place =
        &atomic_load_explicit(&vt__atlas, memory_order_acquire)[at >> SHEET_SHIFT];
    if (atomic_load_explicit(place, memory_order_acquire) != NULL) return true;
    if (vt__os_map(sizeof(struct sheet), &made) != 0) return false;
    /* release: as above */
    if (!atomic_compare_exchange_strong_explicit(place, &none, made, memory_order_release,
                                                 memory_order_relaxed))
        (void)vt__os_unmap(made, sizeof(struct sheet));
    return true;
}

/* NULL: nothing near it was ever brought. */
static _Atomic(struct plot *) *cell_of(uintptr_t at) {
    _Atomic(struct sheet *) *sheets = atomic_load_explicit(&vt__atlas, memory_order_acquire);
    if (sheets == NULL || at >> ADDRESS_BITS != 0) return NULL;
    struct sheet *s = atomic_load_explicit(&sheets[at >> SHEET_SHIFT], memory_order_acquire);
    return s != NULL ? &s->cell[(at >> PAGE_SHIFT) % SHEET_CELLS] : NULL;
}

static uintptr_t page_at(const struct plot *plot, size_t i) {
    return (uintptr_t)plot->at + i * VT_OS_PAGE;
}

struct plot *vt__atlas_find(const void *p) {
    _Atomic(struct plot *) *cell = cell_of((uintptr_t)p);
    /* acquire: its estate; pairs with put */
    return cell != NULL ? atomic_load_explicit(cell, memory_order_acquire) : NULL;
}

static void put(uintptr_t at, struct plot *plot) {
    /* release: whoever finds the plot may look at its estate, and lock it */
    atomic_store_explicit(cell_of(at), plot, memory_order_release);
}

static void clear(const struct plot *plot, size_t n_pages) {
    for (size_t i = 0; i < n_pages; i++) put(page_at(plot, i), NULL);
}

int vt__atlas_claim(struct plot *plot) {
    if (page_at(plot, plot->n_pages) >> ADDRESS_BITS != 0) return -EEXIST;
    if (!make_atlas()) return -ENOMEM;
    for (size_t i = 0; i < plot->n_pages; i++) {
        struct plot *none = NULL;
        uintptr_t at = page_at(plot, i);
        int err = make_sheet(at) ? 0 : -ENOMEM;
        /* release: as in put */
        if (err == 0 && !atomic_compare_exchange_strong_explicit(
                            cell_of(at), &none, plot, memory_order_release, memory_order_relaxed))
            err = -EEXIST;
        if (err == 0) continue;
        clear(plot, i);
        return err;
    }
    return 0;
}

void vt__atlas_clear(const struct plot *plot) { clear(plot, plot->n_pages); }

void vt__atlas_set(struct plot *plot) {
    if (plot->n_pages <= SHORT_PAGES)
        for (size_t i = 0; i < plot->n_pages; i++) put(page_at(plot, i), plot);
    put(page_at(plot, 0), plot);
    put(page_at(plot, plot->n_pages - 1), plot);
}
