/* pprof_settings.c - the settings of the prompt, as the Go tool's prompt has them. They last until they are changed.
 *
 *   (pprof) focus=Cache::        an option by its name; "focus=" takes it away, ":" takes all filters away
 *   (pprof) lines                the same as granularity=lines
 *   (pprof) alloc_space          which values; mean_alloc_space per block, total_alloc_space no longer so
 *   (pprof) options              all of them with their values
 *
 * Climate: cli.
 */
#include "cli/dialect_pprof.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "report/text.h"

#define COMMENT "//:" /* behind values that `options` prints, and in what is pasted from there */

static const char *const orders[] = {"cum", "flat", NULL}, *const grains[] = {
                                                               "addresses", "filefunctions",
                                                               "files",     "functions",
                                                               "lines",     NULL};

/* By alphabet; names of pprof.def. */
static const struct setting {
    const char *name;
    const char *const *choices; /* each is also a command; NULL: any value */
    bool is_early;              /* counts while the profile is read: too late here */
} all[] = {
    {"call_tree", NULL, false},     {"compact_labels", NULL, false},
    {"divide_by", NULL, false},     {"drop_negative", NULL, false},
    {"edgefraction", NULL, false},  {"focus", NULL, false},
    {"granularity", grains, false}, {"hide", NULL, false},
    {"ignore", NULL, false},        {"intel_syntax", NULL, false},
    {"mean", NULL, false},          {"nodecount", NULL, false},
    {"nodefraction", NULL, false},  {"noinlines", NULL, false},
    {"normalize", NULL, true},      {"output", NULL, false},
    {"prune_from", NULL, false},    {"relative_percentages", NULL, false},
    {"sample_index", NULL, false},  {"show", NULL, false},
    {"show_bytes", NULL, false},    {"show_from", NULL, false},
    {"showcolumns", NULL, false},   {"sort", orders, false},
    {"source_path", NULL, false},   {"tagfocus", NULL, false},
    {"taghide", NULL, false},       {"tagignore", NULL, false},
    {"tagleaf", NULL, true},        {"tagroot", NULL, true},
    {"tagshow", NULL, false},       {"trim", NULL, false},
    {"trim_path", NULL, false},     {"unit", NULL, false},
};
#define N_ALL (sizeof all / sizeof *all)

static const struct setting *setting_named(const char *name) {
    for (unsigned i = 0; i < N_ALL; i++)
        if (strcmp(all[i].name, name) == 0) return &all[i];
    return NULL;
}

static bool is_choice(const struct setting *s, const char *word) {
    for (const char *const *c = s->choices; c && *c; c++)
        if (strcmp(*c, word) == 0) return true;
    return false;
}

static const struct setting *setting_with_choice(const char *word) {
    for (unsigned i = 0; i < N_ALL; i++)
        if (is_choice(&all[i], word)) return &all[i];
    return NULL;
}

/* ---- changing */

static bool is_type(const struct profile *p, const char *value) {
    char *end;
    unsigned long n = strtoul(value, &end, 10);
    if (end != value && *end == '\0') return n < p->n_types;
    return *value == '\0' || profile_find_type(p, value) != PROFILE_NONE;
}

static void put_types(const struct profile *p, FILE *out) {
    for (uint32_t t = 0; t < p->n_types; t++)
        (void)fprintf(out, "%s%s", t ? " | " : "[", text_shown(profile_text(p, p->types[t].name)));
    (void)fputc(']', out);
}

static void assign(struct prompt_settings *s, const struct profile *p, const char *name,
                   const char *value) {
    const struct setting *what = setting_named(name);
    if (what->is_early) {
        (void)fprintf(stderr, "%s counts while the profile is read: give it as an option\n", name);
    } else if (what->choices && !is_choice(what, value)) {
        (void)fprintf(stderr, "invalid \"%s\" value \"%s\"\n", name, text_shown(value));
    } else if (strcmp(name, "sample_index") == 0 && !is_type(p, value)) {
        (void)fprintf(stderr, "sample_index \"%s\" must be one of: ", text_shown(value));
        put_types(p, stderr);
        (void)fputc('\n', stderr);
    } else {
        char *text = report_copy(value, strlen(value));
        *REPORT_PUSH(s->texts, s->n_texts, s->cap_texts) = text;
        if (what->choices == orders) s->asked.cum = s->asked.flat = 0; /* said otherwise now */
        (void)pprof_option_set(&s->asked, name, text); /* said already what is wrong */
    }
}

static void clear_filters(struct prompt_settings *s) {
    static const char *const filters[] = {"focus", "ignore", "hide", "tagfocus", "tagignore"};
    for (unsigned i = 0; i < sizeof filters / sizeof *filters; i++)
        (void)pprof_option_set(&s->asked, filters[i], "");
}

/* "alloc_space", "total_alloc_space", "mean_alloc_space" */
static bool choose_type(struct prompt_settings *s, const struct profile *p, const char *word) {
    const char *mean = strncmp(word, "mean_", 5) == 0    ? "true"
                       : strncmp(word, "total_", 6) == 0 ? "false"
                                                         : NULL;
    const char *type = mean ? strchr(word, '_') + 1 : word;
    for (uint32_t t = 0; t < p->n_types; t++) {
        if (strcmp(profile_text(p, p->types[t].name), type) != 0) continue;
        assign(s, p, "sample_index", type);
        if (mean) (void)pprof_option_set(&s->asked, "mean", mean);
        return true;
    }
    return false;
}

/* ---- showing */

static void put_comment(const struct setting *what, const struct profile *p, FILE *out) {
    if (strcmp(what->name, "sample_index") == 0) {
        (void)fputs(COMMENT " ", out);
        put_types(p, out);
    }
    for (const char *const *c = what->choices; c && *c; c++)
        (void)fprintf(out, "%s%s%s", c == what->choices ? COMMENT " [" : " | ", *c,
                      c[1] ? "" : "]");
}

static void put_settings(const struct prompt_settings *s, const struct profile *p, FILE *out) {
    for (unsigned i = 0; i < N_ALL; i++) {
        char value[1000];
        const char *name = all[i].name;
        bool is_default = strcmp(name, "nodecount") == 0 && s->asked.nodecount <= 0;
        pprof_option_value(&s->asked, name, value, sizeof value);
        uint32_t type = profile_find_type(p, pprof_type(&s->asked, p));
        if (strcmp(name, "sample_index") == 0 && type != PROFILE_NONE)
            (void)snprintf(value, sizeof value, "%s", profile_text(p, p->types[type].name));
        (void)fprintf(out, "  %-25s = %-20s ", name, is_default ? "-1" : text_shown(value));
        if (is_default) (void)fputs(COMMENT " default", out);
        put_comment(&all[i], p, out);
        (void)fputc('\n', out);
    }
}

void prompt_settings_help(const struct prompt_settings *s) {
    (void)puts(
        "\n  NAME=VALUE, options    settings that last, and what they are; : takes filters away");
    for (unsigned i = 0; i < N_ALL; i++)
        (void)printf("    %-20s %s\n", all[i].name, pprof_option_help(&s->asked, all[i].name));
}

/* ---- lines */

static char *trimmed(char *text) {
    while (isspace((unsigned char)*text)) text++;
    char *end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1])) end--;
    *end = '\0';
    return text;
}

/* NAME, or NAME=VALUE when value is given. */
static bool obey_setting(struct prompt_settings *s, const struct profile *p, const char *name,
                         char *value) {
    const struct setting *group = setting_with_choice(name);
    if (value) {
        for (char *comment; (comment = strstr(value, COMMENT)) != NULL;) *comment = '\0';
        value = trimmed(value);
    }
    if (setting_named(name)) {
        if (value || pprof_option_is_switch(&s->asked, name))
            assign(s, p, name, value ? value : "true");
        else
            (void)fprintf(stderr, "please specify a value, e.g. %s=<val>\n", name);
        return true;
    }
    if (group == NULL || (value && strcmp(value, "true") != 0)) return false;
    assign(s, p, group->name, name);
    return true;
}

/* "help focus"; "focus x" for "focus=x" */
static bool obey_words(struct prompt_settings *s, char *first, const char *rest) {
    if (strcmp(first, "help") == 0 && setting_named(rest)) {
        (void)printf("  %s: %s\n", rest, pprof_option_help(&s->asked, rest));
        return true;
    }
    if (*rest == '\0' || setting_named(first) == NULL) return false;
    (void)fprintf(stderr, "did you mean: %s=%s\n", first, text_shown(rest));
    return true;
}

bool prompt_settings_obey(struct prompt_settings *s, const struct profile *p, const char *line) {
    char *copy = report_copy(line, strlen(line)), *text = trimmed(copy);
    char *equals = strchr(text, '=');
    bool is_obeyed = true;
    if (strcmp(text, ":") == 0) {
        clear_filters(s);
    } else if (strcmp(text, "o") == 0 || strcmp(text, "options") == 0) {
        put_settings(s, p, stdout);
    } else if (!choose_type(s, p, text)) {
        if (equals) *equals = '\0';
        is_obeyed = obey_setting(s, p, trimmed(text), equals ? equals + 1 : NULL);
        char *blank = equals ? NULL : strpbrk(text, " \t");
        if (!is_obeyed && blank) {
            *blank = '\0';
            is_obeyed = obey_words(s, text, trimmed(blank + 1));
        }
    }
    free(copy);
    return is_obeyed;
}

void prompt_settings_begin(struct prompt_settings *s, const struct asked *a) {
    struct settings given = {.by = NULL};
    *s = (struct prompt_settings){.asked = *a};
    pprof_apply(a, &given);
    s->asked.is_prompt = true;
    s->asked.granularity = given.by;
    s->asked.sort = given.cum ? "cum" : "flat";
    if (s->asked.divide_by == 0) s->asked.divide_by = 1;
}

void prompt_settings_end(struct prompt_settings *s) {
    for (uint32_t i = 0; i < s->n_texts; i++) free(s->texts[i]);
    free(s->texts);
}
