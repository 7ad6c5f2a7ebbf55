/* profiler.h - gperftools' functions as a table, by which libprofiler finds those of a libvitrine beside it.
 *
 * Two CPU profilers in one process would share a signal. So libprofiler looks for this table when it is loaded or first called,
 * and if it is there, hands every call on: there is one profiler, libvitrine's, which knows labels too.
 */
#ifndef VT_DIALECT_PROFILER_H
#define VT_DIALECT_PROFILER_H

#include "base/base.h"
#include "compat/gperftools/profiler.h"

struct vt_profiler_functions {
    size_t size; /* of this struct, of the library that has it */
    int (*start)(const char *, const struct ProfilerOptions *);
    void (*stop)(void);
    void (*flush)(void);
    void (*register_thread)(void);
    int (*is_enabled)(void);
    void (*state)(struct ProfilerState *);
};

VT_HIDDEN_BEGIN
/* profiler_other.c: libvitrine's table, NULL without it. profiler_own.c: NULL, as it is ours. */
const struct vt_profiler_functions *vt__profiler_elsewhere(void);
VT_HIDDEN_END

#endif
