#!/usr/bin/env python3
"""tidy.py [FILE...] - clang-tidy over src/, report/ and cli/ with the checks of .clang-tidy; all findings are errors."""
import json
import os
import shutil
import sys
import tempfile

import tree

if not shutil.which("clang-tidy"):
    tree.skip("no clang-tidy (scripts/setup test installs it)")

# Its own list of commands: clang-tidy would run once for each library a file is compiled into, and stumble
# over flags that only gcc knows.
wanted = [os.path.normpath(a) for a in sys.argv[1:]]
with tempfile.TemporaryDirectory() as scratch:
    commands = {p: f for p, f in tree.commands("src", "report", "cli").items() if not wanted or p in wanted}
    entries = [{"directory": tree.ROOT, "file": os.path.join(tree.ROOT, path),
                "arguments": ["clang", *flags, "-c", os.path.join(tree.ROOT, path)]}
               for path, flags in commands.items()]
    with open(os.path.join(scratch, "compile_commands.json"), "w", encoding="utf-8") as f:
        json.dump(entries, f)
    jobs = [(path, ["clang-tidy", "--quiet", "-p", scratch, os.path.join(tree.ROOT, path)])
            for path in sorted(commands)]
    n_failed = 0
    for path, status, output in tree.run_parallel(jobs):
        if status != 0:
            n_failed += 1
            print(output)
    print(f"{len(jobs)} files: expected 0 with findings, seen {n_failed}")
    sys.exit(1 if n_failed or not jobs else 0)
