//! What a scenario makes happen.

use super::{Armed, Told, World};
use crate::fact::Fact;
use crate::law::Breach;
use crate::rng::Rng;
use crate::scenario::{Change, Crash, Damage, Definition, Happening, PATH};
use core::time::Duration;
use kron_engine::event::{Event, Shutdown};
use std::rc::Rc;

impl World<'_> {
    pub(super) fn happen(&mut self, happening: Happening) -> Result<(), Breach> {
        self.note(Fact::Outside(happening.to_string()))?;
        match happening {
            Happening::Crash { how, steps, down } => {
                self.armed.get_or_insert(Armed { how, steps, down });
                // Power also fails when nobody does anything.
                if how == Crash::Reboot && self.engine.is_none() {
                    self.armed = None;
                    self.figures.reboots += 1;
                    self.die(true, false)?;
                }
                Ok(())
            }
            Happening::SetClock(by) => {
                self.figures.clock_steps += 1;
                self.clock.set(by);
                // The daemon's alarm goes off when the clock is set.
                self.tell_later(Duration::ZERO, Told::Tick);
                Ok(())
            }
            Happening::Absent { length, machine } => {
                self.figures.absences += 1;
                let until = self.clock.now() + length;
                if machine {
                    self.clock.sleep(until);
                }
                if self.engine.is_none() {
                    return Ok(());
                }
                self.absent_until = self.absent_until.max(until);
                let awake = self.clock.awake() + if machine { Duration::ZERO } else { length };
                self.note(Fact::Away { until, awake })?;
                if machine {
                    // Its alarm goes off when the machine is back, as if the clock was set.
                    self.tell_later(length, Told::Tick);
                }
                Ok(())
            }
            Happening::Edit { change, reload } => {
                self.figures.edits += 1;
                self.edit(change);
                if reload { self.read() } else { Ok(()) }
            }
            Happening::Reload => self.read(),
            Happening::Reset(job) => {
                if self.clock.now() < self.absent_until {
                    return Ok(());
                }
                let identity: Rc<str> = format!("{PATH}:{job}").into();
                let found = self.engine.as_ref().map(|engine| engine.find(&identity));
                let Some(key) = found.and_then(|found| found.first().copied()) else {
                    return Ok(());
                };
                self.figures.resets += 1;
                self.handle(Event::Reset(key), vec![Fact::Reset(identity)])
            }
            Happening::Shutdown { how, patience, down } => {
                if self.engine.is_none() {
                    return Ok(());
                }
                self.restart_after = down;
                self.tell_later(Duration::ZERO, Told::Shutdown(how));
                self.tell_later(patience, Told::Shutdown(Shutdown::Terminate));
                self.tell_later(patience * 2, Told::Shutdown(Shutdown::Detach));
                Ok(())
            }
            Happening::Damage { job, how } => {
                self.damage(&format!("{PATH}:{job}"), how);
                Ok(())
            }
        }
    }

    fn edit(&mut self, change: Change) {
        self.is_broken = matches!(change, Change::Break);
        match change {
            Change::Put(job) => match self.config.iter_mut().find(|known| known.name == job.name) {
                Some(known) => *known = Rc::new(job),
                None => self.config.push(Rc::new(job)),
            },
            Change::Suspend(name, suspend) => {
                if let Some(known) = self.config.iter_mut().find(|known| known.name == name) {
                    *known = Rc::new(Definition { suspend, ..(**known).clone() });
                }
            }
            Change::Remove(name) => self.config.retain(|known| known.name != name),
            Change::Rename(from, to) => {
                if self.config.iter().any(|known| known.name == to) {
                    return;
                }
                if let Some(known) = self.config.iter_mut().find(|known| known.name == from) {
                    *known = Rc::new(Definition { name: to, ..(**known).clone() });
                }
            }
            Change::Break => {}
        }
    }

    fn damage(&mut self, name: &str, how: Damage) {
        let Some(content) = self.disk.read(name) else { return };
        let mut rng = Rng::of(self.scenario.seed, &[9, self.clock.now().as_secs()]);
        let content = match how {
            Damage::Cut => {
                // Not the line feed alone: that would be no damage.
                let kept = rng.below(content.len().saturating_sub(2) as u64) as usize;
                Some(content[..kept].to_vec())
            }
            Damage::Garbage => Some((0..64).map(|_| rng.below(256) as u8).collect()),
            Damage::Empty => Some(Vec::new()),
            Damage::Gone => None,
        };
        self.disk.meddle(name, content);
    }
}
