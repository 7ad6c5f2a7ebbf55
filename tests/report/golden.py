#!/usr/bin/env python3
"""golden.py - outputs that are kept: golden/out has one file per command line, named by it with '+' for the blanks; the files it
reads are in golden/in. What is printed must be what was kept, to the byte.

golden.py --update writes them anew: look at the difference before it is committed.
"""
from tool import *

GOLDEN = os.path.join(HERE, "golden")


def printed(name):
    command, *words = name.split("+")
    r = subprocess.run([os.path.join(BIN, command), *words], cwd=os.path.join(GOLDEN, "in"), capture_output=True, timeout=60,
                       stdin=subprocess.DEVNULL)
    check(f"{name}: exit", r.returncode, 0)
    return r.stdout.decode()


names = sorted(os.listdir(os.path.join(GOLDEN, "out")))
check("there are many", len(names) > 20, True)
for name in names:
    path = os.path.join(GOLDEN, "out", name)
    seen = printed(name)
    if "--update" in sys.argv:
        with open(path, "w") as f:
            f.write(seen)
    with open(path) as f:
        kept = f.read()
    for number, (a, b) in enumerate(zip(seen.splitlines(), kept.splitlines()), 1):
        if a != b:
            check(f"{name}: line {number}", a, b)
            break
    else:
        check(f"{name}: lines", len(seen.splitlines()), len(kept.splitlines()))
done()
