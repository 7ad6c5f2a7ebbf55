/* estate.c - memory that the program brought: grants, and the plots they are cut into.
 *
 * Free plots are in bins by their length, and no two of one grant lie side by side. An estate with a source asks it
 * for another grant when there is no room; one grant that is wholly free stays as a spare, others are offered to the source, and
 * stay if it does not want them. The source hears of each cut and join and may refuse: then two free plots do lie side by side. It
 * is the program's: it is called with no lock held, and may come back to us. So a plot is cut before it is taken
 * (vt__estate_cut), and joined after it was given (vt__estate_settle).
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
    struct plot *spare; /* a grant that is wholly free; NULL: none is */
    /* HELD, lists through `next`: freed, and not joined yet; to be offered to the source, and not in the atlas */
    _Atomic(struct plot *) given, leaving;
    _Atomic bool is_uncut; /* the source refused a cut: grants are asked for as they are needed */
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
    if (e->spare == plot) e->spare = NULL;
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
static struct plot *cut_into(struct plot *plot, size_t n_pages, struct plot *rest) {
    rest->grant = plot->grant;
    rest->at = plot->at + n_pages * VT_OS_PAGE;
    rest->n_pages = plot->n_pages - n_pages;
    rest->is_zero = plot->is_zero;
    rest->is_purged = plot->is_purged;
    rest->is_refused = plot->is_refused;
    rest->is_uncommitted = plot->is_uncommitted;
    rest->is_whole = false;
    plot->n_pages = n_pages;
    return rest;
}

static struct plot *cut(struct vt_estate *e, struct plot *plot, size_t n_pages) {
    return cut_into(plot, n_pages, unused_plot(e));
}

static bool fits(const struct plot *plot, size_t n_pages, size_t align, size_t *before) {
    *before = (vt_round_up((uintptr_t)plot->at, align) - (uintptr_t)plot->at) / VT_OS_PAGE;
    return *before < plot->n_pages && n_pages <= plot->n_pages - *before;
}

static struct plot *find(struct vt_estate *e, size_t n_pages, size_t align, size_t *before) {
    for (unsigned i = bin_number(n_pages); i < N_BINS; i++)
        for (struct plot *plot = e->bins[i]; plot != NULL; plot = plot->next)
            if (!plot->is_whole && fits(plot, n_pages, align, before)) return plot;
    return NULL;
}

/* One that need not be cut, nor committed. */
static struct plot *find_ready(struct vt_estate *e, size_t n_pages, size_t align) {
    for (struct plot *plot = e->bins[bin_number(n_pages)]; plot != NULL; plot = plot->next)
        if (plot->n_pages == n_pages && (uintptr_t)plot->at % align == 0 && !plot->is_uncommitted)
            return plot;
    return NULL;
}

bool vt__estate_has_source(const struct vt_estate *e) { return e->source != NULL; }

static struct plot *take(struct vt_estate *e, struct plot *plot) {
    plot->kind = PLOT_HELD;
    e->n_free_pages -= plot->n_pages;
    vt__atlas_set(plot);
    return plot;
}

struct plot *vt__estate_take(struct vt_estate *e, size_t n_pages, size_t align) {
    size_t before = 0;
    struct plot *plot =
        e->source != NULL ? find_ready(e, n_pages, align) : find(e, n_pages, align, &before);
    if (plot == NULL || !has_plots(e, 2)) return NULL;
    bin_remove(e, plot);
    if (e->source != NULL) return take(e, plot);
    if (before > 0) {
        struct plot *front = plot;
        plot = cut(e, front, before);
        bin_put(e, front);
    }
    if (plot->n_pages > n_pages) bin_put(e, cut(e, plot, n_pages));
    return take(e, plot);
}

static size_t bytes_of(const struct plot *plot) { return plot->n_pages * VT_OS_PAGE; }
static char *end_of(const struct plot *plot) { return plot->at + bytes_of(plot); }

/* The free plot of the same grant whose last, or first, page this is; NULL: what is there is not free, or not the grant's. */
static struct plot *free_beside(const struct plot *plot, const char *page) {
    const struct grant *g = plot->grant;
    if (page < g->at || page >= g->at + g->n_pages * VT_OS_PAGE) return NULL;
    struct plot *other = vt__atlas_find(page); /* the cells of both ends of a plot name it */
    if (other == NULL || other->grant != g) return NULL; /* a hole, or brought anew */
    VT_ASSERT(other->at == page || end_of(other) - VT_OS_PAGE == page);
    return other->kind == PLOT_FREE ? other : NULL;
}

/* `low` grows by what is behind it; neither is in a bin. */
static void join(struct vt_estate *e, struct plot *low, struct plot *high) {
    low->n_pages += high->n_pages;
    low->is_zero &= high->is_zero;
    low->is_purged &= high->is_purged;
    low->is_refused &= high->is_refused;
    low->is_whole = false;
    forget_plot(e, high);
}

static void give(struct vt_estate *e, struct plot *plot) {
    struct plot *low = free_beside(plot, plot->at - VT_OS_PAGE);
    struct plot *high = free_beside(plot, end_of(plot));
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
}

static void push(_Atomic(struct plot *) *list, struct plot *plot) {
    plot->kind = PLOT_HELD;
    plot->next = atomic_load_explicit(list, memory_order_relaxed);
    atomic_store_explicit(list, plot, memory_order_relaxed);
}

void vt__estate_give(struct vt_estate *e, struct plot *plot) {
    plot->is_zero = plot->is_purged = plot->is_refused = plot->is_whole = false;
    if (e->source != NULL)
        push(&e->given, plot);
    else
        give(e, plot);
}

static bool resize(struct vt_estate *e, struct plot *plot, size_t n_pages) {
    if (!has_plots(e, 1)) return false;
    if (n_pages < plot->n_pages) {
        struct plot *rest = cut(e, plot, n_pages);
        vt__atlas_set(plot);
        vt__estate_give(e, rest);
        return true;
    }
    size_t n_more = n_pages - plot->n_pages;
    struct plot *high = free_beside(plot, end_of(plot));
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
}

static void forget_grant(struct vt_estate *e, struct grant *g) {
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
    return end > vt__map.base && at < vt__map.base + vt_racy_read(vt__window.n_bytes);
}

static int add(struct vt_estate *e, char *at, size_t n_bytes, bool is_zero) {
    struct grant *g = has_plots(e, 1) ? new_grant(e) : NULL;
    if (g == NULL) return -ENOMEM;
    struct plot *plot = unused_plot(e);
    *g = (struct grant){.at = at, .n_pages = n_bytes / VT_OS_PAGE, .n_held = n_bytes / VT_OS_PAGE};
    plot->grant = g;
    plot->at = at;
    plot->n_pages = g->n_pages;
    plot->is_zero = plot->is_purged = is_zero;
    plot->is_refused = plot->is_whole = plot->is_uncommitted = false;
    plot->kind = PLOT_HELD; /* so that nobody who finds it takes it for a block */
    int err = vt__atlas_claim(plot);
    if (err != 0) {
        forget_plot(e, plot);
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

/* ---- with a source: it is asked about plots that are HELD, with no lock held ---- */

/* Whoever asked it had left, so it can be entered. */
static void begin(struct vt_estate *e) {
    (void)vt__enter();
    vt_lock(e->lock);
}

static void end(struct vt_estate *e) {
    vt_unlock(e->lock);
    vt__leave();
}

static void hold(struct vt_estate *e, struct plot *plot) {
    bin_remove(e, plot);
    plot->kind = PLOT_HELD;
    e->n_free_pages -= plot->n_pages;
}

/* It is out of the atlas from now on: the program may do with it what it likes. */
static void send_away(struct vt_estate *e, struct plot *plot) {
    hold(e, plot);
    vt__atlas_clear(plot);
    push(&e->leaving, plot);
}

static bool is_all_of_grant(const struct plot *plot) {
    return plot->n_pages == plot->grant->n_held;
}

static void be_free(struct vt_estate *e, struct plot *plot) {
    e->n_free_pages += plot->n_pages;
    bin_put(e, plot);
}

/* One that is HELD is free. If that is all of a grant, it is the spare now, and the one that was goes. */
static void be_free_or_go(struct vt_estate *e, struct plot *plot) {
    be_free(e, plot);
    if (!is_all_of_grant(plot) || plot->is_refused) return;
    if (e->spare != NULL) send_away(e, e->spare);
    e->spare = plot;
}

/* What is free, or in use and therefore committed, may be joined with it. */
static struct plot *joinable(const struct plot *plot, const char *page) {
    struct plot *other = free_beside(plot, page);
    return other != NULL && other->is_uncommitted == plot->is_uncommitted ? other : NULL;
}

static bool merge(struct vt_estate *e, struct plot *low, struct plot *high) {
    if (!e->source->merge(e->arg, low->at, bytes_of(low), bytes_of(high), !low->is_uncommitted))
        return false;
    begin(e);
    join(e, low, high);
    vt__atlas_set(low);
    end(e);
    return true;
}

/* The part behind n_pages is `rest`, HELD. */
static bool split(struct vt_estate *e, struct plot *plot, size_t n_pages, struct plot *rest) {
    if (!e->source->split(e->arg, plot->at, bytes_of(plot), n_pages * VT_OS_PAGE,
                          !plot->is_uncommitted))
        return false;
    begin(e);
    cut_into(plot, n_pages, rest);
    rest->kind = PLOT_HELD;
    vt__atlas_set(plot);
    vt__atlas_set(rest);
    end(e);
    return true;
}

/* A plot that is HELD becomes free, and one with what is free beside it, as far as the source agrees. */
static void unite(struct vt_estate *e, struct plot *plot) {
    for (bool tries_low = true, tries_high = true;;) {
        begin(e);
        struct plot *low = tries_low ? joinable(plot, plot->at - VT_OS_PAGE) : NULL;
        struct plot *high = low == NULL && tries_high ? joinable(plot, end_of(plot)) : NULL;
        struct plot *other = low != NULL ? low : high;
        if (other != NULL)
            hold(e, other);
        else
            be_free_or_go(e, plot);
        end(e);
        if (other == NULL) return;
        if (merge(e, low != NULL ? low : plot, low != NULL ? plot : high)) {
            if (low != NULL) plot = low;
            continue;
        }
        *(low != NULL ? &tries_low : &tries_high) = false;
        begin(e);
        be_free(e, other);
        end(e);
    }
}

/* The first of a list; NULL: it is empty, or we are in a handler. */
static struct plot *pop(struct vt_estate *e, _Atomic(struct plot *) *list) {
    if (atomic_load_explicit(list, memory_order_relaxed) == NULL) return NULL;
    if (vt__lock_has_all || !vt__enter()) return NULL;
    vt_lock(e->lock);
    struct plot *plot = atomic_load_explicit(list, memory_order_relaxed);
    if (plot != NULL) atomic_store_explicit(list, plot->next, memory_order_relaxed);
    end(e);
    return plot;
}

static void forget(struct vt_estate *e, struct plot *plot) {
    struct grant *g = plot->grant;
    e->n_pages -= plot->n_pages;
    g->n_held -= plot->n_pages;
    forget_plot(e, plot);
    if (g->n_held > 0) return;
    unlink_grant(e, g);
    forget_grant(e, g);
}

/* It was offered to the source, and is not in the atlas. True: it is ours again, and HELD. */
static bool is_back(struct vt_estate *e, struct plot *plot, bool is_gone) {
    begin(e);
    bool is_ours = !is_gone && vt__atlas_claim(plot) == 0; /* else it was brought again meanwhile */
    if (is_ours)
        plot->is_refused = true;
    else
        forget(e, plot);
    end(e);
    return is_ours;
}

static bool is_refused(struct vt_estate *e, struct plot *plot) {
    return is_back(e, plot,
                   e->source->give(e->arg, plot->at, bytes_of(plot), !plot->is_uncommitted));
}

void vt__estate_settle(struct vt_estate *e) {
    int err = errno; /* free leaves it alone, the program's function need not */
    struct plot *plot;
    bool is_any = false;
    for (; (plot = pop(e, &e->given)) != NULL; is_any = true) unite(e, plot);
    while ((plot = pop(e, &e->leaving)) != NULL)
        if (is_refused(e, plot)) unite(e, plot);
    if (is_any && e->source->is_eager(e->arg)) vt__estate_purge(e);
    errno = err;
}

/* One that can be cut to size, HELD, and two descriptors for what is before and behind. */
static struct plot *hold_to_cut(struct vt_estate *e, size_t n_pages, size_t align, size_t *before,
                                struct plot *parts[2]) {
    if (vt__lock_has_all || !vt__enter()) return NULL;
    vt_lock(e->lock);
    struct plot *plot = has_plots(e, 2) ? find(e, n_pages, align, before) : NULL;
    for (unsigned i = 0; plot != NULL && i < 2; i++) parts[i] = unused_plot(e);
    if (plot != NULL) hold(e, plot);
    end(e);
    return plot;
}

static void make_free(struct vt_estate *e, struct plot *plot) {
    begin(e);
    be_free(e, plot);
    end(e);
}

static void unuse(struct vt_estate *e, struct plot *descriptor) {
    begin(e);
    forget_plot(e, descriptor);
    end(e);
}

/* What has the wanted size then is free, like the rest. False: the source refused. */
static bool cut_out(struct vt_estate *e, struct plot *plot, size_t before, size_t n_pages,
                    struct plot *parts[2]) {
    bool is_done = before == 0 || split(e, plot, before, parts[0]);
    if (before > 0 && is_done) {
        make_free(e, plot);
        plot = parts[0];
    } else {
        unuse(e, parts[0]);
    }
    if (is_done && plot->n_pages > n_pages && split(e, plot, n_pages, parts[1]))
        make_free(e, parts[1]);
    else
        unuse(e, parts[1]);
    is_done &= plot->n_pages == n_pages;
    if (!is_done) atomic_store_explicit(&e->is_uncut, true, memory_order_relaxed);
    if (is_done && plot->is_uncommitted) {
        is_done = e->source->commit(e->arg, plot->at, bytes_of(plot));
        plot->is_uncommitted = !is_done;
    }
    plot->is_whole = !is_done;
    make_free(e, plot);
    return is_done;
}

bool vt__estate_cut(struct vt_estate *e, size_t n_pages, size_t align) {
    struct plot *plot, *parts[2];
    size_t before;
    if (e->source == NULL) return false;
    align = vt_max(align, VT_OS_PAGE);
    vt__estate_settle(e);
    while ((plot = hold_to_cut(e, n_pages, align, &before, parts)) != NULL)
        if (cut_out(e, plot, before, n_pages, parts)) return true;
    return false;
}

static struct plot *new_descriptor(struct vt_estate *e) {
    if (!vt__enter()) return NULL;
    vt_lock(e->lock);
    struct plot *plot = has_plots(e, 1) ? unused_plot(e) : NULL;
    end(e);
    return plot;
}

static bool shorten(struct vt_estate *e, struct plot *plot, size_t n_pages, struct plot *rest) {
    if (!split(e, plot, n_pages, rest)) {
        unuse(e, rest);
        return false;
    }
    begin(e);
    vt__estate_give(e, rest);
    end(e);
    vt__estate_settle(e);
    return true;
}

/* What is free behind it, HELD, if that is enough. */
static struct plot *hold_behind(struct vt_estate *e, const struct plot *plot, size_t n_more) {
    begin(e);
    struct plot *high = free_beside(plot, end_of(plot));
    if (high != NULL && (high->n_pages < n_more || high->is_whole)) high = NULL;
    if (high != NULL) hold(e, high);
    end(e);
    return high;
}

static bool lengthen(struct vt_estate *e, struct plot *plot, size_t n_pages, struct plot *rest) {
    size_t n_more = n_pages - plot->n_pages;
    struct plot *high = hold_behind(e, plot, n_more);
    if (high != NULL && high->n_pages > n_more && split(e, high, n_more, rest))
        make_free(e, rest);
    else
        unuse(e, rest);
    if (high == NULL) return false;
    bool is_ready = high->n_pages == n_more;
    if (is_ready && high->is_uncommitted) {
        is_ready = e->source->commit(e->arg, high->at, bytes_of(high));
        high->is_uncommitted = !is_ready;
    }
    if (is_ready && merge(e, plot, high)) return true;
    unite(e, high);
    return false;
}

bool vt__estate_resize(struct vt_estate *e, struct plot *plot, size_t n_pages) {
    if (n_pages == plot->n_pages) return true;
    if (e->source == NULL) return resize(e, plot, n_pages);
    struct plot *rest = new_descriptor(e);
    if (rest == NULL) return false;
    return n_pages < plot->n_pages ? shorten(e, plot, n_pages, rest)
                                   : lengthen(e, plot, n_pages, rest);
}

bool vt__estate_grow(struct vt_estate *e, size_t n_pages, size_t align) {
    bool is_zero = false;
    if (e->source == NULL) return false;
    size_t needed = n_pages * VT_OS_PAGE;
    bool is_uncut = atomic_load_explicit(&e->is_uncut, memory_order_relaxed);
    size_t all = vt__estate_bytes(e, NULL);
    size_t wanted = vt_round_up(vt_max(all >> GROW_SHIFT, GROW_MIN_BYTES), GROW_MIN_BYTES);
    wanted = vt_max(vt_min(wanted, e->source->grow_max(e->arg)), GROW_MIN_BYTES);
    size_t n_bytes = is_uncut ? needed : vt_max(vt_round_up(needed, GROW_MIN_BYTES), wanted);
    align = vt_max(align, VT_OS_PAGE);
    void *at = e->source->take(e->arg, n_bytes, align, &is_zero);
    if (at == NULL && n_bytes > needed) {
        n_bytes = needed;
        at = e->source->take(e->arg, n_bytes, align, &is_zero);
    }
    if (at == NULL) return false;
    if ((uintptr_t)at % align == 0 && vt__estate_add(e, at, n_bytes, is_zero) == 0) {
        (void)vt__estate_cut(e, n_pages, align);
        return true;
    }
    (void)e->source->give(e->arg, at, n_bytes, /* is_committed */ true);
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

/* A free plot that the source was not asked about since it was used, HELD; or a whole grant. */
static struct plot *hold_dirty(struct vt_estate *e) {
    for (unsigned i = 0; i < N_BINS; i++)
        for (struct plot *plot = e->bins[i]; plot != NULL; plot = plot->next) {
            if (plot->is_purged && (plot->is_refused || !is_all_of_grant(plot))) continue;
            hold(e, plot);
            return plot;
        }
    return NULL;
}

static struct plot *next_dirty(struct vt_estate *e) {
    if (!vt__enter()) return NULL;
    vt_lock(e->lock);
    struct plot *plot = hold_dirty(e);
    if (plot != NULL && !plot->is_refused) vt__atlas_clear(plot);
    end(e);
    return plot;
}

static void purge(struct vt_estate *e, struct plot *plot) {
    enum vt_purged how =
        plot->is_purged ? VT_PURGED_NOT : e->source->purge(e->arg, plot->at, bytes_of(plot));
    begin(e);
    plot->is_zero |= how != VT_PURGED_NOT;
    plot->is_uncommitted |= how == VT_PURGED_UNCOMMITTED;
    plot->is_purged = true;
    be_free(e, plot);
    end(e);
}

/* Each is offered first, and purged if it stays. */
void vt__estate_purge(struct vt_estate *e) {
    struct plot *plot;
    if (e->source == NULL) return;
    vt__estate_settle(e);
    while ((plot = next_dirty(e)) != NULL)
        if (plot->is_refused || is_refused(e, plot)) purge(e, plot);
}

static struct plot *next_to_drop(struct vt_estate *e) {
    struct plot *plot = pop(e, &e->leaving);
    if (plot != NULL || !vt__enter()) return plot;
    vt_lock(e->lock);
    for (unsigned i = 0; i < N_BINS && plot == NULL; i++) plot = e->bins[i];
    if (plot != NULL) {
        hold(e, plot);
        vt__atlas_clear(plot);
    }
    end(e);
    return plot;
}

void vt__estate_drop(struct vt_estate *e) {
    struct plot *plot;
    while ((plot = pop(e, &e->given)) != NULL) unite(e, plot);
    while ((plot = next_to_drop(e)) != NULL) {
        e->source->drop(e->arg, plot->at, bytes_of(plot), !plot->is_uncommitted);
        (void)is_back(e, plot, /* is_gone */ true);
    }
}
