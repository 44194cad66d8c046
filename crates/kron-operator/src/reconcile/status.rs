//! Writing the status, and telling what there is to tell of it once it is written: after a
//! write that had no answer, when the object shows whether it was heard.
//!
//! What is in it, [`Book`] and [`Health`] say; how it is told, `report`.

use super::Look;
use super::report::Complaint;
use crate::api::KronJobStatus;
use crate::book::Book;
use crate::cluster::Fail;
use crate::conditions::Health;
use crate::desk::{Held, Untold};
use crate::plan::Remark;
use crate::tell::now;
use kron_core::{Job, Zones};

/// Said once, of the first object of which that is seen.
const PRUNED: &str = "the API server dropped parts of the status: the definition of KronJobs in \
                      the cluster is older than this program; apply its deploy/crd.yaml";

impl Look<'_> {
    /// Writes a status with a book of which there is nothing to tell; whether it said anything
    /// new.
    pub(super) async fn write(
        &self,
        held: &Held,
        book: &Book,
        health: &Health,
    ) -> Result<bool, Fail> {
        let mut status = held.status.clone();
        book.write(&mut status);
        self.write_status(held, status, health).await
    }

    /// Writes a status with a book, and tells what there is to tell of it; whether it was
    /// written.
    pub(super) async fn record(
        &self,
        held: &Held,
        job: Option<&Job>,
        (status, book): (KronJobStatus, Book),
        health: &Health,
        remarks: Vec<Remark>,
    ) -> Result<bool, Fail> {
        match self.write_status(held, status, health).await {
            Ok(false) => Ok(false),
            Ok(true) => {
                self.settle(&book, &remarks);
                self.remark(held, job, remarks);
                Ok(true)
            }
            Err(fail) => {
                if matches!(fail, Fail::Silent(_)) {
                    self.keep(held, book, remarks);
                }
                Err(fail)
            }
        }
    }

    /// Tells what was kept, if the write was heard.
    pub(super) fn tell_heard(&self, held: &Held, job: Option<&Job>, book: &Book) {
        let heard = self.context.desk().heard_of(self.key, held, book);
        let Some(Untold { generation, remarks, .. }) = heard else { return };
        self.settle(book, &remarks);
        // By another definition it would be another decision.
        self.remark(held, job.filter(|_| generation == held.generation), remarks);
    }

    /// Writes a status if it says anything new; whether it did.
    pub(super) async fn write_status(
        &self,
        held: &Held,
        mut status: KronJobStatus,
        health: &Health,
    ) -> Result<bool, Fail> {
        status.observed_generation = Some(held.generation);
        status.conditions = health.conditions(&held.status.conditions, held.generation, now());
        status.algorithm = Some(kron_core::ALGORITHM.to_string());
        status.tzdb = Some(Zones::bundled().version().to_string());
        if status == held.status {
            return Ok(false);
        }
        let written = {
            let _leave = self.context.lanes.other().await;
            let (namespace, name) = (&*self.key.0, &*self.key.1);
            match self.context.cluster.write_status(namespace, name, &held.version, &status).await {
                // Somebody was quicker: what is there now decides.
                Err(Fail::Conflict | Fail::Missing) => {
                    // That this had no answer says nothing of the write.
                    let read = self.read_again(held).await;
                    return Err(match read {
                        Err(Fail::Silent(why)) => Fail::Later(why),
                        Err(fail) => fail,
                        Ok(()) => Fail::Conflict,
                    });
                }
                other => other?,
            }
        };
        let is_news = {
            let mut desk = self.context.desk();
            if let Some(entry) = desk.entry(self.key) {
                // One before it that had no answer was not heard.
                entry.untold.clear();
            }
            desk.learn_written(written, status, now())
        };
        if is_news {
            self.complain(held, Complaint::Pruned, None, PRUNED);
        }
        Ok(true)
    }

    /// What was in the way of a period that has its outcome is in nobody's way; and what was
    /// lost is behind us.
    fn settle(&self, book: &Book, remarks: &[Remark]) {
        self.entry(|entry| {
            entry.obstacles.retain(|obstacle| !book.ledger.is_marked(obstacle.period));
            if remarks.iter().any(|remark| matches!(remark, Remark::Outcome { .. })) {
                entry.lost = None;
            }
        });
    }

    /// Keeps what there is to tell until it is known whether the write was heard.
    fn keep(&self, held: &Held, book: Book, remarks: Vec<Remark>) {
        let (uid, version) = (held.uid.clone(), held.version.clone());
        let untold = Untold { uid, version, generation: held.generation, book, remarks };
        self.context.desk().keep_untold(self.key, untold);
    }
}
