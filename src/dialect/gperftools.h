/* gperftools.h - what the files of this dialect share.
 *
 *   gperftools_environment.c   the variables              gperftools_heap.c        HeapProfilerStart and its sisters
 *   gperftools_extension.c     MallocExtension_*          gperftools_extension_cxx.c   the same as a C++ object
 *   gperftools_tc.c            tc_*                       gperftools_hook.c        MallocHook_*
 *   gperftools_stacktrace.c    GetStackTrace              gperftools_say.c         lines on stderr, texts that grow
 *   gperftools_new_mode.c      tc_set_new_mode            gperftools_mmap_log.c    HEAP_PROFILE_MMAP_LOG
 *   gperftools_debug.c         the debug libraries        gperftools_trace.c       and what they log
 *
 * Climate: host, but for what says otherwise.
 */
#ifndef VT_DIALECT_GPERFTOOLS_H
#define VT_DIALECT_GPERFTOOLS_H

#include "base/base.h"
#include "base/text.h"

VT_HIDDEN_BEGIN

struct vt_map_call; /* probe/maps.h */

/* ---- gperftools_environment.c: what the variables say. Values of those that have no meaning here are kept for who asks. ---- */

struct vt_gperftools {
    bool is_read;
    bool has_heap_profiler, has_sampler; /* what this library is; its door says so */
    const char *heap_profile;
    bool wants_pid, wants_cleanup;
    const char *heap_signal; /* as it was written */
    bool wants_mmap, wants_only_mmap, wants_mmap_log;
    int verbose;
    double release_rate;
    uint64_t max_total_thread_cache_bytes;
    bool is_aggressive;
    const char *stack_method;
    bool is_stack_verbose;
    const char *heap_check;
};
extern struct vt_gperftools vt__gperftools;

bool vt__gperftools_is_asked(void); /* these for vt_door; climate: malloc */
void vt__gperftools_read_environment(void);
void vt__gperftools_begin(void);
void vt__gperftools_end(void);
void vt__gperftools_write_stats(int fd, int level);
bool vt__gperftools_is_on(const char *value); /* as it reads a switch: t, y, 1 or nothing at all */
int64_t vt__gperftools_number(const char *value); /* and a number */
uint64_t vt__gperftools_retain(void); /* what the release rate and its sisters make of `retain` */
uint64_t vt__gperftools_clip_cache(uint64_t n_bytes);

/* ---- flags: variables in a C++ namespace that programs declare by hand, and may change while they run ---- */

/* `type` is int32, int64, bool or double, n_type the namespace's length; `name` has its own before it. */
#define VT_FLAG(c_type, c_name, n_type, type, name)                                                \
    VT_EXPORT extern c_type c_name __asm__(                                                        \
        "_ZN" n_type "FLAG__namespace_do_not_use_directly_use_DECLARE_" type "_instead" name "E")
#define VT_FLAG_BOOL(c_name, name) VT_FLAG(bool, c_name, "60", "bool", name)
#define VT_FLAG_INT32(c_name, name) VT_FLAG(int32_t, c_name, "61", "int32", name)
#define VT_FLAG_INT64(c_name, name) VT_FLAG(int64_t, c_name, "61", "int64", name)
#define VT_FLAG_DOUBLE(c_name, name) VT_FLAG(double, c_name, "62", "double", name)

/* gperftools_environment.c: HeapProfilerStart reads them. */
VT_FLAG_INT64(vt__flag_allocation_interval, "38FLAGS_heap_profile_allocation_interval");
VT_FLAG_INT64(vt__flag_deallocation_interval, "40FLAGS_heap_profile_deallocation_interval");
VT_FLAG_INT64(vt__flag_inuse_interval, "33FLAGS_heap_profile_inuse_interval");
VT_FLAG_INT64(vt__flag_time_interval, "32FLAGS_heap_profile_time_interval");

/* ---- gperftools_heap.c ---- */

void vt__gperftools_heap_begin(void); /* HEAPPROFILE */

void vt__gperftools_log_mmap(const struct vt_map_call *call); /* gperftools_mmap_log.c */

/* ---- gperftools_say.c ---- */

enum vt_level {
    VT_LEVEL_FATAL = -4,
    VT_LEVEL_ERROR,
    VT_LEVEL_WARNING,
    VT_LEVEL_INFO,
    VT_LEVEL_PLAIN
};
/* One line, if PERFTOOLS_VERBOSE is no less than the level. A fatal one ends the process, unless it is hidden. */
void vt__say(enum vt_level level, struct vt_text *line);

/* A text of any length, of mapped memory: a sink for the writers. */
struct vt_long_text {
    char *at;
    size_t cap, len;
    bool is_lost; /* there was no memory */
};
void vt__long_text_put(void *text, const char *data, size_t n_bytes);
void vt__long_text_drop(struct vt_long_text *text);

VT_HIDDEN_END

#endif
