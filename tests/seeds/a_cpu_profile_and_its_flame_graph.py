#!/usr/bin/env python3
"""Parts of a program between ProfilerStart and ProfilerStop, and the whole of it by variable or signal; tables, and a flame graph:

    #include <google/profiler.h>          cc ... -lprofiler
    CPUPROFILE=FILE CPUPROFILE_FREQUENCY=1000 CPUPROFILESIGNAL=12
    env LD_PRELOAD=libprofiler.so ./exe
    pprof --text ./exe FILE               pprof --pdf|--svg|--gv ...
"""
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cpu"))
import cpu

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(os.environ["VT_SRC"], "include", "compat")
shutil.copy(cpu.PROFILER, os.path.join(cpu.TMP, "libprofiler.so"))
shutil.copy(cpu.PROFILER, os.path.join(cpu.TMP, "libprofiler.so.0"))
exe = cpu.compile_c("exe", os.path.join(HERE, "sections.c"), flags=["-O0", f"-I{INCLUDE}", f"-L{cpu.TMP}", "-lprofiler", f"-Wl,-rpath,{cpu.TMP}"])
pprof = os.path.join(cpu.TMP, "pprof")
os.symlink(cpu.TOOL, pprof)


def say(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, cwd=cpu.TMP)
    if done.returncode != 0:
        cpu.fail(f"{argv}: exit {done.returncode}, {done.stderr}")
    return done.stdout


cpu.run([exe, "calls", "first.prof", "second.prof"], preload=None)
first, second = say(pprof, "--text", exe, "first.prof"), say(pprof, "--text", exe, "second.prof")
if "first_part" not in first or "second_part" in first or "second_part" not in second or "first_part" in second:
    cpu.fail(f"expected each part in its own file, seen {first} {second}")
total = say(pprof, "--text", exe, "second.prof").splitlines()
if not any(line.startswith("Total: ") and line.endswith(" samples") for line in total):
    cpu.fail(f"expected the line 'Total: N samples', seen {total[:3]}")

# the same file for both: the later one is there, whole, and nothing of the first
cpu.run([exe, "calls", "same.prof", "same.prof"], preload=None)
same = say(pprof, "--text", exe, "same.prof")
if "second_part" not in same or "first_part" in same:
    cpu.fail(f"expected the second part alone in a file that was used twice, seen {same}")

cpu.run([exe], preload=cpu.PROFILER, env={"CPUPROFILE": "whole.prof", "CPUPROFILE_FREQUENCY": "250"})
if cpu.Profile(os.path.join(cpu.TMP, "whole.prof")).period_us != 4000:
    cpu.fail("expected the frequency of CPUPROFILE_FREQUENCY")
whole = say(pprof, "--text", exe, "whole.prof")
if "first_part" not in whole or "second_part" not in whole:
    cpu.fail(f"expected both parts in the whole, seen {whole}")
flame = os.path.join(cpu.TMP, "flame.svg")
say(cpu.TOOL, "flame", "whole.prof", "-o", flame)
with open(flame, encoding="utf-8") as f:
    text = f.read()
if "<svg" not in text or "first_part" not in text or "second_part" not in text:
    cpu.fail("expected both parts in the flame graph")
# and what flame graphs of others are made of: whole stacks
for stack in ("main;first_part;burn", "main;second_part;burn"):
    if not any(f";{stack} " in line for line in say(cpu.TOOL, "collapsed", "whole.prof").splitlines()):
        cpu.fail(f"expected the stack {stack} in the collapsed ones")

p = subprocess.Popen([exe, "wait"], cwd=cpu.TMP, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                     env={**os.environ, "CPUPROFILE": "by_signal", "CPUPROFILESIGNAL": str(int(signal.SIGUSR2))})
for _ in range(2):
    p.stdout.readline()
    p.send_signal(signal.SIGUSR2)
    p.stdin.write(b"\n")
    p.stdin.flush()
p.communicate()
by_signal = say(pprof, "--text", exe, "by_signal.0")
if "first_part" not in by_signal or "second_part" in by_signal:
    cpu.fail(f"expected what ran between the two signals, seen {by_signal}")
print("sections, the whole, a flame graph, and between two signals: as expected")
shutil.rmtree(cpu.TMP)
