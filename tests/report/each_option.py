#!/usr/bin/env python3
"""each_option.py - every option of pprof, jeprof and the views of vitrine by name, with a command line whose output it changes; what it changes it
to is looked at in the tests beside this one. An option that --help has and this table has not is a failure.
"""
from proto import Profile
from tool import *

folder = scratch()
os.chdir(folder)
program = build_work(folder)
heap = heap_of(folder, program)
if heap is None:
    skip("no libtcmalloc_and_profiler (scripts/setup test installs libgoogle-perftools-dev)")
labelled = Profile([("objects", "count"), ("space", "bytes")], [
    (["alloc", "main"], {"objects": 1, "space": 4096}, {"user": "ann", "bytes": (4096, "bytes")}),
    (["other", "g", "f", "main"], {"objects": 4, "space": 80000}, {"user": "bob", "bytes": (20000, "bytes")}),
    (["other", "f", "g", "main"], {"objects": 8, "space": 800}, {"wait": (3, "milliseconds")}),
]).write("labels.pb.gz")


def file(name, data):
    with open(name, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    return name


inside = Profile([("inuse_objects", "count"), ("inuse_space", "bytes")], [(["malloc", "fill", "main"], {"inuse_space": 7}, {})]).write("inside.pb.gz")
os.makedirs("there/src")
for place in ("there/src/alloc.c", "there/alloc.c"):
    file(place, 40 * f"a line of {place}\n")
MAPS = "MAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 08:01 1 /nowhere/app\n"
less = file("less.folded", "main;a 10\nmain;b 7\n")
more = file("more.folded", "main;a 30\nmain;b 3\nmain;c 9\n")
wide = file("wide.folded", "".join(f"main;f{i};end {i + 1}\n" for i in range(100)) + "main;f1;g 900\n")
text = file("x.heap", "heap profile: 3: 3000 [9: 90000] @ heapprofile\n1: 1000 [5: 50000] @ 0x400010 0x400020\n2: 2000 [4: 40000] @ 0x400030\n" + MAPS)
locks = file("x.locks", "--- contention\ncycles/second=1000000000\nsampling period=1\n4000000000 2 @ 0x400010\n9000000000 9 @ 0x400020\n" + MAPS)
threads = file("x.je", "heap_v2/1\n  t*: 3: 3000 [0: 0]\n  t0: 1: 1000 [0: 0]\n  t1: 2: 2000 [0: 0]\n@ 0x400010\n  t*: 3: 3000 [0: 0]\n  t0: 1: 1000 [0: 0]\n"
               "  t1: 2: 2000 [0: 0]\n\n" + MAPS)
handler = file("x.cpu", b"".join(n.to_bytes(8, "little") for n in (0, 3, 0, 1000, 0, 5, 4, 0x10, 0x7f01, 0x10, 0x20, 2, 4, 0x30, 0x7f01, 0x30, 0x20, 0, 1, 0)))
here = [program, heap]
fixed = "fixed"
out(os.environ.get("CC", "cc"), "-no-pie", "-x", "c", "-", "-o", fixed, stdin=b"int main(void) { return 0; }")
at_main = int(re.search(r"([0-9a-f]+) T main$", out("nm", fixed), re.M).group(1), 16)
unmapped = file("unmapped.heap", f"heap profile: 1: 10 [1: 10] @ heapprofile\n1: 10 [1: 10] @ {at_main + 2:#x}\n")
moved = file("moved.heap", open(heap).read().replace(program, "/elsewhere/below/work"))
os.makedirs("root/below")
os.symlink(program, "root/below/work")
os.makedirs("tools")
for viewer in ("gv", "evince", "eog", "xdg-open", "kcachegrind"):
    file("tools/" + viewer, "#!/bin/sh\necho seen by " + viewer + " $1\n")
    os.chmod("tools/" + viewer, 0o755)
ENV = {"PATH": os.path.abspath("tools") + ":" + os.environ["PATH"], "TMPDIR": folder, "HOME": folder, "PPROF_TMPDIR": folder, "no_proxy": "*", "BROWSER": "", "DOT": "no-such-dot"}

# {option: (what it is given, the rest of the command line)}: without it something else comes. SAME: what one gets anyway, and what is for scripts.
CHANGES = {
    "cum": ("", [labelled]), "base": ("=" + less, [more]), "interactive": ("", [labelled]), "add_lib": ("=" + fixed, [unmapped]),
    "lib_prefix": ("=" + os.path.abspath("root"), [moved]), "no_strip_temp": ("", here), "lines": ("", here), "files": ("", here), "addresses": ("", here),
    "stacks": ("", here), "collapsed": ("", [less]), "callgrind": ("", [less]), "dot": ("", [less]), "svg": ("", [less]), "pdf": ("", [less]), "ps": ("", [less]),
    "gif": ("", [less]), "gv": ("", [less]), "evince": ("", [less]), "web": ("", [less]), "list": ("=deep", here), "disasm": ("=deep", here),
    "symbols": ("", [program]), "raw": ("", [less]), "inuse_objects": ("", [text]), "alloc_space": ("", [text]), "alloc_objects": ("", [text]),
    "show_bytes": ("", [text]), "drop_negative": ("", ["--base=" + less, more]), "contentions": ("", [locks]), "mean_delay": ("", [locks]),
    "nodecount": ("=2", ["--dot", wide]), "nodefraction": ("=.1", ["--dot", wide]), "edgefraction": ("=.01", ["--dot", "--nodefraction=0", wide]),
    "maxdegree": ("=3", ["--dot", "--nodefraction=0", wide]), "focus": ("=^b$", [less]), "ignore": ("=a", [less]), "scale": ("=3", ["--gv", less]),
    "heapcheck": ("", ["--dot", less]), "no-auto-signal-frm": ("", ["--collapsed", handler]), "show_addresses": ("", here), "help": ("", [less]), "version": ("", [less]),
    "tree": ("", [less]), "peek": ("=a", [less]), "traces": ("", [less]), "tags": ("", [labelled]), "comments": ("", [labelled]), "proto": ("", [less]),
    "png": ("", [less]), "eog": ("", [less]), "kcachegrind": ("", [less]), "weblist": ("=deep", here), "output": ("=x.out", [less]), "diff_base": ("=" + less, [more]),
    "normalize": ("", ["--base=" + less, more]), "sample_index": ("=objects", [labelled]), "mean": ("", [labelled]), "unit": ("=kB", [text]),
    "divide_by": ("=2", [less]), "sort": ("=cum", [labelled]), "flat": ("", ["--cum", labelled]), "filefunctions": ("", [labelled]),
    "granularity": ("=files", [labelled]), "show": ("=a", [less]), "hide": ("=a", [less]), "show_from": ("=^b$", [less]), "tagfocus": ("=ann", [labelled]),
    "tagignore": ("=ann", [labelled]), "noinlines": ("", here), "all_frames": ("", [inside]), "trim": ("=false", ["--dot", wide]),
    "symbolize": ("=demangle=none", here), "no_browser": ("", ["--web", less]), "prune_from": ("=main", [less]), "tagshow": ("=user", ["-tags", labelled]),
    "taghide": ("=user", ["-tags", labelled]), "tagroot": ("=user", [labelled]), "tagleaf": ("=user", [labelled]), "call_tree": ("", ["--dot", labelled]),
    "showcolumns": ("", ["--lines", *here]), "intel_syntax": ("", ["--disasm=deep", *here]),
    "source_path": ("=there/src", ["--list=alloc", labelled]), "trim_path": ("=/src", ["--list=alloc", "-source_path=there", labelled]),
    "buildid": ("=" + "00" * 20, here), "topproto": ("", [less]), "add_comment": ("=x", ["-comments", less]), "relative_percentages": ("", ["-tree", "-focus=^b$", less]),
    "compact_labels": ("", ["-dot", less]), "http": ("=:0", [less]), "thread": ("=1", [threads]), "retain": ("=a", [less]), "exclude": ("=a", [less]), "limit": ("=5", [less]),
}
SAME = {"text": ("", [less]), "top": ("", [less]), "functions": ("", [less]), "inuse_space": ("", [text]), "total_delay": ("", [locks]),
        "tools": ("=/usr/bin/", here), "debug-syms-by-id": ("", [less]), "debug": ("", [less]), "test": ("", [less]), "test_stride": ("=7", [less])}
SERVED = ("seconds", "timeout", "tls_cert", "tls_key", "tls_ca")  # need a server: remote.py and go_flags.py have them
OWN = {  # of vitrine: the command, too
    "program": ("=" + program, ["top", moved]), "type": ("=objects", ["top", labelled]), "thread": ("=1", ["top", threads]),
    "path": ("=/elsewhere=" + os.path.abspath("root"), ["top", moved]), "no-symbols": ("", ["top", heap]), "base": ("=" + less, ["top", more]),
    "focus": ("=^b$", ["top", less]), "ignore": ("=a", ["top", less]), "show": ("=a", ["top", less]), "hide": ("=a", ["top", less]), "show-from": ("=^b$", ["top", less]),
    "tag-focus": ("=ann", ["top", labelled]), "tag-ignore": ("=ann", ["top", labelled]), "all-frames": ("", ["top", inside]),
    "drop-negative": ("", ["top", "--base=" + less, more]), "by": ("=files", ["top", labelled]), "of": ("=rest", ["top", "--focus=^b$", less]), "cum": ("", ["top", labelled]),
    "count": ("=1", ["top", less]), "full-names": ("", ["top", heap]), "no-inlines": ("", ["top", heap]), "json": ("", ["top", less]), "csv": ("", ["top", less]),
    "output": ("=x.out", ["top", less]), "to": ("=callgrind", ["convert", less, "/dev/stdout"]), "title": ("=x", ["flame", less]), "view": ("=tree", ["diff", less, more]), "limit": ("=5", ["top", less]),
    "group": ("=user", ["top", labelled]), "max-peak": ("=1", ["check", "--max-live=1G", heap]), "max-live": ("=1", ["check", "--max-peak=1G", heap]),
    "max-growth": ("=" + heap + ":1", ["check", "--max-live=1G", heap]), "junit": ("", ["check", "--max-live=1G", heap]),
}


def said(tool, *argv):
    status, seen, errors = run(tool, *argv, env=ENV, stdin=b"")
    return status, seen, re.sub(r"/\S*pprof\S*\.(ps|pdf|svg|png|html|callgrind)|\d{6,}", "", errors)


listed = {tool: re.findall(r"^  --([\w-]+)", out(tool, "--help"), re.M) for tool in (PPROF, JEPROF)}
check("the table has no other options", set(CHANGES) | set(SAME) | set(SERVED), set(listed[PPROF]) | set(listed[JEPROF]) | {"http"})
views = [c for c in re.findall(r"^  (\w+)  ", out(VITRINE, "help"), re.M) if c not in ("run", "ps", "ctl")]  # run.py has those
check("the table has no other options of vitrine", set(OWN) | {"seconds", "timeout"}, {o for v in views for o in re.findall(r"--([\w-]+)", out(
    VITRINE, v, "--help").split("\nexample:")[0])})
for option, (value, rest) in OWN.items():
    before, after = said(VITRINE, *rest), said(VITRINE, rest[0], f"--{option}{value}", *rest[1:])
    check(f"{rest[0]} --{option}{value}: the same as without", before == after, False)
for table, is_same in ((CHANGES, False), (SAME, True)):
    for option, (value, rest) in table.items():
        tool = JEPROF if option not in listed[PPROF] and option != "http" else PPROF
        before, after = said(tool, *rest), said(tool, f"--{option}{value}", *rest)
        check(f"--{option}{value} {' '.join(map(os.path.basename, rest))}: the same as without", before == after, is_same)
done()
