/* gperftools_stacktrace.c - call stacks by gperftools' names, stacktrace.h. Not in the minimal libraries; in libprofiler too.
 *
 * Translation, no logic.   Climate: signal.
 */
#include "base/base.h"
#include "stack/stack.h"

#define NAMED(mangled) __asm__(mangled)

/* Sizes of frames are not known. */
static int stack(void **result, int *sizes, int max_depth, int skip_count, const void *ucontext) {
    unsigned n = vt__stack_copy(ucontext, skip_count > 0 ? (unsigned)skip_count : 0, result,
                                max_depth > 0 ? (unsigned)max_depth : 0);
    if (sizes != NULL) __builtin_memset(sizes, 0, n * sizeof(*sizes));
    return (int)n;
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
