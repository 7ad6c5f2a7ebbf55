/* test_maps.c - what the program mapped, against a model that knows the mapping of every page; and what is lost is counted. */
#include "made_up.h"

#include "os/os.h"

/* The kernel's part: it agrees, or does not. */
static int kernel_says;
static void *kernel_moves_to;
static int n_calls;

static int made_up_munmap(void *at, size_t n_bytes) {
    (void)at, (void)n_bytes;
    n_calls++;
    return kernel_says;
}

static int made_up_mremap(void *at, size_t old_bytes, size_t new_bytes, int flags, void *to,
                          void **out) {
    (void)at, (void)old_bytes, (void)new_bytes, (void)flags, (void)to;
    n_calls++;
    *out = kernel_moves_to;
    return kernel_says;
}

#define vt__os_program_munmap made_up_munmap
#define vt__os_program_mremap made_up_mremap
#include "probe/maps.c"

#define BASE UINT64_C(0x10000000)
#define PAGE VT_OS_PAGE
enum { PAGES = 300, SITES = 5, USES = 3, MAPPINGS = 200000 };

/* ---- the model ---- */

static struct {
    int of_page[PAGES]; /* number of a mapping; 0: none */
    struct {
        uintptr_t site;
        enum vt_map_use use;
    } mapping[MAPPINGS];
    int n_mappings;
    uint64_t n_mapped[SITES][USES], mapped_pages[SITES][USES];
} model;

static void model_clear(int page, int n) {
    for (int i = page; i < page + n; i++) model.of_page[i] = 0;
}

static void model_map(int page, int n, enum vt_map_use use) {
    int m = ++model.n_mappings;
    model.mapping[m].site = current_site;
    model.mapping[m].use = use;
    model.n_mapped[current_site][use]++;
    model.mapped_pages[current_site][use] += (uint64_t)n;
    for (int i = page; i < page + n; i++) model.of_page[i] = m;
}

static void model_count(uintptr_t site, enum vt_map_use use, uint64_t *n, uint64_t *n_pages) {
    static char is_counted[MAPPINGS];
    *n = *n_pages = 0;
    memset(is_counted, 0, (size_t)model.n_mappings + 1);
    for (int i = 0; i < PAGES; i++) {
        int m = model.of_page[i];
        if (m == 0 || model.mapping[m].site != site || model.mapping[m].use != use) continue;
        ++*n_pages;
        *n += !is_counted[m];
        is_counted[m] = 1;
    }
}

static struct vt_map_row of_site(uintptr_t wanted, enum vt_map_use use) {
    struct vt_map_row r;
    const uintptr_t *pc;
    for (uint32_t cursor = 0; vt__maps_next(&cursor, &r);)
        if (vt__depot_get(r.stack, &pc) == 1 && pc[0] == wanted + 1 && r.use == use) return r;
    return (struct vt_map_row){0};
}

static void check_sums(void) {
    for (uintptr_t s = 0; s < SITES; s++)
        for (int use = 0; use < USES; use++) {
            uint64_t n, n_pages;
            struct vt_map_row r = of_site(s, (enum vt_map_use)use);
            model_count(s, (enum vt_map_use)use, &n, &n_pages);
            assert_int_equal(r.n_mapped, model.n_mapped[s][use]);
            assert_int_equal(r.mapped_bytes, model.mapped_pages[s][use] * PAGE);
            assert_int_equal(r.n_inuse, n);
            assert_int_equal(r.inuse_bytes, n_pages * PAGE);
        }
}

/* ---- the tree ---- */

static unsigned n_walked;
static uint64_t walked_bytes;
static uintptr_t walked_to;

static void walk(uint32_t id, void (*see)(const struct piece *p)) {
    if (id == 0) return;
    struct piece *p = piece(id);
    if (p->left != 0) assert_true(is_above(id, p->left));
    if (p->right != 0) assert_true(is_above(id, p->right));
    walk(p->left, see);
    assert_true(p->start >= walked_to && p->end > p->start);
    walked_to = p->end;
    walked_bytes += p->end - p->start;
    n_walked++;
    if (see != NULL) see(p);
    walk(p->right, see);
}

static void walk_all(void (*see)(const struct piece *p)) {
    n_walked = 0;
    walked_bytes = walked_to = 0;
    walk(maps.root, see);
}

static void see_piece(const struct piece *p) {
    for (uintptr_t at = p->start; at < p->end; at += PAGE) {
        int m = model.of_page[(at - BASE) / PAGE];
        const uintptr_t *pc;
        assert_true(m != 0);
        assert_int_equal(vt__depot_get(site(mapping(p->mapping)->site)->stack, &pc), 1);
        assert_int_equal(pc[0], model.mapping[m].site + 1);
    }
}

static void check_all(void) {
    uint64_t n_pages = 0;
    for (int i = 0; i < PAGES; i++) n_pages += model.of_page[i] != 0;
    walk_all(see_piece);
    assert_int_equal(walked_bytes, n_pages * PAGE);
    check_sums();
}

/* ---- one step of a program ---- */

static void *address(int page) { return (void *)(BASE + (uintptr_t)page * PAGE); }

static void step_remap(uint64_t *rng, int page, int n) {
    int n_new = 1 + (int)(unit_random(rng) % 20);
    int to = (int)(unit_random(rng) % (PAGES - 20));
    int flags = unit_random(rng) % 4 == 0 ? MREMAP_DONTUNMAP : 0;
    if (unit_random(rng) % 4 == 0) to = page < PAGES - 20 ? page : to; /* in place */
    if (unit_random(rng) % 8 == 0) n = 0;                              /* a second view */
    if (to < page + n && page < to + n_new) flags = 0;
    enum vt_map_use use =
        model.of_page[page] != 0 ? model.mapping[model.of_page[page]].use : VT_MAP_ANONYMOUS;
    kernel_moves_to = address(to);
    void *got;
    int err = vt__maps_remap(address(page), (size_t)n * PAGE, (size_t)n_new * PAGE, flags,
                             address(to), &got);
    assert_int_equal(err, kernel_says);
    if (err != 0) return;
    if (flags == 0) model_clear(page, n);
    model_map(to, n_new, use);
}

static void step(uint64_t *rng) {
    int page = (int)(unit_random(rng) % (PAGES - 20));
    int n = 1 + (int)(unit_random(rng) % 20);
    current_site = unit_random(rng) % SITES;
    kernel_says = unit_random(rng) % 10 == 0 ? -EINVAL : 0;
    switch (unit_random(rng) % 5) {
    case 0:
    case 1: {
        enum vt_map_use use = (enum vt_map_use)(unit_random(rng) % USES);
        /* as few bytes as the last page may have, but for the break */
        size_t n_bytes = (size_t)n * PAGE - (use == VT_MAP_BREAK ? 0 : unit_random(rng) % PAGE);
        vt__maps_added((uintptr_t)address(page), n_bytes, use);
        model_map(page, n, use);
        break;
    }
    case 2:
    case 3:
        assert_int_equal(vt__maps_unmap(address(page), (size_t)n * PAGE), kernel_says);
        if (kernel_says == 0) model_clear(page, n);
        break;
    default: step_remap(rng, page, n);
    }
}

TEST(maps, any_sequence_of_calls_leaves_what_a_page_by_page_model_has) {
    uint64_t rng = 20261115;
    vt__free(vt__malloc(1));
    for (int i = 0; i < 4000; i++) {
        step(&rng);
        check_all();
    }
    assert_int_equal(vt__maps_lost(), 0);
    assert_int_equal(vt__maps_unmap(address(0), PAGES * PAGE), kernel_says = 0);
    model_clear(0, PAGES);
    check_all();
    assert_int_equal(maps.root, 0);
    assert_true(maps.pieces.n <= PAGES && maps.mappings.n <= PAGES); /* they are used again */
}

TEST(maps, a_mapping_is_in_use_until_its_last_piece_goes) {
    vt__free(vt__malloc(1));
    current_site = 1;
    vt__maps_added(BASE, 10 * PAGE, VT_MAP_FILE);
    vt__maps_unmap(address(3), PAGE); /* two pieces */
    vt__maps_unmap(address(0), 3 * PAGE);
    struct vt_map_row r = of_site(1, VT_MAP_FILE);
    assert_int_equal(r.n_inuse, 1);
    assert_int_equal(r.inuse_bytes, 6 * PAGE);
    vt__maps_unmap(address(4), 6 * PAGE);
    r = of_site(1, VT_MAP_FILE);
    assert_int_equal(r.n_inuse, 0);
    assert_int_equal(r.inuse_bytes, 0);
    assert_int_equal(r.n_mapped, 1);
    assert_int_equal(r.mapped_bytes, 10 * PAGE);
}

TEST(maps, more_pieces_than_there_is_room_for_are_lost_and_counted) {
    enum { N = 300000 };
    vt__free(vt__malloc(1));
    current_site = 2;
    vt__maps_added(BASE, (size_t)N * PAGE, VT_MAP_ANONYMOUS);
    for (size_t i = 1; i < N; i += 2) vt__maps_unmap((void *)(BASE + i * PAGE), PAGE);
    walk_all(NULL);
    assert_in_range(n_walked, MAX_PIECES - 1, MAX_PIECES); /* one is needed in passing */
    assert_true(vt__maps_lost() > 0);
    assert_int_equal(of_site(2, VT_MAP_ANONYMOUS).inuse_bytes, walked_bytes);
    /* and it goes on: there is room again */
    vt__maps_unmap(address(0), (size_t)N * PAGE);
    uint64_t n_lost = vt__maps_lost();
    vt__maps_added(BASE, PAGE, VT_MAP_ANONYMOUS);
    assert_int_equal(of_site(2, VT_MAP_ANONYMOUS).inuse_bytes, PAGE);
    assert_int_equal(vt__maps_lost(), n_lost);
}

TEST(maps, a_handler_that_interrupts_us_has_its_call_made_and_counted_as_lost) {
    vt__free(vt__malloc(1));
    assert_true(vt__enter());
    vt__maps_added(BASE, PAGE, VT_MAP_ANONYMOUS);
    assert_int_equal(vt__maps_unmap(address(0), PAGE), 0);
    assert_int_equal(n_calls, 1);
    vt__leave();
    assert_int_equal(vt__maps_lost(), 2);
    struct vt_map_row r;
    uint32_t cursor = 0;
    assert_false(vt__maps_next(&cursor, &r));
}

static void *map_and_unmap(void *number) {
    uintptr_t at = BASE + (uintptr_t)number * 1000 * PAGE;
    current_site = (uintptr_t)number;
    for (uintptr_t i = 0; i < 2000; i++) {
        vt__maps_added(at + i % 900 * PAGE, 10 * PAGE, VT_MAP_ANONYMOUS);
        vt__maps_unmap((void *)(at + i % 450 * PAGE), 5 * PAGE);
    }
    vt__maps_unmap((void *)at, 1000 * PAGE);
    return NULL;
}

TEST(maps, threads_do_not_disturb_each_other) {
    pthread_t id[4];
    vt__free(vt__malloc(1));
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&id[i], NULL, map_and_unmap, (void *)i), 0);
    for (int i = 0; i < 4; i++) pthread_join(id[i], NULL);
    walk_all(NULL);
    assert_int_equal(n_walked, 0);
    for (uintptr_t i = 0; i < 4; i++) {
        assert_int_equal(of_site(i, VT_MAP_ANONYMOUS).n_mapped, 2000);
        assert_int_equal(of_site(i, VT_MAP_ANONYMOUS).inuse_bytes, 0);
    }
}

UNIT_MAIN()
