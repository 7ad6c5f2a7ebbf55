# vitrine.bash - completion of vitrine(1) for bash. What there is to complete comes from `vitrine rows`, the command's own
# rows, so it is always that of the command which is installed.

_vitrine() {
    local command current=$2 words word
    COMPREPLY=()
    command=${COMP_WORDS[1]}
    if [[ $COMP_CWORD -eq 1 || $command == help ]]; then
        words=$("$1" rows commands 2>/dev/null | cut -f 1)
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        return
    fi
    # behind the program of `run` come the program's own words
    if [[ $command == run ]] && _vitrine_has_program; then return; fi
    # the value of an option: '--by=' is three words here, where '=' breaks them
    local option=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $option == '=' ]]; then option=${COMP_WORDS[COMP_CWORD - 2]}; fi
    if [[ $option == -* ]]; then
        [[ $current != '=' ]] || current=
        words=$("$1" rows values "$command" "$option" 2>/dev/null)
        if [[ $words ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
            return
        fi
    fi
    if [[ $current == -* ]]; then
        words=$("$1" rows options "$command" 2>/dev/null | cut -f 1)
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        for word in "${COMPREPLY[@]}"; do
            [[ $word != *= ]] || compopt -o nospace 2>/dev/null
        done
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} =~ ^[0-9]+$ ]]; then # behind a process: what it can be asked for
        words=$("$1" rows words "$command" 2>/dev/null | cut -f 1)
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    elif [[ $command == run ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
    fi
    # nothing found: file names, by -o default
}

# Is there a word before the cursor that is no option of ours? -o has its value in the next word.
_vitrine_has_program() {
    local i
    for ((i = 2; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            -o) ((i++)) ;;
            --) ((i + 1 < COMP_CWORD)) && return 0 ;;
            -* | =) ;;
            *) [[ ${COMP_WORDS[i - 1]} == '=' ]] || return 0 ;;
        esac
    done
    return 1
}

complete -o default -o bashdefault -F _vitrine vitrine
