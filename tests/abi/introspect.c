/* introspect.c - mallinfo, mallinfo2, mallopt, malloc_trim, malloc_stats, malloc_info.
 *
 * Peers answer some of these for glibc's empty heap; we answer for our own, so growth is checked.
 */
#include "../check.h"

#include <malloc.h>

#ifndef __GLIBC__
int main(void) { CHECK_SKIP("this libc declares no mallinfo"); }
#else

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* mallinfo is, and is still called */

enum { N_SMALL = 20000, SMALL = 100 };

static size_t in_use(void) {
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* Blocks in thread caches may count as in use, so small growth is a range. */
static void mallinfo2_follows_the_heap(void) {
    static void *p[N_SMALL];
    size_t before = in_use();
    for (int i = 0; i < N_SMALL; i++) p[i] = opaque(malloc(SMALL));
    size_t grown = in_use() - before;
    CHECK_GE(grown, (size_t)N_SMALL * SMALL * 9 / 10);
    CHECK_LE(grown, (size_t)N_SMALL * SMALL * 2);

    size_t middle = in_use(), large = (size_t)64 << 20;
    void *q = opaque(malloc(large));
    CHECK_GE(in_use() - middle, large);
    CHECK_LE(in_use() - middle, large + ((size_t)4 << 20));
    free(q);
    CHECK_LE(in_use(), middle + ((size_t)1 << 20));

    for (int i = 0; i < N_SMALL; i++) free(p[i]);
    CHECK_LE(in_use(), before + (size_t)N_SMALL * SMALL / 4);
}

static void mallinfo_says_the_same_in_ints(void) {
    void *p = opaque(malloc(100000));
    struct mallinfo2 wide = mallinfo2();
    struct mallinfo narrow = mallinfo();
    CHECK_EQ(narrow.uordblks, wide.uordblks);
    CHECK_EQ(narrow.hblkhd, wide.hblkhd);
    CHECK_EQ(narrow.arena, wide.arena);
    CHECK_EQ(narrow.fordblks, wide.fordblks);
    free(p);
}

/* Programs set glibc's knobs and check the result; nothing of theirs changes our heap. */
static void mallopt_accepts_every_documented_knob(void) {
    static const int knobs[][2] = {
        {M_MXFAST, 64},       {M_TRIM_THRESHOLD, 1 << 20},
        {M_TOP_PAD, 1 << 16}, {M_MMAP_THRESHOLD, 1 << 20},
        {M_MMAP_MAX, 1000},   {M_CHECK_ACTION, 3},
        {M_PERTURB, 0},       {M_ARENA_TEST, 2},
        {M_ARENA_MAX, 2},
    };
    for (size_t i = 0; i < sizeof knobs / sizeof *knobs; i++)
        if (!CHECK_EQ(mallopt(knobs[i][0], knobs[i][1]), 1))
            check_say("  in mallopt(%d)", knobs[i][0]);
    void *p = opaque(malloc(3 << 20));
    CHECK_NOT_NULL(p);
    free(p);
}

static size_t resident_bytes(void) {
    unsigned long pages_total = 0, pages_resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) CHECK_SKIP("no /proc/self/statm");
    if (fscanf(f, "%lu %lu", &pages_total, &pages_resident) != 2) pages_resident = 0;
    fclose(f);
    return pages_resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void malloc_trim_gives_memory_back_and_keeps_data(void) {
    enum { N = 64 << 10 };
    static unsigned char *p[N];
    unsigned char *kept = malloc(1000);
    fill(kept, 1000, 6);
    size_t before = resident_bytes();
    for (int i = 0; i < N; i++) {
        p[i] = malloc(1000);
        memset(p[i], 1, 1000);
    }
    CHECK_GE(resident_bytes() - before, (size_t)N * 900);
    for (int i = 0; i < N; i++) free(p[i]);
    errno = EXDEV;
    int r = malloc_trim(0);
    CHECK_EQ(errno, EXDEV);
    CHECK_LE((unsigned)r, 1);
    CHECK_LE(resident_bytes(), before + ((size_t)4 << 20));
    CHECK_EQ(intact(kept, 1000, 6), 1000);
    r = malloc_trim(
        opaque_size(SIZE_MAX)); /* a pad larger than anything: nothing to do, no overflow */
    CHECK_LE((unsigned)r, 1);
    free(kept);
}

/* What one call writes to a descriptor, as a string in `text`. */
static size_t capture(int fd, void (*call)(void), char *text, size_t room) {
    int file = memfd_create("capture", 0), saved = dup(fd);
    if (file < 0 || saved < 0) CHECK_SKIP("no memfd_create");
    fflush(stdout);
    dup2(file, fd);
    call();
    fflush(stdout);
    dup2(saved, fd);
    close(saved);
    ssize_t n = pread(file, text, room - 1, 0);
    close(file);
    text[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

static void call_malloc_stats(void) { malloc_stats(); }

static void malloc_stats_writes_to_stderr_only(void) {
    static char text[1 << 16];
    void *p = opaque(malloc(12345));
    CHECK_GE(capture(2, call_malloc_stats, text, sizeof text), 40);
    CHECK_NE(strpbrk(text, "0123456789"), NULL);
    CHECK_EQ(text[strlen(text) - 1], '\n');
    int err = dup(2), null = memfd_create("null", 0);
    dup2(null, 2);
    size_t on_stdout = capture(1, call_malloc_stats, text, sizeof text);
    dup2(err, 2);
    close(err), close(null);
    CHECK_EQ(on_stdout, 0);
    free(p);
}

/* Just enough XML: every element that opens closes in order, and nothing stands outside the root.
 * Gives NULL, or what is wrong. */
static const char *xml_fault(const char *s, char *root, size_t root_size) {
    char stack[64][64];
    int depth = 0, n_roots = 0;
    while (*s) {
        if (*s != '<') {
            if (depth == 0 && !strchr(" \t\r\n", *s)) return "text outside the root element";
            if (*s == '>') return "a stray '>'";
            s++;
            continue;
        }
        const char *end = strchr(s, '>');
        if (!end) return "an element without end";
        if (s[1] == '?' || s[1] == '!') {
            s = end + 1;
            continue;
        }
        int is_closing = s[1] == '/', is_empty = end[-1] == '/';
        const char *name = s + 1 + is_closing;
        size_t n = strcspn(name, " \t\r\n/>");
        if (n == 0 || n >= sizeof stack[0]) return "an element without a name";
        if (is_closing) {
            if (depth == 0 || strlen(stack[depth - 1]) != n ||
                memcmp(stack[depth - 1], name, n) != 0)
                return "an element closes that was not open";
            depth--;
        } else {
            if (depth == 0) {
                if (n_roots++) return "two root elements";
                snprintf(root, root_size, "%.*s", (int)n, name);
            }
            if (!is_empty) {
                if (depth == 64) return "more than 64 levels";
                memcpy(stack[depth], name, n);
                stack[depth++][n] = 0;
            }
        }
        s = end + 1;
    }
    if (depth) return "an element is left open";
    return n_roots ? NULL : "no element at all";
}

static void malloc_info_writes_xml(void) {
    static char text[1 << 20];
    void *p = opaque(malloc(54321));
    FILE *f = tmpfile();
    if (!f) CHECK_SKIP("no tmpfile()");
    CHECK_EQ(malloc_info(0, f), 0);
    rewind(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    char root[64] = "";
    const char *fault = xml_fault(text, root, sizeof root);
    if (!CHECK_NULL(fault)) check_say("  %s in: %.600s", fault, text);
    CHECK_STR(root, "malloc");
    CHECK_TRUE(strstr(text, "version=") != NULL);
    free(p);
}

static void malloc_info_refuses_unknown_options(void) {
    FILE *f = tmpfile();
    if (!f) CHECK_SKIP("no tmpfile()");
    CHECK_NE(malloc_info(1, f), 0);
    CHECK_EQ(ftell(f), 0);
    fclose(f);
}

int main(void) {
    check_allocator();
    mallinfo2_follows_the_heap();
    mallinfo_says_the_same_in_ints();
    mallopt_accepts_every_documented_knob();
    malloc_trim_gives_memory_back_and_keeps_data();
    malloc_stats_writes_to_stderr_only();
    malloc_info_writes_xml();
    malloc_info_refuses_unknown_options();
    return CHECK_DONE();
}
#endif
