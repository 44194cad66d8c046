# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_kronctl_global_optspecs
    string join \n color= h/help V/version
end

function __fish_kronctl_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_kronctl_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_kronctl_using_subcommand
    set -l cmd (__fish_kronctl_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c kronctl -n "__fish_kronctl_needs_command" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kronctl -n "__fish_kronctl_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kronctl -n "__fish_kronctl_needs_command" -s V -l version -d 'Print version'
complete -c kronctl -n "__fish_kronctl_needs_command" -f -a "explain" -d 'Explain why a `KronJob` runs at the second it does'
complete -c kronctl -n "__fish_kronctl_needs_command" -f -a "next" -d 'Show the next runs of one `KronJob`, or of all'
complete -c kronctl -n "__fish_kronctl_needs_command" -f -a "why" -d 'Tell what happened or will happen to a period, and why'
complete -c kronctl -n "__fish_kronctl_needs_command" -f -a "validate" -d 'Check manifests'
complete -c kronctl -n "__fish_kronctl_needs_command" -f -a "convert" -d 'Convert `CronJob`s to `KronJob`s'
complete -c kronctl -n "__fish_kronctl_needs_command" -f -a "completions" -d 'Print completions for a shell'
complete -c kronctl -n "__fish_kronctl_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c kronctl -n "__fish_kronctl_using_subcommand explain" -s f -l filename -d 'A file with manifests instead of the cluster; `-` is standard input' -r -F
complete -c kronctl -n "__fish_kronctl_using_subcommand explain" -s n -l namespace -d 'The namespace, which is part of the identity. Default: the manifest\'s own or `default`; in a cluster, that of the context' -r
complete -c kronctl -n "__fish_kronctl_using_subcommand explain" -l context -d 'A context of the kubeconfig. Default: its current one' -r
complete -c kronctl -n "__fish_kronctl_using_subcommand explain" -l kubeconfig -d 'The kubeconfig. Default: $KUBECONFIG, or `~/.kube/config`' -r -F
complete -c kronctl -n "__fish_kronctl_using_subcommand explain" -l at -d 'A time of the period to explain. Default: the next run\'s' -r
complete -c kronctl -n "__fish_kronctl_using_subcommand explain" -l format -d 'How to print' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c kronctl -n "__fish_kronctl_using_subcommand explain" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kronctl -n "__fish_kronctl_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kronctl -n "__fish_kronctl_using_subcommand next" -s f -l filename -d 'A file with manifests instead of the cluster; `-` is standard input' -r -F
complete -c kronctl -n "__fish_kronctl_using_subcommand next" -s n -l namespace -d 'The namespace, which is part of the identity. Default: the manifest\'s own or `default`; in a cluster, that of the context' -r
complete -c kronctl -n "__fish_kronctl_using_subcommand next" -l context -d 'A context of the kubeconfig. Default: its current one' -r
complete -c kronctl -n "__fish_kronctl_using_subcommand next" -l kubeconfig -d 'The kubeconfig. Default: $KUBECONFIG, or `~/.kube/config`' -r -F
complete -c kronctl -n "__fish_kronctl_using_subcommand next" -s c -l count -d 'How many to show, at most. Default: 10, or all if --until is given' -r
complete -c kronctl -n "__fish_kronctl_using_subcommand next" -l from -d 'From when on. Default: now' -r
complete -c kronctl -n "__fish_kronctl_using_subcommand next" -l until -d 'Until when' -r
complete -c kronctl -n "__fish_kronctl_using_subcommand next" -l format -d 'How to print' -r -f -a "text\t'For people'
json\t'For programs; stable'
ics\t'An iCalendar feed, for calendars'"
complete -c kronctl -n "__fish_kronctl_using_subcommand next" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kronctl -n "__fish_kronctl_using_subcommand next" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kronctl -n "__fish_kronctl_using_subcommand why" -s f -l filename -d 'A file with manifests instead of the cluster; `-` is standard input' -r -F
complete -c kronctl -n "__fish_kronctl_using_subcommand why" -s n -l namespace -d 'The namespace, which is part of the identity. Default: the manifest\'s own or `default`; in a cluster, that of the context' -r
complete -c kronctl -n "__fish_kronctl_using_subcommand why" -l context -d 'A context of the kubeconfig. Default: its current one' -r
complete -c kronctl -n "__fish_kronctl_using_subcommand why" -l kubeconfig -d 'The kubeconfig. Default: $KUBECONFIG, or `~/.kube/config`' -r -F
complete -c kronctl -n "__fish_kronctl_using_subcommand why" -l at -d 'A time of the period. Default: the last and the next period' -r
complete -c kronctl -n "__fish_kronctl_using_subcommand why" -l format -d 'How to print' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c kronctl -n "__fish_kronctl_using_subcommand why" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kronctl -n "__fish_kronctl_using_subcommand why" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kronctl -n "__fish_kronctl_using_subcommand validate" -s f -l filename -d 'Files with manifests; `-` is standard input' -r -F
complete -c kronctl -n "__fish_kronctl_using_subcommand validate" -l from -d 'Look ahead for a year from TIME instead of now' -r
complete -c kronctl -n "__fish_kronctl_using_subcommand validate" -l format -d 'How to print' -r -f -a "text\t'For people'
json\t'For programs; stable'"
complete -c kronctl -n "__fish_kronctl_using_subcommand validate" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kronctl -n "__fish_kronctl_using_subcommand validate" -l deny-warnings -d 'Treat warnings as errors'
complete -c kronctl -n "__fish_kronctl_using_subcommand validate" -l all -d 'Show every finding, also where there are many of a kind'
complete -c kronctl -n "__fish_kronctl_using_subcommand validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kronctl -n "__fish_kronctl_using_subcommand convert" -s f -l filename -d 'A file with manifests; `-` is standard input' -r -F
complete -c kronctl -n "__fish_kronctl_using_subcommand convert" -l window -d 'Let them run within so long after their time, such as 90m' -r
complete -c kronctl -n "__fish_kronctl_using_subcommand convert" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kronctl -n "__fish_kronctl_using_subcommand convert" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kronctl -n "__fish_kronctl_using_subcommand completions" -l color -d 'When to use colours' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c kronctl -n "__fish_kronctl_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c kronctl -n "__fish_kronctl_using_subcommand help; and not __fish_seen_subcommand_from explain next why validate convert completions help" -f -a "explain" -d 'Explain why a `KronJob` runs at the second it does'
complete -c kronctl -n "__fish_kronctl_using_subcommand help; and not __fish_seen_subcommand_from explain next why validate convert completions help" -f -a "next" -d 'Show the next runs of one `KronJob`, or of all'
complete -c kronctl -n "__fish_kronctl_using_subcommand help; and not __fish_seen_subcommand_from explain next why validate convert completions help" -f -a "why" -d 'Tell what happened or will happen to a period, and why'
complete -c kronctl -n "__fish_kronctl_using_subcommand help; and not __fish_seen_subcommand_from explain next why validate convert completions help" -f -a "validate" -d 'Check manifests'
complete -c kronctl -n "__fish_kronctl_using_subcommand help; and not __fish_seen_subcommand_from explain next why validate convert completions help" -f -a "convert" -d 'Convert `CronJob`s to `KronJob`s'
complete -c kronctl -n "__fish_kronctl_using_subcommand help; and not __fish_seen_subcommand_from explain next why validate convert completions help" -f -a "completions" -d 'Print completions for a shell'
complete -c kronctl -n "__fish_kronctl_using_subcommand help; and not __fish_seen_subcommand_from explain next why validate convert completions help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
