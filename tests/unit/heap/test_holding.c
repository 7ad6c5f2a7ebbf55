/* test_holding.c - blocks in memory that the program brought: all sizes and alignments, mistakes, threads, what is known of them. */
#include "look.h"

#include "heap/holding.c"

#define AREA MiB(64)

static char *area;

static struct vt_estate *new_estate(bool is_zero) {
    area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                0);
    assert_ptr_not_equal(area, MAP_FAILED);
    struct vt_estate *e = vt__estate_new(NULL, NULL);
    assert_int_equal(vt__estate_add(e, area, AREA, is_zero), 0);
    return e;
}

static bool is_inside(const void *p, size_t n) {
    return p != NULL && (const char *)p >= area && (const char *)p + n <= area + AREA;
}

static size_t n_free(struct vt_estate *e) {
    size_t n;
    assert_int_equal(vt__estate_bytes(e, &n), AREA);
    return n;
}

static const size_t sizes[] = {0,    1,    16,   17,    100,   1000,  1024,  1025,      2000,
                               4096, 8000, 8192, 8193,  20000, 65536, 65537, 300000,    MiB(2),
                               3,    48,   600,  10000, 40000, 5000,  7777,  MiB(3) + 1};

TEST(holding, blocks_of_all_sizes_are_in_the_area_and_go_with_their_heap) {
    struct vt_estate *e = new_estate(true);
    for (unsigned round = 0; round < 2; round++) {
        struct vt_own *o = vt__own_new_on(e);
        void *at[vt_countof(sizes) * 3 / 2];
        for (unsigned i = 0; i < vt_countof(at); i++) {
            size_t n = sizes[i % vt_countof(sizes)];
            at[i] = vt__own_alloc(o, 16, n, /* zero */ i % 2 == 0);
            assert_true(is_inside(at[i], n));
            assert_int_equal((uintptr_t)at[i] % 16, 0);
            size_t usable = vt__usable_size(at[i]);
            assert_int_equal(usable, vt__good_size(16, n));
            if (i % 2 == 0) check_zero(at[i], usable);
            fill(at[i], usable);
            assert_ptr_equal(vt__own_of(at[i]), o);
            assert_true(vt__heap_owns(at[i]));
        }
        for (unsigned i = 0; i < vt_countof(at); i++) {
            check_filled(at[i], at[i], vt__usable_size(at[i]));
            if (i % 3 != 0) vt__free(at[i]);
        }
        assert_true(n_free(e) < AREA);
        vt__own_destroy(o);
        assert_int_equal(n_free(e), AREA);
    }
}

TEST(holding, alignments_up_to_MiBs_and_inside_of_blocks) {
    struct vt_estate *e = new_estate(false);
    struct vt_own *o = vt__own_new_on(e);
    memset(area, 0xee, MiB(8)); /* said to be anything */
    for (size_t align = 1; align <= MiB(4); align *= 2)
        for (unsigned i = 0; i < 8; i++) {
            char *p = vt__own_alloc(o, align, sizes[i], true);
            assert_true(is_inside(p, sizes[i]));
            assert_int_equal((uintptr_t)p % align, 0);
            assert_int_equal(vt__usable_size(p), vt__good_size(align, sizes[i]));
            check_zero(p, vt__usable_size(p));
            memset(p, 0xdd, vt__usable_size(p));
            if (i % 2 != 0) vt__free(p);
        }
    for (size_t skipped = 8; skipped < VT_SLICE; skipped = skipped * 2 + 8) {
        char *p = vt__own_alloc_behind(o, skipped, 5000, true);
        assert_true(is_inside(p, 5000));
        assert_int_equal((uintptr_t)p % VT_SLICE, skipped);
        assert_true(vt__usable_size(p) >= 5000);
        check_zero(p, vt__usable_size(p));
        fill(p, vt__usable_size(p));
        struct vt_brought b;
        assert_true(vt__brought_find(p, &b) && b.is_block && b.own == o);
        assert_true(vt__brought_find(p - 1, &b) && !b.is_block);
        vt__free(p);
    }
    vt__own_destroy(o);
    assert_int_equal(n_free(e), AREA);
}

TEST(holding, realloc_stays_in_place_where_it_can_and_else_moves) {
    struct vt_estate *e = new_estate(true);
    struct vt_own *o = vt__own_new_on(e);
    char *p = fill(vt__own_alloc(o, 16, 100000, false), 100000);
    assert_ptr_equal(vt__realloc(p, 90000), p);
    assert_int_equal(vt__usable_size(p), vt__good_size(1, 90000));
    assert_true(vt__resize_in_place(p, MiB(20))); /* what is behind it is free */
    assert_int_equal(vt__usable_size(p), MiB(20));
    assert_false(vt__resize_in_place(p, AREA + 1));
    assert_true(vt__resize_in_place(p, 100000));
    char *wall = vt__own_alloc(o, 16, 10000, false);
    assert_false(vt__resize_in_place(p, 200000));
    assert_true(vt__resize_in_place(p, 100)); /* shrinks as far as it can be bothered to */
    assert_true(vt__usable_size(p) >= 100);
    check_filled(p, p, 100);
    char *q = vt__realloc(p, 200000); /* a plain one */
    assert_false(is_inside(q, 1));
    check_filled(q, p, 90000);
    char *small = fill(vt__own_alloc(o, 16, 100, false), 100);
    assert_ptr_equal(vt__realloc(small, 112), small);
    assert_false(vt__resize_in_place(small, 113));
    q = vt__realloc(small, 20);
    assert_false(is_inside(q, 1));
    check_filled(q, small, 20);
    assert_null(vt__realloc(wall, PTRDIFF_MAX));
    vt__free_sized(wall, 10000);
    assert_int_equal(n_free(e), AREA);
}

TEST(holding, a_full_area_fails_and_says_so) {
    struct vt_estate *e = new_estate(true);
    struct vt_own *o = vt__own_new_on(e);
    size_t n = 0;
    char *p, *last = NULL;
    while ((p = vt__own_alloc(o, 16, 1000, false)) != NULL) last = p, n++;
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(n, AREA / 8192 * 8);
    assert_null(vt__own_alloc(o, 16, MiB(1), false));
    assert_null(vt__own_alloc(o, 16, SIZE_MAX, false));
    assert_null(vt__own_alloc(o, (size_t)1 << 62, 1, false));
    errno = 5;
    vt__free(last);
    assert_int_equal(errno, 5);
    assert_ptr_equal(vt__own_alloc(o, 16, 1000, false), last);
    assert_non_null(vt__malloc(1000));
    vt__own_reset(o);
    assert_int_equal(n_free(e), AREA);
    assert_true(is_inside(vt__own_alloc(o, 16, AREA, false), AREA));
}

TEST(holding, blocks_of_a_deleted_heap_stay_until_they_are_freed) {
    struct vt_estate *e = new_estate(true);
    struct vt_own *o = vt__own_new_on(e), *other = vt__own_new_on(e);
    char *a = fill(vt__own_alloc(o, 16, 100, false), 100);
    char *b = fill(vt__own_alloc(o, 16, 100, false), 100);
    char *c = fill(vt__own_alloc(o, 16, 500000, false), 500000);
    char *d = vt__own_alloc(other, 16, 100, false);
    vt__own_delete(o);
    assert_null(vt__own_of(a));
    assert_true(vt__heap_owns(a) && vt__heap_owns(c));
    assert_ptr_equal(vt__own_of(d), other);
    struct vt_own *next = vt__own_new(); /* the same again, and not in the area */
    assert_false(is_inside(vt__own_alloc(next, 16, 100, false), 100));
    check_filled(a, a, 100);
    check_filled(c, c, 500000);
    assert_int_equal(vt__usable_size(c), vt__good_size(1, 500000));
    vt__free(a);
    vt__free(b);
    vt__free(c);
    vt__free(d);
    assert_int_equal(n_free(e), AREA);
}

/* ---- mistakes ---- */

static void free_twice(void *p) {
    vt__free(p);
    vt__free(p);
}
static void free_behind(void *p) { vt__free((char *)p + 16); }
static void ask_behind(void *p) { (void)!vt__usable_size((char *)p + 1); }
static void resize_behind(void *p) { (void)!vt__realloc((char *)p + 8, 50); }

TEST(holding, bad_frees_end_the_process_with_one_line) {
    struct vt_own *o = vt__own_new_on(new_estate(true));
    char *a = vt__own_alloc(o, 16, 100, false), *b = vt__own_alloc(o, 16, 100, false);
    char *large = vt__own_alloc(o, 16, 200000, false), *tail = vt__own_alloc(o, 16, 1200, false);
    char *skipped = vt__own_alloc_behind(o, 8000, 5000, false);
    unit_dies_saying(free_twice, a, "block of 112 bytes (class 6) is already free");
    unit_dies_saying(free_twice, large, "double free of 0x");
    unit_dies_saying(free_twice, large, "no block is there, it was freed or never allocated");
    unit_dies_saying(free_behind, b, "16 bytes inside a block of 112 bytes (class 6)");
    unit_dies_saying(free_behind, large, "16 bytes inside a block of 200704 bytes (large)");
    unit_dies_saying(free_behind, large + 150000, "150016 bytes inside a block of 200704 bytes");
    unit_dies_saying(vt__free, b + 112, "block of 112 bytes (class 6) is already free");
    unit_dies_saying(vt__free, tail + 12288 - 10, "no block is there"); /* behind the last */
    unit_dies_saying(vt__free, skipped - 4096, "no block is there");    /* before the first */
    unit_dies_saying(vt__free, area + AREA - 16, "no block is there");
    unit_dies_saying(ask_behind, a, "1 bytes inside a block of 112 bytes (class 6)");
    unit_dies_saying(resize_behind, a, "8 bytes inside a block of 112 bytes (class 6)");
}

/* ---- what is known ---- */

TEST(holding, areas_and_figures_tell_every_block) {
    struct vt_own *o = vt__own_new_on(new_estate(true));
    size_t n_live = 0, n_bytes = 0, n_blocks = 0, n_used = 0;
    void *at[300];
    for (unsigned i = 0; i < 300; i++) at[i] = vt__own_alloc(o, 16, sizes[i % 14], false);
    for (unsigned i = 0; i < 300; i++)
        if (i % 3 == 0) {
            vt__free(at[i]);
        } else {
            n_live++;
            n_bytes += vt__usable_size(at[i]);
        }
    struct vt_own_area a;
    for (size_t n = 0; vt__own_area(o, n, &a); n++) {
        n_used += a.n_used;
        assert_true(is_inside(a.at, a.n_bytes));
        for (size_t k = 0; k < a.n_carved; k++) {
            struct vt_brought b;
            bool is_told = (a.is_used[k / 32] >> (k % 32) & 1) != 0;
            assert_true(vt__brought_find(a.at + k * a.block_bytes, &b));
            assert_int_equal(is_told, b.is_block);
            n_blocks += is_told;
        }
    }
    assert_int_equal(n_blocks, n_live);
    assert_int_equal(n_used, n_live);
    struct vt_own_stats s, brought;
    size_t seen = 0, taken = 0;
    vt__own_stats(o, &s, NULL, NULL);
    vt__own_brought_stats(o, &brought, NULL, NULL);
    assert_memory_equal(&s, &brought, sizeof(s));
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        seen += s.classes[c].n_live * vt__class_bytes(c);
        taken += s.n_taken[c];
        assert_true(s.classes[c].n_live <= s.classes[c].n_blocks);
    }
    assert_int_equal(seen, n_bytes);
    assert_int_equal(taken, 300);
    struct vt_slab_use slab;
    assert_true(vt__heap_slab_use(at[4], &slab));
    assert_true(slab.n_out >= 1 && slab.n_out <= slab.n_blocks);
    assert_true((char *)slab.at <= (char *)at[4]);
    assert_true((char *)at[4] + slab.block_bytes <= (char *)slab.at + slab.n_bytes);
}

TEST_WITH(holding, blocks_are_sampled_as_others_are, "VITRINE_SAMPLE=4096") {
    struct vt_own *o = vt__own_new_on(new_estate(true));
    static void *at[2000];
    for (unsigned i = 0; i < 2000; i++)
        at[i] = vt__own_alloc(o, 16, i % 100 == 0 ? 100000 : 200, false);
    size_t n_sampled = 0, n_left = 0;
    for (const struct plot *p = ((struct vt_holding *)vt__atlas_find(at[0])->holding)->others;
         p != NULL; p = p->next)
        n_sampled += p->n_sampled;
    assert_true(n_sampled > 50 && n_sampled < 1000);
    for (unsigned i = 0; i < 1000; i++) vt__free(at[i]);
    for (const struct plot *p = ((struct vt_holding *)vt__atlas_find(at[1999])->holding)->others;
         p != NULL; p = p->next)
        n_left += p->n_sampled;
    assert_true(n_left > 0 && n_left < n_sampled);
    vt__own_destroy(o);
    for (unsigned i = 0; i < 2000; i++)
        assert_false(vt__probe_freed(at[i])); /* none is forgotten */
}

/* ---- threads, handlers, forks ---- */

static struct vt_own *common;
static _Atomic(unsigned char *) exchange[32];

static void *work(void *seed) {
    uint64_t random = (uintptr_t)seed;
    for (unsigned i = 0; i < 1500; i++) {
        size_t n = unit_random(&random) % 16 == 0 ? 50000 : unit_random(&random) % 2000 + 1;
        unsigned char *p = vt__own_alloc(common, 16, n, i % 2 == 0);
        assert_non_null(p);
        p[0] = p[n - 1] = (unsigned char)n;
        assert_true(vt__usable_size(p) >= n);
        vt__free(atomic_exchange(&exchange[unit_random(&random) % 32], p));
    }
    return NULL;
}

TEST(holding, threads_take_and_free_each_others_blocks) {
    struct vt_estate *e = new_estate(true);
    pthread_t threads[4];
    common = vt__own_new_on(e);
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
    char *more = mmap(NULL, MiB(8), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < 8; i++) { /* others are brought meanwhile, and strangers asked about */
        struct vt_estate *another = vt__estate_new(NULL, NULL);
        struct vt_brought b;
        assert_false(vt__brought_find(more + MiB(i), &b));
        assert_int_equal(vt__estate_add(another, more + MiB(i), MiB(1), true), 0);
        vt__own_destroy(vt__own_new_on(another));
        (void)vt__brought_find(area + MiB(i), &b);
    }
    for (unsigned i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 32; i++) vt__free(atomic_exchange(&exchange[i], NULL));
    assert_int_equal(n_free(e), AREA);
}

/* A source that unmaps what it gets back: who touches that later is caught. */
static _Atomic size_t n_taken, n_given, n_asked;
static void *map_some(void *arg, size_t n_bytes, size_t align, bool *is_zero) {
    (void)arg, (void)align;
    void *p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    n_taken += n_bytes;
    *is_zero = true;
    vt__free(vt__malloc(100));
    return p;
}
static bool unmap_some(void *arg, void *at, size_t n_bytes, bool is_committed) {
    (void)arg, (void)is_committed;
    if (n_asked++ % 3 == 2) return false; /* now and then it does not want it */
    vt__free(vt__malloc(100));
    n_given += n_bytes;
    return munmap(at, n_bytes) == 0;
}
static void drop_some(void *arg, void *at, size_t n_bytes, bool is_committed) {
    (void)arg, (void)is_committed;
    n_given += n_bytes;
    munmap(at, n_bytes);
}
/* Now and then it refuses, or decommits. */
static bool split_some(void *arg, void *at, size_t n_bytes, size_t n_first, bool is_committed) {
    (void)arg, (void)at, (void)n_bytes, (void)n_first, (void)is_committed;
    return n_asked++ % 7 != 3;
}
static bool merge_some(void *arg, void *at, size_t n_first, size_t n_second, bool is_committed) {
    (void)arg, (void)at, (void)n_first, (void)n_second, (void)is_committed;
    return n_asked++ % 7 != 3;
}
static enum vt_purged purge_some(void *arg, void *at, size_t n_bytes) {
    (void)arg;
    if (madvise(at, n_bytes, MADV_DONTNEED) != 0) return VT_PURGED_NOT;
    return n_asked++ % 2 == 0 ? VT_PURGED_ZERO : VT_PURGED_UNCOMMITTED;
}
static bool commit_some(void *arg, void *at, size_t n_bytes) {
    (void)arg, (void)at, (void)n_bytes;
    return n_asked++ % 5 != 0;
}
static bool is_patient(void *arg) {
    (void)arg;
    return false;
}
static size_t any_length(void *arg) {
    (void)arg;
    return SIZE_MAX;
}

static void *work_far_and_wide(void *seed) {
    uint64_t random = (uintptr_t)seed;
    for (unsigned i = 0; i < 400; i++) {
        size_t n = unit_random(&random) % 8 == 0 ? MiB(1) + unit_random(&random) % MiB(1)
                                                 : unit_random(&random) % 20000 + 1;
        unsigned char *p = vt__own_alloc(common, 16, n, true);
        assert_non_null(p);
        assert_int_equal(p[0] | p[n - 1], 0);
        p[0] = p[n - 1] = 1;
        vt__free(atomic_exchange(&exchange[unit_random(&random) % 8], p));
    }
    return NULL;
}

TEST(holding, threads_take_and_free_while_memory_comes_and_goes) {
    static const struct vt_source source = {map_some,    unmap_some, drop_some,
                                            split_some,  merge_some, purge_some,
                                            commit_some, any_length, is_patient};
    struct vt_estate *e = vt__estate_new(&source, NULL);
    pthread_t threads[4];
    struct vt_brought b;
    common = vt__own_new_on(e);
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work_far_and_wide, (void *)(i + 1)), 0);
    for (unsigned i = 0; i < 50; i++) {
        vt__estate_purge(e);
        (void)vt__brought_find(atomic_load(&exchange[i % 8]), &b); /* it may be gone by now */
    }
    for (unsigned i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 8; i++) vt__free(atomic_exchange(&exchange[i], NULL));
    size_t n_left, n_bytes = vt__estate_bytes(e, &n_left);
    assert_int_equal(n_bytes, n_left); /* all that stayed is free */
    assert_int_equal(n_taken - n_given, n_left);
    vt__own_destroy(common);
    vt__estate_drop(e);
    assert_int_equal(n_taken, n_given);
    assert_int_equal(vt__estate_bytes(e, NULL), 0);
}

TEST(holding, in_a_handler_frees_wait_and_mallocs_fail) {
    struct vt_estate *e = new_estate(true);
    struct vt_own *o = vt__own_new_on(e);
    char *p = vt__own_alloc(o, 16, 100, false);
    vt__tls.is_busy = true;
    vt__free(p);
    assert_null(vt__own_alloc(o, 16, 100, false));
    assert_int_equal(vt__usable_size(p), 112);
    struct vt_brought b;
    assert_false(vt__brought_find(p, &b));
    vt__tls.is_busy = false;
    assert_true(n_free(e) < AREA);
    vt__poll();
    assert_int_equal(n_free(e), AREA);
}

static _Atomic bool is_over;
static void *churn(void *unused) {
    while (!atomic_load(&is_over)) vt__free(vt__own_alloc(common, 16, 300, false));
    return unused;
}

TEST(holding, a_forked_child_finds_no_lock_held) {
    pthread_t thread;
    common = vt__own_new_on(new_estate(true));
    char *p = vt__own_alloc(common, 16, 100, false);
    assert_int_equal(pthread_create(&thread, NULL, churn, NULL), 0);
    for (unsigned i = 0; i < 20; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            for (unsigned k = 0; k < 20; k++) vt__free(vt__own_alloc(common, 16, k * 1000, true));
            vt__free(p);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
}

UNIT_MAIN()
