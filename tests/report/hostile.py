#!/usr/bin/env python3
"""hostile.py - names that a terminal, an XML reader or a shell would obey: in every view and format, on a terminal and in a file.

Every string of the profile is hostile: it clears the screen, hides text, ends its line and forges another, is no UTF-8, opens a
script. Nothing of it comes out but as text.
"""
import html.parser
import pty
import socket
import threading
import xml.etree.ElementTree as xml

import proto
from tool import *

folder = scratch()
# ESC [31m, OSC 0, BEL, BS, CR, LF, TAB, DEL, C1 as UTF-8 and as bytes, bidi, line separators, half characters, U+FFFF
WILD = (b"\x1b[31m\x1b]0;t\x07\x08\r\x7f\xc2\x9b2J\xc2\x85\x9b\x90\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8\xd8\x9c\xff\xc3\xef\xbf\xbf"
        b"\nFORGED \t")
MARKUP = b"\"'&#27;&lt;]]></title></text><script>alert`1`</script>\\N;"
TAME = "\u00e9t\u00e9".encode()  # stays as it is


def evil(name):
    return name.encode() + TAME + WILD + MARKUP + name.encode()


def profile(types=("space", "bytes"), kinds=None):
    strings, body = [b""], b""

    def text(s):
        strings.append(s)
        return len(strings) - 1

    field, varint = proto.field, proto.varint
    for i, unit in enumerate(types):
        body += field(1, field(1, text(kinds[i] if kinds else evil(f"type{i}"))) + field(2, text(b"bytes" if i == 0 else evil("unit"))))
    for stack in ((1, 2, 3), (2, 3), (3,)):
        labels = field(3, field(1, text(evil("key"))) + field(2, text(evil("label"))))
        labels += field(3, field(1, text(evil("size"))) + field(3, 4096) + field(4, text(evil("label_unit"))))
        body += field(2, field(1, b"".join(map(varint, stack))) + field(2, b"".join(varint(1000) for _ in types)) + labels)
    body += field(3, field(1, 1) + field(2, 0x400000) + field(3, 0x500000) + field(5, text(b"/" + evil("mapping"))) + field(6, text(evil("id"))))
    for i in (1, 2, 3):
        lines = field(4, field(1, i) + field(2, 10)) if i < 3 else b""  # the last has no name
        body += field(4, field(1, i) + field(2, 1) + field(3, 0x400000 + i * 16) + lines)
        body += field(5, field(1, i) + field(2, text(evil(f"f{i}"))) + field(3, text(evil("system"))) + field(4, text(evil("file"))))
    body += field(13, text(evil("comment"))) + field(11, field(1, text(evil("period"))) + field(2, text(evil("period_unit"))))
    body += b"".join(field(6, s) for s in strings)
    return body


evil_name = WILD.replace(b"\x00", b"") + b"<b>'\".pb"
path = os.path.join(os.fsencode(folder), evil_name)
with open(path, "wb") as f:
    f.write(profile())
path = os.fsdecode(path)

CONTROLS = [*range(0x20), *range(0x7f, 0xa0), 0x61c, 0x200e, 0x200f, *range(0x2028, 0x202f), *range(0x2066, 0x206a), 0xfffe, 0xffff]


def harm(data, newline="\n\t"):
    """What of it is not text: codes of characters, and bytes that are no UTF-8."""
    text = data.decode(errors="surrogateescape")
    return sorted({hex(ord(c)) for c in text if (ord(c) in CONTROLS or 0xdc80 <= ord(c) <= 0xdcff) and c not in newline})


def check_harmless(what, data):
    check(f"{what}: nothing that is obeyed", harm(data), [])
    check(f"{what}: no line of its own", [l for l in data.decode(errors="replace").splitlines() if l.lstrip().startswith("FORGED")], [])


def to_file(argv, env=None):
    r = subprocess.run(argv, capture_output=True, timeout=120, stdin=subprocess.DEVNULL, env=dict(os.environ, **(env or {})))
    return r.returncode, r.stdout, r.stderr


def on_terminal(argv, env=None, typed=b""):
    """All that appears, without what the terminal itself adds."""
    import termios
    master, slave = pty.openpty()
    modes = termios.tcgetattr(slave)
    modes[1] &= ~termios.OPOST
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(slave, termios.TCSANOW, modes)
    full = dict(os.environ, NO_COLOR="1", TERM="xterm", **(env or {}))
    p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=slave, stderr=slave, env=full)
    os.close(slave)
    seen = bytearray()

    def collect():
        try:
            while data := os.read(master, 65536):
                seen.extend(data)
        except OSError:
            pass

    reader = threading.Thread(target=collect)
    reader.start()
    p.stdin.write(typed)
    p.stdin.close()
    p.wait(timeout=120)
    reader.join()
    os.close(master)
    return bytes(seen).replace(b"\r\x1b[K", b"")  # progress


def both_ways(what, argv, status=0, env=None, shows=b"FORGED"):
    seen, text, errors = to_file(argv, env)
    check(f"{what}: exit", seen, status)
    check_harmless(f"{what}, to a file", text)
    check_harmless(f"{what}, to a file, messages", errors)
    check(f"{what}: it is there", shows in text + errors, True)
    check_harmless(f"{what}, on a terminal", on_terminal(argv, env))
    return text


# ---- every view of text, in its three forms

shown = None
for view in ("top", "tree", "traces", "tags", "collapsed", "raw", "peek", "list"):
    words = [view] + (["f"] if view in ("peek", "list") else [])
    for form in ([], ["--csv"], ["--json"]):
        for by in ([[]] if view in ("raw", "list", "tags") else [[], ["--by=lines"], ["--by=files"]]):
            full = [] if view == "raw" else ["--full-names"]  # short ones lack what is between brackets
            both_ways(" ".join(words + form + by), [VITRINE, *words, *form, *by, path])
            text = both_ways(" ".join(words + form + by + full), [VITRINE, *words, *form, *by, *full, path])
            if form == ["--json"]:
                json.loads(text)
            if view == "top" and not form and not by:
                shown = text.decode(errors="replace")
check_has("spelled", shown, r"f1" + TAME.decode() + r"\x1b[31m\x1b]0;t\x07\x08\x0d\x7f\u009b2J\u0085\x9b\x90\u202e\u2066\u2028\u061c\xff\xc3\uffff\x0aFORGED \x09")
names = [row["name"] for row in json.loads(out(VITRINE, "top", "--full-names", "--json", path))["rows"]]
check("JSON gives back what was there", any("\x1b[31m\x1b]0;t\x07\x08\r\x7f\u009b2J\u0085" in n and "\u202e" in n and "\nFORGED" in n for n in names), True)
check("JSON has no bytes that are no characters", any(r"\x9b\x90" in n for n in names), True)
for line in to_file([VITRINE, "collapsed", path])[1].splitlines():
    check("collapsed: a stack and a number", bool(re.fullmatch(rb"[^;]+(;[^;]+)* \d+", line)), True)
rows = to_file([VITRINE, "top", "--full-names", "--csv", path])[1].decode(errors="replace")
import csv
check("CSV: as many rows as functions", len(list(csv.reader(rows.splitlines()))), 4)
for argv in (["diff", path, path], ["top", "--base", path, path], ["top", "--focus=" + path, path], ["top", "--type=" + path, path],
             ["nonsense" + path], ["top", "--" + path], ["top", path + "x"], ["graph", path, "-o", path], ["convert", path, path],
             ["top", path, "-o", "/nowhere/" + path], ["ctl", path, "stats"], ["ctl", "1", path], ["ps", path], ["run", path], ["top", "--program=" + path, path],
             ["top", "--focus=(" + path, path], ["top", "--tag-focus=" + path + ":", path]):
    status, text, errors = to_file([VITRINE, *argv])
    check_harmless(f"message of {argv[0][:8]}", text + errors)
    check(f"message of {argv[0][:8]}: one line each", errors.count(b"\n"), errors.count(b"vitrine: "))
    check_harmless(f"message of {argv[0][:8]}, on a terminal", on_terminal([VITRINE, *argv]))

# ---- pictures and pages


def check_xml(what, data):
    """Well-formed, the only scripts are ours, and no attribute runs anything."""
    check_harmless(what, data)
    r = subprocess.run(["xmllint", "--noout", "--nonet", "-"], input=data, capture_output=True) if shutil.which("xmllint") else None
    if r:
        check(f"{what}: xmllint", (r.returncode, r.stderr[:300]), (0, b""))
    try:
        tree = xml.fromstring(data)
    except xml.ParseError as e:
        check(f"{what}: is XML", str(e), "")
        return
    check(f"{what}: scripts", [s.text for s in tree.iter() if s.tag.endswith("script") and "alert" in (s.text or "")], [])
    for e in tree.iter():
        check(f"{what}: attributes", [a for a in e.attrib if a.lower().startswith("on") or "javascript:" in e.attrib[a]], [])


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.scripts, self.is_script = [], False

    def handle_starttag(self, tag, attributes):
        check("page: attributes", [a for a, _ in attributes if a.startswith("on")], [])
        self.is_script = tag == "script"
        if self.is_script:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.is_script = False

    def handle_data(self, data):
        if self.is_script:
            self.scripts[-1] += data


def check_page(what, data):
    page = Page()
    page.feed(data.decode(errors="replace"))
    check_harmless(what, data)
    check(f"{what}: no script but ours", [s for s in page.scripts if "alert" in s], [])
    return page.scripts


def made(*argv, end, env=None, of=path):
    target = os.path.join(folder, "made" + end)
    status, _, errors = to_file([VITRINE, *argv, of, "-o", target], env)
    check(f"{argv}{end}: exit", status, 0)
    check_harmless(f"{argv}{end}: messages", errors)
    with open(target, "rb") as f:
        return f.read()


def check_latin(what, data):
    check(f"{what}: text of Latin 1", sorted({hex(c) for c in data if c < 0x20 and c not in b"\n\t" or 0x7f <= c < 0xa0}), [])


alone = {"DOT": "/nowhere/" + os.fsdecode(WILD)}  # then we draw ourselves
check_xml("flame.svg", made("flame", end=".svg"))
check_xml("flame.svg with a title", made("flame", "--title=" + os.fsdecode(evil("title")), end=".svg"))
check("flame.html: one script", len(check_page("flame.html", made("flame", end=".html"))), 1)
check_xml("graph.svg, our own", made("graph", end=".svg", env=alone))
check_latin("graph.ps, our own", made("graph", end=".ps", env=alone))
check_harmless("graph.dot", made("graph", end=".dot"))
check_latin("graph.pdf, our own", made("graph", end=".pdf", env=alone))
if shutil.which("dot"):
    check_xml("graph.svg, graphviz's", made("graph", end=".svg"))
    check_latin("graph.ps, graphviz's", made("graph", end=".ps"))
    for name in ("a&", "&", "a&;", "&#27;", "a&amp", "a & b", "a&&"):  # what follows in the title makes an entity of it, or does not
        shutil.copy(path, os.path.join(folder, name))
        check_xml(f"graph.svg of {name!r}, graphviz's", made("graph", end=".svg", of=os.path.join(folder, name)))
else:
    print("no graphviz here: its pictures are not looked at")
r = subprocess.run([VITRINE, "graph", path, "-o", os.path.join(folder, "x.svg")], env=dict(os.environ, DOT=os.fsdecode(WILD)), capture_output=True)
check_harmless("a hostile DOT", r.stderr)

# ---- files for other programs

for end in (".collapsed", ".callgrind", ".speedscope.json", ".firefox.json", ".trace.json"):
    target = os.path.join(folder, "x" + end)
    status, text, errors = to_file([VITRINE, "convert", path, target])
    check_harmless(f"convert {end}: messages", text + errors)
    if end == ".trace.json":
        check("a trace of bytes: refused", status, 2)
        continue
    check(f"convert {end}: exit", status, 0)
    with open(target, "rb") as f:
        data = f.read()
    check_harmless(f"convert {end}", data)
    if end.endswith("json"):
        json.loads(data)
target = os.path.join(folder, "x.pb")
out(VITRINE, "convert", path, target)
check("pprof's own format keeps the bytes", evil("f1") in open(target, "rb").read() or evil("f1") in __import__("gzip").open(target).read(), True)

seen = on_terminal([VITRINE, "convert", "--to=pprof", path, "-"])
check_harmless("convert to a terminal", seen)
check_has("convert to a terminal", seen.decode(), "error: bytes on a terminal: redirect them, or name a file")

# ---- the old names

for tool in (PPROF, JEPROF):
    for option in ("--text", "--stacks", "--tree", "--traces", "--tags", "--peek=f", "--list=f", "--collapsed", "--callgrind", "--comments", "--dot",
                   "--text --lines"):
        if tool == PPROF or option != "--stacks":
            both_ways(f"{os.path.basename(tool)} {option}", [tool, *option.split(), path])
    for option in ("--raw", "--proto", "--topproto", "--png", "--pdf", "--gif"):
        seen = on_terminal([tool, option, path])
        check_harmless(f"{os.path.basename(tool)} {option} on a terminal", seen)
        check_has(f"{os.path.basename(tool)} {option} on a terminal", seen.decode(), "error: bytes on a terminal: redirect them, or name a file")
    check_xml(f"{os.path.basename(tool)} --svg", to_file([tool, "--svg", path])[1])
    check_page(f"{os.path.basename(tool)} --weblist", to_file([tool, "--weblist=f", path], {"PATH": "/nowhere"})[1])
    for argv in (["--nonsense" + path, path], ["--symbolize=" + path, path], ["--sort=" + path, path], ["--text", path + "x"], ["--thread=" + path, "--text", path],
                 ["--sample_index=" + path, "--text", path]):
        check_harmless(f"message of {argv[0][:12]}", b"".join(to_file([tool, *argv])[1:]))
lines = b"options\ntop\nsample_index=" + WILD.replace(b"\n", b"") + b"\ntop -" + WILD.split(b"\r")[0] + b"\nhelp " + WILD.split(b"\r")[0] + b"\ncomments\nfocus=\x1b[31m\ntop\n"
check_harmless("the prompt", on_terminal([PPROF, "--interactive", path], typed=lines))

# ---- programs: their names, functions, sources

source = b"// \x1b[31m \xc2\x9b \xff \x0bFORGED\n#include <stdlib.h>\nvoid *keep[200];\n" \
         b"__attribute__((noinline)) void *evil(int i) __asm__(\"evil\\033[31m\\302\\2332J\\nFORGED\");\n" \
         b"void *evil(int i) { // \x1b]0;t\x07 a\ttab\n    return keep[i] = malloc(100000); }\n" \
         b"int main(void) { for (int i = 0; i < 200; i++) if (!evil(i)) return 1; return 0; }\n"
here = os.path.join(os.fsencode(folder), b"pl\x1b[31m\xc2\x9b\xe2\x80\xaeace")
os.mkdir(here)
c_file, program = os.path.join(here, b"s\x1b[31mrc.c"), os.path.join(here, b"pr\x1b[31m\x07og")
with open(c_file, "wb") as f:
    f.write(source)
built = subprocess.run([os.environ.get("CC", "cc").encode(), b"-g", b"-O1", b"-fno-lto", c_file, b"-o", program], capture_output=True)
if built.returncode != 0:  # an assembler that takes no such names
    with open(c_file, "wb") as f:
        f.write(re.sub(rb" __asm__\(.*?\);", b";", source))
    subprocess.run([os.environ.get("CC", "cc").encode(), b"-g", b"-O1", c_file, b"-o", program], check=True)
place = os.path.join(here, b"out")
argv = [VITRINE, "run", "-o", os.fsdecode(place), os.fsdecode(program)]
both_ways("run", argv, shows=rb"pr\x1b[31m")
heaps = glob.glob(os.path.join(glob.escape(place), b"*.0001.heap"))
check("run: a profile", len(heaps) > 0, True)
for words in (["list", "evil"], ["disasm", "evil"], ["top"], ["top", "--by=lines"], ["traces"]):
    text = both_ways(" ".join(words) + " of a program", [VITRINE, *words, os.fsdecode(heaps[0])],
                     shows=rb"\x1b[31m" if words[0] in ("list", "disasm") else b"evil")
    if words[0] == "list":
        check("list: tabs of the source stay", b"a\ttab" in text, True)
check_page("weblist of a program", to_file([PPROF, "--weblist=evil", os.fsdecode(heaps[0])], {"PATH": "/nowhere"})[1])

# ---- a server: its warnings, its program's name, what it answers

ANSWERS = {b"/pprof/cmdline": b"/bin/ev\x1b[31m$(touch x)\xc2\x9bil\0", b"/pprof/heap": b"%warn \x1b[31m\xc2\x9b hostile\n%\x1b[31m\nheap profile: 1: 100 [1: 100] @ heapprofile\n"
           b"1: 100 [1: 100] @ 0x400010\nMAPPED_LIBRARIES:\n", b"/pprof/symbol": b"num_symbols: 1\n"}


def serve(listener):
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            request = connection.recv(65536)
            page = request.split()[1].split(b"?")[0]
            answer = ANSWERS.get(page)
            if request.startswith(b"POST"):
                answer = b"0x400010\tf\x1b[31m\xc2\x9b\n0x000000000040000f\tf\x1b[31m\xc2\x9b\n"
            status = b"200 OK" if answer else b"500 ev\x1b[31mil"
            answer = answer or b"\x1b[31m\xc2\x9b what a server says\n"
            connection.sendall(b"HTTP/1.0 " + status + b"\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)


listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=serve, args=(listener,), daemon=True).start()
at = f"127.0.0.1:{listener.getsockname()[1]}"
kept = {"PPROF_TMPDIR": os.path.join(folder, "kept"), "no_proxy": "*"}
both_ways("a server's profile", [VITRINE, "top", at + "/pprof/heap"], shows=rb"f\x1b[31m\u009b", env=kept)
both_ways("a server's profile, kept", [PPROF, "--text", at + "/pprof/heap"], shows=rb"f\x1b[31m\u009b", env=kept)
text = to_file([PPROF, "--text", at + "/pprof/heap"], kept)[2]
check("what a server says is no word of a command to paste", b"$(" in text, False)
check("names of kept files", [n for n in os.listdir(os.fsencode(kept["PPROF_TMPDIR"])) if harm(n)], [])
both_ways("a server's error", [VITRINE, "top", at + "/pprof/growth"], status=3, shows=b"what a server says", env=kept)
listener.close()

# ---- budgets, boxes, core files, running programs, names put into profiles

here = os.path.join(os.fsencode(folder), b"wild")
os.mkdir(here)


def wild_file(name, data=b"garbage"):
    file = os.path.join(here, name + WILD)
    with open(file, "wb") as f:
        f.write(data)
    return os.fsdecode(file)


heap = wild_file(b"heap", profile(kinds=(b"inuse_space", b"alloc_space")))
for words in ([], ["--json"], ["--junit"]):
    text = both_ways("check " + " ".join(words), [VITRINE, "check", "--max-live=1", *words, heap], status=1)
    if words == ["--json"]:
        json.loads(text)
    if words == ["--junit"]:
        xml.fromstring(text)
both_ways("check of garbage", [VITRINE, "check", "--max-live=1", wild_file(b"check")], status=3, shows=b"x1b[31m")
both_ways("check's budget", [VITRINE, "check", "--max-live=" + os.fsdecode(WILD), heap], status=2, shows=b"x1b[31m")
bomb = os.path.join(folder, "bomb")
out(os.environ.get("CC", "cc"), "-D_GNU_SOURCE", "-I", os.path.join(HERE, "..", "..", "include"), os.path.join(HERE, "..", "box", "bomb.c"), "-o", bomb)
for command, way in (("read", ("good", "100")), ("core", ("core", "1"))):
    box = wild_file(way[0].encode())
    both_ways(f"{command} of garbage", [VITRINE, command, box], status=3, shows=b"x1b[31m")
    out(bomb, box, *way)
    both_ways(command, [VITRINE, command, "-o", os.path.join(os.fsdecode(here), "out" + os.fsdecode(WILD)), box], shows=b"x1b[31m")
both_ways("symbolize of garbage", [VITRINE, "symbolize", wild_file(b"names")], status=3, shows=b"x1b[31m")
seen, text, errors = to_file([VITRINE, "symbolize", heap])
check("symbolize: exit", seen, 0)
check_harmless("symbolize", text + errors)
check_harmless("symbolize, on a terminal", on_terminal([VITRINE, "symbolize", heap]))
sleeper = os.path.join(here, b"ev\x1b[31m\xc2\x9b")
shutil.copy("/bin/sleep", sleeper)
p = subprocess.Popen([sleeper, "600"], env=dict(os.environ, LD_PRELOAD=os.path.join(BUILD, "lib", "libvitrine.so.1")))
try:
    for _ in range(100):
        if b"ev" in to_file([VITRINE, "ps"])[1]:
            break
    for words in ([], ["--json"]):
        text = both_ways("ps " + " ".join(words), [VITRINE, "ps", *words], shows=b"ev")
        if words:
            json.loads(text)
finally:
    p.kill()
    p.wait()

# ---- the libraries' own lines: values and paths of the environment, whoever reads them; names of functions

LIBRARIES = ("libvitrine.so.1", "libtcmalloc.so.4", "libtcmalloc_debug.so.4", "libtcmalloc_and_profiler.so.4", "libprofiler.so.0", "libjemalloc.so.2",
             "libmimalloc.so.3", "mimalloc-2/libmimalloc.so.2")
LIBRARIES = [f for f in (os.path.join(BUILD, "lib", name) for name in LIBRARIES) if os.path.exists(f)]
ONE_LINE = WILD.replace(b"\n", b"")
VARIABLES = [(name, b"/nowhere/" + WILD, {}) for name in ("VITRINE_HEAP_PROFILE", "VITRINE_CPU_PROFILE", "VITRINE_CONTENTION_PROFILE", "VITRINE_BLACK_BOX",
                                                          "HEAPPROFILE", "CPUPROFILE")]
VARIABLES += [(name, WILD + b"=1", {}) for name in ("VITRINE", "VITRINE_SAMPLE", "VITRINE_HEAP_OOM", "MALLOC_CONF", "HEAPCHECK", "MALLOCSTATS",
                                                    "TCMALLOC_STACKTRACE_METHOD", "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES", "MIMALLOC_PURGE_DELAY",
                                                    *(prefix + os.fsdecode(ONE_LINE) for prefix in ("VITRINE_", "TCMALLOC_", "MIMALLOC_")))]
VARIABLES += [("HEAPPROFILESIGNAL", b"99" + WILD, {"HEAPPROFILE": os.path.join(folder, "signal")}),
              ("CPUPROFILESIGNAL", b"99" + WILD, {"CPUPROFILE": os.path.join(folder, "signal")}),
              ("CPUPROFILE_FREQUENCY", b"99" + WILD, {"CPUPROFILE": os.path.join(folder, "often")}),
              ("VITRINE_HEAP_PROFILE", os.fsencode(folder) + b"/oom" + WILD, {"VITRINE_HEAP_OOM": "1", "VITRINE_SAMPLE": "64K"}),
              ("TCMALLOC_TRACE_FILE", b"/nowhere/" + WILD, {"TCMALLOC_TRACE": "1"}),
              ("MALLOC_CONF", b"confirm_conf:true,stats_print:true,prof_prefix:" + WILD, {}),
              ("MALLOC_CONF", b"prof:true,prof_final:true,prof_prefix:/nowhere/" + WILD, {})]
for library in LIBRARIES:
    for name, value, more in VARIABLES:
        loud = {"MIMALLOC_SHOW_ERRORS": "1", "MIMALLOC_VERBOSE": "1", "TCMALLOC_STACKTRACE_METHOD_VERBOSE": "1"}
        text, errors = to_file([program], {**loud, **more, "LD_PRELOAD": library, name: os.fsdecode(value)})[1:]
        check_harmless(f"{os.path.basename(library)}'s lines about {name[:26]!r}", text + errors)
library = os.path.join(BUILD, "lib", "libvitrine.so.1")
check_has("a path is spelled", to_file(["/bin/true"], {"LD_PRELOAD": library, "VITRINE_HEAP_PROFILE": os.fsdecode(b"/nowhere/\x1b[31m\xc2\x9b\xff")})[2].decode(),
          r"'/nowhere/\x1b[31m\xc2\x9b\xff")
errors = to_file([program], {"LD_PRELOAD": library, "VITRINE_HEAP_OOM": "1", "VITRINE_SAMPLE": "64K", "VITRINE_HEAP_PROFILE": os.path.join(folder, "o\x1b[31m")})[2]
check_has("heap_oom: a path is spelled", errors.decode(), r"/o\x1b[31m")
library = os.path.join(BUILD, "lib", "libjemalloc.so.2")
if os.path.exists(library):
    conf = b'stats_print:true,stats_print_opts:J,prof_prefix:"\\' + WILD
    errors = to_file(["/bin/true"], {"LD_PRELOAD": library, "MALLOC_CONF": os.fsdecode(conf)})[2]
    check_has("jemalloc's JSON keeps a prefix", json.loads(errors)["jemalloc"]["opt"]["prof_prefix"], r'"\\x1b[31m\x1b]0;t')

source = b"#include <stdlib.h>\n" \
         b"__attribute__((noinline)) void evil(void *p) __asm__(\"evil\\033[31m\\302\\2332J\\342\\200\\256\\nFORGED\");\n" \
         b"void evil(void *p) { free(p); __asm__ volatile(\"\"); }\n" \
         b"int main(void) { char *volatile p = malloc(100); evil(p); p[5] = 1; return 0; }\n"
library = os.path.join(BUILD, "lib", "libtcmalloc_debug.so.4")
with open(c_file, "wb") as f:
    f.write(source)
written = [os.environ.get("CC", "cc").encode(), b"-O1", b"-fno-builtin", b"-fno-lto", b"-w", c_file, b"-o", program]
if os.path.exists(library) and subprocess.run(written, capture_output=True).returncode == 0:
    errors = to_file([program], {"LD_PRELOAD": library})[2]
    check_harmless("a report of the debug library", errors)
    check_has("a report of the debug library names the function", errors.decode(), r" evil\x1b[31m\xc2\x9b2J\xe2\x80\xae")
else:
    print("skipped: no debug library, or an assembler that takes no such names")
done()
