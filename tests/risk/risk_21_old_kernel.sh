#!/bin/bash
# Row 21: kernels that lack newer calls. The audit library answers ENOSYS for the named ones, alone and together.
. "$(dirname "$0")/lib.sh"

[ -n "${VT_AUDIT_SO:-}" ] && [ -e "$VT_AUDIT_SO" ] || fail "expected VT_AUDIT_SO to name the audit library, saw '${VT_AUDIT_SO:-}'"
VT_SO=$VT_AUDIT_SO
compile "$TMP/workout" workout.c
cat >"$TMP/grow.c" <<'END'
/* Doubles one block to 64 MiB and back, beside neighbours that stop it from growing in place. */
#include "risk.h"
int main(void) {
    unsigned char *p = malloc(100), *wall[40];
    int n = 0;
    fill(p, 100, 3);
    for (size_t size = 100; size < MiB(64); size *= 2) {
        wall[n++] = malloc(size);
        p = realloc(p, size * 2);
        MUST(p != NULL && wall[n - 1] != NULL);
        CHECK_EQ(intact(p, 100, 3), 100);
        p[size * 2 - 1] = 1;
    }
    for (size_t size = MiB(64); size > 100; size /= 2) MUST((p = realloc(p, size)) != NULL);
    CHECK_EQ(intact(p, 100, 3), 100);
    while (n > 0) free(wall[--n]);
    unsigned char *zero = calloc(1, MiB(32));
    CHECK_EQ(first_nonzero(zero, MiB(32)), MiB(32));
    free(zero);
    free(p);
    return CHECK_DONE();
}
END
compile "$TMP/grow" "$TMP/grow.c"

names="mremap_dontunmap noreplace guard collapse anon_name getrandom sysfs hugepages purge"
all=$(printf %s "$names" | tr ' ' ',')
for missing in $names "$all" "reserve,$all"; do
    export VITRINE_FAIL_ALWAYS=$missing
    must "$TMP/workout" strict=1 ops=8000 max=4000000
    must "$TMP/grow"
    if have /usr/bin/python3; then
        seen=$(preload /usr/bin/python3 -c 'print(sum(len(str(i)) for i in range(100000)))')
        [ "$seen" = 488890 ] || fail "python3 without $missing: expected 488890, saw '$seen'"
    fi
    say "ok: without $missing"
done

# The proof that the hook bites: a library that cannot map at all must refuse, not crash.
export VITRINE_FAIL_ALWAYS=reserve,map,noreplace,commit
preload "$TMP/workout" strict=1 threads=1 ops=100 fork=0 >"$TMP/out" 2>&1
status=$?
[ $status -eq 1 ] && grep -q 'refusals under strict' "$TMP/out" ||
    fail "without any memory: expected a refusal (status 1), saw status $status: $(tail -1 "$TMP/out")"
