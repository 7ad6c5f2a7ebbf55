/* test_stats.c - the statistics against what the test knows it holds. */
#include "look.h"

#include "dump/stats.h"
#include "os/os.h"

static void check_sums(const struct vt_stats *s) {
    assert_int_equal(s->resident,
                     s->allocated + s->cached + s->fragmented + s->retained + s->metadata);
    assert_true(s->large <= s->allocated);
    assert_true(s->active <= s->mapped);
    assert_true(s->n_threads <= s->n_heaps);
}

TEST(stats, allocated_is_what_the_program_holds_in_class_sizes) {
    static struct blocks held[VT_N_CLASSES];
    uint64_t expected = 0;
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        size_t n = 1 + c * 37 % 400;
        held[c] = take_blocks(n, vt__class_bytes(c) - 3);
        expected += n * vt__class_bytes(c);
        struct vt_stats s = stats_now();
        if (s.allocated != expected)
            fail_msg("class %u: expected %llu bytes allocated, seen %llu", c,
                     (unsigned long long)expected, (unsigned long long)s.allocated);
        check_sums(&s);
    }
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        expected -= held[c].n * vt__class_bytes(c);
        free_blocks(held[c]);
        assert_int_equal(stats_now().allocated, expected);
    }
}

TEST(stats, each_class_tells_its_own_blocks) {
    struct vt_class_stats classes[VT_N_CLASSES];
    struct blocks a = take_blocks(1000, 48), b = take_blocks(30, 5000);
    for (int i = 0; i < 300; i++) vt__free(a.at[i]);
    struct vt_stats s = {.size = sizeof(s)};
    vt__heap_stats(&s, classes);
    assert_int_equal(classes[vt__class_of(48)].n_live, 700);
    assert_int_equal(classes[vt__class_of(5000)].n_live, 30);
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        const struct vt_class_stats *k = &classes[c];
        assert_true(k->n_live + k->n_cached + k->n_free <= k->n_blocks);
        assert_true(k->resident_bytes <= k->slab_bytes);
        assert_true((k->n_live + k->n_cached) * k->block_bytes <= k->slab_bytes);
    }
    free(a.at);
    free_blocks(b);
}

TEST(stats, large_blocks_are_counted_by_number_and_by_pages) {
    void *at[5];
    uint64_t expected = 0;
    for (int i = 0; i < 5; i++) {
        at[i] = vt__malloc(100000u * (unsigned)(i + 1));
        expected += vt__usable_size(at[i]);
    }
    struct vt_stats s = stats_now();
    assert_int_equal(s.n_large, 5);
    assert_int_equal(s.large, expected);
    assert_int_equal(s.allocated, expected);
    at[0] = vt__realloc(at[0], 900000);
    at[4] = vt__realloc(at[4], 70000);
    expected = 0;
    for (int i = 0; i < 5; i++) expected += vt__usable_size(at[i]);
    assert_int_equal(stats_now().large, expected);
    for (int i = 0; i < 5; i++) vt__free(at[i]);
    assert_int_equal(stats_now().n_large, 0);
    assert_int_equal(stats_now().allocated, 0);
}

static pthread_barrier_t step;

static void *free_and_linger(void *blocks) {
    vt__free(vt__malloc(3000)); /* a heap of our own: what we free of others' waits in rings */
    struct blocks *b = blocks;
    for (size_t i = 0; i < b->n; i++) vt__free(b->at[i]);
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    return NULL;
}

TEST(stats, blocks_on_their_way_home_are_cached_and_not_allocated) {
    struct blocks b = take_blocks(20, 200); /* fewer than a ring sends at once */
    pthread_t id;
    pthread_barrier_init(&step, NULL, 2);
    pthread_create(&id, NULL, free_and_linger, &b);
    pthread_barrier_wait(&step);
    struct vt_stats s = stats_now();
    assert_int_equal(s.allocated, 0);
    assert_true(s.cached >= 20 * 200);
    pthread_barrier_wait(&step);
    pthread_join(id, NULL);
    assert_int_equal(stats_now().allocated, 0);
}

TEST(stats, blocks_of_threads_that_ended_still_count) {
    struct blocks b = {NULL, 0, 0};
    (void)b;
    vt__free(vt__malloc(1));
    pthread_t id;
    void *p;
    assert_int_equal(
        pthread_create(&id, NULL, (void *(*)(void *))(uintptr_t)vt__malloc, (void *)1000), 0);
    pthread_join(id, &p);
    assert_int_equal(stats_now().allocated, vt__class_bytes(vt__class_of(1000)));
    vt__free(p);
    vt__heap_release_all();
    assert_int_equal(stats_now().allocated, 0);
}

TEST(stats, a_caller_of_an_older_header_gets_its_fields_and_no_more) {
    struct {
        struct vt_stats s;
        uint64_t beyond;
    } room = {.beyond = 4711};
    room.s.size = sizeof(struct vt_stats);
    assert_int_equal(vt_stats_get(&room.s), 0);
    assert_int_equal(room.beyond, 4711);
    assert_int_equal(room.s.size, sizeof(struct vt_stats));
    room.s = (struct vt_stats){.size = offsetof(struct vt_stats, n_samples), .n_samples = 4711};
    assert_int_equal(vt_stats_get(&room.s), 0); /* a header before heap profiles were counted */
    assert_int_equal(room.s.n_samples, 4711);
    room.s.size = 4;
    assert_int_equal(vt_stats_get(&room.s), -EINVAL);
}

TEST(stats, samples_and_stacks_are_counted) {
    struct vt_stats before = {.size = sizeof(before)}, after = before;
    vt__free(vt__malloc(1));
    vt_heap_set_rate(1);
    assert_int_equal(vt_stats_get(&before), 0);
    struct blocks b = take_blocks(100, 5000); /* far above the rate: each is a sample */
    assert_int_equal(vt_stats_get(&after), 0);
    assert_int_equal(after.n_samples, before.n_samples + 100);
    assert_int_equal(after.n_samples_live, before.n_samples_live + 100);
    assert_int_equal(after.n_samples_lost, 0);
    assert_int_equal(after.sampled, before.sampled + 100 * vt__class_bytes(vt__class_of(5000)));
    assert_true(after.sampled_peak * 1.05 >= after.sampled);
    assert_true(after.n_stacks > before.n_stacks && after.stacks > 0);
    assert_int_equal(after.n_stacks_lost, 0);
    assert_int_equal(after.n_walks, before.n_walks + 100);
    assert_true(after.n_walks_cut <= after.n_walks);
    free_blocks(b);
    assert_int_equal(vt_stats_get(&after), 0);
    assert_int_equal(after.n_samples_live, before.n_samples_live);
    vt_heap_set_rate(0);
}

/* ---- the text ---- */

static struct {
    char text[65536];
    size_t len;
} written;

static void sink(void *arg, const char *data, size_t n_bytes) {
    (void)arg;
    assert_true(written.len + n_bytes < sizeof(written.text));
    memcpy(written.text + written.len, data, n_bytes);
    written.len += n_bytes;
    written.text[written.len] = '\0';
}

/* A value of JSON; gives where it ends, NULL when it is none. */
static const char *json_end(const char *s) {
    if (*s == '"') {
        for (s++; *s != '"'; s++)
            if (*s < ' ' || *s == '\\') return NULL;
        return s + 1;
    }
    if (*s >= '0' && *s <= '9') {
        while (*s >= '0' && *s <= '9') s++;
        return s;
    }
    if (*s != '{' && *s != '[') return NULL;
    bool is_object = *s++ == '{';
    char close = is_object ? '}' : ']';
    if (*s == close) return s + 1;
    for (;;) {
        if (is_object) {
            if (*s != '"' || (s = json_end(s)) == NULL || *s++ != ':') return NULL;
        }
        if ((s = json_end(s)) == NULL) return NULL;
        if (*s == close) return s + 1;
        if (*s++ != ',') return NULL;
    }
}

TEST(stats, json_is_json_and_has_every_counter) {
    struct blocks b = take_blocks(100, 100);
    vt__stats_write(sink, NULL, VT_JSON_FORMAT);
    const char *end = json_end(written.text);
    if (end == NULL) fail_msg("expected JSON, seen '%s'", written.text);
    assert_string_equal(end, "\n");
#define COUNTER(name, unit, help) assert_non_null(strstr(written.text, "\"" #name "\":"));
#include "conf/counters.def"
    assert_non_null(strstr(written.text, "\"allocated\":11200,")); /* 100 blocks of 112 bytes */
    free_blocks(b);
}

TEST(stats, the_table_has_a_line_for_every_counter_and_every_class_in_use) {
    struct blocks b = take_blocks(100, 100);
    vt__stats_write(sink, NULL, VT_TEXT_FORMAT);
#define COUNTER(name, unit, help) assert_non_null(strstr(written.text, help "\n"));
#include "conf/counters.def"
    assert_non_null(strstr(written.text, "  allocated "));
    assert_non_null(strstr(written.text, " 11200 "));
    free_blocks(b);
}

/* ---- while others go on ---- */

static _Atomic bool is_over;

static void *churn(void *seed) {
    uint64_t rng = (uintptr_t)seed;
    void *at[100] = {NULL};
    while (!atomic_load(&is_over)) {
        uint64_t r = unit_random(&rng);
        vt__free(at[r % 100]);
        at[r % 100] = fill(vt__malloc(16 + (r >> 8) % (r % 64 == 0 ? 200000 : 2000)), 16);
    }
    for (int i = 0; i < 100; i++) vt__free(at[i]);
    return NULL;
}

TEST(stats, may_be_asked_for_while_other_threads_allocate) {
    pthread_t id[2];
    vt__free(
        vt__malloc(1)); /* as in any program: the first malloc comes before the second thread */
    for (uintptr_t i = 0; i < 2; i++) pthread_create(&id[i], NULL, churn, (void *)(i + 1));
    for (int i = 0; i < 200; i++) {
        struct vt_stats s = stats_now();
        check_sums(&s);
        assert_true(s.allocated < MiB(200));
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < 2; i++) pthread_join(id[i], NULL);
    vt__heap_release_all();
    assert_int_equal(stats_now().allocated, 0);
}

UNIT_MAIN()
