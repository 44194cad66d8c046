//! Output that goes to a log: the journal's stream, or datagrams of a companion.

use crate::rights::nobody;
use crate::support::{Host, end, hear, is_root, order, plan, set_mode, shell, wait_for};
use kron_host::launch::Plan;
use krond::exec::{Order, Prepared, Report, Target};
use std::fs;
use std::io::Read;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::time::Duration;

fn logged(plan: Plan) -> Order {
    order(plan).output(Target::Syslog, Target::Syslog)
}

/// Waits until the companions have been collected.
#[track_caller]
fn alone(host: &Host) {
    wait_for("end of the companion", || {
        assert!(host.launcher.results().is_empty());
        (host.launcher.companions() == 0).then_some(())
    });
}

fn listen(host: &Host) -> UnixDatagram {
    let socket = UnixDatagram::bind(host.at("log")).unwrap();
    set_mode(&host.at("log"), 0o666);
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket
}

fn next(socket: &UnixDatagram) -> String {
    let mut buffer = vec![0; 20_000];
    let count = socket.recv(&mut buffer).unwrap();
    String::from_utf8_lossy(&buffer[..count]).into_owned()
}

/// EXE-26: lines arrive one by one, under the job's name and number.
#[test]
fn lines() {
    let host = Host::new();
    let socket = listen(&host);
    let prepared = host.prepare(logged(shell("echo out; echo err >&2; printf 'no end'")));
    let Prepared { process, pidfd, mut gate } = prepared;
    assert_eq!(hear(&mut gate), Report::Ready);
    gate.release().unwrap();
    for line in ["out", "err", "no end"] {
        assert_eq!(next(&socket), format!("<30>a-job[{}]: {line}", process.pid));
    }
    assert_eq!(end(&pidfd).code, 0);
    alone(&host);
}

/// FAULTS 27: a line without end comes in pieces.
#[test]
fn a_long_line() {
    let host = Host::new();
    let socket = listen(&host);
    let exit = host.run_order(logged(shell("printf '%020000d' 7")));
    assert_eq!(exit.code, 0);
    let mut whole = String::new();
    while whole.len() < 20_000 {
        let piece = next(&socket);
        let (_, text) = piece.split_once(": ").unwrap();
        assert!(text.len() <= 8192);
        whole.push_str(text);
    }
    assert_eq!(whole, format!("{:020000}", 7));
    alone(&host);
}

/// A companion has the job's rights, and no more descriptors than it needs.
#[test]
fn rights_of_a_companion() {
    if !is_root() {
        return;
    }
    let host = Host::new();
    let socket = listen(&host);
    let job = shell("echo began; while [ ! -e \"$DONE\" ]; do sleep 0.01; done");
    let mut job = Plan { ids: Some(nobody()), ..job };
    job.set_env("DONE", host.path("done"));
    let Prepared { process, pidfd, mut gate } = host.prepare(logged(job));
    assert_eq!(hear(&mut gate), Report::Ready);
    gate.release().unwrap();
    assert_eq!(next(&socket), format!("<30>a-job[{}]: began", process.pid));
    let companion = companion_of(process.pid);
    let status = fs::read_to_string(format!("/proc/{companion}/status")).unwrap();
    assert!(status.contains("Uid:\t65534\t65534\t65534\t65534\n"), "{status}");
    assert!(status.contains("Groups:\t65534 \n"), "{status}");
    // Standard streams, the pipe, the log.
    let open = fs::read_dir(format!("/proc/{companion}/fd")).unwrap().count();
    assert_eq!(open, 5);
    fs::write(host.at("done"), "").unwrap();
    end(&pidfd);
    alone(&host);
}

/// The companion whose last word is this number.
fn companion_of(pid: u32) -> u32 {
    let end = format!("\0{pid}\0");
    let is_it = |number: &u32| {
        let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("\0__syslog\0") && line.ends_with(&end)
    };
    let numbers = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str().and_then(|name| name.parse().ok()));
    numbers.into_iter().find(is_it).unwrap()
}

/// EXE-26: without any system log the job is not started, for its output would be
/// lost.
#[test]
fn no_log() {
    let refusal = Host::new().try_prepare(logged(shell("echo lost"))).unwrap_err();
    assert!(!refusal.is_transient());
    assert!(refusal.to_string().contains("there is no system log"), "{refusal}");
}

/// FAULTS 27: a log that is not there, or does not listen, holds up no job for
/// long.
#[test]
fn nobody_listens() {
    let host = Host::new();
    // There is one, but nobody is behind it.
    fs::write(host.at("log"), "").unwrap();
    let many = || logged(shell("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done"));
    assert_eq!(host.run_order(many()).code, 0);
    alone(&host);
    // It is there, and takes a few.
    fs::remove_file(host.at("log")).unwrap();
    let socket = listen(&host);
    assert_eq!(host.run_order(many()).code, 0);
    alone(&host);
    assert!(next(&socket).ends_with(": line 0"));
}

/// FAULTS 27: a flood that nobody takes is dropped, in memory that does not grow.
#[test]
fn fault_27_a_flood_to_the_system_log_has_a_bound() {
    let host = Host::new();
    let _deaf = listen(&host);
    let mut job = shell(
        "head -c 60000000 /dev/zero; : > \"$AT/wrote\"; \
         while [ ! -e \"$AT/done\" ]; do sleep 0.01; done",
    );
    job.set_env("AT", host.place.path().to_str().unwrap());
    let Prepared { process, pidfd, mut gate } = host.prepare(logged(job));
    assert_eq!(hear(&mut gate), Report::Ready);
    gate.release().unwrap();
    // All of it is taken, whoever listens.
    wait_for("the end of the flood", || host.at("wrote").exists().then_some(()));
    let companion = companion_of(process.pid);
    let status = fs::read_to_string(format!("/proc/{companion}/status")).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let most: u64 = most.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(most < 20_000, "{most} KiB");
    fs::write(host.at("done"), "").unwrap();
    assert_eq!(end(&pidfd).code, 0);
    alone(&host);
}

/// What was lost meanwhile is said.
#[test]
fn lost_lines() {
    let host = Host::new();
    fs::write(host.at("log"), "").unwrap();
    let mut job = shell(
        "echo one; echo two; : > \"$AT/wrote\"; \
                         while [ ! -e \"$AT/listens\" ]; do sleep 0.01; done; echo three",
    );
    job.set_env("AT", host.place.path().to_str().unwrap());
    let Prepared { pidfd, mut gate, .. } = host.prepare(logged(job));
    assert_eq!(hear(&mut gate), Report::Ready);
    gate.release().unwrap();
    wait_for("lines", || host.at("wrote").exists().then_some(()));
    fs::remove_file(host.at("log")).unwrap();
    let socket = listen(&host);
    fs::write(host.at("listens"), "").unwrap();
    assert_eq!(end(&pidfd).code, 0);
    let mut seen = Vec::new();
    while !seen.last().is_some_and(|line: &String| line.ends_with(": three")) {
        seen.push(next(&socket));
    }
    // The companion may have been slower than the log.
    let all = seen.iter().any(|line| line.ends_with(": one"));
    assert!(all || seen[0].contains(" lines were lost"), "{seen:?}");
    alone(&host);
}

/// EXE-26: where there is a journal, the command itself is connected to it, by
/// one stream, and there is no companion.
#[test]
fn journal() {
    let host = Host::new();
    let journal = UnixListener::bind(host.at("journal")).unwrap();
    set_mode(&host.at("journal"), 0o666);
    let exit = host
        .run_order(logged(Plan { ids: is_root().then(nobody), ..shell("echo out; echo err >&2") }));
    assert_eq!((exit.code, host.launcher.companions()), (0, 0));
    let (mut stream, _) = journal.accept().unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text, "a-job\n\n6\n0\n0\n0\n0\nout\nerr\n");
}

/// A journal that does not answer is an error of the job, not of the daemon.
#[test]
fn no_journal() {
    let host = Host::new();
    drop(UnixListener::bind(host.at("journal")).unwrap());
    let report = host.failure(logged(plan(&["/usr/bin/touch", &host.path("ran")])));
    assert!(matches!(report, Report::Failed(_)), "{report:?}");
    assert!(!host.at("ran").exists());
}
