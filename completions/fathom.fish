# fish completion for fathom; verbs and options are asked from the tool itself
complete -c fathom -n __fish_use_subcommand -f -a '(fathom --complete 2>/dev/null)'
complete -c fathom -n 'not __fish_use_subcommand' -a '(fathom --complete (commandline -opc)[2] 2>/dev/null)'
complete -c fathom -n '__fish_seen_subcommand_from export' -s f -l format -x -a 'paraver perfetto speedscope callgrind csv json'
