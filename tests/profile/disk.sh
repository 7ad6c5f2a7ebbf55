#!/bin/sh
# disk.sh SUBJECT - a profile on a file system that is full, and on one that is read-only: one line, nothing left behind.
# The file systems are made in a mount namespace of our own, so neither root nor a free partition is needed.
subject=$1
fail() { printf 'FAIL: %s\n' "$*"; exit 1; }

if [ "$2" != inside ]; then
    unshare -rm true 2>/dev/null || { echo "skipped: no user and mount namespaces here (unshare -rm)"; exit 77; }
    exec unshare -rm sh "$0" "$subject" inside
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/vt-disk.XXXXXX") || exit 1
trap 'umount "$work" 2>/dev/null; rmdir "$work"' EXIT
mount -t tmpfs -o size=4k tmpfs "$work" || { echo "skipped: no tmpfs may be mounted here"; exit 77; }

# expect FORMAT WORDS: the line, the status, and a folder as it was
expect() {
    before=$(cd "$work" && ls -A && cat ./* 2>/dev/null | cksum)
    line=$("$subject" "$1" exact 1 "$work/a.heap" 2>&1 >/dev/null)
    status=$?
    [ "$line" = "vitrine: error: cannot write profile '$work/a.heap': $2" ] || fail "$1: expected '...: $2', seen '$line'"
    [ $status -eq 1 ] || fail "$1: expected status 1, seen $status"
    after=$(cd "$work" && ls -A && cat ./* 2>/dev/null | cksum)
    [ "$before" = "$after" ] || fail "$1: expected the folder as it was: '$before', seen '$after'"
}

"$subject" collapsed exact 1 "$work/b.heap" >/dev/null || fail "expected room for a small profile, seen none"
dd if=/dev/zero of="$work/filler" bs=1k 2>/dev/null
for format in proto gperftools jemalloc collapsed; do expect $format "no space left on device"; done
rm "$work/filler" "$work/b.heap"
for format in gperftools jemalloc; do expect $format "no space left on device"; done # some of it fits, some does not
mount -o remount,bind,ro "$work" || fail "cannot remount read-only"
for format in proto gperftools jemalloc collapsed; do expect $format "read-only file system"; done
echo "10 profiles, none written, nothing left"
