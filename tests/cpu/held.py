#!/usr/bin/env python3
"""held.py - the cases that hung or ended programs under other CPU profilers, one at a time: held.c. With each clock, by both libraries."""
import os
import shutil

import cpu

program = cpu.compile_c("held", "held.c")
path = os.path.join(cpu.TMP, "h.prof")
CASES = {"linker": ("burn_inside", "burn_beside"), "jit": (), "frame": (), "fibre": ("burn_inside",), "small": ("burn_inside",)}
for preload in (cpu.VITRINE, cpu.PROFILER):
    for clock, frequency in (("thread", "250"), ("perf", "4000"), ("process", "250")):
        for case, functions in CASES.items():
            cpu.run([program, case], preload=preload, env={"CPUPROFILE": path, "VITRINE_CPU_CLOCK": clock, "CPUPROFILE_FREQUENCY": frequency})
            p = cpu.Profile(path)
            seen = p.cum()
            if p.n < 10 or any(seen.get(f, 0) < 10 for f in functions):
                cpu.fail(f"{os.path.basename(preload)}, {clock}, {case}: expected samples in {functions}, seen {p.n} in all, {seen}")
            print(f"{os.path.basename(preload)}, {clock} {frequency} Hz, {case}: {p.n} samples")
shutil.rmtree(cpu.TMP)
