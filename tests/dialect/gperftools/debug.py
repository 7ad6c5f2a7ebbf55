#!/usr/bin/env python3
"""debug.py - libtcmalloc_debug and libtcmalloc_minimal_debug find each mistake, in gperftools' words."""
import os
import re
import tempfile

import lib

ABORTED, SEGMENTATION = -6, -11
SYMBOLIZER = "/usr/bin/pprof-symbolize"
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
    "new_delete_array": (MISMATCH.format("new", "delete []"), True),
    "malloc_delete_array": (MISMATCH.format("malloc", "delete []"), True),
    "new_array_free": (MISMATCH.format("new []", "free"), True),
    "wrong_size": ("Check failed: the block has another size: right size must be passed to sized delete", None),
}
WRITTEN = [r"Found a corrupted memory buffer in MallocBlock \(may be offset from user ptr\): buffer index: 0, buffer ptr: X, "
           r"size of buffer: \d+", r"Buffer byte \d+ is 0x01 \(should be 0xcd\)\.", "Deleted by thread X", "    @ X .*",
           r"Memory was written to after being freed\.  MallocBlock: X, user ptr: X, size: \d+\..*"]


def said(text):
    return [re.sub(r"0x[0-9a-f]{6,}", "X", line) for line in text.splitlines()]


def functions(text):
    found = re.findall(r"^    @ 0x[0-9a-f]+ (.*)$", text, re.M)
    return [name.removesuffix("()") for name in found]


def names(library):
    """Of the functions on the stack of who freed a block; theirs asks another program for them."""
    ours = functions(lib.run("./mistakes", "written", status=ABORTED, LD_LIBRARY_PATH=lib.LIB).stderr)
    lib.equal([ours[0], ours[1], ours[-1]], ["written", "main", "_start"], library + ": functions")
    if library == "tcmalloc_debug" and os.path.exists(SYMBOLIZER):
        theirs = functions(lib.run("./mistakes", "written", status=ABORTED, PPROF_PATH=SYMBOLIZER).stderr)
        lib.equal([theirs[0], theirs[1], theirs[-1]], ["written", "main", "_start"], "the original: functions")
    off = lib.run("./mistakes", "written", status=ABORTED, LD_LIBRARY_PATH=lib.LIB, TCMALLOC_SYMBOLIZE_STACKTRACE="0").stderr
    lib.equal(set(functions(off)), {""}, library + ": no names are asked for")
    lib.run("strip", "-o", "stripped", "mistakes")
    ours = functions(lib.run("./stripped", "written", status=ABORTED, LD_LIBRARY_PATH=lib.LIB).stderr)
    lib.equal((ours[0], any(name.startswith("__libc_start") for name in ours)), ("", True), library + ": stripped")


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
    names(library)
    ours = lib.run("./mistakes", "right", LD_LIBRARY_PATH=lib.LIB).stdout
    lib.equal(ours, lib.run("./mistakes", "right").stdout, f"{library} without mistakes")
    lib.equal(lib.run("./mistakes", "massive", LD_LIBRARY_PATH=lib.LIB).stdout, "1\n", "massive")


def fences():
    lib.run("./mistakes", "over_far", status=SEGMENTATION, LD_LIBRARY_PATH=lib.LIB, TCMALLOC_PAGE_FENCE="1")
    lib.run("./mistakes", "over", status=ABORTED, LD_LIBRARY_PATH=lib.LIB, TCMALLOC_PAGE_FENCE="1")
    lib.run("./mistakes", "written", status=SEGMENTATION, LD_LIBRARY_PATH=lib.LIB, TCMALLOC_PAGE_FENCE="1",
            TCMALLOC_MAX_FREE_QUEUE_SIZE="0", TCMALLOC_PAGE_FENCE_NEVER_RECLAIM="1")
    lib.run("./mistakes", "read_far", status=SEGMENTATION, LD_LIBRARY_PATH=lib.LIB, TCMALLOC_PAGE_FENCE="1")
    readable = {"TCMALLOC_PAGE_FENCE": "1", "TCMALLOC_PAGE_FENCE_READABLE": "1"}
    lib.run("./mistakes", "read_far", LD_LIBRARY_PATH=lib.LIB, **readable)
    lib.run("./mistakes", "over_far", status=SEGMENTATION, LD_LIBRARY_PATH=lib.LIB, **readable)
    out = lib.run("./mistakes", "right", LD_LIBRARY_PATH=lib.LIB, TCMALLOC_RECLAIM_MEMORY="0").stdout
    lib.equal(out, lib.run("./mistakes", "right").stdout, "never reused")
    for variables, expected in (({}, "0\n"), ({"TCMALLOC_MAX_FREE_QUEUE_SIZE": "0"}, "1\n"),
                                ({"TCMALLOC_MAX_FREE_QUEUE_SIZE": "0", "TCMALLOC_RECLAIM_MEMORY": "0"}, "0\n"),
                                ({"TCMALLOC_MAX_FREE_QUEUE_SIZE": "0", "TCMALLOC_PAGE_FENCE": "1"}, "1\n"),
                                ({"TCMALLOC_MAX_FREE_QUEUE_SIZE": "0", "TCMALLOC_PAGE_FENCE": "1",
                                  "TCMALLOC_PAGE_FENCE_NEVER_RECLAIM": "1"}, "0\n")):
        out = lib.run("./mistakes", "reused", LD_LIBRARY_PATH=lib.LIB, **variables).stdout
        lib.equal(out, expected, f"a block comes again, with {variables}")


def traced(path, has_stacks):
    """(function, size) of what main does, and the columns of a line."""
    with open(path, encoding="ascii") as file:
        lines = file.read().splitlines()
    if not re.fullmatch(r"Trace started: \d+", lines[0]):
        lib.fail(f"{path} begins with {lines[0]!r}")
    lib.equal(lines[1], "func\tsize\tptr\tthread_id\tstack pcs for tools/symbolize", path)
    for line in lines[2:]:
        if not re.fullmatch(r"(malloc|free|realloc)\t\d+\t0x[0-9a-f]+\t\d+(\t0x[0-9a-f]+){%d,16}" % has_stacks, line):
            lib.fail(f"{path}: {line!r}")
    rows = [tuple(line.split("\t")[:2]) for line in lines[2:]]
    rows = [row for row in rows if row != ("malloc", "163848")]         # their queue of freed blocks
    start = rows.index(("malloc", "4711"))
    return rows[start:rows.index(("malloc", "4712")) + 1]


def trace(where):
    theirs_and_ours = []
    for i, variables in enumerate([{"LD_LIBRARY_PATH": lib.LIB}, {}]):
        path = f"trace{i}"
        with open(path, "w", encoding="ascii") as file:
            file.write("an older file, which is emptied")
        lib.run("./mistakes", "traced", TCMALLOC_TRACE="1", TCMALLOC_TRACE_FILE=path, **variables)
        theirs_and_ours.append(traced(path, has_stacks=i == 0 or "minimal" not in where))     # theirs has none there
    lib.equal(theirs_and_ours[0], theirs_and_ours[1], where + ": what is traced")
    done = lib.run("./mistakes", "traced", LD_LIBRARY_PATH=lib.LIB, TCMALLOC_TRACE="1", TCMALLOC_TRACE_FILE="/no/such/folder/x")
    lib.equal(done.stderr, "Can't open /no/such/folder/x.  Logging disabled.\n", "a trace that cannot be written")
    lib.run("./mistakes", "traced", LD_LIBRARY_PATH=lib.LIB, TCMALLOC_TRACE="0", TCMALLOC_TRACE_FILE="untraced")
    lib.equal(os.path.exists("untraced"), False, "a trace that nobody asked for")


def first_calls(library):
    """Nothing was set up yet."""
    for name in ("free_null", "size_null", "realloc_null"):
        lib.equal(lib.run("./first", name, LD_LIBRARY_PATH=lib.LIB).stdout, "done\n", f"{library}: {name} is the first call")
    for name in ("free", "realloc", "size"):
        done = lib.run("./first", name, status=ABORTED, LD_LIBRARY_PATH=lib.LIB)
        lib.equal(said(done.stderr), [CASES["never"][0]], f"{library}: {name} of a stranger is the first call")
    lib.run("./first", "free_null", LD_LIBRARY_PATH=lib.LIB, TCMALLOC_TRACE="1", TCMALLOC_TRACE_FILE="first.trace")
    with open("first.trace", encoding="ascii") as file:
        lib.equal([line.split("\t")[:2] for line in file.read().splitlines()[2:]], [["free", "0"], ["malloc", "100"], ["free", "100"]],
                  f"{library}: what is traced from the first call on")


def main():
    lib.need_original()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for library in ("tcmalloc_debug", "tcmalloc_minimal_debug"):
            lib.build("mistakes.cc", "mistakes", "-w", "-pthread", "-l" + library)
            check(library)
            fences()
            trace(library)
            lib.build("first.c", "first", "-Wl,--no-as-needed", "-l" + library)
            first_calls(library)
        out = lib.preloaded("libtcmalloc_debug.so.4", "sh", "-c", "ls / | sort | wc -l").stdout
        lib.equal(out, lib.run("sh", "-c", "ls / | sort | wc -l").stdout, "programs that make no mistake")
        lib.preloaded("libtcmalloc_debug.so.4", "ls", HEAPPROFILE="d")
        lib.equal(os.path.exists("d.0001.heap"), True, "a heap profile")
        os.chdir("/")


main()
