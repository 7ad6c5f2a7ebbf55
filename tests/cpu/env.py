#!/usr/bin/env python3
"""env.py - CPU profiles as a user makes them: by variable, by signal, across fork, exec and shells, from a changed folder, with a
process that is killed; and the refusals."""
import glob
import os
import re
import shutil
import signal
import subprocess
import time

import cpu

program = cpu.burn()
no_perf = cpu.compile_c("no_perf", "no_perf.c")
path = os.path.join(cpu.TMP, "p.prof")


def files():
    return sorted(os.path.basename(f) for f in glob.glob(path + "*"))


def clean():
    for f in glob.glob(path + "*"):
        os.remove(f)


def expect(what, wanted, seen):
    if wanted != seen:
        cpu.fail(f"{what}: expected {wanted}, seen {seen}")


def switched(preload, steps, signals):
    """Runs the steps with a switch; before each `wait` ends, a signal is sent if there is a 1 for it. Gives stderr."""
    p = subprocess.Popen([program, *steps], env={**os.environ, "LD_PRELOAD": preload, "CPUPROFILE": path, "CPUPROFILESIGNAL": "12"},
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1)
    for is_sent in signals:
        p.stdout.readline()
        if is_sent == "1":
            p.send_signal(signal.SIGUSR2)
        p.stdin.write("\n")
        p.stdin.flush()
        time.sleep(0.01)
    _, errors = p.communicate()
    expect("exit", 0, p.returncode)
    return errors


def caught(preload, env, steps=()):
    """Which of SIGALRM, SIGPROF and 40 the program has handlers for, after these steps."""
    p = subprocess.Popen([program, *steps, "wait"], env={**os.environ, "LD_PRELOAD": preload, **env}, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    p.stdout.readline()
    with open(f"/proc/{p.pid}/status", encoding="ascii") as f:
        mask = int(re.search(r"^SigCgt:\s*(\w+)$", f.read(), re.M).group(1), 16)
    p.communicate(b"\n")
    return [n for n in (14, 27, 40) if mask >> (n - 1) & 1]


for preload in (cpu.VITRINE, cpu.PROFILER, cpu.BOTH):
    # a child of a fork, and a program started by another: each has its own file with its own samples
    _, err = cpu.run([program, "mix", "100", "fork", "100", "exec", "mix", "60"], preload=preload, env={"CPUPROFILE": path})
    lines = re.findall(r"^PROFILE: interrupts/evictions/bytes = (\d+)/0/(\d+)$", err, re.M)
    expect("closing lines", 3, len(lines))
    expect("files", 3, len(files()))
    by_child = [f for f in files() if "child_burn" in cpu.Profile(os.path.join(cpu.TMP, f)).cum()]
    expect("files with the child's function", 1, len(by_child))
    child = cpu.Profile(os.path.join(cpu.TMP, by_child[0]))
    expect("functions of the parent in the child's file", set(), {"alpha", "beta"} & set(child.cum()))
    expect("the name of the first", "p.prof", files()[0])
    expect("the lines and the files", sorted((p.n, p.binary_bytes) for p in (cpu.Profile(os.path.join(cpu.TMP, f)) for f in files())),
           sorted((int(a), int(b)) for a, b in lines))
    clean()

    # a child that has no sample leaves no file
    cpu.run([program, "mix", "20", "fork", "0"], preload=preload, env={"CPUPROFILE": path, "CPUPROFILE_FREQUENCY": "1"})
    expect("empty files of a child", [], [f for f in files() if "_" in f and cpu.Profile(os.path.join(cpu.TMP, f)).n == 0])
    clean()

    # a shell and its commands
    cpu.run(["bash", "-c", f"{program} mix 60; {program} mix 60; true"], preload=preload, env={"CPUPROFILE": path})
    expect("files of a shell with two commands", 3, len(files()))
    clean()

    # a relative name stays where the program began
    cpu.run([program, "cd", "/", "mix", "60"], preload=preload, env={"CPUPROFILE": "p.prof"})
    expect("samples in the file here", True, cpu.Profile(path).n > 0)
    clean()

    # killed: a whole profile, though an empty one
    p = subprocess.Popen([program, "mix", "60", "wait"], env={**os.environ, "LD_PRELOAD": preload, "CPUPROFILE": path},
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    p.stdout.readline()
    p.kill()
    p.wait()
    expect("samples of a killed process", 0, cpu.Profile(path).n)
    clean()

    # by signal, on and off in turns
    err = switched(preload, ["mix", "60"], "")
    expect("files without a signal", [], files())
    err = switched(preload, ["wait", "mix", "100", "wait", "lib", "50", "wait", "mix", "100", "wait", "threads", "2", "25", "wait"], "11110")
    expect("closing lines", 2, err.count("PROFILE: interrupts/evictions/bytes = "))
    expect("the line about the signal", True, "Using signal 12 as cpu profiling switch" in err)
    expect("files", ["p.prof.0", "p.prof.1"], files())
    first, second = (cpu.Profile(f"{path}.{i}").cum() for i in range(2))
    expect("functions of the first", (True, False), ("alpha" in first, "burn_lib" in first))
    expect("functions of the second", (True, False), ("alpha" in second, "worker_burn" in second))
    clean()
    # still on at the end, and a child meanwhile: its file has its id, and the number it was born under
    switched(preload, ["wait", "mix", "60", "wait", "lib", "60", "wait", "mix", "100", "fork", "100"], "111")
    expect("files with a child", ["p.prof.0", "p.prof.1", "p.prof_N.1"], [re.sub(r"_\d+", "_N", f) for f in files()])
    expect("functions of the child alone", (True, False), tuple(f in cpu.Profile(glob.glob(path + "_*")[0]).cum() for f in ("child_burn", "alpha")))
    expect("functions of what was still on", (True, False), tuple(f in cpu.Profile(path + ".1").cum() for f in ("alpha", "burn_lib")))
    clean()
    # a child that was born while it was off counts on from its parent's number, under a name of its own; from 0 if there was none
    ON_AND_OFF = ["raise", "12", "lib", "60", "raise", "12"]
    for before, numbers in ([], [".0"]), (ON_AND_OFF * 2, [".2", ".3"]):
        steps = [*before, "child", *ON_AND_OFF * len(numbers)]
        cpu.run([program, *steps], preload=preload, env={"CPUPROFILE": path, "CPUPROFILESIGNAL": "12"})
        expect(f"files after {steps}", [*(f"p.prof.{i}" for i in range(len(before) // 6)), *(f"p.prof_N{n}" for n in numbers)],
               [re.sub(r"_\d+", "_N", f) for f in files()])
        expect(f"files with samples after {steps}", len(files()), sum(cpu.Profile(os.path.join(cpu.TMP, f)).n > 0 for f in files()))
        clean()
    # a number that is none is said, and the whole run is profiled
    for number in ("many", "0", "65"):
        _, err = cpu.run([program, "mix", "60"], preload=preload, env={"CPUPROFILE": path, "CPUPROFILESIGNAL": number})
        expect("the line about a number", True, f"no signal has the number '{number}' of CPUPROFILESIGNAL" in err)
        expect("files with a number that is none", ["p.prof"], files())
        clean()

    # frequencies as gperftools reads them
    cpu.run([program, "mix", "4"], preload=preload, env={"CPUPROFILE": path})
    expect("period without CPUPROFILE_FREQUENCY", 10000, cpu.Profile(path).period_us)
    for text, period_us in (("1000", 1000), ("10000", 250), ("99999999999999999999999", 250), ("abc", 10000), ("250x", 10000), ("0", 10000)):
        cpu.run([program, "mix", "4"], preload=preload, env={"CPUPROFILE": path, "CPUPROFILE_FREQUENCY": text})
        expect(f"period with CPUPROFILE_FREQUENCY={text}", period_us, cpu.Profile(path).period_us)
    for more, number in (({}, 27), ({"CPUPROFILE_REALTIME": "1"}, 14), ({"CPUPROFILE_PER_THREAD_TIMERS": "1"}, 27),
                         ({"CPUPROFILE_TIMER_SIGNAL": "40"}, 40), ({"CPUPROFILE_TIMER_SIGNAL": "0x28"}, 40), ({"CPUPROFILE_REALTIME": "1", "CPUPROFILE_PER_THREAD_TIMERS": "1"}, 27),
                         ({"VITRINE_CPU_CLOCK": "process", "VITRINE_CPU_SIGNAL": "40"}, 27),
                         ({"VITRINE_CPU_CLOCK": "real", "VITRINE_CPU_SIGNAL": "40"}, 14)):
        expect(f"the signal with {more}", [number], caught(preload, {"CPUPROFILE": path, **more}))
        cpu.run([program, "mix", "100"], preload=preload, env={"CPUPROFILE": path, **more})
        expect(f"samples with {more}", True, cpu.Profile(path).n >= 5)
    clean()
    # perf's clock where the system refuses it: timers instead, and a line
    _, err = cpu.run([no_perf, program, "mix", "100"], preload=preload, env={"CPUPROFILE": path, "VITRINE_CPU_CLOCK": "perf"})
    expect("the line about the clock", True, "the system refuses the clock 'perf': timers of threads are used" in err)
    expect("samples all the same", True, cpu.Profile(path).n >= 8)
    clean()
    for more, name in (({"CPUPROFILE_USE_PID": "1"}, r"p\.prof_\d+"), ({"OMPI_HOME": "/x"}, r"p\.prof_\d+"),
                       ({"PMIX_RANK": "3"}, r"p\.prof\.rank-3"), ({"PMIX_RANK": "3", "CPUPROFILE_USE_PID": "1"}, r"p\.prof\.rank-3_\d+")):
        cpu.run([program, "mix", "60"], preload=preload, env={"CPUPROFILE": path, **more})
        expect(f"a name with {more}", True, len(files()) == 1 and re.fullmatch(name, files()[0]) is not None)
        clean()

    # a pipe and a descriptor have one profile, the last: by variable, and by call with a flush in between
    for begin in (lambda name: ([program, "mix", "100"], {"CPUPROFILE": name}), lambda name: ([program, "mix", "100"], {"VITRINE_CPU_PROFILE": name}),
                  lambda name: ([program, "start", name, "mix", "60", "flush", "mix", "60", "stop"], {})):
        for what, names in cpu.in_place(begin, preload):
            expect(f"{what}: alpha in {sorted(names)}", True, "alpha" in names)

    # by call; the clock's variables hold there, too; a name that cannot be written; twice
    expect("the signal by call", [40], caught(preload, {"CPUPROFILE_TIMER_SIGNAL": "40"}, ["start", path]))
    cpu.run([program, "mix", "60", "start", path, "lib", "100", "flush", "lib", "60", "stop", "mix", "60"], preload=preload)
    names = cpu.Profile(path).cum()
    expect("functions between start and stop", (True, False), ("burn_lib" in names, "alpha" in names))
    # what was flushed is there, whatever comes after
    os.remove(path)
    cpu.run([program, "start", path, "lib", "100", "flush", "_exit"], preload=preload)
    expect("samples that were flushed", True, cpu.Profile(path).cum().get("burn_lib", 0) >= 5)
    cpu.run([program, "start", "/nowhere/p"], preload=preload, status=8)
    cpu.run([program, "start", path, "start", path], preload=preload, status=8)
    _, err = cpu.run([program, "mix", "4"], preload=preload, env={"CPUPROFILE": "/nowhere/p"})
    expect("the line about a name", True, "no CPU profile '/nowhere/p': no such file or directory" in err)
    for more in ({"CPUPROFILE_USE_PID": "1"}, {"OMPI_HOME": "/x"}):
        _, err = cpu.run([program, "mix", "0"], preload=preload, env={"CPUPROFILE": "/nowhere/p", **more})
        expect(f"the line about a name with {more}", "vitrine: warning: no CPU profile '/nowhere/p': no such file or directory\n", err)
    for number in ("9", "32"):  # the kernel's, and libc's
        _, err = cpu.run([program, "mix", "4"], preload=preload, env={"VITRINE_CPU_PROFILE": path, "VITRINE_CPU_SIGNAL": number})
        expect("the line about a signal", f"vitrine: warning: no CPU profile '{path}': no program can handle signal {number} of option cpu_signal\n", err)
    _, err = cpu.run([program, "mix", "4"], preload=preload, env={"VITRINE": "cpu_profile=,contention_profile="})
    expect("an empty name is none", "", err)
    clean()
print("by variable, signal and call: as expected")
shutil.rmtree(cpu.TMP)
