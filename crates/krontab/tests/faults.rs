//! Bad input and unsafe files, as users meet them: what `krontab lint` says of
//! them and how it ends, and that no other command uses them.
//!
//! Every finding is written as `severity[code]: message @line:column`; one of
//! a whole file has no place.

mod support;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{chown, lchown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use support::{
    Krontab, NOBODY, Output, Place, has, krontab, need_nobody, need_root, set_mode, skip,
};

const GOOD: &str = "0 0 * * * name=a command=/bin/true\n";

/// The findings in a text for people.
fn findings(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with("error[") || line.starts_with("warning[") {
            found.push(line.into());
        } else if let Some((_, place)) = line.split_once("--> ")
            && let Some(finding) = found.last_mut()
            && let Some((_, place)) = place.split_once(':')
        {
            let _ = write!(finding, " @{place}");
        }
    }
    found
}

/// Lints `t.kron`, asserts the exit code, and gives the findings.
#[track_caller]
fn lint(place: &Place, status: i32) -> String {
    let output = krontab(place, &["lint", "t.kron"]).exits(status);
    assert_eq!(output.stderr, "", "findings are what was asked for");
    findings(&output.stdout).join("\n")
}

/// A file that is refused: by `lint` with these findings and 1, and by
/// everything that would use it with the same ones and 2 (ERR-07).
#[track_caller]
fn check(text: impl AsRef<[u8]>, expected: &str) {
    let place = Place::new();
    place.write("t.kron", text);
    assert_eq!(lint(&place, 1), expected);
    for command in [&["next", "--file", "t.kron"][..], &["run", "a", "--file", "t.kron"]] {
        let output = krontab(&place, command).exits(2);
        assert_eq!(output.stdout, "", "{command:?}");
        assert_eq!(findings(&output.stderr).join("\n"), expected, "{command:?}");
    }
}

/// An entry whose schedule is refused.
#[track_caller]
fn check_schedule(schedule: &str, expected: &str) {
    check(format!("{schedule} name=a command=/bin/true\n"), expected);
    // The same from the command line; the place is that in the schedule.
    let place = Place::new();
    let expected = expected.split(" @").next().unwrap();
    let (_, message) = expected.split_once("]: ").unwrap_or(("", expected));
    let args = ["next", "--schedule", schedule, "--identity", "demo"];
    let output = krontab(&place, &args).exits(2).says(message);
    assert_eq!(output.stdout, "");
}

/// An entry with one more field, which is refused.
#[track_caller]
fn check_field(field: &str, expected: &str) {
    check(format!("0 0 * * * name=a command=/bin/true {field}\n"), expected);
}

/// A file that is refused as a whole, with no place in it.
#[track_caller]
fn check_refused(place: &Place, path: &str, message: &str) {
    let expected = format!("error[unsafe-file]: {path}: {message}");
    let output = krontab(place, &["lint", path]).exits(1);
    assert_eq!(findings(&output.stdout), [expected.as_str()]);
    for command in [
        &["next", "--file", path][..],
        &["show", "a", "--file", path],
        &["run", "a", "--file", path],
    ] {
        let output = krontab(place, command).exits(2);
        assert_eq!(output.stdout, "", "{command:?}");
        assert_eq!(findings(&output.stderr), [expected.as_str()], "{command:?}");
    }
}

/// FAULTS 1: each kind of foreign byte has its own message.
#[test]
fn bytes_that_do_not_belong() {
    check(format!("{GOOD}# a\0b\n"), "error[nul-byte]: file has a NUL byte @2:4");
    check(
        [GOOD.as_bytes(), b"# caf\xe9\n"].concat(),
        "error[invalid-utf8]: file is not valid UTF-8 @2:6",
    );
    check(
        format!("\u{feff}{GOOD}"),
        "error[byte-order-mark]: file begins with a byte order mark @1:1",
    );
    check(
        GOOD.replace('\n', "\r\n"),
        "error[carriage-return]: a line ends with a carriage return @1:35",
    );
}

/// FAULTS 2: a file over 16 MiB; one byte less is read.
#[test]
fn a_large_file() {
    let place = Place::new();
    let line = format!("#{}\n", "x".repeat(1022));
    let mut text = line.repeat(16 << 10);
    place.write("t.kron", &text);
    assert_eq!(lint(&place, 0), "");
    text.push('\n');
    check(&text, "error[file-too-large]: file of 16777217 bytes is too large @1:1");
}

/// FAULTS 2: a line of a mebibyte, alone or joined from many.
#[test]
fn a_long_line() {
    check(
        format!("{GOOD}0 0 * * * name=b command={}\n", "x".repeat(1 << 20)),
        "error[line-too-long]: entry of 1048601 bytes is too long @2:1",
    );
    check(
        format!("{}name=a command=x\n", "0 0 * * * \\\n".repeat(1 << 15)),
        "error[line-too-long]: entry of 393232 bytes is too long @1:1",
    );
}

/// FAULTS 2: more entries than the limit, all of them wrong: what is said and
/// remembered of them has a bound.
#[test]
fn a_million_entries() {
    if !has("prlimit") {
        return skip("needs `prlimit`");
    }
    let place = Place::new();
    place.write("t.kron", "0\n".repeat(1_000_001));
    for args in [
        &["lint", "t.kron"][..],
        &["lint", "t.kron", "--format", "json"],
        &["next", "--file", "t.kron"],
    ] {
        let output = Krontab::new(&place, args)
            .through(&["prlimit", "--as=1073741824"])
            .patience(Duration::from_secs(20))
            .run();
        let refused = if args[0] == "lint" { 1 } else { 2 };
        let said = output.exits(refused);
        assert!((said.stdout + &said.stderr).contains("too-many-entries"), "{args:?}");
    }
}

/// FAULTS 3: what is nested too deep, not closed or not finished.
#[test]
fn unfinished() {
    for modifier in ["@win", "@only", "@dist", "@tz"] {
        let column = 12 + modifier.len();
        check(
            format!(
                "0 0 * * * {modifier}{}{} name=a command=x\n",
                "(".repeat(5000),
                ")".repeat(5000)
            ),
            &format!("error[unexpected-character]: parentheses do not nest @1:{column}"),
        );
    }
    check(
        "0 0 * * * name=a command=\"/bin/true\n",
        "error[unclosed]: this quote is never closed @1:26",
    );
    check(
        "0 0 * * * @seed(stable,salt=\"x) name=a command=/bin/true\n",
        "error[unclosed]: this quote is never closed @1:29",
    );
    check(
        "0 0 * * * @win(after,1h name=a command=/bin/true\n",
        "error[unclosed]: this parenthesis is never closed @1:15",
    );
    check(
        format!("{GOOD}0 0 * * * name=b command=/bin/true \\"),
        "error[unfinished-line]: nothing follows this `\\` @2:36",
    );
}

/// FAULTS 4, ERR-05: a name, a field or a modifier too many, an unknown or an
/// empty one.
#[test]
fn names_and_fields() {
    check(
        format!("{GOOD}# another\n{GOOD}"),
        "error[duplicate-name]: name `a` is given to two entries @3:16",
    );
    check_field("usr=nobody", "error[unknown-field]: unknown field `usr` @1:36");
    check_field("cwd=/ cwd=/", "error[duplicate-field]: field `cwd` is given twice @1:42");
    check_field("env=A=1 env=A=2", "error[duplicate-field]: variable `A` is set twice @1:48");
    check_field("user=", "error[missing-value]: field `user` has no value @1:36");
    check_field("cwd=\"\"", "error[missing-value]: field `cwd` has no value @1:36");
    check("0 0 * * * command=/bin/true\n", "error[missing-field]: this entry has no `name` @1:28");
    check("0 0 * * * name=a\n", "error[missing-field]: this entry has no `command` @1:17");
    check_schedule(
        "0 0 * * * @tz(UTC) @tz(UTC)",
        "error[duplicate-modifier]: modifier `@tz` is given twice @1:20",
    );
    check_schedule(
        "0 0 * * * @wni(after,1h)",
        "error[unknown-modifier]: unknown modifier `@wni` @1:11",
    );
    check_schedule(
        "0 0 * * * @seed(stable,salt=)",
        "error[missing-value]: `salt` has no value @1:24",
    );
    check_schedule(
        "0 0 * * * @dist(gauss)",
        "error[unknown-name]: unknown distribution `gauss` @1:17",
    );
    check_schedule(
        "0 0 * * * @seed(sometimes)",
        "error[unknown-name]: unknown seed strategy `sometimes` @1:17",
    );
}

/// FAULTS 5, SYN-12: cron fields that mean nothing, or a day that never comes.
#[test]
fn cron_fields() {
    for (schedule, expected) in [
        ("*/0 * * * *", "error[invalid-step]: a step of `0` never advances @1:3"),
        (
            "*/61 * * * *",
            "error[invalid-step]: step `61` is larger than the minute range it steps over @1:3",
        ),
        (
            "* 0-5/7 * * *",
            "error[invalid-step]: step `7` is larger than the hour range it steps over @1:7",
        ),
        ("30-10 * * * *", "error[reversed-range]: minute range `30-10` runs backward @1:1"),
        ("60 * * * *", "error[out-of-range]: minute `60` is out of range @1:1"),
        ("0 24 * * *", "error[out-of-range]: hour `24` is out of range @1:3"),
        ("0 0 0 * *", "error[out-of-range]: day of month `0` is out of range @1:5"),
        ("0 0 * 13 *", "error[out-of-range]: month `13` is out of range @1:7"),
        ("0 0 * * 8", "error[out-of-range]: day of week `8` is out of range @1:9"),
        ("0 0 31 2 *", "error[never-matches]: this day and month never occur together @1:5"),
        ("0 0 30 2 *", "error[never-matches]: this day and month never occur together @1:5"),
        ("0 0 31 4,6 *", "error[never-matches]: this day and month never occur together @1:5"),
        ("0 0 * *", "error[field-count]: 4 cron fields, but there must be five @1:8"),
        ("0 0 * * * *", "error[field-count]: 6 cron fields, but there must be five @1:11"),
    ] {
        check_schedule(schedule, expected);
    }
}

/// FAULTS 6, ERR-05, ERR-08, SYN-24, SYN-26, SYN-27: numbers and durations out
/// of every range.
#[test]
fn parameters() {
    for value in ["NaN", "nan", "inf", "-inf", "1e308", "1e309", "0", "0.0", "-0.0", "-1", "1e-400"]
    {
        check_schedule(
            &format!("0 0 * * * @win(after,1h) @dist(skewEarly,shape={value})"),
            &format!("error[parameter-out-of-range]: shape `{value}` is out of range @1:48"),
        );
        check_schedule(
            &format!("0 0 * * * @win(after,1h) @dist(exponential,lambda={value})"),
            &format!("error[parameter-out-of-range]: lambda `{value}` is out of range @1:51"),
        );
    }
    for (schedule, expected) in [
        (
            "0 0 * * * @win(after,1h) @dist(normal,sigma=0s)",
            "error[parameter-out-of-range]: sigma `0s` is out of range @1:45",
        ),
        (
            "0 0 * * * @win(after,1h) @dist(normal,sigma=0.5ms)",
            "error[parameter-out-of-range]: sigma `0.5ms` is out of range @1:45",
        ),
        (
            "0 0 * * * @win(after,1h) @dist(normal,sigma=-1m)",
            "error[negative-duration]: sigma `-1m` is negative @1:45",
        ),
        (
            "0 0 * * * @win(after,1h) @dist(uniform,shape=2)",
            "error[unknown-key]: `uniform` has no parameter `shape` @1:40",
        ),
        (
            "0 0 * * * @win(after,-1h)",
            "error[negative-duration]: window duration `-1h` is negative @1:22",
        ),
        (
            "0 0 * * * @win(after,99999999999999999999h)",
            "error[invalid-duration]: window duration `99999999999999999999h` is too long to be counted @1:22",
        ),
        (
            "0 0 * * * @win(after,2562047h48m)",
            "error[invalid-duration]: window duration `2562047h48m` is too long to be counted @1:22",
        ),
        (
            "0 0 * * * @policy(deadline=9223372036854775807h)",
            "error[invalid-duration]: deadline `9223372036854775807h` is too long to be counted @1:28",
        ),
        ("0 0 * * * @win(after,)", "error[missing-value]: window duration is missing @1:22"),
    ] {
        check_schedule(schedule, expected);
    }
    check_field("timeout=-1s", "error[invalid-value]: `-1s` is not a duration @1:44");
    check_field("timeout=0s", "error[invalid-value]: `0s` is too short @1:44");
    check_field(
        "timeout=99999999999999999999h",
        "error[invalid-value]: `99999999999999999999h` is not a duration @1:44",
    );
}

/// FAULTS 7, SYN-13: only names of the IANA database are zones.
#[test]
fn zones() {
    for zone in [
        "../../etc/passwd",
        "/etc/localtime",
        "Local",
        "+02:00",
        "Mars/Olympus",
        "posixrules",
        "Europe/",
    ] {
        check_schedule(
            &format!("0 0 * * * @tz({zone})"),
            &format!("error[unknown-zone]: `{zone}` is not a time zone of the IANA database @1:15"),
        );
    }
    check_schedule("0 0 * * * @tz()", "error[missing-argument]: empty parentheses @1:14");
}

/// FAULTS 8: what is no regular file is neither opened nor waited for.
#[test]
fn not_a_file() {
    let place = Place::new();
    place.write("real.kron", GOOD);
    symlink("real.kron", place.at("link.kron")).unwrap();
    symlink("nowhere", place.at("dangling.kron")).unwrap();
    place.make_dir("dir.kron", 0o755);
    let _listener = UnixListener::bind(place.at("socket.kron")).unwrap();
    let made = |program: &str, args: &[&str]| {
        Command::new(program)
            .args(args)
            .current_dir(place.path())
            .stderr(std::process::Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    assert!(made("mkfifo", &["pipe.kron"]));
    let mut rows = vec![
        ("link.kron", "this is a symbolic link"),
        ("dangling.kron", "this is a symbolic link"),
        ("dir.kron", "this is a directory"),
        ("pipe.kron", "this is a pipe"),
        ("socket.kron", "this is a socket"),
    ];
    // The device of /dev/zero: to read it would never end.
    if made("mknod", &["device.kron", "c", "1", "5"]) {
        rows.push(("device.kron", "this is a device"));
    } else {
        skip("no right to make a device");
    }
    for (path, message) in &rows {
        check_refused(&place, path, message);
    }
    // All of them at once, and the good one beside them is counted.
    let output = krontab(&place, &["lint", "."]).exits(1);
    assert_eq!(findings(&output.stdout).len(), rows.len(), "{}", output.stdout);
    assert!(output.stdout.contains("1 job in"), "{}", output.stdout);
    krontab(&place, &["next", "--file", "."]).exits(2);
}

/// FAULTS 8: who may write to a file or to a directory above it decides what
/// runs.
#[test]
fn writable_by_others() {
    let place = Place::new();
    let root = place.path().to_str().unwrap();
    let inner = place.make_dir("inner", 0o755);
    let file = place.write("inner/a.kron", GOOD);
    krontab(&place, &["lint", "inner/a.kron"]).exits(0);
    for mode in [0o666, 0o646, 0o602] {
        set_mode(&file, mode);
        check_refused(&place, "inner/a.kron", "the file may be written to by others");
    }
    set_mode(&file, 0o644);
    set_mode(&inner, 0o777);
    let message = format!("the directory `{root}/inner` may be written to by others");
    check_refused(&place, "inner/a.kron", &message);
    // Sticky: what is in it stays where it is.
    set_mode(&inner, 0o1777);
    krontab(&place, &["lint", "inner/a.kron"]).exits(0);
    krontab(&place, &["next", "--file", "inner/a.kron"]).exits(0);
    // But others can put files there, if it stands for all that are in it.
    let message = format!("the directory `{root}/inner` may be written to by others");
    krontab(&place, &["lint", "inner"]).exits(1).prints(&message);
    krontab(&place, &["next", "--file", "inner"]).exits(2).says(&message);
    // Further up it does not matter.
    let below = place.make_dir("inner/below", 0o755);
    place.write("inner/below/b.kron", GOOD);
    krontab(&place, &["lint", "inner/below"]).exits(0);
    fs::remove_dir_all(below).unwrap();
    // A directory further up.
    set_mode(&inner, 0o755);
    set_mode(place.path(), 0o777);
    let message = format!("the directory `{root}` may be written to by others");
    check_refused(&place, "inner/a.kron", &message);
    set_mode(place.path(), 0o755);
    krontab(&place, &["lint", "inner/a.kron"]).exits(0);
}

/// FAULTS 8: a directory may be reached through links, but not through one
/// that others can turn elsewhere.
#[test]
fn links_on_the_way() {
    let place = Place::new();
    place.make_dir("safe", 0o755);
    place.write("safe/a.kron", GOOD);
    symlink(place.at("safe"), place.at("direct")).unwrap();
    krontab(&place, &["lint", "direct/a.kron"]).exits(0);
    // A link in a directory that anyone may write to, in the middle of the way.
    let open = place.make_dir("open", 0o777);
    symlink(place.at("safe"), open.join("turn")).unwrap();
    symlink(open.join("turn"), place.at("first")).unwrap();
    krontab(&place, &["lint", "open/turn/a.kron"]).exits(1).prints("unsafe-file");
    krontab(&place, &["lint", "first/a.kron"]).exits(1).prints("unsafe-file");
}

/// FAULTS 8: a link of someone else in a sticky directory is theirs to change.
#[test]
fn a_link_of_another_owner() {
    if !need_root() {
        return;
    }
    let place = Place::new();
    place.make_dir("safe", 0o755);
    place.write("safe/a.kron", GOOD);
    let sticky = place.make_dir("sticky", 0o1777);
    symlink(place.at("safe"), sticky.join("theirs")).unwrap();
    lchown(sticky.join("theirs"), Some(NOBODY), Some(NOBODY)).unwrap();
    // Where links are protected, the kernel refuses (2); elsewhere we do.
    let output = krontab(&place, &["lint", "sticky/theirs/a.kron"]);
    assert_ne!(output.status, 0, "{}", output.stdout);
}

/// FAULTS 8: a file or directory of someone else.
#[test]
fn a_wrong_owner() {
    if !need_root() {
        return;
    }
    let place = Place::new();
    let inner = place.make_dir("inner", 0o755);
    let file = place.write("inner/a.kron", GOOD);
    chown(&file, Some(NOBODY), None).unwrap();
    check_refused(&place, "inner/a.kron", "the file belongs to `nobody`, not to `root`");
    chown(&file, Some(4_000_000), None).unwrap();
    check_refused(&place, "inner/a.kron", "the file belongs to user 4000000, not to `root`");
    chown(&file, Some(0), None).unwrap();
    chown(&inner, Some(NOBODY), None).unwrap();
    let message = format!("the directory `{}` belongs to `nobody`, not to `root`", inner.display());
    check_refused(&place, "inner/a.kron", &message);
    chown(&inner, Some(0), None).unwrap();
    // Written to by a group that is not the owner's own.
    chown(&file, None, Some(NOBODY)).unwrap();
    set_mode(&file, 0o664);
    check_refused(&place, "inner/a.kron", "the file may be written to by its group");
    chown(&file, None, Some(0)).unwrap();
    krontab(&place, &["lint", "inner/a.kron"]).exits(0);
}

fn lint_as_nobody(place: &Place, path: &str) -> Output {
    let bin = Place::new();
    Krontab::new(place, &["lint", path]).by_nobody(&bin).run()
}

/// FAULTS 8: what cannot be read ends `lint` with 2, and says which.
#[test]
fn unreadable() {
    let place = Place::new();
    for path in ["missing.kron", "missing/", "missing/a.kron"] {
        let output = krontab(&place, &["lint", path]).exits(2);
        let said =
            format!("error[unreadable]: {}: No such file or directory", path.trim_end_matches('/'));
        assert_eq!(findings(&output.stdout.replace("/: ", ": ")), [said], "{path}");
        krontab(&place, &["next", "--file", path]).exits(2);
    }
    if !need_nobody() {
        return;
    }
    let file = place.write("a.kron", GOOD);
    lint_as_nobody(&place, "a.kron").exits(0);
    set_mode(&file, 0o600);
    let output = lint_as_nobody(&place, "a.kron").exits(2);
    assert_eq!(findings(&output.stdout), ["error[unreadable]: a.kron: Permission denied"]);
    place.make_dir("secret", 0o700);
    place.write("secret/a.kron", GOOD);
    lint_as_nobody(&place, "secret").exits(2).prints("secret: Permission denied");
    lint_as_nobody(&place, "secret/a.kron").exits(2).prints("Permission denied");
}

/// FAULTS 8: `nobody` has a group, but not for itself alone: other accounts
/// have the same one.
#[test]
fn a_group_of_many() {
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let members = accounts.lines().filter(|line| line.split(':').nth(3) == Some("65534"));
    if members.count() < 2 || !need_nobody() {
        return skip("needs an account that shares the group of `nobody`");
    }
    let place = Place::of_nobody().unwrap();
    let file = place.write("a.kron", GOOD);
    chown(&file, Some(NOBODY), Some(NOBODY)).unwrap();
    lint_as_nobody(&place, "a.kron").exits(0);
    set_mode(&file, 0o664);
    lint_as_nobody(&place, "a.kron").exits(1).prints("may be written to by its group");
}

/// FAULTS 9: a file that is replaced all the time is seen in one version or
/// the other.
#[test]
fn replaced_while_read() {
    let place = Place::new();
    let version = |letter: char, count: u32| {
        let entry = |i| format!("0 0 * * * name={letter}{i} command=/bin/true\n");
        (0..count).map(entry).collect::<String>()
    };
    let versions = [version('a', 2000), version('b', 3000)];
    place.write("t.kron", &versions[0]);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for text in versions.iter().cycle() {
                place.write("new", text);
                fs::rename(place.at("new"), place.at("t.kron")).unwrap();
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let seen: Vec<Output> = (0..30).map(|_| krontab(&place, &["lint", "t.kron"])).collect();
        stop.store(true, Ordering::Relaxed);
        for output in seen {
            let whole = ["valid: 2000 jobs in 1 file\n", "valid: 3000 jobs in 1 file\n"];
            assert!(whole.contains(&output.stdout.as_str()), "{output:?}");
        }
    });
}

/// FAULTS 10: what editors and package managers leave behind is no
/// configuration, and neither is a dot file.
#[test]
fn leftovers() {
    let place = Place::new();
    place.make_dir("conf", 0o755);
    place.write("conf/a.kron", GOOD);
    for name in [
        "a.kron~",
        ".a.kron",
        ".a.kron.swp",
        "a.kron.swp",
        "#a.kron#",
        ".#a.kron",
        "#a.kron",
        "4913",
        "a.kron.bak",
        "a.kron.dpkg-new",
        "a.kron.rpmsave",
        "README",
        "a.KRON",
        ".kron",
        "kron",
    ] {
        place.write(&format!("conf/{name}"), "not a schedule\n");
    }
    symlink("nowhere", place.at("conf/.#b.kron")).unwrap();
    let output = krontab(&place, &["lint", "conf"]).exits(0);
    assert_eq!(output.stdout, "valid: 1 job in 1 file\n");
    let output = krontab(&place, &["next", "--file", "conf", "--format", "json"]).exits(0);
    for decision in output.json()["decisions"].as_array().unwrap() {
        assert_eq!(decision["job"], "a");
    }
    // Named outright they are refused, not ignored.
    krontab(&place, &["lint", "conf/a.kron~"]).exits(1).prints("unsafe-file");
    krontab(&place, &["lint", "conf/.a.kron"]).exits(1).prints("unsafe-file");
}

/// FAULTS 11: a user is an account by its name.
#[test]
fn users() {
    for value in ["0", "1000", "0day", "-x", "a/b", "+0"] {
        check_field(
            &format!("user={value}"),
            &format!("error[invalid-value]: `{value}` is not the name of a user @1:41"),
        );
        check_field(
            &format!("group={value}"),
            &format!("error[invalid-value]: `{value}` is not the name of a group @1:42"),
        );
    }
}

/// FAULTS 11: an account that this host does not have may exist where the file
/// is meant for; here nothing runs.
#[test]
fn unknown_users() {
    for (field, message) in [
        ("user=nosuchuser", "warning[unknown-account]: there is no user `nosuchuser` @1:45"),
        ("group=nosuchgroup", "warning[unknown-account]: there is no group `nosuchgroup` @1:46"),
    ] {
        let place = Place::new();
        place.write("t.kron", format!("0 0 * * * name=a command=\"/bin/echo ran\" {field}\n"));
        let message = message.replace(":45", ":47").replace(":46", ":48");
        assert_eq!(lint(&place, 0), message);
        krontab(&place, &["lint", "--deny-warnings", "t.kron"]).exits(1);
        let output = krontab(&place, &["run", "a", "--file", "t.kron"]).exits(1);
        assert_eq!(output.stdout, "");
    }
}

/// FAULTS 34: in a file of one's own, another user is an error.
#[test]
fn a_foreign_user_without_root() {
    if !need_nobody() {
        return;
    }
    let place = Place::of_nobody().unwrap();
    for (field, status) in [("user=nobody", 0), ("user=root", 1), ("user=daemon", 1)] {
        let file = place.write("a.kron", format!("0 0 * * * name=a command=/bin/true {field}\n"));
        chown(&file, Some(NOBODY), Some(NOBODY)).unwrap();
        let output = lint_as_nobody(&place, "a.kron").exits(status);
        if status == 1 {
            let found = findings(&output.stdout);
            assert!(found[0].starts_with("error["), "{found:?}");
            assert!(found[0].ends_with(" @1:41"), "{found:?}");
        }
    }
}

/// The exit codes of `lint`, alone and together: 2 before 1 before 0.
#[test]
fn exit_codes() {
    let place = Place::new();
    place.write("good.kron", GOOD);
    place.write("bad.kron", "60 * * * * name=a command=/bin/true\n");
    place.write("doubtful.kron", "0 0 * * * @win(after,25h) name=a command=/bin/true\n");
    place.write("empty.kron", "");
    for (args, status) in [
        (&["good.kron"][..], 0),
        (&["empty.kron"], 0),
        (&["--deny-warnings", "good.kron"], 0),
        (&["doubtful.kron"], 0),
        (&["--deny-warnings", "doubtful.kron"], 1),
        (&["bad.kron"], 1),
        (&["good.kron", "bad.kron"], 1),
        (&["bad.kron", "good.kron"], 1),
        (&["good.kron", "missing.kron"], 2),
        (&["bad.kron", "missing.kron"], 2),
        (&["--format", "yaml", "good.kron"], 2),
        (&["--nonsense"], 2),
    ] {
        krontab(&place, &[&["lint"], args].concat()).exits(status);
    }
    let output = krontab(&place, &["lint", "good.kron", "bad.kron", "doubtful.kron"]);
    let last = output.stdout.lines().last().unwrap();
    assert_eq!(last, "1 error, 1 warning: 2 jobs in 3 files");
}

/// `--format json` has every key in every finding, and the same exit codes.
#[test]
fn findings_as_json() {
    let place = Place::new();
    place.write("bad.kron", "# é\n0 0 * * * @tz(Europe/Pari) name=a command=x\n");
    let output = krontab(&place, &["lint", "--format", "json", "bad.kron"]).exits(1);
    let json = output.json();
    assert_eq!(json["valid"], false);
    assert_eq!(json["entries"], 0);
    assert_eq!(json["files"], 1);
    assert_eq!(json["errors"], 1);
    assert_eq!(json["warnings"], 0);
    assert_eq!(
        json["findings"],
        serde_json::json!([{
            "severity": "error",
            "category": "ConfigurationError",
            "code": "unknown-zone",
            "path": "bad.kron",
            "line": 2,
            "column": 15,
            "endLine": 2,
            "endColumn": 26,
            "message": "`Europe/Pari` is not a time zone of the IANA database",
            "expected": json["findings"][0]["expected"],
            "found": json["findings"][0]["found"],
            "hint": "did you mean `Europe/Paris`?",
            "field": null,
        }])
    );
    place.write("good.kron", GOOD);
    let json = krontab(&place, &["lint", "--format", "json", "good.kron"]).exits(0).json();
    assert_eq!((&json["valid"], &json["entries"]), (&true.into(), &1.into()));
    assert_eq!(json["findings"], serde_json::json!([]));
    // Also for what has no place, or cannot be read.
    set_mode(&place.at("good.kron"), 0o666);
    for (path, status, code, category) in [
        ("good.kron", 1, "unsafe-file", "ConfigurationError"),
        ("missing.kron", 2, "unreadable", "SystemError"),
    ] {
        let json = krontab(&place, &["lint", "--format", "json", path]).exits(status).json();
        let finding = &json["findings"][0];
        assert_eq!(finding["code"], code);
        assert_eq!(finding["category"], category);
        assert_eq!(finding["path"], path);
        assert!(finding["line"].is_null() && finding["column"].is_null(), "{finding}");
        assert_eq!(json["valid"], false);
    }
    // ERR-08: well formed but senseless is a category of its own.
    place.write("worse.kron", "0 0 * * * @dist(skewLate,shape=0) name=a command=x\n");
    let json = krontab(&place, &["lint", "--format", "json", "worse.kron"]).exits(1).json();
    assert_eq!(json["findings"][0]["category"], "ValidationError");
}

/// A path that is not there is never taken for an empty configuration.
#[test]
fn no_configuration_at_all() {
    let place = Place::new();
    assert!(!Path::new("/nonexistent").exists());
    krontab(&place, &["lint", "/nonexistent"]).exits(2);
    krontab(&place, &["next", "--file", "/nonexistent"]).exits(2);
    place.make_dir("none", 0o755);
    let output = krontab(&place, &["lint", "none"]).exits(0);
    assert_eq!(output.stdout, "valid: 0 jobs in 0 files\n");
}
