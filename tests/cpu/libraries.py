#!/usr/bin/env python3
"""libraries.py - libprofiler by link, by preload and by dlopen, also from a forked child; beside libvitrine; with any malloc."""
import os
import shutil
import subprocess

import cpu

LIB = os.path.dirname(cpu.PROFILER)
INCLUDE = os.path.join(os.environ["VT_SRC"], "include", "compat")
path = os.path.join(cpu.TMP, "l.prof")

# it defines no malloc, calls none, and needs libc alone
defined = subprocess.run(["nm", "-D", "--defined-only", cpu.PROFILER], capture_output=True, text=True, check=True).stdout
wanted = subprocess.run(["nm", "-D", "--undefined-only", cpu.PROFILER], capture_output=True, text=True, check=True).stdout
needed = subprocess.run(["readelf", "-d", cpu.PROFILER], capture_output=True, text=True, check=True).stdout
for word in ("malloc", "calloc", "realloc", "free", "_Znwm", "printf", "fopen"):
    for text in (defined, wanted):
        if any(line.split()[-1].split("@")[0] == word for line in text.splitlines()):
            cpu.fail(f"libprofiler.so.0: expected nothing to do with {word}")
if [line for line in needed.splitlines() if "NEEDED" in line and "libc.so" not in line and "ld-linux" not in line]:
    cpu.fail(f"libprofiler.so.0: expected to need libc alone: {needed}")

shutil.copy(cpu.PROFILER, os.path.join(cpu.TMP, "libprofiler.so"))
shutil.copy(cpu.PROFILER, os.path.join(cpu.TMP, "libprofiler.so.0"))
for compiler, source in (("CC", "user.c"), ("CXX", "user.cpp")):
    shutil.copy(os.path.join(cpu.HERE, "user.c"), os.path.join(cpu.TMP, source))
    tool = os.environ.get(compiler, "cc" if compiler == "CC" else "c++")
    linked = cpu.compile_c(f"linked-{source}", os.path.join(cpu.TMP, source), compiler=tool,
                           flags=[f"-I{INCLUDE}", f"-L{cpu.TMP}", "-lprofiler", f"-Wl,-rpath,{cpu.TMP}"])
    for preload in (None, cpu.VITRINE):
        out, err = cpu.run([linked, "calls", path], preload=preload)
        if cpu.Profile(path).n < 5 or "PROFILE: interrupts" not in err:
            cpu.fail(f"{source}, preload {preload}: expected samples and the closing line, seen {cpu.Profile(path).n}, {err}")
        os.remove(path)

# the one with malloc, by link
both = cpu.compile_c("linked-both", "user.c", flags=[f"-I{INCLUDE}", cpu.BOTH, f"-Wl,-rpath,{LIB}"])
_, err = cpu.run([both, "calls", path], preload=None)
if cpu.Profile(path).n < 5 or "PROFILE: interrupts" not in err:
    cpu.fail(f"libtcmalloc_and_profiler: expected samples and the closing line, seen {cpu.Profile(path).n}, {err}")
os.remove(path)

opener = cpu.compile_c("opener", "opener.c", flags=["-ldl"])
for preload in (None, cpu.VITRINE):
    for where in ("here", "child"):
        cpu.run([opener, where, os.path.join(cpu.TMP, "libprofiler.so.0"), path], preload=preload)
        p = cpu.Profile(path)
        if p.cum().get("burn_in_thread", 0) < 5 or p.cum().get("burn_here", 0) < 5:
            cpu.fail(f"dlopen {where}, preload {preload}: expected samples of both threads, seen {p.cum()}")
        if p.cum().get("burn_registered", 0) < 9:
            cpu.fail(f"dlopen {where}, preload {preload}: expected all 100 ms of the thread that registered, seen {p.cum()}")
        os.remove(path)

for malloc in ("libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"):
    full = f"/usr/lib/x86_64-linux-gnu/{malloc}"
    if os.path.exists(full):
        cpu.run([linked, "calls", path], preload=full)
        print(f"with {malloc}: {cpu.Profile(path).n} samples")
print("libprofiler by link, preload and dlopen: as expected")
shutil.rmtree(cpu.TMP)
