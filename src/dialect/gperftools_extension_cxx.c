/* gperftools_extension_cxx.c - MallocExtension, the object of malloc_extension.h, for programs that were compiled for gperftools'.
 *
 * Written down as the C++ ABI lays it out: an object is a pointer to its table of functions; in front of the table stand an offset
 * and the type's description. All arguments are passed as in C, `this` first. No C++ run-time library is needed: what is used of it
 * is referred to weakly, and is there in every program that can call these.
 *
 *     _ZTV15MallocExtension   { 0, &type, [0] destructors, [2] VerifyAllMemory ... [28] MarkThreadTemporarilyIdle }
 *
 * The order of the rows in VIRTUALS is the binary interface.
 *
 * Translation, no logic.   Climate: host.   Owns: the object, and who was registered in its place.
 */
#include <errno.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/base.h"
#include "compat/gperftools/malloc_extension_c.h"
#include "conf/options.h"
#include "dialect/gperftools.h"
#include "dialect/gperftools_debug.h"
#include "heap/heap.h"
#include "heap/upcalls.h"
#include "life/life.h"
#include "os/os.h"
#include "probe/probe.h"
#include "stack/stack.h"

#define OF_CXX __attribute__((weak))
#define NAMED(mangled) __asm__(mangled)

extern void *operator_new(size_t n_bytes) NAMED("_Znwm") __attribute__((returns_nonnull));
extern void *operator_new_array(size_t n_bytes) NAMED("_Znam");
extern void operator_delete(void *p) NAMED("_ZdlPv");
extern void *string_append(void *string, const char *s, size_t n)
    NAMED("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKcm") OF_CXX;
extern char class_type_table[] NAMED("_ZTVN10__cxxabiv117__class_type_infoE") OF_CXX;

struct object {
    void *const *table;
};

/* ---- what has no namesake in C ---- */

static void append(void *string, const struct vt_long_text *t) {
    if (string_append != NULL && t->len > 0) string_append(string, t->at, t->len);
}

static void write_kind(void *string, enum vt_heap_kind kind, const char *before) {
    struct vt_long_text text = {0};
    if (vt__life_start() != 0) return;
    vt__long_text_put(&text, before, vt__str_len(before));
    (void)vt__life_heap_write(VT_GPERFTOOLS_HEAP, kind, vt__long_text_put, &text);
    append(string, &text);
    vt__long_text_drop(&text);
}

static void get_heap_sample(struct object *self, void *string) {
    static const char no_samples[] =
        "%warn\n"
        "%warn There is nothing in this profile: no samples are being taken.\n"
        "%warn They are when the program is started with\n"
        "%warn\n"
        "%warn     TCMALLOC_SAMPLE_PARAMETER=524288\n"
        "%warn\n"
        "%warn in its environment: one for so many bytes allocated.\n";
    (void)self;
    write_kind(string, VT_HEAP_SAMPLED, vt__sample_period() == 0 ? no_samples : "");
}

static void get_growth(struct object *self, void *string) {
    (void)self;
    write_kind(string, VT_HEAP_GROWTH, "");
}

struct range {
    uintptr_t address;
    size_t length;
    int type; /* in use, free, unmapped */
    double fraction;
};

static void ranges(struct object *self, void *arg, void (*visit)(void *, const struct range *)) {
    static const int types[] = {
        [VT_RANGE_SLAB] = 0, [VT_RANGE_LARGE] = 0, [VT_RANGE_FREE] = 1, [VT_RANGE_CLEAN] = 2};
    struct vt_heap_range r;
    (void)self;
    for (size_t cursor = 0; vt__heap_next_range(&cursor, &r);) {
        struct range out = {r.at, r.n_bytes, types[r.kind], r.used};
        visit(arg, &out);
    }
}

static _Atomic(void *) system_allocator;

static void *get_system_allocator(struct object *self) {
    (void)self;
    return atomic_load(&system_allocator);
}

/* Remembered for who asks, and never called. */
static void set_system_allocator(struct object *self, void *allocator) {
    static _Atomic bool is_said;
    (void)self;
    atomic_store(&system_allocator, allocator);
    if (allocator != NULL && !atomic_exchange(&is_said, true))
        vt__warn("no memory comes from the", "SysAllocator",
                 " of SetSystemAllocator: this heap maps its own");
}

struct free_list {
    size_t min_bytes, max_bytes, free_bytes;
    const char *type;
};

struct vector { /* std::vector<FreeListInfo> */
    struct free_list *begin, *end, *limit;
};

static void push(struct vector *v, struct free_list row) {
    size_t n = (size_t)(v->end - v->begin);
    if (v->begin == NULL || v->end == v->limit) {
        size_t cap = vt_max(2 * n, 16);
        struct free_list *at = operator_new(cap * sizeof(*at));
        if (v->begin != NULL) {
            __builtin_memcpy(at, v->begin, n * sizeof(*at));
            operator_delete(v->begin);
        }
        v->begin = at;
        v->limit = at + cap;
    }
    v->begin[n] = row;
    v->end = v->begin + n + 1;
}

static void get_free_lists(struct object *self, struct vector *v) {
    struct vt_class_stats classes[VT_N_CLASSES];
    struct vt_stats s = {.size = sizeof(s)};
    size_t below = 0;
    (void)self;
    if (vt__life_start() != 0) return;
    vt__heap_stats(&s, classes);
    for (unsigned c = 0; c < VT_N_CLASSES; c++) {
        const struct vt_class_stats *k = &classes[c];
        push(v, (struct free_list){below + 1, k->block_bytes, k->n_free * k->block_bytes,
                                   "tcmalloc.central"});
        push(v, (struct free_list){below + 1, k->block_bytes, k->n_cached * k->block_bytes,
                                   "tcmalloc.thread"});
        below = k->block_bytes;
    }
    size_t page = vt__heap_range_step();
    push(v, (struct free_list){page, SIZE_MAX, s.retained, "tcmalloc.large"});
    push(v, (struct free_list){page, SIZE_MAX, s.mapped - vt_min(s.mapped, s.active + s.retained),
                               "tcmalloc.large_unmapped"});
    if (vt__debug_has_queue())
        push(v, (struct free_list){0, SIZE_MAX, vt__debug_queued_bytes(), "debug.free_queue"});
}

/* ---- stacks as arrays: count, bytes, depth, addresses; a count of 0 is the end ---- */

static void put_words(struct vt_long_text *t, uintptr_t n, uintptr_t n_bytes, const uintptr_t *pc,
                      unsigned depth) {
    uintptr_t head[] = {n, n_bytes, depth};
    vt__long_text_put(t, (const char *)head, sizeof(head));
    vt__long_text_put(t, (const char *)pc, depth * sizeof(*pc));
}

static void **as_array(struct vt_long_text *t) {
    put_words(t, 0, 0, NULL, 0);
    void **array = t->is_lost ? NULL : operator_new_array(t->len);
    if (array != NULL) __builtin_memcpy(array, t->at, t->len);
    vt__long_text_drop(t);
    return array;
}

static void **read_stacks(struct object *self, int *period) {
    struct vt_long_text t = {0};
    struct vt_heap_object o;
    (void)self;
    *period = (int)vt_min(vt__sample_period(), INT32_MAX);
    for (uint32_t cursor = 0; vt__sample_next_object(&cursor, &o);)
        put_words(&t, 1, o.block_bytes, o.pcs, o.n_pcs);
    return as_array(&t);
}

static void **read_growth_stacks(struct object *self) {
    struct vt_long_text t = {0};
    struct vt_growth g;
    const uintptr_t *pc = NULL;
    (void)self;
    for (uint32_t cursor = 0; vt__growth_next(&cursor, &g);) {
        unsigned n = vt__depot_get(g.stack, &pc);
        put_words(&t, g.n, g.n_bytes, pc, n);
    }
    return as_array(&t);
}

/* ---- the table ---- */

/* clang-format off */
/*       result,  slot,          mangled name behind _ZN15MallocExtension,                     parameters,  body */
#define VIRTUALS(V) \
    V(bool,   verify_all,       "15VerifyAllMemoryEv",                                        (struct object *self), { (void)self; return MallocExtension_VerifyAllMemory() != 0; }) \
    V(bool,   verify_new,       "15VerifyNewMemoryEPKv",                                      (struct object *self, const void *p), { (void)self; return MallocExtension_VerifyNewMemory(p) != 0; }) \
    V(bool,   verify_array,     "20VerifyArrayNewMemoryEPKv",                                 (struct object *self, const void *p), { (void)self; return MallocExtension_VerifyArrayNewMemory(p) != 0; }) \
    V(bool,   verify_malloc,    "18VerifyMallocMemoryEPKv",                                   (struct object *self, const void *p), { (void)self; return MallocExtension_VerifyMallocMemory(p) != 0; }) \
    V(bool,   memory_stats,     "17MallocMemoryStatsEPiPmS0_",                                (struct object *self, int *n, size_t *total, int *histogram), { (void)self; return MallocExtension_MallocMemoryStats(n, total, histogram) != 0; }) \
    V(void,   stats,            "8GetStatsEPci",                                              (struct object *self, char *buf, int n), { (void)self; MallocExtension_GetStats(buf, n); }) \
    V(void,   heap_sample,      "13GetHeapSampleEPNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", (struct object *self, void *s), { get_heap_sample(self, s); }) \
    V(void,   heap_growth,      "19GetHeapGrowthStacksEPNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", (struct object *self, void *s), { get_growth(self, s); }) \
    V(void,   all_ranges,       "6RangesEPvPFvS0_PKN4base11MallocRangeEE",                    (struct object *self, void *arg, void (*f)(void *, const struct range *)), { ranges(self, arg, f); }) \
    V(bool,   get_property,     "18GetNumericPropertyEPKcPm",                                 (struct object *self, const char *name, size_t *value), { (void)self; return MallocExtension_GetNumericProperty(name, value) != 0; }) \
    V(bool,   set_property,     "18SetNumericPropertyEPKcm",                                  (struct object *self, const char *name, size_t value), { (void)self; return MallocExtension_SetNumericProperty(name, value) != 0; }) \
    V(void,   idle,             "14MarkThreadIdleEv",                                         (struct object *self), { (void)self; MallocExtension_MarkThreadIdle(); }) \
    V(void,   busy,             "14MarkThreadBusyEv",                                         (struct object *self), { (void)self; MallocExtension_MarkThreadBusy(); }) \
    V(void *, get_allocator,    "18GetSystemAllocatorEv",                                     (struct object *self), { return get_system_allocator(self); }) \
    V(void,   set_allocator,    "18SetSystemAllocatorEP12SysAllocator",                       (struct object *self, void *a), { set_system_allocator(self, a); }) \
    V(void,   release,          "15ReleaseToSystemEm",                                        (struct object *self, size_t n), { (void)self; MallocExtension_ReleaseToSystem(n); }) \
    V(void,   release_free,     "17ReleaseFreeMemoryEv",                                      (struct object *self), { (void)self; MallocExtension_ReleaseFreeMemory(); }) \
    V(void,   set_rate,         "20SetMemoryReleaseRateEd",                                   (struct object *self, double rate), { (void)self; MallocExtension_SetMemoryReleaseRate(rate); }) \
    V(double, get_rate,         "20GetMemoryReleaseRateEv",                                   (struct object *self), { (void)self; return MallocExtension_GetMemoryReleaseRate(); }) \
    V(size_t, estimate,         "25GetEstimatedAllocatedSizeEm",                              (struct object *self, size_t n), { (void)self; return MallocExtension_GetEstimatedAllocatedSize(n); }) \
    V(size_t, allocated_size,   "16GetAllocatedSizeEPKv",                                     (struct object *self, const void *p), { (void)self; return MallocExtension_GetAllocatedSize(p); }) \
    V(int,    ownership,        "12GetOwnershipEPKv",                                         (struct object *self, const void *p), { (void)self; return (int)MallocExtension_GetOwnership(p); }) \
    V(void,   free_lists,       "16GetFreeListSizesEPSt6vectorINS_12FreeListInfoESaIS1_EE",   (struct object *self, struct vector *v), { get_free_lists(self, v); }) \
    V(void **, stack_traces,    "15ReadStackTracesEPi",                                       (struct object *self, int *period), { return read_stacks(self, period); }) \
    V(void **, growth_traces,   "25ReadHeapGrowthStackTracesEv",                              (struct object *self), { return read_growth_stacks(self); }) \
    V(size_t, thread_cache,     "18GetThreadCacheSizeEv",                                     (struct object *self), { (void)self; return MallocExtension_GetThreadCacheSize(); }) \
    V(void,   briefly_idle,     "25MarkThreadTemporarilyIdleEv",                              (struct object *self), { (void)self; MallocExtension_MarkThreadTemporarilyIdle(); })

#define DECLARE(result, name, mangled, params, body) \
    VT_EXPORT result extension_##name params NAMED("_ZN15MallocExtension" mangled); \
    VT_EXPORT result extension_##name params body
#define SLOT(result, name, mangled, params, body) (void *)extension_##name,
/* clang-format on */

VIRTUALS(DECLARE)

#define DESTRUCTORS(c_name, mangled)                                                               \
    VT_EXPORT void c_name##_d1(void *self) NAMED("_ZN" mangled "D1Ev");                            \
    VT_EXPORT void c_name##_d1(void *self) { (void)self; }                                         \
    VT_EXPORT void c_name##_d2(void *self) NAMED("_ZN" mangled "D2Ev");                            \
    VT_EXPORT void c_name##_d2(void *self) { (void)self; }                                         \
    VT_EXPORT void c_name##_d0(void *self) NAMED("_ZN" mangled "D0Ev");                            \
    VT_EXPORT void c_name##_d0(void *self) { operator_delete(self); }
DESTRUCTORS(extension, "15MallocExtension")
DESTRUCTORS(allocator, "12SysAllocator")

struct type {
    const void *table; /* of the class that describes classes */
    const char *name;
};
#define TYPE(c_name, mangled)                                                                      \
    VT_EXPORT extern const char c_name##_name[sizeof(mangled)] NAMED("_ZTS" mangled);              \
    const char c_name##_name[sizeof(mangled)] = mangled;                                           \
    VT_EXPORT extern const struct type c_name##_type NAMED("_ZTI" mangled);                        \
    const struct type c_name##_type = {class_type_table + 2 * sizeof(void *), c_name##_name};
TYPE(extension, "15MallocExtension")
TYPE(allocator, "12SysAllocator")

#define N_VIRTUALS 27
struct extension_table {
    const void *offset, *type;
    void *destroy[2];
    void *function[N_VIRTUALS];
};
VT_EXPORT extern const struct extension_table extension_table NAMED("_ZTV15MallocExtension");
const struct extension_table extension_table = {
    NULL, &extension_type, {(void *)extension_d1, (void *)extension_d0}, {VIRTUALS(SLOT)}};

struct allocator_table {
    const void *offset, *type;
    void *destroy[2], *alloc;
};
extern void pure_virtual(void) NAMED("__cxa_pure_virtual") OF_CXX;
VT_EXPORT extern const struct allocator_table allocator_table NAMED("_ZTV12SysAllocator");
const struct allocator_table allocator_table = {
    NULL, &allocator_type, {(void *)allocator_d1, (void *)allocator_d0}, (void *)pure_virtual};

/* ---- static members ---- */

static struct object ours = {extension_table.destroy};
static _Atomic(struct object *) registered;

VT_EXPORT void extension_initialize(void) NAMED("_ZN15MallocExtension10InitializeEv");
VT_EXPORT void extension_initialize(void) {}

VT_EXPORT struct object *extension_instance(void) NAMED("_ZN15MallocExtension8instanceEv");
VT_EXPORT struct object *extension_instance(void) {
    struct object *other = atomic_load_explicit(&registered, memory_order_acquire);
    return other != NULL ? other : &ours;
}

VT_EXPORT void extension_register(struct object *other) NAMED("_ZN15MallocExtension8RegisterEPS_");
VT_EXPORT void extension_register(struct object *other) {
    atomic_store_explicit(&registered, other, memory_order_release);
}

/* ---- flags that some programs declare by hand: they may be read and written, and mean nothing ---- */

VT_FLAG_INT64(flag_sample_parameter, "31FLAGS_tcmalloc_sample_parameter");
VT_FLAG_INT64(flag_heap_limit_mb, "28FLAGS_tcmalloc_heap_limit_mb");
VT_FLAG_DOUBLE(flag_release_rate, "27FLAGS_tcmalloc_release_rate");
int64_t flag_sample_parameter, flag_heap_limit_mb;
double flag_release_rate = 1;
