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
    for name in "top --by" "tree --of" "diff --view" "top -t" "traces --type" "convert --to" "ctl --format"; do
        values=$(vitrine rows values ${name})
        [ "$(echo "$values" | wc -w)" -ge 3 ] || fail "expected values of '$name', saw '$values'"
        expect $shell "vitrine $name <blank>" "$values" "$(complete_$shell vitrine $name '')"
        case $name in *--*) expect $shell "vitrine $name=" "$values" "$(equals_$shell vitrine $name '' | sed 's/.*=//')" ;; esac
    done
    expect $shell "vitrine top --by=li" "lines" "$(equals_$shell vitrine top --by li | sed 's/.*=//')"
    expect $shell "vitrine top -t alloc_s" "alloc_space" "$(complete_$shell vitrine top -t alloc_s)"
    say "ok: $shell, $n questions"
}

# what is known is what is taken: the values of --by and --view are those that the command names when it gets another
echo "main;f 1" >one.folded
for name in "top --by" "diff --view"; do
    for value in $(vitrine rows values $name); do
        vitrine ${name}=nothing one.folded one.folded 2>&1 | grep -q "[ ,]$value[ ,]" || fail "'$value' is no value of '$name': $(vitrine ${name}=nothing one.folded one.folded 2>&1)"
    done
done

# equals_SHELL WORDS... OPTION VALUE: the value is behind a '='
equals_bash() { complete_bash "${@:1:$#-1}" = "${@:$#}"; }
equals_fish() { local line="${*:1:$#-1}=${*:$#}"; complete_fish_line "$line"; }
equals_zsh() { complete_zsh "${@:1:$#-2}" "${*:$#-1:1}=${*:$#}"; }
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

complete_fish() { complete_fish_line "$*"; }
complete_fish_line() { # its answer has descriptions
    local line=$1
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
        compset() { PREFIX=${PREFIX#*=} }
        _command_names() { : }
        vitrine_function() { . "$script" }
        script=$argv[1]
        vitrine_function' zsh "$VT_SRC/completion/_vitrine" "$@" | grep -v '^-[a-z]$'
}
if have zsh; then all zsh; else say "no zsh here: not looked at"; fi
