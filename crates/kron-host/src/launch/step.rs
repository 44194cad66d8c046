//! The steps on the way to a job's process, each of which may fail.

use nix::errno::Errno;
use std::fmt;

/// A step. Its number is what the daemon and the process it prepares tell each
/// other; both are the same program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// Understanding what to become.
    Plan,
    /// Closing descriptors that are not the job's.
    Descriptors,
    /// A session.
    Session,
    /// Nothing on standard input.
    Input,
    /// Default signals.
    Signals,
    /// A limit.
    Limit,
    /// A keyring.
    Keyring,
    /// Supplementary groups.
    Groups,
    /// The group id.
    Group,
    /// The user id.
    User,
    /// No tracing by the user that it becomes.
    Tracing,
    /// No capabilities.
    Capabilities,
    /// Whether the ids are those asked for.
    Verify,
    /// The directory.
    Directory,
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// Arguments and environment as the kernel takes them.
    Words,
    /// The program itself.
    Execute,
}

impl Step {
    const ALL: [Self; 18] = [
        Self::Plan,
        Self::Descriptors,
        Self::Session,
        Self::Input,
        Self::Signals,
        Self::Limit,
        Self::Keyring,
        Self::Groups,
        Self::Group,
        Self::User,
        Self::Tracing,
        Self::Capabilities,
        Self::Verify,
        Self::Directory,
        Self::Stdout,
        Self::Stderr,
        Self::Words,
        Self::Execute,
    ];

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The step with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    pub(super) const fn failed(self) -> impl Fn(Errno) -> LaunchError {
        move |errno| LaunchError { step: self, errno }
    }
}

impl Step {
    /// What it does, to be read after "cannot".
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "read the plan",
            Self::Descriptors => "close descriptors",
            Self::Session => "begin a session",
            Self::Input => "open /dev/null",
            Self::Signals => "reset signals",
            Self::Limit => "set a limit",
            Self::Keyring => "leave the keyring",
            Self::Groups => "set groups",
            Self::Group => "set group id",
            Self::User => "set user id",
            Self::Tracing => "forbid tracing",
            Self::Capabilities => "drop capabilities",
            Self::Verify => "verify ids",
            Self::Directory => "change directory",
            Self::Stdout => "open standard output",
            Self::Stderr => "open standard error",
            Self::Words => "pass a NUL byte",
            Self::Execute => "execute it",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A step that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchError {
    /// Which one.
    pub step: Step,
    /// What the kernel said.
    pub errno: Errno,
}

impl LaunchError {
    /// The exit code that shells use for it: 127 if there is no such program,
    /// 126 for anything else.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if self.step == Step::Execute && self.errno == Errno::ENOENT { 127 } else { 126 }
    }
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.step, self.errno.desc())
    }
}

impl std::error::Error for LaunchError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (number, step) in Step::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(step.number()), number);
            assert_eq!(Step::from_number(step.number()), Some(step));
        }
        assert_eq!(Step::from_number(Step::ALL.len() as u8), None);
    }
}
