/* gperftools/nallocx.h - how large a block would be. */
#ifndef GPERFTOOLS_NALLOCX_H_
#define GPERFTOOLS_NALLOCX_H_

#include <stddef.h>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

#ifndef MALLOCX_LG_ALIGN
#define MALLOCX_LG_ALIGN(la) ((int)(la))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The usable size of what malloc(size) would give, or aligned_alloc with MALLOCX_LG_ALIGN(log2 of the alignment). */
PERFTOOLS_DLL_DECL size_t nallocx(size_t size, int flags);
PERFTOOLS_DLL_DECL size_t tc_nallocx(size_t size, int flags);

#ifdef __cplusplus
}
#endif

#endif
