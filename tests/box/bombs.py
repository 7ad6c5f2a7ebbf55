#!/usr/bin/env python3
"""bombs.py - boxes and core files that are far more than they look: memory and time stay bounded, and one line says so."""
import resource

from box import *

folder = scratch()
BOMB = os.path.join(folder, "bomb")
out(CC, "-O1", "-D_GNU_SOURCE", "-I", os.path.join(HERE, "..", "..", "include"), os.path.join(HERE, "bomb.c"), "-o", BOMB)
IS_ASAN = not IS_PLAIN
MiB = 1 << 20


def bomb(*way):
    path = os.path.join(folder, ".".join(way))
    out(BOMB, path, *way)
    return path


def few_addresses():
    if not IS_ASAN:  # which reserves terabytes
        resource.setrlimit(resource.RLIMIT_AS, (400 * MiB,) * 2)


def read(command, path, *options):
    """(status, stderr) of a process that has 400 MiB and two minutes"""
    r = subprocess.run([VITRINE, command, "--no-symbols", *options, "-o", os.path.join(folder, "out"), path], capture_output=True, text=True,
                       timeout=120, preexec_fn=few_addresses)
    return r.returncode, r.stderr


def refused(what, command, path, line, *options):
    status, errors = read(command, path, *options)
    check(f"{what}: status", status, 3)
    check_has(f"{what}: says so", errors, f"vitrine: error: '{path}': {line}; --limit=SIZE reads more\n")
    check(f"{what}: one line of an error", errors.count("error:"), 1)


core = bomb("core", "8000")
check("a core file that is small on the disk", os.stat(core).st_blocks * 512 < 4 * MiB, True)
refused("a core file that shows one piece often", "core", core, f"its segments show {7999 * MiB} bytes more than once")
few = bomb("core", "40")
refused("a few times", "core", few, f"its segments show {39 * MiB} bytes more than once")
check("a few times, --limit=64M", read("core", few, "--limit=64M")[0], 0)
check("a few times, --limit=0", read("core", few, "--limit=0")[0], 0)

sparse = bomb("sparse", "100000000")
check("a box that is small on the disk", os.stat(sparse).st_blocks * 512 < MiB, True)
refused("a table that is a hole", "read", sparse, "its tables have more than 2048 MiB")
refused("a table that is a hole, --limit", "read", sparse, "its tables have more than 16 MiB", "--limit=16M")
refused("tables in a circle", "read", bomb("circle"), "its tables have more than 2048 MiB")

good = bomb("good", "40000")
check("40,000 rows", read("read", good)[0], 0)
refused("40,000 rows, --limit=1M", "read", good, "its tables have more than 1 MiB", "--limit=1M")
check("40,000 rows, --limit=0", read("read", good, "--limit=0")[0], 0)
status, errors = read("read", good, "--limit=much")
check("a limit that is no size", (status, errors.count("'--limit' wants a number of bytes such as 512M, not 'much'")), (2, 1))
done()
