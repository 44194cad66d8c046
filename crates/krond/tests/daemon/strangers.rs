//! Whoever talks to the daemon in a way it does not like: slow, silent, too much,
//! rubbish, half a conversation. None of it holds up a job or an honest question.

use crate::support::{Daemon, Place, by_nobody, descriptors, is_calm, memory, minute};
use crate::support::{need, need_root, set_mode, wait_for};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

const JOBS: &str = "0 12 * * * @policy(deadline=1h) name=a NOTE\n";
const STATUS: &[u8] = b"{\"command\":\"status\"}\n";

/// Somebody at the socket. A daemon that is busy may let one wait.
fn connect(place: &Place) -> UnixStream {
    let stream =
        wait_for("a connection", || UnixStream::connect(place.at("state/control.sock")).ok());
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// Whether the daemon has hung up, without a word.
#[track_caller]
fn is_hung_up(mut stream: UnixStream) {
    let mut text = Vec::new();
    match stream.read_to_end(&mut text) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
    assert_eq!(String::from_utf8_lossy(&text), "");
}

#[track_caller]
fn is_answered(mut stream: UnixStream) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("{\"done\":"), "{text}");
}

/// A job that is due starts, questions are answered, and nothing spins.
#[track_caller]
fn goes_on(place: &Place, daemon: &Daemon<'_>, n: i64) {
    is_calm(daemon.pid());
    place.ask(&["status"]).exits(0);
    daemon.clock(n as f64 * 86400.0 - 0.02);
    let day = minute(0).replace("06-03", &format!("06-{:02}", 3 + n));
    daemon.ran("a", &day);
    place.ask(&["jobs"]).exits(0);
}

#[test]
fn slow_silent_and_many_clients_disturb_nothing() {
    let place = Place::with(JOBS);
    let daemon = place.start(-30.0, &[]);
    let before = descriptors(daemon.pid());
    // One byte a second, or less.
    let mut slow = connect(&place);
    slow.write_all(&STATUS[..1]).unwrap();
    goes_on(&place, &daemon, 0);
    slow.write_all(&STATUS[1..2]).unwrap();
    // Far more than are heard at once; they say nothing, or half a request.
    let mut silent = Vec::new();
    for n in 0..300 {
        let mut stream = connect(&place);
        if n % 2 == 0 {
            // The oldest are sent away by and by.
            let _ = stream.write_all(&STATUS[..7]);
        }
        silent.push(stream);
    }
    goes_on(&place, &daemon, 1);
    assert!(descriptors(daemon.pid()) < before + 80);
    // The slow one was the oldest.
    is_hung_up(slow);
    // Those who came last are still heard.
    let mut last = silent.pop().unwrap();
    last.write_all(STATUS).unwrap();
    is_answered(last);
    drop(silent);
    // Some that hang up at once.
    for _ in 0..500 {
        drop(connect(&place));
    }
    goes_on(&place, &daemon, 2);
    wait_for("descriptors closed", || (descriptors(daemon.pid()) <= before + 1).then_some(()));
    daemon.stop();
}

#[test]
fn a_request_that_is_too_long_or_none_ends_the_conversation() {
    let place = Place::with(JOBS);
    let daemon = place.start(-30.0, &[]);
    let long = vec![b' '; 80 * 1024];
    let mut deep = vec![b'['; 60_000];
    deep.push(b'\n');
    let requests: [&[u8]; 11] = [
        b"\n",
        b"status\n",
        b"\0\0\0\0\n",
        b"\xff\xfe\xfd\n",
        b"{}\n",
        b"[1, 2\n",
        b"{\"command\":\"format-disk\"}\n",
        b"{\"command\":7}\n",
        b"GET / HTTP/1.1\r\n\r\n",
        &deep,
        &long,
    ];
    let memory_before = memory(daemon.pid(), "VmHWM");
    for request in requests {
        for _ in 0..5 {
            let mut stream = connect(&place);
            // It may hang up before it has read all of it.
            let _ = stream.write_all(request);
            is_hung_up(stream);
        }
    }
    // One that never ends.
    let mut endless = connect(&place);
    let sent = (0..1000).take_while(|_| endless.write_all(&long).is_ok()).count();
    assert!(sent < 100, "{sent} times 80 KiB were taken");
    let memory_after = memory(daemon.pid(), "VmHWM");
    assert!(memory_after < memory_before + 20_000, "{memory_before} KiB, then {memory_after}");
    goes_on(&place, &daemon, 0);
    daemon.stop();
}

#[test]
fn half_a_conversation_is_one() {
    let place = Place::with(JOBS);
    let daemon = place.start(-30.0, &[]);
    // Nothing more to say, but listening.
    let mut stream = connect(&place);
    stream.write_all(STATUS).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    is_answered(stream);
    // Nothing said at all, or not to its end.
    for part in [&b""[..], &STATUS[..5]] {
        let mut stream = connect(&place);
        stream.write_all(part).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        is_hung_up(stream);
    }
    // Asked, and not interested in the answer.
    for request in [STATUS, b"{\"command\":\"jobs\"}\n", b"{\"command\":\"reload\"}\n"] {
        let mut stream = connect(&place);
        stream.write_all(request).unwrap();
        stream.shutdown(Shutdown::Read).unwrap();
        let mut stream = connect(&place);
        stream.write_all(request).unwrap();
        drop(stream);
    }
    goes_on(&place, &daemon, 0);
    daemon.stop();
}

/// An answer that nobody reads is made as far as it goes out, and no further.
#[test]
fn an_answer_that_is_not_read_waits_alone() {
    let mut jobs = String::from(JOBS);
    for n in 0..20_000 {
        jobs += &format!("0 0 1 1 * name=j{n} command=/bin/true\n");
    }
    let place = Place::with(&jobs);
    let daemon = place.start(-30.0, &[]);
    place.ask(&["jobs"]).exits(0);
    let before = memory(daemon.pid(), "VmRSS");
    let mut readers = Vec::new();
    for _ in 0..20 {
        let mut stream = connect(&place);
        stream.write_all(b"{\"command\":\"jobs\"}\n").unwrap();
        readers.push(stream);
    }
    goes_on(&place, &daemon, 0);
    // Twenty whole answers are some hundred megabytes.
    let after = memory(daemon.pid(), "VmRSS");
    assert!(after < before + 40_000, "{before} KiB, then {after}");
    // And it is all there for one who begins to read.
    let mut text = String::new();
    readers.remove(0).read_to_string(&mut text).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("{\"row\":")).count(), 20_001);
    assert!(text.lines().last().unwrap().starts_with("{\"done\":"), "{text}");
    daemon.stop();
}

/// Others are not even told why, however often they come.
#[test]
fn a_crowd_of_others_disturbs_nothing() {
    if !need_root() || !need("setpriv") {
        return;
    }
    let place = Place::with(JOBS);
    let socket = place.at("s");
    let mut daemon = place.start(-30.0, &["--socket", socket.to_str().unwrap()]);
    set_mode(&socket, 0o666);
    let before = descriptors(daemon.pid());
    for _ in 0..5 {
        for args in [&["status"][..], &["jobs"], &["reload"], &["stop", "--now"], &["history", "a"]]
        {
            let mut command = by_nobody(&place);
            let output = place.run({
                command.args(args).arg("--socket").arg(&socket);
                command
            });
            assert_ne!(output.status, 0, "{args:?}: {}", output.stdout);
            assert!(!output.stdout.contains("jobs.kron"), "{args:?}: {}", output.stdout);
        }
    }
    assert!(daemon.is_running());
    assert_eq!(daemon.count("reloaded") + daemon.count("stopping"), 0);
    wait_for("descriptors closed", || (descriptors(daemon.pid()) <= before).then_some(()));
    daemon.clock(-0.02);
    daemon.ran("a", &minute(0));
    daemon.stop();
}
