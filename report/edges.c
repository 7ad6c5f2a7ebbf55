/* edges.c - see edges.h. Climate: cli. */
#include "report/edges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t edge_key(uint32_t caller, uint32_t callee) {
    return hash_mix(hash_mix(5, caller), callee);
}

static uint64_t edge_hash(const void *owner, uint32_t i) {
    const struct edges *e = owner;
    return edge_key(e->all[i].caller, e->all[i].callee);
}

static struct edge *edge_between(struct edges *e, uint32_t caller, uint32_t callee) {
    uint32_t *slot = index_first(&e->index, edge_key(caller, callee));
    for (; *slot != INDEX_FREE; slot = index_next(&e->index, slot))
        if (e->all[*slot].caller == caller && e->all[*slot].callee == callee) return &e->all[*slot];
    uint32_t id = *slot = e->n;
    *REPORT_PUSH(e->all, e->n, e->cap) = (struct edge){.caller = caller, .callee = callee};
    index_added(&e->index, edge_hash, e);
    return &e->all[id];
}

void edges_new(struct edges *e, const struct view *v, const bool *is_kept) {
    *e = (struct edges){0};
    index_init(&e->index);
    for (uint32_t i = 0; i < v->n_stacks; i++) {
        const struct view_stack *s = &v->stacks[i];
        uint32_t callee = PROFILE_NONE;
        for (uint32_t k = 0; k < s->n; k++) {
            uint32_t node = v->frames[s->first + k];
            if (is_kept && !is_kept[node]) continue;
            if (callee != PROFILE_NONE) {
                struct edge *edge = edge_between(e, node, callee);
                if (edge->seen_in != i + 1) edge->value += s->value;
                if (edge->seen_in != i + 1) edge->variance += s->variance;
                edge->seen_in = i + 1;
            }
            callee = node;
        }
    }
}

void edges_free(struct edges *e) {
    free(e->all);
    index_free(&e->index);
}

/* What qsort_r() hands to by_value(). */
struct sorting {
    const struct view *v;
    const struct edges *edges;
};

static int by_value(const void *a, const void *b, void *context) {
    const struct sorting *s = context;
    const struct edge *x = &s->edges->all[*(const uint32_t *)a];
    const struct edge *y = &s->edges->all[*(const uint32_t *)b];
    if (fabs(x->value) != fabs(y->value)) return fabs(x->value) > fabs(y->value) ? -1 : 1;
    int order = strcmp(view_name(s->v, x->caller), view_name(s->v, y->caller));
    return order ? order : strcmp(view_name(s->v, x->callee), view_name(s->v, y->callee));
}

void edges_sort(const struct edges *e, const struct view *v, uint32_t *numbers, uint32_t n) {
    struct sorting s = {v, e};
    if (n > 1) qsort_r(numbers, n, sizeof *numbers, by_value, &s);
}
