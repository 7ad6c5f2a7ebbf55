/* reload_profiler.c - what reload.c asks of the stack room, by libprofiler's exported names: its dlclose is all that tells. */
#include "compat/gperftools/profiler.h"
#include "stack/stack.h"

__attribute__((noinline)) void vt__stack_here(struct vt_frames *out) {
    void *frames[VT_STACK_MAX_FRAMES];
    int n = ProfilerGetStackTrace(frames, VT_STACK_MAX_FRAMES, /* skip */ 1, 0);
    out->n = (unsigned)n;
    for (int i = 0; i < n; i++) out->pc[i] = (uintptr_t)frames[i];
}

void vt__stack_modules_changed(void) {}
void vt__stack_poll_modules(bool always) { (void)always; }
void vt__stack_thread_ends(void) {}
