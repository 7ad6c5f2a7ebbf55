#!/usr/bin/env python3
"""prompt.py - the old tools' prompt: on a terminal without being asked for, and beside jeprof's own."""
import pty
import select
import termios
import time

from proto import Profile
from tool import *

folder = scratch()
program = build_work(folder)
heap = heap_of(folder, program)
if heap is None:
    skip("no libtcmalloc_and_profiler (scripts/setup test installs libgoogle-perftools-dev)")


def wait_for_editor(fd):
    """Until it reads keys by itself: what comes earlier is shown by the terminal and by the editor."""
    until = time.monotonic() + 60
    while termios.tcgetattr(fd)[3] & termios.ECHO and time.monotonic() < until:
        time.sleep(0.005)


def on_terminal(argv, lines):
    """What a user sees who types these lines, each after a prompt."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(argv[0], argv, dict(os.environ, TERM="dumb"))
    seen, waiting = "", list(lines)
    while True:
        ready, _, _ = select.select([fd], [], [], 60)
        if not ready:
            break
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data.decode(errors="replace")
        if seen.endswith("prof) ") and waiting:
            wait_for_editor(fd)
            os.write(fd, (waiting.pop(0) + "\n").encode())
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), seen.replace("\r\n", "\n")


for option in ("--text", "-top"):
    status, seen = on_terminal([PPROF, option, program, heap], ["quit"])
    check(f"{option}: a table at a terminal, too", (status, "(pprof)" in seen, seen.partition("Total")[1:]), (0, False, ("Total", out(PPROF, option, program, heap)[len("Total"):])))
status, seen = on_terminal([JEPROF, program, heap], ["top", "top1", "quit"])
check("exit", status, 0)
check_has("greeting", seen, "Welcome to jeprof!  For help, type 'help'.\n(jeprof) top\nTotal: 5.1 MB\n")
check("top has at most ten rows", 5 <= len(re.findall(r"^ +\d+\.\d +\d+\.\d%", seen.split("top1")[0], re.M)) <= 10, True)
check("top1 has one", len(re.findall(r"^ +\d+\.\d +\d+\.\d%", seen.split("top1")[1], re.M)), 1)
je = jemalloc_of(folder, program)
if je:  # what jemalloc itself wrote, as the notes have it
    status, seen = on_terminal([JEPROF, program, je], ["top", "top40", "quit"])
    check("jemalloc's own: exit", status, 0)
    check_has("jemalloc's own: the table", seen, "(jeprof) top\nTotal: ")
    check("jemalloc's own: who allocates", [n for n in ("app::small", "app::large", "app::deep", "app::host", "main") if f"% {n}\n" not in seen], [])
status, seen = on_terminal([PPROF, program, heap], ["nonsense", "", "help", "quit now"])
check_has("pprof's own name", seen, "Welcome to pprof!")
check_has("unknown command", seen, "Unknown command: try 'help'.\n(pprof) \n(pprof) help\n")

# keys: the line before, by the arrow upwards
status, seen = on_terminal([PPROF, program, heap], ["top1", "\x1b[A", "quit"])
check("arrow up: exit", status, 0)
check("arrow up: the command again", seen.count("Total: 5.1 MB"), 2)

# reports on stdout, the rest on stderr; the end of input ends it
status, text, errors = run(PPROF, "--interactive", program, heap, stdin=b"top3\n")
check("stdin ends: exit", status, 0)
check("stdout has the report alone", text.splitlines()[0], "Total: 5.1 MB")
check_has("stderr has the prompt", errors, "(pprof) ")
_, text, errors = run(PPROF, "--interactive", program, heap, stdin=b"top app::small app::host -app::host\ntop1\nlist app::deep\ntop a(b\ntop1\n")
check_has("focus and ignore", text, "After focusing on 'app::small|app::host': 1.0 MB of 5.1 (18.9%)\nAfter ignoring 'app::host': ")
check_has("ignore on stderr", errors, "Ignoring samples in call stacks that match 'app::host'")
check("they last for one line", text.count("After "), 2)
check_has("list", text, "ROUTINE ====================== app::deep in ")
check_has("a bad regexp is told and survived", errors, "bad regexp 'a(b'")
check("and the next line works", text.count("Total: 5.1 MB"), 3)

many = os.path.join(folder, "many.folded")
with open(many, "w") as f:
    f.write("".join(f"main;f{i} {i + 1}\n" for i in range(30)))
_, text, _ = run(PPROF, "--interactive", many, stdin=b"top\ntop 12\ntop100\n")
check("top: ten rows unless told", [len(t.splitlines()) - 1 for t in text.split("Total: ")[1:]], [10, 12, 31])

# the other name of top; what stands behind a command lasts for that line
_, text, errors = run(PPROF, "--interactive", program, heap, stdin=b"text2\ntop2\ntop2 --cum\ntop2\ntop3 --lines\ntop2\ntop2 -cum\n")
tables = [t.splitlines() for t in text.split("Total: 5.1 MB\n")[1:]]
check("text is top", (tables[0], len(tables[0])), (tables[1], 2))
check("--cum: the largest of all comes first", tables[2][0].split()[3:], ["5.1", "100.0%", tables[2][0].split()[5]])
check("--cum lasts for one line", (tables[3], tables[2] != tables[1]), (tables[1], True))
check("-cum is the same", tables[6], tables[2])
check("--lines: file and line", [bool(re.search(r"work\.cc:\d+$", l)) for l in tables[4]], [True] * 3)
check("--lines lasts for one line", tables[5], tables[1])

# viewers in the background, files, and what came after the old tools
tools = os.path.join(folder, "tools")
os.mkdir(tools)
for name in ("gv", "evince", "xdg-open", "kcachegrind"):
    with open(os.path.join(tools, name), "w") as f:
        f.write(f'#!/bin/sh\nfor file; do :; done\ncp "$file" {folder}/{name}.part && mv {folder}/{name}.part {folder}/{name}.shown\n')
    os.chmod(os.path.join(tools, name), 0o755)
ENV = {"PATH": tools + ":" + os.environ["PATH"], "TMPDIR": folder, "BROWSER": ""}
calls, picture = os.path.join(folder, "x.callgrind"), os.path.join(folder, "x.dot")
lines = ["weblist app::deep -app::large", "web app::deep", "callgrind " + calls, "callgrind", f"dot app::deep >{picture}", "disasm app::deep", "peek app::deep", "tree",
         "traces", "collapsed", "tags", "exit", "top"]
status, text, errors = run(PPROF, "--interactive", program, heap, stdin="\n".join(lines).encode(), env=ENV)
check("many commands: exit", status, 0)
check_has("callgrind FILE", open(calls).read(), "events: inuse_space")
check_has("dot >FILE", open(picture).read(), "digraph")
pages = re.findall(r"Loading web page file://(%s\S+)" % re.escape(folder), errors)
check("weblist and web: a page, a picture", [p.rpartition(".")[2] for p in pages], ["html", "svg"])
check_has("weblist", open(pages[0]).read(), "<pre>\nROUTINE ====================== app::deep in ")
check("web", [w in open(pages[1]).read() for w in ("deep", "large")], [True, False])
check_has("what is left out is said", errors, "Ignoring samples in call stacks that match 'app::large'")
check_has("disasm", text, "ROUTINE ====================== app::deep\n")
check("collapsed", bool(re.search(r"^\S*main;app::small\(\);app::Box<char>::fill\(int\) 1000000$", text, re.M)), True)
check("exit ends it", "Total:" in text, False)
for name in ("xdg-open", "kcachegrind"):  # they were not waited for
    for _ in range(600):
        if os.path.exists(os.path.join(folder, name + ".shown")):
            break
        time.sleep(0.05)
    check(f"{name} was started", os.path.exists(os.path.join(folder, name + ".shown")), True)
if shutil.which("dot"):
    status, seen = on_terminal(["/usr/bin/env", *(f"{k}={v}" for k, v in ENV.items()), PPROF, program, heap], ["gv app::deep", "evince", "quit"])
    check("gv on a terminal: exit", status, 0)
    for name, start in (("gv", b"%!PS"), ("evince", b"%PDF")):
        for _ in range(600):
            if os.path.exists(os.path.join(folder, name + ".shown")):
                break
            time.sleep(0.05)
        check(f"{name} got a picture", open(os.path.join(folder, name + ".shown"), "rb").read()[:4], start)
_, _, errors = run(PPROF, "--interactive", program, heap, stdin=b"callgrind\n", env={"PATH": "/nowhere", "TMPDIR": folder})
check_has("no viewer: said where it is", errors, "there is no 'kcachegrind' to show it; it is in '" + folder)

# a base equal to the profile: the total is told although it is zero
_, text, _ = run(JEPROF, "--interactive", program, "--base=" + heap, heap, stdin=b"top\nquit\n")
check("nothing changed", text, "Total: 0.0 MB\n")
if PEER_JEPROF:
    je = jemalloc_of(folder, program)
    if je:
        _, theirs, _ = run(PEER_JEPROF, "--interactive", program, je, stdin=b"top40\ntop3 --cum\nquit\n")
        _, ours, _ = run(JEPROF, "--interactive", program, je, stdin=b"top40\ntop3 --cum\nquit\n")
        totals = lambda text: [l for l in text.splitlines() if l.startswith("Total")]
        check("totals as jeprof", totals(ours), totals(theirs))
        for name in ("app::small", "app::large", "main"):
            check(f"{name} as jeprof", rows(ours)[0].get(name, "none"), rows(theirs)[0].get(name))

# ---- settings, beside those of the Go tool's prompt
labelled = Profile([("objects", "count"), ("space", "bytes")], [
    (["alloc", "main"], {"objects": 1, "space": 4096}, {"user": "ann"}), (["alloc", "f", "main"], {"objects": 2, "space": 2000}, {"user": "bob"}),
    (["other", "g", "f", "main"], {"objects": 4, "space": 80000}, {"user": "annette"}), (["other", "f", "g", "main"], {"objects": 8, "space": 800}, {}),
    (["other", "main"], {"objects": 16, "space": 1600}, {})]).write(os.path.join(folder, "labels.pb.gz"))


def prompt_of(*argv):
    """Of a tool: lines to {name: (flat, cum)} of the last table, and all that was said."""
    def ask(*lines):
        status, text, errors = run(*argv, labelled, stdin="\n".join([*lines, ""]).encode(), env={"HOME": folder, "PPROF_TMPDIR": folder})
        check(f"{lines}: exit", status, 0)
        table = {}
        for line in text.splitlines():
            m = re.match(r"(?:\(pprof\) )?\s*(\d+)\s+\S+%\s+\S+%\s+(\d+)\s+\S+%\s+(\S.*)", line)
            if m:
                table[m.group(3)] = (int(m.group(1)), int(m.group(2)))
            elif "Total:" in line or "Showing nodes" in line:
                table = {}
        return table, text, errors
    return ask


ours, theirs = prompt_of(PPROF, "--interactive"), prompt_of(GO, "tool", "pprof") if GO else None
everything = {"main": (0, 31), "f": (0, 14), "g": (0, 12), "alloc": (3, 3), "other": (28, 28)}
SETTINGS = {
    ("objects", "top"): everything,
    ("sample_index=objects", "top"): everything,
    ("sample_index=0", "focus=^f$", "ignore=alloc", "top"): {"main": (0, 12), "f": (0, 12), "g": (0, 12), "other": (12, 12)},
    ("objects", "focus=^f$", "ignore=alloc", ":", "top"): everything,
    ("objects", "focus=^f$", "focus=", "top"): everything,
    ("objects", "focus=^f$", "top ^alloc$"): {"main": (0, 3), "f": (0, 2), "alloc": (3, 3)},
    ("objects", "hide=^(f|g)$ //: these two", "top"): {"main": (0, 31), "alloc": (3, 3), "other": (28, 28)},
    ("objects", "show=^(f|g)$", "top"): {"f": (10, 14), "g": (4, 12)},
    ("objects", "show_from=^f$", "top"): {"f": (0, 14), "g": (0, 4), "alloc": (2, 2), "other": (12, 12)},
    ("objects", "prune_from=^g$", "top"): {"main": (0, 31), "f": (0, 6), "g": (12, 12), "alloc": (3, 3), "other": (16, 16)},
    ("objects", "tagfocus=ann", "top"): {"main": (0, 5), "f": (0, 4), "g": (0, 4), "alloc": (1, 1), "other": (4, 4)},
    ("objects", "tagignore=ann", "top"): {"main": (0, 26), "f": (0, 10), "g": (0, 8), "alloc": (2, 2), "other": (24, 24)},
    ("objects", "granularity=files", "top"): {f"/src/{n}.c": v for n, v in everything.items()},
    ("objects", "sort=cum", "top 1"): {"main": (0, 31)},
    ("objects", "sort=cum", "sort=flat", "top1"): {"other": (28, 28)},
    ("objects", "nodecount=2", "top"): {"other": (28, 28), "alloc": (3, 3)},
}
for lines, expected in SETTINGS.items():
    check(f"{lines}", ours(*lines)[0], expected)
    if GO:
        check(f"{lines}: as Go's pprof", theirs(*lines)[0], expected)
check("lines, alone", ours("objects", "lines", "top1")[0], {"other /src/other.c:13": (28, 28)})
check("mean_space", re.findall(r"Total: (\S+)", ours("show_bytes", "mean_space", "top", "total_space", "top")[1]), ["2854", "88496"])
check("they last", ours("focus=alloc", "top", "top")[1].count("After focusing on 'alloc'"), 2)
text = ours("focus=x y", "sort=cum", "options")[1]
check("options: as many as are in the help", len(re.findall(r"^  \w+ +=", text, re.M)), len(re.findall(r"^    \w+ ", ours("help")[1], re.M)))
check("o is options", ours("focus=x y", "sort=cum", "o")[1], text)
check("options: values", dict(re.findall(r"^  (focus|sort|granularity|sample_index|nodecount) += (.*?) *(?://:.*)?$", text, re.M)),
      {"focus": "x y", "sort": "cum", "granularity": "functions", "sample_index": "space", "nodecount": "-1"})
# each that is not counted while the profile is read is kept and shown, whatever its value is used for
EACH = {n: "true" for n in ("call_tree", "compact_labels", "drop_negative", "intel_syntax", "mean", "noinlines", "relative_percentages", "show_bytes", "showcolumns")}
EACH.update({n: n[0] + "+" for n in ("focus", "hide", "ignore", "output", "prune_from", "show", "show_from", "source_path", "tagfocus", "taghide", "tagignore",
                                     "tagshow", "trim_path", "unit")},
            divide_by="7", edgefraction="0.25", granularity="lines", nodecount="33", nodefraction="0.125", sample_index="objects", sort="cum", trim="false")
seen = dict(re.findall(r"^  (\w+) += (.*?) *(?://:.*)?$", ours(*(f"{n}={v}" for n, v in EACH.items()), "options")[1], re.M))
check("options: each that was set", {n: v for n, v in seen.items() if n in EACH}, EACH)
check("options: the others are early", set(seen) - set(EACH), {"normalize", "tagleaf", "tagroot"})
check("options: what may be", re.findall(r"(sort|sample_index) .*//: (.*)", text), [("sample_index", "[objects | space]"), ("sort", "[cum | flat]")])
if GO:
    row = re.compile(r"^ *(?:\(pprof\) )? ?(\w+) +=", re.M)
    check("options: all of Go's pprof", set(row.findall(theirs("options")[1])) - set(row.findall(text)), set())
ERRORS = {"focus": "please specify a value, e.g. focus=<val>", "focus x": "did you mean: focus=x", "sort=size": 'invalid "sort" value "size"',
          "sample_index=speed": 'sample_index "speed" must be one of: [objects | space]', "nodecount=few": 'Value "few" invalid for option nodecount',
          "trim=maybe": "Option trim does not take an argument", "tagroot=user": "tagroot counts while the profile is read", "help nothing": "Unknown command: nothing",
          "what=ever": "Unknown command: try 'help'."}
for line, message in ERRORS.items():
    table, _, errors = ours("objects", line, "top")
    check_has(line, errors, f"(pprof) {message}")
    check(f"{line}: nothing changed, one line", (table, errors.count("\n")), (everything, 3))
check_has("help focus", ours("help focus")[1], "focus: only stacks with a matching function")
check_has("help top", ours("help top")[1], "the N largest (10)")
done()
