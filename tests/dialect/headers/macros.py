#!/usr/bin/env python3
"""Every public macro of the originals' headers is in ours: those of Debian's packages, where they are installed, and those of the releases we
answer as. Ours compile as C and as C++, where programs use the macros as the originals do. Include guards are each header's own.

usage: macros.py COMPAT (the folder of our headers); CC, CXX as ctest sets them
"""
import os
import re
import subprocess
import sys
import tempfile

COMPAT = sys.argv[1]
CC, CXX = os.environ.get("CC", "cc").split(), os.environ.get("CXX", "c++").split()

# What the newer releases have: jemalloc 5.3.1, mimalloc 2.4.1 and 3.4.3, gperftools 2.18.1.
WANTED = {
    "jemalloc/jemalloc.h": """
        JEMALLOC_ALIGNED JEMALLOC_ALLOCATOR JEMALLOC_ALLOC_SIZE JEMALLOC_ALLOC_SIZE2 JEMALLOC_ATTR JEMALLOC_COLD JEMALLOC_CONFIG_ENV
        JEMALLOC_CONFIG_FILE JEMALLOC_CXX_THROW JEMALLOC_EXPORT JEMALLOC_FALLTHROUGH JEMALLOC_FORMAT_ARG JEMALLOC_FORMAT_PRINTF
        JEMALLOC_HAVE_ATTR JEMALLOC_HAVE_ATTR_ALLOC_SIZE JEMALLOC_HAVE_ATTR_COLD JEMALLOC_HAVE_ATTR_DEPRECATED
        JEMALLOC_HAVE_ATTR_FALLTHROUGH JEMALLOC_HAVE_ATTR_FORMAT_ARG JEMALLOC_HAVE_ATTR_FORMAT_GNU_PRINTF
        JEMALLOC_HAVE_ATTR_FORMAT_PRINTF JEMALLOC_NOINLINE JEMALLOC_NOTHROW JEMALLOC_OVERRIDE_MEMALIGN JEMALLOC_OVERRIDE_PVALLOC
        JEMALLOC_OVERRIDE_VALLOC JEMALLOC_RESTRICT_RETURN JEMALLOC_SECTION JEMALLOC_SYS_NOTHROW JEMALLOC_USABLE_SIZE_CONST
        JEMALLOC_USE_CXX_THROW JEMALLOC_VERSION JEMALLOC_VERSION_BUGFIX JEMALLOC_VERSION_GID JEMALLOC_VERSION_GID_IDENT
        JEMALLOC_VERSION_MAJOR JEMALLOC_VERSION_MINOR JEMALLOC_VERSION_NREV JEMALLOC_WARN_ON_USAGE MALLCTL_ARENAS_ALL
        LG_SIZEOF_PTR MALLCTL_ARENAS_DESTROYED MALLOCX_ALIGN MALLOCX_ARENA MALLOCX_LG_ALIGN MALLOCX_TCACHE MALLOCX_TCACHE_NONE MALLOCX_ZERO""",
    "mimalloc.h": """
        MI_MALLOC_VERSION MI_SMALL_SIZE_MAX MI_SMALL_WSIZE_MAX mi_attr_alloc_align mi_attr_alloc_size mi_attr_alloc_size2 mi_attr_malloc
        mi_attr_noexcept mi_cdecl mi_decl_align mi_decl_export mi_decl_nodiscard mi_decl_restrict mi_calloc_tp mi_malloc_tp mi_mallocn_tp
        mi_reallocn_tp mi_recalloc_tp mi_zalloc_tp mi_heap_calloc_tp mi_heap_malloc_tp mi_heap_mallocn_tp mi_heap_reallocn_tp
        mi_heap_recalloc_tp mi_heap_zalloc_tp""",
    "gperftools/tcmalloc.h": """
        PERFTOOLS_DLL_DECL PERFTOOLS_NOTHROW TC_VERSION_MAJOR TC_VERSION_MINOR TC_VERSION_PATCH TC_VERSION_STRING""",
    "gperftools/malloc_extension.h": "PERFTOOLS_DLL_DECL",
    "gperftools/malloc_extension_c.h": "PERFTOOLS_DLL_DECL",
    "gperftools/malloc_hook.h": "PERFTOOLS_DLL_DECL",
    "gperftools/malloc_hook_c.h": "PERFTOOLS_DLL_DECL",
    "gperftools/heap-profiler.h": "PERFTOOLS_DLL_DECL",
    "gperftools/profiler.h": "PERFTOOLS_DLL_DECL",
    "gperftools/stacktrace.h": "PERFTOOLS_DLL_DECL",
    "gperftools/nallocx.h": "PERFTOOLS_DLL_DECL MALLOCX_LG_ALIGN",
}
THEIRS = re.compile(r"^(JEMALLOC|MALLOCX|MALLCTL|LG_|MI_|mi_|TC_|PERFTOOLS|TCMALLOC)")
GUARD = re.compile(r"(^|_)H_?$")

# Uses them where the originals do.
JEMALLOC = """
#include <jemalloc/jemalloc.h>
#ifdef __cplusplus
extern "C" {
#endif
JEMALLOC_EXPORT JEMALLOC_ALLOCATOR JEMALLOC_RESTRICT_RETURN void JEMALLOC_NOTHROW *mine(size_t size)
    JEMALLOC_CXX_THROW JEMALLOC_ATTR(malloc) JEMALLOC_ALLOC_SIZE(1);
JEMALLOC_EXPORT JEMALLOC_ALLOCATOR JEMALLOC_RESTRICT_RETURN void JEMALLOC_SYS_NOTHROW *malloc(size_t size)
    JEMALLOC_CXX_THROW JEMALLOC_ATTR(malloc) JEMALLOC_ALLOC_SIZE(1);
JEMALLOC_EXPORT size_t JEMALLOC_NOTHROW malloc_usable_size(JEMALLOC_USABLE_SIZE_CONST void *ptr) JEMALLOC_CXX_THROW;
JEMALLOC_EXPORT JEMALLOC_COLD JEMALLOC_NOINLINE int say(const char *format, ...) JEMALLOC_FORMAT_PRINTF(1, 2);
JEMALLOC_WARN_ON_USAGE("old") void old(void);
#ifdef __cplusplus
}
#endif
struct one { char c; } JEMALLOC_ALIGNED(64);
#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)
static const char name[] = "arena." TEXT_OF(MALLCTL_ARENAS_ALL) ".purge";
int main(void) {
    switch (sizeof(name) + sizeof(struct one)) {
    case 1: JEMALLOC_FALLTHROUGH;
    case 2: return 1;
    default: return MALLOCX_ALIGN(64) == 6 && MALLOCX_TCACHE_NONE == 0x100 && JEMALLOC_VERSION_MAJOR == 5 ? 0 : 1;
    }
}
"""
MIMALLOC = """
#include <mimalloc.h>
mi_decl_nodiscard mi_decl_export mi_decl_restrict void *mine(size_t n, size_t al) mi_attr_noexcept mi_attr_malloc mi_attr_alloc_size(1)
    mi_attr_alloc_align(2);
static mi_decl_align(64) char line[64];
int mi_cdecl main(void) { return sizeof(line) + MI_SMALL_SIZE_MAX > 64 && MI_MALLOC_VERSION > 20000 ? 0 : 1; }
"""
GPERFTOOLS = """
#include <gperftools/tcmalloc.h>
#include <stddef.h>
#ifdef __cplusplus
extern "C"
#endif
PERFTOOLS_DLL_DECL void *mine(size_t n) PERFTOOLS_NOTHROW;
int main(void) { return TC_VERSION_MAJOR == 2 && sizeof(TC_VERSION_STRING) > 1 ? 0 : 1; }
"""

failures = []


def macros(header, *flags):
    """The names of the macros that are defined when C++ included it; None: it does not compile, or is not there."""
    done = subprocess.run(CXX + ["-x", "c++", "-w", "-dM", "-E", *flags, "-"], input=f"#include <{header}>\n", text=True,
                          capture_output=True)
    if done.returncode != 0:
        return None
    return {re.match(r"#define (\w+)", line).group(1) for line in done.stdout.splitlines()}


def check_names(header, flags):
    ours = macros(header, "-I" + COMPAT, *flags)
    if ours is None:
        failures.append(f"{header}: ours does not compile")
        return
    wanted = set(WANTED[header].split())
    debian = macros(header)
    if debian is None:
        print(f"{header}: part skipped: the original is not installed")
    else:
        wanted |= {m for m in debian if THEIRS.match(m) and not GUARD.search(m)}
    for name in sorted(wanted - ours):
        failures.append(f"{header} {' '.join(flags)}: {name} is missing")


def check_use(what, source, flags=()):
    with tempfile.TemporaryDirectory() as folder:
        for tool, language in ((CC, ["-x", "c", "-std=gnu11"]), (CXX, ["-x", "c++", "-std=c++17"]), (CXX, ["-x", "c++", "-std=c++11"])):
            done = subprocess.run(tool + language + ["-Wall", "-Wextra", "-Werror", "-I" + COMPAT, *flags, "-c", "-o",
                                                     os.path.join(folder, "o"), "-"], input=source, text=True, capture_output=True)
            if done.returncode != 0:
                failures.append(f"{what} {' '.join(language + list(flags))}: {done.stderr}")


for header in WANTED:
    for flags in (["-DVITRINE_MIMALLOC=2"], ["-DVITRINE_MIMALLOC=3"]) if header == "mimalloc.h" else ([],):
        check_names(header, flags)
check_use("jemalloc", JEMALLOC)
check_use("gperftools", GPERFTOOLS)
for line in ("2", "3"):
    check_use("mimalloc", MIMALLOC, ["-DVITRINE_MIMALLOC=" + line])
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
