/* options.c - any bytes as VITRINE and as a variable VITRINE_...: the option parser must not read
 * past their end, and keeps its promises about what it says and changes.
 *
 * libFuzzer calls LLVMFuzzerTestOneInput (clang, `make soak`). table.c calls it in every `make
 * test`, with odd inputs and what becomes of them by small changes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "conf/options.h"
#include "os/os.h"

/* What the parser says comes here instead of stderr, and is looked at. */
static struct {
    unsigned n_lines;
    char last[1024];
} said;

static void hear(int fd, const char *data, size_t n_bytes);

#define vt__os_write hear
#include "conf/options.c"
#include "expect.h"
#undef vt__os_write

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n_bytes);

/* One call, one line, printable, with the prefix all our warnings have. */
static void hear(int fd, const char *data, size_t n_bytes) {
    static const char prefix[] = "vitrine: warning: ";
    EXPECT(fd == 2);
    EXPECT(n_bytes < sizeof(said.last));
    memcpy(said.last, data, n_bytes);
    said.last[n_bytes] = '\0';
    EXPECT(n_bytes > sizeof(prefix) && memcmp(data, prefix, sizeof(prefix) - 1) == 0);
    EXPECT(data[n_bytes - 1] == '\n');
    for (size_t i = 0; i + 1 < n_bytes; i++) EXPECT((unsigned char)data[i] >= ' ');
    said.n_lines++;
}

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

/* The text with its NUL as the last bytes before a page of no access. */
static const char *at_the_edge(const char *prefix, const unsigned char *data, size_t n_bytes) {
    static char *area, *edge;
    if (area == NULL) {
        area = mmap(NULL, MiB(2), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        edge = area + MiB(1);
        EXPECT(mprotect(edge, VT_OS_PAGE, PROT_NONE) == 0);
    }
    size_t n_prefix = strlen(prefix);
    char *at = edge - n_prefix - n_bytes - 1;
    memcpy(at, prefix, n_prefix);
    memcpy(at + n_prefix, data, n_bytes);
    edge[-1] = '\0';
    return at;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n_bytes) {
    if (n_bytes > KiB(512)) return 0;
    size_t n_names = 1;
    for (size_t i = 0; i < n_bytes; i++) n_names += data[i] == ',';

    set_defaults();
    read_list(at_the_edge("", data, n_bytes));
    EXPECT(said.n_lines + n_changed() <=
           n_names); /* each name is taken or complained about, at most once */

    set_defaults();
    read_variable(at_the_edge("VITRINE_", data, n_bytes));
    EXPECT(said.n_lines + n_changed() <= 1);

    set_defaults();
    read_variable(at_the_edge("", data, n_bytes));
    EXPECT(said.n_lines + n_changed() <= 1);
    return 0;
}
