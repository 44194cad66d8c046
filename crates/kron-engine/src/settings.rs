//! What an operator may choose about the engine, and what is fixed.

use core::time::Duration;

/// Choices of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// From asking a run to end until making it.
    pub grace: Duration,
    /// Most runs at once; `None` for no limit.
    pub max_running: Option<usize>,
    /// Whether that is because there are descriptors for no more.
    pub is_short_of_files: bool,
    /// Longest wait for running jobs when the daemon ends; `None` for no limit.
    pub shutdown_limit: Option<Duration>,
    /// Most processes under preparation at once. Each takes descriptors, and
    /// those due behind them wait without being late: they are judged already.
    pub preparing: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            grace: GRACE,
            max_running: None,
            is_short_of_files: false,
            shutdown_limit: None,
            preparing: PREPARING,
        }
    }
}

/// From asking a run to end until making it, unless chosen otherwise.
pub const GRACE: Duration = Duration::from_secs(10);

/// Processes under preparation at once.
pub const PREPARING: usize = 256;

/// A preparation that takes longer gives up its place among them: it waits for
/// something that others do not need.
pub const STALLED: Duration = Duration::from_secs(1);

/// How long a start that was judged in time may take before it is judged again: a process
/// that is ready later than this after its preparation began must be within its deadline
/// still, and so must everything that is not recorded yet when a wake-up comes this much too
/// late. The wait for others that are due in the same second does not count.
pub const DISPATCH: Duration = Duration::from_secs(10);

/// Longest preparation of a process: a directory on a mount that does not answer
/// must not hold a job for ever.
pub const PREPARATION: Duration = Duration::from_secs(30);

/// From making a run end until giving up on it: what is stuck in the kernel
/// cannot be ended.
pub const UNKILLABLE: Duration = Duration::from_secs(5);

/// First pause before a start is tried again; each is twice the one before…
pub const FIRST_BACKOFF: Duration = Duration::from_millis(100);
/// …up to this.
pub const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// The pause after this many failed attempts.
pub(crate) fn backoff(failed: u32) -> Duration {
    let doublings = failed.saturating_sub(1).min(16);
    FIRST_BACKOFF.saturating_mul(1 << doublings).min(LONGEST_BACKOFF)
}

/// Starts under way, from which number on ends of runs wait until they are
/// recorded…
pub const CROWD: usize = 16;
/// …but no more ends than this.
pub const ENDED: usize = 4096;

/// Periods in line for a place from which on it is looked who still waits.
pub const WAITING: usize = 1024;

/// How many jobs are named one by one when many have the same trouble.
pub const NAMED_ONE_BY_ONE: usize = 10;

/// The clock is taken to have been set if it and the uptime part by more.
pub const JUMP: Duration = Duration::from_secs(1);
