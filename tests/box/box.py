"""box.py - what the tests of black boxes share: the program that knows its truth, running it, adding up its profiles."""
import glob
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "report"))
from tool import *

HERE = os.path.dirname(os.path.abspath(__file__))
CC = os.environ.get("CC", "cc")
SO = os.environ.get("VT_SO") or os.path.join(BUILD, "lib", "libvitrine.so.1")


def build_deaths(folder):
    program = os.path.join(folder, "deaths")
    out(CC, "-O1", "-g", "-pthread", "-D_GNU_SOURCE", os.path.join(HERE, "deaths.c"), "-o", program)
    return program


def truth_of(text):
    """{"keep": bytes, "all": bytes, "cpu": seconds, "pid": ...} as the program said it."""
    return {k: float(v) for k, v in re.findall(r"^(\w+) ([0-9.]+)$", text, re.M)}


def sums(path, kind):
    """Of a profile: {function: value of all stacks through it}, and under "" the total of the stacks through main or a thread."""
    table = {"": 0.0}
    for line in out(VITRINE, "collapsed", "-t", kind, path).splitlines():
        stack, _, value = line.rpartition(" ")
        names = set(stack.split(";"))
        if names & {"work", "keep_small", "keep_large", "give_back", "burn", "main"}:
            table[""] += float(value)
        for name in names:
            table[name] = table.get(name, 0) + float(value)
    return table


def ours(table):
    return sum(table.get(name, 0) for name in ("keep_small", "keep_large", "give_back"))
