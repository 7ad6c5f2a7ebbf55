#!/usr/bin/env python3
"""shape.py ORIGINAL OURS - is all there that the original prints? Of JSON the keys and the kinds of their values; of text the words
and columns of each line, in their order. Ours may have more, as it has the keys of 5.3.1, but no part that a letter left out."""
import json
import re
import sys

# Numbers of sizes are ours; so is what is in use, and with it which lines a table has.

PARTS = {"version", "config", "opt", "prof", "arenas", "mutexes", "mutex", "bins", "lextents", "extents", "hpa_shard", "stats.arenas",
         "merged", "destroyed", "0"}
TITLES = re.compile(r"Version:|Build-time|Run-time|Profiling settings|Arenas:|Merged|Destroyed|arenas\[|bins:|large: +size|extents:|HPA shard")


def left_in(a, b, where):
    """Parts that are in ours alone."""
    for k in b:
        if k in PARTS and k not in a:
            yield f"{where}.{k}"
        elif isinstance(b[k], dict) and isinstance(a.get(k), dict):
            yield from left_in(a[k], b[k], f"{where}.{k}")
        elif isinstance(b[k], list) and a.get(k) and b[k] and isinstance(b[k][0], dict):
            yield from left_in(a[k][0], b[k][0], f"{where}.{k}[0]")


def titles(text):
    return {m[0] for m in map(TITLES.match, text.splitlines()) if m} | ({"mutexes"} if "n_lock_ops" in text else set())


def missing(a, b, where):
    if isinstance(a, dict) and isinstance(b, dict):
        for k in a:
            if k not in b:
                yield f"{where}.{k}"
            else:
                yield from missing(a[k], b[k], f"{where}.{k}")
    elif isinstance(a, list) and isinstance(b, list):
        if a and b:
            yield from missing(a[0], b[0], where + "[0]")
    elif type(a) is not type(b):
        yield f"{where}: a {type(a).__name__} became a {type(b).__name__}"


def words(line):
    """What a line says apart from its values; None: a row of a table."""
    if re.match(r"^[ \d]*\d[ \d.]*$", line) or line.strip() in ("---", ""):
        return None
    line = re.sub(r"\(n_thp.*?\)", "()", line)
    line = re.sub(r'"[^"]*"|\b(true|false)\b|-?\b\d+(\.\d+)?\b', "#", line)
    return " ".join(line.split())


def main():
    original, ours = (open(path).read() for path in sys.argv[1:3])
    if original.startswith("{"):
        lost = list(missing(json.loads(original), json.loads(ours), ""))
        more = list(left_in(json.loads(original), json.loads(ours), ""))
    else:
        have = [words(line) for line in ours.splitlines()]
        lost, at = [], 0
        for line in filter(None, map(words, original.splitlines())):
            if line in have[at:]:
                at = have.index(line, at) + 1
            elif line not in have:
                lost.append(line)
        more = titles(ours) - titles(original)
    for what in lost:
        print(f"missing: {what}")
    for what in more:
        print(f"not left out: {what}")
    return 1 if lost or more else 0


if __name__ == "__main__":
    sys.exit(main())
