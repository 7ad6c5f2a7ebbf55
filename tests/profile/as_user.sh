#!/bin/bash
# as_user.sh CMD...: a test once more as nobody, when root runs the tests: what a user may plant, read and write differs from what root may.
. "$(dirname "$0")/../risk/lib.sh"
can_be_nobody || skip "only root becomes another user, by setpriv"
as_nobody test -r "$VT_SO" || skip "nobody cannot read the build tree"
# an interpreter below a private home: the system's
interpreter=$1; shift
as_nobody "$interpreter" --version >/dev/null 2>/dev/null || interpreter=/usr/bin/$(basename "$interpreter")
as_nobody "$interpreter" --version >/dev/null 2>/dev/null || skip "nobody cannot run $interpreter"
as_nobody env HOME=/nonexistent "$interpreter" "$@"
