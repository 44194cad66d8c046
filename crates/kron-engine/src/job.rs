//! A job as the engine tracks it, and what its past means when it is enrolled
//! (DECISIONS on first sight, quarantine, removal and edits live here and in
//! [`Ledger`]).

use crate::commit::{Found, RosterLine};
use crate::event::RunId;
use crate::kept::{Active, Finished, Kept, Last};
use crate::queue::Ticket;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use kron_core::mutant::{self, Mutant};
use kron_core::{Concurrency, Decision, Identity, Job, Ledger, PeriodId, Seen, UtcInstant};
use kron_tab::Entry;

/// A configured job, or one that is gone but still running.
#[derive(Debug)]
pub(crate) struct Tracked {
    pub entry: Entry,
    pub ledger: Ledger,
    pub last: Option<Box<Last>>,
    /// What only a job that does something has.
    pub busy: Option<Box<Busy>>,
    /// Its live ticket in the queue.
    pub ticket: Ticket,
    /// The period whose decision was logged last.
    pub planned: Option<PeriodId>,
    /// Periods due before this passed while nobody looked at this job.
    pub attentive_since: UtcInstant,
    /// Whether it has a state file.
    pub has_file: bool,
    /// Whether its state file is to be replaced.
    pub is_dirty: bool,
    /// Whether it is no longer configured.
    pub is_retired: bool,
}

/// Runs, obstacles and results of a job.
#[derive(Debug, Default)]
pub(crate) struct Busy {
    /// Its runs, the newest last.
    pub runs: Vec<RunId>,
    /// Due periods that could not be started yet.
    pub blocked: Vec<Blocked>,
    /// Due periods that wait until the active runs are ended, with the time at
    /// which they were judged.
    pub replacing: Vec<(PeriodId, UtcInstant)>,
    /// Due periods that are skipped if a run begins that is being prepared, with the
    /// time at which they were judged.
    pub put_off: Vec<(PeriodId, UtcInstant)>,
    /// Due periods whose start was taken back, to be judged again.
    pub unsettled: Vec<PeriodId>,
    /// Results for the history that are not on their way yet.
    pub finished: Vec<Finished>,
}

impl Busy {
    /// Forgets what is no longer due, which is in nobody's way: it was passed over, its
    /// marks were reset, or the clock went back to before it. Returns how many were closed
    /// by the marks of very many after them.
    pub fn keep_due(&mut self, due: &[Decision<'_>], ledger: &Ledger) -> u32 {
        let mut due: Vec<PeriodId> = due.iter().map(Decision::period).collect();
        due.sort_unstable();
        let mut lapsed = 0;
        self.blocked.sort_unstable_by_key(|blocked| blocked.period);
        self.blocked.retain(|blocked| {
            lapsed += u32::from(ledger.is_marked(blocked.period));
            due.binary_search(&blocked.period).is_ok()
        });
        if self.runs.is_empty() {
            // There is nothing to wait for.
            self.replacing.clear();
        }
        lapsed
    }

    /// What is in the way of a period, after [`keep_due`](Self::keep_due).
    pub fn blocked_period(&self, period: PeriodId) -> Option<&Blocked> {
        let place = self.blocked.binary_search_by_key(&period, |blocked| blocked.period).ok()?;
        Some(&self.blocked[place])
    }

    pub fn is_replacing(&self, period: PeriodId) -> bool {
        self.replacing.iter().any(|(waiting, _)| *waiting == period)
    }

    pub fn is_put_off(&self, period: PeriodId) -> bool {
        self.put_off.iter().any(|(waiting, _)| *waiting == period)
    }

    /// Due periods that wait for something, whatever it is.
    pub fn waiting(&self) -> impl Iterator<Item = PeriodId> {
        let blocked = self.blocked.iter().map(|blocked| blocked.period);
        let others = self.replacing.iter().chain(&self.put_off).map(|(period, _)| *period);
        blocked.chain(others).chain(self.unsettled.iter().copied())
    }

    fn is_idle(&self) -> bool {
        self.runs.is_empty() && self.waiting().next().is_none() && self.finished.is_empty()
    }
}

/// A due period that could not be started.
#[derive(Clone, Debug)]
pub(crate) struct Blocked {
    pub period: PeriodId,
    /// Why, for the reason of a missed period.
    pub obstacle: Box<str>,
    /// When to try again; `None` if only the deadline can end it, or a free place.
    pub retry_at: Option<UtcInstant>,
    /// Whether a free place is all that it waits for.
    pub is_crowded_out: bool,
    /// When it is missed.
    pub expiry: UtcInstant,
    /// Attempts so far.
    pub failed: u32,
}

impl Blocked {
    /// Whether it is to be judged again now.
    pub fn is_ready(&self, now: UtcInstant) -> bool {
        self.look_at() <= now
    }

    /// When it is to be judged again.
    pub fn look_at(&self) -> UtcInstant {
        self.retry_at.map_or(self.expiry, |at| at.min(self.expiry))
    }
}

/// What there is to say about a job that was enrolled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remark {
    /// Its state file could not be read and was moved here.
    Quarantined(Box<str>),
    /// Its state file is not there any more.
    Vanished,
}

impl Tracked {
    /// Whether its runs make way for later ones: with what they left behind, if so.
    pub fn is_replaced(&self) -> bool {
        self.job().policy().concurrency == Concurrency::Replace && !self.is_retired
    }

    /// Tracks a configured job. Its past decides what may run; the lines tell the
    /// roster what is new about it. If its past is lost, nothing runs that was due before
    /// `latest`.
    pub fn enrol(
        entry: Entry,
        found: Found,
        now: UtcInstant,
        latest: UtcInstant,
        lines: &mut Vec<RosterLine>,
    ) -> (Self, Vec<Active>, Option<Remark>) {
        let is_lost = found.is_lost();
        let roster = found.roster;
        let seen = roster.as_ref().and_then(|roster| roster.seen);
        let had_file = roster.as_ref().is_some_and(|roster| roster.has_file);
        let was_gone = roster.as_ref().is_some_and(|roster| roster.gone);
        let has_file = found.kept.is_some();
        let remark = match found.quarantined {
            Some(place) => Some(Remark::Quarantined(place)),
            // Whoever removes a job may remove its file, too.
            None => (is_lost && !was_gone).then_some(Remark::Vanished),
        };
        let first_sight = || {
            let ledger = if !is_lost {
                Ledger::first_sight(&entry.job, now)
            } else if mutant::is(Mutant::DamageFires) {
                let definition = Ledger::first_sight(&entry.job, now).definition();
                Ledger::restore(None, Vec::new(), None, definition)
            } else {
                Ledger::of_lost(&entry.job, latest, seen)
            };
            Kept { ledger, last: None, active: Vec::new() }
        };
        let kept = match (found.kept, seen) {
            // What may have run must not run again.
            _ if is_lost => first_sight(),
            (Some(kept), _) => kept,
            (None, Some(seen)) => Kept {
                ledger: Ledger::restore(
                    None,
                    Vec::new(),
                    Some(seen.not_before),
                    Some(seen.definition),
                ),
                ..first_sight()
            },
            (None, None) => first_sight(),
        };
        let Kept { mut ledger, last, active } = kept;
        if let Some(seen) = seen {
            // The roster hears of an edit before the state file does.
            ledger = Ledger::restore(
                ledger.handled_through(),
                ledger.handled_ahead().to_vec(),
                Some(ledger.not_before().max(seen.not_before)),
                Some(seen.definition),
            );
        }
        if was_gone {
            ledger.bar_past(now);
        }
        ledger.adopt_definition(&entry.job, now);
        // What has run meanwhile is no news: its state file knows.
        let known = |seen: Seen| (seen.not_before, seen.definition, seen.lead);
        let is_news = seen.map(known) != ledger.seen(entry.job.window().lead()).map(known);
        if is_news || was_gone {
            lines.extend(seen_line(&entry.job, &ledger));
        }
        if has_file && !had_file {
            lines.push(RosterLine::HasFile(entry.job.identity().clone()));
        }
        let tracked = Self {
            entry,
            ledger,
            last,
            busy: None,
            ticket: Ticket::default(),
            planned: None,
            attentive_since: now,
            has_file,
            is_dirty: false,
            is_retired: false,
        };
        (tracked, active, remark)
    }

    /// Takes on another definition of the same job. Returns whether its timing
    /// changed.
    pub fn redefine(&mut self, entry: Entry, now: UtcInstant, lines: &mut Vec<RosterLine>) -> bool {
        let resumed = self.entry.job.policy().suspend && !entry.job.policy().suspend;
        let returned = self.is_retired;
        if returned {
            self.ledger.bar_past(now);
            self.is_retired = false;
        }
        if resumed || returned {
            self.attentive_since = now;
        }
        let changed = self.ledger.adopt_definition(&entry.job, now);
        if changed || returned {
            lines.extend(seen_line(&entry.job, &self.ledger));
        }
        if let Some(busy) = &mut self.busy {
            // What was in the way may be gone.
            busy.unsettled.extend(busy.blocked.drain(..).map(|blocked| blocked.period));
            let policy = entry.job.policy();
            if policy.concurrency != Concurrency::Replace || policy.suspend || changed {
                // Nothing is ended for them any more, or they are others: they are judged anew.
                busy.unsettled.extend(busy.replacing.drain(..).map(|(period, _)| period));
            }
        }
        self.entry = entry;
        changed || returned
    }

    /// How many of the periods that are to be judged again are none any more, or closed
    /// by a new definition.
    pub fn barred(&self) -> u32 {
        let job = self.job();
        let exists = |period: PeriodId| job.prev_period(period.nominal()) == Some(period);
        let is_open = |period| exists(period) && !self.ledger.is_closed(&job.decide(period));
        // One that was being tried again is there twice: as a start and for what was in its way.
        let unsettled = self.busy.iter().flat_map(|busy| busy.unsettled.iter().copied());
        let unsettled: BTreeSet<PeriodId> = unsettled.collect();
        unsettled.into_iter().filter(|period| !is_open(*period)).count() as u32
    }

    pub fn job(&self) -> &Job {
        &self.entry.job
    }

    pub fn identity(&self) -> &Identity {
        self.entry.job.identity()
    }

    pub fn busy(&mut self) -> &mut Busy {
        self.busy.get_or_insert_default()
    }

    pub fn runs(&self) -> &[RunId] {
        self.busy.as_ref().map_or(&[], |busy| &busy.runs)
    }

    pub fn blocked(&self) -> &[Blocked] {
        self.busy.as_ref().map_or(&[], |busy| &busy.blocked)
    }

    /// Gives back the memory of a job that does nothing.
    pub fn settle(&mut self) {
        if self.busy.as_ref().is_some_and(|busy| busy.is_idle()) {
            self.busy = None;
        }
    }
}

/// What the roster is to know of a job.
pub(crate) fn seen_line(job: &Job, ledger: &Ledger) -> Option<RosterLine> {
    let seen = ledger.seen(job.window().lead())?;
    Some(RosterLine::Seen { identity: job.identity().clone(), seen })
}
