/* paths.c - malloc and free by many call paths that take turns: what a profiler pays that takes the stack of each.
 *
 *     paths turns STACKS DEPTH PAIRS         each path calls malloc by itself
 *     paths wrapped STACKS DEPTH PAIRS       all by one function, which calls another that calls malloc
 *     paths interpreter NODES DEPTH PAIRS    an expression of so many nodes is evaluated again and again; each value is a block
 *
 * DEPTH counts main and the function that calls malloc. A path comes through functions with frames of four sizes, by one of three
 * calls in each; the outer half is common to all. Compiled without frame pointers, as most programs are.
 */
#include "common.h"

enum { KINDS = 4, CALLS = 3, WAYS = KINDS * CALLS, MAX_DEPTH = 64, MAX_STACKS = 20000, SIZES = 64 };

static unsigned char way[MAX_STACKS][MAX_DEPTH]; /* by level, the innermost first */
static bool is_wrapped;

__attribute__((noinline)) static void *take(size_t n_bytes) {
    void *p = malloc(n_bytes);
    keep(&p);
    return p;
}

__attribute__((noinline)) static void *take_or_die(size_t n_bytes) {
    void *p = take(n_bytes);
    if (p == NULL) die("malloc");
    return p;
}

static uint64_t go_on(const unsigned char *path, unsigned level, uint64_t i);

/* keep(): what follows a call makes it neither a jump nor part of a loop; what is added keeps the calls apart. */
#define FUNCTION(name, bytes)                                                                      \
    __attribute__((noinline)) static uint64_t name(const unsigned char *path, unsigned level,      \
                                                   uint64_t i) {                                   \
        char room[bytes];                                                                          \
        uint64_t sum;                                                                              \
        room[i % (bytes)] = 1;                                                                     \
        keep(room);                                                                                \
        switch (path[level] / KINDS) {                                                             \
        case 0: sum = 1 + go_on(path, level, i); break;                                            \
        case 1: sum = 3 * go_on(path, level, i); break;                                            \
        default: sum = 5 ^ go_on(path, level, i); break;                                           \
        }                                                                                          \
        keep(&sum);                                                                                \
        return sum;                                                                                \
    }
FUNCTION(narrow, 8)
FUNCTION(middling, 72)
FUNCTION(wide, 200)
FUNCTION(widest, 520)

__attribute__((noinline)) static uint64_t leaf(uint64_t i) {
    void *p = is_wrapped ? take_or_die(16 + i % SIZES) : malloc(16 + i % SIZES);
    free(touched(p, i));
    return i & 1;
}

/* In line in each of them. */
__attribute__((always_inline)) static inline uint64_t go_on(const unsigned char *path,
                                                            unsigned level, uint64_t i) {
    if (level == 0) return leaf(i);
    switch (path[level - 1] % KINDS) {
    case 0: return narrow(path, level - 1, i);
    case 1: return middling(path, level - 1, i);
    case 2: return wide(path, level - 1, i);
    default: return widest(path, level - 1, i);
    }
}

/* The inner levels count in ways, so that all are different; the next are random, the outer half is the same for all. */
static void make_paths(unsigned n_stacks, unsigned n_levels) {
    struct rng rng = rng_seeded(1);
    for (unsigned s = 0; s < n_stacks; s++) {
        unsigned rest = s;
        for (unsigned k = 0; k < n_levels; k++, rest /= WAYS) {
            if (rest > 0 || k == 0)
                way[s][k] = (unsigned char)(rest % WAYS);
            else
                way[s][k] = (unsigned char)(k < n_levels / 2 ? rng_below(&rng, WAYS) : k % WAYS);
        }
    }
}

static uint64_t take_turns(unsigned n_stacks, unsigned n_levels, uint64_t n_pairs) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n_pairs; i++) sum += go_on(way[i % n_stacks], n_levels, i);
    return sum;
}

/* ---- an interpreter ---- */

struct node {
    unsigned op;
    struct node *left, *right; /* NULL: a number */
};
static struct node nodes[MAX_STACKS];
static unsigned n_nodes;

struct value {
    uint64_t n;
    char pad[24];
};

__attribute__((noinline)) static struct value *boxed(uint64_t n) {
    struct value *v = malloc(sizeof *v);
    v->n = n;
    return v;
}

static struct value *evaluate(const struct node *n);

__attribute__((noinline)) static struct value *combine(const struct node *n) {
    struct value *a = evaluate(n->left), *b = evaluate(n->right);
    uint64_t sum = n->op % 2 == 0 ? a->n + b->n : a->n * 3 ^ b->n;
    free(a);
    free(b);
    return boxed(sum);
}

__attribute__((noinline)) static struct value *choose(const struct node *n) {
    struct value *a = evaluate(n->left);
    bool is_left = (a->n & 1) != 0;
    free(a);
    struct value *v = evaluate(is_left ? n->left : n->right);
    keep(&v);
    return v;
}

__attribute__((noinline)) static struct value *evaluate(const struct node *n) {
    struct value *v;
    if (n->left == NULL) return boxed(n->op);
    switch (n->op % 4) {
    case 0: v = choose(n); break;
    default: v = combine(n); break;
    }
    keep(&v);
    return v;
}

static struct node *grow(struct rng *rng, unsigned n_wanted, unsigned depth) {
    struct node *n = &nodes[n_nodes++];
    n->op = rng_below(rng, 1000);
    if (depth == 0 || n_wanted < 3) return n;
    unsigned n_left = 1 + rng_below(rng, n_wanted - 2);
    n->left = grow(rng, n_left, depth - 1);
    n->right = grow(rng, n_wanted - 1 - n_left, depth - 1);
    return n;
}

static uint64_t n_boxed_by(
    const struct node *n) { /* in one evaluation, about: for the count of pairs */
    if (n->left == NULL) return 1;
    return 1 + n_boxed_by(n->left) + n_boxed_by(n->right);
}

static uint64_t interpret(unsigned n_wanted, unsigned depth, uint64_t n_pairs) {
    struct rng rng = rng_seeded(2);
    struct node *root = grow(&rng, n_wanted, depth);
    uint64_t sum = 0, n_each = n_boxed_by(root);
    for (uint64_t i = 0; i < n_pairs; i += n_each) {
        struct value *v = evaluate(root);
        sum += v->n;
        free(v);
    }
    return sum;
}

int main(int argc, char **argv) {
    need_args(argc, 4, "paths turns|wrapped|interpreter STACKS DEPTH PAIRS");
    uint64_t n_stacks = number(argv[2]), depth = number(argv[3]), n_pairs = number(argv[4]);
    if (n_stacks == 0 || n_stacks > MAX_STACKS || depth < 4 || depth > MAX_DEPTH) return 2;
    if (!strcmp(argv[1], "interpreter"))
        return finish(n_pairs, interpret((unsigned)n_stacks, (unsigned)depth, n_pairs));
    is_wrapped = !strcmp(argv[1], "wrapped");
    unsigned n_levels = (unsigned)depth - 2 - (is_wrapped ? 2 : 0);
    make_paths((unsigned)n_stacks, n_levels);
    return finish(n_pairs, take_turns((unsigned)n_stacks, n_levels, n_pairs));
}
