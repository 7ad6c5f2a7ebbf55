/* exact_read.c - the sums of exact mode, over the tables of all threads.
 *
 * By stack: the rows of the stack in all tables, and those of its other places. By site: a row of one table, which is one thread's, and
 * what the other threads freed of it, which is a place that names the thread.
 *
 * Climate: host.   Owns: nothing.   Locks: probe, for each row. Threads go on counting: a row may be read between two of its fields.
 */
#include "heap/heap.h"
#include "probe/exact_impl.h"

static void combine(struct vt_exact_counts *a, uint64_t n, uint64_t bytes, uint64_t requested) {
    a->n += n;
    a->bytes += bytes;
    a->requested_bytes += requested;
}

VT_READS_RACILY static void add_row(struct vt_exact_site *sum, const struct vt_box_exact_row *r,
                                    const struct vt_box_exact_peak *peak) {
    if (r->run != vt__exact_run()) return;
    combine(&sum->alloc, r->n_alloc, r->alloc_bytes, r->alloc_requested_bytes);
    combine(&sum->freed, r->n_freed, r->freed_bytes, r->freed_requested_bytes);
    if (r->peak_number == vt__exact_peak_number())
        combine(&sum->peak, peak->n, peak->bytes, peak->requested_bytes);
    else
        combine(&sum->peak, r->n_alloc - r->n_freed, r->alloc_bytes - r->freed_bytes,
                r->alloc_requested_bytes - r->freed_requested_bytes);
}

VT_READS_RACILY static void add_place(struct vt_exact_site *sum, const struct vt_exact_table *t,
                                      uint32_t place) {
    const struct vt_exact_block *b =
        atomic_load_explicit(&t->block[place / VT_BLOCK_ROWS], memory_order_acquire);
    if (b != NULL) add_row(sum, &b->row[place % VT_BLOCK_ROWS], &b->peak[place % VT_BLOCK_ROWS]);
}

static void add_all_tables(struct vt_exact_site *sum, uint32_t place) {
    for (const struct vt_exact_table *t = vt__exact_tables(); t != NULL; t = t->next)
        add_place(sum, t, place);
}

bool vt__exact_next_stack(uint32_t *cursor, struct vt_exact_site *out) {
    while (*cursor < vt__depot_count()) {
        *out = (struct vt_exact_site){.stack = ++*cursor};
        if (!vt__probe_enter()) return false;
        add_all_tables(out, out->stack);
        for (uint32_t p = vt__exact_place_of_stack(out->stack); p != 0;
             p = vt__exact_place_after(p))
            add_all_tables(out, p);
        vt__probe_leave();
        if (out->alloc.n != 0) return true;
    }
    return false;
}

/* ---- by thread and labels ---- */

static uint32_t last_place(void) {
    uint32_t n = vt__exact_places();
    return n != 0 ? VT_STACK_MAX_ID + n : vt__depot_count();
}

/* The next place that table t may have a row of; 0: no more. */
static uint32_t place_after(const struct vt_exact_table *t, uint32_t place) {
    uint32_t last = last_place();
    for (place++; place <= last; place++) {
        if (place > vt__depot_count() && place <= VT_STACK_MAX_ID) place = VT_STACK_MAX_ID + 1;
        if (atomic_load_explicit(&t->block[place / VT_BLOCK_ROWS], memory_order_acquire) != NULL)
            return place <= last ? place : 0;
        place |= VT_BLOCK_ROWS - 1; /* nothing in this block */
    }
    return 0;
}

static uint32_t thread_number(const struct vt_exact_table *t) {
    return t->thread == VT_EXACT_NOBODY ? 0 : t->thread;
}

/* The place where the other threads count what they freed of this one; 0: there is none, or the row is no thread's own. */
static bool is_own(uint32_t place, uint32_t *stack, uint32_t *label) {
    uint32_t thread;
    vt__exact_place(place, stack, label, &thread);
    return thread == 0;
}

static bool read_site(const struct vt_exact_table *t, uint32_t place, struct vt_exact_site *out) {
    *out = (struct vt_exact_site){.thread = thread_number(t)};
    if (!is_own(place, &out->stack, &out->label)) return false;
    add_place(out, t, place);
    uint32_t others = vt__exact_known_place(out->stack, out->label, t->thread);
    if (others != 0) add_all_tables(out, others);
    return out->alloc.n != 0;
}

bool vt__exact_next_site(struct vt_exact_cursor *cursor, struct vt_exact_site *out) {
    bool is_found = false;
    if (!vt__probe_enter()) return false;
    const struct vt_exact_table *t = cursor->table;
    if (t == NULL) t = vt__exact_tables();
    while (t != NULL && !is_found) {
        cursor->place = place_after(t, cursor->place);
        if (cursor->place == 0)
            t = t->next;
        else
            is_found = read_site(t, cursor->place, out);
    }
    cursor->table = t;
    vt__probe_leave();
    return is_found;
}

/* ---- ages ---- */

VT_READS_RACILY static void add_ages(struct vt_exact_counts out[VT_LIFETIMES],
                                     const struct vt_exact_table *t, uint32_t place) {
    struct vt_exact_ages *ages = atomic_load_explicit(&t->ages, memory_order_acquire);
    const struct vt_exact_counts *rows =
        ages != NULL
            ? atomic_load_explicit(&ages->block[place / VT_BLOCK_ROWS], memory_order_acquire)
            : NULL;
    for (unsigned i = 0; rows != NULL && i < VT_LIFETIMES; i++) {
        const struct vt_exact_counts *c = &rows[(place % VT_BLOCK_ROWS) * VT_LIFETIMES + i];
        combine(&out[i], c->n, c->bytes, c->requested_bytes);
    }
}

void vt__exact_ages_of(const struct vt_exact_cursor *cursor,
                       struct vt_exact_counts out[VT_LIFETIMES]) {
    const struct vt_exact_table *own = cursor->table;
    uint32_t stack, label;
    for (unsigned i = 0; i < VT_LIFETIMES; i++) out[i] = (struct vt_exact_counts){0};
    if (own == NULL || !vt__probe_enter()) return;
    (void)is_own(cursor->place, &stack, &label);
    add_ages(out, own, cursor->place);
    uint32_t others = vt__exact_known_place(stack, label, own->thread);
    for (const struct vt_exact_table *t = vt__exact_tables(); others != 0 && t != NULL; t = t->next)
        add_ages(out, t, others);
    vt__probe_leave();
}
