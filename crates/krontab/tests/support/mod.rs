//! Runs the real `krontab` in a directory of its own and keeps what it said.

// Each test file uses a part of it.
#![allow(dead_code)]

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Nothing here takes nearly as long; what does, hangs.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// The user `nobody` and its group.
pub const NOBODY: u32 = 65534;
/// The search path of every `krontab` that is started here.
pub const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// What a command said and how it ended.
#[derive(Debug)]
pub struct Output {
    /// Exit code, or 128 and the number of the signal.
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// Asserts the exit code; everything that was said is in the message.
    #[track_caller]
    pub fn exits(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts that standard error has a text.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "no {text:?} in:\n{}", self.stderr);
        self
    }

    /// Asserts that standard output has a text.
    #[track_caller]
    pub fn prints(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "no {text:?} in:\n{}", self.stdout);
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}:\n{}\n{}", self.stdout, self.stderr))
    }
}

/// A directory for one test, which goes away with it.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        set_mode(place.path(), 0o755);
        place
    }

    /// One that belongs to `nobody`; nothing without the right to give it away.
    pub fn of_nobody() -> Option<Self> {
        let place = Self::new();
        is_root().then(|| {
            chown(place.path(), Some(NOBODY), Some(NOBODY)).unwrap();
            place
        })
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file that only its owner may change.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        fs::write(&path, bytes).unwrap();
        set_mode(&path, 0o644);
        path
    }

    pub fn make_dir(&self, name: &str, mode: u32) -> PathBuf {
        let path = self.at(name);
        fs::create_dir(&path).unwrap();
        set_mode(&path, mode);
        path
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    /// What is in it, by name.
    pub fn names(&self) -> Vec<String> {
        names(self.path())
    }
}

/// What is in a directory, by name.
pub fn names(directory: &Path) -> Vec<String> {
    let items = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        items.map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

pub fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

pub fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Says that a part of the tests was left out, and why; an error where it must not be.
#[track_caller]
pub fn skip(why: &str) {
    let required = "KRON_ROOT_REQUIRED";
    assert!(std::env::var_os(required).is_none(), "{why}, and {required} is set");
    println!("SKIPPED: {why}");
}

/// Whether tests that need root can run; says so if not.
pub fn need_root() -> bool {
    if !is_root() {
        skip("needs root");
    }
    is_root()
}

/// Whether a program can be started at all.
pub fn has(program: &str) -> bool {
    SEARCH_PATH.split(':').any(|directory| Path::new(directory).join(program).exists())
}

/// Whether tests as `nobody` can run; says so if not.
pub fn need_nobody() -> bool {
    let can = is_root() && has("setpriv");
    if !can {
        skip("needs root and `setpriv`");
    }
    can
}

/// Runs `krontab` in a directory, with next to no environment.
pub fn krontab(place: &Place, args: &[&str]) -> Output {
    Krontab::new(place, args).run()
}

/// A `krontab` about to be started.
pub struct Krontab<'a> {
    place: &'a Place,
    args: Vec<String>,
    env: Vec<(String, String)>,
    wrapper: Vec<String>,
    program: PathBuf,
    stdin: Vec<u8>,
    patience: Duration,
}

impl<'a> Krontab<'a> {
    pub fn new(place: &'a Place, args: &[&str]) -> Self {
        let home = place.path().to_str().unwrap().to_string();
        let env = [("PATH", SEARCH_PATH), ("HOME", &home), ("NO_COLOR", "1")];
        Self {
            place,
            args: args.iter().map(ToString::to_string).collect(),
            env: env.map(|(name, value)| (name.to_string(), value.to_string())).to_vec(),
            wrapper: Vec::new(),
            program: env!("CARGO_BIN_EXE_krontab").into(),
            stdin: Vec::new(),
            patience: PATIENCE,
        }
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value.into()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self
    }

    pub fn stdin(mut self, text: &str) -> Self {
        self.stdin = text.into();
        self
    }

    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Starts it through another program, such as `prlimit`.
    pub fn through(mut self, wrapper: &[&str]) -> Self {
        self.wrapper.extend(wrapper.iter().map(ToString::to_string));
        self
    }

    /// Starts it as `nobody`. Where the build is kept may be out of reach for
    /// others, so the program is taken along, into a directory of its own.
    pub fn by_nobody(mut self, bin: &'a Place) -> Self {
        let program = bin.at("krontab");
        if !program.exists() && fs::hard_link(&self.program, &program).is_err() {
            // Not copied by this process: a program that is open for writing
            // in a fork of another test cannot be started.
            let copied = Command::new("cp").arg(&self.program).arg(&program).status().unwrap();
            assert!(copied.success());
        }
        self.program = program;
        let id = NOBODY.to_string();
        let ids = [format!("--reuid={id}"), format!("--regid={id}"), "--clear-groups".into()];
        self.wrapper.push("setpriv".into());
        self.wrapper.extend(ids);
        self.wrapper.push("--".into());
        self
    }

    fn command(&self) -> Command {
        let mut words: Vec<&Path> = self.wrapper.iter().map(Path::new).collect();
        words.push(&self.program);
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).args(&self.args).current_dir(self.place.path());
        command.env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts it and leaves it running.
    pub fn start(&self) -> Running {
        let mut command = self.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // It may end before it has read everything, or anything.
        let _ = stdin.write_all(&self.stdin);
        drop(stdin);
        Running { child, patience: self.patience }
    }

    /// Runs it to its end.
    #[track_caller]
    pub fn run(&self) -> Output {
        self.start().end()
    }
}

/// A `krontab` that was started.
pub struct Running {
    child: Child,
    patience: Duration,
}

impl Running {
    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap())
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// Waits for its end; one that does not come in time is a failure.
    #[track_caller]
    pub fn end(self) -> Output {
        let (pid, patience) = (self.pid(), self.patience);
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(self.child.wait_with_output()));
        let Ok(output) = receiver.recv_timeout(patience) else {
            // Its job has a session of its own and would stay.
            let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
            for child in children.unwrap_or_default().split_whitespace() {
                let _ = killpg(Pid::from_raw(child.parse().unwrap()), Signal::SIGKILL);
            }
            let _ = kill(pid, Signal::SIGKILL);
            panic!("krontab did not end within {patience:?}");
        };
        let output = output.unwrap();
        let signalled = || 128 + output.status.signal().unwrap_or(0);
        Output {
            status: output.status.code().unwrap_or_else(signalled),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Polls until something is there.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "no {what} within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(5));
    }
}
