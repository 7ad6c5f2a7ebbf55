#!/usr/bin/env python3
"""threads.py - heap profiles have the names of threads: sampled and exact, of `vitrine run`, by environment and by call, however it ended."""
from box import *

folder = scratch()
THREADS = os.path.join(folder, "threads")
out(CC, "-O1", "-g", "-pthread", "-I" + os.environ["VT_INCLUDE"], os.path.join(HERE, "threads.c"), "-o", THREADS)
TRUTH = {"alpha": 4000000, "beta": 4000000, "gamma": 2000000, "delta": 2000000, "threads": 1000000}


def by_thread(path):
    found = {}
    for t in json.loads(out(VITRINE, "top", "--json", "--group=thread", "-t", "inuse_space", path)):
        name = re.sub(r" \(\d+\)$", "", t["group"])
        found[name] = found.get(name, 0) + sum(r["flat"] for r in t["rows"] if r["name"] in ("keep", "long_lived"))
    return {k: v for k, v in found.items() if v > 0}


def check_names(what, path):
    seen = by_thread(path) if path else {}
    check(f"{what}: threads", sorted(seen), sorted(TRUTH))
    for name, n in TRUTH.items():
        check_near(f"{what}: {name} has", seen.get(name, 0), n, 20000)  # delta's first block had another name


def only(pattern):
    found = sorted(f for f in glob.glob(pattern) if "peak" not in f)
    check(f"{os.path.basename(pattern)}: one profile", len(found), 1)
    return found[0] if found else None


for way, option in (("sampled", "--rate=1"), ("exact", "--exact")):
    for end in ("exit", "kill"):
        place = os.path.join(folder, f"{way}-{end}")
        run(VITRINE, "run", option, "-o", place, THREADS, "-", end)
        check_names(f"run, {way}, {end}", only(place + "/*.heap"))

for way, option in (("sampled", "sample=1"), ("exact", "exact")):
    prefix = os.path.join(folder, f"env-{way}")
    run(THREADS, "-", "exit", env={"VITRINE": f"{option},heap_profile={prefix}", "LD_PRELOAD": SO})
    check_names(f"environment, {way}", only(prefix + ".0001.heap"))
    path = os.path.join(folder, f"call-{way}.heap")
    status, _, errors = run(THREADS, path, "exit", env={"VITRINE": option, "LD_PRELOAD": SO})
    check(f"by call, {way}: status", (status, errors), (0, ""))
    check_names(f"by call, {way}", path)
    box = os.path.join(folder, f"{way}.box")
    run(THREADS, "-", "kill", env={"VITRINE": f"{option},black_box={box}", "LD_PRELOAD": SO})
    run(VITRINE, "read", "-o", os.path.join(folder, f"box-{way}"), box)
    check_names(f"black box, {way}", only(os.path.join(folder, f"box-{way}*.heap")))

# nobody asked before the call: threads that live have names, and what ended ones did stands under none of them
path = os.path.join(folder, "unasked.heap")
run(THREADS, path, "exit", env={"LD_PRELOAD": SO})
seen = by_thread(path)
check("unasked: only those that live", sorted(n for n in seen if not n.isdigit() and n not in ("gamma", "delta", "threads")), [])
check("unasked: not too much", max(seen.get("gamma", 0), seen.get("delta", 0)) < 6e6 < sum(seen.values()), True)

# jemalloc's format has them behind a thread's line
run(THREADS, "-", "exit", env={"VITRINE": f"sample=1,heap_format=jemalloc,heap_profile={folder}/je", "LD_PRELOAD": SO})
with open(os.path.join(folder, "je.0001.heap")) as f:
    check("jemalloc's format", sorted(re.findall(r"^  t\d+: .* (\w+)$", f.read(), re.M)), sorted(TRUTH))
done()
