/* test_chunk.c - the bits of a chunk against a naive reading of them; then slices taken and given back at random, with
 * every bin, map and counter checked against the chunks after each step. */
#include "unit.h"

#include "heap/chunk.c"
#include "os/os.h"

/* ---- bits ---- */

static unsigned naive_longest(uint64_t x) {
    unsigned best = 0, run = 0;
    for (unsigned i = 0; i < 64; i++) {
        run = (x >> i & 1) != 0 ? run + 1 : 0;
        if (run > best) best = run;
    }
    return best;
}

static uint64_t naive_runs(uint64_t x, unsigned n) {
    uint64_t starts = 0;
    for (unsigned i = 0; i + n <= 64; i++) {
        unsigned k = 0;
        while (k < n && (x >> (i + k) & 1) != 0) k++;
        if (k == n) starts |= UINT64_C(1) << i;
    }
    return starts;
}

/* Words of every density, and the ones with long runs that random words never have. */
static uint64_t word_of(unsigned i, uint64_t *rng) {
    uint64_t x = unit_random(rng);
    switch (i % 6) {
    case 0: return x;
    case 1: return x | unit_random(rng) | unit_random(rng);
    case 2: return x & unit_random(rng) & unit_random(rng);
    case 3: return ~(UINT64_C(1) << x % 64);
    case 4: return ~(UINT64_C(1) << x % 64 | UINT64_C(1) << (x >> 8) % 64);
    default:
        return (x >> 16) % 64 == 0 ? ~UINT64_C(0) : mask_of(x % 64, 1 + (unsigned)((x >> 8) % 64));
    }
}

TEST(chunk_bits, longest_run_agrees_with_counting) {
    uint64_t rng = 11;
    assert_int_equal(longest_run(0), 0);
    assert_int_equal(longest_run(~UINT64_C(0)), 64);
    for (unsigned i = 0; i < 200000; i++) {
        uint64_t x = word_of(i, &rng);
        if (longest_run(x) != naive_longest(x))
            fail_msg("0x%llx: expected %u, seen %u", (unsigned long long)x, naive_longest(x),
                     longest_run(x));
    }
}

TEST(chunk_bits, runs_of_agrees_with_looking_at_every_place) {
    uint64_t rng = 12;
    for (unsigned i = 0; i < 3000; i++) {
        uint64_t x = word_of(i, &rng);
        for (unsigned n = 1; n <= 64; n++)
            if (runs_of(x, n) != naive_runs(x, n))
                fail_msg("0x%llx, %u: expected 0x%llx, seen 0x%llx", (unsigned long long)x, n,
                         (unsigned long long)naive_runs(x, n), (unsigned long long)runs_of(x, n));
    }
}

TEST(chunk_bits, masks_and_aligned_starts_have_the_right_bits) {
    for (unsigned first = 0; first < 64; first++)
        for (unsigned n = 1; first + n <= 64; n++) {
            uint64_t m = mask_of(first, n);
            assert_int_equal(__builtin_popcountll(m), n);
            assert_int_equal(__builtin_ctzll(m), first);
            assert_int_equal(naive_longest(m), n);
        }
    for (unsigned align = 1; align < 64; align *= 2)
        for (unsigned i = 0; i < VT_CHUNK_SLICES; i++)
            assert_int_equal(aligned_bits(align) >> i & 1, i % align == 0);
}

/* ---- the whole structure ---- */

static void start(void) { assert_int_equal(vt__life_start(), 0); }

static bool is_in_bin(const struct vt_shard *sh, unsigned bin, size_t chunk) {
    for (uint32_t i = sh->bin[bin]; i != 0; i = vt__chunks[i - 1].next)
        if (i - 1 == chunk) return true;
    return false;
}

/* Every figure that is kept, against what the chunks say. Only while nothing else runs. */
static void check_everything(size_t n_used_slices) {
    size_t n_free = 0, n_clean = 0, n_dirty = 0, n_used = 0, n_binned = 0, n_listed = 0;
    for (size_t i = 0; i < vt__window.n_chunks; i++) {
        const struct chunk *c = &vt__chunks[i];
        bool is_pooled = get_bit(vt__pool.free_map, i);
        n_free += is_pooled;
        n_clean += is_pooled && c->dirty_slices == 0;
        n_dirty += (size_t)__builtin_popcountll(c->free_slices & c->dirty_slices);
        n_used += VT_CHUNK_SLICES - (size_t)__builtin_popcountll(c->free_slices);
        n_binned += c->longest != 0;
        assert_int_equal(c->filled_slices & ~(c->free_slices & c->dirty_slices), 0);
        assert_int_equal(get_bit(vt__pool.clean_map, i), is_pooled && c->dirty_slices == 0);
        if (is_pooled) assert_int_equal(c->free_slices, VT_ALL_SLICES);
        assert_int_equal(c->longest, is_pooled ? 0 : naive_longest(c->free_slices));
        if (c->longest != 0) assert_true(is_in_bin(&vt__shards[c->node], c->longest, i));
        if (is_pooled) assert_true(vt__pool.low_word <= i / 64);
    }
    for (unsigned s = 0; s < VT_MAX_NODES; s++)
        for (unsigned b = 1; b <= 64; b++) {
            assert_int_equal(vt__shards[s].occupied >> (b - 1) & 1, vt__shards[s].bin[b] != 0);
            for (uint32_t i = vt__shards[s].bin[b]; i != 0; i = vt__chunks[i - 1].next) n_listed++;
        }
    assert_int_equal(n_listed, n_binned);
    assert_int_equal(vt__pool.n_free, n_free);
    assert_int_equal(vt__pool.n_clean, n_clean);
    assert_int_equal(atomic_load(&vt__pool.dirty_slices), n_dirty);
    assert_int_equal(atomic_load(&vt__pool.used_slices), n_used_slices);
    assert_int_equal(n_used, n_used_slices + 1); /* the first slice of all is nobody's */
}

struct run {
    slab_id first;
    size_t n;
};

static char *address(slab_id i) { return (char *)vt__slice_address(i); }

/* The run's first and last page carry its name, so that two runs in one place show. */
static void sign(struct run r) {
    *(slab_id *)address(r.first) = r.first;
    *(slab_id *)(address((slab_id)(r.first + r.n)) - VT_OS_PAGE) = ~r.first;
}

static void check_signed(struct run r) {
    assert_int_equal(*(slab_id *)address(r.first), r.first);
    assert_int_equal(*(slab_id *)(address((slab_id)(r.first + r.n)) - VT_OS_PAGE), ~r.first);
}

static struct run take_for(unsigned cls, size_t n, size_t align) {
    struct run r = {0, n};
    bool is_zero;
    assert_int_equal(vt__slices_take(n, align, cls, &r.first, &is_zero), 0);
    vt__slab(r.first)->cls = (uint8_t)cls;
    assert_true(r.first != 0);
    assert_int_equal((uintptr_t)address(r.first) % (align << VT_SLICE_SHIFT), 0);
    for (size_t i = 0; is_zero && i < n; i++)
        assert_int_equal(*(slab_id *)address((slab_id)(r.first + i)), 0); /* clean means zero */
    return r;
}

static struct run take_run(size_t n, size_t align) { return take_for(VT_CLASS_NONE, n, align); }

/* What is asked for: mostly slabs, some runs, a few of whole chunks. */
static size_t some_size(uint64_t r) {
    if (r % 16 == 0) return 64 + (r >> 8) % 200;
    if (r % 4 == 0) return 1 + (r >> 8) % 64;
    return 1 + (r >> 8) % 8;
}

static void shuffle(unsigned n_steps, unsigned n_live, uint64_t seed, unsigned check_every) {
    static struct run live[512];
    size_t n_slices = 0;
    start();
    for (unsigned i = 0; i < n_steps; i++) {
        uint64_t r = unit_random(&seed);
        struct run *slot = &live[r % n_live];
        if (slot->n != 0) {
            check_signed(*slot);
            if ((r >> 40) % 4 == 0 && vt__slices_extend(slot->first, slot->n, 1 + (r >> 32) % 5)) {
                slot->n += 1 + (r >> 32) % 5;
                n_slices += 1 + (r >> 32) % 5;
                sign(*slot);
                continue;
            }
            vt__slices_give(slot->first, slot->n);
            n_slices -= slot->n;
            slot->n = 0;
        } else {
            size_t align = (r >> 50) % 8 == 0 ? (size_t)1 << (r >> 55) % 8 : 1;
            size_t n = some_size(r >> 8);
            *slot = take_for(align == 1 && n <= 4 ? (unsigned)n : VT_CLASS_NONE, n, align);
            n_slices += slot->n;
            sign(*slot);
        }
        if (i % check_every == 0) check_everything(n_slices);
    }
    for (unsigned i = 0; i < n_live; i++) {
        if (live[i].n == 0) continue;
        check_signed(live[i]);
        vt__slices_give(live[i].first, live[i].n);
    }
    check_everything(0);
    vt__purge_all();
    check_everything(0);
    assert_int_equal(atomic_load(&vt__pool.dirty_slices), 0);
}

TEST_WITH(chunk, random_takes_and_gives_keep_every_figure_true, "VITRINE_WINDOW=64G") {
    shuffle(20000, 500, 21, 97);
}

TEST_WITH(chunk, the_same_where_a_first_touch_fills_the_chunk,
          "VITRINE_THP=on VITRINE_WINDOW=64G") {
    shuffle(20000, 500, 23, 97);
}

TEST_WITH(chunk, with_nothing_retained_every_give_purges_and_the_figures_stay_true,
          "VITRINE_RETAIN=0 VITRINE_WINDOW=64G") {
    shuffle(4000, 200, 22, 31);
}

TEST_WITH(chunk, purges_that_fail_leave_the_figures_true,
          "VITRINE_RETAIN=0 VITRINE_FAIL_ALWAYS=purge VITRINE_WINDOW=64G") {
    static struct run live[200];
    start();
    for (unsigned i = 0; i < 200; i++) live[i] = take_run(1 + i % 9, 1);
    for (unsigned i = 0; i < 200; i += 2) vt__slices_give(live[i].first, live[i].n);
    size_t n = 0;
    for (unsigned i = 1; i < 200; i += 2) n += live[i].n;
    check_everything(n);
    assert_int_equal(vt__purge_all(), 0);
    check_everything(n);
}

TEST(chunk, two_runs_never_share_a_slice) {
    static struct run live[300];
    start();
    uint64_t rng = 5;
    for (unsigned i = 0; i < 300; i++) {
        live[i] = take_run(some_size(unit_random(&rng)), 1);
        for (unsigned k = 0; k < i; k++)
            assert_true(live[i].first + live[i].n <= live[k].first ||
                        live[k].first + live[k].n <= live[i].first);
    }
}

TEST_WITH(chunk, memory_that_came_back_is_used_before_memory_that_was_never_touched,
          "VITRINE_RETAIN=1G") {
    start();
    struct run a = take_run(3, 1), fence = take_run(1, 1);
    sign(a);
    vt__slices_give(a.first, a.n);
    bool is_zero;
    slab_id again;
    assert_int_equal(vt__slices_take(3, 1, VT_CLASS_NONE, &again, &is_zero), 0);
    assert_int_equal(again, a.first);
    assert_false(is_zero);
    vt__slices_zero(again, 3);
    for (size_t i = 0; i < 3 * VT_SLICE; i++) assert_int_equal(address(again)[i], 0);
    vt__slices_give(fence.first, 1);
}

TEST_WITH(chunk, a_slice_goes_to_the_class_that_had_it_before, "VITRINE_RETAIN=1G") {
    start();
    struct run r[4];
    bool is_zero;
    slab_id again;
    for (unsigned i = 0; i < 4; i++) {
        r[i] = take_run(1, 1);
        vt__slab(r[i].first)->cls = (uint8_t)(10 + i);
    }
    struct run fence = take_run(1, 1);
    for (unsigned i = 0; i < 4; i++) vt__slices_give(r[i].first, 1);
    assert_int_equal(vt__slices_take(1, 1, 12, &again, &is_zero), 0);
    assert_int_equal(again, r[2].first);
    assert_int_equal(vt__slices_take(1, 1, 12, &again, &is_zero), 0); /* no other: the lowest */
    assert_int_equal(again, r[0].first);
    vt__slices_give(fence.first, 1);
}

TEST_WITH(chunk, purged_memory_reads_as_zero_and_is_taken_as_clean, "VITRINE_RETAIN=1G") {
    start();
    struct run a = take_run(200, 1);
    memset(address(a.first), 0x5a, a.n << VT_SLICE_SHIFT);
    vt__slices_give(a.first, a.n);
    assert_true(vt__purge_all() >= a.n << VT_SLICE_SHIFT);
    bool is_zero;
    slab_id again;
    assert_int_equal(vt__slices_take(200, 1, VT_CLASS_NONE, &again, &is_zero), 0);
    assert_true(is_zero);
    for (size_t i = 0; i < a.n << VT_SLICE_SHIFT; i += 512) assert_int_equal(address(again)[i], 0);
}

TEST(chunk, a_run_extends_into_free_neighbours_only) {
    start();
    struct run a = take_run(4, 1), b = take_run(4, 1);
    assert_int_equal(b.first, a.first + 4); /* the lowest place that fits */
    assert_false(vt__slices_extend(a.first, 4, 1));
    vt__slices_give(b.first, 4);
    assert_true(vt__slices_extend(a.first, 4, 4));
    struct run c = take_run(4, 1);
    assert_true(c.first >= a.first + 8 || c.first + 4 <= a.first);
}

TEST(chunk, a_run_extends_over_chunks_and_stops_at_the_first_one_in_use) {
    start();
    struct run a = take_run(VT_CHUNK_SLICES, 1), b = take_run(2 * VT_CHUNK_SLICES, 1),
               fence = take_run(VT_CHUNK_SLICES, 1);
    assert_int_equal(b.first, a.first + a.n);
    assert_int_equal(fence.first, b.first + b.n);
    vt__slices_give(b.first, b.n);
    assert_false(vt__slices_extend(a.first, a.n, 2 * VT_CHUNK_SLICES + 1));
    check_everything(2 * VT_CHUNK_SLICES);
    if (vt__slices_extend(a.first, a.n, VT_CHUNK_SLICES + 5)) a.n += VT_CHUNK_SLICES + 5;
    check_everything(a.n + fence.n);
    vt__slices_give(a.first, a.n);
    vt__slices_give(fence.first, fence.n);
    check_everything(0);
}

TEST_WITH(chunk, growing_in_place_keeps_the_hard_limit_too,
          "VITRINE_LIMIT=16M VITRINE_RETAIN=0 VITRINE_PURGE_DELAY=0") {
    start();
    /* chunk 0 is the first; then a hole of two, one in use, a hole of two, one in use */
    struct run hole[2], held[2];
    for (int i = 0; i < 2; i++) {
        hole[i] = take_run(2 * VT_CHUNK_SLICES, 1);
        held[i] = take_run(VT_CHUNK_SLICES, 1);
    }
    assert_int_equal(held[0].first + held[0].n, hole[1].first);
    for (int i = 0; i < 2; i++)
        vt__slices_give(hole[i].first, hole[i].n); /* purged at once: below the limit again */
    take_run(4 * VT_CHUNK_SLICES, 1);              /* fits into no hole: 14 of 16 MiB now */
    assert_true(vt__slices_extend(held[0].first, held[0].n, VT_CHUNK_SLICES));
    assert_false(vt__slices_extend(held[0].first, held[0].n + VT_CHUNK_SLICES, VT_CHUNK_SLICES));
}

TEST(chunk, the_rest_of_the_last_chunk_of_a_long_run_serves_others) {
    start();
    struct run big = take_run(VT_CHUNK_SLICES + 1, 1);
    size_t before = vt__window.n_chunks;
    for (unsigned i = 0; i < 2 * (VT_CHUNK_SLICES - 1); i++)
        take_run(1, 1); /* the first chunk's and the tail's free slices */
    assert_int_equal(vt__window.n_chunks, before);
    vt__slices_give(big.first, big.n);
}

TEST_WITH(chunk, a_hard_limit_refuses_what_is_above_it_and_frees_make_room_again,
          "VITRINE_LIMIT=16M") {
    struct run r[64];
    unsigned n = 0;
    bool is_zero;
    start();
    while (n < 64 && vt__slices_take(32, 1, VT_CLASS_NONE, &r[n].first, &is_zero) == 0)
        r[n++].n = 32;
    assert_true_msg(n >= 14 && n <= 16, "expected about 15 MiB of 16, seen %u", n);
    assert_int_equal(vt__slices_take(64 * 20, 1, VT_CLASS_NONE, &r[63].first, &is_zero), -ENOMEM);
    for (unsigned i = 0; i < n; i++) vt__slices_give(r[i].first, r[i].n);
    assert_int_equal(vt__slices_take(64 * 6, 1, VT_CLASS_NONE, &r[0].first, &is_zero), 0);
}

TEST_WITH(chunk, a_free_chunk_is_found_wherever_it_is, "VITRINE_WINDOW=4G VITRINE_RETAIN=1G") {
    static struct run all[200];
    start();
    take_run(VT_CHUNK_SLICES - 1, 1); /* the first chunk is in use */
    for (int i = 0; i < 200; i++)
        all[i] = take_run(VT_CHUNK_SLICES, 1); /* more than three words of the map */
    size_t n_chunks = vt__window.n_chunks;
    while (vt__pool.n_free > 0)
        take_run(VT_CHUNK_SLICES, 1); /* the window grows by a little more than is asked for */
    for (int i = 0; i < 200; i += 37) {
        vt__slices_give(all[i].first, all[i].n);
        assert_int_equal(take_run(VT_CHUNK_SLICES, 1).first, all[i].first);
    }
    assert_int_equal(vt__window.n_chunks, n_chunks);
}

/* ---- slabs that were given back of late ---- */

static slab_id take_slab(unsigned cls) { return take_for(cls, 1, 1).first; }

TEST_WITH(chunk, slices_of_late_that_the_pool_has_come_back_out_of_it, "VITRINE_RETAIN=1G") {
    start();
    take_run(VT_CHUNK_SLICES - 1, 1); /* the first chunk is in use */
    slab_id lower = take_slab(6), s = take_slab(5);
    size_t chunk = s / VT_CHUNK_SLICES;
    vt__slices_give(lower, 1);
    vt__slices_give(s, 1);
    assert_true(vt__pool_has(chunk));
    assert_int_equal(take_slab(5), s);
    assert_false(vt__pool_has(chunk));
    check_everything(VT_CHUNK_SLICES);
}

TEST_WITH(chunk, slices_of_late_that_are_taken_or_purged_are_passed_over, "VITRINE_RETAIN=1G") {
    start();
    slab_id first = take_slab(3), second = take_slab(3);
    vt__slices_give(first, 1);
    vt__slices_give(second, 1);
    vt__recent_note(my_shard(), 4, second); /* of two classes: the first to ask has it */
    assert_int_equal(take_slab(4), second);
    assert_int_equal(take_slab(3), first);
    vt__slices_give(first, 1);
    vt__purge_all();
    bool is_zero;
    assert_int_equal(vt__slices_take(1, 1, 3, &first, &is_zero), 0);
    assert_true(is_zero); /* not taken for one that is resident */
    check_everything(2);
}

TEST_WITH(chunk, of_many_slabs_given_back_the_newest_are_remembered, "VITRINE_RETAIN=1G") {
    slab_id s[40];
    slab_id first;
    start();
    for (unsigned i = 0; i < 40; i++) s[i] = take_slab(9);
    for (unsigned i = 0; i < 40; i++) vt__slices_give(s[i], 1);
    for (unsigned i = 40; i-- > 40 - 31;) {
        assert_true(vt__recent_next(my_shard(), 9, &first));
        assert_int_equal(first, s[i]);
    }
    assert_false(vt__recent_next(my_shard(), 9, &first));
}

/* ---- several nodes ---- */

static void fork_once(void *unused) {
    (void)unused;
    vt__heap_fork_prepare();
    vt__heap_fork_done(/* is_child */ false);
    vt__heap_fork_prepare();
    vt__heap_fork_done(/* is_child */ true);
    take_run(1, 1);
}

TEST_WITH(chunk, fork_takes_the_locks_of_every_node, "VITRINE_NUMA_NODES=4") {
    int status;
    start();
    assert_string_equal(unit_stderr_of(fork_once, NULL, &status), "");
    assert_int_equal(status, 0);
}

TEST_WITH(chunk, a_node_that_has_nothing_left_takes_from_another_before_it_fails,
          "VITRINE_LIMIT=8M VITRINE_NUMA_NODES=2") {
    bool is_zero;
    slab_id first;
    start();
    struct vt_shard *mine = my_shard();
    struct vt_shard *other = &vt__shards[mine == &vt__shards[0] ? 1 : 0];
    /* all there is, in the hands of the other node, with free slices in between */
    unsigned n = 0;
    while (vt__slices_take(1, 1, VT_CLASS_NONE, &first, &is_zero) == 0) n++;
    assert_true(n > 64);
    for (size_t i = 0; i < vt__window.n_chunks; i++) {
        struct chunk *c = &vt__chunks[i];
        give_part(c, mask_of(3, 1), /* is_clean */ false, 0);
        vt__chunk_unbin(c);
        c->node = (uint8_t)(other - vt__shards);
        vt__chunk_bin(c);
    }
    assert_int_equal(vt__slices_take(1, 1, VT_CLASS_NONE, &first, &is_zero), 0);
}

UNIT_MAIN()
