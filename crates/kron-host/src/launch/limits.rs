//! Limits of the kernel for a process.
//!
//! What must be raised is raised while the process may; what is lowered is
//! lowered last, so that a small limit is the command's and not ours.

use super::step::{LaunchError, Step};
use kron_tab::GivenLimits;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// A limit of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// Open files.
    Nofile(u64),
    /// Processes of the user.
    Nproc(u64),
    /// Address space, in bytes.
    Memory(u64),
    /// Processor time, in seconds.
    Cpu(u64),
    /// Size of a file, in bytes.
    Fsize(u64),
    /// Size of a core dump, in bytes.
    Core(u64),
}

impl Limit {
    const fn resource(self) -> (Resource, u64) {
        match self {
            Self::Nofile(n) => (Resource::RLIMIT_NOFILE, n),
            Self::Nproc(n) => (Resource::RLIMIT_NPROC, n),
            Self::Memory(n) => (Resource::RLIMIT_AS, n),
            Self::Cpu(n) => (Resource::RLIMIT_CPU, n),
            Self::Fsize(n) => (Resource::RLIMIT_FSIZE, n),
            Self::Core(n) => (Resource::RLIMIT_CORE, n),
        }
    }
}

pub(super) fn limits(limits: &GivenLimits) -> Vec<Limit> {
    let given = [
        limits.nofile.map(Limit::Nofile),
        limits.nproc.map(Limit::Nproc),
        limits.memory.map(Limit::Memory),
        limits.cpu.map(Limit::Cpu),
        limits.fsize.map(Limit::Fsize),
        limits.core.map(Limit::Core),
    ];
    given.into_iter().flatten().collect()
}

/// Limits on their way to be set: raised now, lowered by [`Lowered::set`].
pub(super) struct Lowered(Vec<(Resource, u64, u64)>);

/// Raises what is to be raised. `nofile` is the number of open files, soft and
/// hard, of a job that does not limit it.
pub(super) fn raise(limits: &[Limit], nofile: Option<(u64, u64)>) -> Result<Lowered, LaunchError> {
    let own = limits.iter().any(|limit| matches!(limit, Limit::Nofile(_)));
    let restored =
        nofile.filter(|_| !own).map(|(soft, hard)| (Resource::RLIMIT_NOFILE, soft, hard));
    let wanted = limits.iter().map(|limit| {
        let (resource, value) = limit.resource();
        (resource, value, value)
    });
    let mut lowered = Vec::with_capacity(limits.len() + 1);
    for (resource, soft, hard) in wanted.chain(restored) {
        let (_, present) = getrlimit(resource).map_err(Step::Limit.failed())?;
        if hard > present {
            setrlimit(resource, soft, hard).map_err(Step::Limit.failed())?;
        } else {
            lowered.push((resource, soft, hard));
        }
    }
    Ok(Lowered(lowered))
}

impl Lowered {
    /// Lowers the rest.
    pub(super) fn set(&self) -> Result<(), LaunchError> {
        for (resource, soft, hard) in &self.0 {
            setrlimit(*resource, *soft, *hard).map_err(Step::Limit.failed())?;
        }
        Ok(())
    }
}
