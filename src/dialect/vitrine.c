/* vitrine.c - the library's own API, vitrine.h. Translation, no logic. Climate: host. */
#include "vitrine.h"

#include <errno.h>

#include "base/base.h"
#include "dump/stats.h"
#include "heap/heap.h"
#include "heap/upcalls.h"
#include "life/contention.h"
#include "life/cpu.h"
#include "life/life.h"
#include "probe/exact.h"
#include "probe/probe.h"

/* struct vt_stats as of 0.1.0; it may grow at its end. */
#define FIRST_VERSION_BYTES (offsetof(struct vt_stats, large) + sizeof(uint64_t))

VT_EXPORT const char *vt_version(void) { return VITRINE_VERSION; }

VT_EXPORT size_t vt_release_free_memory(void) {
    return vt__life_start() == 0 ? vt__heap_release_all() : 0;
}

VT_EXPORT int vt_stats_print(int fd, enum vt_format format) {
    int err = vt__life_start();
    return err != 0 ? err : vt__stats_write_fd(fd, format);
}

VT_EXPORT int vt_stats_get(struct vt_stats *stats) {
    struct vt_class_stats classes[VT_N_CLASSES];
    struct vt_stats now;
    size_t size = stats->size;
    if (size < FIRST_VERSION_BYTES) return -EINVAL;
    int err = vt__life_start();
    if (err != 0) return err;
    vt__stats_take(&now, classes);
    now.size = size;
    __builtin_memcpy(stats, &now,
                     vt_min(size, sizeof(now))); /* an older caller knows fewer fields */
    return 0;
}

/* ---- heap profiles ---- */

VT_EXPORT int vt_heap_start(const char *prefix) {
    int err = vt__life_start();
    return err != 0 ? err : vt__life_heap_start(prefix);
}

VT_EXPORT int vt_heap_dump(const char *path) {
    int err = vt__life_start();
    return err != 0 ? err : vt__life_heap_dump(path);
}

VT_EXPORT void vt_heap_stop(void) { vt__life_heap_stop(); }

VT_EXPORT int vt_heap_profile_fd(int fd, enum vt_heap_format format) {
    int err = vt__life_start();
    return err != 0 ? err : vt__life_heap_write_fd(fd, format);
}

VT_EXPORT int vt_heap_profile_kind_fd(int fd, enum vt_heap_format format, enum vt_heap_kind kind) {
    int err = vt__life_start();
    return err != 0 ? err : vt__life_heap_write_kind_fd(fd, format, kind);
}

VT_EXPORT void vt_heap_set_rate(size_t mean_bytes) {
    if (vt__life_start() != 0) return;
    vt__heap_drop_thread_cache(); /* what is ready in the lists was counted off by the old rate */
    vt__sample_set_period(mean_bytes);
}

VT_EXPORT int vt_heap_set_exact(int on) {
    int err = vt__life_start();
    return err != 0 ? err : vt__exact_set(on != 0);
}

VT_EXPORT int vt_heap_visit(int (*visit)(const struct vt_heap_object *object, void *arg),
                            void *arg) {
    struct vt_heap_object o;
    for (uint32_t cursor = 0; vt__sample_next_object(&cursor, &o);) {
        int answer = visit(&o, arg);
        if (answer != 0) return answer;
    }
    return 0;
}

/* ---- CPU profiles ---- */

VT_EXPORT int vt_cpu_start(const char *file) {
    struct vt_cpu_wish wish = {.path = file};
    int err = vt__life_start();
    return err != 0 ? err : vt__life_cpu_start(&wish);
}

VT_EXPORT int vt_cpu_dump(const char *path) { return vt__life_cpu_dump(path); }

VT_EXPORT int vt_cpu_stop(void) { return vt__life_cpu_stop(); }

/* ---- contention profiles ---- */

VT_EXPORT int vt_contention_start(const char *file) {
    int err = vt__life_start();
    return err != 0 ? err : vt__life_contention_start(file, /* is_unprepared */ false);
}

VT_EXPORT int vt_contention_dump(const char *path) { return vt__life_contention_dump(path); }

VT_EXPORT int vt_contention_stop(void) { return vt__life_contention_stop(); }

/* ---- labels ---- */

VT_EXPORT int vt_label_push(const char *key, const char *value) {
    int err = vt__life_start();
    return err != 0 ? err : vt__label_push(key, value);
}

VT_EXPORT void vt_label_pop(void) { vt__label_pop(); }
