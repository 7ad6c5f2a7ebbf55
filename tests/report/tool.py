"""tool.py - what the tests of the analysis tool share: running commands, making real profiles, reading the tables.

Profiles are made by Debian's libtcmalloc_and_profiler and libjemalloc from work.cc, in a folder of their own. A peer
that is not installed skips the comparison with it and says so.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("VT_BUILD") or os.path.join(HERE, "..", "..", "build", "release")
BIN = os.path.join(BUILD, os.environ.get("VT_REPORT_BIN", "bin"))
VITRINE = os.path.join(BIN, "vitrine")
PPROF = os.path.join(BIN, "pprof")
JEPROF = os.path.join(BIN, "jeprof")
# The perl tools take most of the time. The plain command is held against them; the one under a sanitizer against the plain one.
IS_PLAIN = BIN == os.path.join(BUILD, "bin")
PEER_PPROF = shutil.which("google-pprof") if IS_PLAIN else os.path.join(BUILD, "bin", "google-pprof")
PEER_JEPROF = shutil.which("jeprof") if IS_PLAIN else os.path.join(BUILD, "bin", "jeprof")
GO = shutil.which("go")

failed = 0
checks = 0


def check(what, seen, expected):
    global failed, checks
    checks += 1
    if seen != expected:
        failed += 1
        print(f"FAILED {what}: expected {expected!r}, seen {seen!r}")


def check_near(what, seen, expected, tolerance):
    global failed, checks
    checks += 1
    if abs(seen - expected) > tolerance:
        failed += 1
        print(f"FAILED {what}: expected {expected} +- {tolerance}, seen {seen}")


def check_has(what, text, part):
    global failed, checks
    checks += 1
    if part not in text:
        failed += 1
        print(f"FAILED {what}: expected {part!r} in:\n{text[:2000]}")


def done():
    print(f"{checks} checks, {failed} failed")
    sys.exit(1 if failed or not checks else 0)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def run(*argv, stdin=None, env=None):
    """(status, stdout, stderr)"""
    full = dict(os.environ, **(env or {}))
    full.pop("LD_PRELOAD", None) if not env or "LD_PRELOAD" not in env else None
    r = subprocess.run(argv, input=stdin, capture_output=True, env=full, timeout=300)
    return r.returncode, r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")


def out(*argv, **more):
    status, text, errors = run(*argv, **more)
    if status != 0:
        print(f"FAILED {' '.join(argv)}: expected exit 0, seen {status}\n{errors}")
        sys.exit(1)
    return text


def library(name):
    found = sorted(glob.glob("/usr/lib/*/" + name) + glob.glob("/usr/lib/" + name))
    return found[0] if found else None


def scratch():
    import atexit
    folder = tempfile.mkdtemp(prefix="vitrine-report-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def build_work(folder):
    program = os.path.join(folder, "work")
    out(os.environ.get("CXX", "c++"), "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-builtin",
        os.path.join(HERE, "work.cc"), "-o", program)
    return program


def heap_of(folder, program, name="heap"):
    """A HEAPPROFILE file of gperftools, or None."""
    preload = library("libtcmalloc_and_profiler.so.4")
    if not preload:
        return None
    prefix = os.path.join(folder, name)
    run(program, env={"LD_PRELOAD": preload, "HEAPPROFILE": prefix})
    return sorted(glob.glob(prefix + ".*.heap"))[-1]


def through(path, program, pattern):
    """A copy of a CPU profile of gperftools with the stacks through such functions of the program alone."""
    data = open(path, "rb").read()
    maps = data[data.rindex(b"\0") + 1:].decode()
    begin, offset = next((int(a, 16), int(o, 16)) for a, o, file in re.findall(r"^(\w+)-\w+ r-x\w (\w+) \S+ \S+ +(\S+)$", maps, re.M) if file == program)
    places = [(begin - offset + int(a, 16), int(n, 16)) for a, n, name in re.findall(r"^(\w+) (\w+) \w (\S+)$", out("nm", "-S", program), re.M)
              if re.search(pattern, name)]
    words = memoryview(data[:data.rindex(b"\0") + 1]).cast("Q")
    kept, at = list(words[:5]), 5
    while words[at]:  # how often, how many frames, the frames; the last is 0, 1, 0
        end = at + 2 + words[at + 1]
        if any(low <= pc < low + n for pc in words[at + 2:end] for low, n in places):
            kept += words[at:end]
        at = end
    copy = path + ".through"
    with open(copy, "wb") as f:
        f.write(b"".join(w.to_bytes(8, "little") for w in [*kept, *words[at:]]) + maps.encode())
    return copy


def cpu_of(folder, program, millions=60):
    """Of gperftools, or None; less what a tick met by chance before the program burns: no two runs have the same of that."""
    preload = library("libtcmalloc_and_profiler.so.4")
    if not preload:
        return None
    path = os.path.join(folder, "cpu.prof")
    run(program, str(millions), env={"LD_PRELOAD": preload, "CPUPROFILE": path, "CPUPROFILE_FREQUENCY": "1000"})
    return through(path, program, "burn_(much|some)")


def jemalloc_of(folder, program, name="je", sample=0):
    preload = library("libjemalloc.so.2")
    if not preload:
        return None
    prefix = os.path.join(folder, name)
    conf = f"prof:true,lg_prof_sample:{sample},prof_accum:true,prof_final:true,prof_prefix:{prefix}"
    _, _, errors = run(program, env={"LD_PRELOAD": preload, "MALLOC_CONF": conf})
    found = sorted(glob.glob(prefix + ".*.heap"))
    if not found:
        print(f"libjemalloc wrote no profile: {errors.strip()}")
        return None
    return found[-1]


def mapping_only(path, program):
    """A copy of a heap profile whose map has the program alone: google-pprof's listings run over every file of the map."""
    head, mark, maps = open(path).read().partition("MAPPED_LIBRARIES:\n")
    copy = path + ".alone"
    with open(copy, "w") as f:
        f.write(head + mark + "".join(l for l in maps.splitlines(True) if l.rstrip().endswith("/" + os.path.basename(program))))
    return copy


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def in_browser(path, script, *flags):
    """What the script, behind all that is in the picture or page, leaves as JSON in data-seen of the outermost element; or None."""
    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(text.replace("</body>", "<script>" + script + "</script></body>") if path.endswith(".html") else
                "<script><![CDATA[".join(["</svg>".join(text.split("</svg>")[:-1]), script]) + "]]></script></svg>")
    for _ in range(3):  # a browser may crash or hang for reasons of its own, and leave something behind: each time it begins anew
        with tempfile.TemporaryDirectory(dir=os.path.dirname(path), ignore_cleanup_errors=True) as settings:
            try:
                dom = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom", "--window-size=1000,600",
                                      "--user-data-dir=" + settings, *flags, "file://" + path], capture_output=True, timeout=120).stdout.decode()
            except subprocess.TimeoutExpired:
                dom = ""
        m = re.search(r'data-seen="([^"]*)"', dom)
        if m:
            break
    check(f"{os.path.basename(path)}: the script ran", m is not None, True)
    return json.loads(m.group(1).replace("&quot;", '"').replace("&amp;", "&")) if m else None


def rows(text):
    """Perl pprof's table: {name without (inline): (flat, cum)}, and the total."""
    table, total = {}, None
    for line in text.splitlines():
        m = re.match(r"Total(?: \(t\S+\))?: (\S+) (\S+)", line)
        if m:
            total = float(m.group(1))
            continue
        m = re.match(r"\s*(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+) (.*)", line)
        if m:
            name = re.sub(r"@@?\S+$", "", m.group(6).replace(" (inline)", ""))
            flat, cum = table.get(name, (0, 0))
            table[name] = (flat + float(m.group(1)), max(cum, float(m.group(4))))
    return table, total


def top(*argv):
    """Our own table as {name: (flat, cum)}, and the total."""
    data = json.loads(out(VITRINE, "top", "--json", *argv))
    return {r["name"]: (r["flat"], r["cum"]) for r in data["rows"]}, data["total"]


def add_instances(table):
    """Of top(): instances of a template as one, as the other tools have them."""
    sums = {}
    for name, (flat, cum) in table.items():
        plain = re.sub(r"<[^<>]*>", "", name)
        sums[plain] = tuple(a + b for a, b in zip(sums.get(plain, (0, 0)), (flat, cum)))
    return sums
