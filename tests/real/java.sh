#!/bin/bash
# java: start-up, the compiler and a class that uses threads, direct memory and compression;
# collectors in turn.
. "$(dirname "$0")/../risk/lib.sh"
need java

must java -version 2>"$TMP/version"
grep -qi 'version' "$TMP/version" || fail "expected a version, saw '$(head -1 "$TMP/version")'"
have javac || skip "no javac for the rest (java -version works)"

cat >"$TMP/Work.java" <<'END'
import java.util.*;
import java.util.concurrent.*;
import java.util.zip.*;
/** Native memory of every kind the JVM has: threads, compiler, zlib, direct buffers, class loading. */
public class Work {
    static long work(int seed) throws Exception {
        Random r = new Random(seed);
        Map<String, byte[]> map = new TreeMap<>();
        for (int i = 0; i < 5000; i++) map.put("k" + r.nextInt(2000), new byte[r.nextInt(300)]);
        CRC32 crc = new CRC32();
        Deflater d = new Deflater(); byte[] out = new byte[100000];
        for (Map.Entry<String, byte[]> e : map.entrySet()) { crc.update(e.getKey().getBytes()); crc.update(e.getValue()); }
        d.setInput(map.toString().replaceAll("\\[B@[0-9a-f]+", "").getBytes()); d.finish();
        int n = d.deflate(out); d.end();
        java.nio.ByteBuffer b = java.nio.ByteBuffer.allocateDirect(200000 + seed); b.putInt(100, n);
        return crc.getValue() + b.getInt(100);
    }
    public static void main(String[] a) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(6);
        List<Future<Long>> all = new ArrayList<>();
        for (int i = 0; i < 24; i++) { final int n = i; all.add(pool.submit(() -> work(n))); }
        long sum = 0; for (Future<Long> f : all) sum += f.get();
        pool.shutdown();
        System.out.println(sum);
        Process p = new ProcessBuilder("echo", "child").inheritIO().start();
        System.out.println(p.waitFor());
    }
}
END
cd "$TMP" || exit 1
must javac Work.java
java -cp . Work >plain || skip "java does not run here even without the library"
for options in "" "-XX:+UseSerialGC -Xint" "-XX:+UseParallelGC"; do
    # shellcheck disable=SC2086
    must java $options -cp . Work >seen
    same plain seen "java $options"
done
