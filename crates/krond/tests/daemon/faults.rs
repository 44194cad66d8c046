//! What goes wrong on a real machine: full disks, no processes left, storms of
//! signals, crowds.

use crate::support::{
    Daemon, Place, Start, a_moment, alive, minute, need, need_root, set_mode, wait_for, wait_gone,
};
use nix::sys::signal::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

const NOON: &str = "0 12 * * * @policy(deadline=1h) name=a NOTE\n";

/// A state directory on a file system of its own.
struct Disk(PathBuf);

impl Disk {
    fn mount(place: &Place) -> Option<Self> {
        if !need_root() {
            return None;
        }
        place.make_state();
        let path = place.at("state");
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=128k,mode=700", "krond-test"])
            .arg(&path)
            .status();
        if !status.is_ok_and(|status| status.success()) {
            println!("SKIPPED: cannot mount");
            return None;
        }
        Some(Self(path))
    }

    fn fill(&self) {
        for size in [65536, 4096] {
            let mut n = 0;
            while fs::write(self.0.join(format!("fill-{size}-{n}")), vec![0; size]).is_ok() {
                n += 1;
            }
        }
    }

    fn empty(&self) {
        for item in fs::read_dir(&self.0).unwrap() {
            let path = item.unwrap().path();
            if path.file_name().unwrap().to_str().unwrap().starts_with("fill-") {
                fs::remove_file(path).unwrap();
            }
        }
    }

    fn remount(&self, how: &str) -> bool {
        let option = format!("remount,{how}");
        let status = Command::new("mount").args(["-o", &option]).arg(&self.0).status();
        status.is_ok_and(|status| status.success())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn ends_by_persistence(daemon: Daemon<'_>) {
    let output = daemon.end().exits(4);
    let events = output.events();
    let error = events.iter().find(|event| &event["error_type"] == "PersistenceError");
    let error = error.unwrap_or_else(|| panic!("no PersistenceError in:\n{}", output.stderr));
    assert_eq!(&error["level"], "error", "{}", error.line);
    for key in ["component", "operation", "message"] {
        assert!(error.has(key), "no {key}: {}", error.line);
    }
}

/// ERR-18, ERR-20, ERR-30, STA-17.
#[test]
fn fault_16_err_18_20_30_sta_17_a_full_disk_at_the_start_releases_nothing() {
    let place = Place::with(NOON);
    let Some(disk) = Disk::mount(&place) else { return };
    let daemon = place.start(-30.0, &[]);
    disk.fill();
    daemon.clock_now(1.0);
    ends_by_persistence(daemon);
    a_moment();
    assert!(place.record().is_empty());
    disk.empty();
    let daemon = place.start(5.0, &[]);
    daemon.ran("a", &minute(0));
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0)]);
}

/// ERR-19, ERR-20.
#[test]
fn fault_16_err_19_20_a_disk_full_or_read_only_at_the_end_stops_the_daemon() {
    for read_only in [false, true] {
        let place = Place::with(
            "0 12 * * * @policy(deadline=1h) name=a shell=true command=\"echo a $KRON_PERIOD_ID >> HERE/record; while ! test -e HERE/go; do sleep 0.02; done\"\n\
             1 12 * * * @policy(deadline=1h) name=later NOTE\n",
        );
        let Some(disk) = Disk::mount(&place) else { return };
        let daemon = place.start(-30.0, &[]);
        daemon.clock(-0.2);
        daemon.wait_of("started", "a");
        if read_only {
            if !disk.remount("ro") {
                println!("SKIPPED: busy, cannot be made read-only");
                return;
            }
        } else {
            disk.fill();
        }
        place.write("go", "");
        ends_by_persistence(daemon);
        if read_only {
            assert!(disk.remount("rw"));
        } else {
            disk.empty();
        }
        let daemon = place.start(5.0, &[]);
        a_moment();
        // STA-28: its end was not recorded.
        assert!(place.state("a")["History"][0]["ExitCode"].is_null());
        daemon.clock(60.0);
        daemon.ran("later", &minute(1));
        daemon.stop();
        assert_eq!(place.runs("a"), [minute(0)]);
    }
}

#[test]
fn fault_17_a_state_directory_renamed_away_leads_to_no_second_run() {
    let place = Place::with(NOON);
    let mut daemon = place.start(-30.0, &[]);
    fs::rename(place.at("state"), place.at("away")).unwrap();
    daemon.clock_now(1.0);
    wait_for("a run or an end", || {
        (!daemon.is_running() || daemon.count("exited") > 0).then_some(())
    });
    if daemon.is_running() {
        daemon.stop();
    }
    fs::rename(place.at("away"), place.at("state")).unwrap();
    let daemon = place.start(5.0, &[]);
    wait_for("the run", || (!place.record().is_empty()).then_some(()));
    a_moment();
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0)]);
}

/// LIF-14.
#[test]
fn fault_12_lif_14_a_storm_of_hup_loses_and_doubles_nothing() {
    let names: Vec<String> = (0..20).map(|n| format!("job-{n}")).collect();
    let line = |name: &String| {
        format!("0 12 * * * @win(after,1s) @policy(deadline=1h) name={name} NOTE\n")
    };
    let place = Place::with(&names.iter().map(line).collect::<String>());
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    for _ in 0..1000 {
        daemon.signal(Signal::SIGHUP);
        sleep(Duration::from_millis(1));
    }
    for name in &names {
        daemon.ran(name, &minute(0));
    }
    assert!(daemon.count("reloaded") >= 1);
    assert_eq!(place.ask_jobs().len(), 20);
    daemon.stop();
    for name in &names {
        assert_eq!(place.runs(name), [minute(0)], "{name}");
    }
}

/// EXE-04, EXE-28, PERF-01.
#[test]
fn fault_23_exe_04_28_perf_01_a_thousand_children_that_end_together() {
    let line = |n: usize| {
        let code = n % 7;
        format!("0 12 * * * @policy(deadline=1h) name=j{n} shell=true command=\"exit {code}\"\n")
    };
    let lines = (0..1000).map(line).collect::<Vec<_>>().concat();
    let place = Place::with(&lines);
    let daemon = place.start(-30.0, &[]);
    let descriptors = || fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap().count();
    let before = descriptors();
    daemon.clock(-0.2);
    daemon.wait_nth("the last exit", 1000, |event| event.is("exited"));
    for event in daemon.events().iter().filter(|event| event.is("exited")) {
        let number: usize = event["job"][1..].parse().unwrap();
        assert_eq!(event["exit_code"], (number % 7).to_string(), "{}", event.line);
    }
    let jobs: BTreeSet<String> =
        daemon.events().iter().filter(|e| e.is("started")).map(|e| e["job"].to_string()).collect();
    assert_eq!(jobs.len(), 1000);
    assert_eq!(daemon.count("started"), 1000);
    // No zombie, no descriptor left.
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", daemon.pid()));
    assert_eq!(children.unwrap().trim(), "");
    wait_for("descriptors closed", || (descriptors() <= before + 2).then_some(()));
    daemon.stop();
    assert_eq!(place.state("j999")["LastExitCode"], 999 % 7);
    assert_eq!(place.state("j500")["LastExitCode"], 500 % 7);
}

#[test]
fn fault_24_replace_ends_a_stopped_process() {
    let place = Place::with(
        "* * * * * @policy(deadline=1h,concurrency=replace) name=a shell=true command=\"kill -STOP $$; sleep 60\"\n",
    );
    let daemon = place.start(-30.0, &["--grace", "300ms"]);
    daemon.clock(-0.2);
    let old = daemon.wait_of("started", "a").pid();
    daemon.clock(59.8);
    daemon.outcome("a", &minute(1), "executed");
    wait_gone(old);
    daemon.kill();
}

/// ERR-22, ERR-23, ERR-29.
#[test]
fn fault_25_err_22_23_29_without_processes_it_is_tried_again_within_the_deadline() {
    if !need_root() || !need("prlimit") || !need("setpriv") {
        return;
    }
    // A user of its own: the limit counts all processes of a user.
    let (uid, limit) = ("54731", "--nproc=1:4096");
    let place = Place::with(
        "0 12 * * * @policy(deadline=1h) name=a NOTE\n0 12 * * * @policy(deadline=2s) name=short NOTE\n",
    );
    set_mode(place.path(), 0o755);
    place.make_state();
    std::os::unix::fs::chown(place.at("state"), Some(54731), Some(54731)).unwrap();
    fs::write(place.at("record"), "").unwrap();
    set_mode(&place.at("record"), 0o666);
    let ids = [format!("--reuid={uid}"), format!("--regid={uid}")];
    let start = Start::new(&place, &[]).clock(-30.0);
    let start = start.reachable().through(&["setpriv", &ids[0], &ids[1], "--clear-groups", "--"]);
    let daemon = start.start();
    daemon.ready();
    let set = |limit: &str| {
        // The nursery, too, which makes the processes.
        let tasks = fs::read_dir(format!("/proc/{}/task", daemon.pid())).unwrap();
        let children = tasks.map(|task| task.unwrap().path().join("children"));
        let children: String = children.filter_map(|path| fs::read_to_string(path).ok()).collect();
        let daemon = daemon.pid().to_string();
        for pid in children.split_whitespace().chain([daemon.as_str()]) {
            // As that user: root may lack the right to do it for others.
            let mut command = Command::new("setpriv");
            command.args([&ids[0], &ids[1], "--clear-groups", "prlimit"]);
            assert!(command.args(["--pid", pid, limit]).status().unwrap().success());
        }
    };
    set(limit);
    daemon.clock(-0.2);
    let error = daemon.wait_of("error", "a");
    assert_eq!(&error["period_id"], minute(0), "{}", error.line);
    assert!(["SystemError", "ExecutionError"].contains(&&error["error_type"]), "{}", error.line);
    let missed = daemon.outcome("short", &minute(0), "missed");
    assert!(missed["reason"].len() > 10, "{}", missed.line);
    assert!(daemon.all("outcome", "a").is_empty());
    // No busy loop.
    let attempts = daemon.all("error", "a").len();
    assert!(attempts < 40, "{attempts} attempts in seconds");
    set("--nproc=4096:4096");
    let exited = daemon.ran("a", &minute(0));
    assert_eq!(&exited["chosen_time"], minute(0));
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0)]);
    assert!(place.runs("short").is_empty());
}

#[test]
fn fault_36_term_at_the_moment_of_a_start_leaves_nothing_half_started() {
    for delay in [0, 3, 6, 10, 15, 25, 40] {
        let place = Place::with(NOON);
        let daemon = place.start(-30.0, &[]);
        daemon.clock_now(0.0);
        sleep(Duration::from_millis(delay));
        daemon.signal(Signal::SIGTERM);
        let output = daemon.end().exits(0);
        let ran = place.runs("a").len();
        let recorded =
            place.state_file("a").exists() && place.state("a")["LastOutcome"] == "executed";
        assert_eq!(ran == 1, recorded, "{delay} ms: {}", output.stderr);
        if recorded {
            assert_eq!(place.state("a")["LastExitCode"], 0, "{delay} ms");
        }
        let daemon = place.start(5.0, &[]);
        wait_for("the run", || (!place.record().is_empty()).then_some(()));
        daemon.stop();
        assert_eq!(place.runs("a"), [minute(0)], "{delay} ms");
    }
}

#[test]
fn max_running_lets_others_wait() {
    let job = |name: &str| {
        format!(
            "0 12 * * * @policy(deadline=1h) name={name} shell=true command=\"echo {name} $KRON_PERIOD_ID >> HERE/record; while ! test -e HERE/go; do sleep 0.02; done\"\n"
        )
    };
    let place = Place::with(&(job("a") + &job("b")));
    let daemon = place.start(-30.0, &["--max-running", "1"]);
    daemon.clock(-0.2);
    daemon.wait("started");
    a_moment();
    assert_eq!(place.record().len(), 1);
    place.write("go", "");
    daemon.ran("a", &minute(0));
    daemon.ran("b", &minute(0));
    daemon.stop();
    assert_eq!(place.record().len(), 2);
}

#[test]
fn fault_24_a_background_child_that_outlives_its_parent_is_no_obstacle() {
    let place = Place::with(
        "* * * * * @policy(deadline=1h) name=a shell=true command=\"sleep 30 & echo $! >> HERE/children; echo a $KRON_PERIOD_ID >> HERE/record\"\n",
    );
    let daemon = place.start(-30.0, &[]);
    daemon.clock(-0.2);
    daemon.ran("a", &minute(0));
    daemon.clock(59.8);
    daemon.ran("a", &minute(1));
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0), minute(1)]);
    for pid in place.read("children").lines() {
        let pid = pid.parse().unwrap();
        assert!(alive(pid));
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    }
}
