/* call_tree.c - see call_tree.h. Climate: cli. */
#include "report/call_tree.h"

#include <math.h>
#include <stdlib.h>

#include "report/intake.h"

static uint64_t call_key(uint32_t parent, uint32_t node) {
    return hash_mix(hash_mix(7, parent), node);
}

static uint64_t call_hash(const void *owner, uint32_t i) {
    const struct call_tree *t = owner;
    return call_key(t->all[i].parent, t->all[i].node);
}

/* Where the call is in the index, or would be. */
static uint32_t *call_slot(const struct call_tree *t, uint32_t parent, uint32_t node) {
    uint32_t *slot = index_first(&t->index, call_key(parent, node));
    while (*slot != INDEX_FREE && (t->all[*slot].parent != parent || t->all[*slot].node != node))
        slot = index_next(&t->index, slot);
    return slot;
}

uint32_t call_tree_find(const struct call_tree *t, uint32_t parent, uint32_t node) {
    uint32_t *slot = call_slot(t, parent, node);
    return *slot == INDEX_FREE ? PROFILE_NONE : *slot;
}

/* Found or new. PROFILE_NONE: it would be new, and there are n_most of them. */
static uint32_t call_below(struct call_tree *t, uint32_t parent, uint32_t node, uint64_t n_most) {
    uint32_t *slot = call_slot(t, parent, node);
    if (*slot != INDEX_FREE) return *slot;
    if (t->n >= n_most) {
        t->is_full = true;
        return PROFILE_NONE;
    }
    uint32_t id = *slot = t->n;
    *REPORT_PUSH(t->all, t->n, t->cap) = (struct call){.node = node,
                                                       .parent = parent,
                                                       .next_sibling = t->all[parent].first_child,
                                                       .first_child = PROFILE_NONE,
                                                       .depth = t->all[parent].depth + 1};
    t->all[parent].first_child = id;
    index_added(&t->index, call_hash, t);
    return id;
}

/* A call takes as much memory as 32 frames. */
static uint64_t most_calls(const struct view *v) {
    uint64_t n = v->p->max_frames / 32;
    return n > INTAKE_FREE_FRAMES ? n : INTAKE_FREE_FRAMES;
}

void call_tree_new(struct call_tree *t, const struct view *v, uint32_t max_depth) {
    *t = (struct call_tree){0};
    index_init(&t->index);
    uint64_t n_most = most_calls(v);
    *REPORT_PUSH(t->all, t->n, t->cap) = (struct call){.node = PROFILE_NONE,
                                                       .parent = PROFILE_NONE,
                                                       .first_child = PROFILE_NONE,
                                                       .next_sibling = PROFILE_NONE};
    for (uint32_t i = 0; i < v->n_stacks; i++) {
        const struct view_stack *s = &v->stacks[i];
        uint32_t call = 0;
        if (s->value == 0) continue;
        for (uint32_t k = s->n;; k--) {
            t->all[call].value += s->value;
            t->all[call].weight += fabs(s->value);
            t->all[call].variance += s->variance;
            if (k == 0 || t->all[call].depth >= max_depth) break;
            uint32_t below = call_below(t, call, v->frames[s->first + k - 1], n_most);
            if (below == PROFILE_NONE) break;
            call = below;
        }
        t->all[call].self += s->value;
        t->all[call].self_variance += s->variance;
    }
}

void call_tree_free(struct call_tree *t) {
    free(t->all);
    index_free(&t->index);
}
