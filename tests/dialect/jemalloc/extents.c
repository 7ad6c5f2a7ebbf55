/* extents.c - arena.N.extent_hooks: an arena's memory comes from the program's functions. Prints the same with any libjemalloc.
 *
 *   extents             what all of them do: RocksDB's and folly's patterns, giving back, refusing, reset and destroy
 *   extents ours        figures, fork, want of memory, mistakes: what only ours promises */
#include <errno.h>
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

#define MIB ((size_t)1 << 20)
#define IN(arena) (MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE)

static void say(const char *what, bool is_so) { printf("%s: %s\n", what, is_so ? "yes" : "no"); }

static int act(unsigned arena, const char *what) {
    char name[64];
    snprintf(name, sizeof(name), "arena.%u.%s", arena, what);
    return mallctl(name, NULL, NULL, NULL, 0);
}

static unsigned create(extent_hooks_t *hooks) {
    unsigned arena;
    size_t len = sizeof(arena);
    EXPECT(mallctl("arenas.create", &arena, &len, hooks != NULL ? &hooks : NULL,
                   hooks != NULL ? sizeof(hooks) : 0) == 0);
    return arena;
}

static extent_hooks_t *hooks_of(unsigned arena, extent_hooks_t *to) {
    char name[64];
    extent_hooks_t *before;
    size_t len = sizeof(before);
    snprintf(name, sizeof(name), "arena.%u.extent_hooks", arena);
    EXPECT(mallctl(name, &before, &len, to != NULL ? &to : NULL, to != NULL ? sizeof(to) : 0) == 0);
    return before;
}

static size_t figure(unsigned arena, const char *what) {
    char name[64];
    size_t n = 0, len = sizeof(n);
    uint64_t epoch = 1;
    EXPECT(mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch)) == 0);
    snprintf(name, sizeof(name), "stats.arenas.%u.%s", arena, what);
    EXPECT(mallctl(name, &n, &len, NULL, 0) == 0);
    return n;
}

/* ---- hooks that keep a list of what they handed out ---- */

static struct extent {
    char *at;
    size_t size;
} extents[1000];
static _Atomic unsigned n_extents;
static _Atomic size_t n_taken, n_given, n_destroyed, n_purged, n_mine;
static _Atomic bool is_empty, is_keeping, was_outside, was_another;
static unsigned expected = UINT32_MAX;
static extent_hooks_t *defaults;

static void begin(void) {
    n_extents = 0;
    n_taken = n_given = n_destroyed = n_purged = n_mine = 0;
    is_empty = is_keeping = was_outside = was_another = false;
    expected = UINT32_MAX;
}

static bool is_known(const void *p, size_t size) {
    for (unsigned i = 0; i < n_extents; i++)
        if ((const char *)p >= extents[i].at &&
            (const char *)p + size <= extents[i].at + extents[i].size)
            return true;
    return false;
}

static void note(void *p, size_t size) {
    unsigned i = n_extents++;
    EXPECT(i < 1000);
    extents[i] = (struct extent){p, size};
    n_taken += size;
}

/* A hook may allocate; such a block is not in the arena. */
static void allocate_inside(void) {
    char *p = malloc(300);
    EXPECT(p != NULL);
    snprintf(p, 300, "extent %u\n", n_extents);
    if (is_known(p, 300)) n_mine++;
    free(p);
}

static void check_number(unsigned arena) {
    if (expected != UINT32_MAX && arena != expected) was_another = true;
}

static void *take(extent_hooks_t *hooks, void *at, size_t size, size_t align, bool *zero,
                  bool *commit, unsigned arena) {
    (void)hooks;
    check_number(arena);
    EXPECT(size % 4096 == 0 && align >= 4096);
    allocate_inside();
    if (is_empty || at != NULL) return NULL;
    char *p = mmap(NULL, size + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *from = (char *)(((uintptr_t)p + align - 1) & ~(align - 1));
    if (from > p) munmap(p, (size_t)(from - p));
    munmap(from + size, align - (size_t)(from - p));
    *zero = *commit = true;
    note(from, size);
    return from;
}

static bool give(extent_hooks_t *hooks, void *at, size_t size, bool committed, unsigned arena) {
    (void)hooks, (void)committed;
    check_number(arena);
    allocate_inside();
    errno = EBADF; /* ours does not show it */
    if (is_keeping) return true;
    if (!is_known(at, size)) was_outside = true;
    n_given += size;
    munmap(at, size);
    return false;
}

static void destroy(extent_hooks_t *hooks, void *at, size_t size, bool committed, unsigned arena) {
    (void)hooks, (void)committed;
    check_number(arena);
    if (!is_known(at, size)) was_outside = true;
    n_destroyed += size;
    munmap(at, size);
}

static bool purge(extent_hooks_t *hooks, void *at, size_t size, size_t offset, size_t length,
                  unsigned arena) {
    (void)hooks;
    check_number(arena);
    allocate_inside();
    if (!is_known(at, size) || offset + length > size) was_outside = true;
    n_purged += length;
    return madvise((char *)at + offset, length, MADV_DONTNEED) != 0;
}

static extent_hooks_t mine; /* these, and split and merge of the default ones */

/* ---- blocks ---- */

#define N 500
static char *blocks[N];

static size_t size_of(unsigned i) {
    static const size_t sizes[] = {1, 24, 100, 500, 1500, 4000, 9000, 30000, 70000, 300000};
    return sizes[i % 10];
}

static void fill(unsigned arena) {
    bool is_right = true;
    for (unsigned i = 0; i < N; i++) {
        size_t n = size_of(i);
        int flags = i % 3 == 0 ? MALLOCX_ZERO : i % 3 == 1 ? MALLOCX_ALIGN(1 << i % 14) : 0;
        blocks[i] = mallocx(n, IN(arena) | flags);
        EXPECT(blocks[i] != NULL);
        is_right &= is_known(blocks[i], n) && sallocx(blocks[i], 0) >= n;
        is_right &= nallocx(n, flags) == sallocx(blocks[i], 0);
        if (i % 3 == 0) is_right &= blocks[i][0] == 0 && blocks[i][n - 1] == 0;
        if (i % 3 == 1) is_right &= (uintptr_t)blocks[i] % (1 << i % 14) == 0;
        memset(blocks[i], (int)i, n);
    }
    say("all blocks are in what the hook handed out, aligned and zero as asked for", is_right);
}

static void change(unsigned arena) {
    bool is_right = true;
    for (unsigned i = 0; i < N; i += 2) {
        size_t before = sallocx(blocks[i], 0);
        blocks[i] = rallocx(blocks[i], size_of(i) * 2, IN(arena) | (i % 4 == 0 ? MALLOCX_ZERO : 0));
        EXPECT(blocks[i] != NULL);
        is_right &= is_known(blocks[i], size_of(i) * 2) && blocks[i][size_of(i) - 1] == (char)i;
        if (i % 4 == 0 && size_of(i) * 2 > before) is_right &= blocks[i][size_of(i) * 2 - 1] == 0;
        is_right &= xallocx(blocks[i], size_of(i) * 2, 0, 0) >= size_of(i) * 2;
    }
    say("they stay there when they get another size", is_right);
    unsigned found;
    size_t len = sizeof(found);
    EXPECT(mallctl("arenas.lookup", &found, &len, &blocks[1], sizeof(blocks[1])) == 0);
    say("and their arena is known", found == arena);
}

static void *empty(void *unused) {
    for (unsigned i = 0; i < N; i++)
        if (i % 2 == 0)
            sdallocx(blocks[i], size_of(i) * 2, MALLOCX_TCACHE_NONE);
        else
            dallocx(blocks[i], MALLOCX_TCACHE_NONE);
    return unused;
}

/* ---- the patterns ---- */

/* RocksDB and folly: the default alloc, and what it maps is not in core files. */
static void *take_nodump(extent_hooks_t *hooks, void *at, size_t size, size_t align, bool *zero,
                         bool *commit, unsigned arena) {
    void *p = defaults->alloc(hooks, at, size, align, zero, commit, arena);
    if (p == NULL) return NULL;
    EXPECT(madvise(p, size, MADV_DONTDUMP) == 0);
    note(p, size);
    return p;
}

static bool is_not_dumped(const char *p) {
    char line[512];
    unsigned long from, to;
    bool is_inside = false, is_so = false;
    FILE *f = fopen("/proc/self/smaps", "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            is_inside = (uintptr_t)p >= from && (uintptr_t)p < to;
        else if (is_inside && strncmp(line, "VmFlags:", 8) == 0)
            is_so = strstr(line, " dd") != NULL;
    }
    if (f != NULL) fclose(f);
    return is_so;
}

static void nodump(void) {
    begin();
    unsigned arena = create(NULL);
    defaults = hooks_of(arena, NULL);
    extent_hooks_t hooks = *defaults;
    hooks.alloc = take_nodump;
    hooks_of(arena, &hooks);
    fill(arena);
    say("none of it is in core files", is_not_dumped(blocks[0]) && is_not_dumped(blocks[9]));
    change(arena);
    empty(NULL);
    EXPECT(act(arena, "purge") == 0);
    fill(arena);
    EXPECT(act(arena, "destroy") == 0);
}

/* folly: out of a region that was mapped before; when that is used up there is no more. */
static char *region, *next;
static void *take_from_region(extent_hooks_t *hooks, void *at, size_t size, size_t align,
                              bool *zero, bool *commit, unsigned arena) {
    (void)hooks, (void)arena;
    char *p = (char *)(((uintptr_t)next + align - 1) & ~(align - 1));
    if (at != NULL || size > (size_t)(region + 32 * MIB - p)) return NULL;
    next = p + size;
    *zero = *commit = true;
    note(p, size);
    return p;
}

static void region_of_huge_pages(void) {
    begin();
    region = mmap(NULL, 34 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    region = next = (char *)(((uintptr_t)region + 2 * MIB - 1) & ~(2 * MIB - 1));
    (void)madvise(region, 32 * MIB, MADV_HUGEPAGE);
    unsigned arena = create(NULL);
    extent_hooks_t hooks = *hooks_of(arena, NULL);
    hooks.alloc = take_from_region;
    hooks_of(arena, &hooks);
    char name[64];
    size_t limit = 2 * MIB;
    snprintf(name, sizeof(name), "arena.%u.retain_grow_limit", arena);
    EXPECT(mallctl(name, NULL, NULL, &limit, sizeof(limit)) == 0);
    bool is_right = true;
    size_t n = 0;
    for (char *p; (p = mallocx(100000, IN(arena))) != NULL; n++) {
        is_right &= p >= region && p + 100000 <= region + 32 * MIB;
        memset(p, 1, 100000);
        EXPECT(n < 400);
    }
    say("blocks are in the region", is_right);
    say("as many as it has room for, and then none", n > 200 && n < 336);
    say("other arenas have memory", malloc(100000) != NULL);
    EXPECT(act(arena, "reset") == 0);
    say("after a reset there is some again", mallocx(100000, IN(arena)) != NULL);
}

/* ---- all of the hooks ---- */

static void giving_back(void) {
    begin();
    unsigned arena = create(&mine);
    expected = arena;
    fill(arena);
    change(arena);
    empty(NULL);
    say("free memory may stay for a while", n_given < n_taken);
    EXPECT(act(arena, "purge") == 0);
    say("purge gives it back", n_given > 0);
    size_t before = n_taken;
    fill(arena);
    say("then more is taken", n_taken > before);
    change(arena);
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, empty, NULL) == 0); /* any thread may free them */
    pthread_join(thread, NULL);
    fill(arena);
    EXPECT(act(arena, "destroy") == 0);
    say("after destroy all was given back or destroyed", n_given + n_destroyed == n_taken);
    say("nothing else was", !was_outside);
    say("by its number", !was_another);
    say("what hooks allocate is elsewhere", n_mine == 0);
}

static void keeping(void) {
    begin();
    unsigned arena = create(&mine);
    is_keeping = true;
    fill(arena);
    char *one = blocks[5];
    for (unsigned i = 0; i < N; i++)
        if (i != 5) dallocx(blocks[i], MALLOCX_TCACHE_NONE);
    size_t before = n_taken;
    EXPECT(act(arena, "purge") == 0);
    say("what cannot be given back is purged", n_purged > 0 && n_given == 0);
    bool is_zero = true;
    for (unsigned i = 0; i < 20; i++) {
        char *p = mallocx(300000, IN(arena) | MALLOCX_ZERO);
        for (unsigned k = 0; k < 300000; k++) is_zero &= p[k] == 0;
        memset(p, 1, 300000);
    }
    say("it is zero then, where that is asked for", is_zero);
    say("and used again", n_taken == before);
    say("the block that stayed is as it was", one[0] == 5 && one[size_of(5) - 1] == 5);
    EXPECT(act(arena, "reset") == 0);
    fill(arena);
    is_keeping = false;
    EXPECT(act(arena, "destroy") == 0);
    say("all of it is destroyed", n_given + n_destroyed == n_taken && !was_outside);
}

static void nothing_left(void) {
    begin();
    unsigned arena = create(&mine);
    char *p = mallocx(100, IN(arena));
    is_empty = true;
    size_t n = 0;
    while (mallocx(1000000, IN(arena)) != NULL) EXPECT(n++ < 100);
    say("a hook that has nothing", mallocx(1000000, IN(arena)) == NULL);
    memset(p, 1, 100);
    void *q = rallocx(p, 5000000, IN(arena));
    say("a block that cannot grow stays", q == NULL && p[99] == 1);
    is_empty = false;
    p = rallocx(p, 5000000, IN(arena));
    say("with memory it grows", p != NULL && p[99] == 1 && is_known(p, 5000000));
    EXPECT(act(arena, "destroy") == 0);
}

/* Plain malloc takes from it, but not while a hook runs. */
static void *as_threads_arena(void *unused) {
    begin();
    unsigned arena = create(&mine), first = 0;
    bool is_right = true, cache = false;
    EXPECT(mallctl("thread.tcache.enabled", NULL, NULL, &cache, sizeof(cache)) == 0);
    EXPECT(mallctl("thread.arena", NULL, NULL, &arena, sizeof(arena)) == 0);
    for (unsigned i = 0; i < N; i++) {
        blocks[i] = i % 2 == 0 ? malloc(size_of(i)) : calloc(1, size_of(i));
        is_right &= is_known(blocks[i], size_of(i));
        if (i % 2 != 0) is_right &= blocks[i][size_of(i) - 1] == 0;
        blocks[i] = realloc(blocks[i], size_of(i) + 1000);
        is_right &= is_known(blocks[i], size_of(i) + 1000);
    }
    say("malloc, calloc and realloc of a thread in that arena", is_right);
    say("and not what hooks allocate", n_mine == 0);
    for (unsigned i = 0; i < N; i++) free(blocks[i]);
    EXPECT(mallctl("thread.arena", NULL, NULL, &first, sizeof(first)) == 0);
    EXPECT(act(arena, "destroy") == 0);
    return unused;
}

/* ---- which hook is called, when ---- */

static _Atomic unsigned n_offers, n_splits, n_merges, n_decommits, n_commits;
static _Atomic bool is_uncut, decommits;

static bool refuse(extent_hooks_t *hooks, void *at, size_t size, bool committed, unsigned arena) {
    (void)hooks, (void)at, (void)size, (void)committed, (void)arena;
    n_offers++;
    return true;
}
static bool note_split(extent_hooks_t *hooks, void *at, size_t size, size_t a, size_t b,
                       bool committed, unsigned arena) {
    (void)hooks, (void)at, (void)committed, (void)arena;
    EXPECT(a + b == size && a % 4096 == 0 && b > 0);
    allocate_inside();
    n_splits++;
    return is_uncut;
}
static bool note_merge(extent_hooks_t *hooks, void *a, size_t size_a, void *b, size_t size_b,
                       bool committed, unsigned arena) {
    (void)hooks, (void)committed, (void)arena;
    EXPECT((char *)a + size_a == (char *)b && size_b > 0);
    allocate_inside();
    n_merges++;
    return false;
}
static bool note_decommit(extent_hooks_t *hooks, void *at, size_t size, size_t offset,
                          size_t length, unsigned arena) {
    (void)hooks, (void)size, (void)arena;
    n_decommits++;
    return !decommits || madvise((char *)at + offset, length, MADV_DONTNEED) != 0;
}
static bool note_commit(extent_hooks_t *hooks, void *at, size_t size, size_t offset, size_t length,
                        unsigned arena) {
    (void)hooks, (void)at, (void)size, (void)offset, (void)length, (void)arena;
    n_commits++;
    return false;
}

static unsigned noting_arena(extent_hooks_t *hooks) {
    begin();
    n_offers = n_splits = n_merges = n_decommits = n_commits = 0;
    is_uncut = decommits = false;
    *hooks = mine;
    hooks->dalloc = refuse;
    hooks->split = note_split;
    hooks->merge = note_merge;
    hooks->decommit = note_decommit;
    hooks->commit = note_commit;
    return create(hooks);
}

static size_t large(void) {
    size_t n, len = sizeof(n);
    EXPECT(mallctl("arenas.lextent.0.size", &n, &len, NULL, 0) == 0);
    return n;
}

static void cascade(void) {
    extent_hooks_t hooks;
    unsigned arena = noting_arena(&hooks);
    size_t n = large();
    errno = 7;
    char *p = mallocx(2 * n, IN(arena));
    say("a block that is there leaves errno alone", errno == 7);
    n_splits = 0;
    memset(p, 1, 2 * n);
    say("a large block shrinks where it is", xallocx(p, n, 0, IN(arena)) == n);
    say("split is called", n_splits > 0);
    EXPECT(act(arena, "purge") == 0);
    say("purge offers the rest to dalloc", n_offers > 0);
    say("then to decommit", n_decommits > 0);
    say("then it is purged", n_purged >= n);
    n_merges = 0;
    bool is_longer = xallocx(p, 2 * n, 0, IN(arena)) == 2 * n;
    say("it grows again, and merge is called", !is_longer || n_merges > 0);
    say("commit is not, as nothing was decommitted", n_commits == 0);
    decommits = true;
    EXPECT(xallocx(p, n, 0, IN(arena)) == n && act(arena, "purge") == 0);
    is_longer = xallocx(p, 2 * n, 0, IN(arena)) == 2 * n;
    say("what was decommitted is committed before its use", !is_longer || n_commits > 0);
    EXPECT(p[0] == 1 && p[n - 1] == 1);
    is_uncut = true;
    size_t before = sallocx(p, 0);
    say("where split refuses a block stays", xallocx(p, n / 2, 0, IN(arena)) == before);
    char *q = mallocx(n, IN(arena));
    say("others are there all the same", q != NULL && is_known(q, n));
    is_uncut = false;
    dallocx(p, IN(arena));
    dallocx(q, IN(arena));
    EXPECT(act(arena, "destroy") == 0);
    say("destroy is called", n_destroyed > 0);
}

/* A large block gets far smaller than half where it is, by realloc as well, and may have its end again. */
static void cut_down(const char *what, unsigned arena, bool has_hooks) {
    static const size_t sizes[] = {2 * MIB, MIB, 20480};
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        char *p = mallocx(3 * MIB, IN(arena)), words[100];
        uintptr_t was = (uintptr_t)p;
        memset(p, 5, 3 * MIB);
        n_splits = 0;
        p = rallocx(p, sizes[i], IN(arena));
        bool is_cut = (uintptr_t)p == was && sallocx(p, 0) == sizes[i];
        snprintf(words, sizeof(words), "%s, realloc cuts 3 MiB to %zu in place", what, sizes[i]);
        say(words, is_cut && (n_splits > 0) == has_hooks);
        EXPECT(p[0] == 5 && p[sizes[i] - 1] == 5);
        p = rallocx(p, 3 * MIB, IN(arena));
        EXPECT(p[sizes[i] - 1] == 5);
        p = rallocx(p, 100, IN(arena));
        EXPECT(p[99] == 5 && sallocx(p, 0) < 4096);
        dallocx(p, IN(arena));
    }
}

static void cutting_down(void) {
    extent_hooks_t hooks;
    unsigned arena = noting_arena(&hooks);
    cut_down("with hooks", arena, /* has_hooks */ true);
    char *p = mallocx(3 * MIB, IN(arena));
    memset(p, 5, 3 * MIB);
    is_uncut = true;
    p = rallocx(p, MIB, IN(arena));
    say("where split refuses, realloc moves it", sallocx(p, 0) < 2 * MIB && p[MIB - 1] == 5);
    is_uncut = false;
    dallocx(p, IN(arena));
    EXPECT(act(arena, "destroy") == 0);
    arena = create(NULL);
    cut_down("without hooks", arena, /* has_hooks */ false);
    EXPECT(act(arena, "destroy") == 0);
}

static void at_once(void) {
    extent_hooks_t hooks;
    unsigned arena = noting_arena(&hooks);
    char name[64];
    ssize_t ms = 0;
    snprintf(name, sizeof(name), "arena.%u.dirty_decay_ms", arena);
    EXPECT(mallctl(name, NULL, NULL, &ms, sizeof(ms)) == 0);
    char *p = mallocx(2 * large(), IN(arena));
    n_offers = n_purged = 0;
    memset(p, 1, 2 * large());
    dallocx(p, IN(arena));
    say("with dirty_decay_ms 0 it is offered and purged at once", n_offers > 0 && n_purged > 0);
    EXPECT(act(arena, "destroy") == 0);
}

/* ---- ours ---- */

static void figures(void) {
    begin();
    unsigned arena = create(&mine);
    uint64_t total, total_after;
    size_t len = sizeof(total), n_bytes = 0;
    (void)figure(arena, "mapped");
    EXPECT(mallctl("stats.allocated", &total, &len, NULL, 0) == 0);
    for (unsigned i = 0; i < N; i++) {
        blocks[i] = mallocx(size_of(i), IN(arena));
        n_bytes += sallocx(blocks[i], 0);
    }
    EXPECT(figure(arena, "mapped") == n_taken);
    EXPECT(figure(arena, "small.allocated") + figure(arena, "large.allocated") == n_bytes);
    EXPECT(mallctl("stats.allocated", &total_after, &len, NULL, 0) == 0);
    EXPECT(total_after - total >= n_bytes && total_after - total < n_bytes + 100000);
    EXPECT(figure(arena, "small.nmalloc") + figure(arena, "large.nmalloc") == N);
    size_t mapped = figure(4096, "mapped"), of_0 = figure(0, "mapped");
    EXPECT(mapped >= of_0 + n_taken);
    errno = 7;
    for (unsigned i = 0; i < N; i++) dallocx(blocks[i], 0);
    EXPECT(errno == 7 && n_given > 0);
    EXPECT(figure(arena, "small.allocated") + figure(arena, "large.allocated") == 0);
    EXPECT(figure(arena, "small.ndalloc") + figure(arena, "large.ndalloc") == N);
    EXPECT(figure(arena, "mapped") == n_taken - n_given); /* a spare, at most */
    EXPECT(act(arena, "decay") == 0);
    EXPECT(n_given == n_taken && figure(arena, "mapped") == 0);
    dallocx(mallocx(5000, IN(arena)), 0);
    EXPECT(n_given < n_taken && act(arena, "purge") == 0 && n_given == n_taken);
    EXPECT(act(arena, "destroy") == 0);
}

static size_t resident_mib(void) {
    unsigned long all = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    EXPECT(f != NULL && fscanf(f, "%lu %lu", &all, &resident) == 2);
    if (f != NULL) fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE) / MIB;
}

/* What xallocx cuts off is not resident any more. */
static void ends_go_back(unsigned arena) {
    static const size_t mib[] = {260, 110};
    char *p = mallocx(400 * MIB, IN(arena));
    memset(p, 1, 400 * MIB);
    size_t filled = resident_mib();
    for (unsigned i = 0; i < sizeof(mib) / sizeof(*mib); i++) {
        EXPECT(xallocx(p, mib[i] * MIB, 0, IN(arena)) == mib[i] * MIB);
        EXPECT(resident_mib() <= filled - (400 - mib[i]) + 8);
        EXPECT(p[mib[i] * MIB - 1] == 1);
    }
    dallocx(p, IN(arena));
}

static void cutting_ends(void) {
    unsigned arena = create(NULL);
    ends_go_back(0);
    ends_go_back(arena);
    EXPECT(act(arena, "destroy") == 0);
}

static size_t longest_extent(size_t limit) {
    char name[64];
    size_t longest = 0;
    begin();
    unsigned arena = create(&mine);
    snprintf(name, sizeof(name), "arena.%u.retain_grow_limit", arena);
    EXPECT(mallctl(name, NULL, NULL, &limit, sizeof(limit)) == 0);
    for (unsigned i = 0; i < 3000; i++) EXPECT(mallocx(20000, IN(arena)) != NULL);
    for (unsigned i = 0; i < n_extents; i++)
        longest = extents[i].size > longest ? extents[i].size : longest;
    EXPECT(act(arena, "destroy") == 0 && n_given + n_destroyed == n_taken);
    return longest;
}

static void limits(void) {
    EXPECT(longest_extent(2 * MIB) == 2 * MIB);
    size_t longest = longest_extent(1000 * MIB);
    EXPECT(longest > 4 * MIB && longest < 12 * MIB);
}

/* Hooks that are set later, and taken away again; arena 0's are kept and not called. */
static void changing(void) {
    begin();
    unsigned arena = create(NULL);
    extent_hooks_t *before = hooks_of(arena, NULL);
    char *first = mallocx(100, IN(arena));
    EXPECT(hooks_of(arena, &mine) == before && hooks_of(arena, NULL) == &mine);
    char *second = mallocx(100, IN(arena));
    EXPECT(!is_known(first, 100) && is_known(second, 100));
    EXPECT(hooks_of(arena, before) == &mine);
    char *third = mallocx(100, IN(arena));
    EXPECT(!is_known(third, 100));
    EXPECT(figure(arena, "small.allocated") == 3 * sallocx(first, 0));
    dallocx(first, 0), dallocx(second, 0), dallocx(third, 0);
    hooks_of(arena, &mine);
    EXPECT(act(arena, "destroy") == 0 && n_given + n_destroyed == n_taken);
    size_t n = n_taken;
    before = hooks_of(0, &mine);
    EXPECT(hooks_of(0, NULL) == &mine && !is_known(malloc(5000000), 5000000) && n_taken == n);
    hooks_of(0, before);
}

static _Atomic bool is_over;
static unsigned shared;
static void *churn(void *seed) {
    unsigned random = (unsigned)(uintptr_t)seed;
    char *held[50] = {NULL};
    while (!is_over) {
        random = random * 1103515245 + 12345;
        char **at = &held[(random >> 8) % 50];
        if (*at == NULL)
            *at = mallocx((random >> 16) % 200000 + 1, MALLOCX_ARENA(shared));
        else
            dallocx(*at, 0), *at = NULL;
    }
    for (unsigned i = 0; i < 50; i++) free(held[i]);
    return NULL;
}

static void forks(void) {
    pthread_t threads[3];
    int status;
    begin();
    shared = create(&mine);
    is_keeping = true; /* else the list of extents gets too long */
    char *p = mallocx(100, MALLOCX_ARENA(shared));
    for (uintptr_t i = 0; i < 3; i++) pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
    for (unsigned i = 0; i < 10; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (unsigned k = 1; k < 50; k++) dallocx(mallocx(k * 5000, MALLOCX_ARENA(shared)), 0);
            free(p);
            _exit(0);
        }
        EXPECT(waitpid(child, &status, 0) == child && status == 0);
    }
    is_over = true;
    for (unsigned i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    EXPECT(figure(shared, "small.allocated") == sallocx(p, 0));
    EXPECT(figure(shared, "large.allocated") == 0);
    is_keeping = false;
    EXPECT(act(shared, "destroy") == 0 && n_given + n_destroyed == n_taken);
}

static int write_hooks(unsigned arena, extent_hooks_t *hooks) {
    char name[64];
    snprintf(name, sizeof(name), "arena.%u.extent_hooks", arena);
    return mallctl(name, NULL, NULL, &hooks, sizeof(hooks));
}

/* Nothing can be mapped any more: once what is left of our tables is used up, hooks are refused, and the arena keeps those it had. */
static void hooks_without_memory(void) {
    enum { N_ARENAS = 200 };
    unsigned arena[N_ARENAS], n_refused = 0;
    bool is_refused[N_ARENAS];
    struct rlimit limit, none = {.rlim_cur = 0};
    for (unsigned i = 0; i < N_ARENAS; i++) arena[i] = create(NULL);
    EXPECT(getrlimit(RLIMIT_AS, &limit) == 0);
    none.rlim_max = limit.rlim_max;
    EXPECT(setrlimit(RLIMIT_AS, &none) == 0);
    for (unsigned i = 0; i < N_ARENAS; i++) {
        int err = write_hooks(arena[i], &mine);
        is_refused[i] = err != 0;
        n_refused += is_refused[i];
        EXPECT(err == 0 || err == EAGAIN);
        EXPECT(hooks_of(arena[i], NULL) == (err == 0 ? &mine : defaults));
    }
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
    EXPECT(n_refused > 0 && n_refused < N_ARENAS);
    begin();
    for (unsigned i = 0; i < N_ARENAS; i++)
        if (is_refused[i]) dallocx(mallocx(MIB, IN(arena[i])), 0);
    EXPECT(n_taken == 0);
    for (unsigned i = 0; i < N_ARENAS; i++)
        if (is_refused[i]) EXPECT(write_hooks(arena[i], &mine) == 0);
    EXPECT(hooks_of(arena[N_ARENAS - 1], NULL) == &mine);
    for (unsigned i = 0; i < N_ARENAS; i++) EXPECT(act(arena[i], "destroy") == 0);
}

static void mistake(const char *name) {
    unsigned arena = create(&mine);
    char *p = mallocx(100, IN(arena));
    if (strcmp(name, "twice") == 0) dallocx(p, 0), dallocx(p, 0);
    if (strcmp(name, "inside") == 0) free(p + 8);
    if (strcmp(name, "gone") == 0 && act(arena, "destroy") == 0) free(p);
    if (strcmp(name, "size") == 0) printf("%zu\n", sallocx(p + 50, 0));
}

int main(int argc, char **argv) {
    defaults = hooks_of(0, NULL);
    mine = *defaults;
    mine.alloc = take;
    mine.dalloc = give;
    mine.destroy = destroy;
    mine.purge_forced = mine.purge_lazy = purge;
    mine.commit = mine.decommit = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 2) {
        mistake(argv[2]);
        return 0;
    }
    if (argc > 1) {
        figures();
        limits();
        cutting_ends();
        changing();
        forks();
        hooks_without_memory();
        return 0;
    }
    pthread_t thread;
    nodump();
    region_of_huge_pages();
    giving_back();
    keeping();
    nothing_left();
    cascade();
    cutting_down();
    at_once();
    EXPECT(pthread_create(&thread, NULL, as_threads_arena, NULL) == 0);
    pthread_join(thread, NULL);
    return 0;
}
