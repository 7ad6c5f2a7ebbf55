/* jemalloc.c - any bytes as MALLOC_CONF, and as a name for mallctl with buffers of any length: nothing is read or written beyond
 * them, each pair is taken or complained about once, and the errors are jemalloc's.
 *
 *   C...     the rest is a string of options
 *   ab...    lengths of the old and of the new value (the bytes, modulo 49), and the name
 *
 * libFuzzer calls LLVMFuzzerTestOneInput (clang, `make soak`); table.c does in every `make test`, with the inputs of jemalloc_odd.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dialect/jemalloc.h"
#include "heap/heap.h"
#include "compat/jemalloc/jemalloc.h"
#include "expect.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n_bytes);

#define MOST 48 /* bytes of a value */

static unsigned n_said;

/* In the place of jemalloc_say.c: one line, printable. */
void vt__je_write(const char *text) { (void)text; }
void vt__je_say(const char *a, const char *b, const char *c) {
    const char *parts[] = {a, b, c};
    n_said++;
    for (size_t i = 0; i < 3; i++)
        for (const char *s = parts[i]; *s != '\0'; s++) EXPECT((unsigned char)*s >= ' ');
}

/* Of jemalloc_alloc.c, which needs the names of libc. */
void *mallocx(size_t size, int flags) {
    (void)flags;
    return vt__malloc(size);
}
uint64_t vt__je_zero_reallocs(void) { return 0; }

/* n bytes that end at a page of no access. */
static char *at_the_edge(unsigned which, size_t n_bytes) {
    static char *edges[3];
    if (edges[which] == NULL) {
        char *area = mmap(NULL, MiB(1) + VT_OS_PAGE, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT(area != MAP_FAILED && mprotect(area + MiB(1), VT_OS_PAGE, PROT_NONE) == 0);
        edges[which] = area + MiB(1);
    }
    return edges[which] - n_bytes;
}

static char *string_at_the_edge(const unsigned char *data, size_t n_bytes) {
    char *s = at_the_edge(0, n_bytes + 1);
    memcpy(s, data, n_bytes);
    s[n_bytes] = '\0';
    return s;
}

static void read_conf(const unsigned char *data, size_t n_bytes) {
    size_t n_pairs = 1;
    for (size_t i = 0; i < n_bytes; i++) n_pairs += data[i] == ',';
    n_said = 0;
    vt__je_parse(string_at_the_edge(data, n_bytes));
    EXPECT(vt_je(confirm_conf) || n_said <= n_pairs);
    for (int i = 0; i < VT_JE_OPT_COUNT; i++) {
        const struct vt_je_option_row *row = &vt__je_option_rows[i];
        int64_t n = vt__je_values[i].n;
        if (row->kind < VT_JE_CHOICE) EXPECT(n >= row->low && n <= row->high);
        if (row->kind >= VT_JE_CHOICE) EXPECT(vt__je_values[i].text != NULL);
    }
    vt_je(confirm_conf) = 0;
}

static void do_nothing(void) {}

/* All values are pointers to a buffer of 64 zeros, as some nodes follow them, or to a function that does nothing, as others call
 * them. */
static void call(const unsigned char *data, size_t n_bytes) {
    static char scratch[64];
    size_t oldlen = data[0] % (MOST + 1), newlen = data[1] % (MOST + 1), before = oldlen;
    const char *name = string_at_the_edge(data + 2, n_bytes - 2);
    char *old = oldlen != 0 ? at_the_edge(1, oldlen) : NULL;
    char *new = newlen != 0 ? at_the_edge(2, newlen) : NULL;
    bool is_called = strstr(name, ".hooks.") != NULL || strstr(name, "alloc_dump") != NULL;
    void *to = is_called ? (void *)do_nothing : scratch;
    for (size_t i = 0; i < oldlen; i++) old[i] = ((char *)&to)[i % sizeof(to)];
    for (size_t i = 0; i < newlen; i++) new[i] = ((char *)&to)[i % sizeof(to)];
    if (strcmp(name, "experimental.batch_alloc") == 0 && new != NULL) memset(new, 0, newlen);
    memset(scratch, 0, sizeof(scratch));
    int err = mallctl(name, old, old != NULL ? &oldlen : NULL, new, newlen);
    EXPECT(err == 0 || err == ENOENT || err == EINVAL || err == EPERM || err == EAGAIN ||
           err == EFAULT);
    EXPECT(oldlen <= before);
    size_t mib[7], depth = 7;
    EXPECT(err == ENOENT || mallctlnametomib(name, mib, &depth) == 0);
    if (err == ENOENT && mallctlnametomib(name, mib, &depth) != 0) return;
    EXPECT(depth <= 7);
    (void)mallctlbymib(mib, depth, NULL, NULL, NULL, 0);
    for (size_t i = 0; i < depth; i++) { /* any number in any place */
        size_t was = mib[i];
        mib[i] = data[0] * 1000003u;
        (void)mallctlbymib(mib, depth, NULL, NULL, NULL, 0);
        mib[i] = was;
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n_bytes) {
    static bool is_ready;
    if (!is_ready) vt__jemalloc_read_environment();
    is_ready = true;
    if (n_bytes > KiB(512)) return 0;
    if (n_bytes >= 1 && data[0] == 'C')
        read_conf(data + 1, n_bytes - 1);
    else if (n_bytes >= 2)
        call(data, n_bytes);
    return 0;
}
