/* gperftools/heap-profiler.h - heap profiles by the names gperftools gave them. Link with -ltcmalloc or -ltcmalloc_and_profiler.
 *
 * Environment: HEAPPROFILE=PREFIX profiles the whole run; docs/dialects.md has the other variables.
 */
#ifndef GPERFTOOLS_HEAP_PROFILER_H_
#define GPERFTOOLS_HEAP_PROFILER_H_

#include <stddef.h>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Count every allocation from now on; files are PREFIX.0001.heap and so on. Without effect while one is being made. */
PERFTOOLS_DLL_DECL void HeapProfilerStart(const char *prefix);

/* 1 while one is being made, 0 otherwise. */
PERFTOOLS_DLL_DECL int IsHeapProfilerRunning(void);

/* No more; nothing is written. */
PERFTOOLS_DLL_DECL void HeapProfilerStop(void);

/* Write the next file; the reason is in the line on stderr that tells of it. */
PERFTOOLS_DLL_DECL void HeapProfilerDump(const char *reason);

/* The profile as a text, to be freed by the caller; empty while none is being made. NULL: no memory. */
PERFTOOLS_DLL_DECL char *GetHeapProfile(void);

#ifdef __cplusplus
}
#endif

#endif
