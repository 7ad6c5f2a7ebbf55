#!/usr/bin/env python3
"""contention.py - contention profiles: every kind of wait has its true length, in both formats and for all readers; locks answer as
without us; no memory is taken (no_malloc.c); children of a fork, handlers and the CPU profiler do not disturb. The program is waits.cpp."""
import glob
import json
import os
import re
import shutil
import subprocess

import cpu

AUDIT = cpu.VITRINE.replace("libvitrine.so.1", "libvitrine-audit.so")
program = cpu.compile_c("waits", "waits.cpp", compiler=os.environ.get("CXX", "c++"),
                        flags=[f"-I{os.environ['VT_INCLUDE']}", cpu.VITRINE, f"-Wl,-rpath,{os.path.dirname(cpu.VITRINE)}"])
path = os.path.join(cpu.TMP, "w.prof")


def profiled(*argv, **env):
    return cpu.run([program, *argv], preload=env.pop("preload", None), env={"VITRINE_CONTENTION_PROFILE": path, **env})[0]


def told(text):
    """{function: (ns at least, ns at most)} as the program says."""
    total = {}
    for line in text.splitlines():
        name, least, most = line.split()
        before = total.get(name, (0, 0))
        total[name] = (before[0] + int(least), before[1] + int(most))
    return total


def top(name, kind="delay"):
    out = subprocess.run([cpu.TOOL, "top", "--json", f"--type={kind}", name], capture_output=True, text=True)
    if out.returncode != 0:
        cpu.fail(f"vitrine top {name}: {out.stderr}")
    return {row["name"]: row["cum"] for row in json.loads(out.stdout)["rows"]}


def compare(what, truth, seen):
    for name, (least, most) in truth.items():
        if not least <= seen.get(name, 0) <= most:
            cpu.fail(f"{what}: {name}: expected {least / 1e6:.2f} to {most / 1e6:.2f} ms, seen {seen.get(name, 0) / 1e6:.2f}")
    print(f"{what}: {len(truth)} functions, {sum(least for least, _ in truth.values()) / 1e6:.1f} to "
          f"{sum(most for _, most in truth.values()) / 1e6:.1f} ms waited")


# every kind, in both formats
truth = told(profiled("kinds"))
compare("proto", truth, top(path))
times = top(path, "contentions")
for name in ("wait_plain", "wait_write", "wait_std_mutex"):
    if times.get(name) != 3:
        cpu.fail(f"{name}: expected 3 contentions, seen {times.get(name)}")
for name in ("pthread_mutex_lock", "pthread_rwlock_wrlock", "pthread_cond_wait", "pthread_cond_clockwait"):
    if name not in times:
        cpu.fail(f"expected '{name}' among the functions that waited, seen {sorted(times)}")
out = subprocess.run([cpu.TOOL, "top", "--json", "--group=thread", path], capture_output=True, text=True)
groups = {t["group"]: sum(r["flat"] for r in t["rows"]) for t in json.loads(out.stdout or "[]")}
if not groups or any(not re.fullmatch(r"waits \(\d+\)", name) for name in groups) or abs(sum(groups.values()) - json.loads(out.stdout)[0]["total"]) > 1:
    cpu.fail(f"expected all waits by threads 'waits (N)', seen {groups} {out.stderr}")
truth = told(profiled("kinds", VITRINE_CONTENTION_FORMAT="text"))
ours = top(path)
compare("text", truth, ours)

# the other readers of the text: the same numbers
if shutil.which("google-pprof"):
    out = subprocess.run(["google-pprof", "--text", program, path], capture_output=True, text=True).stdout
    seen = {m[2]: float(m[1]) * 1e9 for m in re.finditer(r"([\d.]+) +[\d.]+% (wait_\w+)$", out, re.M)}
    for name in truth:
        if abs(seen.get(name, 0) - ours[name]) > 1e6:
            cpu.fail(f"google-pprof: {name}: expected {ours[name]} ns, seen {seen.get(name)}; {out}")
if shutil.which("go"):
    out = subprocess.run(["go", "tool", "pprof", "-top", "-cum", "-unit=ns", program, path], capture_output=True, text=True,
                         env={**os.environ, "HOME": cpu.TMP}).stdout
    seen = {m[2]: float(m[1]) for m in re.finditer(r"([\d.]+)ns +[\d.]+% +(wait_\w+)$", out, re.M)}
    for name in truth:
        if abs(seen.get(name, 0) - ours[name]) > 1:
            cpu.fail(f"go tool pprof: {name}: expected {ours[name]} ns, seen {seen.get(name)}; {out}")

# what the functions answer, with a profile and without, and with every structure checked
profiled("answers")
cpu.run([program, "answers"], preload=None)
profiled("answers", preload=AUDIT)

# nobody takes memory in a wait, nor in a tick beside it
alone = cpu.compile_c("no_malloc", "no_malloc.c", flags=[f"-I{os.environ['VT_INCLUDE']}", "-fno-builtin", cpu.VITRINE,
                                                         f"-Wl,-rpath,{os.path.dirname(cpu.VITRINE)}"])
for clock in ("thread", "perf", "process", "wall"):
    ticks = os.path.join(cpu.TMP, "ticks")
    cpu.run([alone], preload=None, env={"VITRINE_CONTENTION_PROFILE": path, "CPUPROFILE": ticks, "CPUPROFILE_FREQUENCY": "1000",
                                        "VITRINE_CPU_CLOCK": clock})
    missing = {f"pthread_{f}" for f in ("mutex_timedlock", "mutex_clocklock", "rwlock_timedrdlock", "rwlock_clockwrlock", "cond_timedwait",
                                        "cond_clockwait", "mutex_lock")} - set(top(path))
    if missing or cpu.Profile(ticks).n < 50:
        cpu.fail(f"{clock}: expected waits and ticks, seen {cpu.Profile(ticks).n} ticks and no {missing}")

# a fight with forks, a handler that locks, and the CPU profiler beside it
for preload in (None, AUDIT):
    for f in glob.glob(path + "*"):
        os.remove(f)
    profiled("fight", VITRINE_CPU_PROFILE=os.path.join(cpu.TMP, "w.cpu"), VITRINE_CPU_FREQUENCY="4000", preload=preload)
    if top(path).get("fight_once", 0) < 1e7:
        cpu.fail(f"expected waits in fight_once, seen {top(path)}")
    children = [top(f) for f in glob.glob(path + "_*")]
    if not children:
        cpu.fail("expected files of the children")
    for names in children:
        if "fight_once" in names or "pthread_mutex_lock" not in names:
            cpu.fail(f"expected a child's own waits alone, seen {names}")

# a program that another starts has its own file; a name that cannot be written is said
for f in glob.glob(path + "*"):
    os.remove(f)
cpu.run(["sh", "-c", f"{program} once; {program} once"], preload=cpu.VITRINE, env={"VITRINE_CONTENTION_PROFILE": path})
if len(glob.glob(path + "_*")) != 2:
    cpu.fail(f"expected two files beside the shell's, seen {glob.glob(path + '*')}")
_, err = cpu.run([program, "answers"], preload=None, env={"VITRINE_CONTENTION_PROFILE": "/nowhere/at/all"})
if "no contention profile '/nowhere/at/all': no such file or directory" not in err:
    cpu.fail(f"expected a line about the name, seen {err!r}")

# by call
truth = told(cpu.run([program, "calls", path], preload=None)[0])
whole, part = top(path), top(path + ".part")
compare("by call", {"wait_timed": truth["wait_timed"], "wait_clock": truth["wait_clock"]}, whole)
compare("in between", {"wait_timed": truth["wait_timed"]}, part)
if "wait_plain" in whole or "wait_clock" in part:
    cpu.fail(f"expected what was waited meanwhile alone, seen {sorted(whole)}, {sorted(part)}")

# to a pipe and a descriptor
for what, names in cpu.in_place(lambda name: ([program, "once"], {"VITRINE_CONTENTION_PROFILE": name}), preload=None):
    if not any(name.startswith("wait_once") for name in names):
        cpu.fail(f"{what}: expected wait_once, seen {names}")

# linked statically: no profile, and it says so
archive = os.path.join(os.path.dirname(cpu.VITRINE), "libvitrine.a")
static = cpu.compile_c("static", "static_waits.c", flags=["-static", f"-I{os.environ['VT_INCLUDE']}", archive])
_, err = cpu.run([static], preload=None, env={"VITRINE_CONTENTION_PROFILE": path})
if "no contention profile" not in err or "linked statically" not in err:
    cpu.fail(f"expected a line about the static program, seen {err!r}")
print("as expected")
shutil.rmtree(cpu.TMP)
