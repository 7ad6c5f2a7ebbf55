#!/bin/bash
# examples.sh - every example of vitrine(1), pprof(1) and `vitrine COMMAND --help` works as it is written there.
#
# They speak of ./app and its profiles; both are made here. Left out, with a line: what needs a process, a server or a core file (tests/box/core.py makes some).
. "$(dirname "$0")/../risk/lib.sh"
: "${VT_BUILD:?}"
page=$VT_BUILD/man/vitrine.1
[ -s "$page" ] || skip "no $page (VT_CLI=OFF, or no emulator to make it)"
# The library is found beside the command through links.
mkdir "$TMP/bin" "$TMP/here"
for name in vitrine pprof jeprof; do ln -s "$VT_BUILD/bin/vitrine" "$TMP/bin/$name"; done
printf '#!/bin/sh\nexec cat\n' >"$TMP/bin/flamegraph.pl"
chmod +x "$TMP/bin/flamegraph.pl"
PATH=$TMP/bin:$PATH
cd "$TMP/here" || fail "no scratch folder"

"$CXX" -O1 -g "$HERE/app.cc" -o app || fail "cannot compile app.cc"
{ vitrine run -o made.1 ./app && vitrine run -o made.9 ./app more; } 2>made.log || fail "cannot run it: $(cat made.log)"
cp made.1/app.*.0001.heap app.0001.heap && cp made.9/app.*.0001.heap app.0009.heap || fail "no profile: $(cat made.log)"
cp app.0001.heap app.heap
vitrine convert app.heap app.pb.gz && vitrine convert app.0009.heap friday.pb.gz || fail "cannot convert it"
cp app.pb.gz monday.pb.gz
cp app.heap cpu.prof # told by its content
VITRINE=black_box=app.4711.box LD_PRELOAD=$VT_SO ./app || fail "cannot run it with a black box"
cp app.heap core.4711.heap # as if made of a core file

# Lines of the page, without mdoc's escapes, and what the help of each command says.
{
    sed -n 's/^\.Dl //p' "$page" $(ls "$VT_BUILD/man/pprof.1" 2>/dev/null) | sed 's/\\-/-/g; s/\\&//g'
    for name in $(vitrine help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
        vitrine "$name" --help | sed -n '/^example/,$s/^  //p'
    done
} >examples
n=0
while IFS= read -r line; do
    case $line in
        'vitrine ps'* | 'vitrine ctl'* | 'vitrine web'* | *://* | *localhost*)
            say "left out, it needs a process or a server: $line"
            continue ;;
        'vitrine core'*)
            say "left out, it needs a core file: $line"
            continue ;;
        vitrine\ * | pprof\ * | jeprof\ *) ;;
        *) fail "expected an example that begins with the command, saw: $line" ;;
    esac
    timeout "$LIMIT" bash -c "$line" >out 2>errors </dev/null || fail "exit $? of: $line
$(cat errors)"
    ! grep -E '^[a-z]+: (error|warning)' errors || fail "expected no complaint from: $line"
    n=$((n + 1))
done <examples
[ $n -ge 25 ] || fail "expected 25 examples or more, saw $n"
# What they promise is there.
for file in app.svg cache.svg all.pb.gz; do [ -s $file ] || fail "expected the examples to make '$file'"; done
[ "$(ls profiles/app.*.0002.heap | wc -l)" -ge 1 ] || fail "expected more than one profile of --every=100M"
say "ok: $n examples"
