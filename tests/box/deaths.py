#!/usr/bin/env python3
"""deaths.py - however a program ends under `vitrine run`, there is a profile, and it adds up."""
from box import *

folder = scratch()
DEATHS = build_deaths(folder)
ENDS = {"exit": 0, "_exit": 3, "int": 128 + 2, "term": 128 + 15, "abort": 128 + 6, "segv": 128 + 11, "kill": 128 + 9, "exec": 0}
WAYS = {"sampled": ("--rate=1",), "exact": ("--exact",), "cpu": ("--cpu",)}
place_of = {}
BOXES = tempfile.mkdtemp(prefix="vitrine-boxes-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)  # others run programs, too
os.chmod(BOXES, 0o755)
os.environ["XDG_RUNTIME_DIR"] = BOXES


def vrun(name, *argv, **more):
    place = os.path.join(folder, name)
    return (*run(VITRINE, "run", "-o", place, *argv, **more), place)


def last_heap(place):
    return sorted(f for f in glob.glob(place + "/*.heap") if "peak" not in f)


def check_heap(what, place, truth, part=""):
    found = [f for f in last_heap(place) if part in f]
    check(f"{what}: one heap profile", len(found), 1)
    if not found:
        return
    table = sums(found[0], "inuse_space")
    check(f"{what}: in use", ours(table), truth["keep"])
    check(f"{what}: in use, small", table.get("keep_small"), truth["keep"] * 4096000 / (4096000 + 6553600))
    check(f"{what}: allocated", ours(sums(found[0], "alloc_space")), truth["all"])


def check_peak(what, place, truth, part=""):
    found = [f for f in glob.glob(place + "/*.peak.heap") if part in f]
    check(f"{what}: one peak profile", len(found), 1)
    if found:
        check_near(f"{what}: peak", ours(sums(found[0], "inuse_space")), truth["keep"], 2 * 65536)


for end, status in ENDS.items():
    for way, options in WAYS.items():
        what = f"{end}, {way}"
        burn = ["burn=300"] if way == "cpu" else []
        seen, text, errors, place = vrun(f"{end}-{way}", *options, DEATHS, *burn, end, env={"VITRINE": "cpu_frequency=1000"})
        check(f"{what}: status", seen, status)
        check(f"{what}: nothing is missed", "no heap profile" in errors or "no CPU profile" in errors, False)
        truth = truth_of(text)
        if way == "cpu":
            found = [f for f in glob.glob(place + "/*.cpu*") if not f.endswith(".svg")]
            names = [os.path.basename(f) for f in found]
            want = [f"deaths.{int(truth['pid'])}.exec1.cpu", "deaths.cpu"] if end == "exec" else ["deaths.cpu"]
            check(f"{what}: files", sorted(names), sorted(want))
            path = os.path.join(place, want[0])
            if want[0] in names:
                table = sums(path, "cpu")
                check_near(f"{what}: time", sum(v for k, v in table.items() if k == "") / 1e9, truth["cpu"], 0.08)
                check_near(f"{what}: time in burn", table.get("burn", 0) / 1e9, 0.3, 0.04)
        else:
            part = ".exec1." if end == "exec" else ""
            check_heap(what, place, truth, part)
            check_peak(what, place, truth, part)
            check(f"{what}: the program behind exec has its own", len(last_heap(place)), 2 if part else 1)
        if end not in ("exit", "exec", "_exit"):
            check_has(f"{what}: how it ended", errors, f"was ended by signal {status - 128} ")

# nothing is left behind
check("no folder is left", os.listdir(BOXES), [])

# 64 threads
seen, text, errors, place = vrun("threads", "--rate=1", DEATHS, "threads=60", "kill")
check_heap("60 threads", place, truth_of(text))

# a child that is killed, and its parent, each have their own
seen, text, errors, place = vrun("fork", "--rate=1", DEATHS, "fork", "kill")
truth = truth_of(text)
both = {int(re.search(r"deaths\.(\d+)\.\d+\.heap", f).group(1)): f for f in last_heap(place)}
check("fork: two processes", sorted(both), sorted([int(truth["pid"]), int(truth["child"])]))
if len(both) == 2:
    parent, child = (sums(both[int(truth[k])], "inuse_space") for k in ("pid", "child"))
    check("fork: the parent's", ours(parent), truth["keep"])
    check("fork: the child's has what it had, and its own", ours(child), truth["keep"] + 6553600)

# a child of a parent that recorded nothing has all of its own
for end in ("_exit", "kill"):
    for way, options in WAYS.items():
        what = f"child, {end}, {way}"
        burn = ["burn=300"] if way == "cpu" else []
        seen, text, errors, place = vrun(f"child-{end}-{way}", *options, DEATHS, "child", *burn, end, env={"VITRINE": "cpu_frequency=1000"})
        truth = truth_of(text)
        if way != "cpu":
            check_heap(what, place, truth, f".{int(truth['pid'])}.")
            continue
        found = [f for f in glob.glob(place + f"/*.cpu_{int(truth['pid'])}")]
        check(f"{what}: its file", len(found), 1)
        if found:
            check_near(f"{what}: time in burn", sums(found[0], "cpu").get("burn", 0) / 1e9, 0.3, 0.04)

# a worker that gives up root before it records anything
if os.geteuid() == 0:
    for end in ("exit", "_exit", "kill"):
        seen, text, errors, place = vrun(f"drop-{end}", "--rate=1", DEATHS, "child", "drop", end)
        check_heap(f"a worker that gave up root, {end}", place, truth_of(text), f".{int(truth_of(text)['pid'])}.")
else:
    print("skipped: only root can give it up")

# the user's own box
own = os.path.join(folder, "own.%p.box")
for env in ({"VITRINE": f"cpu_frequency=99,black_box={own},sample=1"}, {"VITRINE_BLACK_BOX": own}):
    seen, text, errors, place = vrun("own", "--rate=1", DEATHS, "kill", env=env)
    check_has("own box: what to do", errors, f"no heap profile: 'vitrine read' makes one of the black box '{own}'")
    box = own.replace("%p", str(int(truth_of(text)["pid"])))
    check("own box: status", run(VITRINE, "read", "-o", place + "/read", box)[0], 0)
    check("own box: what it held", ours(sums(place + "/read.heap", "inuse_space")), truth_of(text)["keep"])

# a bare clone() leaves the parent's alone
seen, text, errors, place = vrun("clone", "--rate=1", DEATHS, "clone")
check_has("clone: it ended well", text, "cloned 0\n")
files = last_heap(place)
mine = [f for f in files if f".{int(truth_of(text)['pid'])}." in f]
check("clone: the parent has one", len(mine), 1)
if mine:
    check("clone: the parent's", ours(sums(mine[0], "inuse_space")), truth_of(text)["keep"])

check("again no folder is left", os.listdir(BOXES), [])
os.rmdir(BOXES)
done()
