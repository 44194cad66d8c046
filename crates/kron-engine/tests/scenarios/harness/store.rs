//! A false state directory: what is durable, and nothing else.

use kron_core::Identity;
use kron_engine::commit::{Batch, Found, RosterLine, Rostered};
use kron_engine::kept::{Finished, Kept};
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Store {
    pub files: BTreeMap<Identity, Kept>,
    pub history: BTreeMap<Identity, Vec<Finished>>,
    pub roster: BTreeMap<Identity, Rostered>,
    pub quarantined: Vec<Identity>,
    /// Jobs whose marks may go back: somebody asked for it.
    pub resets: Vec<Identity>,
}

impl Store {
    /// Makes a batch durable, and sees to it that nothing closed re-opens.
    pub fn apply(&mut self, batch: &Batch) {
        for snapshot in &batch.jobs {
            let (identity, new) = (&snapshot.identity, &snapshot.kept);
            if let Some(old) = self.files.get(identity)
                && !self.resets.contains(identity)
            {
                let (was, is) = (&old.ledger, &new.ledger);
                assert!(was.handled_through() <= is.handled_through(), "{was:?} → {is:?}");
                assert!(was.not_before() <= is.not_before(), "{was:?} → {is:?}");
                for period in was.handled_ahead() {
                    assert!(is.is_marked(*period), "{was:?} → {is:?}");
                }
            }
            if let Some(last) = &new.last {
                let reset = self.resets.contains(identity);
                assert!(reset || new.ledger.is_marked(last.period), "{new:?}");
            }
            for active in &new.active {
                let closed = new.ledger.is_marked(active.period);
                assert!(closed || self.resets.contains(identity), "{new:?}");
            }
            self.files.insert(identity.clone(), new.clone());
            self.history.entry(identity.clone()).or_default().extend(snapshot.finished.clone());
        }
        for line in &batch.roster {
            match line {
                RosterLine::Seen { identity, seen } => {
                    let known = self.rostered(identity);
                    known.seen = Some(*seen);
                    known.gone = false;
                }
                RosterLine::HasFile(identity) => self.rostered(identity).has_file = true,
                RosterLine::Gone(identity) => self.rostered(identity).gone = true,
            }
        }
        for identity in self.files.keys() {
            assert!(self.roster.get(identity).is_some_and(|known| known.has_file), "{identity}");
        }
    }

    fn rostered(&mut self, identity: &Identity) -> &mut Rostered {
        self.roster.entry(identity.clone()).or_insert(Rostered {
            seen: None,
            has_file: false,
            gone: false,
        })
    }

    pub fn found(&mut self, identity: &Identity) -> Found {
        let place = self.quarantined.iter().position(|known| known == identity);
        let quarantined = place.map(|place| {
            self.quarantined.swap_remove(place);
            self.files.remove(identity);
            "moved-aside".into()
        });
        Found {
            kept: self.files.get(identity).cloned(),
            roster: self.roster.get(identity).cloned(),
            quarantined,
        }
    }
}
