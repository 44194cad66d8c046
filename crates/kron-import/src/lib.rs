//! Crontabs, systemd timers and Kubernetes `CronJob`s as Kron entries.
//!
//! Text goes in, entries come out, each with a [`Verdict`]: it behaves the same
//! ([`Verdict::Exact`]), it behaves differently in ways that are listed
//! ([`Verdict::Changed`]), or it cannot be carried over ([`Verdict::Refused`]).
//! Nothing is dropped in silence.
//!
//! ```
//! use kron_core::Zones;
//! use kron_import::{File, Format, Host, Names, Verdict, import};
//!
//! let host = Host { zone: "Europe/Paris", user: "ada", home: &|_| None, system: false };
//! let text = "MAILTO=\"\"\n30 4 * * 7  /usr/local/bin/backup.sh home\n";
//! let files = [File { name: "ada", text }];
//! let import = import(Format::Crontab, &files, &host, &mut Names::new(), &mut Zones::bundled());
//! let Verdict::Changed { entry, changes } = &import.items[0].verdict else { panic!() };
//! assert_eq!(entry.name, "backup");
//! assert_eq!(entry.schedule, "30 4 * * 0 @tz(Europe/Paris) @policy(concurrency=allow)");
//! assert_eq!(entry.fields[0], ("command", "/usr/local/bin/backup.sh home".to_string()));
//! assert_eq!(changes.len(), 1, "nobody said where the home directory is");
//! ```
//!
//! What it does not do: read files, the clock or the environment (everything is
//! an argument), write `.kron` files (that is the caller's), or run anything.
//! Every schedule it hands out has been read by [`kron_core::Job::parse`].

#![forbid(unsafe_code)]
// Input never panics; where something cannot fail, the code shows why.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod cronjob;
mod crontab;
mod draft;
mod fields;
mod message;
mod model;
mod names;
mod program;
mod systemd;
pub mod yaml;

pub use cronjob::{Timing, timing};
pub use model::{Entry, File, Format, Host, Import, Item, Remark, Verdict};
pub use names::Names;

use kron_core::Zones;

/// Reads files of one format.
///
/// For [`Format::Systemd`] the files are units that may refer to each other; for
/// the other formats each stands by itself, and they only share `names`, so that
/// no two entries of one call, or of several with the same [`Names`], are named
/// alike. A name depends on what the entries are, never on where they stand.
pub fn import(
    format: Format,
    files: &[File<'_>],
    host: &Host<'_>,
    names: &mut Names,
    zones: &mut Zones,
) -> Import {
    let (drafts, remarks) = match format {
        Format::Crontab => crontab::read(files, host, false),
        Format::SystemCrontab => crontab::read(files, host, true),
        Format::Systemd => systemd::read(files, host),
        Format::CronJob => cronjob::read(files),
    };
    Import { items: draft::finish(drafts, names, zones), remarks }
}
