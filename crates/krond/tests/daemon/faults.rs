//! What goes wrong on a real machine: full disks, no processes left, storms of
//! signals, crowds.

use crate::skip::skip;
use crate::support::{
    Daemon, Place, Start, a_moment, alive, children, family, minute, need, need_root, set_mode,
    wait_for, wait_gone, with_own_mounts,
};
use nix::mount::{MsFlags, mount};
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getsid};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const NOON: &str = "0 12 * * * @policy(deadline=1h) name=a NOTE\n";

/// A state directory on a file system of its own, which only this thread sees.
struct Disk {
    path: PathBuf,
    image: Option<PathBuf>,
}

fn done(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

impl Disk {
    /// A small one.
    fn small(place: &Place) -> Self {
        place.make_state();
        let path = place.at("state");
        let options = Some("size=128k,mode=700");
        mount(Some("krond-test"), &path, Some("tmpfs"), MsFlags::empty(), options).unwrap();
        Self { path, image: None }
    }

    /// One that can break. Nothing where there are no such devices.
    fn breakable(place: &Place) -> Option<Self> {
        if !need("mkfs.ext4") {
            return None;
        }
        place.make_state();
        let image = place.write("disk", "");
        fs::File::options().write(true).open(&image).unwrap().set_len(4 << 20).unwrap();
        assert!(done(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image)));
        let disk = Self { path: place.at("state"), image: Some(image) };
        if !disk.attach() {
            skip("a file cannot be mounted as a disk here");
            return None;
        }
        set_mode(&disk.path, 0o700);
        Some(disk)
    }

    fn attach(&self) -> bool {
        let image = self.image.as_ref().unwrap();
        done(Command::new("mount").args(["-o", "loop"]).arg(image).arg(&self.path))
    }

    fn fill(&self) {
        for size in [65536, 4096] {
            let mut n = 0;
            while fs::write(self.path.join(format!("fill-{size}-{n}")), vec![0; size]).is_ok() {
                n += 1;
            }
        }
    }

    /// As the kernel does it after an error of the disk: nothing can be written any
    /// more, not even to a file that is open.
    fn break_it(&self) {
        assert!(done(Command::new("mount").args(["-o", "remount,abort"]).arg(&self.path)));
    }

    /// As one that was never writable.
    fn protect(&self) {
        assert!(done(Command::new("mount").args(["-o", "remount,ro"]).arg(&self.path)));
    }

    fn mend(&self) {
        if self.image.is_some() {
            assert!(done(Command::new("umount").arg(&self.path)));
            assert!(self.attach());
            return;
        }
        assert!(done(Command::new("mount").args(["-o", "remount,rw"]).arg(&self.path)));
        for item in fs::read_dir(&self.path).unwrap() {
            let path = item.unwrap().path();
            if path.file_name().unwrap().to_str().unwrap().starts_with("fill-") {
                fs::remove_file(path).unwrap();
            }
        }
    }
}

/// Runs something with a disk, and with what makes it unusable.
fn with_bad_disk(jobs: &str, test: impl Fn(&Place, &Disk, &dyn Fn()) + Sync) {
    let place = Place::with(jobs);
    with_own_mounts(|| {
        let disk = Disk::small(&place);
        test(&place, &disk, &|| disk.fill());
    });
    let place = Place::with(jobs);
    with_own_mounts(|| {
        if let Some(disk) = Disk::breakable(&place) {
            test(&place, &disk, &|| disk.break_it());
        }
    });
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
fn fault_16_err_18_20_30_sta_17_a_full_or_broken_disk_at_the_start_releases_nothing() {
    with_bad_disk(NOON, |place, disk, spoil| {
        let daemon = place.start(-30.0, &[]);
        spoil();
        daemon.clock_now(1.0);
        ends_by_persistence(daemon);
        a_moment();
        assert!(place.record().is_empty());
        disk.mend();
        let daemon = place.start(5.0, &[]);
        daemon.ran("a", &minute(0));
        daemon.stop();
        assert_eq!(place.runs("a"), [minute(0)]);
    });
}

/// ERR-19, ERR-20.
#[test]
fn fault_16_err_19_20_a_disk_full_or_broken_at_the_end_stops_the_daemon() {
    let jobs = "0 12 * * * @policy(deadline=1h) name=a shell=true command=\"echo a $KRON_PERIOD_ID >> HERE/record; while ! test -e HERE/go; do sleep 0.02; done\"\n\
         1 12 * * * @policy(deadline=1h) name=later NOTE\n";
    with_bad_disk(jobs, |place, disk, spoil| {
        let daemon = place.start(-30.0, &[]);
        daemon.clock(-0.2);
        daemon.wait_of("started", "a");
        spoil();
        place.write("go", "");
        ends_by_persistence(daemon);
        disk.mend();
        let daemon = place.start(5.0, &[]);
        a_moment();
        // STA-28: its end was not recorded.
        assert!(place.state("a")["History"][0]["ExitCode"].is_null());
        daemon.clock(60.0);
        daemon.ran("later", &minute(1));
        daemon.stop();
        assert_eq!(place.runs("a"), [minute(0)]);
    });
}

/// ERR-17.
#[test]
fn fault_16_err_17_a_disk_that_is_full_or_read_only_from_the_beginning_is_refused() {
    let place = Place::with(NOON);
    with_own_mounts(|| {
        let disk = Disk::small(&place);
        for (known, full) in [(false, false), (false, true), (true, false), (true, true)] {
            if known {
                place.start(-30.0, &[]).stop();
            }
            if full {
                disk.fill();
            } else {
                disk.protect();
            }
            let output = place.start_fails(&[]);
            assert!([3, 4].contains(&output.status), "{}", output.stderr);
            let events = output.events();
            let error = events.iter().find(|event| &event["level"] == "error").unwrap();
            assert!(error.has("error_type") && error.has("operation"), "{}", error.line);
            disk.mend();
        }
        let daemon = place.start(-10.0, &[]);
        daemon.clock(-0.1);
        daemon.ran("a", &minute(0));
        daemon.stop();
        assert_eq!(place.runs("a"), [minute(0)]);
    });
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

/// A thousand that come while it can take none are one reload, or one and another.
/// LIF-14.
#[test]
fn fault_12_lif_14_a_thousand_hup_at_once_are_coalesced() {
    let place = Place::with("0 12 * * * @policy(deadline=1h) name=a NOTE\n");
    let daemon = place.start(-30.0, &[]);
    daemon.signal(Signal::SIGSTOP);
    place.jobs(
        "0 12 * * * @policy(deadline=1h) name=a NOTE\n0 12 * * * @policy(deadline=1h) name=b NOTE\n",
    );
    for _ in 0..1000 {
        daemon.signal(Signal::SIGHUP);
    }
    daemon.signal(Signal::SIGCONT);
    daemon.wait("reloaded");
    daemon.clock(-0.1);
    daemon.ran("a", &minute(0));
    daemon.ran("b", &minute(0));
    assert!((1..=2).contains(&daemon.count("reloaded")), "{}", daemon.text());
    daemon.stop();
    assert_eq!([place.runs("a"), place.runs("b")], [[minute(0)], [minute(0)]]);
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
    wait_for("no zombie", || children(daemon.pid()).is_empty().then_some(()));
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
        "0 12 * * * @policy(deadline=3h) name=a NOTE\n0 12 * * * @policy(deadline=1h) name=short NOTE\n",
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
    daemon.wait_of("error", "short");
    daemon.clock(3700.0);
    let missed = daemon.outcome("short", &minute(0), "missed");
    let why = "last attempt: cannot start a process: Resource temporarily unavailable";
    assert!(missed["reason"].contains(why), "{}", missed.line);
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

/// A daemon, and a file system in user space whose server, the daemon itself, never serves.
fn beside_a_hung_mount(place: &Place) -> Option<Daemon<'_>> {
    let hung = place.at("hung");
    fs::create_dir(&hung).unwrap();
    let script = "exec 9<> /dev/fuse && \
        mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0,allow_other hung \"$0\" || exit 99; \
        exec \"$@\"";
    let start = Start::new(place, &[]).clock(-30.0);
    let start = start.through(&["sh", "-c", script, hung.to_str().unwrap()]);
    let mut daemon = start.start();
    let is_up = wait_for("ready or an end", || {
        let is_running = daemon.is_running();
        (!is_running || daemon.count("ready") > 0).then_some(is_running)
    });
    if is_up {
        return Some(daemon);
    }
    let output = daemon.end().exits(99);
    skip(format_args!("no mount that hangs can be made here: {}", output.stderr));
    None
}

/// Fault 29: who is stuck there is given up after thirty seconds of the machine's own
/// time, is gone, and his period is missed with that reason.
#[test]
fn fault_29_who_is_stuck_on_a_hung_mount_is_given_up() {
    let place = Place::with(
        "0 12 * * * @policy(deadline=1s) name=hung cwd=HERE/hung NOTE\n\
         0 12 * * * @policy(deadline=1h) name=a NOTE\n",
    );
    with_own_mounts(|| {
        let Some(daemon) = beside_a_hung_mount(&place) else { return };
        let begun = Instant::now();
        daemon.clock(-0.1);
        daemon.ran("a", &minute(0));
        // Who is not yet his command looks like a nursery, but has a session of his own.
        let is_leader = |pid: &i32| getsid(Some(Pid::from_raw(*pid))) == Ok(Pid::from_raw(*pid));
        let stuck = || family(daemon.pid()).0.into_iter().find(is_leader);
        let stuck = wait_for("who is stuck", stuck);
        let error = daemon.wait_of("error", "hung");
        // It is patient, and not too long.
        assert!(begun.elapsed() >= Duration::from_secs(25), "{}", error.line);
        assert_eq!(&error["operation"], "prepare", "{}", error.line);
        assert!(error["message"].contains("not ready after 30 s"), "{}", error.line);
        let missed = daemon.outcome("hung", &minute(0), "missed");
        assert!(missed["reason"].contains("not ready after 30 s"), "{}", missed.line);
        wait_gone(stuck);
        wait_for("no child, alive or dead", || children(daemon.pid()).is_empty().then_some(()));
        daemon.stop();
        assert!(place.runs("hung").is_empty());
    });
}

/// Fault 29: a directory on a mount that does not answer: a job that has to do with it waits
/// by itself, and others are on time.
#[test]
fn fault_29_a_hung_mount_holds_up_nobody_else() {
    let place = Place::with(
        "* * * * * @policy(deadline=1h) name=hung cwd=HERE/hung NOTE\n\
         * * * * * @policy(deadline=1h) name=file stdout=file:HERE/hung/out NOTE\n\
         * * * * * @policy(deadline=1h) name=program command=HERE/hung/program\n\
         * * * * * @policy(deadline=1h) name=a NOTE\n\
         * * * * * @policy(deadline=1h) name=b NOTE\n",
    );
    with_own_mounts(|| {
        let Some(daemon) = beside_a_hung_mount(&place) else { return };
        for n in 0..2 {
            daemon.clock(60.0 * n as f64 - 0.1);
            daemon.ran("a", &minute(n));
            daemon.ran("b", &minute(n));
        }
        for job in ["hung", "file", "program"] {
            assert!(daemon.all("started", job).is_empty(), "{job} was started");
        }
        place.ask(&["status"]).exits(0);
        // And nobody has to wait for them at the end.
        daemon.stop();
        for job in ["hung", "file", "program"] {
            assert!(place.runs(job).is_empty(), "{job}");
        }
    });
}

/// Fault 29: a user database that does not answer: who has to ask it waits by himself, and
/// runs once it does, by this daemon or the next.
#[test]
fn fault_29_a_user_database_that_hangs_holds_up_nobody_else() {
    let place = Place::with(
        "0 12 * * * @policy(deadline=1h) name=hung user=nobody NOTE\n\
         0 12 * * * @policy(deadline=1h) name=a NOTE\n\
         0 12 * * * @policy(deadline=1h) name=b NOTE\n",
    );
    set_mode(&place.write("record", ""), 0o666);
    with_own_mounts(|| {
        let daemon = place.start(-30.0, &[]);
        let users = fs::read("/etc/passwd").unwrap();
        // Whoever opens it waits for somebody to write there.
        let fifo = place.at("passwd");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::from_bits_truncate(0o644)).unwrap();
        mount(Some(&fifo), "/etc/passwd", None::<&str>, MsFlags::MS_BIND, None::<&str>).unwrap();
        daemon.clock(-0.1);
        daemon.ran("a", &minute(0));
        daemon.ran("b", &minute(0));
        assert!(daemon.all("started", "hung").is_empty());
        place.ask(&["status"]).exits(0);
        nix::mount::umount2("/etc/passwd", nix::mount::MntFlags::MNT_DETACH).unwrap();
        // Who waited may take it for no file, and not read to its end.
        let _ = fs::write(&fifo, users);
        daemon.stop();
        let daemon = place.start(5.0, &[]);
        wait_for("its run", || (!place.runs("hung").is_empty()).then_some(()));
        daemon.stop();
        assert_eq!(place.runs("hung"), [minute(0)]);
    });
}

/// Another user's limit is noticed before the start is recorded, too: the kernel itself
/// says so only when the command is executed.
#[test]
fn fault_25_a_user_with_too_many_processes_is_tried_again() {
    if !need_root() || !need("prlimit") || !need("setpriv") {
        return;
    }
    let place = Place::with("0 12 * * * @policy(deadline=1h) name=a user=games NOTE\n");
    fs::write(place.at("record"), "").unwrap();
    set_mode(&place.at("record"), 0o666);
    set_mode(place.path(), 0o755);
    let other = ["--reuid=games", "--regid=games", "--clear-groups", "sleep", "60"];
    let mut other = Command::new("setpriv").args(other).spawn().unwrap();
    let daemon = Start::new(&place, &[]).clock(-30.0).through(&["prlimit", "--nproc=0:0"]).start();
    daemon.ready();
    daemon.clock(-0.2);
    let error = daemon.wait_of("error", "a");
    assert!(error["message"].contains("set user id: Try again"), "{}", error.line);
    assert!(daemon.all("outcome", "a").is_empty());
    other.kill().unwrap();
    other.wait().unwrap();
    daemon.ran("a", &minute(0));
    daemon.stop();
    assert_eq!(place.runs("a"), [minute(0)]);
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

/// Fault 24: what a job leaves in its group when it ends itself is ended by its timeout, and
/// by the run that replaces it; what it wrote as its exit code stays.
#[test]
fn fault_24_timeout_and_replacement_end_what_went_to_the_background() {
    for how in ["timeout=2s", "@policy(concurrency=replace,deadline=1h)"] {
        let is_policy = how.starts_with('@');
        let (policy, field) = if is_policy { (how, "") } else { ("@policy(deadline=1h)", how) };
        let place = Place::with(&format!(
            "* * * * * {policy} name=a {field} shell=true command=\"sleep 600 & echo $! >> HERE/children; exit 3\"\n",
        ));
        let daemon = place.start(-30.0, &["--grace", "1s"]);
        daemon.clock(-0.2);
        let child: i32 = place.wait_file("children").trim().parse().unwrap();
        if is_policy {
            assert!(alive(child));
            daemon.clock(59.8);
        }
        let exited = daemon.wait_of("exited", "a");
        assert_eq!(&exited["exit_code"], "3", "{}", exited.line);
        assert!(!alive(child), "{how}");
        if is_policy {
            daemon.wait_nth("the next", 2, |event| event.of("started", "a"));
        }
        // The end of a daemon does not wait for what is left behind.
        daemon.stop();
        for pid in place.read("children").lines().skip(1) {
            let _ = kill(pid);
        }
    }
}

fn kill(pid: &str) -> nix::Result<()> {
    nix::sys::signal::kill(Pid::from_raw(pid.parse().unwrap()), Signal::SIGKILL)
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
        nix::sys::signal::kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    }
}
