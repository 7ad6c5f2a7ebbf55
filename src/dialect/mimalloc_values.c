/* mimalloc_values.c - the options' values, and what some of them mean here. Climate: malloc; the values are words that any thread
 * may read and write. */
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

static _Atomic bool is_limited; /* by the next */

/* There is no more than what the heap has, which is what was reserved and what it took before. */
static void take_disallow_os_alloc(long n) {
    atomic_store_explicit(&is_limited, n > 0, memory_order_relaxed);
    give(VT_OPT_limit, n > 0 ? vt_max(vt__heap_grown_bytes(), 1) : 0);
}

void vt__mi_limit_more(size_t n_bytes) {
    if (atomic_load_explicit(&is_limited, memory_order_relaxed))
        give(VT_OPT_limit, vt_max(vt__heap_grown_bytes(), 1) + vt_round_up(n_bytes, MiB(2)));
}

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
    {VT_MI_disallow_os_alloc, VT_OPT_limit, take_disallow_os_alloc},
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
