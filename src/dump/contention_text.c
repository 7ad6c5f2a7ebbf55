/* contention_text.c - a contention profile as gperftools and brpc write it.
 *
 *   --- contention:
 *   cycles/second=1000000000           cycles are nanoseconds
 *   sampling period=1                  the numbers below stand for all waits already
 *   ms since reset=N
 *   CYCLES COUNT @ PC...               for each row; return addresses
 *   --- Memory map: ---
 *   /proc/self/maps as text
 *
 * brpc has neither the colon behind the first words nor the line before the maps; Go's pprof wants both, the others do not mind.
 *
 * Climate: host, no malloc.   Owns: nothing.
 */
#include "dump/cpu_profile.h"

#define NSEC_PER_MSEC 1000000

static void put_row(struct vt_text *t, const struct vt_cpu_stack *row) {
    vt__text_uint(t, row->on_ns);
    vt__text_char(t, ' ');
    vt__text_uint(t, row->n);
    vt__text_put(t, " @");
    if (row->n_pcs == 0) vt__text_put(t, " 0x0");
    for (unsigned i = 0; i < row->n_pcs; i++) {
        vt__text_put(t, " 0x");
        vt__put_hex(t, row->pc[i], 1);
    }
    vt__text_char(t, '\n');
}

int vt__contention_text(struct vt_out *o, const struct vt_cpu_source *src) {
    struct vt_cpu_stack row;
    vt__text_put(&o->text, "--- contention:\ncycles/second=1000000000\nsampling period=1\n"
                           "ms since reset=");
    vt__text_uint(&o->text, src->duration_ns / NSEC_PER_MSEC);
    vt__text_char(&o->text, '\n');
    src->rewind(src->state);
    while (o->err == 0 && vt__cpu_stack_next(src, &row)) put_row(&o->text, &row);
    vt__text_put(&o->text, "--- Memory map: ---\n");
    vt__put_maps(o);
    return 0;
}
