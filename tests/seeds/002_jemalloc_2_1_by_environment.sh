#!/bin/bash
# Seed 002, jemalloc, section 2.1: its MALLOC_CONF lines, each with the files it makes.
. "$(dirname "$0")/jemalloc_lib.sh"
run() { rm -rf jeprof* out; mkdir out; MALLOC_CONF=$1 LD_PRELOAD=$LIB/libjemalloc.so ./a.out 2>err || fail "$1: status $?"; }
run prof_leak:true,lg_prof_sample:0,prof_final:true; ls jeprof.*.0.f.heap >/dev/null || fail "prof_leak: $(ls)"
# by_interval FILES CONF: two samples of 512 KiB make the first; once in some ten thousand runs there are none in 6.2 MiB
by_interval() {
    for _ in 1 2 3; do
        run "$2"
        [ -z "$(compgen -G "$1")" ] || return 0
    done
    fail "$2: expected $1, saw $(ls . out)"
}
by_interval 'jeprof.*.0.i0.heap' prof:true,lg_prof_interval:20
by_interval 'out/jeprof.out.*.0.i0.heap' prof:true,lg_prof_interval:20,prof_prefix:./out/jeprof.out
run prof:true,prof_gdump:true; ls jeprof.*.0.u0.heap >/dev/null || fail "prof_gdump: $(ls)"
run prof:true,prof_active:false; [ -z "$(ls ./*.heap 2>/dev/null)" ] || fail "prof_active: $(ls)"
run lg_prof_interval:20; [ -z "$(ls ./*.heap 2>/dev/null)" ] || fail "an interval without prof: $(ls)"
run prof:true,g_prof_interval:32                                   # as the notes have it, without its first letter
grep -qxF '<jemalloc>: Invalid conf pair: g_prof_interval:32' err || fail "g_prof_interval: $(cat err)"
config() { "$TMP/usr/bin/jemalloc-config" "$@"; }
[ "$(config --libdir)/libjemalloc.so.$(config --revision)" = "$LIB/libjemalloc.so.2" ] || fail "jemalloc-config"
[ -e "$(config --includedir)/jemalloc/jemalloc.h" ] && [ -x "$(config --bindir)/jeprof" ] && [ -d "$(config --mandir)/man3" ] || fail "jemalloc-config: $(ls "$TMP/usr")"
[ "$(config --prefix)" = "$TMP/usr" ] && [ "$(config --datadir)" = "$TMP/usr/share" ] || fail "jemalloc-config: prefix $(config --prefix)"
config --version | grep -qE '^5\.3\.[0-9]+-0-g[0-9a-z]+$' || fail "jemalloc-config: version $(config --version)"
for option in --help -h --config --cc --cflags --cppflags --cxxflags --ldflags --libs; do
    config $option >known || fail "jemalloc-config $option: status $?"
    [ "$(wc -l <known)" -ge 1 ] || fail "jemalloc-config $option says nothing"
done
[ "$(config --help | grep -c '^  --')" = 16 ] || fail "jemalloc-config --help: $(config --help)"
! config --no-such-option >/dev/null 2>unknown && ! config 2>none >/dev/null && [ -s unknown ] && [ -s none ] || fail "jemalloc-config with an option that there is not"
flags=$(PKG_CONFIG_PATH=$LIB/pkgconfig pkg-config --cflags --libs jemalloc) || fail "pkg-config does not know jemalloc"
# shellcheck disable=SC2086
gcc -w -DWITH_JEMALLOC test.c $flags -o linked || fail "gcc with $flags"
LD_LIBRARY_PATH=$LIB ldd ./linked | grep -qF "$LIB/libjemalloc.so.2" || fail "linked with another: $(ldd ./linked)"
