#!/usr/bin/env python3
"""check.py - `vitrine check`: budgets of peak, live and growth; exit 1 and the guilty stacks, as text, JSON and JUnit; the noise of estimates."""
import xml.etree.ElementTree as xml

from tool import *

folder = scratch()
MIB = 1 << 20


def heap(name, stacks, period=None):
    """A heap profile with names: {stack of functions, leaf first: (objects, bytes in use)}; sampled, if there is a period."""
    path = os.path.join(folder, name)
    program = os.path.join(folder, "app")
    addresses = {f: 0x1000 + 16 * i for i, f in enumerate(sorted({f for s in stacks for f in s.split()}))}
    n, b = sum(v[0] for v in stacks.values()), sum(v[1] for v in stacks.values())
    with open(path, "w") as f:
        f.write(f"--- symbol\nbinary={program}\n" + "".join(f"0x{a:016x} {name}\n" for name, a in addresses.items()) + "---\n--- heap\n"
                f"heap profile: {n}: {b} [{n}: {b}] @ {'heap_v2/%d' % period if period else 'heapprofile'}\n")
        for stack, (objects, size) in stacks.items():
            f.write(f"{objects}: {size} [{objects}: {size}] @ " + " ".join(f"0x{addresses[name]:x}" for name in stack.split()) + "\n")
        f.write("\nMAPPED_LIBRARIES:\n")
    return path


before = heap("before.heap", {"cache fill main": (10, 4 * MIB), "parse main": (5, MIB)})
after = heap("after.heap", {"cache fill main": (30, 12 * MIB), "parse main": (5, MIB)})


def check_of(*argv):
    status, text, errors = run(VITRINE, "check", *argv)
    return status, text, errors


# ---- peak and live
for option in ("--max-peak", "--max-live"):
    what = option[6:]
    status, text, errors = check_of(option + "=20M", after)
    check(f"{option}: within", (status, text), (0, f"ok    {what} at most 20.0MB: 13.0MB in {after}\n"))
    status, text, errors = check_of(option + "=13M", after)
    check(f"{option}: at the limit", status, 0)
    status, text, errors = check_of(option + "=12M", before, after)
    check(f"{option}: above: exit", status, 1)
    check_has(f"{option}: one is fine", text, f"ok    {what} at most 12.0MB: 5.00MB in {before}\n")
    check_has(f"{option}: the other is not", text, f"FAIL  {what} at most 12.0MB: 13.0MB in {after}\n")
    check_has(f"{option}: the guilty", text, "12.0MB   92.31% cache < fill < main\n")
check_has("no peak profile: said", check_of("--max-peak=20M", after)[2], "none of the profiles is of a peak")
check("guilty stacks: as many as asked for", len(re.findall(r"% \w+ < ", check_of("--max-live=1M", "--count=1", after)[1])), 1)

# ---- growth
for amount, status in [("5%", 1), ("159%", 1), ("160%", 0), ("170.5%", 0), ("7M", 1), ("8M", 0), ("0", 1)]:
    check(f"growth of {amount}", check_of(f"--max-growth={before}:{amount}", after)[0], status)
for limit, text in [(13 * MIB - 1, "12.999999MB: 13.000000MB"), (13 * MIB - 5000, "12.995MB: 13.000MB")]:
    check_has(f"{limit} is not what it is above", check_of(f"--max-live={limit}", after)[1], f"FAIL  live at most {text} in {after}\n")
check_has("what is at its limit looks like it", check_of(f"--max-live={13 * MIB}", after)[1], "ok    live at most 13.0MB: 13.0MB in ")
check("what shrank is no growth", check_of(f"--max-growth={after}:0%", before)[0], 0)
text = check_of(f"--max-growth={before}:5%", after)[1]
check_has("growth", text, f"FAIL  growth at most 256kB: 8.00MB in {after} since {before}\n")
check_has("growth: what grew, and no more", text, "8.00MB   100.00% cache < fill < main\n")
check("growth: what did not grow", "parse" in text, False)

# ---- JSON and JUnit
status, text, _ = check_of("--json", "--max-live=12M", f"--max-growth={before}:5%", before, after)
data = json.loads(text)
check("JSON: exit", status, 1)
check("JSON: how many", (data["failed"], len(data["checks"])), (2, 4))
check("JSON: outcomes", [(c["what"], c["outcome"], c["value"], c["limit"]) for c in data["checks"]],
      [("live", "ok", 5 * MIB, 12 * MIB), ("growth", "ok", 0, 262144), ("live", "fail", 13 * MIB, 12 * MIB), ("growth", "fail", 8 * MIB, 262144)])
check("JSON: the guilty", [c["sites"]["rows"][0]["site"] for c in data["checks"] if c["outcome"] == "fail"], ["cache < fill < main"] * 2)
path = os.path.join(folder, "report.xml")
status, text, _ = check_of("--junit", "--max-live=12M", "-o", path, before, after)
check("JUnit: exit, and the file is there", (status, text), (1, ""))
suite = xml.parse(path).getroot()
check("JUnit: counts", (suite.tag, suite.get("tests"), suite.get("failures")), ("testsuite", "2", "1"))
check("JUnit: cases", [(c.get("name"), os.path.basename(c.get("classname")), c.find("failure") is not None) for c in suite], [("max-live", "before.heap", False), ("max-live", "after.heap", True)])
check_has("JUnit: the guilty", suite.find("testcase/failure").text, "cache < fill < main")

# ---- estimates: 100 samples of 1000 bytes at a period of 64 KiB are 6.4 MB, give or take a tenth
noisy = heap("noisy.heap", {"cache main": (100, 100000)}, period=65536)
data = json.loads(check_of("--json", "--max-live=1G", noisy)[1])["checks"][0]
q = -__import__("math").expm1(-1000 / 65536)
check_near("the estimate", data["value"], 100000 / q, 1)
check_near("its error", data["error"], (100 * (1 - q)) ** .5 * 1000 / q, 1)
for limit, status, outcome in [(5, 1, "fail"), (6, 0, "unsure"), (7, 0, "ok")]:
    s, text, _ = check_of("--json", f"--max-live={limit}000000", noisy)
    check(f"an estimate of 6.6 MB, at most {limit}", (s, json.loads(text)["checks"][0]["outcome"]), (status, outcome))
check_has("unsure: said", check_of("--max-live=6000000", noisy)[1], ", above it by less than its error\n")
twice = heap("twice.heap", {"cache main": (115, 115000)}, period=65536)
check("growth within the errors of both", check_of(f"--max-growth={noisy}:1%", twice)[0], 0)

# ---- real ones
subject = os.path.join(folder, "subject")
out(os.environ.get("CC", "cc"), "-O1", "-g", "-pthread", os.path.join(HERE, "subject.c"), "-o", subject)
run(VITRINE, "run", "-o", os.path.join(folder, "run"), subject, "grow")
files = sorted(glob.glob(os.path.join(folder, "run", "*.heap")))
check("a run within its budgets", check_of("--max-peak=40M", "--max-live=10M", *files)[0], 0)
status, text, errors = check_of("--max-peak=15M", "--max-live=10M", *files)
check("a run above its peak", (status, errors), (1, ""))
check_has("a run: the guilty", text, "% hold_much < ")
check("a run: live is not looked for in the peak", len(re.findall(r"^(ok|FAIL) +live", text, re.M)), 1)
peak, last = sorted(files, key=lambda f: "peak" not in f)
for base, other, words in ((last, peak, f"of peaks, and '{last}' is of none"), (peak, last, f"of no peak, and '{peak}' is of one")):
    status, text, errors = check_of(f"--max-growth={base}:0%", *files)
    check(f"growth since {base}", (status, re.findall(r"^(\w+) .* in (.*) since (.*)$", text, re.M)), (0, [("ok", base, base)]))
    check(f"growth since {base}: said", errors, f"vitrine: warning: 1 of 2 profiles are {words}: '--max-growth' leaves them out\n")
    check(f"growth since {base}: nothing is left", check_of(f"--max-growth={base}:0%", other), (3, "", f"vitrine: error: all profiles are {words}: '--max-growth' compares nothing\n"))

# ---- mistakes
for argv, status, part in [([after], 2, "no budget is given: --max-peak, --max-live or --max-growth"), (["--max-peak=1M"], 2, "no profile is given"),
                           (["--max-peak=lots", after], 2, "'--max-peak' wants a number of bytes such as 200M, not 'lots'"),
                           (["--max-growth=5%", after], 2, "'--max-growth' wants a profile and how much more"), (["--max-growth=x:five", after], 2, "not 'x:five'"),
                           (["--max-growth=/nowhere:5%", after], 3, "'/nowhere': cannot open"), (["--max-live=1M", "/nowhere"], 3, "'/nowhere': cannot open"),
                           (["--json", "--junit", "--max-live=1M", after], 2, "'--json' and '--junit' at once"),
                           (["--max-live=1M", next(f for f in files if "peak" in f)], 3, "all profiles are of peaks"), (["--max-live=1M", "-o", "x.jpg", after], 2, "x.jpg' is the name of a picture")]:
    seen, _, errors = check_of(*argv)
    check(f"check {' '.join(argv)}: exit", seen, status)
    check_has(f"check {' '.join(argv)}: message", errors, part)
folded = os.path.join(folder, "x.folded")
with open(folded, "w") as f:
    f.write("main;a 3\n")
check_has("no heap", check_of("--max-live=1M", folded)[2], "is no heap profile")
check("growth of anything that counts", check_of(f"--max-growth={folded}:0", folded)[0], 0)
done()
