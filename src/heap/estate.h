/* estate.h - memory that the program brought, outside the window: what atlas.c, estate.c and holding.c share.
 *
 *   estate   what some heaps take from: memory given once (mimalloc's arenas), or asked for when there is no more (jemalloc's)
 *   grant    one range of an estate, as the program gave it
 *   plot     OS pages in a row of one grant: free, a slab of blocks of one class, or a run that is one block
 *   holding  the plots that one heap of own.c has in an estate
 *   atlas    which plot an address is in
 *
 *   grant  |<- slab ->|<------ run ------>|<----- free ----->|<- slab ->|<--------- free --------->|
 *   atlas   p  p  p    p   .  .  .  .  p   p  .  .  .  .   p   p  p  p    p  .  .  .  .  .  .  .  p
 *
 * Whatever is known of blocks is in their plot, and nothing in them: memory of the program's own may be shared with another process,
 * or lie in a device. A plot's descriptor is used again, in the same estate, and never unmapped: who found one by an address may
 * lock its estate, and look again.
 *
 * Climate: malloc.
 */
#ifndef VT_HEAP_ESTATE_H
#define VT_HEAP_ESTATE_H

#include <stdatomic.h>

#include "base/lock.h"
#include "heap/heap.h"

VT_HIDDEN_BEGIN

#define VT_PLOT_MAX_BLOCKS 512 /* as vt_own_area has bits for */

struct grant {
    char *at;
    size_t n_pages;
    size_t n_held; /* pages that did not go back; the others are holes in it */
    struct grant *next;
};

enum plot_kind {
    PLOT_FREE,
    PLOT_HELD, /* nobody's, but not free: the source is asked about it, or will be */
    PLOT_SLAB,
    PLOT_RUN
};

/* All under the estate's lock. */
struct plot {
    struct vt_estate *estate; /* constant */
    struct grant *grant;
    char *at;
    size_t n_pages;
    uint8_t kind;             /* enum plot_kind */
    bool is_zero;             /* what was not handed out since it was free reads as zero */
    bool is_purged;           /* FREE: the program was asked to take its pages back */
    bool is_refused;          /* FREE: it was offered, and not taken; until it is used again */
    bool is_whole;            /* FREE: the source does not let it be cut, or used */
    bool is_uncommitted;      /* FREE: the source must commit it before use */
    struct plot *next, *prev; /* FREE: the estate's bin. SLAB, RUN: a list of the holding */
    /* SLAB, RUN */
    struct vt_holding *holding; /* NULL: its heap was deleted; it goes with its last block */
    size_t block_bytes;
    uint32_t skipped; /* RUN: bytes before the block */
    uint32_t capacity, n_carved, n_used;
    uint32_t n_sampled; /* read without the lock, too */
    uint64_t is_used[VT_PLOT_MAX_BLOCKS / 64];
};

/* atlas.c. Cells change under the lock of the estate that has them; anybody reads. */
struct sheet;
extern _Atomic(_Atomic(struct sheet *) *) vt__atlas; /* NULL: nobody ever brought anything */
/* A plot of the grant around p: the one p is in, if that is a slab, or p is in its first page. NULL: nobody brought it. */
struct plot *vt__atlas_find(const void *p);
/* All of its pages. 0, or -EEXIST: some are somebody's, or nobody can have them; or -ENOMEM. */
int vt__atlas_claim(struct plot *plot);
void vt__atlas_clear(const struct plot *plot);
void vt__atlas_set(struct plot *plot); /* it was cut, or joined with another */

VT_INLINE bool vt__is_brought(const void *p) {
    /* acquire: pairs with the release in atlas.c */
    return atomic_load_explicit(&vt__atlas, memory_order_acquire) != NULL &&
           vt__atlas_find(p) != NULL;
}

/* estate.c */
void vt__estates_fork_prepare(void);
void vt__estates_fork_done(bool is_child);
void vt__estate_lock(struct vt_estate *e);
void vt__estate_unlock(struct vt_estate *e);
/* Under the lock. `align` in bytes, a power of two. NULL: there is no such place. */
struct plot *vt__estate_take(struct vt_estate *e, size_t n_pages, size_t align);
void vt__estate_give(struct vt_estate *e, struct plot *plot);
/* A plot gets shorter, or longer at the cost of a free one behind it; false: it stays as it was. With a source, not under the lock
 * and not entered. */
bool vt__estate_resize(struct vt_estate *e, struct plot *plot, size_t n_pages);
bool vt__estate_has_source(const struct vt_estate *e);
/* With no lock held, and not entered. Where there is a source, a take finds only what was cut for it. */
bool vt__estate_cut(struct vt_estate *e, size_t n_pages, size_t align);  /* false: it cannot */
bool vt__estate_grow(struct vt_estate *e, size_t n_pages, size_t align); /* false: no more memory */
void vt__estate_settle(struct vt_estate *e); /* after a give: what need not stay goes back */

/* holding.c. All of it entered, but for vt__brought_usable and what heap.h has. */
struct vt_wish {
    size_t block_bytes, align, skipped;
    unsigned cls; /* VT_CLASS_NONE: a run */
    bool zero;    /* all of the block */
    bool is_sampled;
};
struct vt_holding *vt__holding_new(void); /* NULL: no memory */
void vt__holding_begin(struct vt_holding *ho, struct vt_own *own, struct vt_estate *e);
bool vt__holding_is_in(const struct vt_holding *ho, const struct vt_estate *e);
void *vt__holding_take(struct vt_holding *ho, const struct vt_wish *w);
size_t vt__wish_pages(const struct vt_wish *w);    /* what it takes */
void vt__holding_free_all(struct vt_holding *ho);  /* every block of it */
void vt__holding_leave_all(struct vt_holding *ho); /* they stay, and are nobody's */
bool vt__holding_area(struct vt_holding *ho, size_t *n, struct vt_own_area *out);
void vt__holding_stats(struct vt_holding *ho, struct vt_own_stats *out,
                       void (*visit_run)(void *arg, size_t n_bytes), void *arg);

/* Of the block at p, which must be one: else the process ends, as with any bad free. */
size_t vt__brought_free(void *p, struct vt_estate **estate); /* answers its size */
size_t vt__brought_usable(const void *p);
bool vt__brought_resize(void *p, size_t n_bytes); /* where it is; false: as it was; not entered */

VT_HIDDEN_END

#endif
