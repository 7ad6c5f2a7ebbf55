/* options.c - reads VITRINE and VITRINE_NAME from the environment against the rows of options.def.
 *
 * Climate: malloc (it runs inside the first malloc).   Owns: vt__option_values.
 * What is not understood changes nothing and is named in one warning line, with the nearest name we know.
 */
#include "conf/options.h"

#include "os/os.h"

const struct vt_option_row vt__option_rows[VT_OPT_COUNT] = {
#define OPTION(kind, name, dflt, low, high, help) {#name, help, dflt, low, high, VT_KIND_##kind},
#include "conf/options.def"
};

uint64_t vt__option_values[VT_OPT_COUNT] = {
#define OPTION(kind, name, dflt, low, high, help) dflt,
#include "conf/options.def"
};

#define NAME_MAX_BYTES 64

/* A piece of the environment: not NUL-terminated. */
struct span {
    const char *at;
    size_t len;
};

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static bool span_is(struct span s, const char *word) {
    size_t i = 0;
    for (; i < s.len && word[i] != '\0'; i++)
        if (lower(s.at[i]) != word[i]) return false;
    return i == s.len && word[i] == '\0';
}

static int find(struct span name) {
    for (int i = 0; i < VT_OPT_COUNT; i++)
        if (span_is(name, vt__option_rows[i].name)) return i;
    return -1;
}

/* Letters to insert, drop or change to turn a into b (Levenshtein), one row of the matrix at a time. */
static unsigned distance(struct span a, const char *b) {
    unsigned row[NAME_MAX_BYTES + 1];
    size_t n = vt_min(vt__str_len(b), NAME_MAX_BYTES);
    for (size_t j = 0; j <= n; j++) row[j] = (unsigned)j;
    for (size_t i = 1; i <= vt_min(a.len, NAME_MAX_BYTES); i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= n; j++) {
            unsigned change = diagonal + (lower(a.at[i - 1]) != lower(b[j - 1]));
            diagonal = row[j];
            row[j] = (unsigned)vt_min(change, vt_min(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

/* Near enough to be a slip of the name we know: one letter in three, at most three. */
static bool is_slip(struct span name, unsigned how_far) {
    return how_far <= 3 && how_far * 3 <= name.len;
}

/* The known name that this one is a slip of; NULL: of none. */
static const char *meant(struct span name, const struct vt_known_names *known) {
    const char *best = NULL;
    unsigned how_far = NAME_MAX_BYTES;
    for (size_t i = 0; i < known->n; i++) {
        const char *k = known->name(i);
        unsigned d = k != NULL ? distance(name, k) : NAME_MAX_BYTES;
        if (d < how_far) how_far = d, best = k;
    }
    return is_slip(name, how_far) ? best : NULL;
}

static const char *option_name(size_t i) { return vt__option_rows[i].name; }
static const struct vt_known_names options = {option_name, VT_OPT_COUNT, ""};

/* The environment's words in a message of ours, which vt__warn() spells. */
static void quote(char out[NAME_MAX_BYTES + 1], struct span s) {
    size_t n = vt_min(s.len, NAME_MAX_BYTES);
    for (size_t i = 0; i < n; i++) out[i] = s.at[i];
    out[n] = '\0';
}

void vt__warn(const char *a, const char *subject, const char *b) {
    char line[512];
    struct vt_text t = {line, sizeof(line) - 1, 0, false, NULL, NULL};
    vt__text_put(&t, "vitrine: warning: ");
    vt__text_put(&t, a);
    vt__text_put(&t, " '");
    vt__text_shown(&t, subject, vt__str_len(subject));
    vt__text_put(&t, "'");
    vt__text_put(&t, b);
    line[t.len++] = '\n';
    vt__os_write(2, line, t.len);
}

void vt__warn_because(const char *a, const char *subject, int err) {
    char rest[128];
    struct vt_text t = {rest, sizeof(rest) - 1, 0, false, NULL, NULL};
    const char *words = vt__os_error_words(err);
    vt__text_put(&t, ": ");
    vt__text_put(&t, words != NULL ? words : "error ");
    if (words == NULL) vt__text_int(&t, -err);
    rest[t.len] = '\0';
    vt__warn(a, subject, rest);
}

void vt__warn_unknown(const char *what, const char *name, size_t n_bytes, const char *where,
                      const struct vt_known_names *known) {
    char subject[NAME_MAX_BYTES + 1];
    char rest[160];
    struct span all = {name, n_bytes};
    size_t n_prefix = vt_min(vt__str_len(known->prefix), n_bytes);
    const char *near = meant((struct span){name + n_prefix, n_bytes - n_prefix}, known);
    quote(subject, all);
    struct vt_text t = {rest, sizeof(rest) - 1, 0, false, NULL, NULL};
    vt__text_put(&t, where);
    if (near != NULL) {
        vt__text_put(&t, "; did you mean '");
        vt__text_put(&t, known->prefix);
        vt__text_put(&t, near);
        vt__text_put(&t, "'?");
    }
    rest[t.len] = '\0';
    vt__warn(what, subject, rest);
}

static void warn_unknown(struct span name, const char *where) {
    vt__warn_unknown("unknown option", name.at, name.len, where, &options);
}

static void warn_value(const struct vt_option_row *row, struct span value) {
    static const char *const wants[] = {
        [VT_KIND_BOOL] = "on or off",
        [VT_KIND_TRI] = "on, off or auto",
        [VT_KIND_BYTES] = "bytes, with K, M, G or T behind if you like",
        [VT_KIND_MSEC] = "milliseconds",
        [VT_KIND_COUNT] = "a number",
        [VT_KIND_TEXT] = "a text that there is memory for",
    };
    char subject[NAME_MAX_BYTES + 1];
    char rest[256];
    quote(subject, value);
    struct vt_text t = VT_TEXT(rest);
    vt__text_put(&t, " for option '");
    vt__text_put(&t, row->name);
    vt__text_put(&t, "': it takes ");
    vt__text_put(&t, wants[row->kind]);
    if (row->kind >= VT_KIND_BYTES && row->kind != VT_KIND_TEXT) {
        vt__text_put(&t, " from ");
        vt__text_uint(&t, row->low);
        vt__text_put(&t, " to ");
        vt__text_uint(&t, row->high);
    }
    vt__text_char(&t, '\0');
    vt__warn("cannot use", subject, rest);
}

static bool parse_number(struct span v, bool takes_unit, uint64_t *out) {
    uint64_t n = 0;
    size_t i = 0;
    for (; i < v.len && v.at[i] >= '0' && v.at[i] <= '9'; i++) {
        if (n > (UINT64_MAX - 9) / 10) return false;
        n = n * 10 + (uint64_t)(v.at[i] - '0');
    }
    if (i == 0) return false;
    if (i < v.len && takes_unit) {
        unsigned shift = 0;
        switch (lower(v.at[i])) {
        case 'k': shift = 10; break;
        case 'm': shift = 20; break;
        case 'g': shift = 30; break;
        case 't': shift = 40; break;
        default: return false;
        }
        if (n > UINT64_MAX >> shift) return false;
        n <<= shift;
        i++;
        struct span tail = {v.at + i, v.len - i}; /* 8M, 8MB and 8MiB are the same */
        if (span_is(tail, "b") || span_is(tail, "ib")) i = v.len;
    }
    *out = n;
    return i == v.len;
}

static bool parse_switch(struct span v, uint64_t *out) {
    static const char *const words[][2] = {
        {"off", "on"}, {"0", "1"}, {"no", "yes"}, {"false", "true"}};
    for (size_t i = 0; i < vt_countof(words); i++)
        for (uint64_t side = 0; side < 2; side++)
            if (span_is(v, words[i][side])) {
                *out = side;
                return true;
            }
    return false;
}

/* A copy: the program may change its environment. */
static bool parse_text(struct span v, uint64_t *out) {
    char *copy = vt__arena_take(v.len + 1, 1);
    if (copy != NULL) __builtin_memcpy(copy, v.at, v.len);
    *out = (uintptr_t)copy;
    return copy != NULL;
}

static bool parse(const struct vt_option_row *row, struct span v, uint64_t *out) {
    switch (row->kind) {
    case VT_KIND_TRI:
        if (span_is(v, "auto")) {
            *out = VT_AUTO;
            return true;
        }
        return parse_switch(v, out);
    case VT_KIND_BOOL: return parse_switch(v, out);
    case VT_KIND_TEXT: return parse_text(v, out);
    default:
        return parse_number(v, row->kind == VT_KIND_BYTES, out) && *out >= row->low &&
               *out <= row->high;
    }
}

static void set(int o, struct span value) {
    uint64_t v;
    if (parse(&vt__option_rows[o], value, &v))
        vt__option_values[o] = v;
    else
        warn_value(&vt__option_rows[o], value);
}

/* "name=value,name" */
static void read_list(const char *list) {
    static const struct span on = {"on", 2};
    while (*list != '\0') {
        struct span name = {list, 0};
        struct span value = on; /* a name alone switches it on */
        while (*list != '\0' && *list != ',' && *list != '=') list++;
        name.len = (size_t)(list - name.at);
        if (*list == '=') {
            value.at = ++list;
            while (*list != '\0' && *list != ',') list++;
            value.len = (size_t)(list - value.at);
        }
        if (*list == ',') list++;
        if (name.len == 0) continue;
        int o = find(name);
        if (o >= 0)
            set(o, value);
        else
            warn_unknown(name, " in VITRINE");
    }
}

/* One variable of the environment: ours, or not. */
static void read_variable(const char *v) {
    static const char prefix[] = "VITRINE_";
    if (!vt__str_starts(v, prefix)) return;
    struct span name = {v + sizeof(prefix) - 1, 0};
    while (name.at[name.len] != '\0' && name.at[name.len] != '=') name.len++;
    if (name.at[name.len] == '\0') return;
    struct span value = {name.at + name.len + 1, vt__str_len(name.at + name.len + 1)};
    int o = find(name);
    if (o >= 0)
        set(o, value);
    else if (meant(name, &options) !=
             NULL) /* anything further off may be somebody else's variable */
        warn_unknown(name, " in the environment (VITRINE_...)");
}

void vt__options_read(void) {
    const char *list = vt__os_getenv("VITRINE");
    if (list != NULL) read_list(list);
    for (const char *const *e = vt__os_environment(); e != NULL && *e != NULL; e++)
        read_variable(*e);
}

void vt__option_show(struct vt_text *t, enum vt_option o, uint64_t value) {
    static const char *const words[] = {"off", "on", "auto"};
    switch (vt__option_rows[o].kind) {
    case VT_KIND_BOOL:
    case VT_KIND_TRI: vt__text_put(t, words[vt_min(value, 2)]); break;
    case VT_KIND_MSEC:
        vt__text_uint(t, value);
        vt__text_put(t, " ms");
        break;
    case VT_KIND_TEXT: vt__text_put(t, value != 0 ? (const char *)(uintptr_t)value : "none"); break;
    default: vt__text_uint(t, value);
    }
}

void vt__options_help(struct vt_text *t) {
    vt__text_put(t, "Options: VITRINE=name=value,name,... or VITRINE_NAME=value\n");
    for (int i = 0; i < VT_OPT_COUNT; i++) {
        const struct vt_option_row *row = &vt__option_rows[i];
        vt__text_put(t, "  ");
        vt__text_put(t, row->name);
        vt__text_pad(t, ' ', (unsigned)(16 - vt_min(15, vt__str_len(row->name))));
        vt__text_put(t, row->help);
        vt__text_put(t, " (default ");
        vt__option_show(t, (enum vt_option)i, row->dflt);
        vt__text_put(t, ")\n");
    }
}

unsigned vt__option_choice(const struct vt_choice *c, unsigned dflt) {
    const char *wanted = (const char *)(uintptr_t)vt__option_values[c->option];
    if (wanted == NULL || *wanted == '\0') return dflt;
    for (unsigned i = 0; i < vt_countof(c->words); i++)
        if (c->words[i] != NULL && vt__str_equal(wanted, c->words[i])) return i;
    vt__warn(c->what, wanted, c->takes);
    vt__option_values[c->option] = 0; /* said once */
    return dflt;
}
