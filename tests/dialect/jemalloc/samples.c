/* samples.c - what the original knows of single samples: hooks, prof.stats, prof_recent, the log. Every allocation is one
 * (lg_prof_sample:0). The JSON is printed, and written to log.json; what else must hold is checked here. */
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <string.h>

#include "expect.h"

static void print(void *unused, const char *s) {
    (void)unused;
    fputs(s, stdout);
}

static volatile struct { /* volatile: free is thought to change nothing */
    const void *at;
    size_t size, usable, freed_usable;
    void *caller;
    unsigned n, n_frames, n_freed;
} seen;
static unsigned n_backtraces, n_dumps;
static void (*original_backtrace)(void **vec, unsigned *len, unsigned max);

static void on_sample(const void *p, size_t size, void **bt, unsigned n, size_t usable) {
    if (size != 5001) return;
    void *volatile mine = malloc(5001); /* it may allocate, and does not hear of that */
    free(mine);
    seen.at = p;
    seen.size = size;
    seen.usable = usable;
    seen.caller = n > 0 ? bt[0] : NULL;
    seen.n_frames = n;
    seen.n++;
}
static void on_free(const void *p, size_t usable) {
    if (p != seen.at) return;
    seen.freed_usable = usable;
    seen.n_freed++;
}
static void on_backtrace(void **vec, unsigned *len, unsigned max) {
    n_backtraces++;
    original_backtrace(vec, len, max);
}
static void on_dump(const char *file) { n_dumps += strcmp(file, "named.heap") == 0; }

static int set(const char *name, void *to) { return mallctl(name, NULL, NULL, &to, sizeof(to)); }

__attribute__((noinline)) static void *allocate(size_t n) {
    void *p = malloc(n);
    __asm__ volatile("" : "+r"(p));
    return p;
}

static void hooks(void) {
    size_t len = sizeof(original_backtrace);
    const char *file = "named.heap";
    EXPECT(mallctl("experimental.hooks.prof_backtrace", &original_backtrace, &len, NULL, 0) == 0);
    EXPECT(original_backtrace != NULL);
    EXPECT(set("experimental.hooks.prof_backtrace", (void *)on_backtrace) == 0);
    EXPECT(set("experimental.hooks.prof_dump", (void *)on_dump) == 0);
    EXPECT(set("experimental.hooks.prof_sample", (void *)on_sample) == 0);
    EXPECT(set("experimental.hooks.prof_sample_free", (void *)on_free) == 0);
    void *p = allocate(5001);
    EXPECT(seen.n == 1 && seen.at == p && seen.size == 5001);
    EXPECT(seen.usable == malloc_usable_size(p));
    EXPECT(n_backtraces > 0 && seen.n_frames >= 3);
    EXPECT((uintptr_t)seen.caller - (uintptr_t)allocate < 64); /* it is short */
    EXPECT(seen.n_freed == 0);
    free(p);
    EXPECT(seen.n_freed == 1 && seen.freed_usable == seen.usable);
    p = realloc(allocate(5001), 300000);
    EXPECT(seen.n == 2 && seen.n_freed == 2);
    free(p);
    p = mallocx(5001, MALLOCX_ALIGN(128));
    EXPECT(seen.n == 3);
    sdallocx(p, 5001, 0);
    EXPECT(seen.n_freed == 3);
    EXPECT(mallctl("prof.dump", NULL, NULL, &file, sizeof(file)) == 0 && n_dumps == 1);
    EXPECT(set("experimental.hooks.prof_sample", NULL) == 0);
    EXPECT(set("experimental.hooks.prof_sample_free", NULL) == 0);
    EXPECT(set("experimental.hooks.prof_backtrace", (void *)original_backtrace) == 0);
    unsigned before = n_backtraces;
    free(allocate(5001));
    EXPECT(seen.n == 3 && seen.n_freed == 3 && n_backtraces == before);
}

struct stats {
    uint64_t requested, count;
};
static struct stats sum_of(const char *which, const char *what) {
    struct stats all = {0}, one;
    for (unsigned i = 0;; i++) {
        char name[80];
        size_t len = sizeof(one);
        snprintf(name, sizeof(name), "prof.stats.%s.%u.%s", which, i, what);
        if (mallctl(name, &one, &len, NULL, 0) != 0) return all;
        EXPECT(len == sizeof(one));
        all.requested += one.requested;
        all.count += one.count;
    }
}

static void stats(void) {
    struct stats live = sum_of("bins", "live"), all = sum_of("bins", "accum");
    struct stats large = sum_of("lextents", "live"), large_all = sum_of("lextents", "accum");
    void *small = allocate(333), *big = allocate(3000000);
    EXPECT(sum_of("bins", "live").count == live.count + 1);
    EXPECT(sum_of("bins", "live").requested == live.requested + 333);
    EXPECT(sum_of("lextents", "live").requested == large.requested + 3000000);
    free(small);
    free(big);
    EXPECT(sum_of("bins", "live").count == live.count);
    EXPECT(sum_of("bins", "accum").requested == all.requested + 333);
    EXPECT(sum_of("lextents", "live").count == large.count);
    EXPECT(sum_of("lextents", "accum").count == large_all.count + 1);
}

static void history(void) {
    struct {
        void (*write)(void *, const char *);
        void *opaque;
    } to = {print, NULL};
    ssize_t three = 3, now = 0;
    size_t len = sizeof(now);
    const char *file = "log.json";
    EXPECT(mallctl("experimental.prof_recent.alloc_max", NULL, NULL, &three, sizeof(three)) == 0);
    EXPECT(mallctl("experimental.prof_recent.alloc_max", &now, &len, NULL, 0) == 0 && now == 3);
    EXPECT(mallctl("prof.log_start", NULL, NULL, &file, sizeof(file)) == 0);
    EXPECT(mallctl("prof.log_start", NULL, NULL, &file, sizeof(file)) != 0);
    free(allocate(10));
    void *first = allocate(1000), *second = allocate(2000), *third = allocate(3000);
    free(second);
    EXPECT(mallctl("experimental.prof_recent.alloc_dump", NULL, NULL, &to, sizeof(to)) == 0);
    printf("\n");
    EXPECT(mallctl("prof.log_stop", NULL, NULL, NULL, 0) == 0);
    EXPECT(mallctl("prof.log_stop", NULL, NULL, NULL, 0) != 0);
    free(first);
    free(third);
}

int main(int argc, char **argv) {
    static char buffer[65536];
    setvbuf(stdout, buffer, _IOFBF, sizeof(buffer)); /* nothing allocates but us */
    stats();
    history();
    if (argc > 1 && strcmp(argv[1], "hooks") == 0) hooks();
    return 0;
}
