#!/bin/bash
# Seed 003, sections 2.1 to 2.3: the leak report at exit, jeprof's prompt over its file, and a picture of it.
. "$(dirname "$0")/jemalloc_lib.sh"
MALLOC_CONF=prof_leak:true,lg_prof_sample:0,prof_final:true LD_PRELOAD=$LIB/libjemalloc.so.2 ./a.out 2>err || fail "status $?"
file=$(ls jeprof.*.0.f.heap) || fail "no file: $(ls)"
[[ $(sed -n 1p err) =~ ^\<jemalloc\>:\ Leak\ approximation\ summary:\ ~[0-9]+\ bytes,\ ~120\ objects,\ \>=\ 2\ contexts$ ]] || fail "saw $(cat err)"
[ "$(sed -n 2p err)" = "<jemalloc>: Run jeprof on \"$file\" for leak detail" ] || fail "saw $(cat err)"
near "$(share "$file" do_something)" $SOME do_something
near "$(share "$file" do_something_else)" $OTHER do_something_else
top "$file" >seen
grep -qE '^Total: 6\.[0-9] MB' seen && grep -qE '^ +3\.[0-9] .* do_something$' seen || fail "top: $(cat seen)"
have dot && have ps2pdf || { say "part skipped: no dot or no ps2pdf"; exit 0; }
jeprof --show_bytes --pdf a.out "$file" >a.pdf 2>err && head -c 4 a.pdf | grep -q '%PDF' || fail "--pdf: $(cat err)"
