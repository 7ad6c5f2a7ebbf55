#!/usr/bin/env python3
"""remote.py - profiles of host:port/pprof/..., from a server on the loopback that lives as long as this test.

It serves real profiles of Debian's libraries and names them by google-pprof --symbols, so its own remote mode can be
asked the same. What the server was asked is looked at too.
"""
import http.server
import socket
import threading
import time

from tool import *

folder = scratch()
program = build_work(folder)
heap = heap_of(folder, program)
if heap is None:
    skip("no libtcmalloc_and_profiler (scripts/setup test installs libgoogle-perftools-dev)")
cpu = cpu_of(folder, program)
je = jemalloc_of(folder, program)
text = open(heap).read()
maps = text[text.index("MAPPED_LIBRARIES:"):]
contention = ("--- contention\ncycles/second=1000000000\nsampling period=1\n" +
              "".join(f"{(i + 1) * 1000000} {i + 1} @{l.split('@')[1]}\n" for i, l in
                      enumerate(l for l in text.splitlines() if "] @ 0x" in l)) + maps)
asked = []


class Server(http.server.BaseHTTPRequestHandler):
    pages = {"/pprof/heap": open(heap, "rb").read(), "/pprof/growth": text.replace("@ heapprofile", "@ growth", 1).encode(),
             "/pprof/contention": contention.encode(), "/pprof/profile": open(cpu, "rb").read(),
             "/pprof/cmdline": program.encode() + b"\0--flag\0", "/pre/pprof/heap": open(heap, "rb").read(),
             "/pre/pprof/cmdline": b"/bin/other\n", "/bare/pprof/heap": open(heap, "rb").read(),
             "/page/pprof/heap": b"<html><body>no such method</body></html>", "/empty/pprof/heap": b""}
    if je:
        pages["/je/pprof/heap"] = open(je, "rb").read()

    def answer(self, body, status=200):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        asked.append((self.command, self.path))
        path = self.path.split("?")[0]
        if path.startswith(("/slow/", "/mute/" if path.endswith("heap") else "/never/")):
            stop.wait(60)
            return
        if path.startswith("/half/") and path.endswith("heap"):  # so many bytes are promised, and half of them come
            body = self.pages["/pprof/heap"]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:len(body) // 2])
            self.wfile.flush()
            if path.startswith("/half/stalls"):
                stop.wait(60)
            self.close_connection = True
            return
        if path == "/lost/pprof/symbol":
            stop.wait(60)
            return
        if path == "/lost/pprof/heap":
            return self.answer(self.pages["/pprof/heap"])
        if path == "/moved/pprof/heap":
            self.send_response(302)
            self.send_header("Location", "/pprof/heap")
            self.end_headers()
            return
        if path.endswith("/pprof/symbol") and not path.startswith("/bare"):
            self.answer(b"num_symbols: 1234\n" if not path.startswith("/stripped") else b"num_symbols: 0\n")
        elif path.startswith("/stripped"):
            self.answer(self.pages["/pprof/heap"])
        elif path in self.pages:
            self.answer(self.pages[path])
        else:
            self.answer(b"no such page here\nmore\n", 404)

    do_HEAD = do_GET

    def do_POST(self):
        asked.append((self.command, self.path))
        addresses = self.rfile.read(int(self.headers["Content-Length"])).decode().split("+")
        asked.append(("addresses", len(addresses)))
        self.answer("".join(f"{a}\t{NAMES.get(int(a, 16), a)}\n" for a in addresses).encode())

    def log_message(self, *_):
        pass


class Slow(http.server.ThreadingHTTPServer):
    daemon_threads = True


# what the server knows: from google-pprof, or from ours
def name_all(profiles):
    pcs = set()
    for pc in re.findall(r"0x[0-9a-f]+", "".join(l for l in profiles if "@" in l)):
        pcs |= {int(pc, 16), int(pc, 16) - 1}
    pcs = sorted(pcs)
    request = maps + "\n".join("0x%x" % pc for pc in pcs) + "\n"
    names = out(PEER_PPROF or PPROF, "--symbols", program, stdin=request.encode()).splitlines()
    return {pc: name for pc, name in zip(pcs, names) if name != "??"}


NAMES = name_all(text.splitlines())
stop = threading.Event()
server = Slow(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
host = f"127.0.0.1:{server.server_address[1]}"
kept = os.path.join(folder, "kept")
ENV = {"PPROF_TMPDIR": kept, "JEPROF_TMPDIR": kept, "http_proxy": "", "HTTP_PROXY": "", "no_proxy": "*"}

# ---- without a program: names from the server
local, local_total = rows(out(PPROF, "--text", "--show_bytes", program, heap))
status, ours, errors = run(PPROF, "--text", "--show_bytes", host + "/pprof/heap", env=ENV)
check("heap: exit", status, 0)
table, total = rows(ours)
check("heap: total", total, local_total)
for name in ("main", "app::small", "app::deep", "app::large"):
    check(f"heap: {name}", table.get(name, (0, 0))[1], local[name][1])
check("asked in order", [a for a in asked if a[0] != "addresses"],
      [("GET", "/pprof/cmdline"), ("GET", "/pprof/heap"), ("GET", "/pprof/symbol"), ("POST", "/pprof/symbol")])
files = os.listdir(kept)
check("kept under the old name", [bool(re.fullmatch(r"work\.\d+\.%s\.pprof\.heap" % re.escape(host), f)) for f in files], [True])
check("kept as it came", open(os.path.join(kept, files[0]), "rb").read(), Server.pages["/pprof/heap"])
for part in ("Using remote profile at " + host + "/pprof/heap.", f"Fetching /pprof/heap profile from http://{host}/pprof/heap to\n  {kept}/work.",
             "Wrote profile to " + os.path.join(kept, files[0]), "Dynamically gathered profile is in " + os.path.join(kept, files[0])):
    check_has("heap: what it says", errors, part)
check_has("heap: what to do next", errors, f"If you want to investigate this profile further, you can do:\n\n  pprof \\\n    {program} \\\n    {kept}/{files[0]}\n")
apart = {k: os.path.join(folder, k) for k in ("PPROF_TMPDIR", "JEPROF_TMPDIR", "HOME")}
for tool, env, place in ((PPROF, {}, apart["PPROF_TMPDIR"]), (JEPROF, {}, apart["JEPROF_TMPDIR"]),
                         (PPROF, {"PPROF_TMPDIR": ""}, apart["HOME"] + "/pprof"), (JEPROF, {"JEPROF_TMPDIR": ""}, apart["HOME"] + "/jeprof")):
    os.makedirs(os.path.dirname(place), exist_ok=True)
    out(tool, "--text", host + "/pprof/heap", env={**ENV, **apart, **env})
    check(f"{os.path.basename(tool)} {env}: kept in its own folder", len(os.listdir(place)), 1)
if PEER_PPROF and shutil.which("curl"):
    theirs, their_total = rows(out(PEER_PPROF, "--text", "--show_bytes", host + "/pprof/heap", env=ENV))
    check("as google-pprof: total", total, their_total)
    for name in ("main", "app::small", "app::deep", "app::large"):
        check(f"as google-pprof: {name}", table.get(name, (0, 0))[1], theirs.get(name, (0, 0))[1])

# ---- with a program: names from it, none asked for
asked.clear()
table, total = rows(out(PPROF, "--text", "--show_bytes", program, host + "/pprof/heap", env=ENV))
check("with a program: total", total, local_total)
check("with a program: as the file", table, local)
check("with a program: no names asked for", [p for _, p in asked if "symbol" in str(p)], [])

# ---- the other pages, by several ways of writing
_, total = rows(out(PPROF, "--text", "http://" + host + "/pprof/growth", env=ENV))
check("growth", round(total, 1), 5.1)
_, total = rows(out(PPROF, "--text", host + "/pprof/contention?seconds=5", env=ENV))
check("contention", total > 0, True)
check("contention: the query stays", ("GET", "/pprof/contention?seconds=5") in asked, True)
asked.clear()
_, ours, errors = run(PPROF, "--text", "--seconds=3", host, env=ENV)
check("cpu: total", rows(ours)[1], rows(out(PPROF, "--text", program, cpu))[1])
check("cpu: seconds", ("GET", "/pprof/profile?seconds=3") in asked, True)
check_has("cpu: says so", errors, f"Gathering CPU profile from http://{host}/pprof/profile?seconds=3 for 3 seconds to")
check_has("cpu: says so", errors, "Be patient...")
_, _, errors = run(VITRINE, "top", "--seconds=4", host + "/pprof/profile", env=ENV)
check("vitrine --seconds", (("GET", "/pprof/profile?seconds=4") in asked, f"vitrine: 'http://{host}/pprof/profile?seconds=4' takes 4 seconds\n" in errors), (True, True))
asked.clear()
_, total = rows(out(PPROF, "--text", host + "/pre/pprof/heap", env=ENV))
check("a prefix is for all pages", [p for _, p in asked if isinstance(p, str) and not p.startswith("/pre/")], [])
if je:
    _, ours, _ = run(JEPROF, "--text", "--show_bytes", "--retain=app::", "--exclude=x", host + "/je/pprof/heap", env=ENV)
    check("jeprof: filters go to the server", ("POST", "/je/pprof/symbol?retain=app%3A%3A&exclude=x") in asked, True)
    check("jeprof: total", rows(ours)[1] > 5e6, True)
check("redirected", rows(out(PPROF, "--text", "--show_bytes", host + "/moved/pprof/heap", env=ENV))[1], local_total)
check("a difference", out(PPROF, "--text", "--base=" + host + "/pprof/heap", host + "/pprof/heap", env=ENV), "")
farm = host.replace("127.0.0.1", "localhost") + "@2/pprof/heap"
status, ours, errors = run(PPROF, "--text", "--show_bytes", farm, env=ENV)
check_has("name@N is as many servers", errors, "Using remote profile at 1.localhost:")
check_has("name@N: how many", errors, "Fetching 2 profiles, Be patient...\n")
check("name@N: they add up", rows(ours)[1], 2 * local_total)
status, ours, errors = run(VITRINE, "top", "--json", host + "/pprof/heap", env=ENV)
check("vitrine top: exit", status, 0)
check("vitrine top", json.loads(ours)["total"], local_total)
check("raw, for later", rows(out(PPROF, "--text", "--show_bytes", "-", stdin=subprocess.run(
    [PPROF, "--raw", host + "/pprof/heap"], capture_output=True, env=dict(os.environ, **ENV)).stdout))[1], local_total)

# ---- what goes wrong: one line that says what, and exit 3 (the old names: 1)
taken = socket.socket()  # nobody listens there, and nobody else will
taken.bind(("127.0.0.1", 0))
nobody = f"127.0.0.1:{taken.getsockname()[1]}"
ROWS = [
    (nobody + "/pprof/heap", f"'http://{nobody}/pprof/heap': no server there: "),
    (host + "/nothing/pprof/heap", f"'http://{host}/nothing/pprof/heap': the server answers 404: no such page here"),
    (host + "/page/pprof/heap", "is a web page, not a profile"),
    (host + "/empty/pprof/heap", "is empty"),
]
for url, part in ROWS:
    status, ours, errors = run(VITRINE, "top", url, env=ENV)
    check(f"{url}: exit", status, 3)
    check_has(f"{url}: message", errors, part)
    check(f"{url}: one line", (ours, errors.count("\n")), ("", 1))
    status, ours, errors = run(PPROF, "--text", url, env=ENV)
    check(f"pprof {url}: exit", (status, ours), (1, ""))
    check_has(f"pprof {url}: message", errors, part)
status, _, errors = run(VITRINE, "top", host + "/stripped/pprof/heap", env=ENV)
check("a server without names: exit", status, 0)
check_has("a server without names", errors, "the server has no names")
status, _, errors = run(VITRINE, "top", host + "/bare/pprof/heap", env=ENV)
check("a server without the page: exit", status, 0)
check_has("a server without the page", errors, "no names from the server: 'http://" + host + "/bare/pprof/symbol': the server answers 404")
status, _, errors = run(PPROF, "--text", program, "missing.heap", env=ENV)
check_has("a file that is missing is no URL", errors, "'missing.heap': cannot open: No such file or directory")
# a server that never answers, one that sends half, one that takes no connection: --timeout, or what they do themselves
full = socket.socket()
full.bind(("127.0.0.1", 0))
full.listen(0)  # nobody accepts
deaf = f"127.0.0.1:{full.getsockname()[1]}"
SILENT = [
    (host + "/slow/pprof/heap", f"'http://{host}/slow/pprof/cmdline': no answer within the time: "),
    (host + "/mute/pprof/heap", f"'http://{host}/mute/pprof/heap': no answer within the time: "),
    (host + "/half/stalls/pprof/heap", f"'http://{host}/half/stalls/pprof/heap': no answer within the time: "),
    (host + "/half/pprof/heap", f"'http://{host}/half/pprof/heap': cannot fetch: "),
    (deaf + "/pprof/heap", f"'http://{deaf}/pprof/cmdline': no answer within the time: "),
]


def waited(errors, took_s):
    """Has the command given up after the second that --timeout says, and what a busy machine adds? The server would take a minute, as it would itself.
    The second is for all that is asked: the message tells what earlier answers left of it."""
    m = re.search(r" after (\d+) m", errors)
    return m is not None and took_s >= 1.0 and int(m.group(1)) < 30000


def run_until(part, *argv):
    """The server must have answered what comes before within the second: where it had no core to do so, it is asked again."""
    for _ in range(3):
        asked.clear()
        since = time.monotonic()
        status, ours, errors = run(*argv, env=ENV)
        took_s = time.monotonic() - since
        if part in errors:
            break
    return status, ours, errors, took_s


for url, part in SILENT:
    is_silent = "cannot fetch" not in part
    status, ours, errors, took_s = run_until(part, VITRINE, "top", "--timeout=1", url)
    check(f"{url}: exit, one line", (status, ours, errors.count("\n")), (3, "", 1))
    check_has(f"{url}: message", errors, "vitrine: error: " + part)
    check(f"{url}: --timeout", waited(errors, took_s), is_silent)
    check(f"{url}: no names are asked for", [p for _, p in asked if "symbol" in str(p)], [])
    kept_before = sorted(os.listdir(kept))
    status, ours, errors, took_s = run_until(part, PPROF, "--text", "-timeout=1", program, url)
    check(f"pprof {url}: -timeout", waited(errors, took_s), is_silent)
    check(f"pprof {url}: exit", (status, ours), (1, ""))
    check_has(f"pprof {url}: message", errors, "pprof: error: " + part)
    check(f"pprof {url}: half a profile is not kept", sorted(os.listdir(kept)), kept_before)
LOST = f"no names from the server: 'http://{host}/lost/pprof/symbol': no answer within the time"
status, ours, errors, took_s = run_until(LOST, VITRINE, "top", "--json", "--timeout=1", host + "/lost/pprof/heap")
check("names that never come: the profile is shown", (status, json.loads(ours)["total"] if status == 0 else errors), (0, local_total))
check_has("names that never come: said", errors, LOST)
full.close()

# how long it would wait, from a libcurl that only tells
STUB = r"""
#include <stdarg.h>
#include <stdio.h>
int curl_global_init(long flags) { return 0; }
void *curl_easy_init(void) { return &curl_easy_init; }
void curl_easy_cleanup(void *c) {}
int curl_easy_setopt(void *c, int option, ...) {
    va_list ap;
    va_start(ap, option);
    if (option == 155) fprintf(stderr, "CURLOPT_TIMEOUT_MS %ld\n", va_arg(ap, long));
    va_end(ap);
    return 0;
}
int curl_easy_perform(void *c) { return 7; }
int curl_easy_getinfo(void *c, int what, ...) { return 0; }
const char *curl_easy_strerror(int code) { return "told"; }
"""
stubs = os.path.join(folder, "stubs")
os.mkdir(stubs)
out(os.environ.get("CC", "cc"), "-w", "-shared", "-fPIC", "-x", "c", "-", "-o", os.path.join(stubs, "libcurl.so.4"), stdin=STUB.encode())
WAITS = [("/pprof/heap", [], ["60", "60"]), ("/pprof/profile", [], ["60", "90"]), ("/pprof/profile", ["--seconds=5"], ["60", "65"]),
         ("/pprof/profile", ["--seconds=5", "--timeout=7"], ["7", "7"]), ("/pprof/heap", ["--timeout=700"], ["700", "700"])]
for page, options, expected in WAITS:  # for the program's name, and for the profile
    for argv in ([VITRINE, "top"], [PPROF, "--text"]):
        errors = run(*argv, *options, "127.0.0.1:9" + page, env=dict(ENV, LD_LIBRARY_PATH=stubs))[2]
        check(f"{os.path.basename(argv[0])} {page} {options}: waits", [str((int(ms) + 999) // 1000) for ms in re.findall(r"CURLOPT_TIMEOUT_MS (\d+)", errors)], expected)
stop.set()
server.shutdown()
done()
