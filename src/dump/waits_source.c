/* waits_source.c - what was waited for, as rows of a contention profile. See cpu_profile.h. Climate: host, no malloc. */
#include "dump/cpu_profile.h"
#include "os/os.h"
#include "probe/waits.h"

/* The function that waited comes first: readers see by it what was waited for. One more than its address, as of a call in it. */
static bool next_wait(void *state, struct vt_cpu_stack *row) {
    struct vt_wait_rows *r = state;
    struct vt_count c;
    if (!vt__waits_next(&r->rows.cursor, &c, &r->who)) return false;
    vt__cpu_row_set(row, &r->rows, &c);
    row->thread = r->who.tid;
    row->thread_name = r->who.thread_name;
    if (row->n_pcs == 0 || r->who.function == 0) return true;
    r->pc[0] = r->who.function + 1;
    __builtin_memcpy(r->pc + 1, row->pc, row->n_pcs * sizeof(row->pc[0]));
    row->pc = r->pc;
    row->n_pcs++;
    return true;
}

struct vt_cpu_source vt__waits_source(struct vt_wait_rows *rows) {
    struct vt_wait_totals t;
    vt__waits_totals(&t);
    rows->rows = (struct vt_cpu_rows){0};
    return (struct vt_cpu_source){.kind = VT_WAITS,
                                  .period_ns = t.period_ns,
                                  .time_ns = t.since_ns,
                                  .duration_ns = vt__os_wall_ns() - t.since_ns,
                                  .state = rows,
                                  .rewind = vt__cpu_rows_rewind,
                                  .next = next_wait};
}
