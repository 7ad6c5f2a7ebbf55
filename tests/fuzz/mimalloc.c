/* mimalloc.c - any bytes as the value and as the name of a MIMALLOC_ variable: nothing is read past their end, what is no value
 * changes nothing, and what is one is told once. As options.c: libFuzzer in `make soak`, table.c in every `make test`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/mimalloc_impl.h"

static const char *const *environment_now(void);
static unsigned n_warnings;

#define vt__os_environment environment_now
#include "dialect/mimalloc_environment.c"
#include "dialect/mimalloc_values.c"
#include "edge.h"
#include "heard.h"
#undef vt__os_environment

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n_bytes);

/* ---- what the two files ask of others ---- */

/* No heap is linked here; where one is, in table.c's program, it answers. */
__attribute__((weak)) size_t vt__heap_grown_bytes(void) { return MiB(64); }

const struct vt_mi_line vt__mi_line = {.line = VT_MI_V3};

void vt__mi_begin(struct vt_mi_message *m, const char *prefix) {
    m->text = (struct vt_text){m->line, sizeof(m->line) - 2, 0, false, NULL, NULL};
    vt__text_put(&m->text, prefix);
}
void vt__mi_warn(struct vt_mi_message *m) {
    EXPECT(!m->text.is_cut);
    n_warnings++;
}

/* ---- one variable ---- */

static const char *variable[2];
static const char *const *environment_now(void) { return variable; }

static unsigned n_set(void) {
    unsigned n = 0;
    for (unsigned o = 0; o < VT_MI_N_OPTIONS; o++) n += vt__mi_option_is_set((enum vt_mi_option)o);
    for (unsigned i = 0; i < VT_OPT_COUNT; i++)
        EXPECT(vt__option_values[i] >= vt__option_rows[i].low &&
               vt__option_values[i] <= vt__option_rows[i].high);
    return n;
}

static void forget(void) {
    n_warnings = said.n_lines = 0;
    memset(&options, 0, sizeof(options));
    for (unsigned i = 0; i < VT_OPT_COUNT; i++) vt__option_values[i] = vt__option_rows[i].dflt;
}

/* `prefix` and the bytes as the environment's only variable. */
static void read_as(const char *prefix, const unsigned char *data, size_t n_bytes) {
    variable[0] = at_the_edge(prefix, "", data, n_bytes);
    forget();
    vt__mimalloc_read_environment();
    n_warnings += said.n_lines;
}

/* A number that was taken is all of the text; the words that count as 0 and 1 are in dialect/mimalloc/output.py. */
static void check_number(const char *text) {
    char *end;
    long n = vt__mi_option(VT_MI_purge_delay), expected = strtol(text, &end, 10);
    if (n_set() == 0 || (n == 0 || n == 1) || strlen(text) > VALUE_MAX_BYTES) return;
    EXPECT(*end == '\0' && n == (expected == LONG_MIN ? -LONG_MAX : expected));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n_bytes) {
    if (n_bytes > KiB(512)) return 0;
    read_as("MIMALLOC_PURGE_DELAY=", data, n_bytes);
    EXPECT(n_set() + n_warnings == 1);
    check_number(strchr(variable[0], '=') + 1);
    read_as("mimalloc_reserve_os_memory=", data, n_bytes);
    EXPECT(n_set() + n_warnings == 1);
    EXPECT(vt__mi_option(VT_MI_reserve_os_memory) >= 0);
    read_as("MIMALLOC_LIMIT_OS_ALLOC=", data, n_bytes);
    EXPECT(n_set() <= 1 && n_warnings >= 1); /* an older name */
    read_as("MIMALLOC_", data, n_bytes);
    EXPECT(n_set() + n_warnings <= 2);
    read_as("", data, n_bytes);
    EXPECT(n_set() + n_warnings <= 2);
    return 0;
}
