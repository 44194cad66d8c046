//! Taking possession of a state directory, and looking up what is in it.

mod support;

use kron_engine::commit::{Batch, Found, RosterLine};
use krond::store::{Options, Reason, Step, Store, StoreError, Warning};
use nix::errno::Errno;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use support::{Place, Script, batch, identity, kept, now, seen};

fn open(path: &Path) -> Result<(Store, Vec<Warning>), StoreError> {
    Store::open(path, Options::at(now()))
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The one problem of a refusal, as text.
fn refusal<T>(result: Result<T, StoreError>) -> String {
    match result.map(|_| ()).unwrap_err() {
        StoreError::Refused(problems) if problems.len() == 1 => problems[0].to_string(),
        other => panic!("{other}"),
    }
}

#[test]
fn the_default_place() {
    // STA-01.
    assert_eq!(krond::store::DEFAULT_DIRECTORY, "/var/lib/krond");
}

#[test]
fn directories_that_are_not_ours_alone_are_refused() {
    // STA-35, fault 15.
    let place = Place::new();
    fs::create_dir(place.path()).unwrap();
    for (mode, expected) in
        [(0o777, None), (0o770, None), (0o720, None), (0o755, Some(0o755)), (0o750, Some(0o750))]
    {
        chmod(&place.path(), mode);
        match expected {
            None => assert!(
                refusal(open(&place.path())).contains("others may write to it; `chmod go-w ")
            ),
            Some(mode) => {
                let (_store, warnings) = open(&place.path()).unwrap();
                assert_eq!(warnings, [Warning::Tightened { path: place.path(), mode }]);
                let now = fs::metadata(place.path()).unwrap().permissions().mode();
                assert_eq!(now & 0o7777, 0o700);
            }
        }
    }
    let link = place.path().with_extension("link");
    symlink(place.path(), &link).unwrap();
    assert!(refusal(open(&link)).contains("this is a symbolic link"));
    let file = place.path().with_extension("file");
    fs::write(&file, "").unwrap();
    assert!(refusal(open(&file)).contains("looking at the directory failed"));
    // What cannot be made is not something to look at.
    let below = file.join("state");
    let refused = refusal(open(&below));
    assert!(refused.contains("making the directory failed: Not a directory"), "{refused}");
    if nix::unistd::geteuid().is_root() {
        std::os::unix::fs::chown(place.path(), Some(12345), None).unwrap();
        assert!(refusal(open(&place.path())).contains("another user owns it"));
    }
}

#[test]
fn files_that_are_not_ours_alone_are_refused_all_at_once() {
    // ERR-17, STA-06, STA-32, ERR-24, faults 14, 15, 19.
    let place = Place::new();
    let store = place.open();
    store.commit(&batch(12, 0)).unwrap();
    let path = |job| store.path_of(&identity(job));
    let text = fs::read_to_string(path(0)).unwrap();
    chmod(&path(1), 0o620);
    fs::rename(path(2), path(2).with_extension("real")).unwrap();
    symlink(path(2).with_extension("real"), path(2)).unwrap();
    fs::remove_file(path(3)).unwrap();
    fs::create_dir(path(3)).unwrap();
    chmod(&path(3), 0o700);
    fs::write(path(4), text.replace("\"1\"", "\"2\"")).unwrap();
    let text = text.replace("job-000000", "job-000006");
    fs::copy(path(0), path(5)).unwrap();
    fs::write(path(6), text.replace("LastOutcome", "LastOutcom")).unwrap();
    fs::write(path(7), "not JSON").unwrap();
    fs::write(path(8), vec![b' '; 17 << 20]).unwrap();
    fs::remove_file(path(9)).unwrap();
    nix::unistd::mkfifo(&path(9), nix::sys::stat::Mode::S_IRUSR).unwrap();
    let all: Vec<_> = (0..12).map(identity).collect();
    let Err(StoreError::Refused(problems)) = store.load(&all, now()) else { panic!("accepted") };
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let expected = [
        (1, "others may write to it", "PersistenceError"),
        (2, "this is a symbolic link", "PersistenceError"),
        (3, "this is not a file", "PersistenceError"),
        (4, "`Version` is `2`", "IncompatibleStateError"),
        (
            5,
            "`Identity` is `/etc/krond.d/shop.kron:job-000000`, another job",
            "IncompatibleStateError",
        ),
        (6, "`LastOutcome` is missing", "IncompatibleStateError"),
        (8, "17825792 bytes; at most 16777216", "PersistenceError"),
        (9, "this is not a file", "PersistenceError"),
    ];
    assert_eq!(problems.len(), expected.len(), "{said:#?}");
    for (problem, (job, message, category)) in problems.iter().zip(expected) {
        assert_eq!(problem.identity, Some(identity(job)));
        assert_eq!(problem.path, path(job));
        assert!(problem.to_string().contains(message), "{problem}");
        assert_eq!(problem.category(), category, "{problem}");
    }
    // Nothing was changed: the damaged one is still where it was.
    assert_eq!(fs::read(path(7)).unwrap(), b"not JSON");
}

#[test]
fn files_that_cannot_be_read_are_not_absent() {
    // ERR-17.
    let place = Place::new();
    place.open().commit(&batch(2, 0)).unwrap();
    for step in [Step::Open, Step::Read] {
        for errno in [Errno::EIO, Errno::EACCES, Errno::EMFILE] {
            let script = Arc::new(Script::default());
            let store = place.options(|options| options.fault = Some(script.clone()));
            *script.only.lock().unwrap() = Some(step);
            script.fail(1, errno as i32);
            let Err(StoreError::Refused(problems)) = store.load(&[identity(0), identity(1)], now())
            else {
                panic!("{step:?} {errno} was passed over")
            };
            assert!(matches!(&problems[0].reason, Reason::Failed { step: at, error }
                if *at == step && error.raw_os_error() == Some(errno as i32)));
        }
    }
}

#[test]
fn damaged_files_are_moved_aside_and_none_is_lost() {
    // STA-30, STA-31, fault 13.
    let place = Place::new();
    let store = place.open();
    for (round, damage) in ["", "{\"Version\": \"1\"", "\0\0\0", "krond"].into_iter().enumerate() {
        store.commit(&batch(2, round)).unwrap();
        let path = store.path_of(&identity(0));
        fs::write(&path, damage).unwrap();
        let loaded = store.load(&[identity(0), identity(1)], now()).unwrap();
        let found = &loaded.found[0];
        let number = if round == 0 { String::new() } else { format!("-{}", round + 1) };
        let aside = format!("{}.corrupt.20260301T120000Z{number}", path.display());
        assert_eq!(found.quarantined.as_deref(), Some(&*aside));
        assert_eq!(found.kept, None);
        assert!(found.roster.as_ref().unwrap().has_file);
        assert_eq!(loaded.found[1].kept, Some(kept(round)));
        assert!(matches!(&loaded.warnings[..], [Warning::Quarantined { .. }]));
        assert_eq!(fs::read_to_string(aside).unwrap(), damage);
        assert!(!path.exists());
        // It is missed from now on, not new.
        let found = store.load(&[identity(0)], now()).unwrap().found.remove(0);
        assert!(found.kept.is_none() && found.roster.unwrap().has_file);
    }
}

#[test]
fn a_missing_file_is_a_new_job_or_a_vanished_one() {
    // STA-29; the roster tells them apart.
    let place = Place::new();
    let store = place.open();
    store.commit(&Batch { jobs: vec![], roster: vec![seen(1)] }).unwrap();
    store.commit(&batch(1, 0)).unwrap();
    fs::remove_file(store.path_of(&identity(0))).unwrap();
    drop(store);
    let found = place.open().load(&[0, 1, 2].map(identity), now()).unwrap().found;
    let vanished = found[0].roster.as_ref().unwrap();
    assert!(vanished.has_file && vanished.seen.is_some() && !vanished.gone);
    assert_eq!(found[1].roster.as_ref().unwrap().seen.unwrap().not_before, now());
    assert!(!found[1].roster.as_ref().unwrap().has_file);
    assert_eq!(found[2], Found::default());
}

#[test]
fn leftovers_are_removed_and_nothing_else() {
    // Fault 20.
    let place = Place::new();
    place.open().commit(&batch(1, 0)).unwrap();
    let name = place.names().remove(0);
    let stay = ["notes.tmp", "x.json.tmp", "backup.json"];
    let go = [format!("{name}.tmp"), "roster.tmp".into()];
    for leftover in stay.iter().copied().chain(go.iter().map(String::as_str)) {
        fs::write(place.path().join(leftover), "{").unwrap();
    }
    let store = place.open();
    let names = place.names();
    assert!(stay.iter().all(|name| names.contains(&String::from(*name))), "{names:?}");
    assert!(go.iter().all(|name| !names.contains(name)), "{names:?}");
    assert_eq!(store.load(&[identity(0)], now()).unwrap().found[0].kept, Some(kept(0)));
}

// --- the roster ---------------------------------------------------------------

#[test]
fn a_torn_roster_loses_its_last_line_only() {
    let place = Place::new();
    place.open().commit(&Batch { jobs: vec![], roster: vec![seen(0), seen(1)] }).unwrap();
    let path = place.path().join("roster");
    let whole = fs::read(&path).unwrap();
    let second = whole.len() - whole.iter().rev().skip(1).position(|b| *b == b'\n').unwrap() - 1;
    for end in [second + 1, second + 30, whole.len() - 1] {
        fs::write(&path, &whole[..end]).unwrap();
        let (store, warnings) = place.open_warned();
        let bytes = (end - second) as u64;
        assert_eq!(warnings, [Warning::RosterTorn { path: path.clone(), bytes }]);
        let found = store.load(&[identity(0), identity(1)], now()).unwrap().found;
        assert!(found[0].roster.is_some() && found[1].roster.is_none());
        // What is appended now is a line of its own.
        store.commit(&Batch { jobs: vec![], roster: vec![seen(1)] }).unwrap();
        drop(store);
        assert_eq!(fs::read(&path).unwrap(), whole);
        place.open();
    }
}

#[test]
fn a_damaged_roster_is_moved_aside() {
    let place = Place::new();
    place.open().commit(&batch(1, 0)).unwrap();
    let path = place.path().join("roster");
    let whole = fs::read_to_string(&path).unwrap();
    let damaged = [
        String::new(),
        whole.replace("\"Seen\"", "\"Sen\""),
        whole.replace("NotBefore", "Not\0Before"),
        format!("\0\0\n{whole}"),
        whole.replacen("{\"Roster\":\"1\"}\n", "", 1),
        format!("{whole}{}\n", "x".repeat(1 << 20)),
    ];
    for (round, text) in damaged.into_iter().enumerate() {
        fs::write(&path, &text).unwrap();
        let (store, warnings) = place.open_warned();
        let [Warning::RosterQuarantined { path: aside, .. }] = &warnings[..] else {
            panic!("{round}: {warnings:?}")
        };
        assert_eq!(fs::read_to_string(aside).unwrap(), text);
        // A job with a file is known by its file, and from now on to the roster.
        let found = store.load(&[identity(0), identity(1)], now()).unwrap().found;
        assert_eq!(found[0].kept, Some(kept(0)));
        assert_eq!(found[1], Found::default());
        drop(store);
        let found = place.open().load(&[identity(0)], now()).unwrap().found;
        assert!(found[0].roster.as_ref().unwrap().has_file, "round {round}");
    }
    fs::write(&path, "{\"Roster\":\"2\"}\n").unwrap();
    assert!(refusal(open(&place.path())).contains("`Version` is `2`"));
    fs::remove_file(&path).unwrap();
    symlink("elsewhere", &path).unwrap();
    assert!(refusal(open(&place.path())).contains("this is a symbolic link"));
}

#[test]
fn a_long_roster_is_rewritten_and_says_the_same() {
    let place = Place::new();
    let store = place.open();
    for _ in 0..3 {
        let mut roster: Vec<RosterLine> = (0..1000).map(seen).collect();
        roster.push(RosterLine::HasFile(identity(7)));
        roster.push(RosterLine::Gone(identity(7)));
        roster.push(RosterLine::Gone(identity(8)));
        roster.push(seen(9));
        store.commit(&Batch { jobs: vec![], roster }).unwrap();
    }
    let all: Vec<_> = (0..1000).map(identity).collect();
    let before = store.load(&all, now()).unwrap().found;
    drop(store);
    let path = place.path().join("roster");
    let lines = || fs::read_to_string(&path).unwrap().lines().count();
    assert_eq!(lines(), 3013);
    drop(place.open());
    assert_eq!(lines(), 1002);
    let mut after = place.open().load(&all, now()).unwrap().found;
    // Gone without ever having had a file: as good as never seen.
    assert_eq!(after[8].roster, None);
    after[8].roster.clone_from(&before[8].roster);
    assert_eq!(after, before);
}

fn change_roster(path: &Path, change: fn(String) -> String) {
    let path = path.join("roster");
    fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
}

/// Fault 16: whatever fails while a directory is opened and put right, with each error. It is
/// told; once it is gone, all is found, and what was left is put right.
#[test]
fn a_fault_while_opening_costs_nothing() {
    type Left = (&'static [Step], fn(&Path));
    let left: [Left; 4] = [
        // A commit that was cut short, and a file that was to be used again.
        (&[Step::Directory, Step::Create, Step::Remove], |path| {
            fs::write(path.join("0".repeat(64) + ".json.tmp"), "{").unwrap();
            fs::write(path.join("spare-1-1"), "{").unwrap();
        }),
        (&[Step::Open, Step::Read, Step::Write, Step::Sync], |path| {
            change_roster(path, |text| text + "{\"Se");
        }),
        (&[Step::Rename, Step::SyncDirectory, Step::Create, Step::Close], |path| {
            change_roster(path, |text| text.replace("Seen", "Sen"));
        }),
        (&[Step::Create, Step::Write, Step::Close, Step::Rename, Step::SyncDirectory], |path| {
            change_roster(path, |text| {
                let last = text.lines().last().unwrap().to_string() + "\n";
                text + &last.repeat(1100)
            });
        }),
    ];
    for (errno, (expected, leave)) in support::ERRORS.iter().flat_map(|e| left.map(|l| (e, l))) {
        let mut failed = Vec::new();
        for number in 0.. {
            let place = Place::new();
            place.open().commit(&batch(2, 0)).unwrap();
            leave(&place.path());
            let script = Arc::new(Script::default());
            let options = Options { fault: Some(script.clone()), ..Options::at(now()) };
            let opened = loop {
                script.fail(number, *errno as i32);
                match Store::open(&place.path(), options.clone()) {
                    // By a child of another test that is not executed yet.
                    Err(StoreError::Locked { .. }) => {}
                    other => break other,
                }
            };
            let done = script.done.lock().unwrap().clone();
            let Some((step, name)) = done.get(number) else {
                opened.unwrap();
                break;
            };
            // One that cannot be removed is in nobody's way.
            if name.starts_with("spare-") {
                opened.unwrap();
                continue;
            }
            let Err(StoreError::Refused(problems)) = opened else { panic!("{step:?} {name}") };
            let [problem] = &problems[..] else { panic!("{problems:?}") };
            let Reason::Failed { error, .. } = &problem.reason else { panic!("{problem}") };
            assert_eq!(error.raw_os_error(), Some(*errno as i32), "{problem}");
            failed.push(*step);
            let (store, _) = place.open_warned();
            let found = store.load(&[0, 1].map(identity), now()).unwrap().found;
            assert!(found.iter().all(|found| found.kept == Some(kept(0))), "{step:?} {name}");
            store.commit(&batch(2, 1)).unwrap();
            let names = place.names();
            assert!(!names.iter().any(|name| name.contains(".tmp")), "{step:?}: {names:?}");
        }
        let missing: Vec<_> = expected.iter().filter(|step| !failed.contains(step)).collect();
        assert!(missing.is_empty(), "{missing:?} was never tried: {failed:?}");
    }
}

// --- the lock -----------------------------------------------------------------

#[test]
fn a_second_handle_waits_for_nobody() {
    // STATE Locking, fault 18: refused at once, and free right after.
    let place = Place::new();
    let store = place.open();
    store.commit(&batch(1, 0)).unwrap();
    // Before the lock nothing is read or removed, not even a leftover.
    let leftover = store.path_of(&identity(0)).with_extension("json.tmp");
    fs::write(&leftover, "").unwrap();
    match open(&place.path()) {
        Err(StoreError::Locked { pid, .. }) => assert_eq!(pid, Some(std::process::id())),
        other => panic!("{other:?}"),
    }
    assert!(leftover.exists());
    drop(store);
    // A stale process number in the file means nothing.
    fs::write(place.path().join("lock"), "1\n").unwrap();
    place.open();
    assert!(!leftover.exists());
}

/// Holds the lock and has a child, until killed; does nothing by itself.
#[test]
#[ignore = "started by `the_lock_dies_with_its_holder`"]
fn hold_the_lock() {
    let Some(path) = std::env::var_os("KROND_TEST_STATE") else { return };
    let _store = open(path.as_ref()).unwrap();
    let mut child = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap();
    println!("\nholding {}", child.id());
    child.wait().unwrap();
}

#[test]
fn the_lock_dies_with_its_holder() {
    // Fault 18: killed without a chance to clean up, and with a child that lives
    // on: it does not inherit the lock.
    let place = Place::new();
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hold_the_lock", "--ignored", "--nocapture"])
        .env("KROND_TEST_STATE", place.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    let child: i32 = lines
        .map(Result::unwrap)
        .find_map(|line| line.strip_prefix("holding ").map(|pid| pid.parse().unwrap()))
        .unwrap();
    assert!(matches!(
        open(&place.path()),
        Err(StoreError::Locked { pid, .. }) if pid == Some(holder.id())
    ));
    holder.kill().unwrap();
    holder.wait().unwrap();
    let child = nix::unistd::Pid::from_raw(child);
    let alive = nix::sys::signal::kill(child, None).is_ok();
    place.open();
    let _ = nix::sys::signal::kill(child, nix::sys::signal::Signal::SIGKILL);
    assert!(alive, "the child was to outlive the holder");
}
