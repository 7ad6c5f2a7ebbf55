#!/usr/bin/env python3
"""same_code.py - the fast paths of libmimalloc are those of libvitrine, whose cost tests/cost counts: the same instructions.

    same_code.py VITRINE MIMALLOC...
"""
import re
import subprocess
import sys

PAIRS = [("malloc", "malloc"), ("free", "free"), ("_Znwm", "_Znwm"), ("_ZdlPv", "_ZdlPv"), ("malloc", "mi_malloc"), ("free", "mi_free")]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def functions(library):
    """name -> its instructions"""
    names = {name for pair in PAIRS for name in pair}
    found = {}
    for line in output("nm", "-D", "-S", library).split("\n"):
        fields = line.split()
        if len(fields) == 4 and fields[3] in names:
            start, size = int(fields[0], 16), int(fields[1], 16)
            text = output("objdump", "-d", "--no-show-raw-insn", f"--start-address={start}", f"--stop-address={start + size}", library)
            found[fields[3]] = re.findall(r"^ +[0-9a-f]+:\t(.*)$", text, re.M)
    return found


def plain(instruction):
    """Without what depends on the place: targets, distances to data."""
    instruction = re.sub(r"#.*|<.*>", "", instruction)
    instruction = re.sub(r"-?0x[0-9a-f]+\(%rip\)", "DATA(%rip)", instruction)
    return re.sub(r"\b(j\w+|call\w*)\s+[0-9a-f]+", r"\1 TARGET", instruction).strip()


def code(found, name):
    return [plain(x) for x in found.get(name, [])]


n_bad = 0
ours = functions(sys.argv[1])
for library in sys.argv[2:]:
    theirs = functions(library)
    for reference, name in PAIRS:
        a, b = code(ours, reference), code(theirs, name)
        if not a or a != b:
            n_bad += 1
            print(f"{library}: {name} is not {reference} of {sys.argv[1]}:")
            print("\n".join(f"    {x:45} {y}" for x, y in zip(a + [""] * len(b), b + [""] * (len(a) - len(b)))))
print("the same code" if n_bad == 0 else f"{n_bad} functions differ")
sys.exit(n_bad > 0)
