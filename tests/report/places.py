#!/usr/bin/env python3
"""places.py - files that a profile or a binary names: a FIFO, a socket or a device there is not opened, and nothing hangs.

A FIFO that somebody opens for reading lets a writer in: so each has one who tries, and must be turned away to the end.
"""
import socket
import threading

from tool import *

folder = scratch()
WITHIN_S = 60  # a hang


def fifo(*names):
    path = os.path.join(folder, *names)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.mkfifo(path)
    return path


def heap(mapping, name="x.heap"):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write("heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @ 0x400010\nMAPPED_LIBRARIES:\n"
                f"00400000-00500000 r-xp 00000000 00:00 0 {mapping}\n")
    return path


def try_to_write(path, is_over, opened):
    while not is_over.is_set():
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            opened.append(path)
            return
        except OSError:
            is_over.wait(0.0005)


def run_beside(path, *argv, status=0):
    """The command's output, while somebody tries to write into the FIFO; None after a hang."""
    is_over, opened = threading.Event(), []
    watcher = threading.Thread(target=try_to_write, args=(path, is_over, opened))
    if path:
        watcher.start()
    name = " ".join(os.path.basename(a) for a in argv)
    try:
        r = subprocess.run(argv, capture_output=True, text=True, timeout=WITHIN_S, stdin=subprocess.DEVNULL)
        check(f"{name}: exit", r.returncode, status)
        shown = r.stdout + r.stderr
    except subprocess.TimeoutExpired:
        check(f"{name}: hangs", True, False)
        shown = ""
    is_over.set()
    if path:
        watcher.join()
    check(f"{name}: is not opened", opened, [])
    return shown


# ---- as the binary

pipe = fifo("app")
for argv in ([VITRINE, "top"], [VITRINE, "disasm", "."], [VITRINE, "top", f"--path=/old={folder}"], [PPROF, "--text"]):
    moved = "--path" in argv[-1]
    shown = run_beside(pipe, *argv, heap("/old/app" if moved else pipe), status=3 if "disasm" in argv else 0)
    if not moved:
        check_has("why there are no names", shown, f"no names for '{pipe}': cannot open '{pipe}': it is no ordinary file")
run_beside(pipe, VITRINE, "top", "--program=" + pipe, heap("/nowhere/app"), status=3)
run_beside(pipe, PPROF, "--text", f"--lib_prefix={folder}", heap("/app"))
unix = os.path.join(folder, "socket")
s = socket.socket(socket.AF_UNIX)
s.bind(unix)
for place in (unix, "/proc/self/mem", "/proc/kmsg", "/proc/kcore", "/proc/self/environ", "/sys/kernel/notes", folder, "/../dev/zero", "/../dev/tty", "/../dev/stdin"):
    check_has(f"{place} as a binary", run_beside(None, VITRINE, "top", heap(place)), f"no names for '{place}': ")

# ---- as a source: `list` of a real program whose source is now a FIFO, or a device

here = os.path.join(folder, "build")
os.mkdir(here)
source, program = os.path.join(here, "s.c"), os.path.join(here, "prog")
SOURCE = """#include <stdlib.h>
void *kept[300];
__attribute__((noinline)) void *take(int i) { return kept[i] = malloc(100000); }
int main(void) { for (int i = 0; i < 300; i++) if (!take(i)) return 1; return 0; }
"""


def write(path):
    with open(path, "w") as f:
        f.write(SOURCE)
    return path


write(source)
CC = os.environ.get("CC", "cc")
out(CC, "-O1", "-g", source, "-o", program)
mine = os.path.join(folder, "mine.0001.heap")  # as the process writes it, without names
out(program, env={"LD_PRELOAD": os.path.join(BUILD, "lib", "libvitrine.so.1"), "VITRINE": f"sample=64K,heap_profile={mine[:-10]}"})
check_has("the source while it is there", run_beside(None, VITRINE, "list", ".", mine), "ROUTINE ======================")
os.unlink(source)
pipe = fifo("build", "s.c")
for argv in ([VITRINE, "list", ".", mine], [VITRINE, "disasm", ".", mine], [PPROF, "--list=.", mine]):
    check_has("the source is a FIFO", run_beside(pipe, *argv), "ROUTINE ======================")
os.unlink(source)
os.symlink("/dev/zero", source)
check_has("the source is a device", run_beside(None, VITRINE, "list", ".", mine), "(no source: Invalid argument)")
os.unlink(source)
with open(source, "wb") as f:
    f.truncate(1 << 40)
check_has("the source is a terabyte", run_beside(None, VITRINE, "list", ".", mine), "(no source: File too large)")

# ---- as a debug file: beside the binary, and in .debug there

if shutil.which("objcopy"):
    for where in ("build", "build/.debug"):
        link = os.path.join(here, "prog.dbg")
        stripped = os.path.join(here, "stripped")
        out("objcopy", "--only-keep-debug", program, link)
        out("objcopy", "--strip-all", f"--add-gnu-debuglink={link}", program, stripped)
        os.rename(stripped, program)
        os.unlink(link)
        pipe = fifo(where, "prog.dbg")
        run_beside(pipe, VITRINE, "top", mine)
        os.unlink(pipe)
        os.unlink(program)
        out(CC, "-O1", "-g", write(os.path.join(folder, "t.c")), "-o", program)
else:
    print("no objcopy here: debug links are not looked at")

# ---- as the .dwo file of a unit

r = subprocess.run([CC, "-O1", "-gsplit-dwarf", "-gdwarf-5", "-c", write(os.path.join(folder, "t.c")), "-o", os.path.join(here, "d.o")], capture_output=True, cwd=here)
dwo = os.path.join(here, "d.dwo")
if r.returncode == 0 and os.path.exists(dwo):
    out(CC, os.path.join(here, "d.o"), "-o", program)
    run(VITRINE, "run", "-o", os.path.join(folder, "out2"), program)
    split = glob.glob(os.path.join(folder, "out2", "*.0001.heap"))[0]
    os.unlink(dwo)
    pipe = fifo("build", "d.dwo")
    run_beside(pipe, VITRINE, "top", split)
else:
    print("no split DWARF here: .dwo files are not looked at")

# ---- a section that unpacks to a thousand times as much

if shutil.which("objcopy"):
    zeros = os.path.join(folder, "zeros")
    with open(zeros, "wb") as f:
        f.truncate(200 << 20)
    big = os.path.join(here, "big")
    out("objcopy", "--remove-section=.debug_str", f"--add-section=.debug_str={zeros}", program, big)
    out("objcopy", "--compress-debug-sections=zlib-gabi", big)
    check("a small file", os.path.getsize(big) < 2 << 20, True)
    os.rename(big, program)
    r = subprocess.run([VITRINE, "top", mine], capture_output=True, text=True, timeout=WITHIN_S)
    check_has("packed debug data that is a bomb", r.stderr, "its packed sections are no debug data")

# ---- what a user names himself: a program to run

pipe = fifo("prog")
os.chmod(pipe, 0o755)
run_beside(pipe, VITRINE, "run", "-o", os.path.join(folder, "o"), pipe, status=126)
done()
