#!/usr/bin/env python3
"""original.py - a program compiled against gperftools' own headers, linked with its library, under both: the same shape. Compiled
against our headers, by the new and the old path, it prints that too."""
import difflib
import os
import re
import tempfile

import lib


def shape(text):
    """Without numbers and the spaces before them; lists whose length is the allocator's business are one line."""
    lines = [re.sub(r" *-?\d[\d.]*", " N", line) for line in text.splitlines()]
    lines = [line for i, line in enumerate(lines) if i == 0 or line != lines[i - 1]]
    return [line for line in lines if not re.match(r" N pages \*|>N? *N? +large", line)]


def same_output(source, library, *arguments):
    """A program whose output has no numbers that are the allocator's business."""
    lib.build(source, "program", "-w", "-l" + library)
    theirs = lib.run("./program", *arguments).stdout
    lib.equal(lib.run("./program", *arguments, LD_LIBRARY_PATH=lib.LIB).stdout, theirs, f"{source} with {library}")


def by_our_headers(library, options, expected):
    """Under both of their paths."""
    lib.build("original.cc", "ours", *options, "-Wall", "-Wextra", "-Werror", "-I" + lib.HEADERS, "-l" + library)
    with open(os.path.join(lib.HERE, "original.cc"), encoding="ascii") as file:
        text = re.sub(r"<gperftools/(?!nallocx)", "<google/", file.read())
    with open("old_path.cc", "w", encoding="ascii") as file:
        file.write(text)
    lib.build(os.path.abspath("old_path.cc"), "old_path", *options, "-I" + lib.HEADERS, "-l" + library)
    for program in ("./ours", "./old_path"):
        seen = lib.run(program, TCMALLOC_SAMPLE_PARAMETER="65536", LD_LIBRARY_PATH=lib.LIB).stdout
        lib.equal(shape(seen), shape(expected), f"{program} with {library}")


def main():
    lib.need_original()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for library in ("tcmalloc", "tcmalloc_and_profiler", "tcmalloc_debug", "tcmalloc_minimal", "tcmalloc_minimal_debug"):
            options = ["-DMINIMAL"] if "minimal" in library else []
            lib.build("original.cc", "program", *options, "-l" + library)
            theirs = lib.run("./program", TCMALLOC_SAMPLE_PARAMETER="65536").stdout
            done = lib.run("./program", TCMALLOC_SAMPLE_PARAMETER="65536", LD_LIBRARY_PATH=lib.LIB)
            ours = done.stdout
            lib.equal(done.stderr.count("no memory comes from the 'SysAllocator'"), 1, library + ": a SysAllocator is refused")
            if shape(theirs) != shape(ours):
                lib.fail(library + ": theirs and ours differ\n" + "\n".join(difflib.unified_diff(shape(theirs), shape(ours))))
            for line in theirs.splitlines():
                if re.match(r"hooks|owned|verify|rate|mine|.* known=|set:|version|idle|allocator", line) and line not in ours:
                    lib.fail(f"{library}: theirs says {line!r}, ours does not\n{ours}")
            by_our_headers(library, options, ours)
        for library in ("tcmalloc", "tcmalloc_minimal", "tcmalloc_and_profiler"):
            same_output("new_mode.cc", library, "realloc")
            same_output("release.cc", library)
        for library in ("tcmalloc_debug", "tcmalloc_minimal_debug"):
            same_output("new_mode.cc", library)
        os.chdir("/")


main()
