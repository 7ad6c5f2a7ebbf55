/* cpu_proto.c - a CPU profile as profile.proto.
 *
 *   CPU time:   samples/count  cpu/nanoseconds
 *   wall time:  samples/count  wall/nanoseconds  cpu/nanoseconds  offcpu/nanoseconds       wall = cpu + offcpu
 *
 * Climate: host, no malloc.   Owns: nothing.
 */
#include "dump/cpu_profile.h"
#include "dump/proto.h"

static const struct vt_proto_type cpu_types[] = {{"samples", "count"}, {"cpu", "nanoseconds"}};
static const struct vt_proto_type wall_types[] = {{"samples", "count"},
                                                  {"wall", "nanoseconds"},
                                                  {"cpu", "nanoseconds"},
                                                  {"offcpu", "nanoseconds"}};

static int write_row(struct vt_proto *e, const struct vt_cpu_stack *row, bool is_wall) {
    const uint64_t cpu_values[] = {row->n, row->on_ns};
    const uint64_t wall_values[] = {row->n, row->on_ns + row->off_ns, row->on_ns, row->off_ns};
    struct vt_proto_sample s = {
        .pc = row->pc,
        .n_pcs = row->n_pcs,
        .is_interrupted = true,
        .thread = row->thread,
        .thread_name = row->thread_name,
        .n_labels = row->n_labels,
        .label_keys = row->label_keys,
        .label_values = row->label_values,
        .values = is_wall ? wall_values : cpu_values,
        .n_values = (unsigned)(is_wall ? vt_countof(wall_values) : vt_countof(cpu_values))};
    return vt__proto_sample(e, &s);
}

int vt__cpu_proto(struct vt_out *o, const struct vt_cpu_source *src) {
    struct vt_cpu_stack row;
    struct vt_proto e;
    struct vt_proto_head head = {
        .types = src->is_wall ? wall_types : cpu_types,
        .n_types = (unsigned)(src->is_wall ? vt_countof(wall_types) : vt_countof(cpu_types)),
        .default_type = src->is_wall ? "wall" : "cpu",
        .period_type = {src->is_wall ? "wall" : "cpu", "nanoseconds"},
        .period = src->period_ns,
        .time_ns = src->time_ns,
        .duration_ns = src->duration_ns,
        .comment = src->is_wall ? "vitrine CPU profile: wall time" : "vitrine CPU profile"};
    int err = vt__proto_begin(&e, o, &head);
    if (err == 0) src->rewind(src->state);
    while (err == 0 && o->err == 0 && vt__cpu_stack_next(src, &row))
        err = write_row(&e, &row, src->is_wall);
    vt__proto_end(&e);
    return err;
}
