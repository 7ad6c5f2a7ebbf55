"""Runs one row under one allocator and says what it used. Owns the bench's temporary directory."""
import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import rows

TIMEOUT_S = 180
REAL_DIR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "real")


@dataclass
class Allocator:
    name: str
    path: str    # "" for glibc
    role: str    # "ours", "peer", or "noise": glibc again under another name
    env: dict = field(default_factory=dict)    # {tmp} is filled in


def find_program(name):
    """Debian's own first: what stands earlier in PATH may be a wrapper script or a static build."""
    path = os.path.join("/usr/bin", name)
    return path if os.access(path, os.X_OK) else shutil.which(name)


def missing_programs(row):
    """The programs of the system that a row lacks, with their packages, or ''."""
    if row.group != "real":
        return ""
    wanted = (row.command.split()[0],) + row.needs
    lacking = [name for name in wanted if not find_program(name)]
    return ", ".join(f"{name} (package {rows.PACKAGES[name]})" for name in lacking)


class Bench:
    """Where the programs are, how much work a row does, and a place for scratch files."""

    def __init__(self, bin_dir, quick):
        self.bin_dir = os.path.abspath(bin_dir)
        self.quick = quick
        self.tmp = tempfile.mkdtemp(prefix="vt-bench-")

    def close(self):
        shutil.rmtree(self.tmp, ignore_errors=True)

    def work(self, row):
        return max(1, row.work // rows.QUICK_DIVISOR) if self.quick else row.work

    def words(self, template, row):
        values = {"work": self.work(row), "real": REAL_DIR, "tmp": self.tmp}
        words = []
        for word in shlex.split(template):
            if word == "{idle}":
                words += (rows.QUICK_IDLE_SECONDS if self.quick else rows.IDLE_SECONDS).split()
            else:
                words.append(word.format(**values))
        return words

    def command(self, row):
        words = self.words(row.command, row)
        if row.group == "real":
            words[0] = find_program(words[0]) or words[0]
        else:
            words[0] = os.path.join(self.bin_dir, words[0])
        return words

    def prepare(self, row):
        """Writes what a row reads. The same for every allocator, so it is not measured."""
        path = os.path.join(self.tmp, f"source-{self.work(row)}.c")
        if path in self.command(row) and not os.path.exists(path):
            with open(path, "w") as out:
                subprocess.run([sys.executable, os.path.join(REAL_DIR, "generate_source.py"),
                                str(self.work(row))], stdout=out, check=True)

    def run(self, row, allocator):
        """A dict of figures; with "error" in it if the run cannot be counted."""
        paths = {name: os.path.join(self.tmp, name) for name in ("usage", "stdout", "stderr")}
        for path in paths.values():
            if os.path.exists(path):
                os.unlink(path)
        error = self._run_to_end(row, allocator, paths)
        complaint = read_text(paths["stderr"])
        if error is None and "cannot be preloaded" in complaint:
            error = complaint.strip().splitlines()[0]
        if error is None:
            error, result = read_result(row, paths)
            if error is None:
                return result
        last_line = (complaint.strip().splitlines() or [""])[-1]
        return {"error": error, "stderr": last_line[:200] if last_line not in error else ""}

    def _run_to_end(self, row, allocator, paths):
        preload = allocator.path or ("libc.so.6" if row.own_malloc else "")
        argv = [os.path.join(self.bin_dir, "launch"), "-o", paths["usage"]]
        argv += ["-p", preload] if preload else []
        env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        env.update(row.env, LC_ALL="C")
        env.update({name: text.format(tmp=self.tmp) for name, text in allocator.env.items()})
        with open(paths["stdout"], "w") as out, open(paths["stderr"], "w") as err:
            program = subprocess.Popen(argv + self.command(row), stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=err, env=env, start_new_session=True)
            try:
                if row.driver:
                    subprocess.run(self.words(row.driver, row), stdin=subprocess.DEVNULL,
                                   stdout=err, stderr=err, env=env, timeout=TIMEOUT_S, check=True)
                program.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                return f"still running after {TIMEOUT_S} s"
            except subprocess.CalledProcessError as failure:
                return f"the driver ended with {failure.returncode}"
            finally:
                if program.poll() is None:
                    os.killpg(program.pid, signal.SIGKILL)
                    program.wait()
        return None


def read_text(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def read_result(row, paths):
    """(error, None) or (None, figures)."""
    try:
        usage = json.loads(read_text(paths["usage"]))
    except ValueError:
        return "no usage was written", None
    if usage["signal"]:
        return f"ended by signal {usage['signal']}", None
    if usage["exit"]:
        return f"ended with {usage['exit']}", None

    figures, answer = {}, ""
    if row.group == "real":
        if row.compare_output:
            with open(paths["stdout"], "rb") as file:
                answer = hashlib.sha256(file.read()).hexdigest()[:16]
    else:
        try:
            figures = json.loads(read_text(paths["stdout"]))
        except ValueError:
            return "no result line", None
        answer = f"{figures.pop('ops', '')}/{figures.pop('check')}"
    return None, {
        "cpu": usage["user"] + usage["system"],
        "wall": usage["wall"],
        "peak_kib": usage["peak_kib"],
        "faults": usage["minor_faults"] + usage["major_faults"],
        "switches": usage["switches"],
        "answer": answer,
        "figures": figures,
    }
