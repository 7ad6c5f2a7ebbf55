/* cpu_profile.c - what the CPU profiler and the waits counted as rows, and the choice of a format for them. See cpu_profile.h.
 *
 * Climate: host, no malloc.   Owns: nothing.
 */
#include "dump/cpu_profile.h"

#include <errno.h>

#include "os/os.h"
#include "probe/cpu.h"
#include "probe/upcalls.h"

void vt__cpu_row_set(struct vt_cpu_stack *row, struct vt_cpu_rows *r, const struct vt_count *c) {
    row->n_pcs = vt__depot_get(c->stack, &row->pc);
    row->n_labels = vt__life_label_pairs(c->label, r->keys, r->values, VT_CPU_ROW_LABELS);
    row->label_keys = r->keys;
    row->label_values = r->values;
    row->n = c->n;
    row->on_ns = c->on_ns;
    row->off_ns = c->off_ns;
}

void vt__cpu_rows_rewind(void *state) { ((struct vt_cpu_rows *)state)->cursor = 0; }

static bool next_cpu(void *state, struct vt_cpu_stack *row) {
    struct vt_cpu_rows *r = state;
    struct vt_cpu_row c;
    if (!vt__cpu_next(&r->cursor, &c)) return false;
    vt__cpu_row_set(row, r, &c.count);
    row->thread = (uint32_t)c.tid;
    row->thread_name = c.thread_name;
    return true;
}

struct vt_cpu_source vt__cpu_source(struct vt_cpu_rows *rows) {
    struct vt_cpu_totals t;
    vt__cpu_totals(&t);
    *rows = (struct vt_cpu_rows){0};
    bool is_wall = t.clock == VT_CPU_WALL || t.clock == VT_CPU_REAL;
    return (struct vt_cpu_source){.kind = is_wall ? VT_WALL_TIME : VT_CPU_TIME,
                                  .period_ns = t.period_ns,
                                  .time_ns = t.since_ns,
                                  .duration_ns = vt__os_wall_ns() - t.since_ns,
                                  .state = rows,
                                  .rewind = vt__cpu_rows_rewind,
                                  .next = next_cpu};
}

/* ---- rows ---- */

bool vt__cpu_stack_next(const struct vt_cpu_source *src, struct vt_cpu_stack *row) {
    *row = (struct vt_cpu_stack){0};
    return src->next(src->state, row);
}

uint64_t vt__cpu_n_periods(const struct vt_cpu_source *src) {
    struct vt_cpu_stack row;
    uint64_t n = 0;
    src->rewind(src->state);
    while (vt__cpu_stack_next(src, &row)) n += row.n;
    return n;
}

/* ---- files ---- */

static int (*const writers[])(struct vt_out *o, const struct vt_cpu_source *src) = {
    [VT_CPU_PROTO_FORMAT] = vt__cpu_proto,
    [VT_CPU_GPERFTOOLS_FORMAT] = vt__cpu_gperftools,
    [VT_CONTENTION_FORMAT] = vt__contention_text,
};

struct job {
    enum vt_cpu_format format;
    const struct vt_cpu_source *src;
};

static int write_job(struct vt_out *o, const void *arg) {
    const struct job *job = arg;
    if ((unsigned)job->format >= vt_countof(writers)) return -EINVAL;
    return writers[job->format](o, job->src);
}

int vt__cpu_write_fd(int fd, enum vt_cpu_format format, const struct vt_cpu_source *src) {
    struct job job = {format, src};
    return vt__write_fd(fd, write_job, &job);
}

int vt__cpu_write_file(const char *path, enum vt_cpu_format format,
                       const struct vt_cpu_source *src) {
    struct job job = {format, src};
    return vt__write_file_quietly(path, write_job, &job);
}
