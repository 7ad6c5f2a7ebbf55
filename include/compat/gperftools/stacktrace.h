/* gperftools/stacktrace.h - call stacks, for C++. Innermost first; the caller of the function is the first frame when skip_count is
 * 0. The answer is the number of frames. */
#ifndef GPERFTOOLS_STACKTRACE_H_
#define GPERFTOOLS_STACKTRACE_H_

#include <stddef.h>

#ifdef __cplusplus

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

extern PERFTOOLS_DLL_DECL int GetStackTrace(void **result, int max_depth, int skip_count);

/* From a signal handler, with its third argument: what it interrupted. NULL: as above. */
extern PERFTOOLS_DLL_DECL int GetStackTraceWithContext(void **result, int max_depth, int skip_count,
                                                       const void *uc);

/* With the sizes of the frames, 0 where it is not known. */
extern PERFTOOLS_DLL_DECL int GetStackFrames(void **result, int *sizes, int max_depth,
                                             int skip_count);
extern PERFTOOLS_DLL_DECL int GetStackFramesWithContext(void **result, int *sizes, int max_depth,
                                                        int skip_count, const void *uc);

#endif

#endif
