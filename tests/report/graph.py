#!/usr/bin/env python3
"""graph.py - the call graph: the text beside google-pprof's, and the pictures where graphviz is installed.

On purpose we differ in edges of a function to itself: theirs count each turn of a recursion, ours each stack once.
"""
import xml.etree.ElementTree as xml

from tool import *

folder = scratch()
program = build_work(folder)
heap = heap_of(folder, program)
if heap is None:
    skip("no libtcmalloc_and_profiler (scripts/setup test installs libgoogle-perftools-dev)")


def parse(text):
    """Legend line, {name: (flat, cum) as printed}, {(caller, callee): value as printed}"""
    legend = next(l for l in text.splitlines() if l.startswith("Legend"))
    names, nodes, edges = {}, {}, {}
    for line in text.splitlines():
        m = re.match(r'(N\d+) \[label="(.*)\\n(\S+) \(\S+\)\\r(?:of (\S+) \(\S+\)\\r)?",shape=box,fontsize=\S+\];', line)
        if m:
            names[m.group(1)] = m.group(2).replace("\\n(inline)", "").replace("\\n", "::")
            nodes[names[m.group(1)]] = (m.group(3), m.group(4) or m.group(3))
        m = re.match(r"(N\d+) -> (N\d+) \[label=(\S+), weight=(\d+), style=\"setlinewidth\(\S+\)(,dashed)?\"\];", line)
        if m:
            edges[names[m.group(1)], names[m.group(2)]] = (m.group(3), m.group(4))
    return legend, nodes, edges


ours = out(PPROF, "--dot", program, heap)
check_has("what brpc looks for", ours[:300], ',label="')
legend, nodes, edges = parse(ours)
check("the first line", ours.splitlines()[0], f'digraph "{program}; 5.1 MB" {{')
check("all functions", {"main", "app::small", "app::large", "app::deep", "app::host", "app::Box::fill"} <= set(nodes), True)
if PEER_PPROF:
    their_legend, their_nodes, their_edges = parse(out(PEER_PPROF, "--dot", program, heap))
    check("legend", legend, their_legend)
    for name in ("main", "app::small", "app::large", "app::host", "_start"):
        check(f"node {name}: cum", nodes[name][1], their_nodes[name][1])
    for pair in (("main", "app::small"), ("main", "app::large"), ("main", "app::deep"), ("main", "app::host"),
                 ("app::small", "app::Box::fill"), ("app::large", "app::Box::fill")):
        check(f"edge {pair}", edges.get(pair), their_edges.get(pair))
    # nodes by count and by fraction, with differences
    for options in (["--nodecount=4"], ["--nodefraction=0.3"], ["--nodecount=5", "--lines"], ["--show_bytes", "--nodecount=4"]):
        _, a, _ = parse(out(PPROF, "--dot", *options, program, heap))
        _, b, _ = parse(out(PEER_PPROF, "--dot", *options, program, heap))
        check(f"{options}: as many nodes", len(a), len(b))
status, text, errors = run(PPROF, "--dot", "--base=" + heap, program, heap)
check("nothing to draw", (status, text), (1, ""))
check_has("nothing to draw: message", errors, "No nodes to print")

# ---- pictures
status, text, errors = run(PPROF, "--svg", program, heap, env={"DOT": "no-such-dot"})
check("without graphviz: exit", (status, text), (1, ""))
check_has("without graphviz: message", errors, "drawing a call graph needs graphviz, and there is no 'no-such-dot'")
picture = os.path.join(folder, "x.svg")
status, _, errors = run(VITRINE, "graph", heap, "-o", picture, env={"DOT": "no-such-dot"})
check("without graphviz: exit of vitrine graph", (status, os.path.exists(picture)), (3, False))
check_has("a name that says nothing", run(VITRINE, "graph", heap, "-o", "x.what")[2], "end it in .dot, .svg")
if shutil.which("dot"):
    for option, start in (("--svg", b"<?xml"), ("--pdf", b"%PDF"), ("--ps", b"%!PS"), ("--gif", b"GIF8")):
        data = subprocess.run([PPROF, option, program, heap], capture_output=True).stdout
        check(f"{option}: the beginning", data[:len(start)], start)
        if option == "--svg":
            text = "".join(xml.fromstring(data).itertext())
            for word in ("main", "small", "large", "Total MB: 5.1"):
                check_has("svg", text, word)
    for kind, start in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("dot", b"digraph")):
        picture = os.path.join(folder, "y." + kind)
        out(VITRINE, "graph", heap, "-o", picture)
        check(f"vitrine graph -o y.{kind}", open(picture, "rb").read()[:len(start)], start)
else:
    print("graphviz is not here: pictures not drawn")
done()
