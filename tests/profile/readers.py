#!/usr/bin/env python3
"""readers.py READER SUBJECT - a profile of known call sites, shown by its readers: the same totals, the same functions.

    google-pprof   gperftools text: exact, sampled, growth
    jeprof         jemalloc text, exact and sampled, by thread; and gperftools text
    go             go tool pprof: profile.proto and gperftools text
    proto          profile.proto by a decoder of its own (and protoc --decode_raw): every field, build ids against readelf
    collapsed      collapsed stacks, each frame through addr2line

SUBJECT is tests/profile/subject.c, which prints what must be found. Numbers are compared by value. A reader of sampled text
(heap_v2) scales what was seen: n / (1 - exp(-mean size / period)) for each line, and so does this file.
"""
import collections
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

PERIOD = 524288
KINDS = {"exact": 1, "sampled": PERIOD, "growth": 1}

Row = collections.namedtuple("Row", "thread labels seen estimate functions")
n_checks, n_failed = 0, 0


def check(what, seen, expected, tolerance=0):
    global n_checks, n_failed
    n_checks += 1
    if seen == expected or (tolerance and seen is not None and abs(seen - expected) <= tolerance):
        return
    n_failed += 1
    print(f"{what}: expected {expected}, seen {seen}")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def run(*argv, env=None):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=dict(os.environ, **(env or {})))
    if done.returncode != 0:
        print(f"{' '.join(argv)}: expected status 0, seen {done.returncode}\n{done.stderr}")
        sys.exit(1)
    return done.stdout


# ---- the subject, and what a reader must make of it

def make(subject, form, kind, path, env=None):
    """Writes the profile; gives its rows."""
    rows = []
    for line in run(subject, form, kind, str(KINDS[kind]), path, env=env).splitlines():
        f = line.split("\t")
        rows.append(Row(int(f[0]), f[1], [int(n) for n in f[2:6]], [int(n) for n in f[6:10]], f[10].split(",")))
    if len(rows) < 8:
        print(f"expected at least 8 rows, seen {len(rows)}")
        sys.exit(1)
    return rows


def as_read(row, index, period):
    """What a reader of text shows for this row. index: inuse objects, inuse bytes, alloc objects, alloc bytes."""
    pair = row.seen[0:2] if index < 2 else row.seen[2:4]
    if period == 1 or pair[0] == 0:
        return float(row.seen[index])
    return row.seen[index] / (1 - math.exp(-pair[1] / pair[0] / period))


def sums(rows, value):
    """(total, {function: flat}, {function: with what it calls})"""
    total, flat, cum = 0.0, collections.Counter(), collections.Counter()
    for row in rows:
        n = value(row)
        total += n
        flat[row.functions[0]] += n
        for function in set(row.functions) - {"?libc"}:
            cum[function] += n
    return total, flat, cum


def compare(what, rows, value, table, total, tolerance):
    """table: {function: (flat, cum)}"""
    expected_total, flat, cum = sums(rows, value)
    check(f"{what}: total", total, expected_total, tolerance)
    for function, n in cum.items():
        seen = table.get(function, (0, 0))
        check(f"{what}: {function}, flat", seen[0], flat[function], tolerance)
        check(f"{what}: {function}, with callees", seen[1], n, tolerance)
    # the order of the table: by flat, largest first
    top = max((n for n in flat.values()), default=0)
    leader = max(table, key=lambda f: table[f][0]) if table else None
    check(f"{what}: top function's share", flat.get(leader, 0), top, tolerance)


# ---- the perl readers

PERL_VIEWS = ["--inuse_objects", "--inuse_space", "--alloc_objects", "--alloc_space"]
PERL_ROW = re.compile(r"^\s*(-?[\d.]+)\s+[\d.]+%\s+[\d.]+%\s+(-?[\d.]+)\s+[\d.]+%\s+(\S+)", re.M)


def perl_table(reader, subject, path, *options):
    """({function: (flat, cum)}, total)"""
    text = run(reader, "--text", "--show_bytes", "--nodefraction=0", "--edgefraction=0", "--nodecount=1000", *options,
               subject, path)
    total = re.search(r"^Total(?: \(t\d+\))?: ([\d.]+)", text, re.M)
    table = {name: (float(flat), float(cum)) for flat, cum, name in PERL_ROW.findall(text)}
    return table, float(total.group(1)) if total else 0.0


def perl_reads(reader, subject, form, kind, folder, env=None, views=PERL_VIEWS):
    path = os.path.join(folder, f"{form}.{kind}")
    rows = make(subject, form, kind, path, env)
    for view in views:
        index = PERL_VIEWS.index(view)
        table, total = perl_table(reader, subject, path, view)
        compare(f"{reader} {form} {kind} {view}", rows, lambda r: as_read(r, index, KINDS[kind]), table, total,
                len(rows))     # whole numbers are printed
    return rows, path


def read_google_pprof(subject, folder):
    if not shutil.which("google-pprof"):
        skip("no google-pprof (scripts/setup test installs google-perftools)")
    for kind in KINDS:
        perl_reads("google-pprof", subject, "gperftools", kind, folder)
    perl_reads("google-pprof", subject, "gperftools", "exact", folder, env={"VITRINE_FAIL_ALWAYS": "proc"},
               views=["--inuse_space"])


def read_jeprof(subject, folder):
    if not shutil.which("jeprof"):
        skip("no jeprof (scripts/setup test installs libjemalloc-dev)")
    for kind in KINDS:
        perl_reads("jeprof", subject, "gperftools", kind, folder, views=["--inuse_space"])
    for kind in ("exact", "sampled"):
        rows, path = perl_reads("jeprof", subject, "jemalloc", kind, folder)
        for thread in sorted({row.thread for row in rows}):
            own = [row for row in rows if row.thread == thread]
            table, total = perl_table("jeprof", subject, path, f"--thread={thread}")
            compare(f"jeprof {kind} --thread={thread}", own, lambda r: as_read(r, 1, KINDS[kind]), table, total,
                    len(own))


# ---- go tool pprof

GO_ROW = re.compile(r"^\s*([\d.]+)B?\s+[\d.]+%\s+[\d.]+%\s+([\d.]+)B?\s+[\d.]+%\s+(\S+)", re.M)
GO_TOTAL = re.compile(r"% of ([\d.]+)B? total")
GO_VIEWS = ["inuse_objects", "inuse_space", "alloc_objects", "alloc_space"]
PROTO_VIEWS = ["inuse_objects", "inuse_class_space", "alloc_objects", "alloc_class_space"]


def asked_for(row):
    """A byte of each block is wasted."""
    return float(row.estimate[1] - row.estimate[0])


def go_table(folder, sources, *options):
    text = run("go", "tool", "pprof", "-text", "-symbolize=local", "-unit=B", "-nodefraction=0", "-edgefraction=0",
               "-nodecount=1000", *options, *sources, env={"HOME": folder, "PPROF_TMPDIR": folder})
    total = GO_TOTAL.search(text)
    return {name: (float(flat), float(cum)) for flat, cum, name in GO_ROW.findall(text)}, \
        float(total.group(1)) if total else None


def is_at_fixed_address(program):
    with open(program, "rb") as f:
        return f.read(18)[16] == 2      # ET_EXEC


def go_reads(subject, form, kind, folder, env=None):
    path = os.path.join(folder, f"{form}.{kind}")
    rows = make(subject, form, kind, path, env)
    views = PROTO_VIEWS if form == "proto" else GO_VIEWS
    if (form, kind) == ("gperftools", "growth"):
        views = ["objects", "space"]    # it has no more
    for index, view in enumerate(views):
        table, total = go_table(folder, [subject, path], f"-sample_index={view}")
        if form == "proto":     # estimates, in whole numbers: exactly these
            value, tolerance = lambda r: float(r.estimate[index]), 0
        else:                   # cut off for each line
            value, tolerance = lambda r: as_read(r, index, KINDS[kind]), len(rows)
        what = f"go {form} {kind} {view}"
        if form == "gperftools" and is_at_fixed_address(subject):
            # pprof takes the code of such a program for its first page, and finds other functions or none; it does the
            # same to gperftools' own files, and not to profile.proto
            check(f"{what}: total", total, sums(rows, value)[0], tolerance)
            continue
        compare(what, rows, value, table, total, tolerance)
    return rows, path


def read_go(subject, folder):
    if not shutil.which("go"):
        skip("no go (scripts/setup test installs golang-go)")
    for kind in KINDS:
        rows, path = go_reads(subject, "proto", kind, folder)
    for kind in ("exact", "sampled", "growth"):
        go_reads(subject, "gperftools", kind, folder)
    # without the program's name: the mappings and build ids must do; the default view is inuse_space
    table, total = go_table(folder, [path])
    compare("go proto, program from the mappings", rows, asked_for, table, total, 0)
    for focus, chosen in (("-tagfocus=thread=worker", [r for r in rows if r.thread == 12]),
                          ("-tagfocus=thread_id=11:11", [r for r in rows if r.thread == 11]),
                          ("-tagfocus=phase=warm up", [r for r in rows if "warm up" in r.labels])):
        table, _ = go_table(folder, [subject, path], focus)
        _, flat, _ = sums(chosen, asked_for)
        for function, n in flat.items():
            check(f"go {focus}: {function}", table.get(function, (None,))[0], n)
    go_reads(subject, "proto", "exact", folder, env={"VITRINE_FAIL_ALWAYS": "proc"})


# ---- profile.proto by hand

def varint(data, at):
    n = shift = 0
    while True:
        n |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return n, at


def fields(data):
    """[(number, value or bytes)]"""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        n, at = varint(data, at)
        if key & 7 == 2:
            found.append((key >> 3, data[at:at + n]))
            check("length of a field", at + n <= len(data), True)
            at += n
        else:
            check("wire type", key & 7, 0)
            found.append((key >> 3, n))
    return found


def packed(data):
    at, found = 0, []
    while at < len(data):
        n, at = varint(data, at)
        found.append(n)
    return found


def build_id_of(path):
    m = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", path))
    return m.group(1) if m else ""


def address_names(subject, addresses):
    out = run("addr2line", "-f", "-e", subject, *[hex(a) for a in addresses]).splitlines()
    return out[0::2]


def elf_address(subject, mapping, address):
    """Through the program headers, as a reader does it."""
    offset = address - mapping[2] + mapping[4]
    for line in run("readelf", "-lW", subject).splitlines():
        f = line.split()
        if f[:1] == ["LOAD"] and int(f[1], 16) <= offset < int(f[1], 16) + int(f[4], 16):
            return offset - int(f[1], 16) + int(f[2], 16)
    return 0


def read_proto(subject, folder):
    path = os.path.join(folder, "proto")
    rows = make(subject, "proto", "sampled", path)
    if shutil.which("protoc"):
        with open(path, "rb") as f:
            check("protoc --decode_raw", subprocess.run(["protoc", "--decode_raw"], stdin=f,
                                                        stdout=subprocess.DEVNULL).returncode, 0)
    with open(path, "rb") as f:
        profile = fields(f.read())
    every = collections.defaultdict(list)
    for number, value in profile:
        every[number].append(value)
    strings = [s.decode("utf-8") for s in every[6]]
    check("string 0", strings[0], "")
    types = [tuple(strings[n] for _, n in fields(t)) for t in every[1]]
    check("sample types", types, [("alloc_objects", "count"), ("alloc_space", "bytes"),
                                  ("inuse_objects", "count"), ("inuse_space", "bytes"),
                                  ("alloc_class_space", "bytes"), ("inuse_class_space", "bytes"),
                                  ("alloc_samples", "count"), ("inuse_samples", "count")])
    check("period type", [strings[n] for _, n in fields(every[11][0])], ["space", "bytes"])
    check("period", every[12], [PERIOD])
    check("default", strings[every[14][0]], "inuse_space")
    check("duration", every[10], [1500000000])
    check("time, about now", abs(every[9][0] / 1e9 - os.stat(path).st_mtime) < 60, True)
    check("comment", strings[every[13][0]], "vitrine heap profile: sampled")

    mappings = {m[1]: m for m in (dict(fields(m)) for m in every[3])}
    check("mappings have numbers of their own", len(mappings), len(every[3]))
    first = dict(fields(every[3][0]))
    check("the first mapping is the program", strings[first[5]], os.path.realpath(subject))
    for m in mappings.values():
        name = strings[m[5]]
        if name.startswith("/"):
            check(f"build id of {name}", strings[m[6]], build_id_of(name))
    locations = {f[1]: f for f in (dict(fields(f)) for f in every[4])}
    check("locations have numbers of their own", len(locations), len(every[4]))
    check("no functions", every[5], [])

    check("samples", len(every[2]), len(rows))
    for data, row in zip(every[2], rows):
        sample = fields(data)
        ids = packed(dict(sample)[1])
        values = packed(dict(sample)[2])
        inuse, inuse_bytes, alloc, alloc_bytes = row.estimate
        check("values", values, [alloc, alloc_bytes - alloc, inuse, inuse_bytes - inuse, alloc_bytes, inuse_bytes,
                                  row.seen[2], row.seen[0]])
        labels = {}
        for number, value in sample:
            if number == 3:
                label = dict(fields(value))
                labels[strings[label[1]]] = strings[label[2]] if 2 in label else label[3]
        expected = {} if row.labels == "-" else dict(pair.split("=") for pair in row.labels.split(","))
        if row.thread:
            expected["thread_id"] = row.thread
        if row.thread == 12:
            expected["thread"] = "worker"
        check("labels", labels, expected)
        own = [locations[i][3] for i in ids if locations[i][2] == first[1]]
        names = address_names(subject, [elf_address(subject, first, a) for a in own])
        wanted = [f for f in row.functions if f != "?libc"]
        check("stack", names[:len(wanted)], wanted)


# ---- collapsed stacks

def read_collapsed(subject, folder):
    for env in (None, {"VITRINE_FAIL_ALWAYS": "proc"}):
        path = os.path.join(folder, "collapsed")
        rows = [r for r in make(subject, "collapsed", "sampled", path, env) if r.estimate[1] > 0]
        with open(path, encoding="utf-8") as f:
            lines = f.read().splitlines()
        check("lines", len(lines), len(rows))
        own = os.path.basename(subject) + "+0x"
        for line, row in zip(lines, rows):
            stack, value = line.rsplit(" ", 1)
            check("value", int(value), int(asked_for(row)))
            frames = stack.split(";")
            for frame in frames:
                check(f"form of '{frame}'", re.fullmatch(r"\S+\+0x[0-9a-f]+", frame) is not None, True)
            inner_first = [int(f[len(own) - 2:], 16) for f in reversed(frames) if f.startswith(own)]
            wanted = [f for f in row.functions if f != "?libc"]
            check("functions", address_names(subject, inner_first)[:len(wanted)], wanted)
            if "?libc" in row.functions:
                check("a frame of libc", "libc.so" in stack, True)


def main():
    readers = {"google-pprof": read_google_pprof, "jeprof": read_jeprof, "go": read_go, "proto": read_proto,
               "collapsed": read_collapsed}
    with tempfile.TemporaryDirectory(prefix="vt-profile.") as folder:
        readers[sys.argv[1]](os.path.realpath(sys.argv[2]), folder)
        check("files left beside the profile", [n for n in os.listdir(folder) if n.startswith(".vitrine")], [])
    print(f"{n_checks} checks, {n_failed} failed")
    return 1 if n_failed or n_checks < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
