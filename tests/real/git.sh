#!/bin/bash
# git: a generated history has the same ids; gc packs with threads, clone, fsck, blame and log
# agree.
. "$(dirname "$0")/../risk/lib.sh"
need git

export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null HOME=$TMP

cat >"$TMP/history.sh" <<'END'
# history.sh DIR: the same thirty commits every time
set -e
git init -q -b main "$1" && cd "$1"
git config gc.auto 0 && git config pack.threads 4
for n in $(seq 1 30); do
    export GIT_AUTHOR_DATE="2020-01-01T00:00:$n +0000" GIT_COMMITTER_DATE="2020-01-01T00:00:$n +0000"
    mkdir -p "d$((n % 5))"
    for f in 1 2 3 4 5 6 7 8; do seq $((n * f)) $((n * f + 300 * f)) >"d$((n % 5))/file$f"; done
    head -c $((n * 20000)) /dev/zero | tr '\0' "$(printf "\\$(printf %03o $((64 + n)))")" >"blob$((n % 7))"
    git add -A && git commit -q -m "commit $n"
done
git checkout -q -b side HEAD~10 && echo side >side && git add side && git commit -q -m side
git checkout -q main && git merge -q -m merge side
git gc -q --aggressive --prune=now
git fsck --full --strict 2>&1
git clone -q . ../"$(basename "$1")-clone" && git -C ../"$(basename "$1")-clone" log --stat --format=%H | cksum
git blame --line-porcelain d1/file3 | cksum
git rev-parse HEAD && git rev-list --objects --all | sort | cksum
git diff HEAD~15 HEAD | cksum
git verify-pack -v .git/objects/pack/*.idx >/dev/null && git bundle create -q ../"$(basename "$1").bundle" --all
git grep -c 77 | cksum
END
sh "$TMP/history.sh" "$TMP/plain.repo" >"$TMP/plain" 2>"$TMP/plain.err" || {
    cat "$TMP/plain.err"
    fail "git does not work without the library"
}
check_preload git
must sh "$TMP/history.sh" "$TMP/ours.repo" >"$TMP/seen" 2>"$TMP/err"
same "$TMP/plain" "$TMP/seen" git
grep -E 'vitrine: (error|warning)' "$TMP/err" && fail "expected no word from the library on stderr"
# and each repository is sound for the other side
git -C "$TMP/ours.repo" fsck --full --strict >/dev/null 2>&1 || fail "expected a sound repository"
must git -C "$TMP/plain.repo" fsck --full --strict >/dev/null 2>&1
