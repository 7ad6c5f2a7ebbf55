#!/usr/bin/env python3
"""quiet.py - what a profiled program must not notice: see quiet.c.

EINTR: a signal that finds a thread on its way to sleep ends the call; so no clock of ours ticks in the kernel. The same with
gperftools, for comparison only. And a signal that finds a process on its way through exec ends the new program.
"""
import os
import shutil

import cpu

program = cpu.compile_c("quiet", "quiet.c", flags=["-lrt"])
PEER = "/usr/lib/x86_64-linux-gnu/libprofiler.so.0"
env = {"CPUPROFILE": os.path.join(cpu.TMP, "q.prof")}

for clock in ("thread", "perf"):
    cpu.run([program, "idle"], env={**env, "VITRINE_CPU_CLOCK": clock})
print("idle: no signal")
cpu.run([program, "restart"], env={**env, "VITRINE_CPU_CLOCK": "wall", "CPUPROFILE_FREQUENCY": "250"})
if cpu.Profile(env["CPUPROFILE"]).n < 10:
    cpu.fail("expected ticks of wall time in a program that waits")
# the system keeps timers of a process across exec: what a child starts without us must not be ended by them
for clock in ("process", "real"):
    out, err = cpu.run(["bash", "-c", f"LD_PRELOAD= {program} eintr 20 >/dev/null || echo ended by $?; true"], preload=cpu.PROFILER,
                       env={**env, "VITRINE_CPU_CLOCK": clock, "CPUPROFILE_FREQUENCY": "4000"})
    if out:
        cpu.fail(f"{clock}: expected a program to run that is not profiled, seen {out}")
for clock, frequency in (("thread", "250"), ("perf", "4000"), ("process", "250")):
    out, _ = cpu.run([program, "eintr", "200"], env={**env, "VITRINE_CPU_CLOCK": clock, "CPUPROFILE_FREQUENCY": frequency})
    n = cpu.Profile(env["CPUPROFILE"]).n
    print(f"{clock} {frequency} Hz, {n} samples: {out.strip()}")
    if n < 10:
        cpu.fail(f"expected samples in a program that burns, seen {n}")
    out, err = cpu.run(["bash", "-c", "for i in {1..40}; do /bin/true || echo ended by $?; done"], preload=cpu.PROFILER,
                       env={**env, "VITRINE_CPU_CLOCK": clock, "CPUPROFILE_FREQUENCY": "4000"})
    if out:
        cpu.fail(f"{clock}: expected 40 programs to run, seen {out}")
if os.path.exists(PEER):
    out, _ = cpu.run([program, "eintr", "50"], preload=PEER, env={**env, "CPUPROFILE_FREQUENCY": "4000"}, status=None)
    print(f"gperftools 4000 Hz: {out.strip().splitlines()[-1]}")
for preload in (cpu.VITRINE, cpu.PROFILER):
    out, _ = cpu.run([program, "mine"], preload=preload)
    print(out.strip())
shutil.rmtree(cpu.TMP)
