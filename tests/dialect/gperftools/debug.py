#!/usr/bin/env python3
"""debug.py - libtcmalloc_debug and libtcmalloc_minimal_debug find each mistake, in gperftools' words."""
import os
import re
import tempfile

import lib

ABORTED, SEGMENTATION = -6, -11
BEFORE = "memory stomping bug: a word before object at X has been corrupted"
AFTER = "memory stomping bug: a word after object at X has been corrupted"
MISMATCH = "memory allocation/deallocation mismatch at X: allocated with {} being deallocated with {}"
CASES = {                                           # what ours says; None as the second: the original says something else
    "twice": ("memory allocation bug: object at X has been already deallocated (it was allocated with malloc)", None),
    "never": ("memory allocation bug: object at X has never been allocated", None),
    "under": (BEFORE, True), "over": (AFTER, True), "over_far": (AFTER, True), "over_realloc": (AFTER, True),
    "over_verify": (AFTER, True), "over_verify_one": (AFTER, True),
    "malloc_delete": (MISMATCH.format("malloc", "delete"), True),
    "new_array_delete": (MISMATCH.format("new []", "delete"), True),
    "new_free": (MISMATCH.format("new", "free"), True),
    "wrong_size": ("Check failed: the block has another size: right size must be passed to sized delete", None),
}
WRITTEN = [r"Found a corrupted memory buffer in MallocBlock \(may be offset from user ptr\): buffer index: 0, buffer ptr: X, "
           r"size of buffer: \d+", r"Buffer byte \d+ is 0x01 \(should be 0xcd\)\.", "Deleted by thread X", "    @ X ",
           r"Memory was written to after being freed\.  MallocBlock: X, user ptr: X, size: \d+\..*"]


def said(text):
    return [re.sub(r"0x[0-9a-f]{6,}", "X", line) for line in text.splitlines()]


def check(library):
    for name, (expected, is_same) in CASES.items():
        done = lib.run("./mistakes", name, status=ABORTED, LD_LIBRARY_PATH=lib.LIB)
        lib.equal(said(done.stderr), [expected], f"{library} {name}")
        if is_same:
            lib.equal(said(lib.run("./mistakes", name, status=ABORTED).stderr), [expected], f"the original {name}")
    for where in [{"LD_LIBRARY_PATH": lib.LIB}] + ([{}] if library == "tcmalloc_debug" else []):   # theirs has no stacks there
        lines = iter(said(lib.run("./mistakes", "written", status=ABORTED, **where).stderr))
        for pattern in WRITTEN:
            if not any(re.fullmatch(pattern, line) for line in lines):
                lib.fail(f"{library} written, {where}: no line {pattern}")
    ours = lib.run("./mistakes", "right", LD_LIBRARY_PATH=lib.LIB).stdout
    lib.equal(ours, lib.run("./mistakes", "right").stdout, f"{library} without mistakes")
    lib.equal(lib.run("./mistakes", "massive", LD_LIBRARY_PATH=lib.LIB).stdout, "1\n", "massive")


def fences():
    lib.run("./mistakes", "over_far", status=SEGMENTATION, LD_LIBRARY_PATH=lib.LIB, TCMALLOC_PAGE_FENCE="1")
    lib.run("./mistakes", "over", status=ABORTED, LD_LIBRARY_PATH=lib.LIB, TCMALLOC_PAGE_FENCE="1")
    lib.run("./mistakes", "written", status=SEGMENTATION, LD_LIBRARY_PATH=lib.LIB, TCMALLOC_PAGE_FENCE="1",
            TCMALLOC_MAX_FREE_QUEUE_SIZE="0", TCMALLOC_PAGE_FENCE_NEVER_RECLAIM="1")
    out = lib.run("./mistakes", "right", LD_LIBRARY_PATH=lib.LIB, TCMALLOC_RECLAIM_MEMORY="0").stdout
    lib.equal(out, lib.run("./mistakes", "right").stdout, "never reused")


def main():
    lib.need_original()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for library in ("tcmalloc_debug", "tcmalloc_minimal_debug"):
            lib.build("mistakes.cc", "mistakes", "-w", "-pthread", "-l" + library)
            check(library)
            fences()
        out = lib.preloaded("libtcmalloc_debug.so.4", "sh", "-c", "ls / | sort | wc -l").stdout
        lib.equal(out, lib.run("sh", "-c", "ls / | sort | wc -l").stdout, "programs that make no mistake")
        lib.preloaded("libtcmalloc_debug.so.4", "ls", HEAPPROFILE="d")
        lib.equal(os.path.exists("d.0001.heap"), True, "a heap profile")
        os.chdir("/")


main()
