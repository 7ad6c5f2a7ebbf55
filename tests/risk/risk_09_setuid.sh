#!/bin/bash
# Row 9: a set-uid program takes nothing from the environment: no output, no file, no limit.
. "$(dirname "$0")/lib.sh"

can_be_nobody || skip "needs root, setpriv and the user nobody to make a set-uid program"
libraries=$(dirname "$VT_SO")
public_copy

mkdir "$TMP/work" && chmod 777 "$TMP/work" && cd "$TMP/work" || exit 1
out=$TMP/work/leaked
# Every option by its own variable, the collective one, and the variables of the dialects. Values
# that show.
settings=(VITRINE="stats,limit=1m,nonsense=1" VITRINE_NONSENSE=1 HEAPPROFILE="$out" HEAPCHECK=normal
          CPUPROFILE="$out.cpu" MALLOCSTATS=2 MALLOC_CONF="stats_print:true,prof:true,prof_prefix:$out"
          MIMALLOC_SHOW_STATS=1 MIMALLOC_VERBOSE=1 TCMALLOC_SAMPLE_PARAMETER=1 VITRINE_FAIL_NTH=5
          VITRINE_FAIL_ALWAYS=reserve)
table=$VT_SRC/src/conf/options.def
options=$(sed -n 's/^ *OPTION *([^,]*, *\([a-z_0-9]*\) *,.*/\1/p' "$table")
n_options=$(grep -c '^ *OPTION' "$table")
for name in $options; do
    upper=$(printf %s "$name" | tr '[:lower:]' '[:upper:]')
    settings+=("VITRINE_$upper=1")
done
# shellcheck disable=SC2086  # names, one to a word
set -- $options
[ $# -ge 30 ] && [ $# -eq "$n_options" ] ||
    fail "expected a name in each of the $n_options rows of options.def, 30 or more, saw $#"

# check LIBRARY VARIABLE=VALUE WORD: a program linked with it, without the bit and with it. By the variable alone the first
# says the word, which proves that it matters.
check() {
    local name proof=$2 word=$3 plain=$TMP/public/plain suid=$TMP/public/suid
    name=$(basename "$1")
    [ -e "$TMP/public/$name" ] || install -m 755 "$(readlink -f "$1")" "$TMP/public/$name" || fail "cannot copy $1"
    compile "$plain" risk_09_setuid.c -Wl,--no-as-needed "$TMP/public/$name" -Wl,-rpath,"$TMP/public"
    rm -f "$suid"
    cp "$plain" "$suid" && chown nobody "$suid" && chmod 4755 "$suid" || skip "cannot make a set-uid file here"
    ldd "$suid" | grep -qF "$TMP/public/$name" ||
        fail "expected $name among the libraries of the program, saw: $(ldd "$suid")"

    timeout -k 10 "$LIMIT" env "$proof" "$plain" >"$TMP/plain.out" 2>"$TMP/plain.err"
    died $? "$proof, without set-uid"
    grep -q '^secure 0 ' "$TMP/plain.out" || fail "expected 'secure 0', saw '$(cat "$TMP/plain.out")'"
    grep -q "$word" "$TMP/plain.err" || fail "$proof: expected '$word' without set-uid, saw: $(head -3 "$TMP/plain.err")"

    timeout -k 10 "$LIMIT" env -i "$suid" >"$TMP/want.out" 2>"$TMP/want.err"
    died $? "$name: set-uid program with an empty environment"
    timeout -k 10 "$LIMIT" env "${settings[@]}" "$suid" >"$TMP/seen.out" 2>"$TMP/seen.err"
    died $? "$name: set-uid program with everything set"
    grep -q '^secure 1 ' "$TMP/seen.out" ||
        skip "the kernel did not mark the program (nosuid mount?): $(cat "$TMP/seen.out")"
    same "$TMP/want.out" "$TMP/seen.out" "$name: set-uid program"
    sed -i '/^[A-Za-z]*: ignoring [A-Z_]* because program seems to be setuid$/d' "$TMP/seen.err" # gperftools' own words
    [ ! -s "$TMP/seen.err" ] || fail "$name: expected silence on stderr, saw: $(head -3 "$TMP/seen.err")"
    left=$(ls -A "$TMP/work")
    [ -z "$left" ] || fail "$name: expected no file from a set-uid program, saw: $left"
}

check "$VT_SO" VITRINE=stats,nonsense=1 nonsense
check "$libraries/libtcmalloc.so.4" MALLOCSTATS=2 '^MALLOC:'
check "$libraries/libjemalloc.so.2" MALLOC_CONF=stats_print:true 'jemalloc statistics'
check "$libraries/libmimalloc.so.3" MIMALLOC_SHOW_STATS=1 '^subproc 0'
