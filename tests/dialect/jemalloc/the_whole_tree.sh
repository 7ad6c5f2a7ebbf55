#!/bin/bash
# Every name of mallctl that we have and the original knows: the same errors and lengths, whatever is asked; options and configuration have
# the same value. Names that came after 5.3.0 are counted, those that the original does not survive are left out.
. "$(dirname "$0")/lib.sh"
has_original || skip "no libjemalloc-dev (scripts/setup test installs it)"
for_original "$TMP/tree" tree.c -I"$VT_SRC/src"
cd "$TMP" || exit 1
with_original ./tree >original || fail "the original: status $?"
with_ours ./tree >ours || fail "ours: status $?"
! grep -E ': (unknown|died)$' ours || fail "names that we have"
# what may differ, and why
cat >differs <<'END'
config.cache_oblivious: ours are not
config.opt_safety_checks: ours are always on
config.prof_libgcc: we unwind ourselves
config.xmalloc: Debian's is built without
opt.xmalloc: the same
opt.utrace: built without; kept here
opt.lg_san_uaf_align: the same
opt.narenas: threads share one here, there are four for each CPU there
opt.hpa_sec_nshards: 4 before 5.3.1
opt.hpa_sec_batch_fill_extra: 0 before 5.3.1
END
sed -nE 's/: (unknown|died)$/:/p' original >left_out
sed -E 's/:.*/:/' differs >>left_out
diff <(grep -vFf left_out original) <(grep -vFf left_out ours) || fail "<: the original, >: ours"
n=$(grep -cvFf left_out ours)
[ "$n" -ge 370 ] || fail "expected 370 names and more, compared $n"
say "$n names are the same, $(grep -c ': unknown$' original) are newer, $(wc -l <differs) differ"
