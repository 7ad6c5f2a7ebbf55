#!/bin/bash
# node: worker threads, buffers, compression, crypto; and npm, which is a large script.
. "$(dirname "$0")/../risk/lib.sh"
need node

cat >"$TMP/script.js" <<'END'
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const crypto = require('crypto'), zlib = require('zlib'), fs = require('fs'), { execFileSync } = require('child_process');
function work(seed) {
    let x = seed, map = new Map();
    for (let i = 0; i < 20000; i++) { x = (x * 1103515245 + 12345) % 2147483648; map.set('k' + x % 3000, 'v'.repeat(x % 200)); }
    const text = JSON.stringify([...map.entries()].sort());
    const packed = zlib.deflateSync(Buffer.from(text));
    if (zlib.inflateSync(packed).toString() !== text) throw new Error('deflate');
    const buffers = []; for (let i = 0; i < 500; i++) buffers.push(Buffer.alloc(i * 300, i));
    return crypto.createHash('sha256').update(text).update(Buffer.concat(buffers)).digest('hex').slice(0, 16);
}
if (!isMainThread) { parentPort.postMessage([workerData, work(workerData)]); }
else {
    console.log(work(1));
    const runs = []; for (let i = 0; i < 6; i++) runs.push(new Promise((ok, no) => {
        const w = new Worker(__filename, { workerData: i }); w.on('message', ok); w.on('error', no); }));
    Promise.all(runs).then(async r => {
        console.log(r.sort());
        const w = new Worker('for (;;) Buffer.alloc(1000)', { eval: true });   // ended while it allocates
        setTimeout(async () => {
            await w.terminate();
            console.log(execFileSync(process.execPath, ['-e', 'console.log(6 * 7)']).toString().trim());
            console.log(process.argv[2] ? fs.readFileSync('/proc/self/maps', 'utf8').includes(process.argv[2]) : true);
        }, 100);
    });
}
END
node "$TMP/script.js" >"$TMP/plain" || fail "the script does not run without the library"
must node "$TMP/script.js" "$(readlink -f "$VT_SO")" >"$TMP/seen"
same "$TMP/plain" "$TMP/seen" node
if have npm; then
    HOME=$TMP npm --version >"$TMP/plain" 2>/dev/null || {
        say "part skipped: npm does not run here"
        exit 0
    }
    HOME=$TMP must npm --version >"$TMP/seen" 2>/dev/null
    same "$TMP/plain" "$TMP/seen" npm
else
    say "part skipped: no npm"
fi
