//! Fault 27: a job writes without end: to a file, to the system log, to a pipe that is slow
//! or closed. None of it is in the daemon's memory, and others run as ever.

use crate::support::{
    Daemon, Place, Start, alive, children, is_calm, memory, minute, with_system_log,
};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::pipe;
use std::thread::sleep;
use std::time::{Duration, Instant};

const GIB: u64 = 1 << 30;
/// More than the daemon needs for anything else, and nothing beside a flood, in KiB.
const A_LITTLE: u64 = 10_000;

/// A job that writes zeros, and one that leaves a note; each minute.
fn jobs(stdout: &str) -> String {
    format!(
        "* * * * * @policy(deadline=1h,concurrency=forbid) name=big stdout={stdout} stderr=discard \
         command=\"/bin/dd if=/dev/zero bs=64k\"\n\
         * * * * * @policy(deadline=1h) name=a NOTE\n"
    )
}

/// Waits until a process has written so much; meanwhile does something else again and again.
#[track_caller]
fn has_written(pid: i32, bytes: u64, mut meanwhile: impl FnMut()) {
    let until = Instant::now() + Duration::from_secs(600);
    loop {
        let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
        let line = io.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap();
        let written: u64 = line.parse().unwrap();
        if written >= bytes {
            return;
        }
        assert!(Instant::now() < until, "{written} of {bytes} bytes");
        meanwhile();
        sleep(Duration::from_millis(5));
    }
}

/// The flood begins at noon. Once gigabytes are written and it goes on, the next minute
/// comes; then it is ended.
fn flood(daemon: Daemon<'_>, gigabytes: u64, mut meanwhile: impl FnMut()) {
    let before = memory(daemon.pid(), "VmHWM");
    daemon.clock(-0.1);
    let big = daemon.wait_of("started", "big").pid();
    daemon.ran("a", &minute(0));
    has_written(big, gigabytes * GIB, &mut meanwhile);
    daemon.clock(59.9);
    daemon.ran("a", &minute(1));
    daemon.outcome("big", &minute(1), "skipped");
    // It went on all the while.
    has_written(big, gigabytes * GIB + GIB / 16, meanwhile);
    let after = memory(daemon.pid(), "VmHWM");
    assert!(after < before + A_LITTLE, "{before} KiB, then {after}");
    killpg(Pid::from_raw(big), Signal::SIGKILL).unwrap();
    daemon.ran("big", &minute(0));
    daemon.stop();
}

/// Fault 27: a file takes as much as the disk; the daemon sees none of it.
#[test]
fn fault_27_output_to_a_file_is_not_in_the_daemons_memory() {
    let place = Place::with(&jobs("file:HERE/big"));
    let daemon = place.start(-30.0, &[]);
    // The disk need not be as large as the flood.
    flood(daemon, 3, || {
        let file = File::options().write(true).open(place.at("big")).unwrap();
        if file.metadata().unwrap().len() > GIB / 16 {
            file.set_len(0).unwrap();
        }
    });
}

/// Fault 27: nor in that of the process which takes lines to the system log, to whom nobody
/// listens.
#[test]
fn fault_27_gigabytes_to_the_system_log_are_in_nobodys_memory() {
    let place = Place::with(&jobs("syslog"));
    with_system_log(&place, |_deaf| {
        let daemon = place.start(-30.0, &[]);
        let pid = daemon.pid();
        flood(daemon, 1, || {
            for companion in children(pid) {
                let words = fs::read(format!("/proc/{companion}/cmdline")).unwrap_or_default();
                if words.windows(8).any(|part| part == b"__syslog") {
                    assert!(memory(Pid::from_raw(companion), "VmHWM") < 2 * A_LITTLE);
                }
            }
        });
    });
}

/// Fault 27: a job whose output nobody takes waits by itself; one whose reader has
/// gone ends. The daemon has nothing of it in its memory, and others are on time.
#[test]
fn fault_27_output_to_a_slow_or_closed_pipe_is_the_jobs_affair() {
    for is_closed in [false, true] {
        let place = Place::with(
            "* * * * * @policy(deadline=1h,concurrency=forbid) name=loud stderr=discard shell=true command=\"echo $$ > HERE/loud; exec yes\"\n\
             * * * * * @policy(deadline=1h) name=a NOTE\n",
        );
        let (reader, writer) = pipe().unwrap();
        let daemon = Start::new(&place, &[]).clock(-30.0).stdout(writer).start();
        daemon.ready();
        let before = memory(daemon.pid(), "VmRSS");
        let reader = (!is_closed).then_some(reader);
        daemon.clock(-0.1);
        daemon.ran("a", &minute(0));
        if is_closed {
            // By SIGPIPE, or because it was told that nobody reads.
            let exited = daemon.ran("loud", &minute(0));
            assert!(["141", "1"].contains(&&exited["exit_code"]), "{}", exited.line);
        } else {
            daemon.wait_of("started", "loud");
        }
        daemon.clock(59.9);
        daemon.ran("a", &minute(1));
        is_calm(daemon.pid());
        let after = memory(daemon.pid(), "VmRSS");
        assert!(after < before + 10_000, "{before} KiB, then {after}");
        if !is_closed {
            daemon.outcome("loud", &minute(1), "skipped");
            let pid: i32 = place.read("loud").trim().parse().unwrap();
            assert!(alive(pid));
        }
        drop(reader);
        daemon.signal(Signal::SIGTERM);
        daemon.end().exits(0);
    }
}
