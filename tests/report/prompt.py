#!/usr/bin/env python3
"""prompt.py - the old tools' prompt: on a terminal without being asked for, and beside jeprof's own."""
import pty
import select
import termios
import time

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


status, seen = on_terminal([JEPROF, program, heap], ["top", "top1", "quit"])
check("exit", status, 0)
check_has("greeting", seen, "Welcome to jeprof!  For help, type 'help'.\n(jeprof) top\nTotal: 5.1 MB\n")
check("top has at most ten rows", 5 <= len(re.findall(r"^ +\d+\.\d +\d+\.\d%", seen.split("top1")[0], re.M)) <= 10, True)
check("top1 has one", len(re.findall(r"^ +\d+\.\d +\d+\.\d%", seen.split("top1")[1], re.M)), 1)
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

# viewers in the background, files, and what came after the old tools
tools = os.path.join(folder, "tools")
os.mkdir(tools)
for name in ("gv", "evince", "xdg-open", "kcachegrind"):
    with open(os.path.join(tools, name), "w") as f:
        f.write(f'#!/bin/sh\nfor file; do :; done\ncp "$file" {folder}/{name}.part && mv {folder}/{name}.part {folder}/{name}.shown\n')
    os.chmod(os.path.join(tools, name), 0o755)
ENV = {"PATH": tools + ":" + os.environ["PATH"], "TMPDIR": folder, "BROWSER": ""}
calls, picture = os.path.join(folder, "x.callgrind"), os.path.join(folder, "x.dot")
lines = ["weblist app::deep", "callgrind " + calls, "callgrind", f"dot app::deep >{picture}", "disasm app::deep", "peek app::deep", "tree",
         "traces", "collapsed", "tags", "exit", "top"]
status, text, errors = run(PPROF, "--interactive", program, heap, stdin="\n".join(lines).encode(), env=ENV)
check("many commands: exit", status, 0)
check_has("callgrind FILE", open(calls).read(), "events: inuse_space")
check_has("dot >FILE", open(picture).read(), "digraph")
check_has("weblist", errors, "Loading web page file://" + folder)
check_has("disasm", text, "ROUTINE ====================== app::deep\n")
check("collapsed", bool(re.search(r"^\S*main;app::small\(\);app::Box<char>::fill\(int\) 1000000$", text, re.M)), True)
check("exit ends it", "Total:" in text, False)
import time
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
        _, theirs, _ = run(PEER_JEPROF, "--interactive", program, je, stdin=b"top\ntop3 --cum\nquit\n")
        _, ours, _ = run(JEPROF, "--interactive", program, je, stdin=b"top\ntop3 --cum\nquit\n")
        totals = lambda text: [l for l in text.splitlines() if l.startswith("Total")]
        check("totals as jeprof", totals(ours), totals(theirs))
        for name in ("app::small", "app::large", "main"):
            check(f"{name} as jeprof", rows(ours)[0].get(name), rows(theirs)[0].get(name))
done()
