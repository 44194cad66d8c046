//! Whose process it is: which ids an entry asks for, and taking them on.

use super::PlanError;
use super::step::{LaunchError, Step};
use crate::account::{self, Account};
use crate::keyring;
use nix::errno::Errno;
use nix::unistd::{
    Gid, Uid, geteuid, getgid, getgroups, getresgid, getresuid, getuid, setgroups, setresgid,
    setresuid,
};
use rustix::process::{DumpableBehavior, dumpable_behavior, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_keep_capabilities,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;

/// Ids of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ids {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Supplementary groups.
    pub groups: Vec<u32>,
}

impl Ids {
    /// Takes them on: groups, then group, then user; and looks whether it is so.
    /// Another user than root keeps neither root's keyring nor a capability, and cannot
    /// look into the process until it executes something.
    ///
    /// # Errors
    /// When any of it fails. The process must not go on then.
    pub fn take_on(&self) -> Result<(), LaunchError> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        let groups: Vec<Gid> = self.groups.iter().copied().map(Gid::from_raw).collect();
        // While it counts as one of root's, who may have many more than others.
        if !uid.is_root() {
            keyring::leave().map_err(Step::Keyring.failed())?;
        }
        setgroups(&groups).map_err(Step::Groups.failed())?;
        setresgid(gid, gid, gid).map_err(Step::Group.failed())?;
        if !uid.is_root() {
            // As long as it has capabilities that its user has not, that one cannot trace it.
            set_keep_capabilities(true).map_err(errno).map_err(Step::Tracing.failed())?;
        }
        setresuid(uid, uid, uid).map_err(Step::User.failed())?;
        if !uid.is_root() {
            // Not before: a change of ids sets it to what `fs.suid_dumpable` says, and
            // whoever debugs has set that to 1.
            let behavior = DumpableBehavior::NotDumpable;
            set_dumpable_behavior(behavior).map_err(errno).map_err(Step::Tracing.failed())?;
        }
        if !uid.is_root() && is_over_limit() {
            return Err(LaunchError { step: Step::User, errno: Errno::EAGAIN });
        }
        if !uid.is_root() {
            let none = CapabilitySet::empty();
            let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
            set_capabilities(None, sets).map_err(errno).map_err(Step::Capabilities.failed())?;
        }
        let are_taken = self.are_taken().map_err(Step::Verify.failed())?;
        if !are_taken || (!uid.is_root() && setresuid(uid, Uid::from_raw(0), uid).is_ok()) {
            return Err(LaunchError { step: Step::Verify, errno: Errno::EPERM });
        }
        Ok(())
    }

    /// Whether the process has these and nothing more, whatever was said when it took them on.
    fn are_taken(&self) -> Result<bool, Errno> {
        let (users, groups) = (getresuid()?, getresgid()?);
        let set = |ids: Vec<u32>| ids.into_iter().collect::<BTreeSet<u32>>();
        let supplementary = getgroups()?.into_iter().map(Gid::as_raw).collect();
        let has_ids = [users.real, users.effective, users.saved].map(Uid::as_raw) == [self.uid; 3]
            && [groups.real, groups.effective, groups.saved].map(Gid::as_raw) == [self.gid; 3]
            && set(supplementary) == set(self.groups.clone());
        let sets = capabilities(None).map_err(errno)?;
        let all = sets.effective | sets.permitted | sets.inheritable;
        let is_traceable = dumpable_behavior().map_err(errno)? == DumpableBehavior::Dumpable;
        Ok(has_ids && (self.uid == 0 || (all.is_empty() && !is_traceable)))
    }
}

fn errno(errno: rustix::io::Errno) -> Errno {
    Errno::from_raw(errno.raw_os_error())
}

/// Whether this user has more processes than he may (`RLIMIT_NPROC`). The kernel takes
/// note of it when the user changes, and refuses to execute anything later, when it
/// is too late to try again.
fn is_over_limit() -> bool {
    /// `PF_NPROC_EXCEEDED` of the kernel, in the flags that `stat` shows.
    const EXCEEDED: u64 = 0x1000;
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let flags = fields.split_whitespace().nth(6).and_then(|flags| flags.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & EXCEEDED != 0)
}

/// The ids that an entry asks for, and the account if it is another one;
/// `None` if it asks for nothing that is not so already.
///
/// # Errors
/// When there is no such user or group, or it may not be taken on.
pub fn ids(
    user: Option<&str>,
    group: Option<&str>,
) -> Result<Option<(Ids, Option<Account>)>, PlanError> {
    let account = match user {
        None => None,
        Some(name) => Some(
            account::by_name(name)
                .map_err(PlanError::Database)?
                .ok_or_else(|| PlanError::UnknownUser(name.into()))?,
        ),
    };
    let gid = match group {
        None => None,
        Some(name) => Some(
            account::group_id(name)
                .map_err(PlanError::Database)?
                .ok_or_else(|| PlanError::UnknownGroup(name.into()))?,
        ),
    };
    if account.is_none() && gid.is_none() {
        return Ok(None);
    }
    let me = geteuid();
    if !me.is_root() {
        let other_user = account.as_ref().filter(|account| account.uid != me.as_raw());
        let other_group = gid.filter(|gid| *gid != getgid().as_raw());
        return match (other_user, other_group, group) {
            (Some(account), _, _) => Err(PlanError::NotPermitted(account.name.clone())),
            (None, Some(_), Some(name)) => Err(PlanError::NotPermitted(name.into())),
            _ => Ok(None),
        };
    }
    let whose = match &account {
        Some(account) => account.clone(),
        None => match account::by_uid(getuid().as_raw()).map_err(PlanError::Database)? {
            Some(account) => account,
            None => return Err(PlanError::UnknownUser(getuid().to_string())),
        },
    };
    let gid = gid.unwrap_or(whose.gid);
    let groups = whose.groups(gid).map_err(PlanError::Database)?;
    Ok(Some((Ids { uid: whose.uid, gid, groups }, account)))
}
