//! How a daemon and those who talk to it part: what `stop` promises, and what is said when
//! the daemon dies instead of answering.

use crate::support::{Place, wait_for};
use krond::control::Request;
use krond::control::client::{Conversation, NoAnswer};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

const NEVER: &str = "0 0 1 1 * name=a command=/bin/true\n";

fn client(place: &Place, words: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_krond"))
        .args(words)
        .arg("--state-dir")
        .arg(place.at("state"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// LIF-11: whoever has stopped a daemon can start the next one at once.
#[test]
fn lif_11_after_a_stop_the_directory_is_free() {
    let place = Place::with(NEVER);
    for _ in 0..10 {
        let daemon = place.start(-30.0, &[]);
        daemon.ready();
        place.ask(&["stop"]).exits(0).prints("krond has ended");
        daemon.end().exits(0);
    }
}

/// LIF-11: `stop` returns when the daemon is gone, also if others crowd it out of the
/// conversation meanwhile.
#[test]
fn lif_11_a_stop_that_is_crowded_out_waits_all_the_same() {
    let place = Place::with("0 12 * * * name=a command=\"/bin/sleep 1000\"\n");
    let daemon = place.start(-30.0, &[]);
    daemon.ready();
    daemon.clock(-0.2);
    let job = daemon.wait_of("started", "a").pid();
    let mut stop = client(&place, &["stop", "--graceful"]);
    daemon.wait("stopping");
    let crowd: Vec<UnixStream> = (0..80)
        .map(|_| {
            wait_for("a connection", || UnixStream::connect(place.at("state/control.sock")).ok())
        })
        .collect();
    // All of them are heard of before this is answered.
    place.ask(&["status"]).exits(0);
    assert!(stop.try_wait().unwrap().is_none(), "it has not ended");
    kill(Pid::from_raw(job), Signal::SIGKILL).unwrap();
    daemon.end().exits(0);
    let output = stop.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "krond has ended\n");
    drop(crowd);
}

/// LIF-11: who is on its way out promises nothing.
#[test]
fn lif_11_nothing_comes_next_of_a_daemon_that_stops() {
    let place = Place::with("0 12 * * * name=a command=\"/bin/sleep 1000\"\n");
    let daemon = place.start(-30.0, &["--shutdown", "wait"]);
    daemon.ready();
    daemon.clock(-0.2);
    let job = daemon.wait_of("started", "a").pid();
    assert!(place.ask_jobs()["a"]["next"].is_object());
    daemon.signal(Signal::SIGTERM);
    daemon.wait("stopping");
    assert!(place.ask_jobs()["a"]["next"].is_null());
    let table = place.ask(&["jobs"]).exits(0);
    assert!(table.stdout.contains("-     krond is stopping"), "{}", table.stdout);
    kill(Pid::from_raw(job), Signal::SIGKILL).unwrap();
    daemon.end().exits(0);
}

/// OBS-06: a daemon that dies instead of answering is not taken for one that does not want to.
#[test]
fn obs_06_a_daemon_that_dies_meanwhile() {
    let place = Place::with(NEVER);
    let daemon = place.start(-30.0, &[]);
    daemon.ready();
    daemon.signal(Signal::SIGSTOP);
    let socket = place.at("state/control.sock");
    let mut conversation = Conversation::begin(&socket, &Request::Reload).unwrap();
    daemon.kill();
    let answer = conversation.finish(|row| panic!("{row}"));
    assert!(matches!(answer, Err(NoAnswer::Died)), "{answer:?}");
}
