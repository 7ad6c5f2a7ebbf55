#!/usr/bin/env python3
"""run.py - `vitrine run`: what the program sees, its exit status, signals, the terminal, the report and the files."""
import math
import pty
import select
import signal
import struct
import time
import xml.dom.minidom

from tool import *

folder = scratch()
SUBJECT = os.path.join(folder, "subject")
CC = os.environ.get("CC", "cc")
ALL, LIVE = 2500 * 10000, 500 * 10000  # bytes that SUBJECT's grow takes and keeps
out(CC, "-O1", "-g", "-pthread", os.path.join(HERE, "subject.c"), "-o", SUBJECT)


def vrun(*argv, **more):
    """vitrine run -o NEW-FOLDER ...: (status, stdout, stderr, folder)"""
    vrun.n += 1
    place = os.path.join(folder, f"run{vrun.n}")
    return (*run(VITRINE, "run", "-o", place, *argv, **more), place)


vrun.n = 0


def amount(text, name):
    """Of a line of the report, in bytes."""
    m = re.search(rf"^  {name} +([0-9.]+)(B|kB|MB|GB)?\b", text, re.M)
    return float(m.group(1)) * {None: 1, "B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}[m.group(2)] if m else -1


# ---- the report
status, text, errors, place = vrun("--", SUBJECT, "grow", "exit", "7")
check("exit status", status, 7)
check("nothing of ours on stdout", text, "")
check_has("how it ended", errors, "vitrine: subject ended with status 7 after ")
check_near("samples", amount(errors, "samples"), ALL / 65536, 120)  # six deviations
check_has("of the peak", errors, "in use at the peak:\n")
sites = re.findall(r"^ +\S+MB ±\S+% +\S+% (\w+) < ", errors, re.M)
check("top sites", sites[:2], ["hold_much", "hold_on"])
files = dict(re.findall(r"^  (flame graph|peak profile|last profile) +(.*)$", errors, re.M))
check("files are there", sorted(os.path.join(place, f) for f in os.listdir(place)), sorted(files.values()))
picture = open(files["flame graph"]).read()
xml.dom.minidom.parseString(picture)
check_has("the picture has the site", picture, "hold_much")
check_has("the picture's title", picture, "subject: in use at the peak")
table, _ = top(files["last profile"])
check("the profile at exit is what it says", "hold_on" in table and table.get("hold_much", (0, 0))[0] == 0, True)


# the amounts, from so many samples that chance plays no part: one for each 2 kB, of blocks of 10 (see SUBJECT)
def check_amounts(what, errors):
    check_near(f"{what}: peak", amount(errors, "peak"), ALL, 2e6)  # kept in steps of a twentieth
    check_near(f"{what}: live at exit", amount(errors, "live at exit"), LIVE, 4e5)
    check_near(f"{what}: allocated", amount(errors, "allocated"), ALL, 1e6)


check_amounts("many samples", vrun("--rate=2K", SUBJECT, "grow")[2])

# what is taken and given in turns is drawn less often after a while, and the report does not say otherwise
_, _, errors, _ = vrun(SUBJECT, "turns")
nominal = 100000 * (1 - math.exp(-16384 / 65536))
check("in turns: samples", 0.2 * nominal < amount(errors, "samples") < 0.4 * nominal, True)
check_has("in turns: says so", errors, "one for each 64.0kB, fewer in bursts\n")
check_near("in turns: allocated", amount(errors, "allocated"), 100000 * 16384, 0.04 * 100000 * 16384)  # six deviations

# exact
status, text, errors, place = vrun("--exact", SUBJECT, "grow")
check("exact: allocated", round(amount(errors, "allocated") / 1e5), round(ALL / 1e5))
check("exact: live", round(amount(errors, "live at exit") / 1e5), round(LIVE / 1e5))
check_has("exact: the peak", errors, "  peak                   23.8MB  in 2500 blocks\n")
check_has("exact: what it was", errors, "\nin use at the peak:\n")
check("exact: no samples, no error", "samples" in errors or "±" in errors, False)
check_has("exact: many blocks", errors, "  in 500 blocks\n")
one = os.path.join(folder, "one")
out(os.environ.get("CC", "cc"), "-x", "c", "-", "-o", one, stdin=b"#include <stdlib.h>\nvoid *volatile kept;\nint main(void) { kept = malloc(16000); return 0; }\n")
check_has("exact: one block", vrun("--exact", one)[2], "  in 1 block\n")

# a program too small for the rate
status, text, errors, place = vrun("--rate=1G", SUBJECT, "exit", "0")
check("empty: status", status, 0)
check_has("empty: says so", errors, "few: a smaller --rate, or --exact, sees more")

# in a folder of its own, which goes when nothing was written
here = os.getcwd()
os.chdir(folder)
_, _, errors = run(VITRINE, "run", SUBJECT, "grow")
check_has("default folder", errors, " vitrine.subject.1/subject.")
_, _, errors = run(VITRINE, "run", SUBJECT, "grow")
check_has("the next one", errors, " vitrine.subject.2/subject.")
_, _, errors = run(VITRINE, "run", SUBJECT, "_exit", "3")
check_has("no profile", errors, "warning: no heap profile: 'subject' does not use libc's malloc, or ended by _exit() before a sample was due")
check("an empty folder is removed", os.path.exists("vitrine.subject.3"), False)
os.chdir(here)

# a folder that is used again: only what is new is told of
_, _, _, place = vrun(SUBJECT, "grow")
_, _, errors = run(VITRINE, "run", "-o", place, SUBJECT, "grow")
check("a used folder: no others", "other process" in errors, False)
odd = os.path.join(folder, "100%p, or %%")
status, _, errors = run(VITRINE, "run", "-o", odd, SUBJECT, "grow")
check_has("an odd folder", errors, f"last profile     {odd}/subject.")

# ---- children
_, _, errors, place = vrun(SUBJECT, "fork", "grow")
check_has("a child", errors, f"and those of 1 other process in {place}")
status, _, errors, place = vrun("--rate=2K", "sh", "-c", f"{SUBJECT} grow; {SUBJECT} exit 0; {SUBJECT} exit 5")
check("of a shell: status", status, 5)
check_has("of a shell: itself none", errors, "sh recorded nothing itself; this is its child with the largest heap profile")
check_has("of a shell: no files for those that did next to nothing", errors, "\n  none of 2 other processes that allocated less than 1MB\n")
check("of a shell: files", sorted(re.sub(r"[0-9]+", "N", f) for f in os.listdir(place) if ".svg" not in f), ["sh.N.N.heap", "sh.N.peak.heap"])
check_amounts("of a shell", errors)

# the child is chosen by what it allocated, not by how many stacks it has
many = os.path.join(folder, "many")
out(CC, "-O1", "-g", "-x", "c", "-", "-o", many, stdin=b"""#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) void deep(int n) { if (n > 0) deep(n - 1); else kept = malloc(16000); __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 200; i++) deep(i); return 0; }
""")
for order in (f"{SUBJECT} grow; {many}", f"{many}; {SUBJECT} grow"):
    _, _, errors, place = vrun("--exact", "sh", "-c", f"{order}; :")
    check_has(f"the largest child of {order}", errors, "  allocated              23.8MB  in 2500 blocks\n")
    largest = max(glob.glob(place + "/*.0001.heap"), key=os.path.getsize)
    check("it is not the one with the largest file", re.search(r"last profile +(\S+)$", errors, re.M).group(1) == largest, False)

# ---- CPU time
status, _, errors, place = vrun("--cpu", "--heap", SUBJECT, "spin", "grow", "exit", "3")
check("cpu: status", status, 3)
times = re.findall(r"^  CPU time +([0-9.]+)(m?)s$", errors, re.M)
check("cpu: a time", len(times), 1)
check_has("cpu: the heap as well", errors, "in use at the peak:\n")
check_has("cpu: where, up to main", errors.partition("\nCPU time:\n")[2], "% spin < main\n")
# on one time base: the same start in all files, and an end that differs by the time it takes to write them
spans = {}
for name in os.listdir(place):
    if not name.endswith(".svg"):
        raw = json.loads(out(VITRINE, "raw", "--json", os.path.join(place, name)))
        spans[name.rpartition(".")[2]] = (raw["time_ns"], raw["duration_ns"])
check("cpu and heap: kinds", sorted(spans), ["cpu", "heap"])
check("cpu and heap: the same start", spans["cpu"][0], spans["heap"][0])
check("cpu and heap: the start is this year's", spans["cpu"][0] > 1.7e18, True)
check("cpu and heap: the same end, nearly", abs(spans["cpu"][1] - spans["heap"][1]) < 2e9, True)
check("cpu: files", sorted(re.sub(r"[0-9]+", "N", f) for f in os.listdir(place)),
      ["subject.N.CPU.svg", "subject.N.N.heap", "subject.N.heap.svg", "subject.N.peak.heap", "subject.cpu"])
status, _, errors, place = vrun("--cpu", "sh", "-c", f"{SUBJECT} spin; exit 2")
check("cpu of a shell: status", status, 2)
check_has("cpu of a shell: of its child", errors, "sh recorded nothing itself; this is its child with the largest CPU profile")
check_has("cpu of a shell: where", errors, "% spin < main\n")
_, _, errors, _ = vrun("--cpu", "--all-frames", SUBJECT, "spin")
check_has("cpu: all frames", errors, "% spin < main < __libc_start_call_main < __libc_start_main")
check("cpu alone: no heap", ".heap" in errors, False)

# ---- time waited
status, _, errors, place = vrun("--contention", "--cpu", SUBJECT, "contend", "exit", "3")
check("contention: status", status, 3)
waited = re.findall(r"^  time waited +([0-9.]+)ms$", errors, re.M)
check("contention: a time", len(waited), 1)
check("contention: 0.1 s and what the machine adds", 99 <= float(waited[0]) < 10000, True)
check("contention: a wait", re.findall(r"^  waits +([0-9]+)$", errors, re.M), ["1"])
check_has("contention: where", errors.partition("\ntime waited:\n")[2], "% pthread_mutex_lock < wait_for_it < contend < main")
check("contention: files", sorted(re.sub(r"[0-9]+", "N", f) for f in os.listdir(place) if "contention" in f),
      ["subject.N.contention.svg", "subject.contention"])
raw = [json.loads(out(VITRINE, "raw", "--json", os.path.join(place, f"subject.{kind}"))) for kind in ("contention", "cpu")]
check("contention and cpu: the same start", raw[0]["time_ns"], raw[1]["time_ns"])
status, _, errors, place = vrun("--contention", "sh", "-c", f"{SUBJECT} contend; exit 2")
check("contention of a shell: status", status, 2)
check_has("contention of a shell: of its child", errors, "sh recorded nothing itself; this is its child with the largest contention profile")

# ---- exit status
for argv, expected in [((SUBJECT, "exit", "0"), 0), ((SUBJECT, "exit", "255"), 255), ((SUBJECT, "kill", "9"), 137),
                       ((SUBJECT, "kill", "15"), 143), (("no-such-program",), 127), (("./no/such/program",), 127),
                       (("/etc/passwd",), 126), (("/",), 126)]:
    check(f"status of {' '.join(argv)}", vrun("--", *argv)[0], expected)
_, _, errors, _ = vrun(SUBJECT, "kill", "15")
check_has("ended by a signal", errors, "subject was ended by signal 15 (Terminated) after")
check_has("ended by a signal: why no profile", errors,
          "no heap profile: a signal ended 'subject' before one was due; --every=10s writes them on the way")
status, _, errors, _ = vrun("--every=5M", SUBJECT, "grow", "kill", "9")
check("on the way: status", status, 137)
check_has("on the way: a profile", errors, "last profile ")
text = out(VITRINE, "run", "-o", os.path.join(folder, "help"), "ls", "--help")
check_has("an option behind the program is the program's", text, "Usage: ls")

# ---- what the program sees
status, text, errors, _ = vrun(SUBJECT, "line", stdin=b"a line\n")
check("stdin and stdout", text, "a line\n")
library_path = os.path.realpath(os.path.join(BUILD, "lib", "libvitrine.so.1"))
other = {} if "asan" in BIN else {"LD_PRELOAD": "libm.so.6"}  # which must be first itself
_, text, errors, _ = vrun("--rate=1M", "env", env={"VITRINE": "retain=1M,heap_exit_peak=off", **other})
seen = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
check("LD_PRELOAD is kept", seen["LD_PRELOAD"], ":".join([library_path, *other.values()]))
check("VITRINE is kept, and later counts", seen["VITRINE"], "heap_exit_peak,sample=64K,retain=1M,heap_exit_peak=off")
check("the user's heap_exit_peak=off counts", "peak" in errors, False)
_, _, errors, _ = vrun(SUBJECT, "grow", env={"VITRINE": "sample=128K"})
check_has("the user's rate counts", errors, "one for each 128kB on average")
_, _, errors, _ = vrun("--rate=32K", SUBJECT, "grow", env={"VITRINE": "sample=128K"})
check_has("unless the option says another", errors, "one for each 32.0kB on average")
link = os.path.join(folder, "link-to-vitrine")
os.symlink(os.path.abspath(VITRINE), link)
check("through a symbolic link", run(link, "run", "-o", os.path.join(folder, "link"), SUBJECT, "exit", "6")[0], 6)
copy = os.path.join(folder, "copy")
shutil.copy(VITRINE, copy)
status, _, errors = run(copy, "run", SUBJECT)
check("without the library: status", status, 3)
check_has("without the library: says so", errors, "no 'libvitrine.so.1' in '")

# ---- signals
grep = ["grep", "^Sig[BI]", "/proc/self/status"]


def masks(text):
    """Without 32 and 33, which posix_spawn sets aside for libc."""
    return [int(line.split()[1], 16) & ~(3 << 31) for line in text.splitlines()]


check("masks are as they were", masks(vrun(*grep)[1]), masks(run(*grep)[1]))
ignored = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
with_hup = [subprocess.run(argv, capture_output=True, text=True, **ignored).stdout
            for argv in (grep, [VITRINE, "run", "-o", os.path.join(folder, "hup"), *grep])]
check("what is ignored stays ignored", masks(with_hup[1]), masks(with_hup[0]))
check("it was ignored", masks(with_hup[0])[1] & 1, 1)

for number in (signal.SIGTERM, signal.SIGINT):
    p = subprocess.Popen([VITRINE, "run", "-o", os.path.join(folder, f"forward{number}"), SUBJECT, "grow", "signals", "exit", "9"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(f"{number.name}: ready", p.stdout.readline(), "ready\n")
    p.send_signal(number)
    text, errors = p.communicate(timeout=60)
    check(f"{number.name}: forwarded once", text, "signals=1\n")
    check(f"{number.name}: the program's status", p.returncode, 9)
    check_has(f"{number.name}: and a report", errors, "last profile")


class Terminal:
    """A program with a terminal of its own."""

    def __init__(self, *argv):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvp(argv[0], argv)

    def type(self, text):
        os.write(self.fd, text.encode())

    def expect(self, what, text):
        """Waits for it, and goes on behind it."""
        end = time.monotonic() + 60
        while text not in self.seen and time.monotonic() < end:
            if not select.select([self.fd], [], [], 1)[0]:
                continue
            try:
                more = os.read(self.fd, 4096).decode(errors="replace")
            except OSError:
                break
            self.seen += more
        check_has(what, self.seen, text)
        self.seen = self.seen.partition(text)[2]

    def close(self):
        if failed:  # it may wait for ever
            os.kill(self.pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return status


# Several times: a second signal that comes very soon after the first would be one with it.
t = Terminal(VITRINE, "run", "-o", os.path.join(folder, "tty"), SUBJECT, *["signals"] * 6, "exit", "4")
for i in range(6):
    t.expect("terminal: ready", "ready")
    t.type("\x03")
    t.expect("terminal: ^C reaches the program once", "signals=")
    t.expect("terminal: and no second time", f"{i + 1}\r\n")
t.expect("terminal: we live to report", "ended with status 4")
check("terminal: status", t.close(), 4)

os.environ["PS1"] = "prompt> "
t = Terminal("bash", "--norc", "--noprofile", "-i")
t.type(f"{VITRINE} run -o {folder}/jobs {SUBJECT} signals line exit 0\n")
t.expect("job control: ready", "ready")
t.type("\x1a")
t.expect("job control: ^Z stops both", "Stopped")
t.expect("job control: the shell is back", "prompt> ")
t.type("fg\n")
t.expect("job control: back again", "signals line exit 0\r\n")
end = time.monotonic() + 60
while os.tcgetpgrp(t.fd) == t.pid and time.monotonic() < end:  # until the shell has handed the terminal over
    time.sleep(0.01)
t.type("\x03")
t.expect("job control: it goes on", "signals=1")
t.type("hello\n")
t.expect("job control: it has the terminal", "hello\r\nhello")
t.expect("job control: the end", "ended with status 0")
t.type("exit 0\n")
t.close()

# ---- what cannot be preloaded
plain = open(shutil.which("true"), "rb").read()


def program(name, data, mode=0o755):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, mode)
    return path


def patched(data, at, more):
    return data[:at] + more + data[at + len(more):]


REFUSED = [
    (program("other", patched(plain, 18, struct.pack("<H", 0xB7 if plain[18] != 0xB7 else 0x3E))), "is for another kind of machine"),
    (program("narrow", patched(plain, 4, b"\1")), "is for another kind of machine"),
]
loader = re.search(rb"/lib\S*/ld-[^\0]*\0", plain)
musl = b"/lib/ld-musl.so.1\0"
REFUSED.append((program("musl", patched(plain, loader.start(), musl.ljust(len(loader.group()), b"\0"))), "is loaded by ld-musl.so.1"))
if run(CC, "-static", os.path.join(HERE, "subject.c"), "-o", os.path.join(folder, "static"))[0] == 0:
    static = os.path.join(folder, "static")
    REFUSED.append((static, "is static, so nothing can be preloaded: link it with libvitrine.a"))
    REFUSED.append((program("script", f"#! {static} -x\n".encode()), f"'{static}' is static"))
else:
    print("no static libc here: static programs not looked at")
if os.getuid() == 0:
    path = program("setuid", plain)
    os.chown(path, 65534, 65534)
    os.chmod(path, 0o4755)
    REFUSED.append((path, "runs with more rights than yours, so nothing is preloaded"))
else:
    print("not root: set-user-ID programs not looked at")
for path, why in REFUSED:
    status, text, errors, place = vrun(path, "grow")
    check(f"{path}: status", status, 3)
    check_has(f"{path}: why", errors, why)
    check(f"{path}: one line", errors.count("\n"), 1)
    check(f"{path}: no folder", os.path.exists(place), False)
archive = os.path.join(BUILD, "lib", "libvitrine.a")
if run(CC, "-static", "-g", os.path.join(HERE, "subject.c"), archive, "-Wl,-u,malloc", "-Wl,--eh-frame-hdr", "-pthread", "-o",
       os.path.join(folder, "linked"))[0] == 0:
    status, _, errors, _ = vrun(os.path.join(folder, "linked"), "grow")
    check("static with the library in it: status", status, 0)
    check_has("static with the library in it: a report", errors, "last profile")
script = program("perl-script", f"#! /bin/sh\n{SUBJECT} grow\nexit 12\n".encode())
status, _, errors, _ = vrun(script)
check("a script: status", status, 12)
check_has("a script: a report", errors, "last profile")
done()
