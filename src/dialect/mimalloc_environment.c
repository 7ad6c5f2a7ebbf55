/* mimalloc_environment.c - MIMALLOC_... variables, read inside the first malloc.
 *
 * Names in any case. A value is 1 (or empty, true, yes, on), 0 (false, no, off) or a decimal number; of an option in KiB a number
 * of bytes, or with K, M, G, T and then B or iB after it. A value that is none leaves the option as it is and is told of when
 * errors are shown; a name that is none is told of in any case. What VITRINE_... variables have set stays.
 *
 * Climate: malloc.
 */
#include <limits.h>

#include "conf/options.h"
#include "dialect/mimalloc_impl.h"
#include "os/os.h"

#define PREFIX "MIMALLOC_"
#define VALUE_MAX_BYTES 64

static char upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 32) : c; }

/* Does s begin with `word`, whatever its case? Answers what is behind it, or NULL. */
static const char *behind(const char *s, const char *word) {
    for (; *word != '\0'; s++, word++)
        if (upper(*s) != upper(*word)) return NULL;
    return s;
}

/* ---- values ---- */

static bool is_one_of(const char *value, const char *const *words) {
    for (; *words != NULL; words++)
        if (vt__str_equal(value, *words)) return true;
    return false;
}

/* A decimal number that begins at *s, which moves behind it; what is too large becomes the largest. */
static bool read_number(const char **s, long *out) {
    const char *c = *s;
    bool is_negative = *c == '-';
    long n = 0;
    if (*c == '-' || *c == '+') c++;
    if (*c < '0' || *c > '9') return false;
    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(n, 10L, &n) || __builtin_add_overflow(n, *c - '0', &n))
            n = LONG_MAX; /* and stays it */
    *out = is_negative ? -n : n;
    *s = c;
    return true;
}

/* Bytes, or a number with a unit, to KiB. */
static bool read_unit(const char **s, long *kib) {
    static const char units[] = "KMGT";
    unsigned i = 0;
    while (units[i] != '\0' && **s != units[i]) i++;
    if (units[i] == '\0') {
        *kib = *kib / 1024 + (*kib % 1024 > 0);
    } else {
        (*s)++;
        for (; i > 0; i--)
            if (__builtin_mul_overflow(*kib, 1024L, kib)) *kib = LONG_MAX / 1024 / 1024;
    }
    if ((*s)[0] == 'I' && (*s)[1] == 'B')
        *s += 2;
    else if (**s == 'B')
        (*s)++;
    return *kib >= 0;
}

bool vt__mi_parse(const char *value, enum vt_mi_unit unit, long *out) {
    static const char *const yes[] = {"", "1", "TRUE", "YES", "ON", NULL};
    static const char *const no[] = {"0", "FALSE", "NO", "OFF", NULL};
    char v[VALUE_MAX_BYTES + 1];
    size_t n = 0;
    for (; n < VALUE_MAX_BYTES && value[n] != '\0'; n++) v[n] = upper(value[n]);
    v[n] = '\0';
    if (is_one_of(v, yes) || is_one_of(v, no)) {
        *out = is_one_of(v, yes);
        return true;
    }
    const char *s = v;
    long number;
    if (!read_number(&s, &number)) return false;
    if (unit == VT_MI_KIB && !read_unit(&s, &number)) return false;
    if (*s != '\0') return false;
    *out = number;
    return true;
}

/* ---- names ---- */

static const char *find(const char *const *environment, const char *name) {
    for (; *environment != NULL; environment++) {
        const char *rest = behind(*environment, PREFIX);
        if (rest != NULL && (rest = behind(rest, name)) != NULL && *rest == '=') return rest + 1;
    }
    return NULL;
}

static void warn_older_name(const struct vt_mi_option_row *row) {
    struct vt_mi_message m;
    vt__mi_begin(&m, "mimalloc: warning: ");
    vt__text_put(&m.text, "environment option \"mimalloc_");
    vt__text_put(&m.text, row->older_name);
    vt__text_put(&m.text, "\" is deprecated -- use \"mimalloc_");
    vt__text_put(&m.text, row->name);
    vt__text_put(&m.text, "\" instead.");
    vt__mi_warn(&m);
}

static void warn_bad_value(const struct vt_mi_option_row *row) {
    struct vt_mi_message m;
    vt__mi_begin(&m, "mimalloc: warning: ");
    vt__text_put(&m.text, "environment option mimalloc_");
    vt__text_put(&m.text, row->name);
    vt__text_put(&m.text, " has an invalid value.");
    vt__mi_warn(&m);
}

static void read_row(const char *const *environment, enum vt_mi_option o) {
    const struct vt_mi_option_row *row = &vt__mi_option_rows[o];
    const char *value = find(environment, row->name);
    long number;
    if (value == NULL && row->older_name != NULL) {
        value = find(environment, row->older_name);
        if (value != NULL) warn_older_name(row);
    }
    if (value == NULL) return;
    if (vt__mi_parse(value, row->unit, &number))
        vt__mi_option_put(o, number);
    else
        warn_bad_value(row);
}

static bool is_name(const char *at, size_t n, const char *name) {
    const char *end = name != NULL ? behind(at, name) : NULL;
    return end != NULL && (size_t)(end - at) == n;
}

/* Names that older versions had, and that mean nothing any more. */
static const char *const past[] = {
    "decommit_delay",          "allow_decommit", "segment_decommit_delay", "page_reset",
    "abandoned_page_decommit", "segment_cache",  "segment_reset",          NULL};

static bool is_known(const char *at, size_t n) {
    for (unsigned i = 0; i < VT_MI_N_OPTIONS; i++)
        if (is_name(at, n, vt__mi_option_rows[i].name) ||
            is_name(at, n, vt__mi_option_rows[i].older_name))
            return true;
    for (const char *const *p = past; *p != NULL; p++)
        if (is_name(at, n, *p)) return true;
    return false;
}

/* By what variables call them: the newer name, then the older one. */
static const char *name_of(size_t i) {
    const struct vt_mi_option_row *row = &vt__mi_option_rows[i % VT_MI_N_OPTIONS];
    return i < VT_MI_N_OPTIONS ? row->name : row->older_name;
}

void vt__mimalloc_read_environment(void) {
    static const struct vt_known_names known = {name_of, (size_t)2 * VT_MI_N_OPTIONS, "mimalloc_"};
    const char *const *environment = vt__os_environment();
    bool is_any = false;
    for (const char *const *e = environment; e != NULL && *e != NULL; e++) {
        const char *at = behind(*e, PREFIX);
        size_t n = 0;
        if (at == NULL) continue;
        is_any = true;
        while (at[n] != '\0' && at[n] != '=') n++;
        if (!is_known(at, n))
            vt__warn_unknown("unknown variable", *e, (size_t)(at - *e) + n, " is ignored", &known);
    }
    if (!is_any) return;
    for (unsigned o = 0; o < VT_MI_N_OPTIONS; o++) read_row(environment, (enum vt_mi_option)o);
}
