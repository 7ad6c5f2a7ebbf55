#!/usr/bin/env python3
"""storm.py - storm.cpp under each clock at 4000 Hz, and with the profiler switched on and off meanwhile; waits are counted beside it.
VT_SOAK=1: ten minutes."""
import os
import resource
import shutil
import subprocess

import cpu

SECONDS = 600 if os.environ.get("VT_SOAK") else 20
KINDS = ("exceptions", "libraries", "births", "forks", "jumps", "handlers", "held_back", "memory")
plugin = cpu.compile_c("plugin.so", "storm_plugin.c", flags=["-shared", "-fPIC"])
program = cpu.compile_c("storm", "storm.cpp", flags=["-ldl"], compiler=os.environ.get("CXX", "c++"))
LABELS = {"VITRINE_CPU_FORMAT": "proto"}
SWITCHES = {"STORM_SWITCHES": "1"}
RUNS = [("thread", cpu.VITRINE, {}), ("perf", cpu.VITRINE, {}), ("thread", cpu.PROFILER, {}), ("process", cpu.VITRINE, {}),
        ("thread", cpu.VITRINE, LABELS), ("perf", cpu.VITRINE, LABELS),
        ("thread", cpu.VITRINE, SWITCHES), ("perf", cpu.VITRINE, SWITCHES), ("perf", cpu.PROFILER, SWITCHES), ("process", cpu.PROFILER, SWITCHES)]


def used_s():
    """CPU time of all programs so far, and of their children."""
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def samples_of(path, *options):
    """By the tool: of the stacks that the options choose."""
    out = subprocess.run([cpu.TOOL, "collapsed", "--type=samples", *options, path], capture_output=True, text=True)
    if out.returncode != 0:
        cpu.fail(f"vitrine collapsed {options}: {out.stderr}")
    return sum(int(line.rsplit(" ", 1)[1]) for line in out.stdout.splitlines())


def astray(path):
    """A thread has the label of what it is in, whatever comes between; and what has a label is below turn(). Not all: deep() is deeper than
    stacks are kept, _init has no tables, and libgcc's way to a landing pad is no frame of either side. Says what is doubtful: on a busy machine
    one tick may count for more than a tenth."""
    doubtful = []
    for kind in KINDS:
        mine = samples_of(path, f"--tag-focus=kind=^{kind}$")
        without = samples_of(path, f"--focus=^{kind}\\(", f"--tag-ignore=kind=^{kind}$")
        outside = samples_of(path, f"--tag-focus=kind=^{kind}$", "--ignore=^(turn|deep)\\(")
        print(f"    {kind}: {mine} samples, {outside} elsewhere")
        if without != 0:
            cpu.fail(f"expected no samples of {kind} without its label, seen {without}")
        if mine == 0 or outside * 10 > mine:
            doubtful.append(f"{kind}: {mine} samples, {outside} elsewhere")
    return doubtful


def storm(clock, preload, more):
    """Where its profile is."""
    env = {"VITRINE_CPU_CLOCK": clock, "VITRINE_CPU_FREQUENCY": "4000",
           "VITRINE_CONTENTION_PROFILE": os.path.join(cpu.TMP, "storm.waits"), **more}
    path = os.path.join(cpu.TMP, "storm.prof")
    if more is not SWITCHES:
        env["CPUPROFILE"] = path
    before_s = used_s()
    out, err = cpu.run([program, str(SECONDS // len(RUNS)), plugin], preload=preload, env=env, within_s=SECONDS // len(RUNS) + 120)
    most = 4000 * (used_s() - before_s) * 1.02 + 40
    n = samples_of(path) if more is LABELS else cpu.Profile(path).n
    print(f"{os.path.basename(preload)} {clock} {more or ''}: {out.strip()}; {n} samples")
    if n > most:
        cpu.fail(f"expected no more than the CPU time that was used, {most:.0f} periods of 250 us, seen {n}")
    return path


for run in RUNS:
    path = storm(*run)
    if run[2] is LABELS:
        doubtful = astray(path)
        for _ in range(2):
            if doubtful:
                doubtful = astray(storm(*run))
        if doubtful:
            cpu.fail(f"expected samples of each kind with its label, and nine of ten in a turn, in one of three runs; seen {doubtful}")
    elif run[2] is not SWITCHES and cpu.Profile(path).cum().get("_ZL4turnPv", 0) < 10:
        cpu.fail(f"expected samples below turn(), seen {cpu.Profile(path).cum()}")
shutil.rmtree(cpu.TMP)
