/* gperftools.c - any bytes as the value of each of gperftools' variables, and as a variable: the reader must not read past their end,
 * every option stays within its bounds, and a number is what strtoll makes of it.
 *
 * table.c calls LLVMFuzzerTestOneInput with odd inputs and what becomes of them by small changes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dialect/gperftools_environment.c"
#include "edge.h"
#include "heard.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n_bytes);

void vt__debug_begin(void) {}

static void check_options(void) {
    set_options();
    for (int i = 0; i < VT_OPT_COUNT; i++) {
        const struct vt_option_row *row = &vt__option_rows[i];
        EXPECT(vt__option_values[i] >= row->low && vt__option_values[i] <= row->high);
        vt__option_values[i] = row->dflt;
    }
    uint64_t cache = vt__gperftools_clip_cache(vt__gperftools.max_total_thread_cache_bytes);
    EXPECT(cache >= KiB(512) && cache <= GiB(1));
}

/* Ours ends some steps before the ends of its range. */
static int64_t at_an_end(int64_t n) {
    return n > INT64_MAX - 10 ? INT64_MAX : n < -INT64_MAX + 10 ? -INT64_MAX : n;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n_bytes) {
    if (n_bytes > KiB(512)) return 0;
    const char *text = at_the_edge("", "", data, n_bytes);
    EXPECT(at_an_end(vt__gperftools_number(text)) == at_an_end(strtoll(text, NULL, 10)));
    vt__gperftools.has_sampler = vt__gperftools.has_heap_profiler = true;
    for (size_t i = 0; i < vt_countof(rows); i++) {
        const struct vt_gperftools before = vt__gperftools;
        EXPECT(read_variable(at_the_edge(rows[i].name, "=", data, n_bytes)));
        check_options();
        vt__gperftools = before; /* texts point to what is gone by then */
    }
    (void)read_variable(at_the_edge("", "", data, n_bytes));
    said.n_lines = 0;
    warn_unknown(at_the_edge("TCMALLOC_", "", data, n_bytes));
    EXPECT(said.n_lines <= 1);
    return 0;
}
