#!/usr/bin/env python3
"""The analysis tool beside google-pprof, jeprof and go tool pprof: CPU seconds and memory of one text report.

    bench/tools.py --bin build/release/bin --check

Three files, all about one program with six C++ libraries of 400 template instances each, built here with -O2 -g:

    heap       heap_v2 text of gperftools, generated: 186,000 stacks of 12,000 addresses, 77 MB
    jemalloc   heap_v2 text of jemalloc, generated: 200,000 stacks, 99 MB
    cpu        a real CPU profile of gperftools, about 245 KB

CPU is user + system time of the tool and of all it starts; memory is the largest process. A peer that is still busy after
--limit CPU seconds is ended; its figure is then "at least". Every tool has to look up the names, except the column
"go, no names": go tool pprof told not to. Exit: 0 fine; 1 a target missed (--check); 2 usage; 3 could not.
"""
import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True     # no __pycache__ in the source tree
import targets  # noqa: E402

N_LIBRARIES, N_INSTANCES = 6, 400
SIZES = {"heap": 186000, "jemalloc": 200000}
N_ADDRESSES = 12000
CPU_SECONDS = "6"      # at 250 samples a second, what most kernels give, a file of about 245 KB

LIBRARY = """
#include "step.h"
namespace lib%(n)d {
template <int N> struct Stage {
    static __attribute__((noinline)) long run(int depth, unsigned seed) {
        std::vector<int> values;
        values.push_back(N);
        std::string name = std::to_string(N + depth);
        std::map<std::string, long> seen;
        seen[name] = depth;
        long sum = 0;
        if (depth <= 0)
            for (int i = 0; i < 400; i++) sum += (long)name.size() * i;
        else
            sum = next(seed * 1103515245u + 12345u + N, depth - 1);
        return sum + seen[name] + values[0];
    }
};
template <int... N> void enter(std::integer_sequence<int, N...>) { int all[] = {(add(&Stage<N>::run), 0)...}; (void)all; }
struct Enter { Enter() { enter(std::make_integer_sequence<int, %(instances)d>()); } } enter_now;
}
"""
HEADER = """
#include <map>
#include <string>
#include <utility>
#include <vector>
typedef long (*step)(int depth, unsigned seed);
void add(step s);
long next(unsigned seed, int depth);
"""
MAIN = """
#include "step.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static std::vector<step> *steps;
void add(step s) { if (!steps) steps = new std::vector<step>; steps->push_back(s); }
__attribute__((noinline)) long next(unsigned seed, int depth) { return (*steps)[(seed >> 8) % steps->size()](depth, seed); }
int main(int argc, char **argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 0;
    long sum = 0;
    for (unsigned i = 0; i % 64 || clock() < seconds * CLOCKS_PER_SEC; i++) sum += next(i * 2654435761u, 12 + (int)(i % 17));
    FILE *maps = fopen("/proc/self/maps", "r");
    for (int c; (c = getc(maps)) != EOF;) putchar(c);
    return sum == 1;
}
"""


def say(text):
    print(text, file=sys.stderr)


# ---- the program and the files

def build(folder):
    def write(name, text):
        with open(os.path.join(folder, name), "w") as f:
            f.write(text)

    def cxx(*words):
        subprocess.run([os.environ.get("CXX", "c++"), "-O2", "-g", "-fno-omit-frame-pointer", *words], cwd=folder, check=True)

    write("step.h", HEADER)
    write("main.cc", MAIN)
    libraries = []
    for n in range(N_LIBRARIES):
        write(f"lib{n}.cc", LIBRARY % {"n": n, "instances": N_INSTANCES})
        cxx("-fPIC", "-shared", "-Wl,--allow-shlib-undefined", f"lib{n}.cc", "-o", f"libstage{n}.so")
        libraries.append(os.path.join(folder, f"libstage{n}.so"))
    cxx("main.cc", "-rdynamic", "-Wl,--no-as-needed", *libraries, "-Wl,-rpath," + folder, "-o", "program")
    return os.path.join(folder, "program")


def addresses(maps):
    """Return addresses within functions of the program and its libraries, as they lie in that process."""
    found = []
    for line in maps.splitlines():
        m = re.match(r"([0-9a-f]+)-([0-9a-f]+) r-x\S+ ([0-9a-f]+) \S+ \S+\s+(/.*)", line)
        if not m or not ("libstage" in m.group(4) or m.group(4).endswith("/program")):
            continue
        start, end, offset = (int(m.group(i), 16) for i in (1, 2, 3))
        segment = next(l.split() for l in subprocess.run(["readelf", "-lW", m.group(4)], capture_output=True, text=True).stdout.splitlines()
                       if re.match(r"\s+LOAD.*R E", l))
        bias = int(segment[2], 16) - int(segment[1], 16)
        for symbol in subprocess.run(["nm", "-S", m.group(4)], capture_output=True, text=True).stdout.splitlines():
            words = symbol.split()
            if len(words) == 4 and words[2] in "tTwW" and int(words[1], 16) > 8:
                where = start + int(words[0], 16) - bias - offset
                if start <= where < end:
                    found += [where + random.randrange(5, int(words[1], 16)) for _ in range(6)]
    random.shuffle(found)
    return found[:N_ADDRESSES]


def stacks(pcs, n, low, high):
    texts = ["0x%x" % pc for pc in pcs]
    for _ in range(n):
        yield " ".join(random.choices(texts, k=random.randrange(low, high)))


def write_heap(path, maps, pcs, n):
    with open(path, "w") as f:
        f.write("heap profile: %6d: %8d [%6d: %8d] @ heap_v2/524288\n" % (2 * n, 2000 * n, 2 * n, 2000 * n))
        for stack in stacks(pcs, n, 15, 36):
            f.write("     2:     2000 [     2:     2000] @ %s\n" % stack)
        f.write("\nMAPPED_LIBRARIES:\n" + maps)


def write_jemalloc(path, maps, pcs, n):
    with open(path, "w") as f:
        f.write("heap_v2/524288\n  t*: %d: %d [0: 0]\n  t0: %d: %d [0: 0]\n" % (2 * n, 2000 * n, 2 * n, 2000 * n))
        for stack in stacks(pcs, n, 20, 41):
            f.write("@ %s\n  t*: 2: 2000 [0: 0]\n  t0: 2: 2000 [0: 0]\n" % stack)
        f.write("\nMAPPED_LIBRARIES:\n" + maps)


def write_cpu(path, program):
    import glob
    preload = sorted(glob.glob("/usr/lib/*/libtcmalloc_and_profiler.so.4"))
    if not preload:
        return False
    env = dict(os.environ, LD_PRELOAD=preload[0], CPUPROFILE=path, CPUPROFILE_FREQUENCY="1000")
    subprocess.run([program, CPU_SECONDS], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return os.path.exists(path)


# ---- measuring

def measure(argv, limit_s):
    """{"cpu", "rss_mb", "is_cut", "lines"} or {"error"}"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    cut = lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s))
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        p = subprocess.Popen(argv, stdout=out, stderr=errors, stdin=subprocess.DEVNULL, preexec_fn=cut,
                             env=dict(os.environ, PPROF_TMPDIR=tempfile.gettempdir(), GOMAXPROCS="2"))
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = status
        out.seek(0)
        lines = out.read().count(b"\n")
        errors.seek(0)
        last = errors.read().decode(errors="replace").strip().splitlines()[-1:]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    is_cut = os.WIFSIGNALED(status)
    if not is_cut and (os.WEXITSTATUS(status) != 0 or lines < 2):
        return {"error": f"exit {os.WEXITSTATUS(status)}: {' '.join(last)}"}
    return {"cpu": cpu, "rss_mb": usage.ru_maxrss / 1024, "is_cut": is_cut, "lines": lines}


def commands(binaries, program, kind, path):
    """{column: argv}; a peer that cannot read the kind has none"""
    go = shutil.which("go")
    tool = go and os.path.join(subprocess.run([go, "env", "GOTOOLDIR"], capture_output=True, text=True).stdout.strip(), "pprof")
    go_argv = [tool] if tool and os.path.exists(tool) else [go, "tool", "pprof"]
    ours = os.path.join(binaries, "jeprof" if kind == "jemalloc" else "pprof")
    argv = {"vitrine": [ours, "--text", program, path]}
    if kind == "jemalloc":
        if shutil.which("jeprof"):
            argv["jeprof"] = [shutil.which("jeprof"), "--text", program, path]
        return argv
    if shutil.which("google-pprof"):
        argv["google-pprof"] = [shutil.which("google-pprof"), "--text", program, path]
    if go:
        argv["go tool pprof"] = [*go_argv, "-top", program, path]
        argv["go, no names"] = [*go_argv, "-top", "-symbolize=none", program, path]
    return argv


def run(options, folder):
    random.seed(1)
    say("tools: building the program and the files")
    program = build(folder)
    maps = subprocess.run([program], capture_output=True, text=True).stdout
    pcs = addresses(maps)
    doc = {"addresses": len(pcs), "rows": []}
    for kind in options.rows.split(","):
        path = os.path.join(folder, kind)
        if kind == "cpu":
            if not write_cpu(path, program):
                say("tools: warning: no libtcmalloc_and_profiler; the row cpu is left out")
                continue
        else:
            (write_heap if kind == "heap" else write_jemalloc)(path, maps, pcs, SIZES[kind] // options.divide)
        row = {"name": kind, "bytes": os.path.getsize(path), "tools": {}}
        for column, argv in commands(options.bin, program, kind, path).items():
            say(f"tools: {kind}, {row['bytes'] / 1e6:.1f} MB: {column}")
            row["tools"][column] = measure(argv, options.limit)
        doc["rows"].append(row)
    return doc


# ---- results

def cell(figures):
    if "error" in figures:
        return "failed"
    return f"{'>' if figures['is_cut'] else ''}{figures['cpu']:.2f} s {figures['rss_mb']:.0f} MB"


def as_text(doc):
    columns = ["vitrine", "google-pprof", "jeprof", "go tool pprof", "go, no names"]
    lines = [["row", "MB"] + columns]
    for row in doc["rows"]:
        lines.append([row["name"], f"{row['bytes'] / 1e6:.1f}"] + [cell(row["tools"][c]) if c in row["tools"] else "-" for c in columns])
    widths = [max(len(l[i]) for l in lines) for i in range(len(lines[0]))]
    out = ["The analysis tool: one text report, CPU seconds and peak memory ('>': ended at the limit)"]
    out += ["  ".join(w.ljust(n) if i == 0 else w.rjust(n) for i, (w, n) in enumerate(zip(l, widths))).rstrip() for l in lines]
    out += [f"  {row['name']}, {name}: {f['error']}" for row in doc["rows"] for name, f in row["tools"].items() if "error" in f]
    return "\n".join(out) + "\n"


def main():
    p = argparse.ArgumentParser(description="the analysis tool beside the others", allow_abbrev=False)
    p.add_argument("--bin", default="build/release/bin", metavar="DIR", help="where vitrine was built (%(default)s)")
    p.add_argument("--rows", default="heap,jemalloc,cpu", help="which (%(default)s)")
    p.add_argument("--divide", type=int, default=1, metavar="N", help="files of 1/N of the size: a look, not a result")
    p.add_argument("--limit", type=int, default=100, metavar="S", help="CPU seconds for one tool (%(default)s)")
    p.add_argument("--check", action="store_true", help="verify the targets; exit 1 if one is missed")
    p.add_argument("--json", metavar="FILE", help="write the figures")
    options = p.parse_args()
    if not set(options.rows.split(",")) <= {"heap", "jemalloc", "cpu"}:
        say(f"tools: error: no such row in '{options.rows}'")
        return 2
    if options.check and options.divide != 1:
        say("tools: error: the targets of --check are about whole files: no --divide")
        return 2
    if not os.access(os.path.join(options.bin, "pprof"), os.X_OK):
        say(f"tools: error: no pprof in '{options.bin}'; build vitrine, or say --bin DIR")
        return 3
    folder = tempfile.mkdtemp(prefix="vitrine-tools-")
    try:
        doc = run(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(as_text(doc))
    if options.json:
        with open(options.json, "w") as f:
            json.dump(doc, f, indent=1)
    if not options.check:
        return 0
    verdicts = targets.verify_tools(doc)
    sys.stdout.write("\n" + targets.as_text(verdicts, "the analysis tool"))
    return 1 if any(v.met is False for v in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
