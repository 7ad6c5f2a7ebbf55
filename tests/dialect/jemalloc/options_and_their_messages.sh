#!/bin/bash
# MALLOC_CONF: what is said about it, beside the original where that says the same; all its sources; abort_conf.
. "$(dirname "$0")/lib.sh"
for_ours "$TMP/conf" conf.c
for_ours "$TMP/conf_symbol" conf.c -DHAS_CONF

# said CONF: what comes on stderr
said() { MALLOC_CONF=$1 timeout -k 10 "$LIMIT" "$TMP/conf" 2>&1 >/dev/null; }
expect() { # expect TEXT CONF
    local seen; seen=$(said "$2")
    [ "$seen" = "$1" ] || fail "MALLOC_CONF=$2: expected '$1', saw '$seen'"
}
expect '' ''
expect '' 'abort:false,narenas:default,tcache_ncached_max:16-32:5|64-128:7,hpa_dirty_mult:0.5,lg_prof_sample:0x10'
expect '<jemalloc>: Invalid conf value: prof:yes' prof:yes
expect '<jemalloc>: Invalid conf pair: g_prof_interval:32' g_prof_interval:32
expect '<jemalloc>: Out-of-range conf value: lg_prof_interval:99' lg_prof_interval:99
expect '<jemalloc>: Out-of-range conf value: narenas:0' narenas:0
expect '<jemalloc>: Invalid conf value: dss:maybe' dss:maybe
expect '<jemalloc>: Invalid conf value: prof:true;stats_print:true' 'prof:true;stats_print:true'
expect '<jemalloc>: Invalid settings for slab_sizes: slab_sizes:1-2' slab_sizes:1-2
expect '<jemalloc>: Conf string ends with comma -- zero:false,' zero:false,
expect '<jemalloc>: Conf string ends with key -- zero' zero
expect '<jemalloc>: Malformed conf string -- zero:false, tcache:true' 'zero:false, tcache:true'
MALLOC_CONF=abort_conf:true,foo:1 timeout -k 10 "$LIMIT" "$TMP/conf" >/dev/null 2>"$TMP/err"
[ $? -eq 134 ] || fail "abort_conf: expected SIGABRT"
grep -qxF '<jemalloc>: Abort (abort_conf:true) on invalid conf value (see above).' "$TMP/err" || fail "abort_conf: saw $(cat "$TMP/err")"
MALLOC_CONF=abort_conf:true,experimental_foo:1 timeout -k 10 "$LIMIT" "$TMP/conf" >/dev/null 2>&1 || fail "an experimental option: expected status 0"

# the sources, and which wins; ours is the last word
run() { timeout -k 10 "$LIMIT" "$@" 2>/dev/null; }
[ "$(run "$TMP/conf")" = "19 jeprof 10000 -1 free" ] || fail "defaults: saw $(run "$TMP/conf")"
[ "$(run "$TMP/conf_symbol")" = "12 mine 77 -1 alloc" ] || fail "malloc_conf: saw $(run "$TMP/conf_symbol")"
[ "$(MALLOC_CONF=prof_prefix:env,lg_prof_interval:30 run "$TMP/conf_symbol")" = "12 env 77 30 alloc" ] || fail "both"
for_ours "$TMP/conf_harder" conf.c -DHAS_HARDER
[ "$(run "$TMP/conf_harder")" = "19 harder 10000 -1 free" ] || fail "malloc_conf_2_conf_harder: saw $(run "$TMP/conf_harder")"
[ "$(MALLOC_CONF=prof_prefix:env,lg_prof_sample:13 run "$TMP/conf_harder")" = "13 harder 10000 -1 free" ] || fail "malloc_conf_2_conf_harder beats MALLOC_CONF"
# linked LINK PROGRAM: /etc/malloc.conf leads to LINK, for that program alone
linked() { run unshare -m sh -c 'mount -t tmpfs none /etc && ln -s "$1" /etc/malloc.conf && exec "$2"' sh "$@"; }
if unshare -m mount -t tmpfs none /etc 2>/dev/null; then
    [ "$(linked prof_prefix:link,lg_prof_sample:11 "$TMP/conf")" = "11 link 10000 -1 free" ] || fail "/etc/malloc.conf: saw $(linked prof_prefix:link "$TMP/conf")"
    [ "$(linked prof_prefix:link "$TMP/conf_symbol")" = "12 link 77 -1 alloc" ] || fail "/etc/malloc.conf beats malloc_conf"
    [ "$(MALLOC_CONF=prof_prefix:env linked prof_prefix:link,lg_prof_sample:11 "$TMP/conf")" = "11 env 10000 -1 free" ] || fail "MALLOC_CONF beats /etc/malloc.conf"
else
    say "part skipped: no mount namespaces here, so no /etc/malloc.conf"
fi
[ "$(JE_MALLOC_CONF=prof_prefix:env run "$TMP/conf")" = "19 env 10000 -1 free" ] || fail "JE_MALLOC_CONF"
cat >"$TMP/nine" <<'END'
<jemalloc>: malloc_conf #1 (string specified via --with-malloc-conf): ""
<jemalloc>: malloc_conf #2 (string pointed to by the global variable malloc_conf): ""
<jemalloc>: malloc_conf #3 ("name" of the file referenced by the symbolic link named /etc/malloc.conf): ""
<jemalloc>: malloc_conf #4 (value of the environment variable MALLOC_CONF): "confirm_conf:true,zero:false,narenas:2,lg_prof_sample:17"
<jemalloc>: -- Set conf value: confirm_conf:true
<jemalloc>: -- Set conf value: zero:false
<jemalloc>: -- Set conf value: narenas:2
<jemalloc>: -- Set conf value: lg_prof_sample:17
<jemalloc>: malloc_conf #5 (string pointed to by the global variable malloc_conf_2_conf_harder): ""
END
if [ ! -L /etc/malloc.conf ]; then
    said confirm_conf:true,zero:false,narenas:2,lg_prof_sample:17 >"$TMP/err"
    diff "$TMP/nine" "$TMP/err" || fail "confirm_conf (<: the original, >: ours)"
fi
timeout -k 10 "$LIMIT" "$TMP/conf" hear >/dev/null || fail "malloc_message of the program: status $?"

# a thread of ours gives memory back
MALLOC_CONF=background_thread:true LD_PRELOAD=$VT_JE_SO sleep 20 &
own $!
two_threads() { [ "$(ls "/proc/$1/task" | wc -l)" -eq 2 ]; }
await 10 two_threads $! || fail "background_thread: expected a second thread, saw $(ls "/proc/$!/task")"

has_original || { say "part skipped: no libjemalloc-dev"; exit 0; }
compile "$TMP/plain" plain.c
for conf in prof:yes g_prof_interval:32 lg_prof_interval:99 narenas:0 dss:maybe zero:maybe junk:sometimes stats_interval:x lg_prof_sample:-1; do
    MALLOC_CONF=$conf LD_PRELOAD=$ORIGINAL "$TMP/plain" 2>"$TMP/theirs"
    MALLOC_CONF=$conf LD_PRELOAD=$VT_JE_SO "$TMP/plain" 2>"$TMP/mine"
    diff "$TMP/theirs" "$TMP/mine" || fail "MALLOC_CONF=$conf: <: the original, >: ours"
done
