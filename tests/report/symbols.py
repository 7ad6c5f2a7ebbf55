#!/usr/bin/env python3
"""symbols.py - names of one program built in many ways, moved, stripped, deleted, and found again by its build-id.

where.cc writes a profile of itself: place 1 has one byte, place 2 has two, so a table of flat values says which place
has which name.
"""
import gzip
import http.server
import threading

from tool import *

folder = scratch()
CXX = os.environ.get("CXX", "c++")
if os.uname().machine != "x86_64":
    skip("where.cc is for x86-64")

EXPECTED = {1: "app::plain", 2: "app::Box::member", 3: "app::inlined", 4: "core::fmt::write", 5: "mycrate::run",
            6: "library_place"}
LINE_OF_3 = 1 + next(i for i, l in enumerate(open(os.path.join(HERE, "where.cc"))) if "line of 3" in l)
LINES_OF_LAMBDAS = [1 + i for i, l in enumerate(open(os.path.join(HERE, "where.cc"))) if re.search(r"places\[[89]\] = here", l)]


def build(name, *flags, library_flags=()):
    place = os.path.join(folder, name)
    os.makedirs(place, exist_ok=True)
    library_file = os.path.join(place, "libwhere.so")
    out(CXX, "-O1", "-g", "-fPIC", "-shared", *library_flags, os.path.join(HERE, "where_library.cc"), "-o", library_file)
    program = os.path.join(place, "where")
    out(CXX, "-O1", "-g", *flags, "-c", os.path.join(HERE, "where.cc"), "-o", program + ".o")
    out(CXX, *flags, program + ".o", library_file, "-Wl,-rpath," + place, "-ldl", "-o", program)
    profile = os.path.join(place, "where.heap")
    with open(profile, "w") as f:
        f.write(out(program))
    return program, profile


def names(*argv, env=None, all_frames=True):
    """{place: name} of what has a flat value, and what was said."""
    status, text, errors = run(VITRINE, "top", "--json", "--all-frames", *argv, env=env)
    if status != 0:
        return {}, errors
    return {int(r["flat"]): r["name"] for r in json.loads(text)["rows"] if r["flat"] > 0}, errors


def check_names(what, seen, expected=EXPECTED):
    for place, name in expected.items():
        check(f"{what}: place {place}", seen.get(place), name)


# ---- the ways of linking
WAYS = {"pie": ["-fPIE", "-pie"], "fixed": ["-fno-pie", "-no-pie"], "gc": ["-ffunction-sections", "-Wl,--gc-sections"],
        "one-segment": ["-Wl,-z,noseparate-code"], "fixed-one": ["-no-pie", "-fno-pie", "-Wl,-z,noseparate-code"],
        "dwarf4": ["-gdwarf-4"], "split": ["-gsplit-dwarf"], "packed": ["-gz"], "types": ["-fdebug-types-section"]}
if shutil.which("ld.lld"):
    WAYS["lld"] = ["-fuse-ld=lld"]
for way, flags in WAYS.items():
    program, profile = build(way, *flags)
    seen, errors = names(profile)
    check_names(way, seen)
    check(f"{way}: two lambdas, one inlined, one called", [re.sub(r"where\.cc:\d+:\d+|\(\)#\d", "", seen.get(n, "")) for n in (8, 9)], ["main::{lambda }::operator()"] * 2)
    check(f"{way}: they are two", seen.get(8) != seen.get(9), True)
    by_lines = out(VITRINE, "top", "--by=lines", "--all-frames", profile)
    check_has(f"{way}: line of the inlined call", by_lines, f"where.cc:{LINE_OF_3}")
    check(f"{way}: lines of lambdas", sorted(set(re.findall(r"operator\(\) \S*/where\.cc:(\d+)$", by_lines, re.M))), sorted(map(str, LINES_OF_LAMBDAS)))
    check(f"{way}: the host of the inlined call", json.loads(out(VITRINE, "top", "--json", "--no-inlines", profile))["rows"] != [], True)
    _, text, _ = run(VITRINE, "top", "--json", "--all-frames", "--no-inlines", profile)
    check(f"{way}: without inlines", {int(r["flat"]): r["name"] for r in json.loads(text)["rows"]}.get(3), "app::host")

# split DWARF whose .dwo files are gone, as when they were packed into a .dwp
for version in ("4", "5"):
    program, profile = build("packed" + version, "-gsplit-dwarf", "-gdwarf-" + version)
    check("split: nothing is missing", "debug data" in names(profile)[1], False)
    packed = [n for n in os.listdir(os.path.dirname(program)) if n.endswith(".dwo")]
    check("split: a .dwo file", len(packed), 1)
    if shutil.which("llvm-dwp"):
        status, _, errors = run("llvm-dwp", "-e", program, "-o", program + ".dwp")
        check(f"dwarf {version}: the package is there", (status, os.path.exists(program + ".dwp")), (0, True))
    os.unlink(os.path.join(os.path.dirname(program), packed[0]))
    seen, errors = names(profile)
    check_names(f"dwarf {version} without its .dwo", seen, {**EXPECTED, 3: "app::host"})
    check_has(f"dwarf {version} without its .dwo: said", errors, f"'{program}' has its debug data in '{program}.dwo', which is not here")
    check(f"dwarf {version} without its .dwo: said once", errors.count("debug data"), 1)
    check_has(f"dwarf {version} without its .dwo: lines all the same", out(VITRINE, "top", "--by=lines", "--all-frames", profile), f"where.cc:{LINE_OF_3}")

    # ... and without symbols nobody knows a name: then places, never the names of others
    out("objcopy", "-w", "--strip-symbol=*", program)
    seen, errors = names(profile)
    check(f"dwarf {version} without its .dwo and without symbols: places", [n for i, n in seen.items() if i <= 5 and not re.fullmatch(r"where\+0x[0-9a-f]+", n)], [])
    check(f"dwarf {version} without its .dwo and without symbols: all of them", set(EXPECTED) <= set(seen), True)
    check(f"dwarf {version} without its .dwo and without symbols: said once", errors.count(f"'{program}.dwo', which is not here (packages, .dwp, are not read)"), 1)

# a library that was given an address of its own, as prelink does
program, profile = build("prelinked", library_flags=["-Wl,-Ttext-segment=0x3000000"])
check_names("prelinked", names(profile)[0])

# ---- the vdso: named when the profile is of this machine
program, profile = build("plain")
text = open(profile).read()
vdso = "[vdso]" in text and re.search(r"^1: 7 ", text, re.M)
if vdso:
    check("vdso", (names(profile)[0].get(7) or "").replace("__vdso_", ""), "clock_gettime")
    elsewhere = os.path.join(folder, "elsewhere.heap")
    with open(elsewhere, "w") as f:  # no library of this machine is the one that ran
        f.write(re.sub(r"(/\S*\.so\S*)", r"/nowhere\1", text))
    check_has("vdso of another machine: no name", names(elsewhere)[0].get(7, ""), "[vdso]+0x")
else:
    print("no vdso here: not tried")

# ---- stripped, with and without debug files
separate = os.path.join(folder, "separate")
shutil.copytree(os.path.dirname(program), separate)
where, debug = os.path.join(separate, "where"), os.path.join(folder, "where.debug")
out("objcopy", "--only-keep-debug", where, debug)
out("objcopy", "--strip-all", where)
seen, errors = names("--program=" + where, profile)
check_has("stripped: no guessed name", seen.get(1, ""), "where+0x")
check_has("stripped: said of the file that is", errors, f"'{where}' has no symbols (stripped?)")
ident = re.search(r"Build ID: (\w+)", out("readelf", "-n", where))
check_has("stripped: the debug file that is missing", errors, "no names; there is no debug file here of build-id " + ident.group(1) if ident else "")
check("stripped: the library is named all the same", seen.get(6), "library_place")
out("objcopy", "--add-gnu-debuglink=" + debug, where)
os.rename(debug, os.path.join(separate, "where.debug"))
check_names("debuglink", names("--program=" + where, profile)[0])
os.makedirs(os.path.join(separate, ".debug"))
os.rename(os.path.join(separate, "where.debug"), os.path.join(separate, ".debug", "where.debug"))
check_names("debuglink in .debug", names("--program=" + where, profile)[0])
debug = os.path.join(separate, ".debug", "where.debug")
broken = os.path.join(folder, "broken")
shutil.copytree(os.path.join(folder, "fixed"), broken)
out("objcopy", "--only-keep-debug", os.path.join(broken, "where"), os.path.join(broken, "where.debug"))
os.makedirs(os.path.join(folder, "wrong", ".debug"))
shutil.copy(where, os.path.join(folder, "wrong", "where"))
shutil.copy(os.path.join(broken, "where.debug"), os.path.join(folder, "wrong", ".debug", "where.debug"))
seen, _ = names("--program=" + os.path.join(folder, "wrong", "where"), profile)
check_has("a debug file of another build gives no names", seen.get(1, ""), "where+0x")

# ---- stripped, but for what it exports, as Debian's perl is
exporting, its_profile = build("exporting", "-Wl,--export-dynamic-symbol=_ZN3app5plainEi")
out("objcopy", "--strip-all", exporting)
seen, errors = names(its_profile)
check("exported symbols only: those are named", seen.get(1), "app::plain")
check_has("exported symbols only: no guessed name", seen.get(2, ""), "where+0x")
check_has("exported symbols only: said", errors, f"'{exporting}' has only the symbols it exports (stripped?): its other functions have no names")
check("exported symbols only: it is not without symbols", "has no symbols" in errors, False)

# ---- moved and deleted
moved = os.path.join(folder, "moved")
os.rename(os.path.dirname(program), moved)
seen, errors = names(profile.replace(os.path.dirname(program), moved))
profile = os.path.join(moved, "where.heap")
check_has("moved: unknown places", names(profile)[0].get(1, ""), "where+0x")
check_has("moved: said", names(profile)[1], "no names for '" + program + "': cannot open")
check_names("moved: --path", names(f"--path={os.path.dirname(program)}={moved}", profile)[0])
deeper = os.path.join(folder, "deeper")  # the rest of the path counts: by its name alone it is not found there
shutil.copytree(moved, os.path.join(deeper, os.path.basename(os.path.dirname(program))))
check_names("moved: --path of a folder further up", names(f"--path={folder}={deeper}", profile)[0])
seen, _ = names("--program=" + os.path.join(moved, "where"), profile)
check_names("moved: the program given", seen, {p: n for p, n in EXPECTED.items() if p < 6})
deleted = os.path.join(folder, "deleted.heap")
with open(deleted, "w") as f:
    f.write(re.sub(r"(/where|/libwhere\.so)$", r"\1 (deleted)", open(profile).read(), flags=re.M))
check_names("deleted: --path", names(f"--path={os.path.dirname(program)}={moved}", deleted)[0])
rebuilt, _ = build("plain", "-O2", "-finline-functions", "-DREBUILT", "-fstack-protector-all")
seen, errors = names(deleted)
check("deleted and built anew: never a wrong name", [n for n in seen.values() if "+0x" not in n and "vdso" not in n], [])
check_has("deleted and built anew: said", errors, f"no names for '{program}': it was deleted or replaced while it ran; the program or --path says where it is now")
# ... and it stays deleted in whatever is made of the profile, until a build-id is known; even for a file that looks right
anew = os.path.dirname(rebuilt)
os.rename(anew, anew + ".anew")
shutil.copytree(moved, anew)
REPLACED = "it was deleted or replaced while it ran"
packed, container, known = (os.path.join(folder, name) for name in ("deleted.pb.gz", "deleted.raw", "known.pb.gz"))
out(VITRINE, "convert", deleted, packed)
with open(container, "w") as f:
    f.write(out(PPROF, "--raw", deleted))
maps = open(container).read()  # its names are those of the reader: without them, what the map says counts
with open(container, "w") as f:
    f.write(maps[maps.index("heap profile: "):])
for what, path in (("as it is", deleted), ("profile.proto", packed), ("pprof --raw", container)):
    seen, errors = names(path)
    check(f"deleted, {what}: no names", [n for n in seen.values() if "+0x" not in n and "vdso" not in n], [])
    check_has(f"deleted, {what}: said", errors, f"no names for '{program}': {REPLACED}")
check("deleted: raw has it", ["/where (deleted)" in out(VITRINE, "raw", *form, packed) for form in ([], ["--json"])], [True, True])
check_names("deleted: once its program was given", names(packed, "--program=" + program)[0], {p: n for p, n in EXPECTED.items() if p < 6})
out(VITRINE, "convert", f"--path={os.path.dirname(program)}={moved}", deleted, known)
check_names("deleted, with its build-id and names", names(known)[0])
check("deleted, with its build-id: a name that others can open", "(deleted)" in out(VITRINE, "raw", known), False)
both = {r["name"]: r["flat"] for r in json.loads(out(VITRINE, "top", "--json", "--all-frames", profile, deleted))["rows"]}
check("deleted, beside one that is not: each its own", (both.get("app::plain"), both.get(names(deleted)[0].get(1))), (1, 1))
shutil.rmtree(anew)
os.rename(anew + ".anew", anew)
sysroot = os.path.join(folder, "sysroot")
os.makedirs(sysroot + "/lib")
shutil.copy(os.path.join(moved, "libwhere.so"), sysroot + "/lib")
gone = os.path.join(folder, "gone.heap")
with open(gone, "w") as f:
    f.write(open(profile).read().replace(os.path.dirname(program) + "/libwhere.so", "/very/far/lib/libwhere.so"))
text = out(PPROF, "--text", "--show_bytes", "--lib_prefix=/nowhere," + sysroot, os.path.join(moved, "where"), gone)
check_has("pprof --lib_prefix", text, "library_place")
check("without --lib_prefix", "library_place" in out(PPROF, "--text", "--show_bytes", os.path.join(moved, "where"), gone), False)

# ---- by build-id: a profile.proto that has them
def build_id(path):
    text = out("readelf", "-n", path)
    m = re.search(r"Build ID: (\w+)", text)
    return m.group(1) if m else None


def number(n):
    data = b""
    while n > 127:
        data, n = data + bytes([n & 127 | 128]), n >> 7
    return data + bytes([n])


def field(tag, value):
    if isinstance(value, int):
        return number(tag << 3) + number(value)
    return number(tag << 3 | 2) + number(len(value)) + value


def proto_of(profile, path, ids):
    """The text profile as profile.proto with build-ids, by hand."""
    strings, data = [""], b""

    def text(s):
        if s not in strings:
            strings.append(s)
        return strings.index(s)

    lines = open(profile).read().split("MAPPED_LIBRARIES:\n")
    maps = [(int(a, 16), int(b, 16), int(o, 16), f) for a, b, o, f in
            re.findall(r"^(\w+)-(\w+) r-x\w (\w+) \S+ \S+ +(/.*?)(?: \(deleted\))?$", lines[1], re.M)]
    data += field(1, field(1, text("space")) + field(2, text("bytes")))
    for i, (low, high, offset, file) in enumerate(maps):
        data += field(3, field(1, i + 1) + field(2, low) + field(3, high) + field(4, offset) + field(5, text(file)) +
                      (field(6, text(ids[file])) if file in ids else b""))
    for i, (size, pc) in enumerate(re.findall(r"^1: (\d+) .* @ 0x(\w+)", lines[0], re.M)):
        pc = int(pc, 16) - 1
        m = [k for k, (low, high, _, _) in enumerate(maps) if low <= pc < high]
        data += field(4, field(1, i + 1) + (field(2, m[0] + 1) if m else b"") + field(3, pc))
        data += field(2, field(1, i + 1) + field(2, int(size)))
    with gzip.open(path, "wb") as f:
        f.write(data + b"".join(field(6, s.encode()) for s in strings))
    return path


where = os.path.join(moved, "where")
ident = build_id(where)
if ident:
    IDS = {program: ident, os.path.dirname(program) + "/libwhere.so": build_id(os.path.join(moved, "libwhere.so"))}
    proto = proto_of(profile, os.path.join(folder, "where.pb.gz"), IDS)
    seen, errors = names(proto)  # `program` was built anew: another build-id
    check_has("another build-id: no names", seen.get(1, ""), "where+0x")
    check_has("another build-id: said", errors, "its code has another build-id")
    MAIN = {p: n for p, n in EXPECTED.items() if p < 6}
    store = os.path.join(folder, "store")
    for kind, file in ((f"{ident}/where", where), (f".build-id/{ident[:2]}/{ident[2:]}", where), ("where", where),
                       (f".build-id/{ident[:2]}/{ident[2:]}.debug", debug), (f"{ident[:2]}/{ident[2:]}.debug", debug)):
        shutil.rmtree(store, ignore_errors=True)
        os.makedirs(os.path.dirname(os.path.join(store, kind)))
        shutil.copy(file, os.path.join(store, kind))
        check_names(f"by build-id in PPROF_BINARY_PATH: {kind[-14:]}", names(proto, env={"PPROF_BINARY_PATH": "/nowhere:" + store})[0], MAIN)
        check_names(f"by build-id in --path: {kind[-14:]}", names("--path=/x=" + store, proto)[0], MAIN)

    # ---- debuginfod
    asked = []

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            if self.path == f"/buildid/{ident}/debuginfo":
                body = open(debug, "rb").read()
                self.send_response(200)
            else:
                body = b"not found"
                self.send_response(404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_address[1]}", "DEBUGINFOD_CACHE_PATH": os.path.join(folder, "cache"),
           "DEBUGINFOD_PROGRESS": "", "no_proxy": "*"}
    seen, _ = names(proto, env={"DEBUGINFOD_URLS": ""})
    check("debuginfod is not asked unless the environment says so", asked, [])
    loads = lambda urls: "libdebuginfod" in run(VITRINE, "top", proto, env=dict(env, DEBUGINFOD_URLS=urls, LD_DEBUG="libs"))[2]
    check("debuginfod: its library, and curl's with it, comes only where it is asked", (loads(""), loads(env["DEBUGINFOD_URLS"])), (False, True))
    seen, errors = names(proto, env=env)
    check_names("debuginfod: the program is gone", seen, MAIN)
    check("debuginfod was asked", f"/buildid/{ident}/debuginfo" in asked, True)
    bare = os.path.join(folder, "bare")
    os.makedirs(bare)
    out("objcopy", "--strip-all", where, os.path.join(bare, "where"))
    shutil.rmtree(env["DEBUGINFOD_CACHE_PATH"], ignore_errors=True)
    check_names("debuginfod: the program is stripped", names("--program=" + os.path.join(bare, "where"), profile, env=env)[0], MAIN)
    server.shutdown()
    shutil.rmtree(env["DEBUGINFOD_CACHE_PATH"], ignore_errors=True)
    env["DEBUGINFOD_CACHE_PATH"] = os.path.join(folder, "cache2")
    env["DEBUGINFOD_URLS"] = "http://127.0.0.1:1"
    status = run(VITRINE, "top", proto, env=env)[0]
    check("debuginfod that is not there: no harm", status, 0)
else:
    print("the linker writes no build-ids: not tried")

# ---- an unrelocated object
obj = os.path.join(folder, "fixed", "where")
loose = os.path.join(folder, "loose.heap")
with open(loose, "w") as f:
    f.write(open(os.path.join(folder, "fixed", "where.heap")).read().split("MAPPED_LIBRARIES")[0])
check_has("pprof --add_lib", out(PPROF, "--text", "--show_bytes", "--add_lib=" + obj, loose), "app::plain")
check_has("a fixed program needs no map", out(PPROF, "--text", "--show_bytes", obj, loose), "app::plain")
done()
