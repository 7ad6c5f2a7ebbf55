#!/usr/bin/env python3
"""quiet.py - what a profiled program must not notice: see quiet.c.

EINTR: a signal that finds a thread on its way to sleep ends the call, in every profiler; ours makes it begin again (x86-64). The same
with gperftools, for comparison only.
"""
import os
import platform
import shutil

import cpu

program = cpu.compile_c("quiet", "quiet.c", flags=["-lrt"])
PEER = "/usr/lib/x86_64-linux-gnu/libprofiler.so.0"
env = {"CPUPROFILE": os.path.join(cpu.TMP, "q.prof")}

for clock in ("thread", "perf"):
    cpu.run([program, "idle"], env={**env, "VITRINE_CPU_CLOCK": clock})
print("idle: no signal")
if platform.machine() == "x86_64":
    for clock, frequency in (("thread", "250"), ("perf", "4000")):
        out, _ = cpu.run([program, "eintr", "400"], env={**env, "VITRINE_CPU_CLOCK": clock, "CPUPROFILE_FREQUENCY": frequency})
        n = cpu.Profile(env["CPUPROFILE"]).n
        print(f"{clock} {frequency} Hz, {n} samples: {out.strip()}")
        if n < 10:
            cpu.fail(f"expected samples in a program that burns, seen {n}")
if os.path.exists(PEER):
    out, _ = cpu.run([program, "eintr", "400"], preload=PEER, env={**env, "CPUPROFILE_FREQUENCY": "4000"}, status=None)
    print(f"gperftools 4000 Hz: {out.strip().splitlines()[-1]}")
for preload in (cpu.VITRINE, cpu.PROFILER):
    out, _ = cpu.run([program, "mine"], preload=preload)
    print(out.strip())
shutil.rmtree(cpu.TMP)
