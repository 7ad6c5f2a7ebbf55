/* recall.h - stacks that a thread had before, found by the stack itself.
 *
 * The memo of a walker (unwind.c) is one stack; a program whose call paths take turns misses it each time. Here are many, in a
 * tree that is read from the innermost frame outward:
 *
 *   sp  ->  node: these return addresses come next, each so far from the last  ->  the id
 *                                                                              ->  the word there leads on: edge (node, word) -> node
 *
 * A walk reads words of the stack, and where it reads next follows from those it has read. So two stacks that begin at the same sp
 * and have the same words so far have their next return address in the same place: a node need not say more than where that is.
 * Who comes to the end has compared every return address; frame pointers that a rule reads are compared there.
 *
 * It begins small, when enough walks were not the memo's, and is emptied to become larger. What it forgot is learnt again.
 *
 * Climate: signal.   Owns: its memory, from the system.   Callers: unwind.c, with the walker taken.   Locks: none.
 */
#ifndef VT_STACK_RECALL_H
#define VT_STACK_RECALL_H

#include "stack/impl.h"

VT_HIDDEN_BEGIN

/* A word: how far it is from the one before, in words of the stack, and what is there. */
#define VT_STEP_SHIFT VT_PC_BITS
#define VT_STEP_MAX ((UINT64_C(1) << (64 - VT_STEP_SHIFT)) - 1)

struct vt_recall_node {
    uint32_t first; /* in words[]; with an id, those of frame pointers are behind them */
    vt_stack_id id; /* 0: it branches */
    uint16_t n_pcs, n_fps;
    uint32_t step; /* without an id: to the word that decides, in bytes */
    uintptr_t fp;  /* with one: what it began with, if that is live; else 0 */
};

struct vt_recall_edge {
    uint64_t word;
    uint32_t node, child; /* child 0: free */
};

struct vt_recall {
    unsigned shift; /* 64 - log2 of the edges' slots */
    uint32_t max_words, n_words;
    uint32_t max_nodes, n_nodes; /* node 0 is none: its edges lead from sp */
    uint32_t n_found;            /* since it was emptied */
    uint32_t
        n_edges;     /* that lead to a stack, of the last ones that were found: 16 times the mean */
    uint32_t n_idle; /* so many questions are not asked: it did not know most of the last */
    uint32_t generation; /* of the rules */
    size_t n_bytes;
    uint64_t *words;
    struct vt_recall_node *nodes;
    struct vt_recall_edge *edges;
};

/* What is to be learnt: words as above, return addresses and then frame pointers, the latter each with its step from sp. */
struct vt_recall_stack {
    uintptr_t sp, fp;
    vt_stack_id id;
    unsigned n_pcs, n_fps;
    uint64_t *words; /* n_pcs + n_fps */
};
/* NULL: no memory. *r may be NULL, then it is made. */
void vt__recall_learn(struct vt_recall **r, const struct vt_recall_stack *s);
void vt__recall_empty(struct vt_recall *r);

VT_INLINE uint32_t vt__recall_slot(const struct vt_recall *r, uint32_t node, uint64_t word) {
    return (uint32_t)(((word ^ (uint64_t)node << 40) * UINT64_C(0x9e3779b97f4a7c15)) >> r->shift);
}

VT_INLINE uint32_t vt__recall_child(const struct vt_recall *r, uint32_t node, uint64_t word) {
    uint32_t mask = (uint32_t)(UINT64_MAX >> r->shift);
    for (uint32_t i = vt__recall_slot(r, node, word);; i++) {
        const struct vt_recall_edge *e = &r->edges[i & mask];
        if (vt_likely(e->word == word && e->node == node)) return e->child;
        if (e->child == 0) return 0;
    }
}

/* Each edge is in another cache line: where call trees are random, comparing rules is faster (unwind.c). */
VT_INLINE bool vt__recall_is_far(const struct vt_recall *r) { return r->n_edges > 5 * 16; }

/* What is on the stack now. The place was read by a walk that began at the same sp, so it can be. */
VT_READS_STACKS VT_INLINE uint64_t vt__recall_word(uintptr_t at) {
    return *(const volatile uintptr_t *)at;
}

VT_READS_STACKS VT_INLINE bool vt__recall_has_fps(const struct vt_recall *r,
                                                  const struct vt_recall_node *n, uintptr_t sp,
                                                  uintptr_t fp) {
    const uint64_t *w = &r->words[n->first + n->n_pcs];
    if (n->fp != 0 && n->fp != fp) return false;
    for (const uint64_t *end = w + n->n_fps; w < end; w++)
        if (vt__recall_word(sp + (*w >> VT_STEP_SHIFT) * 8) != (*w & VT_PC_MASK)) return false;
    return true;
}

/* The stack from sp on; NULL: it is not known. `rows` as in vt__stack_id_here. */
VT_READS_STACKS VT_INLINE vt_stack_id vt__recall_find(struct vt_recall *r, uintptr_t sp,
                                                      uintptr_t fp,
                                                      const struct vt_stack_rows *rows) {
    uintptr_t at = sp - 8;
    uint32_t n_edges = 1;
    uint32_t number = vt__recall_child(r, 0, sp);
    while (number != 0) {
        const struct vt_recall_node *n = &r->nodes[number];
        const uint64_t *w = &r->words[n->first];
        if (n->id != 0) vt__fetch_row(rows, n->id);
        for (const uint64_t *end = w + n->n_pcs; w < end; w++) {
            at += (*w >> VT_STEP_SHIFT) * 8;
            if (vt__recall_word(at) != (*w & VT_PC_MASK)) return 0;
        }
        if (n->id != 0) {
            if (!vt__recall_has_fps(r, n, sp, fp)) return 0;
            r->n_found++;
            r->n_edges += n_edges - r->n_edges / 16;
            return n->id;
        }
        at += n->step;
        number = vt__recall_child(r, number, vt__recall_word(at));
        n_edges++;
    }
    return 0;
}

VT_HIDDEN_END

#endif
