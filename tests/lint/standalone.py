#!/usr/bin/env python3
"""standalone.py - nothing in the tree points out of it, to folders that exist on one machine only.

Looks at the files git knows and the new ones it would not ignore; without git, at all of them.
"""
import os
import re
import subprocess
import sys

import tree

# Written so that this file does not contain what it looks for.
OUTSIDE = [re.compile(rb"\.\./" + rb"shared\b"), re.compile(rb"(?<![\w.-])/" + rb"work/")]


def paths():
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=tree.ROOT, capture_output=True)
    if listed.returncode == 0:
        known = [os.fsdecode(p) for p in listed.stdout.split(b"\0") if p]
        return [p for p in known if not p.startswith("build" + os.sep)]
    return tree.files(".", suffixes=("",))


def main():
    n_bad, n_files = 0, 0
    for path in paths():
        full = os.path.join(tree.ROOT, path)
        if os.path.islink(full) or not os.path.isfile(full):
            continue
        n_files += 1
        with open(full, "rb") as f:
            for number, line in enumerate(f, 1):
                for pattern in OUTSIDE:
                    if pattern.search(line):
                        n_bad += 1
                        shown = line[:100].decode(errors="replace").strip()
                        if n_bad <= 40:
                            print(f"{path}:{number}: points outside the tree: {shown}")
    print(f"{n_files} files: expected 0 lines that point outside, seen {n_bad}")
    return 1 if n_bad or not n_files else 0


if __name__ == "__main__":
    sys.exit(main())
