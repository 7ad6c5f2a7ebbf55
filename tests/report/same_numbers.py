#!/usr/bin/env python3
"""same_numbers.py - real profiles: what the program did, by its own account; and what google-pprof, jeprof and go tool pprof say of
other headers, locks, listings, --symbols, --raw and Go's own profiles. corpus.py has the tables, and where we differ on purpose.
"""
from tool import *

folder = scratch()
program = build_work(folder)

# what work.cc allocates and keeps: function -> bytes, and bytes through it
KEPT = {"app::Box::fill": 1000 * 1000 + 50 * 40000, "app::deep": 300 * 3000, "app::inlined": 200 * 7000}
THROUGH = {"app::small": 1000 * 1000, "app::large": 50 * 40000, "app::deep": 300 * 3000, "app::host": 200 * 7000}


def check_known(what, table, factor=1):
    table = add_instances(table)
    for name, bytes_kept in KEPT.items():
        check_near(f"{what}: flat of {name}", table.get(name, (0, 0))[0], bytes_kept * factor, 0.001)
    for name, through in THROUGH.items():
        check_near(f"{what}: cum of {name}", table.get(name, (0, 0))[1], through * factor, 0.001)


# ---- gperftools heap: exact
heap = heap_of(folder, program)
if heap is None:
    skip("no libtcmalloc_and_profiler (scripts/setup test installs libgoogle-perftools-dev)")
table, total = top(heap)
check_known("HEAPPROFILE", table)
by_alloc, _ = top("--type=alloc_space", heap)
check("allocated and freed", by_alloc["app::freed"][0], 100 * 11000)
by_objects = add_instances(top("--type=inuse_objects", heap)[0])
check("objects", by_objects["app::Box::fill"][0], 1050)
lines = out(VITRINE, "top", "--by=lines", heap)
number = 1 + next(i for i, l in enumerate(open(os.path.join(HERE, "work.cc"))) if "keep(malloc(3000))" in l)
check_has("the line of the call, not the one after", lines, f"work.cc:{number}")

FUNCTIONS = ["main", "app::small", "app::large", "app::deep", "app::host"]

# the source with its costs
data = json.loads(out(VITRINE, "list", "--json", "^app::deep$", heap))
check("list: the line that allocates", [r["flat"] for r in data["rows"] if r["line"] == number], [900000])
check_has("list: its source", [r["source"] for r in data["rows"] if r["line"] == number][0], "keep(malloc(3000))")
ours = out(PPROF, "--list=app::small", "--show_bytes", program, heap)
check_has("pprof --list", ours, "ROUTINE ====================== app::small in ")
check_has("pprof --list", ours, "     0 1000000 Total B (flat / cumulative)")
if PEER_PPROF:
    theirs = out(PEER_PPROF, "--list=app::small", "--show_bytes", program, mapping_only(heap, program))
    source = lambda text: [l[-60:] for l in text.splitlines() if re.search(r"^\s*\S+\s+1000000 +\d+:", l)]
    check("pprof --list: the line, as google-pprof", source(ours), source(theirs))
    check("pprof --list: one line", len(source(ours)), 1)

# for KCachegrind: callgrind_annotate reads it, and finds the same
calls = os.path.join(folder, "heap.callgrind")
out(VITRINE, "convert", heap, calls)
check_has("pprof --callgrind", out(PPROF, "--callgrind", program, heap), "events: inuse_space")
if shutil.which("callgrind_annotate"):
    text = out("callgrind_annotate", "--inclusive=no", "--threshold=100", calls).replace(",", "")
    check("callgrind: total", int(re.search(r"^\s*(\d+) .*PROGRAM TOTALS", text, re.M).group(1)), total)
    flat = {}
    for m in re.finditer(r"^\s*(\d+) \(.*?\)\s+\S*?:(.*?)(?: \[.*\])?$", text, re.M):
        name = re.sub(r"\(.*|<.*?>", "", m.group(2)).replace("void ", "").strip()
        flat[name] = flat.get(name, 0) + int(m.group(1))
    for name, kept in KEPT.items():
        check(f"callgrind: {name}", flat.get(name), kept)
else:
    print("callgrind_annotate is not here: not compared")

# the other text formats: the same stacks under other headers, and lock waits
text = open(heap).read()
for kind in ("heap/524288", "heap_v2/524288", "heap_v2/1", "heap", "growth"):
    other = os.path.join(folder, "other.heap")
    with open(other, "w") as f:
        # google-pprof divides by zero at stacks of which nothing is left
        f.writelines(l + "\n" for l in text.replace("@ heapprofile", "@ " + kind, 1).splitlines() if not l.startswith("     0:"))
    if not PEER_PPROF:
        break
    said = lambda tool: [l for l in run(tool, "--text", program, other)[2].splitlines() if re.match("Adjusting|Heap version|Using", l)]
    check(f"{kind}: what is said", said(PPROF), said(PEER_PPROF))
    for options in (["--show_bytes"], ["--inuse_objects"]):
        theirs, their_total = rows(out(PEER_PPROF, "--text", *options, program, other))
        ours, our_total = rows(out(PPROF, "--text", *options, program, other))
        check_near(f"{kind} {options}: total", our_total, their_total, 1)
        for name in FUNCTIONS:
            check_near(f"{kind} {options}: cum of {name}", ours[name][1], theirs[name][1], 1)
if PEER_PPROF:
    stacks = [l.split("@")[1] for l in text.splitlines() if "] @" in l][1:]
    locks = os.path.join(folder, "locks")
    with open(locks, "w") as f:
        f.write("--- contention\ncycles/second=2400000000\nsampling period=100\n")
        f.writelines(f"{(i + 1) * 1000000} {i + 1} @{s}\n" for i, s in enumerate(stacks))
        f.write(text[text.index("MAPPED_LIBRARIES:") + 18:])
    for options in ([], ["--contentions"], ["--contention"], ["--total_delay"]):
        theirs, their_total = rows(out(PEER_PPROF, "--text", *options, program, locks))
        ours, our_total = rows(out(PPROF, "--text", *options, program, locks))
        check_near(f"contention {options}: total", our_total, their_total, 0.0015)
        for name in FUNCTIONS:
            check_near(f"contention {options}: cum of {name}", ours[name][1], theirs[name][1], 0.0015)

# a difference of two runs at different addresses
again = heap_of(folder, program, "again")
if PEER_PPROF:
    check("--base of an equal run: nothing is left", out(PPROF, "--text", program, "--base=" + heap, again), "")
ours, total = top("--base=" + heap, again)
check("--base of an equal run: total", total, 0)
check("--base of an equal run: rows", ours, {})
moved = os.path.join(folder, "elsewhere")
os.rename(program, moved)
table, _ = top(moved, heap)
check_known("a program that was renamed", table)
other = library("libtcmalloc_and_profiler.so.4")
status, _, errors = run(VITRINE, "top", "/bin/ls", heap)
check("another program: exit", status, 0)
check_has("another program gives no names", errors, "is not the file that ran as")
os.rename(moved, program)

# ---- separate debug file, by its build-id
if shutil.which("objcopy"):
    bare = os.path.join(folder, "bare")
    os.mkdir(bare)
    out("objcopy", "--only-keep-debug", program, os.path.join(bare, "separate.dbg"))
    out("objcopy", "--strip-all", program, os.path.join(bare, "work"))
    status, text, _ = run(VITRINE, "top", os.path.join(bare, "work"), heap)
    check_has("stripped: unknown places", text, "work+0x")
    check("stripped: no guessed names", "app::" in text, False)
    out("objcopy", "--add-gnu-debuglink=" + os.path.join(bare, "separate.dbg"), os.path.join(bare, "work"))
    table, _ = top(os.path.join(bare, "work"), heap)
    check_known("separate debug file", table)

# ---- the same through pprof files, read by Go
proto = os.path.join(folder, "heap.pb.gz")
out(VITRINE, "convert", heap, proto)
table, _ = top(proto)
check_known("converted", table)
if GO:
    text = out(GO, "tool", "pprof", "-top", "-unit=B", "-nodefraction=0", proto)
    theirs = {}
    for line in text.splitlines():
        m = re.match(r"\s*(\d+)B?\s+\S+\s+\S+\s+(\d+)B?\s+\S+\s+(.*)", line)
        if m:
            name = re.sub(r"\(.*|<.*?>| \(inline\)", "", m.group(3).replace("void ", "")).strip()
            flat, cum = theirs.get(name, (0, 0))
            theirs[name] = (flat + int(m.group(1)), cum + int(m.group(2)))
    check_known("go tool pprof of our file", theirs)
    text = out(GO, "tool", "pprof", "-raw", "-symbolize=none", heap)
    theirs = [l for l in text.splitlines() if re.match(r"\s+\d+\s+\d+.*:[ \d]+$", l)]
    ours = out(VITRINE, "raw", "--no-symbols", heap)
    sums = lambda ls: [sum(int(l.split(":")[0].split()[k]) for l in ls) for k in range(4)]
    ours = [l for l in ours.splitlines() if re.match(r"\s+\d+\s+\d+.*:[ \d]+$", l)]
    check("go tool pprof -raw: sums of the four types", sums(ours), sums(theirs))
else:
    print("go is not here: not compared")

# ---- jemalloc: every allocation, then sampled
je = jemalloc_of(folder, program)
if je:
    table, _ = top(je)
    check_known("jemalloc", table, 1.024)  # it counts whole size classes; all of ours are 2.4 % larger
    again = jemalloc_of(folder, program, "again", 0)
    check_near("jemalloc: difference of equal runs", top("--base=" + je, again)[1], 0, 4096)
else:
    print("no jemalloc profile: not compared")

# ---- CPU
cpu = cpu_of(folder, program)
if cpu:
    ours, our_total = rows(out(PPROF, "--text", program, cpu))
    check("cpu: main has all", ours["main"][1] >= 0.9 * our_total, True)
    if GO:
        text = out(GO, "tool", "pprof", "-raw", "-symbolize=none", cpu)
        theirs = sum(int(m.group(1)) for m in re.finditer(r"^\s+(\d+)\s+\d+: ", text, re.M))
        check("go tool pprof cpu: samples", our_total, float(theirs))
    # --raw goes into one file that needs no program; google-pprof reads it back
    status, _, _ = run(PPROF, "--raw", program, cpu)
    raw = os.path.join(folder, "raw.prof")
    with open(raw, "wb") as f:
        f.write(subprocess.run([PPROF, "--raw", program, cpu], capture_output=True).stdout)
    again, again_total = rows(out(PPROF, "--text", raw))
    check("cpu --raw read back by us", (again_total, again.get("app::burn_much")), (our_total, ours.get("app::burn_much")))
    if PEER_PPROF:
        again, again_total = rows(out(PEER_PPROF, "--text", raw))
        check("cpu --raw read back by google-pprof: total", again_total, our_total)
raw = os.path.join(folder, "raw.heap")
with open(raw, "wb") as f:
    f.write(subprocess.run([JEPROF, "--raw", program, heap], capture_output=True).stdout)
table, _ = top(raw)
check_known("heap --raw read back by us", table)
if PEER_JEPROF:
    theirs, their_total = rows(out(PEER_JEPROF, "--text", "--show_bytes", raw))
    check("heap --raw read back by jeprof: total", their_total, float(top(raw)[1]))

# ---- a heap checker asks for names: maps and addresses in, a name per address out
text = open(heap).read()
maps = text[text.index("MAPPED_LIBRARIES:"):]
pcs = []
for line in text.splitlines():
    if "] @" in line:
        pcs += ["0x%x" % (int(pc, 16) - 1) for pc in line.split("@")[1].split() if pc.startswith("0x")]
request = maps + "\n".join(pcs) + "\n0x10\n"
ours = out(PPROF, "--symbols", program, stdin=request.encode()).splitlines()
check("--symbols: a line for each address", len(ours), len(pcs) + 1)
check("--symbols: an address that is nowhere", ours[-1], "??")
check("--symbols: our functions", {"main", "app::deep", "app::host", "app::small"} <= set(ours), True)
if PEER_PPROF:  # it names the last one too, after the nearest symbol
    check("--symbols as google-pprof", ours[:-1], out(PEER_PPROF, "--symbols", program, stdin=request.encode()).splitlines()[:-1])

# ---- what a Go program writes of itself
if GO:
    env = {"GOCACHE": os.path.join(folder, "go-cache"), "GOFLAGS": "-mod=mod", "GO111MODULE": "off", "GOPATH": folder}
    gopher = os.path.join(folder, "gopher")
    out(GO, "build", "-o", gopher, os.path.join(HERE, "work.go"), env=env)
    files = [os.path.join(folder, n) for n in ("go.cpu", "go.heap")]
    out(gopher, *files)
    for path, type_name, options in [(files[0], "cpu", ["-unit=ns"]), (files[0], "samples", []),
                                     (files[1], "inuse_space", ["-unit=B"]), (files[1], "alloc_objects", [])]:
        ours, our_total = top("--type=" + type_name, "--full-names", path)
        text = out(GO, "tool", "pprof", "-top", "-nodefraction=0", "-sample_index=" + type_name, *options, path)
        theirs = {}
        for line in text.splitlines():
            m = re.match(r"\s*(\d+)(?:B|ns)?\s+\S+\s+\S+\s+(\d+)(?:B|ns)?\s+\S+\s+(.*?)(?: \((?:partial-)?inline\))?$", line)
            if m:
                theirs[m.group(3)] = (int(m.group(1)), int(m.group(2)))
        check(f"Go {type_name}: functions", set(ours) , set(theirs))
        for name, seen in theirs.items():
            check(f"Go {type_name}: {name}", ours.get(name), seen)

# ---- several files add up; standard input is a file
check("two files add up", top(heap, heap)[1], 2 * top(heap)[1])
with open(heap, "rb") as f:
    status, text, _ = run(VITRINE, "top", "--json", "-", stdin=f.read())
check("standard input", json.loads(text)["total"], top(heap)[1])
done()
