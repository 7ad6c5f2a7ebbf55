/* heap_source.c - see heap_source.h. One row per site: stack, size of block, thread, labels. Climate: host, no malloc. */
#include "dump/heap_source.h"

#include "heap/heap.h"
#include "os/os.h"
#include "probe/chance.h"
#include "probe/exact.h"
#include "probe/maps.h"
#include "stack/stack.h"

static uint64_t rounded(double x) { return x > 0 ? (uint64_t)(x + 0.5) : 0; }

/* What would have been seen at the period the file names, of blocks of this size on average: a reader that scales it comes back to
 * what it stands for. It is what was seen, unless the period was stretched or changed. */
static void put_seen(const struct vt_heap_rows *r, double objects, double bytes,
                     uint64_t *seen_objects, uint64_t *seen_bytes) {
    double size = objects > 0 ? bytes / objects : 0;
    double chance = vt__probability_of(size / (double)vt_max(r->period_bytes, 1));
    *seen_objects = rounded(objects * chance);
    *seen_bytes = rounded((double)*seen_objects * size);
}

static void put_allocated(const struct vt_heap_rows *r, const struct vt_site_counts *c,
                          double share, struct vt_heap_row *row) {
    row->alloc_objects = rounded(c->objects * share);
    row->alloc_bytes = rounded(c->bytes * share);
    row->alloc_requested_bytes = rounded(c->requested_bytes * share);
    row->alloc_samples = rounded((double)c->n_seen * share);
    put_seen(r, c->objects * share, c->bytes * share, &row->seen_alloc_objects,
             &row->seen_alloc_bytes);
}

static void put_counts(const struct vt_heap_rows *r, struct vt_heap_row *row) {
    const struct vt_site *s = &r->site;
    bool is_peak = r->kind == VT_HEAP_PEAK;
    double objects = is_peak ? s->peak.objects : s->alloc.objects - s->freed.objects;
    double bytes = is_peak ? s->peak.bytes : s->alloc.bytes - s->freed.bytes;
    row->inuse_objects = rounded(objects);
    row->inuse_bytes = rounded(bytes);
    row->inuse_samples = is_peak ? s->peak.n_seen : s->alloc.n_seen - s->freed.n_seen;
    row->inuse_requested_bytes = rounded(
        is_peak ? s->peak.requested_bytes : s->alloc.requested_bytes - s->freed.requested_bytes);
    put_seen(r, objects, bytes, &row->seen_inuse_objects, &row->seen_inuse_bytes);
    put_allocated(r, &s->alloc, 1, row);
}

/* Its thread may be giving itself another one. */
VT_READS_RACILY static void copy_name(struct vt_heap_rows *r, uint32_t thread) {
    const char *name = vt__thread_name(thread);
    size_t i = 0;
    for (; i + 1 < sizeof(r->name) && name[i] != '\0'; i++) r->name[i] = name[i];
    r->name[i] = '\0';
}

static void put_site(struct vt_heap_rows *r, struct vt_heap_row *row) {
    row->n_pcs = vt__depot_get(r->site.stack, &row->pc);
    row->thread = r->site.thread;
    copy_name(r, row->thread);
    row->thread_name = r->name;
    row->n_labels = vt__label_pairs(r->site.label, r->keys, r->values, VT_ROW_LABELS);
    row->label_keys = r->keys;
    row->label_values = r->values;
}

static bool next_site(struct vt_heap_rows *r, struct vt_heap_row *row) {
    if (!vt__sample_next_site(&r->cursor, &r->site)) return false;
    put_site(r, row);
    put_counts(r, row);
    return true;
}

static bool next_growth(struct vt_heap_rows *r, struct vt_heap_row *row) {
    struct vt_growth g;
    if (!vt__growth_next(&r->cursor, &g)) return false;
    row->n_pcs = vt__depot_get(g.stack, &row->pc);
    row->inuse_objects = row->alloc_objects = row->seen_inuse_objects = row->seen_alloc_objects =
        g.n;
    row->inuse_bytes = row->alloc_bytes = row->seen_inuse_bytes = row->seen_alloc_bytes = g.n_bytes;
    row->inuse_requested_bytes = row->alloc_requested_bytes = g.n_bytes;
    return true;
}

/* ---- exact mode ---- */

/* The text formats, which have one number of bytes, have what was asked for: nobody scales it. */
static void put_exact(struct vt_heap_row *row, const struct vt_exact_counts *alloc,
                      const struct vt_exact_counts *inuse) {
    row->alloc_objects = row->seen_alloc_objects = alloc->n;
    row->alloc_requested_bytes = row->seen_alloc_bytes = alloc->requested_bytes;
    row->alloc_bytes = alloc->bytes;
    row->inuse_objects = row->seen_inuse_objects = inuse->n;
    row->inuse_requested_bytes = row->seen_inuse_bytes = inuse->requested_bytes;
    row->inuse_bytes = inuse->bytes;
}

static void put_exact_site(struct vt_heap_rows *r, struct vt_heap_row *row) {
    const struct vt_exact_site *s = &r->exact;
    r->site = (struct vt_site){.stack = s->stack, .thread = s->thread, .label = s->label};
    put_site(r, row);
}

static struct vt_exact_counts inuse_of(const struct vt_exact_site *s) {
    return (struct vt_exact_counts){s->alloc.n - s->freed.n, s->alloc.bytes - s->freed.bytes,
                                    s->alloc.requested_bytes - s->freed.requested_bytes};
}

static bool next_exact(struct vt_heap_rows *r, struct vt_heap_row *row) {
    bool is_there = r->by_thread ? vt__exact_next_site(&r->exact_cursor, &r->exact)
                                 : vt__exact_next_stack(&r->cursor, &r->exact);
    if (!is_there) return false;
    struct vt_exact_counts inuse = inuse_of(&r->exact);
    put_exact_site(r, row);
    put_exact(row, &r->exact.alloc, r->kind == VT_HEAP_PEAK ? &r->exact.peak : &inuse);
    return true;
}

/* Of each site what is in use, and what was freed without its age; then what was freed, age by age. */
static bool next_exact_lifetime(struct vt_heap_rows *r, struct vt_heap_row *row) {
    static const struct vt_exact_counts none;
    while (r->age > 0 && r->age <= VT_LIFETIMES && r->ages[r->age - 1].n == 0) r->age++;
    if (r->age > 0 && r->age <= VT_LIFETIMES) {
        put_exact_site(r, row);
        put_exact(row, &r->ages[r->age - 1], &none);
        row->lifetime_ms = UINT64_C(1) << (r->age++ - 1);
        return true;
    }
    if (!vt__exact_next_site(&r->exact_cursor, &r->exact)) return false;
    struct vt_exact_counts inuse = inuse_of(&r->exact), rest = r->exact.alloc;
    vt__exact_ages_of(&r->exact_cursor, r->ages);
    for (unsigned i = 0; i < VT_LIFETIMES; i++) {
        rest.n -= r->ages[i].n;
        rest.bytes -= r->ages[i].bytes;
        rest.requested_bytes -= r->ages[i].requested_bytes;
    }
    r->age = 1;
    put_exact_site(r, row);
    put_exact(row, &rest, &inuse);
    return true;
}

static bool next_map(struct vt_heap_rows *r, struct vt_heap_row *row) {
    static const char *const uses[] = {
        [VT_MAP_ANONYMOUS] = "anonymous", [VT_MAP_FILE] = "file", [VT_MAP_BREAK] = "break"};
    struct vt_map_row m;
    if (!vt__maps_next(&r->cursor, &m)) return false;
    row->n_pcs = vt__depot_get(m.stack, &row->pc);
    row->alloc_objects = row->seen_alloc_objects = m.n_mapped;
    row->alloc_bytes = row->seen_alloc_bytes = row->alloc_requested_bytes = m.mapped_bytes;
    row->inuse_objects = row->seen_inuse_objects = m.n_inuse;
    row->inuse_bytes = row->seen_inuse_bytes = row->inuse_requested_bytes = m.inuse_bytes;
    row->n_labels = 1;
    r->keys[0] = "mapped";
    r->values[0] = uses[m.use];
    row->label_keys = r->keys;
    row->label_values = r->values;
    return true;
}

/* All that was allocated is what is in use. */
static void leave_out_freed(struct vt_heap_row *row) {
    row->alloc_objects = row->inuse_objects;
    row->alloc_bytes = row->inuse_bytes;
    row->alloc_requested_bytes = row->inuse_requested_bytes;
    row->alloc_samples = row->inuse_samples;
    row->seen_alloc_objects = row->seen_inuse_objects;
    row->seen_alloc_bytes = row->seen_inuse_bytes;
}

static void leave_out_allocated(struct vt_heap_row *row) {
    row->alloc_objects = row->alloc_bytes = row->alloc_requested_bytes = 0;
    row->seen_alloc_objects = row->seen_alloc_bytes = row->alloc_samples = 0;
}

/* The share of what was freed that was freed at this age. */
static void put_freed_at(const struct vt_heap_rows *r, struct vt_heap_row *row, unsigned age) {
    const struct vt_site *s = &r->site;
    uint64_t n = 0;
    for (unsigned i = 0; i < VT_LIFETIMES; i++) n += s->lifetimes[i];
    put_allocated(r, &s->freed, (double)s->lifetimes[age] / (double)n, row);
    row->lifetime_ms = UINT64_C(1) << age;
}

/* Of each site what is in use, and then what was freed, age by age. */
static bool next_lifetime(struct vt_heap_rows *r, struct vt_heap_row *row) {
    while (r->age > 0 && r->age <= VT_LIFETIMES && r->site.lifetimes[r->age - 1] == 0) r->age++;
    if (r->age == 0 || r->age > VT_LIFETIMES) {
        r->age = 1;
        if (!next_site(r, row)) return false;
        leave_out_freed(row);
    } else {
        put_site(r, row);
        put_freed_at(r, row, r->age++ - 1);
    }
    return true;
}

static void take_estimates_for_seen(struct vt_heap_row *row) {
    row->seen_inuse_objects = row->inuse_objects;
    row->seen_inuse_bytes = row->inuse_bytes;
    row->seen_alloc_objects = row->alloc_objects;
    row->seen_alloc_bytes = row->alloc_bytes;
}

static bool next(void *state, struct vt_heap_row *row) {
    static bool (*const of_kind[])(struct vt_heap_rows * r, struct vt_heap_row * row) = {
        [VT_HEAP_SAMPLED] = next_site,  [VT_HEAP_EXACT] = next_exact,
        [VT_HEAP_GROWTH] = next_growth, [VT_HEAP_PEAK] = next_site,
        [VT_HEAP_MMAP] = next_map,      [VT_HEAP_LIFETIMES] = next_lifetime};
    struct vt_heap_rows *r = state;
    bool (*of)(struct vt_heap_rows *, struct vt_heap_row *) = of_kind[r->kind];
    if (r->is_exact) of = r->kind == VT_HEAP_LIFETIMES ? next_exact_lifetime : next_exact;
    if (!r->is_in_maps && of(r, row)) {
        if (r->has_inuse_only) leave_out_allocated(row);
        if (r->has_maps && !r->is_exact) take_estimates_for_seen(row);
        return true;
    }
    if (!r->has_maps) return false;
    if (!r->is_in_maps) r->cursor = 0;
    r->is_in_maps = true;
    return next_map(r, row);
}

static void rewind_rows(void *state, bool by_thread) {
    struct vt_heap_rows *r = state;
    r->cursor = 0;
    r->exact_cursor = (struct vt_exact_cursor){0};
    r->by_thread = by_thread;
    r->age = 0;
    r->is_in_maps = false;
    if (by_thread) vt__threads_refresh();
}

struct vt_heap_source vt__heap_source(struct vt_heap_rows *rows, enum vt_heap_kind kind) {
    uint64_t since_ns = vt__sample_since_ns(), now_ns = vt__os_wall_ns();
    bool is_of_either = kind == VT_HEAP_PEAK || kind == VT_HEAP_LIFETIMES;
    bool is_exact = kind == VT_HEAP_EXACT || (is_of_either && vt__exact_is_set());
    bool is_sampled = kind == VT_HEAP_SAMPLED || (is_of_either && !is_exact);
    bool has_maps = vt__maps_is_on() && (kind == VT_HEAP_SAMPLED || kind == VT_HEAP_EXACT);
    *rows = (struct vt_heap_rows){.kind = kind, .has_maps = has_maps, .is_exact = is_exact};
    if (kind == VT_HEAP_PEAK) is_exact ? vt__exact_settle_peak() : vt__sample_settle_peak();
    rows->period_bytes = is_sampled ? vt__sample_period() : 1;
    return (struct vt_heap_source){.kind = kind,
                                   .period_bytes = rows->period_bytes,
                                   .has_maps = has_maps,
                                   .time_ns = since_ns,
                                   .duration_ns = now_ns - since_ns,
                                   .state = rows,
                                   .rewind = rewind_rows,
                                   .next = next};
}
