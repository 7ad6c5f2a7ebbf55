"""From samples to tables. All of it works on the result document that --json writes:

    {"rounds": 5, "quick": false, "machine": {...},
     "allocators": [{"name": "glibc", "path": "", "role": "peer"}, ...],
     "rows": [{"name": "lua", "group": "real", "what": "...", "command": [...], "note": "",
               "samples": {"glibc": [{"cpu": 0.5, "wall": ..., "figures": {}}, ...]}}]}

and "profile", see profilers.py. A document read back gives the same tables. digest() adds what is
computed from the samples.
"""
import math
import statistics

import profilers

GROUPS = ("single", "multi", "real")

# key, title, which of the samples, unit of one printed value
METRICS = [
    ("cpu", "CPU seconds, user + system", min, 1),
    ("wall", "Wall seconds", min, 1),
    ("peak_kib", "Peak RSS, MiB", statistics.median, 1 / 1024),
    ("faults", "Page faults", statistics.median, 1),
]
HOW = {min: "minimum", statistics.median: "median"}


def names(doc, *roles):
    return [a["name"] for a in doc["allocators"] if a["role"] in roles]


def geomean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else None


def good(samples):
    return [s for s in samples if "error" not in s]


def figures_of(samples):
    """The RSS figures that a memory row printed: the median over the rounds, in its order."""
    return {key: statistics.median(s["figures"][key] for s in samples)
            for key in (samples[0]["figures"] if samples else {})}


def digest_row(doc, row):
    """values[metric][allocator], and ratio[metric][allocator] to the best peer of the row."""
    row["values"], row["ratio"] = {}, {}
    counted = {name: good(samples) for name, samples in row["samples"].items()
               if samples and len(good(samples)) == len(samples)}
    for key, _, pick, _ in METRICS:
        values = {name: pick([s[key] for s in samples]) for name, samples in counted.items()}
        row["values"][key] = values
        peers = [values[name] for name in names(doc, "peer") if name in values]
        best = min(peers) if peers else 0
        row["ratio"][key] = {name: v / best for name, v in values.items()} if best > 0 else {}
    row["values"]["cpu_median"] = {name: statistics.median(s["cpu"] for s in samples)
                                   for name, samples in counted.items()}
    row["figures"] = {name: figures_of(samples) for name, samples in counted.items()}


def notes_of(doc, row):
    """What a reader must know before trusting the row."""
    notes = [row["note"]] if row["note"] else []
    answers = set()
    for name, samples in row["samples"].items():
        for sample in samples:
            if "error" in sample:
                notes.append(f"{name}: {sample['error']}; {sample['stderr']}".rstrip("; "))
                break
        answers.update(s["answer"] for s in good(samples))
        misaligned = max((s["figures"].get("misaligned", 0) for s in good(samples)), default=0)
        if misaligned:
            notes.append(f"{name}: returned {misaligned} misaligned blocks")
    if len(answers) > 1:
        notes.append("the runs did not all give the same answer, so they do not compare")
    return notes


def median_cpu_mean(doc, name):
    """As the geometric mean of the CPU ratios, but of medians: what the minimum may flatter."""
    ratios = []
    for row in complete_rows(doc, None, "cpu"):
        medians = row["values"]["cpu_median"]
        if name in medians:
            ratios.append(medians[name] / min(medians[p] for p in names(doc, "peer")))
    return geomean(ratios)


def compared_rows(doc, group=None):
    return [r for r in doc["rows"] if r["group"] in ((group,) if group else GROUPS)]


def complete_rows(doc, group, key):
    """Rows that every allocator finished; a mean over different rows would compare nothing."""
    wanted = set(names(doc, "ours", "peer"))
    return [r for r in compared_rows(doc, group) if wanted <= set(r["ratio"][key])]


def digest(doc):
    for row in doc["rows"]:
        digest_row(doc, row)
        row["notes"] = notes_of(doc, row)
    doc["geomean"] = {}
    for key, _, _, _ in METRICS:
        doc["geomean"][key] = {}
        for group in ("all",) + GROUPS:
            rows = complete_rows(doc, None if group == "all" else group, key)
            doc["geomean"][key][group] = {
                name: geomean([r["ratio"][key][name] for r in rows if name in r["ratio"][key]])
                for name in names(doc, "ours", "peer", "noise")} if rows else {}
    doc["best_peer"] = {key: best_single_peer(doc, key) for key, _, _, _ in METRICS}
    doc["noise"] = {key: noise(doc, key) for key, _, _, _ in METRICS}
    profilers.digest(doc)
    return doc


def best_single_peer(doc, key):
    means = {n: v for n, v in doc["geomean"][key]["all"].items() if n in names(doc, "peer")}
    return min(means, key=means.get) if means else None


def noise(doc, key):
    """How far glibc is from itself, row by row: {row: ratio}."""
    again = names(doc, "noise")
    if not again:
        return {}
    both = {r["name"]: r["values"][key] for r in compared_rows(doc)
            if r["values"][key].get("glibc") and again[0] in r["values"][key]}
    return {name: values[again[0]] / values["glibc"] for name, values in both.items()}


# ---- tables: (title, header, lines, footnotes); printed as text or as Markdown ----

def amount(value):
    if value is None:
        return "-"
    return f"{value:.3f}" if value < 10 else f"{value:.1f}" if value < 10000 else f"{value:.0f}"


def cell(row, key, name, scale):
    value, ratio = row["values"][key].get(name), row["ratio"][key].get(name)
    if value is None:
        return "failed" if row["samples"].get(name) else "-"
    return f"{amount(value * scale)} {ratio:.2f}" if ratio is not None else amount(value * scale)


def metric_table(doc, key, title, pick, scale):
    columns = names(doc, "ours", "peer", "noise")
    lines = []
    for group in GROUPS:
        for row in compared_rows(doc, group):
            if any(row["samples"].values()):
                lines.append([row["name"]] + [cell(row, key, name, scale) for name in columns])
            else:
                why = "not installed" if row["note"] else "not run"
                lines.append([row["name"], why] + ["-" for _ in columns[1:]])
    notes = [f"{r['name']}: {note}" for r in compared_rows(doc) for note in r["notes"]] \
        if key == METRICS[0][0] else []
    return (f"{title} ({HOW[pick]} of the rounds), and the ratio to the best peer of the row",
            ["row"] + columns, lines, notes)


def geomean_table(doc):
    columns = names(doc, "ours", "peer", "noise")
    lines = []
    for key, title, _, _ in METRICS:
        for group, means in doc["geomean"][key].items():
            if means:
                n = len(complete_rows(doc, None if group == "all" else group, key))
                lines.append([f"{title.split(',')[0]}, {group} ({n})"] +
                             [f"{means[c]:.3f}" if means[c] else "-" for c in columns])
    n = len(complete_rows(doc, None, "cpu"))
    if n:
        lines.append([f"CPU seconds by medians, all ({n})"] +
                     [amount(median_cpu_mean(doc, name)) for name in columns])
    return ("Geometric means of the ratios to the best peer of each row (number of rows)",
            ["mean"] + columns, lines, geomean_notes(doc) + noise_notes(doc))


def geomean_notes(doc):
    notes = []
    for key, title, _, _ in METRICS:
        best, means = doc["best_peer"][key], doc["geomean"][key]["all"]
        for name in names(doc, "ours"):
            if best and means.get(name):
                notes.append(f"{title.split(',')[0]}: {name} is {means[name] / means[best]:.3f} of"
                             f" {best}, the best single peer")
    return notes


def noise_notes(doc):
    notes = []
    for key, title, _, _ in METRICS:
        off = {name: abs(ratio - 1) for name, ratio in doc["noise"][key].items()}
        if off:
            worst = max(off, key=off.get)
            notes.append(f"noise, {title.split(',')[0]}: glibc against itself differs by "
                         f"{100 * statistics.median(off.values()):.1f} % (median), "
                         f"{100 * off[worst]:.1f} % at most ({worst}), "
                         f"{sum(v > 0.03 for v in off.values())} of {len(off)} rows above 3 %")
    return notes


def memory_table(doc):
    columns = names(doc, "ours", "peer", "noise")
    lines, notes = [], []
    for row in doc["rows"]:
        if row["group"] != "memory":
            continue
        keys = next((list(f) for f in row["figures"].values() if f), [])
        for key in keys:
            lines.append([f"{row['name']} {key.removesuffix('_kib')}"] +
                         [amount(row["figures"][c][key] / 1024) if c in row["figures"] else "failed"
                          for c in columns])
        for key, label, scale in (("peak_kib", "peak", 1 / 1024), ("cpu", "CPU seconds", 1)):
            lines.append([f"{row['name']} {label}"] +
                         [amount(row["values"][key][c] * scale) if c in row["values"][key] else "-"
                          for c in columns])
        notes += [f"{row['name']}: {note}" for note in row["notes"]]
    return ("Memory rows, RSS in MiB as the program read it (median)",
            ["row"] + columns, lines, notes)


def tables(doc):
    made = []
    if any(r["group"] in GROUPS for r in doc["rows"]):
        made += [metric_table(doc, *metric) for metric in METRICS] + [geomean_table(doc)]
    if any(r["group"] == "memory" for r in doc["rows"]):
        made.append(memory_table(doc))
    return made + profilers.tables(doc)


def head(doc):
    m = doc["machine"]
    libraries = ", ".join(f"{a['name']} ({a['path']})" if a["path"] else a["name"]
                          for a in doc["allocators"])
    return [f"{m['cpu']}, {m['cores']} cores, Linux {m['kernel']}, THP {m['thp']}, "
            f"load at the start {m['load']:.2f}",
            f"{doc['rounds']} rounds{', quick' if doc['quick'] else ''}: {libraries}"]


def as_text(doc):
    out = head(doc)
    for title, header, lines, notes in tables(doc):
        widths = [max(len(str(line[i])) for line in [header] + lines) for i in range(len(header))]
        out += ["", title]
        for line in [header] + lines:
            out.append("  ".join(word.ljust(w) if i == 0 else word.rjust(w)
                                 for i, (word, w) in enumerate(zip(line, widths))).rstrip())
        out += [f"  {note}" for note in notes]
    return "\n".join(out) + "\n"


def as_markdown(doc):
    out = ["# Bench results", ""] + [line + "  " for line in head(doc)]
    for title, header, lines, notes in tables(doc):
        out += ["", f"## {title}", "", "| " + " | ".join(header) + " |",
                "|---" + "|---:" * (len(header) - 1) + "|"]
        out += ["| " + " | ".join(line) + " |" for line in lines]
        out += [""] + [f"- {note}" for note in notes] if notes else []
    return "\n".join(out) + "\n"
