#!/usr/bin/env python3
"""clocks.py - by each clock, is the sum of all samples the time that passed? At 100 Hz, and at 4000, where a tick of the system is worth
many periods. attribution.py looks at the shares alone.

CPU time is told by the program's own clocks. The time of day is at least its CPU time, and at most what the whole run took.
"""
import os
import shutil
import time

import cpu

MS = 400
TICK_MS = 12  # what may be owed at the end by a timer of the process: one of the system's ticks, and its lateness
REST_MS = 12  # what the program does beside burning, and until it begins
program = cpu.burn()
path = os.path.join(cpu.TMP, "c.prof")
for preload in (cpu.VITRINE, cpu.PROFILER):
    for clock in ("thread", "perf", "process", "real", "wall"):
        for frequency in (100, 4000):
            since = time.monotonic()
            _, err = cpu.run([program, "mix", str(MS)], preload=preload,
                             env={"CPUPROFILE": path, "CPUPROFILE_FREQUENCY": str(frequency), "VITRINE_CPU_CLOCK": clock})
            took_ms = (time.monotonic() - since) * 1e3
            truth_ms = sum(cpu.truth().values()) / 1e6
            p = cpu.Profile(path)
            period_ms = p.period_us / 1e3
            if p.period_us != 1000000 // frequency:
                cpu.fail(f"expected a period of {1000000 // frequency} us, seen {p.period_us}")
            most_ms = took_ms if clock in ("real", "wall") else truth_ms + REST_MS
            least_ms = truth_ms - (TICK_MS if clock == "process" else 0) - 2 * period_ms
            what = f"{os.path.basename(preload)}, {clock} {frequency} Hz"
            print(f"{what}: {p.n * period_ms:.1f} ms, {truth_ms:.1f} burned, {took_ms:.0f} passed")
            if "refuses the clock" not in err and not least_ms <= p.n * period_ms <= most_ms + 2 * period_ms:
                cpu.fail(f"{what}: expected {least_ms:.1f} to {most_ms + 2 * period_ms:.1f} ms, seen {p.n * period_ms:.1f}")
shutil.rmtree(cpu.TMP)
