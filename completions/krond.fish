# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_krond_global_optspecs
    string join \n color= h/help V/version
end

function __fish_krond_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_krond_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_krond_using_subcommand
    set -l cmd (__fish_krond_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c krond -n "__fish_krond_needs_command" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krond -n "__fish_krond_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krond -n "__fish_krond_needs_command" -s V -l version -d 'Print version'
complete -c krond -n "__fish_krond_needs_command" -f -a "start" -d 'Run the daemon, in the foreground'
complete -c krond -n "__fish_krond_needs_command" -f -a "status" -d 'How the daemon is'
complete -c krond -n "__fish_krond_needs_command" -f -a "jobs" -d 'All jobs: what runs next, how the last run ended, what is running'
complete -c krond -n "__fish_krond_needs_command" -f -a "history" -d 'How the latest periods of a job ended'
complete -c krond -n "__fish_krond_needs_command" -f -a "why" -d 'What happened or will happen to a period, and why'
complete -c krond -n "__fish_krond_needs_command" -f -a "reload" -d 'Read the configuration again, and say what came of it'
complete -c krond -n "__fish_krond_needs_command" -f -a "stop" -d 'End the daemon, and wait until it has ended'
complete -c krond -n "__fish_krond_needs_command" -f -a "state" -d 'Look at a job\'s state, or forget its marks'
complete -c krond -n "__fish_krond_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c krond -n "__fish_krond_using_subcommand start" -l config -d 'As PATH; may be repeated' -r -F
complete -c krond -n "__fish_krond_using_subcommand start" -l state-dir -d 'Directory of state files. Default: /var/lib/krond, or ~/.local/state/krond' -r -f -a "(__fish_complete_directories)"
complete -c krond -n "__fish_krond_using_subcommand start" -l socket -d 'Socket to talk to the daemon. Default: control.sock in the state directory' -r -F
complete -c krond -n "__fish_krond_using_subcommand start" -l log-format -d 'How to log to standard error. Default: for people on a terminal, otherwise text' -r -f -a "text\t'Pairs, one event a line'
json\t'An object a line, with the same keys'
human\t'Short, for people; the default on a terminal'"
complete -c krond -n "__fish_krond_using_subcommand start" -l log-level -d 'Least level to log' -r -f -a "debug\t'Everything'
info\t'What happens'
warn\t'What somebody should look at'
error\t'What went wrong'"
complete -c krond -n "__fish_krond_using_subcommand start" -l history -d 'Ended periods to keep in each state file' -r
complete -c krond -n "__fish_krond_using_subcommand start" -l grace -d 'From asking a job to end (TERM) until making it (KILL)' -r
complete -c krond -n "__fish_krond_using_subcommand start" -l shutdown -d 'What becomes of running jobs when the daemon ends' -r -f -a "wait\t'Wait for them'
terminate\t'End them: TERM, and KILL after the grace'
detach\t'Leave them running; the next daemon finds them'"
complete -c krond -n "__fish_krond_using_subcommand start" -l shutdown-limit -d 'Longest wait for running jobs when the daemon ends; then they are left running' -r
complete -c krond -n "__fish_krond_using_subcommand start" -l max-running -d 'Most jobs to run at once; others wait until their deadline' -r
complete -c krond -n "__fish_krond_using_subcommand start" -l limit-nofile -d 'Most open files of a job that does not say (`RLIMIT_NOFILE`)' -r
complete -c krond -n "__fish_krond_using_subcommand start" -l limit-nproc -d 'Most processes of the user of a job that does not say (`RLIMIT_NPROC`)' -r
complete -c krond -n "__fish_krond_using_subcommand start" -l metrics -d 'Serve metrics for Prometheus at this address, such as 127.0.0.1:9550' -r
complete -c krond -n "__fish_krond_using_subcommand start" -l pid-file -d 'Write the daemon\'s PID to this file' -r -F
complete -c krond -n "__fish_krond_using_subcommand start" -l crash-at -d 'For tests: end by SIGKILL at this point' -r
complete -c krond -n "__fish_krond_using_subcommand start" -l fail-at -d 'For tests: a step that fails, such as rename:3=ENOSPC' -r
complete -c krond -n "__fish_krond_using_subcommand start" -l spare-age -d 'For tests: how old a replaced state file must be before it is written into again' -r
complete -c krond -n "__fish_krond_using_subcommand start" -l clock-shift -d 'For tests: the clock differs by the seconds in this file, read again at USR2' -r -F
complete -c krond -n "__fish_krond_using_subcommand start" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krond -n "__fish_krond_using_subcommand start" -l keep-going -d 'Start with the valid entries even if others are not; report those'
complete -c krond -n "__fish_krond_using_subcommand start" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krond -n "__fish_krond_using_subcommand status" -l state-dir -d 'Directory of state files. Default: /var/lib/krond, or ~/.local/state/krond' -r -f -a "(__fish_complete_directories)"
complete -c krond -n "__fish_krond_using_subcommand status" -l socket -d 'Socket to talk to the daemon. Default: control.sock in the state directory' -r -F
complete -c krond -n "__fish_krond_using_subcommand status" -l format -d 'How to print it' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c krond -n "__fish_krond_using_subcommand status" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krond -n "__fish_krond_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krond -n "__fish_krond_using_subcommand jobs" -l state-dir -d 'Directory of state files. Default: /var/lib/krond, or ~/.local/state/krond' -r -f -a "(__fish_complete_directories)"
complete -c krond -n "__fish_krond_using_subcommand jobs" -l socket -d 'Socket to talk to the daemon. Default: control.sock in the state directory' -r -F
complete -c krond -n "__fish_krond_using_subcommand jobs" -l format -d 'How to print it' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c krond -n "__fish_krond_using_subcommand jobs" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krond -n "__fish_krond_using_subcommand jobs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krond -n "__fish_krond_using_subcommand history" -l state-dir -d 'Directory of state files. Default: /var/lib/krond, or ~/.local/state/krond' -r -f -a "(__fish_complete_directories)"
complete -c krond -n "__fish_krond_using_subcommand history" -l socket -d 'Socket to talk to the daemon. Default: control.sock in the state directory' -r -F
complete -c krond -n "__fish_krond_using_subcommand history" -l format -d 'How to print it' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c krond -n "__fish_krond_using_subcommand history" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krond -n "__fish_krond_using_subcommand history" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krond -n "__fish_krond_using_subcommand why" -l at -d 'A time in or near the period\'s window, such as 2026-03-01T10:00:00Z, \'2026-03-01 10:00\' (in the job\'s zone), now, +2h or -90m' -r
complete -c krond -n "__fish_krond_using_subcommand why" -l state-dir -d 'Directory of state files. Default: /var/lib/krond, or ~/.local/state/krond' -r -f -a "(__fish_complete_directories)"
complete -c krond -n "__fish_krond_using_subcommand why" -l socket -d 'Socket to talk to the daemon. Default: control.sock in the state directory' -r -F
complete -c krond -n "__fish_krond_using_subcommand why" -l format -d 'How to print it' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c krond -n "__fish_krond_using_subcommand why" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krond -n "__fish_krond_using_subcommand why" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krond -n "__fish_krond_using_subcommand reload" -l state-dir -d 'Directory of state files. Default: /var/lib/krond, or ~/.local/state/krond' -r -f -a "(__fish_complete_directories)"
complete -c krond -n "__fish_krond_using_subcommand reload" -l socket -d 'Socket to talk to the daemon. Default: control.sock in the state directory' -r -F
complete -c krond -n "__fish_krond_using_subcommand reload" -l format -d 'How to print it' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c krond -n "__fish_krond_using_subcommand reload" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krond -n "__fish_krond_using_subcommand reload" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krond -n "__fish_krond_using_subcommand stop" -l state-dir -d 'Directory of state files. Default: /var/lib/krond, or ~/.local/state/krond' -r -f -a "(__fish_complete_directories)"
complete -c krond -n "__fish_krond_using_subcommand stop" -l socket -d 'Socket to talk to the daemon. Default: control.sock in the state directory' -r -F
complete -c krond -n "__fish_krond_using_subcommand stop" -l format -d 'How to print it' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c krond -n "__fish_krond_using_subcommand stop" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krond -n "__fish_krond_using_subcommand stop" -l graceful -d 'Wait for running jobs'
complete -c krond -n "__fish_krond_using_subcommand stop" -l now -d 'End running jobs: TERM, and KILL after the grace'
complete -c krond -n "__fish_krond_using_subcommand stop" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krond -n "__fish_krond_using_subcommand state; and not __fish_seen_subcommand_from show reset help" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krond -n "__fish_krond_using_subcommand state; and not __fish_seen_subcommand_from show reset help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krond -n "__fish_krond_using_subcommand state; and not __fish_seen_subcommand_from show reset help" -f -a "show" -d 'Print a job\'s state file'
complete -c krond -n "__fish_krond_using_subcommand state; and not __fish_seen_subcommand_from show reset help" -f -a "reset" -d 'Forget which periods of a job are handled'
complete -c krond -n "__fish_krond_using_subcommand state; and not __fish_seen_subcommand_from show reset help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c krond -n "__fish_krond_using_subcommand state; and __fish_seen_subcommand_from show" -l state-dir -d 'Directory of state files. Default: /var/lib/krond, or ~/.local/state/krond' -r -f -a "(__fish_complete_directories)"
complete -c krond -n "__fish_krond_using_subcommand state; and __fish_seen_subcommand_from show" -l socket -d 'Socket to talk to the daemon. Default: control.sock in the state directory' -r -F
complete -c krond -n "__fish_krond_using_subcommand state; and __fish_seen_subcommand_from show" -l format -d 'How to print it' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c krond -n "__fish_krond_using_subcommand state; and __fish_seen_subcommand_from show" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krond -n "__fish_krond_using_subcommand state; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krond -n "__fish_krond_using_subcommand state; and __fish_seen_subcommand_from reset" -l state-dir -d 'Directory of state files. Default: /var/lib/krond, or ~/.local/state/krond' -r -f -a "(__fish_complete_directories)"
complete -c krond -n "__fish_krond_using_subcommand state; and __fish_seen_subcommand_from reset" -l socket -d 'Socket to talk to the daemon. Default: control.sock in the state directory' -r -F
complete -c krond -n "__fish_krond_using_subcommand state; and __fish_seen_subcommand_from reset" -l format -d 'How to print it' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c krond -n "__fish_krond_using_subcommand state; and __fish_seen_subcommand_from reset" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krond -n "__fish_krond_using_subcommand state; and __fish_seen_subcommand_from reset" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krond -n "__fish_krond_using_subcommand state; and __fish_seen_subcommand_from help" -f -a "show" -d 'Print a job\'s state file'
complete -c krond -n "__fish_krond_using_subcommand state; and __fish_seen_subcommand_from help" -f -a "reset" -d 'Forget which periods of a job are handled'
complete -c krond -n "__fish_krond_using_subcommand state; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c krond -n "__fish_krond_using_subcommand help; and not __fish_seen_subcommand_from start status jobs history why reload stop state help" -f -a "start" -d 'Run the daemon, in the foreground'
complete -c krond -n "__fish_krond_using_subcommand help; and not __fish_seen_subcommand_from start status jobs history why reload stop state help" -f -a "status" -d 'How the daemon is'
complete -c krond -n "__fish_krond_using_subcommand help; and not __fish_seen_subcommand_from start status jobs history why reload stop state help" -f -a "jobs" -d 'All jobs: what runs next, how the last run ended, what is running'
complete -c krond -n "__fish_krond_using_subcommand help; and not __fish_seen_subcommand_from start status jobs history why reload stop state help" -f -a "history" -d 'How the latest periods of a job ended'
complete -c krond -n "__fish_krond_using_subcommand help; and not __fish_seen_subcommand_from start status jobs history why reload stop state help" -f -a "why" -d 'What happened or will happen to a period, and why'
complete -c krond -n "__fish_krond_using_subcommand help; and not __fish_seen_subcommand_from start status jobs history why reload stop state help" -f -a "reload" -d 'Read the configuration again, and say what came of it'
complete -c krond -n "__fish_krond_using_subcommand help; and not __fish_seen_subcommand_from start status jobs history why reload stop state help" -f -a "stop" -d 'End the daemon, and wait until it has ended'
complete -c krond -n "__fish_krond_using_subcommand help; and not __fish_seen_subcommand_from start status jobs history why reload stop state help" -f -a "state" -d 'Look at a job\'s state, or forget its marks'
complete -c krond -n "__fish_krond_using_subcommand help; and not __fish_seen_subcommand_from start status jobs history why reload stop state help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c krond -n "__fish_krond_using_subcommand help; and __fish_seen_subcommand_from state" -f -a "show" -d 'Print a job\'s state file'
complete -c krond -n "__fish_krond_using_subcommand help; and __fish_seen_subcommand_from state" -f -a "reset" -d 'Forget which periods of a job are handled'
