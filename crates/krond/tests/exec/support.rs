//! A launcher around the real program, and a false loop around the launcher.

#[path = "../support/skip.rs"]
mod skip;

pub use skip::skip;

use kron_host::launch::{Daemon, Plan, Sink};
use krond::exec::process::{self, Exit};
use krond::exec::{Gate, Launcher, Options, Order, Prepared, Refusal, Report, Target};
use nix::unistd::geteuid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::task::Poll;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything may take, on a machine that does other things as well.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks again and again until there is an answer.
#[track_caller]
pub fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "no {what} in time");
        std::thread::yield_now();
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn is_root() -> bool {
    let root = geteuid().is_root();
    if !root {
        skip("needs root");
    }
    root
}

/// A plan of these words, with nothing special.
pub fn plan(words: &[&str]) -> Plan {
    let here = Daemon::here();
    Plan {
        words: words.iter().map(|word| (*word).to_string()).collect(),
        inherit_env: here.inherit_env,
        unset: here.unset,
        env: here.env,
        cwd: None,
        umask: None,
        ids: None,
        limits: Vec::new(),
        restore_nofile: None,
        stdout: Sink::Inherit,
        stderr: Sink::Inherit,
    }
}

pub fn shell(text: &str) -> Plan {
    plan(&["/bin/sh", "-c", text])
}

/// The plan of an entry with these fields, as the daemon makes it.
pub fn entry(fields: &str) -> Plan {
    let text = format!("0 0 * * * name=a {fields}\n");
    let tab = kron_tab::read("/t.kron", text.as_bytes(), &mut kron_core::Zones::bundled());
    assert!(tab.problems.is_empty(), "{text}: {tab:?}");
    Plan::of(&tab.entries[0], Daemon::here()).unwrap()
}

/// A launcher, and a directory that everybody may write to.
pub struct Host {
    pub launcher: Launcher,
    pub place: TempDir,
}

impl Host {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    /// The system's own sockets are out of reach, whatever the system is.
    pub fn with(change: impl FnOnce(&mut Options)) -> Self {
        let place = TempDir::new().unwrap();
        set_mode(place.path(), 0o777);
        let mut options = Options {
            program: env!("CARGO_BIN_EXE_krond").into(),
            journal: place.path().join("journal"),
            syslog: place.path().join("log"),
            ..Options::default()
        };
        change(&mut options);
        Self { launcher: Launcher::new(options).unwrap(), place }
    }

    /// A daemon that is called by a script, which ends with `exec "$KROND" "$@"`
    /// or does something else.
    pub fn through(script: &str) -> Self {
        let mut file = PathBuf::new();
        let host = Self::with(|options| {
            file = options.journal.with_file_name("daemon");
            options.program.clone_from(&file);
        });
        let krond = host.at("krond");
        copy(Path::new(env!("CARGO_BIN_EXE_krond")), &krond);
        write(&file, 0o755, &format!("#!/bin/sh\nKROND={}\n{script}\n", krond.display()));
        host
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub fn path(&self, name: &str) -> String {
        self.at(name).to_str().unwrap().to_string()
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    /// The next result.
    #[track_caller]
    pub fn try_prepare(&self, order: Order) -> Result<Prepared, Refusal> {
        self.launcher.prepare(order);
        let mut results = wait_for("result", || {
            // As a loop does it: not before the descriptor says so.
            let patience = Timespec { tv_sec: 60, tv_nsec: 0 };
            let mut fds = [PollFd::from_borrowed_fd(self.launcher.descriptor(), PollFlags::IN)];
            assert_eq!(poll(&mut fds, Some(&patience)), Ok(1));
            Some(self.launcher.results()).filter(|results| !results.is_empty())
        });
        assert_eq!(results.len(), 1);
        results.remove(0).result
    }

    #[track_caller]
    pub fn prepare(&self, order: Order) -> Prepared {
        self.try_prepare(order).unwrap()
    }

    /// Prepares, releases, waits.
    #[track_caller]
    pub fn run_order(&self, order: Order) -> Exit {
        let Prepared { pidfd, mut gate, .. } = self.prepare(order);
        assert_eq!(hear(&mut gate), Report::Ready);
        gate.release().unwrap();
        end(&pidfd)
    }

    /// Runs a plan; its exit and what it wrote.
    #[track_caller]
    pub fn run(&self, plan: Plan) -> (Exit, String) {
        let _ = fs::remove_file(self.at("output"));
        let target = Target::File(self.path("output"));
        let exit = self.run_order(order(plan).output(target.clone(), target));
        (exit, String::from_utf8_lossy(&fs::read(self.at("output")).unwrap()).into_owned())
    }

    /// What a plan that succeeds writes.
    #[track_caller]
    pub fn output(&self, plan: Plan) -> String {
        let (exit, output) = self.run(plan);
        assert_eq!(exit, Exit { code: 0, signal: None }, "{output}");
        output
    }

    /// What a plan that cannot be prepared says; nothing has run.
    #[track_caller]
    pub fn failure(&self, order: Order) -> Report {
        let Prepared { pidfd, mut gate, .. } = self.prepare(order);
        let report = hear(&mut gate);
        let exit = end(&pidfd);
        assert!([125, 126, 127].contains(&exit.code), "{exit:?}");
        report
    }
}

pub fn order(plan: Plan) -> Order {
    Order::new(1, "a-job", move || Ok(plan))
}

#[track_caller]
pub fn hear(gate: &mut Gate) -> Report {
    wait_for("report", || match gate.report() {
        Poll::Ready(report) => Some(report),
        Poll::Pending => None,
    })
}

/// Waits for the end of a child, and collects it.
#[track_caller]
pub fn end(pidfd: &OwnedFd) -> Exit {
    let seen = wait_for("end", || process::peek(pidfd.as_fd()).unwrap());
    assert_eq!(process::reap(pidfd.as_fd()).unwrap(), Some(seen));
    seen
}

/// Copies a program. By another process: if this one had it open for writing, so
/// might a child that is just being made, and it could not be executed.
pub fn copy(from: &Path, to: &Path) {
    assert!(Command::new("/bin/cp").arg(from).arg(to).status().unwrap().success());
    set_mode(to, 0o755);
}

/// Writes a program, in the same way.
pub fn write(file: &Path, mode: u32, text: &str) {
    let script = "printf %s \"$1\" > \"$0\"";
    let status = Command::new("/bin/sh").arg("-c").arg(script).arg(file).arg(text).status();
    assert!(status.unwrap().success());
    set_mode(file, mode);
}

pub fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
