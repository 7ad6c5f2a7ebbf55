#!/usr/bin/env python3
"""convert.py - the files for other viewers: speedscope, Firefox Profiler, Perfetto and Chrome. Each is read back here by its own
rules, and the values of its functions are those that `top` has."""
from tool import *

folder = scratch()
program = build_work(folder)
heap = heap_of(folder, program)
if heap is None:
    skip("no libtcmalloc_and_profiler (scripts/setup test installs libgoogle-perftools-dev)")
cpu = cpu_of(folder, program, 20)


def converted(source, end, *options):
    path = os.path.join(folder, "x" + end)
    out(VITRINE, "convert", *options, source, path)
    with open(path) as f:
        return json.load(f)


def sums(stacks):
    """[(names root first, value)] -> {name: (flat, cum)}"""
    table = {}
    for names, value in stacks:
        for name in set(names):
            flat, cum = table.get(name, (0, 0))
            table[name] = (flat + value * (name == names[-1]), cum + value)
    return table


def check_table(what, stacks, source, type_name, factor=1):
    theirs, total = top("--full-names", "--type=" + type_name, source)
    ours = sums(stacks)
    check(f"{what}: functions", set(ours), set(theirs))
    for name, (flat, cum) in theirs.items():
        check_near(f"{what}: flat of {name}", ours.get(name, (0, 0))[0], flat * factor, 1e-6 * abs(total))
        check_near(f"{what}: cum of {name}", ours.get(name, (0, 0))[1], cum * factor, 1e-6 * abs(total))


# ---- speedscope: one profile per type
for source, units in ((heap, {"inuse_space": "bytes", "inuse_objects": "none", "alloc_space": "bytes", "alloc_objects": "none"}),
                      (cpu, {"samples": "none", "cpu": "nanoseconds"})):
    data = converted(source, ".speedscope.json")
    check("speedscope: schema", data["$schema"], "https://www.speedscope.app/file-format-schema.json")
    check("speedscope: keys", set(data) <= {"$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter"}, True)
    check("speedscope: its name is the file's, without the folder", data["name"], os.path.basename(source))
    frames = data["shared"]["frames"]
    check("speedscope: frames", all(set(f) <= {"name", "file", "line", "col"} and f["name"] for f in frames), True)
    check("speedscope: types", {p["name"]: p["unit"] for p in data["profiles"]}, units)
    for p in data["profiles"]:
        check("speedscope: keys of a profile", set(p), {"type", "name", "unit", "startValue", "endValue", "samples", "weights"})
        check("speedscope: as many weights as samples", (p["type"], len(p["samples"])), ("sampled", len(p["weights"])))
        check("speedscope: it ends at the sum", p["endValue"], sum(p["weights"]))
        check("speedscope: every frame exists", all(0 <= i < len(frames) for s in p["samples"] for i in s), True)
        check_table(f"speedscope {p['name']}", [([frames[i]["name"] for i in s], w) for s, w in zip(p["samples"], p["weights"])],
                    source, p["name"])
    check("speedscope: the file's own type first", data["profiles"][data["activeProfileIndex"]]["name"], {heap: "inuse_space", cpu: "cpu"}[source])
check("speedscope: one type", [p["name"] for p in converted(heap, ".speedscope.json", "--type=alloc_space")["profiles"]], ["alloc_space"])

# ---- Firefox Profiler: tables of columns
# what each column is an index of, and what else it may be (processed profile, version 46: docs-developer/CHANGELOG-formats.md
# and src/types/profile.js of firefox-devtools/profiler)
INDEXES = {
    ("samples", "stack"): ("stackTable", (None,)), ("stackTable", "frame"): ("frameTable", ()), ("stackTable", "prefix"): ("stackTable", (None,)),
    ("stackTable", "category"): ("categories", ()), ("frameTable", "func"): ("funcTable", ()), ("frameTable", "category"): ("categories", (None,)),
    ("frameTable", "nativeSymbol"): ("nativeSymbols", (None,)), ("frameTable", "implementation"): ("strings", (None,)),
    ("funcTable", "name"): ("strings", ()), ("funcTable", "fileName"): ("strings", (None,)), ("funcTable", "resource"): ("resourceTable", (-1,)),
    ("resourceTable", "name"): ("strings", ()), ("resourceTable", "host"): ("strings", (None,)), ("resourceTable", "lib"): ("libs", (None,)),
    ("nativeSymbols", "name"): ("strings", ()), ("nativeSymbols", "libIndex"): ("libs", ()), ("markers", "name"): ("strings", ()),
    ("markers", "category"): ("categories", ()),
}
COLUMNS = {
    "samples": {"stack", "time", "weight"}, "stackTable": {"frame", "category", "subcategory", "prefix"},
    "frameTable": {"address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol", "innerWindowID", "implementation", "line", "column"},
    "funcTable": {"isJS", "relevantForJS", "name", "resource", "fileName", "lineNumber", "columnNumber"},
    "resourceTable": {"lib", "name", "host", "type"}, "nativeSymbols": {"libIndex", "address", "name", "functionSize"},
    "markers": {"data", "name", "startTime", "endTime", "phase", "category"},
}


def check_firefox(what, data):
    meta = data["meta"]
    check(f"{what}: keys", {"meta", "libs", "threads"} <= set(data), True)
    check(f"{what}: meta", {k: type(meta[k]) for k in ("version", "preprocessedProfileVersion", "processType", "stackwalk", "product", "symbolicated")},
          {"version": int, "preprocessedProfileVersion": int, "processType": int, "stackwalk": int, "product": str, "symbolicated": bool})
    check(f"{what}: a category is grey", [c["color"] for c in meta["categories"] if c["subcategories"]].count("grey"), 1)
    for thread in data["threads"]:
        check(f"{what}: thread", {k: type(thread[k]) for k in ("name", "pid", "tid", "isMainThread", "processType", "processStartupTime", "registerTime",
                                                              "pausedRanges")},
              {"name": str, "pid": str, "tid": int, "isMainThread": bool, "processType": str, "processStartupTime": int, "registerTime": int,
               "pausedRanges": list})
        strings = thread["stringArray"]
        check(f"{what}: strings are strings, each once", (all(isinstance(s, str) for s in strings), len(set(strings))), (True, len(strings)))
        sizes = {"strings": len(strings), "categories": len(meta["categories"]), "libs": len(data["libs"])}
        for name, columns in COLUMNS.items():
            table = thread[name]
            sizes[name] = table["length"]
            check(f"{what}: columns of {name}", {k for k, v in table.items() if isinstance(v, list)}, columns)
            check(f"{what}: {name}: columns of one length", {len(table[k]) for k in columns}, {table["length"]})
        for (name, column), (target, others) in INDEXES.items():
            wrong = [i for i in thread[name][column] if i not in others and not (type(i) is int and 0 <= i < sizes[target])]
            check(f"{what}: {name}.{column} is of {target}", wrong[:3], [])
        subcategories = [(c, s) for c, s in zip(thread["stackTable"]["category"], thread["stackTable"]["subcategory"])
                         if not 0 <= s < len(meta["categories"][c]["subcategories"])]
        check(f"{what}: subcategories exist", subcategories[:3], [])
        check(f"{what}: lines are numbers", [l for l in thread["frameTable"]["line"] if l is not None and not (type(l) is int and l > 0)], [])


now, before = os.path.join(folder, "now.folded"), os.path.join(folder, "before.folded")
for path, text in ((now, "main;a;b 10\nmain;c 3\n"), (before, "main;a 4\nmain;c 7\nmain;c;d 1\n"), (os.path.join(folder, "no.folded"), "main 0\n")):
    with open(path, "w") as f:
        f.write(text)
check_firefox("firefox of a heap", converted(heap, ".firefox.json"))
check_firefox("firefox of a CPU profile", converted(cpu, ".firefox.json"))
check_firefox("firefox of names alone", converted(now, ".firefox.json"))
check_firefox("firefox of a difference", converted(now, ".firefox.json", "--base=" + before))
check_firefox("firefox of nothing", converted(os.path.join(folder, "no.folded"), ".firefox.json"))
for source, type_name, weight_type, factor in ((heap, "inuse_space", "bytes", 1), (heap, "inuse_objects", "samples", 1),
                                               (cpu, "cpu", "tracing-ms", 1e-6)):
    data = converted(source, ".firefox.json", "--type=" + type_name)
    check("firefox: version", data["meta"]["preprocessedProfileVersion"], 46)
    check("firefox: has what a reader asks for", {"interval", "startTime", "product", "processType", "stackwalk", "categories", "markerSchema"}
          <= set(data["meta"]), True)
    thread = data["threads"][0]
    for name in ("samples", "stackTable", "frameTable", "funcTable", "markers", "resourceTable", "nativeSymbols"):
        table = thread[name]
        widths = {key: len(column) for key, column in table.items() if isinstance(column, list)}
        check(f"firefox {name}: columns of one length", set(widths.values()) | {table["length"]}, {table["length"]})
    strings, functions, frames, stacks = (thread[k] for k in ("stringArray", "funcTable", "frameTable", "stackTable"))
    check("firefox: callers come first", all(p is None or p < i for i, p in enumerate(stacks["prefix"])), True)
    check("firefox: categories exist", set(stacks["category"]) <= set(range(len(data["meta"]["categories"]))), True)

    def names_of(stack):
        names = []
        while stack is not None:
            names.insert(0, strings[functions["name"][frames["func"][stacks["frame"][stack]]]])
            stack = stacks["prefix"][stack]
        return names

    samples = thread["samples"]
    check(f"firefox {type_name}: unit", samples["weightType"], weight_type)
    check(f"firefox {type_name}: time goes on", samples["time"], sorted(samples["time"]))
    check_table(f"firefox {type_name}", [(names_of(s), w) for s, w in zip(samples["stack"], samples["weight"])], source, type_name, factor)

# ---- trace events: slices lie within their callers
data = converted(cpu, ".trace.json")
slices = [e for e in data["traceEvents"] if e["ph"] == "X"]
check("trace: keys", all({"ph", "ts", "dur", "name", "pid", "tid"} == set(e) for e in slices), True)
open_slices, stacks = [], {}
for e in sorted(slices, key=lambda e: (e["ts"], -e["dur"])):
    while open_slices and open_slices[-1][1] <= e["ts"] + 1e-6:
        open_slices.pop()
    check("trace: within its caller", not open_slices or e["ts"] + e["dur"] <= open_slices[-1][1] + 1e-3, True)
    open_slices.append((e["name"], e["ts"] + e["dur"]))
    path = tuple(n for n, _ in open_slices)
    stacks[path] = stacks.get(path, 0) + e["dur"]
total = {path: value - sum(v for p, v in stacks.items() if p[:-1] == path) for path, value in stacks.items()}
check_table("trace", [(list(p), v) for p, v in total.items() if v > 1e-3], cpu, "cpu", 1e-3)
status, _, errors = run(VITRINE, "convert", heap, os.path.join(folder, "y.trace.json"))
check("trace of bytes: refused", (status, os.path.exists(os.path.join(folder, "y.trace.json"))), (2, False))
check_has("trace of bytes: says why", errors, "a trace is about time, and 'inuse_space' is bytes")

# ---- what was there before stays when the input is bad
older = os.path.join(folder, "older.speedscope.json")
with open(older, "w") as f:
    f.write("older")
check("a bad input: exit", run(VITRINE, "convert", "/dev/null", older)[0], 3)
check("a bad input: the older file stays", open(older).read(), "older")

# ---- by --to, to standard output; unknown kinds
check("--to", json.loads(out(VITRINE, "convert", "--to=speedscope", heap, "-"))["exporter"], "vitrine")
check_has("unknown kind", run(VITRINE, "convert", "--to=what", heap, "-")[2],
          "'--to' is pprof, collapsed, callgrind, speedscope, firefox or trace, not 'what'")
check_has("unknown name", run(VITRINE, "convert", heap, "x.json")[2], "end it in .pb.gz, .collapsed, .callgrind, .speedscope.json")
done()
