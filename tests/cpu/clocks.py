#!/usr/bin/env python3
"""clocks.py - by each clock, is the sum of all samples the time that passed? At 100 Hz, and at 4000, where a tick of the system is worth
many periods, which count where it finds the program: by the clocks of threads each function has its own. Timers of the process come when
the kernel likes, and what passed counts where they find it. attribution.py looks at the shares, and more closely.

CPU time is told by the program's own clocks. The time of day is at least its CPU time, and at most what the whole run took.
"""
import os
import shutil
import time

import cpu

MS = 400
REST_MS = 12  # what the program does beside burning, and until it begins
PLACE_MS = 80  # of a function: a thread that shares its core with many is met by few of the system's ticks. Without weights alpha lacks 188
program = cpu.burn()
path = os.path.join(cpu.TMP, "c.prof")
for preload in (cpu.VITRINE, cpu.PROFILER):
    for clock in ("thread", "perf", "process", "real", "wall"):
        for frequency in (100, 4000):
            since = time.monotonic()
            _, err = cpu.run([program, "mix", str(MS)], preload=preload,
                             env={"CPUPROFILE": path, "CPUPROFILE_FREQUENCY": str(frequency), "VITRINE_CPU_CLOCK": clock})
            took_ms = (time.monotonic() - since) * 1e3
            truth = cpu.truth()
            truth_ms = sum(truth.values()) / 1e6
            p = cpu.Profile(path)
            period_ms = p.period_us / 1e3
            if p.period_us != 1000000 // frequency:
                cpu.fail(f"expected a period of {1000000 // frequency} us, seen {p.period_us}")
            most_ms = took_ms if clock in ("real", "wall") else truth_ms + REST_MS
            least_ms = truth_ms - 2 * period_ms
            seen = p.cum()
            what = f"{os.path.basename(preload)}, {clock} {frequency} Hz"
            print(f"{what}: {p.n * period_ms:.1f} ms, {truth_ms:.1f} burned, {took_ms:.0f} passed")
            if "refuses the clock" not in err and not least_ms <= p.n * period_ms <= most_ms + 2 * period_ms:
                cpu.fail(f"{what}: expected {least_ms:.1f} to {most_ms + 2 * period_ms:.1f} ms, seen {p.n * period_ms:.1f}")
            for name, ns in truth.items() if clock in ("thread", "perf") else ():
                if abs(seen.get(name, 0) * period_ms - ns / 1e6) > PLACE_MS + 2 * period_ms:
                    cpu.fail(f"{what}: {name}: expected {ns / 1e6:.1f} ms, seen {seen.get(name, 0) * period_ms:.1f}")
shutil.rmtree(cpu.TMP)
