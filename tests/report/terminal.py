#!/usr/bin/env python3
"""terminal.py - what a person at a terminal sees and a pipe does not: colour, names cut to the width, progress."""
import fcntl
import pty
import struct
import termios
import threading
import time

from tool import *

folder = scratch()
folded = os.path.join(folder, "x.folded")
ACCENTS = "h\u00f6flich_" + 200 * "\u00e9" + "_ende"
LONG = "a_function_with_" + "a_very_" * 30 + "long_name"
with open(folded, "w") as f:
    f.write(f"main;hot 900\nmain;{LONG} 50\nmain;cold 5\nmain;{ACCENTS} 45\n")


IS_SHORT_S = 0.7  # what takes longer is told of


def on_terminal(argv, slowly=None, **more):
    """What appears on a terminal; `slowly`: pieces for standard input with a pause between. Where the machine made it long, it is done again."""
    for _ in range(20):
        since = time.monotonic()
        seen = once_on_terminal(argv, slowly=slowly or [], **more)
        if slowly or time.monotonic() - since < IS_SHORT_S:
            break
    return seen


def once_on_terminal(argv, slowly, columns=80, env=None, stdout_too=True):
    """The same, of that width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    full = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    full.update({"TERM": "xterm"}, **(env or {}))
    p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=slave if stdout_too else subprocess.PIPE, stderr=slave, env=full)
    os.close(slave)
    seen = bytearray()

    def collect():
        while True:
            try:
                data = os.read(master, 65536)
            except OSError:
                return
            if not data:
                return
            seen.extend(data)

    reader = threading.Thread(target=collect)
    reader.start()
    for piece in slowly:
        p.stdin.write(piece)
        p.stdin.flush()
        time.sleep(0.3)
    p.stdin.close()
    text = b"" if stdout_too else p.stdout.read()
    check(f"{' '.join(argv[1:3])}: exit", p.wait(), 0)
    reader.join()
    os.close(master)
    return seen.decode().replace("\r\n", "\n"), text.decode()


def plain(text):
    return re.sub(r"\033\[[0-9;]*m", "", text)


def longest(text):
    return max(len(l) for l in plain(text).splitlines())


piped = out(VITRINE, "top", folded)
check("a pipe: no colour", "\033" in piped, False)
check_has("a pipe: whole names", piped, LONG)
seen, _ = on_terminal([VITRINE, "top", folded])
check("a terminal: colour", "\033[1;31m" in seen, True)
check("a terminal: its width is kept", longest(seen), 80)
check_has("a terminal: the middle of a name is cut", plain(seen), "\u2026")
check_has("a terminal: and not the end", plain(seen), "long_name")
check_has("a terminal: whole characters", plain(seen), "\u00e9_ende")
check("a terminal: the same numbers", [l.split()[:5] for l in plain(seen).splitlines()[2:]], [l.split()[:5] for l in piped.splitlines()[2:]])
hot = next(l for l in seen.splitlines() if l.endswith("hot"))
check("a large share stands out, its name does not", hot.startswith("\033[1;31m") and hot.index("\033[0m") < hot.index("hot"), True)
check("a small one does not", "\033" in next(l for l in seen.splitlines() if l.endswith("cold")), False)
wide, _ = on_terminal([VITRINE, "top", folded], columns=400)
check_has("a wide terminal: whole names", plain(wide), LONG)
check("COLUMNS says otherwise", longest(on_terminal([VITRINE, "top", folded], env={"COLUMNS": "60"})[0]), 60)
check("COLUMNS means nothing for a pipe", run(VITRINE, "top", folded, env={"COLUMNS": "60"})[1], piped)
for name, env in (("NO_COLOR", {"NO_COLOR": "1"}), ("a dumb terminal", {"TERM": "dumb"})):
    seen, _ = on_terminal([VITRINE, "top", folded], env=env)
    check(f"{name}: no colour", "\033" in seen, False)
    check(f"{name}: the width is kept", longest(seen), 80)
check("NO_COLOR that is empty is not set", "\033[" in on_terminal([VITRINE, "top", folded], env={"NO_COLOR": ""})[0], True)
for view in (["tree"], ["peek", "hot"], ["traces"], ["tags"]):
    seen, _ = on_terminal([VITRINE, *view, folded])
    check(f"{view[0]}: the width is kept", longest(seen) <= 80, True)
    check(f"{view[0]}: colour", "\033[" in seen, True)
    check(f"{view[0]}: colours end", len(re.findall(r"\033\[(?!0m)", seen)), seen.count("\033[0m"))
for form in ("--json", "--csv"):
    seen, _ = on_terminal([VITRINE, "top", form, folded])
    check(f"{form} on a terminal: as in a pipe", seen, out(VITRINE, "top", form, folded))
path = os.path.join(folder, "out.txt")
on_terminal([VITRINE, "top", "-o", path, folded])
check("into a file from a terminal: as in a pipe", open(path).read(), piped)

# a difference: by its sign
base = os.path.join(folder, "base.folded")
with open(base, "w") as f:
    f.write("main;hot 100\nmain;cold 500\n")
seen, _ = on_terminal([VITRINE, "diff", base, folded])
row = {l.split()[-1]: l for l in seen.splitlines() if l.endswith(("hot", "cold"))}
check("a difference: growth is red, the opposite cyan", (row["hot"][:5], row["cold"][:5]), ("\033[31m", "\033[36m"))

# what is less than two errors from nothing is grey in every view, also where it would be red
def heap(name, n_small):
    """A symbolized heap of samples: so many of small blocks, and 400 of middle ones."""
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write("--- symbol\nbinary=/nowhere/app\n0x0000000000401000 small\n0x0000000000402000 middle\n0x000000000040f000 main\n---\n--- heap\n")
        n, total = n_small + 400, n_small * 64 + 400 * 4096
        f.write(f"heap profile: {n}: {total} [{n}: {total}] @ heap_v2/65536\n")
        for count, size, place in ((n_small, 64, 0x401000), (400, 4096, 0x402000)):
            f.write(f"{count}: {count * size} [{count}: {count * size}] @ 0x{place:x} 0x40f000\n")
    return path


few, more = heap("few.heap", 2), heap("more.heap", 4)
for argv in (["top"], ["tree"], ["peek", "small"], ["diff", few], ["diff", "--view=tree", few]):
    seen, _ = on_terminal([VITRINE, *argv, more if argv[0] == "diff" else few])
    lines = [l for l in seen.splitlines() if plain(l).endswith("small")]
    check(f"{' '.join(argv[:2])}: noise is grey", {(l.startswith("\033[90m"), l.endswith("\033[0m")) for l in lines}, {(True, True)})
    rest = [l for l in seen.splitlines() if plain(l).endswith("middle")]
    check(f"{' '.join(argv[:2])}: the rest is not", any("\033[90m" in l for l in rest), False)
program = os.path.join(folder, "program")
out(os.environ.get("CC", "cc"), "-O1", "-g", "-x", "c", "-", "-o", program,
    stdin=b"#include <stdlib.h>\nvoid *volatile kept[200];\nint main(void) { for (int i = 0; i < 200; i++) kept[i] = malloc(1000); return 0; }\n")
for turn in range(20):  # until it has a sample or two
    seen, _ = on_terminal([VITRINE, "run", "-o", os.path.join(folder, f"run{turn}"), program])
    lines = [l for l in seen.splitlines() if plain(l).endswith(" main")]
    if any("~" in l for l in lines):
        break
check("run: noise is grey", [l.startswith("\033[90m") for l in lines if "~" in l], [True])

# ---- progress: only for what takes long, only on a terminal, and gone afterwards
pieces = [b"main;work_%d %d\n" % (i, i + 1) for i in range(5)]
seen, text = on_terminal([VITRINE, "top", "-"], slowly=pieces, stdout_too=False)
check_has("progress", seen, "\r\033[Kvitrine: reading 'standard input' 0.0 MB")
check("progress is gone afterwards", seen.endswith("\r\033[K"), True)
check("progress is not in the data", "\033" in text or "reading" in text, False)
seen, _ = on_terminal([VITRINE, "top", folded], stdout_too=False)
check("nothing is told of what is short", seen, "")
p = subprocess.Popen([VITRINE, "top", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
for piece in pieces:
    p.stdin.write(piece)
    p.stdin.flush()
    time.sleep(0.3)
p.stdin.close()
check("no progress into a pipe", p.stderr.read(), b"")
p.wait()
done()
