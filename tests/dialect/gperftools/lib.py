"""lib.py - what the tests in this folder share."""
import os
import re
import subprocess
import sys

LIB = os.path.join(os.environ["VT_BUILD"], "lib")
THEIRS = "/usr/lib/x86_64-linux-gnu"
HERE = os.path.dirname(os.path.abspath(__file__))
HEADERS = os.path.join(HERE, "..", "..", "..", "include", "compat")
OLD = re.compile(r"(?:HEAP|CPUPROFILE|TCMALLOC|MALLOCSTATS|PERFTOOLS|VITRINE|LD_PRELOAD|LD_LIBRARY_PATH)")
CLEAN = {k: v for k, v in os.environ.items() if not OLD.match(k)}


def fail(text):
    print("FAILED:", text)
    sys.exit(1)


def equal(seen, expected, what):
    if seen != expected:
        fail(f"{what}: expected {expected!r}, seen {seen!r}")


def run(*command, status=0, **variables):
    done = subprocess.run(command, env=dict(CLEAN, **variables), capture_output=True, text=True, timeout=100, check=False)
    if status is not None and done.returncode != status:
        fail(f"{' '.join(command)}: expected status {status}, seen {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def preloaded(library, *command, **variables):
    return run(*command, LD_PRELOAD=os.path.join(LIB, library), **variables)


def build(source, out, *options):
    compiler = os.environ["CXX"] if source.endswith(".cc") else os.environ["CC"]
    standard = ["-std=c++17"] if source.endswith(".cc") else []
    done = run(compiler, "-g", "-O1", "-fno-builtin", *standard, os.path.join(HERE, source), "-o", out, *options, status=None)
    if done.returncode != 0:
        fail(done.stderr)


def need_original():
    if not os.path.exists("/usr/include/gperftools/malloc_extension.h"):
        print("skipped: no gperftools here (scripts/setup test installs libgoogle-perftools-dev)")
        sys.exit(77)
