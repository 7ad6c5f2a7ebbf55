"""cpu.py - what the tests of the CPU profiler share: building programs, running them, reading gperftools' binary files.

The reader is written for these tests alone, on purpose: it knows nothing of the code that wrote the file.
"""
import ctypes
import functools
import glob
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
VITRINE = os.environ["VT_SO"]
PROFILER = os.path.join(os.path.dirname(VITRINE), "libprofiler.so.0")
BOTH = os.path.join(os.path.dirname(VITRINE), "libtcmalloc_and_profiler.so.4")
TOOL = os.path.join(os.environ["VT_BUILD"], "bin", "vitrine")
TMP = tempfile.mkdtemp(prefix="vt-cpu-")
FLAGS = ["-O2", "-g", "-fomit-frame-pointer", "-D_GNU_SOURCE", "-Wall", "-Werror"]


def fail(what):
    print(f"FAILED: {what}")
    sys.exit(1)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def compile_c(name, *sources, flags=(), compiler=None):
    out = os.path.join(TMP, name)
    subprocess.run([compiler or os.environ.get("CC", "cc"), *FLAGS, "-o", out,
                    *[os.path.join(HERE, s) for s in sources], *flags, "-pthread"], check=True)
    return out


def burn():
    """The program burn with its library."""
    lib = compile_c("libburn.so", "burn_lib.c", flags=["-shared", "-fPIC"])
    include = os.path.join(os.environ["VT_SRC"], "include", "compat")
    return compile_c("burn", "burn.c", flags=[f"-I{include}", "-Wl,--no-as-needed", lib, f"-Wl,-rpath,{TMP}", "-ldl"])


def run(argv, preload=VITRINE, env=None, status=0, within_s=600):
    """Runs it with the library; gives (stdout, stderr)."""
    e = {k: v for k, v in os.environ.items() if not k.startswith(("VITRINE", "CPUPROFILE"))}
    e.update({"BURN_TRUTH": os.path.join(TMP, "truth"), **({"LD_PRELOAD": preload} if preload else {}), **(env or {})})
    with subprocess.Popen(argv, env=e, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=TMP, start_new_session=True) as done:
        try:
            out, err = done.communicate(timeout=within_s)
        except subprocess.TimeoutExpired:
            os.killpg(done.pid, signal.SIGKILL)  # its children, too: they have the pipes
            out, err = done.communicate()
            fail(f"{argv}: not over after {within_s} s; {out}{err}")
    if status is not None and done.returncode != status:
        fail(f"{argv}: expected exit {status}, seen {done.returncode}; {out}{err}")
    return out, err


def in_place(begin, preload=VITRINE):
    """Profiles to what is written in place: begin(NAME) gives (argv, env). Yields for each of them (what, {function: cum}) as vitrine top reads it."""
    fifo, regular = os.path.join(TMP, "fifo"), os.path.join(TMP, "regular")
    os.mkfifo(fifo)
    # The FIFO has a reader before the program begins, and a writer until its reader has come: neither end of it depends on who is first.
    opened, read = f"exec 8<>{fifo}; ", (f"8>&- & p=$!; {{reader}} 8>&- & r=$!; until ls -l /proc/$r/fd | grep -q {fifo}; do sleep 0.01; done; "
                                         "wait $p; exec 8>&-; wait $r")
    for what, name, before, redirection in (("/dev/stdout, a pipe", "/dev/stdout", "", "| {top} -"), ("/dev/fd/5, a pipe", "/dev/fd/5", "", "5>&1 >/dev/null | {top} -"),
                                            ("/dev/stdout, a file", "/dev/stdout", "", f">{regular}; {{top}} {regular}"),
                                            ("/dev/fd/5, a file", "/dev/fd/5", "", f"5>{regular}; {{top}} {regular}"),
                                            ("a FIFO", fifo, opened, f"{read.format(reader=f'cat {fifo} >{regular}')}; {{top}} {regular}"),
                                            ("a FIFO whose reader waits", fifo, opened, read.format(reader=f"{{top}} {fifo}"))):
        argv, env = begin(name)
        words = [f"{k}={v}" for k, v in ({"LD_PRELOAD": preload} if preload else {}).items()] + [f"{k}={v}" for k, v in env.items()]
        command = before + f"env {' '.join(words)} {' '.join(argv)} " + redirection.format(top=f"{TOOL} top --json")
        out, err = run(["bash", "-c", command], preload=None, within_s=60)
        try:
            rows = json.loads(out)["rows"]
        except ValueError:
            fail(f"{what}: {command}: expected one profile, seen {out}{err}")
        yield what, {row["name"]: row["cum"] for row in rows}
    os.remove(fifo)


@functools.lru_cache(maxsize=None)
def task_clock():
    """A counter of perf's task clock for this program and all that it starts from now on; None where the system allows none."""
    software, task_clock_of = 1, 1
    inherit, exclude_kernel = 1 << 1, 1 << 5
    attributes = struct.pack("=IIQQQQQIIQ", software, 64, task_clock_of, 0, 0, 0, inherit | exclude_kernel, 0, 0, 0)
    number = {"x86_64": 298, "aarch64": 241}.get(os.uname().machine)
    fd = ctypes.CDLL(None, use_errno=True).syscall(number, attributes, 0, -1, -1, 0) if number else -1
    return fd if fd >= 0 else None


def task_clock_ms():
    """What perf's clock counted for all programs since it was first asked, the host's time with it. This program's own CPU time is left out."""
    fd = task_clock()
    return struct.unpack("=Q", os.read(fd, 8))[0] / 1e6 - time.process_time() * 1e3 if fd is not None else 0.0


def truth():
    """{function: ns}, added up over all processes that told it; the files are removed."""
    total = {}
    for path in glob.glob(os.path.join(TMP, "truth.*")):
        with open(path, encoding="ascii") as f:
            for line in f:
                name, ns = line.split()
                total[name] = total.get(name, 0) + int(ns)
        os.remove(path)
    return {name: ns for name, ns in total.items() if ns}


@functools.lru_cache(maxsize=None)
def symbols_of(path, changed_ns):
    """Read once for each file, not for each profile that names it."""
    return Symbols(path)


class Symbols:
    """Functions of an ELF file by address, from nm."""

    def __init__(self, path):
        self.rows = []
        for args in (["nm", "-S"], ["nm", "-S", "-D"]):
            out = subprocess.run([*args, path], capture_output=True, text=True).stdout
            for line in out.splitlines():
                part = line.split()
                if len(part) == 4 and part[2] in "tTwWi":
                    self.rows.append((int(part[0], 16), int(part[1], 16), part[3].split("@")[0]))
        self.segments = []
        for line in subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout.splitlines():
            part = line.split()
            if part and part[0] == "LOAD":
                self.segments.append([int(x, 16) for x in part[1:6]])

    def name(self, offset):
        for file_offset, address, _, n_bytes, _ in self.segments:
            if file_offset <= offset < file_offset + n_bytes:
                at = offset - file_offset + address
                for start, size, name in self.rows:
                    if start <= at < start + size:
                        return name
        return None


class Profile:
    """gperftools' binary format."""

    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        words = struct.unpack_from(f"{len(data) // 8}Q", data)
        if words[:3] != (0, 3, 0) or words[4] != 0:
            fail(f"{path}: expected the header 0 3 0 PERIOD 0, seen {words[:5]}")
        self.period_us, i, self.rows = words[3], 5, []
        while True:
            count, depth = words[i], words[i + 1]
            stack = words[i + 2:i + 2 + depth]
            i += 2 + depth
            if count == 0:
                break
            self.rows.append((count, stack))
        if depth != 1 or stack != (0,):
            fail(f"{path}: expected the trailer 0 1 0, seen 0 {depth} {stack}")
        self.binary_bytes = i * 8
        self.maps = []
        for line in data[i * 8:].decode().splitlines():
            part = line.split(None, 5)
            if len(part) == 6 and "x" in part[1] and part[5].startswith("/"):
                low, high = (int(x, 16) for x in part[0].split("-"))
                self.maps.append((low, high, int(part[2], 16), part[5]))
        if not self.maps:
            fail(f"{path}: expected mappings behind the trailer, seen none")
        self.n = sum(count for count, _ in self.rows)

    def name(self, pc):
        for low, high, offset, path in self.maps:
            if low <= pc < high:
                return symbols_of(path, os.stat(path).st_mtime_ns).name(pc - low + offset)
        return None

    def cum(self, below=frozenset()):
        """{function: samples in which it is on the stack}; with names, only stacks that have one of them, too"""
        total = {}
        for count, stack in self.rows:
            names = {self.name(pc if i == 0 else pc - 1) for i, pc in enumerate(stack)}
            for name in names - {None}:
                total[name] = total.get(name, 0) + (count if not below or names & below else 0)
        return total
