#!/bin/bash
# completion.sh - the shells complete what the command has: every command, every option, and no more.
. "$(dirname "$0")/../risk/lib.sh"
: "${VT_BUILD:?}"
[ -x "$VT_BUILD/bin/vitrine" ] || skip "no command in this build"
PATH=$VT_BUILD/bin:$PATH
cd "$TMP" || fail "no scratch folder"
commands=$(vitrine help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
[ "$(echo "$commands" | wc -w)" -gt 10 ] || fail "expected commands in the help, saw '$commands'"

# expect SHELL WHAT EXPECTED SEEN: words in any order
expect() {
    local want seen
    want=$(echo "$3" | tr -s ' \n' '\n' | sort | xargs)
    seen=$(echo "$4" | tr -s ' \n' '\n' | sort | xargs)
    [ "$want" = "$seen" ] || fail "$1: '$2': expected '$want', saw '$seen'"
    n=$((n + 1))
}

# all SHELL: questions to complete_SHELL, which gets the words and prints what is offered
all() {
    local shell=$1 name
    n=0
    expect $shell "vitrine " "$commands help" "$(complete_$shell vitrine '')"
    expect $shell "vitrine he" "help" "$(complete_$shell vitrine he)"
    expect $shell "vitrine help gra" "graph" "$(complete_$shell vitrine help gra)"
    for name in $commands; do
        expect $shell "vitrine $name --" "$(vitrine "$name" --help | sed -n 's/^  [ -][ a-z][ ,] \(--[a-z-]*=*\).*/\1/p') --help" \
            "$(complete_$shell vitrine "$name" --)"
    done
    expect $shell "vitrine top --foc" "--focus=" "$(complete_$shell vitrine top --foc)"
    expect $shell "vitrine run --ex" "--exact" "$(complete_$shell vitrine run --ex)"
    expect $shell "vitrine ctl 1 cont" "contention-start contention-dump contention-stop" "$(complete_$shell vitrine ctl 1 cont)"
    expect $shell "vitrine ctl 1 " "$(vitrine ctl --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\).*/\1/p')" "$(complete_$shell vitrine ctl 1 '')"
    say "ok: $shell, $n questions"
}

complete_bash() {
    bash --norc -c '
        . "$0"
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        _vitrine vitrine "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf "%s\n" "${COMPREPLY[@]}"' "$VT_SRC/completion/vitrine.bash" "$@"
}
all bash
expect bash "run ls --ex" "" "$(complete_bash vitrine run ls --ex)"
expect bash "run -o there -- ls --ex" "" "$(complete_bash vitrine run -o there -- ls --ex)"
expect bash "run -o there --ex" "--exact" "$(complete_bash vitrine run -o there --ex)"
expect bash "run basenam" "basename" "$(complete_bash vitrine run basenam | sort -u)"
expect bash "top fi" "" "$(complete_bash vitrine top fi)" # file names are bash's own

complete_fish() { # the words as a line; its answer has descriptions
    local line="$*"
    fish --no-config -c "source $VT_SRC/completion/vitrine.fish; complete -C '$line'" 2>&1 | cut -f 1 | grep -v '^-[a-z]$'
}
if have fish; then all fish; else say "no fish here: not looked at"; fi

# The functions of zsh's completion system, as far as ours calls them: they print the arrays they are given.
complete_zsh() {
    zsh -f -c '
        words=("${(@)argv[2,-1]}") CURRENT=$(($# - 1)) PREFIX=$argv[-1]
        offer() { local row; for row in "$@"; do [[ $row == $PREFIX* ]] && print -r -- "${row%%:*}"; done }
        _describe() { local a; for a in plain wanting; do [[ $argv == *$a* ]] && offer "${(@P)a}"; done; return 0 }
        _files() { : }
        _command_names() { : }
        vitrine_function() { . "$script" }
        script=$argv[1]
        vitrine_function' zsh "$VT_SRC/completion/_vitrine" "$@" | grep -v '^-[a-z]$'
}
if have zsh; then all zsh; else say "no zsh here: not looked at"; fi
