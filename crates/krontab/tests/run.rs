//! `krontab run`: what a job's process looks like from within, how it ends,
//! and who may start what.

mod support;

use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use support::{
    Krontab, Output, Place, has, krontab, need_nobody, need_root, set_mode, skip, wait_for,
};

/// A place whose `t.kron` has one job `a`, with these fields.
fn job(fields: &str) -> Place {
    let place = Place::new();
    place.write("t.kron", format!("0 0 * * * name=a {fields}\n"));
    place
}

/// Signals 32 and 33 are the C library's; `posix_spawn` leaves them ignored.
const OF_THE_LIBRARY: u64 = 0b11 << 31;
const RUN: [&str; 4] = ["run", "a", "--file", "t.kron"];

/// Runs a job with these fields.
fn run(fields: &str) -> Output {
    krontab(&job(fields), &RUN)
}

/// Runs a job that succeeds, and compares what it prints.
#[track_caller]
fn check(fields: &str, expected: &str) {
    let output = run(fields).exits(0);
    assert_eq!(output.stdout, expected, "{fields}");
    assert_eq!(output.stderr, "", "{fields}");
}

/// The environment that a job with these fields sees.
#[track_caller]
fn environment(fields: &str, extra: &[&str]) -> BTreeMap<String, String> {
    let place = job(&format!("command=/usr/bin/env {fields}"));
    let krontab = Krontab::new(&place, &[&RUN, extra].concat()).env("FOO", "from the caller");
    let output = krontab.env("HOME", "/the/caller").run().exits(0);
    let pair = |line: &str| line.split_once('=').map(|(k, v)| (k.to_string(), v.to_string()));
    output.stdout.lines().filter_map(pair).collect()
}

/// The fields of an account, as the system knows them.
fn account(name: &str) -> Option<Vec<String>> {
    let passwd = fs::read_to_string("/etc/passwd").ok()?;
    let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
    Some(line.split(':').map(String::from).collect())
}

/// A line of `/proc/self/status` of a job, in words.
#[track_caller]
fn status(output: &Output, key: &str) -> Vec<String> {
    let line = output.stdout.lines().find_map(|line| line.strip_prefix(&format!("{key}:")));
    line.unwrap_or_else(|| panic!("no {key}: {output:?}"))
        .split_whitespace()
        .map(String::from)
        .collect()
}

#[track_caller]
fn mask(output: &Output, key: &str) -> u64 {
    u64::from_str_radix(&status(output, key)[0], 16).unwrap()
}

/// EXE-05, EXE-06, EXE-07: words reach the program as they are.
#[test]
fn words() {
    check("command=\"/bin/echo a   b\"", "a b\n");
    check("command=\"/bin/echo 'a   b' \\\"c d\\\" ''\"", "a   b c d \n");
    check("command=\"/bin/echo $HOME * ~ % `id` ; id\"", "$HOME * ~ % `id` ; id\n");
    check("command=\"printf '[%s]' 'é ü' '\\\\'\"", "[é ü][\\]");
    check("command=/bin/true", "");
}

/// With `shell=true` the text goes to a shell.
#[test]
fn a_shell() {
    check("shell=true command=\"echo $((1 + 1)); echo 'a   b' | tr a c\"", "2\nc   b\n");
    check("shell=true env=X=7 command=\"echo $X $0\"", "7 /bin/sh\n");
}

/// EXE-08: the environment is that of a service; the caller's does not leak.
#[test]
fn a_clean_environment() {
    let seen = environment("", &[]);
    let names: Vec<&str> = seen.keys().map(String::as_str).collect();
    assert_eq!(names, ["HOME", "LOGNAME", "PATH", "SHELL", "USER"]);
    assert_ne!(seen["HOME"], "/the/caller");
}

/// With `--inherit-env` it is the caller's, and what the entry says wins.
#[test]
fn an_inherited_environment() {
    let seen = environment("env=BAR=1", &["--inherit-env"]);
    assert_eq!(seen["FOO"], "from the caller");
    assert_eq!(seen["HOME"], "/the/caller");
    assert_eq!(seen["BAR"], "1");
    let seen = environment("env=\"FOO=from the entry\"", &["--inherit-env"]);
    assert_eq!(seen["FOO"], "from the entry");
}

/// EXE-09: variables of the entry, also those that say who one is.
#[test]
fn variables() {
    let seen =
        environment("env=HOME=/elsewhere env=SHELL=/bin/zsh env=EMPTY= env=\"TEXT=a b=c $X\"", &[]);
    assert_eq!(seen["HOME"], "/elsewhere");
    assert_eq!(seen["SHELL"], "/bin/zsh");
    assert_eq!(seen["EMPTY"], "");
    assert_eq!(seen["TEXT"], "a b=c $X");
}

/// Where an entry says nothing, it is as for a service, whatever the caller's
/// shell is set to.
#[test]
fn surroundings_of_a_service() {
    let place = job("shell=true command=\"pwd; umask; cat /proc/self/status | grep Groups:\"");
    let shell = ["sh", "-c", "umask 077; cd /usr; exec \"$@\"", "sh"];
    let file = place.at("t.kron").display().to_string();
    let run = ["run", "a", "--file", &file];
    let output = Krontab::new(&place, &run).through(&shell).run().exits(0);
    let not_the_shells = !output.stdout.starts_with("/usr\n");
    assert!(not_the_shells, "{output:?}");
    assert!(output.stdout.contains("\n0022\n"), "{output:?}");
    let inherited = [&run[..], &["--inherit-env"]].concat();
    let output = Krontab::new(&place, &inherited).through(&shell).run().exits(0);
    assert!(output.stdout.starts_with("/usr\n0077\n"), "{output:?}");
}

/// EXE-10, EXE-13: directory, mask and limits.
#[test]
fn surroundings() {
    check("command=/bin/pwd cwd=/usr", "/usr\n");
    check("shell=true command=umask umask=0077", "0077\n");
    check("shell=true command=umask umask=0000", "0000\n");
    check("shell=true command=\"ulimit -n; ulimit -Hn\" limit-nofile=77", "77\n77\n");
    check("shell=true command=\"ulimit -t; ulimit -c\" limit-cpu=1h limit-core=0", "3600\n0\n");
    check("shell=true command=\"ulimit -f\" limit-fsize=1M", "2048\n");
    run("command=/bin/pwd cwd=/nonexistent").exits(126).says("cannot change directory");
}

/// FAULTS 26: nothing to read, whatever the caller has.
#[test]
fn empty_input() {
    let place = job("command=\"/bin/readlink /proc/self/fd/0\"");
    let output = Krontab::new(&place, &RUN).stdin("secret\n").run().exits(0);
    assert_eq!(output.stdout, "/dev/null\n");
    let place = job("command=/bin/cat");
    let output = Krontab::new(&place, &RUN).stdin("secret\n").run().exits(0);
    assert_eq!(output.stdout, "");
}

/// FAULTS 26: a session and a process group of its own, and no terminal.
#[test]
fn its_own_session() {
    let output = run("command=\"/bin/cat /proc/self/stat\"").exits(0);
    let (_, rest) = output.stdout.rsplit_once(')').unwrap();
    let pid = output.stdout.split(' ').next().unwrap();
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let (group, session, terminal) = (fields[2], fields[3], fields[4]);
    assert_eq!((group, session, terminal), (pid, pid, "0"), "{}", output.stdout);
}

/// FAULTS 26: exactly descriptors 0, 1 and 2, also if the caller has more.
#[test]
fn descriptors() {
    // One by one: a directory that is read would be a descriptor more.
    let list = "shell=true command=\"i=0; while [ $i -lt 300 ]; do if [ -e /proc/$$/fd/$i ]; then echo $i; fi; i=$((i + 1)); done\"";
    check(list, "0\n1\n2\n");
    let place = job(list);
    let open = ["sh", "-c", "exec 5</dev/null 7>/dev/null; exec \"$@\"", "sh"];
    let output = Krontab::new(&place, &RUN).through(&open).run().exits(0);
    assert_eq!(output.stdout, "0\n1\n2\n");
}

/// FAULTS 26: signals are as they are for everyone.
#[test]
fn signals_are_default() {
    let place = job("command=\"/bin/cat /proc/self/status\"");
    let plain = Krontab::new(&place, &RUN).run().exits(0);
    assert_eq!(mask(&plain, "SigBlk"), 0);
    assert_eq!(mask(&plain, "SigIgn") & !OF_THE_LIBRARY, 0);
    assert_eq!(mask(&plain, "SigCgt"), 0);
}

/// FAULTS 26: also if the caller has them otherwise, as `nohup` does.
#[test]
fn signals_of_the_caller() {
    let place = job("command=\"/bin/cat /proc/self/status\"");
    let ignoring = ["sh", "-c", "trap '' HUP INT USR1 PIPE; exec \"$@\"", "sh"];
    let output = Krontab::new(&place, &RUN).through(&ignoring).run().exits(0);
    assert_eq!(mask(&output, "SigIgn") & !OF_THE_LIBRARY, 0);
    let blocking = ["env", "--block-signal=USR1,TERM"];
    let probe = Command::new("env").args(&blocking[1..]).arg("true").output().unwrap();
    if !probe.status.success() {
        return skip("`env` cannot block signals");
    }
    let output = Krontab::new(&place, &RUN).through(&blocking).run().exits(0);
    assert_eq!(mask(&output, "SigBlk"), 0);
}

/// FAULTS 32, EXE-10: user, group and supplementary groups are the account's,
/// as `id` knows them, whatever groups the caller has.
#[test]
fn another_user() {
    if !need_root() {
        return;
    }
    for name in ["nobody", "daemon", "www-data", "root", "backup", "sync"] {
        let Some(fields) = account(name) else { continue };
        let id = Command::new("id").args(["-G", name]).output().unwrap();
        let mut groups: Vec<String> =
            String::from_utf8(id.stdout).unwrap().split_whitespace().map(String::from).collect();
        groups.sort();
        let place = job(&format!("user={name} command=\"/bin/cat /proc/self/status\""));
        let mut krontab = Krontab::new(&place, &RUN);
        if has("setpriv") {
            krontab = krontab.through(&["setpriv", "--groups=3,4,7", "--"]);
        }
        let output = krontab.run().exits(0);
        assert_eq!(status(&output, "Uid"), vec![fields[2].clone(); 4], "{name}");
        assert_eq!(status(&output, "Gid"), vec![fields[3].clone(); 4], "{name}");
        let mut seen = status(&output, "Groups");
        seen.sort();
        assert_eq!(seen, groups, "{name}");
    }
}

/// A group of one's choice is the first, and the account's own ones stay.
#[test]
fn another_group() {
    if !need_root() || account("nobody").is_none() {
        return;
    }
    let place = job("user=nobody group=daemon command=\"/bin/cat /proc/self/status\"");
    let output = krontab(&place, &RUN).exits(0);
    assert_eq!(status(&output, "Uid")[0], "65534");
    assert_eq!(status(&output, "Gid"), ["1", "1", "1", "1"]);
    assert!(!status(&output, "Groups").contains(&"0".to_string()), "{output:?}");
}

/// FAULTS 32: no capability is left, and there is no way back.
#[test]
fn no_way_back() {
    if !need_root() {
        return;
    }
    let output = run("user=nobody command=\"/bin/cat /proc/self/status\"").exits(0);
    for key in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(mask(&output, key), 0, "{key}");
    }
    if has("setpriv") {
        let back = run("user=nobody command=\"setpriv --reuid=0 /bin/echo root again\"");
        assert_ne!(back.status, 0);
        assert_eq!(back.stdout, "");
    } else {
        skip("needs `setpriv`");
    }
}

/// FAULTS 32: capabilities that the caller hands down do not come along.
#[test]
fn capabilities_of_the_caller() {
    if !need_nobody() {
        return;
    }
    let place = job("user=nobody command=\"/bin/cat /proc/self/status\"");
    let ambient = ["setpriv", "--inh-caps=+setuid", "--ambient-caps=+setuid", "--"];
    let output = Krontab::new(&place, &RUN).through(&ambient).run().exits(0);
    for key in ["CapEff", "CapPrm", "CapAmb", "CapInh"] {
        assert_eq!(mask(&output, key), 0, "{key}");
    }
}

/// EXE-08: who one is stands in the environment; the entry may say otherwise.
#[test]
fn variables_of_another_user() {
    if !need_root() {
        return;
    }
    let Some(fields) = account("daemon") else { return skip("needs the user `daemon`") };
    for extra in [&[][..], &["--inherit-env"]] {
        let seen = environment("user=daemon env=SHELL=/bin/sh", extra);
        assert_eq!(seen["USER"], "daemon");
        assert_eq!(seen["LOGNAME"], "daemon");
        assert_eq!(seen["HOME"], fields[5]);
        assert_eq!(seen["SHELL"], "/bin/sh");
    }
    assert_eq!(environment("user=daemon", &[])["SHELL"], fields[6]);
}

/// FAULTS 11, 33: an account that does not exist is not replaced by another.
#[test]
fn an_unknown_user() {
    for (field, message) in [
        ("user=nosuchuser", "there is no user `nosuchuser`"),
        ("group=nosuchgroup", "there is no group `nosuchgroup`"),
    ] {
        let place = job(&format!("command=\"/usr/bin/touch ran\" {field}"));
        let output = krontab(&place, &RUN).exits(1).says(message);
        assert_eq!(output.stdout, "");
        assert_eq!(place.names(), ["t.kron"]);
    }
}

/// EXE-13: a directory that only root may enter is not entered for others.
#[test]
fn a_directory_out_of_reach() {
    if !need_root() {
        return;
    }
    let place = Place::new();
    let secret = place.make_dir("secret", 0o700);
    let cwd = secret.display();
    place.write("t.kron", format!("0 0 * * * name=a command=/bin/pwd user=nobody cwd={cwd}\n"));
    let output = krontab(&place, &RUN).exits(126).says("cannot change directory");
    assert_eq!(output.stdout, "");
}

/// FAULTS 34, EXE-12: without root nobody becomes anyone else.
#[test]
fn as_nobody() {
    if !need_nobody() {
        return;
    }
    let bin = Place::new();
    for (fields, status, stdout) in [
        ("user=root command=\"/bin/echo ran\"", 1, ""),
        ("user=daemon command=\"/bin/echo ran\"", 1, ""),
        ("group=daemon command=\"/bin/echo ran\"", 1, ""),
        ("user=nobody command=\"/bin/echo ran\"", 0, "ran\n"),
        ("command=\"/usr/bin/id -un\"", 0, "nobody\n"),
    ] {
        let place = job(fields);
        let output = Krontab::new(&place, &RUN).by_nobody(&bin).run().exits(status);
        assert_eq!(output.stdout, stdout, "{fields}");
        if status == 1 {
            let _ = output.says("only root may run something as");
        }
    }
}

/// The exit code is the command's; a signal is 128 and its number.
#[test]
fn exit_codes() {
    for (fields, status) in [
        ("command=/bin/true", 0),
        ("command=/bin/false", 1),
        ("shell=true command=\"exit 7\"", 7),
        ("shell=true command=\"exit 255\"", 255),
        ("shell=true command=\"kill -TERM $$\"", 143),
        ("shell=true command=\"kill -KILL $$\"", 137),
        ("shell=true command=\"kill -HUP $$\"", 129),
        ("shell=true command=\"kill -INT $$\"", 130),
        ("shell=true command=\"kill -USR1 $$\"", 138),
        ("command=/nonexistent/program", 127),
        ("command=no-such-program", 127),
        ("command=/usr", 126),
        ("shell=true command=\"no-such-program\"", 127),
    ] {
        let output = run(fields);
        assert_eq!(output.status, status, "{fields}: {output:?}");
        assert_eq!(output.stdout, "", "{fields}");
    }
}

/// FAULTS 22: what cannot be executed is 126, whatever the reason.
#[test]
fn not_executable() {
    let place = Place::new();
    let file = place.write("program", "#!/nonexistent/interpreter\n");
    let entry = format!("0 0 * * * name=a command={}\n", file.display());
    place.write("t.kron", entry);
    krontab(&place, &RUN).exits(126).says("Permission denied");
    set_mode(&file, 0o755);
    let status = krontab(&place, &RUN).status;
    assert!([126, 127].contains(&status), "{status}");
}

/// EXE-05, FAULTS 22: text that does not name an interpreter is no program; no
/// shell is tried on it.
#[test]
fn a_wrong_format() {
    let place = Place::new();
    let file = place.write("program", "echo a shell runs this\n");
    set_mode(&file, 0o755);
    place.write("t.kron", format!("0 0 * * * name=a command={}\n", file.display()));
    let output = krontab(&place, &RUN);
    assert_eq!(output.stdout, "");
    let _ = output.exits(126).says("Exec format error");
}

/// A megabyte of environment goes through the pipe between the two processes.
#[test]
fn a_wide_environment() {
    let place = job("command=/bin/true");
    let wide = "x".repeat(100_000);
    let mut krontab = Krontab::new(&place, &[&RUN[..], &["--inherit-env"]].concat());
    for i in 0..10 {
        krontab = krontab.env(&format!("WIDE_{i}"), &wide);
    }
    krontab.run().exits(0);
}

/// EXE-23: a command is asked to end when its timeout is over.
#[test]
fn a_timeout() {
    let output = run("command=\"/bin/sleep 100\" timeout=200ms").says("timeout of 200ms is over");
    assert_eq!(output.status, 143, "ended by SIGTERM, not by SIGKILL: {output:?}");
    // One that hears of it may end as it likes.
    let output = run(
        "shell=true command=\"trap 'echo bye; kill $!; exit 3' TERM; sleep 100 & wait\" timeout=1s",
    );
    assert_eq!((output.status, output.stdout.as_str()), (3, "bye\n"));
    // In time is in time.
    check("command=\"/bin/echo done\" timeout=1h", "done\n");
}

/// FAULTS 24: a timeout ends what was started in the background, too.
#[test]
fn a_timeout_of_many() {
    let place = job(
        "shell=true command=\"cd $PLACE; sleep 100 & echo $! > background; wait; wait\" timeout=1s",
    );
    let output = in_place(&place).run();
    assert_eq!(output.status, 143);
    let background = place.read("background");
    wait_for("end of the background process", || is_gone(background.trim()).then_some(()));
}

/// One of them that does not listen is ended by force, also after the one that
/// was started has gone.
#[test]
fn a_timeout_of_a_stubborn_one() {
    let place = job(concat!(
        "timeout=1s shell=true command=\"cd $PLACE; ",
        "(trap '' TERM; echo $(exec sh -c 'echo $PPID') > background; sleep 100) & wait\""
    ));
    let output = in_place(&place).run();
    assert_eq!(output.status, 143);
    let background = place.read("background");
    wait_for("end of the background process", || is_gone(background.trim()).then_some(()));
}

/// A run whose job can find the place: it does not start there.
fn in_place(place: &Place) -> Krontab<'_> {
    let at = place.at("").display().to_string();
    Krontab::new(place, &[&RUN[..], &["--inherit-env"]].concat()).env("PLACE", &at)
}

/// Whether a process has ended, even if nobody has collected it yet.
fn is_gone(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

/// Signals go on to the job, the whole of it.
#[test]
fn signals_go_on() {
    for (signal, status) in [
        (Signal::SIGTERM, 143),
        (Signal::SIGINT, 130),
        (Signal::SIGHUP, 129),
        (Signal::SIGQUIT, 131),
    ] {
        // No shell in between that would reset what it inherits.
        let place = job("command=\"/bin/sleep 100\"");
        let running = Krontab::new(&place, &RUN).start();
        wait_for("the command", || child_of(running.id(), "sleep"));
        running.signal(signal);
        let output = running.end();
        assert_eq!(output.status, status, "{signal}");
    }
}

/// Of a job of several processes, all get it.
#[test]
fn signals_go_to_the_group() {
    let place = job(
        "shell=true command=\"cd $PLACE; sleep 100 & echo $! > new; trap 'wait; exit 5' TERM; mv new background; wait\"",
    );
    let running = in_place(&place).start();
    wait_for("the job", || place.at("background").exists().then_some(()));
    running.signal(Signal::SIGTERM);
    assert_eq!(running.end().status, 5);
    let background = place.read("background");
    wait_for("end of the background process", || is_gone(background.trim()).then_some(()));
}

/// The child of a process that runs a program, once there is one.
fn child_of(parent: u32, program: &str) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    let named = |pid: &&str| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == program)
    };
    children.split_whitespace().find(named)?.parse().ok()
}

/// FAULTS 35: what a job is given cannot be read off command lines.
#[test]
fn secrets() {
    let place = job("env=TOKEN=hunter2 command=\"/bin/sh -c 'cat /proc/$PPID/cmdline'\"");
    let output = krontab(&place, &RUN).exits(0);
    assert!(output.stdout.contains("run") && !output.stdout.contains("hunter2"), "{output:?}");
}

/// No state is touched: a run leaves nothing behind but what the job does.
#[test]
fn nothing_is_left_behind() {
    let place = job("command=\"/bin/echo ran\"");
    let conf = place.make_dir("conf", 0o755);
    let state = place.make_dir("state", 0o755);
    let output = Krontab::new(&place, &RUN)
        .env("XDG_STATE_HOME", state.to_str().unwrap())
        .env("XDG_CONFIG_HOME", conf.to_str().unwrap())
        .run()
        .exits(0);
    assert_eq!(output.stdout, "ran\n");
    assert_eq!(place.names(), ["conf", "state", "t.kron"]);
    assert!(support::names(&conf).is_empty() && support::names(&state).is_empty());
}

/// Output comes here, whatever the entry says; and that is said.
#[test]
fn output_is_shown() {
    let place = job("shell=true command=\"echo out; echo err >&2\" stdout=discard stderr=syslog");
    let output = krontab(&place, &RUN).exits(0).says("err\n").says("stdout is shown here");
    assert_eq!(output.stdout, "out\n");
}

/// A job that is not there.
#[test]
fn no_such_job() {
    let place = job("command=/bin/true");
    krontab(&place, &["run", "b", "--file", "t.kron"]).exits(1).says("there is no job `b`");
}
