/* test_exact.c - every allocation and free counted: sums are the truth to the byte, on and off at any time, in every thread. */
#include "made_up.h"

#include <limits.h>

#include "probe/exact.c"

static void add_site(struct vt_exact_site *sum, const struct vt_exact_site *s) {
    const struct vt_exact_counts *from[] = {&s->alloc, &s->freed, &s->peak};
    struct vt_exact_counts *to[] = {&sum->alloc, &sum->freed, &sum->peak};
    for (unsigned i = 0; i < vt_countof(to); i++) {
        to[i]->n += from[i]->n;
        to[i]->bytes += from[i]->bytes;
        to[i]->requested_bytes += from[i]->requested_bytes;
    }
}

static bool is_at(const struct vt_exact_site *s, uintptr_t site) {
    const uintptr_t *pc;
    assert_int_equal(vt__depot_get(s->stack, &pc), 1);
    return pc[0] == site + 1;
}

/* Read by stack; and by thread and labels, which must come to the same. */
static struct vt_exact_site of_site(uintptr_t site) {
    struct vt_exact_site s, sum = {0}, apart = {0};
    struct vt_exact_cursor cursor = {0};
    for (uint32_t i = 0; vt__exact_next_stack(&i, &s);)
        if (is_at(&s, site)) add_site(&sum, &s);
    while (vt__exact_next_site(&cursor, &s))
        if (is_at(&s, site)) add_site(&apart, &s);
    assert_memory_equal(&sum, &apart, sizeof(sum));
    return sum;
}

/* What one thread has of it, with these labels. */
static struct vt_exact_site of_thread(uintptr_t site, uint32_t thread, uint32_t label) {
    struct vt_exact_site s, sum = {0};
    struct vt_exact_cursor cursor = {0};
    while (vt__exact_next_site(&cursor, &s))
        if (is_at(&s, site) && s.thread == thread && s.label == label) add_site(&sum, &s);
    return sum;
}

static void start_exact(void) {
    vt__free(vt__malloc(1));
    assert_int_equal(vt__exact_set(true), 0);
}

static void check_site(uintptr_t site, uint64_t n_alloc, uint64_t alloc_bytes, uint64_t n_freed,
                       uint64_t freed_bytes) {
    struct vt_exact_site s = of_site(site);
    assert_int_equal(s.alloc.n, n_alloc);
    assert_int_equal(s.alloc.requested_bytes, alloc_bytes);
    assert_int_equal(s.freed.n, n_freed);
    assert_int_equal(s.freed.requested_bytes, freed_bytes);
}

TEST(exact, every_allocation_and_free_of_every_size_is_counted) {
    enum { N = 3000 };
    static void *at[N];
    static size_t size[N];
    uint64_t rng = 8, bytes = 0, freed = 0, n_freed = 0;
    start_exact();
    current_site = 1;
    for (int i = 0; i < N; i++) {
        size[i] = 1 + unit_random(&rng) % (i % 50 == 0 ? 500000 : i % 5 == 0 ? 30000 : 1000);
        at[i] = i % 3 == 0 ? vt__calloc(1, size[i]) : vt__malloc(size[i]);
        assert_non_null(at[i]);
        bytes += size[i];
    }
    current_site = 2; /* who frees does not matter */
    for (int i = 0; i < N; i += 2) {
        vt__free(at[i]);
        freed += size[i];
        n_freed++;
    }
    check_site(1, N, bytes, n_freed, freed);
    check_site(2, 0, 0, 0, 0);
    for (int i = 1; i < N; i += 2) vt__free(at[i]);
    check_site(1, N, bytes, N, bytes);
    struct vt_exact_site s = of_site(1);
    assert_int_equal(s.alloc.bytes, s.freed.bytes);
    assert_true(s.alloc.bytes >= bytes);
}

/* This thread's malloc and free are those of a program that was never watched. */
static bool has_fast_paths(void) {
    return vt__tls.heap == vt__tls.real && vt__tls.tag == (uintptr_t)vt__tls.real;
}

TEST(exact, what_was_allocated_before_or_while_it_was_off_is_not_counted_and_it_begins_anew) {
    void *before = vt__malloc(100);
    start_exact();
    current_site = 3;
    void *during = vt__malloc(100), *kept = vt__malloc(70);
    vt__free(before);
    check_site(3, 2, 170, 0, 0);
    assert_false(has_fast_paths());
    assert_int_equal(vt__exact_set(false), 0);
    assert_true(has_fast_paths());
    vt__free(during); /* unseen */
    void *unseen = vt__malloc(100);
    assert_int_equal(vt__exact_set(true), 0);
    vt__free(unseen);
    vt__free(kept); /* its note is still there, and of another time */
    check_site(3, 0, 0, 0, 0);
    vt__free(vt__malloc(50));
    check_site(3, 1, 50, 1, 50);
}

static _Atomic int step;

static void wait_for(int n) {
    while (atomic_load(&step) < n) usleep(1000);
}

static void *allocate_in_steps(void *unused) {
    current_site = 4;
    void *p = vt__malloc(64);
    atomic_store(&step, 1);
    wait_for(2);
    for (int i = 0; i < 100; i++) vt__free(vt__malloc(64));
    vt__free(p);
    atomic_store(&step, 3);
    wait_for(4);
    assert_true(has_fast_paths());
    for (int i = 0; i < 100; i++) vt__free(vt__malloc(64));
    return unused;
}

TEST(exact, a_thread_that_runs_already_is_switched_too) {
    pthread_t id;
    vt__free(vt__malloc(1));
    assert_int_equal(pthread_create(&id, NULL, allocate_in_steps, NULL), 0);
    wait_for(1);
    assert_int_equal(vt__exact_set(true), 0);
    atomic_store(&step, 2);
    wait_for(3);
    check_site(4, 100, 6400, 100, 6400);
    assert_int_equal(vt__exact_set(false), 0);
    atomic_store(&step, 4);
    pthread_join(id, NULL);
    check_site(4, 100, 6400, 100, 6400);
}

static void *free_these(void *blocks) {
    for (int i = 0; i < 100; i++) vt__free(((void **)blocks)[i]);
    return NULL;
}

TEST(exact, a_free_by_another_thread_counts_for_the_stack_that_allocated) {
    void *at[100];
    start_exact();
    current_site = 5;
    for (int i = 0; i < 100; i++) at[i] = vt__malloc(i % 2 == 0 ? 40 : 4000);
    unit_in_thread(free_these, at);
    check_site(5, 100, 50 * 4040, 100, 50 * 4040);
    vt__heap_release_all();
    vt__heap_audit();
}

TEST(exact, many_stacks_find_room) {
    enum { N = 20000 };
    start_exact();
    for (uintptr_t i = 0; i < N; i++) {
        current_site = 1000 + i;
        (void)vt__malloc(16);
    }
    struct vt_exact_site s;
    uint64_t n = 0;
    for (uint32_t cursor = 0; vt__exact_next_stack(&cursor, &s);) n += s.alloc.n;
    assert_int_equal(n, N);
}

TEST(exact, a_realloc_that_stays_in_place_has_its_new_size_and_stack) {
    static const struct {
        size_t from, to;
    } rows[] = {{100, 60},        {100, 110},       {5000, 4500},
                {300000, 290000}, {300000, 310000}, {3000000, 900000}};
    start_exact();
    for (size_t i = 0; i < vt_countof(rows); i++) {
        uintptr_t before = 100 + 2 * i, after = before + 1;
        current_site = before;
        void *p = vt__malloc(rows[i].from);
        current_site = after;
        assert_ptr_equal(vt__realloc(p, rows[i].to), p);
        check_site(before, 1, rows[i].from, 1, rows[i].from);
        check_site(after, 1, rows[i].to, 0, 0);
        vt__free(p);
        check_site(after, 1, rows[i].to, 1, rows[i].to);
    }
}

TEST(exact, a_large_block_that_moves_is_counted_once_at_its_new_place) {
    start_exact();
    current_site = 1;
    void *p = vt__malloc(4000000);
    void *in_the_way = vt__malloc(100000);
    current_site = 2;
    void *q = vt__realloc(p, 40000000);
    assert_true(q != p);
    check_site(1, 2, 4100000, 1, 4000000);
    check_site(2, 1, 40000000, 0, 0);
    vt__free(q);
    vt__free(in_the_way);
    check_site(2, 1, 40000000, 1, 40000000);
}

TEST(exact, a_realloc_that_fails_changes_nothing) {
    static const size_t rows[] = {40, 5000, 200000, 4000000};
    start_exact();
    for (uintptr_t i = 0; i < vt_countof(rows); i++) {
        current_site = 200 + i;
        void *p = vt__malloc(rows[i]);
        current_site = 300;
        assert_null(vt__realloc(p, (size_t)1 << 46));
        check_site(200 + i, 1, rows[i], 0, 0);
        vt__free(p);
        check_site(200 + i, 1, rows[i], 1, rows[i]);
    }
    check_site(300, 0, 0, 0, 0);
}

/* ---- the peak ---- */

/* Grows to n blocks of 1000 bytes, with a free for every second malloc, then gives them back but one. */
static void rise_and_fall(uintptr_t site, size_t n) {
    static void *at[4000];
    current_site = site;
    for (size_t i = 0; i < n; i++) {
        at[i] = vt__malloc(1000);
        if (i % 2 == 0 && i + 1 < n) vt__free(vt__malloc(16));
    }
    for (size_t i = 1; i < n; i++) vt__free(at[i]);
}

TEST(exact, the_peak_is_what_was_in_use_when_most_was) {
    static const size_t rows[] = {10, 400, 4000};
    for (uintptr_t i = 0; i < vt_countof(rows); i++) {
        start_exact();
        rise_and_fall(10 + i, rows[i]);
        current_site = 20;
        void *later = vt__malloc(2000); /* less than there was */
        vt__exact_settle_peak();
        struct vt_exact_site s = of_site(10 + i);
        /* the highest by 1/2^14 that is told, at least */
        assert_in_range(s.peak.n, rows[i] - (rows[i] >> PEAK_SHIFT) - 1, rows[i] + 1);
        assert_in_range(s.peak.requested_bytes, s.peak.n * 1000 - 1000, s.peak.n * 1000);
        assert_int_equal(of_site(20).peak.n, 0);
        vt__free(later);
        assert_int_equal(vt__exact_set(false), 0);
    }
}

TEST(exact, a_peak_that_is_now_is_the_peak) {
    start_exact();
    current_site = 1;
    void *p = vt__malloc(100), *q = vt__malloc(200);
    vt__free(p);
    void *r = vt__malloc(5000);
    vt__exact_settle_peak();
    struct vt_exact_site s = of_site(1);
    assert_int_equal(s.peak.n, 2);
    assert_int_equal(s.peak.requested_bytes, 5200);
    vt__free(q);
    vt__free(r);
    s = of_site(1);
    assert_int_equal(s.peak.requested_bytes, 5200);
}

/* ---- threads, labels, ages ---- */

static void *free_half(void *blocks) {
    for (int i = 0; i < 50; i++) vt__free(((void **)blocks)[i]);
    current_site = 7;
    for (int i = 0; i < 3; i++) (void)vt__malloc(30);
    return (void *)(uintptr_t)vt__heap_thread_number();
}

TEST(exact, a_block_is_its_threads_whoever_frees_it) {
    void *at[100], *other;
    pthread_t id;
    start_exact();
    current_site = 7;
    for (int i = 0; i < 100; i++) at[i] = vt__malloc(2000);
    assert_int_equal(pthread_create(&id, NULL, free_half, at), 0);
    assert_int_equal(pthread_join(id, &other), 0);
    struct vt_exact_site mine = of_thread(7, vt__heap_thread_number(), 0);
    struct vt_exact_site others = of_thread(7, (uint32_t)(uintptr_t)other, 0);
    assert_int_equal(mine.alloc.n, 100);
    assert_int_equal(mine.freed.n, 50);
    assert_in_range(mine.peak.n, 97, 100); /* a thread tells what it has in steps */
    assert_int_equal(others.alloc.n, 3);
    assert_int_equal(others.freed.n, 0);
    check_site(7, 103, 200090, 50, 100000);
}

TEST(exact, labels_are_told_apart) {
    start_exact();
    current_site = 8;
    void *plain = vt__malloc(10);
    assert_int_equal(vt__label_push("request", "one"), 0);
    uint32_t one = vt__heap_label_now();
    void *p = vt__malloc(100), *q = vt__malloc(200);
    vt__label_pop();
    vt__free(plain);
    vt__free(p); /* it counts where it was allocated */
    struct vt_exact_site s = of_thread(8, vt__heap_thread_number(), one);
    assert_int_equal(s.alloc.requested_bytes, 300);
    assert_int_equal(s.freed.requested_bytes, 100);
    assert_int_equal(of_thread(8, vt__heap_thread_number(), 0).alloc.requested_bytes, 10);
    check_site(8, 3, 310, 2, 110);
    vt__free(q);
}

static uint64_t n_of_age(uintptr_t site, unsigned from, unsigned to, uint64_t *bytes) {
    struct vt_exact_counts ages[VT_LIFETIMES];
    struct vt_exact_cursor cursor = {0};
    struct vt_exact_site s;
    uint64_t n = 0;
    *bytes = 0;
    while (vt__exact_next_site(&cursor, &s)) {
        if (!is_at(&s, site)) continue;
        vt__exact_ages_of(&cursor, ages);
        for (unsigned i = from; i < to; i++) {
            n += ages[i].n;
            *bytes += ages[i].requested_bytes;
        }
    }
    return n;
}

TEST(exact, ages_are_counted_when_they_are_asked_for) {
    uint64_t bytes;
    start_exact();
    current_site = 9;
    void *unasked = vt__malloc(10);
    vt__exact_ask_ages(true);
    void *old = vt__malloc(100), *at[10];
    usleep(40000);
    for (int i = 0; i < 10; i++) at[i] = vt__malloc(20);
    for (int i = 0; i < 10; i++) vt__free(at[i]);
    vt__free(old);
    vt__free(unasked);
    vt__exact_ask_ages(false);
    assert_int_equal(n_of_age(9, 0, VT_LIFETIMES, &bytes), 11);
    assert_int_equal(bytes, 300);
    assert_true(n_of_age(9, 6, VT_LIFETIMES, &bytes) >= 1); /* 32 ms and more */
    assert_true(bytes >= 100);
    assert_int_equal(vt__exact_set(false), 0);
    assert_int_equal(vt__exact_set(true), 0);
    assert_int_equal(n_of_age(9, 0, VT_LIFETIMES, &bytes), 0); /* it begins anew */
}

/* Every free has one age, with all its bytes; what has none is not negative, then. */
static void check_ages(uintptr_t site) {
    struct vt_exact_site s = of_site(site);
    uint64_t bytes, n = n_of_age(site, 0, VT_LIFETIMES, &bytes);
    assert_int_equal(n, s.freed.n);
    assert_int_equal(bytes, s.freed.requested_bytes);
}

TEST(exact, a_realloc_is_one_free_with_one_age) {
    static const struct {
        size_t align, from, to;
    } rows[] = {{16, 200000, 100},     {16, 4000000, 100},        {16, 200000, 60000},
                {16, 4000000, 900000}, {16, 300000, 310000},      {16, 300000, 290000},
                {16, 100, 200000},     {16, 5000, 4500},          {16, 5000, 100000},
                {16, 100, 60},         {16, 100000, 40000000},    {4096, 200000, 100},
                {4096, 200000, 70000}, {65536, 200000, 40000000}, {16, 4000000, (size_t)1 << 46}};
    start_exact();
    vt__exact_ask_ages(true);
    for (uintptr_t i = 0; i < vt_countof(rows); i++) {
        uintptr_t before = 400 + 2 * i, after = before + 1;
        size_t from = rows[i].from, to = rows[i].to;
        current_site = before;
        void *p = vt__aligned_alloc(rows[i].align, from);
        void *in_the_way = vt__malloc(from);
        usleep(2000); /* what is freed twice has two ages */
        current_site = after;
        void *q = vt__realloc(p, to);
        check_site(before, 2, 2 * from, q != NULL, q != NULL ? from : 0);
        check_site(after, q != NULL, q != NULL ? to : 0, 0, 0);
        check_ages(before);
        vt__free(q != NULL ? q : p);
        vt__free(in_the_way);
        check_site(before, 2, 2 * from, 2, 2 * from);
        check_site(after, q != NULL, q != NULL ? to : 0, q != NULL, q != NULL ? to : 0);
        check_ages(before);
        check_ages(after);
    }
    vt__exact_ask_ages(false);
}

/* ---- the truth of it, across threads ---- */

enum { SLOTS = 2000, TRUE_SITES = 7, STEPS = 6000, THREADS = 4 };

struct held { /* owned by who took it out of its slot */
    void *at;
    size_t n_bytes;
    uintptr_t site;
};
static struct held held[SLOTS];
static _Atomic(struct held *) slots[SLOTS];
static _Atomic uint64_t truly_allocated[TRUE_SITES]; /* bytes */
static _Atomic uint64_t truly_n[TRUE_SITES];

static size_t some_bytes(uint64_t *rng) {
    static const size_t most[] = {16, 100, 1000, 5000, 60000, 100000, 3000000};
    return 1 + unit_random(rng) % most[unit_random(rng) % vt_countof(most)];
}

static void note_allocated(struct held *h, void *p, size_t n_bytes) {
    assert_non_null(p);
    *h = (struct held){p, n_bytes, current_site};
    truly_allocated[current_site] += n_bytes;
    truly_n[current_site]++;
}

static void allocate(struct held *h, uint64_t *rng) {
    size_t n_bytes = some_bytes(rng);
    size_t align = (size_t)16 << unit_random(rng) % 8;
    switch (unit_random(rng) % 4) {
    case 0: note_allocated(h, vt__calloc(1, n_bytes), n_bytes); break;
    case 1: note_allocated(h, vt__aligned_alloc(align, n_bytes), n_bytes); break;
    case 2: note_allocated(h, vt__realloc(NULL, n_bytes), n_bytes); break;
    default: note_allocated(h, vt__malloc(n_bytes), n_bytes);
    }
}

static void *use_slots(void *seed) {
    uint64_t rng = (uintptr_t)seed;
    for (int i = 0; i < STEPS; i++) {
        _Atomic(struct held *) *slot = &slots[unit_random(&rng) % SLOTS];
        struct held *h = atomic_exchange(slot, NULL); /* ours alone until it is back */
        if (h == NULL) continue;
        current_site = unit_random(&rng) % TRUE_SITES;
        uint64_t step_kind = unit_random(&rng) % 4;
        if (h->at == NULL) {
            allocate(h, &rng);
        } else if (step_kind == 0) {
            vt__free(h->at);
            h->at = NULL;
        } else if (step_kind == 1) { /* a little more or less: mostly in place */
            size_t n_bytes = h->n_bytes - h->n_bytes / 8 + unit_random(&rng) % (h->n_bytes / 4 + 1);
            note_allocated(h, vt__realloc(h->at, n_bytes), n_bytes);
        } else if (step_kind == 2) {
            size_t n_bytes = some_bytes(&rng);
            note_allocated(h, vt__realloc(h->at, n_bytes), n_bytes);
        }
        atomic_store(slot, h);
    }
    return NULL;
}

static void check_truth(void) {
    for (uintptr_t site = 0; site < TRUE_SITES; site++) {
        uint64_t n_live = 0, live_bytes = 0;
        for (size_t i = 0; i < SLOTS; i++)
            if (held[i].at != NULL && held[i].site == site) {
                n_live++;
                live_bytes += held[i].n_bytes;
            }
        check_site(site, truly_n[site], truly_allocated[site], truly_n[site] - n_live,
                   truly_allocated[site] - live_bytes);
    }
}

TEST(exact, live_bytes_of_every_site_are_the_truth_through_every_call_in_every_thread) {
    pthread_t id[THREADS];
    start_exact();
    for (size_t i = 0; i < SLOTS; i++) atomic_store(&slots[i], &held[i]);
    for (int round = 0; round < 3; round++) {
        for (uintptr_t i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&id[i], NULL, use_slots, (void *)(i + 17 + 10 * round)),
                             0);
        for (int i = 0; i < THREADS; i++) pthread_join(id[i], NULL);
        check_truth();
    }
    for (size_t i = 0; i < SLOTS; i++) {
        vt__free(held[i].at);
        held[i].at = NULL;
    }
    check_truth();
}

/* ---- a thread that ends ---- */

#ifdef VT_FLAVOUR_tsan
#define LATE_ROUNDS 2 /* later the sanitizer has ended the thread for itself */
#else
#define LATE_ROUNDS PTHREAD_DESTRUCTOR_ITERATIONS
#endif

static pthread_key_t late_key;
static void *late_block;

/* Runs after ours in every round, so that in the end the thread has no heap of its own any more. */
static void run_late(void *n) {
    current_site = 6;
    void *p = vt__malloc(100);
    vt__free(late_block);
    late_block = p;
    if ((uintptr_t)n < LATE_ROUNDS) pthread_setspecific(late_key, (void *)((uintptr_t)n + 1));
}

static void *end_slowly(void *unused) {
    current_site = 6;
    late_block = vt__malloc(100);
    pthread_setspecific(late_key, (void *)1);
    return unused;
}

TEST(exact, what_a_thread_does_while_it_ends_is_counted) {
    start_exact();
    assert_int_equal(pthread_key_create(&late_key, run_late), 0);
    unit_in_thread(end_slowly, NULL);
    check_site(6, 1 + LATE_ROUNDS, 100 * (1 + LATE_ROUNDS), LATE_ROUNDS, 100 * LATE_ROUNDS);
    vt__free(late_block);
}

static void free_twice(void *p) {
    vt__free(p);
    vt__free(p);
}

TEST(exact, mistakes_are_found_as_ever) {
    static const size_t rows[] = {40, 5000, 200000};
    start_exact();
    for (size_t i = 0; i < vt_countof(rows); i++)
        unit_dies_saying(free_twice, vt__malloc(rows[i]), "double free of");
}

UNIT_MAIN()
