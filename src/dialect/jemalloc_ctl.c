/* jemalloc_ctl.c - mallctl: from a name or a MIB to a row of jemalloc_ctl.def, and jemalloc's rules about lengths and errors.
 * Engines ask for each request, so a name is found by hashing it, and one with numbers by hashing its parts (tests/cost counts what
 * that takes).
 *
 * A MIB has a number for each part of the name: the number itself where the part is one, else the place of the first row that
 * begins with the same parts. So the last one is the place of the row.
 *
 * Climate: host.   Owns: the tree of names.   Locks: none.
 */
#include <errno.h>
#include <stdatomic.h>

#include "dialect/jemalloc_nodes.h"
#include "heap/class.h"
#include "heap/upcalls.h"
#include "compat/jemalloc/jemalloc.h"

#define DEPTH 7

enum type {
    T_BOOL,
    T_SIZE,
    T_SSIZE,
    T_UNSIGNED,
    T_U32,
    T_U64,
    T_I64,
    T_TEXT,
    T_POINTER,
    T_VOID,
    T_SPECIAL
};
static const unsigned char type_bytes[] = {[T_BOOL] = sizeof(bool),
                                           [T_SIZE] = 8,
                                           [T_SSIZE] = 8,
                                           [T_UNSIGNED] = 4,
                                           [T_U32] = 4,
                                           [T_U64] = 8,
                                           [T_I64] = 8,
                                           [T_TEXT] = 8,
                                           [T_POINTER] = 8};

static const struct row {
    const char *name;
    enum type type;
    vt_je_reader *read;
    vt_je_writer *write;
    int what;
    enum { NOT, TO_WRITE, TO_CALL } needs_prof;
} rows[] = {
#define NODE(name, type, read, write, what) PROF_NODE(NOT, name, type, read, write, what)
#define PROF_NODE(needs, name, type, read, write, what)                                            \
    {name, T_##type, vt__je_read_##read, vt__je_write_##write, (int)(what), needs},
#include "dialect/jemalloc_ctl.def"
};

int vt__je_read_NONE(const struct vt_je_call *c, uint64_t *out) {
    (void)c;
    *out = 0;
    return EPERM;
}

int vt__je_write_NONE(const struct vt_je_call *c, uint64_t value) {
    (void)c, (void)value;
    return EPERM;
}

static bool is_readable(const struct row *row) { return row->read != vt__je_read_NONE; }
static bool is_writable(const struct row *row) { return row->write != vt__je_write_NONE; }

/* ---- names: a tree of their parts, in which a part is found by hashing; those without numbers as a whole, too ---- */

struct part {
    const char *at;
    size_t len;
    uint32_t hash;
};

#define N_NODES (vt_countof(rows) + 128) /* inner ones, too */
#define N_SLOTS 2048                     /* a power of two, above twice N_NODES */
#define NO_ROW UINT16_MAX
_Static_assert(N_SLOTS >= 2 * N_NODES, "a part that is not there is soon known");

struct node {
    const char *part;
    uint16_t parent;    /* node 0 is the root, of no part */
    uint16_t first_row; /* that begins with the same parts */
    uint16_t row;       /* whose name ends here; NO_ROW: a name goes on */
    uint16_t numbers;   /* the child that any number leads to; 0: there is none */
    uint8_t len;
    uint8_t depth;
    uint8_t n_indices; /* numbers up to here */
    char letter;       /* of a number; 0: it is a word */
};

static struct tree {
    uint16_t n_nodes;
    uint16_t slot[N_SLOTS];  /* 0: none */
    uint16_t whole[N_SLOTS]; /* a row whose name has no numbers, plus 1; 0: none */
    uint16_t node_of[vt_countof(rows)];
    uint8_t len[vt_countof(rows)]; /* of the name */
    struct node node[N_NODES];
} tree;
static _Atomic uint8_t tree_state; /* enum below */
enum { TREE_IS_UNMADE, TREE_COMES, TREE_IS_MADE };

/* The part at *s, which moves behind it; false: there is none. */
static bool next_part(const char **s, struct part *out) {
    const char *at = *s;
    uint32_t hash = 0;
    if (*at == '\0') return false;
    for (uint8_t c; (c = (uint8_t)*at) != '\0' && c != '.'; at++) hash = hash * 9 + c;
    *out = (struct part){*s, (size_t)(at - *s), hash};
    *s = *at == '.' ? at + 1 : at;
    return true;
}

static bool is_number_part(struct part p) { return p.len == 2 && p.at[0] == '#'; }

static bool parse_index(struct part p, size_t *out) {
    size_t n = 0;
    for (size_t i = 0; i < p.len; i++) {
        if (p.at[i] < '0' || p.at[i] > '9' || n > SIZE_MAX / 100) return false;
        n = n * 10 + (size_t)(p.at[i] - '0');
    }
    *out = n;
    return p.len > 0;
}

static bool is_part(const struct node *n, size_t parent, struct part p) {
    return n->parent == parent && n->len == p.len && __builtin_memcmp(n->part, p.at, p.len) == 0;
}

/* Where the child of `parent` with this part is named, or would be. */
static uint16_t *find_slot(struct tree *t, size_t parent, struct part p) {
    size_t i = (p.hash + parent * UINT32_C(0x9e3779b1)) % N_SLOTS;
    while (t->slot[i] != 0 && !is_part(&t->node[t->slot[i]], parent, p)) i = (i + 1) % N_SLOTS;
    return &t->slot[i];
}

static uint16_t add_node(struct tree *t, uint16_t parent, struct part p, size_t row) {
    const struct node *above = &t->node[parent];
    bool is_number = is_number_part(p);
    t->node[t->n_nodes] = (struct node){.part = p.at,
                                        .parent = parent,
                                        .first_row = (uint16_t)row,
                                        .row = NO_ROW,
                                        .len = (uint8_t)p.len,
                                        .depth = (uint8_t)(above->depth + 1),
                                        .n_indices = (uint8_t)(above->n_indices + is_number),
                                        .letter = is_number ? p.at[1] : '\0'};
    return t->n_nodes++;
}

VT_INLINE uint32_t hash_name(const char *name, size_t *len) {
    uint32_t hash = 0;
    const char *at = name;
    for (uint8_t c; (c = (uint8_t)*at) != '\0'; at++) hash = hash * 9 + c;
    *len = (size_t)(at - name);
    return hash;
}

static void add_whole(struct tree *t, size_t row) {
    size_t len, i = hash_name(rows[row].name, &len) % N_SLOTS;
    while (t->whole[i] != 0) i = (i + 1) % N_SLOTS;
    t->whole[i] = (uint16_t)(row + 1);
    t->len[row] = (uint8_t)len;
}

static void add_row(struct tree *t, size_t row) {
    const char *name = rows[row].name;
    uint16_t at = 0;
    struct part p;
    while (next_part(&name, &p)) {
        uint16_t *child = is_number_part(p) ? &t->node[at].numbers : find_slot(t, at, p);
        if (*child == 0) *child = add_node(t, at, p, row);
        at = *child;
    }
    t->node[at].row = (uint16_t)row;
    t->node_of[row] = at;
    if (t->node[at].n_indices == 0) add_whole(t, row);
}

/* The first question makes the tree. Who asks meanwhile makes one for himself: nobody waits, and a child that was forked meanwhile
 * gets along without. */
static VT_COLD struct tree *make_tree(struct tree *mine) {
    uint8_t unmade = TREE_IS_UNMADE;
    *mine = (struct tree){.n_nodes = 1};
    for (size_t i = 0; i < vt_countof(rows); i++) add_row(mine, i);
    if (!atomic_compare_exchange_strong(&tree_state, &unmade, TREE_COMES)) return mine;
    tree = *mine;
    /* release: pairs with the acquire of who asks */
    atomic_store_explicit(&tree_state, TREE_IS_MADE, memory_order_release);
    return &tree;
}

static bool is_made(void) {
    return vt_likely(atomic_load_explicit(&tree_state, memory_order_acquire) == TREE_IS_MADE);
}

/* May there be this number in such a place? */
static bool is_index(char letter, size_t i) {
    switch (letter) {
    case 'a': return i <= vt__je_narenas() || i == VT_JE_ALL_ARENAS || i == VT_JE_DESTROYED_ARENAS;
    case 's': return i == vt__je_narenas() || i == VT_JE_ALL_ARENAS || vt__je_arena_is_there(i);
    case 'b': return i < VT_N_CLASSES;
    case 'l': return i < VT_JE_LARGE;
    case 'x': return i < VT_JE_PAGE_CLASSES;
    default: return i < 64; /* #h */
    }
}

/* NULL: there is none without numbers. */
static const struct row *find_whole(const struct tree *t, const char *name) {
    size_t len, i = hash_name(name, &len) % N_SLOTS;
    for (; t->whole[i] != 0; i = (i + 1) % N_SLOTS) {
        size_t row = t->whole[i] - 1u;
        if (t->len[row] == len && __builtin_memcmp(rows[row].name, name, len) == 0)
            return &rows[row];
    }
    return NULL;
}

/* What the parts of a name lead to. */
struct found {
    size_t mib[DEPTH];
    size_t depth;
    const struct row *row; /* NULL: names go on there */
};

/* False: no name begins so. The numbers in it are put into c. */
static bool find_in(struct tree *t, const char *name, struct found *out, struct vt_je_call *c) {
    const struct node *n = &t->node[0];
    struct part p = {name, 0, 0};
    while (next_part(&name, &p)) {
        size_t at = n->numbers != 0 ? n->numbers : *find_slot(t, (size_t)(n - t->node), p);
        size_t number;
        if (at == 0) return false;
        n = &t->node[at];
        if (n->letter != '\0') {
            if (!parse_index(p, &number) || !is_index(n->letter, number)) return false;
            c->index[n->n_indices - 1] = number;
        }
        out->mib[n->depth - 1] = n->letter != '\0' ? number : n->first_row;
    }
    out->depth = n->depth;
    out->row = n->row != NO_ROW ? &rows[n->row] : NULL;
    c->is_default = n->n_indices == 0;
    return n->depth > 0 && p.at[p.len] == '\0';
}

/* The row of a whole MIB, and the numbers in it. NULL: there is none. */
static const struct row *row_in(const struct tree *t, const size_t *mib, size_t n,
                                struct vt_je_call *c) {
    size_t row = n > 0 && n <= DEPTH ? mib[n - 1] : SIZE_MAX;
    if (row >= vt_countof(rows)) return NULL;
    const struct node *at = &t->node[t->node_of[row]];
    if (at->depth != n) return NULL;
    c->is_default = at->n_indices == 0;
    for (; n > 0; at = &t->node[at->parent]) {
        n--;
        if (at->letter == '\0' ? mib[n] != at->first_row : !is_index(at->letter, mib[n]))
            return NULL;
        if (at->letter != '\0') c->index[at->n_indices - 1] = mib[n];
    }
    return &rows[row];
}

static VT_COLD bool find_slowly(const char *name, struct found *out, struct vt_je_call *c) {
    struct tree mine;
    return find_in(make_tree(&mine), name, out, c);
}

static bool find(const char *name, struct found *out, struct vt_je_call *c) {
    return is_made() ? find_in(&tree, name, out, c) : find_slowly(name, out, c);
}

static const struct row *row_named(const char *name, struct vt_je_call *c) {
    struct found found;
    const struct row *row = is_made() ? find_whole(&tree, name) : NULL;
    if (row == NULL) return find(name, &found, c) ? found.row : NULL;
    c->is_default = true;
    return row;
}

static VT_COLD const struct row *row_slowly(const size_t *mib, size_t n, struct vt_je_call *c) {
    struct tree mine;
    return row_in(make_tree(&mine), mib, n, c);
}

static const struct row *row_of(const size_t *mib, size_t n, struct vt_je_call *c) {
    return is_made() ? row_in(&tree, mib, n, c) : row_slowly(mib, n, c);
}

/* ---- values ---- */

static uint64_t load(const void *from, enum type type) {
    uint64_t value = 0;
    __builtin_memcpy(&value, from, type_bytes[type]); /* little-endian, as all we run on */
    return value;
}

int vt__je_store(const struct vt_je_call *c, const void *from, size_t n_bytes) {
    if (c->oldp == NULL || c->oldlenp == NULL) return 0;
    size_t has = *c->oldlenp;
    __builtin_memcpy(c->oldp, from, vt_min(n_bytes, has));
    *c->oldlenp = vt_min(n_bytes, has);
    return n_bytes == has ? 0 : EINVAL;
}

/* Most values are words, and most callers have room for just that. */
VT_INLINE int store(const struct vt_je_call *c, uint64_t value, size_t n_bytes) {
    if (vt_unlikely(n_bytes != sizeof(value)) || c->oldp == NULL || c->oldlenp == NULL ||
        vt_unlikely(*c->oldlenp != sizeof(value)))
        return vt__je_store(c, &value, n_bytes);
    __builtin_memcpy(c->oldp, &value, sizeof(value));
    return 0;
}

/* Nothing but a value is asked for, as most do. */
static bool is_question(const struct row *row, const struct vt_je_call *c) {
    return c->newp == NULL && c->newlen == 0 && row->needs_prof != TO_CALL && row->type < T_VOID &&
           is_readable(row);
}

static int call_fully(const struct row *row, struct vt_je_call *c) {
    uint64_t old = 0, value = 0;
    if (row->needs_prof == TO_CALL || (row->needs_prof == TO_WRITE && c->has_new))
        if (!vt__je_prof_is_on()) return ENOENT;
    if (row->type == T_SPECIAL) return row->write(c, 0);
    if (row->type == T_VOID)
        return c->oldp != NULL || c->oldlenp != NULL || c->newp != NULL || c->newlen != 0
                   ? EPERM
                   : row->write(c, 0);
    if (!is_writable(row) && (c->newp != NULL || c->newlen != 0)) return EPERM;
    if (!is_readable(row) && (c->oldp != NULL || c->oldlenp != NULL)) return EPERM;
    if (c->has_new) {
        if (c->newlen != type_bytes[row->type]) return EINVAL;
        value = load(c->newp, row->type);
    }
    int err = is_readable(row) ? row->read(c, &old) : 0;
    if (err == 0 && is_writable(row) && (c->has_new || !is_readable(row)))
        err = row->write(c, value);
    if (err != 0) return err;
    if (row->write == vt__je_write_epoch)
        (void)row->read(c, &old); /* alone in telling the new one */
    return is_readable(row) ? store(c, old, type_bytes[row->type]) : 0;
}

static int call(const struct row *row, struct vt_je_call *c) {
    uint64_t value = 0;
    c->what = row->what;
    c->has_new = c->newp != NULL;
    if (!is_question(row, c)) return call_fully(row, c);
    int err = row->read(c, &value);
    return vt_likely(err == 0) ? store(c, value, type_bytes[row->type]) : err;
}

/* ---- the three functions ---- */

static struct vt_je_call begin_call(void *oldp, size_t *oldlenp, void *newp, size_t newlen) {
    struct vt_je_call c = {.newp = newp, .newlen = newlen, .oldp = oldp};
    c.oldlenp = oldlenp;
    return c;
}

VT_EXPORT int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen) {
    struct vt_je_call c = begin_call(oldp, oldlenp, newp, newlen);
    if (vt__life_start() != 0) return EAGAIN;
    const struct row *row = row_named(name, &c);
    return row != NULL ? call(row, &c) : ENOENT;
}

VT_EXPORT int mallctlnametomib(const char *name, size_t *mibp, size_t *miblenp) {
    struct vt_je_call unused;
    struct found found = {0};
    if (vt__life_start() != 0) return EAGAIN;
    if (!find(name, &found, &unused)) return ENOENT;
    *miblenp = vt_min(*miblenp, found.depth);
    for (size_t i = 0; i < *miblenp; i++) mibp[i] = found.mib[i];
    return 0;
}

VT_EXPORT int mallctlbymib(const size_t *mib, size_t miblen, void *oldp, size_t *oldlenp,
                           void *newp, size_t newlen) {
    struct vt_je_call c = begin_call(oldp, oldlenp, newp, newlen);
    if (vt__life_start() != 0) return EAGAIN;
    const struct row *row = row_of(mib, miblen, &c);
    return row != NULL ? call(row, &c) : ENOENT;
}
