/* gperftools/malloc_hook_c.h - functions that are called at each allocation and free, for C.
 *
 * A new-hook is called after the allocation, with what it gave (NULL if it failed) and the size that was asked for; a
 * delete-hook before the free. A realloc that stays in place is both. At most 7 of a kind. While there is none, nothing is paid
 * for them. The hooks for mmap and sbrk can be set, and are not called, as in gperftools since 2.11.
 */
#ifndef GPERFTOOLS_MALLOC_HOOK_C_H_
#define GPERFTOOLS_MALLOC_HOOK_C_H_

#include <stddef.h>
#include <sys/types.h>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* From a hook: the stack of who called malloc or free. The number of frames. */
PERFTOOLS_DLL_DECL int MallocHook_GetCallerStackTrace(void **result, int max_depth, int skip_count);

/* Add and Remove answer 1; 0: NULL, not found, or no room. Set replaces the one that Set set before, and answers that. */

typedef void (*MallocHook_NewHook)(const void *ptr, size_t size);
PERFTOOLS_DLL_DECL int MallocHook_AddNewHook(MallocHook_NewHook hook);
PERFTOOLS_DLL_DECL int MallocHook_RemoveNewHook(MallocHook_NewHook hook);
PERFTOOLS_DLL_DECL MallocHook_NewHook MallocHook_SetNewHook(MallocHook_NewHook hook);

typedef void (*MallocHook_DeleteHook)(const void *ptr);
PERFTOOLS_DLL_DECL int MallocHook_AddDeleteHook(MallocHook_DeleteHook hook);
PERFTOOLS_DLL_DECL int MallocHook_RemoveDeleteHook(MallocHook_DeleteHook hook);
PERFTOOLS_DLL_DECL MallocHook_DeleteHook MallocHook_SetDeleteHook(MallocHook_DeleteHook hook);

typedef void (*MallocHook_PreMmapHook)(const void *start, size_t size, int protection, int flags,
                                       int fd, off_t offset);
PERFTOOLS_DLL_DECL int MallocHook_AddPreMmapHook(MallocHook_PreMmapHook hook);
PERFTOOLS_DLL_DECL int MallocHook_RemovePreMmapHook(MallocHook_PreMmapHook hook);
PERFTOOLS_DLL_DECL MallocHook_PreMmapHook MallocHook_SetPreMmapHook(MallocHook_PreMmapHook hook);

typedef void (*MallocHook_MmapHook)(const void *result, const void *start, size_t size,
                                    int protection, int flags, int fd, off_t offset);
PERFTOOLS_DLL_DECL int MallocHook_AddMmapHook(MallocHook_MmapHook hook);
PERFTOOLS_DLL_DECL int MallocHook_RemoveMmapHook(MallocHook_MmapHook hook);
PERFTOOLS_DLL_DECL MallocHook_MmapHook MallocHook_SetMmapHook(MallocHook_MmapHook hook);

typedef void (*MallocHook_MunmapHook)(const void *ptr, size_t size);
PERFTOOLS_DLL_DECL int MallocHook_AddMunmapHook(MallocHook_MunmapHook hook);
PERFTOOLS_DLL_DECL int MallocHook_RemoveMunmapHook(MallocHook_MunmapHook hook);
PERFTOOLS_DLL_DECL MallocHook_MunmapHook MallocHook_SetMunmapHook(MallocHook_MunmapHook hook);

typedef void (*MallocHook_MremapHook)(const void *result, const void *old_addr, size_t old_size,
                                      size_t new_size, int flags, const void *new_addr);
PERFTOOLS_DLL_DECL int MallocHook_AddMremapHook(MallocHook_MremapHook hook);
PERFTOOLS_DLL_DECL int MallocHook_RemoveMremapHook(MallocHook_MremapHook hook);
PERFTOOLS_DLL_DECL MallocHook_MremapHook MallocHook_SetMremapHook(MallocHook_MremapHook hook);

typedef void (*MallocHook_PreSbrkHook)(ptrdiff_t increment);
PERFTOOLS_DLL_DECL int MallocHook_AddPreSbrkHook(MallocHook_PreSbrkHook hook);
PERFTOOLS_DLL_DECL int MallocHook_RemovePreSbrkHook(MallocHook_PreSbrkHook hook);
PERFTOOLS_DLL_DECL MallocHook_PreSbrkHook MallocHook_SetPreSbrkHook(MallocHook_PreSbrkHook hook);

typedef void (*MallocHook_SbrkHook)(const void *result, ptrdiff_t increment);
PERFTOOLS_DLL_DECL int MallocHook_AddSbrkHook(MallocHook_SbrkHook hook);
PERFTOOLS_DLL_DECL int MallocHook_RemoveSbrkHook(MallocHook_SbrkHook hook);
PERFTOOLS_DLL_DECL MallocHook_SbrkHook MallocHook_SetSbrkHook(MallocHook_SbrkHook hook);

/* Instead of the system's; never called. */
typedef int (*MallocHook_MmapReplacement)(const void *start, size_t size, int protection, int flags,
                                          int fd, off_t offset, void **result);
PERFTOOLS_DLL_DECL int MallocHook_SetMmapReplacement(MallocHook_MmapReplacement hook);
PERFTOOLS_DLL_DECL int MallocHook_RemoveMmapReplacement(MallocHook_MmapReplacement hook);
typedef int (*MallocHook_MunmapReplacement)(const void *ptr, size_t size, int *result);
PERFTOOLS_DLL_DECL int MallocHook_SetMunmapReplacement(MallocHook_MunmapReplacement hook);
PERFTOOLS_DLL_DECL int MallocHook_RemoveMunmapReplacement(MallocHook_MunmapReplacement hook);

#ifdef __cplusplus
}
#endif

#endif
