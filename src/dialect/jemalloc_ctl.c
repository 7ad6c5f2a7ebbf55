/* jemalloc_ctl.c - mallctl: from a name or a MIB to a row of jemalloc_ctl.def, and jemalloc's rules about lengths and errors.
 *
 * A MIB has a number for each part of the name: the number itself where the part is one, else the place of the first row that
 * begins with the same parts. So the last one is the place of the row.
 *
 * Climate: host.   Owns: nothing.   Locks: none.
 */
#include <errno.h>

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

/* ---- names ---- */

struct part {
    const char *at;
    size_t len;
};

/* The part at *s, which moves behind it; false: there is none. */
static bool next_part(const char **s, struct part *out) {
    if (**s == '\0') return false;
    out->at = *s;
    while (**s != '\0' && **s != '.') ++*s;
    out->len = (size_t)(*s - out->at);
    if (**s == '.') ++*s;
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

static bool is_same_part(struct part a, struct part b) {
    return a.len == b.len && __builtin_memcmp(a.at, b.at, a.len) == 0;
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

/* Does the row begin with the parts of `name`? Its numbers, and how many parts there are. */
static bool begins_with(const struct row *row, const char *name, size_t *depth, bool *is_whole,
                        size_t mib[DEPTH]) {
    const char *have = row->name;
    struct part a, b;
    for (*depth = 0; next_part(&name, &b); ++*depth) {
        if (!next_part(&have, &a)) return false;
        if (!is_number_part(a) && !is_same_part(a, b)) return false;
        if (is_number_part(a) && (!parse_index(b, &mib[*depth]) || !is_index(a.at[1], mib[*depth])))
            return false;
    }
    *is_whole = *have == '\0';
    return *depth > 0;
}

/* The first row with the same first `n` parts. */
static size_t first_like(size_t i, size_t n) {
    const char *end = rows[i].name;
    struct part p;
    for (size_t k = 0; k < n; k++) (void)next_part(&end, &p);
    size_t len = (size_t)(end - rows[i].name);
    size_t first = i;
    while (first > 0 && __builtin_strncmp(rows[first - 1].name, rows[i].name, len) == 0) first--;
    return first;
}

static int find(const char *name, size_t mib[DEPTH], size_t *depth, bool *is_whole) {
    size_t len = vt__str_len(name);
    if (len == 0 || name[len - 1] == '.') return ENOENT;
    for (size_t i = 0; i < vt_countof(rows); i++) {
        const char *have = rows[i].name;
        struct part p;
        if (!begins_with(&rows[i], name, depth, is_whole, mib)) continue;
        for (size_t k = 0; k < *depth && next_part(&have, &p); k++)
            if (!is_number_part(p)) mib[k] = first_like(i, k + 1);
        return 0;
    }
    return ENOENT;
}

/* The row of a whole MIB, and the numbers in it. NULL: there is none. */
static const struct row *row_of(const size_t *mib, size_t n, struct vt_je_call *c) {
    size_t i = n > 0 && n <= DEPTH ? mib[n - 1] : SIZE_MAX;
    size_t depth = 0, n_indices = 0;
    struct part p;
    if (i >= vt_countof(rows)) return NULL;
    for (const char *have = rows[i].name; next_part(&have, &p); depth++) {
        if (depth == n) return NULL;
        if (is_number_part(p)) {
            if (!is_index(p.at[1], mib[depth])) return NULL;
            c->index[n_indices++] = mib[depth];
        } else if (mib[depth] != first_like(i, depth + 1)) {
            return NULL;
        }
    }
    c->is_default = n_indices == 0;
    return depth == n ? &rows[i] : NULL;
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

static int call(const struct row *row, struct vt_je_call *c) {
    uint64_t old = 0, value = 0;
    c->what = row->what;
    c->has_new = c->newp != NULL;
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
    return is_readable(row) ? vt__je_store(c, &old, type_bytes[row->type]) : 0;
}

/* ---- the three functions ---- */

VT_EXPORT int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen) {
    size_t mib[DEPTH] = {0}, depth;
    if (vt__life_start() != 0) return EAGAIN;
    bool is_whole;
    int err = find(name, mib, &depth, &is_whole);
    if (err != 0) return err;
    return is_whole ? mallctlbymib(mib, depth, oldp, oldlenp, newp, newlen) : ENOENT;
}

VT_EXPORT int mallctlnametomib(const char *name, size_t *mibp, size_t *miblenp) {
    size_t mib[DEPTH] = {0}, depth;
    bool is_whole;
    if (vt__life_start() != 0) return EAGAIN;
    int err = find(name, mib, &depth, &is_whole);
    if (err != 0) return err;
    *miblenp = vt_min(*miblenp, depth);
    for (size_t i = 0; i < *miblenp; i++) mibp[i] = mib[i];
    return 0;
}

VT_EXPORT int mallctlbymib(const size_t *mib, size_t miblen, void *oldp, size_t *oldlenp,
                           void *newp, size_t newlen) {
    struct vt_je_call c = {.newp = newp, .newlen = newlen, .oldp = oldp};
    c.oldlenp = oldlenp;
    if (vt__life_start() != 0) return EAGAIN;
    const struct row *row = row_of(mib, miblen, &c);
    return row != NULL ? call(row, &c) : ENOENT;
}
