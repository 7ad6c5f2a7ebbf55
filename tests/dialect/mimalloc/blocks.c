/* blocks.c - every allocation form of mimalloc.h with its rules. Compiled once with our header as v2 and as v3 and linked with
 * our libraries; once with Debian's header, which lacks what OURS marks. Not run with the original library: 2.0 does not keep
 * all of it (size 0 with a large alignment, mi_rezalloc of a block that moved). */
#include "check.h"

#include <malloc.h>
#include <mimalloc.h>

#if MI_MALLOC_VERSION == 209
#define OURS 0
#else
#define OURS 1
#include <mimalloc-stats.h>
#endif

static int is_zero(const void *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (((const char *)p)[i] != 0) return 0;
    return 1;
}

static const size_t sizes[] = {0,    1,    8,     24,    100,    1000,   1024,
                               1025, 5000, 40000, 70000, 300000, 5000000};
#define N_SIZES (sizeof sizes / sizeof sizes[0])

static void check_plain(void) {
    for (unsigned i = 0; i < N_SIZES; i++) {
        size_t n = sizes[i];
        char *p = mi_malloc(n);
        CHECK_TRUE(p != NULL);
        CHECK_TRUE(mi_usable_size(p) >= n);
        CHECK_TRUE(mi_usable_size(p) >= mi_good_size(n) || n > 512 * 1024);
        CHECK_TRUE(mi_is_in_heap_region(p));
        memset(p, 0xaa, mi_usable_size(p));
        mi_free(p);
        p = mi_zalloc(n);
        CHECK_TRUE(is_zero(p, mi_usable_size(p)));
        memset(p, 0xaa, mi_usable_size(p));
        mi_free(p);
        p = mi_calloc(n, 1);
        CHECK_TRUE(is_zero(p, mi_usable_size(p)));
        free(p); /* one malloc, two names */
        p = calloc(1, n);
        CHECK_TRUE(is_zero(p, mi_usable_size(p)));
        mi_free(p);
        p = malloc(n);
        CHECK_EQ(mi_usable_size(p), malloc_usable_size(p));
        mi_free(p);
    }
    mi_free(NULL);
    CHECK_EQ(mi_usable_size(NULL), 0);
    CHECK_TRUE(!mi_is_in_heap_region(&check_state));
    CHECK_TRUE(mi_mallocn(SIZE_MAX / 2, 3) == NULL);
    CHECK_TRUE(mi_calloc(SIZE_MAX / 2, 3) == NULL);
    CHECK_TRUE(mi_malloc((size_t)PTRDIFF_MAX + 1) == NULL);
    char *small = mi_malloc_small(100), *zero = mi_zalloc_small(100);
    CHECK_TRUE(small != NULL && is_zero(zero, 100));
    mi_free(small);
    mi_free_size(zero, 100);
}

static void check_realloc(void) {
    char *p = mi_malloc(100);
    memset(p, 7, 100);
    p = mi_realloc(p, 10000);
    CHECK_TRUE(p[0] == 7 && p[99] == 7);
    CHECK_TRUE(mi_expand(p, 9000) == p);
    CHECK_TRUE(mi_expand(p, 1000000) == NULL);
    CHECK_TRUE(mi_expand(NULL, 10) == NULL);
    p = mi_realloc(p, 0);
    CHECK_TRUE(p != NULL); /* a smallest block */
    char *q = realloc(p, 0);
    CHECK_TRUE(q != NULL);
    CHECK_TRUE(mi_realloc(q, (size_t)PTRDIFF_MAX + 1) == NULL); /* q is untouched */
    mi_free(q);
    p = mi_realloc(NULL, 50);
    CHECK_TRUE(p != NULL);
    p = mi_reallocn(p, 10, 50);
    CHECK_TRUE(mi_usable_size(p) >= 500);
    CHECK_TRUE(mi_reallocn(p, SIZE_MAX / 2, 3) == NULL);
    CHECK_TRUE(mi_reallocf(p, (size_t)PTRDIFF_MAX + 1) == NULL); /* p is freed */
    p = mi_zalloc(10);
    for (size_t n = 20; n < 200000; n = n * 3 / 2) {
        p = mi_rezalloc(p, n);
        CHECK_TRUE(is_zero(p, n));
    }
    p = mi_recalloc(p, 300, 1000);
    CHECK_TRUE(is_zero(p, 300000));
    mi_free(p);
    void *at = NULL;
    CHECK_EQ(mi_reallocarr(&at, 10, 10), 0);
    CHECK_TRUE(at != NULL);
    mi_free(at);
    CHECK_TRUE(mi_reallocarray(NULL, SIZE_MAX / 2, 3) == NULL);
    CHECK_EQ(errno, ENOMEM);
}

static void check_aligned(void) {
    for (unsigned i = 0; i < N_SIZES; i++)
        for (size_t al = 1; al <= 1024 * 1024; al *= 4) {
            char *p = mi_malloc_aligned(sizes[i], al);
            CHECK_TRUE(p != NULL);
            CHECK_EQ((uintptr_t)p % al, 0);
            p = mi_realloc_aligned(p, sizes[i] * 2 + 1, al);
            CHECK_EQ((uintptr_t)p % al, 0);
            CHECK_TRUE(mi_usable_size(p) >= sizes[i] * 2 + 1);
            mi_free_aligned(p, al);
            p = mi_zalloc_aligned(sizes[i], al);
            CHECK_EQ((uintptr_t)p % al, 0);
            CHECK_TRUE(is_zero(p, sizes[i]));
            p = mi_rezalloc_aligned(p, sizes[i] * 2 + 1, al);
            CHECK_TRUE(is_zero(p, sizes[i] * 2 + 1));
            mi_free_size_aligned(p, sizes[i] * 2 + 1, al);
            p = mi_calloc_aligned(2, sizes[i], al);
            CHECK_EQ((uintptr_t)p % al, 0);
            mi_free(p);
            p = mi_memalign(al, sizes[i]);
            CHECK_EQ((uintptr_t)p % al, 0);
            mi_free(p);
        }
    CHECK_TRUE(mi_malloc_aligned(10, 0) == NULL);
    CHECK_TRUE(mi_malloc_aligned(10, 24) == NULL);
    CHECK_TRUE(mi_malloc_aligned((size_t)PTRDIFF_MAX + 1, 64) == NULL);
    void *p = &p;
    CHECK_EQ(mi_posix_memalign(&p, 3, 100), EINVAL);
    CHECK_EQ(mi_posix_memalign(&p, 4, 100), EINVAL);
    CHECK_EQ(mi_posix_memalign(&p, 64, (size_t)PTRDIFF_MAX + 1), ENOMEM);
    CHECK_TRUE(p == &p);
    CHECK_EQ(mi_posix_memalign(&p, 64, 100), 0);
    CHECK_EQ((uintptr_t)p % 64, 0);
    mi_cfree(p);
    mi_cfree(&p); /* not ours: nothing */
    p = mi_valloc(10);
    CHECK_EQ((uintptr_t)p % 4096, 0);
    mi_free(p);
    p = mi_pvalloc(10);
    CHECK_TRUE(mi_usable_size(p) >= 4096);
    mi_free(p);
    p = mi_aligned_alloc(64, 65);
    CHECK_EQ((uintptr_t)p % 64, 0);
    mi_free(p);
}

static void check_aligned_at(void) {
    for (unsigned i = 0; i < N_SIZES; i++)
        for (size_t al = 8; al <= 32 * 1024; al *= 4)
            for (size_t offset = 0; offset <= sizes[i] && offset < 70; offset += 8) {
                char *p = mi_malloc_aligned_at(sizes[i], al, offset);
                CHECK_TRUE(p != NULL);
                CHECK_EQ(((uintptr_t)p + offset) % al, 0);
                CHECK_TRUE(mi_usable_size(p) >= sizes[i]);
                memset(p, 3, sizes[i]);
                p = mi_realloc_aligned_at(p, sizes[i] + 200, al, offset);
                CHECK_EQ(((uintptr_t)p + offset) % al, 0);
                CHECK_TRUE(sizes[i] == 0 || (p[0] == 3 && p[sizes[i] - 1] == 3));
                mi_free(p);
                p = mi_zalloc_aligned_at(sizes[i], al, offset);
                CHECK_TRUE(is_zero(p, sizes[i]));
                CHECK_EQ(((uintptr_t)p + offset) % al, 0);
                free(p);
            }
}

static void check_texts(void) {
    char *p = mi_strdup("hello");
    CHECK_TRUE(strcmp(p, "hello") == 0);
    char *q = mi_strndup("hello", 3);
    CHECK_TRUE(strcmp(q, "hel") == 0);
    char *r = mi_realpath("/usr/..", NULL);
    CHECK_TRUE(strcmp(r, "/") == 0);
    mi_free(p);
    mi_free(q);
    mi_free(r);
    CHECK_TRUE(mi_realpath("/no such file", NULL) == NULL);
    setenv("BLOCKS_TEST", "value", 1);
    size_t n = 0;
    CHECK_EQ(mi_dupenv_s(&p, &n, "BLOCKS_TEST"), 0);
    CHECK_TRUE(p != NULL && strcmp(p, "value") == 0);
    mi_free(p);
}

static void check_new(void) {
    void *p = mi_new(100), *q = mi_new_nothrow(100), *r = mi_new_aligned(100, 256);
    CHECK_TRUE(p != NULL && q != NULL && (uintptr_t)r % 256 == 0);
    p = mi_new_realloc(p, 10000);
    CHECK_TRUE(mi_usable_size(p) >= 10000);
    p = mi_new_reallocn(p, 3, 10000);
    mi_free(p);
    mi_free(q);
    mi_free(r);
    p = mi_new_n(10, 10);
    CHECK_TRUE(p != NULL);
    mi_free(p);
    CHECK_TRUE(mi_new_nothrow((size_t)PTRDIFF_MAX + 1) == NULL);
}

/* Nothing is there, and nothing happens: mimalloc's own tests free the last of these. */
static void check_low_pointers(void) {
    static const uintptr_t low[] = {1, 7, 8, 16, 100, 4096, 0x10000, 0x3990080};
    for (unsigned i = 0; i < sizeof low / sizeof low[0]; i++) {
        mi_free((void *)low[i]);
        free((void *)low[i]);
    }
    char *p = mi_malloc(100); /* all is as it was */
    CHECK_TRUE(p != NULL);
    mi_free(p);
}

static unsigned n_errors;
static int last_error;
static void on_error(int err, void *arg) {
    CHECK_TRUE(arg == &n_errors);
    n_errors++;
    last_error = err;
}

static void check_errors(void) {
    mi_register_error(on_error, &n_errors);
    CHECK_TRUE(mi_malloc((size_t)PTRDIFF_MAX + 100) == NULL);
    CHECK_TRUE(n_errors > 0);
    CHECK_TRUE(last_error == EOVERFLOW || last_error == ENOMEM);
    n_errors = 0;
    CHECK_TRUE(malloc((size_t)PTRDIFF_MAX + 100) == NULL);
    CHECK_TRUE(n_errors > 0);
    mi_register_error(NULL, NULL);
}

static char said[20000];
static void on_output(const char *msg, void *arg) {
    (void)arg;
    strncat(said, msg, sizeof said - strlen(said) - 1);
}

static void check_output(void) {
    mi_stats_print_out(on_output, NULL);
    CHECK_TRUE(strstr(said, "process") != NULL);
    said[0] = '\0';
    mi_register_output(on_output, NULL);
    mi_stats_print(NULL);
    CHECK_TRUE(strstr(said, "elapsed") != NULL);
    mi_register_output(NULL, NULL);
    size_t elapsed, user, sys, rss, peak, commit, peak_commit, faults;
    mi_process_info(&elapsed, &user, &sys, &rss, &peak, &commit, &peak_commit, &faults);
    CHECK_TRUE(peak > 0 && commit > 0 && peak_commit >= commit);
    CHECK_TRUE(elapsed < 600000); /* since the start, not since another time */
    mi_process_info(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    mi_stats_merge();
    mi_stats_reset();
}

static unsigned n_deferred;
static void on_deferred(bool force, unsigned long long heartbeat, void *arg) {
    (void)force, (void)heartbeat, (void)arg;
    n_deferred++;
    mi_free(mi_malloc(5000)); /* it is not called again meanwhile */
}

static void check_options(void) {
    mi_option_set(mi_option_use_numa_nodes, 5);
    CHECK_EQ(mi_option_get(mi_option_use_numa_nodes), 5);
    mi_option_set_default(mi_option_use_numa_nodes, 7);
    CHECK_EQ(mi_option_get(mi_option_use_numa_nodes), 5);
    mi_option_enable(mi_option_os_tag);
    CHECK_TRUE(mi_option_is_enabled(mi_option_os_tag));
    mi_option_set_enabled(mi_option_os_tag, false);
    CHECK_EQ(mi_option_get(mi_option_os_tag), 0);
    mi_option_set(mi_option_os_tag, 50);
    CHECK_EQ(mi_option_get_clamp(mi_option_os_tag, 60, 70), 60);
    CHECK_EQ(mi_option_get_clamp(mi_option_os_tag, 10, 20), 20);
    CHECK_EQ(mi_option_get_clamp(mi_option_os_tag, 10, 200), 50);
    CHECK_EQ(mi_option_get(mi_option_reserve_huge_os_pages_at), -1);
}

static void check_process(void) {
    mi_register_deferred_free(on_deferred, NULL);
    mi_collect(true);
    CHECK_TRUE(n_deferred > 0);
    mi_register_deferred_free(NULL, NULL);
    mi_collect(false);
    CHECK_TRUE(mi_version() > 0);
    mi_thread_init();
    CHECK_TRUE(!mi_is_redirected());
    CHECK_EQ(mi_reserve_os_memory(64 * 1024 * 1024, false, false), 0);
}

#if OURS
static void check_option_sizes(void) {
    CHECK_EQ(mi_option_get(mi_option_arena_reserve), 1 << 20); /* KiB */
    CHECK_EQ(mi_option_get_size(mi_option_arena_reserve), (size_t)1 << 30);
    mi_option_set(mi_option_arena_reserve, 3);
    CHECK_EQ(mi_option_get_size(mi_option_arena_reserve), 3072);
    CHECK_EQ(mi_option_get_size(mi_option_max_errors), 32); /* no amount of memory */
    mi_option_set(mi_option_arena_reserve, -1);
    CHECK_EQ(mi_option_get_size(mi_option_arena_reserve), 0);
    CHECK_EQ(mi_option_get((mi_option_t)1000), 0);
    mi_option_set((mi_option_t)-1, 5); /* nobody's */
}

static void check_sized(void) {
    size_t pre = 0, post = 0;
    void *p = mi_umalloc(100, &post);
    CHECK_EQ(post, mi_usable_size(p));
    p = mi_urealloc(p, 1000, &pre, &post);
    CHECK_TRUE(pre >= 100 && pre < 1000 && post >= 1000);
    mi_ufree(p, &pre);
    CHECK_EQ(pre, post);
    p = mi_ucalloc(10, 10, NULL);
    CHECK_TRUE(is_zero(p, 100));
    mi_ufree(p, NULL);
    p = mi_uzalloc_aligned(100, 128, &post);
    CHECK_EQ((uintptr_t)p % 128, 0);
    mi_free(p);
}

static void check_stats(void) {
    mi_stats_t s = {.size = sizeof s, .version = MI_STAT_VERSION};
    void *held = mi_malloc(3000000);
    CHECK_TRUE(mi_stats_get(&s));
    CHECK_TRUE(s.malloc_huge.current >= 3000000);
    CHECK_TRUE(s.committed.current > s.malloc_huge.current);
    CHECK_TRUE(s.committed.peak >= s.committed.current);
    CHECK_EQ(s.threads.current, 1);
    s.size--;
    CHECK_TRUE(!mi_stats_get(&s));
    s.size++, s.version++;
    CHECK_TRUE(!mi_stats_get(&s));
    CHECK_TRUE(!mi_stats_get(NULL));
    mi_free(held);
    char small[100];
    CHECK_TRUE(mi_stats_get_json(sizeof small, small) == NULL);
    char *json = mi_stats_get_json(0, NULL);
    CHECK_TRUE(json != NULL && json[0] == '{' && strstr(json, "\"rss_peak\"") != NULL);
    mi_free(json);
    for (size_t i = 1; i < MI_BIN_HUGE; i++)
        CHECK_TRUE(mi_stats_get_bin_size(i) > mi_stats_get_bin_size(i - 1));
    CHECK_EQ(mi_version(), MI_MALLOC_VERSION);
    mi_arena_id_t id;
    size_t n;
    CHECK_EQ(mi_reserve_os_memory_ex(8 << 20, true, false, false, &id), 0);
    CHECK_TRUE(mi_arena_area(id, &n) != NULL);
    CHECK_EQ(n, 8 << 20);
}
#else
static void check_option_sizes(void) {}
static void check_sized(void) {}
static void check_stats(void) {}
#endif

int main(void) {
    check_plain();
    check_realloc();
    check_aligned();
    check_aligned_at();
    check_texts();
    check_new();
    check_low_pointers();
    check_errors();
    check_output();
    check_options();
    check_option_sizes();
    check_process();
    check_sized();
    check_stats();
    return CHECK_DONE();
}
