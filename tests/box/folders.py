#!/usr/bin/env python3
"""folders.py - where `vitrine run` keeps black boxes: nobody leads it elsewhere, what a killed run left stays, and so does what still runs."""
import time

from box import *

folder = scratch()
os.chmod(folder, 0o755)
DEATHS = build_deaths(folder)
KEPT = 10649600
IS_ROOT = os.geteuid() == 0


def new_folder(name, mode=0o700, user=-1):
    path = os.path.join(folder, name)
    os.mkdir(path)
    os.chown(path, user, user)
    os.chmod(path, mode)
    return path


BOXES = new_folder("boxes")  # others run programs, too
os.environ.update(XDG_RUNTIME_DIR=BOXES, TMPDIR=BOXES)


def vrun(name, *argv, **more):
    place = os.path.join(folder, name)
    return (*run(VITRINE, "run", "--rate=1", "-o", place, *argv, **more), place)


def held(place, pid):
    """What its last profile says; None: there is none."""
    found = sorted(glob.glob(f"{place}/*.{int(pid)}.[0-9]*.heap"))
    return ours(sums(found[-1], "inuse_space")) if found else None


def script(name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def await_that(what, is_so):
    end = time.monotonic() + 60
    while not is_so() and time.monotonic() < end:
        time.sleep(0.01)
    check(what, bool(is_so()), True)


def is_gone(pid):
    """A zombie is."""
    try:
        return open(f"/proc/{int(pid)}/stat").read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def left_in(parent):
    return [f for f in os.listdir(parent) if f.startswith("vitrine.run.")]


# ---- a folder that another user can swap is not taken
victim = new_folder("victim")
open(victim + "/passwd", "w").close()
SWAP = script("swap.sh", f'for f in "$1"/vitrine.run.*; do mv "$f" "$1/away" && ln -s {victim} "$f"; done 2>/dev/null; :\n')
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
if not IS_ROOT:
    print("skipped: only root can be another user")
elif run(*NOBODY, "sh", SWAP, folder)[0] != 0:
    print("skipped: no setpriv that makes us nobody")
else:
    for name, mode, owner in (("his", 0o700, 65534), ("open", 0o777, 0), ("of-a-group", 0o770, 0), ("sticky-his", 0o1777, 65534)):
        xdg = new_folder(name, mode, owner)
        if name == "of-a-group":
            os.chown(xdg, 0, 65534)
            os.chmod(xdg, mode)
        status, text, errors, place = vrun("swap-" + name, "sh", "-c", f"env -u LD_PRELOAD {' '.join(NOBODY)} sh {SWAP} {xdg}; exec {DEATHS} kill",
                                           env={"XDG_RUNTIME_DIR": xdg})
        check(f"{name}: the victim has what it had", os.listdir(victim), ["passwd"])
        check(f"{name}: nothing was made there", os.listdir(xdg), [])
        check(f"{name}: the boxes were elsewhere", (status, held(place, truth_of(text)["pid"])), (137, KEPT))
        open(victim + "/passwd", "w").close()
    # in a sticky folder nobody can
    xdg = new_folder("sticky", 0o1777, 0)
    status, text, errors, place = vrun("swap-sticky", "sh", "-c", f"ls {xdg}; env -u LD_PRELOAD {' '.join(NOBODY)} sh {SWAP} {xdg}; exec {DEATHS} kill",
                                       env={"XDG_RUNTIME_DIR": xdg})
    check_has("sticky: it is used", text, "vitrine.run.")
    check("sticky: and read", held(place, truth_of(text)["pid"]), KEPT)
    check("sticky: nothing is left", (os.listdir(xdg), os.listdir(victim)), ([], ["passwd"]))

# ---- who swaps it all the same, because he is the same user, leads nobody anywhere
fake = os.path.join(victim, "4711")
other = truth_of(subprocess.run([DEATHS, "kill"], capture_output=True, text=True, env=dict(os.environ, LD_PRELOAD=SO, VITRINE=f"sample=1,black_box={fake}")).stdout)
for level in ("top", "boxes"):
    at = "$b" if level == "boxes" else "$t"
    do = script(f"swap-{level}.sh", f'{DEATHS} kill\nunset LD_PRELOAD\nb=${{VITRINE_BLACK_BOX%/*}}\nt=${{b#{BOXES}/}}\nt={BOXES}/${{t%%/*}}\n'
                                    f'mkdir {victim}/${{b##*/}}\nln {fake} {victim}/${{b##*/}}/\nmv {at} {at}.away && ln -s {victim} {at}\n')
    status, text, errors, place = vrun(f"same-user-{level}", "sh", do)
    check(f"swapped by the program, {level}: it was", status, 0)
    check(f"swapped by the program, {level}: the victim has what it had", (os.path.exists(fake), os.path.exists(victim + "/passwd"), len(glob.glob(victim + "/*/4711"))), (True, True, 1))
    check(f"swapped by the program, {level}: its own box is read", held(place, truth_of(text)["pid"]), KEPT)
    check(f"swapped by the program, {level}: no other", held(place, other["pid"]), None)
    for sub in glob.glob(victim + "/*/"):
        shutil.rmtree(sub)
    for f in os.listdir(BOXES):
        os.unlink(f"{BOXES}/{f}") if os.path.islink(f"{BOXES}/{f}") else shutil.rmtree(f"{BOXES}/{f}")

# ---- what a killed run left
p = subprocess.Popen([VITRINE, "run", "--rate=1", "-o", os.path.join(folder, "killed"), DEATHS, "wait"], stdout=subprocess.PIPE, text=True, start_new_session=True)
text = ""
while "cpu" not in text:
    text += p.stdout.readline()
pid = truth_of(text)["pid"]
os.killpg(p.pid, signal.SIGKILL)
p.wait()
await_that("a killed run: its program is gone, too", lambda: is_gone(pid))


def told(errors):
    return re.findall(r"^vitrine: warning: process (\d+) of an earlier run left a black box: 'vitrine read (\S+)' makes profiles of it; it is kept for a day$", errors, re.M)


def check_left(what, pid):
    """The next run names it once; what it held. Gives the name of the folder."""
    seen = told(vrun("next", "true")[2])
    check(f"{what}: the next run names it", [int(n) for n, _ in seen], [int(pid)])
    if not seen:
        return None
    check(f"{what}: once", told(vrun("next", "true")[2]), [])
    check(f"{what}: it can be read", run(VITRINE, "read", "-o", os.path.join(folder, "left"), seen[0][1])[0], 0)
    check(f"{what}: what it held", ours(sums(os.path.join(folder, "left.heap"), "inuse_space")), KEPT)
    check(f"{what}: it is the only one", len(left_in(BOXES)), 1)
    return os.path.join(BOXES, *left_in(BOXES))


left = check_left("a killed run", pid)
if left:
    # at most 8: the latest; a day for each
    now = time.time()
    for i in range(1, 12):
        copy = os.path.join(BOXES, f"vitrine.run.{i:016x}")
        shutil.copytree(left, copy, copy_function=os.link)  # sparse, and large
        os.unlink(copy + "/.told")
        open(copy + "/.told", "w").close()
        os.utime(copy + "/.told", (now - 1000 * i, now - 1000 * i))
    vrun("next", "true")
    check("at most 8 are kept", sorted(left_in(BOXES)), sorted([os.path.basename(left), *(f"vitrine.run.{i:016x}" for i in range(1, 8))]))
    for f in left_in(BOXES):
        os.utime(f"{BOXES}/{f}/.told", (now - 90000, now - 90000))
    check("after a day: nothing is said", told(vrun("next", "true")[2]), [])
    check("after a day: they are gone", os.listdir(BOXES), [])

# ---- what runs on
log = os.path.join(folder, "log")
status, _, errors, place = vrun("runs-on", "sh", "-c", f"{DEATHS} wait >{log} 2>&1 & until grep -q cpu {log}; do sleep 0.01; done")
pid = int(truth_of(open(log).read())["pid"])
seen = re.findall(rf"^vitrine: warning: process {pid} still runs: at exit profiles are written into '{place}'; 'vitrine read (\S+)' makes some now, or when it was killed$", errors, re.M)
check("it runs on: it is said", (status, len(seen)), (0, 1))
check("it runs on: nothing is called its end", held(place, pid), None)
check("it runs on: no false reason", "_exit()" in errors, False)
if seen:
    check("it runs on: it can be read", run(VITRINE, "read", "-o", os.path.join(folder, "now"), seen[0])[0], 0)
    check("it runs on: what it holds", ours(sums(os.path.join(folder, "now.heap"), "inuse_space")), KEPT)
check("it runs on: the next run says nothing", told(vrun("next", "true")[2]), [])
os.kill(pid, signal.SIGTERM)
await_that("it ran on", lambda: is_gone(pid))
left = check_left("killed after the run", pid)
if left:
    # a name that would do harm in a shell is not told
    box = glob.glob(left + "/**/[0-9]*[0-9]", recursive=True)
    box = next(f for f in box if os.path.isfile(f))
    os.rename(box, os.path.join(os.path.dirname(box), "1';x;'"))
    os.unlink(left + "/.told")
    check("odd names are not told", (told(vrun("next", "true")[2]), os.listdir(BOXES)), ([], []))

# one that writes over its environment, as servers do for their title
titled = os.path.join(folder, "titled")
out(CC, "-O1", "-x", "c", "-", "-o", titled, stdin=b"""#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
void *volatile kept;
int main(void) {
    kept = malloc(10000);
    for (char **e = environ; *e; e++) memset(*e, 0, strlen(*e));
    printf("pid %d\\ncpu 0\\n", (int)getpid());
    fflush(stdout);
    pause();
}
""")
_, _, errors, _ = vrun("writes-over", "sh", "-c", f"{titled} >{log} 2>&1 & until grep -q cpu {log}; do sleep 0.01; done")
pid = int(truth_of(open(log).read())["pid"])
check_has("one without an environment: it is said", errors, f"process {pid} still runs: ")
os.kill(pid, signal.SIGKILL)
await_that("one without an environment: it is killed", lambda: is_gone(pid))
check("one without an environment: it is told", [int(n) for n, _ in told(vrun("next", "true")[2])], [pid])
for f in left_in(BOXES):
    shutil.rmtree(f"{BOXES}/{f}")

# one that has not begun to record, and comes to its exit
os.chdir(folder)
fifo = os.path.join(folder, "fifo")
os.mkfifo(fifo)
status, _, errors = run(VITRINE, "run", "--rate=1G", "sh", "-c", f"(read x; VITRINE_SAMPLE=1 exec {DEATHS} exit) >{log} 2>&1 <{fifo} & :")
place = os.path.join(folder, "vitrine.sh.1")
check_has("it comes later: it is said", errors, " still runs: at exit profiles are written into 'vitrine.sh.1'; 'vitrine read ")
check_has("it comes later: a box that is not there yet", errors, "/*' makes some now")
check_has("it comes later: and why there is none", errors, "no heap profile yet: what still runs has not written it")
check("it comes later: its folders stay", (os.path.isdir(place), len(left_in(BOXES))), (True, 1))
vrun("next", "true")
with open(fifo, "w") as f:
    f.write("go\n")
await_that("it comes later: it ends", lambda: "cpu" in open(log).read() and is_gone(truth_of(open(log).read())["pid"]))
check("it comes later: it wrote its profile", held(place, truth_of(open(log).read()).get("pid", 0)), KEPT)
check("it comes later: nothing is left to tell", told(vrun("next", "true")[2]), [])
check("nothing is left", os.listdir(BOXES), [])
done()
