#!/usr/bin/env python3
"""speed.py - a large generated heap profile: CPU time and memory beside google-pprof's and Go's. Prints the ratios; the
only thing that fails is being slower than a peer, or taking more memory than three times the file.

VT_STACKS=186000 is the size that the promise is about; the test's own is smaller, for the sake of the peers.
"""
import random
import resource

from tool import *

n_stacks = int(os.environ.get("VT_STACKS", "20000"))
folder = scratch()
program = build_work(folder)
random.seed(1)

heap = heap_of(folder, program)
maps, pcs = [], []
if heap is None:
    skip("no libtcmalloc_and_profiler (scripts/setup test installs libgoogle-perftools-dev)")
text = open(heap).read()
maps = text[text.index("MAPPED_LIBRARIES:"):]
for line in maps.splitlines():
    m = re.match(r"([0-9a-f]+)-([0-9a-f]+) r-x\S+ \S+ \S+ \S+\s+(/.*)", line)
    if m:
        low, high = int(m.group(1), 16), int(m.group(2), 16)
        pcs += [random.randrange(low, high) for _ in range(3000 if "libc.so" in line or "libstdc" in line else 500)]
big = os.path.join(folder, "big.heap")
with open(big, "w") as f:
    lines, n, total = [], 0, 0
    for i in range(n_stacks):
        count = random.randrange(1, 5)
        size = count * random.choice([24, 100, 1000, 5000])
        n, total = n + count, total + size
        frames = " ".join("0x%016x" % random.choice(pcs) for _ in range(random.randrange(12, 31)))
        lines.append("%6d: %8d [%6d: %8d] @ %s\n" % (count, size, count, size, frames))
    f.write("heap profile: %6d: %8d [%6d: %8d] @ heap_v2/524288\n" % (n, total, n, total))
    f.writelines(lines)
    f.write(maps)


def measured(name, *argv):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(os.path.join(folder, "time"), "w") as sink:
        p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=sink)
        text = p.stdout.read().decode()
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = status
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{name:24} {cpu:8.2f} s CPU  {usage.ru_maxrss / 1024:8.0f} MB")
    return text, cpu, usage.ru_maxrss * 1024


size = os.path.getsize(big)
print(f"{n_stacks} stacks, {size / 1e6:.0f} MB, {len(pcs)} addresses")
text, ours, rss = measured("pprof --text (vitrine)", PPROF, "--text", program, big)
_, our_total = rows(text)
check("memory below three times the file and 40 MB", rss < 3 * size + 40e6, True)
if PEER_PPROF:
    text, theirs, _ = measured("google-pprof --text", PEER_PPROF, "--text", program, big)
    check("total as google-pprof", our_total, rows(text)[1])
    print(f"  {theirs / ours:.0f} times our CPU")
    check("less CPU than google-pprof", ours < theirs, True)
if GO:
    tool = out(GO, "env", "GOTOOLDIR").strip() + "/pprof"
    argv = [tool] if os.path.exists(tool) else [GO, "tool", "pprof"]
    text, theirs, _ = measured("go tool pprof -top", *argv, "-top", "-symbolize=none", big)
    text, no_symbols, _ = measured("vitrine top --no-symbols", VITRINE, "top", "--no-symbols", big)
    print(f"  {theirs / no_symbols:.0f} times our CPU, both without symbols")
    check("less CPU than go tool pprof", no_symbols < theirs, True)
done()
