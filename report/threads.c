/* threads.c - see threads.h. Climate: cli.
 *
 * A part is made in time that grows with what it is made from. So halves are taken of the profile, and halves of these, down to
 * a single thread: each step makes less from less.
 */
#include "report/threads.h"

#include <stdlib.h>
#include <string.h>

#define KEY "thread"

void threads_label(struct profile *p, int64_t thread) {
    struct profile_label l = {.key = profile_string(p, KEY), .number = thread};
    profile_add_label(p, &l);
}

/* PROFILE_NONE: none. */
static uint32_t label_of(const struct profile *p, uint32_t sample) {
    const struct profile_sample *s = &p->samples[sample];
    for (uint32_t i = s->first_label; i < s->first_label + s->n_labels; i++)
        if (p->labels[i].text == 0 && strcmp(profile_text(p, p->labels[i].key), KEY) == 0) return i;
    return PROFILE_NONE;
}

static int64_t thread_of(const struct profile *p, uint32_t sample) {
    return p->labels[label_of(p, sample)].number;
}

static int by_thread(const void *a, const void *b, void *context) {
    uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
    int64_t x = thread_of(context, m), y = thread_of(context, n);
    if (x != y) return x < y ? -1 : 1;
    return m < n ? -1 : m > n;
}

struct taking {
    threads_take *take;
    void *context;
};

/* The label that is all that a sample has was for this; with others it is the profile's own. */
static int take_one(const struct taking *t, struct profile *p) {
    int64_t thread = thread_of(p, 0);
    for (uint32_t i = 0; i < p->n_samples; i++)
        if (p->samples[i].n_labels == 1) p->samples[i].n_labels = 0;
    return t->take(p, thread, t->context);
}

/* Where another thread begins, near the middle. */
static uint32_t middle_of(const struct profile *p) {
    uint32_t middle = p->n_samples / 2, at = middle;
    while (at > 0 && thread_of(p, at - 1) == thread_of(p, middle)) at--;
    if (at > 0) return at;
    for (at = middle + 1; thread_of(p, at) == thread_of(p, middle);) at++;
    return at;
}

static int take_parts(const struct taking *t, struct profile *p);

static int take_range(const struct taking *t, const struct profile *p, uint32_t begin,
                      uint32_t end) {
    uint32_t *samples = report_alloc((end - begin) * sizeof *samples);
    for (uint32_t i = begin; i < end; i++) samples[i - begin] = i;
    struct profile *part = profile_part(p, samples, end - begin);
    free(samples);
    int status = take_parts(t, part);
    profile_free(part);
    return status;
}

/* The samples are in the order of their threads. */
static int take_parts(const struct taking *t, struct profile *p) {
    if (thread_of(p, 0) == thread_of(p, p->n_samples - 1)) return take_one(t, p);
    uint32_t middle = middle_of(p);
    int status = take_range(t, p, 0, middle);
    return status != 0 ? status : take_range(t, p, middle, p->n_samples);
}

int threads_each(const struct profile *p, threads_take *take, void *context) {
    struct taking t = {take, context};
    uint32_t *samples = report_alloc(p->n_samples * sizeof *samples), n = 0;
    for (uint32_t i = 0; i < p->n_samples; i++)
        if (label_of(p, i) != PROFILE_NONE) samples[n++] = i;
    int status = 0;
    if (n > 0) {
        qsort_r(samples, n, sizeof *samples, by_thread, (void *)p);
        struct profile *sorted = profile_part(p, samples, n);
        status = take_parts(&t, sorted);
        profile_free(sorted);
    }
    free(samples);
    return status;
}
