#!/bin/bash
# python3: the same output, with its own small-object allocator and without it, threads and forked
# pools included.
. "$(dirname "$0")/../risk/lib.sh"
PY=/usr/bin/python3
[ -x "$PY" ] || skip "no $PY"

cat >"$TMP/script.py" <<'END'
import collections, concurrent.futures, ctypes, gc, hashlib, json, multiprocessing, os, random, re, subprocess, sys
import threading, zlib
random.seed(5)

def structures(seed):
    r = random.Random(seed)
    d = {r.random(): [r.randrange(1000)] * r.randrange(30) for _ in range(5000)}
    t = [tuple(v) for v in d.values()]
    s = json.dumps(sorted(map(len, t)))
    words = re.findall(r"\d+", s * 20)
    return hashlib.sha256("".join(words).encode()).hexdigest()[:16]

def strings(n):
    parts = collections.deque(maxlen=1000)
    for i in range(n):
        parts.append("x" * (i * 7919 % 5000))
    return zlib.crc32("".join(parts).encode())

def in_threads():
    out = {}
    def work(i):
        out[i] = (structures(i), strings(3000))
    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    [t.start() for t in threads]; [t.join() for t in threads]
    return sorted(out.items())

if __name__ == "__main__":
    print(structures(1), strings(20000))
    print(in_threads())
    context = multiprocessing.get_context("fork")
    with context.Pool(4) as pool:
        print(pool.map(structures, range(12)))
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as ex:
        print(list(ex.map(strings, [100, 2000, 5000])))
    pid = os.fork()
    if pid == 0:
        structures(3)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    print(subprocess.run([sys.executable, "-c", "print(sum(range(10**6)))"], capture_output=True).stdout)
    buffers = [bytearray(n) for n in (1, 100, 10**5, 10**7)]
    for b in buffers: b.extend(b"abc" * 1000)
    print([len(b) for b in buffers], (3 ** 100000 * 7 ** 50000).bit_length())
    array = (ctypes.c_double * 100000)(*range(100000))
    print(sum(array))
    class Node: pass
    for _ in range(20000):
        a, b = Node(), Node(); a.b, b.a = b, a
    print(gc.collect() >= 0)
    if len(sys.argv) > 1:                        # the library must be in this very process
        print(any(sys.argv[1] in line for line in open("/proc/self/maps")))
    else:
        print(True)
END
"$PY" "$TMP/script.py" >"$TMP/plain" || fail "the script does not run without the library"
check_preload "$PY"
for mode in "" malloc; do
    PYTHONMALLOC=$mode must "$PY" "$TMP/script.py" "$(readlink -f "$VT_SO")" >"$TMP/seen"
    same "$TMP/plain" "$TMP/seen" "python3 with PYTHONMALLOC='$mode'"
done

if "$PY" -c 'import test.test_list, test.test_dict' 2>/dev/null; then
    cd "$TMP" || exit 1
    PYTHONMALLOC=malloc must "$PY" -m test -q test_list test_dict test_set test_bytes test_json test_thread test_gc \
        test_zlib test_re >"$TMP/suite" 2>&1 || {
            tail -20 "$TMP/suite"
            fail "python's own tests fail"
        }
    say "python's own tests: $(tail -1 "$TMP/suite")"
else
    say "part skipped: python's own tests are not installed (libpython3-testsuite)"
fi
