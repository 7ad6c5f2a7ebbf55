#!/usr/bin/env python3
"""places.py - black_box=FILE without the command: names, disks that are full, other users, libraries, files that somebody damaged."""
import pwd
import random
import stat

from box import *

folder = scratch()
os.chmod(folder, 0o755)
DEATHS = build_deaths(folder)
IS_ROOT = os.geteuid() == 0
KEPT = 10649600


def go(box, *argv, options="sample=1", so=SO, env=None, **more):
    """(status, stdout, stderr)"""
    r = subprocess.run([DEATHS, *argv], capture_output=True, text=True, timeout=200,
                       env=dict(os.environ, VITRINE=f"{options},black_box={box}", LD_PRELOAD=so, **(env or {})), **more)
    return r.returncode, r.stdout, r.stderr


def read(box, *argv):
    return run(VITRINE, "read", *argv, "-o", box + ".out", box)


def kept(box):
    status, _, errors = read(box)
    check(f"read {os.path.basename(box)}: status", status, 0)
    return ours(sums(box + ".out.heap", "inuse_space")) if status == 0 else errors


# ---- names
box = os.path.join(folder, "a.%p.box")
status, text, errors = go(box, "kill")
mine = box.replace("%p", str(int(truth_of(text)["pid"])))
check("killed", (status, errors), (-9, ""))
check("%p is the process", os.path.exists(mine), True)
check("nobody else reads it", stat.S_IMODE(os.stat(mine).st_mode), 0o600)
check("what it held", kept(mine), KEPT)
box = os.path.join(folder, "b.box")
first = truth_of(go(box, "kill")[1])
second = truth_of(go(box, "kill")[1])
check("a box that is there stays", os.path.exists(box) and os.path.exists(f"{box}.{int(second['pid'])}"), True)
status, _, errors = run(VITRINE, "read", "-o", os.path.join(folder, "both"), box, f"{box}.{int(second['pid'])}")
check("read takes several", sorted(os.path.basename(f) for f in glob.glob(folder + "/both*[0-9].heap")), sorted(f"both.{int(t['pid'])}.heap" for t in (first, second)))
box = os.path.join(folder, "c.box")
status, text, errors = go(box, "exit")
check("one that ended by itself, without other profiles, stays", (status, kept(box)), (0, KEPT))
check_has("and read says so", read(box)[2], "which ended by itself")
check("every one is seen: no error of an estimate", re.findall(r"^  (heap|peak) +(10\.2MB) in use +\S+$", read(box)[2], re.M), [("heap", "10.2MB"), ("peak", "10.2MB")])
box = os.path.join(folder, "rough.box")
go(box, "kill", options="sample=64k")
told = re.search(r"^  heap +(\S+) (\u00b1\S+) in use +\S+$", read(box)[2], re.M)
shown = json.loads(out(VITRINE, "top", "--json", box + ".out.heap"))
check("an estimate: its error, too", told is not None, True)
if told:
    check_near("an estimate: it is the one of 'top'", float(told[2][1:-1]), 100 * shown["total_error"] / shown["total"], 0.51)
box = os.path.join(folder, "d.box")
status, text, errors = go(box, "exit", options=f"sample=1,heap_profile={folder}/d")
check("with a profile it goes", (status, os.path.exists(box), len(glob.glob(folder + "/d.0001.heap"))), (0, False, 1))
box = os.path.join(folder, "e.box")
status, text, errors = go(box, "exec")
pid = int(truth_of(text)["pid"])
check("exec: the old program's box stays", kept(box), KEPT)
check_has("exec: and read says what came of it", read(box)[2], f": process {pid}, which went on with another program (exec)\n")
check("exec: the new one has its own", os.path.exists(f"{box}.{pid}"), True)

# ---- who waits for the end has a file beside it; one that somebody else may have put there is left alone
waits = os.path.join(folder, "waits")
os.mkdir(waits)
ends, victim = os.path.join(waits, "ends"), os.path.join(folder, "elsewhere")


def told(put):
    """What the file has grown by, and the names in the folder."""
    open(victim, "w").close()
    put()
    check("it ends as always", go(os.path.join(waits, "box"), "exit", options=f"sample=1,heap_profile={folder}/waits.%p")[0], 0)
    n = os.stat(victim).st_size, os.path.getsize(ends) if os.path.isfile(ends) else 0, sorted(os.listdir(waits))
    if os.path.lexists(ends):
        os.remove(ends)
    return n


check("nobody waits: nothing is made", told(lambda: None), (0, 0, []))
check("a link is not followed", told(lambda: os.symlink(victim, ends))[0], 0)
check("nor a second name written to", told(lambda: os.link(victim, ends))[0], 0)


def make_pipe():
    """Somebody reads it, so it could be written to."""
    global pipe
    os.mkfifo(ends)
    pipe = os.open(ends, os.O_RDONLY | os.O_NONBLOCK)


check("nor a pipe", told(make_pipe)[:2], (0, 0))
check("nothing came through it", os.read(pipe, 100), b"")
os.close(pipe)
os.close(os.open(ends, os.O_CREAT, 0o600))
check("somebody waits: one record", told(lambda: None), (0, 80, ["ends"]))

# ---- a library that comes later has its names
plugin, opener = os.path.join(folder, "plugin.so"), os.path.join(folder, "opener")
second = os.path.join(folder, "second.so")
for library, name in ((plugin, "keep_in_plugin"), (second, "keep_in_second")):
    out(CC, "-O1", "-g", "-shared", "-fPIC", f"-DKEEP={name}", os.path.join(HERE, "plugin.c"), "-o", library)
out(CC, "-O1", "-g", "-DWITH_MAIN", os.path.join(HERE, "plugin.c"), "-o", opener, "-ldl")
for way in ("sample=1", "exact"):
    box = os.path.join(folder, f"opener.{way}.box")
    subprocess.run([opener, plugin, "keep_in_plugin"], env=dict(os.environ, VITRINE=f"{way},black_box={box}", LD_PRELOAD=SO))
    check(f"a library that came later, {way}: status", read(box)[0], 0)
    check(f"a library that came later, {way}", sums(box + ".out.heap", "inuse_space").get("keep_in_plugin"), 6553600)

# ---- two that came one after the other, at one address, have theirs; the last one that was closed, too
for way in ("sample=1", "exact"):
    for last in ((), (plugin, "keep_in_plugin")):
        box = os.path.join(folder, f"two.{way}.{len(last)}.box")
        subprocess.run([opener, plugin, "keep_in_plugin", second, "keep_in_second", *last], env=dict(os.environ, VITRINE=f"{way},black_box={box}", LD_PRELOAD=SO))
        check(f"two libraries, {way}: status", read(box)[0], 0)
        table = sums(box + ".out.heap", "inuse_space")
        check(f"two libraries, {way}: the first", table.get("keep_in_plugin"), 6553600 * (2 if last else 1))
        check(f"two libraries, {way}: the second", table.get("keep_in_second"), 6553600)

# ---- where it cannot be
for name, path, words in (("no folder", os.path.join(folder, "none", "x.box"), "no such file or directory"),
                          ("a folder", folder, "directory"), ("a device", "/dev/null", "invalid argument")):
    status, text, errors = go(path, "exit")
    check(f"{name}: the program goes on", status, 0)
    check(f"{name}: one line", len(errors.splitlines()), 1)
    check_has(f"{name}: why", errors.lower(), "vitrine: warning: cannot make black box '" + path.lower())
with open(os.path.join(folder, "stdout"), "w+", errors="replace") as f:  # it has what the program says, and no tables of ours
    r = subprocess.run([DEATHS, "exit"], stdout=f, stderr=subprocess.PIPE, text=True, env=dict(os.environ, VITRINE="sample=1,black_box=/dev/stdout", LD_PRELOAD=SO))
    check("standard output, a file: refused", (r.returncode, r.stderr), (0, "vitrine: warning: cannot make black box '/dev/stdout': invalid argument\n"))
    f.seek(0)
    check("standard output, a file: it is not touched", truth_of(f.read(10000))["keep"], KEPT)
    check("standard output, a file: nor longer", os.fstat(f.fileno()).st_size < 10000, True)
box = os.path.join(folder, "limit.box")
status, text, errors = go(box, "exit", preexec_fn=lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_FSIZE, (1 << 20, 1 << 20)))
check("a limit of file sizes: the program goes on", (status, len(errors.splitlines())), (0, 1))
box = os.path.join(folder, "addresses.box")
status, text, errors = go(box, "kill", preexec_fn=lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_AS, (1 << 30, 1 << 30)))
check("few addresses: a smaller box", (status, os.path.exists(box) and kept(box)), (-9, KEPT))

# ---- an older kernel: no room can be made later
AUDIT = os.environ.get("VT_AUDIT_SO") or os.path.join(BUILD, "lib", "libvitrine-audit.so")
if os.path.exists(AUDIT):
    box = os.path.join(folder, "old.box")
    status, text, errors = go(box, "kill", so=AUDIT, env={"VITRINE_FAIL_ALWAYS": "populate"})
    check("an old kernel: all the room at once", status == -9 and os.stat(box).st_blocks * 512 > 8 << 20, True)
    check("an old kernel: what it held", kept(box), KEPT)
else:
    print("skipped: no audit library")

# ---- disks that are full
FULL = "vitrine: warning: no room for more in black box '"
MISSING = "there was no room for all: "


def check_full(what, box, way):
    """Who ends in order loses nothing; of who is killed it is told that something is lost."""
    prefix = os.path.join(folder, "full." + what.replace(" ", "").replace(",", "."))
    for end in (("exit",), ("fork", "exit")):
        status, text, errors = go(box, "threads=8", *end, options=f"{way},heap_profile={prefix}.%p")
        truth = truth_of(text)
        check(f"{what}: the program goes on", status, 0)
        lines = [line for line in errors.splitlines() if "cannot make black box" not in line]  # a child has none, either
        check(f"{what}: a line at most", [line.startswith(FULL) for line in lines] in ([], [True]), True)
        for pid, more in ((truth["pid"], 0), *(((truth["child"], 6553600),) if "child" in truth else ())):
            found = glob.glob(f"{prefix}.{int(pid)}.0001.heap")
            check(f"{what}: what ended in order has all", [ours(sums(f, "inuse_space")) for f in found], [truth["keep"] + more])
        for left in glob.glob(box + "*"):
            os.unlink(left)
    status, text, errors = go(box, "threads=8", "kill", options=way)
    status, _, told = run(VITRINE, "read", "-o", prefix, box)
    check(f"{what}: it is read", status, 0)
    is_whole = os.path.exists(prefix + ".heap") and ours(sums(prefix + ".heap", "inuse_space")) == truth_of(text)["keep"]
    check(f"{what}: whole, or it is told", (FULL in errors, MISSING in told), (not is_whole, not is_whole))
    os.unlink(box)


def check_full_run(what, small, way, end):
    place = os.path.join(folder, what.replace(" ", "").replace(",", "."))
    status, text, errors = run(*small, VITRINE, "run", way, "-o", place, DEATHS, "threads=60", end, env={"TMPDIR": disk, "XDG_RUNTIME_DIR": ""})
    check(f"{what}: status", status, 0 if end == "exit" else 137)
    check_has(f"{what}: the program says it", errors, FULL)
    found = [f for f in glob.glob(place + "/*.heap") if "peak" not in f]
    held = [ours(sums(f, "inuse_space")) for f in found]
    if end == "exit":
        check(f"{what}: what ended in order has all", held, [truth_of(text)["keep"]])
    else:
        check_has(f"{what}: so does the report", errors, MISSING)
        check(f"{what}: no false reason", "before one was due" in errors, False)


if IS_ROOT:
    disk = os.path.join(folder, "disk")
    os.mkdir(disk)
    for size in (4, 16, 64, 96, 128, 256):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", disk], capture_output=True).returncode != 0:
            print("skipped: no tmpfs can be mounted")
            break
        try:
            box = os.path.join(disk, "x.box")
            for way in ("sample=1", "exact"):
                check_full(f"{size} KiB, {way}", box, way)
            with open(os.path.join(disk, "filler"), "wb") as f:
                f.write(bytes(size << 10))
            errors = go(box, "exit")[2]
            check(f"{size} KiB, none left: there is none, and why", (os.path.exists(box), errors), (False, f"vitrine: warning: cannot make black box '{box}': no space left on device\n"))
            os.unlink(os.path.join(disk, "filler"))
            profile = os.path.join(folder, f"full.{size}.cpu")
            status, text, errors = go(box, "burn=200", "exit", options=f"cpu_profile={profile},cpu_frequency=1000")
            check(f"{size} KiB, CPU: all the time", (status, sums(profile, "cpu").get("burn", 0) > 0.15e9), (0, True))
        finally:
            subprocess.run(["umount", "-l", disk])
    # the same under `vitrine run`: what is not in the report is told
    small = ("unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size=1m tmpfs /dev/shm && mount -t tmpfs -o size=128k tmpfs {disk} && exec "$@"', "sh")
    if subprocess.run([*small, "true"], capture_output=True).returncode != 0:
        print("skipped: no small temporary folder can be made")
    else:
        for way in ("--rate=1", "--exact"):
            for end in ("exit", "kill"):
                check_full_run(f"full TMPDIR, {way}, {end}", small, way, end)
else:
    print("skipped: only root mounts a small disk")

# ---- other users
if IS_ROOT:
    nobody = pwd.getpwnam("nobody")
    away = tempfile.mkdtemp(prefix="vitrine-box-")
    os.chmod(away, 0o777)
    os.chmod(folder, 0o755)
    user = {"user": nobody.pw_uid, "group": nobody.pw_gid}
    library = os.path.join(folder, "libvitrine.so.1")
    shutil.copy(SO, library)
    status, text, errors = go(os.path.join(away, "n.box"), "kill", so=library, **user)
    check("an ordinary user has one", kept(os.path.join(away, "n.box")), KEPT)
    os.symlink(os.path.join(folder, "victim"), os.path.join(away, "planted.box"))
    os.lchown(os.path.join(away, "planted.box"), nobody.pw_uid, nobody.pw_gid)
    status, text, errors = go(os.path.join(away, "planted.box"), "exit")
    check("a link that another planted is refused", (status, os.path.exists(os.path.join(folder, "victim")), len(errors.splitlines())), (0, False, 1))
    trusted = os.path.join(folder, "trusted")
    out(CC, "-O1", "-pthread", "-D_GNU_SOURCE", os.path.join(HERE, "deaths.c"), library, f"-Wl,-rpath,{folder}", "-o", trusted)
    os.chmod(trusted, 0o4755)
    r = subprocess.run([trusted, "kill"], capture_output=True, text=True, env={"VITRINE": f"sample=1,black_box={away}/s.box"}, **user)
    check("a set-uid program has none", (r.returncode, os.path.exists(os.path.join(away, "s.box"))), (-9, False))
    shutil.rmtree(away)
else:
    print("skipped: only root can be another user")

# ---- damaged ones
chance = random.Random(99)
box = mine
with open(box, "rb") as f:
    size = os.fstat(f.fileno()).st_size
    places = []  # where there is data
    at = 0
    while True:
        try:
            begin = os.lseek(f.fileno(), at, os.SEEK_DATA)
            at = os.lseek(f.fileno(), begin, os.SEEK_HOLE)
        except OSError:
            break
        places += range(begin, at, 8)
head = [p for p in places if p < 4096]
for n in range(120):
    with open(box, "r+b", buffering=0) as f:
        old = {}
        for _ in range(chance.choice((1, 4, 40))):
            at = chance.choice(head if n % 2 else places)
            old.setdefault(at, os.pread(f.fileno(), 8, at))
            os.pwrite(f.fileno(), chance.choice((bytes(8), b"\xff" * 8, chance.randbytes(8), (1 << chance.randrange(64)).to_bytes(8, "little"))), at)
        status, _, errors = read(box, "--no-symbols")
        check(f"damaged {n}: status", status in (0, 3), True)
        check(f"damaged {n}: few words", len(errors.splitlines()) < 12, True)
        for at, data in old.items():
            os.pwrite(f.fileno(), data, at)
check("mended again", kept(box), KEPT)
os.truncate(box, size // 2)
status, _, errors = read(box)
check("cut: status", status, 3)
check_has("cut: says so", errors, "is truncated")
for n in (16, 100, 700):
    os.truncate(box, n)
    check_has(f"cut to {n} bytes: says so", read(box)[2], f"is truncated: it has {n} bytes")

done()
