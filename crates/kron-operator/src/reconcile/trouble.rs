//! What is done when a plan cannot be made or followed: a spec that cannot be used, a status
//! that was lost, a planner that failed, Jobs that do not end. Each is said in the conditions,
//! and what can be done nevertheless is done.
//!
//! Which condition says what is [`Health`]'s business; what follows from a spec that cannot be
//! used, that of [`unusable`].

use super::report::Complaint;
use super::{Case, Look, Then, View, limits};
use crate::book::{Book, has_marks};
use crate::cluster::Fail;
use crate::conditions::{Health, INVALID_TEMPLATE, Trouble};
use crate::desk::{Held, Key};
use crate::tell::now;
use crate::trial::{Trial, Tried};
use crate::unusable::{self, Care, Flaw};
use crate::upkeep::Upkeep;
use kron_core::{Category, Job, PeriodId, UtcInstant};

/// What is said when this program itself fails.
pub(super) const BROKEN: &str = "the decision failed by an internal error; it is tried again";

/// Why a spec cannot be used.
pub(super) struct Unusable {
    flaw: Flaw,
    reason: &'static str,
    category: Category,
    why: String,
}

/// The definition, or why there is none to go by.
pub(super) fn usable<'h>(held: &'h Held, trial: Option<&Trial>) -> Result<&'h Job, Unusable> {
    match (held.job.as_ref(), trial.map(|trial| &trial.tried)) {
        (Err(invalid), _) => Err(Unusable {
            flaw: Flaw::Schedule,
            reason: "InvalidSchedule",
            category: invalid.category(),
            why: invalid.to_string(),
        }),
        (Ok(_), Some(Tried::Invalid(why))) => Err(Unusable {
            flaw: Flaw::Template,
            reason: INVALID_TEMPLATE,
            category: Category::Validation,
            why: why.clone(),
        }),
        (Ok(job), _) => Ok(job),
    }
}

/// What is wrong, if anything is; what is in the way of a period goes first.
pub(super) fn trouble(
    view: &View,
    book: &Book,
    trial: Option<&Trial>,
    stuck: Option<&(PeriodId, String)>,
) -> Option<Trouble> {
    let obstacle = view.obstacles.iter().find(|obstacle| book.is_pending(obstacle.period));
    let obstacle = obstacle.map(|obstacle| ("NotCreated", obstacle.why.clone()));
    let stuck = stuck.map(|(_, why)| ("NotEnded", why.clone()));
    let lost = view.lost.clone().map(|why| ("StatusLost", why));
    let denied = trial.and_then(|trial| match &trial.tried {
        Tried::Denied(why) => Some(("Denied", why.clone())),
        Tried::Fine | Tried::Invalid(_) => None,
    });
    obstacle.or(stuck).or(lost).or(denied)
}

/// Why nothing runs until then, and the way out.
pub(super) fn idleness((namespace, name): &Key, until: UtcInstant) -> Trouble {
    let patch = r#"{"status":{"marks":null}}"#;
    let why = format!(
        "nothing runs until {until}: the status says that periods up to then are handled, so the \
         clock was wrong once or is wrong now; `kubectl -n {namespace} patch kronjob {name} \
         --subresource=status --type=merge -p '{patch}'` forgets it"
    );
    ("IdleUntil", why)
}

impl Look<'_> {
    /// The spec cannot be used: that is said, and nothing is started until it is another. What
    /// was is looked after.
    pub(super) async fn invalid(
        &self,
        view: &View,
        held: &Held,
        invalid: Unusable,
    ) -> Result<Then, Fail> {
        let Unusable { flaw, reason, category, why } = invalid;
        let now = now();
        if let Some(why) = &held.unreadable {
            self.complain(held, Complaint::StatusLost, None, why);
        }
        self.tell_heard(held, None, &Book::kept(&held.status, now));
        let care = unusable::care(&held.status, &view.jobs, flaw, limits(held), now);
        let health = Health::Invalid(reason, why.clone());
        let known = &held.status.conditions;
        if health.conditions(known, held.generation, now) != *known {
            self.complain(held, Complaint::InvalidSpec(category), None, &why);
        }
        let Care { status, book, remarks, upkeep } = care;
        if self.record(held, None, (status, book), &health, remarks).await? {
            return Ok(Then::Again);
        }
        let Upkeep { release, delete, wake } = upkeep;
        if !release.is_empty() || !delete.is_empty() {
            self.tidy(&view.jobs, &release, &delete).await?;
            return Ok(Then::Again);
        }
        Ok(self.rest(wake, view.template.as_ref()))
    }

    /// A book was begun in the place of one that was lost. That is said first of all, and as
    /// long as nothing else has happened.
    pub(super) async fn begin(&self, case: Case<'_>, why: &str) -> Result<Then, Fail> {
        let note = format!("{why}; nothing due before now is created");
        self.complain(case.held, Complaint::StatusLost, None, &note);
        self.entry(|entry| entry.lost = Some(note.clone()));
        self.write_trouble(case, ("StatusLost", note)).await?;
        Ok(Then::Again)
    }

    /// The plan could not be made. Nothing was decided, so nothing is recorded but that.
    pub(super) async fn broken(&mut self, case: Case<'_>) -> Result<Then, Fail> {
        let why = BROKEN;
        // With the marks of what is new: what comes due meanwhile is not lost.
        self.write_trouble(case, ("DecisionFailed", why.into())).await?;
        self.complain(case.held, Complaint::Undecided, None, why);
        self.is_told = true;
        Err(Fail::Later(why.into()))
    }

    /// A look could not be finished: this is said, by what is known without another.
    pub(super) async fn crashed(&mut self) -> Result<(), Fail> {
        let held = self.entry(|entry| entry.held.clone()).flatten();
        let Some(held) = held.filter(|held| !held.is_going && held.unreadable.is_none()) else {
            return Ok(());
        };
        self.complain(&held, Complaint::Undecided, None, BROKEN);
        self.is_told = true;
        let Ok(job) = held.job.as_ref() else { return Ok(()) };
        if !has_marks(&held.status) {
            // With a status and no marks it would be new at each look, and nothing would come due.
            return Ok(());
        }
        let trouble = Some(("DecisionFailed", BROKEN.into()));
        let health = Health::of(&Book::kept(&held.status, now()), job, trouble);
        self.write_status(&held, held.status.clone(), &health).await.map(drop)
    }

    /// A Job that is replaced cannot be ended: this is said, and tried again.
    pub(super) async fn unended(
        &mut self,
        case: Case<'_>,
        name: &str,
        fail: &Fail,
    ) -> Result<(), Fail> {
        if matches!(fail, Fail::Deposed | Fail::Conflict) {
            return Ok(());
        }
        let why = format!("Job `{name}` cannot be ended: {fail}");
        let waiting = self.entry(|entry| {
            (entry.unended, entry.stuck) = (Some(why.clone()), Some(why.clone()));
            entry.replacing.first().map(|waiting| waiting.period)
        });
        let Some(period) = waiting else { return Ok(()) };
        self.complain(case.held, Complaint::NotEnded, period, &why);
        self.is_told = true;
        self.write_trouble(case, ("NotEnded", why)).await
    }

    /// Writes the book as it is, and what is wrong.
    async fn write_trouble(&self, case: Case<'_>, trouble: Trouble) -> Result<(), Fail> {
        let health = Health::of(case.book, case.job, Some(trouble));
        self.write(case.held, case.book, &health).await.map(drop)
    }
}
