#!/bin/bash
# Every command and option that the help of vitrine ps and vitrine ctl names, and what it does, read from the other side: the figures
# of the process, the files it writes. How a program is reached is in answers.sh.
. "$(dirname "$0")/lib.sh"
subject
ps_json() { "$VITRINE_BIN" ps --json || fail "vitrine ps --json: expected status 0, saw $?"; }
ps_field() { ps_json | sed -n "s/^{\"pid\":$pid,.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"; }
figure() { asks "$2" stats | awk -v name="$1" '$1 == name { print $2 }'; }
ps_line() { "$VITRINE_BIN" ps | grep "^ *$pid "; }
expect() { # expect WHAT SEEN EXPECTED
    [ "$2" = "$3" ] || fail "$1: expected '$3', saw '$2'"
}

# ---- the help: every command by name, with its argument
"$VITRINE_BIN" ctl --help >"$TMP/help"
words=$(sed -n '/^commands:/,/^$/p' "$TMP/help" | awk 'NR > 1 && NF { print $1 }' | tr '\n' ' ')
expect "commands in the help" "$words" "dump rate exact stats purge start stop cpu-start cpu-dump cpu-stop contention-start contention-dump contention-stop "
expect "options of ctl" "$(grep -o '^ *--[a-z]*' "$TMP/help" | tr -d ' \n')" "--timeout--format--json"
expect "options of ps" "$("$VITRINE_BIN" ps --help | grep -o '^ *--[a-z]*' | tr -d ' \n')" "--json"

# ---- an idle program, whose figures stay as they are
export VITRINE_SAMPLE=4096 VITRINE_HEAP_FORMAT=jemalloc
cp "$TMP/subject" "$TMP/"$'odd\tone'
run read env LD_PRELOAD="$VT_SO" "$TMP/"$'odd\tone'
LD_PRELOAD=$VT_SO sleep 600 & # another one, for the order
second=$!
own "$second"
await 20 ctl "$second" stats || fail "expected the library in the program"
expect "ps: heap" "$(ps_field heap)" "$(figure active "$pid")"
expect "ps: resident" "$(ps_field resident)" "$(awk -v page="$(getconf PAGESIZE)" '{ print $2 * page }' "/proc/$pid/statm")"
expect "ps: a name that would break the table" "$(ps_field program)" 'odd\u0009one'
ps_json >"$TMP/json"
"$VITRINE_BIN" ps >"$TMP/text"
expect "ps: the headings" "$(awk 'NR == 1 { $1 = $1; print }' "$TMP/text")" "pid heap resident rate exact program"
grep -q "^ *$second " "$TMP/text" || fail "expected both programs, saw: $(cat "$TMP/text")"
awk 'NR > 1 { print $1 }' "$TMP/text" | sort -nc || fail "expected ascending numbers, saw: $(cat "$TMP/text")"
sed -n 's/^{"pid":\([0-9]*\).*/\1/p' "$TMP/json" | sort -nc || fail "expected ascending numbers, saw: $(cat "$TMP/json")"
mb() { awk -v n="$1" 'BEGIN { unit = "MB"; n = n / 1048576; if (n < 1) { unit = "kB"; n = n * 1024 }
    decimals = 2; if (n >= 9.995) decimals = 1; if (n >= 99.95) decimals = 0; printf "%.*f%s", decimals, n, unit }'; }
expect "ps: the same as text" "$(awk -v pid="$pid" '$1 == pid { $1 = $1; print }' "$TMP/text")" "$pid $(mb "$(ps_field heap)") $(mb "$(ps_field resident)") 4.00kB off odd\x09one"

kill "$second"

# rate, in every unit; exact, there and back
while read -r word bytes; do
    asks "$pid" rate "$word"
    expect "rate $word" "$(ps_field rate)" "$bytes"
done <<'END_RATES'
1000 1000
3K 3072
3k 3072
2M 2097152
1G 1073741824
1T 1099511627776
END_RATES
asks "$pid" rate 0
expect "rate 0" "$(ps_field rate) $(ps_line | awk '{ print $4 }')" "0 off"
asks "$pid" rate 4K
asks "$pid" exact on
expect "exact on" "$(ps_field exact) $(ps_line | awk '{ print $5 }')" "true on"
asks "$pid" exact off
expect "exact off" "$(ps_field exact) $(ps_line | awk '{ print $5 }')" "false off"

# dump: a file of the kind that is asked for; the program's own kind
kind_of() {
    case $(head -c 14 "$1" | tr '\n\0' '..') in
    "heap profile: "*) echo gperftools ;;
    heap_v2/*) echo jemalloc ;;
    *) if grep -aq "string_table\|inuse_space" "$1"; then echo proto; elif grep -Eq '^[^ ;]+(;.*)? [0-9]+$' "$1"; then echo collapsed; fi ;;
    esac
}
for format in proto gperftools jemalloc collapsed; do
    asks "$pid" dump --format=$format "$TMP/of.$format" >/dev/null
    expect "dump --format=$format" "$(kind_of "$TMP/of.$format")" "$format"
done
asks "$pid" dump "$TMP/of.own" >/dev/null
expect "dump, without --format" "$(kind_of "$TMP/of.own")" jemalloc

# stats, as text and as JSON: the same figures
expect "stats --json" "$(asks "$pid" --json stats | sed -n 's/.*"allocated": *\([0-9]*\).*/\1/p')" "$(figure allocated "$pid")"

# names that are too long
refuses 2 "name too long" "$pid" dump "$(printf 'x%.0s' {1..1100})"
end

# ---- a program that allocates: 300 kB every two milliseconds, freed at once
unset VITRINE_HEAP_FORMAT
export VITRINE_HEAP_INTERVAL=3M VITRINE_HEAP_EXIT=0
run own
before=$(figure purged "$pid")
asks "$pid" purge >"$TMP/said"
given=$(sed -n 's/^\([0-9]*\) bytes given back$/\1/p' "$TMP/said")
[ "${given:-0}" -gt 0 ] || fail "purge: expected bytes that were given back, saw $(cat "$TMP/said")"
expect "purge: the statistics" "$(figure purged "$pid")" $((before + given))
n_files() { ls "$TMP"/every.*.heap 2>/dev/null | wc -l; }
asks "$pid" start "$TMP/every"
await 60 eval '[ "$(n_files)" -ge 2 ]' || fail "start: expected profiles as heap_interval says, saw $(n_files)"
asks "$pid" stop
seen=$(n_files)
sleep 0.1 # twenty times as much as between two profiles
expect "stop: files" "$(n_files)" "$seen"
asks "$pid" start "$TMP/other"
await 60 eval '[ -s "$TMP/other.0001.heap" ]' || fail "start: expected the other prefix to count"
end
expect "the first prefix" "$(n_files)" "$seen"
