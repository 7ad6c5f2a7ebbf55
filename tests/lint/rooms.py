#!/usr/bin/env python3
"""rooms.py - the include order of src/: a file includes its own room and the rooms above it, nothing below.

Where a room must call one below, it declares the call in its own upcalls.h and the other defines it.

The analysis tool stands beside src/ and shares only formats, public headers and the rules for making files with it: report/
includes itself, cli/ includes itself, report/ and the headers in SHARED. What the readers share (report/reader.h) is for readers only.
"""
import os
import re
import sys

import tree

ROOMS = "base os conf stack heap probe dump life dialect".split()     # from above to below
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


def faults(path, text):
    """[(line number, what is wrong)]"""
    room = path.split(os.sep)[1]
    found = []
    for m in INCLUDE.finditer(text):
        name, number = m.group(1), text.count("\n", 0, m.start(1)) + 1
        target = name.split("/")[0]
        if "/" not in name or target not in ROOMS:
            if os.path.exists(os.path.join(tree.ROOT, "include", name)):
                continue                                                # public headers are for all
            if "/" not in name and os.path.exists(os.path.join(tree.ROOT, os.path.dirname(path), name)):
                continue                                                # its own room
            found.append((number, f"'{name}' is in no room"))
        elif ROOMS.index(target) > ROOMS.index(room):
            found.append((number, f"{room}/ includes '{name}', and {target}/ is below it"))
        elif target != room and name.endswith("/impl.h"):
            found.append((number, f"{room}/ includes '{name}', which {target}/ shares with itself only"))
    return found


SHARED = ("os/draft.h", "os/os.h")
BESIDE = {"report": ("report",), "cli": ("cli", "report")}


def faults_beside(path, text):
    """The same for report/ and cli/."""
    folder, name = path.split(os.sep)
    found = []
    for m in INCLUDE.finditer(text):
        target, number = m.group(1), text.count("\n", 0, m.start(1)) + 1
        if folder == "cli" and target in SHARED:
            continue
        if target.split("/")[0] not in BESIDE[folder]:
            found.append((number, f"{folder}/ includes '{target}'"))
        elif target == "report/reader.h" and not name.startswith("read"):
            found.append((number, f"'{target}' is for readers only"))
    return found


def main():
    n_bad, n_files = 0, 0
    for path in tree.files(*BESIDE, suffixes=(".c", ".h", ".def")):
        n_files += 1
        for number, what in faults_beside(path, tree.read(path)):
            n_bad += 1
            print(f"{path}:{number}: {what}")
    for path in tree.files("src", suffixes=(".c", ".h", ".def")):
        n_files += 1
        parts = path.split(os.sep)
        if len(parts) < 3 or parts[1] not in ROOMS:
            n_bad += 1
            print(f"{path}: expected a folder among: {' '.join(ROOMS)}")
            continue
        for number, what in faults(path, tree.read(path)):
            n_bad += 1
            print(f"{path}:{number}: {what}")
    print(f"{n_files} files: expected 0 faults, seen {n_bad}")
    return 1 if n_bad or not n_files else 0


if __name__ == "__main__":
    sys.exit(main())
