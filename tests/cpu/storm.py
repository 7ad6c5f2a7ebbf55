#!/usr/bin/env python3
"""storm.py - storm.cpp under each clock at 4000 Hz, and with the profiler switched on and off meanwhile; waits are counted beside it.
VT_SOAK=1: ten minutes."""
import os
import resource
import shutil

import cpu

SECONDS = 600 if os.environ.get("VT_SOAK") else 12
plugin = cpu.compile_c("plugin.so", "storm_plugin.c", flags=["-shared", "-fPIC"])
program = cpu.compile_c("storm", "storm.cpp", flags=["-ldl"], compiler=os.environ.get("CXX", "c++"))
RUNS = [("thread", cpu.VITRINE, {}), ("perf", cpu.VITRINE, {}), ("thread", cpu.PROFILER, {}), ("process", cpu.VITRINE, {}),
        ("thread", cpu.VITRINE, {"STORM_SWITCHES": "1"}), ("perf", cpu.PROFILER, {"STORM_SWITCHES": "1"})]


def used_s():
    """CPU time of all programs so far, and of their children."""
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


for clock, preload, more in RUNS:
    env = {"VITRINE_CPU_CLOCK": clock, "VITRINE_CPU_FREQUENCY": "4000",
           "VITRINE_CONTENTION_PROFILE": os.path.join(cpu.TMP, "storm.waits"), **more}
    path = os.path.join(cpu.TMP, "storm.prof")
    if not more:
        env["CPUPROFILE"] = path
    before_s = used_s()
    out, err = cpu.run([program, str(SECONDS // len(RUNS)), plugin], preload=preload, env=env)
    names = cpu.Profile(path).cum()
    print(f"{os.path.basename(preload)} {clock} {more or ''}: {out.strip()}; {cpu.Profile(path).n} samples")
    most = 4000 * (used_s() - before_s) * 1.02 + 40
    if cpu.Profile(path).n > most:
        cpu.fail(f"expected no more than the CPU time that was used, {most:.0f} periods of 250 us, seen {cpu.Profile(path).n}")
    if not more and names.get("_ZL4turnPv", 0) < 10:
        cpu.fail(f"expected samples below turn(), seen {names}")
shutil.rmtree(cpu.TMP)
