# lib.sh - what the tests in this folder share. Sourced, never run.
. "$(dirname "$0")/../../risk/lib.sh"
: "${VT_JE_SO:?set VT_JE_SO to the path of our libjemalloc.so.2}"
[ -e "$VT_JE_SO" ] || fail "there is no $VT_JE_SO" # the original would take its place
unset JE_MALLOC_CONF
OURS=$(dirname "$VT_JE_SO")
ORIGINAL=$(find /usr/lib /lib -name 'libjemalloc.so.2' 2>/dev/null | head -1)
has_original() { [ -n "$ORIGINAL" ] && [ -e /usr/include/jemalloc/jemalloc.h ]; }

# for_original OUT SRC [FLAG...]: compiled with the original's header and linked with its library; runs with either.
for_original() {
    local out=$1 src=$2; shift 2
    compile "$out" "$src" "$@" -ljemalloc -ldl
}
# for_ours OUT SRC [FLAG...]: compiled and linked with ours.
for_ours() {
    local out=$1 src=$2; shift 2
    compile "$out" "$src" "$@" -I"$VT_SRC/include/compat" -L"$OURS" -Wl,-rpath,"$OURS" -ljemalloc -ldl
}
with_ours() { timeout -k 10 "$LIMIT" env LD_LIBRARY_PATH="$OURS" "$@"; }
with_original() { timeout -k 10 "$LIMIT" env LD_LIBRARY_PATH="$(dirname "$ORIGINAL")" "$@"; }
