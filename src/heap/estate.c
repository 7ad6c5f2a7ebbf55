/* estate.c - memory that the program brought: grants, and the plots they are cut into.
 *
 * Free plots are in bins by their length, and no two of one grant lie side by side. An estate with a source asks it
 * for another grant when there is no room; one grant that is wholly free stays as a spare, others are offered to the source, and
 * stay if it does not want them. The source is the program's: it is called with no lock held, and may come back to us.
 *
 * Climate: malloc.   Owns: estates, grants, and plots that are free. None is ever unmapped.   Locks: estate (16, by its number).
 */
#include "heap/estate.h"

#include <errno.h>

#include "heap/impl.h"
#include "heap/upcalls.h"
#include "os/os.h"

#define EXACT_PAGES 32 /* a bin for each length up to here, then one for each doubling */
#define N_BINS (EXACT_PAGES + 31)
#define GROW_MIN_BYTES MiB(2) /* a grant that is asked for has no less, */
#define GROW_SHIFT 3          /* and an eighth of what there is */

struct vt_estate {
    struct vt_lock *lock;
    const struct vt_source *source; /* NULL: there is what was given */
    void *arg;
    /* under the lock */
    size_t n_pages, n_free_pages;
    struct grant *grants;
    struct grant *spare; /* wholly free; NULL: none is */
    _Atomic(struct grant *) leaving;
    struct plot *bins[N_BINS];
    struct plot *unused_plots; /* a list through `next` */
    struct grant *unused_grants;
};

#define N_LOCKS (VT_LOCK_ESTATE_LAST - VT_LOCK_ESTATE + 1)
static struct vt_lock locks[N_LOCKS] = {
    VT_LOCK_INIT_FOUR(VT_LOCK_ESTATE), VT_LOCK_INIT_FOUR(VT_LOCK_ESTATE + 4),
    VT_LOCK_INIT_FOUR(VT_LOCK_ESTATE + 8), VT_LOCK_INIT_FOUR(VT_LOCK_ESTATE + 12)};
static _Atomic unsigned n_estates;

void vt__estates_fork_prepare(void) {
    for (unsigned i = 0; i < N_LOCKS; i++) vt_lock(&locks[i]);
}

void vt__estates_fork_done(bool is_child) {
    for (unsigned i = N_LOCKS; i-- > 0;) vt_lock_forked(&locks[i], is_child);
}

void vt__estate_lock(struct vt_estate *e) { vt_lock(e->lock); }
void vt__estate_unlock(struct vt_estate *e) { vt_unlock(e->lock); }

struct vt_estate *vt__estate_new(const struct vt_source *source, void *arg) {
    if (vt__life_start() != 0) return NULL;
    struct vt_estate *e = vt__arena_take(sizeof(*e), VT_CACHE_LINE);
    if (e == NULL) return NULL;
    e->lock = &locks[atomic_fetch_add_explicit(&n_estates, 1, memory_order_relaxed) % N_LOCKS];
    e->source = source;
    e->arg = arg;
    return e;
}

/* ---- free plots ---- */

static unsigned bin_number(size_t n_pages) {
    return (unsigned)(n_pages < EXACT_PAGES ? n_pages
                                            : EXACT_PAGES + vt_log2(n_pages / EXACT_PAGES));
}

static struct plot **bin_of(struct vt_estate *e, const struct plot *plot) {
    return &e->bins[bin_number(plot->n_pages)];
}

static void bin_remove(struct vt_estate *e, struct plot *plot) {
    if (plot->prev != NULL)
        plot->prev->next = plot->next;
    else
        *bin_of(e, plot) = plot->next;
    if (plot->next != NULL) plot->next->prev = plot->prev;
}

static void bin_put(struct vt_estate *e, struct plot *plot) {
    struct plot **bin = bin_of(e, plot);
    plot->kind = PLOT_FREE;
    plot->prev = NULL;
    plot->next = *bin;
    if (*bin != NULL) (*bin)->prev = plot;
    *bin = plot;
    vt__atlas_set(plot);
}

static void forget_plot(struct vt_estate *e, struct plot *plot) {
    plot->n_pages = 0; /* it contains nothing, whatever old cells say */
    plot->next = e->unused_plots;
    e->unused_plots = plot;
}

/* Descriptors are made before anything is cut. */
static bool has_plots(struct vt_estate *e, unsigned n) {
    const struct plot *have = e->unused_plots;
    for (; have != NULL && n > 0; n--) have = have->next;
    for (; n > 0; n--) {
        struct plot *made = vt__arena_take(sizeof(*made), VT_CACHE_LINE);
        if (made == NULL) return false;
        made->estate = e;
        forget_plot(e, made);
    }
    return true;
}

static struct plot *unused_plot(struct vt_estate *e) {
    struct plot *plot = e->unused_plots;
    e->unused_plots = plot->next;
    return plot;
}

/* The part behind n_pages becomes another plot, in no bin; both have to be set in the atlas. */
static struct plot *cut(struct vt_estate *e, struct plot *plot, size_t n_pages) {
    struct plot *rest = unused_plot(e);
    rest->grant = plot->grant;
    rest->at = plot->at + n_pages * VT_OS_PAGE;
    rest->n_pages = plot->n_pages - n_pages;
    rest->is_zero = plot->is_zero;
    rest->is_purged = plot->is_purged;
    plot->n_pages = n_pages;
    return rest;
}

static bool fits(const struct plot *plot, size_t n_pages, size_t align, size_t *before) {
    *before = (vt_round_up((uintptr_t)plot->at, align) - (uintptr_t)plot->at) / VT_OS_PAGE;
    return *before < plot->n_pages && n_pages <= plot->n_pages - *before;
}

static struct plot *find(struct vt_estate *e, size_t n_pages, size_t align, size_t *before) {
    for (unsigned i = bin_number(n_pages); i < N_BINS; i++)
        for (struct plot *plot = e->bins[i]; plot != NULL; plot = plot->next)
            if (fits(plot, n_pages, align, before)) return plot;
    return NULL;
}

static void note_used(struct vt_estate *e, struct grant *g) {
    g->is_refused = false;
    if (e->spare == g) e->spare = NULL;
}

struct plot *vt__estate_take(struct vt_estate *e, size_t n_pages, size_t align) {
    size_t before;
    struct plot *plot = find(e, n_pages, align, &before);
    if (plot == NULL || !has_plots(e, 2)) return NULL;
    bin_remove(e, plot);
    note_used(e, plot->grant);
    if (before > 0) {
        struct plot *front = plot;
        plot = cut(e, front, before);
        bin_put(e, front);
    }
    if (plot->n_pages > n_pages) bin_put(e, cut(e, plot, n_pages));
    plot->kind = PLOT_HELD;
    e->n_free_pages -= n_pages;
    vt__atlas_set(plot);
    return plot;
}

/* The free plot of the same grant whose last, or first, page this is; NULL: what is there is not free, or not the grant's. */
static struct plot *free_beside(const struct plot *plot, const char *page) {
    const struct grant *g = plot->grant;
    if (page < g->at || page >= g->at + g->n_pages * VT_OS_PAGE) return NULL;
    struct plot *other = vt__atlas_find(page); /* the cells of both ends of a plot name it */
    VT_ASSERT(other->at == page || other->at + (other->n_pages - 1) * VT_OS_PAGE == page);
    return other->kind == PLOT_FREE ? other : NULL;
}

/* `low` grows by what is behind it; neither is in a bin. */
static void join(struct vt_estate *e, struct plot *low, struct plot *high) {
    low->n_pages += high->n_pages;
    low->is_zero &= high->is_zero;
    low->is_purged &= high->is_purged;
    forget_plot(e, high);
}

static void retire(struct vt_estate *e, struct grant *g);

static void give(struct vt_estate *e, struct plot *plot) {
    char *end = plot->at + plot->n_pages * VT_OS_PAGE;
    struct plot *low = free_beside(plot, plot->at - VT_OS_PAGE);
    struct plot *high = free_beside(plot, end);
    e->n_free_pages += plot->n_pages;
    if (high != NULL) {
        bin_remove(e, high);
        join(e, plot, high);
    }
    if (low != NULL) {
        bin_remove(e, low);
        join(e, low, plot);
        plot = low;
    }
    bin_put(e, plot);
    if (plot->n_pages == plot->grant->n_pages && e->source != NULL && !plot->grant->is_refused)
        retire(e, plot->grant);
}

void vt__estate_give(struct vt_estate *e, struct plot *plot) {
    plot->is_zero = plot->is_purged = false;
    give(e, plot);
}

bool vt__estate_resize(struct vt_estate *e, struct plot *plot, size_t n_pages) {
    if (n_pages == plot->n_pages) return true;
    if (!has_plots(e, 1)) return false;
    if (n_pages < plot->n_pages) {
        struct plot *rest = cut(e, plot, n_pages);
        vt__atlas_set(plot);
        vt__estate_give(e, rest);
        return true;
    }
    char *end = plot->at + plot->n_pages * VT_OS_PAGE;
    size_t n_more = n_pages - plot->n_pages;
    struct plot *high = free_beside(plot, end);
    if (high == NULL || high->n_pages < n_more) return false;
    bin_remove(e, high);
    if (high->n_pages > n_more) bin_put(e, cut(e, high, n_more));
    join(e, plot, high);
    e->n_free_pages -= n_more;
    vt__atlas_set(plot);
    return true;
}

/* ---- grants ---- */

static void link_grant(struct vt_estate *e, struct grant *g) {
    g->next = e->grants;
    e->grants = g;
    e->n_pages += g->n_pages;
    e->n_free_pages += g->n_pages;
}

static void unlink_grant(struct vt_estate *e, struct grant *g) {
    struct grant **at = &e->grants;
    while (*at != g) at = &(*at)->next;
    *at = g->next;
    e->n_pages -= g->n_pages;
    e->n_free_pages -= g->n_pages;
}

static void forget_grant(struct vt_estate *e, struct grant *g) {
    forget_plot(e, g->plot);
    g->next = e->unused_grants;
    e->unused_grants = g;
}

static struct grant *new_grant(struct vt_estate *e) {
    struct grant *g = e->unused_grants;
    if (g == NULL) return vt__arena_take(sizeof(*g), VT_CACHE_LINE);
    e->unused_grants = g->next;
    return g;
}

static bool is_in_window(uintptr_t at, uintptr_t end) {
    return end > vt__map.base && at < vt__map.base + vt__window.n_bytes;
}

static int add(struct vt_estate *e, char *at, size_t n_bytes, bool is_zero) {
    struct grant *g = has_plots(e, 1) ? new_grant(e) : NULL;
    if (g == NULL) return -ENOMEM;
    struct plot *plot = unused_plot(e);
    *g = (struct grant){.at = at, .n_pages = n_bytes / VT_OS_PAGE, .plot = plot};
    plot->grant = g;
    plot->at = at;
    plot->n_pages = g->n_pages;
    plot->is_zero = plot->is_purged = is_zero;
    plot->kind = PLOT_HELD; /* so that nobody who finds it takes it for a block */
    int err = vt__atlas_claim(plot);
    if (err != 0) {
        forget_grant(e, g);
        return err;
    }
    link_grant(e, g);
    bin_put(e, plot);
    return 0;
}

int vt__estate_add(struct vt_estate *e, void *at, size_t n_bytes, bool is_zero) {
    uintptr_t from = (uintptr_t)at;
    if (from % VT_OS_PAGE != 0 || n_bytes % VT_OS_PAGE != 0 || n_bytes == 0) return -EINVAL;
    if (from + n_bytes < from || is_in_window(from, from + n_bytes)) return -EINVAL;
    if (!vt__enter()) return -EAGAIN;
    vt_lock(e->lock);
    int err = add(e, at, n_bytes, is_zero);
    vt_unlock(e->lock);
    vt__leave();
    return err;
}

/* It is nobody's from now on, and out of the atlas: the program may do with it what it likes. */
static void detach(struct vt_estate *e, struct grant *g, struct plot *plot) {
    bin_remove(e, plot);
    plot->kind = PLOT_HELD;
    vt__atlas_clear(plot);
    unlink_grant(e, g);
    if (e->spare == g) e->spare = NULL;
    g->plot = plot;
}

static void send_away(struct vt_estate *e, struct grant *g) {
    detach(e, g, vt__atlas_find(g->at));
    g->next = atomic_load_explicit(&e->leaving, memory_order_relaxed);
    atomic_store_explicit(&e->leaving, g, memory_order_relaxed);
}

/* A grant is wholly free: it is the spare now, and the one that was goes. */
static void retire(struct vt_estate *e, struct grant *g) {
    if (e->spare != NULL && e->spare != g) send_away(e, e->spare);
    e->spare = g;
}

static void come_back(struct vt_estate *e, struct grant *g) {
    if (vt__atlas_claim(g->plot) != 0) { /* it was brought again meanwhile */
        forget_grant(e, g);
        return;
    }
    g->is_refused = true;
    link_grant(e, g);
    bin_put(e, g->plot);
}

static bool has_leaving(const struct vt_estate *e) {
    return atomic_load_explicit(&e->leaving, memory_order_relaxed) != NULL;
}

static struct grant *next_leaving(struct vt_estate *e) {
    struct grant *g = atomic_load_explicit(&e->leaving, memory_order_relaxed);
    if (g != NULL) atomic_store_explicit(&e->leaving, g->next, memory_order_relaxed);
    return g;
}

/* It was offered to the source. Whoever did that had left, so it can be entered. */
static void conclude(struct vt_estate *e, struct grant *g, bool is_gone) {
    (void)vt__enter();
    vt_lock(e->lock);
    if (is_gone)
        forget_grant(e, g);
    else
        come_back(e, g);
    vt_unlock(e->lock);
    vt__leave();
}

void vt__estate_settle(struct vt_estate *e) {
    int err = errno; /* free leaves it alone, the program's function need not */
    while (has_leaving(e) && !vt__lock_has_all && vt__enter()) {
        vt_lock(e->lock);
        struct grant *g = next_leaving(e);
        vt_unlock(e->lock);
        vt__leave();
        if (g != NULL) conclude(e, g, e->source->give(e->arg, g->at, g->n_pages * VT_OS_PAGE));
    }
    errno = err;
}

bool vt__estate_grow(struct vt_estate *e, size_t n_pages, size_t align) {
    bool is_zero = false;
    if (e->source == NULL) return false;
    size_t needed = n_pages * VT_OS_PAGE;
    size_t all = vt__estate_bytes(e, NULL);
    size_t wanted = vt_round_up(vt_max(all >> GROW_SHIFT, GROW_MIN_BYTES), GROW_MIN_BYTES);
    wanted = vt_max(vt_min(wanted, e->source->grow_max(e->arg)), GROW_MIN_BYTES);
    size_t n_bytes = vt_max(vt_round_up(needed, GROW_MIN_BYTES), wanted);
    align = vt_max(align, VT_OS_PAGE);
    void *at = e->source->take(e->arg, n_bytes, align, &is_zero);
    if (at == NULL && n_bytes > needed) {
        n_bytes = needed;
        at = e->source->take(e->arg, n_bytes, align, &is_zero);
    }
    if (at == NULL) return false;
    if ((uintptr_t)at % align == 0 && vt__estate_add(e, at, n_bytes, is_zero) == 0) return true;
    (void)e->source->give(e->arg, at, n_bytes);
    return false;
}

/* ---- as a whole ---- */

size_t vt__estate_bytes(struct vt_estate *e, size_t *n_free) {
    if (n_free != NULL) *n_free = 0;
    if (!vt__enter()) return 0;
    vt_lock(e->lock);
    size_t n_bytes = e->n_pages * VT_OS_PAGE;
    if (n_free != NULL) *n_free = e->n_free_pages * VT_OS_PAGE;
    vt_unlock(e->lock);
    vt__leave();
    return n_bytes;
}

/* A free plot whose pages the source was not asked about, out of its bin; wholly free grants leave by the way. */
static struct plot *hold_dirty(struct vt_estate *e) {
    for (unsigned i = 0; i < N_BINS; i++)
        for (struct plot *plot = e->bins[i], *next; plot != NULL; plot = next) {
            next = plot->next;
            bool is_whole = plot->n_pages == plot->grant->n_pages;
            if (is_whole && !plot->grant->is_refused) {
                send_away(e, plot->grant);
            } else if (!plot->is_purged) {
                bin_remove(e, plot);
                plot->kind = PLOT_HELD;
                e->n_free_pages -= plot->n_pages;
                return plot;
            }
        }
    return NULL;
}

static struct plot *next_dirty(struct vt_estate *e) {
    if (!vt__enter()) return NULL;
    vt_lock(e->lock);
    struct plot *plot = hold_dirty(e);
    vt_unlock(e->lock);
    vt__leave();
    return plot;
}

static void purge_dirty(struct vt_estate *e) {
    struct plot *plot;
    while ((plot = next_dirty(e)) != NULL) {
        const struct grant *g = plot->grant;
        bool is_zero = e->source->purge(e->arg, g->at, g->n_pages * VT_OS_PAGE,
                                        (size_t)(plot->at - g->at), plot->n_pages * VT_OS_PAGE);
        (void)vt__enter();
        vt_lock(e->lock);
        plot->is_zero |= is_zero;
        plot->is_purged = true;
        give(e, plot);
        vt_unlock(e->lock);
        vt__leave();
    }
    vt__estate_settle(e);
}

void vt__estate_purge(struct vt_estate *e) {
    if (e->source == NULL) return;
    purge_dirty(e);
    purge_dirty(e); /* what came back, because the source did not want it */
}

static struct grant *next_to_drop(struct vt_estate *e) {
    if (!vt__enter()) return NULL;
    vt_lock(e->lock);
    struct grant *g = next_leaving(e);
    if (g == NULL && (g = e->grants) != NULL) detach(e, g, vt__atlas_find(g->at));
    vt_unlock(e->lock);
    vt__leave();
    return g;
}

void vt__estate_drop(struct vt_estate *e) {
    struct grant *g;
    while ((g = next_to_drop(e)) != NULL) {
        e->source->drop(e->arg, g->at, g->n_pages * VT_OS_PAGE);
        conclude(e, g, /* is_gone */ true);
    }
}
