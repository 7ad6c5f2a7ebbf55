/* heap_gperftools.c - a heap profile in the text form of gperftools, for google-pprof, jeprof and pprof.
 *
 *   heap profile: %6d: %8d [%6d: %8d] @ TYPE       objects: bytes in use [objects: bytes allocated], sums of all lines
 *   %6d: %8d [%6d: %8d] @ 0x%08x 0x%08x ...        one line per row, innermost address first
 *
 *   MAPPED_LIBRARIES:
 *   the text of /proc/self/maps
 *
 * TYPE is `heapprofile` (exact), `heap_v2/PERIOD` (sampled: numbers as seen, the reader scales) or `growth`.
 * google-pprof and jeprof subtract 1 from all addresses but the first, pprof from all: the first is written less one, and is
 * inside the call for all three, as no call instruction is shorter than two bytes.
 *
 * Two passes, as the sums come first; where a row changes between them the sums differ from the lines by that much. No
 * reader computes with the sums.
 *
 * Climate: host, no malloc.   Owns: nothing.
 */
#include "dump/impl.h"

static void put_counts(struct vt_text *t, const struct vt_heap_sum *n) {
    vt__text_uint_wide(t, n->inuse_objects, 6);
    vt__text_put(t, ": ");
    vt__text_uint_wide(t, n->inuse_bytes, 8);
    vt__text_put(t, " [");
    vt__text_uint_wide(t, n->alloc_objects, 6);
    vt__text_put(t, ": ");
    vt__text_uint_wide(t, n->alloc_bytes, 8);
    vt__text_put(t, "] @");
}

static void put_header(struct vt_out *o, const struct vt_heap_source *src) {
    struct vt_heap_row row;
    struct vt_heap_sum total = {0};
    src->rewind(src->state, /* by_thread */ false);
    while (vt__row_next(src, &row)) vt__sum_add(&total, &row);
    vt__text_put(&o->text, "heap profile: ");
    put_counts(&o->text, &total);
    if (src->kind == VT_HEAP_GROWTH) {
        vt__text_put(&o->text, " growth\n");
    } else if (vt__is_to_scale(src)) {
        vt__text_put(&o->text, " heap_v2/");
        vt__text_uint(&o->text, src->period_bytes);
        vt__text_char(&o->text, '\n');
    } else {
        vt__text_put(&o->text, " heapprofile\n");
    }
}

static void put_stack(struct vt_text *t, const struct vt_heap_row *row) {
    if (row->n_pcs == 0)
        vt__text_put(t, " 0x00000000"); /* a line without an address is skipped by all readers */
    for (unsigned i = 0; i < row->n_pcs; i++) {
        vt__text_put(t, " 0x");
        vt__put_hex(t, i == 0 ? vt__call_of(row->pc[0]) : row->pc[i], 8);
    }
    vt__text_char(t, '\n');
}

int vt__heap_gperftools(struct vt_out *o, const struct vt_heap_source *src) {
    struct vt_heap_row row;
    put_header(o, src);
    src->rewind(src->state, /* by_thread */ false);
    while (o->err == 0 && vt__row_next(src, &row)) {
        struct vt_heap_sum n = {0};
        vt__sum_add(&n, &row);
        put_counts(&o->text, &n);
        put_stack(&o->text, &row);
    }
    vt__put_mapped_libraries(o);
    return 0;
}
