#!/usr/bin/env python3
"""oom.py - before the kill: heap_oom writes a profile when memory becomes short. After it: the black box has one all the same."""
from box import *

folder = scratch()
DEATHS = build_deaths(folder)


def files(place, pattern):
    return sorted(os.path.basename(f) for f in glob.glob(os.path.join(place, pattern)))


def go(name, options, *argv, wrap=()):
    place = os.path.join(folder, name)
    os.mkdir(place)
    r = subprocess.run([*wrap, DEATHS, *argv], cwd=place, capture_output=True, text=True, timeout=200,
                       env=dict(os.environ, VITRINE=options, **({} if wrap else {"LD_PRELOAD": SO})))
    return r.returncode, r.stdout, r.stderr, place


# ---- the machine: more than 1 % of it is used, always
status, text, errors, place = go("machine", "heap_oom=1,sample=64K,heap_profile=p", "exit")
check("machine: status", status, 0)
check("machine: once for a rise", len(files(place, "p.*.oom*.heap")), 1)
check_has("machine: says so", errors, "% of the memory is used: wrote 'p.")
status, text, errors, place = go("none", "heap_oom=100,sample=64K", "exit")
check("below it there is none", (files(place, "*"), errors), ([], ""))
status, text, errors, place = go("prefix", "heap_oom=1,sample=64K", "exit")
check("without a prefix", len(files(place, "vitrine.*.oom1.heap")), 1)
status, text, errors, place = go("started", "heap_oom=1,sample=64K,heap_profile=p", wrap=("env", f"LD_PRELOAD={SO}", "sh", "-c", '"$0" exit; true'))
names = files(place, "*.oom*")
check("started by a profiled program: its name and number", (len(names) > 0, [n for n in names if not re.fullmatch(r"p\.\d+\.oom1\.heap", n)]), (True, []))
place = os.path.join(folder, "started_by_run")
run(VITRINE, "run", "-o", place, "--rate=64K", "env", "VITRINE_HEAP_OOM=1", "sh", "-c", f"{DEATHS} exit; true")
names = files(place, "*.oom*")
check("under run: no mark", (len(names) > 0, [n for n in names if not re.fullmatch(r"[\w.]+\.oom1\.heap", n)]), (True, []))
status, text, errors, place = go("exact", "heap_oom=1,exact", "exit")
check("exact: once", len(files(place, "vitrine.*.oom1.heap")), 1)
# who allocates nothing is looked at as well, by a thread
place = os.path.join(folder, "idle")
os.mkdir(place)
r = subprocess.run(["sleep", "1"], cwd=place, capture_output=True, text=True, env=dict(os.environ, VITRINE="heap_oom=1,heap_profile=p", LD_PRELOAD=SO))
check("idle: one profile", (r.returncode, len(files(place, "p.*.oom1.heap"))), (0, 1))

# ---- a group with 64 MiB
LIMIT = 64 << 20


def make_group():
    """(file of processes, what to do in the end), or None."""
    for root, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = os.path.join(root, f"vitrine-test-{os.getpid()}")
        try:
            os.mkdir(group)
            with open(os.path.join(group, limit), "w") as f:
                f.write(str(LIMIT))
            return group
        except OSError:
            if os.path.isdir(group):
                os.rmdir(group)
    return None


group = make_group()
if group is None:
    print("skipped: no cgroup can be made here; the kernel's kill and the ring are not tested")
    done()
try:
    wrap = ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec env LD_PRELOAD={SO} "$@"', "sh")
    status, text, errors, place = go("group", "heap_oom=80,sample=64K,heap_profile=p", "grow=200", "exit", wrap=wrap)
    check("group: killed", status, -9)
    found = files(place, "p.*.oom*.heap")
    check("group: one before the kill", len(found), 1)
    if found:
        held = sums(os.path.join(place, found[0]), "inuse_space").get("grow", 0)
        check("group: what held the memory", 0.5 * LIMIT < held < 1.1 * LIMIT, True)
    # a block that is filled long after its malloc
    for way in ("sample=64K", "exact"):
        status, text, errors, place = go(f"filled-{way}", f"heap_oom=80,{way},heap_profile=p", "fill=200", "exit", wrap=wrap)
        check(f"filled, {way}: killed", status, -9)
        found = files(place, "p.*.oom*.heap")
        check(f"filled, {way}: one before the kill", len(found), 1)
        if found:
            check_near(f"filled, {way}: what held the memory", sums(os.path.join(place, found[0]), "inuse_space").get("fill", 0) / (200 << 20), 1, 0.1)
    # the OOM killer under `vitrine run`
    for way in ("--rate=64K", "--exact", "--cpu"):
        what, place = f"OOM killer, {way}", os.path.join(folder, "run" + way)
        status, text, errors = run(VITRINE, "run", "-o", place, way, "sh", "-c", f'echo $$ > {group}/cgroup.procs && exec {DEATHS} burn=200 grow=200',
                                   env={"VITRINE": "cpu_frequency=1000"})
        check(f"{what}: status", status, 137)
        check_has(f"{what}: how it ended", errors, "was ended by signal 9 (Killed)")
        ending = "cpu" if way == "--cpu" else "heap"
        found = [f for f in glob.glob(place + "/*." + ending) if "peak" not in f and "exec" not in f]
        check(f"{what}: one profile", len(found), 1)
        if found and way == "--cpu":
            check_near(f"{what}: time in burn", sums(found[0], "cpu").get("burn", 0) / 1e9, 0.2, 0.04)
        elif found:
            held = sums(found[0], "inuse_space").get("grow", 0)
            check(f"{what}: what held the memory", 0.5 * LIMIT < held < 1.2 * LIMIT, True)
    # rises that come again: the last four stay
    status, text, errors, place = go("ring", "heap_oom=60,sample=64K,heap_profile=p,retain=0", "grow=40", "times=6", "exit", wrap=wrap)
    check("ring: it ended", status, 0)
    check("ring: six were written", errors.count("wrote 'p."), 6)
    check("ring: four stay", [re.sub(r"\d+", "N", f, count=1) for f in files(place, "p.*.oom*.heap")], [f"p.N.oom{n}.heap" for n in (1, 2, 3, 4)])
finally:
    time_left = 50
    while os.path.isdir(group) and time_left:
        try:
            os.rmdir(group)
        except OSError:
            time_left -= 1
            subprocess.run(["sleep", "0.1"])
done()
