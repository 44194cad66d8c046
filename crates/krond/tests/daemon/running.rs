//! What a job's process is: words, environment, rights, output, limits, end.

use crate::support::{
    Place, Start, a_moment, alive, minute, names, need, need_root, set_mode, wait_gone,
};
use std::fs;
use std::os::unix::fs::symlink;

const AT_NOON: &str = "0 12 * * * @policy(deadline=1h)";

/// A job that ignores TERM and says when it is up.
const DEAF: &str = "shell=true command=\"trap 'echo term >> HERE/heard' TERM; \
    echo $KRON_JOB $KRON_PERIOD_ID $$ >> HERE/record; while :; do sleep 0.05; done\"\n";

/// Runs the jobs due at noon and waits for the end of one.
fn at_noon(jobs: &str, wait_for: &str) -> Place {
    let place = Place::with(jobs);
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.ran(wait_for, &minute(0));
    daemon.stop();
    place
}

/// EXE-02, EXE-05, EXE-06, EXE-07.
#[test]
fn exe_02_05_06_07_arguments_arrive_exactly_and_no_shell_is_there() {
    let place = Place::new();
    let text = format!(
        "#!/bin/sh\n(cat /proc/$PPID/comm; for a; do echo \"[$a]\"; done) > {}\n",
        place.at("args").display()
    );
    set_mode(&place.write("show", text), 0o755);
    place.jobs(&format!(
        "{AT_NOON} name=a command=\"HERE/show 'a  b' '' * $HOME %d ~ \\\"q'q\\\" back\\\\\\\\slash ;id `id` $(id) ä\"\n"
    ));
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.ran("a", &minute(0));
    daemon.stop();
    let expected = "krond\n[a  b]\n[]\n[*]\n[$HOME]\n[%d]\n[~]\n[q'q]\n[back\\slash]\n[;id]\n[`id`]\n[$(id)]\n[ä]\n";
    assert_eq!(place.read("args"), expected);
}

/// EXE-05.
#[test]
fn exe_05_with_shell_the_text_goes_to_the_shell() {
    let place = at_noon(
        &format!("{AT_NOON} name=a shell=true env=X=y command=\"echo $X | tr y z > HERE/out\"\n"),
        "a",
    );
    assert_eq!(place.read("out"), "z\n");
}

/// EXE-07, EXE-08.
#[test]
fn exe_07_08_the_environment_is_inherited_but_for_what_is_defined() {
    let place = Place::with(&format!(
        "{AT_NOON} name=a env=WINS=job env=PLAIN=$HOME env=\"SPACED=a b\" stdout=file:HERE/env command=/usr/bin/env\n"
    ));
    let start = Start::new(&place, &[]).env("FOO", "bar  baz").env("WINS", "daemon").clock(-30.0);
    let daemon = start.start();
    daemon.ready();
    daemon.clock(-0.2);
    daemon.ran("a", &minute(0));
    daemon.stop();
    let text = place.read("env");
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    let identity = format!("KRON_IDENTITY={}", place.identity("a"));
    let home = format!("HOME={}", place.path().display());
    let times =
        ["NOMINAL_TIME", "CHOSEN_TIME", "PERIOD_ID"].map(|key| format!("KRON_{key}={}", minute(0)));
    let mut expected = vec![
        "FOO=bar  baz",
        "WINS=job",
        "PLAIN=$HOME",
        "SPACED=a b",
        "KRON_JOB=a",
        "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        &identity,
        &home,
    ];
    expected.extend(times.iter().map(String::as_str));
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

/// EXE-09, EXE-13, EXE-29, EXE-30.
#[test]
fn exe_09_13_29_30_directory_umask_and_limits() {
    let place = Place::new();
    fs::create_dir(place.at("here")).unwrap();
    place.jobs(&format!(
        "{AT_NOON} name=a cwd=HERE/here umask=027 limit-nofile=77 stdout=file:HERE/a shell=true command=\"pwd; umask; ulimit -n\"\n\
         {AT_NOON} name=b stdout=file:HERE/b command=\"/bin/cat /proc/self/limits\"\n"
    ));
    let daemon = place.start(-30.0, &[]);
    let own = fs::read_to_string(format!("/proc/{}/limits", daemon.pid())).unwrap();
    daemon.clock(-0.2);
    daemon.ran("a", &minute(0));
    daemon.ran("b", &minute(0));
    daemon.stop();
    assert_eq!(place.read("a"), format!("{}\n0027\n77\n", place.at("here").display()));
    assert_eq!(place.read("b"), own);
    // What the daemon is told is for jobs that do not say.
    let daemon = place.start(86370.0, &["--limit-nofile", "99", "--limit-nproc", "12345"]);
    daemon.clock(86399.8);
    daemon.wait_of("exited", "a");
    daemon.wait_of("exited", "b");
    daemon.stop();
    let limits = place.read("b");
    for (limit, place, expected) in [("Max open files", 3, "99"), ("Max processes", 2, "12345")] {
        let line = limits.lines().rfind(|line| line.starts_with(limit)).unwrap();
        assert_eq!(line.split_whitespace().nth(place), Some(expected), "{limits}");
    }
    assert!(place.read("a").ends_with("\n77\n"), "{}", place.read("a"));
}

#[test]
fn fault_26_three_descriptors_no_input_default_signals_own_session() {
    let place = Place::with(&format!(
        "{AT_NOON} name=fds stdout=file:HERE/fds command=\"/bin/ls /proc/self/fd\"\n\
         {AT_NOON} name=status stdout=file:HERE/status command=\"/bin/cat /proc/self/status\"\n\
         {AT_NOON} name=stat stdout=file:HERE/stat command=\"/bin/cat /proc/self/stat -\"\n"
    ));
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    for job in ["fds", "status", "stat"] {
        assert_eq!(&daemon.ran(job, &minute(0))["exit_code"], "0");
    }
    let pid = daemon.wait_of("started", "stat").pid().to_string();
    daemon.stop();
    // The fourth is the directory that `ls` reads.
    assert_eq!(place.read("fds"), "0\n1\n2\n3\n");
    let status = place.read("status");
    for key in ["SigBlk", "SigIgn", "SigCgt"] {
        let line = status.lines().find(|line| line.starts_with(key)).unwrap();
        assert!(line.ends_with("\t0000000000000000"), "{line}");
    }
    // EXE-03: the PID that was logged; its own group and session.
    let stat = place.read("stat");
    let words: Vec<_> = stat.split_whitespace().collect();
    assert_eq!([words[0], words[4], words[5]], [pid.as_str(); 3]);
}

/// EXE-25, EXE-26, EXE-27.
#[test]
fn exe_25_26_27_output_goes_where_it_should() {
    let place = Place::with(&format!(
        "{AT_NOON} name=inherits shell=true command=\"echo on-out; echo on-err >&2\"\n\
         {AT_NOON} name=discards stdout=discard stderr=discard shell=true command=\"echo lost-out; echo lost-err >&2\"\n\
         0 14 * * * @tz(Europe/Paris) @policy(deadline=1h) name=files stdout=file:HERE/o-%F-%H%M%S-%% stderr=file:HERE/e-%Y%m%d-%s \
            shell=true command=\"echo filed-out; echo filed-err >&2\"\n"
    ));
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    for job in ["inherits", "discards", "files"] {
        daemon.ran(job, &minute(0));
    }
    let output = daemon.stop();
    assert_eq!(output.stdout, "on-out\n");
    assert!(output.stderr.contains("on-err\n"));
    assert!(!output.stderr.contains("lost-err"));
    assert_eq!(place.read("o-2030-06-03-140000-%"), "filed-out\n");
    assert_eq!(place.read("e-20300603-1906718400"), "filed-err\n");
}

#[test]
fn fault_28_an_output_path_that_cannot_be_trusted_is_an_error_of_that_job() {
    let place = Place::with(
        "0 12 * * * @policy(deadline=1s) name=link stdout=file:HERE/link NOTE\n\
         0 12 * * * @policy(deadline=1s) name=dir stdout=file:HERE/dir NOTE\n\
         0 12 * * * @policy(deadline=1s) name=gone stdout=file:HERE/none/x NOTE\n\
         0 12 * * * @policy(deadline=1h) name=good NOTE\n",
    );
    symlink(place.write("target", "kept"), place.at("link")).unwrap();
    fs::create_dir(place.at("dir")).unwrap();
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    for job in ["link", "dir", "gone"] {
        daemon.outcome(job, &minute(0), "missed");
        let error = daemon.wait_of("error", job);
        assert_eq!(&error["error_type"], "ExecutionError", "{}", error.line);
    }
    daemon.ran("good", &minute(0));
    daemon.stop();
    assert_eq!(place.read("target"), "kept");
    assert_eq!(place.record().len(), 1);
    let place = Place::with("0 12 * * * name=a stdout=file:HERE/../x NOTE\n");
    place.start_fails(&[]).exits(2);
}

/// EXE-22, EXE-23, EXE-24.
#[test]
fn exe_22_23_24_fault_24_a_timeout_is_term_then_kill_for_the_whole_group() {
    let place = Place::with(&format!(
        "{AT_NOON} name=polite timeout=300ms command=\"/bin/sleep 60\"\n\
         {AT_NOON} name=deaf timeout=300ms {DEAF}\
         {AT_NOON} name=parent timeout=300ms shell=true command=\"trap '' TERM; sleep 61 & echo $! > HERE/child; wait; sleep 61\"\n\
         {AT_NOON} name=stopped timeout=300ms shell=true command=\"kill -STOP $$\"\n\
         {AT_NOON} name=quick timeout=1m command=/bin/true\n"
    ));
    let daemon = place.start(-30.0, &["--grace", "500ms"]);
    daemon.clock(-0.2);
    for (job, code) in
        [("polite", "143"), ("deaf", "137"), ("parent", "137"), ("stopped", "137"), ("quick", "0")]
    {
        let exited = daemon.ran(job, &minute(0));
        // A stopped process cannot take TERM; what ends it depends on CONT.
        if job != "stopped" {
            assert_eq!(&exited["exit_code"], code, "{}", exited.line);
        }
        assert_eq!(daemon.all("timeout", job).is_empty(), job == "quick");
    }
    assert!(place.read("heard").contains("term"));
    wait_gone(place.read("child").trim().parse().unwrap());
    daemon.stop();
    assert_eq!(place.state("polite")["LastExitCode"], 143);
}

/// EXE-14.
#[test]
fn exe_14_allow_runs_several_and_keeps_each_result() {
    let place = Place::with(
        "* * * * * @policy(deadline=1h,concurrency=allow) name=a shell=true \
         command=\"echo a $KRON_PERIOD_ID >> HERE/record; while ! test -e HERE/go; do sleep 0.02; done; exit 5\"\n",
    );
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.outcome("a", &minute(0), "executed");
    daemon.clock(59.8);
    daemon.outcome("a", &minute(1), "executed");
    let state = place.state("a");
    assert_eq!(state["ActiveExecutions"].as_array().unwrap().len(), 2);
    assert_eq!(state["ActiveExecution"]["PeriodID"], minute(1));
    assert_eq!(place.ask_jobs()["a"]["running"].as_array().unwrap().len(), 2);
    place.write("go", "");
    for n in 0..2 {
        assert_eq!(&daemon.ran("a", &minute(n))["exit_code"], "5");
    }
    daemon.stop();
    let state = place.state("a");
    assert!(state["ActiveExecution"].is_null());
    assert_eq!(state["History"].as_array().unwrap().len(), 2);
}

/// EXE-15, EXE-16, STA-20, STA-23, ERR-26.
#[test]
fn exe_15_16_sta_20_23_err_26_forbid_skips() {
    let place = Place::with(
        "* * * * * @policy(deadline=1h) name=a shell=true \
         command=\"echo a $KRON_PERIOD_ID >> HERE/record; while ! test -e HERE/go; do sleep 0.02; done\"\n",
    );
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    let pid = daemon.wait_of("started", "a").pid();
    daemon.clock(59.8);
    let skipped = daemon.outcome("a", &minute(1), "skipped");
    assert_eq!(&skipped["level"], "info", "{}", skipped.line);
    assert!(!skipped.has("error_type") && !skipped["reason"].is_empty(), "{}", skipped.line);
    let state = place.state("a");
    assert_eq!(state["LastHandledPeriodID"], minute(1));
    assert_eq!(state["LastOutcome"], "skipped");
    // A skip does not forget what runs.
    assert_eq!(state["ActiveExecution"]["PID"], pid);
    assert_eq!(state["ActiveExecution"]["PeriodID"], minute(0));
    place.write("go", "");
    daemon.ran("a", &minute(0));
    daemon.clock(119.8);
    daemon.ran("a", &minute(2));
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0), minute(2)]);
}

/// EXE-17, EXE-18, EXE-19, EXE-20, EXE-21, STA-24.
#[test]
fn exe_17_18_19_20_21_sta_24_replace_ends_the_old_one_first() {
    let place = Place::with(&format!(
        "* * * * * @policy(deadline=1h,concurrency=replace) name=a {DEAF}\
         1 12 * * * @policy(deadline=1h) name=other NOTE\n"
    ));
    let daemon = place.start(-30.0, &["--grace", "1500ms"]);
    daemon.clock(-0.2);
    let old = daemon.wait_of("started", "a").pid();
    crate::support::wait_for("its record", || (!place.runs("a").is_empty()).then_some(()));
    daemon.clock(59.8);
    daemon.outcome("a", &minute(1), "executed");
    let events = daemon.events();
    let place_of = |event: &str, job: &str, n: i64| {
        events.iter().position(|e| e.of(event, job) && e["period_id"] == minute(n)).unwrap()
    };
    let (ended, started) = (place_of("exited", "a", 0), place_of("started", "a", 1));
    assert!(ended < started);
    assert_eq!(&events[ended]["exit_code"], "137", "{}", events[ended].line);
    // It did not fail: it was ended.
    assert_eq!([&events[ended]["level"], &events[ended]["reason"]], ["info", "replaced"]);
    assert!(!events[ended].line.contains("error_type"), "{}", events[ended].line);
    // The wait delayed nobody.
    assert!(place_of("started", "other", 1) < ended);
    assert!(place.read("heard").contains("term"));
    assert!(!alive(old));
    let new = events[started].pid();
    assert_eq!(place.state("a")["ActiveExecution"]["PID"], new);
    assert_eq!(place.state("a")["History"][0]["PeriodID"], minute(0));
    // A second replacement works as the first.
    daemon.clock(119.8);
    daemon.outcome("a", &minute(2), "executed");
    wait_gone(new);
    daemon.kill();
}

/// EXE-04, EXE-31, ERR-16, OBS-07.
#[test]
fn exe_04_31_err_16_obs_07_exit_codes_are_recorded_and_nothing_is_retried() {
    let place = Place::with(&format!(
        "{AT_NOON} name=three shell=true command=\"echo three x >> HERE/record; exit 3\"\n\
         {AT_NOON} name=killed shell=true command=\"echo killed x >> HERE/record; kill -SEGV $$\"\n\
         {AT_NOON} name=fine command=/bin/true\n"
    ));
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    let three = daemon.ran("three", &minute(0));
    assert_eq!(&three["exit_code"], "3");
    assert_eq!(&three["error_type"], "ExecutionError");
    assert_eq!(&three["level"], "error");
    assert_eq!(&daemon.ran("killed", &minute(0))["exit_code"], "139");
    let fine = daemon.ran("fine", &minute(0));
    assert_eq!([&fine["exit_code"], &fine["level"]], ["0", "info"]);
    a_moment();
    daemon.stop();
    let daemon = place.start(10.0, &[]);
    a_moment();
    daemon.stop();
    assert_eq!(place.record().len(), 2);
    assert_eq!(place.state("three")["LastExitCode"], 3);
    assert_eq!(place.state("killed")["History"][0]["ExitCode"], 139);
}

/// ERR-13, ERR-14, ERR-15.
#[test]
fn fault_22_err_13_14_15_what_cannot_be_started_is_recorded_once_with_its_reason() {
    let place = Place::new();
    set_mode(&place.write("plain", "echo hi\n"), 0o644);
    set_mode(&place.write("format", [0u8, 1, 2, 3]), 0o755);
    let line =
        |name: &str, rest: &str| format!("0 12 * * * @policy(deadline=1s) name={name} {rest}\n");
    place.jobs(
        &[
            line("missing", "command=/nonexistent/x"),
            line("unfound", "command=no-such-program-here"),
            line("plain", "command=HERE/plain"),
            line("directory", "command=/usr"),
            line("nowhere", "cwd=/nonexistent/d command=/bin/true"),
            line("format", "command=HERE/format"),
            format!("{AT_NOON} name=good NOTE\n"),
        ]
        .concat(),
    );
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    for job in ["missing", "unfound", "plain", "directory", "nowhere"] {
        let missed = daemon.outcome(job, &minute(0), "missed");
        let error = daemon.wait_of("error", job);
        assert_eq!([&error["error_type"], &error["level"]], ["ExecutionError", "error"]);
        for key in ["identity", "period_id", "component", "operation", "message"] {
            assert!(error.has(key), "no {key}: {}", error.line);
        }
        assert_eq!(daemon.all("error", job).len(), 1, "{job}");
        assert!(missed["reason"].contains(&error["message"]), "{}", missed.line);
        assert!(daemon.all("started", job).is_empty());
        assert!(place.state(job)["History"][0]["ExitCode"].is_null());
    }
    // It passed every check, and the kernel refused it.
    daemon.outcome("format", &minute(0), "executed");
    assert_eq!(&daemon.ran("format", &minute(0))["exit_code"], "126");
    daemon.ran("good", &minute(0));
    daemon.stop();
}

/// Fault 22: what is too large for the kernel is known only when it is executed.
#[test]
fn fault_22_arguments_and_environment_too_large_are_recorded_once() {
    if !need("prlimit") {
        return;
    }
    let big = "x".repeat(60_000);
    let place =
        Place::with(&format!("{AT_NOON} name=big env=MORE={big} NOTE\n{AT_NOON} name=good NOTE\n"));
    // A quarter of the stack is what arguments and environment may take: 128 KiB.
    let start = Start::new(&place, &[]).clock(-30.0).env("MUCH", &"x".repeat(90_000));
    let daemon = start.through(&["prlimit", "--stack=524288:524288", "--"]).start();
    daemon.ready();
    daemon.clock(-0.2);
    daemon.outcome("big", &minute(0), "executed");
    assert_eq!(&daemon.ran("big", &minute(0))["exit_code"], "126");
    let error = daemon.wait_of("error", "big");
    assert_eq!(&error["error_type"], "ExecutionError", "{}", error.line);
    assert!(error["message"].contains("too long"), "{}", error.line);
    daemon.ran("good", &minute(0));
    daemon.stop();
    assert!(place.runs("big").is_empty());
    let state = place.state("big");
    assert_eq!(state["History"].as_array().unwrap().len(), 1, "{state}");
    assert_eq!(state["LastExitCode"], 126, "{state}");
    place.start(5.0, &[]).stop();
    assert_eq!(place.state("big"), state);
}

/// ERR-15.
#[test]
fn err_15_a_permanent_failure_is_left_open_until_the_deadline_and_not_lost_by_a_crash() {
    let place = Place::with("0 12 * * * @policy(deadline=1h) name=a command=HERE/later\n");
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.wait_of("error", "a");
    a_moment();
    assert!(daemon.all("outcome", "a").is_empty());
    daemon.kill();
    set_mode(&place.write("later", "#!/bin/sh\nexit 0\n"), 0o755);
    let daemon = place.start(10.0, &[]);
    daemon.ran("a", &minute(0));
    daemon.stop();
}

/// EXE-10, EXE-13.
#[test]
fn exe_10_13_fault_32_35_the_target_user_and_nothing_more() {
    if !need_root() || !need("setpriv") {
        return;
    }
    let place = Place::new();
    fs::create_dir(place.at("open")).unwrap();
    set_mode(&place.at("open"), 0o777);
    fs::create_dir(place.at("closed")).unwrap();
    set_mode(&place.at("closed"), 0o700);
    place.jobs(
        "0 12 * * * @policy(deadline=1h) name=status user=nobody stdout=file:HERE/open/status command=\"/bin/cat /proc/self/status\"\n\
         0 12 * * * @policy(deadline=1h) name=env user=nobody stdout=file:HERE/open/env command=/usr/bin/env\n\
         0 12 * * * @policy(deadline=1s) name=cwd user=nobody cwd=HERE/closed NOTE\n\
         0 12 * * * @policy(deadline=1s) name=file user=nobody stdout=file:HERE/closed/x NOTE\n\
         0 12 * * * @policy(deadline=1h) name=back user=nobody stdout=file:HERE/open/back stderr=discard command=\"/usr/bin/setpriv --reuid=0 /usr/bin/id\"\n",
    );
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    for job in ["status", "env", "back"] {
        let exited = daemon.ran(job, &minute(0));
        assert_eq!(&exited["exit_code"] == "0", job != "back", "{}", exited.line);
        let dropped = daemon.wait_of("privileges_dropped", job);
        assert!(dropped.line.contains("nobody") || dropped.line.contains("65534"));
    }
    for job in ["cwd", "file"] {
        daemon.outcome(job, &minute(0), "missed");
    }
    daemon.stop();
    let status = place.read("open/status");
    let line = |key: &str| status.lines().find(|line| line.starts_with(key)).unwrap().to_string();
    assert_eq!(line("Uid:"), "Uid:\t65534\t65534\t65534\t65534");
    assert_eq!(line("Gid:"), "Gid:\t65534\t65534\t65534\t65534");
    assert_eq!(line("Groups:").trim(), "Groups:\t65534");
    for key in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        assert!(line(key).ends_with("\t0000000000000000"), "{}", line(key));
    }
    let env = place.read("open/env");
    assert!(env.contains("USER=nobody\n") && env.contains("LOGNAME=nobody\n"), "{env}");
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap();
    let home = format!("HOME={}\n", nobody.dir.display());
    let shell = format!("SHELL={}\n", nobody.shell.display());
    assert!(env.contains(&home) && env.contains(&shell), "{env}");
    assert!(names(&place.at("closed")).is_empty());
    assert!(place.record().is_empty());
}

/// EXE-11.
#[test]
fn exe_11_fault_33_a_failed_drop_runs_nothing() {
    if !need_root() || !need("setpriv") {
        return;
    }
    // Root without the right to change its ids.
    let place = Place::with("0 12 * * * @policy(deadline=1s) name=a user=nobody NOTE\n");
    let start = Start::new(&place, &[]).clock(-30.0).through(&[
        "setpriv",
        "--bounding-set=-setuid,-setgid",
        "--inh-caps=-setuid,-setgid",
        "--",
    ]);
    let daemon = start.start();
    daemon.ready();
    daemon.clock(-0.2);
    daemon.outcome("a", &minute(0), "missed");
    let error = daemon.wait_of("error", "a");
    assert_eq!(&error["error_type"], "ExecutionError", "{}", error.line);
    daemon.stop();
    assert!(place.record().is_empty());
}
