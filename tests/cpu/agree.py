#!/usr/bin/env python3
"""agree.py - go tool pprof, google-pprof and our own command see the same numbers in the same files, in both formats."""
import json
import os
import re
import shutil
import subprocess

import cpu

program = cpu.burn()
FUNCTIONS = ("alpha", "beta", "gamma_outer", "burn_lib", "worker_burn")
env = {**os.environ, "HOME": cpu.TMP}
STEPS = ["mix", "400", "lib", "200", "threads", "2", "100"]


def table(argv, pattern, scale=1.0):
    """{function: cum} of a table's lines"""
    done = subprocess.run(argv, capture_output=True, text=True, env=env)
    if done.returncode != 0:
        cpu.fail(f"{argv}: exit {done.returncode}; {done.stderr}")
    found = {}
    for line in done.stdout.splitlines():
        m = re.match(pattern, line)
        if m and m.group(2) in FUNCTIONS:
            found[m.group(2)] = round(float(m.group(1)) * scale)
    return found


def by_go(path):
    return table(["go", "tool", "pprof", "-top", "-cum", "-unit=ms", "-nodecount=100", path],
                 r" *\S+ +\S+ +\S+ +([\d.]+)(?:ms)? +\S+ +(\S+)", 0.1)


def by_perl(path):
    return table(["google-pprof", "--text", "--cum", program, path], r" *\S+ +\S+ +\S+ +(\d+) +\S+ (\S+)")


def by_us(path):
    found = {}
    done = subprocess.run([cpu.TOOL, "top", "--json", path], capture_output=True, text=True, env=env)
    if done.returncode != 0:
        cpu.fail(f"vitrine top --json: {done.stderr}")

    for row in json.loads(done.stdout)["rows"]:
        if row["name"] in FUNCTIONS:
            found[row["name"]] = round(row["cum"] / 1e7)
    return found


# all samples, also in a program whose first thread only waits and is seen nowhere
if shutil.which("google-pprof"):
    path = os.path.join(cpu.TMP, "waiting.prof")
    cpu.run([program, "threads", "2", "50"], env={"CPUPROFILE": path, "CPUPROFILE_FREQUENCY": "4000"})
    text = subprocess.run(["google-pprof", "--text", program, path], capture_output=True, text=True, env=env).stdout
    if f"Total: {cpu.Profile(path).n} samples" not in text:
        cpu.fail(f"google-pprof: expected {cpu.Profile(path).n} samples in all, seen {text}")
for form in ("gperftools", "proto"):
    path = os.path.join(cpu.TMP, f"{form}.prof")
    cpu.run([program, *STEPS], env={"VITRINE_CPU_PROFILE": path, "VITRINE_CPU_FORMAT": form})
    seen = {"vitrine": by_us(path)}
    if shutil.which("go"):
        seen["go tool pprof"] = by_go(path)
    if form == "gperftools":
        profile = cpu.Profile(path)
        own = profile.cum()
        # a thread's first frame was ours; malloc may be met inside itself, and may call libc, but calls no function of the program
        def is_in(pc, name):
            return any(low <= pc < high and os.path.basename(path).startswith(name) for low, high, _, path in profile.maps)

        for _, stack in profile.rows:
            for callee, caller in zip(stack, stack[1:]):
                if is_in(caller, "libvitrine") and is_in(callee, os.path.basename(program)):
                    cpu.fail("expected no caller of ours in the program's stacks")
        seen["the test's own reader"] = {f: own[f] for f in FUNCTIONS if f in own}
        if shutil.which("google-pprof"):
            seen["google-pprof"] = by_perl(path)
    for who, numbers in seen.items():
        print(f"{form:12} {who:22} {numbers}")
    if len(seen["vitrine"]) != len(FUNCTIONS) or any(n != seen["vitrine"] for n in seen.values()):
        cpu.fail(f"{form}: the readers do not agree")
shutil.rmtree(cpu.TMP)
