#!/usr/bin/env python3
"""errors.py - every estimate says how good it is: the standard error in every form and view, held against the formula and against
samples that are drawn here; what is noise is marked, what is exact has no error, and the old names print what they always did."""
import csv
import io
import math
import random

import proto
from tool import *

folder = scratch()
PERIOD = 65536
SIZES = {"small": 64, "middle": 4096, "large": 262144}
PLACES = {name: 0x401000 + 0x1000 * i for i, name in enumerate(SIZES)}
MAIN = 0x40f000


def heap(name, lines, head=f"heap_v2/{PERIOD}"):
    """lines: (place, blocks seen, bytes seen). A symbolized file, so that there are names without a program."""
    n, total = sum(l[1] for l in lines), sum(l[2] for l in lines)
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write("--- symbol\nbinary=/nowhere/app\n" + "".join(f"0x{a:016x} {n}\n" for n, a in [*PLACES.items(), ("main", MAIN)]) + "---\n--- heap\n")
        f.write(f"heap profile: {n}: {total} [{n}: {total}] @ {head}\n")
        for place, n_seen, n_bytes in lines:
            f.write(f"{n_seen}: {n_bytes} [{n_seen}: {n_bytes}] @ 0x{PLACES[place]:x} 0x{MAIN:x}\n")
    return path


def truth(n_seen, size, period=PERIOD):
    """(bytes, their error, blocks, their error) that so many samples stand for"""
    q = -math.expm1(-size / period)
    return n_seen * size / q, math.sqrt(n_seen * (1 - q)) * size / q, n_seen / q, math.sqrt(n_seen * (1 - q)) / q


def close(what, seen, expected):
    check_near(what, seen, expected, max(abs(expected) * 1e-9, 1e-6))


SEEN = {"small": 100, "middle": 25, "large": 40}
path = heap("app.heap", [(p, n, n * SIZES[p]) for p, n in SEEN.items()])
data = json.loads(out(VITRINE, "top", "--json", path))
by_name = {r["name"]: r for r in data["rows"]}
for place, n in SEEN.items():
    n_bytes, error, blocks, block_error = truth(n, SIZES[place])
    close(f"json: {place}", by_name[place]["flat"], n_bytes)
    close(f"json: {place}'s error", by_name[place]["flat_error"], error)
    rows = {r["name"]: r for r in json.loads(out(VITRINE, "top", "--json", "--type=inuse_objects", path))["rows"]}
    close(f"json: {place}'s blocks' error", rows[place]["flat_error"], block_error)
whole = math.sqrt(sum(truth(n, SIZES[p])[1] ** 2 for p, n in SEEN.items()))
close("json: errors add as squares", by_name["main"]["cum_error"], whole)
close("json: of the total", data["total_error"], whole)
check("json: none is noise", {r["noise"] for r in data["rows"]}, {False})

# ---- text: the number, then its error
text = out(VITRINE, "top", path)
percent = {p: f"{100 * truth(n, SIZES[p])[1] / truth(n, SIZES[p])[0]:.0f}" for p, n in SEEN.items()}
for place in SEEN:
    m = re.search(rf"^ *\S+[kMG]?B ±(\S+)% +\S+% +\S+% +\S+B ±(\S+)% +\S+% {place}$", text, re.M)
    check(f"text: {place}", m and m.groups(), (percent[place], percent[place]) if percent[place] != "0" else m and m.groups())
check_has("text: the first line has it", text.splitlines()[0], f" ±{100 * whole / data['total']:.0f}% of ")
columns = [l.index(w) for l, w in ((text.splitlines()[1], "name"), *((l, l.split()[-1]) for l in text.splitlines()[2:]))]
check("text: columns stay under each other", set(columns), {columns[0]})
for view in ("tree", "traces", "tags", "collapsed"):
    close_rows = json.loads(out(VITRINE, view, "--json", path))
    check(f"{view}: the total's error", round(close_rows["total_error"]), round(whole))
check_has("tree", out(VITRINE, "tree", path), f"±{percent['small']}%")
check_has("traces", out(VITRINE, "traces", path), f"±{percent['small']}%")
table = list(csv.reader(io.StringIO(out(VITRINE, "top", "--csv", path))))
check("csv: the columns that were there come first", table[0], ["flat", "flat%", "sum%", "cum", "cum%", "name", "flat_error", "cum_error", "noise"])
close("csv: the error", float(next(r for r in table if r[5] == "middle")[6]), truth(SEEN["middle"], SIZES["middle"])[1])
for kind in ("svg", "html"):
    picture = os.path.join(folder, "x." + kind)
    out(VITRINE, "flame", "-o", picture, path)
    check_has(f"{kind}: a frame's error", open(picture).read(), f" ±{percent['middle']}%, ")

# ---- noise: one sample, two, four; and one of a block so large that it is always one
few = heap("few.heap", [("small", 3, 3 * 64), ("middle", 25, 25 * 4096), ("large", 1, 262144 * 16)])
noise = {r["name"]: r["noise"] for r in json.loads(out(VITRINE, "top", "--json", few))["rows"]}
check("noise: three samples of small blocks, and nothing else", noise, {"small": True, "middle": False, "large": False, "main": False})
line = next(l for l in out(VITRINE, "top", few).splitlines() if l.endswith("small"))
check("noise: it is marked", line.count("±58%~"), 2)
check("noise: no mark where there is none", "~" in next(l for l in out(VITRINE, "top", few).splitlines() if l.endswith("middle")), False)
check("a block that is always sampled is exact", "±" in next(l for l in out(VITRINE, "top", few).splitlines() if l.endswith("large")), False)
out(VITRINE, "flame", "-o", picture, few)
fills = dict(re.findall(r"<title>(\w+)\n[^<]*</title><rect [^>]*fill=\"(hsl\(\d+,\d+%)", open(picture).read()))
check("noise: grey in the picture", (fills["small"], fills["middle"] != "hsl(0,0%"), ("hsl(0,0%", True))

# ---- differences: errors of both sides
before = heap("before.heap", [("small", 100, 100 * 64), ("middle", 400, 400 * 4096), ("large", 40, 40 * 262144)])
after = heap("after.heap", [("small", 110, 110 * 64), ("middle", 900, 900 * 4096), ("large", 40, 40 * 262144)])
rows = {r["name"]: r for r in json.loads(out(VITRINE, "diff", "--json", before, after))["rows"]}
close("diff: errors of both sides", rows["small"]["flat_error"], math.hypot(truth(100, 64)[1], truth(110, 64)[1]))
check("diff: smaller than its error", {n: r["noise"] for n, r in rows.items()}, {"small": True, "middle": False, "main": False})
text = out(VITRINE, "diff", before, after)
check("diff: the mark", ["~" in next(l for l in text.splitlines()[1:] if l.endswith(n)) for n in ("small", "middle")], [True, False])
# another period on the other side
other = heap("other.heap", [("small", 50, 50 * 64)], head="heap_v2/131072")
rows = {r["name"]: r for r in json.loads(out(VITRINE, "diff", "--json", other, before))["rows"]}
close("diff: each side by its own period", rows["small"]["flat_error"], math.hypot(truth(100, 64)[1], truth(50, 64, 131072)[1]))
both = json.loads(out(VITRINE, "top", "--json", before, other))
close("merged: each by its own period", both["total_error"], math.sqrt(sum(truth(n, s)[1] ** 2 for n, s in ((100, 64), (400, 4096), (40, 262144))) + truth(50, 64, 131072)[1] ** 2))

# ---- two dumps of one process: what is in both is the same samples; only what came and went between them is uncertain
TYPES = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]


def dump(name, began, seconds, sites):
    """sites: {leaf: (blocks allocated, blocks in use)}, of 1 KiB each"""
    samples = [([leaf, "main"], {"alloc_objects": a, "alloc_space": a * 1024, "inuse_objects": u, "inuse_space": u * 1024}, {}) for leaf, (a, u) in sites.items()]
    p = proto.Profile(TYPES, samples)
    word = p.string("vitrine heap profile: sampled")
    space, n_bytes = p.string("space"), p.string("bytes")
    names = b"".join(proto.field(6, t.encode()) for t in p.strings[-3:] if p.bytes.count(proto.field(6, t.encode())) == 0)
    p.bytes += names + proto.field(9, began) + proto.field(10, seconds * 10**9) + proto.field(11, proto.field(1, space) + proto.field(2, n_bytes)) + proto.field(12, PERIOD) + proto.field(13, word)
    return p.write(os.path.join(folder, name))


odds = 1 / math.expm1(1024 / PERIOD)
error = lambda n: 1024 * math.sqrt(n * odds)  # of so many blocks that came or went
sites = ({"still": (100000, 100000), "grows": (50000, 50000), "shrinks": (60000, 60000), "churns": (10**7, 20000)},
         {"still": (100000, 100000), "grows": (70000, 70000), "shrinks": (60000, 30000), "churns": (2 * 10**7, 21000)})
one = [dump(f"one{i}.pb.gz", 77, i + 1, sites[i]) for i in range(2)]
for what, files in (("later less earlier", one), ("earlier less later", one[::-1])):
    rows = {r["name"]: r for r in json.loads(out(VITRINE, "diff", "--json", *files))["rows"]}
    close(f"one process, {what}: what grew", rows["grows"]["flat_error"], error(20000))
    close(f"one process, {what}: what shrank", rows["shrinks"]["flat_error"], error(30000))
    close(f"one process, {what}: no more than both", rows["churns"]["flat_error"], error(20000 + 21000))
    close(f"one process, {what}: what stayed is certain", rows["main"]["cum_error"], error(20000 + 30000 + 20000 + 21000))
    rows = {r["name"]: r for r in json.loads(out(VITRINE, "diff", "--json", "--type=alloc_space", *files))["rows"]}
    close(f"one process, {what}: allocated", rows["main"]["cum_error"], error(20000 + 10**7))
two = dump("two.pb.gz", 78, 2, sites[1])
rows = {r["name"]: r for r in json.loads(out(VITRINE, "diff", "--json", one[0], two))["rows"]}
close("two processes: both count", rows["grows"]["flat_error"], error(50000 + 70000))

# ---- a file that says how many samples it is made of, which may be fewer than the period promises
def with_samples(name, n_samples, *more):
    values = {"alloc_objects": 6400, "alloc_space": 6400 * 1024, "inuse_objects": 6400, "inuse_space": 6400 * 1024, "alloc_samples": n_samples, "inuse_samples": n_samples}
    p = proto.Profile(TYPES + [("alloc_samples", "count"), ("inuse_samples", "count")], [(["leaf", "main"], values, {}), *more])
    words = [p.string(t) for t in ("space", "bytes", "inuse_space")]
    p.bytes += proto.field(6, b"space") + proto.field(11, proto.field(1, words[0]) + proto.field(2, words[1])) + proto.field(12, PERIOD) + proto.field(14, words[2])
    return p.write(os.path.join(folder, name))


for n in (100, 25):
    data = json.loads(out(VITRINE, "top", "--json", with_samples(f"samples{n}.pb.gz", n)))
    close(f"{n} samples: the error is theirs", data["total_error"], 6400 * 1024 * math.sqrt(1 / n - 1 / 6400))

# ---- what the program mapped by itself is exact, however small or large, beside estimates; another label makes nothing exact
def calls(place, n, size, label):
    values = {"alloc_objects": n, "alloc_space": n * size, "inuse_objects": n, "inuse_space": n * size, "alloc_samples": 0, "inuse_samples": 0}
    return [place, "main"], values, {label: "anonymous"}


beside = with_samples("mapped.pb.gz", 100, calls("map_small", 3, 4096, "mapped"), calls("map_large", 2, 10 << 20, "mapped"), calls("other", 3, 4096, "use"))
for turn in ("as written", "written again"):
    for t, of_leaf, each in (("inuse_space", 6400 * 1024, 4096), ("alloc_objects", 6400, 1)):
        rows = {r["name"]: r for r in json.loads(out(VITRINE, "top", "--json", f"--type={t}", beside))["rows"]}
        check(f"mapped, {t}, {turn}: exact", [rows[f]["flat_error"] for f in ("map_small", "map_large")], [0, 0])
        close(f"mapped, {t}, {turn}: what is beside it is not", rows["leaf"]["flat_error"], of_leaf * math.sqrt(1 / 100 - 1 / 6400))
        close(f"mapped, {t}, {turn}: nor is another label", rows["other"]["flat_error"], each * math.sqrt(3 / math.expm1(4096 / PERIOD)))
    out(VITRINE, "convert", beside, beside := os.path.join(folder, "mapped-again.pb.gz"))

# ---- a whole run: its report and its summary
program = os.path.join(folder, "program")
out(os.environ.get("CC", "cc"), "-O1", "-g", "-x", "c", "-", "-o", program,
    stdin=b"#include <stdlib.h>\nvoid *volatile kept[20000];\nint main(void) { for (int i = 0; i < 20000; i++) kept[i] = malloc(1000); return 0; }\n")
place = os.path.join(folder, "run")
_, _, errors = run(VITRINE, "run", "--json", "-o", place, program)
check("run: the report's lines", [bool(re.search(rf"^  {l} +\S+B ±\S+%  in \d+ ±\S+% blocks$", errors, re.M)) for l in ("peak", "live at exit", "allocated")], [True] * 3)
check("run: the sites", bool(re.search(r"^ +\S+MB ±\S+% +\S+% main", errors, re.M)), True)
summary = json.load(open(os.path.join(place, "program.run.json")))["probes"][0]
check("run: the summary", 0.02 < summary["total_error"]["inuse_space"] / summary["total"]["inuse_space"] < 0.12, True)

# ---- blocks of a period or so, as the library writes them: what the file rounds to one block is 1.49 of them
ONE = 72704  # libstdc++ has one such block in every program
MANY = 20
large = os.path.join(folder, "large")
out(os.environ.get("CC", "cc"), "-O1", "-g", "-x", "c", "-", "-o", large,
    stdin=b"#include <stdlib.h>\nvoid *volatile kept[64];\n" + b"".join(
        b"__attribute__((noinline)) void site%d(void) { kept[%d] = malloc(%d); __asm__ volatile(\"\"); }\n" % (i, i, ONE) for i in range(MANY)) +
    b"int main(int argc, char **argv) { (void)argv; site0(); if (argc < 2) return 0;\n" + b"".join(b"site%d();" % i for i in range(1, MANY)) + b" return 0; }\n")


def written(turn, *argv):
    """(bytes, their error, blocks, their error) of what the program wrote itself, or None where it drew no sample"""
    prefix = os.path.join(folder, f"large{turn}")
    run(large, *argv, env={"LD_PRELOAD": os.path.join(BUILD, "lib", "libvitrine.so.1"), "VITRINE": f"sample={PERIOD},heap_profile={prefix}"})
    seen = [json.loads(out(VITRINE, "top", "--json", f"--type={t}", "--focus=site", prefix + ".0001.heap")) for t in ("inuse_space", "inuse_objects")]
    return [n for d in seen for n in (d["total"], d.get("total_error", 0))] if seen[0]["total"] > 0 else None


block = 73728  # the class that the block is in; samples are drawn by it
q = -math.expm1(-block / PERIOD)
for argv in ([], ["all"]):
    figures = next(f for f in (written(t, *argv) for t in range(40)) if f)
    n_samples = round(figures[2] * q)
    expected = (n_samples * ONE / q, math.sqrt(n_samples * (1 - q)) * ONE / q, n_samples / q, math.sqrt(n_samples * (1 - q)) / q)
    for what, seen, wanted in zip(("bytes", "their error", "blocks", "their error"), figures, expected):
        check_near(f"written by the library, {' '.join(argv) or 'one'}: {what}", seen, wanted, wanted * 1e-3)
status, text, _ = run(VITRINE, "check", "--max-live=100k", next(os.path.join(folder, f"large{t}.0001.heap") for t in range(40) if written(t)))
check("one block above a budget by less than its error", (status, "above it by less than its error" in text), (0, True))

# ---- another kind of file
named = os.path.join(folder, "app.pb.gz")
out(VITRINE, "convert", path, named)
check_near("written and read again", json.loads(out(VITRINE, "top", "--json", named))["total_error"] / whole, 1, 1e-3)

# ---- exact: no errors, and the columns of old
exact = heap("exact.heap", [("small", 3, 3 * 64)], head="heapprofile")
data = json.loads(out(VITRINE, "top", "--json", exact))
check("exact: no errors", ("total_error" in data, sorted(data["rows"][0])), (False, ["cum", "cum%", "flat", "flat%", "name", "sum%"]))
check("exact: the text", "±" in out(VITRINE, "top", exact), False)
check("exact: the csv", out(VITRINE, "top", "--csv", exact).splitlines()[0], "flat,flat%,sum%,cum,cum%,name")

# ---- the old names print what the originals do
for tool in (PPROF, JEPROF):
    for options in (["--text"], ["--tree"], ["--traces"], ["--peek=small"], ["--collapsed"], ["--text", "--base=" + before]):
        check(f"{os.path.basename(tool)} {options[0]}", "±" in out(tool, *options, path), False)

# ---- samples that are drawn, 40 times: the estimates spread as far as their errors say (a fixed seed, so no chance)
draw = random.Random(7)
N = {"small": 300000, "middle": 2000, "large": 60}
spread = {p: [] for p in N}
for turn in range(40):
    lines = []
    for place, n in N.items():
        q = -math.expm1(-SIZES[place] / PERIOD)
        mean, sd = n * q, math.sqrt(n * q * (1 - q))
        seen = sum(draw.random() < q for _ in range(n)) if n <= 2000 else max(0, round(draw.gauss(mean, sd)))
        lines.append((place, seen, seen * SIZES[place]))
    spread_path = heap("drawn.heap", lines)
    for r in json.loads(out(VITRINE, "top", "--json", spread_path))["rows"]:
        if r["name"] in N and r["flat_error"] > 0:
            spread[r["name"]].append((r["flat"] - N[r["name"]] * SIZES[r["name"]]) / r["flat_error"])
for place, z in spread.items():
    check(f"drawn: {place} lies within 4 errors, and two of three within one", (max(map(abs, z)) < 4, 0.45 < sum(abs(x) < 1 for x in z) / len(z) < 0.9), (True, True))
done()
