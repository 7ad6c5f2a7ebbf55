/* holding.c - the blocks that one heap of own.c has in memory that the program brought.
 *
 *   up to 8 KiB   a slab: a plot of 2 to 16 OS pages, cut into blocks of one class; a bit for each that is in use
 *   above         a run: a plot for one block
 *
 * Slabs with room are in a list for their class; those without, and runs, in one for all. A slab that has become empty goes back to
 * the estate at once: taking and giving plots takes no system call. Blocks have the sizes they have in the window (class.h).
 *
 * Climate: malloc.   Owns: plots that are in use.   Locks: estate, for all of it. Holdings are never unmapped, only used again.
 */
#include "heap/estate.h"

#include "heap/impl.h"
#include "heap/upcalls.h"
#include "os/os.h"

#define SLAB_BLOCK_MAX KiB(8)
#define SLAB_MIN_PAGES 2
#define SLAB_MIN_BLOCKS 8

_Static_assert(SLAB_MIN_PAGES *VT_OS_PAGE / VT_BLOCK_ALIGN <= VT_PLOT_MAX_BLOCKS, "a bit for each");

struct vt_holding {
    struct vt_own *own;
    struct vt_estate *estate; /* NULL: it is in none */
    /* under the estate's lock */
    struct plot *with_room[VT_N_CLASSES], *others;
    uint64_t n_taken[VT_N_CLASSES], n_runs_taken;
};

struct vt_holding *vt__holding_new(void) {
    return vt__arena_take(sizeof(struct vt_holding), VT_CACHE_LINE);
}

void vt__holding_begin(struct vt_holding *ho, struct vt_own *own, struct vt_estate *e) {
    *ho = (struct vt_holding){.own = own, .estate = e};
}

bool vt__holding_is_in(const struct vt_holding *ho, const struct vt_estate *e) {
    return ho->estate == e;
}

/* ---- lists ---- */

static bool is_full(const struct plot *plot) { return plot->n_used == plot->capacity; }

static struct plot **list_of(const struct plot *plot) {
    struct vt_holding *ho = plot->holding;
    return plot->kind == PLOT_RUN || is_full(plot)
               ? &ho->others
               : &ho->with_room[vt__class_of(plot->block_bytes)];
}

static void put(struct plot *plot) {
    if (plot->holding == NULL) return;
    struct plot **list = list_of(plot);
    plot->prev = NULL;
    plot->next = *list;
    if (*list != NULL) (*list)->prev = plot;
    *list = plot;
}

/* By the list it was put in: before n_used changes. */
static void take_out(struct plot *plot) {
    if (plot->holding == NULL) return;
    if (plot->prev != NULL)
        plot->prev->next = plot->next;
    else
        *list_of(plot) = plot->next;
    if (plot->next != NULL) plot->next->prev = plot->prev;
}

/* With room of class i; the last one has all others. */
static struct plot **list_at(struct vt_holding *ho, unsigned i) {
    return i < VT_N_CLASSES ? &ho->with_room[i] : &ho->others;
}
#define N_LISTS (VT_N_CLASSES + 1)

/* ---- taking ---- */

static bool is_slab(const struct vt_wish *w) {
    return w->cls != VT_CLASS_NONE && w->block_bytes <= SLAB_BLOCK_MAX && w->align <= VT_OS_PAGE;
}

static size_t slab_pages(size_t block_bytes) {
    return vt_max(SLAB_MIN_PAGES, vt_div_up(SLAB_MIN_BLOCKS * block_bytes, VT_OS_PAGE));
}

size_t vt__wish_pages(const struct vt_wish *w) {
    return is_slab(w) ? slab_pages(w->block_bytes)
                      : vt_div_up(w->skipped + w->block_bytes, VT_OS_PAGE);
}

static struct plot *new_plot(struct vt_holding *ho, const struct vt_wish *w) {
    size_t n_pages = vt__wish_pages(w);
    struct plot *plot = vt__estate_take(ho->estate, n_pages, vt_max(w->align, VT_OS_PAGE));
    if (plot == NULL) return NULL;
    plot->kind = is_slab(w) ? PLOT_SLAB : PLOT_RUN;
    plot->holding = ho;
    plot->block_bytes = w->block_bytes;
    plot->skipped = (uint32_t)w->skipped;
    plot->capacity = is_slab(w) ? (uint32_t)(n_pages * VT_OS_PAGE / w->block_bytes) : 1;
    plot->n_carved = plot->n_used = plot->n_sampled = 0;
    for (unsigned i = 0; i < vt_countof(plot->is_used); i++) plot->is_used[i] = 0;
    put(plot);
    return plot;
}

static struct plot *plot_to_take_from(struct vt_holding *ho, const struct vt_wish *w) {
    struct plot *plot = is_slab(w) ? ho->with_room[w->cls] : NULL;
    return plot != NULL ? plot : new_plot(ho, w);
}

static char *block_at(const struct plot *plot, size_t k) {
    return plot->at + plot->skipped + k * plot->block_bytes;
}

static bool is_used(const struct plot *plot, size_t k) {
    return (plot->is_used[k / 64] >> (k % 64) & 1) != 0;
}

/* The lowest that is free; there is one. */
static size_t take_bit(struct plot *plot) {
    unsigned i = 0;
    while (plot->is_used[i] == UINT64_MAX) i++;
    unsigned bit = (unsigned)__builtin_ctzll(~plot->is_used[i]);
    plot->is_used[i] |= UINT64_C(1) << bit;
    return (size_t)i * 64 + bit;
}

/* Others read it without the lock: who frees a sampled block sees it counted, it was before that was handed out. */
static void count_sampled(struct plot *plot, uint32_t n_more) {
    __atomic_store_n(&plot->n_sampled, plot->n_sampled + n_more, __ATOMIC_RELAXED);
}

/* It may change its list by that. */
static void set_used(struct plot *plot, uint32_t n_used) {
    bool is_moved = is_full(plot) || n_used == plot->capacity;
    if (is_moved) take_out(plot);
    plot->n_used = n_used;
    if (is_moved) put(plot);
}

static void *take(struct plot *plot, bool is_sampled, bool *is_zero) {
    size_t k = take_bit(plot);
    *is_zero = plot->is_zero && k >= plot->n_carved;
    plot->n_carved = (uint32_t)vt_max(plot->n_carved, k + 1);
    set_used(plot, plot->n_used + 1);
    if (is_sampled) count_sampled(plot, 1);
    return block_at(plot, k);
}

void *vt__holding_take(struct vt_holding *ho, const struct vt_wish *w) {
    void *p = NULL;
    bool is_zero = false;
    vt__estate_lock(ho->estate);
    struct plot *plot = plot_to_take_from(ho, w);
    if (plot != NULL) {
        p = take(plot, w->is_sampled, &is_zero);
        if (w->cls != VT_CLASS_NONE)
            ho->n_taken[w->cls]++;
        else
            ho->n_runs_taken++;
    }
    vt__estate_unlock(ho->estate);
    if (p != NULL && w->zero && !is_zero) __builtin_memset(p, 0, w->block_bytes);
    return p;
}

/* ---- finding ---- */

static bool contains(const struct plot *plot, const char *p) {
    return p >= plot->at && p < plot->at + plot->n_pages * VT_OS_PAGE;
}

/* The plot around p, and its estate locked; NULL: nobody brought p, and nothing is locked. */
static struct plot *lock_around(const void *p) {
    struct plot *near;
    while ((near = vt__atlas_find(p)) != NULL) {
        struct vt_estate *e = near->estate;
        vt__estate_lock(e);
        struct plot *now = vt__atlas_find(p);
        if (now != NULL && now->estate == e) { /* else the page went back, or came back, just now */
            for (const char *at = p; !contains(now, p); now = vt__atlas_find(at)) at -= VT_OS_PAGE;
            return now;
        }
        vt__estate_unlock(e);
    }
    return NULL;
}

static bool has_blocks(const struct plot *plot) {
    return plot->kind == PLOT_SLAB || plot->kind == PLOT_RUN;
}

/* Which block p is in; `inside` is how far. As large as the capacity: before the first, or behind the last. */
static size_t number_of(const struct plot *plot, const char *p, size_t *inside) {
    size_t offset = (size_t)(p - plot->at);
    *inside = (offset - plot->skipped) % plot->block_bytes;
    return offset < plot->skipped ? plot->capacity : (offset - plot->skipped) / plot->block_bytes;
}

/* Ends the process if no block in use starts at p. */
static size_t checked_number(const struct plot *plot, const void *p) {
    size_t inside;
    if (plot == NULL || !has_blocks(plot)) vt__no_block(p);
    size_t k = number_of(plot, p, &inside);
    if (k >= plot->capacity) vt__no_block(p);
    if (inside != 0) vt__not_a_start(p, inside, plot->block_bytes);
    if (!is_used(plot, k)) vt__already_free(p, plot->block_bytes);
    return k;
}

bool vt__brought_find(const void *p, struct vt_brought *out) {
    size_t inside;
    if (!vt__is_brought(p) || !vt__enter()) return false;
    const struct plot *plot = lock_around(p);
    bool is_there = plot != NULL && has_blocks(plot);
    if (is_there) {
        size_t k = number_of(plot, p, &inside);
        *out =
            (struct vt_brought){.own = plot->holding != NULL ? plot->holding->own : NULL,
                                .is_block = inside == 0 && k < plot->capacity && is_used(plot, k),
                                .block_bytes = plot->block_bytes,
                                .n_blocks = plot->capacity,
                                .n_used = plot->n_used,
                                .at = plot->at,
                                .n_bytes = plot->n_pages * VT_OS_PAGE};
    }
    if (plot != NULL) vt__estate_unlock(plot->estate);
    vt__leave();
    return is_there;
}

size_t vt__brought_usable(const void *p) {
    if (!vt__enter()) return vt__atlas_find(p)->block_bytes; /* a handler: unchecked */
    const struct plot *plot = lock_around(p);
    (void)checked_number(plot, p);
    size_t n_bytes = plot->block_bytes;
    vt__estate_unlock(plot->estate);
    vt__leave();
    return n_bytes;
}

/* ---- giving back ---- */

static void give(struct plot *plot, size_t k) {
    plot->is_used[k / 64] &= ~(UINT64_C(1) << (k % 64));
    if (plot->n_used > 1) {
        set_used(plot, plot->n_used - 1);
    } else {
        take_out(plot);
        vt__estate_give(plot->estate, plot);
    }
}

size_t vt__brought_free(void *p, struct vt_estate **estate) {
    const struct plot *near = vt__atlas_find(p); /* a block's first page names its plot */
    /* before the block may be another's */
    bool was_sampled = near != NULL && __atomic_load_n(&near->n_sampled, __ATOMIC_RELAXED) > 0 &&
                       vt__probe_freed(p) != VT_KNOWN_NOTHING;
    struct plot *plot = lock_around(p);
    size_t k = checked_number(plot, p);
    size_t n_bytes = plot->block_bytes;
    *estate = plot->estate;
    if (was_sampled) count_sampled(plot, UINT32_MAX);
    give(plot, k);
    vt__estate_unlock(*estate);
    return n_bytes;
}

/* The probes hear of every block that goes. Not under the lock: theirs comes before it. Who frees all knows that nobody else uses
 * the heap, so its plots stand still meanwhile. */
static void tell_freed(const struct plot *plot) {
    for (size_t k = 0; plot->n_sampled > 0 && k < plot->n_carved; k++)
        if (is_used(plot, k)) (void)vt__probe_freed(block_at(plot, k));
}

static void free_list(struct vt_estate *e, struct plot **list) {
    struct plot *plot;
    while ((plot = *list) != NULL) {
        tell_freed(plot);
        vt__estate_lock(e);
        take_out(plot);
        vt__estate_give(e, plot);
        vt__estate_unlock(e);
    }
}

void vt__holding_free_all(struct vt_holding *ho) {
    for (unsigned i = 0; ho->estate != NULL && i < N_LISTS; i++)
        free_list(ho->estate, list_at(ho, i));
}

void vt__holding_leave_all(struct vt_holding *ho) {
    if (ho->estate == NULL) return;
    vt__estate_lock(ho->estate);
    for (unsigned i = 0; i < N_LISTS; i++) {
        for (struct plot *plot = *list_at(ho, i); plot != NULL; plot = plot->next)
            plot->holding = NULL;
        *list_at(ho, i) = NULL;
    }
    vt__estate_unlock(ho->estate);
}

/* ---- another size ---- */

static size_t run_bytes(size_t n_bytes) {
    return n_bytes <= VT_MEDIUM_MAX ? vt__class_bytes(vt__class_of(n_bytes))
                                    : vt_round_up(n_bytes, VT_OS_PAGE);
}

/* With a source, it is asked with no lock held; the block is the caller's, so its plot stands still. */
static bool resize_plot(struct plot *plot, size_t n_pages) {
    if (n_pages == plot->n_pages) return true;
    if (!vt__estate_has_source(plot->estate)) return vt__estate_resize(plot->estate, plot, n_pages);
    vt__estate_unlock(plot->estate);
    vt__leave();
    bool is_done = vt__estate_resize(plot->estate, plot, n_pages);
    (void)vt__enter();
    vt__estate_lock(plot->estate);
    return is_done;
}

static bool resize_run(struct plot *plot, size_t n_bytes) {
    if (n_bytes <= SLAB_BLOCK_MAX) return n_bytes <= plot->block_bytes;
    size_t block_bytes = run_bytes(n_bytes);
    size_t n_pages = vt_div_up(plot->skipped + block_bytes, VT_OS_PAGE);
    if (!resize_plot(plot, n_pages)) return n_bytes <= plot->block_bytes;
    plot->block_bytes = block_bytes;
    return true;
}

bool vt__brought_resize(void *p, size_t n_bytes) {
    if (!vt__enter()) return false;
    struct plot *plot = lock_around(p);
    (void)checked_number(plot, p);
    bool is_done =
        plot->kind == PLOT_RUN ? resize_run(plot, n_bytes) : n_bytes <= plot->block_bytes;
    vt__estate_unlock(plot->estate);
    vt__leave();
    return is_done;
}

/* ---- asking ---- */

static void describe(const struct plot *plot, struct vt_own_area *out) {
    *out = (struct vt_own_area){.at = block_at(plot, 0),
                                .n_bytes = (size_t)plot->capacity * plot->block_bytes,
                                .block_bytes = plot->block_bytes,
                                .n_carved = plot->n_carved,
                                .n_used = plot->n_used};
    for (unsigned i = 0; i < vt_countof(out->is_used); i++)
        out->is_used[i] = (uint32_t)(plot->is_used[i / 2] >> (i % 2 * 32));
}

static const struct plot *nth(const struct plot *list, size_t *n) {
    for (; list != NULL && *n > 0; --*n) list = list->next;
    return list;
}

bool vt__holding_area(struct vt_holding *ho, size_t *n, struct vt_own_area *out) {
    const struct plot *plot = NULL;
    if (ho->estate == NULL) return false;
    vt__estate_lock(ho->estate);
    for (unsigned i = 0; i < N_LISTS && plot == NULL; i++) plot = nth(*list_at(ho, i), n);
    if (plot != NULL) describe(plot, out);
    vt__estate_unlock(ho->estate);
    return plot != NULL;
}

static void count(const struct plot *plot, struct vt_class_stats *out) {
    size_t n_bytes = plot->n_pages * VT_OS_PAGE;
    out->n_slabs++;
    out->n_blocks += plot->capacity;
    out->n_live += plot->n_used;
    out->n_free += plot->n_carved - plot->n_used;
    out->n_full += is_full(plot);
    out->slab_bytes += n_bytes;
    out->resident_bytes += n_bytes;
}

void vt__holding_stats(struct vt_holding *ho, struct vt_own_stats *out,
                       void (*visit_run)(void *arg, size_t n_bytes), void *arg) {
    if (ho->estate == NULL) return;
    vt__estate_lock(ho->estate);
    out->n_runs_taken += ho->n_runs_taken;
    for (unsigned c = 0; c < VT_N_CLASSES; c++) out->n_taken[c] += ho->n_taken[c];
    for (unsigned i = 0; i < N_LISTS; i++)
        for (const struct plot *plot = *list_at(ho, i); plot != NULL; plot = plot->next)
            if (plot->block_bytes <= VT_MEDIUM_MAX)
                count(plot, &out->classes[vt__class_of(plot->block_bytes)]);
            else
                visit_run(arg, plot->block_bytes);
    vt__estate_unlock(ho->estate);
}
