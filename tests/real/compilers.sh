#!/bin/bash
# gcc, g++ and clang: a large C file and a heavy C++ file become the same objects, linked by the
# same linker.
. "$(dirname "$0")/../risk/lib.sh"

# 150 functions over some structures: some dozen MB of compiler memory.
awk 'BEGIN {
    print "#include <stdio.h>\n#include <string.h>\nstruct s { int a; double b; char c[40]; struct s *next; };";
    for (i = 0; i < 150; i++) {
        printf "int f%d(struct s *p, int n) { int r = %d; for (int i = 0; i < n; i++) { switch ((i + %d) %% 7) {", i, i, i;
        for (k = 0; k < 7; k++) printf " case %d: r += p->a * %d + (int)(p->b / %d.5); break;", k, i + k, k + 1;
        printf " } if (p->next) p = p->next; memset(p->c, r, sizeof p->c); } return r; }\n";
    }
    print "int main(void) { struct s x = {1, 2.5, \"\", 0}; long t = 0;";
    for (i = 0; i < 150; i++) printf "t += f%d(&x, %d);\n", i, i % 9;
    print "printf(\"%ld\\n\", t); return 0; }";
}' >"$TMP/big.c"
cat >"$TMP/heavy.cpp" <<'END'
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>
template <int N> struct deep { static int f(int x) { return deep<N - 1>::f(x) + N; } };
template <> struct deep<0> { static int f(int x) { return x; } };
int main() {
    std::map<std::string, std::vector<std::tuple<int, std::string>>> m;
    for (int i = 0; i < 1000; i++) m[std::to_string(i % 10)].emplace_back(i, std::string(i % 50, 'x'));
    std::regex r("([a-z]+)([0-9]*)(x|y)*");
    std::smatch s;
    std::string t = "abc123xyx";
    std::unordered_map<int, std::function<int(int)>> g;
    for (int i = 0; i < 50; i++) g[i] = [i](int v) { return v * i; };
    std::cout << m.size() << std::regex_match(t, s, r) << s.size() << deep<200>::f(1) << g[7](6) << "\n";
}
END
cd "$TMP" || exit 1
n=0
# both COMPILER SOURCE FLAG...: the same object with and without the library
both() {
    local tool=$1 src=$2; shift 2
    "$tool" "$@" -c "$src" -o plain.o || fail "$tool does not compile $src without the library"
    must "$tool" "$@" -c "$src" -o ours.o
    cmp -s plain.o ours.o || fail "$tool $* $src: the objects differ"
    n=$((n + 1))
}
for tool in gcc clang; do
    have $tool || { say "part skipped: no $tool"; continue; }
    both $tool big.c -O1
    must $tool ours.o -o program
    [ "$(./program)" = "$(must ./program)" ] ||
        fail "$tool: the program prints something else under the library"
done
for tool in g++ clang++; do
    have $tool || { say "part skipped: no $tool"; continue; }
    both $tool heavy.cpp -std=c++17 -O1 -ftemplate-depth=1000
    must $tool ours.o -o program
    [ "$(./program)" = "$(must ./program)" ] ||
        fail "$tool: the program prints something else under the library"
done
# link-time optimisation: the linker and its plug-in allocate in threads of their own
if have gcc; then
    gcc -O1 -flto=2 big.c -o lto.plain && must gcc -O1 -flto=2 big.c -o lto.ours
    cmp -s lto.plain lto.ours || [ "$(./lto.plain)" = "$(./lto.ours)" ] ||
        fail "gcc -flto: programs differ"
fi
[ $n -gt 0 ] || skip "no compiler found"
