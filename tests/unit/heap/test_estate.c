/* test_estate.c - what the program brings is cut, joined and given back whole; the atlas knows every page of it, and no other. */
#include "look.h"

#include "heap/estate.c"

#define PAGES(n) ((n)*VT_OS_PAGE)

static struct {
    size_t n_taken, n_given, n_dropped, n_purged, most, last;
    unsigned n_calls, n_splits, n_merges, n_commits;
    /* nothing there; gives refused; an odd address; cuts refused; joins refused; decommits; gives at once */
    bool is_empty, is_keeping, is_odd, is_uncut, is_apart, decommits, is_eager;
} at_source;

static char *map(size_t n_bytes) {
    void *p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(p, MAP_FAILED);
    return p;
}

static struct vt_estate *estate_with(char *at, size_t n_bytes) {
    struct vt_estate *e = vt__estate_new(NULL, NULL);
    assert_non_null(e);
    assert_int_equal(vt__estate_add(e, at, n_bytes, /* is_zero */ true), 0);
    return e;
}

static bool is_binned(struct vt_estate *e, const struct plot *plot) {
    const struct plot *before = NULL;
    for (const struct plot *b = *bin_of(e, plot); b != NULL; b = b->next) {
        assert_ptr_equal(b->prev, before);
        if (b == plot) return true;
        before = b;
    }
    return false;
}

/* Plots lie side by side from one end of a grant to the other, free ones never beside each other, and cells say so. */
static void check_grant(struct vt_estate *e, struct grant *g, size_t *n_free) {
    bool was_free = false;
    char *at = g->at;
    size_t n_held = 0;
    for (const struct plot *plot; at < g->at + PAGES(g->n_pages); at += PAGES(plot->n_pages)) {
        while (at < g->at + PAGES(g->n_pages) && vt__atlas_find(at) == NULL) { /* it went back */
            at += VT_OS_PAGE;
            was_free = false;
        }
        if (at == g->at + PAGES(g->n_pages)) break;
        plot = vt__atlas_find(at);
        n_held += plot->n_pages;
        assert_ptr_equal(plot->at, at);
        assert_ptr_equal(plot->grant, g);
        assert_ptr_equal(plot->estate, e);
        assert_ptr_equal(vt__atlas_find(at + PAGES(plot->n_pages) - 1), plot);
        for (size_t i = 0; plot->n_pages <= 16 && i < plot->n_pages; i++)
            assert_ptr_equal(vt__atlas_find(at + PAGES(i)), plot);
        bool is_free = plot->kind == PLOT_FREE;
        assert_false(is_free && was_free && !at_source.is_apart);
        assert_int_equal(is_free, is_binned(e, plot));
        if (is_free) *n_free += plot->n_pages;
        was_free = is_free;
    }
    assert_ptr_equal(at, g->at + PAGES(g->n_pages));
    assert_int_equal(g->n_held, n_held);
}

static void check(struct vt_estate *e) {
    size_t n_free = 0, n_pages = 0;
    for (struct grant *g = e->grants; g != NULL; g = g->next) {
        check_grant(e, g, &n_free);
        n_pages += g->n_held;
    }
    assert_int_equal(e->n_pages, n_pages);
    assert_int_equal(e->n_free_pages, n_free);
}

TEST(estate, knows_the_pages_it_was_given_and_no_others) {
    char *at = map(MiB(4));
    assert_null(atomic_load(&vt__atlas));
    assert_false(vt__is_brought(at));
    struct vt_estate *e = estate_with(at + MiB(1), MiB(2));
    check(e);
    for (size_t i = 0; i < MiB(4); i += VT_OS_PAGE / 2)
        assert_int_equal(vt__is_brought(at + i), i >= MiB(1) && i < MiB(3));
    assert_false(vt__is_brought(NULL));
    assert_false(vt__is_brought((void *)UINTPTR_MAX));
    assert_false(vt__is_brought(vt__malloc(100)));
    assert_int_equal(vt__estate_bytes(e, NULL), MiB(2));
}

TEST(estate, refuses_what_is_not_whole_pages_or_not_the_programs) {
    char *at = map(MiB(4)), *block = vt__aligned_alloc(VT_OS_PAGE, MiB(1));
    struct vt_estate *e = estate_with(at + MiB(1), MiB(1)), *other = vt__estate_new(NULL, NULL);
    assert_int_equal(vt__estate_add(other, at + 1, MiB(1), true), -EINVAL);
    assert_int_equal(vt__estate_add(other, at, 4097, true), -EINVAL);
    assert_int_equal(vt__estate_add(other, at, 0, true), -EINVAL);
    assert_int_equal(vt__estate_add(other, block, MiB(1), true), -EINVAL);
    assert_int_equal(vt__estate_add(other, (char *)vt__map.base - PAGES(1), PAGES(2), true),
                     -EINVAL);
    assert_int_equal(vt__estate_add(other, (void *)(UINTPTR_MAX - 4095), MiB(1), true), -EINVAL);
    assert_int_equal(vt__estate_add(other, (void *)((uintptr_t)1 << 48), MiB(1), true), -EEXIST);
    assert_int_equal(vt__estate_add(other, at, MiB(2), true), -EEXIST);
    assert_int_equal(vt__estate_add(other, at + MiB(2) - PAGES(1), MiB(1), true), -EEXIST);
    assert_false(vt__is_brought(at)); /* nothing of them stayed */
    assert_false(vt__is_brought(at + MiB(2)));
    assert_int_equal(vt__estate_add(other, at, MiB(1), true), 0); /* side by side, and apart */
    check(e);
    check(other);
    vt__tls.is_busy = true; /* as in a handler that came while a lock was held */
    assert_int_equal(vt__estate_add(other, at + MiB(2), MiB(1), true), -EAGAIN);
    vt__tls.is_busy = false;
}

/* In the middle of a mapping: an atlas has one sheet for what lies below, another for what lies above. */
static char *map_around_border(void) {
    char *from = map(GiB(3));
    return (char *)vt_round_up((uintptr_t)from + GiB(1), GiB(1));
}

TEST(estate, a_range_across_sheets_of_the_atlas) {
    char *border = map_around_border();
    struct vt_estate *e = estate_with(border - MiB(1), MiB(2));
    struct plot *all = vt__estate_take(e, MiB(2) / VT_OS_PAGE, VT_OS_PAGE);
    assert_ptr_equal(all->at, border - MiB(1));
    vt__estate_give(e, all);
    check(e);
}

enum { LACKED_ATLAS = 10, LACKED_SHEET };

/* Run by the test below, with a mapping that fails. */
TEST(estate, an_atlas_may_lack_a_mapping_once) {
    char *at = map_around_border() - MiB(1);
    struct vt_estate *e = vt__estate_new(NULL, NULL);
    if (e == NULL) return; /* it was an earlier one */
    int err = vt__estate_add(e, at, MiB(2), true);
    bool has_atlas = atomic_load(&vt__atlas) != NULL;
    if (err != 0) {
        for (size_t i = 0; i < MiB(2); i += VT_OS_PAGE) assert_false(vt__is_brought(at + i));
        assert_int_equal(vt__estate_bytes(e, NULL), 0);
        assert_int_equal(vt__estate_add(e, at, MiB(2), true), 0);
    }
    check(e);
    assert_int_equal(vt__estate_bytes(e, NULL), MiB(2));
    if (err == -ENOMEM) _exit(has_atlas ? LACKED_SHEET : LACKED_ATLAS);
}

TEST(estate, without_memory_for_the_atlas_nothing_is_taken) {
    unsigned n_lacked[2] = {0};
    for (int n = 1; n <= 8; n++) {
        char wish[64];
        snprintf(wish, sizeof(wish), "VITRINE_FAIL_NTH=%d:map", n);
        int status = unit_spawn("an_atlas_may_lack_a_mapping_once", wish);
        int lacked = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        if (lacked == LACKED_ATLAS || lacked == LACKED_SHEET)
            n_lacked[lacked - LACKED_ATLAS]++;
        else if (status != 0)
            fail_msg("%s: expected status 0, seen 0x%x", wish, (unsigned)status);
    }
    assert_int_equal(n_lacked[0], 1);
    assert_int_equal(n_lacked[1], 2); /* and one of them after half the cells were claimed */
}

TEST(estate, plots_are_cut_and_joined_in_any_order) {
    enum { N = 60 };
    struct plot *plots[N] = {NULL};
    struct vt_estate *e = estate_with(map(MiB(3)), MiB(3));
    assert_int_equal(vt__estate_add(e, map(MiB(2)), MiB(2), false), 0);
    uint64_t random = 1;
    for (unsigned i = 0; i < 20000; i++) {
        struct plot **p = &plots[unit_random(&random) % N];
        size_t n = unit_random(&random) % 40 + 1;
        if (*p == NULL) {
            size_t align = VT_OS_PAGE << unit_random(&random) % 6;
            *p = vt__estate_take(e, n, align);
            if (*p == NULL) continue;
            assert_int_equal((*p)->n_pages, n);
            assert_int_equal((uintptr_t)(*p)->at % align, 0);
        } else if (unit_random(&random) % 4 == 0) {
            size_t before = (*p)->n_pages;
            bool is_done = vt__estate_resize(e, *p, n);
            assert_true(is_done || n > before);
            assert_int_equal((*p)->n_pages, is_done ? n : before);
        } else {
            vt__estate_give(e, *p);
            *p = NULL;
        }
        if (i % 16 == 0) check(e);
    }
    for (unsigned i = 0; i < N; i++)
        if (plots[i] != NULL) vt__estate_give(e, plots[i]);
    check(e);
    assert_int_equal(e->n_free_pages, e->n_pages);
    for (const struct grant *g = e->grants; g != NULL; g = g->next)
        assert_int_equal(((struct plot *)vt__atlas_find(g->at))->n_pages, g->n_pages);
}

TEST(estate, is_zero_only_where_nobody_was) {
    struct vt_estate *e = estate_with(map(MiB(1)), MiB(1));
    struct plot *a = vt__estate_take(e, 10, VT_OS_PAGE);
    assert_true(a->is_zero);
    vt__estate_give(e, a);
    a = vt__estate_take(e, 1, VT_OS_PAGE); /* joined with what was not zero */
    assert_false(a->is_zero);
}

TEST(estate, what_does_not_fit_is_not_there) {
    struct vt_estate *e = estate_with(map(MiB(1)), MiB(1));
    assert_null(vt__estate_take(e, 257, VT_OS_PAGE));
    assert_null(vt__estate_take(e, (size_t)1 << 45, VT_OS_PAGE));
    assert_null(vt__estate_take(e, 1, GiB(64)));
    assert_false(vt__estate_grow(e, 1, VT_OS_PAGE)); /* it has no source */
    assert_non_null(vt__estate_take(e, 256, VT_OS_PAGE));
    assert_null(vt__estate_take(e, 1, VT_OS_PAGE));
}

/* ---- a source ---- */

/* Each may come back to us: no lock is held, and nobody is busy. */
static void come_back_to_us(void) {
    assert_false(vt__tls.is_busy);
    vt__free(vt__malloc(5000));
    for (unsigned i = 0; i < N_LOCKS; i++) assert_true(vt_try_lock(&locks[i]));
    for (unsigned i = 0; i < N_LOCKS; i++) vt_lock_reset(&locks[i]);
    at_source.n_calls++;
    errno = EBADF;
}

static void *source_take(void *arg, size_t n_bytes, size_t align, bool *is_zero) {
    assert_ptr_equal(arg, &at_source);
    come_back_to_us();
    at_source.last = n_bytes;
    if (at_source.is_empty || n_bytes > at_source.most) return NULL;
    at_source.n_taken += n_bytes;
    *is_zero = true;
    char *p = map(n_bytes + align);
    return (void *)(vt_round_up((uintptr_t)p, align) + at_source.is_odd);
}
static bool source_give(void *arg, void *at, size_t n_bytes, bool is_committed) {
    assert_true(is_committed || at_source.decommits);
    assert_ptr_equal(arg, &at_source);
    come_back_to_us();
    assert_false(vt__is_brought(at));
    if (at_source.is_keeping) return false;
    at_source.n_given += n_bytes;
    return true;
}
static void source_drop(void *arg, void *at, size_t n_bytes, bool is_committed) {
    (void)arg, (void)at, (void)is_committed;
    come_back_to_us();
    at_source.n_dropped += n_bytes;
}
static bool source_split(void *arg, void *at, size_t n_bytes, size_t n_first, bool is_committed) {
    (void)arg, (void)is_committed;
    come_back_to_us();
    assert_true(vt__is_brought(at));
    assert_true(n_first > 0 && n_first < n_bytes && n_first % VT_OS_PAGE == 0);
    at_source.n_splits++;
    return !at_source.is_uncut;
}
static bool source_merge(void *arg, void *at, size_t n_first, size_t n_second, bool is_committed) {
    (void)arg, (void)is_committed;
    come_back_to_us();
    assert_true(vt__is_brought(at) && vt__is_brought((char *)at + n_first));
    assert_true(n_second > 0);
    at_source.n_merges++;
    return !at_source.is_apart;
}
static enum vt_purged source_purge(void *arg, void *at, size_t n_bytes) {
    (void)arg;
    come_back_to_us();
    assert_true(vt__is_brought(at));
    memset(at, 0, n_bytes);
    at_source.n_purged += n_bytes;
    return at_source.decommits ? VT_PURGED_UNCOMMITTED : VT_PURGED_ZERO;
}
static bool source_commit(void *arg, void *at, size_t n_bytes) {
    (void)arg, (void)at, (void)n_bytes;
    come_back_to_us();
    at_source.n_commits++;
    return true;
}
static size_t source_grow_max(void *arg) {
    (void)arg;
    return MiB(4);
}
static bool source_is_eager(void *arg) {
    (void)arg;
    return at_source.is_eager;
}
static const struct vt_source source = {source_take,   source_give,     source_drop,
                                        source_split,  source_merge,    source_purge,
                                        source_commit, source_grow_max, source_is_eager};

static struct vt_estate *estate_on_source(void) {
    at_source.most = SIZE_MAX;
    return vt__estate_new(&source, &at_source);
}

static struct plot *grow_and_take(struct vt_estate *e, size_t n_pages) {
    assert_true(vt__estate_grow(e, n_pages, VT_OS_PAGE));
    return vt__estate_take(e, n_pages, VT_OS_PAGE);
}

static struct plot *cut_and_take(struct vt_estate *e, size_t n_pages) {
    assert_true(vt__estate_cut(e, n_pages, VT_OS_PAGE));
    return vt__estate_take(e, n_pages, VT_OS_PAGE);
}

static void give_back(struct vt_estate *e, struct plot *plot) {
    vt__estate_give(e, plot);
    vt__estate_settle(e);
}

TEST(estate, asks_for_2_MiB_or_more_and_if_there_is_no_more_for_what_it_needs) {
    struct vt_estate *e = estate_on_source();
    assert_non_null(grow_and_take(e, 1));
    assert_int_equal(at_source.last, MiB(2));
    assert_true(vt__estate_grow(e, 700, MiB(1)));
    assert_int_equal(at_source.last, MiB(4));
    struct plot *plot = vt__estate_take(e, 700, MiB(1));
    assert_int_equal((uintptr_t)plot->at % MiB(1), 0);
    assert_non_null(grow_and_take(e, MiB(90) / VT_OS_PAGE));
    assert_int_equal(at_source.last, MiB(90));
    assert_non_null(grow_and_take(e, 1));
    assert_int_equal(at_source.last, MiB(4)); /* an eighth were more, but so much is the most */
    at_source.most = PAGES(3);
    assert_non_null(grow_and_take(e, 3));
    assert_int_equal(at_source.last, PAGES(3));
    assert_false(vt__estate_grow(e, 4, VT_OS_PAGE));
    check(e);
}

TEST(estate, what_cannot_be_used_goes_back_at_once) {
    struct vt_estate *e = estate_on_source();
    at_source.is_odd = true;
    assert_false(vt__estate_grow(e, 1, VT_OS_PAGE));
    assert_int_equal(at_source.n_given, at_source.n_taken);
    assert_true(at_source.n_taken > 0);
}

TEST(estate, one_grant_stays_as_a_spare_and_others_go) {
    struct vt_estate *e = estate_on_source();
    struct plot *p[3];
    for (int i = 0; i < 3; i++) p[i] = grow_and_take(e, 512);
    for (int i = 0; i < 3; i++) {
        vt__estate_give(e, p[i]);
        errno = 5;
        vt__estate_settle(e);
        assert_int_equal(errno, 5);
        assert_int_equal(at_source.n_given, MiB(2) * (size_t)i);
        check(e);
    }
    p[0] = cut_and_take(e, 5); /* of the spare: that is none any more */
    p[1] = grow_and_take(e, 512);
    vt__estate_give(e, p[1]);
    vt__estate_settle(e);
    assert_int_equal(at_source.n_given, MiB(4));
    vt__estate_give(e, p[0]);
    vt__estate_purge(e);
    assert_int_equal(at_source.n_given, at_source.n_taken);
    assert_int_equal(vt__estate_bytes(e, NULL), 0);
    check(e);
}

TEST(estate, what_the_source_does_not_want_is_used_again) {
    struct vt_estate *e = estate_on_source();
    size_t n_free;
    at_source.is_keeping = true;
    struct plot *p = grow_and_take(e, 512), *q = grow_and_take(e, 512);
    vt__estate_give(e, p);
    vt__estate_give(e, q);
    vt__estate_settle(e);
    vt__estate_purge(e);
    assert_int_equal(vt__estate_bytes(e, &n_free), MiB(4));
    assert_int_equal(n_free, MiB(4));
    assert_int_equal(at_source.n_purged, MiB(4));
    unsigned n = at_source.n_calls;
    vt__estate_purge(e); /* it was asked, and answered */
    assert_int_equal(at_source.n_calls, n);
    check(e);
    p = vt__estate_take(e, 512, VT_OS_PAGE);
    assert_non_null(p);
    assert_true(p->is_zero);
    vt__estate_give(e, p);
    at_source.is_keeping = false;
    vt__estate_purge(e); /* used meanwhile, it is offered again */
    assert_int_equal(at_source.n_given, MiB(2));
    check(e);
}

TEST(estate, purges_the_free_pages_of_grants_that_are_in_use) {
    struct vt_estate *e = estate_on_source();
    at_source.is_keeping = true;
    struct plot *a = grow_and_take(e, 100), *b = cut_and_take(e, 100);
    vt__estate_give(e, a);
    vt__estate_purge(e);
    assert_int_equal(at_source.n_purged, PAGES(100)); /* the rest was never touched */
    assert_int_equal(at_source.n_given, 0);
    check(e);
    a = vt__estate_take(e, 100, VT_OS_PAGE);
    assert_true(a->is_zero);
    give_back(e, a);
    give_back(e, b);
    check(e);
}

TEST(estate, the_source_hears_of_each_cut_and_join) {
    struct vt_estate *e = estate_on_source();
    struct plot *a = grow_and_take(e, 100), *b = cut_and_take(e, 100);
    assert_int_equal(at_source.n_splits, 2);
    assert_true(vt__estate_resize(e, b, 60)); /* the rest is one with what is behind */
    assert_int_equal(at_source.n_splits, 3);
    assert_int_equal(at_source.n_merges, 1);
    check(e);
    assert_true(vt__estate_resize(e, b, 80));
    assert_int_equal(b->n_pages, 80);
    assert_int_equal(at_source.n_splits, 4);
    assert_int_equal(at_source.n_merges, 2);
    check(e);
    give_back(e, a);
    assert_int_equal(at_source.n_merges, 2); /* it is between the beginning and b */
    give_back(e, b);
    assert_int_equal(at_source.n_merges, 4);
    check(e);
}

TEST(estate, parts_of_a_grant_may_go_and_the_rest_stays) {
    struct vt_estate *e = estate_on_source();
    struct plot *a = grow_and_take(e, 100), *b = cut_and_take(e, 100);
    char *was = a->at;
    vt__estate_give(e, a);
    vt__estate_purge(e);
    assert_int_equal(at_source.n_given, PAGES(100));
    assert_false(vt__is_brought(was));
    assert_int_equal(vt__estate_bytes(e, NULL), PAGES(412));
    check(e);
    give_back(e, b); /* with what is behind it, all that is left */
    check(e);
    vt__estate_purge(e);
    assert_int_equal(vt__estate_bytes(e, NULL), 0);
    assert_int_equal(at_source.n_given, at_source.n_taken);
    check(e);
}

TEST(estate, what_is_not_to_be_cut_comes_in_the_size_it_is_needed) {
    struct vt_estate *e = estate_on_source();
    at_source.is_uncut = true;
    assert_true(vt__estate_grow(e, 3, VT_OS_PAGE));
    assert_null(vt__estate_take(e, 3, VT_OS_PAGE));
    assert_false(vt__estate_cut(e, 3, VT_OS_PAGE));
    struct plot *p = grow_and_take(e, 3);
    assert_int_equal(at_source.last, PAGES(3));
    assert_false(vt__estate_resize(e, p, 2));
    assert_int_equal(p->n_pages, 3);
    give_back(e, p);
    assert_ptr_equal(vt__estate_take(e, 3, VT_OS_PAGE), p);
    check(e);
}

TEST(estate, what_is_not_to_be_joined_stays_apart) {
    struct vt_estate *e = estate_on_source();
    struct plot *a = grow_and_take(e, 100), *b = cut_and_take(e, 100);
    at_source.is_apart = true;
    give_back(e, a);
    give_back(e, b);
    check(e);
    assert_non_null(vt__estate_take(e, 100, VT_OS_PAGE));
    assert_non_null(b = vt__estate_take(e, 100, VT_OS_PAGE));
    assert_false(vt__estate_resize(e, b, 101));
    assert_int_equal(b->n_pages, 100);
    check(e);
}

TEST(estate, what_was_decommitted_is_committed_before_its_use) {
    struct vt_estate *e = estate_on_source();
    at_source.is_keeping = at_source.decommits = true;
    struct plot *a = grow_and_take(e, 100), *b = cut_and_take(e, 100);
    vt__estate_give(e, a);
    vt__estate_purge(e);
    assert_null(vt__estate_take(e, 100, VT_OS_PAGE));
    a = cut_and_take(e, 100);
    assert_int_equal(at_source.n_commits, 1);
    assert_true(a->is_zero);
    give_back(e, b);
    give_back(e, a);
    check(e);
}

TEST(estate, an_eager_source_has_it_back_at_once) {
    struct vt_estate *e = estate_on_source();
    at_source.is_eager = true;
    struct plot *a = grow_and_take(e, 100), *b = cut_and_take(e, 100);
    give_back(e, a);
    assert_int_equal(at_source.n_given, PAGES(100));
    give_back(e, b);
    assert_int_equal(at_source.n_given, at_source.n_taken);
    check(e);
}

TEST(estate, drops_all_of_it) {
    struct vt_estate *e = estate_on_source();
    struct plot *p[4];
    for (int i = 0; i < 4; i++) p[i] = grow_and_take(e, 512);
    char *at = p[0]->at;
    for (int i = 0; i < 4; i++) vt__estate_give(e, p[i]); /* three are about to leave */
    vt__estate_drop(e);
    assert_int_equal(at_source.n_dropped, at_source.n_taken);
    assert_int_equal(vt__estate_bytes(e, NULL), 0);
    assert_false(vt__is_brought(at));
    assert_non_null(grow_and_take(e, 5)); /* and may begin anew */
    check(e);
}

UNIT_MAIN()
