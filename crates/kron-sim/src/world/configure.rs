//! Reading the configuration and what the disk knows of its jobs, at a start and
//! at a reload, as the daemon does it.

use super::disk::{Op, TIDYING, appending};
use super::{Armed, Told, World};
use crate::fact::{Fact, OnDisk};
use crate::law::Breach;
use crate::rng::Rng;
use crate::scenario::{Crash, Definition, PATH};
use core::time::Duration;
use kron_core::{Identity, Zones};
use kron_engine::Engine;
use kron_engine::commit::{Found, RosterLine, Rostered};
use kron_engine::event::{Enrolment, Event};
use kron_engine::state;
use std::collections::BTreeSet;
use std::rc::Rc;

/// A line that nobody understands.
const NONSENSE: &str = "61 * * * * name=broken command=/bin/false";

/// Jobs as the engine hears of them, and what that means.
type Enrolled = (Vec<Enrolment>, Vec<Fact>);

impl World<'_> {
    /// The file as it stands; nothing if it is not valid.
    fn entries(&mut self) -> Option<Vec<kron_tab::Entry>> {
        let mut text = String::new();
        for job in &self.config {
            text.push_str(&job.line());
            text.push('\n');
        }
        if self.is_broken {
            text.push_str(NONSENSE);
            text.push('\n');
        }
        let mut tab = kron_tab::read(PATH, text.as_bytes(), self.zones);
        tab.entries.iter_mut().for_each(kron_tab::Entry::forget_places);
        tab.problems.is_empty().then_some(tab.entries)
    }

    /// Starts a daemon.
    pub(super) fn start(&mut self) -> Result<(), Breach> {
        self.figures.starts += 1;
        let Some(entries) = self.entries() else {
            self.note(Fact::Refused)?;
            // Somebody repairs the file.
            self.is_broken = false;
            self.restart_at = Some(self.clock.now() + Duration::from_secs(60));
            return Ok(());
        };
        self.life += 1;
        self.note(Fact::Started)?;
        self.lay_ambush();
        for op in TIDYING {
            if self.look_up(op)? {
                return Ok(());
            }
        }
        self.disk.sweep();
        let configured: BTreeSet<Identity> =
            entries.iter().map(|entry| entry.job.identity().clone()).collect();
        let Some((enrolments, mut facts)) = self.enrol(entries, &BTreeSet::new())? else {
            return Ok(());
        };
        // Whoever is not configured is gone.
        let roster = self.disk.roster();
        let others =
            roster.into_iter().filter(|(id, known)| !known.gone && !configured.contains(id));
        let now = self.clock.moment().now;
        let gone = |(id, known): (Identity, Rostered)| {
            RosterLine::departure(&id, known.departed(now)).collect::<Vec<_>>()
        };
        let gone: Vec<RosterLine> = others.flat_map(gone).collect();
        // The daemon is there from here on, as far as other crashes go.
        self.ambush = None;
        self.engine =
            Some(Engine::new(self.scenario.settings, Zones::bundled(), self.clock.moment()));
        for op in appending(&gone, false) {
            if self.step(true)? {
                return Ok(());
            }
            self.disk.apply(op);
        }
        facts.push(Fact::Configured(self.config.clone()));
        self.handle(Event::Reload(enrolments), facts)
    }

    /// Reads the configuration for a daemon that runs.
    pub(super) fn read(&mut self) -> Result<(), Breach> {
        if self.engine.is_none() {
            return Ok(());
        }
        if self.is_reading {
            self.is_wanted = true;
            return Ok(());
        }
        let Some(entries) = self.entries() else {
            self.figures.rejected += 1;
            return self.note(Fact::Refused);
        };
        let Some(engine) = &mut self.engine else { return Ok(()) };
        self.is_reading = true;
        engine.set_reading(true);
        let known: BTreeSet<Identity> = engine.identities().cloned().collect();
        self.lay_ambush();
        let Some((enrolments, facts)) = self.enrol(entries, &known)? else { return Ok(()) };
        self.ambush = None;
        let mut rng = Rng::of(self.scenario.seed, &[8, self.told]);
        let took = rng.length(Duration::from_micros(100), Duration::from_secs(2));
        self.tell_later(took, Told::Read(enrolments, self.config.clone(), facts));
        Ok(())
    }

    pub(super) fn configuration_read(
        &mut self,
        enrolments: Vec<Enrolment>,
        defined: Vec<Rc<Definition>>,
        mut facts: Vec<Fact>,
    ) -> Result<(), Breach> {
        self.figures.reloads += 1;
        facts.push(Fact::Configured(defined));
        self.handle(Event::Reload(enrolments), facts)?;
        self.is_reading = false;
        if let Some(engine) = &mut self.engine {
            engine.set_reading(false);
        }
        if core::mem::take(&mut self.is_wanted) { self.read() } else { Ok(()) }
    }

    /// What there is of jobs (STATE, State Corruption Handling); nothing if somebody dies
    /// while it is looked at.
    fn enrol(
        &mut self,
        entries: Vec<kron_tab::Entry>,
        known: &BTreeSet<Identity>,
    ) -> Result<Option<Enrolled>, Breach> {
        let mut roster = self.disk.roster();
        let (mut facts, mut news) = (Vec::new(), Vec::new());
        let mut enrolments = Vec::new();
        for entry in entries {
            let identity = entry.job.identity().clone();
            if known.contains(&identity) {
                enrolments.push(Enrolment { entry, found: Found::default(), alive: Vec::new() });
                continue;
            }
            let name = identity.as_str();
            let mut found = Found { roster: roster.remove(&identity), ..Found::default() };
            let mut survived = false;
            if let Some(bytes) = self.disk.read(name) {
                survived = self.unanswered.get(name).is_some_and(|unanswered| unanswered == bytes);
                match state::decode(bytes, &identity) {
                    Ok(kept) => found.kept = Some(kept),
                    Err(_) => {
                        found.quarantined = Some(format!("{name}.corrupt").into());
                        self.figures.quarantined += 1;
                        for op in [Op::Aside(name.into()), Op::SyncNames] {
                            if self.look_up(op)? {
                                return Ok(None);
                            }
                        }
                    }
                }
            }
            let had_file = found.roster.as_ref().is_some_and(|known| known.has_file);
            if !had_file && (found.kept.is_some() || found.quarantined.is_some()) {
                news.push(RosterLine::HasFile(identity.clone()));
                if let Some(known) = &mut found.roster {
                    known.has_file = true;
                }
            }
            let is_damaged = found.quarantined.is_some() || (found.kept.is_none() && had_file);
            let on_disk = if is_damaged {
                OnDisk::Damaged
            } else if found.kept.is_none() && found.roster.is_none() {
                OnDisk::Nothing
            } else {
                OnDisk::Something
            };
            let active = found.kept.iter().flat_map(|kept| &kept.active);
            let living = |wanted: &kron_engine::kept::Process| {
                let mut known = self.processes.iter();
                known.find(|(_, known)| !known.is_ended && known.kept() == *wanted)
            };
            let alive: Vec<Option<u64>> =
                active.map(|active| living(&active.process).map(|(number, _)| *number)).collect();
            facts.push(Fact::LookedUp {
                identity: name.into(),
                found: on_disk,
                survived,
                alive: alive.iter().flatten().copied().collect(),
            });
            let now = self.clock.now();
            let age = |number: u64| {
                let made = self.processes.get(&number).map_or(now, |process| process.made);
                now.saturating_sub(made)
            };
            let alive = alive.into_iter().map(|number| number.map(age)).collect();
            enrolments.push(Enrolment { entry, found, alive });
        }
        for op in appending(&news, true) {
            if self.look_up(op)? {
                return Ok(None);
            }
        }
        Ok(Some((enrolments, facts)))
    }

    /// Sometimes somebody dies while the disk is looked at.
    fn lay_ambush(&mut self) {
        let mut rng = Rng::of(self.scenario.seed, &[10, self.told, self.life.into()]);
        self.ambush = rng.percent(3).then(|| Armed {
            how: *rng.pick(&[Crash::Kill, Crash::Reboot, Crash::Disk]),
            steps: rng.below(8) as u32,
            down: rng.length(Duration::from_millis(5), Duration::from_secs(60)),
        });
    }

    /// An operation of whoever looks at the disk. Returns whether somebody dies first.
    fn look_up(&mut self, op: Op) -> Result<bool, Breach> {
        match &mut self.ambush {
            Some(Armed { steps: 0, .. }) => {
                let Some(armed) = self.ambush.take() else { return Ok(false) };
                return self.crash(armed);
            }
            Some(armed) => armed.steps -= 1,
            None => {}
        }
        self.disk.apply(op);
        Ok(false)
    }
}
