#!/usr/bin/env python3
"""api.py - our own functions, labels, time that passes, and refusals: see api.c; and a set-uid program, which writes nothing."""
import json
import os
import platform
import re
import shutil
import subprocess

import cpu

# beside the program: where the tree lies, other users may not be let in
shutil.copy(cpu.VITRINE, os.path.join(cpu.TMP, "libvitrine.so.1"))
program = cpu.compile_c("api", "api.c", flags=[f"-I{os.environ['VT_INCLUDE']}", cpu.VITRINE, f"-Wl,-rpath,{cpu.TMP}"])
path = os.path.join(cpu.TMP, "a.pb")


def rows(name, *options):
    out = subprocess.run([cpu.TOOL, "top", "--json", *options, name], capture_output=True, text=True)
    if out.returncode != 0:
        cpu.fail(f"vitrine top {options} {name}: {out.stderr}")
    return {row["name"]: row["cum"] for row in json.loads(out.stdout)["rows"]}


def near(what, wanted_ms, seen_ns, within_ms):
    print(f"{what}: expected {wanted_ms:.0f} ms, seen {seen_ns / 1e6:.0f}")
    if abs(seen_ns / 1e6 - wanted_ms) > within_ms:
        cpu.fail(f"{what}: expected {wanted_ms:.0f} ms within {within_ms:.0f}")


cpu.run([program, "calls", path], preload=None)
near("the whole", 400, rows(path)["burn_it"], 21)
near("what was written in between", 300, rows(path + ".part")["burn_it"], 30)
if shutil.which("go"):
    tags = subprocess.run(["go", "tool", "pprof", "-tags", path], capture_output=True, text=True, env={**os.environ, "HOME": cpu.TMP}).stdout
    label = re.search(r"request: Total ([\d.]+)ms", tags)
    if label is None:
        cpu.fail(f"expected the label request, seen {tags}")
    near("with the label", 300, float(label.group(1)) * 1e6, 30)
    tags = subprocess.run(["go", "tool", "pprof", "-tags", path + ".part"], capture_output=True, text=True, env={**os.environ, "HOME": cpu.TMP}).stdout
    if re.search(r"\): renamed$", tags, re.M) is None:
        cpu.fail(f"expected the name that the thread has when the file is written, seen {tags}")

# what a thread used counts for the label it had then, also where the system tells of it late, and counts once
cpu.run([program, "held", path], preload=None)
near("ticks held back: the whole", 400, rows(path)["held"], 21)
for label, wanted_ms, within_ms in (("first", 100, 21), ("second", 80, 21), ("third", 40, 21)):
    near(f"ticks held back: the label {label}", wanted_ms, rows(path, f"--tag-focus=request={label}").get("serve", 0), within_ms)
near("ticks held back: no label", 180, rows(path, "--tag-ignore=request=.").get("held", 0), 40)

# and a tick that comes in the midst of the change does not count it again: see label_step.c, which steps itself
if platform.machine() == "x86_64":
    stepper = cpu.compile_c("label_step", "label_step.c", flags=[f"-I{os.environ['VT_INCLUDE']}", cpu.VITRINE, f"-Wl,-rpath,{cpu.TMP}"])
    out, err = cpu.run([stepper, path], preload=None, env={"VITRINE_CPU_FREQUENCY": "4000"})
    whole_ms, labelled_ms = (int(ns) / 1e6 for ns in out.split())
    near("a tick after each instruction of a change", whole_ms, rows(path)["main"], whole_ms * 0.01)
    seen_ms = rows(path, "--tag-focus=tick=late").get("main", 0) / 1e6
    if seen_ms < labelled_ms * 0.99:
        cpu.fail(f"a tick after each instruction of a change: expected {labelled_ms:.0f} ms or more with the label, seen {seen_ms:.0f}")

# the time of day: more may pass than the program wants, on a machine that is busy; what it burned is known
cpu.run([program, "wall", path], preload=None, env={"VITRINE_CPU_CLOCK": "wall"})
wall, on, off = (rows(path, f"--type={t}") for t in ("wall", "cpu", "offcpu"))
near("wall clock: CPU time of what burns", 500, on["burn_it"], 30)
if off.get("sleep_it", 0) < 4e8 or on.get("sleep_it", 0) > 1e8:
    cpu.fail(f"expected most of sleep_it's time off the CPU, seen {off.get('sleep_it')} off, {on.get('sleep_it')} on")
for name in ("burn_it", "sleep_it"):
    if wall[name] != on.get(name, 0) + off.get(name, 0):
        cpu.fail(f"{name}: expected wall = cpu + offcpu, seen {wall[name]}, {on.get(name)}, {off.get(name)}")

cpu.run([program, "refused", path], preload=None)

os.remove(path)
if os.geteuid() == 0:
    os.chown(program, 65534, 65534)
    os.chmod(program, 0o6755)
    os.chmod(cpu.TMP, 0o777)
    out, _ = cpu.run([program, "none", path], preload=None, env={"CPUPROFILE": path, "VITRINE_CPU_PROFILE": path})
    if os.path.exists(path):
        cpu.fail("expected no file from a set-uid program")
print("as expected")
shutil.rmtree(cpu.TMP)
