#!/usr/bin/env python3
"""diff.py - differences of real runs: the same program at other addresses, and another build of it with functions moved and
added, at another path and at the same one. What changed is known in advance; every view has it, with its sign."""
import xml.etree.ElementTree as xml

from tool import *

SOURCE = """
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
void *volatile kept;
NOINLINE void keep(void *p) { kept = p; }
%s
NOINLINE void grows() { for (int i = 0; i < GROWS; i++) keep(malloc(1000)); }
NOINLINE void same() { for (int i = 0; i < 50; i++) keep(malloc(2000)); }
%s
NOINLINE void shrinks() { for (int i = 0; i < SHRINKS; i++) keep(malloc(3000)); }
NOINLINE void phase() { grows(); same(); shrinks(); EXTRA; }
int main() { phase(); kept = 0; return 0; }
"""
PADDING = "NOINLINE void pad%d(int n) { for (int i = 0; i < n; i++) keep(malloc((size_t)i * %d)); }\n"
OLD = SOURCE % ("", "")
NEW = SOURCE % ("".join(PADDING % (i, i) for i in range(20)) + "NOINLINE void fresh() { keep(malloc(7000)); }",
                "".join(PADDING % (i, i) for i in range(20, 25)))
CHANGED = {"grows": 60 * 1000, "shrinks": -30 * 3000, "fresh": 7000}
THROUGH = sum(CHANGED.values())
folder = scratch()


def build(name, text, *flags):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".cc", "w") as f:
        f.write(text)
    out(os.environ.get("CXX", "c++"), "-O1", "-g", "-fPIE", "-pie", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-builtin",
        *flags, path + ".cc", "-o", path)
    return path


OLD_FLAGS = ["-DGROWS=40", "-DSHRINKS=90", "-DEXTRA="]
NEW_FLAGS = ["-DGROWS=100", "-DSHRINKS=60", "-DEXTRA=fresh()"]
old = build("old/app", OLD, *OLD_FLAGS)
new = build("new/app", NEW, *NEW_FLAGS)
before, after = heap_of(folder, old, "before"), heap_of(folder, new, "after")
if before is None:
    skip("no libtcmalloc_and_profiler (scripts/setup test installs libgoogle-perftools-dev)")
place = lambda path: next(l.split("-")[0] for l in open(path) if " r-xp " in l and l.rstrip().endswith("/app"))
check("the code moved", out("nm", old).split(" T main")[0][-16:] != out("nm", new).split(" T main")[0][-16:], True)


def check_changes(what, table):
    """{name: (flat, cum)} has what changed, and nothing of what did not"""
    for name, value in CHANGED.items():
        check(f"{what}: {name}", table.get(name), (value, value))
    check(f"{what}: same", table.get("same", (0, 0)), (0, 0))
    check(f"{what}: phase", table.get("phase"), (0, THROUGH))
    check(f"{what}: main", table.get("main"), (0, THROUGH))
    check(f"{what}: nothing else has a flat value", {n for n, (flat, _) in table.items() if flat} , set(CHANGED))


def diff(*argv):
    data = json.loads(out(VITRINE, "diff", "--json", *argv))
    return {r["name"]: (r["flat"], r["cum"]) for r in data["rows"]}, data


# ---- two builds, two runs
table, data = diff(before, after)
check_changes("diff", table)
check("diff: total", data["total"], THROUGH)
check("diff: shares are of all that changed", {r["name"]: round(r["flat%"]) for r in data["rows"] if r["flat"]},
      {n: round(100 * v / sum(map(abs, CHANGED.values()))) for n, v in CHANGED.items()})
check("diff: largest change first", [r["name"] for r in data["rows"]][:2], ["shrinks", "grows"])
check_changes("--base", top("--base=" + before, after)[0])
reverse, _ = diff(after, before)
check("the other way round", {n: -flat for n, (flat, _) in reverse.items() if flat}, CHANGED)
check("--drop-negative: only what grew", {n: f for n, (f, _) in diff("--drop-negative", before, after)[0].items() if f},
      {n: v for n, v in CHANGED.items() if v > 0})

# ---- the same build twice, at other addresses
again = [heap_of(folder, new, f"again{i}") for i in range(6)]
check("runs lie at different addresses", len({place(p) for p in again}) > 1, True)
for path in again:
    check("an equal run: nothing is left", diff(after, path)[0], {})

# ---- estimates are fractions: a sampled file less itself is nothing, in whatever order it is added up
sampled = os.path.join(folder, "sampled.heap")
with open(sampled, "w") as f:
    f.write("heap_v2/524288\n  t*: 600: 90000000 [0: 0]\n")
    for i in range(600):
        f.write(f"@ 0x{0x1000 + i % 7:x} 0x{0x2000 + i % 31:x} 0x{0x3000 + i:x}\n  t*: {1 + i % 13}: {999 * (1 + i * i % 77777)} [0: 0]\n")
    f.write("\nMAPPED_LIBRARIES:\n")
reordered = os.path.join(folder, "reordered.heap")
blocks = open(sampled).read().split("@")
with open(reordered, "w") as f:
    f.write("@".join([blocks[0], *reversed(blocks[1:-1])]) + "@" + blocks[-1])
for base in (sampled, reordered):
    check("sampled, less itself: diff", diff(base, sampled)[0], {})
    check("sampled, less itself: total", diff(base, sampled)[1]["total"], 0)
    for tool in (JEPROF, PPROF):
        check("sampled, less itself: --text", out(tool, "--text", "--base=" + base, sampled), "")
        check("sampled, less itself: at the prompt", run(tool, "--interactive", "--base=" + base, sampled, stdin=b"top\n")[1], "Total: 0.0 MB\n")
        check("sampled, less itself: --collapsed", out(tool, "--collapsed", "--base=" + base, sampled), "")

# ---- what is rounded to nothing has no sign, in whatever view
def heap_file(name, head, lines):
    path = os.path.join(folder, name + ".heap")
    with open(path, "w") as f:
        f.write(head + "".join(lines) + "\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 1 /nowhere/app\n")
    return path


def exact(name, *values):
    n, total = len(values), sum(values)
    return heap_file(name, f"heap profile: {n}: {total} [{n}: {total}] @ heapprofile\n", [f"1: {v} [1: {v}] @ 0x40{i}011 0x40f011\n" for i, v in enumerate(values)])


def estimated(name, n_bytes):  # one object that was seen, of more than one and less than one and a half
    return heap_file(name, f"heap_v2/64\n  t*: 2: {n_bytes + 500} [0: 0]\n", [f"@ 0x400011\n  t*: 1: {n_bytes} [0: 0]\n", "@ 0x401011\n  t*: 1: 500 [0: 0]\n"])


less, more = exact("less", 10000000, 100, 10), exact("more", 40000000, 0, 9)
few, fewer = estimated("few", 100), estimated("fewer", 110)
SIGNED_ZERO = re.compile(r"(?<![\w.])-0(?:\.0*)?(?![.\d])")
NEARLY = [("diff", "--view=" + view, *form, less, more) for view in ("top", "tree", "traces", "collapsed") for form in ([], ["--json"], ["--csv"])]
NEARLY += [("diff", "--view=flame", less, more), ("diff", "--view=traces", "--type=inuse_objects", few, fewer), ("raw", "--base=" + less, more), ("raw", "--base=" + few, fewer)]
NEARLY_OLD = [(*options, "--nodefraction=0", "--edgefraction=0", "--base=" + less, more) for options in (
    ["--text"], ["--text", "--show_bytes"], ["--tree"], ["--traces"], ["--dot"], ["--dot", "--show_bytes"], ["--callgrind"], ["--collapsed"], ["--raw"])]
NEARLY_OLD += [(*options, "--base=" + few, fewer) for options in (["--raw"], ["--text", "--stacks", "--inuse_objects"])]
for tool, argv in [(VITRINE, a) for a in NEARLY] + [(PPROF, a) for a in NEARLY_OLD]:
    status, text, _ = run(tool, *argv)
    what = " ".join(os.path.basename(a) for a in argv)
    check(f"nearly nothing: {what}", (status, len(text) > 50, SIGNED_ZERO.findall(text)), (0, True, []))
check_has("nearly nothing: the graph has it", out(PPROF, "--dot", "--nodefraction=0", "--base=" + less, more), r"app+0x1010\n0.0 (0.0%)\r")
check_has("what is more than that has its sign", out(VITRINE, "diff", more, less), "-28.6MB -100.00%")

# ---- another build at the same path: the old profile was given its names while its program was there
path = build("here/app", OLD, *OLD_FLAGS)
first = heap_of(folder, path, "first")
named = os.path.join(folder, "first.pb.gz")
out(VITRINE, "convert", first, named)
build("here/app", NEW, *NEW_FLAGS)
second = heap_of(folder, path, "second")
named_second = os.path.join(folder, "second.pb.gz")
out(VITRINE, "convert", second, named_second)
check_changes("rebuilt at one path, names with the base", diff(named, second)[0])
check_changes("rebuilt at one path, names with both", diff(named, named_second)[0])
check("its mapping has the build-id", [m["build_id"] != "" for m in json.loads(out(VITRINE, "raw", "--json", named))["mappings"]
                                      if m["file"] == path], [True])
# ... and without build-ids: then what is known of a place tells builds apart
path = build("bare/app", OLD, "-Wl,--build-id=none", *OLD_FLAGS)
bare_first = os.path.join(folder, "bare1.pb.gz")
out(VITRINE, "convert", heap_of(folder, path, "bare1"), bare_first)
build("bare/app", NEW, "-Wl,--build-id=none", *NEW_FLAGS)
bare_second = heap_of(folder, path, "bare2")
check_changes("rebuilt at one path, no build-ids", diff(bare_first, bare_second)[0])

# ... and when two functions have changed places, so that one build's call lies where the other's was
lines = OLD.splitlines()
grows, shrinks = (next(i for i, l in enumerate(lines) if f"void {name}()" in l) for name in ("grows", "shrinks"))
lines[grows], lines[shrinks] = lines[shrinks], lines[grows]
SWAPPED = "\n".join(lines)
calls = lambda path: {m.group(2): int(m.group(1), 16) for m in re.finditer(r"^0*([0-9a-f]+) T _Z\d+(grows|shrinks)v$", out("nm", path), re.M)}
for what, flags in (("swapped", []), ("swapped, no build-ids", ["-Wl,--build-id=none"])):
    path = build("swap/app", OLD, *flags, *OLD_FLAGS)
    one, two = os.path.join(folder, "one.pb.gz"), os.path.join(folder, "two.pb.gz")
    was = calls(path)
    out(VITRINE, "convert", heap_of(folder, path, "one"), one)
    path = build("swap/app", SWAPPED, *flags, "-DGROWS=100", "-DSHRINKS=60", "-DEXTRA=")
    check(f"{what}: one lies where the other was", calls(path), {"grows": was["shrinks"], "shrinks": was["grows"]})
    out(VITRINE, "convert", heap_of(folder, path, "two"), two)
    check(what, {n: f for n, (f, _) in diff(one, two)[0].items() if f}, {n: CHANGED[n] for n in ("grows", "shrinks")})

# ---- every view
rows = json.loads(out(VITRINE, "diff", "--view=tree", "--json", before, after))["rows"]
phase = next(i for i, r in enumerate(rows) if r["name"] == "phase")
below = {r["name"]: r["cum"] for r in rows[phase + 1:] if r["depth"] == rows[phase]["depth"] + 1}
check("tree: what came through the calls", {n: below.get(n) for n in CHANGED}, CHANGED)
rows = json.loads(out(VITRINE, "diff", "--view=peek", "--json", "^shrinks$", before, after))["rows"]
check("peek", [(r["relation"], r["name"], r["cum"]) for r in rows], [("caller", "phase", -90000), ("self", "shrinks", -90000)])
rows = json.loads(out(VITRINE, "diff", "--view=traces", "--json", before, after))["rows"]
check("traces", sorted((r["stack"][0], r["value"]) for r in rows), sorted(CHANGED.items()))
rows = json.loads(out(VITRINE, "diff", "--view=list", "--json", "^grows$", before, after))["rows"]
check("list", sum(r["flat"] for r in rows if r["file"].endswith("new/app.cc")) + sum(
    r["flat"] for r in rows if r["file"].endswith("old/app.cc")), 60000)
check_has("top as text: signs", out(VITRINE, "diff", before, after), "-87.9kB")
ends = lambda line: [m.end() for m in re.finditer(r"\S+", line)][:5]
table = out(VITRINE, "diff", more, less).splitlines()  # with -100.00% in every column
check("top as text: what shrank to nothing stays below its heading", [ends(l) for l in table[2:]], [ends(table[1])] * (len(table) - 2))
svg = out(VITRINE, "diff", "--view=flame", before, after)
titles = {}
for g in xml.fromstring(svg).iter("{http://www.w3.org/2000/svg}g"):
    if g.get("class") == "frame":
        name, value = g.find("{http://www.w3.org/2000/svg}title").text.split("\n")
        titles[name] = (value.split(",")[0], g.find("{http://www.w3.org/2000/svg}rect").get("fill").split(",")[0])
check("flame", {n: titles.get(n) for n in CHANGED}, {"grows": ("+58.6kB", "hsl(4"), "shrinks": ("-87.9kB", "hsl(215"), "fresh": ("+6.84kB", "hsl(4")})
dot = out(VITRINE, "diff", "--view=graph", before, after)
for word in (f"label=\"{os.path.basename(after)} less {before}\\l", r"shrinks\n-87.9kB (", r"grows\n58.6kB (", "label=\"-87.9kB\""):
    check_has("graph", dot, word)
status, _, errors = run(VITRINE, "diff", "--view=what", before, after)
check("an unknown view", (status, errors.strip()),
      (2, "vitrine: error: '--view' is one of top, tree, peek, list, disasm, traces, tags, flame, graph, collapsed, not 'what'"))
check("a picture is no table", run(VITRINE, "diff", "--view=flame", "--json", before, after)[::2],
      (2, "vitrine: error: a flame is a picture: no --json, no --csv\n"))
status, _, errors = run(VITRINE, "diff", "--view=peek", before, after)
check("a regexp is missing", (status, "diff compares two profiles, and 1 are given behind the regexp" in errors), (2, True))
done()
