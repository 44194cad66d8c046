# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_krontab_global_optspecs
    string join \n color= h/help V/version
end

function __fish_krontab_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_krontab_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_krontab_using_subcommand
    set -l cmd (__fish_krontab_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c krontab -n "__fish_krontab_needs_command" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krontab -n "__fish_krontab_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krontab -n "__fish_krontab_needs_command" -s V -l version -d 'Print version'
complete -c krontab -n "__fish_krontab_needs_command" -f -a "lint" -d 'Check configuration files'
complete -c krontab -n "__fish_krontab_needs_command" -f -a "explain" -d 'Explain why a job runs at the second it does'
complete -c krontab -n "__fish_krontab_needs_command" -f -a "next" -d 'Show the next runs of one job, or of all'
complete -c krontab -n "__fish_krontab_needs_command" -f -a "decide" -d 'Decide many periods: JSON lines in, JSON lines out'
complete -c krontab -n "__fish_krontab_needs_command" -f -a "list" -d 'List the jobs of the configuration'
complete -c krontab -n "__fish_krontab_needs_command" -f -a "show" -d 'Show one job: its entry in full, defaults included'
complete -c krontab -n "__fish_krontab_needs_command" -f -a "add" -d 'Add a job'
complete -c krontab -n "__fish_krontab_needs_command" -f -a "set" -d 'Change a job'
complete -c krontab -n "__fish_krontab_needs_command" -f -a "remove" -d 'Remove a job'
complete -c krontab -n "__fish_krontab_needs_command" -f -a "edit" -d 'Edit a file with $VISUAL or $EDITOR'
complete -c krontab -n "__fish_krontab_needs_command" -f -a "import" -d 'Convert jobs of cron, systemd timers and Kubernetes `CronJob`s'
complete -c krontab -n "__fish_krontab_needs_command" -f -a "run" -d 'Run a job\'s command now, as the daemon would'
complete -c krontab -n "__fish_krontab_needs_command" -f -a "verify" -d 'Check logged decisions by making them again'
complete -c krontab -n "__fish_krontab_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c krontab -n "__fish_krontab_using_subcommand lint" -l as -d 'Take the files to be installed in DIR, which is part of a job\'s identity' -r -f -a "(__fish_complete_directories)"
complete -c krontab -n "__fish_krontab_using_subcommand lint" -l from -d 'Look ahead for a year from TIME instead of now' -r
complete -c krontab -n "__fish_krontab_using_subcommand lint" -l format -d 'How to print' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c krontab -n "__fish_krontab_using_subcommand lint" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krontab -n "__fish_krontab_using_subcommand lint" -l deny-warnings -d 'Treat warnings as errors'
complete -c krontab -n "__fish_krontab_using_subcommand lint" -l all -d 'Show every finding, also where there are many of a kind'
complete -c krontab -n "__fish_krontab_using_subcommand lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krontab -n "__fish_krontab_using_subcommand explain" -l file -d 'File or directory to read; may be repeated. Default: the user\'s or the system\'s configuration' -r -F
complete -c krontab -n "__fish_krontab_using_subcommand explain" -l as -d 'Take the files to be installed in DIR, which is part of a job\'s identity' -r -f -a "(__fish_complete_directories)"
complete -c krontab -n "__fish_krontab_using_subcommand explain" -l schedule -d 'A schedule, cron fields and modifiers, instead of a file' -r
complete -c krontab -n "__fish_krontab_using_subcommand explain" -l identity -d 'The identity that goes with --schedule; it seeds the choice' -r
complete -c krontab -n "__fish_krontab_using_subcommand explain" -l at -d 'A time of the period to explain. Default: the next run\'s' -r
complete -c krontab -n "__fish_krontab_using_subcommand explain" -l format -d 'How to print' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c krontab -n "__fish_krontab_using_subcommand explain" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krontab -n "__fish_krontab_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krontab -n "__fish_krontab_using_subcommand next" -l file -d 'File or directory to read; may be repeated. Default: the user\'s or the system\'s configuration' -r -F
complete -c krontab -n "__fish_krontab_using_subcommand next" -l as -d 'Take the files to be installed in DIR, which is part of a job\'s identity' -r -f -a "(__fish_complete_directories)"
complete -c krontab -n "__fish_krontab_using_subcommand next" -l schedule -d 'A schedule, cron fields and modifiers, instead of a file' -r
complete -c krontab -n "__fish_krontab_using_subcommand next" -l identity -d 'The identity that goes with --schedule; it seeds the choice' -r
complete -c krontab -n "__fish_krontab_using_subcommand next" -s n -l count -d 'How many to show, at most. Default: 10, or all if --until is given' -r
complete -c krontab -n "__fish_krontab_using_subcommand next" -l from -d 'From when on. Default: now' -r
complete -c krontab -n "__fish_krontab_using_subcommand next" -l until -d 'Until when' -r
complete -c krontab -n "__fish_krontab_using_subcommand next" -l format -d 'How to print' -r -f -a "text\t'For people'
json\t'For programs; stable'
ics\t'An iCalendar feed, for calendars'"
complete -c krontab -n "__fish_krontab_using_subcommand next" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krontab -n "__fish_krontab_using_subcommand next" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krontab -n "__fish_krontab_using_subcommand decide" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krontab -n "__fish_krontab_using_subcommand decide" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krontab -n "__fish_krontab_using_subcommand list" -l file -d 'File or directory to read; may be repeated. Default: the user\'s or the system\'s configuration' -r -F
complete -c krontab -n "__fish_krontab_using_subcommand list" -l as -d 'Take the files to be installed in DIR, which is part of a job\'s identity' -r -f -a "(__fish_complete_directories)"
complete -c krontab -n "__fish_krontab_using_subcommand list" -l format -d 'How to print' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c krontab -n "__fish_krontab_using_subcommand list" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krontab -n "__fish_krontab_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krontab -n "__fish_krontab_using_subcommand show" -l file -d 'File or directory to read; may be repeated. Default: the user\'s or the system\'s configuration' -r -F
complete -c krontab -n "__fish_krontab_using_subcommand show" -l as -d 'Take the files to be installed in DIR, which is part of a job\'s identity' -r -f -a "(__fish_complete_directories)"
complete -c krontab -n "__fish_krontab_using_subcommand show" -l format -d 'How to print' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c krontab -n "__fish_krontab_using_subcommand show" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krontab -n "__fish_krontab_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krontab -n "__fish_krontab_using_subcommand add" -l file -d 'File to change. Default: where the job is, or `jobs.kron` of the user\'s or the system\'s configuration' -r -F
complete -c krontab -n "__fish_krontab_using_subcommand add" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krontab -n "__fish_krontab_using_subcommand add" -l dry-run -d 'Show what would be written, and write nothing'
complete -c krontab -n "__fish_krontab_using_subcommand add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krontab -n "__fish_krontab_using_subcommand set" -l unset -d 'Field to take away; may be repeated' -r
complete -c krontab -n "__fish_krontab_using_subcommand set" -l file -d 'File to change. Default: where the job is, or `jobs.kron` of the user\'s or the system\'s configuration' -r -F
complete -c krontab -n "__fish_krontab_using_subcommand set" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krontab -n "__fish_krontab_using_subcommand set" -l dry-run -d 'Show what would be written, and write nothing'
complete -c krontab -n "__fish_krontab_using_subcommand set" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krontab -n "__fish_krontab_using_subcommand remove" -l file -d 'File to change. Default: where the job is, or `jobs.kron` of the user\'s or the system\'s configuration' -r -F
complete -c krontab -n "__fish_krontab_using_subcommand remove" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krontab -n "__fish_krontab_using_subcommand remove" -l dry-run -d 'Show what would be written, and write nothing'
complete -c krontab -n "__fish_krontab_using_subcommand remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krontab -n "__fish_krontab_using_subcommand edit" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krontab -n "__fish_krontab_using_subcommand edit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krontab -n "__fish_krontab_using_subcommand import" -s o -l output -d 'File to add the converted jobs to' -r -F
complete -c krontab -n "__fish_krontab_using_subcommand import" -l zone -d 'The local time zone of the jobs. Default: this host\'s' -r
complete -c krontab -n "__fish_krontab_using_subcommand import" -l user -d 'The owner of a crontab. Default: you' -r -f -a "(__fish_complete_users)"
complete -c krontab -n "__fish_krontab_using_subcommand import" -l format -d 'How to print' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c krontab -n "__fish_krontab_using_subcommand import" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krontab -n "__fish_krontab_using_subcommand import" -l dry-run -d 'Write nothing, even with --output'
complete -c krontab -n "__fish_krontab_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krontab -n "__fish_krontab_using_subcommand run" -l file -d 'File or directory to read; may be repeated. Default: the user\'s or the system\'s configuration' -r -F
complete -c krontab -n "__fish_krontab_using_subcommand run" -l as -d 'Take the files to be installed in DIR, which is part of a job\'s identity' -r -f -a "(__fish_complete_directories)"
complete -c krontab -n "__fish_krontab_using_subcommand run" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krontab -n "__fish_krontab_using_subcommand run" -l inherit-env -d 'Pass on the environment of this shell'
complete -c krontab -n "__fish_krontab_using_subcommand run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krontab -n "__fish_krontab_using_subcommand verify" -l format -d 'How to print' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c krontab -n "__fish_krontab_using_subcommand verify" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c krontab -n "__fish_krontab_using_subcommand verify" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c krontab -n "__fish_krontab_using_subcommand help; and not __fish_seen_subcommand_from lint explain next decide list show add set remove edit import run verify help" -f -a "lint" -d 'Check configuration files'
complete -c krontab -n "__fish_krontab_using_subcommand help; and not __fish_seen_subcommand_from lint explain next decide list show add set remove edit import run verify help" -f -a "explain" -d 'Explain why a job runs at the second it does'
complete -c krontab -n "__fish_krontab_using_subcommand help; and not __fish_seen_subcommand_from lint explain next decide list show add set remove edit import run verify help" -f -a "next" -d 'Show the next runs of one job, or of all'
complete -c krontab -n "__fish_krontab_using_subcommand help; and not __fish_seen_subcommand_from lint explain next decide list show add set remove edit import run verify help" -f -a "decide" -d 'Decide many periods: JSON lines in, JSON lines out'
complete -c krontab -n "__fish_krontab_using_subcommand help; and not __fish_seen_subcommand_from lint explain next decide list show add set remove edit import run verify help" -f -a "list" -d 'List the jobs of the configuration'
complete -c krontab -n "__fish_krontab_using_subcommand help; and not __fish_seen_subcommand_from lint explain next decide list show add set remove edit import run verify help" -f -a "show" -d 'Show one job: its entry in full, defaults included'
complete -c krontab -n "__fish_krontab_using_subcommand help; and not __fish_seen_subcommand_from lint explain next decide list show add set remove edit import run verify help" -f -a "add" -d 'Add a job'
complete -c krontab -n "__fish_krontab_using_subcommand help; and not __fish_seen_subcommand_from lint explain next decide list show add set remove edit import run verify help" -f -a "set" -d 'Change a job'
complete -c krontab -n "__fish_krontab_using_subcommand help; and not __fish_seen_subcommand_from lint explain next decide list show add set remove edit import run verify help" -f -a "remove" -d 'Remove a job'
complete -c krontab -n "__fish_krontab_using_subcommand help; and not __fish_seen_subcommand_from lint explain next decide list show add set remove edit import run verify help" -f -a "edit" -d 'Edit a file with $VISUAL or $EDITOR'
complete -c krontab -n "__fish_krontab_using_subcommand help; and not __fish_seen_subcommand_from lint explain next decide list show add set remove edit import run verify help" -f -a "import" -d 'Convert jobs of cron, systemd timers and Kubernetes `CronJob`s'
complete -c krontab -n "__fish_krontab_using_subcommand help; and not __fish_seen_subcommand_from lint explain next decide list show add set remove edit import run verify help" -f -a "run" -d 'Run a job\'s command now, as the daemon would'
complete -c krontab -n "__fish_krontab_using_subcommand help; and not __fish_seen_subcommand_from lint explain next decide list show add set remove edit import run verify help" -f -a "verify" -d 'Check logged decisions by making them again'
complete -c krontab -n "__fish_krontab_using_subcommand help; and not __fish_seen_subcommand_from lint explain next decide list show add set remove edit import run verify help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
