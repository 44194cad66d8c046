//! What the cluster is asked before something is done by what it says: for the Jobs, for the
//! object, and whether that rules out that somebody else was quicker.
//!
//! What the answers mean, the [`Desk`](crate::desk::Desk) and the plan know.

use super::{Look, Then};
use crate::cluster::Fail;
use crate::desk::Held;
use crate::plan::Surety;
use crate::tell::now;
use kron_core::UtcInstant;

impl Look<'_> {
    /// Asks for the Jobs.
    pub(super) async fn look_at_jobs(&self) -> Result<(), Fail> {
        let _leave = self.context.lanes.urgent().await;
        self.context.desk().ask_jobs(self.key, true);
        let jobs = self.context.cluster.jobs(&self.key.0, &self.key.1).await;
        let mut desk = self.context.desk();
        match jobs {
            Ok(jobs) => {
                desk.learn_jobs(self.key, &jobs);
                Ok(())
            }
            Err(fail) => {
                desk.ask_jobs(self.key, false);
                Err(fail)
            }
        }
    }

    /// Asks for the Jobs, and then for the object itself.
    pub(super) async fn confirm(&self, held: &Held) -> Result<Then, Fail> {
        let asked = now();
        self.look_at_jobs().await?;
        let _leave = self.context.lanes.urgent().await;
        self.read_again(held).await?;
        Ok(Then::AgainLive(Some(asked)))
    }

    /// The object as it is now.
    pub(super) async fn read_again(&self, held: &Held) -> Result<(), Fail> {
        let current = self.context.cluster.kronjob(&self.key.0, &self.key.1).await?;
        let mut desk = self.context.desk();
        match current {
            Some(kronjob) => {
                desk.learn(kronjob, now());
            }
            // Another of that name may be there by now.
            None if desk.is_of(self.key, &held.uid) => desk.forget(self.key),
            None => {}
        }
        Ok(())
    }

    /// Another can have created something before this one led, and at any time if nobody is
    /// elected.
    pub(super) fn surety(&self, since: UtcInstant) -> Surety {
        let sole_since = self.context.cluster.is_elected().then_some(since);
        Surety { sole_since, confirmed: self.confirmed }
    }
}
