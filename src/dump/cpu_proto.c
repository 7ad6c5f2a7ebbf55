/* cpu_proto.c - a profile of time as profile.proto.
 *
 *   CPU time:   samples/count  cpu/nanoseconds
 *   wall time:  samples/count  wall/nanoseconds  cpu/nanoseconds  offcpu/nanoseconds       wall = cpu + offcpu
 *   waits:      contentions/count  delay/nanoseconds
 *
 * Climate: host, no malloc.   Owns: nothing.
 */
#include "dump/cpu_profile.h"
#include "dump/proto.h"

#define MAX_TYPES 4
#define MAIN 1 /* of the types: the default, and the period's */

static const struct vt_cpu_shape {
    struct vt_proto_type types[MAX_TYPES];
    unsigned n_types;
    const char *comment;
} shapes[] = {
    [VT_CPU_TIME] = {{{"samples", "count"}, {"cpu", "nanoseconds"}}, 2, "vitrine CPU profile"},
    [VT_WALL_TIME] = {{{"samples", "count"},
                       {"wall", "nanoseconds"},
                       {"cpu", "nanoseconds"},
                       {"offcpu", "nanoseconds"}},
                      4,
                      "vitrine CPU profile: wall time"},
    [VT_WAITS] = {{{"contentions", "count"}, {"delay", "nanoseconds"}},
                  2,
                  "vitrine contention profile"},
};

static int write_row(struct vt_proto *e, const struct vt_cpu_stack *row, enum vt_cpu_kind kind) {
    const uint64_t values[MAX_TYPES] = {row->n, row->on_ns};
    const uint64_t wall_values[MAX_TYPES] = {row->n, row->on_ns + row->off_ns, row->on_ns,
                                             row->off_ns};
    struct vt_proto_sample s = {.pc = row->pc,
                                .n_pcs = row->n_pcs,
                                .is_interrupted = kind != VT_WAITS,
                                .thread = row->thread,
                                .thread_name = row->thread_name,
                                .n_labels = row->n_labels,
                                .label_keys = row->label_keys,
                                .label_values = row->label_values,
                                .values = kind == VT_WALL_TIME ? wall_values : values,
                                .n_values = shapes[kind].n_types};
    return vt__proto_sample(e, &s);
}

int vt__cpu_proto(struct vt_out *o, const struct vt_cpu_source *src) {
    struct vt_cpu_stack row;
    struct vt_proto e;
    const struct vt_cpu_shape *shape = &shapes[src->kind];
    struct vt_proto_head head = {.types = shape->types,
                                 .n_types = shape->n_types,
                                 .default_type = shape->types[MAIN].name,
                                 .period_type = shape->types[MAIN],
                                 .period = src->period_ns,
                                 .time_ns = src->time_ns,
                                 .duration_ns = src->duration_ns,
                                 .comment = shape->comment};
    int err = vt__proto_begin(&e, o, &head);
    if (err == 0) src->rewind(src->state);
    while (err == 0 && o->err == 0 && vt__cpu_stack_next(src, &row))
        err = write_row(&e, &row, src->kind);
    vt__proto_end(&e);
    return err;
}
