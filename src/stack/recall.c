/* recall.c - see recall.h: what is learnt. Climate: signal. */
#include "stack/recall.h"

#define FIRST_WORDS 2048u
#define TIMES 4u                                                 /* as large, the next time */
#define LAST_WORDS (FIRST_WORDS * TIMES * TIMES * TIMES * TIMES) /* 8 MiB, all in all */
#define WORDS_PER_NODE 8
#define SLOTS_PER_NODE 2 /* a node has one edge that leads to it */
#define FOUND_LEAST 4    /* for each that was learnt, or it is not worth its memory */
#define IDLE_TIMES 16

static struct vt_recall *make(uint32_t n_words) {
    uint32_t n_nodes = n_words / WORDS_PER_NODE, n_slots = n_nodes * SLOTS_PER_NODE;
    size_t n_bytes = sizeof(struct vt_recall) + n_words * sizeof(uint64_t) +
                     n_nodes * sizeof(struct vt_recall_node) +
                     n_slots * sizeof(struct vt_recall_edge);
    void *at = NULL;
    n_bytes = vt_round_up(n_bytes, VT_OS_PAGE);
    if (vt__os_map(n_bytes, &at) != 0) return NULL;
    struct vt_recall *r = at;
    r->shift = 64 - vt_log2(n_slots);
    r->max_words = n_words;
    r->max_nodes = n_nodes;
    r->n_nodes = 1;
    r->n_bytes = n_bytes;
    r->edges = (struct vt_recall_edge *)(r + 1);
    r->nodes = (struct vt_recall_node *)(r->edges + n_slots);
    r->words = (uint64_t *)(r->nodes + n_nodes);
    return r;
}

void vt__recall_empty(struct vt_recall *r) {
    size_t n_slots = (size_t)r->max_nodes * SLOTS_PER_NODE;
    __builtin_memset(r->edges, 0, n_slots * sizeof(*r->edges));
    r->n_nodes = 1;
    r->n_words = r->n_found = 0;
}

/* There is no room for one more: it becomes larger, or begins again. */
static VT_COLD void begin_again(struct vt_recall **r) {
    struct vt_recall *old = *r;
    struct vt_recall *larger = old->max_words < LAST_WORDS ? make(old->max_words * TIMES) : NULL;
    if (larger != NULL) {
        larger->generation = old->generation;
        *r = larger;
        (void)vt__os_unmap(old, old->n_bytes);
        return;
    }
    if (old->n_found < FOUND_LEAST * old->n_nodes) old->n_idle = IDLE_TIMES * old->n_nodes;
    vt__recall_empty(old);
}

/* At most two nodes and three edges come with a stack. */
static bool has_room(const struct vt_recall *r, const struct vt_recall_stack *s) {
    return r->n_nodes + 2 <= r->max_nodes && r->n_words + s->n_pcs + s->n_fps <= r->max_words;
}

/* Where the edge is, or belongs. */
static struct vt_recall_edge *edge_of(struct vt_recall *r, uint32_t node, uint64_t word) {
    uint32_t mask = (uint32_t)(UINT64_MAX >> r->shift), i = vt__recall_slot(r, node, word);
    for (;; i++) {
        struct vt_recall_edge *e = &r->edges[i & mask];
        if (e->child == 0 || (e->word == word && e->node == node)) return e;
    }
}

static void lead(struct vt_recall *r, uint32_t node, uint64_t word, uint32_t child) {
    *edge_of(r, node, word) = (struct vt_recall_edge){word, node, child};
}

/* The words of s from its k-th return address on, and what comes behind them. */
static void fill(struct vt_recall *r, struct vt_recall_node *n, const struct vt_recall_stack *s,
                 unsigned k) {
    unsigned n_words = s->n_pcs + s->n_fps - k;
    *n = (struct vt_recall_node){.first = r->n_words,
                                 .id = s->id,
                                 .n_pcs = (uint16_t)(s->n_pcs - k),
                                 .n_fps = (uint16_t)s->n_fps,
                                 .fp = s->fp};
    __builtin_memcpy(r->words + r->n_words, s->words + k, n_words * sizeof(*s->words));
    r->n_words += n_words;
}

static uint32_t add(struct vt_recall *r, const struct vt_recall_stack *s, unsigned k) {
    uint32_t number = r->n_nodes++;
    fill(r, &r->nodes[number], s, k);
    return number;
}

/* The node that `e` leads to has s up to its i-th word, and the k-th of s is another one there: it branches. */
static void split(struct vt_recall *r, struct vt_recall_edge *e, unsigned i,
                  const struct vt_recall_stack *s, unsigned k) {
    uint32_t rest = e->child, fork = r->n_nodes++;
    struct vt_recall_node *n = &r->nodes[rest];
    uint64_t other = r->words[n->first + i];
    if (other >> VT_STEP_SHIFT != s->words[k] >> VT_STEP_SHIFT) { /* by another frame pointer */
        r->n_nodes--;
        return;
    }
    r->nodes[fork] = (struct vt_recall_node){
        .first = n->first, .n_pcs = (uint16_t)i, .step = (uint32_t)(other >> VT_STEP_SHIFT) * 8};
    n->first += i + 1;
    n->n_pcs = (uint16_t)(n->n_pcs - i - 1);
    e->child = fork;
    lead(r, fork, other & VT_PC_MASK, rest);
    lead(r, fork, s->words[k] & VT_PC_MASK, add(r, s, k + 1));
}

/* As far as the tree has s; then what it has not is added. A stack whose next place is another one than the tree's is left out. */
static void insert(struct vt_recall *r, const struct vt_recall_stack *s) {
    struct vt_recall_edge *e = edge_of(r, 0, s->sp);
    unsigned k = 0;
    if (e->child == 0) {
        lead(r, 0, s->sp, add(r, s, 0));
        return;
    }
    for (;;) {
        uint32_t number = e->child;
        struct vt_recall_node *n = &r->nodes[number];
        unsigned i = 0;
        while (i < n->n_pcs && k < s->n_pcs && r->words[n->first + i] == s->words[k]) i++, k++;
        if (i < n->n_pcs) {
            if (k < s->n_pcs) split(r, e, i, s, k);
            return;
        }
        if (n->id != 0) { /* its frame pointers are others */
            if (k == s->n_pcs) fill(r, n, s, k - n->n_pcs);
            return;
        }
        if (k == s->n_pcs || (s->words[k] >> VT_STEP_SHIFT) * 8 != n->step) return;
        uint64_t word = s->words[k++] & VT_PC_MASK;
        e = edge_of(r, number, word);
        if (e->child == 0) {
            lead(r, number, word, add(r, s, k));
            return;
        }
    }
}

void vt__recall_learn(struct vt_recall **r, const struct vt_recall_stack *s) {
    if (*r == NULL) *r = make(FIRST_WORDS);
    if (*r == NULL || (*r)->n_idle > 0) return;
    if (!has_room(*r, s)) begin_again(r);
    if (has_room(*r, s)) insert(*r, s);
}
