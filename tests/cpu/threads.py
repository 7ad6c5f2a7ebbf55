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
path = os.path.join(cpu.TMP, "t.pb")




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


def check(what, counts, period_ns):
    missing = [i for i in range(N) if counts.get(f"worker-{i}", 0) == 0]
    if missing:
        cpu.fail(f"{what}: expected {N} threads, not seen: {missing}; {counts}")
    low, high = (f(counts[f"worker-{i}"] for i in range(N)) for f in (min, max))
    wanted = MS * 1e6
    print(f"{what}: {N} threads of {MS} ms each, least {low / 1e6:.0f} ms, most {high / 1e6:.0f} ms")
    if low < wanted - 3 * period_ns or high > wanted + 3 * period_ns:
        cpu.fail(f"{what}: expected {MS} ms within three periods for each thread")


if shutil.which("go") is None:
    cpu.skip("no go, whose pprof shows labels")
for preload in (cpu.VITRINE, cpu.PROFILER):
    name = os.path.basename(preload)
    cpu.run([program, "threads", str(N), str(MS)], preload=preload, env={"VITRINE_CPU_PROFILE": path, "VITRINE_CPU_FREQUENCY": "250"})
    check(f"{name}, born while it was on", tags(path), 4e6)
    os.remove(path)
    cpu.run([program, "late", str(N), str(MS), "start", path, "go", "stop"], preload=preload,
            env={"VITRINE_CPU_FORMAT": "proto", "VITRINE_CPU_FREQUENCY": "250"})
    check(f"{name}, born before", tags(path), 4e6)
    os.remove(path)
shutil.rmtree(cpu.TMP)
