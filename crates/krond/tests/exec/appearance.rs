//! What a job's process looks like from within.

use crate::support::{Host, entry, plan, shell};
use std::fs;

/// EXE-02: the command is a direct child, with the words given.
#[test]
fn a_direct_child() {
    let output = Host::new().output(plan(&["/bin/cat", "/proc/self/stat"]));
    let (_, rest) = output.rsplit_once(") ").unwrap();
    let parent: u32 = rest.split(' ').nth(1).unwrap().parse().unwrap();
    assert_eq!(parent, std::process::id());
}

/// EXE-05, EXE-06, EXE-07: words reach the program as they are.
#[test]
fn words() {
    let host = Host::new();
    let words = ["", "a   b", "$HOME", "*", "~", "%Y", "`id`", "; id", "é", "\n", "\\", "'\""];
    let mut all = vec!["/usr/bin/printf", "[%s]"];
    all.extend(words);
    let expected: String = words.iter().flat_map(|word| ["[", word, "]"]).collect();
    assert_eq!(host.output(plan(&all)), expected);
    // What is written in the entry is not expanded either.
    let mut plan = plan(&["/bin/sh", "-c", "echo \"$X\"; pwd"]);
    plan.set_env("X", "$HOME % ~");
    fs::create_dir(host.at("$HOME")).unwrap();
    plan.cwd = Some(host.path("$HOME"));
    assert_eq!(host.output(plan), format!("$HOME % ~\n{}\n", host.path("$HOME")));
}

/// EXE-08: the environment is the daemon's, byte for byte, without what is said
/// to the daemon alone; the entry's variables win, and the run's over those.
#[test]
fn environment() {
    let host = Host::through(
        "export BYTES=\"$(printf 'a\\377b')\" KEPT='x  y' CHANGED=old KRON_JOB=old
         export NOTIFY_SOCKET=1 WATCHDOG_USEC=1 WATCHDOG_PID=1
         export LISTEN_FDS=1 LISTEN_PID=1 LISTEN_FDNAMES=1
         exec \"$KROND\" \"$@\"",
    );
    let mut plan =
        entry("env=CHANGED=new env=KRON_JOB=mine env=LISTEN_PID=own command=/usr/bin/env");
    plan.set_env("KRON_JOB", "/t.kron:a");
    let _ = host.output(plan);
    let seen = fs::read(host.at("output")).unwrap();
    let seen: Vec<&[u8]> = seen.split(|byte| *byte == b'\n').collect();
    let lines: [&[u8]; 5] =
        [b"BYTES=a\xffb", b"KEPT=x  y", b"CHANGED=new", b"KRON_JOB=/t.kron:a", b"LISTEN_PID=own"];
    for line in lines {
        let name = line.split(|byte| *byte == b'=').next().unwrap();
        let same: Vec<_> = seen.iter().filter(|seen| seen.starts_with(name)).collect();
        assert_eq!(same, [&line], "{}", String::from_utf8_lossy(line));
    }
    for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] {
        assert!(!seen.iter().any(|line| line.starts_with(name.as_bytes())), "{name}");
    }
}

/// EXE-08: a search path of the daemon's that is not UTF-8 is one all the same.
#[test]
fn search_path() {
    let host =
        Host::through("export PATH=\"$(printf '/\\377'):/usr/bin:/bin\"; exec \"$KROND\" \"$@\"");
    assert_eq!(host.output(plan(&["echo", "found"])), "found\n");
}

/// EXE-09, EXE-13: directory and mask.
#[test]
fn surroundings() {
    let host = Host::new();
    assert_eq!(host.output(entry("cwd=/usr command=/bin/pwd")), "/usr\n");
    assert_eq!(host.output(entry("umask=0027 shell=true command=umask")), "0027\n");
}

/// FAULTS 26: exactly descriptors 0, 1 and 2, whatever the daemon left open;
/// nothing on standard input.
#[test]
fn descriptors() {
    let host = Host::through("exec 5</dev/null 7>/dev/null 9</dev/null; exec \"$KROND\" \"$@\"");
    // One by one: a directory that is read would be a descriptor more.
    let list = "i=0; while [ $i -lt 300 ]; do if [ -e /proc/$$/fd/$i ]; then echo $i; fi; \
                i=$((i + 1)); done; readlink /proc/$$/fd/0; cat";
    assert_eq!(host.output(shell(list)), "0\n1\n2\n/dev/null\n");
}

/// FAULTS 26: signals are default, none is blocked, also if the daemon has them
/// otherwise.
#[test]
fn signals() {
    let host = Host::through("trap '' HUP INT USR1 PIPE TERM; exec \"$KROND\" \"$@\"");
    let output = host.output(plan(&["/bin/cat", "/proc/self/status"]));
    for key in ["SigBlk", "SigIgn", "SigCgt"] {
        let line = output.lines().find_map(|line| line.strip_prefix(&format!("{key}:\t")));
        assert_eq!(line, Some("0000000000000000"), "{key}");
    }
}

/// FAULTS 26: a session and a group of its own, and no terminal.
#[test]
fn session() {
    let output = Host::new().output(plan(&["/bin/cat", "/proc/self/stat"]));
    let pid = output.split(' ').next().unwrap();
    let fields: Vec<&str> = output.rsplit_once(") ").unwrap().1.split(' ').collect();
    assert_eq!(fields[2..5], [pid, pid, "0"], "{output}");
}

/// EXE-29: limits are those of the entry, also small ones; EXE-30: and else
/// those that the daemon was started with.
#[test]
fn limits() {
    let host = Host::new();
    let shown = "shell=true command=\"ulimit -n; ulimit -Hn\"";
    assert_eq!(host.output(entry(&format!("limit-nofile=77 {shown}"))), "77\n77\n");
    assert_eq!(host.output(entry(&format!("limit-nofile=4 {shown}"))), "4\n4\n");
    let rest = "shell=true command=\"ulimit -t; ulimit -c; ulimit -f\"";
    let fields = format!("limit-cpu=1h limit-core=0 limit-fsize=1M {rest}");
    assert_eq!(host.output(entry(&fields)), "3600\n0\n2048\n");
    let hard = host.output(shell("ulimit -Hn"));
    let mut restored = entry(shown);
    let number: u64 = hard.trim().parse().unwrap();
    restored.restore_nofile = Some((51, number));
    assert_eq!(host.output(restored.clone()), format!("51\n{hard}"));
    restored.limits.push(kron_host::launch::Limit::Nofile(60));
    assert_eq!(host.output(restored), "60\n60\n");
    // None of the others differs.
    let mine = fs::read_to_string("/proc/self/limits").unwrap();
    assert_eq!(host.output(plan(&["/bin/cat", "/proc/self/limits"])), mine);
}

/// EXE-29: the number of processes is limited for the job's user.
#[test]
fn processes() {
    let host = Host::new();
    let output =
        host.output(entry("limit-nproc=1000 shell=true command=\"ulimit -u || ulimit -p\""));
    assert_eq!(output.lines().last(), Some("1000"));
}
