#!/usr/bin/env python3
"""old_commands.py - the command lines that users of pprof and jeprof have in their notes, each with a look at what comes out.

Pictures are read back: SVG by xmllint, PDF by pdftotext, PostScript and GIF by file(1). Viewers are scripts that keep what
they were given. The prompt is in prompt.py, servers in remote.py.
"""
import http.server
import threading
import xml.etree.ElementTree as xml

from tool import *

folder = scratch()
program = build_work(folder)
first, second = heap_of(folder, program, "first"), heap_of(folder, program, "second")
if first is None:
    skip("no libtcmalloc_and_profiler (scripts/setup test installs libgoogle-perftools-dev)")
cpu = cpu_of(folder, program)
je = jemalloc_of(folder, program)
DOT = shutil.which("dot")
os.chdir(folder)
os.rename(program, "a.out")
program = "./a.out"
FUNCTIONS = ("main", "small", "large", "deep", "host")


def bytes_of(*argv, env=None, status=0):
    r = subprocess.run(argv, capture_output=True, env=dict(os.environ, **(env or {})), timeout=300)
    check(f"{' '.join(map(os.path.basename, argv))}: exit", r.returncode, status)
    return r.stdout, r.stderr.decode(errors="replace")


def check_svg(what, data, words):
    path = os.path.join(folder, "check.svg")
    with open(path, "wb") as f:
        f.write(data)
    if shutil.which("xmllint"):
        status, _, errors = run("xmllint", "--noout", "--nonet", path)
        check(f"{what}: xmllint", (status, errors), (0, ""))
    text = "".join(xml.fromstring(data).itertext())
    for word in words:
        check_has(what, text, word)


def check_picture(what, data, kind, words=()):
    path = os.path.join(folder, "check." + kind)
    with open(path, "wb") as f:
        f.write(data)
    says = out("file", "-b", path) if shutil.which("file") else {"pdf": "PDF", "ps": "PostScript", "gif": "GIF", "png": "PNG"}[kind]
    check_has(f"{what}: file(1)", says, {"pdf": "PDF document", "ps": "PostScript document", "gif": "GIF image data", "png": "PNG image data"}[kind])
    if kind == "pdf" and shutil.which("pdftotext"):
        text = out("pdftotext", path, "-")
        for word in words:
            check_has(f"{what}: pdftotext", text, word)
    if kind == "ps":
        for word in words:
            check_has(f"{what}: its text", data.decode(errors="replace"), word)
    if kind in ("gif", "png"):
        size = re.search(r"(\d+) x (\d+)", says)
        if size:
            check(f"{what}: has a size", int(size.group(1)) > 100 and int(size.group(2)) > 100, True)


# ---- text
text = out(PPROF, "--text", program, first)
check("--text: the heading", text.splitlines()[0], "Total: 5.1 MB")
check("--text: the columns", [bool(re.fullmatch(r" *\d+\.\d +\d+\.\d% +\d+\.\d% +\d+\.\d +\d+\.\d% \S.*", l)) for l in text.splitlines()[1:]],
      [True] * (len(text.splitlines()) - 1))
check("--text: the first row", text.splitlines()[1], "     2.9  56.6%  56.6%      2.9  56.6% app::Box::fill")
check("--text with --base after the program", out(PPROF, "--text", program, "--base=" + first, second), "")
half = os.path.join(folder, "half.heap")
with open(half, "w") as f:  # without the stack of large()
    f.write("".join(l for l in open(first).read().splitlines(True) if ": 2000000 [" not in l.replace("  ", " ")))
text_of_difference = out(PPROF, "--text", program, "--base=" + half, second)
check("--text of a difference: its columns", text_of_difference.splitlines()[:2], ["Total: 1.9 MB", "     1.9 100.0% 100.0%      1.9 100.0% app::Box::fill"])
check("--text of a difference: the others", [l.split(None, 5)[3:] for l in text_of_difference.splitlines() if l.endswith((" app::large", " main"))],
      [["1.9", "100.0%", "app::large"], ["1.9", "100.0%", "main"]])
check("stdout is no terminal: the same as --text", out(PPROF, program, first), text)
check("several files are added", rows(out(PPROF, "--text", "--show_bytes", program, first, second))[1], 2 * 5300000)
google = os.path.join(BIN, "google-pprof")  # Debian's name for it
check("google-pprof: the same table", out(google, "--text", program, first), text)
check("google-pprof: pprof's prompt and words", run(google, "--interactive", program, first, stdin=b"top1\n")[1:], run(
    PPROF, "--interactive", program, first, stdin=b"top1\n")[1:])
check("google-pprof: its own name", (out(google, "--version").split()[0], run(google, "--txt", program)[2].count("google-pprof")), ("google-pprof", 5))
text = out(PPROF, "--text", "--stacks", program, first)
check("--stacks: its heading", text.splitlines()[:3], ["Total: 5.1 MB", "Stacks:", ""])
check("--stacks: a stack", bool(re.search(r"^2000000  \([0-9a-f]{16}\) \S+work\.cc:\d+:app::Box::fill\n {9}\([0-9a-f]{16}\) \S+work\.cc:\d+:app::large\n", text, re.M)), True)
check("--stacks: leaks by size", [int(n) for n in re.findall(r"^Leak of (\d+) bytes in \d+ objects allocated from:$", text, re.M)][:3], [2000000, 1400000, 1000000])
check("--stacks: a leak's frames", bool(re.search(r"^Leak of 2000000 bytes in 50 objects allocated from:\n\t@ [0-9a-f]{16} app::Box::fill \S+:\d+\n\t@ ", text, re.M)), True)
calls = {int(pc, 16) for l in open(first) if "] @" in l for pc in l.split("@")[1].split() if pc.startswith("0x")}
for what, pattern in (("stacks", r"\(([0-9a-f]{16})\) "), ("leaks", r"^\t@ ([0-9a-f]{16}) ")):
    places = {int(a, 16) for a in re.findall(pattern, text, re.M)}
    check(f"--stacks: {what} have the calls' addresses, not those behind", (len(places) > 10, {a + 1 for a in places} <= calls), (True, True))
check("--stacks: no leak of nothing", "Leak of 0 bytes" in text, False)
check_has("--stacks: then the table", text, "     2.9  56.6%  56.6%      2.9  56.6% app::Box::fill")
if PEER_PPROF:  # the same stacks with the same sums; the leaf's address is ours
    theirs = out(PEER_PPROF, "--text", "--stacks", program, first)
    leaks = lambda text: sorted(l for l in re.findall(r"^Leak of .*", text, re.M) if not l.startswith("Leak of 0 "))
    check("--stacks: the leaks of google-pprof", leaks(text), leaks(theirs))
    sums = lambda text: sorted(n for n in re.findall(r"^(\d+) +\([0-9a-f]{16}\) ", text, re.M))
    check("--stacks: the stacks of google-pprof", sums(text), sums(theirs))

# ---- pictures
# by graphviz where it is installed, else by ourselves: the notes do not care
check_svg("--svg", bytes_of(PPROF, "--svg", program, first)[0], FUNCTIONS + ("Total MB: 5.1",))
check_svg("--svg of CPU", bytes_of(PPROF, "--svg", program, cpu)[0], ("burn_much", "burn_some", "Total samples"))
data, errors = bytes_of(PPROF, "--svg", program, "--base=" + first, second, status=1)
check_has("--svg of no difference", errors, "No nodes to print")
check_svg("--svg --base", bytes_of(PPROF, "--svg", program, "--base=" + half, second)[0], ("large", "Total MB: 1.9"))
check_svg("--svg --lines --base", bytes_of(PPROF, "--svg", "--lines", "--base=" + half, program, second)[0], ("large", "work.cc:"))
check_picture("--pdf", bytes_of(PPROF, "--pdf", program, first)[0], "pdf", FUNCTIONS)
check_picture("--ps", bytes_of(PPROF, "--ps", program, first)[0], "ps", FUNCTIONS)
check_picture("--gif", bytes_of(PPROF, "--gif", program, first)[0], "gif")
check_picture("--png", bytes_of(PPROF, "-png", program, first)[0], "png")
if je:
    check_picture("jeprof --show_bytes --pdf", bytes_of(JEPROF, "--show_bytes", "--pdf", program, je)[0], "pdf", ("main", "Total B: 5"))
alone = {"DOT": "no-such-dot"}  # drawn by ourselves
check_svg("--svg without graphviz", bytes_of(PPROF, "--svg", program, first, env=alone)[0], FUNCTIONS)
check_picture("--pdf without graphviz", bytes_of(PPROF, "--pdf", program, first, env=alone)[0], "pdf", FUNCTIONS)
check_picture("--ps without graphviz", bytes_of(PPROF, "--ps", program, first, env=alone)[0], "ps", FUNCTIONS)
for kind in ("gif", "png"):
    check_picture(f"--{kind} without graphviz", bytes_of(PPROF, "--" + kind, program, first, env=alone)[0], kind)
    data, errors = bytes_of(PPROF, "--" + kind, program, "--base=" + first, second, env=alone, status=1)
    check(f"--{kind} of no difference, without graphviz", (data, "No nodes to print" in errors), (b"", True))
text = bytes_of(PPROF, "--dot", program, first)[0].decode()
check("--dot: the first line", text.splitlines()[0], 'digraph "./a.out; 5.1 MB" {')
check("--dot: the last line", text.splitlines()[-1], "}")
if DOT:
    check("--dot: graphviz takes it", subprocess.run(["dot", "-Tplain"], input=text.encode(), capture_output=True).returncode, 0)

# ---- listings
check_has("--list", out(PPROF, "--list=app::deep", program, first), "ROUTINE ====================== app::deep in ")
check_has("--list: with the sign for the end", out(PPROF, "--list=deep$", program, first), "ROUTINE ====================== app::deep in ")
text = out(PPROF, "--disasm=app::deep", program, first)
check_has("--disasm", text, "ROUTINE ====================== app::deep\n")
check("--disasm: the call that allocates", bool(re.search(r"^ +0\.9 +0\.9 +[0-9a-f]+: call", text, re.M)), True)

# ---- filters and granularity
table, total = rows(out(PPROF, "--text", "--show_bytes", "--focus=small|app::deep", program, first))
check("--focus=A|B::C", (total, table["main"][1], "app::large" in table), (5300000, 1900000, False))
table, _ = rows(out(PPROF, "--text", "--show_bytes", "--ignore=app::small|app::large", program, first))
check("--ignore", (table["main"][1], "app::small" in table), (2300000, False))
for option in ("--line", "--lines"):
    check_has(option, out(PPROF, "--text", option, program, first), "app::deep ")
    check(f"{option}: file and line", bool(re.search(r"app::deep \S+work\.cc:\d+$", out(PPROF, "--text", option, program, first), re.M)), True)
check("--addresses", bool(re.search(r" [0-9a-f]{16} app::deep \S+work\.cc:\d+$", out(PPROF, "--text", "--addresses", program, first), re.M)), True)
check("--files", bool(re.search(r" \S+work\.cc$", out(PPROF, "--text", "--files", program, first), re.M)), True)
check("--functions", out(PPROF, "--text", "--functions", program, first), out(PPROF, "--text", program, first))
table, total = rows(out(PPROF, "--text", "--mean", "--show_bytes", program, first))
check("--mean: bytes per block", (table["app::deep"][0], table["app::small"][1]), (3000, 1000))
check("--unit", out(PPROF, "--text", "--unit=kB", program, first).splitlines()[0], "Total: 5175.8 kB")
check("--sort=cum", out(PPROF, "--text", "-sort=cum", program, first), out(PPROF, "--text", "--cum", program, first))
check("--sample_index", out(PPROF, "-top", "-sample_index=alloc_space", program, first), out(PPROF, "--text", "--alloc_space", program, first))
check("-output", (out(PPROF, "-top", "-output=x.txt", program, first), open("x.txt").read()), ("", out(PPROF, "--text", program, first)))
check("-normalize: nothing is left", out(PPROF, "-top", "-normalize", "-base=" + first, program, first, first), "")
check("-symbolize=none", "app::" in out(PPROF, "-top", "-symbolize=none", program, first), False)
text = out(PPROF, "--text", program, first)
for options in (["--tools=/usr/bin/,nm:/bin/nm"], ["--debug"], ["--nodebug"], ["--test"], ["--test_stride=7"], ["--total_delay"], ["--address", "--noaddresses"]):
    check(f"{options}: changes nothing", out(PPROF, "--text", *options, program, first), text)
check("--debug-syms-by-id: changes nothing", out(JEPROF, "--text", "--debug-syms-by-id", program, first), out(JEPROF, "--text", program, first))
inlined, host = rows(out(PPROF, "--text", "--show_bytes", program, first))[0], rows(out(PPROF, "--text", "--show_bytes", "-noinlines", program, first))[0]
check("-noinlines: for the function it is in", (inlined["app::inlined"][0], "app::inlined" in host, host["app::host"]), (1400000, False, (1400000, 1400000)))
check("-divide_by", rows(out(PPROF, "--text", "--show_bytes", "-divide_by=1000", program, first))[0]["app::inlined"], (1400, 1400))
noisy = os.path.join(folder, "noisy.prof")  # the handler between two leaves
with open(noisy, "wb") as f:
    f.write(b"".join(n.to_bytes(8, "little") for n in (0, 3, 0, 1000, 0, 5, 4, 0x10, 0x7f01, 0x10, 0x20, 2, 4, 0x30, 0x7f01, 0x30, 0x20, 0, 1, 0)))
check("--no-auto-signal-frm", [len(out(PPROF, "--collapsed", *options, noisy).splitlines()[0].split(";")) for options in ([], ["--no-auto-signal-frm"])], [2, 4])
check("-tree: callers above, callees below", bool(re.search(r"\| main\n +0 +\S+ +\S+  app::large\n.*\| app::Box::fill\n-", out(PPROF, "-tree", program, first))), True)
check("-peek", re.findall(r"^ .*\d%  (\S+)$", out(PPROF, "-peek=app::(deep|large)", program, first), re.M), ["app::deep", "app::large"])
check("-traces", bool(re.search(r"^ *1\.91MB app::Box::fill\n {13}app::large\n {13}main\n", out(PPROF, "-traces", program, first), re.M)), True)
check("-proto is gzip", bytes_of(PPROF, "-proto", program, first)[0][:2], b"\x1f\x8b")
check("--heapcheck marks leaks", out(PPROF, "--inuse_objects", "--lines", "--heapcheck", "--edgefraction=1e-10", "--nodefraction=1e-10", "--dot", program, first)
      .count("style=filled") > 0, True)

# ---- jeprof
if je:
    check("jeprof --base of itself says nothing", out(JEPROF, "--text", program, "--base=" + je, je), "")
    _, text, _ = run(JEPROF, "--interactive", program, "--base=" + je, je, stdin=b"top\nquit\n")
    check("at the prompt its total is zero", text, "Total: 0.0 MB\n")
    check("jeprof --show_bytes", bool(re.match(r"Total: \d{7} B\n", out(JEPROF, "--show_bytes", program, je))), True)
    less = os.path.join(folder, "less.heap")  # without the stack of large()
    blocks = re.split(r"^(?=@)", open(je).read(), flags=re.M)
    biggest = max(blocks[1:], key=lambda b: int(re.search(r"t\*: \d+: (\d+)", b).group(1)))
    with open(less, "w") as f:
        f.write("".join(b if b is not biggest else b[b.index("\nMAPPED"):] if "\nMAPPED" in b else "" for b in blocks))
    grew = int(re.search(r"t\*: \d+: (\d+)", biggest).group(1))
    table, total = rows(out(JEPROF, "--text", "--show_bytes", program, "--base=" + less, je))
    check("jeprof --base=A B: what grew", (total, table["app::large"], table["main"], "app::small" in table), (grew, (0, grew), (0, grew), False))
    text = bytes_of(JEPROF, "--dot", program, "-base=" + less, je)[0].decode()
    check("jeprof --dot -base=A B: the first line", text.splitlines()[0], f'digraph "./a.out; {grew / 1048576:.1f} MB" {{')
    check("jeprof --dot -base=A B: nodes", (text.count("large\\n"), text.count("small\\n")), (1, 0))
    check("jeprof --dot -base=A B, the same", bytes_of(JEPROF, "--dot", program, "-base=" + je, je, status=1)[0], b"")
    check_has("jeprof --lines", out(JEPROF, "--lines", "--text", program, je), "work.cc:")
    table, _ = rows(out(JEPROF, "--text", "--show_bytes", "--retain=app::", program, je))
    check("jeprof --retain: only such frames", {n for n in table if not n.startswith("app::")}, set())
    table, _ = rows(out(JEPROF, "--text", "--show_bytes", "--exclude=app::", program, je))
    check("jeprof --exclude: no such frames", {n for n in table if n.startswith("app::")}, set())

# ---- brpc's and the heap checker's ways of calling
text = out(PPROF, "--collapsed", program, first)
check("--collapsed: as flamegraph.pl takes it", [bool(re.fullmatch(r".* \d+", l)) for l in text.splitlines()], [True] * len(text.splitlines()))
check("--collapsed: no row of nothing", [l for l in text.splitlines() if l.endswith(" 0")], [])
check("options behind the files", out(PPROF, program, first, "--inuse_objects", "--text"), out(PPROF, "--text", "--inuse_objects", program, first))
check_has("--help", out(PPROF, "--help"), "--base=PROFILE")
check("--help: every option of both perl tools", [o for o in """help version text callgrind dot ps pdf svg gif raw collapsed gv evince web list
    disasm symbols interactive stacks cum base functions lines addresses files inuse_space inuse_objects alloc_space alloc_objects show_bytes
    drop_negative total_delay contentions mean_delay nodecount nodefraction edgefraction maxdegree focus ignore scale heapcheck seconds add_lib
    lib_prefix tools no_strip_temp show_addresses no-auto-signal-frm test debug test_stride""".split() if f"--{o}" not in out(PPROF, "--help")], [])
check("jeprof --help: its own", [o for o in ("retain", "exclude", "thread", "debug-syms-by-id") if f"--{o}" not in out(JEPROF, "--help")], [])
full = out(PPROF, "--text", "--no_strip_temp", program, first)
check_has("--no_strip_temp", full, "app::Box<char>::fill(int)")

locks = os.path.join(folder, "locks")  # as brpc calls it, both outputs in one
with open(locks, "w") as f:
    f.write("--- contention\ncycles/second=1000000000\nsampling period=1\n")
    f.writelines(f"{(i + 1) * 1000000000} 2 @{l.split('@')[1]}\n" for i, l in enumerate(l for l in open(first) if "] @ 0x" in l))
    f.write("".join(open(first).read().partition("MAPPED_LIBRARIES:\n")[1:]))
r = subprocess.run([PPROF, "--text", "--contention", program, locks], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
check("brpc: --text --contention 2>&1", (r.returncode, [re.sub(r"\d+", "N", l) for l in r.stdout.replace(locks, "FILE").splitlines()[:3]]),
      (0, [f"Using local file {program}.", "Using local file FILE.", "Total: N samples"]))
waits = re.findall(r"^(\d+)000000000 2 @", open(locks).read(), re.M)
table, total = rows(out(PPROF, "--text", "--mean_delay", program, locks))
check_near("--mean_delay: time per wait", total, sum(map(int, waits)) / (2 * len(waits)), 0.0006)
check_near("--mean_delay: of a function", table["main"][1], rows(out(PPROF, "--text", program, locks))[0]["main"][1] / rows(out(
    PPROF, "--text", "--contentions", program, locks))[0]["main"][1], 0.0006)
check("brpc: seconds without --contention", bool(re.match(r"Total: \d+\.000 seconds\n", out(PPROF, "--text", program, locks))), True)

# ---- viewers: programs on PATH that keep what they get
tools = os.path.join(folder, "tools")
os.mkdir(tools)
for name in ("gv", "evince", "eog", "xdg-open", "kcachegrind", "mybrowser"):
    with open(os.path.join(tools, name), "w") as f:
        f.write(f'#!/bin/sh\necho "$@" >{folder}/{name}.args\nfor file; do :; done\ncp "${{file#file://}}" {folder}/{name}.shown\n')
    os.chmod(os.path.join(tools, name), 0o755)
SHOWN = {"PATH": tools + ":" + os.environ["PATH"], "TMPDIR": folder, "BROWSER": ""}
ROWS = [("--gv", "gv", "ps"), ("--evince", "evince", "pdf"), ("-eog", "eog", "png")]
for option, viewer, kind in ROWS:
    check(f"{option}: nothing on stdout", bytes_of(PPROF, option, "--scale=2", program, first, env=SHOWN)[0], b"")
    check_picture(f"{option}: what {viewer} got", open(viewer + ".shown", "rb").read(), kind, FUNCTIONS)
check_has("--gv: its scale", open("gv.args").read(), "--scale=2")
os.remove("gv.shown")  # what gperftools' heap checker tells its users to say
bytes_of(PPROF, program, first, "--inuse_objects", "--lines", "--heapcheck", "--edgefraction=1e-10", "--nodefraction=1e-10", "--gv", env=SHOWN)
check_picture("the heap checker's line: what gv got", open("gv.shown", "rb").read(), "ps", ("work.cc:", "Total objects: "))
os.rename("xdg-open.shown", "before.shown") if os.path.exists("xdg-open.shown") else None
_, errors = bytes_of(PPROF, "--web", "-no_browser", program, first, env=SHOWN)
check("-no_browser: none is started", os.path.exists("xdg-open.shown"), False)
check_svg("-no_browser: the picture is where it says", open(re.search(r"file://(\S+)", errors).group(1), "rb").read(), FUNCTIONS)
_, errors = bytes_of(PPROF, "--web", program, first, env=SHOWN)
check_has("--web: says so", errors, "Loading web page file://" + folder)
check_svg("--web: what the browser got", open("xdg-open.shown", "rb").read(), FUNCTIONS)
bytes_of(PPROF, "--web", program, first, env=dict(SHOWN, BROWSER="mybrowser"))
check_svg("--web with BROWSER", open("mybrowser.shown", "rb").read(), FUNCTIONS)
lonely = {"PATH": "/nowhere", "DOT": DOT or "no-such-dot", "TMPDIR": folder, "BROWSER": ""}
data, errors = bytes_of(PPROF, "--gv", program, first, env=lonely)
check_picture("--gv > file without gv", data, "ps", FUNCTIONS)
check_has("--gv > file without gv: said", errors, "there is no viewer for it here; it goes to standard output")
bytes_of(PPROF, "-kcachegrind", program, first, env=SHOWN)
check_has("-kcachegrind", open("kcachegrind.shown").read(), "events: inuse_space")
bytes_of(PPROF, "-weblist=app::deep", program, first, env=SHOWN)
check_has("-weblist", open("xdg-open.shown").read(), "<pre>\nROUTINE ====================== app::deep in ")

# ---- host:port without a scheme and without a program, as the notes have it
class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = open(first, "rb").read() if self.path == "/pprof/heap" else b"num_symbols: 0\n"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
for tool in (PPROF, JEPROF):
    text = out(tool, "--text", f"localhost:{server.server_address[1]}/pprof/heap",
               env={"PPROF_TMPDIR": folder, "JEPROF_TMPDIR": folder, "no_proxy": "*"})
    check("localhost:port/pprof/heap", text.splitlines()[0], "Total: 5.1 MB")
server.shutdown()

# ---- what users get wrong, by the old names: one message, exit 1
def file(name, data):
    with open(name, "w") as f:
        f.write(data)
    return name


stripped = os.path.join(folder, "stripped")
shutil.copy(program, stripped)
out("strip", stripped)
WRONG = [
    ([PPROF, "--text", program, "none.heap"], 1, "'none.heap': cannot open: No such file or directory"),
    ([PPROF, "--text", "none", first], 1, "'none': cannot open: No such file or directory"),
    ([PPROF, "--text", program, "--base=none.heap", first], 1, "'none.heap': cannot open: No such file or directory"),
    ([PPROF, "--text", "/bin/ls", first], 0, "is not the file that ran as"),
    ([PPROF, "--text", file("notes.txt", "hello\nworld\n"), first], 1, "'notes.txt': is text, but of no kind of profile that is known"),
    ([PPROF, "--text", program], 1, "is a program or library, not a profile: give the profile after it"),
    ([PPROF, "--text", stripped, first], 0, "has no symbols (stripped?)"),
    ([PPROF, "--txt", program, first], 1, "Unknown option: txt; did you mean --text?"),
    ([PPROF, "--foucs=x", program, first], 1, "Unknown option: foucs; did you mean --focus?"),
    ([PPROF, "--text=1x", program, first], 1, "Option text does not take an argument"),
    ([PPROF, "--nodefraction=x", program, first], 1, 'Value "x" invalid for option nodefraction (real number expected)'),
    ([PPROF, "--nodecount=x", program, first], 1, 'Value "x" invalid for option nodecount (number expected)'),
    ([PPROF, "--inuse_space", "--alloc_space", program, first], 1, "Only specify one of --inuse_space"),
    ([PPROF, "--lines", "localhost:1/pprof/heap"], 1, "--lines cannot be used without a binary"),
    ([PPROF, "--disasm=main", "localhost:1/pprof/heap"], 1, "--disasm cannot be used without a binary"),
    ([PPROF, "-http=:8080", program, first], 2, "-http: no pages are served here"),
    ([PPROF, "--text", program, file("empty.heap", "")], 1, "'empty.heap': is empty"),
    ([PPROF, "--text", "--focus=" + "(a|" * 3000, program, first], 1, "--focus: bad regexp '(a|(a|"),
    ([PPROF, "--text", "--focus=" + "(a|b)*" * 20000 + "(", program, first], 1, "--focus: bad regexp"),
    ([PPROF, "--list=nothing", program, first], 1, "no function with lines matches 'nothing'"),
    ([PPROF, "-output=/dev/full", "-top", program, first], 1, "cannot write '/dev/full': No space left on device"),
    ([PPROF, "-output=/nowhere/x", "-top", program, first], 1, "cannot write '/nowhere/x': No such file or directory"),
    ([PPROF, "-sample_index=cpu", "-top", program, first], 1, "no type 'cpu' in this profile; it has alloc_objects"),
    ([JEPROF, "--txt", program, first], 1, "FATAL ERROR: Unknown option: txt; did you mean --text?"),
]
for argv, status, part in WRONG:
    seen, _, errors = run(*argv)
    name = " ".join(os.path.basename(a) for a in argv)[:80]
    check(f"{name}: exit", seen, status)
    check_has(f"{name}: message", errors, part)
_, text, _ = run(PPROF, "--text", stripped, first)
check_has("stripped: no guessed names", text, "work+0x")  # by the name it ran under
many = file("many.folded", "".join(f"main;f{i} {i + 1}\n" for i in range(50000)))
p = subprocess.Popen([PPROF, "--text", many], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
p.stdout.readline()
p.stdout.close()
check("closed pipe: no noise", p.stderr.read().decode(), f"Using local file {many}.\n")
check("closed pipe: ended by it", p.wait() != 0, True)
with open("/dev/full", "w") as full_disk:
    r = subprocess.run([PPROF, "--text", program, first], stdout=full_disk, stderr=subprocess.PIPE)
check("full disk: exit", r.returncode, 1)
check_has("full disk: message", r.stderr.decode(), "cannot write 'standard output': No space left on device")
# ---- listings to the byte, but for recursion and how instructions are spelled
if PEER_PPROF:
    shutil.copy(program, os.path.join(folder, "work"))
    alone = mapping_only(second, "work")
    for option in ("--list=app::large", "--list=app::small", "--list=^main", "--disasm=app::large", "--disasm=app::small"):
        theirs = out(PEER_PPROF, option, os.path.join(folder, "work"), alone).splitlines()
        ours = out(PPROF, option, os.path.join(folder, "work"), alone).splitlines()
        spelled = re.compile(r"(.{13}    {1,8}[0-9a-f]+:).*")
        check(option, [spelled.sub(r"\1", l) for l in ours], [spelled.sub(r"\1", l) for l in theirs])
        check(f"{option}: some lines", len(ours) > 8, True)
shutil.copy(program, os.path.join(folder, "work"))  # where the old tool looks for it
# ---- addresses behind names, at any granularity; inlined frames are marked behind the name
for options in (["--show_addresses"], ["--show_addresses", "--lines"], ["--lines"], ["--addresses"]):
    ours = out(PPROF, "--text", "--show_bytes", *options, program, first)
    lines = [l.split(None, 5)[5] for l in ours.splitlines()[1:] if "app::" in l]
    name = r"app::\w+(::\w+)?( \(inline\))?"
    pattern = {"--show_addresses": name + r" \([0-9a-f]{16}\)", "--show_addresses --lines": name + r" /\S+:\d+ \([0-9a-f]{16}\)",
               "--lines": name + r" /\S+:\d+", "--addresses": r"[0-9a-f]{16} " + name + r" /\S+:\d+"}[" ".join(options)]
    check(f"{options}: as the old tool writes it", [l for l in lines if not re.fullmatch(pattern, l)], [])
    check(f"{options}: there are some, and inlined ones", (len(lines) > 4, any("(inline)" in l for l in lines)), (True, True))
    if PEER_PPROF:
        theirs = [l.split(None, 5)[5] for l in out(
            PEER_PPROF, "--text", "--show_bytes", *options, os.path.join(folder, "work"), first).splitlines()[1:] if "app::" in l]
        check(f"{options}: the pattern is the old tool's", [l for l in theirs if not re.fullmatch(pattern, l)], [])
        check(f"{options}: as many rows", len(lines), len(theirs))
done()
