#!/usr/bin/env python3
"""threads.py - 64 threads are seen evenly, whether they were there before the profiler or came after; with their names."""
import collections
import os
import re
import shutil
import subprocess

import cpu

program = cpu.burn()
N, MS = 64, 40
HZ = 250
path = os.path.join(cpu.TMP, "t.pb")
told = os.path.join(cpu.TMP, "threads")


def tags(name):
    """{thread name: ns} from `go tool pprof -tags`"""
    out = subprocess.run(["go", "tool", "pprof", "-tags", "-unit", "ns", name], capture_output=True, text=True, env={**os.environ, "HOME": cpu.TMP})
    total, part = collections.Counter(), ""
    for line in out.stdout.splitlines():
        m = re.match(r" *(\S+): Total", line)
        if m:
            part = m.group(1)
        m = re.match(r" *([\d.]+)ns \(.*\): (\S+)", line)
        if m and part == "thread":
            total[m.group(2)] += float(m.group(1))
    return total


def check(what, counts):
    """Each has the CPU time that its own clock told: equal shares would be a claim about the scheduler. A thread is settled when it ends,
    so what is missing or too much is part of a period; another one for what it does before and after it is known."""
    with open(told, encoding="ascii") as f:
        truth = {name: int(ns) for name, ns in (line.split() for line in f)}
    os.remove(told)
    missing = [name for name in truth if counts.get(name, 0) == 0]
    if missing or len(truth) != N:
        cpu.fail(f"{what}: expected {N} threads, not seen: {missing}; {counts}")
    off = {name: counts[name] - ns for name, ns in truth.items()}
    low, high = min(off.values()), max(off.values())
    print(f"{what}: {N} threads, {min(truth.values()) / 1e6:.0f} to {max(truth.values()) / 1e6:.0f} ms each, "
          f"seen {-low / 1e6:.1f} ms less to {high / 1e6:.1f} ms more")
    if max(-low, high) > 2e9 / HZ:
        cpu.fail(f"{what}: expected each within two periods of {1e3 / HZ:.0f} ms, seen {off}")


if shutil.which("go") is None:
    cpu.skip("no go, whose pprof shows labels")
for preload in (cpu.VITRINE, cpu.PROFILER):
    name = os.path.basename(preload)
    cpu.run([program, "threads", str(N), str(MS)], preload=preload, env={"VITRINE_CPU_PROFILE": path, "VITRINE_CPU_FREQUENCY": str(HZ), "BURN_THREADS": told})
    check(f"{name}, born while it was on", tags(path))
    os.remove(path)
    cpu.run([program, "late", str(N), str(MS), "start", path, "go", "stop"], preload=preload,
            env={"VITRINE_CPU_FORMAT": "proto", "VITRINE_CPU_FREQUENCY": str(HZ), "BURN_THREADS": told})
    check(f"{name}, born before", tags(path))
    os.remove(path)
shutil.rmtree(cpu.TMP)
