#!/usr/bin/env python3
"""corpus.py - every function of real profiles beside google-pprof, jeprof and go tool pprof.

Profiles: heap (exact), heap sample, growth and CPU by Debian's gperftools; jemalloc exact and sampled; dumps of one
process for --base. Tables are compared whole; what may differ is in REASONS, and nothing else.
"""
from tool import *

folder = scratch()
program = build_work(folder)
heap = heap_of(folder, program)
if heap is None:
    skip("no libtcmalloc_and_profiler (scripts/setup test installs libgoogle-perftools-dev)")

# name: why a peer may have another value for it
REASONS = [
    (r"inlined$|^app::host$|^keep$|^std::", "the peer looks up the leaf of a heap stack one instruction too late: another inlined function"),
    (r"^[0-9a-f]{16}$|^0x|\+0x", "an address without a symbol: binary+0xoffset with us, an address or the nearest symbol with them"),
    (r"^(main|_start|__libc_start\w*)$", "only in CPU profiles: the peer drops frames that all stacks share"),
    (r"^(malloc|calloc|operator new|tcmalloc::|je_|prof_|__GI_|MallocExtension|HeapProfiler|GetHeapProfile|tc_)|^copy$",
     "the allocator's own: all functions of its library are cut off, with or without symbols; copy() calls one"),
    (r"^(call_init|_dl_\w+|__static_initialization|_GLOBAL__sub|__do_global|init\b|_init)", "start of the process: inlined, or without symbols"),
]


def is_explained(name, kinds):
    return any(re.search(REASONS[k][0], name) for k in kinds)


THROUGH = ("main", "app::small", "app::large", "app::deep", "app::host")  # of work.cc: what runs through them is the same, whatever is inlined


def compare(what, ours, theirs, tolerance, kinds=(0, 1, 3, 4), columns=(0, 1), through=()):
    (ours, our_total), (theirs, their_total) = ours, theirs
    check_near(f"{what}: total", our_total or 0, their_total or 0, tolerance)
    n_same = 0
    for name in sorted(set(ours) | set(theirs)):
        a, b = ours.get(name, (0, 0)), theirs.get(name, (0, 0))
        if all(abs(a[c] - b[c]) <= tolerance for c in columns):
            n_same += 1
        elif not is_explained(name, kinds):
            check(f"{what}: {name}", a, b)
    for name in through:
        check_near(f"{what}: through {name}", ours.get(name, (0, 0))[1], theirs.get(name, (0, 0))[1], tolerance)
    check(f"{what}: functions that are the same", n_same >= 4, True)


def perl(peer, ours, options, *argv, **more):
    compare(f"{os.path.basename(peer)} {' '.join(options)} {os.path.basename(argv[-1])}", rows(out(ours, "--text", *options, *argv)),
            rows(out(peer, "--text", *options, *argv)), **more)


def collapsed(text):
    """{stack without addresses and marks: value}"""
    sums = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        stack, value = line.rsplit(" ", 1)
        frames = [re.sub(r"<[0-9a-f]{16}>|\[inline\]", "", f) for f in stack.split(";")]
        frames = [re.sub(r"\(.*", "", f) for f in frames]
        key = ";".join(f for f in frames if not is_explained(f, (0, 1, 4)))
        sums[key] = sums.get(key, 0) + float(value)
    return {k: v for k, v in sums.items() if v}


# ---- gperftools
dumps = os.path.join(folder, "dumps")
built = run(os.environ.get("CXX", "c++"), "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-builtin",
            os.path.join(HERE, "dumps.cc"), "-o", dumps, "-ltcmalloc_and_profiler")
cpu = cpu_of(folder, program)
if PEER_PPROF:
    for options in (["--show_bytes"], ["--inuse_objects"], ["--alloc_space", "--show_bytes"], ["--alloc_objects"], ["--cum", "--show_bytes"],
                    ["--show_bytes", "--focus=app::small|deep"], ["--show_bytes", "--ignore=app::large"],
                    ["--show_bytes", "--functions"]):
        perl(PEER_PPROF, PPROF, options, program, heap, tolerance=0, through=THROUGH)
    perl(PEER_PPROF, PPROF, [], program, heap, tolerance=0)
    perl(PEER_PPROF, PPROF, ["--show_bytes"], program, heap, heap, tolerance=0)  # two files add up
    check("--collapsed: stack by stack", collapsed(out(PPROF, "--collapsed", program, heap)), collapsed(out(PEER_PPROF, "--collapsed", program, heap)))
    perl(PEER_PPROF, PPROF, [], program, cpu, tolerance=0, kinds=(0, 1, 2, 4))
    whole = cpu.removesuffix(".through")
    check("CPU, as it was written: total", rows(out(PPROF, "--text", program, whole))[1], rows(out(PEER_PPROF, "--text", program, whole))[1])
    ours, theirs = collapsed(out(PPROF, "--collapsed", program, cpu)), collapsed(out(PEER_PPROF, "--collapsed", program, cpu))
    leaf = lambda table: {n: sum(v for k, v in table.items() if k.endswith(n)) for n in ("app::burn_much", "app::burn_some")}
    check("--collapsed of CPU: by leaf", leaf(ours), leaf(theirs))
    if built[0] == 0:
        out(dumps, folder, env={"TCMALLOC_SAMPLE_PARAMETER": "16384"})
        before, after, sampled, growth = (os.path.join(folder, n + ".heap") for n in ("before", "after", "sampled", "growth"))
        for path in (before, after):
            perl(PEER_PPROF, PPROF, ["--show_bytes"], dumps, path, tolerance=0)
        for path in (sampled, growth):
            perl(PEER_PPROF, PPROF, ["--show_bytes"], dumps, path, tolerance=1)
            perl(PEER_PPROF, PPROF, ["--inuse_objects"], dumps, path, tolerance=1)
        check("the sample is one", "@ heap_v2/16384" in open(sampled).readline(), True)
        said = lambda tool, path: [l for l in run(tool, "--text", dumps, path)[2].splitlines() if re.match("Adjusting|Heap version|Using", l)]
        check("what is said of a sample", said(PPROF, sampled), said(PEER_PPROF, sampled))
        check("what is said of an exact one", said(PPROF, after), said(PEER_PPROF, after))
        check("growth is one", "@ growth" in open(growth).readline(), True)
        for options in (["--show_bytes"], ["--inuse_objects"], ["--show_bytes", "--alloc_space"]):
            perl(PEER_PPROF, PPROF, [*options, "--base=" + before], dumps, after, tolerance=0)
        ours, total = rows(out(PPROF, "--text", "--show_bytes", "--base=" + before, dumps, after))
        check("--base: what came", ours["app::late"][0], 150 * 5000)
        ours, total = rows(out(PPROF, "--text", "--show_bytes", "--base=" + after, dumps, before))
        check("--base: what went", ours["app::late"][0], -150 * 5000)
        status, text, _ = run(PPROF, "--text", "--show_bytes", "--drop_negative", "--base=" + after, dumps, before)
        check("--drop_negative", "app::late" in text, False)
        header = open(before).readline()
        wrong = os.path.join(folder, "wrong.heap")
        with open(wrong, "w") as f:
            f.write(open(before).read().replace(header, re.sub(r"\d+: +(\d+) \[", r"9999: 99999999 [", header, 1), 1))
        check_has("a header that counts more", run(PPROF, "--text", dumps, wrong)[2], "the header counts 99999999 bytes in use in 9999 blocks")
    else:
        print("dumps.cc does not build (libgoogle-perftools-dev?): growth, samples and --base not compared")
else:
    print("google-pprof is not here: not compared")

# ---- jemalloc
je = jemalloc_of(folder, program)
if je and PEER_JEPROF:
    sampled = jemalloc_of(folder, program, "sampled", 13)
    for path in (je, sampled):
        for options in (["--show_bytes"], ["--inuse_objects"], ["--alloc_space", "--show_bytes"], ["--alloc_objects"], ["--cum"],
                        ["--show_bytes", "--focus=app::deep"], ["--show_bytes", "--thread=0"]):
            perl(PEER_JEPROF, JEPROF, options, program, path, tolerance=1, through=THROUGH)
    theirs = out(PEER_JEPROF, "--text", "--thread=*", "--show_bytes", program, je)
    ours = out(JEPROF, "--text", "--thread=*", "--show_bytes", program, je)
    compare("jeprof --thread=*", rows(ours), rows(theirs), 1)
    check("jeprof --thread=*: its headings", re.findall(r"^Total .*", ours, re.M), re.findall(r"^Total .*", theirs, re.M))
    check("jeprof --base of itself", out(JEPROF, "--text", "--base=" + je, program, je), out(PEER_JEPROF, "--text", "--base=" + je, program, je))
    ours, theirs = collapsed(out(JEPROF, "--collapsed", program, je)), collapsed(out(PEER_JEPROF, "--collapsed", program, je))
    check_near("jeprof --collapsed: sum", sum(ours.values()), sum(theirs.values()), 8)
else:
    print("no jemalloc profile or no jeprof: not compared")

# ---- Go's pprof, which reads gperftools' text itself: address by address, because it has no names of C++ programs here
def by_address(text):
    """{address: [flat and cum of each type]} of what both tools call raw"""
    places, table = dict(re.findall(r"^\s+(\d+): (0x[0-9a-f]+) M=", text, re.M)), {}
    for values, ids in re.findall(r"^((?:\s+-?\d+)+): ([\d ]+?)\s*$", text, re.M):
        values, ids = [int(v) for v in values.split()], [places[i] for i in ids.split()]
        for address in set(ids):
            old = table.setdefault(address, [0] * 2 * len(values))
            for i, v in enumerate(values):
                old[2 * i] += v if address == ids[0] else 0
                old[2 * i + 1] += v
    return table


if GO:
    files = [(heap, 0), (cpu, 0)]
    if built[0] == 0 and PEER_PPROF:
        files += [(after, 0), (growth, 0), (os.path.join(folder, "sampled.heap"), None)]
    for path, tolerance in files:
        name = os.path.basename(path)
        theirs = by_address(out(GO, "tool", "pprof", "-raw", "-symbolize=none", path))
        ours = by_address(out(VITRINE, "raw", "--no-symbols", path))
        if tolerance is None:  # it cuts the estimate of each stack to a whole number
            tolerance = open(path).read().count(" @ 0x")
        same_types = {len(v) for v in ours.values()} == {len(v) for v in theirs.values()}
        if not same_types:  # Go leaves out what is allocated where it equals what is in use
            ours = {a: v[-4:] for a, v in ours.items()}
        if path == cpu:  # the handler's frames: we and Go know them by different signs
            ours = {a: v[::2] for a, v in ours.items() if v[0]}
            theirs = {a: v[::2] for a, v in theirs.items() if v[0]}
        check(f"go tool pprof {name}: addresses", sorted(ours), sorted(theirs))
        worst = max(abs(x - y) for a in ours if a in theirs for x, y in zip(ours[a], theirs[a]))
        check_near(f"go tool pprof {name}: values", worst, 0, tolerance)
    if built[0] == 0 and PEER_PPROF:
        text = out(GO, "tool", "pprof", "-raw", "-symbolize=none", "-base=" + before, dumps, after)
        theirs = {a: v for a, v in by_address(text).items() if any(v)}
        ours = {a: v for a, v in by_address(out(VITRINE, "raw", "--no-symbols", "--base=" + before, after)).items() if any(v)}
        check("go tool pprof -base", ours, theirs)
else:
    print("go is not here: not compared")
done()
