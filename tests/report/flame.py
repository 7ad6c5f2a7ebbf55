#!/usr/bin/env python3
"""flame.py - the flame graph as picture and page: well-formed, whole, needs nothing from elsewhere; zoom, search and keys work
in a browser, light or dark."""
import xml.etree.ElementTree as xml

from tool import *

SVG = "{http://www.w3.org/2000/svg}"
folder = scratch()


def picture(text, *options):
    path = os.path.join(folder, "in.folded")
    with open(path, "w") as f:
        f.write(text)
    return out(VITRINE, "flame", path, *options)


def frames(svg):
    """[(name, x, w, y, title)]"""
    found = []
    for g in xml.fromstring(svg).iter(SVG + "g"):
        if g.get("class") != "frame":
            continue
        rect = g.find(SVG + "rect")
        title = g.find(SVG + "title").text
        found.append((title.split("\n")[0], float(g.get("data-x")), float(g.get("data-w")), float(rect.get("y")), title))
    return found


TEXT = "main;work;parse<int>(\"&\") 60\nmain;work 20\nmain;idle 15\nother;idle 5\n"
svg = picture(TEXT, "--full-names")
seen = {(name, round(y)): (x, w) for name, x, w, y, _ in frames(svg)}
rows_y = sorted({y for _, y in seen})
check("all is the whole width", seen[("all", rows_y[0])], (0.0, 1.0))
check_near("main", seen[("main", rows_y[1])][1], 0.95, 1e-6)
check_near("work", seen[("work", rows_y[2])][1], 0.80, 1e-6)
check_near("a name that XML must escape", seen[('parse<int>("&")', rows_y[3])][1], 0.60, 1e-6)
check_near("siblings: the second begins where the first ends", seen[("other", rows_y[1])][0], 0.95, 1e-6)
check("frames", len(frames(svg)), 7)
check_has("title", svg, "main\n95, 95.00%")

# what it is called unless told: the file without its folder
title = lambda svg: xml.fromstring(svg).find(SVG + "title").text
path, other = os.path.join(folder, "in.folded"), os.path.join(folder, "other.folded")
with open(other, "w") as f:
    f.write("main 1\n")
check("titles", [title(t) for t in (svg, out(VITRINE, "flame", path, other), out(VITRINE, "flame", "--base=" + other, path), out(
    VITRINE, "flame", "-", stdin=TEXT.encode()), out(VITRINE, "flame", "--title=mine & yours", path))],
      ["in.folded", "in.folded and 1 more", f"in.folded less {other}", "standard input", "mine & yours"])

# nothing from elsewhere: the only addresses are names of XML languages
addresses = set(re.findall(r"https?://[^\s\"'<>]+", svg))
check("addresses", addresses - {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}, set())
check("nothing is loaded", re.findall(r"(?:href|src=|@import|url\()", svg), [])

# many small frames: none outside its parent, and not too many of them
many = "".join(f"main;f{i % 300};g{i % 7};h{i} {i % 13 + 1}\n" for i in range(60000))
svg = picture(many)
check("a large picture has a limit", len(frames(svg)) <= 20000, True)
check("a large picture stays small", len(svg) < 8_000_000, True)
worst = max(x + w for _, x, w, _, _ in frames(svg))
check("nothing sticks out", worst <= 1 + 1e-6, True)
deep = picture(";".join(f"f{i}" for i in range(5000)) + " 1\n")
check("a very deep stack is drawn to a limit", 500 < len(frames(deep)) < 2000, True)
odd = os.path.join(folder, "odd.folded")
with open(odd, "wb") as f:
    f.write(b"main;\xff\xfe 3\nmain;\xc3\xa9t\xc3\xa9 2\nmain;\xed\xa0\x80\xc0\x80 1\n")
names = [name for name, *_ in frames(out(VITRINE, "flame", odd))]
check("bytes that are no characters", names, ["all", "main", r"\xff\xfe", "\u00e9t\u00e9", r"\xed\xa0\x80\xc0\x80"])

# a difference: growth is red, the opposite blue
base = os.path.join(folder, "base.folded")
with open(base, "w") as f:
    f.write("main;a 10\nmain;b 30\n")
svg = picture("main;a 30\nmain;b 10\n", "--base=" + base)
fills = {g.find(SVG + "title").text.split("\n")[0]: g.find(SVG + "rect").get("fill")
         for g in xml.fromstring(svg).iter(SVG + "g") if g.get("data-x")}
check_has("growth is red", fills["a"], "hsl(4,")
check_has("shrinking is blue", fills["b"], "hsl(215,")

# something grew, nothing shrank: still a difference
svg = picture("main;a 30\nmain;b 30\n", "--base=" + base)
fills = {g.find(SVG + "title").text: g.find(SVG + "rect").get("fill") for g in xml.fromstring(svg).iter(SVG + "g") if g.get("data-x")}
check_has("growth alone is red", fills["a\n+20, 100.00%"], "hsl(4,")
check_has("growth alone: told", svg, "grew by 20 (red), shrank by 0 (blue)")

# ---- the page: the same frames
def page(text, *options):
    path = os.path.join(folder, "page.html")
    picture(text, "-o", path, *options)
    with open(path) as f:
        return f.read()


def frames_of_page(html):
    """[(name, x, w)] of the picture within, which is well-formed XML"""
    inner = html[html.index("<svg "):html.index("</svg>") + 6]
    return [(name, x, w) for name, x, w, _, _ in frames(inner)]


html = page(TEXT, "--full-names", "--title=a <b> & c")
check("the page has the picture's frames", frames_of_page(html), [f[:3] for f in frames(picture(TEXT, "--full-names"))])
check_has("the page's title is escaped", html, "<title>a &lt;b&gt; &amp; c</title>")
check("the page: addresses", set(re.findall(r"https?://[^\s\"'<>]+", html)), {"http://www.w3.org/2000/svg"})
check("the page: nothing is loaded", re.findall(r"(?:href|src=|@import|url\(|fetch\()", html), [])
check("no word of the templates is left", re.findall(r"@[a-z_]+@", html + svg), [])

# ---- a large profile: 200,000 stacks
import random
random.seed(2)
path = os.path.join(folder, "large.folded")
with open(path, "w") as f:
    for i in range(200000):
        depth = random.randrange(10, 30)
        f.write(";".join(f"name_of_function_{random.randrange(4) if k < 6 else random.randrange(40)}_{k}" for k in range(depth)) + f" {i % 7 + 1}\n")
for kind in ("svg", "html"):
    large = os.path.join(folder, "large." + kind)
    out(VITRINE, "flame", path, "-o", large)
    size = os.path.getsize(large)
    print(f"200,000 stacks: {size} bytes of {kind}")
    check(f"200,000 stacks: {kind} below 6 MB", size < 6_000_000, True)
    with open(large) as f:
        text = f.read()
    m = re.search(r"; (\d+) frames below \S+ are not drawn", text)
    check(f"200,000 stacks: {kind} says what is left out", m is not None and int(m.group(1)) > 1000000, True)

# ---- in a browser
SCRIPT = """
    const all = Array.from(document.querySelectorAll(".frame"));
    const by = n => all.find(g => (g.getAttribute("aria-label") || g.querySelector("title").textContent).split(/\\s/)[0] === n);
    const key = k => document.dispatchEvent(new KeyboardEvent("keydown", {key: k}));
    const width = n => Number(by(n).querySelector("rect").getAttribute("width"));
    const root = document.documentElement, whole = width("all"), seen = {whole: whole, before: width("work") / whole};
    by("work").dispatchEvent(new MouseEvent("click", {bubbles: true}));
    seen.work = width("work") / whole;
    seen.main = by("main").classList.contains("above");
    seen.other = by("other").classList.contains("gone");
    const box = document.getElementById("search");
    box.value = "^pa";
    box.dispatchEvent(new Event("input"));
    seen.parse = by("parse").classList.contains("found");
    seen.found = document.getElementById("found").textContent;
    key("Escape");
    seen.after = width("work") / whole;
    seen.cleared = by("parse").classList.contains("found");
    key("ArrowUp"); key("ArrowRight"); key("ArrowLeft"); key("ArrowDown"); key("ArrowDown"); key("Enter");
    seen.keys = width("parse") / whole;
    key("Backspace");
    seen.out = width("work") / whole;
    by("main").dispatchEvent(new MouseEvent("mousemove", {bubbles: true}));
    seen.status = document.getElementById("status").textContent;
    const tip = document.getElementById("tip");
    seen.tip = tip ? tip.textContent : by("main").querySelector("title").textContent;
    const labels = Array.from(document.querySelectorAll("#frames text")).filter(t => t.textContent && t.getBBox().width > 0);
    seen.labels = labels.length;
    seen.outside = labels.filter(t => t.getBBox().x + t.getBBox().width > 0.5 +
        Number(t.parentNode.querySelector("rect").getAttribute("x")) + Number(t.parentNode.querySelector("rect").getAttribute("width"))).length;
    seen.paper = getComputedStyle(document.querySelector(".paper") || root)[document.querySelector(".paper") ? "fill" : "backgroundColor"];
    root.setAttribute("data-seen", JSON.stringify(seen));
"""


def seen_of(kind, *flags):
    path = os.path.join(folder, "x." + kind)
    picture(TEXT, "-o", path)
    return in_browser(path, SCRIPT, *flags)


if CHROMIUM:
    for kind in ("svg", "html"):
        seen = seen_of(kind)
        if not seen:
            continue
        check_near(f"{kind}: before", seen["before"], 0.8, 0.001)
        check_near(f"{kind}: click: the frame has the whole width", seen["work"], 1, 0.001)
        check(f"{kind}: click: its caller is above it", seen["main"], True)
        check(f"{kind}: click: others are gone", seen["other"], True)
        check(f"{kind}: search marks", seen["parse"], True)
        check(f"{kind}: search counts", seen["found"], "1 frames, 60.00%")
        check_near(f"{kind}: Escape: as it was", seen["after"], 0.8, 0.001)
        check(f"{kind}: Escape: search is gone", seen["cleared"], False)
        check_near(f"{kind}: arrows and Enter", seen["keys"], 1, 0.001)
        check_near(f"{kind}: Backspace: one out", seen["out"], 1, 0.001)
        check_has(f"{kind}: status", seen["status"], "main  95, 95.00%")
        check(f"{kind}: tooltip", seen["tip"], "main\n95, 95.00%")
        check(f"{kind}: labels", seen["labels"] >= 3, True)
        check(f"{kind}: no label outside its frame", seen["outside"], 0)
        check(f"{kind}: width", seen["whole"], 1179.4 if kind == "svg" else 979.4)
        check(f"{kind}: light", seen["paper"], "rgb(252, 252, 250)")
        check(f"{kind}: dark", seen_of(kind, "--blink-settings=preferredColorScheme=0")["paper"], "rgb(23, 24, 27)")
else:
    print("chromium is not here: zoom, search and keys not tried")
done()
