//! The commands that ask the daemon, and its metrics.

use crate::support::{Place, a_moment, by_nobody, minute, need, need_root, wait_for};
use nix::sys::signal::Signal;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

const JOBS: &str = "0 12 * * * @policy(deadline=1h) name=a shell=true command=\"exit 3\"\n\
    0 12 * * * name=strict command=/bin/true\n\
    0 12 * * * @policy(deadline=1h) name=runs command=\"/bin/sleep 60\"\n\
    0 0 1 1 * @win(around,1h) @policy(suspend=true) name=asleep command=/bin/true\n";

#[test]
fn not_running_is_exit_1() {
    let place = Place::with(JOBS);
    for args in
        [&["status"][..], &["jobs"], &["history", "a"], &["why", "a"], &["reload"], &["stop"]]
    {
        let output = place.ask(args).exits(1);
        assert!(!output.stderr.is_empty(), "{args:?}");
    }
}

/// OBS-01, OBS-02, OBS-03, LIF-06.
#[test]
fn obs_01_02_03_lif_06_status_jobs_history_and_why() {
    let place = Place::with(JOBS);
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.ran("a", &minute(0));
    let pid = daemon.wait_of("started", "runs").pid();

    let status = place.ask(&["status", "--format", "json"]).exits(0).json();
    assert_eq!(status["pid"], daemon.pid().as_raw());
    assert_eq!(status["jobs"], 4);
    assert_eq!(status["running"], 1);
    place.ask(&["status"]).exits(0).prints(&daemon.pid().to_string());

    let jobs = place.ask_jobs();
    let a = &jobs["a"];
    assert_eq!(a["identity"], place.identity("a"));
    assert_eq!(a["last"]["outcome"], "executed");
    assert_eq!(a["last"]["exitCode"], 3);
    assert_eq!(a["last"]["periodId"], minute(0));
    assert_eq!(a["next"]["chosenTime"], "2030-06-04T12:00:00Z");
    // OBS-03: one hash in log, status and state.
    let decision = daemon.wait_of("decision", "a");
    assert_eq!(a["last"]["seedHash"], decision["seed_hash"]);
    assert_eq!(place.state("a")["LastSeedHash"], decision["seed_hash"]);
    assert_eq!(a["last"]["distribution"], "uniform");
    assert_eq!(jobs["asleep"]["suspended"], true);
    assert_eq!(jobs["runs"]["running"][0]["pid"], pid, "{}", jobs["runs"]);
    let table = place.ask(&["jobs"]).exits(0).stdout;
    for name in ["a", "strict", "runs", "asleep", "NEXT", "LAST", "RUNNING"] {
        assert!(table.contains(name), "no {name} in:\n{table}");
    }

    // What runs has not ended, and decides what becomes of the next.
    let history = place.ask(&["history", "runs"]).exits(0);
    let history = history.prints(&format!("{} is running, pid {pid}, since", minute(0)));
    assert!(!history.stdout.contains("exit unknown"), "{}", history.stdout);
    let busy = format!("skipped if process {pid} still runs then");
    place.ask(&["why", "runs"]).exits(0).prints(&busy);
    assert!(!place.ask(&["why", "a"]).stdout.contains("if busy"));

    let history = place.ask(&["history", "a", "--format", "json"]).exits(0).json();
    let entry = &history["history"][0];
    assert_eq!(entry["exitCode"], 3);
    assert_eq!(entry["outcome"], "executed");
    place.ask(&["history", "a"]).exits(0).prints("2030-06-03");
    // By its identity too.
    place.ask(&["history", &place.identity("a")]).exits(0);

    let why = place.ask(&["why", "a"]).exits(0).stdout;
    for part in ["executed", "exit code 3", "2030-06-04T12:00:00Z", &place.identity("a")] {
        assert!(why.contains(part), "no {part} in:\n{why}");
    }
    let noon = "2030-06-05T12:00:00Z";
    let at = place.ask(&["why", "a", "--at", noon, "--format", "json"]).exits(0);
    assert!(at.stdout.contains("2030-06-05T12:00:00Z"), "{}", at.stdout);
    at.json();
    place.ask(&["why", "a", "--at", "gibberish"]).exits(2);
    for args in [["history", "nobody-knows"], ["why", "nobody-knows"]] {
        place.ask(&args).exits(1).says("nobody-knows");
    }
    place.ask(&["state", "show", "nobody-knows"]).exits(1);
    daemon.kill();
}

#[test]
fn why_at_a_date_means_the_first_period_of_that_day() {
    let place = Place::with("0 12 * * * name=a command=/bin/true\n");
    let daemon = place.start(-30.0, &[]);
    place.ask(&["why", "a", "--at", "2030-06-05"]).exits(0).prints("2030-06-05T12:00:00Z");
    daemon.stop();
}

/// OBS-02.
#[test]
fn obs_02_why_says_why_not() {
    let place = Place::with("* * * * * name=a command=/bin/true\n");
    place.start(-30.0, &[]).stop();
    let daemon = place.start(30.0, &[]);
    daemon.outcome("a", &minute(0), "missed");
    let why = place.ask(&["why", "a", "--at", &minute(0)]).exits(0).stdout;
    assert!(why.contains("missed") && why.contains("deadline"), "{why}");
    place.ask(&["history", "a"]).exits(0).prints("missed");
    daemon.stop();
}

#[test]
fn a_job_name_in_two_files_must_be_told_apart() {
    let place = Place::with("0 0 * * * name=same command=/bin/true\n");
    place.write("more.kron", "0 0 * * * name=same command=/bin/true\n");
    let more = place.at("more.kron");
    let daemon = place.start(-30.0, &["--config", more.to_str().unwrap()]);
    assert_eq!(&daemon.ready()["jobs"], "2");
    let output = place.ask(&["why", "same"]).exits(1);
    assert!(output.stderr.contains("more.kron"), "{}", output.stderr);
    place.ask(&["why", &place.identity("same")]).exits(0);
    daemon.stop();
}

#[test]
fn reloads_that_overlap_report_what_both_changed() {
    const MANY: usize = 20_000;
    let place = Place::with("0 12 * * * name=a NOTE\n");
    let daemon = place.start(-30.0, &[]);
    let lines = (0..MANY).map(|n| format!("0 3 * * * name=job-{n} command=/bin/true\n"));
    place.jobs(&lines.collect::<String>());
    let answers = std::thread::scope(|scope| {
        let ask = || scope.spawn(|| place.ask(&["reload"]).exits(0).stdout.clone());
        let asked = [ask(), ask(), ask()];
        asked.map(|answer| answer.join().expect("an answer"))
    });
    // Whoever comes after all readings hears that nothing changed since.
    let changed = format!("reloaded: {MANY} jobs; {MANY} added, 1 removed\n");
    let nothing = format!("reloaded: {MANY} jobs; nothing changed\n");
    assert!(answers.contains(&changed), "{answers:?}");
    assert!(answers.iter().all(|answer| *answer == changed || *answer == nothing), "{answers:?}");
    daemon.stop();
}

/// LIF-15, SCH-18.
#[test]
fn reload_and_stop_report_what_came_of_it() {
    let place = Place::with("0 0 * * * name=a command=/bin/true\n");
    let daemon = place.start(-30.0, &[]);
    place.jobs("0 0 * * * name=a command=/bin/true\n0 0 * * * name=b command=/bin/true\n");
    place.ask(&["reload"]).exits(0).prints("reloaded: 2 jobs; 1 added\n");
    place.ask(&["reload"]).exits(0).prints("reloaded: 2 jobs; nothing changed\n");
    assert_eq!(place.ask_jobs().len(), 2);
    place.jobs("0 0 * * * name=a command=/bin/true mailto=x\n");
    let output = place.ask(&["reload"]).exits(2);
    assert!(output.stdout.is_empty() && output.stderr.contains("mailto"), "{}", output.stderr);
    let output = place.ask(&["reload", "--format", "json"]).exits(2);
    assert!(output.stderr.is_empty(), "{}", output.stderr);
    assert!(output.json()["error"].as_str().unwrap().contains("mailto"));
    assert_eq!(place.ask_jobs().len(), 2);
    place.ask(&["status"]).exits(0).prints("a reload was refused; `krond reload` says why");
    place.jobs("# nothing any more\n");
    let output = place.ask(&["reload"]).exits(0);
    assert_eq!(output.stdout, "reloaded: 0 jobs; 2 removed\n");
    assert!(output.stderr.contains("nothing is configured"), "{}", output.stderr);
    let status = place.ask(&["status", "--format", "json"]).exits(0).json();
    assert!(status["reloadRejectedAt"].is_null(), "{status}");
    place.ask(&["stop"]).exits(0);
    daemon.end().exits(0);
}

#[test]
fn state_show_and_reset_with_and_without_a_daemon() {
    let place = Place::with("0 12 * * * @policy(deadline=1h) name=a NOTE\n");
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.ran("a", &minute(0));
    let shown = place.ask(&["state", "show", "a", "--format", "json"]).exits(0).json();
    assert_eq!(shown["LastHandledPeriodID"], minute(0));
    place.ask(&["state", "reset", "a"]).exits(0);
    a_moment();
    // Nothing due before now runs.
    assert_eq!(place.record().len(), 1);
    daemon.stop();
    let identity = place.identity("a");
    // The roster knows whom the name means.
    for word in ["a", &identity] {
        place.ask(&["state", "show", word]).exits(0).prints(&identity);
        place.ask(&["state", "reset", word]).exits(0);
    }
    place.ask(&["state", "show", "b"]).exits(1).says("no job `b`");
    let daemon = place.start(20.0, &[]);
    a_moment();
    daemon.stop();
    assert_eq!(place.record().len(), 1);
    let other = place.write("other.kron", "0 12 * * * name=a command=/bin/true\n");
    place.start(20.0, &[other.to_str().unwrap()]).stop();
    place.ask(&["state", "show", "a"]).exits(1).says("there are several jobs `a`");
}

/// What a reset without a daemon leaves alone: the rest of the history, that a job is
/// gone, and a place that is not there.
#[test]
fn a_reset_without_a_daemon_forgets_marks_and_nothing_else() {
    let job = "0 12 * * * @policy(deadline=1h) name=a NOTE\n";
    let place = Place::with(job);
    let entry = |n: u32| {
        let at = format!("2030-05-{:02}T{:02}:00:00Z", 1 + n / 24, n % 24);
        serde_json::json!({ "PeriodID": at, "NominalTime": at, "ChosenTime": at,
            "CompletedAt": at, "Outcome": "executed", "ExitCode": 0 })
    };
    let history: Vec<_> = (0..150).map(entry).collect();
    let last = &history[149]["PeriodID"];
    place.plant(
        "a",
        serde_json::json!({ "LastHandledPeriodID": last, "LastNominalTime": last,
            "LastChosenTime": last, "LastOutcome": "executed", "History": history }),
    );
    let daemon = place.start(-30.0, &["--history", "1000"]);
    place.jobs("");
    place.ask(&["reload"]).exits(0);
    daemon.stop();
    let identity = place.identity("a");
    let before = place.state("a")["History"].as_array().unwrap().len();
    assert!(before >= 150);
    place.ask(&["state", "reset", &identity]).exits(0);
    assert_eq!(place.state("a")["History"].as_array().unwrap().len(), before);
    // It comes back without a past, as it would have without the reset.
    place.jobs(job);
    let daemon = place.start(20.0, &[]);
    a_moment();
    daemon.stop();
    assert!(place.record().is_empty(), "{:?}", place.record());
    let elsewhere = place.at("elsewhere");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_krond"));
    command.args(["state", "reset", &identity, "--state-dir"]).arg(&elsewhere);
    place.run(command).exits(1).says("no state directory");
    assert!(!elsewhere.exists());
}

/// A daemon that is stopped cannot answer; who asks is told so.
#[test]
fn a_stopped_daemon_is_not_waited_for_without_end() {
    let place = Place::with(JOBS);
    let daemon = place.start(-30.0, &[]);
    daemon.signal(Signal::SIGSTOP);
    place.ask(&["status"]).exits(4).says("does not answer");
    // Nor if so many have asked that nobody else gets in line.
    let address = UnixAddr::new(&place.at("state/control.sock")).unwrap();
    let knock = || {
        let (kind, flags) = (SockType::Stream, SockFlag::SOCK_NONBLOCK);
        let socket = socket(AddressFamily::Unix, kind, flags, None).unwrap();
        connect(socket.as_raw_fd(), &address).is_ok()
    };
    assert!((0..100_000).any(|_| !knock()));
    place.ask(&["status"]).exits(4).says("does not answer");
    daemon.signal(Signal::SIGCONT);
    place.ask(&["status"]).exits(0);
    daemon.stop();
}

/// OBS-02: without a history, how the last period ended is still known; and what the
/// present definition would have chosen is not told of a period that an earlier one did.
#[test]
fn obs_02_what_is_known_of_the_last_period() {
    let job = "0 12 * * * @policy(deadline=1h) name=a shell=true command=\"exit 3\"\n";
    let place = Place::with(job);
    let daemon = place.start(-30.0, &["--history", "0"]);
    daemon.clock(-0.2);
    daemon.ran("a", &minute(0));
    let at = minute(0);
    wait_for("the exit code", || {
        place.ask(&["why", "a", "--at", &at]).stdout.contains("executed, exit code 3").then_some(())
    });
    place.ask(&["history", "a"]).exits(0).prints("executed, exit 3").prints("no history is kept");
    place.ask(&["why", "a", "--at", &at]).prints("window");
    place.jobs(&job.replace("@policy", "@win(after,1h) @seed(daily,salt=x) @policy"));
    place.ask(&["reload"]).exits(0);
    let why =
        place.ask(&["why", "a", "--at", &at]).exits(0).prints("decided by an earlier definition");
    assert!(!why.stdout.contains("window"), "{}", why.stdout);
    daemon.stop();
    // The same with a history.
    let place = Place::with(job);
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.ran("a", &minute(0));
    place.jobs(&job.replace("@policy", "@win(after,1h) @seed(daily,salt=x) @policy"));
    place.ask(&["reload"]).exits(0);
    wait_for("its end", || {
        place.ask(&["why", "a", "--at", &at]).stdout.contains("exit code 3").then_some(())
    });
    place.ask(&["why", "a", "--at", &at]).exits(0).prints("decided by an earlier definition");
    daemon.stop();
}

/// SCH-05: periods that wait for a place outlast every step of the clock; the latest are
/// shown, and a reset says how many it drops.
#[test]
fn sch_05_what_waits_is_shown_and_not_passed_over() {
    let place = Place::with(
        "0 12 * * * @policy(deadline=1h) name=first shell=true \
         command=\"while ! test -e HERE/go; do sleep 0.02; done\"\n\
         1-59 12 * * * @policy(deadline=1h,concurrency=allow) name=a NOTE\n",
    );
    let daemon = place.start(-30.0, &["--max-running", "1"]);
    daemon.clock(-0.2);
    daemon.wait_of("started", "first");
    let blocked = || place.ask_jobs()["a"]["blocked"].as_array().unwrap().len();
    for n in 1..=5 {
        daemon.clock(60.0 * f64::from(n) - 0.05);
        wait_for("another that waits", || (blocked() == n as usize).then_some(()));
    }
    let why = place.ask(&["why", "a"]).exits(0);
    assert_eq!(why.stdout.matches("as many jobs were running").count(), 3, "{}", why.stdout);
    assert!(why.stdout.contains("2 earlier periods are open"), "{}", why.stdout);
    place.write("go", "");
    for n in 1..=5 {
        daemon.ran("a", &minute(n));
    }
    assert_eq!(daemon.count("superseded"), 0, "{}", daemon.text());
    assert_eq!(place.runs("a"), (1..=5).map(minute).collect::<Vec<_>>());
    daemon.stop();
}

/// A reset says how many periods it drops.
#[test]
fn a_reset_says_what_it_drops() {
    let place = Place::with("0 12 * * * @policy(deadline=1h) name=a command=/no/such/program\n");
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.wait_of("error", "a");
    place.ask(&["state", "reset", "a"]).exits(0);
    let reset = daemon.wait_of("reset", "a");
    assert!(reset["message"].contains("nor the period that waited"), "{}", reset.line);
    let why = place.ask(&["why", "a", "--at", &minute(0)]).exits(0);
    assert!(why.stdout.contains("does not run"), "{}", why.stdout);
    daemon.stop();
}

/// ERR-31: state that must not be used keeps a new configuration from being used; the
/// daemon goes on, so nothing of that is fatal.
#[test]
fn err_31_a_refused_reload_is_not_fatal() {
    let place = Place::with("0 0 * * * name=a command=/bin/true\n");
    let mut daemon = place.start(-30.0, &[]);
    std::os::unix::fs::symlink("elsewhere", place.state_file("b")).unwrap();
    place.jobs("0 0 * * * name=b command=/bin/true\n");
    assert_ne!(place.ask(&["reload"]).status, 0);
    daemon.wait("reload_rejected");
    assert!(daemon.events().iter().all(|event| !event.has("fatal")), "{}", daemon.text());
    assert!(daemon.is_running());
    assert_eq!(place.ask_jobs().into_keys().collect::<Vec<_>>(), ["a"]);
    daemon.stop();
}

#[test]
fn others_are_refused() {
    if !need_root() || !need("setpriv") {
        return;
    }
    let place = Place::with(JOBS);
    let mut daemon = place.start(-30.0, &[]);
    for args in [&["status"][..], &["stop", "--now"], &["reload"], &["state", "show", "a"]] {
        let mut command = by_nobody(&place);
        command.args(args).arg("--state-dir").arg(place.at("state"));
        let output = place.run(command);
        assert_ne!(output.status, 0, "{args:?}: {}", output.stdout);
    }
    a_moment();
    assert!(daemon.is_running());
    daemon.stop();
}

/// Even where the socket is in reach.
#[test]
fn others_are_refused_at_a_socket_that_is_open_to_them() {
    if !need_root() || !need("setpriv") {
        return;
    }
    let place = Place::with(JOBS);
    let socket = place.at("s");
    let mut daemon = place.start(-30.0, &["--socket", socket.to_str().unwrap()]);
    crate::support::set_mode(&socket, 0o666);
    for args in [&["stop", "--now"][..], &["status"], &["reload"], &["jobs"]] {
        let mut command = by_nobody(&place);
        command.args(args).arg("--socket").arg(&socket);
        let output = place.run(command);
        assert!(args[0] == "stop" || output.status != 0, "{args:?}: {}", output.stdout);
    }
    a_moment();
    assert!(daemon.is_running());
    assert_eq!(daemon.count("reloaded") + daemon.count("stopping"), 0);
    daemon.stop();
}

#[test]
fn a_refused_stop_does_not_claim_that_krond_has_ended() {
    if !need_root() || !need("setpriv") {
        return;
    }
    let place = Place::with(JOBS);
    let socket = place.at("s");
    let daemon = place.start(-30.0, &["--socket", socket.to_str().unwrap()]);
    crate::support::set_mode(&socket, 0o666);
    for _ in 0..20 {
        let mut command = by_nobody(&place);
        command.args(["stop", "--now", "--socket"]).arg(&socket);
        let output = place.run(command);
        assert_ne!(output.status, 0, "{}", output.stdout);
    }
    daemon.stop();
}

#[test]
fn metrics_are_served_on_request() {
    let place = Place::with(
        "* * * * * @policy(deadline=1h) name=a shell=true command=\"exit 3\"\n* * * * * name=b command=/bin/true\n",
    );
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let daemon = place.start(-30.0, &["--metrics", &port.to_string()]);
    daemon.clock(130.0);
    daemon.ran("a", &minute(2));
    daemon.outcome("b", &minute(2), "missed");
    let get = |path: &str| {
        let mut stream = TcpStream::connect(port).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    let number = |page: &str, name: &str| -> Option<f64> {
        let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map(|value| value.parse().unwrap())
    };
    let page = wait_for("the end of a run on the page", || {
        let page = get("/metrics");
        (number(&page, "kron_exits_total{result=\"failure\"}") == Some(1.0)).then_some(page)
    });
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    let noon = crate::support::NOON as f64;
    let (few, none) = (1.0..=1.0, 0.0..=0.0);
    for (name, expected) in [
        ("kron_outcomes_total{outcome=\"executed\",reason=\"\"}", few.clone()),
        ("kron_outcomes_total{outcome=\"missed\",reason=\"late\"}", few.clone()),
        ("kron_outcomes_total{outcome=\"missed\",reason=\"not_started\"}", none.clone()),
        ("kron_outcomes_total{outcome=\"skipped\",reason=\"active\"}", none.clone()),
        // Two minutes of two jobs.
        ("kron_superseded_total", 4.0..=4.0),
        ("kron_exits_total{result=\"success\"}", none.clone()),
        ("kron_start_failures_total", none.clone()),
        // Ten seconds, and what it took.
        ("kron_start_lateness_seconds_bucket{le=\"1\"}", none.clone()),
        ("kron_start_lateness_seconds_bucket{le=\"60\"}", few.clone()),
        ("kron_start_lateness_seconds_sum", 10.0..=60.0),
        ("kron_start_lateness_seconds_count", few),
        // Their first sight, what came of both, and an end.
        ("kron_commit_seconds_count", 2.0..=8.0),
        ("kron_commit_seconds_sum", 0.000_001..=60.0),
        ("kron_jobs", 2.0..=2.0),
        ("kron_queue_length", 2.0..=2.0),
        ("kron_running", none),
        ("kron_next_wake_timestamp_seconds", noon + 180.0..=noon + 180.0),
        ("kron_start_timestamp_seconds", noon - 30.0..=noon),
    ] {
        let value = number(&page, name).unwrap_or_else(|| panic!("no {name} in:\n{page}"));
        assert!(expected.contains(&value), "{name} {value}, not {expected:?}:\n{page}");
        let family = name.split(['{', ' ']).next().unwrap();
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| family.strip_suffix(end));
        let family = family.unwrap_or_else(|| name.split('{').next().unwrap());
        assert!(page.contains(&format!("# TYPE {family} ")), "{family}:\n{page}");
        assert!(page.contains(&format!("# HELP {family} ")), "{family}:\n{page}");
    }
    // No label without bound.
    assert!(!page.contains("name=\"a\"") && !page.contains("jobs.kron"), "{page}");
    assert!(get("/other").starts_with("HTTP/1.1 404"));
    // Somebody who says nothing holds nobody up.
    let _silent = TcpStream::connect(port).unwrap();
    place.ask(&["status"]).exits(0);
    daemon.stop();
}
