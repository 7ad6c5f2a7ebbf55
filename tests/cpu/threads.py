#!/usr/bin/env python3
"""threads.py - 64 threads are seen evenly, whether they were there before the profiler or came after, with their names, each by a timer of its
own; and threads that end before their first tick are right on average."""
import collections
import os
import re
import shutil
import subprocess
import time

import cpu

program = cpu.burn()
N, MS = 64, 40
HZ = 250
N_SHORT, SHORT_MS = 400, 3
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


def read_truth():
    """{thread name: ns} as the threads' own clocks told"""
    with open(told, encoding="ascii") as f:
        truth = {name: int(ns) for name, ns in (line.split() for line in f)}
    os.remove(told)
    return truth


def check(what, counts):
    """Each has the CPU time that its own clock told: equal shares would be a claim about the scheduler. A thread is settled when it ends,
    so what is missing or too much is part of a period; another one for what it does before and after it is known."""
    truth = read_truth()
    missing = [name for name in truth if counts.get(name, 0) == 0]
    if missing or len(truth) != N:
        cpu.fail(f"{what}: expected {N} threads, not seen: {missing}; {counts}")
    off = {name: counts[name] - ns for name, ns in truth.items()}
    low, high = min(off.values()), max(off.values())
    print(f"{what}: {N} threads, {min(truth.values()) / 1e6:.0f} to {max(truth.values()) / 1e6:.0f} ms each, "
          f"seen {-low / 1e6:.1f} ms less to {high / 1e6:.1f} ms more")
    if max(-low, high) > 2e9 / HZ:
        cpu.fail(f"{what}: expected each within two periods of {1e3 / HZ:.0f} ms, seen {off}")


def check_short(what, run):
    """A thread of less than a period is seen as one or not at all, in proportion: `run` gives what was seen. 15 % are five deviations of a sum of 400;
    with what a slow machine adds to each thread perhaps four, so there are three sums before it is said."""
    seen = wanted = 0
    for _ in range(3):
        seen += run()
        truth = read_truth()
        wanted += sum(truth.values())
        print(f"{what}: {len(truth)} threads of {SHORT_MS} ms, {wanted / 1e6:.0f} ms in all, seen {seen / 1e6:.0f}")
        if len(truth) == N_SHORT and abs(seen - wanted) <= 0.15 * wanted:
            return
    cpu.fail(f"{what}: expected {wanted / 1e6:.0f} ms within 15 %, seen {seen / 1e6:.0f}")


def check_timers(what, preload, steps, env):
    """Each thread has one: what no tick has met is settled at its end, so the sums would not tell. A new thread takes its own when it runs."""
    with subprocess.Popen([program, *steps], env={**os.environ, "LD_PRELOAD": preload, **env}, cwd=cpu.TMP, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as p:
        p.stdout.readline()
        until = time.monotonic() + 60
        threads, timers = {0}, set()
        while timers != threads and time.monotonic() < until:
            threads = {int(tid) for tid in os.listdir(f"/proc/{p.pid}/task")}
            with open(f"/proc/{p.pid}/timers", encoding="ascii") as f:
                timers = {int(tid) for tid in re.findall(r"notify: signal/tid\.(\d+)", f.read())}
            time.sleep(0.01)
        p.communicate(b"\n")
    if timers != threads or len(threads) != N + 1:
        cpu.fail(f"{what}: expected a timer for each of {N + 1} threads, seen {len(threads)} threads, without one: {threads - timers}")


if shutil.which("go") is None:
    cpu.skip("no go, whose pprof shows labels")
for preload in (cpu.VITRINE, cpu.PROFILER):
    name = os.path.basename(preload)
    if os.path.exists("/proc/self/timers"):
        check_timers(f"{name}, born while it was on", preload, ["late", str(N), "0", "wait", "go"], {"CPUPROFILE": path})
        check_timers(f"{name}, born before", preload, ["late", str(N), "0", "start", path, "wait", "go"], {})
        os.remove(path)
    cpu.run([program, "threads", str(N), str(MS)], preload=preload, env={"VITRINE_CPU_PROFILE": path, "VITRINE_CPU_FREQUENCY": str(HZ), "BURN_THREADS": told})
    check(f"{name}, born while it was on", tags(path))
    os.remove(path)
    cpu.run([program, "late", str(N), str(MS), "start", path, "go", "stop"], preload=preload,
            env={"VITRINE_CPU_FORMAT": "proto", "VITRINE_CPU_FREQUENCY": str(HZ), "BURN_THREADS": told})
    check(f"{name}, born before", tags(path))
    os.remove(path)
    for clock in ("thread", "perf"):
        env = {"VITRINE_CPU_FREQUENCY": str(HZ), "VITRINE_CPU_CLOCK": clock, "BURN_THREADS": told}

        def born_while_on():
            cpu.run([program, "threads", str(N_SHORT), str(SHORT_MS)], preload=preload, env={"CPUPROFILE": path, **env})
            return cpu.Profile(path).cum().get("work", 0) * 1e9 / HZ

        def born_before():
            cpu.run([program, "late", str(N_SHORT), str(SHORT_MS), "start", path, "go", "stop"], preload=preload, env=env)
            return cpu.Profile(path).n * 1e9 / HZ

        check_short(f"{name}, {clock}, short, born while it was on", born_while_on)
        check_short(f"{name}, {clock}, short, born before", born_before)
        os.remove(path)
shutil.rmtree(cpu.TMP)
