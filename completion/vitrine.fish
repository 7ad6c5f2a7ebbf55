# vitrine.fish - completion of vitrine(1) for fish. What there is to complete comes from `vitrine rows`, the command's own
# rows ("NAME<tab>TEXT" is what fish wants), so it is always that of the command which is installed.

function __vitrine_options
    set -l words (commandline -opc)
    test (count $words) -ge 2; or return
    set -l option (string match -r -- '^--[^=]+=' (commandline -ct))
    if test -n "$option" # its values
        vitrine rows values $words[2] (string trim -r -c = -- $option) 2>/dev/null | string replace -r '^' -- "$option"
    else
        vitrine rows options $words[2] 2>/dev/null
    end
end

# the values of the option before the cursor: -t inuse_space
function __vitrine_values
    set -l words (commandline -opc)
    test (count $words) -ge 3; and string match -q -- '-*' $words[-1]; and vitrine rows values $words[2] $words[-1] 2>/dev/null
end

complete -c vitrine -n __fish_use_subcommand -f -a '(vitrine rows commands 2>/dev/null)'
complete -c vitrine -n '__fish_seen_subcommand_from help' -f -a '(vitrine rows commands 2>/dev/null)'
complete -c vitrine -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__vitrine_options)'
complete -c vitrine -n 'string length -q -- (__vitrine_values)' -f -a '(__vitrine_values)'
# behind a process: what it can be asked for
complete -c vitrine -n '__fish_seen_subcommand_from ctl; and string match -qr "^[0-9]+\$" -- (commandline -opc)[-1]' \
    -f -a '(vitrine rows words ctl 2>/dev/null)'
complete -c vitrine -n '__fish_seen_subcommand_from run' -a '(__fish_complete_command)'
