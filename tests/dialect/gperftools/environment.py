#!/usr/bin/env python3
"""environment.py - gperftools' variables: what each does, and who wins."""
import glob
import os
import re
import shutil
import tempfile

import lib


def say(*arguments, library="libtcmalloc.so.4", **variables):
    return lib.preloaded(library, "./asks", *arguments, **variables)


def has(text, part):
    if part not in text:
        lib.fail(f"no {part!r} in\n{text}")


def properties():
    sample, limit = "tcmalloc.sample_parameter", "tcmalloc.heap_limit_mb"
    cache, aggressive = "tcmalloc.max_total_thread_cache_bytes", "tcmalloc.aggressive_memory_decommit"
    rows = [(sample, {"TCMALLOC_SAMPLE_PARAMETER": "65536"}, 65536),
            (sample, {"TCMALLOC_SAMPLE_PARAMETER": "0"}, 0),
            (sample, {"TCMALLOC_SAMPLE_PARAMETER": "garbage"}, 0),
            (sample, {"TCMALLOC_SAMPLE_PARAMETER": "65536", "VITRINE_SAMPLE": "1024"}, 1024),
            (limit, {"TCMALLOC_HEAP_LIMIT_MB": "100"}, 100),
            (limit, {"TCMALLOC_HEAP_LIMIT_MB": "100", "VITRINE_LIMIT": "50M"}, 50),
            (cache, {}, 33554432),
            (cache, {"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": "1"}, 524288),
            (cache, {"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES": "9999999999999"}, 1 << 30),
            (aggressive, {"TCMALLOC_AGGRESSIVE_DECOMMIT": "t"}, 1),
            (aggressive, {"TCMALLOC_AGGRESSIVE_DECOMMIT": "no"}, 0)]
    for name, variables, expected in rows:
        lib.equal(say(name, **variables).stdout, f"{name}={expected}\n", f"{name} with {variables}")
    name = sample
    out = say(name, library="libtcmalloc_minimal.so.4", TCMALLOC_SAMPLE_PARAMETER="65536").stdout
    lib.equal(out, f"{name}=0\n", "the minimal library samples nothing")


def limits():
    has(say(BIG="1").stdout, "big 1")
    has(say(BIG="1", TCMALLOC_HEAP_LIMIT_MB="100").stdout, "big 0")


def profiles():
    err = say(HEAPPROFILE="p").stderr
    has(err, "Dumping heap profile to p.0001.heap (Exiting, 9")
    open("p.0007.heap", "w").close()
    say(HEAPPROFILE="p")
    lib.equal(glob.glob("p.*"), ["p.0001.heap"], "an older run's files")
    open("p.0007.heap", "w").close()
    say(HEAPPROFILE="p", HEAP_PROFILE_CLEANUP="false")
    lib.equal(len(glob.glob("p.*")), 2, "files that may stay")
    lib.equal(say(HEAPPROFILE="q", PERFTOOLS_VERBOSE="-1").stderr, "", "PERFTOOLS_VERBOSE=-1")
    lib.equal(os.path.exists("q.0001.heap"), True, "its file")
    lib.equal(say(HEAPPROFILE="").stderr, "", "an empty name")
    err = say(HEAPPROFILE="/no/such/folder/x").stderr
    has(err, "Failed dumping heap profile to /no/such/folder/x.0001.heap. Numeric errno is 2\n")
    say(HEAPPROFILE="u", HEAPPROFILE_USE_PID="1")
    lib.equal(len(glob.glob("u_*.0001.heap")), 1, "HEAPPROFILE_USE_PID")
    lib.equal(say(library="libtcmalloc_minimal.so.4", HEAPPROFILE="m").stderr, "", "the minimal library")
    lib.equal(glob.glob("m*"), [], "its files")
    err = say(HEAPPROFILE="f", HEAP_PROFILE_DEALLOCATION_INTERVAL="1").stderr
    has(err, "MB freed cumulatively")


def dumped(*arguments, library, **variables):
    """Why each file was written, without the last, which is that of the exit."""
    for path in glob.glob("i.*.heap"):
        os.unlink(path)
    done = lib.run("./intervals", *arguments, LD_PRELOAD=library, HEAPPROFILE="i", **variables)
    return re.findall(r"^Dumping heap profile to i\.\d+\.heap \((.*)\)$", done.stderr, re.M)[:-1]


def dumped_with_sums(*arguments, library, **variables):
    """The same, each with the first line of its file: the block that caused it is in it."""
    why = dumped(*arguments, library=library, **variables)
    return [(line, open(f"i.{i + 1:04}.heap", encoding="utf-8").readline()) for i, line in enumerate(why)]


def intervals():
    """A dump for one of the intervals counts for all of them. The first that is due gives the reason."""
    lib.build("intervals.c", "intervals")
    ours, theirs = os.path.join(lib.LIB, "libtcmalloc.so.4"), os.path.join(lib.THEIRS, "libtcmalloc.so.4")
    allocation, freed, inuse = "HEAP_PROFILE_ALLOCATION_INTERVAL", "HEAP_PROFILE_DEALLOCATION_INTERVAL", "HEAP_PROFILE_INUSE_INTERVAL"
    steps = ["+5", "-2", "+3", "-4", "+9", "-6", "+4", "-1", "+7"]
    for variables in ({allocation: "3", freed: "0", inuse: "0"}, {allocation: "0", freed: "2", inuse: "0"},
                      {allocation: "0", freed: "0", inuse: "3"}, {allocation: "3", freed: "2", inuse: "2"},
                      {allocation: "4", freed: "3", inuse: "0"}, {allocation: "5", freed: "0", inuse: "2"},
                      {allocation: "0", freed: "2", inuse: "3"}, {allocation: "7", freed: "5", inuse: "4"}):
        # whole blocks, where "more than" and "at least" differ, and half a block less
        for less in (0, 1 << 19):
            values = {name: str(int(n) * (1 << 20) - less) if n != "0" else "0" for name, n in variables.items()}
            seen = dumped_with_sums(*steps, library=ours, **values)
            if os.path.exists(theirs):
                lib.equal(seen, dumped_with_sums(*steps, library=theirs, **values), f"dumps with {values}")
    # the last malloc causes one, and nothing comes after it
    why = dumped("+12", library=ours, **{allocation: "0", freed: "0", inuse: "2097152"})
    lib.equal(why, [f"{n} MB currently in use" for n in (3, 6, 9, 12)], "dumps of 12 blocks")
    # 800 kB of small blocks are freed, with no malloc between: a dump for each 4 kB, but for what threads count in bulk
    seen = dumped("small", library=ours, **{allocation: "0", freed: "4000", inuse: "0"})
    lib.equal(170 <= len(seen) <= 200, True, f"{len(seen)} dumps while small blocks are freed")
    # 3 MiB, a dump by time, 3 MiB: no 5 MiB since the last dump
    why = dumped("+3", "wait", "+3", library=ours, HEAP_PROFILE_TIME_INTERVAL="1", **{allocation: str(5 << 20), inuse: "0"})
    lib.equal(why[0], "1 sec since the last dump", "a dump by time")
    lib.equal([line for line in why if "allocated" in line], [], "dumps after one by time")


def ranks():
    """Processes of a parallel job do not share a file."""
    rows = [({"PMIX_RANK": "3"}, r"{}\.rank-3"), ({"PMI_RANK": "4"}, r"{}\.rank-4"),
            ({"PMIX_RANK": "3", "PMI_RANK": "4", "SLURM_JOB_ID": "7", "SLURM_PROCID": "5"}, r"{}\.rank-3"),
            ({"SLURM_JOB_ID": "7", "SLURM_PROCID": "5", "PMI_RANK": "4"}, r"{}\.slurmid-5"),
            ({"SLURM_JOB_ID": "7"}, r"{}_\d+"), ({"OMPI_HOME": "/x", "PMI_RANK": "4"}, r"{}_\d+"),
            ({"SLURM_PROCID": "5"}, "{}"), ({"PMIX_RANK": ""}, "{}"),
            ({"PMIX_RANK": "3", "HEAPPROFILE_USE_PID": "1", "CPUPROFILE_USE_PID": "1"}, r"{}\.rank-3_\d+")]
    for variables, name in rows:
        say(library="libtcmalloc_and_profiler.so.4", HEAPPROFILE="heap", CPUPROFILE="cpu", PERFTOOLS_VERBOSE="-2", **variables)
        heap, cpu = glob.glob("heap*"), glob.glob("cpu*")
        if len(heap) != 1 or not re.fullmatch(name.format("heap") + r"\.0001\.heap", heap[0]):
            lib.fail(f"{variables}: expected {name}, seen {heap}")
        # a process that is one of many writes a CPU profile only if there was a tick; tests/cpu/env.py sees to that
        if len(cpu) > 1 or (not cpu and "_" not in name) or not all(re.fullmatch(name.format("cpu"), path) for path in cpu):
            lib.fail(f"{variables}: expected {name}, seen {cpu}")
        for path in heap + cpu:
            os.unlink(path)
    say(HEAPPROFILE="heap", PMIX_RANK="3", EXEC="1")
    lib.equal(len(glob.glob("heap.rank-3.*.heap")), 1, "the first process of a rank")
    lib.equal(len(glob.glob("heap.rank-3_*.0001.heap")), 1, "programs it started")


def releases():
    """64 MiB freed: what stays resident of it, by each variable."""
    name, rows = "tcmalloc.pageheap_free_bytes", [
        ({}, 1 << 20, 16 << 20), ({"TCMALLOC_RELEASE_RATE": "0"}, 60 << 20, 80 << 20), ({"TCMALLOC_RELEASE_RATE": "10.0"}, 0, 1 << 20),
        ({"TCMALLOC_RELEASE_RATE": "0.25"}, 14 << 20, 40 << 20), ({"TCMALLOC_DISABLE_MEMORY_RELEASE": "1"}, 60 << 20, 80 << 20),
        ({"TCMALLOC_AGGRESSIVE_DECOMMIT": "1"}, 0, 0), ({"TCMALLOC_AGGRESSIVE_DECOMMIT": "1", "VITRINE_RETAIN": "8M"}, 4 << 20, 9 << 20)]
    for variables, low, high in rows:
        seen = int(say(name, FREED="1", **variables).stdout.split("=")[1])
        if not low <= seen <= high:
            lib.fail(f"{name} with {variables}: expected {low} to {high}, seen {seen}")


def children():
    say(HEAPPROFILE="c", EXEC="1")
    lib.equal(os.path.exists("c.0001.heap"), True, "the first process")
    lib.equal(len(glob.glob("c_*.0001.heap")), 1, "programs it started")


def mistakes():
    rows = [("HEAPPROFILESIGNAL", "99", "Signal number 99 is invalid\n"),
            ("HEAPPROFILESIGNAL", "9", "Failed to set signal. Perhaps signal number 9 is invalid\n")]
    for name, value, line in rows:
        done = lib.run("./asks", status=-6, LD_PRELOAD=os.path.join(lib.LIB, "libtcmalloc.so.4"), HEAPPROFILE="s", **{name: value})
        has(done.stderr, line)
    unknown = "vitrine: warning: unknown variable '{}' in the environment{}\n"
    rows = [("TCMALLOC_NO_SUCH_THING", ""), ("TCMALLOC_SAMPEL_PARAMETER", "; did you mean 'TCMALLOC_SAMPLE_PARAMETER'?"),
            ("HEAP_PROFILE_MMAPS", "; did you mean 'HEAP_PROFILE_MMAP'?"), ("HEAPROFILE", "; did you mean 'HEAPPROFILE'?"),
            ("HEAP_CHECK_MAX_LEAK", "; did you mean 'HEAP_CHECK_MAX_LEAKS'?")]
    for name, hint in rows:
        lib.equal(say(**{name: "1"}).stderr, unknown.format(name, hint), "an unknown variable")
    lib.equal(say(MY_TCMALLOC="1", HEAP="1", TCMALLOC="1").stderr, "", "others' variables")
    has(say(TCMALLOC_STACKTRACE_METHOD="magic").stderr,
        "Unknown or unsupported stacktrace method requested: magic. Ignoring it\n")
    has(say(TCMALLOC_STACKTRACE_METHOD_VERBOSE="1").stderr, "Chosen stacktrace method is vitrine\nSupported methods:\n* vitrine\n")
    known = {"TCMALLOC_STACKTRACE_METHOD": "libunwind", "HEAP_PROFILE_MMAP": "0", "PERFTOOLS_UNITTEST": "0"}
    known.update({"TCMALLOC_" + x: "40" for x in "TRANSFER_NUM_OBJ LARGE_ALLOC_REPORT_THRESHOLD SKIP_MMAP SKIP_SBRK OVERRIDE_PAGESIZE "
                  "ENABLE_SIZED_DELETE MEMFS_MALLOC_PATH MEMFS_LIMIT_MB MEMFS_ABORT_ON_FAIL MEMFS_IGNORE_MMAP_FAIL MEMFS_MAP_PRIVATE "
                  "MEMFS_DISABLE_FALLBACK DEVMEM_START DEVMEM_LIMIT DISABLE_REPLACEMENT TRACE_FILE PAGE_FENCE PAGE_FENCE_NEVER_RECLAIM "
                  "PAGE_FENCE_READABLE RECLAIM_MEMORY MAX_FREE_QUEUE_SIZE SYMBOLIZE_STACKTRACE".split()})
    known.update({"HEAP_CHECK_" + x: "1" for x in "AFTER_DESTRUCTORS IGNORE_GLOBAL_LIVE IGNORE_THREAD_LIVE IDENTIFY_LEAKS "
                  "TEST_POINTER_ALIGNMENT POINTER_SOURCE_ALIGNMENT MAX_POINTER_OFFSET MAX_LEAKS RUN_UNDER_GDB DUMP_DIRECTORY".split()})
    lib.equal(say(**known).stderr, "", "known ones")
    has(say(HEAPCHECK="strict").stderr, "vitrine: warning: no leak check 'strict'")


def mmap_log():
    """A line for each call, as theirs has it; what their library maps for itself comes before."""
    lib.build("maps.c", "maps")
    addresses = re.compile(r"0x[0-9a-f]{5,}")
    variables = {"HEAPPROFILE": "l", "HEAP_PROFILE_MMAP_LOG": "1"}
    seen = addresses.sub("X", lib.preloaded("libtcmalloc.so.4", "./maps", **variables).stderr).splitlines()
    expected = ["Starting tracking the heap",
                "mmap(start=0x0, len=8192, prot=0x3, flags=0x22, fd=-1, offset=0x0) = X",
                "mmap(start=0x0, len=131072, prot=0x1, flags=0x22, fd=-1, offset=0x0) = X",
                "mremap(old_addr=X, old_size=8192, new_size=65536, flags=0x3, new_addr=X) = X",
                "munmap(start=X, len=131072)", "sbrk(inc=4096) = X", "sbrk(inc=-4096) = X",
                "mmap(start=0x0, len=1048576, prot=0x3, flags=0x0, fd=-1, offset=0x0) = X",
                "Dumping heap profile to l.0001.heap (Exiting, 0 bytes in use)"]
    lib.equal(seen, expected, "HEAP_PROFILE_MMAP_LOG")
    if os.path.exists(lib.THEIRS):
        theirs = lib.run("./maps", LD_PRELOAD=os.path.join(lib.THEIRS, "libtcmalloc.so.4"), **variables).stderr
        lib.equal(addresses.sub("X", theirs).splitlines()[-8:], expected[-8:], "the original's")
    err = lib.preloaded("libtcmalloc.so.4", "./maps", HEAPPROFILE="l", PERFTOOLS_VERBOSE="-2", HEAP_PROFILE_MMAP_LOG="1").stderr
    lib.equal(err, "", "PERFTOOLS_VERBOSE hides it")
    err = lib.preloaded("libtcmalloc.so.4", "./maps", HEAPPROFILE="l").stderr
    lib.equal(len(err.splitlines()), 2, "nobody asked for it")


def set_uid():
    """Somebody else's program that runs as its owner: variables are not for it."""
    nobody = 65534
    os.chmod(".", 0o755)  # the build tree may be in a folder that the owner cannot enter
    shutil.copy(os.path.join(lib.LIB, "libtcmalloc.so.4"), ".")
    lib.build("asks.c", "suid", "-Wl,-rpath," + os.getcwd(), "-Wl,--no-as-needed", "-L" + lib.LIB, "-ltcmalloc")
    try:
        os.chown("suid", nobody, nobody)
    except PermissionError:
        print("skipped: set-uid, which takes root")
        return
    os.chmod("suid", 0o4755)
    done = lib.run("./suid", "tcmalloc.sample_parameter", HEAPPROFILE="/tmp/never", TCMALLOC_SAMPLE_PARAMETER="77")
    lib.equal(done.stderr, "HeapProfiler: ignoring HEAPPROFILE because program seems to be setuid\n", "set-uid")
    lib.equal(done.stdout, "tcmalloc.sample_parameter=524288\n", "set-uid")
    lib.equal(glob.glob("/tmp/never*"), [], "set-uid, files")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        lib.build("asks.c", "asks")
        for part in (properties, limits, profiles, intervals, ranks, releases, children, mistakes, mmap_log, set_uid):
            part()
        os.chdir("/")


main()
