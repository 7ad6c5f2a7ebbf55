#!/usr/bin/env python3
"""Compares allocators on the rows of rows.py.

    bench/run.py --bin build/release/bench --lib vitrine=build/release/lib/libvitrine.so.1 --check

Rounds are the outer loop and the order of the allocators rotates, so that a slow minute of the
machine falls on all of them. Tables go to stdout, progress to stderr.
Exit: 0 fine; 1 a target missed (--check), a run failed or was interrupted; 2 usage; 3 could not.
"""
import argparse
import fnmatch
import json
import os
import platform
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True     # no __pycache__ in the source tree
import measure  # noqa: E402
import profilers  # noqa: E402
import report  # noqa: E402
import rows  # noqa: E402
import targets  # noqa: E402

EXIT_FOUND, EXIT_USAGE, EXIT_COULD_NOT = 1, 2, 3
DEFAULT_ROUNDS = 5


def say(text):
    print(text, file=sys.stderr)


def stop(code, text):
    say(f"bench: error: {text}")
    sys.exit(code)


# ---- options ----

def parse_options():
    p = argparse.ArgumentParser(description="compare allocators", allow_abbrev=False)
    p.add_argument("--bin", default="build/release/bench", metavar="DIR",
                   help="where the bench programs were built (%(default)s)")
    p.add_argument("--lib", action="append", default=[], metavar="NAME=PATH",
                   help="a library of ours; may be repeated, --check is about the first")
    p.add_argument("--peers", default="", metavar="NAME=PATH,...", help="further peers")
    p.add_argument("--no-default-peers", action="store_true", help="glibc and --peers only")
    p.add_argument("--rows", default="*", metavar="GLOB,...",
                   help="names or groups, for example 'batch-*,real'")
    p.add_argument("--only", choices=("allocators", "profile"),
                   help="allocators against each other, or what profiling costs; default both")
    p.add_argument("--rounds", type=int, metavar="N",
                   help=f"default {DEFAULT_ROUNDS}; {rows.QUICK_ROUNDS} with --quick")
    p.add_argument("--quick", action="store_true",
                   help=f"1/{rows.QUICK_DIVISOR} of the work: a look, not a result")
    p.add_argument("--list", action="store_true", help="print the rows and end")
    p.add_argument("--check", action="store_true",
                   help="verify the targets; exit 1 if one is missed")
    p.add_argument("--json", metavar="FILE", help="write samples and results")
    p.add_argument("--md", metavar="FILE", help="write the tables as Markdown")
    p.add_argument("--load", metavar="FILE", help="run nothing: report a file written by --json")
    options = p.parse_args()
    if options.rounds is not None and options.rounds < 1:
        stop(EXIT_USAGE, "--rounds must be at least 1")
    return options


def named_paths(texts):
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            stop(EXIT_USAGE, f"not NAME=PATH: '{text}'")
        if not os.path.isfile(path):
            stop(EXIT_USAGE, f"no such library: '{path}'")
        yield name, os.path.abspath(path)


def library_cache():
    """soname -> path of what the loader knows."""
    try:
        listing = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    except OSError:
        return {}
    found = {}
    for line in listing.splitlines():
        soname, arrow, path = line.strip().partition(" => ")
        if arrow:
            found.setdefault(soname.split()[0], path)     # the first is the native one
    return found


def choose_allocators(options):
    chosen = [measure.Allocator(n, p, "ours") for n, p in named_paths(options.lib)]
    chosen.append(measure.Allocator("glibc", "", "peer"))
    cache = {} if options.no_default_peers else library_cache()
    for name, soname, package in [] if options.no_default_peers else rows.PEERS:
        if soname in cache:
            chosen.append(measure.Allocator(name, cache[soname], "peer"))
        else:
            say(f"bench: warning: {name} is not installed (package {package}); it is left out")
    extra = [text for text in options.peers.split(",") if text]
    chosen += [measure.Allocator(n, p, "peer") for n, p in named_paths(extra)]
    chosen.append(measure.Allocator("glibc-again", "", "noise"))
    twice = {a.name for a in chosen if [b.name for b in chosen].count(a.name) > 1}
    if twice:
        stop(EXIT_USAGE, f"two allocators are called '{twice.pop()}'")
    return chosen


def matches(row, glob):
    return fnmatch.fnmatchcase(row.name, glob) or row.group == glob


def choose_rows(options):
    globs = options.rows.split(",")
    chosen = [r for r in rows.ROWS + (rows.EXACT if options.list else [])
              if any(matches(r, g) for g in globs)] if options.only != "profile" else []
    wanted = chosen or [r for r in rows.ROWS + rows.EXACT if any(matches(r, g) for g in globs)]
    if not wanted:
        stop(EXIT_USAGE, f"no row matches '{options.rows}'; see --list")
    return chosen


# ---- the loop ----

class Progress:
    """One line on stderr, overwritten on a terminal, else at most every ten seconds."""

    def __init__(self, plan):
        self.left = [(row.name, allocator.name) for _, row, *_, allocator in plan]
        self.n_all, self.seconds, self.shown = len(plan), {}, 0.0
        self.is_tty = sys.stderr.isatty()

    def show(self, text):
        now = time.monotonic()
        if self.is_tty:
            sys.stderr.write("\r\033[K" + text)
            sys.stderr.flush()
        elif now - self.shown >= 10:
            say(text)
        else:
            return
        self.shown = now

    def done(self, seconds):
        """Approximate: a run not yet seen is expected to take what the row took, or the mean."""
        row, allocator = self.left.pop(0)
        self.seconds[row, allocator] = self.seconds[row, None] = seconds

    def eta(self):
        if not self.seconds:
            return "?"
        mean = sum(self.seconds.values()) / len(self.seconds)
        expect = sum(self.seconds.get(key) or self.seconds.get((key[0], None), mean)
                     for key in self.left)
        return f"{int(expect) // 60}:{int(expect) % 60:02d}"

    def end(self):
        if self.is_tty:
            sys.stderr.write("\r\033[K")


def make_plan(chosen_rows, allocators, rounds):
    """(round, row, allocator) in the order of running."""
    plan = []
    for turn in range(rounds):
        for i, row in enumerate(chosen_rows):
            if row.slow and turn >= rows.SLOW_ROUNDS:
                continue
            shift = (turn + i) % len(allocators)
            plan += [(turn, row, a) for a in allocators[shift:] + allocators[:shift]]
    return plan


def machine():
    def first(path, key, default):
        for line in measure.read_text(path).splitlines():
            if line.startswith(key):
                return line.partition(":")[2].strip() or line
        return default
    thp = measure.read_text("/sys/kernel/mm/transparent_hugepage/enabled")
    return {
        "cpu": first("/proc/cpuinfo", "model name", platform.machine()),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()),
        "thp": thp.partition("[")[2].partition("]")[0] or "unknown",
        "load": os.getloadavg()[0],
    }


def empty_document(options, bench, chosen_rows, allocators, rounds):
    doc = {"version": 1, "rounds": rounds, "quick": options.quick, "machine": machine(),
           "allocators": [vars(a) for a in allocators], "rows": []}
    for row in chosen_rows:
        missing = measure.missing_programs(row)
        doc["rows"].append({"name": row.name, "group": row.group, "what": row.what,
                            "command": bench.command(row),
                            "note": f"not installed: {missing}" if missing else "",
                            "samples": {a.name: [] for a in allocators}})
    return doc


def run_all(bench, chosen_rows, allocators, rounds, doc):
    samples = {row["name"]: row["samples"] for row in doc["rows"]}
    runnable = [r for r in chosen_rows if not measure.missing_programs(r)]
    number = {row.name: i + 1 for i, row in enumerate(runnable)}
    plan = make_plan(runnable, allocators, rounds)
    steps = [(f"round {turn + 1}/{rounds}  row {number[row.name]}/{len(runnable)} {row.name}",
              row, allocator, samples[row.name][allocator.name]) for turn, row, allocator in plan]
    run_steps(bench, Progress(plan), steps, doc)


def run_steps(bench, progress, steps, doc):
    """Each step: where we are, what to run, under what, and the list that the sample goes to."""
    try:
        for where, row, allocator, samples in steps:
            progress.show(f"{where}  {allocator.name}  about {progress.eta()} left")
            bench.prepare(row)
            began = time.monotonic()
            samples.append(bench.run(row, allocator))
            progress.done(time.monotonic() - began)
    except KeyboardInterrupt:
        doc["interrupted"] = True
        say("\nbench: interrupted; what follows is what there is")
    finally:
        progress.end()


def run_profile(options, bench, rounds, doc):
    """What profiling costs: our first library and its peers, each against itself."""
    if options.only == "allocators" or not options.lib:
        return
    ours = next(named_paths(options.lib))[1]
    part = doc["profile"] = {"rows": []}
    plan = []
    for group in ("sampling", "exact"):
        found, warnings = profilers.variants(group, ours, library_cache())
        for text in warnings:
            say(f"bench: warning: {text}")
        picked = profilers.chosen(group, options.rows.split(","), matches)
        part["rows"] += profilers.empty_rows(bench, group, picked, found)
        runnable = [r for r in picked if not measure.missing_programs(r)]
        plan += profilers.plan(runnable, found, rounds)
    samples = {(r["name"], name, state): s for r in part["rows"]
               for name, states in r["samples"].items() for state, s in states.items()}
    steps = [(f"profiling, round {turn + 1}/{rounds}  {row.name}", row, allocator,
              samples[row.name, name, state]) for turn, row, name, state, allocator in plan]
    run_steps(bench, Progress(plan), steps, doc)


def bench_document(options):
    if not os.access(os.path.join(options.bin, "launch"), os.X_OK):
        stop(EXIT_COULD_NOT, f"no bench programs in '{options.bin}';"
                             " build the target bench_programs, or say --bin DIR")
    chosen_rows, allocators = choose_rows(options), choose_allocators(options)
    rounds = options.rounds or (rows.QUICK_ROUNDS if options.quick else DEFAULT_ROUNDS)
    bench = measure.Bench(options.bin, options.quick)
    try:
        doc = empty_document(options, bench, chosen_rows, allocators, rounds)
        if doc["machine"]["load"] > 0.7:
            say(f"bench: warning: the machine is busy (load {doc['machine']['load']:.2f});"
                " the figures will be noisy")
        run_all(bench, chosen_rows, allocators, rounds, doc)
        if not doc.get("interrupted"):
            run_profile(options, bench, rounds, doc)
    finally:
        bench.close()
    return doc


# ---- results ----

def write_file(path, text):
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as e:
        stop(EXIT_COULD_NOT, f"cannot write '{path}': {e.strerror}")


def publish(options, doc):
    """Writes everything that was asked for; True if something was found wrong."""
    report.digest(doc)
    text, markdown = report.as_text(doc), report.as_markdown(doc)
    every_sample = [s for r in doc["rows"] for samples in r["samples"].values() for s in samples]
    every_sample += profilers.every_sample(doc)
    failed = doc.get("interrupted", False) or any("error" in s for s in every_sample)
    ours = report.names(doc, "ours")
    if options.check:
        if not ours:
            stop(EXIT_USAGE, "--check needs a --lib NAME=PATH")
        verdicts = targets.verify(doc, ours[0])
        doc["targets"] = [vars(v) for v in verdicts]
        verdict = targets.as_text(verdicts, ours[0])
        text += "\n" + verdict
        markdown += "\n## Targets\n\n```\n" + verdict + "```\n"
        failed = failed or any(v.met is False for v in verdicts)
    sys.stdout.write(text)
    if options.json:
        write_file(options.json, json.dumps(doc, indent=1) + "\n")
    if options.md:
        write_file(options.md, markdown)
    return failed


def main():
    options = parse_options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)     # end the running program, tidy up
    if options.list:
        for row in choose_rows(options):
            print(f"{row.group:7s} {row.name:24s} {row.what}")
        return 0
    if options.check and not options.load and not options.lib:
        stop(EXIT_USAGE, "--check needs a --lib NAME=PATH")
    if options.load:
        with open(options.load) as file:
            doc = json.load(file)
    else:
        doc = bench_document(options)
    return EXIT_FOUND if publish(options, doc) else 0


if __name__ == "__main__":
    sys.exit(main())
