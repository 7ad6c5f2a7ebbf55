#!/usr/bin/env python3
"""output.py - what is printed: the same lines and columns as the original where Debian has it, the sheet's shape else.

    output.py SUBJECT ASKER2 ASKER3 LIBRARY2 LIBRARY3 ORIGINAL     ORIGINAL may be empty
"""
import json
import os
import re
import subprocess
import sys

SUBJECT, ASKER2, ASKER3, V2, V3, ORIGINAL = sys.argv[1:7]
n_bad = 0


def check(ok, what, seen=""):
    global n_bad
    if not ok:
        n_bad += 1
        print(f"failed: {what}\n{seen}")


def run(command, preload=None, **variables):
    env = {k: v for k, v in os.environ.items() if not k.upper().startswith("MIMALLOC_")}
    if preload:
        env["LD_PRELOAD"] = preload
    env.update(variables)
    p = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    check(p.returncode == 0, f"{command} ends with {p.returncode}", p.stderr)
    return p.stdout, p.stderr


def stats_of(text):
    lines = text.split("\n")
    return lines[lines.index(next(x for x in lines if x.startswith("heap stats:"))):]


# ---- statistics

# 2.4's table, line by line: a label of 10, columns of 12. BYTES and COUNT have three figures, and COUNT a word at the end.
HEADER = "%10s: %11s %11s %11s %11s %11s" % ("heap stats", "peak   ", "total   ", "current   ", "block   ", "total#   ")
AMOUNT, NUMBER = r"(?: *\d+\.\d [KMG]iB| *[1-9]\d*   B  | *0      )", r"(?: *\d+\.\d [KMG]i | *\d+      )"
SHAPES = {"bytes": rf"({AMOUNT}){{3}} {{26}}(ok)?", "peak": AMOUNT, "count": rf"({NUMBER}){{3}} {{26}}(ok|not all freed)", "counter": NUMBER}
ROWS_OF_2_4 = """reserved bytes, committed bytes, reset peak, purged peak, touched bytes, segments count, -abandoned count, -cached count, pages count,
    -abandoned count, -extended counter, -retire counter, arenas counter, -rollback counter, mmaps counter, commits counter, resets counter,
    purges counter, guarded counter, threads count"""
TAIL = (r"  searches:     0\.0 avg", r"numa nodes:  {4}\d", r"   elapsed:  {4}\d\.\d{3} s",
        r"   process: user: \d+\.\d{3} s, system: \d+\.\d{3} s, faults: \d+, rss: [\d.]+ [KMG]iB, commit: [\d.]+ [KMG]iB", "")

_, ours = run([SUBJECT], V2, MIMALLOC_SHOW_STATS="1")
lines = stats_of(ours)
check(lines[0] == HEADER, "the header of the table", lines[0])
patterns = []
for row in ROWS_OF_2_4.split(","):
    label, shape = row.split()
    patterns.append(re.escape(label.rjust(10)) + ":" + SHAPES[shape])
patterns += TAIL
check(len(lines) == 1 + len(patterns), f"{len(patterns)} lines behind it", ours)
for line, pattern in zip(lines[1:], patterns):
    check(re.fullmatch(pattern, line), f"a row as '{pattern}'", line)
if ORIGINAL:  # 2.0 has other columns, and fewer rows: those are in ours, too, but for one that has another name
    _, theirs = run([SUBJECT], ORIGINAL, MIMALLOC_SHOW_STATS="1")
    labels = [x.partition(":")[0] for x in lines]
    for line in stats_of(theirs):
        label = line.partition(":")[0].replace(" -noretire", "   -retire")
        check(label in labels, f"a row '{label}', which 2.0 has", ours)

_, ours = run([SUBJECT], V3, MIMALLOC_SHOW_STATS="yes")
lines = ours.split("\n")
check(lines[0] == "subproc 0", "v3 begins with its subprocess", ours)
for title in "blocks", "pages", "arenas":
    row = next((x for x in lines if x.startswith(" " + title + " ")), "")
    check(row.split() == [title, "peak", "total", "current", "block", "total#"], f"v3's block {title}", ours)
for label in """touched pages abandoned reclaima reclaimf reabandon waits extended retire searches reserved committed reset purged
        arenas rollback mmaps commits resets purges guarded theaps heaps threads elapsed""".split():
    check(any(re.match(rf"  {label} +[\d.]", x) for x in lines), f"v3's row {label}", ours)
check(re.search(r"^  process: user: [\d.]+ s, system: [\d.]+ s, faults: \d+, peak rss: .*B, peak commit: .*B$", ours, re.M),
      "v3's last line", ours)
check(run([SUBJECT], V3)[1] == "", "silence, if nobody asks")
check(run([SUBJECT], V2)[1] == "", "silence, if nobody asks")

# ---- verbose

for library in filter(None, (V2, ORIGINAL)):
    _, text = run([SUBJECT], library, MIMALLOC_VERBOSE="1")
    lines = text.split("\n")
    n_options = sum(re.fullmatch(r"mimalloc: option '\w+': -?\d+( KiB)?", x) is not None for x in lines)
    check(n_options >= 26, f"{library}: a line for each option", text)
    for pattern in (r"mimalloc: process init: 0x[0-9a-f]+", r"mimalloc: secure level: \d", r"mimalloc: mem tracking: none",
                    r"mimalloc: using \d+ numa regions", r"mimalloc: process done: 0x[0-9a-f]+", r"heap stats: .*"):
        check(any(re.fullmatch(pattern, x) for x in lines), f"{library}: {pattern}", text)
_, text = run([SUBJECT], V3, MIMALLOC_VERBOSE="1", MIMALLOC_RESERVE_OS_MEMORY="64MiB")
check(re.search(r"^option 'purge_delay': 1000$", text, re.M), "v3's options have no prefix", text)
check(re.search(r"^option 'arena_reserve': 1048576 KiB$", text, re.M), "a size has its unit", text)
check("mimalloc: reserved 65536 KiB memory\n" in text, "what was reserved", text)
check(text.startswith("v3.4.3, release"), "v3's first line", text)

# ---- errors

HUGE, TOO_LARGE = str(1 << 60), str((1 << 64) - 200)
for library in filter(None, (V2, V3, ORIGINAL)):
    out, text = run([SUBJECT, TOO_LARGE], library, MIMALLOC_SHOW_ERRORS="1")
    check(out == "refused\n", f"{library}: refused", out)
    check(f"mimalloc: error: allocation request is too large ({TOO_LARGE} bytes)\n" in text, f"{library}: too large", text)
    check(run([SUBJECT, TOO_LARGE], library)[1] == "", f"{library}: not shown unless asked for")
for library in V2, V3:
    _, text = run([SUBJECT, HUGE], library, MIMALLOC_SHOW_ERRORS="1")
    check(text == f"mimalloc: error: unable to allocate memory ({HUGE} bytes)\n", f"{library}: no memory", text)
    _, text = run([SUBJECT, HUGE], library, MIMALLOC_SHOW_ERRORS="1", MIMALLOC_MAX_ERRORS="0")
    check(text == "", f"{library}: no more than max_errors", text)
    _, text = run([SUBJECT], library, MIMALLOC_SHOW_ERRORS="1", MIMALLOC_USE_NUMA_NODES="10ms", MIMALLOC_RESET_DELAY="5")
    check('mimalloc: warning: environment option mimalloc_use_numa_nodes has an invalid value.\n' in text, "invalid", text)
    check('mimalloc: warning: environment option "mimalloc_reset_delay" is deprecated -- use "mimalloc_purge_delay" instead.\n'
          in text, "deprecated", text)
    _, text = run([SUBJECT], library, MIMALLOC_NO_SUCH_THING="1")
    check(text == "vitrine: warning: unknown variable 'MIMALLOC_NO_SUCH_THING' is ignored\n", "unknown variable", text)

# ---- values of variables: option 16 is use_numa_nodes, 9 reserve_os_memory (KiB), 15 purge_delay

ROWS = [
    ("MIMALLOC_USE_NUMA_NODES", 16, [("3", 3), ("", 1), ("1", 1), ("on", 1), ("TRUE", 1), ("Yes", 1), ("0", 0), ("off", 0),
                                     ("False", 0), ("no", 0), ("+7", 7), ("-2", -2), ("0x10", 0), ("1.5", 0), ("T", 0), ("10ms", 0)]),
    ("mimalloc_use_numa_nodes", 16, [("5", 5)]),
    ("MIMALLOC_GUARDED_MIN", None, [("8", 8)]),
    ("MIMALLOC_RESERVE_OS_MEMORY", 9, [("1000000", 977), ("64K", 64), ("2M", 2048), ("2MB", 2048), ("2MiB", 2048), ("1", 1),
                                       ("4096", 4), ("1025", 2), ("5Q", 0), ("2M2", 0)]),
    ("MIMALLOC_PURGE_DELAY", 15, [("0", 0), ("500", 500), ("-1", -1)]),
    ("MIMALLOC_RESET_DELAY", 15, [("77", 77)]),
]
for asker, guarded in (ASKER2, 30), (ASKER3, 29):
    for variable, number, values in ROWS:
        for value, expected in values:
            out, _ = run([asker, str(number if number is not None else guarded)], **{variable: value})
            check(out == f"{expected}\n", f"{variable}={value}: expected {expected}", out)
    check(run([asker, "-1", "1000", "15"])[0] == "0\n0\n" + {ASKER2: "10\n", ASKER3: "1000\n"}[asker], "numbers that are none")
    out, _ = run([asker, "15"], MIMALLOC_PURGE_DELAY="5", MIMALLOC_RESET_DELAY="6")
    check(out == "5\n", "the newer name wins", out)
    out, _ = run([asker, "16"], MIMALLOC_USE_NUMA_NODES="1" + 100 * "0")
    check(int(out) > 10 ** 15, "more than fits is the most", out)
    _, text = run([asker, "16"], MIMALLOC_USE_NUMA_NODES="7", VITRINE_NUMA_NODES="2", VITRINE="stats")
    check(text != "", "statistics of ours as well")

    # who listens late hears what was said so far
    out, text = run([asker, "hear"], MIMALLOC_VERBOSE="1")
    check("option 'verbose': 1\n" in out and "process init: " in out and text.startswith(out), "what was said before", out)
    check(run([asker, "hear"])[0] == "", "nothing was said before")

# ---- JSON

for asker, version, stat_version in (ASKER2, 20401, 4), (ASKER3, 30403, 5):
    out, _ = run([asker, "json"])
    j = json.loads(out)
    keys = list(j)
    check(keys[:4] == ["stat_version", "mimalloc_version", "process", "pages"], "the first keys", str(keys))
    check(j["mimalloc_version"] == version and j["stat_version"] == stat_version, "versions", str(j["mimalloc_version"]))
    check(list(j["process"]) == "elapsed_msecs user_msecs system_msecs page_faults rss_current rss_peak commit_current commit_peak"
          .split(), "of the process", str(j["process"]))
    check(list(j["pages"]) == ["total", "peak", "current"], "a count", str(j["pages"]))
    check(isinstance(j["purged"], int), "a counter", str(j["purged"]))
    check(len(j["malloc_bins"]) == 74 and len(j["page_bins"]) == 74, "bins", str(len(j["malloc_bins"])))
    check(list(j["malloc_bins"][1]) == ["total", "peak", "current", "block_size", "page_size"], "a bin", str(j["malloc_bins"][1]))
    check(("chunk_bins" in j) == (stat_version == 5), "chunk bins", str(keys))
    check(j["committed"]["current"] > 0 and j["malloc_normal"]["current"] > 0, "figures", str(j["committed"]))

print("output: all as it should be" if n_bad == 0 else f"output: {n_bad} failed")
sys.exit(n_bad > 0)
