/* test_rules.c - rules as codes, the cache, and forgetting. */
#include "unit.h"

#include "base/base.h"

#include "stack/rules.c"

TEST(rules, a_short_code_is_the_rule_it_was_made_from) {
    unsigned n_short = 0;
    for (int32_t cfa = 0; cfa < 2200; cfa += 4)
        for (int16_t fp = -80; fp <= 0; fp = (int16_t)(fp + 4)) {
            vt_rule r = vt__rule(VT_RULE_SP, cfa, fp == 0 ? VT_FP_SAME : VT_FP_AT_CFA, fp);
            uint32_t code = short_of(r);
            if (code == 0) continue;
            n_short++;
            assert_true(code >= VT_CODE_IS_SHORT && code < 1u << VT_CODE_BITS);
            assert_true(vt__rule_of_code(code, 0, 0) == r);
        }
    assert_int_equal(n_short, 255 * 8); /* fp the same, or in one of seven places */
    assert_int_equal(short_of(vt__rule(VT_RULE_FP, 16, VT_FP_AT_CFA, -16)), 0);
}

TEST(rules, equal_rules_have_one_number_until_the_set_is_full) {
    for (uint32_t i = 1; i <= VT_N_RULES; i++) {
        vt_rule r = vt__rule(VT_RULE_FP, (int32_t)i * 8, VT_FP_SAME, 0);
        uint32_t number = number_of(r);
        assert_true(number < VT_N_RULES);
        assert_int_equal(number_of(r), number);
        assert_true(vt__rule_of_code(number, 0, 0) == r);
    }
    assert_int_equal(number_of(vt__rule(VT_RULE_FP, 8, VT_FP_AT_CFA, -16)), VT_N_RULES);
}

static uint64_t n_misses(void) { return atomic_load(&vt__rules.n_misses); }

TEST(rules, an_address_is_decoded_once_per_generation) {
    uintptr_t pc = (uintptr_t)qsort + 1;
    vt_rule first = vt__rule_of(pc, vt__rules_generation());
    assert_true(vt__rule_kind(first) != VT_RULE_NOT_KNOWN);
    assert_int_equal(n_misses(), 1);
    assert_true(vt__rule_of(pc, vt__rules_generation()) == first);
    assert_int_equal(n_misses(), 1);
    for (uint64_t i = 2; i < 100; i++) { /* past the day the generation comes round */
        vt__rules_drop();
        assert_true(vt__rule_of(pc, vt__rules_generation()) == first);
        assert_int_equal(n_misses(), i);
    }
}

TEST(rules, addresses_in_no_module_are_asked_for_each_time) {
    for (uint64_t i = 1; i < 5; i++) {
        assert_int_equal(vt__rule_of(4096, vt__rules_generation()), VT_RULE_NOT_KNOWN);
        assert_int_equal(n_misses(), i);
    }
}

/* The next address from pc on that has the slot of qsort. */
static uintptr_t in_the_same_slot(uintptr_t pc) {
    while (vt__cache_slot(pc) != vt__cache_slot((uintptr_t)qsort)) pc++;
    return pc;
}

static bool is_decoded(uintptr_t pc) {
    uint64_t before = n_misses();
    (void)vt__rule_of(pc, vt__rules_generation());
    return n_misses() != before;
}

TEST(rules, two_addresses_of_one_slot_are_both_kept) {
    uintptr_t a = (uintptr_t)qsort, b = in_the_same_slot(a + 1), c = in_the_same_slot(b + 1);
    assert_true(is_decoded(a) && is_decoded(b));
    for (int i = 0; i < 3; i++) assert_true(!is_decoded(a) && !is_decoded(b));
    assert_true(is_decoded(c));
    assert_true(!is_decoded(b) && !is_decoded(c)); /* the oldest is lost */
    assert_true(is_decoded(a));
}

static uint32_t n_slots(void) { return (VT_CACHE_FIRST | atomic_load(&vt__rules.cache_more)) + 1; }

/* Asks for n addresses in libc, at most 2048; how many had to be decoded. In one block of the cache's size each has a slot of
 * its own if all slots are in use, wherever libc is. */
static uint64_t n_decoded(unsigned n) {
    enum { BLOCK = 1u << VT_CACHE_BITS };
    uintptr_t block = (uintptr_t)qsort / BLOCK * BLOCK;
    uint64_t before = n_misses();
    for (unsigned i = 0; i < n; i++)
        (void)vt__rule_of(block + (uintptr_t)i * 4, vt__rules_generation());
    return n_misses() - before;
}

TEST(rules, the_cache_grows_with_the_addresses_and_not_before) {
    assert_int_equal(n_decoded(40), 40);
    assert_int_equal(n_slots(), VT_CACHE_FIRST + 1);
    for (unsigned i = 0; i < 20 && n_decoded(2000) > 0; i++) {}
    assert_int_equal(n_decoded(2000), 0);
    uint32_t grown = n_slots();
    assert_true_msg(grown >= 2048, "expected room for 2000, seen %u slots", grown);
    vt__rules_drop();
    assert_int_equal(n_decoded(2000), 2000); /* none of it is remembered */
    assert_int_equal(n_slots(), grown);
}

UNIT_MAIN()
