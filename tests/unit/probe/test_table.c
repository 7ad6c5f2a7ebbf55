/* test_table.c - rows that stay where they are, and an index that finds what was added and not what was removed. */
#include "unit.h"

#include "probe/table.c"

struct item {
    uint64_t key, check;
};

TEST(rows, rows_keep_their_address_and_begin_as_zero) {
    struct vt_rows r = {.row_bytes = sizeof(struct item)};
    enum { N = 10000 };
    static struct item *at[N + 1];
    for (uint32_t i = 1; i <= N; i++) {
        assert_int_equal(vt__row_add(&r), i);
        at[i] = vt__row(&r, i);
        assert_int_equal(at[i]->key, 0);
        at[i]->key = i;
    }
    for (uint32_t i = 1; i <= N; i++) {
        assert_ptr_equal(vt__row(&r, i), at[i]);
        assert_int_equal(at[i]->key, i);
    }
}

static struct vt_rows items = {.row_bytes = sizeof(struct item)};
static struct item *item(uint32_t id) { return vt__row(&items, id); }
/* Few different hashes, so that the chains are long. */
static uint64_t hash_key(uint64_t key) { return key % 97 * 3; }
static uint64_t hash_of_item(uint32_t id) { return hash_key(item(id)->key); }
static bool has_key(uint32_t id, const void *key) {
    return item(id)->key == *(const uint64_t *)key;
}

static uint32_t find(struct vt_index *x, uint64_t key) {
    return vt__index_find(x, hash_key(key), has_key, &key);
}

TEST(index, what_was_added_is_found_and_what_was_removed_is_not) {
    struct vt_index x = {.hash_of = hash_of_item};
    enum { N = 3000 };
    uint64_t rng = 4;
    static bool is_in[N + 1];
    for (uint32_t i = 1; i <= N; i++) {
        assert_int_equal(vt__row_add(&items), i);
        item(i)->key = i * 7;
    }
    assert_int_equal(find(&x, 7), 0);
    for (int turn = 0; turn < 20000; turn++) {
        uint32_t id = (uint32_t)(unit_random(&rng) % N) + 1;
        if (is_in[id])
            vt__index_remove(&x, id);
        else
            assert_true(vt__index_add(&x, id));
        is_in[id] = !is_in[id];
        uint32_t other = (uint32_t)(unit_random(&rng) % N) + 1;
        assert_int_equal(find(&x, item(other)->key), is_in[other] ? other : 0);
    }
    uint32_t n = 0;
    for (uint32_t i = 1; i <= N; i++) {
        assert_int_equal(find(&x, item(i)->key), is_in[i] ? i : 0);
        n += is_in[i];
    }
    assert_int_equal(x.n, n);
}

UNIT_MAIN()
