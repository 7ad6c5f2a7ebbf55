#!/usr/bin/env python3
"""whole.py - what `vitrine run` tells of the whole run: where memory is, JSON, lifetimes, mappings, the clock on the wall, children that did next to nothing."""
from tool import *

folder = scratch()
CC = os.environ.get("CC", "cc")
MIB = 1 << 20


def build(name, text, *flags):
    path = os.path.join(folder, name)
    out(CC, "-O1", "-g", "-pthread", "-x", "c", "-", "-o", path, *flags, stdin=text.encode())
    return path


def vrun(*argv, **more):
    vrun.n += 1
    place = os.path.join(folder, f"run{vrun.n}")
    return (*run(VITRINE, "run", "-o", place, *argv, **more), place)


vrun.n = 0
UNITS = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


def size(text):
    m = re.fullmatch(r"([0-9.]+)([kMG]?B)?", text)
    return float(m.group(1)) * UNITS[m.group(2) or "B"]


# ---- where memory is: 20 MB of blocks, 30 MB mapped, a stack of 6 MB, a file of 12 MB, for as long as it takes to look
places = build("places", r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static pthread_barrier_t both;
static void *deep(void *unused) {
    char big[6 << 20];
    memset(big, 1, sizeof big);
    __asm__ volatile("" : : "r"(big) : "memory");
    pthread_barrier_wait(&both);
    sleep(2);
    return unused;
}
__attribute__((noinline)) void *map_it(size_t n) {
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memset(p, 1, n);
}
__attribute__((noinline)) void hold(void) {
    for (int i = 0; i < 2000; i++) memset(malloc(10240), 1, 10240);
}
int main(int argc, char **argv) {
    pthread_t t;
    (void)argc;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&t, NULL, deep, NULL);
    hold();
    void *p = map_it(30 << 20);
    FILE *f = fopen(argv[1], "w+");
    if (ftruncate(fileno(f), 12 << 20) != 0) return 1;
    char *file = mmap(NULL, 12 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
    memset(file, 1, 12 << 20);
    pthread_barrier_wait(&both);
    pthread_join(t, NULL);
    return munmap(p, 30 << 20);
}
""")
status, _, errors, place = vrun("--json", places, os.path.join(folder, "mapped"))
places_of, errors_of = place, errors
data = json.loads(open(os.path.join(place, "places.run.json")).read())
most = size(re.search(r"at most (\S+) resident", errors).group(1))
line = re.search(r"^  resident +(\S+)  (.*)$", errors, re.M)
parts = {name: size(n) for name, n in re.findall(r"([a-z ]+?) ([0-9.]+[kMG]?B)(?:, |$)", line.group(2))}
parts = {name.strip(): n for name, n in parts.items()}
check("resident: the parts", list(parts)[:4], ["heap", "other mappings", "stacks", "files"])
check_near("resident: what the kernel says, to 2 %", size(line.group(1)), most, 0.02 * most)
check_near("resident: it adds up, to 2 %", sum(parts.values()), data["peak_resident_bytes"], 0.02 * data["peak_resident_bytes"])
check("resident: nearly all was seen", parts.get("too short to be seen", 0) < 0.1 * most, True)
for name, least, above in [("heap", 20 * MIB, 6), ("other mappings", 30 * MIB, 6), ("stacks", 6 * MIB, 1), ("files", 12 * MIB, 8)]:
    check(f"resident: {name}", least - 600000 <= parts[name] <= least + above * MIB, True)
seen = data["resident"]
check("JSON: resident", [round(seen[k] / MIB) for k in ("heap_bytes", "stack_bytes")], [round(parts["heap"] / MIB), round(parts["stacks"] / MIB)])
PARTS = ("heap_bytes", "mapping_bytes", "stack_bytes", "file_bytes", "table_bytes")
check_near("JSON: resident adds up", sum(seen[k] for k in PARTS), seen["seen_bytes"], 0)
check("JSON: whose it is", (seen["pid"], seen["name"]), (data["pid"], "places"))

# ---- of a program that ends as soon as it has most: it tells itself
quick = build("quick", r"""
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
void *volatile kept;
int main(void) {
    size_t n = 40 << 20;
    char *own = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(own, 1, n);
    for (int i = 0; i < 60000; i++) memset(kept = malloc(1024), 1, 1024);
    return 0;
}
""")


def resident(*argv):
    _, _, errors, place = vrun("--json", *argv)
    data = json.loads(open(glob.glob(place + "/*.run.json")[0]).read())
    return data, data["resident"], errors


for way in ("--rate=64K", "--exact", "--cpu"):
    data, seen, errors = resident(way, quick)
    check_near(f"quick, {way}: it adds up, to 2 %", seen["seen_bytes"], data["peak_resident_bytes"], 0.02 * data["peak_resident_bytes"])
    check(f"quick, {way}: nothing is unseen", "too short" in errors, False)
    check_near(f"quick, {way}: heap", seen["heap_bytes"], 60000 * 1024, 6 * MIB)
    check_near(f"quick, {way}: its mapping, and none of our tables", seen["mapping_bytes"], 40 * MIB, 1 * MIB)
    check_has(f"quick, {way}: our tables", errors, ", profiler's tables ")
    if way == "--exact":  # 32 bytes for each 64
        check("quick: tables of exact mode", seen["table_bytes"] > 3 * MIB, True)

# ---- the most that a program had, not what the command had when it started it
modest = build("modest", r"""
#include <stdio.h>
#include <string.h>
int main(void) {
    char line[200];
    FILE *f = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, f)) if (strncmp(line, "VmHWM:", 6) == 0) puts(line + 6);
    return 0;
}
""")
status, text, errors, place = vrun("--json", modest)
peak = json.loads(open(os.path.join(place, "modest.run.json")).read())["peak_resident_bytes"]
check("modest: not less than it had", peak >= int(text.split()[0]) * 1024 - MIB // 4, True)
check("modest: not much more", peak < int(text.split()[0]) * 1024 + 2 * MIB, True)

# ---- who tells nonsense
check("nonsense in the file of ends", vrun("sh", "-c", 'head -c 1000 /dev/zero >> "${VITRINE_BLACK_BOX%/*}/ends"; exit 7')[0], 7)

# ---- JSON
data = json.loads(open(os.path.join(places_of, "places.run.json")).read())
check("JSON: what it was", (data["program"], data["arguments"], data["status"]), (places, [os.path.join(folder, "mapped")], 0))
check("JSON: time", 2 <= data["seconds"] < 100, True)
probe = data["probes"][0]
check("JSON: one probe", [p["what"] for p in data["probes"]], ["heap"])
check("JSON: files", [os.path.exists(probe[k]) for k in ("last_profile", "peak_profile", "flame_graph")], [True] * 3)
check("JSON: the same sums as the profile", probe["total"]["inuse_space"], json.loads(out(VITRINE, "top", "--json", probe["last_profile"]))["total"])
check("JSON: sites", probe["sites"]["rows"][0]["site"], "hold < main")
check_has("JSON: the report says where", errors_of, f"  summary          {places_of}/places.run.json\n")
killed = build("killed", "#include <signal.h>\nint main(void) { return raise(SIGTERM); }\n")
status, _, _, place = vrun("--json", killed)
data = json.loads(open(os.path.join(place, "killed.run.json")).read())
check("JSON: of a program that a signal ended", (status, data["signal"], "status" in data), (143, 15, False))
check("no JSON unless asked for", any(f.endswith(".json") for f in os.listdir(vrun(build("nothing", "int main(void) { return 0; }\n"))[3])), False)

# ---- what blocks have above what was asked for: 1,000 of 1,000 bytes have 8 each, and a half is freed
waste = build("waste", "#include <signal.h>\n#include <stdlib.h>\nvoid *volatile p[1000];\nint main(int argc, char **argv) {\n(void)argv;\n"
              "for (int i = 0; i < 1000; i++) p[i] = malloc(1000);\nfor (int i = 0; i < 500; i++) free(p[i]);\nreturn argc > 1 ? raise(SIGKILL) : 0; }\n")
for way in ("--rate=1", "--exact"):
    for end in ((), ("kill",)):
        place = vrun(way, waste, *end)[3]
        last = glob.glob(place + "/waste.*.0001.heap")
        seen = [sum(int(line.rpartition(" ")[2]) for line in out(VITRINE, "collapsed", "-t", t, *last).splitlines() if "main" in line)
                for t in ("inuse_waste", "alloc_waste", "inuse_space", "inuse_class_space")]
        check(f"waste, {way}, {end}", seen, [4000, 8000, 500000, 504000])

# ---- lifetimes, mappings, the wall
ages = build("ages", "#include <stdlib.h>\n#include <unistd.h>\nvoid *volatile p[2000];\nint main(void) {\n"
             "for (int i = 0; i < 2000; i++) p[i] = malloc(10000);\nusleep(100000);\nfor (int i = 0; i < 2000; i++) free(p[i]);\nreturn 0; }\n")
_, _, errors, _ = vrun("--lifetimes", "--rate=1K", ages)
table = errors.partition("allocated and freed, by how long it lived at most:\n")[2]
rows = re.findall(r"^ +(\S+) +(\S+)% lifetime +(\d+) milliseconds$", table, re.M)
check("lifetimes: nearly all lived for 64 to 1024 ms", sum(float(share) for _, share, ms in rows if 64 < int(ms) <= 1024 * 16) > 90, True)
_, _, errors, _ = vrun("--exact", "--lifetimes", ages)
lived = re.findall(r"^ +(\S+) +\S+% lifetime +(?:128|256|512|1024) milliseconds$", errors, re.M)
check_near("lifetimes, exact: all of it", sum(size(n) for n in lived), 2000 * 10000, 100000)  # some may be older on a busy machine
_, _, errors, place = vrun("--mmap", "--json", places, os.path.join(folder, "mapped"))
mapped = errors.partition("mapped by the program itself, since its start:\n")[2]
check_has("mmap: where", mapped.splitlines()[1] if mapped else errors, "30.0MB")
check_has("mmap: by whom", mapped.splitlines()[1] if mapped else errors, "% map_it < main")
# what is live, and what was allocated, are 20 MB by estimate: mappings are told apart, and hide no error
totals = re.findall(r"^  (live at exit|allocated) +(\S+B) ±\S+%  in \d+ ±\S+% blocks$", errors, re.M)
check("mmap: estimates of the heap alone", [(what, 12 << 20 < size(n) < 28 << 20) for what, n in totals], [("live at exit", True), ("allocated", True)])
check_has("mmap: the period is told", errors, "  one for each 64.0kB on average")
data = json.loads(open(os.path.join(place, "places.run.json")).read())["probes"][0]
check("mmap, JSON: the heap alone", (12 << 20 < data["total"]["inuse_space"] < 28 << 20, data["total_error"]["inuse_space"] > 0), (True, True))
check("mmap, JSON: mappings", (data["mapped"]["inuse_space"] >= 12 << 20, data["mapped"]["alloc_space"] >= 42 << 20), (True, True))
last = glob.glob(place + "/places.*.0001.heap")
data = json.loads(out(VITRINE, "top", "--json", *last))
rows = {r["name"]: r for r in data["rows"]}
check("mmap: top has both", (rows["hold"]["flat_error"] > 0, rows["main"]["flat_error"], data["total_error"] == rows["main"]["cum_error"]), (True, 0, True))
_, text, _ = run(VITRINE, "check", "--max-live=5M", *last)
check("mmap: check has the error", bool(re.search(r"^FAIL  live at most 5.00MB: \S+MB ±\S+B in ", text, re.M)), True)
asleep = build("asleep", "#include <time.h>\n__attribute__((noinline)) int wait_for(int ms) { struct timespec t = {0, ms * 1000000L}; while (nanosleep(&t, &t) != 0) {}\n"
               "return 1; }\nint main(void) { return wait_for(400) - 1; }\n")
_, _, errors, place = vrun("--wall", asleep)
check("wall: time passed, at least", size(re.search(r"^  time passed +([0-9.]+)ms$", errors, re.M).group(1) + "B") >= 300, True)
check("wall: it is not called CPU time", "CPU time" in errors, False)
check_has("wall: where", errors.partition("\ntime passed:\n")[2], " < wait_for < main\n")
for argv, part in [(["--lifetimes", "--mmap"], "'--lifetimes' and '--mmap' at once")]:
    status, _, errors, _ = vrun(*argv, "true")
    check(f"{' '.join(argv)}: exit", status, 2)
    check_has(f"{' '.join(argv)}: message", errors, part)

# ---- sites: the program's own code, in C++
work = os.path.join(folder, "growth")
out(os.environ.get("CXX", "c++"), "-O1", "-g", "-pthread", "-fno-optimize-sibling-calls", "-x", "c++", "-", "-o", work, stdin=b"""
#include <cstring>
#include <thread>
#include <vector>
std::vector<long> *kept;
char *copies[2000];
__attribute__((noinline)) void parse(int depth) {
    if (depth > 0) { parse(depth - 1); asm volatile(""); return; }
    for (long i = 0; i < 500000; i++) kept->push_back(i);
}
__attribute__((noinline)) void copy_all() { char s[3000]; memset(s, 'a', 2999); s[2999] = 0; for (auto &c : copies) c = strdup(s); }
int main() {
    kept = new std::vector<long>;
    parse(39);
    std::thread t(copy_all);
    t.join();
}
""")
_, _, errors, place = vrun("--rate=8K", work)
check_has("sites: what std:: did, recursion once", errors, "% std::vector growth < parse x40 < main\n")
check("sites: a thread's own function is the last", bool(re.search(r"% (__GI_)?_*strdup < copy_all$", errors, re.M)), True)
tree = out(VITRINE, "tree", glob.glob(os.path.join(place, "*.peak.heap"))[0])
check_has("tree: recursion once", tree, " parse x40\n")
check("tree: threads begin with their function", bool(re.search(r"  copy_all$", tree, re.M)), True)
all_frames = vrun("--all-frames", "--rate=8K", work)[2]
check("sites: all frames", ("std::vector growth" in all_frames, "allocator" in all_frames), (False, True))

# ---- the heap over time: it grows for 2500 blocks, then 2000 are freed
subject = os.path.join(folder, "subject")
out(CC, "-O1", "-g", "-pthread", os.path.join(HERE, "subject.c"), "-o", subject)
for locale, signs in (("C.UTF-8", "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"), ("C", "_.-=+*%#")):
    _, _, errors, place = vrun("--every=2M", "--rate=8K", "--json", subject, "grow", env={"LC_ALL": locale})
    m = re.search(r"^  over time        (\S+)  at most (\S+) in (\d+) profiles, ", errors, re.M)
    check(f"over time, {locale}: a line", m is not None, True)
    heights = [signs.find(c) for c in m.group(1)] if m else [0]
    check(f"over time, {locale}: signs", min(heights) >= 0, True)
    check(f"over time, {locale}: it grows from low to the top, then falls", (heights[0] <= 2, max(heights), heights[-1] <= 3), (True, 7, True))
    check_near(f"over time, {locale}: at most", size(m.group(2)), 25e6, 3e6)
points = json.loads(open(os.path.join(place, "subject.run.json")).read())["probes"][0]["over_time"]
check("over time: JSON has as many", len(points), int(m.group(3)))
check("over time: JSON is in order", points == sorted(points, key=lambda p: p["seconds"]), True)
page = open(glob.glob(os.path.join(place, "*.heap.html"))[0]).read()
check("over time: the page has a timeline", page.count('class="timeline"'), 1)
check("over time: with a point for each profile", len(re.findall("<circle ", page)), len(points))
_, _, errors, place = vrun(subject, "grow")
check("over time: not unless asked for", ("over time" in errors, glob.glob(os.path.join(place, "*.html"))), (False, []))

# ---- a shell that starts much: files of what allocated, and a line about the rest
big = build("big", "#include <stdlib.h>\n#include <string.h>\nint main(void) { for (int i = 0; i < 600; i++) memset(malloc(10000), 1, 10000); return 0; }\n")
small = build("small", "#include <stdlib.h>\nvoid *volatile p;\nint main(void) { p = malloc(1000); return 0; }\n")
_, _, errors, place = vrun("--json", "sh", "-c", f"for i in 1 2 3 4 5 6 7 8 9 10; do {small}; done; {big}; {big}; exit 0")
check_has("children: how many were left out", errors, "\n  none of 10 other processes that allocated less than 1MB\n")
check_has("children: those that did much", errors, f"and those of 1 other process in {place}\n")
check("children: files of two", sorted(re.sub(r"[0-9]+", "N", f) for f in os.listdir(place) if f.endswith(".heap")), ["sh.N.N.heap"] * 2 + ["sh.N.peak.heap"] * 2)
data = json.loads(open(os.path.join(place, "sh.run.json")).read())["probes"][0]
check("children: JSON", (data["other_processes"], data["processes_left_out"]), (1, 10))

# a driver that has others do the work: the report is about who did it, and says so
driver = build("driver", r"""
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
void *volatile p;
int main(int argc, char **argv) {
    (void)argc;
    p = malloc(100000);
    if (fork() == 0) return execv(argv[1], argv + 1);
    wait(NULL);
    return 0;
}
""")
_, _, errors, place = vrun("--exact", "--json", driver, big)
data = json.loads(open(os.path.join(place, "driver.run.json")).read())
who = data["probes"][0]["pid"]
check("driver: another process", who != data["pid"], True)
check_has("driver: it is said", errors, f"\n  driver itself allocated less than 1MB; this is its child with the largest heap profile, process {who}\n")
check_has("driver: so it is of what is resident", errors, f"B  process {who} (big): heap ")
check("driver: JSON", (data["resident"]["pid"], data["resident"]["name"]), (who, "big"))
check_near("driver: what it allocated", data["probes"][0]["total"]["alloc_space"], 6000000, 100000)
_, _, errors, place = vrun("--exact", "--json", driver, small)
data = json.loads(open(os.path.join(place, "driver.run.json")).read())
check("driver: of one that did no more it is itself", data["probes"][0]["pid"], data["pid"])

# children that allocated nothing: no sample in 1 TiB
_, _, errors, place = vrun("--rate=1024G", "--json", "sh", "-c", f"for i in 1 2 3 4 5; do {small}; done; exit 0")
data = json.loads(open(os.path.join(place, "sh.run.json")).read())
check_has("no child did anything: all are left out", errors, "\n  none of 5 other processes that allocated less than 1MB\n")
check("no child did anything: no files", {f.split(".")[1] for f in os.listdir(place) if f.endswith(".heap")} <= {str(data["pid"])}, True)
check("no child did anything: no warning of an empty file", "without samples" in errors, False)
_, _, errors, _ = vrun("--rate=1024G", small)
check("nothing was sampled: no warning", "warning" in errors, False)
done()
