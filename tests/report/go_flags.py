#!/usr/bin/env python3
"""go_flags.py - the flags that the old names have from Go's pprof, beside `go tool pprof` where it is installed."""
import collections
import gzip
import http.server
import ssl
import threading

from proto import Profile
from tool import *

folder = scratch()
program = build_work(folder)
labelled = Profile([("objects", "count"), ("space", "bytes")], [
    (["alloc", "main"], {"objects": 1, "space": 4096}, {"user": "ann", "bytes": (4096, "bytes")}),
    (["alloc", "f", "main"], {"objects": 2, "space": 2000}, {"user": "bob", "bytes": (1000, "bytes")}),
    (["other", "g", "f", "main"], {"objects": 4, "space": 80000}, {"user": "annette", "bytes": (20000, "bytes"), "request": (17, "")}),
    (["other", "f", "g", "main"], {"objects": 8, "space": 800}, {"wait": (3, "milliseconds")}),
    (["other", "main"], {"objects": 16, "space": 1600}, {}),
]).write(os.path.join(folder, "labels.pb.gz"))


def go(*argv):
    return out(GO, "tool", "pprof", *argv, env={"HOME": folder, "PPROF_TMPDIR": folder})


def stacks(*options):
    """{root;...;leaf: objects} by ours"""
    text = out(PPROF, "--collapsed", "-sample_index=objects", *options, labelled)
    return {l.rpartition(" ")[0]: int(l.rpartition(" ")[2]) for l in text.splitlines()}


def go_stacks(*options):
    """The same from Go's -traces."""
    table = collections.Counter()
    for trace in go("-traces", "-sample_index=objects", *options, labelled).split("-" * 11 + "+" + "-" * 55 + "\n")[1:]:
        names, value = [], 0
        for line in trace.splitlines():
            m = re.match(r"\s{0,10}(\d*)\s{3}(\S.*)|\s+(\S.*)", line)
            if re.match(r"\s*\w+:  ", line):  # a label
                continue
            if m.group(1):
                value = int(m.group(1))
            names.insert(0, m.group(2) or m.group(3))
        if names:
            table[";".join(names)] += value
    return dict(table)


# ---- labels as frames; what the innermost match calls
LABELS = {
    ("-tagroot=user",): {"ann;main;alloc": 1, "bob;main;f;alloc": 2, "annette;main;f;g;other": 4, "(no user);main;g;f;other": 8,
                         "(no user);main;other": 16},
    ("-tagleaf=user,bytes",): {"main;alloc;ann;4.00kB": 1, "main;f;alloc;bob;1000B": 2, "main;f;g;other;annette;19.53kB": 4,
                               "main;g;f;other;(no user);(no bytes)": 8, "main;other;(no user);(no bytes)": 16},
    ("-tagroot=request,user", "-focus=annette"): {"17;annette;main;f;g;other": 4},
    ("-tagroot=user", "-tagleaf=bytes", "-ignore=other"): {"ann;main;alloc;4.00kB": 1, "bob;main;f;alloc;1000B": 2},
    ("-prune_from=^f$",): {"main;alloc": 1, "main;f": 6, "main;g;f": 8, "main;other": 16},
    ("-prune_from=^[fg]$",): {"main;alloc": 1, "main;f": 2, "main;f;g": 4, "main;g;f": 8, "main;other": 16},
    ("-prune_from=^main$", "-tagleaf=user"): {"main": 31},
    ("-prune_from=^f$", "-hide=^f$"): {"main;alloc": 3, "main;g;other": 12, "main;other": 16},
}
for options, expected in LABELS.items():
    check(f"{options}", stacks(*options), expected)
    if GO:
        theirs = collections.Counter()
        for names, value in go_stacks(*options).items():
            theirs[names] += value
        mine = collections.Counter()  # Go: no name where there is no label, fewer zeros
        for names, value in stacks(*options).items():
            mine[re.sub(r"\(no \w+\)", "<unknown>", names).replace(".00kB", "kB")] += value
        check(f"{options}: as Go's pprof", mine, theirs)
check_has("a label that no sample has", run(PPROF, "--text", "-tagroot=nobody", labelled)[2], "no sample has a label 'nobody'")
heap = heap_of(folder, program)
if heap is None:
    skip("no libtcmalloc_and_profiler (scripts/setup test installs libgoogle-perftools-dev)")
with_labels = os.path.join(folder, "heap.pb.gz")
out(VITRINE, "convert", heap, with_labels)

# a leaf that is a label stays where the allocator's frames are cut off
cut = Profile([("inuse_objects", "count"), ("inuse_space", "bytes")], [(["malloc", "fill", "main"], {"inuse_space": 7}, {"user": "ann"})])
cut = cut.write(os.path.join(folder, "cut.pb.gz"))
check("-tagleaf of a heap", out(PPROF, "--collapsed", "-tagleaf=user", cut), "main;fill;ann 7\n")
check("-tagleaf of a heap: all frames", out(PPROF, "--collapsed", "-tagleaf=user", "-all_frames", cut), "main;fill;malloc;ann 7\n")

# ---- -tags by key
KEYS = [(["-tagshow=^(user|wait)$"], {"user", "wait"}), (["-taghide=e"], {"wait"}), (["-taghide=^b"], {"user", "request", "wait"}),
        (["-tagshow=s", "-taghide=^u"], {"bytes", "request"})]
for options, keys in KEYS:
    text = out(PPROF, "-tags", *options, labelled)
    check(f"{options}: keys", {l.split()[2] for l in text.splitlines()[1:]}, keys)
    if GO:
        check(f"{options}: as Go's pprof", set(re.findall(r"^ *(\w+): Total", go("-tags", *options, labelled), re.M)), keys)
check_has("-tagshow: a bad regexp", run(PPROF, "-tags", "-tagshow=a(", labelled)[2], "--tagshow: bad regexp 'a('")

# ---- the table as a profile, comments, filters of samples in what is written
path = os.path.join(folder, "top.pb.gz")
for options, expected in ((["-sample_index=objects"], {"other": (28, 28), "alloc": (3, 3), "main": (31, 0), "f": (14, 0), "g": (12, 0)}),
                          (["-sample_index=objects", "-focus=alloc"], {"alloc": (3, 3), "main": (3, 0), "f": (2, 0)})):
    out(PPROF, "-topproto", "-output=" + path, *options, labelled)
    raw = json.loads(out(VITRINE, "raw", "--json", path))
    check("-topproto: types", [(t["name"], t["unit"]) for t in raw["types"]], [("cum", "count"), ("flat", "count")])
    names = {l["id"]: l["lines"][0]["function"] for l in raw["locations"]}
    check(f"-topproto {options}", {names[s["stack"][0]]: tuple(s["values"]) for s in raw["samples"]}, expected)
    if GO:
        def top_rows(text):
            names = dict(re.findall(r"^\s+(\d+): 0x\w+ M=\d+ (\S+) ", text, re.M))
            return {names[i]: (int(a), int(b)) for a, b, i in re.findall(r"^\s+(\d+)\s+(\d+): (\d+)", text, re.M)}
        ours = top_rows(go("-raw", path))
        go("-topproto", "-output=" + path, "-nodefraction=0", *options, labelled)
        check(f"-topproto {options}: as Go's pprof", ours, top_rows(go("-raw", path)))
out(PPROF, "-proto", "-add_comment=built on a tuesday", "-output=" + path, labelled)
check("-add_comment", out(PPROF, "-comments", path), "built on a tuesday\n")
check("-add_comment at once", out(PPROF, "-comments", "-add_comment=now", labelled), "now\n")
for options, kept in ((["-focus=^f$"], 14), (["-ignore=^f$"], 17), (["-tagfocus=user"], 7), (["-tagfocus=ann"], 5), (["-tagignore=ann"], 26)):
    out(PPROF, "-proto", *options, "-output=" + path, labelled)
    check(f"-proto {options}", json.loads(out(VITRINE, "top", "--json", "--type=objects", path))["total"], kept)
    if GO:
        go("-proto", "-output=" + path, *options, labelled)
        check(f"-proto {options}: as Go's pprof", json.loads(out(VITRINE, "top", "--json", "--type=objects", path))["total"], kept)


# ---- filters of frames and labels in what is written, sample by sample
def samples_of(path):
    """[(values, names leaf first, labels)], whoever wrote it"""
    raw = json.loads(out(VITRINE, "raw", "--json", path))
    names = {l["id"]: [f["function"] for f in l["lines"]] for l in raw["locations"]}
    return sorted((s["values"], [n for l in s["stack"] for n in names[l]], sorted(map(str, s.get("labels", [])))) for s in raw["samples"]), {n for l in names.values() for n in l}


FRAMES = {"-hide=^f$": 4, "-show=^(f|g|other)$": 3, "-show=nothing": 0, "-show_from=^f$": 4, "-prune_from=^f$": 5, "-tagshow=^user$": 5, "-taghide=e": 5, "-focus=alloc": 3}
for option, n_names in FRAMES.items():
    out(PPROF, "-proto", option, "-output=" + path, labelled)
    ours, names = samples_of(path)
    check(f"-proto {option}: functions", len(names), n_names)
    if GO and n_names:
        go("-proto", "-output=" + path, option, labelled)
        check(f"-proto {option}: as Go's pprof", ours, samples_of(path)[0])
out(PPROF, "-proto", "-hide=annette|^g$", "-taghide=user", "-output=" + path, labelled)
check("-proto: what is left out is in no string", [w for w in (b"annette", b"/src/g.c", b"user") if w in gzip.open(path).read()], [])
for option in ("-hide=app::inlined", "-show=app::", "-show_from=app::host", "-prune_from=app::host", "-hide=^app::Box"):
    out(PPROF, "-proto", option, "-output=" + path, program, heap)
    check(f"-proto {option} of a heap: the inlined calls too", out(PPROF, "--collapsed", path), out(PPROF, "--collapsed", option, program, heap))
_, text, _ = run(PPROF, "--interactive", labelled, stdin=f"hide=^f$\nignore=alloc\nproto >{path}\n:\ntop\nproto >{path}.all\n".encode())
check("proto at the prompt", samples_of(path)[1], {"main", "g", "other"})
check("proto at the prompt: nothing is lost", (len(samples_of(path + ".all")[0]), " alloc\n" in text), (5, True))

# ---- what percentages are of
base = Profile([("objects", "count")], [(["a", "main"], {"objects": 40}, {}), (["b", "main"], {"objects": 10}, {})]).write(os.path.join(folder, "before.pb.gz"))
now = Profile([("objects", "count")], [(["a", "main"], {"objects": 50}, {}), (["c", "main"], {"objects": 25}, {})]).write(os.path.join(folder, "now.pb.gz"))


def shares(text):
    return {m[2]: (m[0], m[1]) for m in re.findall(r"^\s*-?\d+\s+(\S+)%\s+\S+%\s+-?\d+\s+(\S+)%\s+(\w+)$", text, re.M)}


def near(text):
    return {n: (round(float(a)), round(float(b))) for n, (a, b) in shares(text).items()}


check("-diff_base: shares are of the base", near(out(PPROF, "--text", "-diff_base=" + base, now)), {"a": (20, 20), "b": (-20, -20), "c": (50, 50), "main": (0, 50)})
check("-base: shares are of the difference", near(out(PPROF, "--text", "-base=" + base, now)), {"a": (40, 40), "b": (-40, -40), "c": (100, 100), "main": (0, 100)})
check("-diff_base in graphs", sorted(re.findall(r"\((-?[\d.]+%)\)", out(PPROF, "--dot", "-diff_base=" + base, now))), sorted(["20.0%", "-20.0%", "50.0%", "0.0%", "50.0%"]))
rows_of = lambda *argv: {r["name"]: round(r["flat%"]) for r in json.loads(out(VITRINE, "diff", "--json", *argv, base, now))["rows"]}
check("diff --of=base", rows_of("--of=base"), {"a": 20, "b": -20, "c": 50, "main": 0})
check("diff without", rows_of(), {"a": 22, "b": -22, "c": 56, "main": 0})
if GO:
    check("-diff_base: as Go's pprof, which has no signs", near(go("-text", "-nodefraction=0", "-diff_base=" + base, now)),
          {n: (abs(a), abs(b)) for n, (a, b) in near(out(PPROF, "--text", "-diff_base=" + base, now)).items()})
# -drop_negative: what a stack has less than the base counts as nothing, for its callers too
GREW = {"a": 10, "c": 25, "main": 35}
ALL = {"a": 10, "b": -10, "c": 25, "main": 25}
cums = lambda text: {n: int(v) for v, n in re.findall(r"(-?\d+)\s+\S+% (\w+)$", text, re.M)}
for tool in (PPROF, JEPROF):
    for options, expected in ((["--drop_negative"], GREW), (["--nodrop_negative"], ALL), ([], ALL)):
        text = out(tool, "--text", *options, "--base=" + base, now)
        check(f"{os.path.basename(tool)} {options}", (cums(text), text.splitlines()[0]), (expected, f"Total: {expected['main']} objects"))
check("-drop_negative: -diff_base", near(out(PPROF, "--text", "-drop_negative", "-diff_base=" + base, now)), {"a": (20, 20), "c": (50, 50), "main": (0, 70)})
check("-drop_negative: -collapsed", out(PPROF, "--collapsed", "-drop_negative", "-base=" + base, now), "main;c 25\nmain;a 10\n")
check("-drop_negative: -dot", sorted(re.findall(r"label=(-?\d+)", out(PPROF, "--dot", "-drop_negative", "-base=" + base, now))), ["10", "25"])
check("-drop_negative: no base", out(PPROF, "--text", "-drop_negative", now), out(PPROF, "--text", now))
_, text, _ = run(PPROF, "--interactive", "-base=" + base, now, stdin=b"drop_negative=true\ntop\ndrop_negative=false\ntop\n")
check("-drop_negative: at the prompt", [cums("Total" + t) for t in text.split("Total")[1:]], [GREW, ALL])
if GO:  # it looks at functions, not at stacks: callers keep what they have less
    check("-drop_negative: the functions that Go's pprof leaves out", set(shares(go("-text", "-nodefraction=0", "-drop_negative", "-base=" + base, now))), set(GREW))
status, text, errors = run(PPROF, "--text", "-base=" + base, "-diff_base=" + base, now)
check("-base and -diff_base", (status, text, errors.splitlines()[0]), (1, "", "-base and -diff_base flags cannot both be specified"))
self_share = lambda *argv: re.search(r"^\s+\d+\s+\d+\s+(\S+)%  f$", out(PPROF, "-tree", "-sample_index=objects", "-focus=^f$", *argv, labelled), re.M).group(1)
check("-relative_percentages", (self_share(), self_share("-relative_percentages"), self_share("-relative_percentages=false")), ("45.16", "100.00", "45.16"))
share_of_f = lambda *argv: round(next(r["cum%"] for r in json.loads(out(VITRINE, "top", "--json", "--type=objects", "--focus=^f$", *argv, labelled))["rows"] if r["name"] == "f"), 2)
check("--of", (share_of_f(), share_of_f("--of=rest"), share_of_f("--of=all")), (45.16, 100, 45.16))
if GO:
    share = lambda *argv: re.search(r"(\S+)%\s+\|? ?f$", go("-text", "-sample_index=objects", "-focus=^f$", *argv, labelled), re.M).group(1)
    check("-relative_percentages: as Go's pprof", (share(), share("-relative_percentages")), ("45.16", "100"))
legend = lambda *argv: re.search(r'Legend.*label="(.*?)"', out(PPROF, "-dot", *argv, program, heap)).group(1).split("\\l")
check("-compact_labels", (len(legend()), legend("-compact_labels")), (6, ["work", "Total MB: 5.1", ""]))
if GO:
    out(PPROF, "-proto", "-add_comment=for all", "-output=" + path, labelled)
    check_has("-add_comment: Go's pprof reads it", go("-comments", path), "for all")


# ---- a node for each way to a function
def tree_of(dot, node_re, edge_re):
    """{path from the root: cum}"""
    nodes = {n: (re.split(r"\\n", label)[0], label) for n, label in re.findall(node_re, dot, re.M)}
    parents = {b: a for a, b in re.findall(edge_re, dot, re.M) if a in nodes and b in nodes}
    paths = {}
    for n, (name, label) in nodes.items():
        names, at = [name], n
        while at in parents:
            at = parents[at]
            names.insert(0, nodes[at][0])
        paths[";".join(names)] = int(re.search(r"(?:of |\\n)(\d+) \(\d\S*\)(?:\\r)?$", label).group(1))
    return paths


OURS = (r'^(N\d+) \[label="([^"]*)",shape=box', r"^(N\d+) -> (N\d+) ")
ours = tree_of(out(PPROF, "-dot", "-call_tree", "-sample_index=objects", labelled), *OURS)
check("-call_tree", ours, {"main": 31, "main;other": 16, "main;alloc": 1, "main;f": 6, "main;f;alloc": 2, "main;f;g": 4, "main;f;g;other": 4,
                           "main;g": 8, "main;g;f": 8, "main;g;f;other": 8})
check("without -call_tree", out(PPROF, "-dot", "-sample_index=objects", labelled).count("shape=box,fontsize"), 6)  # 5 and the legend
if GO:
    theirs = go("-dot", "-call_tree", "-nodefraction=0", "-edgefraction=0", "-sample_index=objects", labelled)
    check("-call_tree: as Go's pprof", ours, tree_of(theirs, r'^(N\d+) \[label="([^"]*)" id=', r"^(N\d+) -> (N\d+) "))
check("-call_tree is for pictures", out(PPROF, "-text", "-call_tree", labelled), out(PPROF, "-text", labelled))

# ---- columns
source = open(os.path.join(HERE, "work.cc")).read().splitlines()
text = out(PPROF, "--text", "--lines", "-showcolumns", program, heap)
places = [(int(a), int(b)) for a, b in re.findall(r"work\.cc:(\d+):(\d+)", text)]
check("-showcolumns: places", len(places) >= 5, True)
check("-showcolumns: each is a word of its line", [p for p in places if not re.match(r"[\w(]", source[p[0] - 1][p[1] - 1:])], [])
line = 1 + next(i for i, l in enumerate(source) if "keep(malloc(3000))" in l)
check("-showcolumns: the call of malloc", [source[a - 1][b - 1:].lstrip("(") for a, b in places if a == line], ["malloc(3000));"])
check("without -showcolumns", re.search(r"work\.cc:\d+:", out(PPROF, "--text", "--lines", program, heap)), None)
check("-showcolumns: kept in what is written", re.findall(r"work\.cc:\d+:\d+", out(PPROF, "--text", "--lines", "-showcolumns", with_labels)),
      re.findall(r"work\.cc:\d+:\d+", text))

# ---- where the source is
elsewhere = os.path.join(folder, "elsewhere")
home = os.path.join(folder, "home", "proj")
os.makedirs(os.path.join(home, "src", "below"))
os.makedirs(elsewhere)
shutil.copy(os.path.join(HERE, "work.cc"), os.path.join(home, "src", "work.cc"))
moved = os.path.join(elsewhere, "work")
out(os.environ.get("CXX", "c++"), "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-builtin",
    f"-ffile-prefix-map={HERE}=/build/proj/src", os.path.join(HERE, "work.cc"), "-o", moved)
there = heap_of(elsewhere, moved)
proto = os.path.join(elsewhere, "x.pb.gz")
out(VITRINE, "convert", there, proto)
WAYS = [([], False), (["-source_path=" + home], True), (["-source_path=/nowhere:" + home], True), (["-source_path=" + home, "-trim_path=/build/proj"], True),
        (["-source_path=" + home + "/src/below", "-trim_path=/build/proj/src/"], True), (["-source_path=" + home, "-trim_path=/wrong"], False),
        (["-source_path=" + folder, "-trim_path=/build"], False)]
for options, is_found in WAYS:
    for what in ("--list=app::deep", "--disasm=app::deep"):
        check(f"{what} {options}", "keep(malloc(3000))" in out(PPROF, what, *options, moved, there), is_found)
    if GO:
        check(f"-list {options}: as Go's pprof", "keep(malloc(3000))" in run(GO, "tool", "pprof", "-list=app::deep", *options, proto)[1], is_found)

# ---- how instructions are written
text = out(PPROF, "--disasm=app::deep", "-intel_syntax", program, heap)
if os.uname().machine == "x86_64":
    check("-intel_syntax", (re.search(r": call 0x", text) is not None, "%rsp" in text), (True, False))
    check("without -intel_syntax", "%rsp" in out(PPROF, "--disasm=app::deep", program, heap), True)

# ---- the program by a build-id that the profile does not have
m = re.search(r"Build ID: (\w+)", out("readelf", "-n", moved))
if m:
    store = os.path.join(folder, "store", m.group(1))
    os.makedirs(store)
    os.rename(moved, os.path.join(store, "work"))
    env = {"PPROF_BINARY_PATH": os.path.dirname(store)}
    check("the program is gone", "app::deep" in run(PPROF, "--text", there, env=env)[1], False)
    house = os.path.join(folder, "house")  # where Go's pprof looks when nothing is said
    os.makedirs(os.path.join(house, "pprof"))
    shutil.copytree(os.path.dirname(store), os.path.join(house, "pprof", "binaries"))
    without = {k: v for k, v in os.environ.items() if k != "PPROF_BINARY_PATH"}
    check_has("~/pprof/binaries", subprocess.run([PPROF, "--text", "-buildid=" + m.group(1), there], env=dict(without, HOME=house), capture_output=True, text=True).stdout, "app::deep")
    check_has("-buildid", run(PPROF, "--text", "-buildid=" + m.group(1), there, env=env)[1], "app::deep")
    status, text, errors = run(PPROF, "--text", "-buildid=" + "00" * 20, os.path.join(store, "work"), there)
    check_has("-buildid of another program: said", errors, "its code has another build-id")
    check("-buildid of another program: no names", "app::deep" in text, False)

# ---- names: how they are written, and what makes two functions two
check_has("-symbolize=demangle=full", out(PPROF, "--text", "-symbolize=local:demangle=full", program, heap), "app::Box<double>::fill(int)\n")
check_has("-symbolize=demangle=none", out(PPROF, "--text", "-symbolize=fastlocal:demangle=none", program, heap), "_ZN3app3BoxIdE4fillEi\n")
check("-symbolize=none", "app::" in out(PPROF, "--text", "-symbolize=none", program, heap), False)
status, text, errors = run(PPROF, "--text", "-symbolize=local:never", program, heap)
check("-symbolize: an unknown word", (status, text, errors.splitlines()[0][-13:]), (1, "", "; not 'never'"))
twice = Profile([("objects", "count")], [(["same", "main"], {"objects": 1}, {}), (["same ", "main"], {"objects": 2}, {})]).write(path)
check_has("-granularity=filefunctions", out(PPROF, "--text", "-granularity=filefunctions", twice), " same /src/same.c\n")
if GO:
    theirs = go("-text", "-filefunctions", "-nodefraction=0", with_labels)
    check("-granularity=filefunctions: as Go's pprof", set(re.findall(r"(app::\w+).* (/\S+)", out(
        PPROF, "--text", "-granularity=filefunctions", with_labels))), set(re.findall(r"(app::\w+).* (/\S+)", theirs)))

check("-filefunctions", out(PPROF, "--text", "-filefunctions", with_labels), out(PPROF, "--text", "-granularity=filefunctions", with_labels))
check("-sample_index by number", out(PPROF, "--text", "-sample_index=0", labelled), out(PPROF, "--text", "-sample_index=objects", labelled))
check_has("-sample_index: no such number", run(PPROF, "--text", "-sample_index=7", labelled)[2], "no type '7' in this profile; it has objects, space")
check("-cum and -flat", out(PPROF, "--text", "-cum", "-flat", labelled), out(PPROF, "--text", labelled))
many = os.path.join(folder, "many.folded")
with open(many, "w") as f:
    f.write("".join(f"main;f{i} {10000 if i == 0 else 1}\n" for i in range(100)))
check("-trim", [out(PPROF, "-dot", *options, many).count("shape=box,fontsize") - 1 for options in ([], ["-trim"], ["-trim=false"], ["-notrim"])], [2, 2, 101, 101])

# ---- several bases are added up
bases = [os.path.join(folder, f"base{i}.folded") for i in range(3)]
for file, text in zip(bases, ("main;a 10\nmain;b 7\n", "main;a 3\n", "main;a 1\nmain;b 2\n")):
    with open(file, "w") as f:
        f.write(text)
check("two bases", out(PPROF, "--collapsed", "-base=" + bases[1], "--base", bases[2], bases[0]), "main;a 6\nmain;b 5\n")
check("two bases by vitrine", out(VITRINE, "collapsed", "--base=" + bases[1], "--base=" + bases[2], bases[0]), "main;a 6\nmain;b 5\n")
check_has("a base that is missing", run(PPROF, "--collapsed", "-base=" + bases[1], "-base=/nowhere", bases[0])[2], "'/nowhere': cannot open")

# ---- https, both sides with certificates
if shutil.which("openssl"):
    def made(name, *argv):
        out("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=" + name, "-keyout", os.path.join(folder, name + ".key"),
            "-out", os.path.join(folder, name + ".pem"), "-addext", "subjectAltName=IP:127.0.0.1", *argv)
        return os.path.join(folder, name + ".pem"), os.path.join(folder, name + ".key")

    server_cert, server_key = made("server")
    our_cert, our_key = made("ours")

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = open(heap, "rb").read() if self.path == "/pprof/heap" else b""
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    class Quiet(http.server.ThreadingHTTPServer):
        def handle_error(self, *_):  # a handshake that ends early is what is tested
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server_cert, server_key)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(our_cert)
    server = Quiet(("127.0.0.1", 0), Server)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"https://127.0.0.1:{server.server_address[1]}/pprof/heap"
    env = {"PPROF_TMPDIR": os.path.join(folder, "kept"), "no_proxy": "*"}
    ALL = ["-tls_ca=" + server_cert, "-tls_cert=" + our_cert, "-tls_key=" + our_key]
    status, text, errors = run(PPROF, "--text", "--show_bytes", *ALL, program, url, env=env)
    check("https: exit", (status, errors if status else ""), (0, ""))
    check("https: as the file", text, out(PPROF, "--text", "--show_bytes", program, heap))
    for left_out in (0, 1):
        status, text, errors = run(PPROF, "--text", *[o for i, o in enumerate(ALL) if i > 0] if left_out == 0 else ALL[:1], program, url, env=env)
        check(f"https without {ALL[left_out].split('=')[0]}: refused", (status, text), (1, ""))
        check_has(f"https without {ALL[left_out].split('=')[0]}: said", errors, f"pprof: error: '{url}': cannot fetch: ")
    status, text, errors = run(PPROF, "--text", "-tls_ca=" + server_cert, "-tls_cert=/nowhere.pem", "-tls_key=" + our_key, program, url, env=env)
    check("https with a certificate that is not there", (status, text), (1, ""))
    server.shutdown()
else:
    print("openssl is not here: https not tried")

# ---- pages come by another command
for argv in (["-http=localhost:8080", labelled], ["-http", "localhost:8080", labelled], [program, heap, "--http=:0"]):
    status, text, errors = run(PPROF, *argv)
    check(f"{argv[0]}: exit, no output, one line", (status, text, errors.count("\n")), (2, "", 1))
    check_has(f"{argv[0]}: what to use", errors, "pprof: error: -http: no pages are served here; --web shows the call graph in a browser")
done()
