#!/usr/bin/env python3
"""groups.py - --group: a table for each thread, module, source file or value of a label, in all forms; they add up to the whole."""
import csv
import io

from proto import Profile
from tool import *

folder = scratch()
labelled = Profile([("inuse_space", "bytes")], [
    (["alloc", "f", "main"], {"inuse_space": 3000}, {"user": "ann", "thread": "worker"}),
    (["alloc", "f", "main"], {"inuse_space": 500}, {"user": "bob", "thread": "worker"}),
    (["alloc", "g", "main"], {"inuse_space": 4000}, {"user": "bob"}),
    (["std::vector<int>::_M_realloc_insert", "g", "main"], {"inuse_space": 70}, {}),
]).write(os.path.join(folder, "labelled.pb.gz"))


def tables(*argv):
    return json.loads(out(VITRINE, argv[0], "--json", *argv[1:]))


def sums(*argv):
    return {t["group"]: sum(r.get("flat", r.get("value", 0)) for r in t["rows"]) for t in tables(*argv)}


# ---- by label
check("by label: largest first, and those without", list(sums("top", "--group=user", labelled).items()), [("bob", 4500), ("ann", 3000), ("(no user)", 70)])
check("by label: functions of each", {t["group"]: {r["name"]: r["cum"] for r in t["rows"]} for t in tables("top", "--group=user", labelled)}["bob"],
      {"alloc": 4500, "g": 4000, "main": 4500, "f": 500})
check("by label: shares are of the whole", [round(r["cum%"]) for t in tables("top", "--group=user", labelled) for r in t["rows"] if r["name"] == "main"], [59, 40, 1])
check("by label: traces", sums("traces", "--group=user", labelled), {"bob": 4500, "ann": 3000, "(no user)": 70})
text = out(VITRINE, "top", "--group=user", labelled)
check_has("by label: the heading", text, "\nuser ann: 2.93kB, 39.63%\n      flat ")
rows = list(csv.DictReader(io.StringIO(out(VITRINE, "top", "--csv", "--group=user", labelled))))
check("by label: CSV has a column", {r["group"] for r in rows}, {"bob", "ann", "(no user)"})
check("by label: CSV has all", sum(float(r["flat"]) for r in rows), 7570)
check("by label: with a filter", sums("top", "--group=user", "--focus=^f$", labelled), {"ann": 3000, "bob": 500})

# ---- by thread, file and module: of the function that decides, not of std::
check("by thread", sums("top", "--group=thread", labelled), {"(no thread)": 4070, "worker": 3500})
check("by file", sums("top", "--group=file", labelled), {"/src/alloc.c": 7500, "/src/g.c": 70})
for view in ("tree", "traces", "tags"):
    check(f"{view} by file", [t["group"] for t in tables(view, "--group=file", labelled)], ["/src/alloc.c", "/src/g.c"])
check("peek by file", [t["group"] for t in json.loads(out(VITRINE, "peek", "--json", "--group=file", "main", labelled))], ["/src/alloc.c", "/src/g.c"])
check("peek leaves out groups without the function", [t["group"] for t in json.loads(out(VITRINE, "peek", "--json", "--group=user", "^g$", labelled))], ["bob", "(no user)"])
check("peek leaves out their headings", re.findall(r"^user (.*):", out(VITRINE, "peek", "--group=user", "^f$", labelled), re.M), ["bob", "ann"])
check("peek of a function that no group has", run(VITRINE, "peek", "--group=user", "^none$", labelled), (3, "", "vitrine: error: no function matches '^none$'\n"))
check("list by label", {t["group"]: sum(r["flat"] for r in t["rows"]) for t in json.loads(out(VITRINE, "list", "--json", "--group=user", "^alloc$", labelled))},
      {"bob": 4500, "ann": 3000})
check("list by label: text", re.findall(r"^user (.*):", out(VITRINE, "list", "--group=user", "^f$", labelled), re.M), ["bob", "ann"])
check("list by file", [t["group"] for t in json.loads(out(VITRINE, "list", "--json", "--group=file", "^main$", labelled))], ["/src/alloc.c", "/src/g.c"])
rows = list(csv.DictReader(io.StringIO(out(VITRINE, "list", "--csv", "--group=user", "^alloc$", labelled))))
check("list by label: CSV", {r["group"] for r in rows}, {"bob", "ann"})
check_has("list of a function that no group has", run(VITRINE, "list", "--group=user", "^none$", labelled)[2], "no function with lines matches '^none$'")
heap = os.path.join(folder, "modules.heap")
with open(heap, "w") as f:
    f.write("heap profile: 3: 600 [3: 600] @ heapprofile\n1: 100 [1: 100] @ 0x400011 0x500011\n1: 200 [1: 200] @ 0x500021\n1: 300 [1: 300] @ 0x99999\n"
            "MAPPED_LIBRARIES:\n00400000-00480000 r-xp 00000000 08:01 77 /opt/x/libc.so.6\n00500000-00580000 r-xp 00000000 08:01 78 /opt/x/app\n")
check("by module: libc's caller decides", sums("top", "--no-symbols", "--group=module", heap), {"app": 300, "(no module)": 300})

# ---- differences, and what is no table
older = Profile([("inuse_space", "bytes")], [(["alloc", "f", "main"], {"inuse_space": 1000}, {"user": "ann"})]).write(os.path.join(folder, "older.pb.gz"))
check("diff by label", sums("diff", "--group=user", older, labelled), {"bob": 4500, "ann": 2000, "(no user)": 70})
check("diff by file", sums("diff", "--group=file", older, labelled), {"/src/alloc.c": 6500, "/src/g.c": 70})
for argv, part in [(["top", "--group=nothing", labelled], "'--group' is thread, module, file or the key of a label, and no sample has a label 'nothing'"),
                   (["diff", "--view=flame", "--group=user", older, labelled], "'--group' is for the views that are tables"),
                   (["flame", "--group=user", labelled], "unknown option '--group'")]:
    status, text, errors = run(VITRINE, *argv)
    check(f"{argv[1]}: exit", status, 2)
    check_has(f"{argv[1]}: message", errors, part)

# ---- real ones: a run with threads of the library
subject = os.path.join(folder, "threads")
out(os.environ.get("CC", "cc"), "-O1", "-g", "-pthread", "-x", "c", "-", "-o", subject, stdin=b"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
void *held[2][200];
pthread_barrier_t both;
static void *work(void *name) {
    pthread_setname_np(pthread_self(), name);
    for (int i = 0; i < 200; i++) held[*(char *)name == 'b'][i] = malloc(50000);
    pthread_barrier_wait(&both);
    return NULL;
}
int main(void) {
    char *names[] = {"alpha", "beta"};
    pthread_t t[2];
    pthread_barrier_init(&both, NULL, 2);
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, work, names[i]);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
    return 0;
}
""")
for way, option in (("sampled", "--rate=1K"), ("exact", "--exact")):
    place = os.path.join(folder, way)
    run(VITRINE, "run", option, "-o", place, subject)
    last = glob.glob(os.path.join(place, "*.0001.heap"))[0]
    seen = sums("top", "--group=thread", last)
    check(f"threads of a run, {way}: two have all", [v > 9e6 for v in sorted(seen.values())[-2:]], [True, True])
    for view in ("list", "disasm"):
        groups = json.loads(out(VITRINE, view, "--json", "--group=thread", "^work$", last))
        check(f"{view} by thread, {way}", sorted(re.sub(r" \(\d+\)$", "", t["group"]) for t in groups), ["alpha", "beta"])
        check(f"{view} by thread, {way}: each has its own", all(9e6 < sum(r["cum"] for r in t["rows"]) < 2e7 for t in groups), True)
    check(f"threads of a run, {way}: by name", sorted(re.sub(r" \(\d+\)$", "", n) for n in seen if seen[n] > 9e6), ["alpha", "beta"])
check("modules of a run", list(sums("top", "--group=module", last))[0], "threads")
done()
