//! Starts the real `krond` in a directory of its own, sets its clock, reads its
//! log, and asks it.

#![allow(dead_code, reason = "each file uses a part of it")]

use crate::skip::skip;
use kron_core::logfmt::pairs;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::Index;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nothing here takes nearly as long; what does, hangs.
pub const PATIENCE: Duration = Duration::from_secs(40);
/// The noon around which all tests happen: Monday 2030-06-03.
pub const NOON: i64 = 1_906_718_400;
/// The user `nobody` and its group.
pub const NOBODY: u32 = 65534;
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
const KROND: &str = env!("CARGO_BIN_EXE_krond");

/// The minute so many after noon, as a period's name and as a time.
pub fn minute(n: i64) -> String {
    let minutes = 12 * 60 + n;
    assert!((0..24 * 60).contains(&minutes), "another day");
    format!("2030-06-03T{:02}:{:02}:00Z", minutes / 60, minutes % 60)
}

/// A line of the log.
#[derive(Clone, Debug)]
pub struct Event {
    pub line: String,
    keys: BTreeMap<String, String>,
}

impl Event {
    fn read(line: &str) -> Option<Self> {
        let keys: Result<BTreeMap<_, _>, _> =
            pairs(line).map(|pair| pair.map(|(k, v)| (k.to_string(), v.into_owned()))).collect();
        let keys = keys.ok()?;
        (keys.contains_key("event") && keys.contains_key("level"))
            .then(|| Self { line: line.into(), keys })
    }

    pub fn is(&self, event: &str) -> bool {
        &self["event"] == event
    }

    pub fn of(&self, event: &str, job: &str) -> bool {
        self.is(event) && &self["job"] == job
    }

    pub fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    pub fn pid(&self) -> i32 {
        self["pid"].parse().unwrap()
    }

    /// The time at which it was logged.
    pub fn time(&self) -> &str {
        self.line.split(' ').next().unwrap()
    }
}

impl Index<&str> for Event {
    type Output = str;

    /// Empty where there is none.
    fn index(&self, key: &str) -> &str {
        self.keys.get(key).map_or("", String::as_str)
    }
}

/// What a command said and how it ended.
#[derive(Debug)]
pub struct Output {
    /// Exit code, or 128 and the number of the signal.
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    #[track_caller]
    pub fn exits(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{}\n{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "no {text:?} in:\n{}", self.stderr);
        self
    }

    #[track_caller]
    pub fn prints(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "no {text:?} in:\n{}", self.stdout);
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}:\n{}\n{}", self.stdout, self.stderr))
    }

    pub fn events(&self) -> Vec<Event> {
        self.stderr.lines().filter_map(Event::read).collect()
    }
}

/// A directory for one test, which goes away with it: `jobs.kron`, `state`, and
/// `record`, to which jobs write that they ran.
pub struct Place {
    directory: tempfile::TempDir,
    starts: AtomicU32,
}

impl Place {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        set_mode(directory.path(), 0o755);
        Self { directory, starts: AtomicU32::new(0) }
    }

    /// One with jobs.
    pub fn with(jobs: &str) -> Self {
        let place = Self::new();
        place.jobs(jobs);
        place
    }

    /// One with jobs, for a daemon of `nobody`.
    pub fn of_nobody(jobs: &str) -> Self {
        let place = Self::with(jobs);
        place.make_state();
        place.write("record", "");
        for name in ["jobs.kron", "state", "record"] {
            chown(place.at(name), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        place
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        fs::write(&path, bytes).unwrap();
        set_mode(&path, 0o644);
        path
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_default()
    }

    /// Writes `jobs.kron`. `HERE` is this directory, `NOTE` a command that records
    /// job, period and PID.
    pub fn jobs(&self, text: &str) -> PathBuf {
        let note = "shell=true command=\"echo $KRON_JOB $KRON_PERIOD_ID $$ >> HERE/record\"";
        let note = text.replace("NOTE", note);
        self.write("jobs.kron", note.replace("HERE", self.path().to_str().unwrap()))
    }

    pub fn identity(&self, job: &str) -> String {
        format!("{}:{job}", self.at("jobs.kron").display())
    }

    pub fn state_file(&self, job: &str) -> PathBuf {
        let hash = Sha256::digest(self.identity(job));
        let name = hash.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        self.at("state").join(name + ".json")
    }

    #[track_caller]
    pub fn state(&self, job: &str) -> Value {
        let text = fs::read(self.state_file(job)).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// Writes a state file, with what every one has.
    pub fn plant(&self, job: &str, mut fields: Value) {
        let all = serde_json::json!({
            "Version": "1", "Identity": self.identity(job), "LastHandledPeriodID": "",
            "LastOutcome": "", "LastChosenTime": "", "LastNominalTime": "",
            "ActiveExecution": null, "History": [],
        });
        let object = fields.as_object_mut().unwrap();
        for (key, value) in all.as_object().unwrap() {
            object.entry(key.clone()).or_insert(value.clone());
        }
        self.plant_text(job, &fields.to_string());
    }

    pub fn plant_text(&self, job: &str, text: &str) {
        self.make_state();
        let path = self.state_file(job);
        fs::write(&path, text).unwrap();
        set_mode(&path, 0o600);
    }

    pub fn make_state(&self) {
        let state = self.at("state");
        if !state.exists() {
            fs::create_dir(&state).unwrap();
        }
        set_mode(&state, 0o700);
    }

    /// The lines that jobs wrote so far.
    pub fn record(&self) -> Vec<String> {
        self.read("record").lines().map(String::from).collect()
    }

    /// Which periods of a job ran, in the order in which they did.
    pub fn runs(&self, job: &str) -> Vec<String> {
        let words = |line: &String| {
            let mut words = line.split(' ');
            (words.next() == Some(job)).then(|| words.next().unwrap().to_string())
        };
        self.record().iter().filter_map(words).collect()
    }

    /// Waits for a file that is not empty.
    #[track_caller]
    pub fn wait_file(&self, name: &str) -> String {
        wait_for(name, || Some(self.read(name)).filter(|text| text.ends_with('\n')))
    }

    /// Starts the daemon with its clock so many seconds after noon, and waits until
    /// it is ready.
    #[track_caller]
    pub fn start(&self, clock: f64, args: &[&str]) -> Daemon<'_> {
        let daemon = Start::new(self, args).clock(clock).start();
        daemon.ready();
        daemon
    }

    /// Starts a daemon that is to end by itself.
    #[track_caller]
    pub fn start_fails(&self, args: &[&str]) -> Output {
        Start::new(self, args).clock(-30.0).start().end()
    }

    /// Runs a command of `krond` that asks the daemon of this directory.
    #[track_caller]
    pub fn ask(&self, args: &[&str]) -> Output {
        let mut command = Command::new(KROND);
        command.args(args).arg("--state-dir").arg(self.at("state"));
        self.run(command)
    }

    #[track_caller]
    pub fn run(&self, mut command: Command) -> Output {
        command.env_clear().env("PATH", SEARCH_PATH).env("HOME", self.path());
        command.current_dir(self.path()).stdin(Stdio::null());
        let output = command.output().unwrap();
        let signalled = || 128 + output.status.signal().unwrap_or(0);
        Output {
            status: output.status.code().unwrap_or_else(signalled),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// All jobs as `krond jobs` prints them, by name.
    #[track_caller]
    pub fn ask_jobs(&self) -> BTreeMap<String, Value> {
        let jobs = self.ask(&["jobs", "--format", "json"]).exits(0).json();
        let named = |job: &Value| (job["job"].as_str().unwrap().to_string(), job.clone());
        jobs.as_array().unwrap().iter().map(named).collect()
    }

    /// Has the next reading of the clock give so many seconds after noon.
    pub fn set_shift(&self, clock: f64) {
        let real = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        // In parts, for the digits.
        let whole = NOON - real.as_secs() as i64;
        let part = clock - f64::from(real.subsec_nanos()) / 1e9;
        self.write("shift", format!("{:.6}\n", whole as f64 + part));
    }
}

/// A daemon about to be started.
pub struct Start<'a> {
    place: &'a Place,
    args: Vec<String>,
    env: Vec<(String, String)>,
    wrapper: Vec<String>,
    program: PathBuf,
    config: Option<String>,
    clock: Option<f64>,
    directory: PathBuf,
    stdout: Option<Stdio>,
    stderr: Option<Stdio>,
}

impl<'a> Start<'a> {
    pub fn new(place: &'a Place, args: &[&str]) -> Self {
        Self {
            place,
            args: args.iter().map(ToString::to_string).collect(),
            env: vec![],
            wrapper: vec![],
            program: KROND.into(),
            config: Some(place.at("jobs.kron").to_str().unwrap().into()),
            clock: None,
            directory: place.path().into(),
            stdout: None,
            stderr: None,
        }
    }

    /// Its standard output goes there, and cannot be read as usual.
    pub fn stdout(mut self, to: impl Into<Stdio>) -> Self {
        self.stdout = Some(to.into());
        self
    }

    /// Its log goes there, and cannot be read as usual.
    pub fn stderr(mut self, to: impl Into<Stdio>) -> Self {
        self.stderr = Some(to.into());
        self
    }

    pub fn clock(mut self, clock: f64) -> Self {
        self.clock = Some(clock);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Reads something else than `jobs.kron`.
    pub fn config(mut self, path: &str) -> Self {
        self.config = Some(path.into());
        self
    }

    pub fn in_directory(mut self, path: &Path) -> Self {
        self.directory = path.into();
        self
    }

    /// Starts it through another program, such as `prlimit`.
    pub fn through(mut self, wrapper: &[&str]) -> Self {
        self.wrapper.extend(wrapper.iter().map(ToString::to_string));
        self
    }

    /// Takes a copy of the program that everybody can reach.
    pub fn reachable(mut self) -> Self {
        self.program = nobodys_program(self.place);
        self
    }

    /// Starts it as `nobody`, with a copy of the program that `nobody` can reach.
    pub fn by_nobody(mut self) -> Self {
        self.program = nobodys_program(self.place);
        self.wrapper.extend(AS_NOBODY.map(String::from));
        self
    }

    #[track_caller]
    pub fn start(self) -> Daemon<'a> {
        let place = self.place;
        let mut words: Vec<String> = self.wrapper;
        words.push(self.program.to_str().unwrap().into());
        words.push("start".into());
        words.extend(self.config);
        words.push("--state-dir".into());
        words.push(place.at("state").to_str().unwrap().into());
        if let Some(clock) = self.clock {
            place.set_shift(clock);
            words.push("--clock-shift".into());
            words.push(place.at("shift").to_str().unwrap().into());
        }
        words.extend(self.args);
        let number = place.starts.fetch_add(1, Ordering::Relaxed);
        let (log, out) = (place.at(&format!("log.{number}")), place.at(&format!("out.{number}")));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(&self.directory);
        command.env_clear().env("PATH", SEARCH_PATH).env("HOME", place.path()).envs(self.env);
        command.stdin(Stdio::null());
        let (to_out, to_log) = (File::create(&out).unwrap(), File::create(&log).unwrap());
        command.stdout(self.stdout.unwrap_or_else(|| to_out.into()));
        command.stderr(self.stderr.unwrap_or_else(|| to_log.into()));
        let child = command.spawn().unwrap();
        Daemon { place, child, log, out, ended: None }
    }
}

const AS_NOBODY: [&str; 5] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];

/// The program at a path that others can reach.
pub fn nobodys_program(place: &Place) -> PathBuf {
    let program = place.at("krond-for-all");
    if !program.exists() {
        // Not copied by this process: a program that is open for writing in a
        // fork of another test cannot be started.
        let copied = Command::new("cp").arg(KROND).arg(&program).status().unwrap();
        assert!(copied.success());
        set_mode(&program, 0o755);
    }
    program
}

/// A command as `nobody`.
pub fn as_nobody(words: &[&str]) -> Command {
    let mut command = Command::new(AS_NOBODY[0]);
    command.args(&AS_NOBODY[1..]).args(words);
    command
}

/// A `krond` command as `nobody`.
pub fn by_nobody(place: &Place) -> Command {
    let mut command = Command::new(AS_NOBODY[0]);
    command.args(&AS_NOBODY[1..]).arg(nobodys_program(place));
    command
}

/// A daemon that was started. It and its jobs end with the test.
pub struct Daemon<'a> {
    place: &'a Place,
    child: Child,
    log: PathBuf,
    out: PathBuf,
    ended: Option<i32>,
}

impl Daemon<'_> {
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap()).into_owned()
    }

    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.out).unwrap()).into_owned()
    }

    pub fn log_path(&self) -> &Path {
        &self.log
    }

    /// What it logged so far.
    pub fn events(&self) -> Vec<Event> {
        self.text().lines().filter_map(Event::read).collect()
    }

    pub fn all(&self, event: &str, job: &str) -> Vec<Event> {
        self.events().into_iter().filter(|line| line.of(event, job)).collect()
    }

    pub fn count(&self, event: &str) -> usize {
        self.events().iter().filter(|line| line.is(event)).count()
    }

    /// Waits until so many lines are as asked; gives the last of them.
    #[track_caller]
    pub fn wait_nth(&self, what: &str, nth: usize, test: impl Fn(&Event) -> bool) -> Event {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = self.events().into_iter().filter(|line| test(line)).nth(nth - 1) {
                return found;
            }
            assert!(Instant::now() < deadline, "no {what} in:\n{}", self.text());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the log, whatever its format, is as asked.
    #[track_caller]
    pub fn wait_text(&self, what: &str, test: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !test(&self.text()) {
            assert!(Instant::now() < deadline, "no {what} in:\n{}", self.text());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for a job that is due at the next minute of the machine's clock.
    #[track_caller]
    pub fn wait_real(&self, event: &str, job: &str) -> Event {
        let deadline = Instant::now() + Duration::from_secs(62);
        while Instant::now() < deadline && self.all(event, job).is_empty() {
            thread::sleep(Duration::from_millis(50));
        }
        self.wait_of(event, job)
    }

    #[track_caller]
    pub fn wait(&self, event: &str) -> Event {
        self.wait_nth(event, 1, |line| line.is(event))
    }

    #[track_caller]
    pub fn wait_of(&self, event: &str, job: &str) -> Event {
        self.wait_nth(&format!("{event} of {job}"), 1, |line| line.of(event, job))
    }

    /// Waits for the outcome of a period, and checks what it is.
    #[track_caller]
    pub fn outcome(&self, job: &str, period: &str, outcome: &str) -> Event {
        let what = format!("outcome of {job} {period}");
        let found =
            self.wait_nth(&what, 1, |line| line.of("outcome", job) && &line["period_id"] == period);
        assert_eq!(&found["outcome"], outcome, "{}", found.line);
        found
    }

    /// Waits until a period was started and has exited.
    #[track_caller]
    pub fn ran(&self, job: &str, period: &str) -> Event {
        let what = format!("exit of {job} {period}");
        self.wait_nth(&what, 1, |line| line.of("exited", job) && &line["period_id"] == period)
    }

    #[track_caller]
    pub fn ready(&self) -> Event {
        self.wait("ready")
    }

    /// Sets its clock to so many seconds after noon.
    pub fn clock(&self, clock: f64) {
        self.place.set_shift(clock);
        self.clock_signal();
        // The daemon takes the time before it reads the shift: what was set shows at
        // the next wake-up only.
        self.clock_signal();
    }

    /// Sets its clock, even if it ends on that.
    pub fn clock_now(&self, clock: f64) {
        self.place.set_shift(clock);
        let _ = kill(self.pid(), Signal::SIGUSR2);
    }

    /// Sets its clock, with one signal only.
    pub fn clock_once(&self, clock: f64) {
        self.place.set_shift(clock);
        self.clock_signal();
    }

    /// Sends USR2 and waits until it was taken.
    fn clock_signal(&self) {
        self.signal(Signal::SIGUSR2);
        let deadline = Instant::now() + Duration::from_secs(5);
        let pending = || {
            let status = fs::read_to_string(format!("/proc/{}/status", self.pid()));
            let status = status.unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
            let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
            mask.unwrap_or(0) & (1 << (Signal::SIGUSR2 as u32 - 1)) != 0
        };
        // A daemon that is stopped takes nothing.
        while pending() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(2));
        }
        thread::sleep(Duration::from_millis(10));
    }

    pub fn signal(&self, signal: Signal) {
        assert!(self.ended.is_none());
        kill(self.pid(), signal).unwrap();
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        self.ended.is_none() && self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end.
    #[track_caller]
    pub fn end(mut self) -> Output {
        self.wait_end()
    }

    #[track_caller]
    pub fn wait_end(&mut self) -> Output {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "krond does not end:\n{}", self.text());
            thread::sleep(Duration::from_millis(5));
        };
        let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap());
        self.ended = Some(status);
        if status == 137 {
            self.wait_unlocked();
        }
        Output { status, stdout: self.stdout(), stderr: self.text() }
    }

    /// Ends it by TERM; jobs end first.
    #[track_caller]
    pub fn stop(self) -> Output {
        self.signal(Signal::SIGTERM);
        self.end().exits(0)
    }

    /// Ends it by KILL.
    #[track_caller]
    pub fn kill(self) -> Output {
        self.signal(Signal::SIGKILL);
        self.end().exits(137)
    }

    /// A child that was just being made when the daemon was killed may hold its lock a
    /// little longer, until it is executed.
    #[track_caller]
    fn wait_unlocked(&self) {
        use rustix::fs::{FlockOperation, flock};
        let Ok(lock) = File::open(self.place.at("state/lock")) else { return };
        wait_for("the lock", || {
            flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok().then_some(())
        });
        // Not by closing it: a child of another test may have a copy.
        flock(&lock, FlockOperation::Unlock).unwrap();
    }
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        if self.ended.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Drop for Place {
    /// Ends jobs that are still there: those whose environment names this place.
    fn drop(&mut self) {
        let mut logs = String::new();
        for number in 0..self.starts.load(Ordering::Relaxed) {
            let text = fs::read(self.at(&format!("log.{number}"))).unwrap_or_default();
            logs.push_str(&String::from_utf8_lossy(&text));
        }
        let mark = format!("KRON_IDENTITY={}", self.path().display());
        for event in logs.lines().filter_map(Event::read).filter(|event| event.has("pid")) {
            let Ok(pid) = event["pid"].parse() else { continue };
            let env = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            if String::from_utf8_lossy(&env).contains(&mark) {
                let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    }
}

pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

pub fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

/// What is in a directory, by name.
pub fn names(directory: &Path) -> Vec<String> {
    let items = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        items.map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

pub fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Whether tests that need root can run; says so if not.
pub fn need_root() -> bool {
    if !is_root() {
        skip("needs root");
    }
    is_root()
}

/// Whether a program can be started; says so if not.
pub fn need(program: &str) -> bool {
    let there = SEARCH_PATH.split(':').any(|path| Path::new(path).join(program).exists());
    if !there {
        skip(format_args!("needs `{program}`"));
    }
    there
}

/// Whether there is a tracer that may trace; says so if not.
pub fn need_strace() -> bool {
    let traced = Command::new("strace").args(["-qq", "-o", "/dev/null", "/bin/true"]).status();
    let there = traced.is_ok_and(|status| status.success());
    if !there {
        skip("needs `strace` that may trace");
    }
    there
}

/// Whether a process exists and is not a zombie.
pub fn alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Runs something that sees mounts of its own, which end with it: in a thread that
/// leaves the others' mounts. Says so if that is not permitted.
pub fn with_own_mounts(body: impl FnOnce() + Send) {
    use nix::mount::{MsFlags, mount};
    use nix::sched::{CloneFlags, unshare};
    if !need_root() {
        return;
    }
    let in_thread = || {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNS) {
            skip(format_args!("no mounts of its own here: {error}"));
            return;
        }
        let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
        mount(None::<&str>, "/", None::<&str>, private, None::<&str>).unwrap();
        body();
    };
    let ended = thread::scope(|scope| scope.spawn(in_thread).join());
    if let Err(panic) = ended {
        std::panic::resume_unwind(panic);
    }
}

/// Runs something on a machine that has a system log, and no journal; it gets the log.
pub fn with_system_log(place: &Place, body: impl FnOnce(UnixDatagram) + Send) {
    use nix::mount::{MsFlags, mount};
    use nix::sys::stat::{Mode, SFlag, makedev, mknod};
    fs::create_dir(place.at("dev")).unwrap();
    with_own_mounts(|| {
        let none = None::<&str>;
        let tmpfs = |path: &Path| mount(none, path, Some("tmpfs"), MsFlags::empty(), none).unwrap();
        tmpfs(&place.at("dev"));
        for (name, minor) in [("null", 3), ("zero", 5), ("urandom", 9)] {
            let mode = Mode::from_bits_truncate(0o666);
            mknod(&place.at("dev").join(name), SFlag::S_IFCHR, mode, makedev(1, minor)).unwrap();
        }
        let log = UnixDatagram::bind(place.at("dev/log")).unwrap();
        if Path::new("/run/systemd").exists() {
            tmpfs(Path::new("/run/systemd"));
        }
        mount(Some(&place.at("dev")), "/dev", none, MsFlags::MS_BIND, none).unwrap();
        body(log);
    });
}

/// Processor time of a process, in ticks of a hundredth of a second.
pub fn ticks(pid: Pid) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// How often any thread of a process was put on a processor or taken from it.
fn switches(pid: Pid) -> u64 {
    let mut sum = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let status = fs::read_to_string(task.unwrap().path().join("status")).unwrap_or_default();
        let lines = status.lines().filter(|line| line.contains("voluntary_ctxt_switches"));
        sum += lines
            .filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok())
            .sum::<u64>();
    }
    sum
}

/// Waits until a process rests: one that spins never does, however busy the machine is.
#[track_caller]
pub fn is_calm(pid: Pid) {
    for _ in 0..20 {
        let before = (ticks(pid), switches(pid));
        thread::sleep(Duration::from_millis(500));
        if (ticks(pid), switches(pid)) == before {
            return;
        }
    }
    panic!("it spins");
}

/// What a process has or had in memory, in KiB: `VmRSS`, `VmHWM`, `RssAnon`.
pub fn memory(pid: Pid, key: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The children of a daemon, dead ones that were not collected among them, but for the
/// one that waits to make others: of all its threads, since a child belongs to the
/// one that made it.
pub fn children(pid: Pid) -> Vec<i32> {
    family(pid).1
}

/// The processes that wait to make others, and all other children of a daemon.
pub fn family(pid: Pid) -> (Vec<i32>, Vec<i32>) {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let text: Vec<String> = tasks
        .map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default())
        .collect();
    let words = |pid: &i32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let is_nursery = |pid: &i32| words(pid).ends_with(b"\0__launch\0");
    let all = text.concat();
    all.split_whitespace().map(|pid| pid.parse::<i32>().unwrap()).partition(is_nursery)
}

/// How many descriptors a process has open.
pub fn descriptors(pid: Pid) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
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
        thread::sleep(Duration::from_millis(10));
    }
}

#[track_caller]
pub fn wait_gone(pid: i32) {
    wait_for("end of the process", || (!alive(pid)).then_some(()));
}

/// Time in which something that must not happen would have happened.
pub fn a_moment() {
    thread::sleep(Duration::from_millis(400));
}
