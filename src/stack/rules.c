/* rules.c - the rules that were decoded, and the cache that finds one by an address.
 *
 * Modules differ in thousands of addresses but in few rules, some hundreds at most. A rule is a word in a hash set that only
 * grows; its place in the set is its number. The cache has a word per address, in the slot that the address says or beside it:
 *
 *   63                16 15        12 11           0
 *  | pc                 | generation | code         |         code: the number of a rule, or a short rule itself
 *
 * Short is what most code has, CFA = sp + n: a walk waits for each load before it can begin the next, and this saves one.
 *
 * so it is read and written without a lock and never torn. After dlclose the generation is another one and old words match
 * no more; they are cleared as well, for the day the generation comes round. It begins with few slots, which are doubled when
 * addresses are in each other's way: a small program has some tens of them, and a page for each would be most of its profile.
 * Why two places: with one, where chance puts two addresses of a stack in the same, each walk would decode both.
 *
 * Climate: signal.   Owns: vt__rules.   Locks: none.   Limit: 2048 rules; others are decoded each time.
 */
#include "stack/impl.h"

#define N_HOMES 128u /* rules begin to look for a place here, at the end of the array */

struct vt_rules vt__rules;

/* The rule itself as a code; 0: it is not short. */
static uint32_t short_of(vt_rule r) {
    intptr_t cfa = vt__rule_cfa_off(r);
    intptr_t fp = vt__rule_fp_off(r);
    if (vt__rule_kind(r) != VT_RULE_SP || cfa % 8 != 0 || cfa < 8 || cfa > 255 * 8) return 0;
    if (vt__rule_fp(r) == VT_FP_SAME) return VT_CODE_IS_SHORT | (uint32_t)cfa / 8;
    if (vt__rule_fp(r) != VT_FP_AT_CFA || fp > -16 || fp < -64 || fp % 8 != 0) return 0;
    return VT_CODE_IS_SHORT | (uint32_t)(-fp / 8 - 1) << 8 | (uint32_t)cfa / 8;
}

/* The number of the rule; VT_N_RULES: the set is full. */
static uint32_t number_of(vt_rule r) {
    uint32_t slot = VT_N_RULES - 1 - (uint32_t)((r * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % N_HOMES;
    for (uint32_t i = 0; i < VT_N_RULES; i++, slot = (slot - 1) & (VT_N_RULES - 1)) {
        uint64_t seen = 0;
        /* relaxed: the word is all there is to a rule */
        if (atomic_compare_exchange_strong_explicit(&vt__rules.rule[slot], &seen, r,
                                                    memory_order_relaxed, memory_order_relaxed))
            return slot;
        if (seen == r) return slot;
    }
    return VT_N_RULES;
}

/* Twice the slots, once an eighth of them has been taken from others. Half of what is there is where it belongs already. */
static void count_evicted(void) {
    uint32_t more = atomic_load_explicit(&vt__rules.cache_more, memory_order_relaxed);
    uint32_t n_slots = (VT_CACHE_FIRST | more) + 1;
    uint32_t n = atomic_fetch_add_explicit(&vt__rules.n_evicted, 1, memory_order_relaxed);
    if (n < n_slots / 8 || n_slots == 1u << VT_CACHE_BITS) return;
    /* relaxed: all slots are there from the start; on failure another thread did it */
    if (atomic_compare_exchange_strong_explicit(&vt__rules.cache_more, &more, more | n_slots,
                                                memory_order_relaxed, memory_order_relaxed))
        atomic_store_explicit(&vt__rules.n_evicted, 0, memory_order_relaxed);
}

/* Into its slot; the word that was there goes to the slot beside it, and the one there is lost. */
static void keep(uintptr_t pc, uint64_t word) {
    uint32_t slot = vt__cache_slot(pc);
    /* relaxed: see vt__rule_code. Between the two a reader finds neither, and decodes. */
    uint64_t before = atomic_exchange_explicit(&vt__rules.cache[slot], word, memory_order_relaxed);
    if (before == 0) return;
    if (atomic_exchange_explicit(&vt__rules.cache[slot ^ 1], before, memory_order_relaxed) != 0)
        count_evicted();
}

VT_COLD vt_rule vt__rule_decode(uintptr_t pc, uint32_t generation) {
    struct vt_module m;
    atomic_fetch_add_explicit(&vt__rules.n_misses, 1, memory_order_relaxed);
    /* Not remembered: a library may be loaded there any time, and nobody tells. */
    if (!vt__module_hold(pc, &m)) return vt__rule(VT_RULE_NOT_KNOWN, 0, VT_FP_SAME, 0);
    vt_rule r = vt__arch_rule(&m, pc);
    vt__module_release(&m);
    uint32_t code = short_of(r);
    if (code == 0) code = number_of(r);
    if (code == VT_N_RULES) return r;
    keep(pc, vt__cache_key(pc, generation) | code);
    return r;
}

void vt__rules_drop(void) {
    if (atomic_load_explicit(&vt__rules.n_misses, memory_order_relaxed) == 0)
        return; /* never used */
    /* A walk under way may still write a word of the generation before; nobody will read it. */
    atomic_fetch_add_explicit(&vt__rules.generation, 1, memory_order_seq_cst);
    uint32_t more = atomic_load_explicit(&vt__rules.cache_more, memory_order_relaxed);
    for (size_t i = 0; i <= (VT_CACHE_FIRST | more); i++)
        atomic_store_explicit(&vt__rules.cache[i], 0, memory_order_relaxed);
}
