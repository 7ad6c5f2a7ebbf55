/* gperftools_stacktrace.c - call stacks by gperftools' names, stacktrace.h. Not in the minimal libraries.
 *
 * Translation, no logic.   Climate: signal.
 */
#include "base/base.h"
#include "stack/stack.h"

#define NAMED(mangled) __asm__(mangled)

/* Sizes of frames are not known. */
static int stack(void **result, int *sizes, int max_depth, int skip_count, const void *ucontext) {
    struct vt_frames frames;
    int n = 0;
    if (ucontext != NULL)
        vt__stack_of_context(ucontext, &frames);
    else
        vt__stack_here(&frames);
    for (unsigned i = skip_count > 0 ? (unsigned)skip_count : 0; i < frames.n && n < max_depth;
         i++) {
        if (sizes != NULL) sizes[n] = 0;
        result[n++] = (void *)frames.pc[i];
    }
    return n;
}

#define FUNCTION(name, mangled, params, sizes, ucontext)                                           \
    VT_EXPORT int name params NAMED(mangled);                                                      \
    VT_EXPORT int name params { return stack(result, sizes, max_depth, skip_count, ucontext); }

FUNCTION(get_stack_trace, "_Z13GetStackTracePPvii", (void **result, int max_depth, int skip_count),
         NULL, NULL)
FUNCTION(get_stack_trace_of, "_Z24GetStackTraceWithContextPPviiPKv",
         (void **result, int max_depth, int skip_count, const void *uc), NULL, uc)
FUNCTION(get_stack_frames, "_Z14GetStackFramesPPvPiii",
         (void **result, int *sizes, int max_depth, int skip_count), sizes, NULL)
FUNCTION(get_stack_frames_of, "_Z25GetStackFramesWithContextPPvPiiiPKv",
         (void **result, int *sizes, int max_depth, int skip_count, const void *uc), sizes, uc)
