#!/bin/sh
# names.sh SUBJECT - the man pages name every option, every figure of the statistics and every function of vitrine.h.
# SUBJECT is a program that prints statistics as text and as JSON.
set -u
subject=${1:?}
: "${VT_SRC:?}" "${VT_BUILD:?}"
options=$VT_BUILD/man/vitrine-options.7
stats=$VT_BUILD/man/vitrine-stats.5
api=$VT_SRC/man/vitrine.3
failed=0 checked=0

# named FILE PATTERN WHAT: a line of the page matches
named() {
    checked=$((checked + 1))
    grep -Eq "$2" "$1" && return
    echo "$(basename "$1"): expected an item for $3, seen none"
    failed=$((failed + 1))
}

for page in "$options" "$stats" "$api"; do
    [ -s "$page" ] && continue
    echo "expected the page $page, seen nothing there (the target manpages makes it)"
    exit 1
done

# From the tables. Their rows are one line each; the second or first argument is the name.
for name in $(sed -n 's/^OPTION([A-Z]*, *\([a-z_]*\),.*/\1/p' "$VT_SRC/src/conf/options.def"); do
    named "$options" "^\.It Cm $name Ns = " "option $name"
done
for variable in $(sed -n 's/^ALIAS("\([A-Z_]*\)".*/\1/p' "$VT_SRC/src/conf/options.def"); do
    named "$options" "^\.It Ev $variable\$" "variable $variable"
done
for name in $(sed -n 's/^COUNTER(\([a-z_]*\),.*/\1/p' "$VT_SRC/src/conf/counters.def"); do
    named "$stats" "^\.It Va $name " "figure $name"
done

# From the header.
for name in $(sed -n 's/^[a-z].*[ *]\(vt_[a-z_]*\)(.*;.*/\1/p' "$VT_SRC/include/vitrine.h"); do
    named "$api" "^\.Fn $name " "function $name"
done

# From what a program prints: lines with a name and a figure, the heads of the class table, the keys of the JSON form.
printed=$("$subject") || { echo "expected $subject to exit 0, seen $?"; exit 1; }
figures=$(printf '%s\n' "$printed" | sed -n 's/^  \([a-z_]*\)  *[0-9].*/\1/p')
columns=$(printf '%s\n' "$printed" | grep -E '^ +block +[a-z]')
keys=$(printf '%s\n' "$printed" | grep '^{' | grep -o '"[a-z_]*":' | tr -d '":' | sort -u)
for name in $figures; do named "$stats" "^\.It Va $name " "printed figure $name"; done
for name in $columns; do named "$stats" "^\.It Va $name\$" "column $name"; done
for name in $keys; do named "$stats" "^\.(It )?Va $name( |\$)" "JSON member $name"; done
for part in "figures $figures" "columns $columns" "JSON $keys"; do
    [ "$(echo $part | wc -w)" -gt 5 ] && continue
    echo "expected names of ${part%% *} in the statistics, seen '${part#* }'; the whole was:"
    printf '%s\n' "$printed"
    failed=$((failed + 1))
done

# From the command: what its help lists.
command=$VT_BUILD/man/vitrine.1
vitrine=$VT_BUILD/bin/vitrine
if [ -x "$vitrine" ]; then
    commands=$("$vitrine" help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
    [ "$(echo $commands | wc -w)" -gt 10 ] || { echo "expected commands in the help, seen '$commands'"; failed=$((failed + 1)); }
    for name in $commands; do
        named "$command" "^\.It Cm \"$name " "command $name"
        for option in $("$vitrine" "$name" --help | sed -n 's/^  [ -][ a-z][ ,] --\([a-z-]*\).*/\1/p'); do
            named "$command" "^\.It .*Fl -$option( |\$)" "option --$option of $name"
        done
    done
else
    echo "no command in this build: its page not looked at"
fi

echo "$checked names: expected 0 missing, seen $failed"
[ $failed -eq 0 ] && [ $checked -ge 60 ]
