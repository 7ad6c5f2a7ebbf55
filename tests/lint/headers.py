#!/usr/bin/env python3
"""headers.py - every header compiles alone; those of include/ also as C++."""
import os
import shutil
import sys

import tree

CC = os.environ.get("CC") or "cc"
CXX = os.environ.get("CXX") or "c++"
STRICT = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror"]


def flags(folder):
    """Of the files of a folder, which all see the same macros and include paths; the language is ours to say.
    None: this build leaves the folder out (VT_CLI=OFF)."""
    for path, found in tree.commands("src", "report", "cli").items():
        if path.startswith(folder + os.sep):
            return [f for f in found if not f.startswith("-std=")]
    return None


def jobs():
    found = []
    for folder in ("src", "report", "cli"):
        shared = flags(folder)
        if shared is None:
            print(f"{folder}/ is not built here: its headers not looked at")
            continue
        for path in tree.files(folder, suffixes=(".h",)):
            # a header by itself is a `#pragma once in main file` and an unused static to the compiler
            found.append((path, [CC, "-std=gnu11", "-x", "c", *STRICT, "-Wno-unused-function", *shared, path]))
    for path in tree.files("include", suffixes=(".h",)):
        # with <gperftools/...> ours, not those that are installed
        include = ["-I" + os.path.join(tree.ROOT, folder) for folder in ("include", "include/compat")]
        found.append((path, [CC, "-std=c11", "-pedantic", "-x", "c", *STRICT, *include, path]))
        if shutil.which(CXX):
            found.append((path + " as C++", [CXX, "-std=c++11", "-pedantic", "-x", "c++", *STRICT, *include, path]))
    return found


def main():
    n_bad, todo = 0, jobs()
    for name, status, output in tree.run_parallel(todo):
        if status != 0:
            n_bad += 1
            print(f"{name} does not compile alone:\n{output}")
    print(f"{len(todo)} compilations: expected 0 to fail, seen {n_bad}")
    return 1 if n_bad or not todo else 0


if __name__ == "__main__":
    sys.exit(main())
