//! A `KronJob` whose spec cannot be used (OPR-06): nothing of it is planned or started, but what
//! was is recorded, told of and tidied as ever.
//!
//! Pure.

use crate::api::KronJobStatus;
use crate::book::{self, Book};
use crate::facts::Fact;
use crate::plan::{Created, Remark};
use crate::upkeep::{Limits, Upkeep};
use kron_core::UtcInstant;

/// What cannot be used of a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nobody knows when it would have run: mended, it does not run for the time before.
    Schedule,
    /// Its Jobs cannot be created, as if they were refused: mended, the latest that passed
    /// runs if it is still in time.
    Template,
}

/// What to do.
#[derive(Debug)]
pub struct Care {
    /// The status as it should be, but for its conditions.
    pub status: KronJobStatus,
    /// The book that is in it.
    pub book: Book,
    /// What there is to tell once it is.
    pub remarks: Vec<Remark>,
    /// What is left to do then.
    pub upkeep: Upkeep,
}

/// What to do about a `KronJob` with this status and these Jobs.
#[must_use]
pub fn care(
    status: &KronJobStatus,
    jobs: &[Fact],
    flaw: Flaw,
    limits: Limits,
    now: UtcInstant,
) -> Care {
    let mut book = Book::kept(status, now);
    let found = book.unrecorded(jobs);
    // What has never been seen, or was lost, is begun when the spec can be used.
    let has_marks = book::has_marks(status) || !found.is_empty();
    let mut remarks = Vec::new();
    for fact in found {
        let (end, seed_hash) = (book.find(fact), fact.seed_hash);
        remarks.push(Remark::Outcome { end, seed_hash, job: Some(Created::of(fact)) });
    }
    (book.next, book.pending) = (None, Vec::new());
    remarks.extend(book.note_results(jobs).into_iter().map(Remark::Finished));
    if flaw == Flaw::Schedule {
        book.forget_definition();
    }
    let mut written = status.clone();
    book.write(&mut written);
    if !has_marks {
        written.marks.clone_from(&status.marks);
    }
    Care { status: written, book, remarks, upkeep: Upkeep::of(jobs, limits, now) }
}
