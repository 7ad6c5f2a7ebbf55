/* mimalloc_options.c - mi_option_..., and what some of them mean here. Climate: malloc; the values are words that any thread may
 * read and write. */
#include <limits.h>

#include "conf/options.h"
#include "dialect/mimalloc_impl.h"

const struct vt_mi_option_row vt__mi_option_rows[VT_MI_N_OPTIONS] = {
#define ROW(name, v2, v3, unit, dflt2, dflt3, older)                                               \
    {#name, older, {v2, v3}, {dflt2, dflt3}, VT_MI_##unit},
#include "dialect/mimalloc_options.def"
};

static struct {
    _Atomic long value[VT_MI_N_OPTIONS];
    _Atomic bool is_set[VT_MI_N_OPTIONS]; /* else it is the default of the line */
} options;

bool vt__mi_option_is_set(enum vt_mi_option o) {
    return atomic_load_explicit(&options.is_set[o], memory_order_relaxed);
}

long vt__mi_option(enum vt_mi_option o) {
    if (!vt__mi_option_is_set(o)) return vt__mi_option_rows[o].dflt[vt__mi_line.line];
    return atomic_load_explicit(&options.value[o], memory_order_relaxed);
}

/* ---- what they mean ---- */

/* An option of ours that nobody has set by its own name. */
static void give(enum vt_option o, uint64_t value) {
    const struct vt_option_row *row = &vt__option_rows[o];
    if (value < row->low) value = row->low;
    if (value > row->high) value = row->high;
    __atomic_store_n(&vt__option_values[o], value, __ATOMIC_RELAXED);
}

static void take_purge_delay(long ms) {
    give(VT_OPT_retain, ms < 0 ? TiB(1) : ms == 0 ? 0 : vt__option_rows[VT_OPT_retain].dflt);
    give(VT_OPT_purge_delay, ms < 0 ? UINT64_MAX : (uint64_t)ms);
}

static void take_numa_nodes(long n) { give(VT_OPT_numa_nodes, n < 0 ? 0 : (uint64_t)n); }
static void take_thp(long n) { give(VT_OPT_thp, n == 0 ? VT_OFF : VT_AUTO); }
static void take_large_pages(long n) { give(VT_OPT_thp, n > 0 ? VT_ON : VT_AUTO); }

/* Options that are ours too. */
static const struct meaning {
    enum vt_mi_option option;
    enum vt_option ours;
    void (*take)(long value);
} meanings[] = {
    {VT_MI_purge_delay, VT_OPT_purge_delay, take_purge_delay},
    {VT_MI_use_numa_nodes, VT_OPT_numa_nodes, take_numa_nodes},
    {VT_MI_allow_thp, VT_OPT_thp, take_thp},
    {VT_MI_allow_large_os_pages, VT_OPT_thp, take_large_pages},
};

static bool is_set_by_name(enum vt_option o) {
    return vt__option_values[o] != vt__option_rows[o].dflt;
}

/* True: ours may be changed, since it still is the default or was changed by us. */
static bool may_take(const struct meaning *m) {
    return vt__mi_option_is_set(m->option) || !is_set_by_name(m->ours);
}

void vt__mi_option_put(enum vt_mi_option o, long value) {
    for (size_t i = 0; i < vt_countof(meanings); i++)
        if (meanings[i].option == o && may_take(&meanings[i])) meanings[i].take(value);
    atomic_store_explicit(&options.value[o], value, memory_order_relaxed);
    atomic_store_explicit(&options.is_set[o], true, memory_order_relaxed);
}

/* ---- by number ---- */

static int row_of(mi_option_t number) {
    for (int o = 0; o < VT_MI_N_OPTIONS; o++)
        if ((int)number >= 0 && vt__mi_option_rows[o].number[vt__mi_line.line] == (int)number)
            return o;
    return -1;
}

VT_EXPORT long mi_option_get(mi_option_t option) {
    int o = row_of(option);
    (void)vt__mi_started();
    return o >= 0 ? vt__mi_option((enum vt_mi_option)o) : 0;
}

VT_EXPORT long mi_option_get_clamp(mi_option_t option, long min, long max) {
    long n = mi_option_get(option);
    return n < min ? min : n > max ? max : n;
}

VT_EXPORT size_t mi_option_get_size(mi_option_t option) {
    int o = row_of(option);
    size_t n = (size_t)mi_option_get_clamp(option, 0, LONG_MAX / 1024);
    return o >= 0 && vt__mi_option_rows[o].unit == VT_MI_KIB ? n * 1024 : n;
}

VT_EXPORT void mi_option_set(mi_option_t option, long value) {
    int o = row_of(option);
    (void)vt__mi_started();
    if (o >= 0) vt__mi_option_put((enum vt_mi_option)o, value);
}

VT_EXPORT void mi_option_set_default(mi_option_t option, long value) {
    int o = row_of(option);
    (void)vt__mi_started();
    if (o >= 0 && !vt__mi_option_is_set((enum vt_mi_option)o))
        vt__mi_option_put((enum vt_mi_option)o, value);
}

VT_EXPORT bool mi_option_is_enabled(mi_option_t option) { return mi_option_get(option) != 0; }
VT_EXPORT void mi_option_set_enabled(mi_option_t option, bool enable) {
    mi_option_set(option, enable);
}
VT_EXPORT void mi_option_set_enabled_default(mi_option_t option, bool enable) {
    mi_option_set_default(option, enable);
}
VT_EXPORT void mi_option_enable(mi_option_t option) { mi_option_set(option, 1); }
VT_EXPORT void mi_option_disable(mi_option_t option) { mi_option_set(option, 0); }

/* ---- the list ---- */

static void put_line_start(struct vt_text *t) {
    if (vt__mi_line.options_have_prefix) vt__text_put(t, "mimalloc: ");
}

static void put_option(struct vt_text *t, enum vt_mi_option o) {
    const struct vt_mi_option_row *row = &vt__mi_option_rows[o];
    if (row->number[vt__mi_line.line] < 0) return;
    put_line_start(t);
    vt__text_put(t, "option '");
    if (row->unit == VT_MI_PAST && vt__mi_line.line == VT_MI_V3) vt__text_put(t, "deprecated_");
    vt__text_put(t, row->name);
    vt__text_put(t, "': ");
    vt__text_int(t, vt__mi_option(o));
    vt__text_put(t, row->unit == VT_MI_KIB ? " KiB\n" : "\n");
}

VT_EXPORT void mi_options_print_out(mi_output_fun *out, void *arg) {
    struct vt_mi_printer p;
    struct vt_text *t = vt__mi_print_begin(&p, out, arg);
    (void)vt__mi_started();
    put_line_start(t);
    vt__text_put(t, vt__mi_line.version_text);
    vt__text_put(t, ", release (vitrine)\n");
    for (unsigned o = 0; o < VT_MI_N_OPTIONS; o++) put_option(t, (enum vt_mi_option)o);
    static const char *const levels[] = {"debug level : 0\n", "secure level: 0\n",
                                         "mem tracking: none\n"};
    for (unsigned i = 0; i < vt_countof(levels); i++) {
        put_line_start(t);
        vt__text_put(t, levels[i]);
    }
    vt__text_flush(t);
}

VT_EXPORT void mi_options_print(void) { mi_options_print_out(NULL, NULL); }
