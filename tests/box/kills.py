#!/usr/bin/env python3
"""kills.py - killed at random instants, and read: never an error, never a number that cannot be. 30 times; 1,000 in `make soak`."""
import random
import time

from box import *

folder = scratch()
DEATHS = build_deaths(folder)
ROUNDS = 1000 if os.environ.get("VT_SOAK") else 30
WAYS = ("sample=1", "exact", "sample=1,cpu_profile=" + os.path.join(folder, "c") + ",cpu_frequency=4000", "sample=4K")
chance = random.Random(4711)
n_boxes = n_torn = n_empty = 0


def one(n):
    global n_boxes, n_torn, n_empty
    way = WAYS[n % len(WAYS)]
    box = os.path.join(folder, f"{n}.box")
    threads = chance.choice((1, 1, 4))
    p = subprocess.Popen([DEATHS, f"threads={threads}", "endless"], stdout=subprocess.DEVNULL,
                         env=dict(os.environ, VITRINE=f"{way},black_box={box}", LD_PRELOAD=SO))
    time.sleep(chance.random() ** 2 * 0.15)
    p.kill()
    p.wait()
    if not os.path.exists(box):
        return  # killed before it was there
    n_boxes += 1
    status, _, errors = run(VITRINE, "read", "--no-symbols" if n % 10 else "--path=/x=/y", "-o", box, box)
    check(f"{n} ({way}): status", status, 0)
    check(f"{n} ({way}): all can be read", "cannot be read" in errors or "damaged" in errors or "no room" in errors, False)
    torn = re.search(r"(\d+) of its rows were being written", errors)
    n_torn += torn is not None
    if torn:
        check(f"{n} ({way}): at most one row for each thread is torn", int(torn.group(1)) <= threads + 1, True)
    if not os.path.exists(box + ".heap"):
        n_empty += 1
        if os.path.exists(box + ".cpu"):
            return
        check_has(f"{n} ({way}): says why there is no profile", errors, "nothing was recorded")
    elif n % 10 == 0:
        table = sums(box + ".heap", "inuse_space")
        slack = 65536 * (threads + 1) if "4K" not in way else 3e6
        for name, most in (("keep_small", 4096000), ("keep_large", 6553600), ("give_back", 4096)):
            check(f"{n} ({way}): {name} is no more than there was", 0 <= table.get(name, 0) <= most * threads + slack, True)
    for f in glob.glob(box + "*"):
        os.unlink(f)


for n in range(ROUNDS):
    one(n)
print(f"{ROUNDS} kills: {n_boxes} boxes, {n_torn} with a torn row, {n_empty} without a sample")
check("most had a box", n_boxes > ROUNDS / 3, True)
done()
