#!/bin/bash
# Row 28: SIGSEGV handlers of the program, and Java, which lives on them.
. "$(dirname "$0")/lib.sh"

compile "$TMP/handler" risk_28_segv_handler.c -ldl
must "$TMP/handler"

have java && have javac || { say "part skipped: no java and javac"; exit 0; }
cat >"$TMP/Smoke.java" <<'END'
/** Null pointers and deep recursion: in the JVM both arrive as SIGSEGV. */
public class Smoke {
    static int depth;
    static Object nothing;
    static void deeper() { depth++; deeper(); }
    public static void main(String[] args) throws Exception {
        int caught = 0;
        for (int i = 0; i < 20000; i++) {
            try { nothing.hashCode(); } catch (NullPointerException e) { caught++; }
        }
        for (int i = 0; i < 5; i++) {
            try { deeper(); } catch (StackOverflowError e) { caught++; }
        }
        Thread[] threads = new Thread[8];
        int[] sums = new int[8];
        for (int t = 0; t < 8; t++) {
            final int n = t;
            threads[t] = new Thread(() -> { for (int i = 0; i < 20000; i++) sums[n] += ("x" + i).length(); });
            threads[t].start();
        }
        for (Thread t : threads) t.join();
        java.nio.ByteBuffer[] off = new java.nio.ByteBuffer[64];
        for (int i = 0; i < 64; i++) off[i] = java.nio.ByteBuffer.allocateDirect(100000).put(5, (byte) i);
        int direct = 0;
        for (int i = 0; i < 64; i++) direct += off[i].get(5);
        System.out.println(caught + " " + sums[3] + " " + direct + " " + (depth > 1000));
    }
}
END
( cd "$TMP" && javac Smoke.java ) || fail "javac does not compile the class"
java -cp "$TMP" Smoke >"$TMP/plain" ||
    skip "java does not run here even without the library (the rest passed)"
must java -cp "$TMP" Smoke >"$TMP/seen"
same "$TMP/plain" "$TMP/seen" "java"
