#!/usr/bin/env python3
"""views.py - each view as text, JSON and CSV has the same numbers; filters by frames and by labels as Go's pprof does."""
import csv
import io

from proto import Profile
from tool import *

folder = scratch()
program = build_work(folder)
UNITS = {"B": 1, "kB": 1024, "MB": 1 << 20, "GB": 1 << 30, "ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def number(text):
    """A cell of a text table in the profile's unit, and how much its rounding may be off."""
    m = re.fullmatch(r"(-?[\d.]+)([a-zA-Z]*)", text)
    unit = UNITS.get(m.group(2), 1)
    decimals = len(m.group(1).partition(".")[2])
    return float(m.group(1)) * unit, 0.51 * unit * 10 ** -decimals


def forms(*argv):
    """(text, rows of JSON, rows of CSV)"""
    text = out(VITRINE, *argv)
    data = json.loads(out(VITRINE, argv[0], "--json", *argv[1:]))
    table = list(csv.DictReader(io.StringIO(out(VITRINE, argv[0], "--csv", *argv[1:]))))
    return text, data, table


def check_same(name, data, table):
    """JSON and CSV: the same rows, to the last digit."""
    check(f"{name}: as many rows in JSON and CSV", len(data["rows"]), len(table))
    for a, b in zip(data["rows"], table):
        for key, value in a.items():
            seen = b[key]
            check(f"{name}: {key} in CSV", float(seen) if isinstance(value, (int, float)) else seen,
                  ";".join(value) if isinstance(value, list) else value)


def check_cells(name, cells, expected):
    """Rounded cells of the text beside exact numbers."""
    for cell, value in zip(cells, expected):
        seen, off = number(cell)
        check_near(f"{name}: {cell}", seen, value, off)


heap = heap_of(folder, program)
if heap is None:
    skip("no libtcmalloc_and_profiler (scripts/setup test installs libgoogle-perftools-dev)")

# ---- top, by each granularity; the sum of flat is the total
for by in ("functions", "lines", "files", "addresses"):
    text, data, table = forms("top", "--by=" + by, heap)
    check_same(f"top {by}", data, table)
    lines = [l.split(None, 5) for l in text.splitlines()[2:]]
    check(f"top {by}: rows of the text", len(lines), len(data["rows"]))
    for line, row in zip(lines, data["rows"]):
        check(f"top {by}: name", line[5], row["name"])
        check_cells(f"top {by}: {row['name']}", [line[0], line[3]], [row["flat"], row["cum"]])
        check_near(f"top {by}: share", float(line[1][:-1]), row["flat%"], 0.006)
    check(f"top {by}: sum", sum(r["flat"] for r in data["rows"]), data["total"])
names = {by: {r["name"] for r in json.loads(out(VITRINE, "top", "--json", "--by=" + by, heap))["rows"]}
         for by in ("functions", "files", "addresses")}
check("by files: a path", any(n.endswith("/work.cc") for n in names["files"]), True)
check("by addresses: address, function and line", any(re.match(r"[0-9a-f]{16} app::deep /.*work.cc:\d+", n)
                                                     for n in names["addresses"]), True)
check("by addresses: more than functions", len(names["addresses"]) > len(names["functions"]), True)

# ---- tree: indented, a caller above what it calls
text, data, table = forms("tree", heap)
check_same("tree", data, table)
lines = [l for l in text.splitlines() if re.match(r"\s+-?\d\S*\s.*%", l)]
check("tree: rows of the text", len(lines), len(data["rows"]))
path = []
for line, row in zip(lines, data["rows"]):
    words = line.split()
    check_cells("tree", [words[0], words[2]], [row["cum"], row["flat"]])
    check("tree: name", line.endswith("  " * row["depth"] + row["name"] + (f" x{row['times']}" if row["times"] > 1 else "")), True)
    path = path[:row["depth"] - 1] + [row]
    check("tree: one step at a time", len(path), row["depth"])
    check("tree: a caller has all that it calls", row["depth"] == 1 or path[-2]["cum"] >= row["cum"], True)
check("tree: all of it at the roots", sum(r["cum"] for r in data["rows"] if r["depth"] == 1), data["total"])
check("tree: begins with main", (data["rows"][0]["depth"], data["rows"][0]["name"]), (1, "main"))
check_has("tree: all frames", out(VITRINE, "tree", "--all-frames", heap), "__libc_start_call_main")

# ---- peek
for argv in (["peek", ".", heap], ["peek", "app::deep", heap]):
    text, data, table = forms(*argv)
    check_same(argv[0], data, table)
    lines = [l for l in text.splitlines() if re.match(r"\s+-?\d\S*\s.*%", l)]
    check(f"{argv[0]}: rows of the text", len(lines), len(data["rows"]))
    for line, row in zip(lines, data["rows"]):
        words = line.split()
        if row["relation"] == "self":
            check_cells(argv[0], words[:2], [row["flat"], row["cum"]])
        else:
            check_cells(argv[0], words[:1], [row["cum"]])
        check(f"{argv[0]}: name", line.endswith(row["name"]), True)

# ---- list, disasm
for view in ("list", "disasm"):
    text, data, table = forms(view, "^app::deep$", heap)
    check_same(view, data, table)
    check(f"{view}: what the function allocates itself", sum(r["flat"] for r in data["rows"]), 900000)
    check(f"{view}: the text says so too, and counts each stack once", text.splitlines()[1].split()[:2], ["879kB", "879kB"])
deep = [r for r in data["rows"] if r["flat"]]
check("disasm: one instruction allocates", len(deep), 1)
check("disasm: it is a call", deep[0]["code"].split()[0] in ("call", "callq", "bl"), True)
source = 1 + next(i for i, l in enumerate(open(os.path.join(HERE, "work.cc"))) if "keep(malloc(3000))" in l)
check("disasm: its line", deep[0]["line"], source)
check_has("disasm: the source between", text, "%5d:         keep(malloc(3000));\n" % source)
check("disasm: calls have names", any("<app::deep>" in r["code"] for r in data["rows"]), True)
if shutil.which("objdump"):
    theirs = out("objdump", "-d", "--no-show-raw-insn", program)
    theirs = theirs[theirs.index("deepEi>:"):].split("\n\n")[0].splitlines()[1:]
    check("disasm: addresses as objdump", [int(r["address"], 16) for r in data["rows"]],
          [int(l.split(":")[0], 16) for l in theirs])
status, _, errors = run(VITRINE, "disasm", "nothing", heap)
check("disasm: no match", (status, "no function whose code is here matches 'nothing'" in errors), (3, True))

# ---- traces, collapsed
text, data, table = forms("traces", heap)
check_same("traces", data, table)
values = [l.split()[0] for l in text.splitlines()[2:] if re.match(r"\s{1,11}-?\d", l)]
check("traces: stacks of the text", len(values), len(data["rows"]))
check_cells("traces", values, [r["value"] for r in data["rows"]])
text, data, table = forms("collapsed", heap)
check_same("collapsed", data, table)
check("collapsed: as its text", [";".join(r["stack"]) + " %d" % r["value"] for r in data["rows"]], text.splitlines())

# ---- raw
text = out(VITRINE, "raw", heap)
data = json.loads(out(VITRINE, "raw", "--json", heap))
table = list(csv.DictReader(io.StringIO(out(VITRINE, "raw", "--csv", heap))))
values = [[float(w) for w in l.split(":")[0].split()] for l in text.splitlines() if re.match(r"\s+\d+\s+\d+.*:[ \d]+$", l)]
check("raw: values of JSON", [s["values"] for s in data["samples"]], values)
kinds = [t["name"] for t in data["types"]]
check("raw: values of CSV", [[float(r[k]) for k in kinds] for r in table], values)
addresses = {l["id"]: l["address"] for l in data["locations"]}
check("raw: stacks of CSV", [r["stack"].split(";") for r in table],
      [[addresses[i] for i in s["stack"]] for s in data["samples"]])
check("raw: files", {m["file"] for m in data["mappings"]} >= {program}, True)

# ---- names of any bytes are valid JSON and CSV
odd = os.path.join(folder, "odd.folded")
with open(odd, "wb") as f:
    f.write(b'main;\xff"a,b"\\ 3\nmain;\xc3\xa9 2\n')
for view in ("top", "tree", "traces", "collapsed", "raw"):
    text = subprocess.run([VITRINE, view, "--json", odd], capture_output=True).stdout.decode()
    check_has(f"{view}: odd names", json.dumps(json.loads(text)), r"\\xff\"a,b\"")
    table = subprocess.run([VITRINE, view, "--csv", odd], capture_output=True).stdout.decode()
    check(f"{view}: CSV has one width", len({len(r) for r in csv.reader(io.StringIO(table))}), 1)

# ---- fractions survive: un-sampled values
sampled = os.path.join(folder, "sampled.heap")
with open(sampled, "w") as f:
    f.write("heap profile: 3: 300 [3: 300] @ heap_v2/524288\n3: 300 [3: 300] @ 0x10\n")
seen = json.loads(out(VITRINE, "top", "--json", sampled))["total"]
check_near("un-sampled total in JSON", seen, 300 / (1 - 2.718281828459045 ** (-100 / 524288)), 1e-3)

# ---- filters by frames
folded = os.path.join(folder, "x.folded")
with open(folded, "w") as f:
    f.write("main;a;b;c 10\nmain;a;c 20\nmain;c;a;b 5\nother;b 7\n")


def stacks(*options):
    rows = json.loads(out(VITRINE, "collapsed", "--json", *options))["rows"]
    return {";".join(r["stack"]): r["value"] for r in rows}


check("--show-from: callers go, stacks without go", stacks("--show-from=^a$", folded), {"a;b;c": 10, "a;c": 20, "a;b": 5})
check("--show-from: the outermost match", stacks("--show-from=^(a|c)$", folded), {"a;b;c": 10, "a;c": 20, "c;a;b": 5})
check("--hide", stacks("--hide=^a$", folded), {"main;b;c": 10, "main;c": 20, "main;c;b": 5, "other;b": 7})
check("--show", stacks("--show=^[ab]$", folded), {"a;b": 15, "a": 20, "b": 7})
check("--show-from and --hide", stacks("--show-from=^a$", "--hide=^b$", folded), {"a;c": 30, "a": 5})
check("--focus and --ignore", stacks("--focus=c", "--ignore=b", folded), {"main;a;c": 20})

# ---- labels
labelled = Profile([("objects", "count"), ("space", "bytes")], [
    (["alloc", "main"], {"objects": 1, "space": 4096}, {"user": "ann", "bytes": (4096, "bytes")}),
    (["alloc", "main"], {"objects": 2, "space": 2000}, {"user": "bob", "bytes": (1000, "bytes")}),
    (["other", "main"], {"objects": 4, "space": 80000}, {"user": "annette", "bytes": (20000, "bytes"), "request": (17, "")}),
    (["other", "main"], {"objects": 8, "space": 800}, {"wait": (3, "milliseconds")}),
    (["other", "main"], {"objects": 16, "space": 1600}, {}),
]).write(os.path.join(folder, "labels.pb.gz"))
text, data, table = forms("tags", labelled)
check_same("tags", data, table)
check("tags", [(r["key"], r["label"], r["value"]) for r in data["rows"]],
      [("bytes", "20000", 80000), ("bytes", "4096", 4096), ("bytes", "1000", 2000), ("request", "17", 80000),
       ("user", "annette", 80000), ("user", "ann", 4096), ("user", "bob", 2000), ("wait", "3", 800)])
shared = Profile([("objects", "count")], [(["a"], {"objects": 3}, {"user": "ann", "bytes": (8, "bytes")}), (["b"], {"objects": 4}, {"user": "ann", "bytes": (9, "bytes")}),
                                          (["b"], {"objects": 5}, {"bytes": (8, "bytes")})]).write(os.path.join(folder, "shared.pb.gz"))
check("tags: samples with one label add up", [(r["key"], r["label"], r["value"]) for r in json.loads(out(VITRINE, "tags", "--json", shared))["rows"]],
      [("bytes", "8", 8), ("bytes", "9", 4), ("user", "ann", 7)])
check_has("tags: numbers with their unit for people", text, "4.00kB")
check("tags: after the filters", [r["label"] for r in json.loads(out(
    VITRINE, "tags", "--json", "--focus=alloc", "--type=objects", labelled))["rows"]], ["1000", "4096", "bob", "ann"])
# what is kept, in objects. Where Go's pprof differs: a number without a unit is for it never a label's, and a label without a
# unit is in a range of bytes.
FILTERS = [("ann", 5, True), ("user=ann", 5, True), ("user=^ann$", 1, True), ("user=^ann$,bob", 3, True), ("user:ann,ette", 4, True),
           ("4kb", 1, True), ("bytes=4kb", 1, True), ("4kb:", 5, True), ("1kb:8kb", 1, True), ("wait=3ms", 8, True),
           ("wait=1ms:1s", 8, True), ("nobody", 0, True), ("user=4kb", 0, True), ("2ms:", 8, True), ("4096", 1, False),
           (":4kb", 3, False), ("bytes=1000:4096", 3, False), ("request=17", 4, False), ("request=10:", 4, False), ("17", 4, False)]
for name, kept, is_go in FILTERS:
    for option in ("focus", "ignore"):
        ours = json.loads(out(VITRINE, "top", "--json", "--type=objects", f"--tag-{option}={name}", labelled))
        ours = sum(r["flat"] for r in ours["rows"])
        check(f"--tag-{option}={name}", ours, kept if option == "focus" else 31 - kept)
        if not GO or not is_go:
            continue
        status, theirs, errors = run(GO, "tool", "pprof", "-raw", "-sample_index=objects", f"-tag{option}={name}", labelled)
        theirs = sum(int(m.group(1)) for m in re.finditer(r"^\s+(\d+)\s+\d+: ", theirs, re.M))
        check(f"--tag-{option}={name}: as Go's pprof", ours, theirs)
if not GO:
    print("go is not here: label filters not compared")
check_has("a bad regexp of a label", run(VITRINE, "top", "--tag-focus=a(b", labelled)[2], "--tag-focus: bad regexp 'a(b'")
done()
