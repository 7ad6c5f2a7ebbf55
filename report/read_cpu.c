/* read_cpu.c - CPU profiles of gperftools: words of 4 or 8 bytes of either endian, then text.
 *
 *   0 3 0 period_us 0   |   count n pc[n]   |   count n pc[n] ...   |   0 1 0   |   /proc/PID/maps
 *
 * The first pc of a stack is where the timer hit, the others are return addresses. A handler's own frame
 * that stands second in all stacks is noise and left out, as is a leaf that is there twice.
 *
 * Climate: cli.
 */
#include "report/reader.h"

#include <stdlib.h>

#define MAX_NOISE 2
#define MAX_DEPTH (1u << 16) /* more is not a stack but another kind of file */

struct words {
    struct input *in;
    unsigned size; /* 4 or 8 */
    bool is_swapped;
};

static bool word(const struct words *w, const char **at, uint64_t *value) {
    if ((size_t)(w->in->end - *at) < w->size) return false;
    if (w->size == 8) {
        memcpy(value, *at, 8);
        if (w->is_swapped) *value = __builtin_bswap64(*value);
    } else {
        uint32_t half;
        memcpy(&half, *at, 4);
        *value = w->is_swapped ? __builtin_bswap32(half) : half;
    }
    *at += w->size;
    return true;
}

/* The header's words 0 and 3 tell both size and endian. */
static bool find_words(const struct input *in, struct words *w) {
    for (unsigned i = 0; i < 4; i++) {
        struct words guess = {(struct input *)in, i & 1 ? 4 : 8, (i & 2) != 0};
        const char *at = in->at;
        uint64_t zero, n_header;
        if (word(&guess, &at, &zero) && word(&guess, &at, &n_header) && zero == 0 &&
            n_header >= 3 && n_header < MAX_DEPTH) {
            *w = guess;
            return true;
        }
    }
    return false;
}

static bool knows(const struct input *in) {
    struct words w;
    return find_words(in, &w);
}

/* All records, twice: once to look for noise, once to keep. visit() gives 0 to go on. */
typedef int visit_record(void *context, uint64_t count, const uint64_t *pcs, uint32_t n);

static int each_record(struct words *w, const char **at, visit_record *visit, void *context) {
    struct input *in = w->in;
    uint64_t *pcs = NULL, count, n;
    uint32_t cap = 0;
    int error = 0;
    while (error == 0) {
        if (!word(w, at, &count) || !word(w, at, &n)) {
            error = input_fail(in, "is truncated: no end mark after %zu bytes",
                               (size_t)(in->end - in->begin));
        } else if (n > MAX_DEPTH) {
            error = input_fail(in, "is no CPU profile: a stack of %llu frames at byte %zu",
                               (unsigned long long)n, (size_t)(*at - in->begin));
        } else if ((size_t)(in->end - *at) / w->size < n) {
            error =
                input_fail(in, "is truncated: a stack of %llu frames at byte %zu goes past the end",
                           (unsigned long long)n, (size_t)(*at - in->begin));
        } else {
            REPORT_ROOM(pcs, 0, cap, (uint32_t)n + 1);
            for (uint32_t i = 0; i < n; i++) (void)word(w, at, &pcs[i]);
            if (count == 0 && n == 1 && pcs[0] == 0) break; /* the end mark */
            error = visit(context, count, pcs, (uint32_t)n);
        }
    }
    free(pcs);
    return error;
}

struct reading {
    struct input *in;
    double period_ns;
    uint64_t second[MAX_NOISE]; /* the frames after the leaf of the first stack */
    uint32_t n_records;
    uint32_t n_same;   /* how many of them are the same in all stacks */
    bool leaf_repeats; /* in all stacks the leaf comes again after n frames, n <= MAX_NOISE */
    uint32_t n_noise;
};

static int note_second(void *context, uint64_t count, const uint64_t *pcs, uint32_t n) {
    struct reading *r = context;
    (void)count;
    if (r->n_records++ == 0) {
        r->leaf_repeats = true;
        for (; r->n_same < MAX_NOISE && r->n_same + 1 < n; r->n_same++)
            r->second[r->n_same] = pcs[r->n_same + 1];
    }
    for (uint32_t i = 0; i < r->n_same; i++)
        if (i + 1 >= n || pcs[i + 1] != r->second[i]) r->n_same = i;
    bool repeats = false;
    for (uint32_t i = 1; i <= MAX_NOISE + 1 && i < n; i++) repeats |= pcs[i] == pcs[0];
    r->leaf_repeats &= repeats;
    return 0;
}

static bool is_profilers(const struct profile *p, uint64_t pc) {
    for (uint32_t i = 0; i < p->n_mappings; i++) {
        const struct profile_mapping *m = &p->mappings[i];
        const char *file = profile_text(p, m->file);
        if (pc >= m->start && pc < m->limit)
            return strstr(file, "libprofiler") != NULL || strstr(file, "libtcmalloc") != NULL;
    }
    return false;
}

/* The signal handler's frames: the same in all stacks, and either in the profiler's library or known
 * by the leaf that comes again behind them. Being the same alone proves nothing: so is main(). */
static uint32_t count_noise(const struct reading *r) {
    if (r->leaf_repeats) return r->n_same;
    uint32_t n = 0;
    while (n < r->n_same && is_profilers(r->in->profile, r->second[n])) n++;
    return n;
}

static int keep(void *context, uint64_t count, const uint64_t *pcs, uint32_t n) {
    struct reading *r = context;
    uint32_t first = 1 + r->n_noise;
    frames_clear(r->in);
    if (n > 0) frames_add(r->in, pcs[0], 0);
    if (n > first && pcs[first] == pcs[0]) first++; /* the leaf again */
    for (uint32_t i = first; i < n; i++) frames_add(r->in, pcs[i], 1);
    double values[] = {(double)count, (double)count * r->period_ns};
    frames_sample(r->in, values);
    return 0;
}

static int read(struct input *in) {
    struct profile *p = in->profile;
    struct words w;
    uint64_t header[5] = {0};
    const char *at = in->at;
    (void)find_words(in, &w);
    for (unsigned i = 0; i < 5; i++)
        if (!word(&w, &at, &header[i])) return input_fail(in, "is truncated within its header");
    if (header[2] != 0)
        return input_fail(in, "is a CPU profile of version %llu, only 0 is known",
                          (unsigned long long)header[2]);
    for (uint64_t i = 3; i < header[1]; i++) { /* a longer header: skip what we do not know */
        uint64_t ignored;
        if (!word(&w, &at, &ignored)) return input_fail(in, "is truncated within its header");
    }
    p->kind = PROFILE_CPU;
    (void)profile_add_type(p, "samples", "count");
    p->default_type = profile_add_type(p, "cpu", "nanoseconds");
    p->period_type = p->types[1];
    p->period = (int64_t)(header[3] * 1000);
    struct reading r = {.in = in, .period_ns = (double)header[3] * 1000};
    const char *records = at;
    int error = each_record(&w, &at, note_second, &r);
    if (error != 0) return error;
    in->at = at;
    input_read_maps(in);
    if (in->options == NULL || !in->options->keeps_handler) r.n_noise = count_noise(&r);
    at = records;
    (void)each_record(&w, &at, keep, &r); /* went well before */
    profile_locate(p);
    return 0;
}

const struct reader reader_cpu = {"gperftools CPU profile", knows, read, KEEPS_NAMES_BEHIND};
