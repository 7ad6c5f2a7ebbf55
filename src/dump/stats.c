/* stats.c - the heap's statistics, from the rows of counters.def and one row per size class.
 *
 * Climate: host, no malloc.   Owns: nothing.   Callers: vt_stats_print, malloc_stats, the exit report.
 */
#include "dump/stats.h"

#include "dump/emit.h"
#include "heap/heap.h"
#include "os/os.h"
#include "probe/probe.h"
#include "stack/stack.h"

static const struct {
    const char *name;
    const char *help;
    size_t offset;
    enum vt_unit unit;
} counters[] = {
#define COUNTER(name, unit, help) {#name, help, offsetof(struct vt_stats, name), VT_UNIT_##unit},
#include "conf/counters.def"
};
_Static_assert(sizeof(struct vt_stats) == sizeof(size_t) + vt_countof(counters) * sizeof(uint64_t),
               "every field of struct vt_stats has its row in counters.def");

static uint64_t rounded(double x) { return x > 0 ? (uint64_t)(x + 0.5) : 0; }

static void add_probes(struct vt_stats *out) {
    struct vt_sample_totals samples;
    struct vt_stack_stats walks;
    vt__sample_totals(&samples);
    vt__stack_stats(&walks);
    out->n_samples = samples.n_samples;
    out->n_samples_live = samples.n_live;
    out->n_samples_lost = samples.n_lost;
    out->sampled = rounded(samples.live_bytes);
    out->sampled_peak = rounded(samples.peak_bytes);
    out->n_stacks = walks.n_stacks;
    out->n_stacks_lost = walks.n_lost;
    out->stacks = walks.depot_bytes;
    out->n_walks = walks.n_walks;
    for (unsigned i = 0; i < VT_END_COUNT; i++)
        if (i != VT_END_OUTERMOST) out->n_walks_cut += walks.ended[i];
}

void vt__stats_take(struct vt_stats *out, struct vt_class_stats *classes) {
    *out = (struct vt_stats){.size = sizeof(*out)};
    vt__heap_stats(out, classes);
    add_probes(out);
}

static void write_classes(struct vt_emit *e, const struct vt_class_stats *classes) {
    static const char *const columns[] = {"block",  "slabs", "blocks",  "live",
                                          "cached", "free",  "resident"};
    vt__emit_table(e, "classes", columns, vt_countof(columns));
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        const struct vt_class_stats *k = &classes[c];
        if (k->n_slabs == 0) continue;
        uint64_t values[] = {k->block_bytes, k->n_slabs, k->n_blocks,      k->n_live,
                             k->n_cached,    k->n_free,  k->resident_bytes};
        vt__emit_row(e, columns, values, vt_countof(columns));
    }
    vt__emit_table_end(e);
}

void vt__stats_write(void (*sink)(void *arg, const char *data, size_t n_bytes), void *sink_arg,
                     enum vt_format format) {
    char buf[1024];
    struct vt_emit e = {
        {buf, sizeof(buf), 0, false, sink, sink_arg}, format == VT_JSON_FORMAT, false};
    struct vt_class_stats classes[VT_N_CLASSES];
    struct vt_stats stats;
    vt__stats_take(&stats, classes);
    vt__emit_begin(&e);
    vt__emit_string(&e, "about",
                    "vitrine " VITRINE_VERSION
                    " heap statistics; vitrine-stats(5) explains every line");
    for (size_t i = 0; i < vt_countof(counters); i++) {
        uint64_t value = *(const uint64_t *)((const char *)&stats + counters[i].offset);
        vt__emit_value(&e, counters[i].name, counters[i].unit, value, counters[i].help);
    }
    write_classes(&e, classes);
    vt__emit_end(&e);
}

struct fd_sink {
    int fd;
    int err; /* the first one; later pieces are dropped */
};

static void to_fd(void *arg, const char *data, size_t n_bytes) {
    struct fd_sink *sink = arg;
    if (sink->err == 0) sink->err = vt__os_write(sink->fd, data, n_bytes);
}

int vt__stats_write_fd(int fd, enum vt_format format) {
    struct fd_sink sink = {fd, 0};
    vt__stats_write(to_fd, &sink, format);
    return sink.err;
}
