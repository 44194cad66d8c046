//! Start, stop, reload, one daemon at a time.

use crate::support::{
    Place, Start, a_moment, alive, children, family, is_root, minute, names, need, need_root,
    set_mode, wait_for, wait_gone,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::os::unix::fs::symlink;

const LONG: &str = "0 12 * * * @win(after,0s) @policy(deadline=1h) name=long timeout=1h \
                    command=\"/bin/sleep 60\"\n";

/// A job that waits for a file, with a record at its end.
const WAITS: &str = "0 12 * * * @win(after,0s) @policy(deadline=1h) name=waits shell=true \
     command=\"while ! test -e HERE/go; do sleep 0.02; done; echo waits $KRON_PERIOD_ID >> HERE/record; exit 7\"\n";

/// LIF-02, LIF-05, LIF-06.
#[test]
fn lif_02_05_06_everything_is_planned_before_ready() {
    let place = Place::with(
        "* * * * * name=a NOTE\n0 0 1 1 * @win(around,48h) name=b NOTE\n\
         0 12 * * * @win(after,3h) @tz(Europe/Paris) name=c NOTE\n",
    );
    let daemon = place.start(-30.0, &[]);
    let events = daemon.events();
    let ready = events.iter().position(|event| event.is("ready")).unwrap();
    for job in ["a", "b", "c"] {
        let planned = events.iter().position(|event| event.of("decision", job)).unwrap();
        assert!(planned < ready, "{job}");
    }
    assert_eq!(&events[ready]["jobs"], "3");
    assert!(!events.iter().any(|event| event.is("started")));
    for (name, job) in place.ask_jobs() {
        assert!(job["next"]["chosenTime"].is_string(), "{name}: {job}");
    }
    daemon.stop();
}

/// LIF-03, LIF-04, ERR-05, ERR-07, ERR-08, OBS-06.
#[test]
fn lif_03_04_err_05_07_08_obs_06_an_invalid_configuration_is_refused_with_all_its_errors() {
    let place = Place::new();
    let directory = place.at("conf.kron.d");
    fs::create_dir(&directory).unwrap();
    let write = |name: &str, text: &str| {
        fs::write(directory.join(name), text).unwrap();
        set_mode(&directory.join(name), 0o644);
    };
    write(
        "a.kron",
        &format!(
            "* * * * * @policy(deadline=1h) name=ok command=\"/usr/bin/touch {}\"\n0 25 * * * name=x command=/bin/true\n",
            place.at("record").display()
        ),
    );
    write(
        "b.kron",
        "* * * * * @tz(Mars/Base) name=x command=/bin/true\n* * * * * @win(after,9000h) name=y command=/bin/true\n",
    );
    write("c.kron", "* * * * * name=fine command=/bin/true\n\n* * * * * name=last\n");
    let start = Start::new(&place, &[]).clock(-0.5).config(directory.to_str().unwrap());
    let output = start.start().end().exits(2);
    for part in ["a.kron", "b.kron", "c.kron", "25", "Mars/Base", "9000h", "command"] {
        assert!(output.stderr.contains(part), "no {part} in:\n{}", output.stderr);
    }
    let errors: Vec<_> = output.events().into_iter().filter(|e| &e["level"] == "error").collect();
    assert!(errors.len() >= 4, "{}", output.stderr);
    for error in &errors {
        let category = &error["error_type"];
        assert!(["ConfigurationError", "ValidationError"].contains(&category), "{}", error.line);
        assert!(error.has("operation") && error.has("message"), "{}", error.line);
    }
    assert!(errors.iter().any(|error| &error["error_type"] == "ValidationError"));
    assert!(!output.events().iter().any(|event| event.is("ready") || event.is("started")));
    a_moment();
    assert!(place.record().is_empty());
}

/// ERR-31, LIF-04.
#[test]
fn err_31_lif_04_keep_going_runs_the_valid_entries() {
    let place = Place::with(
        "0 12 * * * @policy(deadline=1h) name=good NOTE\n0 25 * * * name=bad command=/bin/true\n",
    );
    let daemon = place.start(-30.0, &["--keep-going"]);
    let error = daemon.wait("error");
    assert!(error.line.contains("25"), "{}", error.line);
    daemon.clock(-0.2);
    daemon.ran("good", &minute(0));
    assert_eq!(place.ask_jobs().len(), 1);
    place.ask(&["status"]).exits(0).prints("without the entries of 1 mistake");
    place.jobs("0 12 * * * @policy(deadline=1h) name=good NOTE\n");
    place.ask(&["reload"]).exits(0);
    let status = place.ask(&["status", "--format", "json"]).exits(0).json();
    assert_eq!(status["leftOut"], 0);
    daemon.stop();
}

/// LIF-04: what is written wrong at a start with `--keep-going` was not removed: mended, it
/// has its past, and what came due meanwhile is judged.
#[test]
fn lif_04_what_is_written_wrong_keeps_its_past() {
    let job = "0 12 * * * @policy(deadline=24h) name=a NOTE\n";
    let place = Place::with(job);
    place.start(-30.0, &[]).stop();
    place.jobs("0 12 * * * @policy(deadline=24h) name=a comand=/bin/true\n");
    let daemon = place.start(5.0, &["--keep-going"]);
    daemon.wait("error");
    place.jobs(job);
    place.ask(&["reload"]).exits(0);
    daemon.ran("a", &minute(0));
    daemon.stop();
}

/// LIF-16: however it was started, a reload is all or nothing.
#[test]
fn lif_16_keep_going_is_for_the_start_only() {
    let good = "0 12 * * * @policy(deadline=1h) name=good NOTE\n";
    let place = Place::with(good);
    let more = place.write("more.kron", "0 12 * * * name=more command=/bin/true\n");
    let more = more.to_str().unwrap().to_string();
    let daemon = place.start(-30.0, &["--keep-going", "--config", &more]);
    place.write("more.kron", "0 25 * * * name=more command=/bin/true\n");
    place.jobs("0 12 * * * name=other command=/bin/true\n");
    place.ask(&["reload"]).exits(2).says("nothing was changed");
    assert_eq!(place.ask_jobs().into_keys().collect::<Vec<_>>(), ["good", "more"]);
    place.write("more.kron", "");
    place.ask(&["reload"]).exits(0).prints("reloaded: 1 job");
    assert_eq!(place.ask_jobs().into_keys().collect::<Vec<_>>(), ["other"]);
    daemon.stop();
}

/// A configuration may be empty, and somebody should know.
#[test]
fn a_start_without_jobs_says_so() {
    let place = Place::with("# nothing yet\n");
    let daemon = place.start(-30.0, &[]);
    let warning = daemon.wait("configuration");
    assert_eq!(&warning["level"], "warn", "{}", warning.line);
    daemon.stop();
}

/// A directory may be reached by a link; a file that is one is still refused.
#[test]
fn a_link_to_a_directory_of_configuration() {
    let place = Place::new();
    fs::create_dir(place.at("real")).unwrap();
    place.write("real/a.kron", "0 12 * * * name=a command=/bin/true\n");
    symlink("real", place.at("link")).unwrap();
    let linked = place.at("link");
    let start = || Start::new(&place, &[]).clock(-30.0).config(linked.to_str().unwrap());
    let daemon = start().start();
    assert_eq!(&daemon.ready()["jobs"], "1");
    let identity = format!("{}/a.kron:a", linked.display());
    assert_eq!(place.ask_jobs()["a"]["identity"], identity);
    daemon.stop();
    symlink("a.kron", place.at("real/b.kron")).unwrap();
    start().start().end().exits(2).says("symbolic link");
}

/// LIF-07: two daemons that were given the same file.
#[test]
fn lif_07_a_pid_file_of_another_is_left_alone() {
    let (first, second) = (Place::with(WAITS), Place::with(WAITS));
    let path = first.at("pid");
    let arguments = ["--pid-file", path.to_str().unwrap()];
    let one = first.start(-30.0, &arguments);
    let other = second.start(-30.0, &arguments);
    one.stop();
    assert_eq!(first.read("pid").trim(), other.pid().to_string());
    other.stop();
    assert!(!path.exists());
}

/// One that cannot have its socket leaves the PID file to the daemon that has both; and one that
/// cannot have its PID file leaves no socket.
#[test]
fn lif_07_a_start_that_fails_touches_nothing_of_another() {
    let (first, second) = (Place::with(WAITS), Place::with(WAITS));
    let (pid, socket) = (first.at("pid"), first.at("socket"));
    let arguments = ["--pid-file", pid.to_str().unwrap(), "--socket", socket.to_str().unwrap()];
    let one = first.start(-30.0, &arguments);
    second.start_fails(&arguments).exits(4);
    assert_eq!(first.read("pid").trim(), one.pid().to_string());
    one.stop();
    assert!(!pid.exists() && !socket.exists());
    let nowhere = first.at("none/pid");
    let arguments = ["--pid-file", nowhere.to_str().unwrap(), "--socket", socket.to_str().unwrap()];
    first.start_fails(&arguments).exits(4);
    assert!(!socket.exists());
}

/// As the first process of a container it collects what others leave behind, passes
/// signals on, and is asked from outside.
#[test]
fn the_first_process_collects_orphans() {
    if !need_root() || !need("unshare") {
        return;
    }
    let place = Place::with(
        "0 12 * * * @policy(deadline=1h) name=a shell=true \
         command=\"(sleep 0.2; echo gone > HERE/orphan) > /dev/null 2>&1 & exit 0\"\n",
    );
    let container = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let daemon = Start::new(&place, &[]).clock(-1.0).through(&container).start();
    daemon.ready();
    daemon.ran("a", &minute(0));
    place.wait_file("orphan");
    let first = Pid::from_raw(children(daemon.pid())[0]);
    let krond = children(first);
    wait_for("nothing left but the daemon", || (children(first) == krond[..1]).then_some(()));
    place.ask(&["status"]).exits(0).prints("running, pid 2");
    kill(first, Signal::SIGHUP).unwrap();
    daemon.wait("reloaded");
    kill(first, Signal::SIGTERM).unwrap();
    let output = daemon.end().exits(0);
    assert!(output.events().iter().any(|event| event.is("stopping")), "{}", output.stderr);
    // It ends with the daemon, however that ended; here by a signal that has no name.
    let daemon = Start::new(&place, &[]).clock(30.0).through(&container).start();
    daemon.ready();
    let krond = children(Pid::from_raw(children(daemon.pid())[0]))[0];
    let name = fs::read_to_string(format!("/proc/{krond}/comm")).unwrap();
    assert_eq!(name, "krond\n");
    let killed = std::process::Command::new("kill").args(["-35", &krond.to_string()]).status();
    assert!(killed.unwrap().success());
    daemon.end().exits(128 + 35);
}

/// LIF-07.
#[test]
fn lif_07_the_pid_file_is_optional_and_right() {
    let place = Place::with("0 0 * * * name=a command=/bin/true\n");
    place.start(-30.0, &[]).stop();
    let path = place.at("pid");
    // Fault 18: a stale one is no obstacle.
    place.write("pid", "1\n");
    let daemon = place.start(-30.0, &["--pid-file", path.to_str().unwrap()]);
    assert_eq!(place.read("pid").trim(), daemon.pid().to_string());
    daemon.kill();
    let daemon = place.start(-30.0, &["--pid-file", path.to_str().unwrap()]);
    assert_eq!(place.read("pid").trim(), daemon.pid().to_string());
    daemon.stop();
    assert!(!path.exists());
}

/// LIF-08, LIF-09, LIF-10, ERR-21.
#[test]
fn lif_08_09_10_err_21_fault_18_one_daemon_for_a_state_directory() {
    let place = Place::with(WAITS);
    let first = place.start(-30.0, &[]);
    first.clock(-0.2);
    let child = first.wait_of("started", "waits").pid();
    let before = names(&place.at("state"));
    let output = place.start_fails(&[]).exits(3);
    let error = output.events().into_iter().find(|event| &event["level"] == "error").unwrap();
    assert_eq!(&error["error_type"], "SystemError", "{}", error.line);
    assert_eq!(names(&place.at("state")), before);
    // A job that outlives its daemon does not keep the lock.
    first.kill();
    assert!(alive(child));
    let second = place.start(1.0, &[]);
    place.start_fails(&[]).exits(3);
    place.write("go", "");
    second.stop();
}

/// A daemon that is killed while it makes a process leaves its lock with that one, until
/// it is executed.
/// LIF-08, LIF-10.
#[test]
fn lif_08_10_fault_18_the_lock_of_a_dead_daemon_is_waited_for() {
    let place = Place::with(WAITS);
    place.start(-30.0, &[]).kill();
    let hold = || {
        let lock = File::options().read(true).write(true).open(place.at("state/lock")).unwrap();
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
        lock
    };
    let lock = hold();
    let second = Start::new(&place, &[]).clock(-30.0).start();
    a_moment();
    drop(lock);
    second.ready();
    second.kill();
    // Not for ever, whoever has it.
    let _lock = hold();
    place.start_fails(&[]).exits(3).says("is locked by another krond");
}

/// LIF-11, LIF-12, LIF-13.
#[test]
fn lif_11_12_13_on_term_and_int_children_complete_and_nothing_starts() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let other = "1 12 * * * @policy(deadline=1h) name=later NOTE\n";
        let place = Place::with(&(WAITS.to_string() + other));
        let daemon = place.start(-30.0, &[]);
        daemon.clock(-0.2);
        let child = daemon.wait_of("started", "waits").pid();
        daemon.signal(signal);
        daemon.wait("stopping");
        daemon.clock(59.9);
        a_moment();
        assert!(alive(child), "{signal}");
        place.write("go", "");
        let output = daemon.end().exits(0);
        assert_eq!(place.runs("waits"), [minute(0)]);
        assert!(place.runs("later").is_empty(), "{}", output.stderr);
        let state = place.state("waits");
        assert_eq!(state["LastExitCode"], 7);
        assert!(state["ActiveExecution"].is_null());
    }
}

/// LIF-12.
#[test]
fn lif_12_terminate_ends_children() {
    let place = Place::with(LONG);
    let daemon = place.start(-30.0, &["--shutdown", "terminate", "--grace", "20s"]);
    daemon.clock(-0.2);
    let child = daemon.wait_of("started", "long").pid();
    daemon.signal(Signal::SIGTERM);
    let output = daemon.end().exits(0);
    assert!(!alive(child));
    let exited = output.events().into_iter().find(|event| event.is("exited")).unwrap();
    assert_eq!(&exited["signal"], "15", "{}", exited.line);
    let state = place.state("long");
    assert_eq!(state["History"][0]["ExitCode"], 143);
    assert!(state["ActiveExecution"].is_null());
}

/// LIF-12.
#[test]
fn lif_12_terminate_kills_what_ignores_term() {
    let place = Place::with(
        "0 12 * * * @win(after,0s) @policy(deadline=1h) name=deaf shell=true \
         command=\"trap '' TERM; echo > HERE/up; while :; do sleep 0.1; done\"\n",
    );
    let daemon = place.start(-30.0, &["--shutdown", "terminate", "--grace", "300ms"]);
    daemon.clock(-0.2);
    place.wait_file("up");
    daemon.signal(Signal::SIGTERM);
    daemon.end().exits(0);
    assert_eq!(place.state("deaf")["LastExitCode"], 137);
}

/// LIF-12.
#[test]
fn lif_12_detach_and_the_limit_leave_children_which_the_next_daemon_finds() {
    for args in [&["--shutdown", "detach"][..], &["--shutdown-limit", "100ms"]] {
        let place = Place::with(WAITS);
        let daemon = place.start(-30.0, args);
        daemon.clock(-0.2);
        let child = daemon.wait_of("started", "waits").pid();
        daemon.signal(Signal::SIGTERM);
        daemon.end().exits(0);
        assert!(alive(child));
        assert_eq!(place.state("waits")["ActiveExecution"]["PID"], child);
        let daemon = place.start(2.0, &[]);
        assert_eq!(&daemon.ready()["adopted"], "1");
        place.write("go", "");
        daemon.ran("waits", &minute(0));
        daemon.stop();
        assert_eq!(place.runs("waits"), [minute(0)]);
    }
}

#[test]
fn who_ends_it_is_told_what_is_left() {
    for format in ["text", "json"] {
        let place = Place::with(WAITS);
        let daemon = place.start(-30.0, &["--shutdown-limit", "100ms"]);
        daemon.clock(-0.2);
        daemon.wait_of("started", "waits");
        let output = place.ask(&["stop", "--graceful", "--format", format]).exits(0);
        daemon.end().exits(0);
        place.write("go", "");
        if format == "json" {
            assert_eq!(output.json()["left"], 1);
            continue;
        }
        let said =
            "waiting for 1 running job (`krond stop --now` ends them)\nleft alone: 1 running job\n";
        assert_eq!((&*output.stderr, &*output.stdout), (said, "krond has ended\n"));
    }
}

#[test]
fn fault_36_a_second_signal_ends_the_daemon_at_once_and_jobs_go_on() {
    for second in [Signal::SIGTERM, Signal::SIGINT] {
        let place = Place::with(WAITS);
        let daemon = place.start(-30.0, &[]);
        daemon.clock(-0.2);
        let child = daemon.wait_of("started", "waits").pid();
        daemon.signal(Signal::SIGTERM);
        daemon.wait("stopping");
        daemon.signal(second);
        daemon.end();
        assert!(alive(child));
        let daemon = place.start(2.0, &[]);
        assert_eq!(&daemon.ready()["adopted"], "1");
        place.write("go", "");
        daemon.ran("waits", &minute(0));
        daemon.stop();
    }
}

/// LIF-14, SCH-17.
#[test]
fn lif_14_sch_17_a_reload_adds_changes_and_removes() {
    let place = Place::with(
        "0 12 * * * @policy(deadline=1h) name=same NOTE\n0 12 * * * @policy(deadline=1h) name=changes NOTE\n\
         0 12 * * * @policy(deadline=1h) name=goes NOTE\n",
    );
    let daemon = place.start(-90.0, &[]);
    place.jobs(
        "0 12 * * * @policy(deadline=1h) name=same NOTE\n1 12 * * * @policy(deadline=1h) name=changes NOTE\n\
         0 12 * * * @policy(deadline=1h) name=comes NOTE\n",
    );
    daemon.signal(Signal::SIGHUP);
    daemon.wait("reloaded");
    let jobs = place.ask_jobs();
    assert_eq!(jobs.keys().collect::<Vec<_>>(), ["changes", "comes", "same"]);
    assert_eq!(jobs["changes"]["next"]["periodId"], minute(1));
    daemon.clock(-0.2);
    daemon.ran("same", &minute(0));
    daemon.ran("comes", &minute(0));
    daemon.clock(59.8);
    daemon.ran("changes", &minute(1));
    daemon.stop();
    assert!(place.runs("goes").is_empty());
    assert_eq!(place.runs("changes"), [minute(1)]);
    assert_eq!(place.runs("same"), [minute(0)]);
}

/// LIF-15, SCH-18.
#[test]
fn lif_15_sch_18_fault_37_active_children_survive_a_reload_even_of_a_removed_job() {
    let place = Place::with(WAITS);
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    let child = daemon.wait_of("started", "waits").pid();
    place.jobs("0 0 * * * name=other command=/bin/true\n");
    daemon.signal(Signal::SIGHUP);
    daemon.wait("reloaded");
    a_moment();
    assert!(alive(child));
    // It runs, and will not again.
    place.ask(&["why", "waits"]).exits(0).prints("will not run: the job is no longer configured");
    assert!(place.ask_jobs()["waits"]["next"].is_null());
    place.write("go", "");
    let exited = daemon.ran("waits", &minute(0));
    assert_eq!(&exited["exit_code"], "7");
    let state = place.state("waits");
    assert_eq!(state["History"][0]["ExitCode"], 7);
    assert!(state["ActiveExecution"].is_null());
    daemon.stop();
}

/// LIF-16.
#[test]
fn lif_16_fault_37_a_bad_reload_changes_nothing() {
    let place = Place::with("0 12 * * * @policy(deadline=1h) name=old NOTE\n");
    let daemon = place.start(-30.0, &[]);
    place.jobs("0 12 * * * @policy(deadline=1h) name=new NOTE\n0 25 * * * name=x NOTE\n");
    daemon.signal(Signal::SIGHUP);
    let rejected = daemon.wait("reload_rejected");
    assert_eq!(&rejected["level"], "error", "{}", rejected.line);
    let output = place.ask(&["reload"]).exits(2);
    assert!((output.stdout + &output.stderr).contains("25"));
    daemon.clock(-0.2);
    daemon.ran("old", &minute(0));
    daemon.stop();
    assert!(place.runs("new").is_empty());
}

#[test]
fn fault_8_a_reload_of_untrusted_files_keeps_the_old_configuration() {
    let place = Place::with("0 12 * * * @policy(deadline=1h) name=old NOTE\n");
    let daemon = place.start(-30.0, &[]);
    let path = place.at("jobs.kron");
    set_mode(&path, 0o666);
    daemon.signal(Signal::SIGHUP);
    daemon.wait("reload_rejected");
    fs::remove_file(&path).unwrap();
    symlink(place.write("real", "0 12 * * * name=new command=/bin/true\n"), &path).unwrap();
    daemon.signal(Signal::SIGHUP);
    daemon.wait_nth("second reload", 2, |event| event.is("reload_rejected"));
    fs::remove_file(&path).unwrap();
    daemon.signal(Signal::SIGHUP);
    daemon.wait_nth("third reload", 3, |event| event.is("reload_rejected"));
    assert_eq!(place.ask_jobs().keys().collect::<Vec<_>>(), ["old"]);
    daemon.clock(-0.2);
    daemon.ran("old", &minute(0));
    daemon.stop();
}

/// LIF-17, LIF-18, OBS-03.
#[test]
fn lif_17_18_obs_03_the_identity_is_the_same_from_everywhere() {
    let place = Place::with("0 12 * * * @win(after,10s) @policy(deadline=1h) name=a/b.c NOTE\n");
    let identity = place.identity("a/b.c");
    let mut chosen = vec![];
    for (directory, config) in [
        ("/", place.at("jobs.kron").to_str().unwrap().to_string()),
        (place.path().to_str().unwrap(), "jobs.kron".into()),
        (place.path().to_str().unwrap(), "./state/.././jobs.kron".into()),
    ] {
        let start = Start::new(&place, &[]).config(&config).clock(-30.0);
        place.make_state();
        let daemon = start.in_directory(directory.as_ref()).start();
        let decision = daemon.wait_of("decision", "a/b.c");
        assert_eq!(&decision["identity"], identity, "{directory} {config}");
        daemon.ready();
        chosen.push(decision["chosen_time"].to_string());
        daemon.stop();
    }
    // SCH-20: and so is the chosen time.
    assert!(chosen.iter().all(|time| *time == chosen[0]), "{chosen:?}");
    let daemon = place.start(-30.0, &[]);
    daemon.clock(11.0);
    daemon.ran("a/b.c", &minute(0));
    daemon.stop();
    assert_eq!(place.state("a/b.c")["Identity"], *identity);
    let files: Vec<_> = names(&place.at("state"));
    assert_eq!(files.iter().filter(|name| name.contains(".json")).count(), 1, "{files:?}");
}

#[test]
fn fault_37_a_renamed_job_is_a_new_one() {
    let place = Place::with("0 12 * * * @policy(deadline=1h) name=one NOTE\n");
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.ran("one", &minute(0));
    place.jobs("0 12 * * * @policy(deadline=1h) name=two NOTE\n");
    daemon.signal(Signal::SIGHUP);
    daemon.wait("reloaded");
    a_moment();
    daemon.stop();
    // New, and never for the past.
    assert!(place.runs("two").is_empty());
    assert_eq!(place.state("one")["LastOutcome"], "executed");
}

/// LIF-01, EXE-32: with nothing to do, the daemon is the only process of Kron's; and what it
/// needs for a start is there again when one is due.
#[test]
fn lif_01_exe_32_krond_is_the_only_process() {
    let place = Place::with("* * * * * @policy(deadline=1h) name=a NOTE\n");
    let daemon = place.start(-30.0, &[]);
    daemon.ready();
    let nobody = (Vec::new(), Vec::new());
    assert_eq!(family(daemon.pid()), nobody);
    for n in 0..2 {
        daemon.clock(60.0 * n as f64 - 0.9);
        daemon.ran("a", &minute(n));
        wait_for("no other process", || (family(daemon.pid()) == nobody).then_some(()));
    }
    daemon.stop();
}

#[test]
fn fault_8_untrusted_configuration_is_refused() {
    let valid = "0 12 * * * name=a command=/bin/true\n";
    let refused = |what: &str, prepare: &dyn Fn(&Place)| {
        let place = Place::with(valid);
        prepare(&place);
        let output = place.start_fails(&[]);
        assert_eq!(output.status, 2, "{what}: {}", output.stderr);
        assert!(output.stderr.contains("jobs.kron"), "{what}: {}", output.stderr);
    };
    refused("writable by others", &|place| set_mode(&place.at("jobs.kron"), 0o666));
    refused("directory writable by others", &|place| set_mode(place.path(), 0o777));
    refused("symlink", &|place| {
        fs::rename(place.at("jobs.kron"), place.at("real.kron")).unwrap();
        symlink(place.at("real.kron"), place.at("jobs.kron")).unwrap();
    });
    refused("not there", &|place| fs::remove_file(place.at("jobs.kron")).unwrap());
    refused("directory of that name", &|place| {
        fs::create_dir(place.at("d")).unwrap();
        fs::remove_file(place.at("jobs.kron")).unwrap();
        fs::rename(place.at("d"), place.at("jobs.kron")).unwrap();
        fs::create_dir(place.at("jobs.kron").join("x.kron")).unwrap();
    });
    refused("FIFO", &|place| {
        fs::remove_file(place.at("jobs.kron")).unwrap();
        nix::unistd::mkfifo(&place.at("jobs.kron"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    });
    if !is_root() {
        refused("unreadable", &|place| set_mode(&place.at("jobs.kron"), 0o000));
        need_root();
        return;
    }
    refused("wrong owner", &|place| {
        std::os::unix::fs::chown(place.at("jobs.kron"), Some(1234), None).unwrap();
    });
    // Root can read everything, so this is another's daemon.
    if need("setpriv") {
        let place = Place::of_nobody(valid);
        set_mode(&place.at("jobs.kron"), 0o000);
        let output = Start::new(&place, &[]).clock(-30.0).by_nobody().start().end().exits(2);
        assert!(output.stderr.contains("jobs.kron"), "{}", output.stderr);
        assert!(output.stderr.contains("Permission denied"), "{}", output.stderr);
    }
}

#[test]
fn fault_10_leftovers_of_editors_are_ignored() {
    let place = Place::new();
    let directory = place.at("conf");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("a.kron"), "0 12 * * * name=a command=/bin/true\n").unwrap();
    for name in ["a.kron~", ".a.kron.swp", ".#a.kron", "#a.kron#", ".hidden.kron", "a.kron.bak"] {
        fs::write(directory.join(name), "this is not a job\n").unwrap();
    }
    let start = Start::new(&place, &[]).clock(-30.0).config(directory.to_str().unwrap());
    let daemon = start.start();
    assert_eq!(&daemon.ready()["jobs"], "1");
    daemon.stop();
}

/// EXE-12.
#[test]
fn fault_11_34_exe_12_an_unusable_user_is_an_error_and_never_ones_own() {
    for user in ["no-such-user-here", "0", "0day", "65534"] {
        let place =
            Place::with(&format!("0 12 * * * @policy(deadline=2s) name=a user={user} NOTE\n"));
        let mut daemon = Start::new(&place, &[]).clock(-1.0).start();
        if user == "no-such-user-here" {
            // A user may come later: refused at start, or missed with a reason.
            wait_for("an end or a miss", || {
                (!daemon.is_running() || daemon.events().iter().any(|e| &e["outcome"] == "missed"))
                    .then_some(())
            });
        } else {
            daemon.wait_end().exits(2);
        }
        assert!(place.record().is_empty(), "{user}");
    }
    if !need("setpriv") || !need_root() {
        return;
    }
    let place = Place::with("0 12 * * * name=a user=root NOTE\n");
    set_mode(place.path(), 0o755);
    let state = place.at("state");
    place.make_state();
    std::os::unix::fs::chown(&state, Some(65534), Some(65534)).unwrap();
    Start::new(&place, &[]).clock(-0.5).by_nobody().start().end().exits(2);
    assert!(place.record().is_empty());
}

/// LIF-13.
#[test]
fn lif_13_stop_command_waits_until_the_daemon_has_ended() {
    let place = Place::with(LONG);
    let daemon = place.start(-30.0, &["--grace", "5s"]);
    daemon.clock(-0.2);
    let child = daemon.wait_of("started", "long").pid();
    place.ask(&["stop", "--now"]).exits(0);
    wait_gone(child);
    daemon.end().exits(0);
    place.ask(&["status"]).exits(1);
}

/// Found by a reader: it took over owner and mode of what was there.
/// LIF-07.
#[test]
fn lif_07_the_pid_file_is_ours_whatever_was_there() {
    let place = Place::with("0 12 * * * name=a command=/bin/true\n");
    let target = place.write("target", "keep");
    symlink(&target, place.at("pid")).unwrap();
    let path = place.at("pid");
    let daemon = place.start(-30.0, &["--pid-file", path.to_str().unwrap()]);
    daemon.ready();
    assert_eq!(place.read("pid").trim(), daemon.pid().to_string());
    assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
    assert_eq!(crate::support::mode(&path) & 0o022, 0);
    assert_eq!(place.read("target"), "keep");
    daemon.stop();
}

/// Fault 9: a file that is replaced all the time is used in one version or the other, by
/// the start and by every reload.
#[test]
fn fault_9_a_file_replaced_while_it_is_read_is_one_version() {
    let version = |letter: char, count: usize| {
        let line = |n| format!("0 0 1 1 * name={letter}{n} command=/bin/true\n");
        (0..count).map(line).collect::<String>()
    };
    let versions = [version('a', 800), version('b', 1200)];
    let place = Place::with(&versions[0]);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for text in versions.iter().cycle() {
                let new = place.write("new", text);
                fs::rename(new, place.at("jobs.kron")).unwrap();
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
            }
        });
        let daemon = place.start(-30.0, &[]);
        let seen: Vec<_> = (0..10)
            .map(|_| {
                let jobs = place.ask_jobs();
                (place.ask(&["reload"]), jobs)
            })
            .collect();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        for (reload, jobs) in seen {
            assert_eq!(reload.status, 0, "{}", reload.stderr);
            let first = jobs.keys().next().unwrap().chars().next().unwrap();
            assert!(jobs.keys().all(|name| name.starts_with(first)), "{first}");
            assert_eq!(jobs.len(), if first == 'a' { 800 } else { 1200 });
        }
        daemon.stop();
    });
}
