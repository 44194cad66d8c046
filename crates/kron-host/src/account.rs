//! Users and groups of the host.

use nix::errno::Errno;
use nix::unistd::{Gid, Group, Uid, User, geteuid, getgrouplist};
use std::ffi::CString;
use std::path::PathBuf;

/// A user, as far as running something needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Numeric user id.
    pub uid: u32,
    /// Numeric id of its own group.
    pub gid: u32,
    /// Home directory.
    pub home: PathBuf,
    /// Login shell.
    pub shell: PathBuf,
}

impl From<User> for Account {
    fn from(user: User) -> Self {
        Self {
            name: user.name,
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
            home: user.dir,
            shell: user.shell,
        }
    }
}

/// The user with this name, if there is one.
///
/// # Errors
/// When the user database cannot be asked.
pub fn by_name(name: &str) -> Result<Option<Account>, Errno> {
    User::from_name(name).map(|user| user.map(Account::from))
}

/// The user this process runs as, if it has an entry.
///
/// # Errors
/// When the user database cannot be asked.
pub fn current() -> Result<Option<Account>, Errno> {
    by_uid(geteuid().as_raw())
}

/// The user with this id, if there is one.
///
/// # Errors
/// When the user database cannot be asked.
pub fn by_uid(uid: u32) -> Result<Option<Account>, Errno> {
    User::from_uid(Uid::from_raw(uid)).map(|user| user.map(Account::from))
}

/// The id of the group with this name, if there is one.
///
/// # Errors
/// When the group database cannot be asked.
pub fn group_id(name: &str) -> Result<Option<u32>, Errno> {
    Group::from_name(name).map(|group| group.map(|group| group.gid.as_raw()))
}

/// Whether nobody but its owner can be in a group: it is the owner's own, by
/// number and name, and lists no other member. Of a group that cannot be looked
/// up, nobody knows.
#[must_use]
pub fn is_private_group(gid: u32, owner: &Account) -> bool {
    let Ok(Some(group)) = Group::from_gid(Gid::from_raw(gid)) else { return false };
    owner.gid == gid && group.name == owner.name && group.mem.iter().all(|name| *name == owner.name)
}

impl Account {
    /// All groups of the user, `gid` among them.
    ///
    /// # Errors
    /// When the group database cannot be asked.
    pub fn groups(&self, gid: u32) -> Result<Vec<u32>, Errno> {
        let name = CString::new(self.name.as_bytes()).map_err(|_| Errno::EINVAL)?;
        let groups = getgrouplist(&name, Gid::from_raw(gid))?;
        Ok(groups.into_iter().map(Gid::as_raw).collect())
    }
}
