#!/usr/bin/env python3
"""bombs.py - input that has no end, or is far more than it looks: memory and time stay bounded, and one line says what and where.

Memory is the most that the command had resident, as the kernel counts it.
"""
import gzip
import socket
import struct
import threading
import time
import zlib

import proto
from tool import *

folder = scratch()
MiB = 1 << 20
PLAIN_MiB = 60  # what the command may have besides what it reads; an address sanitizer has more
IS_ASAN = not IS_PLAIN


def file(name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def measured(*argv, stdin=subprocess.DEVNULL, within=120):
    """status, stderr, MiB resident at most, seconds"""
    began = time.monotonic()
    p = subprocess.Popen(argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, no_proxy="*"))
    timer = threading.Timer(within, p.kill)
    timer.start()
    errors = []
    reader = threading.Thread(target=lambda: errors.append(p.stderr.read()))
    reader.start()
    p.stdout.read()
    reader.join()
    _, ended, used = os.wait4(p.pid, 0)
    timer.cancel()
    p.returncode = os.waitstatus_to_exitcode(ended)
    return p.returncode, errors[0].decode(errors="replace"), used.ru_maxrss / 1024, time.monotonic() - began


def bounded(what, argv, most_mib, part, status=3, **more):
    seen, errors, mib, _ = measured(*argv, **more)
    check(f"{what}: exit", seen, status)
    check_has(f"{what}: message", errors, part)
    check(f"{what}: no more than {most_mib} MiB ({mib:.0f})", IS_ASAN or mib <= most_mib, True)


# ---- packed files

def zstd_frame(n_blocks, window_log=20, block=128 << 10, n_plain=0):
    """A frame of blocks that repeat one byte: 4 bytes become 128 KiB; in front n_plain bytes that are themselves."""
    header = b"\x28\xb5\x2f\xfd" + b"\x00" + bytes([(window_log - 10) << 3])
    for at in range(0, n_plain, block):
        n = min(block, n_plain - at)
        header += (n << 3).to_bytes(3, "little") + b"a" * n
    body = (block << 3 | 1 << 1).to_bytes(3, "little") + b"a"
    return header + body * (n_blocks - 1) + (block << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"a"


def gzip_of_zeros(n_mib):
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(packer.compress(bytes(MiB)) for _ in range(n_mib)) + packer.flush()


def gzip_endless():
    """A member that never ends, and what repeats of it."""
    head, more = gzip_of_zeros(1)[:-8], b""
    packer = zlib.compressobj(9, wbits=31)
    start = packer.compress(bytes(MiB)) + packer.flush(zlib.Z_FULL_FLUSH)
    more = packer.compress(bytes(MiB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return start, more


bomb = file("bomb.zst", zstd_frame(8192))
check("a file of 33 kB that is 1 GB", os.path.getsize(bomb), 8192 * 4 + 6)
larger = file("larger.zst", zstd_frame(33600))
for name, path in (("1 GB", bomb), ("4.2 GB", larger)):
    for tool, status in ((VITRINE, 3), (PPROF, 1), (JEPROF, 1)):
        bounded(f"{os.path.basename(tool)}: zstd, {name}", [tool, "top" if tool == VITRINE else "--text", path], 64 + 40 + PLAIN_MiB,
                f"'{path}': its first ", status=status)
check_has("it says how much, and what to do", measured(VITRINE, "top", bomb)[1], "bytes unpack to more than 64 MiB; --limit=SIZE reads more\n")
bounded("zstd: many frames", [VITRINE, "top", file("frames.zst", zstd_frame(2) * 4096)], 64 + 40 + PLAIN_MiB, "unpack to more than 64 MiB")
bounded("zstd: a large window", [VITRINE, "top", file("window.zst", zstd_frame(4, window_log=31))], PLAIN_MiB, "wants a window of more than 128 MiB")
bounded("zstd: a window within bounds", [VITRINE, "top", file("window27.zst", zstd_frame(4, window_log=27))], 20 + PLAIN_MiB, "is text, but of no kind of profile")
zeros = gzip_of_zeros(300)
bounded("gzip", [VITRINE, "top", file("bomb.gz", zeros)], 64 + 40 + PLAIN_MiB, "unpack to more than 64 MiB")
bounded("gzip: many members", [VITRINE, "top", file("members.gz", gzip_of_zeros(8) * 40)], 64 + 40 + PLAIN_MiB, "unpack to more than 64 MiB")
bounded("--limit=8M", [VITRINE, "top", "--limit=8M", bomb], 8 + 10 + PLAIN_MiB, "unpack to more than 8 MiB; --limit=SIZE reads more")
bounded("--limit=0 reads all of it", [VITRINE, "top", "--limit=0", file("all.gz", zeros)], 500 + PLAIN_MiB, "of no kind of profile")
bounded("--limit=400M reads all of it", [PPROF, "--text", "--limit=400M", file("all.gz", zeros)], 500 + PLAIN_MiB, "of no kind of profile", status=1)
bounded("--limit that is no size", [VITRINE, "top", "--limit=much", bomb], PLAIN_MiB, "'--limit' wants a number of bytes such as 512M, not 'much'", status=2)
bounded("pprof --limit that is no size", [PPROF, "--text", "--limit=much", bomb], PLAIN_MiB, "Option limit is a number of bytes such as 512M, not 'much'", status=1)
# the default limits: 64 MiB, past these 1000 times what was packed, and 2 GiB (tests/unit/report/test_read.c)
bounded("zstd: 1 : 500", [VITRINE, "top", file("500.zst", zstd_frame(800, n_plain=200 << 10))], 2 * 101 + PLAIN_MiB, "is text, but of no kind of profile")
bounded("zstd: 1 : 950", [VITRINE, "top", file("950.zst", zstd_frame(796, n_plain=104 << 10))], 2 * 101 + PLAIN_MiB, "is text, but of no kind of profile")
past = file("past.zst", zstd_frame(8192, n_plain=80 << 10))
bounded("zstd: past 1 : 1000", [VITRINE, "top", past], 2 * 81 + PLAIN_MiB, "; --limit=SIZE reads more")
n_packed, n_mib = map(int, re.search(r"its first (\d+) bytes unpack to more than (\d+) MiB;", measured(VITRINE, "top", past)[1]).groups())
check(f"zstd: past 1 : 1000 ({n_packed} bytes)", (n_mib, 80 <= n_mib < 84), (n_packed * 1000 // MiB, True))
twice = file("twice.gz", gzip.compress(gzip.compress(b"main;a 3\n")))
bounded("packed twice", [VITRINE, "top", twice], PLAIN_MiB, "is packed twice")

# ---- what is packed well and is a profile

good = os.path.join(folder, "good.folded.gz")  # 105 MB, 1 : 250
with gzip.open(good, "wb", 6) as f:
    for _ in range(80):
        f.write(b"".join(b"main;work;leaf%d 1\n" % (i % 7) for i in range(65536)))
status, errors, _, _ = measured(VITRINE, "top", good)
check("a large profile that packs well", (status, errors), (0, ""))

# ---- files, pipes

sparse = os.path.join(folder, "sparse")
with open(sparse, "wb") as f:
    f.truncate(1 << 40)
bounded("a terabyte of nothing", [VITRINE, "top", "--limit=16M", sparse], 16 + 20 + PLAIN_MiB, f"'{sparse}': has more than 16 MiB; --limit=SIZE reads more")
with open("/dev/zero", "rb") as zero:
    bounded("standard input without an end", [VITRINE, "top", "--limit=16M", "-"], 16 + 20 + PLAIN_MiB, "'standard input': has more than 16 MiB", stdin=zero)
with open("/dev/zero", "rb") as zero:
    bounded("addresses without an end", [PPROF, "--symbols", "--limit=16M", "/bin/ls"], 16 + 20 + PLAIN_MiB, "'standard input': has more than 16 MiB", status=1, stdin=zero)


def pour(path, first, more):
    def work():
        try:
            with open(path, "wb") as f:
                f.write(first)
                while True:
                    f.write(more)
        except BrokenPipeError:
            pass

    threading.Thread(target=work, daemon=True).start()


fifo = os.path.join(folder, "endless")
os.mkfifo(fifo)
pour(fifo, *gzip_endless())
bounded("a FIFO without an end, packed", [VITRINE, "top", fifo], 64 + 40 + PLAIN_MiB, f"'{fifo}': its first ")
empty = gzip.compress(b"")
pour(fifo, empty, empty * 1000)
bounded("members of nothing without an end", [VITRINE, "top", "--limit=4M", fifo], 4 + 20 + PLAIN_MiB, f"'{fifo}': has more than 4 MiB")
r, w = os.pipe()
os.write(w, gzip.compress(b"main;a 3\nmain;b 4\n"))
os.close(w)
p = subprocess.run([VITRINE, "top", f"/dev/fd/{r}"], pass_fds=[r], capture_output=True, text=True, timeout=60)
check("a pipe on the command line is read from its beginning", (p.returncode, p.stderr), (0, ""))
check_has("a pipe on the command line is read from its beginning", p.stdout, "samples, 7 of 7 shown")

# ---- frames that stand for far more than they are


def inlined(n_lines, n_frames, n_samples=1):
    """Stacks that name one location so often; it has so many inlined calls."""
    field, varint = proto.field, proto.varint
    body = field(1, field(1, 1) + field(2, 2))
    for i in range(n_samples):
        body += field(2, field(1, b"\x01" * n_frames + varint(i + 2)) + field(2, b"\x01"))
    body += field(4, field(1, 1) + field(3, 0x1000) + b"".join(field(4, field(1, i % 100 + 1) + field(2, i + 1)) for i in range(n_lines)))
    body += b"".join(field(4, field(1, i + 2) + field(3, 0x2000 + i) + field(4, field(1, i + 1) + field(2, 1))) for i in range(n_samples))
    body += b"".join(field(5, field(1, i + 1) + field(2, i + 3)) for i in range(100 + n_samples))
    return gzip.compress(body + b"".join(field(6, s) for s in (b"", b"samples", b"count", *(b"fn%d" % i for i in range(100 + n_samples)))))


MORE = "frames with their inlined calls; --limit=SIZE shows more"
deep = file("inlined.pb.gz", inlined(256, 4000000))
check("4 kB that stand for a billion frames", os.path.getsize(deep) < 8000, True)
bounded("inlined calls", [VITRINE, "top", deep], 25 * 4 * 4 + 60 + PLAIN_MiB, f"error: the profile's stacks have more than 100")
check_has("inlined calls: what to do", measured(VITRINE, "top", deep)[1], MORE)
deep = file("inlined.100000.pb.gz", inlined(256, 100000))
for way in (["tree"], ["flame", "-o", os.path.join(folder, "x.svg")], ["graph", "-o", os.path.join(folder, "x.svg")], ["top", "--by=lines"], ["peek", "fn1"]):
    bounded(f"inlined calls, {way[0]}", [VITRINE, *way, deep], 60 + PLAIN_MiB, MORE)
bounded("inlined calls, convert", [VITRINE, "convert", "--to=collapsed", deep, os.path.join(folder, "x")], 60 + PLAIN_MiB, MORE)
bounded("inlined calls, diff", [VITRINE, "diff", deep, deep], 100 + PLAIN_MiB, MORE)
bounded("inlined calls, pprof", [PPROF, "--text", deep], 60 + PLAIN_MiB, MORE, status=1)
small = file("inlined.small.pb.gz", inlined(256, 10000))
check("inlined calls that are not so many", measured(VITRINE, "top", small)[:2], (0, ""))
check("--limit=1G takes more of them", measured(VITRINE, "top", "--limit=1G", deep)[:2], (0, ""))
check("--limit=0 takes all of them", measured(VITRINE, "top", "--limit=0", deep)[:2], (0, ""))
wide = file("wide.pb.gz", inlined(20, 60, n_samples=5000))  # 6 million calls
check_has("many calls, tree: a line", out(VITRINE, "tree", wide), "there are more than 4194303 calls: the deeper ones count for their callers; --limit=SIZE takes more\n")

def chain(n):
    """heaptrack's file: each trace is called by the one before, and allocates."""
    lines = ["v 10500 3", "s 1 a", "i 1 0 1", *(f"t 1 {i:x}" for i in range(n)), *(f"a 1 {i + 1:x}" for i in range(n)), *(f"+ {i:x}" for i in range(n))]
    return ("\n".join(lines) + "\n# strings: 1\n").encode()


deep = file("chain.gz", gzip.compress(chain(10000)))  # 50 million frames
bounded("heaptrack: traces in one chain", [VITRINE, "top", deep], 40 + PLAIN_MiB, f"error: '{deep}': its stacks have more than 5")
check_has("heaptrack: traces in one chain: what to do", measured(VITRINE, "top", deep)[1], "frames; --limit=SIZE reads more\n")
bounded("heaptrack: traces in one chain, pprof", [PPROF, "--text", deep], 40 + PLAIN_MiB, "frames; --limit=SIZE reads more", status=1)
check("heaptrack: --limit=1G reads more", measured(VITRINE, "top", "--limit=1G", deep)[:2], (0, ""))
check("heaptrack: a chain that is not so long", measured(VITRINE, "top", file("short", chain(2000)))[:2], (0, ""))

# ---- threads of a jemalloc profile, each by itself


def threads_of(header, stacks):
    """A profile whose header names these threads; (addresses, threads) of its stacks."""
    lines = ["heap_v2/0", "  t*: 1: 1 [0: 0]", *(f"  t{i}: 1: 1 [0: 0]" for i in header)]
    for addresses, threads in stacks:
        lines += ["@ " + " ".join(f"{a:#x}" for a in addresses), "  t*: 1: 1 [0: 0]", *(f"  t{i}: 1: 1 [0: 0]" for i in threads)]
    return ("\n".join(lines) + "\n\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 00:00 0 /none/app\n").encode()


def each_thread(path, **more):
    return run(JEPROF, "--text", "--show_bytes", "--thread=*", path, **more)


bounded("each thread: a terabyte of nothing", [JEPROF, "--text", "--thread=*", "--limit=16M", sparse], 16 + 20 + PLAIN_MiB,
        f"'{sparse}': has more than 16 MiB; --limit=SIZE reads more", status=1)
bounded("each thread: a packed bomb", [JEPROF, "--text", "--thread=*", bomb], 64 + 40 + PLAIN_MiB, f"'{bomb}': its first ", status=1)
check_has("each thread: no file", each_thread(os.path.join(folder, "none"))[2], "cannot open: No such file or directory")
some = threads_of([0, 0, 3, 10, 7], [((0x400011, 0x400021), (10, 0, 3)), ((0x400031,), (3, 10))])
status, plain, _ = each_thread(file("some.heap", some))
check("each thread: once, by its number", (status, re.findall(r"^Total .*", plain, re.M)), (0, ["Total (t0): 1 B", "Total (t3): 2 B", "Total (t10): 2 B"]))
check("each thread is what that thread is", plain, "".join(out(JEPROF, "--text", "--show_bytes", f"--thread={i}", os.path.join(folder, "some.heap")) for i in (0, 3, 10)))
check("each thread: packed", each_thread(file("some.heap.gz", gzip.compress(some)))[:2], (0, plain))
r, w = os.pipe()
os.write(w, some)
os.close(w)
p = subprocess.run([JEPROF, "--text", "--show_bytes", "--thread=*", f"/dev/fd/{r}"], pass_fds=[r], capture_output=True, text=True, timeout=60)
check("each thread: a pipe, which can be read once", (p.returncode, p.stdout), (0, plain))
os.close(r)
status, text, _ = each_thread(file("header.heap", threads_of(range(20000), [((0x400011,), (3,))])))
check("each thread: those of the header that have no stack", (status, re.findall(r"^Total .*", text, re.M)), (0, ["Total (t3): 1 B"]))
status, text, _ = each_thread(file("many.heap", threads_of([], (((0x400011 + i,), (i,)) for i in range(20000)))))
check("each of 20,000 threads", (status, text.count("Total (t")), (0, 20000))
status, text, errors = each_thread(file("plain.folded", b"main;a 3\n"))
check("each thread of none", (status, text), (0, ""))
check_has("each thread of none: a line", errors, "warning: no thread is counted in '")
deep = file("deep.heap", threads_of([], [(range(0x400011, 0x404011), range(16384))]))
bounded("each thread: a stack of all of them", [JEPROF, "--text", "--thread=*", deep], 20 + PLAIN_MiB, "the stacks of its threads have more than 1", status=1)

# ---- names that stand for far more than they are


def doubled(n):
    """A function whose every parameter is the pair of the one before, twice: 2^n characters in 9 n."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

    def seen(i):
        return "S_" if i == 0 else "S" + (digits[(i - 1) // 36] if i > 36 else "") + digits[(i - 1) % 36] + "_"

    return "_Z1f1pI1aS0_E" + "".join(f"S_I{seen(i)}{seen(i)}E" for i in range(2, n + 1))


def doubled_rust(n):
    """The same of Rust: tuples of the tuple before."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    name, at = "IC1aTaaE", 4
    for _ in range(n):
        back = "B" + (digits[(at - 1) // 62] if at > 62 else "") + digits[(at - 1) % 62] + "_"
        at = len(name)
        name += f"T{back}{back}E"
    return "_R" + name + "E"


HEAP = b"heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @ 0x400011\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 00:00 0 /none/app\n"
for name, bomb_name in (("C++", doubled(30)), ("Rust", doubled_rust(30))):
    path = file("name.sym", f"--- symbol\nbinary=/none/app\n0x0000000000400010 {bomb_name}\n---\n--- heapprofile\n".encode() + HEAP)
    for tool in (VITRINE, PPROF):
        bounded(f"{os.path.basename(tool)}: a {name} name of 2^30 characters", [tool, "top" if tool == VITRINE else "--text", path], PLAIN_MiB, "", status=0, within=30)
    check_has(f"a {name} name of 2^30 characters stays as it is", out(VITRINE, "top", path), bomb_name[:40])
program = os.path.join(folder, "doubled")
out(os.environ.get("CC", "cc"), "-O0", "-no-pie", "-xc", "-", "-o", program, stdin=f'int f(void) __asm__("{doubled(30)}");\nint f(void) {{ return 0; }}\nint main(void) {{ return f(); }}\n'.encode())
begin = next(int(l.split()[0], 16) for l in out("nm", program).splitlines() if l.endswith(doubled(30)))
path = file("name.heap", f"heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @ {begin + 2:#x}\nMAPPED_LIBRARIES:\n"
            f"{begin & ~4095:08x}-{(begin & ~4095) + 4096:08x} r-xp {(begin & ~4095) - 0x400000:08x} 00:00 0 {program}\n".encode())
bounded("a symbol of 2^30 characters", [VITRINE, "top", path], PLAIN_MiB, "", status=0, within=30)
check_has("a symbol of 2^30 characters stays as it is", out(VITRINE, "top", path), doubled(30)[:40])
bounded("a symbol of 2^30 characters, its code", [VITRINE, "disasm", "_Z1f1p", path], PLAIN_MiB, "", status=0, within=30)

# ---- servers

START, MORE = gzip_endless()
ended = threading.Event()


def answer(c, page):
    """Writes the answer; what takes forever ends when the other side does."""
    ok = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
    if page.endswith(b"/cmdline") and not page.startswith(b"/chatty"):
        return c.sendall(ok + b"Content-Length: 4\r\n\r\n/app")
    kind = page.split(b"/")[1]
    if kind == b"doubled" and page.endswith(b"/symbol"):
        body = b"num_symbols: 1\n0x400010\t" + doubled(30).encode() + b"\n"
        return c.sendall(ok + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    if kind in (b"chatty", b"doubled") and page.endswith(b"/heap"):
        return c.sendall(ok + b"Content-Length: %d\r\n\r\n" % len(HEAP) + HEAP)
    if kind in (b"endless", b"chatty"):
        c.sendall(ok + b"\r\n")
        while True:
            c.sendall(bytes(MiB))
    if kind == b"packed":
        c.sendall(ok + b"Content-Encoding: gzip\r\n\r\n" + START)
        while True:
            c.sendall(MORE * 100)
    if kind == b"bomb":
        return c.sendall(ok + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(zeros) + zeros)
    if kind == b"drip":
        c.sendall(ok + b"\r\n")
        while not ended.wait(0.1):
            c.sendall(b"a")
    if kind == b"headers":
        c.sendall(ok)
        while not ended.wait(0.01):
            c.sendall(b"X-More: " + b"x" * 500 + b"\r\n")
    if kind == b"around":
        ended.wait(0.2)
        return c.sendall(b"HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\nLocation: " + page + b"\r\n\r\n")
    if kind == b"file":
        return c.sendall(b"HTTP/1.1 302 Found\r\nConnection: close\r\nContent-Length: 0\r\nLocation: file:///etc/passwd\r\n\r\n")
    if kind == b"short":
        return c.sendall(ok + b"Content-Length: 100000\r\n\r\n" + HEAP)
    if kind == b"negative":
        return c.sendall(ok + b"Content-Length: -5\r\n\r\n" + HEAP)
    if kind == b"huge":
        return c.sendall(ok + b"Content-Length: 99999999999999999999\r\n\r\n" + HEAP)
    return c.sendall(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")


def serve(c):
    with c:
        try:
            answer(c, c.recv(65536).split()[1])
        except (OSError, IndexError):
            pass


def accept(listener):
    while True:
        try:
            c, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=serve, args=(c,), daemon=True).start()


listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=accept, args=(listener,), daemon=True).start()
host = f"127.0.0.1:{listener.getsockname()[1]}"
for tool, status in ((VITRINE, 3), (PPROF, 1)):
    word, name = "top" if tool == VITRINE else "--text", os.path.basename(tool)
    os.environ["PPROF_TMPDIR"] = os.path.join(folder, "kept")
    bounded(f"{name}: a body without an end", [tool, word, "--limit=32M", f"{host}/endless/pprof/heap"], 32 + 30 + PLAIN_MiB,
            f"'http://{host}/endless/pprof/heap': has more than 32 MiB; --limit=SIZE reads more", status=status)
    bounded(f"{name}: a packed body that is a bomb", [tool, word, f"{host}/bomb/pprof/heap"], 64 + 40 + PLAIN_MiB, f"'http://{host}/bomb/pprof/heap': its first ", status=status)
    for kind in ("drip", "headers", "around"):
        seen, errors, _, seconds = measured(tool, word, "--timeout=2", f"{host}/{kind}/pprof/heap")
        check(f"{name}: {kind}: exit", seen, status)
        check(f"{name}: {kind}: --timeout is for all of it ({seconds:.1f} s)", seconds < 30, True)
        check_has(f"{name}: {kind}: message", errors, f"'http://{host}/{kind}/pprof/heap': ")
bounded("a packed body without an end", [VITRINE, "top", f"{host}/packed/pprof/heap"], 64 + 40 + PLAIN_MiB, f"'http://{host}/packed/pprof/heap': its first ")
bounded("a redirection to a file", [VITRINE, "top", f"{host}/file/pprof/heap"], PLAIN_MiB, "cannot fetch: ")
for kind in ("short", "negative", "huge"):
    seen, errors, _, _ = measured(VITRINE, "top", "--timeout=5", f"{host}/{kind}/pprof/heap")
    check(f"a wrong length, {kind}: ends", seen in (0, 3), True)
    if seen == 3:
        check_has(f"a wrong length, {kind}: message", errors, "cannot fetch: ")
# the name of its program and the names of its functions do not end: what is there is shown
seen, errors, mib, _ = measured(VITRINE, "top", "--limit=16M", f"{host}/chatty/pprof/heap")
check("names without an end: exit", seen, 0)
check_has("names without an end: message", errors, f"no names from the server: 'http://{host}/chatty': has more than 16 MiB")
check(f"names without an end: memory ({mib:.0f})", IS_ASAN or mib < 16 + 30 + PLAIN_MiB, True)
bounded("a server's name of 2^30 characters", [VITRINE, "top", f"{host}/doubled/pprof/heap"], PLAIN_MiB, "", status=0, within=30)
check_has("a server's name of 2^30 characters stays as it is", out(VITRINE, "top", f"{host}/doubled/pprof/heap"), doubled(30)[:40])
# all questions share one time
began = time.monotonic()
seen, errors, _, seconds = measured(VITRINE, "top", "--timeout=3", f"{host}/drip/pprof/profile?seconds=1")
check("--timeout: exit", seen, 3)
check_has("--timeout: message", errors, "no answer within the time: ")
ended.set()
listener.close()
done()
