#!/usr/bin/env python3
"""names.py - names are kept: in the files of `vitrine run`, and by `vitrine symbolize` in those that a process wrote itself. Every tool
that reads such a file reads it still; two builds of a program are compared by function after both are gone; libraries that were
loaded one after the other at one address stay two; lambdas and template instances are told apart."""
import gzip
import stat

from tool import *

folder = scratch()
LIBRARY = os.path.join(BUILD, "lib", "libvitrine.so.1")
if not os.path.exists(LIBRARY):
    LIBRARY = next(iter(glob.glob(os.path.join(BUILD, "**", "libvitrine.so.1"), recursive=True)), None)
CXX = os.environ.get("CXX", "c++")
SOURCE = """
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
void *volatile kept[1000];
int n_kept;
NOINLINE void keep(void *p) { kept[n_kept++ %% 1000] = p; }
%s
NOINLINE void grows() { for (int i = 0; i < GROWS; i++) keep(malloc(10240)); }
NOINLINE void same() { for (int i = 0; i < 50; i++) keep(malloc(20480)); }
NOINLINE void phase() { grows(); same(); n_kept++; }
int main() { phase(); return 0; }
"""
PAD = "".join(f"NOINLINE void pad{i}(int n) {{ for (int i = 0; i < n; i++) keep(malloc((size_t)i * {i + 1})); }}\n" for i in range(40))
OLD, NEW = SOURCE % "", SOURCE % PAD
FLAGS = ["-O1", "-g", "-fPIE", "-pie", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-builtin"]
GREW = 60 * 10240


def build(name, text, *flags):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".cc", "w") as f:
        f.write(text)
    out(CXX, *FLAGS, *flags, path + ".cc", "-o", path)
    return path


def go_top(*argv):
    """{function: flat} as go tool pprof has it"""
    text = out(GO, "tool", "pprof", "-symbolize=none", "-top", "-unit=B", "-nodecount=100", "-nodefraction=0", *argv,
               env={"PPROF_TMPDIR": folder, "HOME": folder, "PPROF_BINARY_PATH": "/nonexistent"})
    table = {}
    for line in text.splitlines():
        m = re.match(r"\s*(-?[\d.]+)B?\s+\S+%\s+\S+%\s+(-?[\d.]+)B?\s+\S+%\s+(.*)", line)
        if m:
            table[m.group(3)] = float(m.group(1))
    return table


def flat(*argv):
    return {n: f for n, (f, _) in top(*argv)[0].items() if f}


def diff(*argv):
    data = json.loads(out(VITRINE, "diff", "--json", *argv))
    return {r["name"]: r["flat"] for r in data["rows"] if r["flat"]}


# ---- Monday's build and Friday's, at one path; then neither program is left
def record(name, text, n):
    app = build("app", text, f"-DGROWS={n}")
    place = os.path.join(folder, name)
    status, _, errors = run(VITRINE, "run", "--exact", "-o", place, "--", app)
    check(f"{name}: it ran", status, 0)
    path = re.search(r"last profile +(.*)", errors).group(1)
    check(f"{name}: no warning", [l for l in errors.splitlines() if "warning" in l], [])
    return path


monday = record("monday", OLD, 40)
friday = record("friday", NEW, 100)
os.remove(os.path.join(folder, "app"))
os.remove(os.path.join(folder, "app.cc"))
for day, n in ((monday, 40), (friday, 100)):
    seen = flat(day)
    check("without the program: names", (seen.get("grows"), seen.get("same")), (n * 10240, 50 * 20480))
    raw = json.loads(out(VITRINE, "raw", "--json", day))
    lines = {l["function"]: (os.path.basename(l["file"]), l["line"] > 0) for s in raw["locations"] for l in s["lines"]}
    check("without the program: files and lines", lines.get("grows()"), ("app.cc", True))
    check("build-ids", [len(m["build_id"]) for m in raw["mappings"] if m["file"].endswith("/app")], [40])
check("two builds", len({m["build_id"] for d in (monday, friday) for m in json.loads(out(VITRINE, "raw", "--json", d))["mappings"] if m["file"].endswith("/app")}), 2)
check("diff compares functions", diff(monday, friday), {"grows": GREW})
check("diff: nothing is said", run(VITRINE, "diff", monday, friday)[2], "")
if GO:
    for day, n in ((monday, 40), (friday, 100)):
        seen = go_top(day)
        check("go tool pprof: names without the program", {f: seen.get(f) for f in ("grows()", "same()")}, {"grows()": n * 10240, "same()": 50 * 20480})
    seen = {f: v for f, v in go_top("-diff_base=" + monday, friday).items() if v}
    check("go tool pprof: the difference of two builds", seen, {"grows()": GREW})
    # as a file that holds the difference
    both = os.path.join(folder, "both.pb.gz")
    out(VITRINE, "convert", "--base=" + monday, friday, both)
    check("go tool pprof reads back our difference", {f: v for f, v in go_top(both).items() if v}, {"grows()": GREW})
else:
    print("no go: not compared with go tool pprof")

# ---- CPU profiles, too
spin = build("spin", "#include <time.h>\n__attribute__((noinline)) void burns() { for (volatile long i = 0; i < 300000000; i++) {} }\nint main() { burns(); return 0; }\n")
place = os.path.join(folder, "cpu")
status, _, errors = run(VITRINE, "run", "--cpu", "-o", place, "--", spin)
path = re.search(r"last profile +(.*)", errors).group(1)
os.remove(spin)
check("CPU: most is in the function", max(flat(path), key=flat(path).get), "burns")
if GO:
    seen = go_top("-sample_index=samples", path)
    check("CPU: go tool pprof has the name", max(seen, key=seen.get), "burns()")

# ---- what a process writes itself: addresses, build-ids and paths; then the names are put in
KINDS = ["proto", "gperftools", "jemalloc"]
app = build("own/app", OLD, "-DGROWS=40")
build_id = re.search(r"Build ID: (\w+)", out("readelf", "-n", app)).group(1)
dumps, plain = {}, {}
for kind in KINDS:
    prefix = os.path.join(folder, "own-" + kind)
    out(app, env={"LD_PRELOAD": LIBRARY, "VITRINE": f"exact,heap_profile={prefix},heap_format={kind}"})
    dumps[kind] = prefix + ".0001.heap"
    raw = json.loads(out(VITRINE, "raw", "--json", "--no-symbols", dumps[kind]))
    check(f"{kind}: the process wrote the build-id", [m["build_id"] for m in raw["mappings"] if m["file"] == app], [build_id])
    check(f"{kind}: and no names", sum(len(l["lines"]) for l in raw["locations"]), 0)
    plain[kind] = open(dumps[kind], "rb").read()
    os.chmod(dumps[kind], 0o640)
dumps["cpu"] = os.path.join(folder, "own.prof")
spin = build("own/spin", "__attribute__((noinline)) void burns() { for (volatile long i = 0; i < 300000000; i++) {} }\nint main() { burns(); return 0; }\n")
out(spin, env={"LD_PRELOAD": LIBRARY, "VITRINE": f"cpu_profile={dumps['cpu']},cpu_format=gperftools"})
plain["cpu"] = open(dumps["cpu"], "rb").read()
status, text, errors = run(VITRINE, "symbolize", *dumps.values())
check("symbolize", (status, text), (0, ""))
check("symbolize: nothing else is left", sorted(f for f in os.listdir(folder) if f.startswith(".")), [])
for kind in KINDS:
    check(f"{kind}: the mode stays", stat.S_IMODE(os.stat(dumps[kind]).st_mode), 0o640)
before = {kind: open(path, "rb").read() for kind, path in dumps.items()}
for kind in dumps:
    if kind != "proto":
        check(f"{kind}: every byte that was there is there", before[kind].startswith(plain[kind]), True)
out(VITRINE, "symbolize", *dumps.values())
check("symbolize again: nothing changes", [k for k, path in dumps.items() if k != "proto" and open(path, "rb").read() != before[k]], [])
if PEER_PPROF and IS_PLAIN:  # the old readers look names up themselves: the program is still there
    for tool, kind in ((PEER_PPROF, "gperftools"), (PEER_JEPROF, "jemalloc"), (PEER_JEPROF, "gperftools")):
        if tool:
            table, _ = rows(out(tool, "--text", "--show_bytes", app, dumps[kind]))
            check(f"{os.path.basename(tool)} still reads {kind}", {n: table.get(n, (0, 0))[0] for n in ("grows", "same")}, {"grows": 40 * 10240, "same": 50 * 20480})
    table, _ = rows(out(PEER_PPROF, "--text", spin, dumps["cpu"]))
    check("google-pprof still reads the CPU profile", max(table, key=lambda n: table[n][0]), "burns")
if GO:
    for kind in ("proto", "gperftools"):
        text = out(GO, "tool", "pprof", "-symbolize=none", "-raw", dumps[kind], env={"HOME": folder})
        check(f"go tool pprof still reads {kind}", str(40 * 10240) in text and app in text, True)
    check_has("go tool pprof still reads the CPU profile", out(GO, "tool", "pprof", "-symbolize=none", "-raw", dumps["cpu"], env={"HOME": folder}), spin)
os.remove(app)
os.remove(spin)
for kind in KINDS:
    seen = flat(dumps[kind])
    check(f"{kind}: names without the program", (seen.get("grows"), seen.get("same")), (40 * 10240, 50 * 20480))
    lines = {r["name"] for r in json.loads(out(VITRINE, "top", "--json", "--by=lines", dumps[kind]))["rows"]}
    check(f"{kind}: lines without the program", any(re.match(r"grows .*/own/app\.cc:\d+$", l) for l in lines), True)
seen = flat(dumps["cpu"])
check("cpu: names without the program", max(seen, key=seen.get), "burns")

# ---- a diff that cannot match says so, once, and which file it is
app = build("lost/app", OLD, "-DGROWS=40")
lost = []
for name, text, n in (("before", OLD, 40), ("after", NEW, 100)):
    app = build("lost/app", text, f"-DGROWS={n}")
    prefix = os.path.join(folder, "lost-" + name)
    out(app, env={"LD_PRELOAD": LIBRARY, "VITRINE": f"exact,heap_profile={prefix},heap_format=gperftools"})
    lost.append(prefix + ".0001.heap")
status, text, errors = run(VITRINE, "diff", *lost)
check("no names for the old build: it is said", (status, len(errors.splitlines()), "another build of '" + app in errors and lost[0] in errors and "symbolize" in errors), (0, 1, True))

# ---- two libraries, one after the other at one address
PLUGIN = """
#include <stdlib.h>
#include <time.h>
extern void *volatile kept[];
extern int n_kept;
__attribute__((noinline)) void NAME(int n) {
    for (int i = 0; i < n; i++) kept[n_kept++] = malloc(10240);
    for (clock_t end = clock() + SPIN * (CLOCKS_PER_SEC / 10); clock() < end;)
        for (volatile int i = 0; i < 100000; i++) {}
    n_kept += 0;
}
void entry(int n) { NAME(n); __asm__ volatile(""); }
"""
HOST = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
void *volatile kept[10000];
int n_kept;
int main(int argc, char **argv) {
    for (int turn = 0; turn < 2; turn++)
        for (int i = 1; i < argc; i++) {
            void *library = dlopen(argv[i], RTLD_NOW);
            if (library == NULL) return fprintf(stderr, "%s\\n", dlerror()), 2;
            void (*entry)(int) = (void (*)(int))dlsym(library, "entry");
            printf("%p\\n", (void *)entry);
            entry(10 * i);
            dlclose(library);
        }
    return 0;
}
"""
host = os.path.join(folder, "host")
with open(host + ".c", "w") as f:
    f.write(HOST.replace("\\\\n", "\\n"))
CC = os.environ.get("CC", "cc")
out(CC, "-O1", "-g", "-rdynamic", "-fno-omit-frame-pointer", host + ".c", "-o", host, "-ldl")
libraries = []
for name in ("first", "second"):
    path = os.path.join(folder, f"lib{name}.so")
    with open(path + ".c", "w") as f:
        f.write(PLUGIN)
    out(CC, "-O1", "-g", "-shared", "-fPIC", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", f"-DNAME=by_{name}", f"-DSPIN={2}", path + ".c", "-o", path)
    libraries.append(path)
EXPECTED = {"by_first": 2 * 10 * 10240, "by_second": 2 * 20 * 10240}
for kind in KINDS:
    prefix = os.path.join(folder, "plugins-" + kind)
    cpu = prefix + ".cpu"
    text = out(host, *libraries, env={"LD_PRELOAD": LIBRARY, "VITRINE": f"exact,heap_profile={prefix},heap_format={kind},cpu_profile={cpu},cpu_format={'proto' if kind == 'proto' else 'gperftools'}"})
    check(f"{kind}: both were at one address", len(set(text.split())), 1)
    path = prefix + ".0001.heap"
    seen = flat(path)
    check(f"{kind}: two libraries at one address stay two", {n: seen.get(n) for n in EXPECTED}, EXPECTED)
    ticks = flat("--type=samples", cpu)
    check(f"{kind}: CPU time, too", all(ticks.get(n, 0) > 5 for n in EXPECTED), True)
    if kind == "proto" and GO:
        out(VITRINE, "symbolize", path)
        seen = go_top(path)
        check("go tool pprof: both", {n: seen.get(n) for n in EXPECTED}, EXPECTED)
    if kind == "gperftools" and PEER_PPROF and IS_PLAIN:
        table, _ = rows(out(PEER_PPROF, "--text", "--show_bytes", host, path))
        check("google-pprof: both", {n: table.get(n, (0, 0))[0] for n in EXPECTED}, EXPECTED)
    if kind == "jemalloc" and PEER_JEPROF and IS_PLAIN:
        table, _ = rows(out(PEER_JEPROF, "--text", "--show_bytes", host, path))
        check("jeprof: both", {n: table.get(n, (0, 0))[0] for n in EXPECTED}, EXPECTED)

# ---- lambdas and instances of templates
LAMBDAS = """
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
void *volatile kept;
NOINLINE void keep(void *p) { kept = p; }
template <class T> NOINLINE void fill(int n) { for (int i = 0; i < n; i++) keep(malloc(1024 * sizeof(T))); }
template <class F> NOINLINE void call(F f) { f(); keep(NULL); }
template <class F> static inline __attribute__((always_inline)) void inlined(F f) { f(); }
int main() {
    fill<char>(10);
    fill<double>(10);
    auto one = []() NOINLINE { for (int i = 0; i < 3; i++) keep(malloc(20480)); keep(NULL); };
    auto two = []() NOINLINE { for (int i = 0; i < 5; i++) keep(malloc(20480)); keep(NULL); };
    one();
    two();
    call([] { keep(malloc(30000)); });
    call([] { keep(malloc(50000)); });
    inlined([]() { keep(malloc(70000)); });
    inlined([]() { keep(malloc(90000)); });
    return 0;
}
"""
for compiler in [CXX] + [c for c in ("clang++",) if shutil.which(c)]:
    app = os.path.join(folder, "lambdas-" + os.path.basename(compiler))
    with open(app + ".cc", "w") as f:
        f.write(LAMBDAS)
    out(compiler, *FLAGS, app + ".cc", "-o", app)
    prefix = app + ".profile"
    out(app, env={"LD_PRELOAD": LIBRARY, "VITRINE": f"exact,heap_profile={prefix}"})
    seen = {n: v for n, v in flat("--type=alloc_space", prefix + ".0001.heap").items() if not n.startswith("libstdc++")}  # it takes some at its start
    sizes = sorted(v for n, v in seen.items() if v > 9000)
    what = f"{os.path.basename(compiler)}: {seen}"
    check(what + ": instances of a template", (seen.get("fill<char>"), seen.get("fill<double>")), (10 * 1024, 10 * 8192))
    check(what + ": each lambda is itself", len([n for n in seen if "lambda" in n or "$_" in n]), 6)
    check(what + ": one name, one number", len(sizes), 8)
    out(VITRINE, "symbolize", prefix + ".0001.heap")
    if GO:
        check(what + ": go tool pprof has as many", len([n for n, v in go_top("-sample_index=alloc_space", prefix + ".0001.heap").items() if v and ("lambda" in n or "$_" in n)]), 6)

# several on one line, and those of a macro, which are all where it is used
ONE_LINE = """
#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) void keep(void *p) { kept = p; }
template <class F> void call(F f) { f(); }
#define TWO(A, B) call([] { keep(malloc(A)); }); call([] { keep(malloc(B)); })
int main() { TWO(30000, 50000); call([] { keep(malloc(70000)); }); call([] { keep(malloc(90000)); }); return 0; }
"""
for compiler in [CXX] + [c for c in ("clang++",) if shutil.which(c)]:
    for level in ("-O0", "-O2"):
        app = os.path.join(folder, "one-line-" + os.path.basename(compiler))
        with open(app + ".cc", "w") as f:
            f.write(ONE_LINE)
        out(compiler, level, "-g", app + ".cc", "-o", app)
        prefix = app + ".profile" + level
        out(app, env={"LD_PRELOAD": LIBRARY, "VITRINE": f"exact,heap_profile={prefix}"})
        names = out(VITRINE, "collapsed", "--type=alloc_space", prefix + ".0001.heap")
        seen = {int(line.rpartition(" ")[2]): re.findall(r"[^; ]*(?:lambda|\$_)[^;]*?::operator\(\)", line)[-1:] for line in names.splitlines() if "main" in line}
        check(f"{os.path.basename(compiler)} {level}: each lambda of a line has a name: {seen}", (sorted(seen), len({str(n) for n in seen.values()})), ([30000, 50000, 70000, 90000], 4))
        check(f"{os.path.basename(compiler)} {level}: all have one", [] in seen.values(), False)

# ---- mistakes
for what, argv, status, word in (
        ("no file", ["/nonexistent"], 3, "cannot open"), ("a folder", [folder], 3, "Is a directory"), ("no profile", [os.path.join(folder, "app.cc.none")], 3, "cannot open")):
    seen = run(VITRINE, "symbolize", *argv)
    check(f"symbolize, {what}", (seen[0], word in seen[2], len(seen[2].splitlines())), (status, True, 1))
pipe = os.path.join(folder, "pipe")
os.mkfifo(pipe)
check("symbolize, a pipe", run(VITRINE, "symbolize", pipe)[::2], (3, f"vitrine: error: '{pipe}': is no ordinary file\n"))
if os.geteuid() == 0:  # another user's file stays his
    theirs = os.path.join(folder, "theirs.heap")
    shutil.copy(lost[1], theirs)
    os.chmod(theirs, 0o600)
    os.chown(theirs, 65534, 65534)
    out(VITRINE, "symbolize", theirs)
    seen = os.stat(theirs)
    check("symbolize, another user's file", (seen.st_uid, seen.st_gid, stat.S_IMODE(seen.st_mode), seen.st_size > os.path.getsize(lost[1])), (65534, 65534, 0o600, True))
else:
    print("not root: another user's file was not tried")
collapsed = os.path.join(folder, "x.collapsed")
with open(collapsed, "w") as f:
    f.write("main;work 5\n")
seen = run(VITRINE, "symbolize", collapsed)
check("symbolize, collapsed stacks", (seen[0], "no place for names" in seen[2], open(collapsed).read()), (3, True, "main;work 5\n"))
packed = os.path.join(folder, "packed.heap.gz")
with gzip.open(packed, "wb") as f:
    f.write(plain["gperftools"])
seen = run(VITRINE, "symbolize", packed)
check("symbolize, packed text", (seen[0], "unpack it first" in seen[2]), (3, True))
full = os.path.join(folder, "full")  # a folder that takes no file: the old one stays
with open(lost[1], "rb") as f:
    kept = f.read()
seen = run("/bin/sh", "-c", f"ulimit -f 1; trap '' XFSZ; exec {VITRINE} symbolize {lost[1]}")
check("symbolize, no room: the old file stays", (seen[0], open(lost[1], "rb").read() == kept), (3, True))
# hostile names behind a profile: no line of them does harm
for damage in (b"# place 0 1:1:1\n", b"# place zz\n", b"# function\n", b"# function 1\n# place 10 9:9:9\n", b"# build-id x y\n", b"# vitrine names 1\n# place 1 1:1:1 2:2\n", b"# function 1 \\x\t\\xzz\n"):
    path = os.path.join(folder, "hostile.heap")
    with open(path, "wb") as f:
        f.write(plain["gperftools"] + damage)
    check("damaged names are skipped", run(VITRINE, "top", "--no-symbols", path)[0], 0)
done()
