#!/usr/bin/env python3
"""old_names.py SECTION - command lines of users' notes about gperftools, on our libraries of those names.

SECTION is a function below: the number of the note and what it does there. VT_TREE is an installed tree; only paths differ
from the notes. Each runs in a folder of its own.
"""
import glob
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.environ["VT_TREE"]
LIB = os.path.dirname(glob.glob(os.path.join(TREE, "lib*", "**", "libtcmalloc.so"), recursive=True)[0])
PPROF = os.path.join(TREE, "bin", "pprof")
OURS = re.compile(r"(?:HEAP|CPUPROFILE|TCMALLOC|MALLOCSTATS|PERFTOOLS|VITRINE|LD_PRELOAD)")
CLEAN = {k: v for k, v in os.environ.items() if not OURS.match(k)}


def fail(text):
    print("FAILED:", text)
    sys.exit(1)


def run(*command, preload=None, status=0, **variables):
    env = dict(CLEAN, LD_LIBRARY_PATH=LIB, **variables)
    if preload:
        env["LD_PRELOAD"] = os.path.join(LIB, preload)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100, check=False)
    if done.returncode != status:
        fail(f"{' '.join(command)}: expected status {status}, seen {done.returncode}\n{done.stderr}")
    return done


def compiled(*more):
    run(os.environ.get("CXX", "c++"), "-g", "-std=c++11", os.path.join(HERE, "old_names.cc"), "-o", "a.out", *more)


def head(path):
    """(objects, bytes in use, objects, bytes allocated, kind) of a heap profile's first line"""
    with open(path) as f:
        line = f.readline()
    m = re.fullmatch(r"heap profile: +(\d+): +(\d+) \[ *(\d+): +(\d+)\] @ (\S+)\n", line)
    if not m:
        fail(f"{path}: not the first line of a heap profile: {line!r}")
    return (*map(int, m.groups()[:4]), m.group(5))


def in_use(path):
    n = head(path)[1]
    with open(path) as f:
        text = f.read()
    if "\n\nMAPPED_LIBRARIES:\n" not in text:
        fail(f"{path}: no MAPPED_LIBRARIES")
    return n


def near(seen, expected, slack, what):
    """What libstdc++ and stdio allocate for themselves comes on top."""
    if not expected <= seen <= expected + slack:
        fail(f"{what}: expected {expected} and up to {slack} more, seen {seen}")


def files(*expected):
    seen = sorted(glob.glob("*.heap") + glob.glob("cpu*"))
    if seen != sorted(expected):
        fail(f"expected {sorted(expected)}, seen {seen}")


def n_samples(path):
    """of a CPU profile: words 0 3 0 PERIOD 0, then COUNT DEPTH PC..., until COUNT is 0"""
    with open(path, "rb") as f:
        data = f.read()
    words = struct.unpack_from(f"{len(data) // 8}Q", data)
    if words[:5] != (0, 3, 0, 10000, 0):
        fail(f"{path}: not the header of a CPU profile: {words[:5]}")
    at, n = 5, 0
    while words[at] != 0:
        n += words[at]
        at += 2 + words[at + 1]
    return n


def lines(text, *patterns):
    """Each pattern matches a whole line, in this order."""
    rest = iter(text.splitlines())
    for p in patterns:
        if not any(re.fullmatch(p, line) for line in rest):
            fail(f"no line {p!r} (or not there) in\n{text}")


LIBRARIES = 80000   # libstdc++'s emergency pool and stdio's buffers


# ---- note 000

def heap_profile_linked_000():
    compiled("-L" + LIB, "-Wl,--no-as-needed", "-ltcmalloc_and_profiler")
    err = run("./a.out", "leak", HEAPPROFILE="heapprofile.out").stderr
    lines(err, "Starting tracking the heap", r"Dumping heap profile to heapprofile.out.0001.heap \(Exiting, 6 MB in use\)")
    near(in_use("heapprofile.out.0001.heap"), 6 << 20, LIBRARIES, "in use")
    files("heapprofile.out.0001.heap")


def heap_profile_preloaded_000():
    compiled()
    run("./a.out", "leak", preload="libtcmalloc_and_profiler.so", HEAPPROFILE="heapprofile.out")
    n, n_bytes, n_alloc, alloc, kind = head("heapprofile.out.0001.heap")
    near(n, 2 << 20, 20, "objects")
    near(n_bytes, 6 << 20, LIBRARIES, "bytes")
    near(alloc, n_bytes, LIBRARIES, "allocated")
    if kind != "heapprofile" or n_alloc < n:
        fail(f"kind {kind}, {n_alloc} objects allocated")


def heap_profile_for_every_mebibyte_000():
    compiled()
    err = run("./a.out", "leak", preload="libtcmalloc_and_profiler.so", HEAPPROFILE="heapprofile.out",
              HEAP_PROFILE_ALLOCATION_INTERVAL="1048576").stderr
    files(*[f"heapprofile.out.{i:04}.heap" for i in range(1, 8)])
    lines(err, *[rf"Dumping heap profile to heapprofile.out.000{i}.heap \({i} MB allocated cumulatively, {i} MB currently in use\)"
                 for i in range(1, 7)], r"Dumping heap profile to heapprofile.out.0007.heap \(Exiting, 6 MB in use\)")
    for i in range(1, 7):
        near(in_use(f"heapprofile.out.000{i}.heap"), i << 20, 65536, f"file {i}")


def has_work(cpu_profile):
    """pprof shows what the program did."""
    text = run(PPROF, "--text", "a.out", cpu_profile).stdout
    if n_samples(cpu_profile) < 5 or not re.search(r"\bwork\b", text):
        fail(f"{cpu_profile}: expected the samples of work(), seen {n_samples(cpu_profile)}: {text}")


def by_dlopen_000():
    compiled("-ldl")
    err = run("./a.out", "open", LIB, preload="libtcmalloc.so").stderr
    lines(err, "Starting tracking the heap", r"PROFILE: interrupts/evictions/bytes = \d+/\d+/\d+",
          r"Dumping heap profile to heap.prof.0001.heap \(over\)")
    near(in_use("heap.prof.0001.heap"), 20000, 20000, "in use")
    files("heap.prof.0001.heap", "cpu.prof")
    has_work("cpu.prof")


def heap_profile_across_fork_000():
    compiled()
    run("./a.out", "fork", preload="libtcmalloc_and_profiler.so", HEAPPROFILE="heapprofile.out")
    found = glob.glob("heapprofile.out_*.0001.heap")
    if len(found) != 1:
        fail(f"expected one file of the child, seen {found}")
    near(in_use(found[0]), 400000, LIBRARIES, "child")
    near(in_use("heapprofile.out.0001.heap"), 4000, LIBRARIES, "parent")


def by_dlopen_in_a_forked_child_000():
    compiled("-ldl")
    err = run("./a.out", "fork_open", LIB, preload="libtcmalloc.so").stderr
    near(in_use(glob.glob("heap.prof*.0001.heap")[0]), 20000, 20000, "in use")
    has_work(glob.glob("cpu.prof*")[0])
    lines(err, r"PROFILE: interrupts/evictions/bytes = [1-9]\d*/0/\d+")


def svg_and_difference_000():
    compiled()
    run("./a.out", "leak", preload="libtcmalloc_and_profiler.so", HEAPPROFILE="heapprofile.out",
        HEAP_PROFILE_ALLOCATION_INTERVAL="1048576")
    for command in ([PPROF, "--svg", "a.out", "heapprofile.out.0001.heap"],
                    [PPROF, "--svg", "a.out", "--base=heapprofile.out.0001.heap", "heapprofile.out.0002.heap"]):
        if "<svg" not in run(*command).stdout:
            fail(f"no picture by {command}")


def cpu_profile_across_fork_000():
    compiled()
    err = run("./a.out", "fork", preload="libtcmalloc_and_profiler.so", CPUPROFILE="cpuprofile.out").stderr
    lines(err, r"PROFILE: interrupts/evictions/bytes = \d+/0/\d+", rf"PROFILE: interrupts/evictions/bytes = {n_samples('cpuprofile.out')}/0/\d+")
    for f in glob.glob("cpuprofile.out*"):
        os.remove(f)
    # one that works in both: a file for each, and pprof shows what it did
    err = run("./a.out", "fork_work", preload="libtcmalloc_and_profiler.so", CPUPROFILE="cpuprofile.out").stderr
    seen = sorted(glob.glob("cpuprofile.out*"))
    if len(seen) != 2 or not re.fullmatch(r"cpuprofile\.out_\d+", seen[1]):
        fail(f"expected cpuprofile.out and the child's, seen {seen}")
    lines(err, *[rf"PROFILE: interrupts/evictions/bytes = {n_samples(f)}/0/\d+" for f in reversed(seen)])
    for f in seen:
        has_work(f)
        if "<svg" not in run(PPROF, "--svg", "a.out", f).stdout:
            fail(f"no picture of {f}")


MIB = r"\(\s*\d+\.\d MiB\)"
SUMMARY = ["-{48}", rf"MALLOC:   +\d+ {MIB} Bytes in use by application", rf"MALLOC: \+ +\d+ {MIB} Bytes in page heap freelist",
           rf"MALLOC: \+ +\d+ {MIB} Bytes in central cache freelist", rf"MALLOC: \+ +\d+ {MIB} Bytes in transfer cache freelist",
           rf"MALLOC: \+ +\d+ {MIB} Bytes in thread cache freelists", rf"MALLOC: \+ +\d+ {MIB} Bytes in malloc metadata",
           "MALLOC:   -{12}", rf"MALLOC: = +\d+ {MIB} Actual memory used \(physical \+ swap\)",
           rf"MALLOC: \+ +\d+ {MIB} Bytes released to OS \(aka unmapped\)", "MALLOC:   -{12}",
           rf"MALLOC: = +\d+ {MIB} Virtual address space used", "MALLOC:", r"MALLOC:   +\d+ {14}Spans in use",
           r"MALLOC:   +\d+ {14}Thread heaps in use", r"MALLOC:   +\d+ {14}Tcmalloc page size", "-{48}"]
MORE = ["-{48}", "Total size of freelists for per-thread caches,", "transfer cache, and central cache, by size class", "-{48}",
        r"class +\d+ \[ +\d+ bytes \] : +\d+ objs; +\d+\.\d MiB; +\d+\.\d cum MiB; +\d+\.\d{3} overhead MiB; +\d+\.\d{3} cum overhead MiB",
        "-{48}", r"PageHeap: \d+ sizes; +\d+\.\d MiB free; +\d+\.\d MiB unmapped", "-{48}",
        r">128   large \* +\d+ spans ~ +\d+\.\d MiB; +\d+\.\d MiB cum; unmapped: +\d+\.\d MiB; +\d+\.\d MiB cum"]


def figures_add_up(text):
    n = [int(x) for x in re.findall(r"MALLOC: [ +=] +(\d+) \(", text)[:9]]
    if sum(n[:6]) != n[6] or n[6] + n[7] != n[8]:
        fail(f"sums: {n}")


def statistics_000():
    compiled()
    for level, expected in (("1", SUMMARY), ("2", SUMMARY + MORE), ("", SUMMARY), ("foo", SUMMARY)):
        err = run("./a.out", "leak", preload="libtcmalloc.so", MALLOCSTATS=level).stderr
        lines(err, *expected)
        figures_add_up(err)
        if level != "2" and "PageHeap" in err:
            fail(f"MALLOCSTATS={level}: level 2")
    err = run("./a.out", "fork", preload="libtcmalloc.so", MALLOCSTATS="1").stderr
    if err.count("Virtual address space used") != 2:
        fail("both processes print")


# ---- note 001

def linked_or_preloaded_001():
    compiled("-O0", "-L" + LIB, "-Wl,--no-as-needed", "-ltcmalloc")
    lines(run("./a.out", "notes", MALLOCSTATS="1").stderr, *SUMMARY)        # malloc is that library's
    compiled("-O0")
    lines(run("env", "LD_PRELOAD=" + os.path.join(LIB, "libtcmalloc.so"), "./a.out", "notes", MALLOCSTATS="1").stderr, *SUMMARY)


def with_the_misspelt_variable_001():
    compiled("-O0")
    err = run("env", "HEAPCHECK=normal", "HEAPROFILE=heapprofile", "HEAP_CHECK_IDENTIFY_LEAKS=1",
              "LD_PRELOAD=" + os.path.join(LIB, "libtcmalloc.so"), "./a.out", "notes").stderr
    lines(err, "vitrine: warning: no leak check 'normal': .*")
    if "did you mean 'HEAPPROFILE'" not in err:
        fail(f"nothing about HEAPROFILE in {err}")


def snapshots_by_hand_001():
    compiled("-O0", "-L" + LIB, "-Wl,--no-as-needed", "-ltcmalloc", "-ldl")
    done = run("./a.out", "manual")
    lines(done.stderr, "Starting tracking the heap", r"Dumping heap profile to heapfile.0001.heap \(DumpOutReason1\)",
          r"Dumping heap profile to heapfile.0002.heap \(DumpOutReason2\)")
    lines(done.stdout, "running 0", "running 1, heap profile:", "running 0, 0 bytes")
    files("heapfile.0001.heap", "heapfile.0002.heap")
    if head("heapfile.0001.heap")[:4] != (100, 20000, 100, 20000):
        fail(f"file 1: {head('heapfile.0001.heap')}")
    if head("heapfile.0002.heap")[:4] != (100, 20000, 110, 21000):
        fail(f"file 2: {head('heapfile.0002.heap')}")


def reading_snapshots_001():
    snapshots_by_hand_001()
    text = run(PPROF, "--text", "./a.out", "heapfile.0001.heap").stdout
    if "leak_20000" not in text:
        fail(f"no leak_20000 in\n{text}")
    run(PPROF, "--text", "--stacks", "./a.out", "heapfile.0001.heap")
    run("./a.out", "leak", HEAPPROFILE="heapprofile", HEAP_PROFILE_ALLOCATION_INTERVAL="1048576")
    if "<svg" not in run(PPROF, "--svg", "--lines", "--base=heapprofile.0001.heap", "./a.out", "heapprofile.0003.heap").stdout:
        fail("no picture of the difference")
    run(PPROF, "--help")


# ---- note 002

def thread_cache_limit_002():
    compiled("-ldl")
    out = run("./a.out", "limits", preload="libtcmalloc.so", TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES="167772160").stdout
    if out != "1 167772160\n":
        fail(f"seen {out!r}")


def by_time_002():
    compiled()
    err = run("./a.out", "until", "server.0002.heap", preload="libtcmalloc_and_profiler.so", HEAPPROFILE="server",
              HEAP_PROFILE_TIME_INTERVAL="1").stderr
    lines(err, *[rf"Dumping heap profile to server.000{i}.heap \(1 sec since the last dump\)" for i in (1, 2)])


def by_signal_002():
    compiled()
    env = dict(CLEAN, LD_PRELOAD=os.path.join(LIB, "libtcmalloc.so"), HEAPPROFILE="hs", HEAPPROFILESIGNAL="12")
    with subprocess.Popen(["./a.out", "until", "hs.0001.heap"], env=env, stderr=subprocess.PIPE, text=True) as p:
        if "Starting" not in p.stderr.readline() or "Using signal 12 as heap profiling switch" not in p.stderr.readline():
            fail("not the first lines")
        p.send_signal(signal.SIGUSR2)
        err = p.communicate(timeout=100)[1]
        if p.returncode != 0:
            fail(f"status {p.returncode}")
    lines(err, r"Dumping heap profile to hs.0001.heap \(signal\)", r"Dumping heap profile to hs.0002.heap \(Exiting, .*\)")


def mapped_memory_002():
    compiled()
    run("./a.out", "map", preload="libtcmalloc_and_profiler.so", HEAPPROFILE="m", HEAP_PROFILE_MMAP="true")
    near(in_use("m.0001.heap"), 1 << 20, 3 * LIBRARIES, "with mappings")
    run("./a.out", "map", preload="libtcmalloc_and_profiler.so", HEAPPROFILE="only", HEAP_PROFILE_ONLY_MMAP="1")
    if in_use("only.0001.heap") != 1 << 20:
        fail(f"mappings alone: {in_use('only.0001.heap')}")


def logged_mappings_002():
    compiled()
    err = run("./a.out", "map", preload="libtcmalloc_and_profiler.so", HEAPPROFILE="m", HEAP_PROFILE_MMAP_LOG="true").stderr
    lines(err, "Starting tracking the heap",
          r"mmap\(start=0x0, len=1048576, prot=0x3, flags=0x22, fd=-1, offset=0x0\) = 0x[0-9a-f]+",
          r"Dumping heap profile to m.0001.heap \(Exiting, .*\)")


def by_inuse_002():
    compiled()
    err = run("./a.out", "leak", preload="libtcmalloc_and_profiler.so", HEAPPROFILE="server",
              HEAP_PROFILE_INUSE_INTERVAL="2097152").stderr
    lines(err, r"Dumping heap profile to server.0001.heap \(2 MB currently in use\)",
          r"Dumping heap profile to server.0002.heap \(4 MB currently in use\)")


# ---- note 004

def sampled_server_004():
    """Linked with libtcmalloc_and_profiler.a, or with the shared library; TCMALLOC_SAMPLE_PARAMETER=524288 ./server"""
    source, include = os.path.join(HERE, "server_004.cc"), "-I" + os.path.join(TREE, "include")
    static = [os.path.join(LIB, "libtcmalloc_and_profiler.a"), "-pthread", "-ldl"]
    for link in (static, ["-L" + LIB, "-ltcmalloc_and_profiler", "-ldl"]):
        run(os.environ.get("CXX", "c++"), "-g", "-fno-builtin", "-fno-omit-frame-pointer", include, source, "-o", "server", *link)
        run("./server", "sample", "growth", status=3)
        run("./server", "sample", "growth", TCMALLOC_SAMPLE_PARAMETER="524288")
        kind = head("sample")[4]
        if kind != "heap_v2/524288":
            fail(f"the sample's kind is {kind}")
        if head("growth")[4] != "growth":
            fail(f"not growth: {head('growth')}")
        text = run(PPROF, "--text", "./server", "sample").stdout
        if not re.search(r"leaks_many_mebibytes", text):
            fail(f"no leaks_many_mebibytes in\n{text}")
        # 39 MB by some 80 samples is off by 12 % in a run, the mean of 8 by 4
        totals = []
        for _ in range(8):
            run("./server", "sample", "growth", TCMALLOC_SAMPLE_PARAMETER="524288")
            text = run(PPROF, "--text", "./server", "sample").stdout
            totals.append(float(re.match(r"Total: ([0-9.]+) MB", text).group(1)))
        total = sum(totals) / len(totals)
        if not 28 < total < 50:
            fail(f"expected about 39 MB, seen {total}, the mean of {totals}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        globals()[sys.argv[1]]()
        os.chdir("/")
