#!/usr/bin/env python3
"""heaptrack.py - files that the installed heaptrack writes, and the numbers of its own heaptrack_print."""
from tool import *

if not shutil.which("heaptrack"):
    skip("no heaptrack (scripts/setup test installs it)")
folder = scratch()
program = build_work(folder)
out("heaptrack", "-o", os.path.join(folder, "kept"), program)
out("heaptrack", "--raw", "-o", os.path.join(folder, "raw"), program)
kept = glob.glob(os.path.join(folder, "kept*"))[0]
raw = glob.glob(os.path.join(folder, "raw*"))[0]


def printed(path, cost):
    """heaptrack_print's stacks: {short name of the leaf: sum}, and the sum of all."""
    stacks = os.path.join(folder, "stacks")
    out("heaptrack_print", "-f", path, "-F", stacks, "--flamegraph-cost-type", cost)
    flat, total = {}, 0
    for line in open(stacks):
        names, value = line.rsplit(" ", 1)
        total += int(value)
        leaf = re.sub(r" \([^()]*\)$", "", names.strip(";").split(";")[-1])
        leaf = re.sub(r"\(.*|<.*?>", "", leaf)
        flat[leaf] = flat.get(leaf, 0) + int(value)
    return flat, total


for cost, type_name in (("leaked", "inuse_space"), ("peak", "peak_space"), ("allocations", "alloc_objects")):
    theirs, their_total = printed(kept, cost)
    for path in (kept, raw):
        ours, our_total = top("--type=" + type_name, path)
        ours = add_instances(ours)
        check(f"{os.path.basename(path)} {type_name}: total", our_total, their_total)
        for name in ("app::Box::fill", "app::deep", "app::freed"):
            check(f"{os.path.basename(path)} {type_name}: {name}", ours.get(name, (0, 0))[0], theirs.get(name, 0))
table = add_instances(top(raw)[0])
check("what work.cc keeps", table["app::Box::fill"][0], 1000 * 1000 + 50 * 40000)
check("a raw file's inlined function", table["app::inlined"][0], 200 * 7000)
lines = out(VITRINE, "top", "--by=lines", kept)
number = 1 + next(i for i, l in enumerate(open(os.path.join(HERE, "work.cc"))) if "keep(malloc(3000))" in l)
check_has("the line of the call", lines, f"work.cc:{number}")
check_has("raw: the line of the call", out(VITRINE, "top", "--by=lines", raw), f"work.cc:{number}")
check("a difference of two runs", top("--base=" + kept, raw)[1], 0)

# packed otherwise, cut, and by its old name
text = subprocess.run(["zstd", "-dc", kept], capture_output=True).stdout if shutil.which("zstd") else None
if text:
    import gzip
    path = os.path.join(folder, "kept.gz")
    with gzip.open(path, "wb") as f:
        f.write(text)
    check("gzipped", top(path), top(kept))
    status, ours, _ = run(VITRINE, "top", "--json", "-", stdin=text)
    check("from standard input", (status, json.loads(ours)["total"]), (0, top(kept)[1]))
    unfinished = os.path.join(folder, "unfinished")
    with open(unfinished, "wb") as f:
        f.write(text[:text.rindex(b"\n# strings")])
    check_has("unfinished", run(VITRINE, "top", unfinished)[2], "heaptrack did not finish it")
data = open(kept, "rb").read()
cut = os.path.join(folder, "cut.zst")
with open(cut, "wb") as f:
    f.write(data[:len(data) // 2])
status, _, errors = run(VITRINE, "top", cut)
check("cut: exit", status, 3)
check_has("cut: message", errors, f"'{cut}': is a zstd file that is truncated")
check_has("pprof reads it", out(PPROF, "--text", kept), "Total: 5.1 MB")
done()
