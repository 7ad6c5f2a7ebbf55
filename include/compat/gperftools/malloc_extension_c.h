/* gperftools/malloc_extension_c.h - statistics, properties and tuning of the allocator, for C. Any thread may call any of these. */
#ifndef GPERFTOOLS_MALLOC_EXTENSION_C_H_
#define GPERFTOOLS_MALLOC_EXTENSION_C_H_

#include <stddef.h>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define kMallocExtensionHistogramSize 64

/* 1. The debug libraries look at the memory around every block, or this one, and end the process if it is damaged. */
PERFTOOLS_DLL_DECL int MallocExtension_VerifyAllMemory(void);
PERFTOOLS_DLL_DECL int MallocExtension_VerifyNewMemory(const void *p);
PERFTOOLS_DLL_DECL int MallocExtension_VerifyArrayNewMemory(const void *p);
PERFTOOLS_DLL_DECL int MallocExtension_VerifyMallocMemory(const void *p);

/* Blocks in use, their bytes, and how many by log2 of their size: known to the debug libraries; else zeros. 1. */
PERFTOOLS_DLL_DECL int MallocExtension_MallocMemoryStats(
    int *blocks, size_t *total, int histogram[kMallocExtensionHistogramSize]);

/* A text for people, cut to fit; from 10000 bytes on with size classes and free runs. */
PERFTOOLS_DLL_DECL void MallocExtension_GetStats(char *buffer, int buffer_length);

/* 1; 0: there is no such property, or it cannot be written. */
PERFTOOLS_DLL_DECL int MallocExtension_GetNumericProperty(const char *property, size_t *value);
PERFTOOLS_DLL_DECL int MallocExtension_SetNumericProperty(const char *property, size_t value);

/* The calling thread will not allocate for a while: what it keeps is given back. */
PERFTOOLS_DLL_DECL void MallocExtension_MarkThreadIdle(void);
PERFTOOLS_DLL_DECL void MallocExtension_MarkThreadBusy(void);
PERFTOOLS_DLL_DECL void MallocExtension_MarkThreadTemporarilyIdle(void);

/* Free memory back to the system: at least so much if there is, or all. */
PERFTOOLS_DLL_DECL void MallocExtension_ReleaseToSystem(size_t num_bytes);
PERFTOOLS_DLL_DECL void MallocExtension_ReleaseFreeMemory(void);

/* How eagerly that is done without being asked: 0 never, 1 as usual, 10 very. */
PERFTOOLS_DLL_DECL void MallocExtension_SetMemoryReleaseRate(double rate);
PERFTOOLS_DLL_DECL double MallocExtension_GetMemoryReleaseRate(void);

/* The usable size that a request would get, or that this block has; 0 for NULL. */
PERFTOOLS_DLL_DECL size_t MallocExtension_GetEstimatedAllocatedSize(size_t size);
PERFTOOLS_DLL_DECL size_t MallocExtension_GetAllocatedSize(const void *p);

/* Bytes in free blocks that the calling thread keeps. */
PERFTOOLS_DLL_DECL size_t MallocExtension_GetThreadCacheSize(void);

/* Is this address the allocator's? */
typedef enum {
    MallocExtension_kUnknownOwnership = 0,
    MallocExtension_kOwned,
    MallocExtension_kNotOwned
} MallocExtension_Ownership;
PERFTOOLS_DLL_DECL MallocExtension_Ownership MallocExtension_GetOwnership(const void *p);

#ifdef __cplusplus
}
#endif

#endif
