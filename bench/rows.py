"""The rows of the bench, as data.

name     what --rows and the tables call it
group    single (one thread), multi (threads), real (real programs): CPU, wall, peak RSS and
         faults are compared. memory: the program reads its own RSS and prints it; these rows have
         a table to themselves.
command  words; the first is a program of --bin, or of the system if the group is real.
         {work} {real} {tmp} {idle} are filled in, see measure.py
work     how much of it: iterations, requests, MiB. --quick divides it by QUICK_DIVISOR. Chosen so
         that glibc takes about 0.3 to 1.5 s on a 2020s server core, less where it is far ahead of
         the others; the live set is never part of it.
"""
from dataclasses import dataclass, field

QUICK_DIVISOR = 4
QUICK_ROUNDS = 2
SLOW_ROUNDS = 2      # of the rows that sleep; their figures hardly vary, and each run takes 7 s
IDLE_SECONDS = "1 5"
QUICK_IDLE_SECONDS = "1"

# Programs of the system, and the Debian package that has them.
PACKAGES = {
    "redis-server": "redis-server",
    "redis-benchmark": "redis-tools",
    "lua5.4": "lua5.4",
    "python3": "python3",
    "perl": "perl",
    "sqlite3": "sqlite3",
    "gcc": "gcc",
    "clang": "clang",
}

# Debian's builds of the allocators that we compare with; glibc needs no library.
PEERS = [
    # name        soname                      package
    ("jemalloc", "libjemalloc.so.2", "libjemalloc2"),
    ("mimalloc", "libmimalloc.so.2", "libmimalloc2.0"),
    ("tcmalloc", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
]


# What profiling costs: each of these against itself, off and on.
PROFILE_PERIOD = 512 * 1024


@dataclass
class Profiler:
    group: str                   # sampling: of the rows below; exact: every allocation, of EXACT
    name: str
    library: str                 # soname; "ours"; "" is glibc
    package: str
    off: dict
    on: dict
    extra: str = ""              # preloaded instead when on
    divisor: int = 1             # of the work: a pair of gperftools' takes 18 us, one of ours 0.05


PROFILERS = [
    Profiler("sampling", "vitrine", "ours", "",
             {"VITRINE_SAMPLE": "0"}, {"VITRINE_SAMPLE": str(PROFILE_PERIOD)}),
    Profiler("sampling", "jemalloc", "libjemalloc.so.2", "libjemalloc2",
             {"MALLOC_CONF": "prof:false"}, {"MALLOC_CONF": "prof:true,lg_prof_sample:19"}),
    Profiler("sampling", "tcmalloc", "libtcmalloc.so.4", "libgoogle-perftools4",
             {"TCMALLOC_SAMPLE_PARAMETER": "0"},
             {"TCMALLOC_SAMPLE_PARAMETER": str(PROFILE_PERIOD)}),
    Profiler("exact", "vitrine", "ours", "",
             {"VITRINE_SAMPLE": "0"},
             {"VITRINE_EXACT": "on", "VITRINE_HEAP_PROFILE": "{tmp}/exact"}),
    Profiler("exact", "heaptrack", "", "libheaptrack", {},
             {"DUMP_HEAPTRACK_OUTPUT": "/dev/null"},
             extra="/usr/lib/heaptrack/libheaptrack_preload.so", divisor=4),
    Profiler("exact", "tcmalloc", "libtcmalloc.so.4", "libgoogle-perftools4", {},
             {"HEAPPROFILE": "{tmp}/heapprofile"}, divisor=80),
    Profiler("exact", "jemalloc", "libjemalloc.so.2", "libjemalloc2",
             {"MALLOC_CONF": "prof:false"}, {"MALLOC_CONF": "prof:true,lg_prof_sample:0"},
             divisor=40),
]


@dataclass
class Row:
    name: str
    group: str
    command: str
    work: int
    what: str
    env: dict = field(default_factory=dict)
    slow: bool = False           # SLOW_ROUNDS are enough
    driver: str = ""             # runs beside the program and ends it; not measured
    needs: tuple = ()            # further programs of the system
    compare_output: bool = True  # the same work must give the same answer under every allocator
    own_malloc: bool = False     # linked to an allocator of its own: to measure glibc, preload libc


def pingpong(size, work):
    return Row(f"pingpong-{size}", "single", f"pingpong {size} {{work}}", work,
               f"malloc and free of one block of {size} bytes")


def batch(n, order, work):
    return Row(f"batch-{n}-{order}", "single", f"batch {n} {order} {{work}}", work,
               f"{n} blocks of 16-1023 bytes, all freed {order}")


def batch_anew(n, work):
    return Row(f"batch-{n}-anew", "single", f"batch {n} anew {{work}}", work,
               f"{n} blocks of 16-1024 bytes, freed shuffled, other sizes each time")


def replace(n, work):
    return Row(f"replace-{n}", "single", f"replace {n} {{work}}", work,
               f"random replacement in {n} live objects of 16-472 bytes")


def turnover(n, work):
    return Row(f"turnover-{n}", "multi", f"turnover {n} 16 511 {{work}}", work,
               f"{n} chains of threads that die and leave 1000 live objects to a successor")


def turnover_16k(n, work):
    return Row(f"turnover-16K-{n}", "multi", f"turnover {n} 8 16384 {{work}}", work,
               f"{n} such chains, objects of 8 bytes to 16 KiB")


def rings(n, burst, work):
    beside = f", and {burst} at once from the main thread" if burst else ""
    return Row(f"rings-{n}" + ("-burst" if burst else ""), "multi",
               f"rings {n} {burst} {{work}}", work,
               f"{n} threads fill 10000 blocks of 16-512 bytes, keep a moving fifth{beside}")


def frag(name, how, size, mib, what):
    return Row(name, "memory", f"frag {how} {size} {{work}} {{idle}}", mib, what, slow=True)


REDIS = ("redis-server --port 0 --unixsocket {tmp}/redis.sock --dir {tmp} --save '' --appendonly no"
         " --loglevel warning --jemalloc-bg-thread no")

ROWS = [
    pingpong(16, 40_000_000),
    pingpong(64, 40_000_000),
    pingpong(256, 40_000_000),
    pingpong(1024, 40_000_000),
    pingpong(8192, 30_000_000),
    pingpong(65536, 12_000_000),

    batch(1000, "in-order", 30_000_000),
    batch(1000, "reversed", 30_000_000),
    batch(1000, "shuffled", 30_000_000),
    batch(100000, "in-order", 9_000_000),
    batch(100000, "reversed", 9_000_000),
    batch(100000, "shuffled", 9_000_000),

    batch_anew(10000, 14_000_000),

    replace(100, 30_000_000),
    replace(2000, 30_000_000),
    replace(20000, 24_000_000),
    replace(300000, 8_000_000),

    Row("realloc-double-1M", "single", "grow double 1 1024 {work}", 40_000,
        "one buffer doubles from 16 bytes to 1 MiB"),
    Row("realloc-double-4x1M", "single", "grow double 4 1024 {work}", 800,
        "four buffers double in turn from 16 bytes to 1 MiB"),
    Row("realloc-step-1M", "single", "grow step 1 1024 {work}", 4_000,
        "one buffer grows to 1 MiB by steps of 1/64"),
    Row("realloc-step-4x256K", "single", "grow step 4 256 {work}", 3_000,
        "four buffers grow in turn to 256 KiB by steps of 1/64"),
    Row("realloc-by-64", "single", "grow 64 1 64 {work}", 40_000,
        "one buffer grows to 64 KiB by 64 bytes at a time"),
    Row("realloc-double-64M", "single", "grow double 1 65536 {work}", 24,
        "one buffer doubles from 16 bytes to 64 MiB"),
    Row("calloc-small", "single", "zeroed 16 6 2000 {work}", 16_000_000,
        "calloc of 16-1023 bytes, 2000 live, random replacement"),
    Row("calloc-large", "single", "zeroed 65536 6 8 {work}", 3_000,
        "calloc of 64 KiB to 4 MiB, 8 live, each page read and written"),
    Row("calloc-untouched", "single", "untouched 1048576 {work}", 120_000,
        "calloc and free of 1 MiB that nobody looks at"),
    Row("aligned-64", "single", "aligned 64 {work}", 16_000_000,
        "aligned_alloc(64), 64-256 bytes, 1000 live"),
    Row("aligned-4096", "single", "aligned 4096 {work}", 7_000_000,
        "aligned_alloc(4096), 4-16 KiB, 1000 live"),
    Row("aligned-posix", "single", "aligned posix {work}", 10_000_000,
        "posix_memalign at 32-1024, 16 bytes to 4 KiB, 1000 live"),
    Row("aligned-mixed", "single", "aligned mixed {work}", 6_000_000,
        "posix_memalign at 64-4096, 16 bytes to 4 KiB, 1000 live, all sizes equally likely"),
    Row("large-64K-1M", "single", "large 64 4 16 {work}", 70_000,
        "blocks of 64 KiB to 1 MiB, 16 live, each page written"),
    Row("large-1M-32M", "single", "large 1024 5 8 {work}", 400,
        "blocks of 1 to 32 MiB, 8 live, each page written"),

    Row("prodcons-1:1-64", "multi", "prodcons 1 1 64 {work}", 10_000_000,
        "one thread allocates blocks of 64 bytes, another frees them"),
    Row("prodcons-1:1-mixed", "multi", "prodcons 1 1 0 {work}", 6_000_000,
        "the same with blocks of 16-1023 bytes"),
    Row("prodcons-2:2-mixed", "multi", "prodcons 2 2 0 {work}", 6_000_000,
        "two threads allocate, two free, 16-1023 bytes"),
    Row("prodcons-1:4-mixed", "multi", "prodcons 1 4 0 {work}", 6_000_000,
        "one thread allocates for all, four free, 16-1023 bytes"),
    Row("chain-64", "multi", "chain 64 {work}", 20_000_000,
        "one thread allocates, another passes on and adds its own, a third frees, 64 bytes"),
    Row("chain-mixed", "multi", "chain 0 {work}", 10_000_000,
        "the same with blocks of 16-1023 bytes"),
    turnover(1, 24_000_000),
    turnover(2, 24_000_000),
    turnover(8, 24_000_000),
    turnover_16k(1, 8_000_000),
    turnover_16k(2, 6_400_000),
    turnover_16k(8, 6_400_000),
    turnover_16k(32, 5_120_000),
    rings(1, 0, 24_000_000),
    rings(4, 0, 24_000_000),
    rings(16, 0, 16_000_000),
    rings(4, 100_000, 16_000_000),
    rings(16, 100_000, 12_000_000),
    Row("short-threads", "multi", "short_threads {work}", 12_000,
        "threads that allocate 32 small objects and end, four at a time"),
    Row("own-size-16", "multi", "own_size 16 {work}", 30_000_000,
        "16 threads, each with a size of its own from 16 bytes to 32 KiB, 500 live each"),
    Row("stress-2", "multi", "stress 2 {work}", 12_000_000,
        "two threads, mixed sizes to 128 KiB, one object in four changes hands"),
    Row("stress-8", "multi", "stress 8 {work}", 12_000_000,
        "the same with eight threads"),

    Row("redis", "real", REDIS, 120_000,
        "redis-server under redis-benchmark; the server is measured",
        driver="{real}/drive_redis.sh {tmp}/redis.sock {work}", needs=("redis-benchmark",),
        compare_output=False, own_malloc=True),
    Row("lua", "real", "lua5.4 {real}/binary_trees.lua 15 {work}", 120, "binary trees"),
    Row("python3", "real", "python3 {real}/objects.py {work}", 80,
        "objects, strings and dicts, with PYTHONMALLOC=malloc",
        env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}),
    Row("perl", "real", "perl {real}/words.pl {work}", 32_000, "strings, hashes and arrays",
        env={"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}),
    Row("sqlite3", "real",
        "sqlite3 :memory: '.parameter set :n {work}' '.read \"{real}/orders.sql\"'", 250_000,
        "a database in memory"),
    Row("gcc", "real", "gcc -O1 -S -o - {tmp}/source-{work}.c", 100, "a generated C file at -O1"),
    Row("clang", "real", "clang -O1 -S -o - {tmp}/source-{work}.c", 100, "the same file"),

    Row("rss-trivial", "memory", "trivial", 1, "RSS of a program that calls malloc once"),
    Row("rss-100-threads", "memory", "idle_threads 100", 1,
        "RSS of 100 idle threads that allocated a little"),
    frag("frag-random", "random", 0, 1024, "1 GiB of 16-4095 bytes, nine in ten freed at random"),
    frag("frag-first", "first", 0, 1024, "1 GiB of 16-4095 bytes, the first nine tenths freed"),
    frag("frag-128-first", "first", 128, 512, "512 MiB of 128 bytes, the first nine tenths freed"),
]

EXACT = [
    Row("exact-recurring", "exact", "deep recurring 26 {work}", 8_000_000,
        "malloc and free at 26 frames, the same stack each time"),
    Row("exact-random", "exact", "deep random 26 {work}", 8_000_000,
        "malloc and free at 26 frames, of which the last 8 are a random path: 6561 stacks"),
    Row("exact-wrapped", "exact", "paths wrapped 12 6 {work}", 8_000_000,
        "a dozen call paths in turn, of 6 frames, into one function that allocates"),
    Row("exact-turns-180", "exact", "paths turns 180 7 {work}", 8_000_000,
        "180 stacks of 7 frames in turn"),
    Row("exact-turns-1000", "exact", "paths turns 1000 16 {work}", 8_000_000,
        "1,000 stacks of 16 frames in turn"),
    Row("exact-turns-10000", "exact", "paths turns 10000 40 {work}", 4_000_000,
        "10,000 stacks of 40 frames in turn"),
    Row("exact-interpreter", "exact", "paths interpreter 400 12 {work}", 8_000_000,
        "expressions of 400 nodes, evaluated by recursion; each value is a block"),
    Row("exact-containers", "exact", "containers {work}", 8_000_000,
        "C++: maps, strings, lists and a tree, by templates in line"),
]
