#!/usr/bin/env python3
"""A program that forks, compiled as usual and profiled from outside:

    g++ -g -std=c++11 test3.cc
    CPUPROFILE=cpuprofile.out LD_PRELOAD=libprofiler.so ./a.out
    pprof --svg a.out cpuprofile.out > cpu.svg

gperftools loses the child's samples and leaves a file that its own pprof cannot read. Here there are two files.
"""
import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cpu"))
import cpu

program = cpu.compile_c("a.out", os.path.join(os.path.dirname(os.path.abspath(__file__)), "forking.cpp"),
                        flags=["-O0", "-std=c++11"], compiler=os.environ.get("CXX", "c++"))
pprof = os.path.join(cpu.TMP, "pprof")
os.symlink(cpu.TOOL, pprof)
out = os.path.join(cpu.TMP, "cpuprofile.out")
for preload in (cpu.PROFILER, cpu.VITRINE):
    cpu.run([program], preload=preload, env={"CPUPROFILE": "cpuprofile.out"})
    files = sorted(glob.glob(out + "*"))
    if len(files) != 2 or files[0] != out:
        cpu.fail(f"expected cpuprofile.out and the child's, seen {files}")
    for path, wanted, others in ((files[0], "parent_work", ["child_work"]), (files[1], "child_work", ["parent_work", "earlier_work"])):
        svg = subprocess.run([pprof, "--svg", program, path], capture_output=True, text=True)
        if svg.returncode != 0 or "<svg" not in svg.stdout:
            cpu.fail(f"pprof --svg: exit {svg.returncode}, {svg.stderr}")
        if wanted not in svg.stdout or any(other in svg.stdout for other in others):
            cpu.fail(f"{os.path.basename(path)}: expected {wanted} and not {others} in the picture")
        text = subprocess.run([pprof, "--text", program, path], capture_output=True, text=True).stdout
        if wanted not in text:
            cpu.fail(f"pprof --text: expected {wanted}, seen {text}")
    for path in files:
        os.remove(path)
print("two files, two pictures")
shutil.rmtree(cpu.TMP)
