# pagewell.fish - what fish completes after `pagewell`.

complete -c pagewell -f
complete -c pagewell -l help -d 'say more'
complete -c pagewell -l version -d 'say the version'

complete -c pagewell -n __fish_use_subcommand -a run -d 'run a program with its reads served from mapped pages'
complete -c pagewell -n __fish_use_subcommand -a explain -d 'run a program, and say what became of its reads'
complete -c pagewell -n __fish_use_subcommand -a stat -d 'show what processes have mapped and counted'
complete -c pagewell -n __fish_use_subcommand -a ls -d 'list the files that processes have windows of'
complete -c pagewell -n __fish_use_subcommand -a top -d 'the same, live'
complete -c pagewell -n __fish_use_subcommand -a drop -d 'have words and windows forgotten'
complete -c pagewell -n __fish_use_subcommand -a warm -d 'bring files into memory'
complete -c pagewell -n __fish_use_subcommand -a bench -d 'measure whether it is worth it here'
complete -c pagewell -n __fish_use_subcommand -a check -d 'look for what can not be in the segment'

set -l launching '__fish_seen_subcommand_from run explain'
complete -c pagewell -n $launching -l size -x -d 'bound on mapped bytes'
complete -c pagewell -n $launching -l include -x -d 'serve only these paths'
complete -c pagewell -n $launching -l exclude -x -d 'do not serve these paths'
complete -c pagewell -n $launching -l fs -x -d 'file systems to add or leave'
complete -c pagewell -n $launching -l trust -r -F -d 'trees on other file systems to serve'
complete -c pagewell -n $launching -l report -r -F -d 'counts are written there at exit'
complete -c pagewell -n $launching -l log -r -F -d 'notes on what was refused'
complete -c pagewell -n $launching -a '(__fish_complete_subcommand --fcs-skip=2)'
complete -c pagewell -n '__fish_seen_subcommand_from run' -l verbose -d 'say what runs'
complete -c pagewell -n '__fish_seen_subcommand_from explain' -s o -l output -r -F -d 'write to a file'
complete -c pagewell -n '__fish_seen_subcommand_from explain' -l all -d 'all files'

complete -c pagewell -n '__fish_seen_subcommand_from run explain stat ls top drop warm check' -l segment -r -F -d 'the shared segment'
complete -c pagewell -n '__fish_seen_subcommand_from explain stat ls bench' -l json -d 'as JSON'
complete -c pagewell -n '__fish_seen_subcommand_from top' -s d -x -d 'seconds between two'
complete -c pagewell -n '__fish_seen_subcommand_from top' -s n -x -d 'how often'
complete -c pagewell -n '__fish_seen_subcommand_from drop' -l all -d 'of all files'
complete -c pagewell -n '__fish_seen_subcommand_from warm' -s r -l recursive -d 'of directories'
complete -c pagewell -n '__fish_seen_subcommand_from warm' -s q -l quiet -d 'say nothing'
complete -c pagewell -n '__fish_seen_subcommand_from bench' -l seconds -x -d 'how long'
complete -c pagewell -n '__fish_seen_subcommand_from check' -l repair -d 'put it right'
complete -c pagewell -n '__fish_seen_subcommand_from drop warm bench' -F
