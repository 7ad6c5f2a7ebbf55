/* estimate.c - see estimate.h. Climate: cli. */
#include "report/estimate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PERCENT 999
#define LEAST_PERCENT 0.05 /* what is rounded to less is as good as exact */

/* The types of one kind of count: in use, allocated. PROFILE_NONE: the profile does not have it. */
struct counts {
    uint32_t objects, space, class_space, samples;
};

static uint32_t type_of(const struct profile *p, const char *prefix, size_t n, const char *what) {
    char name[128];
    (void)snprintf(name, sizeof name, "%.*s%s", (int)n, prefix, what);
    for (uint32_t t = 0; t < p->n_types; t++)
        if (strcmp(profile_text(p, p->types[t].name), name) == 0) return t;
    return PROFILE_NONE;
}

/* "inuse_objects" leads to the others that begin with "inuse_"; false: the type is none of objects. */
static bool counts_of(const struct profile *p, uint32_t type, struct counts *c) {
    static const char end[] = "objects";
    char prefix[64];
    const char *name = profile_text(p, p->types[type].name);
    size_t n = strlen(name), n_end = sizeof end - 1;
    if (n < n_end || n - n_end >= sizeof prefix || strcmp(name + n - n_end, end) != 0) return false;
    memcpy(prefix, name, n - n_end);
    n -= n_end;
    *c = (struct counts){type, type_of(p, prefix, n, "space"), type_of(p, prefix, n, "class_space"),
                         type_of(p, prefix, n, "samples")};
    return c->space != PROFILE_NONE;
}

static double value_of(const double *values, uint32_t type) {
    return type == PROFILE_NONE ? 0 : fabs(values[type]);
}

#define NEWTON_STEPS 20

/* The chance q of a block, from r = bytes by estimate / (samples * period). One sample of s bytes stands for s / q bytes, so with
 * x = s / period: r = x / q(x), q(x) = 1 - exp(-x). Newton's steps come down to x from r, which is above it. 0: r is too small. */
static double chance_from(double r) {
    double x = r;
    if (r <= 1) return 0;
    for (unsigned i = 0; i < NEWTON_STEPS; i++) x -= (x + r * expm1(-x)) / (1 - r * exp(-x));
    return -expm1(-x);
}

static double bytes_of(const struct counts *c, const double *values) {
    return value_of(values, c->class_space != PROFILE_NONE ? c->class_space : c->space);
}

/* How many blocks the samples of one line stand for. The file has that rounded, which is far off for few large blocks: one sample
 * may stand for 1.49 of them. The bytes tell it better, where they agree with the file. They do not where samples were thinned out
 * or the period changed; then the file's number counts. */
static double n_blocks(const struct profile *p, const struct counts *c, const double *values) {
    double n = value_of(values, c->objects), n_samples = value_of(values, c->samples);
    if (n_samples == 0) return n;
    double q = chance_from(bytes_of(c, values) / n_samples / (double)p->period);
    return q > 0 && fabs(n_samples / q - n) <= 0.5 ? n_samples / q : n;
}

/* (1 - q) / q for the n blocks of one line of the profile. The number of its samples tells q; where the file does not have it,
 * the period and their mean size do. */
static double odds(const struct profile *p, const struct counts *c, const double *values,
                   double n) {
    double n_samples = value_of(values, c->samples);
    if (n_samples > 0) return n > n_samples ? n / n_samples - 1 : 0;
    double size = bytes_of(c, values) / n / (double)p->period;
    if (p->heap_version == 1) return size < 1 ? 1 / size - 1 : 0;
    return 1 / expm1(size);
}

/* What the program mapped by itself is not sampled: every call is there. */
static bool is_mapped(const struct profile *p, const struct counts *c, uint32_t sample) {
    return c->samples != PROFILE_NONE &&
           value_of(p->values + (size_t)sample * p->n_types, c->samples) == 0 &&
           profile_has_label(p, sample, "mapped");
}

static void set_variances(struct profile *p, const struct counts *c, uint32_t sample) {
    double *values = p->values + (size_t)sample * p->n_types;
    double *variances = p->variances + (size_t)sample * p->n_types;
    if (values[c->objects] == 0 || value_of(values, c->space) == 0) return;
    if (is_mapped(p, c, sample)) return;
    double n = n_blocks(p, c, values), against = odds(p, c, values, n);
    const uint32_t spaces[] = {c->space, c->class_space};
    values[c->objects] = copysign(n, values[c->objects]);
    variances[c->objects] = n * against;
    for (unsigned i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (spaces[i] != PROFILE_NONE)
            variances[spaces[i]] =
                value_of(values, spaces[i]) / n * value_of(values, spaces[i]) * against;
}

void estimate_errors(struct profile *p) {
    bool is_sampled = p->kind == PROFILE_HEAP && p->period > 1 &&
                      strcmp(profile_text(p, p->period_type.unit), "bytes") == 0;
    for (uint32_t t = 0; is_sampled && t < p->n_types; t++) {
        struct counts c;
        if (!counts_of(p, t, &c)) continue;
        profile_add_variances(p);
        for (uint32_t i = 0; i < p->n_samples; i++) set_variances(p, &c, i);
    }
}

/* ---- two dumps of one process */

static const char *comment_of(const struct profile *p) {
    return p->n_comments == 1 ? profile_text(p, p->comments[0]) : "";
}

bool estimate_is_one_run(const struct profile *p, const struct profile *base) {
    static const char now[] = "vitrine heap profile: sampled"; /* a peak's moment is not known */
    return p->n_variances > 0 && base->n_variances > 0 && p->time_ns != 0 &&
           p->time_ns == base->time_ns && strcmp(comment_of(p), now) == 0 &&
           strcmp(comment_of(base), now) == 0;
}

/* Of one stack: sums of variances, the later dump's less the earlier one's, and of both. */
struct change {
    double alloc, inuse, both_alloc, both_inuse;
};

static struct change *sum_changes(const struct profile *p, uint32_t first, bool is_later,
                                  uint32_t alloc, uint32_t inuse) {
    struct change *of = report_alloc(p->n_stacks * sizeof *of);
    for (uint32_t i = 0; i < p->n_samples; i++) {
        struct change *c = &of[p->samples[i].stack];
        double sign = (i < first) == is_later ? 1 : -1;
        double a = profile_variance(p, i, alloc), u = profile_variance(p, i, inuse);
        c->alloc += sign * a;
        c->inuse += sign * u;
        c->both_alloc += a;
        c->both_inuse += u;
    }
    return of;
}

/* What came is what was allocated, what went is that less what there is more; both are uncertain. */
static double share_of_inuse(const struct change *c) {
    double came_and_went = fmax(c->alloc, 0) + fmax(c->alloc - c->inuse, 0);
    double least = fabs(c->inuse);
    return c->both_inuse > 0 ? fmax(least, fmin(came_and_went, c->both_inuse)) / c->both_inuse : 1;
}

static double share_of_alloc(const struct change *c) {
    return c->both_alloc > 0 ? fmax(c->alloc, 0) / c->both_alloc : 1;
}

void estimate_one_run(struct profile *p, uint32_t first, bool is_later) {
    static const char *const what[] = {"objects", "space", "class_space"};
    for (unsigned k = 0; k < sizeof what / sizeof *what; k++) {
        uint32_t alloc = type_of(p, "alloc_", 6, what[k]), inuse = type_of(p, "inuse_", 6, what[k]);
        if (alloc == PROFILE_NONE || inuse == PROFILE_NONE) continue;
        struct change *of = sum_changes(p, first, is_later, alloc, inuse);
        for (uint32_t i = 0; i < p->n_samples; i++) {
            double *variances = p->variances + (size_t)i * p->n_types;
            variances[alloc] *= share_of_alloc(&of[p->samples[i].stack]);
            variances[inuse] *= share_of_inuse(&of[p->samples[i].stack]);
        }
        free(of);
    }
}

/* ---- for people */

bool estimate_is_noise(double value, double error) { return error > 0 && fabs(value) < 2 * error; }

const char *estimate_text(double value, double error, char out[ESTIMATE_BYTES]) {
    double percent = value == 0 ? 0 : 100 * error / fabs(value);
    out[0] = '\0';
    if (percent < LEAST_PERCENT) return out;
    (void)snprintf(out, ESTIMATE_BYTES, "\u00b1%.*f%%", percent < 0.95 ? 1 : 0,
                   fmin(percent, MAX_PERCENT));
    return out;
}
