#!/bin/bash
# Row 12: valgrind, AddressSanitizer and ThreadSanitizer over a program that has the library too.
# The program works and the tool still finds what it is for.
. "$(dirname "$0")/lib.sh"
N_RUN=0

compile "$TMP/workout" workout.c -O1
compile "$TMP/mistake" risk_12_overflow.c
check_preload "$TMP/workout"
check_preload "$TMP/mistake"
small="threads=2 ops=1500 live=50 max=200000 strict=1"

# ok WHAT CMD...: status 0, and the tool reports nothing against it.
ok() {
    local what=$1; shift
    timeout -k 10 "$LIMIT" "$@" >"$TMP/out" 2>&1
    local status=$?
    [ $status -eq 0 ] || tail -15 "$TMP/out"
    died $status "$what"
    N_RUN=$((N_RUN + 1))
    say "ok: $what"
}
# finds WHAT WORDS CMD...: the tool ends the program with these words.
finds() {
    local what=$1 words=$2; shift 2
    timeout -k 10 "$LIMIT" "$@" >"$TMP/out" 2>&1
    grep -q "$words" "$TMP/out" || {
        tail -15 "$TMP/out"
        fail "$what: expected the tool to say '$words'"
    }
    N_RUN=$((N_RUN + 1))
    say "ok: $what"
}

if have valgrind; then
    # valgrind replaces malloc in whatever object defines it, so it must see the mistakes as without
    # us; with --tool=none it replaces nothing and our code itself runs under it.
    grind="valgrind -q --error-exitcode=9"
    # shellcheck disable=SC2086
    {
    ok "valgrind, hello preloaded" env LD_PRELOAD="$VT_SO" $grind /bin/echo hello
    ok "valgrind, workout preloaded" env LD_PRELOAD="$VT_SO" $grind "$TMP/workout" $small
    ok "valgrind, our own malloc inside it" env LD_PRELOAD="$VT_SO" valgrind -q --tool=none "$TMP/workout" $small
    finds "valgrind finds an overflow" 'Invalid write of size 1' env LD_PRELOAD="$VT_SO" $grind "$TMP/mistake" overflow
    finds "valgrind finds a use after free" 'Invalid read of size 1' env LD_PRELOAD="$VT_SO" $grind "$TMP/mistake" after-free
    }
else
    say "part skipped: valgrind is not installed"
fi

# sanitizer NAME FLAG LIBRARY MISTAKE WORDS
sanitizer() {
    local name=$1 flag=$2 runtime=$3 mistake=$4 words=$5 file
    echo 'int main(void){return 0;}' >"$TMP/try.c"
    if ! $CC "$flag" "$TMP/try.c" -o "$TMP/try" 2>/dev/null; then say "part skipped: no $name for $CC"; return; fi
    compile "$TMP/workout_$name" workout.c "$flag"
    compile "$TMP/mistake_$name" risk_12_overflow.c "$flag"
    compile "$TMP/linked_$name" workout.c "$flag" -Wl,--no-as-needed "$VT_SO" -Wl,-rpath,"$(dirname "$VT_SO")"
    # The runtime wants to be first; a clang program has it inside, a gcc program names the library.
    file=$($CC -print-file-name="$runtime")
    case $file in /*) file=$file: ;; *) file= ;; esac
    case $(ldd "$TMP/workout_$name") in *"$runtime"*) ;; *) file= ;; esac
    check_preload "$TMP/workout_$name"
    check_preload "$TMP/mistake_$name"
    ldd "$TMP/linked_$name" | grep -qF "$VT_SO" || fail "$name: expected $SO_NAME among the libraries of a linked program"
    # shellcheck disable=SC2086
    {
    ok "$name, workout preloaded" env LD_PRELOAD="$file$VT_SO" "$TMP/workout_$name" $small fork=0
    ok "$name, workout linked" "$TMP/linked_$name" $small fork=0
    finds "$name finds a mistake" "$words" env LD_PRELOAD="$file$VT_SO" "$TMP/mistake_$name" "$mistake"
    }
}
sanitizer asan -fsanitize=address libasan.so overflow 'heap-buffer-overflow'
sanitizer tsan -fsanitize=thread libtsan.so race 'data race'
if have clang && [ "$(basename "$CC")" != clang ]; then
    CC=clang sanitizer clang_asan -fsanitize=address libclang_rt.asan.so after-free 'heap-use-after-free'
    CC=clang sanitizer clang_tsan -fsanitize=thread libclang_rt.tsan.so race 'data race'
fi
[ "$N_RUN" -gt 0 ] || skip "neither valgrind nor a sanitizer is here"
