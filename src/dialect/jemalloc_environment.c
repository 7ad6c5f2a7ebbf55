/* jemalloc_environment.c - jemalloc's options: where they come from, and which of ours they set.
 *
 *   1  the program's variable malloc_conf (or je_malloc_conf)     2  the text of the link /etc/malloc.conf
 *   3  MALLOC_CONF (or JE_MALLOC_CONF) in the environment         4  the program's malloc_conf_2_conf_harder
 *
 * "key:value,key:value"; a later one wins. All keys are taken and kept for opt.KEY; those of set_our_options() do something. An
 * option of ours that was set by its own name, so that it differs from its default, stays.
 *
 * Climate: malloc (it runs inside the first malloc).   Owns: the values.
 */
#include "conf/options.h"
#include "dialect/jemalloc.h"
#include "os/os.h"

const struct vt_je_option_row vt__je_option_rows[VT_JE_OPT_COUNT] = {
#define CLIP true
#define RANGE false
#define OPTION(key, kind, dflt, low, high, bounds, words)                                          \
    {#key, words, (int64_t)(dflt), (int64_t)(low), (int64_t)(high), VT_JE_##kind, bounds, true},
#define HIDDEN(key, kind, dflt, low, high, bounds, words)                                          \
    {#key, words, (int64_t)(dflt), (int64_t)(low), (int64_t)(high), VT_JE_##kind, bounds, false},
#include "dialect/jemalloc_options.def"
};

struct vt_je_value vt__je_values[VT_JE_OPT_COUNT];
const char *vt__je_sources[VT_JE_SOURCES];

/* Defined by libjemalloc (jemalloc_alloc.c) or by the program; in other libraries perhaps by nobody. */
extern const char *malloc_conf __attribute__((weak));
extern const char *je_malloc_conf __attribute__((weak));
extern const char *malloc_conf_2_conf_harder __attribute__((weak));

#define LINK_BYTES 1024
#define RANGES_BYTES 1000

struct span {
    const char *at;
    size_t len;
};

static struct {
    bool had_error;   /* in the source that is read */
    bool is_scouting; /* looks only for confirm_conf, which has to be known before the first pair */
    char link[LINK_BYTES];
} conf;

/* ---- words ---- */

static bool span_is(struct span s, const char *word) {
    size_t i = 0;
    while (i < s.len && word[i] == s.at[i] && word[i] != '\0') i++;
    return i == s.len && word[i] == '\0';
}

static const char *copied(struct span s) {
    char *copy = vt__arena_take(s.len + 1, 1); /* zeroed */
    if (copy == NULL) return "";
    __builtin_memcpy(copy, s.at, s.len);
    return copy;
}

/* What was read is shown on one line, and not at any length. */
static void put_shown(struct vt_text *t, struct span s) {
    for (size_t i = 0; i < vt_min(s.len, 512); i++)
        vt__text_char(t, (unsigned char)s.at[i] < ' ' ? '?' : s.at[i]);
}

static void say_pair(const char *what, struct span key, struct span value) {
    char line[1200];
    struct vt_text t = {line, sizeof(line) - 1, 0, false, NULL, NULL};
    put_shown(&t, key);
    vt__text_char(&t, ':');
    put_shown(&t, value);
    line[t.len] = '\0';
    vt__je_say(what, ": ", line);
}

static void complain(const char *what, struct span key, struct span value) {
    static const char harmless[] = "experimental_"; /* these never count for abort_conf */
    bool counts = !span_is(key, "hpa_sec_bytes_after_flush");
    if (key.len >= sizeof(harmless) - 1 && vt__str_starts(key.at, harmless)) counts = false;
    conf.had_error |= counts;
    say_pair(what, key, value);
}

static void complain_about_string(const char *what, const char *string) {
    char line[600];
    struct vt_text t = {line, sizeof(line) - 1, 0, false, NULL, NULL};
    conf.had_error = true;
    put_shown(&t, (struct span){string, vt__str_len(string)});
    line[t.len] = '\0';
    vt__je_say(what, " -- ", line);
}

/* ---- values ---- */

/* As C writes numbers: 10, 0x10, 010, -1. */
static bool parse_number(struct span v, int64_t *out) {
    size_t i = 0;
    bool is_negative = v.len > 0 && v.at[0] == '-';
    if (v.len > 0 && (v.at[0] == '-' || v.at[0] == '+')) i++;
    unsigned base = 10;
    if (i + 1 < v.len && v.at[i] == '0') {
        bool is_hex = v.at[i + 1] == 'x' || v.at[i + 1] == 'X';
        base = is_hex ? 16 : 8;
        i += is_hex ? 2 : 1;
    }
    if (i == v.len) return false;
    uint64_t n = 0;
    for (; i < v.len; i++) {
        unsigned d = vt__digit_of(v.at[i]);
        if (d >= base || n > (uint64_t)INT64_MAX / base) return false;
        n = n * base + d;
    }
    if (n > INT64_MAX) return false;
    *out = is_negative ? -(int64_t)n : (int64_t)n;
    return true;
}

/* 0.25 in 65536ths; -1 is none. */
static bool parse_ratio(struct span v, int64_t *out) {
    uint64_t n = 0, scale = 1;
    bool has_point = false;
    *out = UINT32_MAX;
    if (span_is(v, "-1")) return true;
    for (size_t i = 0; i < v.len; i++) {
        if (v.at[i] == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (v.at[i] < '0' || v.at[i] > '9' || n > UINT32_MAX) return false;
        n = n * 10 + (uint64_t)(v.at[i] - '0');
        if (has_point) scale *= 10;
    }
    *out = (int64_t)(n * 65536 / scale);
    return v.len > 0 && n / scale < 65536;
}

/* a-b:n, with | between several. */
static bool is_ranges(struct span v) {
    if (span_is(v, "default")) return true;
    size_t i = 0;
    while (i < v.len) {
        for (unsigned part = 0; part < 3; part++) {
            size_t first = i;
            while (i < v.len && v.at[i] >= '0' && v.at[i] <= '9') i++;
            if (i == first) return false;
            if (part < 2 && (i == v.len || v.at[i++] != "-:"[part])) return false;
        }
        if (i < v.len && v.at[i++] != '|') return false;
    }
    return v.len > 0 && v.len <= RANGES_BYTES;
}

/* NULL: taken; else what is wrong with it. */
static const char *take_number(const struct vt_je_option_row *row, struct span v, int64_t *out) {
    int64_t n;
    if (row->key == vt__je_option_rows[VT_JE_OPT_narenas].key && span_is(v, "default")) {
        *out = row->dflt;
        return NULL;
    }
    if (!parse_number(v, &n)) return "Invalid conf value";
    if (!row->is_clipped && (n < row->low || n > row->high)) return "Out-of-range conf value";
    *out = n < row->low ? row->low : n > row->high ? row->high : n;
    return NULL;
}

static const char *take_choice(const struct vt_je_option_row *row, struct span v,
                               struct vt_je_value *out) {
    int64_t i = 0;
    for (const char *word = row->words; *word != '\0'; word += vt__str_len(word) + 1, i++) {
        if (!span_is(v, word)) continue;
        *out = (struct vt_je_value){i, word};
        return NULL;
    }
    return "Invalid conf value";
}

static const char *take(const struct vt_je_option_row *row, struct span v,
                        struct vt_je_value *out) {
    switch (row->kind) {
    case VT_JE_BOOL:
        if (!span_is(v, "true") && !span_is(v, "false")) return "Invalid conf value";
        out->n = span_is(v, "true");
        return NULL;
    case VT_JE_CHOICE: return take_choice(row, v, out);
    case VT_JE_RANGES:
        if (!is_ranges(v)) {
            conf.had_error = true;
            return row == &vt__je_option_rows[VT_JE_OPT_slab_sizes]
                       ? "Invalid settings for slab_sizes"
                   : row == &vt__je_option_rows[VT_JE_OPT_bin_shards]
                       ? "Invalid settings for bin_shards"
                       : "Invalid settings for tcache_ncached_max";
        }
        out->text = copied(v);
        return NULL;
    case VT_JE_RATIO:
        if (!parse_ratio(v, &out->n)) return "Invalid conf value";
        out->text = copied(v);
        return NULL;
    case VT_JE_TEXT: out->text = copied(v); return NULL;
    default: return take_number(row, v, &out->n);
    }
}

/* ---- pairs ---- */

static int find(struct span key) {
    for (int i = 0; i < VT_JE_OPT_COUNT; i++)
        if (span_is(key, vt__je_option_rows[i].key)) return i;
    return -1;
}

static void set_pair(struct span key, struct span value) {
    int o = find(key);
    if (conf.is_scouting) {
        if (o == VT_JE_OPT_confirm_conf)
            (void)take(&vt__je_option_rows[o], value, &vt__je_values[o]);
        return;
    }
    if (o < 0) {
        complain("Invalid conf pair", key, value);
        return;
    }
    const char *fault = take(&vt__je_option_rows[o], value, &vt__je_values[o]);
    if (fault != NULL)
        complain(fault, key, value);
    else if (vt_je(confirm_conf))
        say_pair("-- Set conf value", key, value);
}

static bool is_key_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void complain_once(const char *what, const char *string) {
    if (!conf.is_scouting) complain_about_string(what, string);
}

void vt__je_parse(const char *string) {
    const char *s = string;
    while (*s != '\0') {
        struct span key = {s, 0};
        while (is_key_char(*s)) s++;
        key.len = (size_t)(s - key.at);
        if (*s == '\0') {
            complain_once("Conf string ends with key", string);
            return;
        }
        if (*s != ':') {
            complain_once("Malformed conf string", string);
            return;
        }
        struct span value = {++s, 0};
        while (*s != '\0' && *s != ',') s++;
        value.len = (size_t)(s - value.at);
        set_pair(key, value);
        if (*s == ',' && *++s == '\0') complain_once("Conf string ends with comma", string);
    }
}

/* ---- sources ---- */

static void set_defaults(void) {
    for (int i = 0; i < VT_JE_OPT_COUNT; i++) {
        const struct vt_je_option_row *row = &vt__je_option_rows[i];
        const char *text = row->words;
        for (int64_t k = 0; row->kind == VT_JE_CHOICE && k < row->dflt; k++)
            text += vt__str_len(text) + 1;
        vt__je_values[i] = (struct vt_je_value){row->dflt, text};
    }
}

static const char *or_else(const char *a, const char *b) { return a != NULL ? a : b; }

bool vt__jemalloc_find_sources(void) {
    const char **from = vt__je_sources;
    from[VT_JE_GLOBAL_VAR] = or_else(&malloc_conf != NULL ? malloc_conf : NULL,
                                     &je_malloc_conf != NULL ? je_malloc_conf : NULL);
    from[VT_JE_SYMLINK] =
        vt__os_read_link("/etc/malloc.conf", conf.link, sizeof(conf.link)) > 0 ? conf.link : NULL;
    from[VT_JE_ENV_VAR] = or_else(vt__os_getenv("MALLOC_CONF"), vt__os_getenv("JE_MALLOC_CONF"));
    from[VT_JE_GLOBAL_VAR_HARDER] =
        &malloc_conf_2_conf_harder != NULL ? malloc_conf_2_conf_harder : NULL;
    bool is_any = false;
    for (unsigned i = 0; i < VT_JE_SOURCES; i++) is_any |= from[i] != NULL;
    return is_any;
}

/* Each is told of, those that nobody set too. The first is what the original was built with. */
static void confirm_source(unsigned i) {
    static const char *const names[VT_JE_SOURCES] = {
        [VT_JE_GLOBAL_VAR] =
            "malloc_conf #2 (string pointed to by the global variable malloc_conf): \"",
        [VT_JE_SYMLINK] =
            "malloc_conf #3 (\"name\" of the file referenced by the symbolic link named "
            "/etc/malloc.conf): \"",
        [VT_JE_ENV_VAR] = "malloc_conf #4 (value of the environment variable MALLOC_CONF): \"",
        [VT_JE_GLOBAL_VAR_HARDER] = "malloc_conf #5 (string pointed to by the global variable "
                                    "malloc_conf_2_conf_harder): \""};
    char line[1200];
    struct vt_text t = {line, sizeof(line) - 1, 0, false, NULL, NULL};
    if (i == 0)
        vt__je_say("malloc_conf #1 (string specified via --with-malloc-conf): \"\"", "", "");
    if (vt__je_sources[i] != NULL)
        put_shown(&t, (struct span){vt__je_sources[i], vt__str_len(vt__je_sources[i])});
    line[t.len] = '\0';
    vt__je_say(names[i], line, "\"");
}

static void read_sources(void) {
    for (unsigned i = 0; i < VT_JE_SOURCES; i++) {
        if (!conf.is_scouting && vt_je(confirm_conf)) confirm_source(i);
        if (vt__je_sources[i] == NULL) continue;
        conf.had_error = false;
        vt__je_parse(vt__je_sources[i]);
        if (conf.had_error && vt_je(abort_conf)) {
            vt__je_say("Abort (abort_conf:true) on invalid conf value (see above).", "", "");
            vt__os_abort();
        }
    }
}

/* ---- what they mean here ---- */

static void set(enum vt_option o, uint64_t value) {
    if (vt__option_values[o] == vt__option_rows[o].dflt) vt__option_values[o] = value;
}

static bool was_set(enum vt_je_option o) {
    return vt__je_values[o].n != vt__je_option_rows[o].dflt;
}

static void set_our_options(void) {
    static const enum vt_tri thp[] = {VT_AUTO, VT_ON, VT_OFF};
    set(VT_OPT_thp, thp[vt_je(thp)]);
    if (vt_je(background_thread)) set(VT_OPT_purge_thread, 1);
    if (was_set(VT_JE_OPT_dirty_decay_ms)) {
        int64_t ms = vt_je(dirty_decay_ms);
        if (ms <= 0) set(VT_OPT_retain, ms < 0 ? vt__option_rows[VT_OPT_retain].high : 0);
        if (ms >= 0)
            set(VT_OPT_purge_delay, vt_min((uint64_t)ms, vt__option_rows[VT_OPT_purge_delay].high));
    }
    if (was_set(VT_JE_OPT_lg_tcache_max)) vt_je(tcache_max) = INT64_C(1) << vt_je(lg_tcache_max);
    if (vt_je(prof_leak_error)) vt_je(prof_leak) = 1;
    if (vt_je(prof_leak) && !vt_je(prof)) vt_je(prof) = 2; /* 2: for that alone */
    vt__je_prof_read_options();
}

void vt__jemalloc_read_environment(void) {
    set_defaults();
    if (!vt__jemalloc_find_sources()) return;
    conf.is_scouting = true;
    read_sources();
    conf.is_scouting = false;
    read_sources();
    set_our_options();
}
