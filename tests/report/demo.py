#!/usr/bin/env python3
"""demo.py - what `make demo` runs: the table of both runs, the report, and at the end the path of a picture that is one."""
import xml.etree.ElementTree as xml

from tool import *

DEMO = os.path.join(HERE, "..", "..", "scripts", "demo")
folder = scratch()
for name in ("bin", "lib"):  # a build tree of its own: what is written there is no other's
    os.symlink(os.path.realpath(os.path.join(BUILD, name)), os.path.join(folder, name))
status, text, errors = run("sh", DEMO, folder)
check("exit", (status, errors if status else ""), (0, ""))
ROW = r"^  %s +\d+\.\d\d s +\d+\.\d\d s +\d+ MiB +\d+ MiB$"
for who in ("libc", "vitrine"):
    check(f"the row of {who}", len(re.findall(ROW % who, text, re.M)), 1)
for part in ("peak", "live at exit", "flame graph"):
    check_has("the report", text, part)
last = text.splitlines()[-1] if text else ""
check("the last line: three figures", len(re.findall(r"\d+ %", last)), 3)
picture = last.rpartition(" ")[2]
check("the picture is there", os.path.dirname(picture), os.path.join(folder, "demo"))
if os.path.exists(picture):
    names = "".join(xml.parse(picture).getroot().itertext())
    check_has("the picture: who is in it", names, "worker")  # main only where requests wait at the peak
for argv, expected, message in (([], 2, "usage: scripts/demo BUILD_DIR"), (["/nowhere"], 3, "error: no '/nowhere/bin/vitrine'; build it first: make")):
    status, text, errors = run("sh", DEMO, *argv)
    check(f"{argv}: exit, no output", (status, text), (expected, ""))
    check_has(f"{argv}: message", errors, message)
done()
