/* gperftools/tcmalloc.h - the malloc family by names of its own, which no other library can take over. */
#ifndef GPERFTOOLS_TCMALLOC_H_
#define GPERFTOOLS_TCMALLOC_H_

#include <malloc.h>
#include <stddef.h>
#ifdef __cplusplus
#include <new>
#endif

/* What programs ask for the version of; the library is vitrine. */
#define TC_VERSION_MAJOR 2
#define TC_VERSION_MINOR 18
#define TC_VERSION_PATCH ".1"
#define TC_VERSION_STRING "gperftools 2.18.1"

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

#ifndef PERFTOOLS_NOTHROW
#ifdef __cplusplus
#define PERFTOOLS_NOTHROW noexcept
#else
#define PERFTOOLS_NOTHROW __attribute__((__nothrow__))
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The text above; each of the three may be NULL. */
PERFTOOLS_DLL_DECL const char *tc_version(int *major, int *minor,
                                          const char **patch) PERFTOOLS_NOTHROW;

/* As their namesakes without tc_. */
PERFTOOLS_DLL_DECL void *tc_malloc(size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_malloc_skip_new_handler(size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_free(void *ptr) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_free_sized(void *ptr, size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_free_aligned_sized(void *ptr, size_t align,
                                              size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_realloc(void *ptr, size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_calloc(size_t nmemb, size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_cfree(void *ptr) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_memalign(size_t align, size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL int tc_posix_memalign(void **ptr, size_t align, size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_valloc(size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_pvalloc(size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_malloc_stats(void) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL int tc_mallopt(int cmd, int value) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL size_t tc_malloc_size(void *ptr) PERFTOOLS_NOTHROW;
#ifdef __GLIBC__
PERFTOOLS_DLL_DECL struct mallinfo tc_mallinfo(void) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL struct mallinfo2 tc_mallinfo2(void) PERFTOOLS_NOTHROW;
#endif

#ifdef __cplusplus
/* 1: malloc too calls the new-handler when there is no memory. What it was before. */
PERFTOOLS_DLL_DECL int tc_set_new_mode(int flag) PERFTOOLS_NOTHROW;

/* The operators. */
PERFTOOLS_DLL_DECL void *tc_new(size_t size);
PERFTOOLS_DLL_DECL void *tc_new_nothrow(size_t size, const std::nothrow_t &) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_newarray(size_t size);
PERFTOOLS_DLL_DECL void *tc_newarray_nothrow(size_t size, const std::nothrow_t &) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete(void *p) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete_sized(void *p, size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete_nothrow(void *p, const std::nothrow_t &) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray(void *p) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray_sized(void *p, size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray_nothrow(void *p, const std::nothrow_t &) PERFTOOLS_NOTHROW;
#if __cplusplus >= 201703L
PERFTOOLS_DLL_DECL void *tc_new_aligned(size_t size, std::align_val_t al);
PERFTOOLS_DLL_DECL void *tc_new_aligned_nothrow(size_t size, std::align_val_t al,
                                                const std::nothrow_t &) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_newarray_aligned(size_t size, std::align_val_t al);
PERFTOOLS_DLL_DECL void *tc_newarray_aligned_nothrow(size_t size, std::align_val_t al,
                                                     const std::nothrow_t &) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete_aligned(void *p, std::align_val_t al) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete_sized_aligned(void *p, size_t size,
                                                std::align_val_t al) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete_aligned_nothrow(void *p, std::align_val_t al,
                                                  const std::nothrow_t &) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray_aligned(void *p, std::align_val_t al) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray_sized_aligned(void *p, size_t size,
                                                     std::align_val_t al) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray_aligned_nothrow(void *p, std::align_val_t al,
                                                       const std::nothrow_t &) PERFTOOLS_NOTHROW;
#endif
}
#endif

#endif
