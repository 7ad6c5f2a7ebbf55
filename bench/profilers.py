"""What profiling costs: allocators and profilers against themselves with it off, in one run.

    doc["profile"] = {"rows": [{"name": "lua", "group": "sampling", "note": "",
              "work": {"vitrine": 120, ...},
              "samples": {"vitrine": {"off": [...], "on": [...]}, ...}}]}

"again" is off once more, of ours alone: what separates the two is noise. digest() adds ratio (group
sampling: CPU on / off) or overhead_ns (group exact: for each malloc and free), and the means.
"""
import dataclasses
import os

import measure
import report
import rows

OFF, ON, AGAIN = "off", "on", "again"


def variants(group, ours, cache):
    """(profiler, state, allocator, divisor of the work), and a warning for each that is not there."""
    found, warnings = [], []
    for p in rows.PROFILERS:
        if p.group != group:
            continue
        libraries = {"ours": ours, "": ""}
        path = libraries[p.library] if p.library in libraries else cache.get(p.library, "")
        if p.library not in libraries and not path or p.extra and not os.path.exists(p.extra):
            warnings.append(f"{p.name} is not installed (package {p.package}); it is left out")
            continue
        states = [(OFF, path, p.off), (ON, p.extra or path, p.on)]
        states += [(AGAIN, path, p.off)] if p.library == "ours" and group == "sampling" else []
        for state, library, env in states:
            allocator = measure.Allocator(f"{p.name} {state}", library, "", env)
            found.append((p.name, state, allocator, p.divisor))
    return found, warnings


def chosen(group, globs, matches):
    candidates = rows.ROWS if group == "sampling" else rows.EXACT
    return [r for r in candidates if r.group in report.GROUPS + ("exact",)
            and any(matches(r, g) for g in globs)]


def plan(chosen_rows, found, rounds):
    """(round, row with this profiler's work, profiler, state, allocator) as they are to be run."""
    steps = []
    for turn in range(rounds):
        for i, row in enumerate(chosen_rows):
            shift = (turn + i) % len(found)
            for profiler, state, allocator, divisor in found[shift:] + found[:shift]:
                own = dataclasses.replace(row, work=max(1, row.work // divisor))
                steps.append((turn, own, profiler, state, allocator))
    return steps


def empty_rows(bench, group, chosen_rows, found):
    made = []
    for row in chosen_rows:
        missing = measure.missing_programs(row)
        made.append({"name": row.name, "group": group, "work": {},
                     "note": f"not installed: {missing}" if missing else "", "samples": {}})
        for profiler, state, _, divisor in found:
            own = dataclasses.replace(row, work=max(1, row.work // divisor))
            made[-1]["work"][profiler] = bench.work(own)
            made[-1]["samples"].setdefault(profiler, {})[state] = []
    return made


# ---- results ----

def least_cpu(samples):
    counted = report.good(samples)
    return min(s["cpu"] for s in counted) if counted and len(counted) == len(samples) else None


def digest(doc):
    part = doc.get("profile")
    if not part:
        return
    for row in part["rows"]:
        row["ratio"], row["overhead_ns"] = {}, {}
        for name, states in row["samples"].items():
            cpu = {state: least_cpu(samples) for state, samples in states.items()}
            if not cpu[OFF] or not cpu[ON]:
                continue
            if row["group"] == "sampling":
                row["ratio"][name] = cpu[ON] / cpu[OFF]
                if cpu.get(AGAIN):
                    row["ratio"][f"{name} {AGAIN}"] = cpu[AGAIN] / cpu[OFF]
            else:
                row["overhead_ns"][name] = (cpu[ON] - cpu[OFF]) / row["work"][name] * 1e9
    sampling = [r for r in part["rows"] if r["group"] == "sampling"]
    columns = columns_of(sampling, "ratio")
    complete = [r for r in sampling if set(columns) <= set(r["ratio"])]
    part["geomean"] = {c: report.geomean([r["ratio"][c] for r in complete]) for c in columns}
    part["n_rows"] = len(complete)


def columns_of(part_rows, key):
    names = []
    for row in part_rows:
        names += [name for name in row[key] if name not in names]
    return names


def sampling_table(doc):
    part = doc["profile"]
    sampling = [r for r in part["rows"] if r["group"] == "sampling"]
    columns = columns_of(sampling, "ratio")
    lines = [[r["name"]] + [f"{r['ratio'][c]:.3f}" if c in r["ratio"] else "-" for c in columns]
             for r in sampling]
    lines.append([f"geometric mean ({part['n_rows']})"] +
                 [f"{part['geomean'][c]:.3f}" if part["geomean"][c] else "-" for c in columns])
    return ("Sampled heap profile, every 512 KiB: CPU of the same allocator without it is 1",
            ["row"] + columns, lines, notes_of(sampling))


def exact_table(doc):
    exact = [r for r in doc["profile"]["rows"] if r["group"] == "exact"]
    columns = columns_of(exact, "overhead_ns")
    lines = [[r["name"]] + [f"{r['overhead_ns'][c]:.0f}" if c in r["overhead_ns"] else "-"
                            for c in columns] for r in exact]
    return ("Every allocation with its stack: ns of CPU for a malloc and its free, above those without",
            ["row"] + columns, lines, notes_of(exact))


def notes_of(part_rows):
    notes = []
    for row in part_rows:
        notes += [f"{row['name']}: {row['note']}"] if row["note"] else []
        for name, states in row["samples"].items():
            for state, samples in states.items():
                bad = next((s for s in samples if "error" in s), None)
                if bad:
                    what = f"{bad['error']}; {bad['stderr']}".rstrip("; ")
                    notes.append(f"{row['name']}, {name} {state}: {what}")
    return notes


def tables(doc):
    part = doc.get("profile")
    groups = {r["group"] for r in part["rows"]} if part else set()
    return ([sampling_table(doc)] if "sampling" in groups else []) + \
           ([exact_table(doc)] if "exact" in groups else [])


def every_sample(doc):
    for row in doc.get("profile", {}).get("rows", []):
        for states in row["samples"].values():
            for samples in states.values():
                yield from samples
