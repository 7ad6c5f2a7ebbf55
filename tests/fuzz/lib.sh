# lib.sh - what the scripts in this folder share: a fuzzer is built, run for a while, and what failed is kept. Sourced, never run.
set -u
: "${VT_SRC:?set VT_SRC to the project root}"
if ! command -v clang >/dev/null 2>&1; then
    echo "skipped: no clang (scripts/setup test installs it)"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/vt-fuzz.XXXXXX") || exit 1
mkdir "$work/corpus"

# build SANITIZERS FLAG...: tests/fuzz/$subject.c and what the flags name
build() {
    sanitizers=$1; shift
    if ! clang -g -O1 -fsanitize="fuzzer,$sanitizers" -fno-sanitize-recover=all -D_GNU_SOURCE \
        -o "$work/$subject" "$VT_SRC/tests/fuzz/$subject.c" "$@"; then
        rm -rf "$work"
        echo "the fuzzer does not build"
        exit 1
    fi
}
# begin_with INPUT...: a file of the corpus each
begin_with() {
    for input; do printf '%s' "$input" >"$work/corpus/$(printf '%s' "$input" | cksum | cut -d' ' -f1)"; done
}
# run SECONDS FLAG...: for so long, unless VT_FUZZ_SECONDS says otherwise. libFuzzer's -timeout counts the time that others had the
# processors, too: an input that ends in time when it is tried again was not slow, and it goes on with the rest of the seconds.
run() {
    seconds=${VT_FUZZ_SECONDS:-$1}; shift
    cd "$work" || exit 1
    end=$(($(date +%s) + seconds))
    "./$subject" -max_total_time="$seconds" -print_final_stats=1 "$@" corpus >log 2>&1
    status=$?
    while [ $status -eq 70 ] && "./$subject" "$@" timeout-* >again 2>&1; do
        rm -f timeout-*
        seconds=$((end - $(date +%s)))
        [ $seconds -gt 0 ] || seconds=1 # 0 would be without an end
        "./$subject" -max_total_time="$seconds" -print_final_stats=1 "$@" corpus >>log 2>&1
        status=$?
    done
    if [ $status -ne 0 ]; then
        tail -40 log
        echo "libFuzzer: expected status 0, seen $status; the input is in $work"
        exit 1
    fi
    grep -E 'number_of_executed_units|new_units_added' log
    rm -rf "$work"
}
