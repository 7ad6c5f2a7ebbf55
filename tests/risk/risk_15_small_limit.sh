#!/bin/bash
# Row 15: limits so small that the heap's own tables and steps count. Programs get as far as with glibc, within 10 %, or nearly; below
# that malloc works or says in one line why it cannot.
. "$(dirname "$0")/lib.sh"
cat >"$TMP/threads.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
static void *a_little(void *arg) {
    for (size_t n = 1; n < 1000; n++) {
        void *p = malloc(n);
        if (p == NULL) exit(1);
        free(p);
    }
    return arg;
}
int main(int argc, char **argv) {
    pthread_t id[4];
    int n = argc > 1 ? atoi(argv[1]) : 4;
    for (int i = 0; i < n; i++)
        if (pthread_create(&id[i], NULL, a_little, NULL) != 0) return 2;
    for (int i = 0; i < n; i++) pthread_join(id[i], NULL);
    return 0;
}
END
cat >"$TMP/fill.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
    size_t n_bytes = strtoul(argv[argc - 1], NULL, 10), given = 0;
    char *p, line[32];
    while ((p = malloc(n_bytes)) != NULL) memset(p, 1, n_bytes), given += n_bytes;
    return fwrite(line, 1, (size_t)snprintf(line, sizeof line, "%zu\n", given >> 10), stdout) == 0;
}
END
compile "$TMP/threads" "$TMP/threads.c"
compile "$TMP/fill" "$TMP/fill.c"
check_preload "$TMP/fill"
check_preload "$TMP/threads"

# limited LETTER KIB LIB CMD...
limited() {
    local letter=$1 kib=$2 lib=$3; shift 3
    ( ulimit "-$letter" "$kib"; exec timeout -k 10 "$LIMIT" env LD_PRELOAD="$lib" "$@" )
}
limited v 50000 "$VT_SO" "$TMP/threads" || fail "4 threads under ulimit -v 50000: status $?"
limited d 45000 "$VT_SO" "$TMP/threads" || fail "4 threads under ulimit -d 45000: status $?"
for row in "v 50000 1000" "v 50000 1000000" "v 30000 1000" "v 200000 1000" "d 20000 1000" "d 200000 1000" "d 200000 1048633" "d 400000 3000000"; do
    # shellcheck disable=SC2086
    set -- $row
    theirs=$(limited "$1" "$2" "" "$TMP/fill" "$3")
    ours=$(limited "$1" "$2" "$VT_SO" "$TMP/fill" "$3") || fail "ulimit -$1 $2: status $?"
    say "ulimit -$1 $2, blocks of $3: $ours KiB, glibc $theirs"
    [ $((ours * 10)) -ge $((theirs * 9)) ] || fail "ulimit -$1 $2, blocks of $3: $ours KiB, glibc gives $theirs"
done
ours=$(limited d 5000 "$VT_SO" "$TMP/fill" 1000)
[ "$ours" -ge 3000 ] || fail "ulimit -d 5000: $ours KiB"
for row in "v 7000 ls /" "d 2500 ls /" "v 20000 /usr/bin/python3 -c 1" "v 12000 perl -e 1"; do
    # shellcheck disable=SC2086
    set -- $row
    letter=$1 kib=$2; shift 2
    have "$1" || continue
    limited "$letter" "$kib" "" "$@" >/dev/null 2>&1 || { say "part skipped: $1 does not run so even with glibc"; continue; }
    limited "$letter" "$kib" "$VT_SO" "$@" >/dev/null || fail "$* under ulimit -$letter $kib: status $?"
done
# It works, or the loader cannot even load us, or we say so, once.
n_said=0
for kib in $(seq 300 50 1500); do
    limited d "$kib" "$VT_SO" "$TMP/fill" 100 >"$TMP/out" 2>"$TMP/err"
    [ "$(cat "$TMP/out")" != 0 ] && continue
    [ "$(wc -l <"$TMP/err")" = 1 ] && grep -q "^vitrine: warning: no memory for a heap: the process may have $kib KiB of data (ulimit -d)$" "$TMP/err" ||
        fail "ulimit -d $kib: malloc failed from the first on, and stderr says '$(cat "$TMP/err")'"
    n_said=$((n_said + 1))
done
[ $n_said -gt 0 ] || fail "no limit was small enough for the line"

# The same for threads, whoever has a heap already: they run, or one line says why one cannot, or cannot have a block.
n_said=0
for row in "d 6000" "d 12000" "d 16000" "d 20000" "d 26000" "d 40000" "v 20000" "v 30000" "v 40000" "v 50000"; do
    for n in 1 2 4; do
        # shellcheck disable=SC2086
        set -- $row
        what="addresses (ulimit -v)"
        [ "$1" = v ] || what="data (ulimit -d)"
        limited "$1" "$2" "$VT_SO" "$TMP/threads" "$n" >/dev/null 2>"$TMP/err" && continue
        said=$(sed -E 's/ a (heap|block|thread):/ it:/' "$TMP/err")
        [ "$said" = "vitrine: warning: no memory for it: the process may have $2 KiB of $what" ] || fail "$n threads, ulimit -$1 $2: stderr says '$(cat "$TMP/err")'"
        n_said=$((n_said + 1))
    done
done
[ $n_said -gt 0 ] || fail "no limit was small enough for the line about threads"
