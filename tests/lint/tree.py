"""tree.py - what the checks in this folder share: the tree's files, C text without comments, build flags."""
import json
import os
import re
import shlex
import subprocess
import sys

ROOT = os.environ.get("VT_SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("VT_BUILD", "")
C_SUFFIXES = (".c", ".h", ".cc", ".cpp", ".hpp")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def files(*folders, suffixes=C_SUFFIXES):
    """Paths relative to the root, sorted; build trees and hidden folders are left out."""
    found = []
    for folder in folders:
        for where, inner, names in os.walk(os.path.join(ROOT, folder)):
            inner[:] = [d for d in inner if not d.startswith(".") and d != "build"]
            found += [os.path.relpath(os.path.join(where, n), ROOT) for n in names if n.endswith(suffixes)]
    return sorted(found)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as f:
        return f.read()


_NOISE = re.compile(r'//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def without_comments_and_strings(text):
    """The same text with every comment and literal blanked; line numbers stay."""
    return _NOISE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def commands(*folders):
    """One compile command per C file of what ships: {path: [flags that matter to any compiler]}."""
    database = os.path.join(BUILD, "compile_commands.json")
    if not BUILD or not os.path.exists(database):
        skip("no compile_commands.json in VT_BUILD (CMAKE_EXPORT_COMPILE_COMMANDS)")
    with open(database, encoding="utf-8") as f:
        entries = json.load(f)
    result = {}
    for entry in entries:
        path = os.path.relpath(os.path.realpath(os.path.join(entry["directory"], entry["file"])),
                               os.path.realpath(ROOT))
        if path.split(os.sep)[0] in folders and path.endswith(".c") and path not in result:
            result[path] = portable_flags(entry)
    if not result:
        print(f"expected files of {folders} in compile_commands.json, seen none")
        sys.exit(1)
    return result


def portable_flags(entry):
    """Include paths, macros and the language; the rest belongs to the compiler that was used."""
    words = entry.get("arguments") or shlex.split(entry["command"])
    kept, i = [], 1
    while i < len(words):
        word = words[i]
        if word in ("-I", "-isystem", "-D", "-U", "-include"):
            kept += [word, words[i + 1]]
            i += 1
        elif word.startswith(("-I", "-isystem", "-D", "-U", "-std=", "-pthread")):
            kept.append(word)
        i += 1
    return kept


def run_parallel(jobs, n=2):
    """Runs [(name, argv)] two at a time; gives [(name, status, output)] in the order of the jobs."""
    from concurrent.futures import ThreadPoolExecutor

    def one(job):
        done = subprocess.run(job[1], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return job[0], done.returncode, done.stdout

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(one, jobs))
