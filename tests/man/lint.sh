#!/bin/sh
# lint.sh - mandoc has nothing to say about the pages that are generated, nor about the hand-written one; groff, which most systems
# show them with, breaks every line of them on a terminal of 80 columns.
set -u
: "${VT_SRC:?}" "${VT_BUILD:?}"
if ! command -v mandoc >/dev/null 2>&1; then
    echo "skipped: no mandoc (scripts/setup test installs it)"
    exit 77
fi
failed=0 checked=0
for page in "$VT_SRC"/man/*.[1-8] "$VT_BUILD"/man/*.[1-8]; do
    [ -s "$page" ] || continue
    checked=$((checked + 1))
    # A page may refer to one that is not installed here.
    said=$(mandoc -T lint "$page" 2>/dev/null | grep -v 'referenced manual not found')
    ! command -v groff >/dev/null 2>&1 || said=$said$(groff -mdoc -Tutf8 -wbreak -rLL=78n "$page" 2>&1 >/dev/null)
    [ -z "$said" ] && continue
    printf '%s\n' "$said"
    failed=$((failed + 1))
done
echo "$checked pages: expected 0 with remarks, seen $failed"
[ $failed -eq 0 ] && [ $checked -ge 3 ]
