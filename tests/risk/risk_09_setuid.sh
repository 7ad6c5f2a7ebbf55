#!/bin/bash
# Row 9: a set-uid program takes nothing from the environment: no output, no file, no limit.
. "$(dirname "$0")/lib.sh"

can_be_nobody || skip "needs root, setpriv and the user nobody to make a set-uid program"
public_copy
compile "$TMP/public/plain" risk_09_setuid.c -Wl,--no-as-needed "$VT_SO" -Wl,-rpath,"$TMP/public"
cp "$TMP/public/plain" "$TMP/public/suid"
chown nobody "$TMP/public/suid" && chmod 4755 "$TMP/public/suid" ||
    skip "cannot make a set-uid file here"
ldd "$TMP/public/suid" | grep -qF "$SO_NAME" ||
    fail "expected $SO_NAME among the libraries of the program"

mkdir "$TMP/work" && chmod 777 "$TMP/work" && cd "$TMP/work" || exit 1
out=$TMP/work/leaked
# Every option by its own variable, the collective one, and the variables of the dialects. Values
# that show.
settings=(VITRINE="stats,limit=1m,nonsense=1" VITRINE_NONSENSE=1 HEAPPROFILE="$out" HEAPCHECK=normal
          CPUPROFILE="$out.cpu" MALLOCSTATS=2 MALLOC_CONF="stats_print:true,prof:true,prof_prefix:$out"
          MIMALLOC_SHOW_STATS=1 MIMALLOC_VERBOSE=1 TCMALLOC_SAMPLE_PARAMETER=1 VITRINE_FAIL_NTH=5
          VITRINE_FAIL_ALWAYS=reserve)
for name in $(sed -n 's/^ *OPTION *([^,]*, *\([a-z_0-9]*\) *,.*/\1/p' "$VT_SRC"/src/conf/options.def 2>/dev/null); do
    upper=$(printf %s "$name" | tr '[:lower:]' '[:upper:]')
    settings+=("VITRINE_$upper=1")
done
[ "${#settings[@]}" -ge 40 ] || fail "expected a variable for each option of options.def, saw ${#settings[@]} in all"

# First the proof that they matter: the same program without the bit must answer them somehow.
timeout -k 10 "$LIMIT" env VITRINE="stats,nonsense=1" "$TMP/public/plain" >"$TMP/plain.out" 2>"$TMP/plain.err"
grep -q '^secure 0 ' "$TMP/plain.out" || fail "expected 'secure 0', saw '$(cat "$TMP/plain.out")'"
grep -q 'nonsense' "$TMP/plain.err" ||
    fail "expected a warning about 'nonsense' without set-uid, saw none"

timeout -k 10 "$LIMIT" env -i "$TMP/public/suid" >"$TMP/want.out" 2>"$TMP/want.err"
died $? "set-uid program with an empty environment"
timeout -k 10 "$LIMIT" env "${settings[@]}" "$TMP/public/suid" >"$TMP/seen.out" 2>"$TMP/seen.err"
died $? "set-uid program with everything set"
grep -q '^secure 1 ' "$TMP/seen.out" ||
    skip "the kernel did not mark the program (nosuid mount?): $(cat "$TMP/seen.out")"
same "$TMP/want.out" "$TMP/seen.out" "set-uid program"
[ ! -s "$TMP/seen.err" ] || fail "expected silence on stderr, saw: $(head -3 "$TMP/seen.err")"
left=$(ls -A "$TMP/work")
[ -z "$left" ] || fail "expected no file from a set-uid program, saw: $left"
