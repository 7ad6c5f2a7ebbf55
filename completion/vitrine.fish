# vitrine.fish - completion of vitrine(1) for fish. What there is to complete comes from `vitrine rows`, the command's own
# rows ("NAME<tab>TEXT" is what fish wants), so it is always that of the command which is installed.

function __vitrine_options
    set -l words (commandline -opc)
    test (count $words) -ge 2; and vitrine rows options $words[2] 2>/dev/null
end

complete -c vitrine -n __fish_use_subcommand -f -a '(vitrine rows commands 2>/dev/null)'
complete -c vitrine -n '__fish_seen_subcommand_from help' -f -a '(vitrine rows commands 2>/dev/null)'
complete -c vitrine -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__vitrine_options)'
complete -c vitrine -n '__fish_seen_subcommand_from run' -a '(__fish_complete_command)'
