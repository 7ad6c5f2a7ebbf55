#!/bin/sh
# cppcheck.sh - cppcheck over src/, report/ and cli/; what is off, and why, is in cppcheck.suppress.
set -u
cd "${VT_SRC:-$(dirname "$0")/../..}" || exit 3
if ! command -v cppcheck >/dev/null 2>&1; then
    echo "skipped: no cppcheck (scripts/setup test installs it)"
    exit 77
fi
# max-configs: an #ifdef each for libc, hardening and architecture; the rest is combinations nobody builds
cppcheck --quiet --error-exitcode=1 --std=c11 --platform=unix64 -j 2 --max-configs=6 \
    --enable=warning,performance,portability --inline-suppr \
    --suppressions-list=tests/lint/cppcheck.suppress \
    --template='{file}:{line}: {severity}: {message} [{id}]' -I src -I include -I . src report cli
status=$?
echo "cppcheck: expected exit 0, seen $status"
exit $status
