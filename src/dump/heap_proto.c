/* heap_proto.c - a heap profile as profile.proto: values for each row, and the calls that allocated.
 *
 * "space" is what the program asked for, "class_space" what its blocks have: the difference is what rounding up wastes.
 * Where they are estimates, two more say how many samples they are made of, and so how good they are.
 *
 * Climate: host, no malloc.   Owns: nothing.
 */
#include "dump/proto.h"

static const struct vt_proto_type types[] = {
    {"alloc_objects", "count"}, {"alloc_space", "bytes"},       {"inuse_objects", "count"},
    {"inuse_space", "bytes"},   {"alloc_class_space", "bytes"}, {"inuse_class_space", "bytes"},
    {"alloc_samples", "count"}, {"inuse_samples", "count"}};
#define N_IN_ALL 6 /* types of every profile; those behind are of estimates */

static const char *const kind_comments[] = {
    [VT_HEAP_SAMPLED] = "vitrine heap profile: sampled",
    [VT_HEAP_EXACT] = "vitrine heap profile: exact",
    [VT_HEAP_GROWTH] = "vitrine heap profile: growth",
    [VT_HEAP_PEAK] = "vitrine heap profile: peak",
    [VT_HEAP_MMAP] = "vitrine heap profile: mmap",
    [VT_HEAP_LIFETIMES] = "vitrine heap profile: lifetimes",
};

static int write_row(struct vt_proto *e, const struct vt_heap_row *row, unsigned n_values) {
    const uint64_t values[] = {row->alloc_objects, row->alloc_requested_bytes,
                               row->inuse_objects, row->inuse_requested_bytes,
                               row->alloc_bytes,   row->inuse_bytes,
                               row->alloc_samples, row->inuse_samples};
    struct vt_proto_sample s = {.pc = row->pc,
                                .n_pcs = row->n_pcs,
                                .thread = row->thread,
                                .thread_name = row->thread_name,
                                .lifetime_ms = row->lifetime_ms,
                                .n_labels = row->n_labels,
                                .label_keys = row->label_keys,
                                .label_values = row->label_values,
                                .values = values,
                                .n_values = n_values};
    return vt__proto_sample(e, &s);
}

int vt__heap_proto(struct vt_out *o, const struct vt_heap_source *src) {
    struct vt_heap_row row;
    struct vt_proto e;
    unsigned n_types = vt__is_sampled(src) ? vt_countof(types) : N_IN_ALL;
    struct vt_proto_head head = {.types = types,
                                 .n_types = n_types,
                                 .default_type = "inuse_space",
                                 .period_type = {"space", "bytes"},
                                 .period = src->period_bytes,
                                 .time_ns = src->time_ns,
                                 .duration_ns = src->duration_ns,
                                 .comment = kind_comments[src->kind]};
    int err = vt__proto_begin(&e, o, &head);
    if (err == 0) src->rewind(src->state, /* by_thread */ true);
    while (err == 0 && o->err == 0 && vt__row_next(src, &row)) err = write_row(&e, &row, n_types);
    vt__proto_end(&e);
    return err;
}
