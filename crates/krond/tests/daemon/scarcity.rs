//! Nothing left of something: descriptors, room in a pipe, rights over a process.

use crate::skip::skip;
use crate::support::{Place, Start, a_moment, alive, as_nobody, descriptors, is_calm, minute};
use crate::support::{need, need_root, set_mode, wait_for, wait_gone};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{Read, Write, pipe};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

/// Sets the limit of open files of a process; what it has open stays open.
fn limit_files(pid: Pid, most: &str) {
    let words = ["prlimit", "--pid", &pid.to_string(), &format!("--nofile={most}:")];
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    // Of another user's process not even root may, everywhere.
    let is_set =
        command.status().unwrap().success() || as_nobody(&words).status().unwrap().success();
    assert!(is_set);
}

/// The lowest number that is not a descriptor of a process: with this as its limit
/// it gets no other.
fn lowest_free(pid: Pid) -> usize {
    (0..1_000_000).find(|n| fs::symlink_metadata(format!("/proc/{pid}/fd/{n}")).is_err()).unwrap()
}

/// Fault 25: where files are scarce, few jobs run at once; that is said before it matters,
/// and in the reason of what is missed for it.
#[test]
fn fault_25_how_many_files_there_may_be_is_said() {
    if !need("prlimit") {
        return;
    }
    let place = Place::with(
        "0 12 * * * @policy(deadline=1h) name=first command=\"/bin/sleep 60\"\n\
         0 12 * * * @policy(deadline=2s) name=second command=/bin/true\n",
    );
    let start = Start::new(&place, &["--shutdown", "terminate"]).clock(-30.0);
    let daemon = start.through(&["prlimit", "--nofile=164:164"]).start();
    daemon.ready();
    let warning = daemon.wait("limits");
    assert_eq!(&warning["level"], "warn", "{}", warning.line);
    assert!(warning["message"].contains("1 job runs at once"), "{}", warning.line);
    daemon.clock(-0.2);
    daemon.wait_of("started", "first");
    daemon.clock(5.0);
    let missed = daemon.outcome("second", &minute(0), "missed");
    assert!(missed["reason"].contains("files open for (1)"), "{}", missed.line);
    daemon.stop();
}

/// Fault 16, 25: real EMFILE. Whoever wants to talk waits until something else happens, and
/// the daemon does not spin; starts are tried again.
#[test]
fn fault_16_25_without_descriptors_it_waits_and_does_not_spin() {
    if !need("prlimit") {
        return;
    }
    let place = Place::with("0 12 * * * @policy(deadline=1h) name=a NOTE\n");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let daemon = place.start(-30.0, &["--metrics", &port.to_string()]);
    daemon.clock(-3.0);
    let free = lowest_free(daemon.pid());
    limit_files(daemon.pid(), &free.to_string());
    let mut client = UnixStream::connect(place.at("state/control.sock")).unwrap();
    client.write_all(b"{\"command\":\"status\"}\n").unwrap();
    let mut reader = std::net::TcpStream::connect(port).unwrap();
    reader.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    a_moment();
    is_calm(daemon.pid());
    // Noon, and no descriptor for a gate.
    let error = daemon.wait_of("error", "a");
    assert_eq!(&error["period_id"], minute(0), "{}", error.line);
    assert!(error["message"].contains("Too many open files"), "{}", error.line);
    assert!(place.record().is_empty());
    let attempts = daemon.all("error", "a").len();
    assert!(attempts < 30, "{attempts} attempts");
    limit_files(daemon.pid(), "1024");
    daemon.ran("a", &minute(0));
    // Those who waited are heard.
    let mut text = String::new();
    client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    client.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("{\"done\":"), "{text}");
    reader.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0)]);
}

/// Fault 16: descriptors that the daemon needs to record and to answer are not given to
/// jobs: others wait for a place.
#[test]
fn fault_16_jobs_leave_the_daemon_its_descriptors() {
    if !need("prlimit") {
        return;
    }
    let line = |n: usize| {
        format!(
            "0 12 * * * @policy(deadline=1h) name=j{n} shell=true command=\"while ! test -e HERE/go; do sleep 0.05; done\"\n"
        )
    };
    let place = Place::with(&(0..30).map(line).collect::<String>());
    let start = Start::new(&place, &[]).clock(-30.0);
    let daemon = start.through(&["prlimit", "--nofile=200:200", "--"]).start();
    daemon.ready();
    daemon.clock(-0.1);
    // 200 less 160 in reserve, 3 for each run.
    daemon.wait_nth("a start", 13, |event| event.is("started"));
    a_moment();
    assert_eq!(daemon.count("started"), 13);
    assert!(descriptors(daemon.pid()) < 100);
    place.ask(&["status"]).exits(0);
    place.ask(&["reload"]).exits(0);
    place.write("go", "");
    daemon.wait_nth("all to have run", 30, |event| event.is("exited"));
    let output = daemon.stop();
    assert!(!output.events().iter().any(|event| &event["level"] == "error"), "{}", output.stderr);
}

/// A job that leaves a note, and so many others that the log of all of them fills any
/// pipe or terminal.
fn many_jobs(count: usize) -> String {
    let mut jobs = String::from("0 12 * * * @policy(deadline=1h) name=a NOTE\n");
    for n in 0..count {
        jobs += &format!("0 12 * * * @policy(deadline=1h) name=j{n} command=/bin/true\n");
    }
    jobs
}

/// Waits until all of them have run. Nobody is asked who may be held up.
#[track_caller]
fn all_ran(place: &Place, count: usize) {
    wait_for("the run", || (place.runs("a") == [minute(0)]).then_some(()));
    for n in 0..count {
        wait_for("the end of all", || {
            let text = fs::read_to_string(place.state_file(&format!("j{n}"))).ok()?;
            text.contains("\"LastExitCode\": 0").then_some(())
        });
    }
}

/// A reader of the log that does not read stops nothing: lines wait for it.
#[test]
fn a_log_that_nobody_reads_stops_nothing() {
    let place = Place::with(&many_jobs(100));
    let (mut reader, writer) = pipe().unwrap();
    rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
    let daemon = Start::new(&place, &[]).clock(-5.0).stderr(writer).start();
    all_ran(&place, 100);
    is_calm(daemon.pid());
    place.ask(&["status"]).exits(0);
    // What was written meanwhile is all there, a line after the other.
    daemon.signal(Signal::SIGTERM);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    daemon.end().exits(0);
    let started = text.lines().filter(|line| line.contains(" event=started ")).count();
    assert_eq!(started, 101, "{text}");
    let is_whole = |line: &str| line.contains(" level=") && line.contains(" event=");
    assert!(text.lines().all(is_whole), "{text}");
}

/// And so it is on a terminal that is held up.
#[test]
fn a_terminal_that_is_held_up_stops_nothing() {
    if !need("script") {
        return;
    }
    let place = Place::with(&many_jobs(300));
    // `script` makes a terminal; its own output is not read, so nobody takes what is
    // written there.
    let start = Start::new(&place, &["--log-format", "text"]).clock(-5.0);
    let (_reader, writer) = pipe().unwrap();
    rustix::pipe::fcntl_setpipe_size(&writer, 4096).unwrap();
    let wrapper = "exec script -q -c \"$(printf '%s ' \"$@\")\" /dev/null";
    let daemon = start.through(&["sh", "-c", wrapper, "sh"]).stdout(writer).start();
    all_ran(&place, 300);
    let pid = place.read("state/lock").trim().parse().unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    wait_gone(pid);
    drop(daemon);
}

/// A program that becomes root and stays so, for whoever calls it: what it runs, the
/// daemon of an ordinary user cannot end.
fn rooted(place: &Place) -> Option<String> {
    if !need_root() || !need("setpriv") {
        return None;
    }
    let program = place.at("rooted");
    let setpriv = Command::new("sh").args(["-c", "command -v setpriv"]).output().unwrap();
    let setpriv = String::from_utf8(setpriv.stdout).unwrap();
    assert!(Command::new("cp").arg(setpriv.trim()).arg(&program).status().unwrap().success());
    set_mode(&program, 0o4755);
    let program = program.to_str().unwrap().to_string();
    let call = format!("{program} --reuid=0 --regid=0 --clear-groups --");
    let mut test = as_nobody(&["sh", "-c", &format!("{call} id -u")]);
    let output = test.output().unwrap();
    if String::from_utf8_lossy(&output.stdout).trim() != "0" {
        skip("no program can become root here");
        return None;
    }
    Some(call)
}

/// A place for a daemon of `nobody`.
fn of_nobody(jobs: impl FnOnce(&str) -> String) -> Option<Place> {
    let place = Place::new();
    let call = rooted(&place)?;
    place.jobs(&jobs(&call));
    place.make_state();
    for (name, directory) in [("state", true), ("record", false), ("left", false)] {
        if !directory {
            place.write(name, "");
        }
        std::os::unix::fs::chown(place.at(name), Some(65534), Some(65534)).unwrap();
    }
    std::os::unix::fs::chown(place.at("jobs.kron"), Some(65534), Some(65534)).unwrap();
    Some(place)
}

/// Fault 31: what cannot be ended is not replaced: nothing new starts, ERROR, tried again until
/// the deadline, then missed.
#[test]
fn fault_31_replace_of_what_cannot_be_ended_starts_nothing() {
    let place = of_nobody(|rooted| {
        format!(
            "0,1 12 * * * @policy(deadline=1h,concurrency=replace) name=a shell=true \
             command=\"echo a $KRON_PERIOD_ID >> HERE/record; echo $$ >> HERE/left; exec {rooted} sleep 600\"\n\
             * * * * * @policy(deadline=1h) name=b NOTE\n"
        )
    });
    let Some(place) = place else { return };
    let daemon = Start::new(&place, &["--grace", "200ms"]).clock(-30.0).by_nobody().start();
    daemon.ready();
    daemon.clock(-0.1);
    daemon.wait_of("started", "a");
    let pid: i32 = place.wait_file("left").trim().parse().unwrap();
    wait_for("root", || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        status.contains("Uid:\t0\t0\t0\t0").then_some(())
    });
    daemon.clock(59.9);
    daemon.ran("b", &minute(1));
    let error = daemon.wait_of("error", "a");
    assert_eq!(&error["level"], "error", "{}", error.line);
    let why = format!("process {pid} of period {} does not end", minute(0));
    wait_for("it to give up for now", || {
        place.ask_jobs()["a"].to_string().contains(&why).then_some(())
    });
    daemon.clock(3700.0);
    let missed = daemon.outcome("a", &minute(1), "missed");
    assert!(missed["reason"].contains(&format!("last attempt: {why}")), "{}", missed.line);
    assert!(alive(pid));
    is_calm(daemon.pid());
    assert_eq!(place.runs("a"), [minute(0)]);
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    daemon.ran("a", &minute(0));
    daemon.kill();
}

/// Fault 31: that nobody may signal what is left of a group does not mean that nothing is
/// left: of a child's, nor of a survivor's, whose leader somebody else collects.
#[test]
fn fault_31_replace_of_a_rest_that_cannot_be_signalled_starts_nothing() {
    for is_survivor in [false, true] {
        let place = of_nobody(|rooted| {
            format!(
                "* * * * * @policy(deadline=2s,concurrency=replace) name=a shell=true \
                 command=\"echo a $KRON_PERIOD_ID >> HERE/record; {rooted} sleep 600 & echo $! >> HERE/left; exec sleep 600\"\n"
            )
        });
        let Some(place) = place else { return };
        let start = |clock| {
            let start = Start::new(&place, &["--grace", "200ms"]).clock(clock);
            let daemon = start.by_nobody().start();
            daemon.ready();
            daemon
        };
        let mut daemon = start(-30.0);
        daemon.clock(-0.1);
        let leader = daemon.wait_of("started", "a").pid();
        let rest: i32 = place.wait_file("left").trim().parse().unwrap();
        wait_for("root", || {
            let status = fs::read_to_string(format!("/proc/{rest}/status")).unwrap();
            status.contains("Uid:\t0\t0\t0\t0").then_some(())
        });
        if is_survivor {
            daemon.kill();
            daemon = start(30.0);
        }
        daemon.clock(59.9);
        // The leader ends; the rest of its group cannot be made to.
        wait_gone(leader);
        daemon.outcome("a", &minute(1), "missed");
        let runs = place.runs("a");
        assert!(alive(rest));
        kill(Pid::from_raw(rest), Signal::SIGKILL).unwrap();
        assert_eq!(runs, [minute(0)]);
        // Once it is gone, it is over.
        daemon.ran("a", &minute(0));
        daemon.stop();
    }
}

/// Fault 31: a group that could not be looked for is not gone either: nothing new starts
/// beside what is left of it.
#[test]
fn fault_31_a_rest_that_cannot_be_looked_for_is_not_gone() {
    if !need("prlimit") {
        return;
    }
    let place = Place::with(
        "* * * * * @policy(deadline=1h,concurrency=replace) name=a shell=true \
         command=\"(trap '' TERM; exec sleep 600) & echo $! >> HERE/left; trap 'exit 0' TERM; while :; do sleep 0.05; done\"\n",
    );
    let daemon = place.start(-30.0, &["--grace", "2s"]);
    daemon.clock(-0.1);
    let leader = daemon.wait_of("started", "a").pid();
    let rest: i32 = place.wait_file("left").trim().parse().unwrap();
    daemon.clock(58.5);
    let free = lowest_free(daemon.pid());
    limit_files(daemon.pid(), &free.to_string());
    // The leader ends by TERM; for the others there is no descriptor to look with.
    wait_gone(leader);
    daemon.wait_nth("an error of looking", 1, |event| {
        event.is("error") && event["operation"].contains("rest of a process group")
    });
    limit_files(daemon.pid(), "1024");
    daemon.wait_nth("the next", 2, |event| event.of("started", "a"));
    assert!(!alive(rest), "both run");
    daemon.kill();
}

/// Fault 31, Fault 24: nor is it gone for ever: somebody looks again, also after the last
/// signal, and the run is over when its group is.
#[test]
fn fault_31_a_rest_that_could_not_be_looked_for_is_looked_for_again() {
    if !need("prlimit") {
        return;
    }
    let place = of_nobody(|rooted| {
        format!(
            "* * * * * @policy(deadline=1h) name=a timeout=1s shell=true \
             command=\"{rooted} sleep 600 & echo $! >> HERE/left; trap '' TERM; while :; do sleep 0.05; done\"\n"
        )
    });
    let Some(place) = place else { return };
    let daemon = Start::new(&place, &["--grace", "1s"]).clock(-30.0).by_nobody().start();
    daemon.ready();
    daemon.clock(-0.1);
    let leader = daemon.wait_of("started", "a").pid();
    let rest: i32 = place.wait_file("left").trim().parse().unwrap();
    daemon.wait_of("timeout", "a");
    limit_files(daemon.pid(), &lowest_free(daemon.pid()).to_string());
    // It ends by KILL; for the others there is no descriptor to look with.
    wait_gone(leader);
    let error = daemon.wait_nth("an error of looking", 1, |event| {
        event.is("error") && event["operation"].contains("rest of a process group")
    });
    assert_eq!((&error["job"], &error["period_id"]), ("a", &*minute(0)));
    limit_files(daemon.pid(), "1024");
    kill(Pid::from_raw(rest), Signal::SIGKILL).unwrap();
    daemon.wait_of("exited", "a");
    daemon.clock(59.9);
    daemon.wait_nth("the next", 2, |event| event.of("started", "a"));
    daemon.kill();
    for rest in place.read("left").lines().skip(1) {
        let _ = kill(Pid::from_raw(rest.parse().unwrap()), Signal::SIGKILL);
    }
}
