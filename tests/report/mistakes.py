#!/usr/bin/env python3
"""mistakes.py - what users get wrong, and the line they get for it: what is wrong, with the name of the thing."""
import resource
import signal

from tool import *

folder = scratch()


def file(name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    return path


GOOD = "heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @ 0x400010\nMAPPED_LIBRARIES:\n7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n"
good = file("good.heap", GOOD)
empty = file("empty.heap", "")
cut = file("cut.heap", GOOD[:67])
noise = file("noise.heap", bytes(range(255, 0, -1)))
html = file("error.html", "<html><body>404 not found</body></html>")
folded = file("x.folded", "main;a 3\n")
slow = file("slow.folded", "a" * 60 + "b 3\n")
none = os.path.join(folder, "none.heap")

# command line, exit status, part of the one line on stderr
ROWS = [
    (["top", none], 3, f"vitrine: error: '{none}': cannot open: No such file or directory"),
    (["top", "--of=half", good], 2, "vitrine: error: '--of' is all, rest or base, not 'half'"),
    (["top", folder], 3, f"'{folder}': is a directory"),
    (["top", empty], 3, f"'{empty}': is empty"),
    (["top", cut], 3, f"'{cut}': line 2:"),
    (["top", noise], 3, f"'{noise}': is no kind of profile"),
    (["top", html], 3, "is a web page"),
    (["top", "/bin/ls"], 3, "'/bin/ls' is a program or library, not a profile: give the profile after it"),
    (["top", "--program=" + none, good], 3, f"'{none}': cannot open"),
    (["top", "--program=" + good, good], 3, f"'{good}' is not a program"),
    (["top", "/bin/ls", "/bin/cat", good], 3, "two programs: '/bin/ls' and '/bin/cat'"),
    (["top", good, folded], 3, "they cannot be put together"),
    (["top"], 2, "no profile is given; usage: vitrine top"),
    (["top", "--foucs=x", good], 2, "unknown option '--foucs'; did you mean '--focus'?"),
    (["top", "--nonsense", good], 2, "unknown option '--nonsense'; 'vitrine top --help' lists them"),
    (["top", "-x", good], 2, "unknown option '-x'"),
    (["top", "--count=many", good], 2, "'--count' wants a number, not 'many'"),
    (["top", "--focus"], 2, "'--focus' wants a value: RE"),
    (["top", "--json=1", good], 2, "'--json' takes no value"),
    (["top", "--json", "--csv", good], 2, "'--json' and '--csv' at once"),
    (["top", "--type=cpu", good], 2, "no type 'cpu' in this profile; it has alloc_objects, alloc_space"),
    (["top", "--by=colour", good], 2, "'--by' is functions, filefunctions, lines, files or addresses"),
    (["top", "--focus=a(b", good], 2, "--focus: bad regexp 'a(b' at character 4"),
    (["top", "--focus=" + "(" * 5000, good], 2, "--focus: bad regexp '(((((("),
    (["top", "--focus=" + "x" * 100000, good], 2, "at character 100001: regular expression is too large"),
    (["top", "--focus=(a+)+$", slow], 2, "--focus: the regexp takes too long: repetitions inside repetitions"),
    (["peek", "*", good], 2, "bad regexp '*'"),
    (["list", "nothing", good], 3, "no function with lines matches 'nothing'"),
    (["topp", good], 2, "no command 'topp'; did you mean 'top'?"),
    (["nonsense", good], 2, "no command 'nonsense'; 'vitrine help' lists them"),
    (["help", "nonsense"], 2, "no command 'nonsense'; 'vitrine help' lists them"),
    (["run"], 2, "no program is given; usage: vitrine run"),
    (["run", "--haep", "true"], 2, "unknown option '--haep'; did you mean '--heap'?"),
    (["run", "--rate=many", "true"], 2, "'--rate' wants a number, with K, M or G behind it for bytes, not 'many'"),
    (["run", "--every=5h", "true"], 2, "'--every' wants a number, with K, M or G behind it for bytes or s for seconds, not '5h'"),
    (["run", "--exact", "--rate=1K", "true"], 2, "'--exact' sees every allocation, so there is no '--rate'"),
    (["run", "-o", good, "true"], 3, f"cannot write in '{good}': Not a directory"),
    (["run", "-o", "/nowhere/x", "true"], 3, "cannot write in '/nowhere/x': No such file or directory"),
    (["run", "trueish"], 127, "cannot run 'trueish': there is no such program on PATH"),
    (["run", good], 126, f"cannot run '{good}': Permission denied"),
    (["diff", good], 2, "two profiles are needed"),
    (["diff", "--base=" + good, good, good], 2, "unknown option '--base'; 'vitrine diff --help' lists them"),
    (["diff", good, good, good], 2, "diff compares two profiles, and 3 are given"),
    (["convert", good, os.path.join(folder, "x.what")], 2, "does not say what kind it shall be"),
    (["convert", none, os.path.join(folder, "x.pb.gz")], 3, "cannot open"),
    (["flame", "-o", os.path.join(folder, "x.jpg"), good], 2, f"a flame graph is .svg or .html, and '{folder}/x.jpg' is neither"),
    (["graph", "-o", os.path.join(folder, "x.jpg"), good], 2, "x.jpg' does not say what kind it shall be: end it in .dot, .svg"),
    (["top", "-o", os.path.join(folder, "x.jpg"), good], 2, f"this is text, and '{folder}/x.jpg' is the name of a picture"),
    (["diff", "-o", os.path.join(folder, "x.PNG"), good, good], 2, "x.PNG' is the name of a picture"),
    (["raw", "-o", os.path.join(folder, "x.pdf"), good], 2, "x.pdf' is the name of a picture"),
    (["top", "-o", "/nowhere/x", good], 3, "cannot write '/nowhere/x': No such file or directory"),
    (["top", "-o", "/dev/full", good], 3, "cannot write '/dev/full': No space left on device"),
]
for argv, status, part in ROWS:
    seen, text, errors = run(VITRINE, *argv)
    name = " ".join(argv)[:70]
    check(f"{name}: exit", seen, status)
    check_has(f"{name}: message", errors, part)
    check(f"{name}: one line", errors.count("\n"), 1)
    check(f"{name}: nothing on stdout", text, "")
check("a failed convert leaves nothing", os.path.exists(os.path.join(folder, "x.pb.gz")), False)
check("a refused name leaves nothing", [n for n in os.listdir(folder) if n.startswith("x.") and n != "x.folded"], [])

# a pipe that nobody reads any more
many = file("many.folded", "".join(f"main;f{i} {i + 1}\n" for i in range(50000)))
for argv, said in (([VITRINE, "top", many], ""), ([PPROF, "--text", many], f"Using local file {many}.\n")):
    p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.readline()
    p.stdout.close()
    errors = p.stderr.read().decode()
    check(f"closed pipe: {argv[1]}: no noise", errors, said)
    check(f"closed pipe: {argv[1]}: ended by it", p.wait(), -signal.SIGPIPE)

# standard output on a full disk
on_full_disk = [(3, [VITRINE, view, folded]) for view in ("top", "raw", "flame", "graph")] + [(3, [VITRINE, word]) for word in ("help", "--version", "rows")]
on_full_disk += [(1, [PPROF, o, folded]) for o in ("--text", "--svg", "--pdf", "--proto", "--raw")] + [(1, [PPROF, word]) for word in ("--help", "--version")]
for status, argv in on_full_disk:
    with open("/dev/full", "w") as full:
        r = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    check(f"full disk: {argv[1]}: exit", r.returncode, status)
    check_has(f"full disk: {argv[1]}: message", r.stderr, "error: cannot write 'standard output': No space left on device\n")

# standard error, or output, or both are closed: a file that is written does not stand in for them
lost = file("lost.heap", GOOD + "00400000-00500000 r-xp 00000000 00:00 0 /nowhere/lost\n")
for closed, status in (("2>&-", 0), (">&-", 0), (">&- 2>&-", 0), ("<&- >&- 2>&-", 0)):
    target = os.path.join(folder, "closed.txt")
    r = subprocess.run(f'"{VITRINE}" top "{lost}" -o "{target}" {closed}', shell=True, capture_output=True, timeout=60)
    check(f"{closed}: exit", r.returncode, status)
    check(f"{closed}: the table alone", open(target).read().splitlines()[:1], ["inuse_space, 100B of 100B shown"])
r = subprocess.run(f'"{VITRINE}" graph "{lost}" -o "{folder}/closed.svg" 2>&-', shell=True, env=dict(os.environ, DOT="false"), timeout=60)
check("2>&-: a warning is not in the picture", "could not draw" in open(os.path.join(folder, "closed.svg")).read(), False)
check("2>&-: exit", r.returncode, 0)
for argv in ("help", f"top '{good}'"):
    r = subprocess.run(f'"{VITRINE}" {argv} >&-', shell=True, capture_output=True, text=True, timeout=60)
    check_has(f"{argv.split()[0]} >&-", r.stderr, "cannot write 'standard output': Bad file descriptor")

# a real profile, with something missing around it: a warning that names it, and what can be shown all the same
subject = os.path.join(folder, "subject")
out(os.environ.get("CC", "cc"), "-O1", "-g", os.path.join(HERE, "subject.c"), "-o", subject)


def profile_of(program, name):
    """As the process writes it by itself: without names."""
    prefix = os.path.join(folder, name)
    out(program, "grow", env={"LD_PRELOAD": os.path.join(BUILD, "lib", "libvitrine.so.1"), "VITRINE": f"sample=64K,heap_profile={prefix}"})
    return prefix + ".0001.heap"


def warned(what, argv, warning, shown):
    status, text, errors = run(VITRINE, *argv)
    check(f"{what}: exit", status, 0)
    check_has(f"{what}: warning", errors, f"vitrine: warning: {warning}")
    check(f"{what}: one line", errors.count("\n"), 1)
    check_has(f"{what}: shown", text, shown)


mine = profile_of(subject, "mine")
warned("wrong program", ["top", "--program=/bin/ls", mine], "'/bin/ls' is not the file that ran as '", " subject+0x")
stripped = os.path.join(folder, "stripped")
out("strip", "-o", stripped, subject)
without = profile_of(stripped, "without")
warned("stripped", ["top", without], f"'{stripped}' has no symbols", " stripped+0x")
check_has("its program with symbols helps", out(VITRINE, "top", "--program=" + subject, without), " hold_on")
os.remove(stripped)
warned("no program", ["top", without], f"no names for '{stripped}'", " stripped+0x")
# a file that ends too early says so, wherever it ends; "is empty" and "is no kind" only for the first bytes
def truncated(what, data, step, least=3):
    for n in [*range(least, len(data), step), len(data) - 1]:
        path = file("cut", data[:n])
        status, _, errors = run(VITRINE, "top", "--no-symbols", path)
        if status != 3 or "truncated" not in errors.replace(path, ""):
            check(f"{what}: the first {n} of {len(data)} bytes", (status, errors), (3, "... truncated ..."))
            return
    check(f"{what}: whole", run(VITRINE, "top", "--no-symbols", file("whole", data))[0], 0)


with open(mine, "rb") as f:
    truncated("a profile of the library", f.read(), 7)
packed = os.path.join(folder, "packed.pb.gz")
out(VITRINE, "convert", mine, packed)
with open(packed, "rb") as f:
    truncated("a packed profile", f.read(), 97, least=20)
for kind, option in (("exact", "exact,heap_profile"), ("CPU", "cpu_profile")):
    prefix = os.path.join(folder, kind)
    run(subject, "spin", "grow", env={"LD_PRELOAD": os.path.join(BUILD, "lib", "libvitrine.so.1"), "VITRINE": f"{option}={prefix}"})
    with open(glob.glob(prefix + "*")[0], "rb") as f:
        truncated(f"a profile of the library, {kind}", f.read(), 7)
# the map at the end of a text file: what is counted is all there, but names may be missing
for form in ("gperftools", "jemalloc"):
    prefix = os.path.join(folder, form)
    run(subject, "grow", env={"LD_PRELOAD": os.path.join(BUILD, "lib", "libvitrine.so.1"), "VITRINE": f"sample=64K,heap_format={form},heap_profile={prefix}"})
    with open(prefix + ".0001.heap", "rb") as f:
        text = f.read()
    at = text.index(b"MAPPED_LIBRARIES:") + 60
    status, _, errors = run(VITRINE, "top", "--no-symbols", file("cut.text", text[:at]))
    check(f"{form}, within its map", (status, errors.count("its map of libraries is truncated: the last line has no end")), (0, 1))
    for n in [*range(20, text.index(b"MAPPED_LIBRARIES:") + 17, 5), text.index(b"MAPPED_LIBRARIES:") + 18]:
        seen = "truncated" in run(VITRINE, "top", "--no-symbols", file("cut.heap", text[:n]))[2]
        if not seen:
            check(f"{form}: the first {n} of {len(text)} bytes", seen, True)
            break
    check(f"{form}, whole", "truncated" in run(VITRINE, "top", "--no-symbols", prefix + ".0001.heap")[2], False)
nothing = file("nothing.heap", "heap profile: 0: 0 [0: 0] @ heapprofile\nMAPPED_LIBRARIES:\n")
warned("a profile of nothing", ["top", nothing], f"'{nothing}': is a gperftools heap profile without samples", "0 of 0 shown")

# rights: root has all of them, so it takes somebody else
closed = os.path.join(folder, "closed")
os.mkdir(closed)
inside = shutil.copy(good, closed)
os.chmod(closed, 0o500 if os.getuid() else 0o700)
os.chmod(folder, 0o755)
hidden = file("hidden.heap", GOOD)
os.chmod(hidden, 0)
somebody = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}


def denied(what, argv, message, cwd=folder):
    try:
        r = subprocess.run([os.path.abspath(VITRINE), *argv], capture_output=True, text=True, cwd=cwd, timeout=60, **somebody)
    except PermissionError:
        print(f"{what}: not looked at: the command is not for everybody here")
        return
    check(f"{what}: exit", r.returncode, 3)
    check_has(f"{what}: message", r.stderr, message)
    check(f"{what}: one line", r.stderr.count("\n"), 1)


denied("a file", ["top", hidden], f"'{hidden}': cannot open: Permission denied")
if somebody:
    denied("a folder", ["top", inside], f"'{inside}': cannot open: Permission denied")
denied("run -o", ["run", "-o", closed, "true"], f"cannot write in '{closed}': Permission denied")
denied("run, here", ["run", "true"], "cannot write in 'vitrine.true.1': Permission denied; -o DIR chooses another place",
       folder if somebody else closed)

# a full disk, as far as a limit on files is one: the program's own status stays, and what was cut off goes
def small_disk(limit, *argv):
    return subprocess.run(argv, capture_output=True, text=True, timeout=60,
                          preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))))


half = os.path.join(folder, "half.svg")
for status, argv in [(3, [VITRINE, "top", "-o", half, many]), (3, [VITRINE, "flame", "-o", half, many]), (3, [VITRINE, "graph", "-o", half, many]),
                     (3, [VITRINE, "convert", "--to=pprof", many, half]), (1, [PPROF, "--svg", "-output=" + half, many])]:
    r = small_disk(3000, *argv)
    check(f"half a file: {argv[1]}: exit", r.returncode, status)
    check_has(f"half a file: {argv[1]}: message", r.stderr, f"error: cannot write '{half}': File too large\n")
    check(f"half a file: {argv[1]}: it goes", os.path.exists(half), False)
for limit, messages, left in [(100, ["vitrine: error: cannot write profile '", "vitrine: warning: no heap profile"], 0),
                              (2000, ["vitrine: error: cannot write '", "  last profile "], 2)]:
    place = os.path.join(folder, f"full{limit}")
    r = small_disk(limit, VITRINE, "run", "-o", place, subject, "grow", "exit", "4")
    check(f"disk with {limit} bytes: status", r.returncode, 4)
    for message in messages:
        check_has(f"disk with {limit} bytes", r.stderr, message)
    check(f"disk with {limit} bytes: files", len(os.listdir(place)), left)

# the old names: their exit is 1
OLD = [
    ([PPROF, "--text", "/bin/ls", none], f"'{none}': cannot open: No such file or directory"),
    ([PPROF, "--text", "--raw", good], "Only specify one output mode"),
    ([PPROF, "--text", "--lines", "--files", good], "Only specify one output granularity option"),
    ([PPROF, "--li=x", good], "Option li is ambiguous ("),
    ([PPROF, "--nothing", good], "Unknown option: nothing"),
    ([PPROF, "--base"], "Option base requires an argument"),
    ([PPROF, "--nodecount=x", good], 'Value "x" invalid for option nodecount'),
    ([PPROF], "Did not specify program"),
    ([PPROF, "--text", "-sample_index=cpu", good], "no type 'cpu' in this profile"),
    ([PPROF, "--svg", "-sample_index=cpu", good], "no type 'cpu' in this profile"),
    ([PPROF, "--text", "--focus=a(", good], "bad regexp 'a('"),
    ([PPROF, "--proto", "--focus=(a+)+$", slow], "the regexp takes too long"),
    ([PPROF, "--text", empty], f"'{empty}': is empty"),
    ([JEPROF, "--text", "--raw", good], "FATAL ERROR: Only specify one output mode"),
    ([JEPROF, "--stacks", good], "Unknown option: stacks"),
]
for argv, part in OLD:
    seen, _, errors = run(*argv)
    check(f"{' '.join(argv)}: exit", seen, 1)
    check_has(f"{' '.join(argv)}: message", errors, part)

# ways of writing an option that perl's Getopt takes
folded = file("y.folded", "main;aaa 3\nmain;bbb 4\n")
plain = out(PPROF, "--text", "--focus=aaa", folded)
check_has("focus", plain, "       3 100.0% 100.0%        3 100.0% aaa")
for argv in [["-text", "-focus=aaa", folded], [folded, "--text", "--focus", "aaa"], ["--TEXT", folded, "--foc=aaa"],
             ["--tex", "--focus=aaa", "--", folded], ["--text", "--cum", "--nocum", "--focus=aaa", folded]]:
    check(f"pprof {' '.join(argv)}", out(PPROF, *argv), plain)
by_flat, by_cum = out(PPROF, "--text", folded), out(PPROF, "--text", "--cum", folded)
check("--nocum takes --cum back", (out(PPROF, "--text", "--cum", "--nocum", folded), out(PPROF, "--text", "--cum", "--no-cum", folded), by_flat != by_cum),
      (by_flat, by_flat, True))
check("order by name when equal", [l.split()[-1] for l in out(PPROF, "--text", folded).splitlines()[1:]], ["bbb", "aaa", "main"])
check_has("help", out(PPROF, "--help"), "Usage:")
check_has("version", out(JEPROF, "--version"), "vitrine")

# help is made of the rows
check_has("help lists commands", out(VITRINE, "help"), "convert")
for command in re.findall(r"^  (\w+) ", out(VITRINE, "--help"), re.M):
    text = out(VITRINE, command, "--help")
    check_has(f"help of {command}", text, f"usage: vitrine {command}")
    check(f"help of {command}: an example", "example:" in text, True)
    check(f"help of {command}: fits a screen", text.count("\n") <= 40, True)
done()
