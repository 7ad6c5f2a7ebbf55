#!/bin/bash
# Programs without mistakes under the secure library, which checks how each block was made: it says nothing. First one that asks for
# blocks in every way, then larger ones that are there.
. "$(dirname "$0")/lib.sh"
VT_SO=$VT_SECURE_SO
compile "$TMP/held" held.cpp -fsized-deallocation -Wno-unused-result
must "$TMP/held" 2>"$TMP/said"
grep -v ' 0 failed$' "$TMP/said" | grep . && fail "expected no word from the library"

cat >"$TMP/words.cpp" <<'C'
#include <iostream>
#include <map>
#include <string>
int main() {
    std::map<std::string, int> n;
    for (std::string w; std::cin >> w;) n[w]++;
    for (auto &x : n) std::cout << x.first << ' ' << x.second << '\n';
}
C
n=0
for tool in clang++ g++; do
    have $tool || continue
    must $tool -O2 -o "$TMP/words" "$TMP/words.cpp" 2>"$TMP/said"
    [ ! -s "$TMP/said" ] || fail "$tool: expected no word, saw: $(head -3 "$TMP/said")"
    n=$((n + 1))
done
must "$TMP/words" <"$HERE/held.cpp" >"$TMP/counted"
[ "$(wc -l <"$TMP/counted")" -gt 100 ] || fail "expected words of held.cpp, saw $(wc -l <"$TMP/counted") lines"
say "held.cpp and $n compilers with what they made: nothing was said"
