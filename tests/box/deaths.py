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
        seen, text, errors, place = vrun(f"{end}-{way}", *options, "--json", DEATHS, *burn, end, env={"VITRINE": "cpu_frequency=1000"})
        check(f"{what}: status", seen, status)
        check(f"{what}: nothing is missed", "no heap profile" in errors or "no CPU profile" in errors, False)
        truth = truth_of(text)
        place_of[f"{end}-{way}"] = place
        before = json.load(open(place + "/deaths.run.json"))["before_exec"]
        check(f"{what}: the summary has what was before exec", sorted(before), sorted(glob.glob(place + "/*.exec1.*")))
        check(f"{what}: so has the report", re.findall(r"^  before exec +(.*)$", errors, re.M), before)
        check(f"{what}: there is something", len(before) > 0, end == "exec")
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

# what is not in a box is said to be lost, where it was asked for: no zeros, no empty tables
for options, what, heading in ((("--contention",), "waits", "time waited"), (("--lifetimes",), "ages of blocks", "lived at most:\n"),
                               (("--mmap",), "the program's own mappings", "mapped by the program itself"), (("--exact", "--lifetimes"), "ages of blocks", "lived at most:\n")):
    for end, why in (("kill", "signal 9 ended 'deaths', and they are written at exit"), ("_exit", "process PID ended without its exit handlers, which write them"),
                     ("exit", None)):
        seen, text, errors, place = vrun(f"lost-{'-'.join(options)}-{end}", *options, DEATHS, end)
        line = f"lost: {what}: {why}\n".replace("PID", str(int(truth_of(text)["pid"])))
        check(f"{' '.join(options)}, {end}: lost, or there", (line in errors, heading in errors), (why is not None, why is None))
        check(f"{' '.join(options)}, {end}: no file without waits", os.path.exists(place + "/deaths.contention"), why is None and "--contention" in options)
_, _, errors, _ = vrun("lost-in-child", "--contention", "sh", "-c", f"{DEATHS} kill; :")
check("--contention, a child that is killed", ("lost: waits: process" in errors, "time waited" in errors), (True, False))

# the state at death comes last in the heap over time
for way, options in WAYS.items():
    _, _, _, place = vrun(f"over-time-{way}", *options, "--heap", "--every=1M", "--json", DEATHS, "grow=8", "burn=50", "kill", env={"VITRINE": "cpu_frequency=1000"})
    over_time = json.load(open(place + "/deaths.run.json"))["probes"][0]["over_time"]
    last = json.loads(out(VITRINE, "raw", "--json", last_heap(place)[-1]))["duration_ns"] / 1e9
    check(f"over time, {way}: no two at the start", sum(p["seconds"] == 0 for p in over_time), 0)
    check(f"over time, {way}: the last is of the end", abs(over_time[-1]["seconds"] - last) < 1e-6 and last > over_time[-2]["seconds"], True)
    check(f"over time, {way}: and has what was in use then", over_time[-1]["inuse_space"] < 2 * 10649600, True)
    for path in glob.glob(place + "/deaths.cpu"):
        check_near("duration of CPU time", json.loads(out(VITRINE, "raw", "--json", path))["duration_ns"] / 1e9, last, 0.01)

# a box without room is said to lack something
tiny, deep = os.path.join(folder, "tiny"), os.path.join(folder, "deep")
os.mkdir(tiny)
out(CC, "-O1", "-g", "-x", "c", "-", "-o", deep, stdin=b"""#include <signal.h>
#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) void go_down(int n) { if (n > 0) go_down(n - 1); else kept = malloc(16000); __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 200; i++) go_down(i); return raise(SIGKILL); }
""")
mounts = f"mount -t tmpfs -o size=1m tmpfs /dev/shm && mount -t tmpfs -o size=200k tmpfs {tiny}"
if run("unshare", "-m", "sh", "-c", mounts)[0] == 0:
    _, _, errors = run("unshare", "-m", "sh", "-c", f"{mounts}; TMPDIR={tiny} XDG_RUNTIME_DIR= {VITRINE} run --rate=1 --json -o {folder}/no-room {deep}")
    check("no room: said once", len(re.findall(r"^vitrine: warning: 'deep\.\d+': there was no room for all: \S+ MB of tables and \d+ rows or stacks are missing", errors, re.M)), 1)
    check("no room: but once", errors.count("there was no room for all"), 1)
    check("no room: the summary has it", [p["sites"].get("incomplete") for p in json.load(open(f"{folder}/no-room/deep.run.json"))["probes"]], [True])
    heap = last_heap(folder + "/no-room")[0]
    told = re.compile(rf"^\w+: warning: '{heap}' is incomplete: there was no room for all: \S+ MB of tables and \d+ rows or stacks are missing", re.M)
    for argv in (["top"], ["tree"], ["peek", "."], ["symbolize"], ["top", "--json"], ["check", "--max-live=1G"], ["check", "--json", "--max-live=1K"], ["check", f"--max-growth={heap}:0"], ["diff", heap]):
        times = {"symbolize": 0, "diff": 2}.get(argv[0], 2 if "growth" in argv[-1] else 1)
        _, text, errors = run(VITRINE, *argv, heap)
        check(f"no room: {' '.join(argv)} says it", len(told.findall(errors)), times)
        check(f"no room: {' '.join(argv)} has it", "\"incomplete\":true" in text or ", of an incomplete profile" in text, "check" in argv or "--json" in argv)
    both = os.path.join(folder, "both.pb.gz")
    out(VITRINE, "convert", heap, last_heap(place_of["exit-sampled"])[0], both)
    check_has("no room: what is made of it", run(VITRINE, "top", both)[2], "is incomplete: there was no room for all")
else:
    print("no mounts here: a box without room is not looked at")

# a report that nobody reads: the profiles are whole, and the status is the program's
read_end, write_end = os.pipe()
os.close(read_end)
place = os.path.join(folder, "unread")
seen = subprocess.run([VITRINE, "run", "--rate=1", "-o", place, DEATHS, "kill"], stdout=subprocess.PIPE, stderr=write_end, timeout=300)
os.close(write_end)
check("nobody reads: the status", seen.returncode, 128 + 9)
check_heap("nobody reads", place, truth_of(seen.stdout.decode()))
check("nobody reads: the picture", len(glob.glob(place + "/*.svg")), 1)
check("nobody reads: nothing is left", os.listdir(BOXES), [])

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
