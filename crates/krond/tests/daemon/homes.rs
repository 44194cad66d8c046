//! A user's own daemon, which is told nothing: it finds its jobs and its state by itself.

use crate::support::{NOBODY, Place, as_nobody, is_root, mode, need, nobodys_program, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A command of an ordinary user, with a home and these variables and no others.
fn krond(place: &Place, words: &[&str], variables: &[(&str, &str)]) -> Command {
    let program = nobodys_program(place);
    let mut command =
        if is_root() { as_nobody(&[program.to_str().unwrap()]) } else { Command::new(program) };
    command.args(words).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", place.path());
    command.envs(variables.iter().map(|(name, to)| (name, place.at(to))));
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn says(mut command: Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Ends with the test.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn make(place: &Place, directory: &str) {
    let mut path = place.path().to_path_buf();
    for part in Path::new(directory) {
        path.push(part);
        let _ = fs::create_dir(&path);
        if is_root() {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
}

fn check(variables: &[(&str, &str)], config: &str, state: &str) {
    let place = Place::new();
    if is_root() {
        chown(place.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    make(&place, config);
    let note = format!("echo $PWD > {}/ran", place.path().display());
    let job = format!("* * * * * @policy(deadline=1h) name=own shell=true command=\"{note}\"\n");
    let file = place.write(&format!("{config}/jobs.kron"), job);
    let mut daemon = Daemon(krond(&place, &["start"], variables).spawn().unwrap());
    let is_up = || krond(&place, &["status"], variables).output().unwrap().status.success();
    wait_for("an answer", || is_up().then_some(()));
    let jobs = says(krond(&place, &["jobs", "--format", "json"], variables));
    assert!(jobs.contains(&format!("{}:own", file.display())), "{jobs}");
    assert_eq!(mode(&place.at(state)), 0o700);
    // On the machine's clock: an option to set another would be an argument.
    let until = Instant::now() + Duration::from_secs(120);
    while !place.at("ran").exists() {
        assert!(Instant::now() < until, "it never ran");
        std::thread::sleep(Duration::from_millis(100));
    }
    wait_for("its record", || {
        let history = says(krond(&place, &["history", "own"], variables));
        history.contains("executed, exit 0").then_some(())
    });
    let pid = Pid::from_raw(daemon.0.id() as i32);
    kill(pid, Signal::SIGTERM).unwrap();
    assert!(daemon.0.wait().unwrap().success());
}

#[test]
fn by_the_users_home() {
    if !is_root() || need("setpriv") {
        check(&[], ".config/krond", ".local/state/krond");
    }
}

#[test]
fn by_xdg_directories() {
    if !is_root() || need("setpriv") {
        let variables = [("XDG_CONFIG_HOME", "conf"), ("XDG_STATE_HOME", "kept/deep")];
        check(&variables, "conf/krond", "kept/deep/krond");
    }
}
