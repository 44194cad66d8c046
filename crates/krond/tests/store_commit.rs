//! Commits: the order of operations, and what is left when one of them fails.

mod support;

use kron_core::Identity;
use kron_engine::commit::{Batch, RosterLine, Snapshot};
use kron_engine::state;
use krond::store::{Step, Warning};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use support::{Place, Script, batch, contents, finished, identity, kept, now, skip, snapshot};

#[test]
fn a_commit_is_found_again() {
    // STA-01, STA-02, STA-07, STA-11, STA-20: one file a job, named by its hash.
    let place = Place::new();
    let store = place.open();
    assert_eq!(store.commit(&batch(3, 0)).unwrap(), []);
    assert_eq!(store.commit(&batch(3, 1)).unwrap(), []);
    let names = place.names();
    assert_eq!(names.len(), 3);
    drop(store);
    let store = place.open();
    let loaded = store.load(&[identity(2), identity(7)], now()).unwrap();
    assert_eq!(loaded.warnings, []);
    assert_eq!(loaded.found[0].kept, Some(kept(1)));
    assert!(loaded.found[0].roster.as_ref().unwrap().has_file);
    assert_eq!(loaded.found[1], kron_engine::commit::Found::default());
    let history = store.read_history(&identity(2)).unwrap().unwrap();
    assert_eq!(history, [finished(0), finished(1)]);
    assert_eq!(krond::store::read_history(&place.path(), &identity(2)).unwrap(), Some(history));
    assert_eq!(krond::store::read_history(&place.path(), &identity(7)).unwrap(), None);
}

#[test]
fn a_name_is_the_hash_and_nothing_of_the_identity() {
    // STA-02: computed elsewhere, `printf %s … | sha256sum`.
    let place = Place::new();
    let store = place.open();
    let evil = Identity::new("/etc/krond.d/../../../tmp/x.kron:a/../b").unwrap();
    let jobs = vec![Snapshot { identity: evil, kept: kept(0), finished: vec![] }];
    store.commit(&Batch { jobs, roster: vec![] }).unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", "printf %s '/etc/krond.d/../../../tmp/x.kron:a/../b' | sha256sum"])
        .output()
        .unwrap();
    let hex = String::from_utf8(output.stdout).unwrap();
    assert_eq!(place.names(), [format!("{}.json", &hex[..64])]);
}

#[test]
fn the_history_is_capped_oldest_first() {
    // STA-12, STA-13.
    let place = Place::new();
    for (cap, numbers, expected) in
        [(3, 0..5, vec![2, 3, 4]), (1, 5..6, vec![5]), (0, 6..7, vec![]), (2, 7..8, vec![7])]
    {
        let store = place.options(|options| options.history = cap);
        for number in numbers.clone() {
            store.commit(&batch(1, number)).unwrap();
        }
        let history = store.read_history(&identity(0)).unwrap().unwrap();
        assert_eq!(history, expected.into_iter().map(finished).collect::<Vec<_>>(), "cap {cap}");
        // Whatever the cap, the same is kept.
        let found = store.load(&[identity(0)], now()).unwrap().found;
        assert_eq!(found[0].kept, Some(kept(numbers.end - 1)));
    }
}

#[test]
fn operations_come_in_order() {
    // STA-16: all files durable beside their names, then all renames, then the
    // directory; the roster learns of files that exist only.
    let place = Place::new();
    let script = Arc::new(Script::default());
    let store = place.options(|options| {
        options.fault = Some(script.clone());
        options.writers = 1;
        options.spare_age = Duration::ZERO;
    });
    let check = |batch: &Batch, expected: &[&[(Step, &str)]]| {
        script.done.lock().unwrap().clear();
        store.commit(batch).unwrap();
        let done = script.done.lock().unwrap();
        let bare = |name| str::trim_start_matches(name, |c: char| c.is_ascii_hexdigit());
        let steps: Vec<_> = done.iter().map(|(step, name)| (*step, bare(name))).collect();
        assert_eq!(steps, expected.concat());
    };
    let (begins, ends) = ([(Step::Directory, "")], [(Step::SyncDirectory, "")]);
    let roster = [(Step::Write, "roster"), (Step::Sync, "roster")];
    let temporary = ".json.tmp";
    let made = [
        (Step::Open, ".json"),
        (Step::Create, temporary),
        (Step::Write, temporary),
        (Step::Sync, temporary),
        (Step::Close, temporary),
    ];
    // Whether there is anything to be kept is found out by trying.
    let renamed = [(Step::Keep, ".json"), (Step::Rename, ".json")];
    check(&batch(2, 0), &[&begins, &made, &made, &roster, &renamed, &renamed, &ends, &roster]);
    store.commit(&batch(2, 1)).unwrap();
    // Those of before are used again, and cut to their length.
    let reused = [
        (Step::Open, ".json"),
        (Step::Read, ".json"),
        (Step::Reuse, temporary),
        (Step::Write, temporary),
        (Step::Write, temporary),
        (Step::Sync, temporary),
        (Step::Close, temporary),
    ];
    check(&batch(2, 2), &[&begins, &reused, &reused, &renamed, &renamed, &ends]);
}

/// ERR-02, too: whatever fails is told, at whichever operation.
#[test]
fn a_fault_anywhere_leaves_every_file_whole_and_is_final() {
    // STA-15, STA-17, ERR-17, fault 16: each errno at each operation.
    for (errno, again) in
        support::ERRORS.into_iter().flat_map(|errno| [(errno, false), (errno, true)])
    {
        let mut steps = Vec::new();
        for number in 0.. {
            let place = Place::new();
            let script = Arc::new(Script::default());
            let store = place.options(|options| {
                options.fault = Some(script.clone());
                options.writers = 2;
                options.spare_age = Duration::ZERO;
            });
            store.commit(&batch(4, 0)).unwrap();
            if again {
                // There are files that are used again.
                store.commit(&Batch { roster: vec![], ..batch(4, 0) }).unwrap();
            }
            let old = contents(&place.path());
            script.fail(number, errno as i32);
            let mut next = batch(4, 1);
            next.roster.push(support::seen(9));
            next.roster.push(RosterLine::HasFile(identity(3)));
            let result = store.commit(&next);
            let done = script.done.lock().unwrap().clone();
            if done.len() <= number {
                result.unwrap();
                break;
            }
            let step = done[number].0;
            steps.push(step);
            if matches!(step, Step::Open | Step::Read) {
                // Only the history is read while writing.
                let warnings = result.unwrap();
                assert!(matches!(warnings[..], [Warning::HistoryLost { .. }]), "{warnings:?}");
                continue;
            }
            let error = result.expect_err("the fault is reported");
            assert_eq!(error.step, step, "{error}");
            assert_eq!(error.error.raw_os_error(), Some(errno as i32), "{error}");
            let renames =
                |done: &[(Step, String)]| done.iter().filter(|d| d.0 == Step::Rename).count();
            let of_job = done[number].1.contains(".json");
            assert_eq!(error.identity.is_some(), of_job, "{error}");
            // Before the first rename nothing has changed; later each is one or
            // the other, and whole.
            let fresh = contents(&place.path());
            if renames(&done) == 0 {
                assert_eq!(fresh, old, "{step:?}");
            }
            assert_eq!(renames(&done[number..]), usize::from(step == Step::Rename));
            // Nothing more is committed.
            assert!(store.commit(&batch(1, 2)).is_err());
            assert_eq!(contents(&place.path()), fresh);
            drop(store);
            // The fault is gone: a restart finds each as it was or was to be.
            let (store, warnings) = place.open_warned();
            assert!(
                warnings.iter().all(|w| matches!(w, Warning::RosterTorn { .. })),
                "{step:?} {warnings:?}"
            );
            let found = store.load(&[0, 1, 2, 3].map(identity), now()).unwrap().found;
            for found in found {
                let kept_now = found.kept.unwrap();
                assert!(kept_now == kept(0) || kept_now == kept(1));
                if renames(&done) == 0 {
                    assert_eq!(kept_now, kept(0));
                }
            }
            assert_eq!(place.names().len(), 4, "leftovers are gone: fault 20");
            store.commit(&batch(4, 1)).unwrap();
        }
        for step in
            [Step::Write, Step::Sync, Step::Close, Step::Keep, Step::Rename, Step::SyncDirectory]
        {
            assert!(steps.contains(&step), "{step:?} was never tried");
        }
        assert_eq!(steps.contains(&Step::Reuse), again);
        assert_eq!(steps.contains(&Step::Create), !again);
    }
}

/// STA-15: files are written into again, and hold the same as if they were new, shorter or
/// longer; only those that nobody else has, and only after a while.
#[test]
fn replaced_files_are_used_again() {
    let place = Place::new();
    let patient = |age| place.options(|options| (options.spare_age, options.history) = (age, 3));
    let inode = |name: &str| fs::symlink_metadata(place.path().join(name)).map(|found| found.ino());
    let spare = |number: u32| format!("spare-{}-{number}", std::process::id());
    let store = patient(Duration::MAX);
    let file = store.path_of(&identity(0)).file_name().unwrap().to_str().unwrap().to_string();
    store.commit(&batch(1, 0)).unwrap();
    let old = inode(&file).unwrap();
    for number in 1..5 {
        store.commit(&batch(1, number)).unwrap();
        assert_eq!(inode(&spare(1)).unwrap(), old);
    }
    assert_eq!(place.spares(), [1, 2, 3, 4].map(spare));
    drop(store);
    // What another daemon left behind is not used.
    let store = patient(Duration::ZERO);
    assert_eq!(place.spares(), [""; 0]);

    let old = inode(&file).unwrap();
    store.commit(&batch(1, 5)).unwrap();
    assert_eq!(inode(&spare(0)).unwrap(), old);
    store.commit(&batch(1, 6)).unwrap();
    assert_eq!(inode(&file).unwrap(), old);
    assert_eq!(place.spares(), [spare(1)]);
    // Somebody has a copy of the next one, by a link.
    let (next, copy) = (inode(&spare(1)).unwrap(), place.path().join("copy"));
    fs::hard_link(place.path().join(spare(1)), &copy).unwrap();
    let copied = fs::read(&copy).unwrap();
    store.commit(&batch(1, 7)).unwrap();
    assert_ne!(inode(&file).unwrap(), next);
    // Or has put something else in its place.
    fs::remove_file(place.path().join(spare(2))).unwrap();
    std::os::unix::fs::symlink(&copy, place.path().join(spare(2))).unwrap();
    store.commit(&batch(1, 8)).unwrap();
    assert!(inode(&spare(2)).is_err());
    assert_eq!(fs::read(&copy).unwrap(), copied);
    // Or has changed who may read it.
    let opened = fs::Permissions::from_mode(0o644);
    fs::set_permissions(place.path().join(spare(3)), opened).unwrap();
    store.commit(&batch(1, 9)).unwrap();
    let mode = fs::metadata(place.path().join(&file)).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    // Or writes there, too: a temporary file is never taken from others.
    let theirs = place.path().join(format!("{file}.tmp"));
    fs::write(&theirs, "theirs").unwrap();
    let error = store.commit(&batch(1, 10)).unwrap_err();
    assert_eq!((error.step, error.error.kind()), (Step::Reuse, ErrorKind::AlreadyExists));
    assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
    drop(store);
    let store = patient(Duration::ZERO);
    assert!(!theirs.exists());

    for number in 10..40 {
        let mut next = batch(1, number);
        match number {
            ..20 => {}
            // Shorter.
            20 => next.jobs[0].kept.last = None,
            _ => next.jobs[0].finished.clear(),
        }
        store.commit(&next).unwrap();
    }
    let found = store.load(&[identity(0)], now()).unwrap().found;
    assert_eq!(found[0].kept, Some(kept(39)));
    let history = store.read_history(&identity(0)).unwrap().unwrap();
    assert_eq!(history, [18, 19, 20].map(finished));
    assert_eq!(place.spares().len(), 1);
}

#[test]
fn readers_never_see_a_part() {
    // STA-15, STA-36: no lock is asked for, no partial file is seen, none is
    // missing.
    let place = Place::new();
    let store = place.open();
    store.commit(&batch(2, 0)).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let path = store.path_of(&identity(1));
            let (mut reads, mut latest) = (0, kept(0).last.unwrap().period);
            while !stop.load(Ordering::Relaxed) {
                let bytes = fs::read(&path).unwrap();
                let kept = state::decode(&bytes, &identity(1)).unwrap();
                let period = kept.last.unwrap().period;
                assert!(period >= latest);
                let newest = state::history(&bytes, 1).unwrap();
                assert_eq!(newest[0].period, period, "a mixture");
                latest = period;
                reads += 1;
            }
            reads
        });
        for number in 1..=1000 {
            store.commit(&batch(2, number)).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 100);
    });
}

#[test]
fn a_state_file_deleted_while_running_is_written_again() {
    // Fault 17.
    let place = Place::new();
    let store = place.open();
    store.commit(&batch(1, 0)).unwrap();
    fs::remove_file(store.path_of(&identity(0))).unwrap();
    let warnings = store.commit(&batch(1, 1)).unwrap();
    assert!(matches!(warnings[..], [Warning::HistoryLost { .. }]), "{warnings:?}");
    assert_eq!(store.load(&[identity(0)], now()).unwrap().found[0].kept, Some(kept(1)));
    // So it is if it was damaged.
    fs::write(store.path_of(&identity(0)), "{").unwrap();
    let warnings = store.commit(&batch(1, 2)).unwrap();
    assert!(matches!(warnings[..], [Warning::HistoryLost { .. }]), "{warnings:?}");
    assert_eq!(store.read_history(&identity(0)).unwrap().unwrap(), [finished(2)]);
}

#[test]
fn a_directory_moved_away_or_replaced_is_noticed() {
    // Fault 17: never two daemons with two directories.
    let place = Place::new();
    let store = place.open();
    store.commit(&batch(1, 0)).unwrap();
    let away = place.path().with_extension("away");
    fs::rename(place.path(), &away).unwrap();
    let error = store.commit(&batch(1, 1)).unwrap_err();
    assert_eq!(error.step, Step::Directory);
    let place = Place::new();
    let store = place.open();
    fs::rename(place.path(), place.path().with_extension("away")).unwrap();
    let second = place.open();
    assert!(store.commit(&batch(1, 1)).is_err());
    assert!(second.commit(&batch(1, 1)).is_ok());
    // The roster removed.
    fs::remove_file(place.path().join("roster")).unwrap();
    let roster = vec![support::seen(1)];
    assert!(second.commit(&Batch { jobs: vec![], roster }).is_err());
}

#[test]
fn an_unschedulable_period_has_no_chosen_time() {
    // STA-09, STA-22.
    let place = Place::new();
    let store = place.open();
    let mut job = snapshot(0, 3);
    let last = job.kept.last.as_mut().unwrap();
    (last.outcome, last.chosen) = (kron_core::Outcome::Unschedulable, None);
    store.commit(&Batch { jobs: vec![job.clone()], roster: vec![] }).unwrap();
    let text = fs::read_to_string(store.path_of(&identity(0))).unwrap();
    assert!(text.contains("\"LastOutcome\": \"unschedulable\",\n  \"LastChosenTime\": \"\",\n"));
    assert!(text.contains("\"LastNominalTime\": \"2026-01-01T00:03:00Z\""));
    assert_eq!(store.load(&[identity(0)], now()).unwrap().found[0].kept, Some(job.kept));
}

/// A commit for strace to watch; does nothing by itself.
#[test]
#[ignore = "started by `the_kernel_sees_the_same_order`"]
fn commit_for_strace() {
    let Some(path) = std::env::var_os("KROND_TEST_STATE") else { return };
    let (store, _) =
        krond::store::Store::open(path.as_ref(), krond::store::Options::at(now())).unwrap();
    fs::metadata("/kron-commit-begins").unwrap_err();
    store.commit(&batch(2, 0)).unwrap();
    fs::metadata("/kron-commit-ends").unwrap_err();
}

#[test]
fn the_kernel_sees_the_same_order() {
    // STA-16, from outside.
    let place = Place::new();
    let log = place.path().with_extension("strace");
    let traced = std::process::Command::new("strace")
        .args([
            "-f",
            "-y",
            "-e",
            "trace=openat,write,fsync,close,rename,renameat,renameat2,stat,statx,newfstatat",
        ])
        .arg("-o")
        .arg(&log)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "commit_for_strace", "--ignored", "--nocapture"])
        .env("KROND_TEST_STATE", place.path())
        .output();
    let Ok(output) = traced else {
        skip("no strace here; the order is tested by `operations_come_in_order` only");
        return;
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("ptrace") || said.contains("PTRACE"), "{said}");
        skip(format_args!("strace may not trace here: {said}"));
        return;
    }
    let trace = fs::read_to_string(log).unwrap();
    let from = trace.find("/kron-commit-begins").unwrap();
    let to = trace.find("/kron-commit-ends").unwrap();
    let trace: Vec<&str> = trace[from..to].lines().collect();
    let find = |from: usize, what: &str, name: &str| {
        let found = trace[from..].iter().position(|l| l.contains(what) && l.contains(name));
        from + found.unwrap_or_else(|| panic!("no {what} {name}:\n{}", trace.join("\n")))
    };
    let names = place.names();
    assert_eq!(names.len(), 2);
    let renames = names.iter().map(|name| {
        let created = find(0, "openat(", &format!("{name}.tmp"));
        find(created, "rename", name)
    });
    let (first, last) = renames.fold((usize::MAX, 0), |(a, b), at| (a.min(at), b.max(at)));
    // A call that another thread interrupts has two lines, the second at its end.
    let ended = |line: &&&str| line.contains("fsync") && !line.contains("unfinished");
    let syncs = trace[..first].iter().filter(ended).count();
    assert_eq!(syncs, 3, "two files and the roster:\n{}", trace.join("\n"));
    let directory = find(last, "fsync(", &format!("{}>)", place.path().display()));
    assert_eq!(trace[directory..].iter().filter(|line| line.contains("rename")).count(), 0);
}

/// Fault 16: what cannot be moved aside or noted while state is looked up is final,
/// as in a commit; and once the fault is gone, all is found.
#[test]
fn a_fault_while_putting_right_is_final() {
    for errno in support::ERRORS {
        let mut failed = Vec::new();
        for number in 0.. {
            let place = Place::new();
            place.open().commit(&Batch { roster: vec![], ..batch(2, 0) }).unwrap();
            let script = Arc::new(Script::default());
            let store = place.options(|options| options.fault = Some(script.clone()));
            fs::write(store.path_of(&identity(0)), "damaged").unwrap();
            script.fail(number, errno as i32);
            let loaded = store.load(&[0, 1].map(identity), now());
            let Some((step, _)) = script.done.lock().unwrap().get(number).cloned() else {
                loaded.unwrap();
                break;
            };
            loaded.expect_err("the fault is reported");
            let is_write = !matches!(step, Step::Directory | Step::Open | Step::Read);
            assert!(store.has_failed() || !is_write, "{step:?} {number}");
            assert_eq!(store.commit(&batch(1, 1)).is_err(), store.has_failed());
            failed.push(step);
            if !is_write {
                continue;
            }
            drop(store);
            // A restart finds the one as it was, and of the other that it had been.
            let (store, _) = place.open_warned();
            let found = store.load(&[0, 1].map(identity), now()).unwrap().found;
            assert_eq!((&found[0].kept, &found[1].kept), (&None, &Some(kept(0))), "{step:?}");
            let aside = fs::read_dir(place.path()).unwrap().filter(|item| {
                let name = item.as_ref().unwrap().file_name();
                name.to_str().unwrap().contains(".corrupt.")
            });
            assert_eq!(aside.count(), 1, "{step:?}: it is lost");
            store.commit(&batch(2, 1)).unwrap();
        }
        for step in [Step::Rename, Step::SyncDirectory, Step::Write, Step::Sync] {
            assert!(failed.contains(&step), "{step:?} was never tried");
        }
    }
}
