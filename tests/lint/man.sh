#!/bin/sh
# man.sh - the man pages are good mdoc, as mandoc sees it.
set -u
cd "${VT_SRC:-$(dirname "$0")/../..}" || exit 3
if ! command -v mandoc >/dev/null 2>&1; then
    echo "skipped: no mandoc (scripts/setup test installs it)"
    exit 77
fi
pages=$(find . -name .git -prune -o -name build -prune -o -type f -name '*.[1-8]' -print | sort)
if [ -z "$pages" ]; then
    echo "skipped: no man pages in the tree"
    exit 77
fi
failed=0
for page in $pages; do
    # style hints are taste; warnings are mistakes. A page may refer to one that is not installed here.
    output=$(mandoc -T lint -W warning "$page" 2>&1 | grep -v 'referenced manual not found')
    [ -z "$output" ] && continue
    printf '%s\n' "$output"
    failed=$((failed + 1))
done
echo "$(printf '%s\n' "$pages" | wc -l) pages: expected 0 with warnings, seen $failed"
[ $failed -eq 0 ]
