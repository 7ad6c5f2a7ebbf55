#!/usr/bin/env python3
"""own_handler.py - programs that have handlers of their own for the profiler's signal keep them, see no tick, and are profiled: own_handler.c,
php, which takes SIGPROF for the end of its time, and python's ITIMER_PROF."""
import os
import shutil
import sys

import cpu

program = cpu.compile_c("own_handler", "own_handler.c")
path = os.path.join(cpu.TMP, "o.prof")
PHP = "set_time_limit(1); $x = 0; for ($i = 0; $i < 2000000; $i++) $x += $i; echo $x; while (true) $x++;"
LATE = "late ticks, 0 more profile: 0 calls\nlate ticks, 1 more profile: 0 calls\nown timer: as often as it should\n"
PYTHON = """
import signal, time
n = 0
def on(number, frame):
    global n
    n += 1
CHARGED = (~0 << 3)  # the clock that ITIMER_PROF goes by: own_handler.c
signal.signal(signal.SIGPROF, on)
due = -time.clock_gettime(CHARGED)
signal.setitimer(signal.ITIMER_PROF, 0.02, 0.02)
end = time.process_time() + 0.5
while time.process_time() < end:
    pass
signal.setitimer(signal.ITIMER_PROF, 0)
due += time.clock_gettime(CHARGED)
print(abs(n - due / 0.02) < 4, signal.getsignal(signal.SIGPROF) is on)
"""


def expect(what, wanted, seen):
    if wanted != seen:
        cpu.fail(f"{what}: expected {wanted}, seen {seen}")


alone = {timer: cpu.run([program, *timer], preload=None)[0] for timer in ((), ("timer",))}
ALL = ("thread", "perf", "process", "wall")
for preload, clocks in ((cpu.VITRINE, ALL), (cpu.PROFILER, ALL), (cpu.BOTH, ALL[:1]), (f"{cpu.PROFILER}:{cpu.VITRINE}", ALL[:1])):
    for clock in clocks:
        what = f"{' '.join(os.path.basename(p) for p in preload.split(':'))}, {clock}"
        env = {"CPUPROFILE": path, "VITRINE_CPU_CLOCK": clock, "CPUPROFILE_FREQUENCY": "250"}
        timer = () if clock == "process" else ("timer",)  # the process has one of these
        wanted = alone[timer]
        seen, _ = cpu.run([program, *timer], preload=preload, env=env)
        for a, b in zip(wanted.splitlines(), seen.splitlines()):
            expect(what, a, b)
        expect(f"{what}: lines", wanted.count("\n"), seen.count("\n"))
        profile = cpu.Profile(path).cum()
        if profile.get("after_jump", 0) < 10:
            cpu.fail(f"{what}: expected about 50 samples in after_jump, seen {profile}")
        out, _ = cpu.run([program, "late", path], preload=preload, env={k: v for k, v in env.items() if k != "CPUPROFILE"})
        expect(f"{what}, late ticks", LATE, out)
        print(f"{what}: as without; {profile['after_jump']} samples after the jump")
    env = {"CPUPROFILE": path, "CPUPROFILE_FREQUENCY": "250"}
    expect("python", "True True\n", cpu.run([sys.executable, "-c", PYTHON], preload=preload, env=env)[0])
    if cpu.Profile(path).n < 80:
        cpu.fail(f"python: expected 125 samples or more, seen {cpu.Profile(path).n}")
    if shutil.which("php"):
        out, _ = cpu.run(["php", "-n", "-r", PHP], preload=preload, env=env, status=255)
        expect("php: its end", (True, True), (out.startswith("1999999000000"), "Maximum execution time of 1 second exceeded" in out))
        if cpu.Profile(path).n < 100:
            cpu.fail(f"php: expected about 250 samples, seen {cpu.Profile(path).n}")
shutil.rmtree(cpu.TMP)
