#!/bin/bash
# Every wrong free: the process ends by SIGABRT with one line that has the stable words. `misuse.sh
# [secure]` runs the default or the secure library; each mistake is made by the owning thread and by
# others.
. "$(dirname "$0")/lib.sh"

library=${1:-default}
if [ "$library" = secure ]; then
    [ -e "${VT_SECURE_SO:-}" ] ||
        fail "expected VT_SECURE_SO to name the secure library, saw '${VT_SECURE_SO:-}'"
    VT_SO=$VT_SECURE_SO
fi
# Twice: addresses of static data lie differently in the two.
compile "$TMP/misuse" misuse.c -Wno-use-after-free -ldl
compile "$TMP/misuse_fixed" misuse.c -Wno-use-after-free -no-pie -ldl
check_preload "$TMP/misuse"
ulimit -c 0
n_cases=0 n_bad=0

bad() { n_bad=$((n_bad + 1)); say "FAIL: $*"; }

# commit PROGRAM NAME HOW WORDS
commit() {
    local program=$1 name=$2 how=$3 words=$4 only_secure=0 may_go_on=0 status lines
    case $words in
        *'*') only_secure=1 words=${words%'*'} ;;
        # written to after the free: another thread's free is seen later, and the secure library keeps the block aside
        *'?') words=${words%'?'}; [ "$how" = local ] && [ "$library" != secure ] || may_go_on=1 ;;
    esac
    # There a freed block waits in quarantine and its link is written when it leaves, so what the
    # program wrote into it meanwhile harms nobody.
    case $library:$words in secure:'free list corrupted') may_go_on=1 ;; esac
    n_cases=$((n_cases + 1))
    { timeout -k 5 30 env LD_PRELOAD="$VT_SO" "$program" "$name" "$how" >/dev/null 2>"$TMP/err"; } 2>/dev/null
    status=$?
    lines=$(wc -l <"$TMP/err")
    if [ $only_secure -eq 1 ] && [ "$library" != secure ]; then
        [ $status -eq 0 ] ||
            bad "$name $how: expected to go on unharmed, saw status $status: $(head -1 "$TMP/err")"
        return
    fi
    if [ $may_go_on -eq 1 ] && [ $status -eq 0 ]; then return; fi
    if [ $status -ne 134 ]; then
        bad "$name $how: expected SIGABRT and '$words', saw status $status: $(head -1 "$TMP/err")"
    elif [ "$lines" -ne 1 ]; then
        bad "$name $how: expected exactly one line, saw $lines: $(head -3 "$TMP/err")"
    elif ! grep -q "^vitrine: error: .*$words" "$TMP/err"; then
        bad "$name $how: expected 'vitrine: error: ...$words', saw '$(cat "$TMP/err")'"
    fi
}

"$TMP/misuse" list >"$TMP/list" || fail "no list of cases"
while read -r name words; do
    for how in local remote together; do commit "$TMP/misuse" "$name" $how "$words"; done
    case $name in static*|code|twice_64) commit "$TMP/misuse_fixed" "$name" local "$words" ;; esac
done <"$TMP/list"
say "$n_cases mistakes committed, $n_bad not handled as promised ($library library)"
[ $n_bad -eq 0 ] && [ $n_cases -gt 100 ]
