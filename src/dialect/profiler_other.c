/* profiler_other.c - is there a libvitrine beside this libprofiler? profiler_own.c is the other choice. Climate: host. */
#include <dlfcn.h>

#include "dialect/profiler.h"

const struct vt_profiler_functions *vt__profiler_elsewhere(void) {
    const struct vt_profiler_functions *f = dlsym(RTLD_DEFAULT, "vt_profiler_functions");
    return f != NULL && f->size >= sizeof(*f) ? f : NULL;
}
