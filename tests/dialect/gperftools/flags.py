#!/usr/bin/env python3
"""flags.py - flags that programs declare by hand: each has its value, and those that do something in gperftools do it here."""
import os
import re
import tempfile

import lib

ABORTED = -6
VARIABLES = ({}, {"HEAP_PROFILE_ALLOCATION_INTERVAL": "7", "HEAP_PROFILE_INUSE_INTERVAL": "8", "HEAP_PROFILE_TIME_INTERVAL": "9",
                  "HEAP_PROFILE_DEALLOCATION_INTERVAL": "10", "TCMALLOC_MAX_FREE_QUEUE_SIZE": "11", "TCMALLOC_PAGE_FENCE_READABLE": "1",
                  "TCMALLOC_PAGE_FENCE_NEVER_RECLAIM": "1", "TCMALLOC_RECLAIM_MEMORY": "0", "TCMALLOC_SYMBOLIZE_STACKTRACE": "0"})


def both(case, what, status=0, **variables):
    """What ours says and theirs: the same."""
    theirs = lib.run("./flags", case, status=status, **variables)
    ours = lib.run("./flags", case, status=status, LD_LIBRARY_PATH=lib.LIB, **variables)
    lib.equal(ours.stdout, theirs.stdout, what)
    return ours.stderr, theirs.stderr


def dumps(text):
    return [line for line in text.splitlines() if line.startswith("Dumping")]


def debug_library():
    both("queue", "the free queue's length, changed while the program runs")
    both("fence", "fences that come and go")
    ours = lib.run("./flags", "traced", LD_LIBRARY_PATH=lib.LIB, TCMALLOC_TRACE_FILE="trace").stdout
    lib.equal(ours, "before 0\nafter 1\n", "a trace that begins late")
    for err in both("unnamed", "a stack without names", status=ABORTED):
        frames = [line for line in err.splitlines() if line.startswith("    @ ")]
        lib.equal([re.fullmatch(r"    @ 0x[0-9a-f]+ ", line) is not None for line in frames], [True] * len(frames), str(frames))
        lib.equal(len(frames) > 1, True, "frames")


def main():
    lib.need_original()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for library in ("tcmalloc", "tcmalloc_and_profiler", "tcmalloc_debug"):
            is_debug = library == "tcmalloc_debug"
            for how in ("-fPIE", "-fno-pie"):               # each has its own way to another library's variable
                options = ["-no-pie"] if how == "-fno-pie" else []
                lib.build("flags.cc", "flags", "-w", how, *options, *(["-DDEBUG_LIBRARY"] if is_debug else []), "-l" + library)
                for variables in VARIABLES:
                    both("values", f"{library} {how}: values with {variables}", **variables)
            both("refused", library + ": a property that cannot be set")
            ours, theirs = both("intervals", library + ": intervals")
            lib.equal(dumps(ours), dumps(theirs), library + ": intervals that the program sets")
            lib.equal(len(dumps(ours)), 6, "dumps")
            if is_debug:
                debug_library()
        os.chdir("/")


main()
