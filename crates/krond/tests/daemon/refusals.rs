//! Faults 1 to 8: what `krontab lint` refuses, the daemon refuses too: at its start with
//! exit code 2 and nothing done, at a reload with the configuration before in force.

use crate::support::{Place, Start, a_moment, is_root, minute, need, set_mode};
use nix::sys::signal::Signal;
use std::fs;
use std::os::unix::fs::{chown, symlink};

const GOOD: &str = "0 12 * * * @policy(deadline=1h) name=old NOTE\n";

/// What is wrong, by the number of the fault, and the code that the log gives it.
fn files() -> Vec<(u32, &'static str, Vec<u8>)> {
    let schedule = |text: &str| format!("{text} name=a command=/bin/true\n").into_bytes();
    let field = |text: &str| format!("0 0 * * * name=a command=/bin/true {text}\n").into_bytes();
    let nested = format!("0 0 * * * @win{}{}", "(".repeat(5000), ")".repeat(5000));
    let long = format!("0 0 * * * name=a command={}\n", "x".repeat(1 << 20));
    let twice = "0 0 * * * name=a command=/bin/true\n".repeat(2);
    vec![
        (1, "nul-byte", b"# a\0b\n".to_vec()),
        (1, "invalid-utf8", b"# \xff\n".to_vec()),
        (1, "byte-order-mark", "\u{feff}# a\n".into()),
        (1, "carriage-return", b"# a\r\n".to_vec()),
        (2, "file-too-large", vec![b'\n'; (16 << 20) + 1]),
        (2, "line-too-long", long.into_bytes()),
        (2, "too-many-entries", b"0\n".repeat(1_000_001)),
        (3, "unexpected-character", schedule(&nested)),
        (3, "unclosed", b"0 0 * * * name=a command=\"/bin/true\n".to_vec()),
        (3, "unfinished-line", b"0 0 * * * name=a command=/bin/true \\".to_vec()),
        (4, "duplicate-name", twice.into_bytes()),
        (4, "unknown-field", field("usr=nobody")),
        (4, "duplicate-field", field("cwd=/ cwd=/")),
        (4, "duplicate-modifier", schedule("0 0 * * * @tz(UTC) @tz(UTC)")),
        (4, "missing-value", field("user=")),
        (5, "invalid-step", schedule("*/0 * * * *")),
        (5, "invalid-step", schedule("*/61 * * * *")),
        (5, "reversed-range", schedule("30-10 * * * *")),
        (5, "out-of-range", schedule("60 * * * *")),
        (5, "never-matches", schedule("0 0 31 2 *")),
        (
            6,
            "parameter-out-of-range",
            schedule("0 0 * * * @win(after,1h) @dist(skewEarly,shape=NaN)"),
        ),
        (
            6,
            "parameter-out-of-range",
            schedule("0 0 * * * @win(after,1h) @dist(skewEarly,shape=inf)"),
        ),
        (
            6,
            "parameter-out-of-range",
            schedule("0 0 * * * @win(after,1h) @dist(exponential,lambda=1e308)"),
        ),
        (
            6,
            "parameter-out-of-range",
            schedule("0 0 * * * @win(after,1h) @dist(exponential,lambda=0)"),
        ),
        (
            6,
            "parameter-out-of-range",
            schedule("0 0 * * * @win(after,1h) @dist(exponential,lambda=-1)"),
        ),
        (6, "invalid-duration", schedule("0 0 * * * @win(after,99999999999999999999h)")),
        (7, "unknown-zone", schedule("0 0 * * * @tz(../../etc/passwd)")),
        (7, "unknown-zone", schedule("0 0 * * * @tz(Local)")),
        (7, "unknown-zone", schedule("0 0 * * * @tz(+02:00)")),
        (7, "missing-argument", schedule("0 0 * * * @tz()")),
    ]
}

/// Faults 1, 2, 3, 4, 5, 6, 7.
#[test]
fn faults_1_2_3_4_5_6_7_a_start_with_a_bad_file_is_refused() {
    for (fault, code, bytes) in files() {
        let place = Place::with("");
        place.write("jobs.kron", &bytes);
        let output = place.start_fails(&[]).exits(2);
        let events = output.events();
        let error = events.iter().find(|event| &event["code"] == code);
        let error = error.unwrap_or_else(|| panic!("{fault}: no {code}: {:.500}", output.stderr));
        assert!(!error["line"].is_empty() && !error["column"].is_empty(), "{}", error.line);
        assert!(!events.iter().any(|event| event.is("ready")), "{fault} {code}");
    }
}

/// Faults 1, 2, 3, 4, 5, 6, 7.
#[test]
fn faults_1_2_3_4_5_6_7_a_reload_of_a_bad_file_keeps_the_old_configuration() {
    let place = Place::with(GOOD);
    let daemon = place.start(-30.0, &[]);
    for (fault, code, bytes) in files() {
        place.write("jobs.kron", &bytes);
        let output = place.ask(&["reload"]).exits(2);
        assert!(output.stderr.contains(code), "{fault}: no {code}: {:.500}", output.stderr);
    }
    assert_eq!(daemon.count("reload_rejected"), files().len());
    assert_eq!(place.ask_jobs().keys().collect::<Vec<_>>(), ["old"]);
    daemon.clock(-0.1);
    daemon.ran("old", &minute(0));
    daemon.stop();
    assert_eq!(place.runs("old"), [minute(0)]);
}

const UNREADABLE: &str = "unreadable";

/// Fault 8.
#[test]
fn fault_8_a_reload_of_what_is_no_file_of_ours_keeps_the_old_configuration() {
    type Change = (&'static str, fn(&Place));
    let mut changes: Vec<Change> = vec![
        ("link", |place| {
            fs::rename(place.at("jobs.kron"), place.at("real")).unwrap();
            symlink(place.at("real"), place.at("jobs.kron")).unwrap();
        }),
        ("pipe", |place| {
            fs::remove_file(place.at("jobs.kron")).unwrap();
            let mode = nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR;
            nix::unistd::mkfifo(&place.at("jobs.kron"), mode).unwrap();
        }),
        ("directory", |place| {
            fs::remove_file(place.at("jobs.kron")).unwrap();
            fs::create_dir_all(place.at("jobs.kron/x.kron")).unwrap();
        }),
        ("writable", |place| set_mode(&place.at("jobs.kron"), 0o666)),
        ("writable parent", |place| set_mode(place.path(), 0o777)),
        ("gone", |place| fs::remove_file(place.at("jobs.kron")).unwrap()),
    ];
    if is_root() {
        changes.push(("device", |place| {
            fs::remove_file(place.at("jobs.kron")).unwrap();
            // As /dev/zero: to read it would never end.
            let made = std::process::Command::new("mknod")
                .arg(place.at("jobs.kron"))
                .args(["c", "1", "5"])
                .status();
            assert!(made.unwrap().success());
        }));
        changes.push(("owner", |place| {
            chown(place.at("jobs.kron"), Some(1234), None).unwrap();
        }));
    }
    // Root can read everything, so this is another's daemon.
    if !is_root() || need("setpriv") {
        changes.push((UNREADABLE, |place| set_mode(&place.at("jobs.kron"), 0o000)));
    }
    for (what, change) in changes {
        let by_nobody = what == UNREADABLE && is_root();
        let place = if by_nobody { Place::of_nobody(GOOD) } else { Place::with(GOOD) };
        let start = Start::new(&place, &[]).clock(-30.0);
        let daemon = if by_nobody { start.by_nobody() } else { start }.start();
        daemon.ready();
        change(&place);
        daemon.signal(Signal::SIGHUP);
        let rejected = daemon.wait("reload_rejected");
        assert_eq!(&rejected["level"], "error", "{what}: {}", rejected.line);
        a_moment();
        assert_eq!(daemon.count("reloaded"), 0, "{what}");
        daemon.clock(-0.1);
        daemon.ran("old", &minute(0));
        daemon.stop();
        assert_eq!(place.runs("old"), [minute(0)], "{what}");
        set_mode(place.path(), 0o755);
    }
}
