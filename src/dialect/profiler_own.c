/* profiler_own.c - libvitrine's CPU profiler, for a libprofiler in the same process. profiler_other.c is the other choice.
 * Climate: host. */
#include "dialect/profiler.h"

VT_EXPORT extern const struct vt_profiler_functions vt_profiler_functions;
const struct vt_profiler_functions vt_profiler_functions = {sizeof(vt_profiler_functions),
                                                            ProfilerStartWithOptions,
                                                            ProfilerStop,
                                                            ProfilerFlush,
                                                            ProfilerRegisterThread,
                                                            ProfilingIsEnabledForAllThreads,
                                                            ProfilerGetCurrentState};

const struct vt_profiler_functions *vt__profiler_elsewhere(void) { return NULL; }
