#!/usr/bin/env python3
"""flame.py - the flame graph: well-formed, whole, needs nothing from elsewhere; zoom and search work in a browser."""
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
        found.append((g.get("data-n"), float(g.get("data-x")), float(g.get("data-w")), float(rect.get("y")),
                      g.find(SVG + "title").text))
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
check_has("title", svg, "main (95, 95.00%)")

# nothing from elsewhere: the only addresses are names of XML languages
addresses = set(re.findall(r"https?://[^\s\"'<>]+", svg))
check("addresses", addresses - {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}, set())
check("nothing is loaded", re.findall(r"(?:href|src|@import|url\()", svg), [])

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
check("bytes that are no characters", names, ["all", "main", "??", "\u00e9t\u00e9", "?????"])

# a difference: growth is red, the opposite blue
base = os.path.join(folder, "base.folded")
with open(base, "w") as f:
    f.write("main;a 10\nmain;b 30\n")
svg = picture("main;a 30\nmain;b 10\n", "--base=" + base)
fills = {g.get("data-n"): g.find(SVG + "rect").get("fill") for g in xml.fromstring(svg).iter(SVG + "g") if g.get("data-n")}
check_has("growth is red", fills["a"], "hsl(4,")
check_has("shrinking is blue", fills["b"], "hsl(215,")

# ---- in a browser
chromium = shutil.which("chromium") or shutil.which("chromium-browser")
if chromium:
    script = """<script><![CDATA[
        const by = n => Array.from(document.querySelectorAll(".frame")).find(g => g.dataset.n === n);
        by("work").dispatchEvent(new MouseEvent("click", {bubbles: true}));
        const box = document.getElementById("search");
        box.value = "^pa";
        box.dispatchEvent(new Event("input"));
        document.documentElement.setAttribute("data-seen", JSON.stringify({
            work: by("work").querySelector("rect").getAttribute("width"),
            main: by("main").classList.contains("above"),
            other: by("other").classList.contains("gone"),
            parse: by("parse").classList.contains("found"),
            found: document.getElementById("found").textContent}));
        document.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}));
        document.documentElement.setAttribute("data-after", by("work").querySelector("rect").getAttribute("width"));
    ]]></script></svg>"""
    path = os.path.join(folder, "x.svg")
    with open(path, "w") as f:
        f.write(picture(TEXT).replace("</svg>", script))
    dom = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "--user-data-dir=" + folder + "/c",
                          "file://" + path], capture_output=True, timeout=120).stdout.decode()
    m = re.search(r'data-seen="([^"]*)"', dom)
    check("the script ran", m is not None, True)
    if m:
        state = json.loads(m.group(1).replace("&quot;", '"'))
        check("click: the frame has the whole width", float(state["work"]), 1179.8)
        check("click: its caller is above it", state["main"], True)
        check("click: others are gone", state["other"], True)
        check("search marks", state["parse"], True)
        check("search counts", state["found"], "1 frames, 60.00%")
        check("Escape: as it was", re.search(r'data-after="([^"]*)"', dom).group(1), "943.80")
else:
    print("chromium is not here: zoom and search not tried")
done()
