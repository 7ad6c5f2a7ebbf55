#!/usr/bin/env python3
"""graph.py - the call graph: the text beside google-pprof's, our own pictures, and graphviz's where it is installed.

On purpose we differ in edges of a function to itself: theirs count each turn of a recursion, ours each stack once.
"""
import collections
import xml.etree.ElementTree as xml
import zlib

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
turns = sum(int(l.rsplit(" ", 1)[1]) for l in out(PPROF, "--collapsed", program, heap).splitlines() if "app::deep(int);app::deep(int)" in l)
check("an edge of a function to itself counts each stack once", (parse(out(PPROF, "--dot", "--show_bytes", program, heap))[2]["app::deep", "app::deep"][0], turns > 0),
      (str(turns), True))
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
    dropping = lambda tool, *options: [l for l in run(tool, "--dot", *options, program, heap)[2].splitlines() if l.startswith("Dropping")]
    for options in ([], ["--show_bytes"], ["--nodefraction=0.2", "--edgefraction=0.1"], ["--inuse_objects"]):
        check(f"{options}: what is said of small ones", dropping(PPROF, *options), dropping(PEER_PPROF, *options))
        check(f"{options}: something is said", len(dropping(PPROF, *options)), 1)
# which edges: one into each node at least; then by size, and so many at each node
fan = os.path.join(folder, "fan.folded")
with open(fan, "w") as f:
    f.write("".join(f"main;a{i};one {1000 + i}\n" for i in range(12)) + "main;a0;two 500\nmain;a1;two 3\n")
edges_of = lambda *options: set(parse(out(PPROF, "--dot", "--nodefraction=0", *options, fan))[2])
into = lambda edges, name: sorted(a for a, b in edges if b == name)
check("--maxdegree: 8 unless told", len(into(edges_of("--edgefraction=0"), "one")), 8)
check("--maxdegree: the largest stay", into(edges_of("--edgefraction=0", "--maxdegree=3"), "one"), ["a10", "a11", "a9"])
check("--maxdegree: a node keeps one way to it", len({b for _, b in edges_of("--edgefraction=0", "--maxdegree=3")}), 14)
nodes_of = lambda *options: {n for e in parse(out(PPROF, "--dot", "--edgefraction=0", *options, fan))[2] for n in e}
check("--nodefraction", [len(nodes_of(*options)) for options in ([], ["--nodefraction=0"], ["--nodefraction=0.05"])], [15, 15, 14])
check("--nodefraction: the larger ones stay", nodes_of("--nodefraction=0.1") - {"main", "one"}, {"a0"})
check("--nodecount: the largest", nodes_of("--nodecount=3"), {"main", "one", "a0"})
check("--edgefraction: none", into(edges_of("--edgefraction=0"), "two"), ["a0", "a1"])
check("--edgefraction: small ones go", into(edges_of("--edgefraction=0.001"), "two"), ["a0"])
check("--edgefraction: with an exponent", into(edges_of("--edgefraction=1e-10"), "two"), ["a0", "a1"])
if PEER_PPROF:
    theirs = os.path.join(folder, "fan.prof")  # the same as a file that both read: names, and a CPU profile
    stacks = [(l.rsplit(" ", 1)[0].split(";"), int(l.rsplit(" ", 1)[1])) for l in open(fan)]
    places = {name: 0x1000 * (i + 1) for i, name in enumerate(sorted({n for names, _ in stacks for n in names}))}
    words = [0, 3, 0, 10000, 0] + [w for names, n in stacks for w in (n, len(names), *(places[name] for name in reversed(names)))] + [0, 1, 0]
    with open(theirs, "wb") as f:
        f.write(("--- symbol\nbinary=fan\n" + "".join(f"0x{a:016x} {n}\n" for n, a in places.items()) + "---\n--- profile\n").encode())
        f.write(b"".join(w.to_bytes(8, "little") for w in words))
    for options in ([], ["--maxdegree=3"], ["--maxdegree=3", "--edgefraction=0.08"]):
        seen = [set(parse(out(tool, "--dot", *options, theirs))[2]) for tool in (PPROF, PEER_PPROF)]
        check(f"{options}: the edges of google-pprof", seen[0], seen[1])
# the heap checker's marks: grey what leaks, three lines around what is less than before
grown = [os.path.join(folder, n) for n in ("less.folded", "more.folded")]
for path, text in zip(grown, ("main;a 10\nmain;b 5\n", "main;a 30\nmain;c 4\n")):
    with open(path, "w") as f:
        f.write(text)
marked = out(PPROF, "--dot", "--heapcheck", "--base=" + grown[0], grown[1])
check("--heapcheck", dict(re.findall(r'label="(\w+)\\n.*fontsize=[\d.]+(.*)\];', marked)),
      {"main": "", "a": ",style=filled,fillcolor=gray", "b": ",peripheries=3", "c": ",style=filled,fillcolor=gray"})
rims = {g.find("{http://www.w3.org/2000/svg}title").text: [r.get("fill") for r in g.findall("{http://www.w3.org/2000/svg}rect")]
        for g in xml.fromstring(out(PPROF, "--svg", "--heapcheck", "--base=" + grown[0], grown[1], env={"DOT": "no-such-dot"})).iter("{http://www.w3.org/2000/svg}g")
        if g.get("class") == "node"}
check("--heapcheck in our own picture", rims, {"main": ["white"], "a": ["#c0c0c0"], "b": ["white"] * 3, "c": ["#c0c0c0"]})
check("without --heapcheck", re.findall(r"peripheries|filled", out(PPROF, "--dot", "--base=" + grown[0], grown[1])), [])
status, text, errors = run(PPROF, "--dot", "--base=" + heap, program, heap)
check("nothing to draw", (status, text), (1, ""))
check_has("nothing to draw: message", errors, "No nodes to print")

# ---- our own pictures, where there is no graphviz
NO_DOT = {"DOT": "no-such-dot"}
SVG = "{http://www.w3.org/2000/svg}"


def drawn(svg):
    """{id: title} of nodes, [titles] of edges, as a picture of ours has them; and its problems"""
    root = xml.fromstring(svg)
    nodes = {g.get("id"): g.find(SVG + "title").text for g in root.iter(SVG + "g") if g.get("class") == "node"}
    edges = sorted(g.find(SVG + "title").text for g in root.iter(SVG + "g") if g.get("class") == "edge")
    boxes = []
    for g in root.iter(SVG + "g"):
        if g.get("class") == "node":
            r = g.find(SVG + "rect")
            x, y, w, h = (float(r.get(k)) for k in ("x", "y", "width", "height"))
            boxes.append((x, y, x + w, y + h))
            for t in g.findall(SVG + "text"):
                wide = len(t.text or "") * 0.6 * float(t.get("font-size"))
                left = float(t.get("x")) - {"start": 0, "middle": wide / 2, "end": wide}[t.get("text-anchor")]
                check("text lies in its box", x <= left and left + wide <= x + w and y < float(t.get("y")) < y + h, True)
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            check("boxes are apart", a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3], True)
    width, height = (float(v) for v in root.get("viewBox").split()[2:])
    check("boxes are on the page", all(0 <= a[0] and a[2] <= width and 0 <= a[1] and a[3] <= height for a in boxes), True)
    return nodes, edges, "".join(root.itertext())


base = os.path.join(folder, "base.folded")
now = os.path.join(folder, "now.folded")
with open(base, "w") as f:
    f.write("main;a<int>;b 10\nmain;c 30\nmain;c;a<int> 5\n")
with open(now, "w") as f:
    f.write("main;a<int>;b 40\nmain;c 10\nmain;a<int>;c;main 5\n")
for what, argv in (("heap", [heap]), ("by lines", ["--by=lines", heap]), ("a circle", [now]), ("a difference", ["--base=" + base, now])):
    dot = out(VITRINE, "graph", *argv)
    path = os.path.join(folder, "own.svg")
    out(VITRINE, "graph", *argv, "-o", path, env=NO_DOT)
    with open(path) as f:
        svg = f.read()
    if shutil.which("xmllint"):
        check(f"{what}: xmllint", run("xmllint", "--noout", path)[::2], (0, ""))
    own_nodes, own_edges, text = drawn(svg)
    check(f"{what}: every node of the text", sorted(own_nodes), sorted(re.findall(r"^(N\d+) \[", dot, re.M)))
    check(f"{what}: every edge of the text", own_edges, sorted(f"{a}->{b}" for a, b in re.findall(r"^(N\d+) -> (N\d+) \[", dot, re.M)))
    check(f"{what}: something is drawn", len(own_nodes) >= 3 and len(own_edges) >= 3, True)
    for line in re.search(r'^Legend .*label="(.*)"\]', dot, re.M).group(1).split("\\l"):
        check_has(f"{what}: the legend", text, line)
    for value in re.findall(r'^N\d+ -> N\d+ \[label="?([^\s",]+)"?,', dot, re.M):
        check_has(f"{what}: what came through", text, value)
check("the title is the file without its folder", [out(VITRINE, "graph", *argv).splitlines()[0] for argv in ([now], ["--base=" + base, now], ["--title=mine", now])],
      [f'digraph "{title}; {n} samples" {{' for title, n in (("now.folded", 55), (f"now.folded less {base}", 10), ("mine", 55))])
check("a difference: what shrank is below zero", re.search(r"-\d", text) is not None, True)
check_has("a difference: growth is reddish", svg, "#fdecea")
check_has("a difference: the opposite is bluish", svg, "#e6eefc")
sizes = {t.text: float(t.get("font-size")) for t in xml.fromstring(subprocess.run(
    [PPROF, "--svg", program, heap], capture_output=True, env=dict(os.environ, **NO_DOT)).stdout).iter(SVG + "text")}
check("the larger its share, the larger its letters", sizes["fill"] > sizes["inlined"] > sizes["deep"] > sizes["main"] >= 8, True)
with open(os.path.join(folder, "even.folded"), "w") as f:  # a total of nearly nothing: shares are far above one
    f.write("main;a<int>;b 5000\nmain;c 1\n")
with open(os.path.join(folder, "even_base.folded"), "w") as f:
    f.write("main;c 5000\n")
sizes = [float(n) for n in re.findall(r"fontsize=([\d.]+)", out(PPROF, "--dot", "--base=" + os.path.join(folder, "even_base.folded"), os.path.join(folder, "even.folded")))]
check("letters have a largest size", (len(sizes) > 3, max(sizes)), (True, 58))
for option, start in (("--pdf", b"%PDF"), ("--ps", b"%!PS")):
    data = subprocess.run([PPROF, option, program, heap], capture_output=True, env=dict(os.environ, **NO_DOT)).stdout
    check(f"{option} without graphviz: the beginning", data[:len(start)], start)
    path = os.path.join(folder, "own" + option)
    with open(path, "wb") as f:
        f.write(data)
    if option == "--pdf" and shutil.which("pdftotext"):
        text = out("pdftotext", "-layout", path, "-")
        for word in ("main", "inlined", "Total MB: 5.1", "2.9 (56.6%)"):
            check_has("pdf without graphviz", text, word)
        check("pdf without graphviz: no complaint", run("pdftotext", path, "-")[2], "")
        check_has("pdf without graphviz: one page", out("pdfinfo", path), "Pages:           1")
    if option == "--ps" and shutil.which("gs"):
        check("ps without graphviz: ghostscript takes it", run("gs", "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=nullpage", path)[0], 0)


# ---- our own pictures of pixels, read by readers of our own
def png_pixels(data):
    """(width, height, [(r, g, b)])"""
    check("png: the beginning", data[:8], b"\x89PNG\r\n\x1a\n")
    at, chunks = 8, {}
    while at < len(data):
        n = int.from_bytes(data[at:at + 4], "big")
        name, body = data[at + 4:at + 8], data[at + 8:at + 8 + n]
        check("png: the sum of a chunk", int.from_bytes(data[at + 8 + n:at + 12 + n], "big"), zlib.crc32(name + body))
        chunks[name] = chunks.get(name, b"") + body
        at += 12 + n
    w, h = (int.from_bytes(chunks[b"IHDR"][i:i + 4], "big") for i in (0, 4))
    rows, palette = zlib.decompress(chunks[b"IDAT"]), chunks[b"PLTE"]
    colours = [tuple(palette[3 * i:3 * i + 3]) for i in range(len(palette) // 3)]
    return w, h, [colours[c] for y in range(h) for c in rows[y * (w + 1) + 1:(y + 1) * (w + 1)]]


def gif_pixels(data):
    check("gif: the beginning and the end", (data[:6], data[-1:]), (b"GIF89a", b";"))
    w, h = (int.from_bytes(data[i:i + 2], "little") for i in (6, 8))
    colours = [tuple(data[13 + 3 * i:16 + 3 * i]) for i in range(256)]
    at, packed = 13 + 768 + 10 + 1, b""
    while data[at]:
        packed += data[at + 1:at + 1 + data[at]]
        at += 1 + data[at]
    check("gif: the blocks end the picture", data[at:], b"\0;")
    pixels, bits, n_bits, width, table, before = bytearray(), 0, 0, 9, [], None
    for byte in packed:
        bits |= byte << n_bits
        n_bits += 8
        if n_bits < width:
            continue
        code, bits, n_bits = bits & (1 << width) - 1, bits >> width, n_bits - width
        if code == 257:
            break
        if code == 256:
            table, width, before = [bytes([i]) for i in range(256)] + [b"", b""], 9, None
            continue
        run_of = table[code] if code < len(table) else before + before[:1]
        pixels += run_of
        if before is not None and len(table) < 4096:
            table.append(before + run_of[:1])
        if len(table) == 1 << width and width < 12:
            width += 1
        before = run_of
    return w, h, [colours[c] for c in pixels]


for what, argv, papers in (("heap", [heap], {"white"}), ("a difference", ["--base=" + base, now], {"white", "red", "blue"})):
    pictures = []
    for kind, read in (("png", png_pixels), ("gif", gif_pixels)):
        picture = os.path.join(folder, "own." + kind)
        check(f"{what}: {kind} without graphviz: exit, no word", run(VITRINE, "graph", *argv, "-o", picture, env=NO_DOT), (0, "", ""))
        data = open(picture, "rb").read()
        pictures.append(read(data))
        check_has(f"{what}: {kind}: `file` knows it", out("file", picture), kind.upper() + " image data") if shutil.which("file") else None
    check(f"{what}: both have the same pixels", pictures[0] == pictures[1], True)
    w, h, pixels = pictures[0]
    check(f"{what}: all pixels are there", (len(pixels), w > 300, h > 300), (w * h, True, True))
    seen = collections.Counter(pixels)
    check(f"{what}: papers", {n for n, c in (("white", (255, 255, 255)), ("red", (0xfd, 0xec, 0xea)), ("blue", (0xe6, 0xee, 0xfc))) if seen[c] > 1000}, papers)
    check(f"{what}: ink", 0.005 < seen[(0, 0, 0)] / len(pixels) < 0.2 and len(seen) > 40, True)
    out(VITRINE, "graph", *argv, "-o", os.path.join(folder, "same.svg"), env=NO_DOT)
    root = xml.parse(os.path.join(folder, "same.svg")).getroot()
    check(f"{what}: as large as the SVG", [round(v) for v in (w / float(root.get("width")) * 30, h / float(root.get("height")) * 30)], [40, 40])
    for g in root.iter(SVG + "g"):  # where a box of the SVG is, there is a frame; in it ink, in legible amounts
        if g.get("class") != "node":
            continue
        x, y, bw, bh = (float(g.find(SVG + "rect").get(k)) * 4 / 3 for k in ("x", "y", "width", "height"))
        row = pixels[int(y) * w:(int(y) + 1) * w]
        check(f"{what}: the upper side of a box", all(sum(c) < 100 for c in row[int(x) + 2:int(x + bw) - 2]), True)
        inside = [pixels[r * w + c] for r in range(int(y) + 3, int(y + bh) - 2) for c in range(int(x) + 3, int(x + bw) - 2)]
        check(f"{what}: letters in a box", 0.03 < sum(1 for c in inside if sum(c) < 384) / len(inside) < 0.4, True)
status, text, errors = run(PPROF, "--svg", "--base=" + heap, program, heap, env=NO_DOT)
check("nothing to draw, without graphviz", (status, text, "No nodes to print" in errors), (1, "", True))

# ---- in a browser: the wheel zooms to where it turns, dragging moves, a double click shows all again
SCRIPT = """
    const svg = document.documentElement, box = () => svg.getAttribute("viewBox").split(" ").map(Number), seen = {home: box()};
    const at = (type, x, y, more) => svg.dispatchEvent(new (type === "wheel" ? WheelEvent : MouseEvent)(type,
        Object.assign({bubbles: true, cancelable: true, clientX: x, clientY: y, button: 0}, more)));
    const place = (x, y) => { const p = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM().inverse()); return [p.x, p.y]; };
    seen.size = [svg.getAttribute("width"), svg.getAttribute("height")];
    seen.before = place(300, 200);
    at("wheel", 300, 200, {deltaY: -120});
    seen.near = box();
    seen.after = place(300, 200);
    at("mousedown", 100, 100);
    seen.held = place(100, 100);
    at("mousemove", 160, 130);
    seen.there = place(160, 130);
    at("mouseup", 160, 130);
    seen.moved = box();
    at("mousemove", 400, 400);
    seen.dropped = box();
    for (let i = 0; i < 200; i++) at("wheel", 300, 200, {deltaY: -120});
    seen.nearest = box()[2];
    for (let i = 0; i < 400; i++) at("wheel", 300, 200, {deltaY: 120});
    seen.farthest = box()[2];
    at("dblclick", 10, 10);
    seen.again = box();
    svg.setAttribute("data-seen", JSON.stringify(seen));
"""
for who, env in [("ours", NO_DOT)] + ([("graphviz's", {})] if shutil.which("dot") else []):
    picture = os.path.join(folder, who.split("'")[0] + "_move.svg")
    with open(picture, "wb") as f:
        f.write(subprocess.run([PPROF, "--svg", program, heap], capture_output=True, env=dict(os.environ, **env)).stdout)
    text = open(picture).read()
    check(f"{who}: one script, before the end", (text.count("<script>"), text.endswith("]]></script>\n</svg>\n")), (1, True))
    check(f"{who}: nothing is loaded", [a for a in re.findall(r'(?:href|src)="([^"]*)"|@import|url\(', text) if a], [])
    if not CHROMIUM:
        continue
    seen = in_browser(picture, SCRIPT)
    if not seen:
        continue
    near = lambda a, b: all(abs(x - y) < 0.01 * (1 + abs(y)) for x, y in zip(a, b))
    check(f"{who}: as large as the window", seen["size"], ["100%", "100%"])
    check(f"{who}: the wheel: a part of it", abs(seen["near"][2] / seen["home"][2] - 1 / 1.2) < 0.001, True)
    check(f"{who}: the wheel: what is below the pointer stays", near(seen["after"], seen["before"]), True)
    check(f"{who}: dragging: what was held is below the pointer", near(seen["there"], seen["held"]), True)
    check(f"{who}: dragging: as large as before", seen["moved"][2:], seen["near"][2:])
    check(f"{who}: let go: it stays", seen["dropped"], seen["moved"])
    check(f"{who}: neither too near nor too far", (seen["nearest"] > seen["home"][2] * 0.0019, seen["farthest"] < seen["home"][2] * 4.01), (True, True))
    check(f"{who}: a double click: all of it", seen["again"], seen["home"])
if not CHROMIUM:
    print("chromium is not here: moving and zooming not tried")

# ---- graphviz that fails: the picture is drawn without it, or one line says why; nothing of it is left
def fake(name, script):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write("#!/bin/sh\n" + script)
    os.chmod(path, 0o755)
    return path


FAKES = {"exit 3: dot: out of paper": fake("fails", "cat >/dev/null; echo half a picture; echo dot: out of paper >&2; echo more >&2; exit 3"),
         "exit 1": fake("at_once", "exit 1"), "ended by signal 11": fake("crashes", "kill -SEGV $$"), "no picture": fake("empty", "cat >/dev/null"),
         "Permission denied": os.path.join(folder, "not_executable")}
open(os.path.join(folder, "not_executable"), "w").close()
for why, program_of_it in FAKES.items():
    env = {"DOT": program_of_it}
    for kind, first in (("svg", b"<?xml"), ("ps", b"%!PS"), ("png", b"\x89PNG"), ("gif", b"GIF89a")):
        picture = os.path.join(folder, "fallback." + kind)
        status, text, errors = run(VITRINE, "graph", heap, "-o", picture, env=env)
        check(f"{why}: {kind}: exit, one line", (status, errors.count("\n")), (0, 1))
        check_has(f"{why}: {kind}: message", errors, f"warning: '{program_of_it}' could not draw the graph: {why}; it is drawn without")
        check(f"{why}: {kind}: a whole picture", open(picture, "rb").read().startswith(first), True)
    picture = os.path.join(folder, "named.gif")
    status, text, errors = run(PPROF, "--gif", "-output=" + picture, program, heap, env=env)
    check(f"{why}: pprof -output: exit, the picture", (status, open(picture, "rb").read()[:6]), (0, b"GIF89a"))
pipe = os.path.join(folder, "pipe.png")
os.mkfifo(pipe)
reader = subprocess.Popen(["cat", pipe], stdout=subprocess.DEVNULL)
check("a pipe as the output: nothing to draw", run(VITRINE, "graph", "--base=" + heap, heap, "-o", pipe, env=NO_DOT)[0], 1)
check("a pipe as the output is not removed", (reader.wait(), os.path.exists(pipe)), (0, True))

# ---- graphviz's pictures
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
