#!/usr/bin/env python3
"""clocks.py - by each clock, is the sum of all samples the time that passed? At 100 Hz, and at 4000, where a tick of the system is worth
many periods. They count where it finds the program: so each function has its own, in a round in which the thread, which shares its core with
others, is met by some of these ticks. attribution.py looks at the shares, and more closely.

CPU time is told by the program's own clocks, and is at most what the system counted for all of the run. Perf's clock also runs while the host of a
virtual machine has taken the core away, which is nobody's CPU time: it is at most what a counter of perf's own says. The time of day is at least the
program's CPU time, and at most what the whole run took.

And is it the clock that was asked for? Perf's ticks finer than the system does; the two for all threads are timers of the process.
"""
import os
import resource
import shutil
import time

import cpu

MS = 400
PLACE_MS = 80  # of a function; without weights alpha lacks 188
program = cpu.burn()
path = os.path.join(cpu.TMP, "c.prof")


def used_ms():
    """CPU time of all programs so far."""
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (r.ru_utime + r.ru_stime) * 1e3


def most_of(clock):
    """The most that a run by this clock may have taken, in ms so far: a function."""
    if clock in ("real", "wall"):
        return lambda: time.monotonic() * 1e3
    return cpu.task_clock_ms if clock == "perf" else used_ms


for preload in (cpu.VITRINE, cpu.PROFILER):
    for clock in ("thread", "perf", "process", "real", "wall"):
        for frequency in (100, 4000):
            most = most_of(clock)
            since_ms = most()
            _, err = cpu.run([program, "mix", str(MS)], preload=preload,
                             env={"CPUPROFILE": path, "CPUPROFILE_FREQUENCY": str(frequency), "VITRINE_CPU_CLOCK": clock})
            most_ms = most() - since_ms
            truth_ms = sum(cpu.truth().values()) / 1e6
            p = cpu.Profile(path)
            period_ms = p.period_us / 1e3
            if p.period_us != 1000000 // frequency:
                cpu.fail(f"expected a period of {1000000 // frequency} us, seen {p.period_us}")
            least_ms = truth_ms - 2 * period_ms
            what = f"{os.path.basename(preload)}, {clock} {frequency} Hz"
            print(f"{what}: {p.n * period_ms:.1f} ms, {truth_ms:.1f} burned, {most_ms:.1f} at most")
            if "refuses the clock" not in err and not least_ms <= p.n * period_ms <= most_ms + 2 * period_ms:
                cpu.fail(f"{what}: expected {least_ms:.1f} to {most_ms + 2 * period_ms:.1f} ms, seen {p.n * period_ms:.1f}")

user = cpu.compile_c("user", "user.c", flags=[f"-I{os.path.join(os.environ['VT_SRC'], 'include', 'compat')}", cpu.PROFILER,
                                              f"-Wl,-rpath,{os.path.dirname(cpu.PROFILER)}"])
n_ticks = {}
REAL, EACH = {"CPUPROFILE_REALTIME": "1"}, {"CPUPROFILE_PER_THREAD_TIMERS": "1"}
for clock, env, timers in (("thread", EACH, [0, 0]), ("perf", {"VITRINE_CPU_CLOCK": "perf"}, [0, 0]),
                           ("process", {"VITRINE_CPU_CLOCK": "process"}, [250, 0]), ("real", REAL, [0, 250]), ("wall", {**REAL, **EACH}, [0, 0])):
    out, err = cpu.run([user, "ticks", path], preload=None, env={"CPUPROFILE_FREQUENCY": "4000", **env})
    n_ticks[clock], *seen = map(int, out.split())
    if seen != timers:
        cpu.fail(f"{clock}: expected periods of ITIMER_PROF and ITIMER_REAL {timers}, seen {seen}")
    if clock == "perf" and "refuses the clock" not in err and n_ticks["perf"] < 2 * n_ticks["thread"]:
        cpu.fail(f"expected perf's clock to tick twice as often as timers at least, seen {n_ticks}")
print(f"ticks in 200 ms of CPU time: {n_ticks}")


def misplaced(preload):
    """Functions whose time is elsewhere, by the clock of threads at 4000 Hz."""
    cpu.run([program, "mix", str(MS)], preload=preload, env={"CPUPROFILE": path, "CPUPROFILE_FREQUENCY": "4000"})
    seen = cpu.Profile(path).cum()
    return {name: f"{ns / 1e6:.1f} ms, seen {seen.get(name, 0) / 4:.1f}" for name, ns in cpu.truth().items()
            if abs(seen.get(name, 0) / 4 - ns / 1e6) > PLACE_MS}


for preload in (cpu.VITRINE, cpu.PROFILER):
    rounds = []
    while not rounds or (rounds[-1] and len(rounds) < 8):
        rounds.append(misplaced(preload))
    if rounds[-1]:
        cpu.fail(f"{os.path.basename(preload)}: expected most of each function's time there in one round of 8, seen {rounds}")
shutil.rmtree(cpu.TMP)
