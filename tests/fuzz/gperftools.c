/* gperftools.c - any bytes as the value of each of gperftools' variables, and as a variable: the reader must not read past their end,
 * and every option stays within its bounds.
 *
 * table.c calls LLVMFuzzerTestOneInput with odd inputs and what becomes of them by small changes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dialect/gperftools_environment.c"
#include "expect.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n_bytes);

void vt__debug_begin(void) {}

/* The text with its NUL as the last bytes before a page of no access. */
static const char *at_the_edge(const char *name, const char *between, const unsigned char *data,
                               size_t n_bytes) {
    static char *area, *edge;
    if (area == NULL) {
        area = mmap(NULL, MiB(2), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        edge = area + MiB(1);
        EXPECT(mprotect(edge, VT_OS_PAGE, PROT_NONE) == 0);
    }
    char *at = edge - strlen(name) - strlen(between) - n_bytes - 1;
    char *to = at;
    memcpy(to, name, strlen(name)), to += strlen(name);
    memcpy(to, between, strlen(between)), to += strlen(between);
    memcpy(to, data, n_bytes);
    edge[-1] = '\0';
    return at;
}

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

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n_bytes) {
    if (n_bytes > KiB(512)) return 0;
    vt__gperftools.has_sampler = vt__gperftools.has_heap_profiler = true;
    for (size_t i = 0; i < vt_countof(rows); i++) {
        const struct vt_gperftools before = vt__gperftools;
        EXPECT(read_variable(at_the_edge(rows[i].name, "=", data, n_bytes)));
        check_options();
        vt__gperftools = before; /* texts point to what is gone by then */
    }
    (void)read_variable(at_the_edge("", "", data, n_bytes));
    warn_unknown(at_the_edge("TCMALLOC_", "", data, n_bytes));
    return 0;
}
