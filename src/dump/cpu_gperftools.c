/* cpu_gperftools.c - a CPU profile as gperftools writes it, in words of 8 bytes:
 *
 *   0 3 0 PERIOD 0                          period in microseconds
 *   COUNT DEPTH PC...                       for each row; the interrupted address, then return addresses
 *   0 1 0
 *   /proc/self/maps as text
 *
 * Climate: host, no malloc.   Owns: nothing.
 */
#include "dump/cpu_profile.h"

#define N_FIXED_WORDS 8
#define NOWHERE                                                                                    \
    1 /* the address of a stack that is not known: google-pprof takes 0 for the end of all rows */

static void put_words(struct vt_out *o, const uint64_t *word, size_t n) {
    vt__text_put_n(&o->text, (const char *)word, n * sizeof(*word));
}

uint64_t vt__cpu_gperftools_bytes(const struct vt_cpu_source *src) {
    struct vt_cpu_stack row;
    uint64_t n_words = N_FIXED_WORDS;
    src->rewind(src->state);
    while (vt__cpu_stack_next(src, &row)) n_words += 2 + vt_max(row.n_pcs, 1);
    return n_words * sizeof(uint64_t);
}

int vt__cpu_gperftools(struct vt_out *o, const struct vt_cpu_source *src) {
    struct vt_cpu_stack row;
    const uint64_t head[] = {0, 3, 0, src->period_ns / 1000, 0};
    const uint64_t end[] = {0, 1, 0};
    _Static_assert(vt_countof(head) + vt_countof(end) == N_FIXED_WORDS, "counted above");
    put_words(o, head, vt_countof(head));
    src->rewind(src->state);
    while (o->err == 0 && vt__cpu_stack_next(src, &row)) {
        const uint64_t record[] = {row.n, vt_max(row.n_pcs, 1), NOWHERE};
        put_words(o, record, row.n_pcs == 0 ? 3 : 2);
        for (unsigned i = 0; i < row.n_pcs; i++) {
            uint64_t pc = row.pc[i];
            put_words(o, &pc, 1);
        }
    }
    put_words(o, end, vt_countof(end));
    vt__put_maps(o);
    return 0;
}
