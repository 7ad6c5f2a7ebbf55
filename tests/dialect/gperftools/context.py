#!/usr/bin/env python3
"""context.py - a signal handler's stacks skip as many frames as in gperftools, by every function that takes a ucontext."""
import os
import tempfile

import lib


def main():
    lib.need_original()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for libraries in (["-lprofiler"], ["-ltcmalloc_and_profiler"], ["-ltcmalloc", "-lprofiler"]):
            lib.build("context.cc", "context", "-rdynamic", "-fno-omit-frame-pointer", "-Wl,--no-as-needed", *libraries)
            theirs = lib.run("./context").stdout
            lib.equal("\nway 0, skip 3: *leaf middle main" in theirs, True, "the original's interrupted pc comes fourth")
            ours = lib.run("./context", LD_LIBRARY_PATH=lib.LIB).stdout
            for mine, expected in zip(ours.splitlines(), theirs.splitlines()):
                lib.equal(mine, expected, " ".join(libraries))
            lib.equal(len(ours.splitlines()), len(theirs.splitlines()), "lines")
            late = lib.run("./context", "late", LD_LIBRARY_PATH=lib.LIB).stdout.splitlines()[-1]
            lib.equal(late, "late: 1", "a context that is not on the stack is followed")
        os.chdir("/")


main()
