#!/usr/bin/env python3
"""exports.py - the names that gperftools' headers have are in our libraries, wherever they are in theirs."""
import os
import re
import subprocess

import lib

INTERFACE = re.compile(r"tc_|MallocExtension_|MallocHook_(?!Init)|HeapProfiler|IsHeapProfiler|GetHeapProfile|Profil|nallocx|malloc|"
                       r"calloc|realloc|free|cfree|memalign|posix_memalign|p?valloc|aligned_alloc|mallopt|mallinfo|__libc_|"
                       r"__posix_memalign|_Zn[wa]m|_Zd[la]Pv|_ZN15MallocExtension|_ZT[VIS]15MallocExtension|"
                       r"_ZT[VIS]12SysAllocator|_ZN12SysAllocatorD|_Z\d+GetStack|_ZN10MallocHook1\dUnhooked|"
                       r"_ZN6\dFLAG__namespace.*(?:heap_profile_\w*interval|max_free_queue_size|malloc_page_fence\w*|malloctrace|"
                       r"malloc_reclaim_memory|symbolize_stacktrace|release_rate|sample_parameter|heap_limit_mb)E$")
LIBRARIES = ("libtcmalloc.so.4", "libtcmalloc_minimal.so.4", "libtcmalloc_and_profiler.so.4", "libtcmalloc_debug.so.4",
             "libtcmalloc_minimal_debug.so.4", "libprofiler.so.0")


def names(path):
    out = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return {line.split()[2] for line in out.splitlines()}


def main():
    lib.need_original()
    n = 0
    for library in LIBRARIES:
        theirs = {x for x in names(os.path.join(lib.THEIRS, library)) if INTERFACE.match(x) and "FLAGS_no" not in x}
        missing = theirs - names(os.path.join(lib.LIB, library))
        if missing:
            lib.fail(f"{library} has not {sorted(missing)}")
        n += len(theirs)
    print(f"{n} names")


main()
