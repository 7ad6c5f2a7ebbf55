/* label_filter.c - see label_filter.h. Climate: cli. */
#include "report/label_filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/regex.h"

#define MAX_TEXT 4096

struct pattern {
    struct regex *regex;
};

struct label_filter {
    char *key; /* NULL: any */
    /* a range of numbers ... */
    bool is_range, has_low, has_high;
    double low, high; /* in bytes or nanoseconds, or plain */
    char kind;        /* of the unit: 'b', 't', or 0 for plain numbers */
    /* ... or regexps */
    struct pattern *patterns;
    uint32_t n_patterns, cap_patterns;
};

/* ---- units */

static const struct unit {
    const char *name; /* lower case */
    char kind;        /* bytes, time */
    double factor;
} units[] = {
    {"b", 'b', 1},
    {"byte", 'b', 1},
    {"bytes", 'b', 1},
    {"kb", 'b', 1024},
    {"kilobytes", 'b', 1024},
    {"kib", 'b', 1024},
    {"mb", 'b', 1048576},
    {"megabytes", 'b', 1048576},
    {"mib", 'b', 1048576},
    {"gb", 'b', 1073741824},
    {"gigabytes", 'b', 1073741824},
    {"gib", 'b', 1073741824},
    {"tb", 'b', 1099511627776},
    {"tib", 'b', 1099511627776},
    {"ns", 't', 1},
    {"nanoseconds", 't', 1},
    {"us", 't', 1e3},
    {"microseconds", 't', 1e3},
    {"ms", 't', 1e6},
    {"milliseconds", 't', 1e6},
    {"s", 't', 1e9},
    {"sec", 't', 1e9},
    {"seconds", 't', 1e9},
    {"min", 't', 60e9},
    {"minutes", 't', 60e9},
    {"hrs", 't', 3600e9},
    {"hours", 't', 3600e9},
};

static const struct unit *unit_named(const char *name, size_t n) {
    for (unsigned i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == n && strncasecmp(units[i].name, name, n) == 0)
            return &units[i];
    return NULL;
}

/* ---- ranges */

/* A number with or without a unit at *text, which goes on behind it; false when there is none. */
static bool read_bound(const char **text, double *value, char *kind) {
    char *end;
    const char *s = *text;
    if (!isdigit((unsigned char)s[*s == '-' || *s == '+'])) return false;
    *value = (double)strtoll(s, &end, 10);
    const char *word = end;
    while (isalpha((unsigned char)*end)) end++;
    *text = end;
    *kind = 0;
    if (end == word) return true;
    const struct unit *u = unit_named(word, (size_t)(end - word));
    if (u == NULL) return false;
    *kind = u->kind;
    *value *= u->factor;
    return true;
}

/* False: it is no range, so it is regexps. */
static bool read_range(struct label_filter *f, const char *text) {
    char low_kind = 0, high_kind = 0;
    f->has_low = read_bound(&text, &f->low, &low_kind);
    if (*text == '\0' && f->has_low) {
        f->has_high = true;
        f->high = f->low;
        f->kind = low_kind;
        return true;
    }
    if (*text++ != ':') return false;
    f->has_high = read_bound(&text, &f->high, &high_kind);
    if (*text != '\0' || !(f->has_low || f->has_high)) return false;
    if (f->has_low && f->has_high && low_kind != high_kind) return false;
    f->kind = f->has_low ? low_kind : high_kind;
    return true;
}

static bool is_in_range(const struct label_filter *f, const struct profile *p,
                        const struct profile_label *l) {
    const char *name = profile_text(p, l->unit ? l->unit : l->key); /* the key "bytes" is a unit */
    const struct unit *u = unit_named(name, strlen(name));
    double number = (double)l->number;
    if (f->kind != 0) {
        if (u == NULL || u->kind != f->kind) return false;
        number *= u->factor;
    }
    return (!f->has_low || number >= f->low) && (!f->has_high || number <= f->high);
}

/* ---- making */

/* Regexps with commas between. */
static bool read_patterns(struct label_filter *f, const char *text, const char *option,
                          struct report_error *e) {
    for (;;) {
        size_t n = strcspn(text, ",");
        char *one = report_copy(text, n);
        struct regex *r = regex_new(one, option, e);
        free(one);
        if (r == NULL) return false;
        *REPORT_PUSH(f->patterns, f->n_patterns, f->cap_patterns) = (struct pattern){r};
        if (text[n] == '\0') return true;
        text += n + 1;
    }
}

struct label_filter *label_filter_new(const char *text, const char *option,
                                      struct report_error *e) {
    struct label_filter *f = report_alloc(sizeof *f);
    const char *equals = strchr(text, '=');
    if (equals) {
        f->key = report_copy(text, (size_t)(equals - text));
        text = equals + 1;
    }
    f->is_range = read_range(f, text);
    if (f->is_range || read_patterns(f, text, option, e)) return f;
    label_filter_free(f);
    return NULL;
}

void label_filter_free(struct label_filter *f) {
    if (f == NULL) return;
    for (uint32_t i = 0; i < f->n_patterns; i++) regex_free(f->patterns[i].regex);
    free(f->patterns);
    free(f->key);
    free(f);
}

/* ---- matching */

static bool has_text(const struct label_filter *f, const struct profile *p,
                     const struct profile_sample *s, const struct regex *pattern) {
    char text[MAX_TEXT];
    for (uint32_t i = 0; i < s->n_labels; i++) {
        const struct profile_label *l = &p->labels[s->first_label + i];
        const char *key = profile_text(p, l->key);
        if (l->text == 0 || (f->key && strcmp(f->key, key) != 0)) continue;
        if (f->key == NULL)
            (void)snprintf(text, sizeof text, "%s:%s", key, profile_text(p, l->text));
        if (regex_matches(pattern, f->key ? profile_text(p, l->text) : text)) return true;
    }
    return false;
}

static bool has_number(const struct label_filter *f, const struct profile *p,
                       const struct profile_sample *s) {
    for (uint32_t i = 0; i < s->n_labels; i++) {
        const struct profile_label *l = &p->labels[s->first_label + i];
        if (l->text != 0 || (f->key && strcmp(f->key, profile_text(p, l->key)) != 0)) continue;
        if (is_in_range(f, p, l)) return true;
    }
    return false;
}

bool label_filter_matches(const struct label_filter *f, const struct profile *p, uint32_t sample) {
    const struct profile_sample *s = &p->samples[sample];
    bool wants_all = f->key == NULL;
    if (f->is_range) return has_number(f, p, s);
    for (uint32_t i = 0; i < f->n_patterns; i++)
        if (has_text(f, p, s, f->patterns[i].regex) != wants_all) return !wants_all;
    return wants_all;
}

bool *label_keys_wanted(const struct profile *p, const char *show, const char *hide,
                        struct report_error *e) {
    struct regex *shown = NULL, *hidden = NULL;
    bool *is_wanted = NULL;
    if ((!show || (shown = regex_new(show, "--tagshow", e)) != NULL) &&
        (!hide || (hidden = regex_new(hide, "--taghide", e)) != NULL)) {
        is_wanted = report_alloc(p->n_strings * sizeof *is_wanted);
        for (uint32_t i = 0; i < p->n_labels; i++) { /* the same key twice costs little */
            const char *key = profile_text(p, p->labels[i].key);
            is_wanted[p->labels[i].key] =
                (!shown || regex_matches(shown, key)) && !(hidden && regex_matches(hidden, key));
        }
    }
    regex_free(shown);
    regex_free(hidden);
    return is_wanted;
}
