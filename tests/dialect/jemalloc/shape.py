#!/usr/bin/env python3
"""shape.py ORIGINAL OURS - is all there that the original prints? Of JSON the keys and the kinds of their values; of text the words
and columns of each line, in their order. Ours may have more: it has the keys of 5.3.1."""
import json
import re
import sys

# Numbers of sizes are ours; so is what is in use, and with it which lines a table has.

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
    else:
        have = [words(line) for line in ours.splitlines()]
        lost, at = [], 0
        for line in filter(None, map(words, original.splitlines())):
            if line in have[at:]:
                at = have.index(line, at) + 1
            elif line not in have:
                lost.append(line)
    for what in lost:
        print(f"missing: {what}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
