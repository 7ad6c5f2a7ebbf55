#!/bin/bash
# run.sh PROGRAM.c|.cpp [FLAG...]: compile one test program and run it under the library; for rows
# that need no script of their own.
. "$(dirname "$0")/lib.sh"

src=$1; shift
compile "$TMP/program" "$src" "$@" -ldl
cd "$TMP" || exit 1
must "$TMP/program"
