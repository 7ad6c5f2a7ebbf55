#!/bin/sh
# format.sh [--fix] - every C and C++ file looks as .clang-format says (tables in *.def are laid out by hand).
set -u
cd "${VT_SRC:-$(dirname "$0")/../..}" || exit 3
if ! command -v clang-format >/dev/null 2>&1; then
    echo "skipped: no clang-format (scripts/setup test installs it)"
    exit 77
fi
# clang-format changes its mind between releases; the one of Debian 12 is the reference
version=$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')
if [ "$version" != 14 ]; then
    echo "skipped: clang-format $version, and the tree is formatted by 14"
    exit 77
fi
list() {
    for folder in src include report serve cli tests bench; do
        [ -d "$folder" ] && find "$folder" -name build -prune -o \
            -type f \( -name '*.c' -o -name '*.h' -o -name '*.cc' -o -name '*.cpp' \) -print
    done | sort
}
if [ "$(list | wc -l)" -eq 0 ]; then
    echo "expected C files below $(pwd), seen none"
    exit 1
fi
if [ "${1-}" = --fix ]; then
    list | xargs clang-format -i
    exit
fi
output=$(list | xargs clang-format --dry-run 2>&1)
n_files=$(printf '%s\n' "$output" | sed -n 's/^\([^: ]*\):[0-9]*:[0-9]*: warning: .*/\1/p' | sort -u | wc -l)
if [ -n "$output" ]; then
    printf '%s\n' "$output" | grep ': warning: ' | head -n 60
    echo "expected 0 files to change, seen $n_files; tests/lint/format.sh --fix changes them"
    exit 1
fi
echo "$(list | wc -l) files as they should be"
