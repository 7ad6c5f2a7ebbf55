"""What we hold ourselves to, as ratios within one run: for one library of ours, and for the analysis tool.

Works on the document that report.py describes."""
from dataclasses import dataclass

import report

CPU_MEAN = 0.95          # of the best single peer's geometric mean
CPU_ROW = 1.05           # of the best peer of the row
PEAK_MEAN = 1.00         # of the leanest single peer's geometric mean
PEAK_ROW = 1.25          # of glibc
TRIVIAL_KIB = 512        # above glibc
THREADS_KIB = 4096       # above glibc, 100 idle threads
KEPT = 1.20              # RSS within 1 s, of what is kept when the first nine tenths are freed
FRAG = 1.00              # of the leanest peer, nine in ten freed at random
PROFILED = "vitrine"     # what profilers.py calls the first library of ours
SAMPLING = 1.005         # CPU with samples of without, geometric mean
RECURRING = 1 / 5        # of heaptrack's overhead, the same stack each time
RANDOM = 1 / 3           # the same, random call trees
IN_TURN = 1 / 5          # of heaptrack's, where call paths take turns
PATHS = ("wrapped", "turns-180", "turns-1000", "turns-10000", "interpreter", "containers")
GPERFTOOLS = 1 / 25      # of HEAPPROFILE's


@dataclass
class Verdict:
    target: str
    met: object          # True, False, or None: not measured
    lines: list


def verify(doc, ours):
    return [mean(doc, ours, "cpu", CPU_MEAN),
            rows_against(doc, ours, "cpu", CPU_ROW, "best peer"),
            mean(doc, ours, "peak_kib", PEAK_MEAN),
            rows_against(doc, ours, "peak_kib", PEAK_ROW, "glibc"),
            above_glibc(doc, ours, "rss-trivial", TRIVIAL_KIB),
            above_glibc(doc, ours, "rss-100-threads", THREADS_KIB),
            given_back(doc, ours),
            leanest_after_random_frees(doc, ours),
            sampling(doc, ours),
            exact(doc, ours, "exact-recurring", "heaptrack", RECURRING),
            exact(doc, ours, "exact-random", "heaptrack", RANDOM),
            *[exact(doc, ours, f"exact-{name}", "heaptrack", IN_TURN) for name in PATHS],
            exact(doc, ours, "exact-recurring", "tcmalloc", GPERFTOOLS),
            exact(doc, ours, "exact-random", "tcmalloc", GPERFTOOLS),
            sound(doc, ours)]


def named_row(doc, name):
    return next((r for r in doc["rows"] if r["name"] == name), None)


def mean(doc, ours, key, limit):
    target = f"{key}: geometric mean at most {limit:.2f} of the best single peer's"
    means, best = doc["geomean"][key]["all"], doc["best_peer"][key]
    if not best or not means.get(ours):
        return Verdict(target, None, [])
    ratio = means[ours] / means[best]
    return Verdict(target, ratio <= limit, [f"{ratio:.3f} of {best}"])


def rows_against(doc, ours, key, limit, reference):
    target = f"{key}: no row above {limit:.2f} of {reference}"
    peers = ["glibc"] if reference == "glibc" else report.names(doc, "peer")
    missed, measured = [], 0
    for row in doc["rows"]:
        if row["group"] == "memory" and (key == "cpu" or not row["name"].startswith("frag")):
            continue     # sleeping costs no CPU, and the small ones have targets of their own
        values = row["values"][key]
        known = {p: values[p] for p in peers if values.get(p)}
        if ours not in values or not known:
            continue
        measured += 1
        best = min(known, key=known.get)
        ratio = values[ours] / known[best]
        if ratio > limit:
            missed.append((ratio, row["name"], values[ours], best, known[best]))
    missed.sort(reverse=True)
    scale, unit = (1, "s") if key == "cpu" else (1 / 1024, "MiB")
    return Verdict(target, not missed if measured else None,
                   [f"{name}: {ratio:.2f} ({value * scale:.3f} {unit}, {best} {least * scale:.3f}"
                    f"{noise_word(doc, key, name)})" for ratio, name, value, best, least in missed])


def noise_word(doc, key, name):
    """A miss in a row where glibc differs from itself is to be looked at with that in mind."""
    off = abs(doc["noise"][key].get(name, 1) - 1)
    return f"; noise {100 * off:.0f} %" if off > 0.03 else ""


def above_glibc(doc, ours, name, limit_kib):
    target = f"{name}: at most {limit_kib / 1024:.1f} MiB above glibc"
    row = named_row(doc, name)
    if not row or not {ours, "glibc"} <= set(row["figures"]):
        return Verdict(target, None, [])
    mine, glibc = row["figures"][ours]["rss_kib"], row["figures"]["glibc"]["rss_kib"]
    return Verdict(target, mine - glibc <= limit_kib,
                   [f"{(mine - glibc) / 1024:+.2f}: {mine / 1024:.2f} MiB,"
                    f" glibc {glibc / 1024:.2f}"])


def given_back(doc, ours):
    target = f"frag-128-first: RSS after 1 s at most {KEPT:.2f} of what is kept"
    row = named_row(doc, "frag-128-first")
    if not row or "idle_1s_kib" not in row["figures"].get(ours, {}):
        return Verdict(target, None, [])
    seen = row["figures"][ours]
    ratio = seen["idle_1s_kib"] / seen["kept_kib"]
    return Verdict(target, ratio <= KEPT, [f"{ratio:.2f}: {seen['idle_1s_kib'] / 1024:.1f} MiB for "
                                           f"{seen['kept_kib'] / 1024:.1f} kept"])


def leanest_after_random_frees(doc, ours):
    target = "frag-random: RSS after idling at most the leanest peer's"
    row = named_row(doc, "frag-random")
    if not row or ours not in row["figures"]:
        return Verdict(target, None, [])
    seen, met, lines = row["figures"], True, []
    for key, mine in seen[ours].items():
        peers = {p: seen[p][key] for p in report.names(doc, "peer") if p in seen}
        if not key.startswith("idle") or not peers:
            continue
        best = min(peers, key=peers.get)
        met = met and mine <= FRAG * peers[best]
        lines.append(f"{key.removesuffix('_kib')}: {mine / 1024:.0f} MiB,"
                     f" {best} {peers[best] / 1024:.0f}")
    return Verdict(target, met if lines else None, lines)


def sampling(doc, ours):
    target = f"sampled profile: CPU at most {SAMPLING:.3f} of sampling off, geometric mean"
    means = doc.get("profile", {}).get("geomean", {})
    if not means.get(PROFILED):
        return Verdict(target, None, [])
    others = ", ".join(f"{name} {value:.3f}" for name, value in means.items()
                       if name != PROFILED and value)
    return Verdict(target, means[PROFILED] <= SAMPLING, [f"{means[PROFILED]:.3f}; {others}"])


def exact(doc, ours, name, peer, limit):
    target = f"{name}: overhead at most {limit:.2f} of {peer}'s"
    row = next((r for r in doc.get("profile", {}).get("rows", []) if r["name"] == name), None)
    seen = row["overhead_ns"] if row else {}
    if not {PROFILED, peer} <= set(seen) or seen[peer] <= 0:
        return Verdict(target, None, [])
    return Verdict(target, seen[PROFILED] <= limit * seen[peer],
                   [f"{seen[PROFILED] / seen[peer]:.3f}: {seen[PROFILED]:.0f} ns,"
                    f" {peer} {seen[peer]:.0f}"])


def sound(doc, ours):
    """A row that crashes or answers wrongly must not vanish from the means unseen."""
    bad = [f"{row['name']}: {note}" for row in doc["rows"] for note in row["notes"]
           if note.startswith(f"{ours}: ") or note.startswith("the runs did not")]
    return Verdict("every row finished with the right answer", not bad, bad)


def as_text(verdicts, ours):
    out = [f"Targets for {ours}"]
    for v in verdicts:
        word = "met" if v.met else "not measured" if v.met is None else "MISSED"
        out.append(f"  {word:12s}  {v.target}")
        out += [f"                  {line}" for line in v.lines]
    n_missed = sum(v.met is False for v in verdicts)
    out.append(f"{n_missed} of {len(verdicts)} targets missed")
    return "\n".join(out) + "\n"


# ---- the analysis tool (tools.py)

TOOL_CPU = [             # row, peer, at most so much of its CPU seconds
    ("heap", "go tool pprof", 1 / 10),
    ("jemalloc", "jeprof", 1 / 50),
    ("cpu", "go tool pprof", 1 / 5),
]
TOOL_MB = 200            # RSS, every row


def verify_tools(doc):
    rows = {row["name"]: row["tools"] for row in doc["rows"]}
    good = lambda tools, name: name in tools and "error" not in tools[name]
    verdicts = []
    for name, peer, limit in TOOL_CPU:
        target = f"{name}: at most 1/{1 / limit:.0f} of the CPU of {peer}"
        tools = rows.get(name, {})
        if not good(tools, "vitrine") or not good(tools, peer):
            verdicts.append(Verdict(target, False if "error" in tools.get("vitrine", {}) else None, []))
            continue
        mine, theirs = tools["vitrine"]["cpu"], tools[peer]["cpu"]
        least = "at least " if tools[peer]["is_cut"] else ""
        is_met = True if mine <= limit * theirs else None if tools[peer]["is_cut"] else False  # ended too early to tell
        verdicts.append(Verdict(target, is_met, [f"{mine:.2f} s, {peer} {least}{theirs:.2f} s: 1/{theirs / mine:.0f}"]))
    sizes = {name: tools["vitrine"]["rss_mb"] for name, tools in rows.items() if good(tools, "vitrine")}
    verdicts.append(Verdict(f"at most {TOOL_MB} MB", max(sizes.values()) <= TOOL_MB if sizes else None,
                            [f"{name}: {mb:.0f} MB" for name, mb in sizes.items()]))
    return verdicts
