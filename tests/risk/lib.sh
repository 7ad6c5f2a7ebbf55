# lib.sh - what the test scripts of tests/risk, tests/real and tests/consumer share. Sourced, never
# run.
#
# Gives a temporary directory $TMP (removed at the end together with every process named to `own`),
# compile helpers, `preload`, and the three ways to end: falling off the end, `skip`, `fail`.
# Expects the environment that ctest gives to each test: VT_SO, VT_SRC, CC, CXX and their relatives.

set -u
: "${VT_SO:?set VT_SO to the path of libvitrine.so.1}"
: "${VT_SRC:?set VT_SRC to the project root}"
: "${CC:=cc}" "${CXX:=c++}"

RISK=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)      # where risk.h and the shared programs are
HERE=$(cd "$(dirname "$0")" && pwd)                     # where the calling script is
SO_NAME=$(basename "$VT_SO")
TMP=$(mktemp -d "${TMPDIR:-/tmp}/vt-test.XXXXXX") || exit 1
OWNED=""                                                # processes to end with us
LIMIT=${LIMIT:-300}                                     # seconds until a command counts as hung
[ "${VT_SOAK:-0}" != 1 ] || LIMIT=1500

# An allocator under test must not meet settings that the caller's shell happens to have.
unset LD_PRELOAD LD_AUDIT LD_BIND_NOW LD_DEBUG MALLOC_CONF MALLOC_ARENA_MAX GLIBC_TUNABLES
for vt_name in $(env | sed -n 's/^\(VITRINE[A-Z_0-9]*\)=.*/\1/p'); do unset "$vt_name"; done
export LC_ALL=C

cleanup() {
    for pid in $OWNED; do kill -KILL "$pid" 2>/dev/null; done
    for pid in $OWNED; do wait "$pid" 2>/dev/null; done
    rm -rf "$TMP"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

exec 3>&1                                               # messages arrive also from `must CMD >file`
say()  { printf '%s\n' "$*" >&3; }
skip() { say "SKIP: $*"; exit 77; }
fail() { say "FAIL: $*"; exit 1; }
own()  { OWNED="$OWNED $*"; }                           # own PID: end it when the script ends
have() { command -v "$1" >/dev/null 2>&1; }
need() { for c in "$@"; do have "$c" || skip "'$c' is not installed"; done; }
soak() { if [ "${VT_SOAK:-0}" = 1 ]; then printf %s "$2"; else printf %s "$1"; fi; }    # soak NORMAL LONG

# least N CMD...: the smallest of N answers.
least() {
    local n=$1; shift
    for _ in $(seq "$n"); do "$@"; done | sort -n | head -1
}

# compile OUT SRC [FLAG...]: one program or, with -shared -fPIC among the flags, one library.
compile() {
    local out=$1 src=$2 tool std; shift 2
    case $src in /*) ;; *) src=$HERE/$src ;; esac
    case $src in *.cpp) tool=$CXX std=c++17 ;; *) tool=$CC std=gnu11 ;; esac
    # shellcheck disable=SC2086  # CC may carry flags
    $tool -std=$std -O1 -g -Wall -Wextra -Werror -fno-builtin-malloc -fno-builtin-free \
        -fno-builtin-calloc -fno-builtin-realloc -I"$VT_SRC/tests" -I"$RISK" -pthread \
        -o "$out" "$src" "$@" || fail "cannot compile $(basename "$src")"
}

# binary_of CMD: the ELF file that runs in the end, through the PATH and #! lines.
binary_of() {
    local file line
    file=$(command -v "$1") || return 1
    while [ "$(head -c 2 "$file" | tr -d '\0')" = '#!' ]; do
        IFS= read -r line <"$file"
        # shellcheck disable=SC2086
        set -- ${line#'#!'}
        if [ "$(basename "$1")" = env ]; then file=$(command -v "$2") || return 1; else file=$1; fi
    done
    readlink -f "$file"
}

# check_preload CMD [LIB]: the loader accepts the library for this program; a silent refusal would
# make every other check vacuous.
CHECKED=" "
check_preload() {
    local file lib=${2:-$VT_SO} seen
    file=$(binary_of "$1") || fail "no such program: $1"
    case $CHECKED in *" $file:$lib "*) return 0 ;; esac
    seen=$(env -u VITRINE_FAIL_ALWAYS -u VITRINE_FAIL_NTH -u VITRINE -u VITRINE_HEAP_PROFILE LD_PRELOAD="$lib" ldd "$file" 2>&1) ||
        fail "ldd $file under LD_PRELOAD=$lib: $seen"
    case $seen in
        *"cannot be preloaded"*|*"ERROR: ld.so"*) fail "the loader refuses $lib: $seen" ;;
        *"$lib"*) ;;
        *) fail "expected $lib among the objects of $file, saw: $seen" ;;
    esac
    CHECKED="$CHECKED$file:$lib "
}

# preload CMD [ARG...]: run under the library, at most $LIMIT seconds; answers CMD's status, 124 for
# a hang.
preload() {
    check_preload "$1"
    timeout -k 10 "$LIMIT" env LD_PRELOAD="$VT_SO" "$@"
}

# must CMD [ARG...]: as preload, but everything except status 0 ends the test with a word on how it
# died.
must() {
    preload "$@"
    died $? "$*"
}
died() {
    [ "$1" -eq 0 ] && return 0
    case $1 in
        77)  exit 77 ;;                                 # the program printed why
        124|137) fail "hung (more than $LIMIT s): $2" ;;
        134) fail "expected status 0, saw SIGABRT: $2" ;;
        139) fail "expected status 0, saw SIGSEGV: $2" ;;
        *)   fail "expected status 0, saw $1: $2" ;;
    esac
}

# same FILE FILE WHAT: two outputs must not differ.
same() {
    cmp -s "$1" "$2" && return 0
    diff "$1" "$2" | head -20
    fail "$3: output with the library differs from output without it"
}

# loaded_in PID: the library is mapped in that process.
loaded_in() {
    grep -qF "$(readlink -f "$VT_SO")" "/proc/$1/maps" 2>/dev/null
}
must_be_loaded_in() {
    loaded_in "$1" ||
        fail "expected $SO_NAME in /proc/$1/maps ($(cat "/proc/$1/comm" 2>/dev/null)), not there"
}

# must_be_loaded_in_children PID LEAST: in each of them, and there are so many. One that ends just now has no maps any more and
# does not count.
must_be_loaded_in_children() {
    local child maps n=0
    for child in $(children_of "$1"); do
        maps=$(cat "/proc/$child/maps" 2>/dev/null)
        case $maps in
            '') ;;
            *"$(readlink -f "$VT_SO")"*) n=$((n + 1)) ;;
            *) fail "expected $SO_NAME in /proc/$child/maps ($(cat "/proc/$child/comm" 2>/dev/null)), not there" ;;
        esac
    done
    [ "$n" -ge "$2" ] || fail "expected $2 children of process $1 with $SO_NAME, saw $n"
}

# children_of PID: their pids, from /proc (pgrep is not everywhere).
children_of() {
    local stat
    for stat in /proc/[0-9]*/stat; do
        sed -n "s/^\([0-9]*\) (.*) . $1 .*/\1/p" "$stat" 2>/dev/null
    done
}

# await SECONDS CMD...: poll until CMD succeeds. A bound for what should be quick, never a
# measurement.
await() {
    local left=$(( $1 * 20 )); shift
    while ! "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ "$left" -le 0 ] && return 1
        sleep 0.05
    done
}

# as_nobody CMD...: the same command without privileges; the caller has checked `can_be_nobody`.
can_be_nobody() { [ "$(id -u)" -eq 0 ] && have setpriv && getent passwd nobody >/dev/null; }
as_nobody() {
    setpriv --reuid="$(id -u nobody)" --regid="$(id -g nobody)" --clear-groups --no-new-privs \
        --bounding-set=-all --inh-caps=-all -- "$@"
}

# public_copy: the library where every user can read it; build trees often lie below a private home.
public_copy() {
    chmod 755 "$TMP"
    mkdir -p "$TMP/public" && cp "$(readlink -f "$VT_SO")" "$TMP/public/$SO_NAME" ||
        fail "cannot copy $VT_SO"
    chmod 755 "$TMP/public" "$TMP/public/$SO_NAME"
    VT_SO=$TMP/public/$SO_NAME
}
