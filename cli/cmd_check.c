/* cmd_check.c - budgets for continuous integration: does a program use more than it may?
 *
 *   ok    live at most 2MB: 1.20MB ±40kB in app.903.0001.heap
 *   ok    live at most 1MB: 1.02MB ±40kB in app.904.0001.heap, above it by less than its error
 *   FAIL  peak at most 120MB: 145MB ±1.2MB in app.903.peak.heap
 *                130MB   89.92% store < handle < worker
 *
 * Sampled numbers are estimates. A budget fails when the estimate is above it by more than twice its standard error, so a program
 * that keeps to its budget fails one time in forty at most, and only when it is at the limit.
 *
 * Climate: cli.
 */
#include "cli/command.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/read.h"
#include "report/text.h"

#define N_SITES 5
#define ERRORS 2 /* standard errors that an estimate may be off */

enum outcome { OUTCOME_OK, OUTCOME_UNSURE, OUTCOME_FAIL };
static const char *const outcome_words[] = {"ok", "unsure", "fail"};

/* One budget and one profile. */
struct verdict {
    const char *file, *base; /* base: of a growth; else NULL */
    const char *what;        /* "peak", "live", "growth" */
    const char *type;        /* of the profile's values */
    char unit[32];
    double value, error, limit;
    bool is_incomplete; /* the file or the base is: nobody knows the true value */
    enum outcome outcome;
    char *sites; /* of what failed: the guilty stacks as text or JSON; malloc'ed */
};

struct checking {
    struct settings *s;
    struct verdict *all;
    uint32_t n, cap;
    bool has_peak, has_live; /* some profile is of that moment */
    bool has_told_base;      /* what is missing in it */
    /* --max-growth=BASE:LIMIT */
    uint32_t n_grown, n_other; /* profiles of the base's moment, and those that are not */
    bool is_base_peak;
    char base[PATH_MAX];
    double limit;
    bool is_percent;
};

/* ---- the budgets */

static bool size_from(const char *option, const char *word, double *out) {
    uint64_t bytes;
    if (bytes_read(word, &bytes)) {
        *out = (double)bytes;
        return true;
    }
    say_error("'--%s' wants a number of bytes such as 200M, not '%s'", option, word);
    return false;
}

static bool growth_from(struct checking *c) {
    const char *text = c->s->max_growth, *colon = strrchr(text, ':');
    if (colon != NULL && colon > text && (size_t)(colon - text) < sizeof c->base) {
        char *end;
        uint64_t bytes;
        (void)snprintf(c->base, sizeof c->base, "%.*s", (int)(colon - text), text);
        if (bytes_read(colon + 1, &bytes)) {
            c->limit = (double)bytes;
            return true;
        }
        c->limit = strtod(colon + 1, &end);
        c->is_percent = true;
        if (end > colon + 1 && strcmp(end, "%") == 0 && c->limit >= 0) return true;
    }
    say_error("'--max-growth' wants a profile and how much more there may be: before.heap:5%% or "
              "before.heap:10M, not '%s'",
              text);
    return false;
}

/* ---- one budget */

static struct verdict *add_verdict(struct checking *c, const struct profile *p, const char *file,
                                   const char *what, uint32_t type) {
    struct verdict *v = REPORT_PUSH(c->all, c->n, c->cap);
    *v = (struct verdict){.file = file,
                          .what = what,
                          .is_incomplete = !profile_is_whole(p),
                          .value = profile_total(p, type),
                          .error = sqrt(profile_total_variance(p, type))};
    (void)snprintf(v->unit, sizeof v->unit, "%s", profile_text(p, p->types[type].unit));
    return v;
}

static void judge(struct verdict *v) {
    v->outcome = v->value <= v->limit                       ? OUTCOME_OK
                 : v->value - ERRORS * v->error <= v->limit ? OUTCOME_UNSURE
                                                            : OUTCOME_FAIL;
}

/* The stacks that have most of it, or grew most; with names, which only what failed is worth. */
static bool find_guilty(const struct checking *c, struct verdict *v) {
    struct settings one = *c->s;
    struct profile *p;
    int status;
    size_t n;
    one.files = &v->file;
    one.n_files = 1;
    one.type = v->type;
    one.drop_negative = true;
    one.has_told_gaps = true;
    if (v->base) one.bases[0] = v->base;
    struct view *view = load_view(&one, &p, &status);
    if (view == NULL) return false;
    FILE *out = open_memstream(&v->sites, &n);
    if (out == NULL) report_no_memory();
    view_sites(view, &(struct view_print){.out = out,
                                          .form = c->s->json ? TABLE_AS_JSON : TABLE_AS_TEXT,
                                          .n_max = c->s->n_max ? c->s->n_max : N_SITES});
    (void)fclose(out);
    view_free(view);
    profile_free(p);
    return true;
}

/* ---- one profile */

static bool is_peak(const struct profile *p) {
    for (uint32_t i = 0; i < p->n_comments; i++)
        if (strcmp(profile_text(p, p->comments[i]), "vitrine heap profile: peak") == 0) return true;
    return false;
}

static bool check_heap(struct checking *c, const struct profile *p, const char *file) {
    const struct settings *s = c->s;
    uint32_t peak = profile_find_type(p, "peak_space"), live = profile_find_type(p, "inuse_space");
    if (s->max_peak == NULL && s->max_live == NULL) return true;
    if (live == PROFILE_NONE) {
        say_error("'%s' is no heap profile: it has no inuse_space", file);
        return false;
    }
    c->has_peak |= is_peak(p) || peak != PROFILE_NONE;
    if (s->max_peak) {
        bool has_own = peak != PROFILE_NONE;
        struct verdict *v = add_verdict(c, p, file, "peak", has_own ? peak : live);
        v->type = has_own ? "peak_space" : "inuse_space";
        if (!size_from("max-peak", s->max_peak, &v->limit)) return false;
        judge(v);
    }
    if (s->max_live && !is_peak(p)) {
        struct verdict *v = add_verdict(c, p, file, "live", live);
        c->has_live = true;
        v->type = "inuse_space";
        if (!size_from("max-live", s->max_live, &v->limit)) return false;
        judge(v);
    }
    return true;
}

static struct profile *read_one(const struct settings *s, const char *path) {
    struct report_options o = report_options_from(s);
    struct report_error e;
    struct profile *p = NULL;
    if (report_read(path, &o, &p, &e) != 0) say_error("%s", e.line);
    return p;
}

static bool check_growth(struct checking *c, const struct profile *p, const char *file) {
    if (c->s->max_growth == NULL) return true;
    struct profile *base = read_one(c->s, c->base);
    if (base == NULL) return false;
    c->is_base_peak = is_peak(base);
    if (is_peak(p) != c->is_base_peak) { /* a peak is no growth of what is in use at the end */
        c->n_other++;
        profile_free(base);
        return true;
    }
    c->n_grown++;
    if (!c->has_told_base) say_gaps(base, c->base);
    c->has_told_base = true;
    uint32_t type = p->default_type, before;
    if (c->s->type) type = profile_find_type(p, c->s->type);
    before =
        type == PROFILE_NONE ? type : profile_find_type(base, profile_text(p, p->types[type].name));
    if (before == PROFILE_NONE) {
        say_error("'%s' and '%s' have no values in common%s%s", file, c->base,
                  c->s->type ? " of type " : "", c->s->type ? c->s->type : "");
        profile_free(base);
        return false;
    }
    struct verdict *v = add_verdict(c, p, file, "growth", type);
    double total = profile_total(base, before);
    v->base = c->base;
    v->is_incomplete |= !profile_is_whole(base);
    v->type = c->s->type;
    v->value -= total;
    v->error = sqrt(v->error * v->error + profile_total_variance(base, before));
    v->limit = c->is_percent ? total * c->limit / 100 : c->limit;
    judge(v);
    profile_free(base);
    return true;
}

static bool check_file(struct checking *c, const char *file) {
    struct profile *p = read_one(c->s, file);
    if (p == NULL) return false;
    say_gaps(p, file);
    uint32_t first = c->n;
    bool is_good = check_heap(c, p, file) && check_growth(c, p, file);
    profile_free(p);
    for (uint32_t i = first; is_good && i < c->n; i++)
        if (c->all[i].outcome == OUTCOME_FAIL) is_good = find_guilty(c, &c->all[i]);
    return is_good;
}

/* ---- what is printed */

#define MAX_DECIMALS 9

/* What is above its limit does not look the same. */
static void put_amounts(const struct verdict *v, char limit[64], char value[64]) {
    struct table_unit u = table_unit_for(v->unit, v->limit);
    (void)snprintf(limit, 64, "%s", table_amount(v->unit, v->limit, value, 64));
    (void)snprintf(value, 64, "%s", table_amount(v->unit, v->value, (char[64]){0}, 64));
    while (v->value > v->limit && strcmp(limit, value) == 0 && u.decimals++ < MAX_DECIMALS) {
        (void)table_decimal(v->limit / u.divisor, u.decimals, u.suffix, limit, 64);
        (void)table_decimal(v->value / u.divisor, u.decimals, u.suffix, value, 64);
    }
}

/* "peak at most 120MB: 145MB ±1.2MB in app.peak.heap" */
static void put_sentence(const struct verdict *v, char *out, size_t n_bytes) {
    char limit[64], value[64], error[64] = "";
    if (v->error > 0)
        (void)snprintf(error, sizeof error, "\u00b1%s",
                       table_amount(v->unit, v->error, value, sizeof value));
    put_amounts(v, limit, value);
    (void)snprintf(out, n_bytes, "%s at most %s: %s%s%s in %s%s%s%s%s", v->what, limit, value,
                   *error ? " " : "", error, text_shown(v->file), v->base ? " since " : "",
                   v->base ? text_shown(v->base) : "",
                   v->outcome == OUTCOME_UNSURE ? ", above it by less than its error" : "",
                   v->is_incomplete ? ", of an incomplete profile" : "");
}

static void put_text(const struct checking *c, FILE *out) {
    char sentence[2 * PATH_MAX];
    for (uint32_t i = 0; i < c->n; i++) {
        const struct verdict *v = &c->all[i];
        put_sentence(v, sentence, sizeof sentence);
        (void)fprintf(out, "%-5s %s\n", v->outcome == OUTCOME_FAIL ? "FAIL" : "ok", sentence);
        if (v->sites) (void)fputs(v->sites, out);
    }
}

static void put_json(const struct checking *c, uint32_t n_failed, FILE *out) {
    (void)fprintf(out, "{\"failed\":%u,\"checks\":[", n_failed);
    for (uint32_t i = 0; i < c->n; i++) {
        const struct verdict *v = &c->all[i];
        (void)fprintf(out, "%s\n{\"what\":\"%s\",\"file\":", i ? "," : "", v->what);
        text_json(out, v->file);
        if (v->base) {
            (void)fputs(",\"base\":", out);
            text_json(out, v->base);
        }
        (void)fputs(",\"unit\":", out);
        text_json(out, v->unit);
        (void)fputs(",\"limit\":", out);
        json_number(out, v->limit);
        (void)fputs(",\"value\":", out);
        json_number(out, v->value);
        (void)fputs(",\"error\":", out);
        json_number(out, v->error);
        (void)fprintf(out, ",\"outcome\":\"%s\"", outcome_words[v->outcome]);
        if (v->is_incomplete) (void)fputs(",\"incomplete\":true", out);
        if (v->sites) (void)fprintf(out, ",\"sites\":%s", v->sites);
        (void)fputc('}', out);
    }
    (void)fputs("\n]}\n", out);
}

static void put_junit(const struct checking *c, uint32_t n_failed, FILE *out) {
    char sentence[2 * PATH_MAX];
    (void)fprintf(out,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<testsuite name=\"vitrine check\" tests=\"%u\" failures=\"%u\" errors=\"0\">\n",
                  c->n, n_failed);
    for (uint32_t i = 0; i < c->n; i++) {
        const struct verdict *v = &c->all[i];
        put_sentence(v, sentence, sizeof sentence);
        (void)fputs("<testcase classname=\"", out);
        text_xml(out, v->file);
        (void)fprintf(out, "\" name=\"max-%s\">", v->what);
        if (v->outcome == OUTCOME_FAIL) {
            (void)fputs("<failure message=\"", out);
            text_xml(out, sentence);
            (void)fputs("\">", out);
            for (char *line = v->sites, *next; line && *line; line = next) {
                next = strchrnul(line, '\n');
                if (*next) *next++ = '\0';
                text_xml(out, line);
                (void)fputc('\n', out);
            }
            (void)fputs("</failure>", out);
        } else {
            (void)fputs("<system-out>", out);
            text_xml(out, sentence);
            (void)fputs("</system-out>", out);
        }
        (void)fputs("</testcase>\n", out);
    }
    (void)fputs("</testsuite>\n", out);
}

/* ---- the command */

static bool is_asked_well(struct checking *c) {
    const struct settings *s = c->s;
    double ignored;
    if (s->max_peak == NULL && s->max_live == NULL && s->max_growth == NULL) {
        say_error("no budget is given: --max-peak, --max-live or --max-growth");
        return false;
    }
    if (s->json && s->junit) {
        say_error("'--json' and '--junit' at once");
        return false;
    }
    return (!s->max_peak || size_from("max-peak", s->max_peak, &ignored)) &&
           (!s->max_live || size_from("max-live", s->max_live, &ignored)) &&
           (!s->max_growth || growth_from(c)) && output_takes_text(s);
}

static bool has_grown(const struct checking *c) {
    if (c->n_other == 0) return true;
    const char *others = c->is_base_peak ? "of no peak" : "of peaks",
               *base = c->is_base_peak ? "of one" : "of none";
    if (c->n_grown > 0)
        say_warning("%u of %u profiles are %s, and '%s' is %s: '--max-growth' leaves them out",
                    c->n_other, c->n_other + c->n_grown, others, c->base, base);
    else
        say_error("all profiles are %s, and '%s' is %s: '--max-growth' compares nothing", others,
                  c->base, base);
    return c->n_grown > 0;
}

/* A budget that no profile could break is not kept. */
static bool has_looked(const struct checking *c) {
    if (c->s->max_peak && !c->has_peak)
        say_warning("none of the profiles is of a peak (NAME.PID.peak.heap): '--max-peak' looks at "
                    "what was in use when they were written");
    if (!c->s->max_live || c->has_live) return has_grown(c);
    say_error("all profiles are of peaks: '--max-live' needs one of the end (NAME.PID.NNNN.heap)");
    return false;
}

static uint32_t count_failed(const struct checking *c) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n; i++) n += c->all[i].outcome == OUTCOME_FAIL;
    return n;
}

static int report_all(const struct checking *c) {
    uint32_t n_failed = count_failed(c);
    FILE *out = output_open(c->s);
    if (out == NULL) return EXIT_COULD_NOT;
    if (c->s->json)
        put_json(c, n_failed, out);
    else if (c->s->junit)
        put_junit(c, n_failed, out);
    else
        put_text(c, out);
    int status = output_close(c->s, out);
    return status == EXIT_FINE && n_failed > 0 ? EXIT_FOUND : status;
}

static int run(struct settings *s) {
    struct checking c = {.s = s};
    bool is_good = true;
    if (!is_asked_well(&c)) return EXIT_USAGE;
    for (uint32_t i = 0; is_good && i < s->n_files; i++)
        if (report_is_program(s->files[i]))
            s->program = s->files[i];
        else
            is_good = check_file(&c, s->files[i]);
    int status = is_good && has_looked(&c) ? report_all(&c) : EXIT_COULD_NOT;
    for (uint32_t i = 0; i < c.n; i++) free(c.all[i].sites);
    free(c.all);
    return status;
}

#define AT(field) offsetof(struct settings, field)

static const struct option_row options_check[] = {
    {"max-peak", 0, OPTION_TEXT, AT(max_peak), "SIZE", "in use at most, at any time: 200M"},
    {"max-live", 0, OPTION_TEXT, AT(max_live), "SIZE", "in use at most when it was written: 1M"},
    {"max-growth", 0, OPTION_TEXT, AT(max_growth), "BASE:AMOUNT",
     "more than in the profile BASE at most: before.heap:5%, before.heap:10M"},
    {"count", 'n', OPTION_NUMBER, AT(n_max), "N", "guilty stacks of each failure (default: 5)"},
    {"json", 0, OPTION_FLAG, AT(json), NULL, "JSON, values in the profile's own unit"},
    {"junit", 0, OPTION_FLAG, AT(junit), NULL, "JUnit's XML, which CI servers show"},
    {0},
};

const struct command cmd_check = {
    .name = "check",
    .usage = "check --max-peak=SIZE|--max-live=SIZE|--max-growth=BASE:AMOUNT [OPTION...] [PROGRAM] "
             "PROFILE...",
    .summary = "hold profiles to budgets: exit 1 and the guilty stacks when one is exceeded",
    .example = "vitrine check --max-live=500M app.*.heap",
    .groups = {options_check, options_data, options_output},
    .min_files = 1,
    .missing = NO_PROFILE,
    .run = run,
};
