//! `krontab add`, `set`, `remove` and `edit`: one entry changes and nothing
//! else; a file is never invalid, never half written, never lost (SYN-44).

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use support::{Krontab, NOBODY, Output, Place, krontab, mode, need_nobody, need_root, set_mode};

/// The entry that most changes are made to.
const BACKUP: &str =
    "0 0 * * * @win(after,3h)   name=backup\tcommand=\"/bin/echo full\"  env=B=2 env=A=1";

/// Comments, odd spacing, a joined line, no line feed at the end.
const FILE: &str = "\
# The jobs of the shop.

# nightly,
# but not always
0 0 * * * @win(after,3h)   name=backup\tcommand=\"/bin/echo full\"  env=B=2 env=A=1

\t# indented
30 7 * * MON \\
    name=report \\
    command=/bin/true
#5 5 * * * name=off command=/bin/true

# the last
0 12 * * * name=noon command=/bin/true";

fn shop() -> Place {
    let place = Place::new();
    place.write("shop.kron", FILE);
    place
}

/// Runs a command on `shop.kron`.
fn change(place: &Place, args: &[&str]) -> Output {
    // Options end where the command begins.
    let (command, rest) = args.split_first().unwrap();
    krontab(place, &[&[command, "--file", "shop.kron"], rest].concat())
}

/// Runs a command that succeeds, and compares the file.
#[track_caller]
fn check(args: &[&str], expected: &str) {
    let place = shop();
    change(&place, args).exits(0);
    assert_eq!(place.read("shop.kron"), expected, "{args:?}");
    assert_eq!(place.names(), ["shop.kron"], "nothing is left behind");
    krontab(&place, &["lint", "shop.kron"]).exits(0);
}

/// Runs a command that is refused; the file stays as it was, the very one.
#[track_caller]
fn check_refused(args: &[&str], status: i32, message: &str) {
    let place = shop();
    let before = fs::metadata(place.at("shop.kron")).unwrap();
    let output = change(&place, args).exits(status).says(message);
    assert_eq!(output.stdout, "", "{args:?}");
    assert_eq!(place.read("shop.kron"), FILE, "{args:?}");
    assert_eq!(fs::metadata(place.at("shop.kron")).unwrap().ino(), before.ino());
    assert_eq!(place.names(), ["shop.kron"], "nothing is left behind");
}

/// `add` puts an entry at the end, on a line of its own.
#[test]
fn add() {
    check(
        &["add", "new", "5 5 * * *", "--", "/bin/true"],
        &format!("{FILE}\n5 5 * * * name=new command=/bin/true\n"),
    );
    check(
        &["add", "new", "5 5 * * * @win(around,10m)", "timeout=1h", "--", "/bin/echo", "a b"],
        &format!(
            "{FILE}\n5 5 * * * @win(around,10m) name=new timeout=1h command=\"/bin/echo 'a b'\"\n"
        ),
    );
}

/// What goes to a shell is written as it is, if it is one word; several are quoted for it.
#[test]
fn add_for_a_shell() {
    check(
        &["add", "new", "5 5 * * *", "shell=true", "--", "echo $HOME | cat"],
        &format!("{FILE}\n5 5 * * * name=new shell=true command=\"echo $HOME | cat\"\n"),
    );
    check(
        &["add", "new", "5 5 * * *", "shell=true", "--", "/bin/echo", "a b"],
        &format!("{FILE}\n5 5 * * * name=new shell=true command=\"/bin/echo 'a b'\"\n"),
    );
}

/// `set` writes the entry anew, its command last; every other line stays.
#[test]
fn set() {
    assert!(FILE.contains(BACKUP));
    let with = |line: &str| FILE.replace(BACKUP, line);
    check(
        &["set", "backup", "schedule=0 1 * * *"],
        &with("0 1 * * * name=backup env=B=2 env=A=1 command=\"/bin/echo full\""),
    );
    check(
        &["set", "backup", "env=A=9", "env=C=3", "timeout=1h"],
        &with(
            "0 0 * * * @win(after,3h) name=backup env=B=2 env=A=9 env=C=3 timeout=1h command=\"/bin/echo full\"",
        ),
    );
    check(
        &["set", "backup", "--unset", "env", "--", "/bin/echo", "it's"],
        &with("0 0 * * * @win(after,3h) name=backup command=\"/bin/echo 'it'\\\\''s'\""),
    );
    // An entry of several lines becomes one; the lines around it stay.
    check(
        &["set", "report", "timeout=1h"],
        &FILE.replace(
            "30 7 * * MON \\\n    name=report \\\n    command=/bin/true",
            "30 7 * * MON name=report timeout=1h command=/bin/true",
        ),
    );
    check(
        &["set", "noon", "schedule=0 13 * * *"],
        &FILE.replace("0 12 * * * name=noon", "0 13 * * * name=noon"),
    );
}

/// The same value once more is no change to what the job is.
#[test]
fn set_twice() {
    let place = shop();
    change(&place, &["set", "backup", "timeout=1h"]).exits(0);
    let once = place.read("shop.kron");
    change(&place, &["set", "backup", "timeout=1h"]).exits(0);
    assert_eq!(place.read("shop.kron"), once);
}

/// A job's name seeds its choices: another name is another job, and it says so.
#[test]
fn rename() {
    let place = shop();
    change(&place, &["set", "noon", "name=midday"]).exits(0).says("identity");
    assert_eq!(place.read("shop.kron"), FILE.replace("name=noon", "name=midday"));
    check_refused(&["set", "noon", "name=backup"], 2, "duplicate-name");
}

/// An entry goes with the comment lines right above it.
#[test]
fn remove() {
    let between = |from: &str, to: &str| {
        let start = FILE.find(from).unwrap();
        let end = start + FILE[start..].find(to).unwrap();
        format!("{}{}", &FILE[..start], &FILE[end..])
    };
    check(&["remove", "backup"], &between("# nightly", "\n\t# indented"));
    check(&["remove", "report"], &between("\t# indented", "#5 5"));
    let place = shop();
    change(&place, &["remove", "noon"]).exits(0).prints("0 12 * * * name=noon command=/bin/true");
    let left = place.read("shop.kron");
    assert_eq!(left.trim_end(), FILE[..FILE.find("# the last").unwrap()].trim_end());
    // The last one: a file without jobs is a file.
    for job in ["backup", "report"] {
        change(&place, &["remove", job]).exits(0);
    }
    assert!(place.read("shop.kron").starts_with("# The jobs of the shop.\n"));
    krontab(&place, &["lint", "shop.kron"]).exits(0).prints("0 jobs in 1 file");
}

/// What would not be valid is not written.
#[test]
fn never_invalid() {
    let newline = "description=a\n0 0 * * * name=evil command=/bin/true";
    for (args, message) in [
        (&["add", "new", "60 * * * *", "--", "/bin/true"][..], "out-of-range"),
        (&["add", "new", "0 0 31 2 *", "--", "/bin/true"], "never-matches"),
        (&["add", "new", "0 0 * *", "--", "/bin/true"], "field-count"),
        (&["add", "new", "", "--", "/bin/true"], "field-count"),
        (&["add", "New Job", "0 0 * * *", "--", "/bin/true"], "is not a name"),
        (&["add", "", "0 0 * * *", "--", "/bin/true"], "error"),
        (&["add", "new", "0 0 * * *"], "there is no command"),
        (&["add", "new", "0 0 * * *", "user=0", "--", "/bin/true"], "is not the name of a user"),
        (&["add", "new", "0 0 * * *", "usr=x", "--", "/bin/true"], "unknown field `usr`"),
        (&["add", "new", "0 0 * * *", "word", "--", "/bin/true"], "is not `field=value`"),
        (&["add", "new", "0 0 * * *", "command=a", "--", "/bin/true"], "given twice"),
        (&["add", "new", "0 0 * * *", newline, "--", "/bin/true"], "control character"),
        (&["add", "new", "0 0 * * *\n1 1 * * *", "--", "/bin/true"], "control character"),
        (&["add", "a\nb", "0 0 * * *", "--", "/bin/true"], "control character"),
        (&["add", "new", "0 0 * * *", "--", "/bin/echo", "a\nb"], "control character"),
        (&["add", "new", "0 0 * * *", "--", "/bin/echo", "a\u{1b}b"], "control character"),
        (&["add", "new", "0 0 * * *", "env=A=1\r", "--", "/bin/true"], "control character"),
        (&["set", "backup", "schedule=*/0 * * * *"], "invalid-step"),
        (&["set", "backup", "schedule=@daily"], "macro"),
        (&["set", "backup", "user="], "has no value"),
        (&["set", "backup", "timeout=0s"], "too short"),
        (&["set", "backup", "--unset", "command"], "no `command`"),
        (&["set", "backup", "--unset", "name"], "no `name`"),
        (&["set", "backup", "--unset", "nonsense"], "unknown field"),
        (&["set", "backup", newline], "control character"),
        (&["set", "backup"], "nothing to set"),
    ] {
        check_refused(args, 2, message);
    }
}

/// A schedule that begins like a comment would make one of the entry, and the
/// job would be gone.
#[test]
fn a_schedule_is_no_comment() {
    for schedule in ["# 0 0 * * *", "#", "#0 0 * * *", " # 0 0 * * *"] {
        check_refused(&["add", "new", schedule, "--", "/bin/true"], 2, "error");
        check_refused(&["set", "noon", &format!("schedule={schedule}")], 2, "error");
    }
}

/// Nor does it bring fields: `next --schedule` does not take them either.
#[test]
fn a_schedule_has_no_fields() {
    for schedule in ["0 0 * * * timeout=1h", "0 0 * * * @win(after,1h) shell=true"] {
        let place = Place::new();
        krontab(&place, &["next", "--schedule", schedule, "--identity", "x"]).exits(2);
        check_refused(&["add", "new", schedule, "--", "/bin/true"], 2, "error");
        check_refused(&["set", "noon", &format!("schedule={schedule}")], 2, "error");
    }
}

/// What is not there, or there already, is 1.
#[test]
fn not_found_or_found() {
    for (args, message) in [
        (&["add", "backup", "5 5 * * *", "--", "/bin/true"][..], "there is a job `backup` already"),
        (&["set", "nothing", "timeout=1h"], "there is no job `nothing`"),
        (&["remove", "nothing"], "there is no job `nothing`"),
        (&["remove", "off"], "there is no job `off`"),
        (&["set", "backup", "--unset", "timeout"], "has no field `timeout`"),
    ] {
        check_refused(args, 1, message);
    }
}

/// What is wrong can be mended, or taken out, as long as nothing else is wrong.
#[test]
fn mend() {
    let bad = "0 7 * * 7 name=bad command=/bin/true\n0 8 * * * name=good command=/bin/true\n";
    let good = "0 8 * * * name=good command=/bin/true\n";
    for (args, expected) in [
        (&["remove", "bad"][..], good.to_string()),
        (&["remove", "HERE/shop.kron:bad"], good.to_string()),
        (
            &["set", "bad", "schedule=0 7 * * SUN"],
            format!("0 7 * * SUN name=bad command=/bin/true\n{good}"),
        ),
    ] {
        let place = Place::new();
        place.write("shop.kron", bad);
        let here = place.at("").display().to_string();
        let args: Vec<String> =
            args.iter().map(|arg| arg.replace("HERE", here.trim_end_matches('/'))).collect();
        change(&place, &args.iter().map(String::as_str).collect::<Vec<_>>()).exits(0);
        assert_eq!(place.read("shop.kron"), expected, "{args:?}");
    }
    // Another is wrong still.
    let place = Place::new();
    place.write("shop.kron", bad);
    change(&place, &["remove", "good"]).exits(2).says("nothing was written");
    assert_eq!(place.read("shop.kron"), bad);
}

/// A file that is invalid already is not touched either.
#[test]
fn an_invalid_file() {
    let bad = "60 * * * * name=bad command=/bin/true\n";
    for args in [&["add", "new", "5 5 * * *", "--", "/bin/true"][..], &["set", "bad", "timeout=1h"]]
    {
        let place = Place::new();
        place.write("shop.kron", bad);
        change(&place, args).exits(2).says("out-of-range");
        assert_eq!(place.read("shop.kron"), bad);
    }
    for bytes in [&b"\xff\n"[..], b"\0\n", b"# a\r\n"] {
        let place = Place::new();
        place.write("shop.kron", bytes);
        change(&place, &["add", "new", "5 5 * * *", "--", "/bin/true"]).exits(2);
        assert_eq!(fs::read(place.at("shop.kron")).unwrap(), bytes);
    }
}

/// `--dry-run` shows the line and writes nothing.
#[test]
fn dry_run() {
    for (args, shown) in [
        (
            &["add", "--dry-run", "new", "5 5 * * *", "--", "/bin/true"][..],
            "5 5 * * * name=new command=/bin/true\nfirst run: ",
        ),
        (
            &["set", "--dry-run", "noon", "timeout=1h"],
            "0 12 * * * name=noon timeout=1h command=/bin/true\nfirst run: ",
        ),
        (
            &["remove", "--dry-run", "noon"],
            "would remove: 0 12 * * * name=noon command=/bin/true\n",
        ),
    ] {
        let place = shop();
        let output = change(&place, args).exits(0);
        assert!(output.stdout.starts_with(shown), "{}", output.stdout);
        assert!(!output.stdout.contains("krond reload"), "{}", output.stdout);
        assert_eq!(place.read("shop.kron"), FILE, "{args:?}");
        assert_eq!(place.names(), ["shop.kron"]);
    }
    // Nor does it make directories or files.
    let place = Place::new();
    let args = ["add", "--dry-run", "--file", "a/b/c.kron", "x", "0 0 * * *", "--", "/bin/true"];
    krontab(&place, &args).exits(0);
    assert!(place.names().is_empty());
    check_refused(&["add", "--dry-run", "new", "60 * * * *", "--", "/bin/true"], 2, "out-of-range");
}

/// FAULTS 8: what must not be read must not be written to either.
#[test]
fn unsafe_places() {
    let add = ["add", "new", "5 5 * * *", "--", "/bin/true"];
    let place = shop();
    set_mode(&place.at("shop.kron"), 0o666);
    for args in [&add[..], &["set", "noon", "timeout=1h"], &["remove", "noon"]] {
        change(&place, args).exits(2).says("may be written to by others");
        assert_eq!(place.read("shop.kron"), FILE);
    }
    let place = shop();
    set_mode(place.path(), 0o777);
    change(&place, &add).exits(2).says("may be written to by others");
    assert_eq!(place.read("shop.kron"), FILE);
    // A new file in such a directory.
    let args = ["add", "--file", "new.kron", "new", "5 5 * * *", "--", "/bin/true"];
    krontab(&place, &args).exits(2).says("may be written to by others");
    assert_eq!(place.names(), ["shop.kron"]);
    set_mode(place.path(), 0o755);
    // A link stays a link, and what it points to stays.
    fs::rename(place.at("shop.kron"), place.at("real.kron")).unwrap();
    symlink("real.kron", place.at("shop.kron")).unwrap();
    for args in [&add[..], &["set", "noon", "timeout=1h"], &["remove", "noon"]] {
        change(&place, args).exits(2).says("symbolic link");
    }
    assert_eq!(place.read("real.kron"), FILE);
    assert!(place.at("shop.kron").is_symlink());
    // A dangling one is no new file.
    symlink("nowhere.kron", place.at("dangling.kron")).unwrap();
    let args = ["add", "--file", "dangling.kron", "new", "5 5 * * *", "--", "/bin/true"];
    krontab(&place, &args).exits(2).says("symbolic link");
    assert!(!place.at("nowhere.kron").exists());
    // A name that would never be read.
    for name in ["jobs.txt", ".jobs.kron", "jobs"] {
        let args = ["add", "--file", name, "new", "5 5 * * *", "--", "/bin/true"];
        krontab(&place, &args).exits(2).says("rename");
        assert!(!place.at(name).exists());
    }
}

/// Mode and owner of a file are what they were.
#[test]
fn mode_and_owner_stay() {
    for kept in [0o600, 0o640, 0o644, 0o444, 0o400] {
        let place = shop();
        let file = place.at("shop.kron");
        set_mode(&file, kept);
        change(&place, &["set", "noon", "timeout=1h"]).exits(0);
        assert_eq!(mode(&file), kept);
    }
    if !need_root() {
        return;
    }
    let place = shop();
    let file = place.at("shop.kron");
    set_mode(&file, 0o640);
    chown(&file, None, Some(NOBODY)).unwrap();
    change(&place, &["set", "noon", "timeout=1h"]).exits(0);
    change(&place, &["add", "new", "5 5 * * *", "--", "/bin/true"]).exits(0);
    let now = fs::metadata(&file).unwrap();
    assert_eq!((now.uid(), now.gid(), mode(&file)), (0, NOBODY, 0o640));
}

/// Whatever the mask, a new file is nobody else's to change.
#[test]
fn a_new_file_is_safe() {
    for mask in ["000", "022", "077"] {
        let place = Place::new();
        let args = ["add", "--file", "sub/new.kron", "x", "0 0 * * *", "--", "/bin/true"];
        let wrapper = ["sh", "-c", &format!("umask {mask}; exec \"$@\""), "sh"];
        Krontab::new(&place, &args).through(&wrapper).run().exits(0);
        assert_eq!(mode(&place.at("sub/new.kron")) & 0o022, 0, "{mask}");
        assert_eq!(mode(&place.at("sub")) & 0o022, 0, "{mask}");
        krontab(&place, &["lint", "sub"]).exits(0);
    }
}

/// A reader sees the file before or after a change, and nothing in between.
#[test]
fn atomic() {
    let place = shop();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let now = place.read("shop.kron");
                if seen.last() != Some(&now) {
                    seen.push(now);
                }
            }
            seen
        });
        for i in 0..20 {
            change(&place, &["set", "noon", &format!("description=no {i}")]).exits(0);
        }
        stop.store(true, Ordering::Relaxed);
        for seen in reader.join().unwrap() {
            let whole = |text: &str| text.starts_with("# The jobs") && text.contains("name=noon");
            assert!(whole(&seen) && seen.len() >= FILE.len(), "{seen}");
        }
    });
    assert!(place.read("shop.kron").contains("description=\"no 19\""));
    assert_eq!(place.names(), ["shop.kron"]);
}

/// Two at a time, twenty times: nothing is lost.
#[test]
fn two_at_once() {
    let place = shop();
    thread::scope(|scope| {
        for writer in ["x", "y"] {
            let place = &place;
            scope.spawn(move || {
                for i in 0..20 {
                    let name = format!("{writer}{i}");
                    change(place, &["add", &name, "5 5 * * *", "--", "/bin/true"]).exits(0);
                }
            });
        }
    });
    let text = place.read("shop.kron");
    assert!(text.starts_with(FILE));
    for writer in ["x", "y"] {
        for i in 0..20 {
            let line = format!("5 5 * * * name={writer}{i} command=/bin/true\n");
            assert_eq!(text.matches(&line).count(), 1, "{line}");
        }
    }
    assert_eq!(place.names(), ["shop.kron"]);
    krontab(&place, &["lint", "shop.kron"]).exits(0).prints("43 jobs");
}

/// Also if there is nothing yet that both could hold on to.
#[test]
fn two_at_once_anew() {
    for _ in 0..20 {
        let place = Place::new();
        let both = ["x", "y"].map(|name| {
            let args = ["add", "--file", "a/b/new.kron", name, "5 5 * * *", "--", "/bin/true"];
            Krontab::new(&place, &args).start()
        });
        for running in both {
            running.end().exits(0);
        }
        krontab(&place, &["lint", "a/b/new.kron"]).exits(0).prints("2 jobs");
    }
}

/// The same name from two at once: one gets it.
#[test]
fn the_same_name_at_once() {
    for _ in 0..5 {
        let place = shop();
        let args = ["add", "--file", "shop.kron", "new", "5 5 * * *", "--", "/bin/true"];
        let both = [(); 2].map(|()| Krontab::new(&place, &args).start());
        let mut codes = both.map(|running| running.end().status);
        codes.sort_unstable();
        assert_eq!(codes, [0, 1]);
        krontab(&place, &["lint", "shop.kron"]).exits(0).prints("4 jobs");
    }
}

/// SYN-44: what `add` writes is what everything else reads: the time it names
/// is the one that `next` shows, by name and by identity.
#[test]
fn the_first_run() {
    let place = shop();
    let identity = format!("{}:new", place.at("shop.kron").display());
    let schedule = "17 3 * * * @tz(America/New_York) @win(around,90m) @dist(normal)";
    let next = |args: &[&str]| {
        let args = [&["next", "-n", "1", "--format", "json"], args].concat();
        let json = krontab(&place, &args).exits(0).json();
        json["decisions"][0]["chosenTime"].as_str().unwrap().to_string()
    };
    let by_schedule = ["--schedule", schedule, "--identity", &identity];
    // Once more if the moment came between two looks at the clock.
    let (said, read) = loop {
        let before = next(&by_schedule);
        let output = change(&place, &["add", "new", schedule, "--", "/bin/true"]).exits(0);
        let read = next(&["new", "--file", "shop.kron"]);
        let (_, said) = output.stdout.split_once("first run: ").unwrap();
        if before == next(&by_schedule) {
            break (said.split(' ').next().unwrap().to_string(), (before, read));
        }
        change(&place, &["remove", "new"]).exits(0);
    };
    assert_eq!((said.clone(), said), read);
    let shown = krontab(&place, &["show", "new", "--file", "shop.kron", "--format", "json"]);
    let shown = shown.exits(0).json();
    assert_eq!(shown["identity"], identity.as_str());
    assert_eq!(shown["command"], serde_json::json!(["/bin/true"]));
    assert_eq!(shown["timezone"], "America/New_York");
}

/// A suspended job has no first run, and that is said.
#[test]
fn a_suspended_job() {
    let place = shop();
    let schedule = "0 0 * * * @policy(suspend=true)";
    let output = change(&place, &["add", "new", schedule, "--", "/bin/true"]).exits(0);
    assert!(output.stdout.contains("suspended"), "{}", output.stdout);
}

/// Values come back exactly as they were given, whatever is in them.
#[test]
fn values_survive() {
    for value in [
        "plain",
        "two words",
        "  blanks around  ",
        "tab\there",
        "\"quoted\"",
        "it's",
        "back\\slash",
        "ends with \\",
        "\\\"",
        "\\\\\"",
        "%d %%",
        "$HOME `id` $(id)",
        "# no comment",
        "@win(after,1h)",
        "a=b=c",
        "name=x",
        "Grüße, 世界 🌍",
        "*?[a-z]{x,y}~",
        "; & | > <",
        "-",
        "--file",
    ] {
        let place = shop();
        let description = format!("description={value}");
        let env = format!("env=VALUE={value}");
        change(
            &place,
            &["add", "new", "5 5 * * *", &description, &env, "--", "/bin/echo", value, "", value],
        )
        .exits(0);
        let shown = krontab(&place, &["show", "new", "--file", "shop.kron", "--format", "json"]);
        let shown = shown.exits(0).json();
        assert_eq!(shown["description"], value);
        assert_eq!(shown["env"]["VALUE"], value);
        assert_eq!(shown["command"], serde_json::json!(["/bin/echo", value, "", value]));
        // As a text for a shell, and through `set`.
        change(&place, &["set", "new", "shell=true", &format!("command=x {value}")]).exits(0);
        let shown = krontab(&place, &["show", "new", "--file", "shop.kron", "--format", "json"]);
        let shown = shown.exits(0).json();
        assert_eq!(shown["command"], format!("x {value}").as_str());
        assert_eq!(shown["description"], value);
        assert!(place.read("shop.kron").starts_with(FILE));
    }
}

/// A job is found by its whole identity, too.
#[test]
fn by_identity() {
    let place = shop();
    let identity = format!("{}:noon", place.at("shop.kron").display());
    change(&place, &["set", &identity, "timeout=1h"]).exits(0);
    assert!(place.read("shop.kron").contains("name=noon timeout=1h command=/bin/true"));
    change(&place, &["remove", &identity]).exits(0);
    assert!(!place.read("shop.kron").contains("name=noon"));
}

/// Edits `shop.kron` with a shell script as the editor; `$1` is the copy.
fn edit(place: &Place, tools: &Place, script: &str) -> Output {
    tools.write("editor", format!("set -e\n{script}\n"));
    let editor = format!("sh {}", tools.at("editor").display());
    let temporary = tools.at("tmp");
    fs::create_dir_all(&temporary).unwrap();
    Krontab::new(place, &["edit", "shop.kron"])
        .env("EDITOR", &editor)
        .env("TMPDIR", temporary.to_str().unwrap())
        .run()
}

/// What an editor does to a file, and what becomes of it.
#[track_caller]
fn check_edit(script: &str, status: i32, said: &str, expected: &str) {
    let (place, tools) = (shop(), Place::new());
    let output = edit(&place, &tools, script).exits(status);
    assert!((output.stdout.clone() + &output.stderr).contains(said), "{output:?}");
    assert_eq!(place.read("shop.kron"), expected, "{script}");
    assert_eq!(place.names(), ["shop.kron"]);
    // What somebody wrote is kept when it cannot be used.
    let kept = usize::from(output.stderr.contains("your version is kept in"));
    assert_eq!(kept, usize::from(status == 2 && !said.contains("No such file")), "{script}");
    assert_eq!(support::names(&tools.at("tmp")).len(), kept, "{script}");
}

/// Each way an editor can end, with or without a change.
#[test]
fn edit_outcomes() {
    let changed = FILE.replace("0 12 * * *", "0 13 * * *");
    check_edit("sed -i 's/^0 12 /0 13 /' \"$1\"", 0, "wrote", &changed);
    // As most editors do: a new file in place of the old one.
    check_edit(
        "sed 's/^0 12 /0 13 /' \"$1\" > \"$1.new\"; mv \"$1.new\" \"$1\"",
        0,
        "wrote",
        &changed,
    );
    check_edit(":", 0, "nothing changed", FILE);
    check_edit("touch \"$1\"", 0, "nothing changed", FILE);
    check_edit("echo '60 * * * * name=x command=y' > \"$1\"", 2, "out-of-range", FILE);
    check_edit("printf '\\377' > \"$1\"", 2, "not valid UTF-8", FILE);
    check_edit("sed -i 's/$/\\r/' \"$1\"", 2, "carriage-return", FILE);
    check_edit("echo x > \"$1\"; exit 1", 1, "failed, so nothing was written", FILE);
    check_edit("kill -TERM $$", 1, "failed, so nothing was written", FILE);
    check_edit("rm \"$1\"", 2, "No such file", FILE);
}

/// An empty file has no jobs, which may be meant.
#[test]
fn edit_to_nothing() {
    check_edit(": > \"$1\"", 0, "wrote", "");
}

/// The copy is private, and has the name of the file, for editors that know
/// the format by its ending.
#[test]
fn edit_copy() {
    let (place, tools) = (shop(), Place::new());
    let seen = tools.at("seen");
    let script = format!(
        "{{ basename \"$1\"; stat -c %a \"$1\"; stat -c %a \"$(dirname \"$1\")\"; }} > {}",
        seen.display()
    );
    edit(&place, &tools, &script).exits(0);
    assert_eq!(tools.read("seen"), "shop.kron\n600\n700\n");
}

/// Mode and owner stay here, too.
#[test]
fn edit_keeps_mode() {
    let (place, tools) = (shop(), Place::new());
    set_mode(&place.at("shop.kron"), 0o640);
    edit(&place, &tools, "sed -i 's/^0 12 /0 13 /' \"$1\"").exits(0);
    assert_eq!(mode(&place.at("shop.kron")), 0o640);
}

/// A file that changed under one's hands is not overwritten; neither is the
/// work lost.
#[test]
fn edit_meanwhile() {
    let (place, tools) = (shop(), Place::new());
    let other = "9 9 * * * name=other command=/bin/true";
    let script = format!(
        "echo '8 8 * * * name=mine command=/bin/true' > \"$1\"; echo '{other}' > {}",
        place.at("shop.kron").display()
    );
    let output = edit(&place, &tools, &script).exits(1).says("was changed meanwhile");
    assert_eq!(place.read("shop.kron"), format!("{other}\n"));
    let (_, kept) = output.stderr.split_once("kept in ").unwrap();
    let kept = fs::read_to_string(kept.trim()).unwrap();
    assert_eq!(kept, "8 8 * * * name=mine command=/bin/true\n");
}

/// Nothing of an unsafe file is even shown to an editor.
#[test]
fn edit_refused() {
    let (place, tools) = (shop(), Place::new());
    set_mode(&place.at("shop.kron"), 0o666);
    edit(&place, &tools, "echo x > \"$1\"").exits(2).says("may be written to by others");
    assert_eq!(place.read("shop.kron"), FILE);
    fs::remove_file(place.at("shop.kron")).unwrap();
    place.write("real.kron", FILE);
    symlink("real.kron", place.at("shop.kron")).unwrap();
    edit(&place, &tools, "echo x > \"$1\"").exits(2).says("symbolic link");
    assert_eq!(place.read("real.kron"), FILE);
}

/// The editor may have arguments; `VISUAL` comes before `EDITOR`.
#[test]
fn editors() {
    let place = shop();
    let tools = Place::new();
    let script = tools.write("my editor", "test \"$1\" = -x && sed -i 's/^0 12 /0 14 /' \"$2\"\n");
    let visual = format!("sh '{}' -x", script.display());
    let krontab = |editor: &str, visual: &str| {
        Krontab::new(&place, &["edit", "shop.kron"])
            .env("EDITOR", editor)
            .env("VISUAL", visual)
            .run()
    };
    krontab("false", &visual).exits(0);
    assert_eq!(place.read("shop.kron"), FILE.replace("0 12 * * *", "0 14 * * *"));
    krontab("false", "").exits(1).says("`false` failed");
    krontab(":", " ").exits(0).prints("nothing changed");
    krontab("/nonexistent/editor", "").exits(1).says("EDITOR");
}

/// A new file begins with an explanation, which alone is not worth a file.
#[test]
fn edit_anew() {
    let (place, tools) = (Place::new(), Place::new());
    edit(&place, &tools, ":").exits(0).prints("nothing changed");
    assert!(place.names().is_empty());
    let script = "grep -q '^#.*name=backup' \"$1\"; ! grep -qv '^#' \"$1\"; \
                  echo '0 0 * * * name=a command=/bin/true' >> \"$1\"";
    edit(&place, &tools, script).exits(0).prints("wrote");
    let text = place.read("shop.kron");
    assert!(text.starts_with('#') && text.ends_with("0 0 * * * name=a command=/bin/true\n"));
    krontab(&place, &["lint", "shop.kron"]).exits(0).prints("1 job");
}

/// Without root, jobs are kept in one's own configuration; what is missing of
/// the way there is made.
#[test]
fn where_jobs_of_a_user_are_kept() {
    if !need_nobody() {
        return;
    }
    let bin = Place::new();
    let run = |place: &Place, xdg: Option<&Path>, args: &[&str]| {
        let mut krontab = Krontab::new(place, args).by_nobody(&bin);
        if let Some(xdg) = xdg {
            krontab = krontab.env("XDG_CONFIG_HOME", xdg.to_str().unwrap());
        }
        krontab.run()
    };
    let add = ["add", "mine", "0 0 * * *", "--", "/bin/true"];
    let line = "0 0 * * * name=mine command=/bin/true\n";
    let home = Place::of_nobody().unwrap();
    run(&home, None, &add).exits(0);
    assert_eq!(home.read(".config/krond/jobs.kron"), line);
    let made = fs::metadata(home.at(".config/krond/jobs.kron")).unwrap();
    assert_eq!((made.uid(), made.mode() & 0o022), (NOBODY, 0));
    run(&home, None, &["lint"]).exits(0).prints("1 job in 1 file");
    run(&home, None, &["list"]).exits(0).prints("mine");
    run(&home, None, &["set", "mine", "timeout=1h"]).exits(0);
    run(&home, None, &["remove", "mine"]).exits(0);
    assert_eq!(home.read(".config/krond/jobs.kron"), "");
    let home = Place::of_nobody().unwrap();
    let xdg = home.at("settings");
    run(&home, Some(&xdg), &add).exits(0);
    assert_eq!(home.read("settings/krond/jobs.kron"), line);
    assert_eq!(home.names(), ["settings"]);
    // A job is changed where it is, whichever file that is.
    fs::rename(home.at("settings/krond/jobs.kron"), home.at("settings/krond/z.kron")).unwrap();
    run(&home, Some(&xdg), &["set", "mine", "timeout=1h"]).exits(0);
    assert_eq!(support::names(&home.at("settings/krond")), ["z.kron"]);
    // A home that cannot be written to.
    let home = Place::new();
    run(&home, None, &add).exits(4).says("Permission denied");
    assert!(home.names().is_empty());
}

/// FAULTS 34, SYN-44: without root a job of someone else is an error, so it is
/// not written either.
#[test]
fn a_job_of_another_user() {
    if !need_nobody() {
        return;
    }
    let (place, bin) = (Place::of_nobody().unwrap(), Place::new());
    let file = place.write("shop.kron", FILE);
    chown(&file, Some(NOBODY), Some(NOBODY)).unwrap();
    for args in [
        &["add", "--file", "shop.kron", "new", "5 5 * * *", "user=root", "--", "/bin/true"][..],
        &["set", "--file", "shop.kron", "noon", "user=root"],
    ] {
        let output = Krontab::new(&place, args).by_nobody(&bin).run();
        let _ = output.exits(2).says("only root may run something as `root`");
        assert_eq!(place.read("shop.kron"), FILE);
    }
}

/// Without a place for the copy nothing happens; it is that place that is named.
#[test]
fn edit_without_a_place() {
    let place = shop();
    let output = Krontab::new(&place, &["edit", "shop.kron"])
        .env("EDITOR", "true")
        .env("TMPDIR", "/nonexistent/tmp")
        .run();
    let _ = output.exits(4).says("/nonexistent/tmp");
    assert_eq!(place.read("shop.kron"), FILE);
}

/// A disk that is full: nothing is changed, and the code says so.
#[test]
fn no_room() {
    let place = shop();
    let args = ["set", "--file", "shop.kron", "noon", "timeout=1h"];
    // Files may have one block of 512 bytes at most; the new one would have more.
    let text = format!("{FILE}\n{}", "# padding\n".repeat(100));
    place.write("shop.kron", &text);
    let wrapper = ["sh", "-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh"];
    Krontab::new(&place, &args).through(&wrapper).run().exits(4);
    assert_eq!(place.read("shop.kron"), text);
    assert_eq!(place.names(), ["shop.kron"], "nothing is left behind");
}
