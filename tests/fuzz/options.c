/* options.c - any bytes as VITRINE and as a variable VITRINE_...: the option parser must not read
 * past their end, and keeps its promises about what it says and changes.
 *
 * libFuzzer calls LLVMFuzzerTestOneInput (clang, `make soak`). table.c calls it in every `make
 * test`, with odd inputs and what becomes of them by small changes.
 */
#include "heard.c" /* the parser's own functions are called */

#include "edge.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n_bytes);

static void set_defaults(void) {
    said.n_lines = 0;
    for (int i = 0; i < VT_OPT_COUNT; i++) vt__option_values[i] = vt__option_rows[i].dflt;
}

static unsigned n_changed(void) {
    unsigned n = 0;
    for (int i = 0; i < VT_OPT_COUNT; i++) {
        const struct vt_option_row *row = &vt__option_rows[i];
        EXPECT(vt__option_values[i] >= row->low && vt__option_values[i] <= row->high);
        n += vt__option_values[i] != row->dflt;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n_bytes) {
    if (n_bytes > KiB(512)) return 0;
    size_t n_names = 1;
    for (size_t i = 0; i < n_bytes; i++) n_names += data[i] == ',';

    set_defaults();
    read_list(at_the_edge("", "", data, n_bytes));
    EXPECT(said.n_lines + n_changed() <=
           n_names); /* each name is taken or complained about, at most once */

    set_defaults();
    read_variable(at_the_edge("VITRINE_", "", data, n_bytes));
    EXPECT(said.n_lines + n_changed() <= 1);

    set_defaults();
    read_variable(at_the_edge("", "", data, n_bytes));
    EXPECT(said.n_lines + n_changed() <= 1);
    return 0;
}
