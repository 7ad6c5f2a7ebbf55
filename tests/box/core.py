#!/usr/bin/env python3
"""core.py - what a core file tells: the kernel's, gcore's, damaged ones; with and without a black box."""
import random
import resource
import time

from box import *

folder = scratch()
DEATHS = build_deaths(folder)


def check_profile(what, core, cpu=False, status=0):
    prefix = os.path.join(folder, what.replace(" ", "-").replace(",", ""))
    seen, _, errors = run(VITRINE, "core", "-o", prefix, core, DEATHS)
    check(f"{what}: status", seen, status)
    if seen != 0:
        print(errors)
        return errors
    check(f"{what}: in use", ours(sums(prefix + ".heap", "inuse_space")), 10649600)
    if not cpu:
        return errors
    check(f"{what}: time", sums(prefix + ".cpu", "cpu").get("burn", 0) > 0.15e9, True)
    return errors


# a core file that has what it need not have ends at 1 GiB, and not when the disk is full
SMALL_FILES = ("sh", "-c", 'ulimit -f 2097152; exec "$@"', "sh")

# ---- the kernel's
pattern = open("/proc/sys/kernel/core_pattern").read().strip()
if pattern.startswith("|"):
    print(f"skipped: core files of the kernel go to '{pattern}'")
for way in ("sample=1", "exact"):
    if pattern.startswith("|"):
        continue
    place = os.path.join(folder, way)
    os.mkdir(place)
    subprocess.run([DEATHS, "segv"], cwd=place, env=dict(os.environ, VITRINE=way, LD_PRELOAD=SO), capture_output=True,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2))
    found = [f for f in glob.glob(place + "/*") + glob.glob(pattern.split("%")[0] + "*" if pattern.startswith("/") else "/none")]
    check(f"kernel, {way}: there is a core file", len(found), 1)
    if not found:
        continue
    errors = check_profile(f"kernel, {way}", found[0])
    check_has(f"kernel, {way}: how it ended", errors, "signal 11 (Segmentation fault)")
    if way != "sample=1":
        continue
    check("kernel: the program has its build id", "deaths" in out(VITRINE, "raw", os.path.join(folder, "kernel-sample=1.heap")), True)
    # damaged: a byte here, an end there; never a crash, never a page of errors
    data = bytearray(open(found[0], "rb").read())
    chance = random.Random(17)
    for n in range(60):
        bad = bytearray(data)
        if n % 3 == 0:
            bad = bad[:chance.randrange(len(bad))]
        for _ in range(chance.choice((1, 20, 2000))):
            if bad:
                bad[chance.randrange(min(len(bad), chance.choice((64, 4096, len(bad)))))] = chance.randrange(256)
        path = os.path.join(folder, "bad")
        with open(path, "wb") as f:
            f.write(bad)
        seen, _, errors = run(VITRINE, "core", "--no-symbols", "-o", path, path)
        check(f"damaged {n}: status", seen in (0, 3), True)
        check(f"damaged {n}: few words", len(errors.splitlines()) < 12, True)

# ---- the kernel's, of a process with a black box: what was recorded is there
for way in ("sample=1", "exact"):
    if pattern.startswith("|"):
        continue
    place = os.path.join(folder, "box-" + way)
    os.mkdir(place)
    box, cpu, what = os.path.join(place, "b.box"), os.path.join(place, "c.cpu"), f"kernel, {way}, black box"
    before = glob.glob(pattern.split("%")[0] + "*") if pattern.startswith("/") else []
    subprocess.run([DEATHS, "burn=200", "segv"], cwd=place, capture_output=True,
                   env=dict(os.environ, VITRINE=f"{way},black_box={box},cpu_profile={cpu},cpu_frequency=1000", LD_PRELOAD=SO),
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2))
    found = glob.glob(place + "/core*") + [f for f in (glob.glob(pattern.split("%")[0] + "*") if pattern.startswith("/") else []) if f not in before]
    check(f"{what}: there is a core file", len(found), 1)
    if not found:
        continue
    errors = check_profile(what, found[0], cpu=True)
    check_has(f"{what}: how it ended", errors, "signal 11 (Segmentation fault)")
    os.unlink(box)
    status, _, errors = run(VITRINE, "core", found[0], DEATHS)
    check(f"{what}: gone", status, 3)
    check_has(f"{what}: says so", errors, f"was in the black box '{box}', which is gone")
    subprocess.run([DEATHS, "kill"], capture_output=True, env=dict(os.environ, VITRINE=f"{way},black_box={box}", LD_PRELOAD=SO))
    status, _, errors = run(VITRINE, "core", found[0], DEATHS)
    check(f"{what}: another's", status, 3)
    check_has(f"{what}: says whose", errors, f"was in the black box '{box}', which is another process's now")
    with open(box, "wb") as f:
        f.write(b"hello")
    check_has(f"{what}: no box", run(VITRINE, "core", found[0], DEATHS)[2], f"is in a black box: '{box}' is neither")

# ---- gcore's
if shutil.which("gcore") is None:
    print("skipped: no gcore (Debian: gdb)")
else:
    cpu, box = os.path.join(folder, "c.cpu"), os.path.join(folder, "g.box")
    for way in ("sample=1", "exact", f"sample=1,black_box={box}", f"exact,black_box={box}"):
        p = subprocess.Popen([DEATHS, "burn=200", "wait"], stdout=subprocess.PIPE, text=True,
                             env=dict(os.environ, VITRINE=f"{way},cpu_profile={cpu},cpu_frequency=1000", LD_PRELOAD=SO))
        while not p.stdout.readline().startswith("cpu"):
            pass
        status, _, errors = run(*SMALL_FILES, "gcore", "-o", os.path.join(folder, "g"), str(p.pid), env={"DEBUGINFOD_URLS": ""})
        p.kill()
        p.wait()
        for left in glob.glob(box + "*"):  # a core file of gcore has the box
            os.unlink(left)
        core, what = os.path.join(folder, f"g.{p.pid}"), "gcore, " + way.replace(folder + "/", "").replace("=", " ")
        if not os.path.exists(core):
            print(f"skipped: {what}: gcore may not: {errors.strip()[-200:]}")
            continue
        check(f"{what}: it is no larger than it need be", os.path.getsize(core) < 100 << 20, True)
        check_profile(what, core, cpu=True)
        os.unlink(core)

# ---- what is no core file, or has nothing
for name, data, words in (("empty", b"", "neither"), ("text", b"hello\n" * 100, "neither a black box nor a core file"),
                          ("elf", b"\x7fELF" + bytes(200), "no core file of a 64-bit program")):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(data)
    status, _, errors = run(VITRINE, "core", path)
    check(f"{name}: status", status, 3)
    check_has(f"{name}: says so", errors, words)
check_has("no such file", run(VITRINE, "core", os.path.join(folder, "none"))[2], "No such file")
check_has("a program", run(VITRINE, "core", DEATHS)[2], "no core file")

done()
