//! Children that nobody knows of: a nursery made a process, and ended before it could
//! say so. Its gate is closed, so it ends by itself; but it is a child of this process, and
//! if nobody collected it, it would stay a zombie for as long as this one lives.
//!
//! Found are children of the same name as that nursery's, without a session of their own,
//! that nobody has been told of, while nobody is about to be. What is known is never
//! collected here.

use super::process::{self, Stat};
use rustix::fd::OwnedFd;
use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many processes that were made last are remembered. Those before them have begun
/// their sessions, or ended.
const REMEMBERED: usize = 1024;

/// Children are those of the process, so this is.
static CHILDREN: Mutex<Children> = Mutex::new(Children {
    making: 0,
    made: VecDeque::new(),
    nurseries: BTreeSet::new(),
    sought: None,
});

#[derive(Debug)]
struct Children {
    /// Threads that make one, whose number they do not know yet.
    making: usize,
    made: VecDeque<u32>,
    nurseries: BTreeSet<u32>,
    /// What one would be called that is nobody's.
    sought: Option<String>,
}

fn children() -> MutexGuard<'static, Children> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Held while a child is made, until its number is known.
#[derive(Debug)]
pub(super) struct Making(());

impl Making {
    pub fn begin() -> Self {
        children().making += 1;
        Self(())
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        children().making -= 1;
    }
}

/// A child has been made that is not a nursery. To be told while that is [`Making`].
pub(super) fn note_child(pid: u32) {
    let made = &mut children().made;
    if made.len() == REMEMBERED {
        made.pop_front();
    }
    made.push_back(pid);
}

/// A nursery is there, or has been collected.
pub(super) fn note_nursery(pid: u32, is_there: bool) {
    let nurseries = &mut children().nurseries;
    if is_there {
        nurseries.insert(pid);
    } else {
        nurseries.remove(&pid);
    }
}

/// A nursery failed, and was not collected yet: it may have made a process.
pub(super) fn suspect(nursery: u32) {
    let name = name(nursery);
    children().sought = name;
}

/// Processes that nobody knows of, to be collected when they end. None while they cannot
/// be told from others.
pub(super) fn find() -> Vec<(u32, OwnedFd)> {
    let mut children = children();
    if children.making > 0 {
        return Vec::new();
    }
    let Some(sought) = children.sought.take() else { return Vec::new() };
    let us = std::process::id();
    let Ok(Some(own)) = Stat::of(us) else { return Vec::new() };
    let is_stray = |pid: &u32| {
        let is_child = |stat: Stat| stat.parent == us && stat.session == own.session;
        Stat::of(*pid).ok().flatten().is_some_and(is_child)
            && !children.made.contains(pid)
            && !children.nurseries.contains(pid)
            && name(*pid).as_ref() == Some(&sought)
    };
    let items = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = items.filter_map(|item| item.file_name().to_str()?.parse::<u32>().ok());
    all.filter(is_stray).filter_map(|pid| Some((pid, process::open(pid).ok()?))).collect()
}

/// What a process is called, also one that has ended.
fn name(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/comm")).ok()
}
