//! Whether the loop goes round: one that does not is restarted, because nothing runs by it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// For so long the loop may be at one turn. It turns once a minute if nothing happens.
pub const STUCK: Duration = Duration::from_secs(180);

/// What the loop shows of itself.
#[derive(Debug, Default)]
pub struct Pulse {
    is_synced: AtomicBool,
    turned: Mutex<Option<Instant>>,
}

impl Pulse {
    /// The loop begins a turn now; whether it knows everything.
    pub fn turn(&self, is_synced: bool, now: Instant) {
        self.is_synced.store(is_synced, Ordering::Relaxed);
        *self.turned.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// Whether it knows everything.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.is_synced.load(Ordering::Relaxed)
    }

    /// Whether it goes round; one that has not begun waits for its turn to lead.
    ///
    /// # Errors
    /// Since when it does not.
    pub fn health(&self, now: Instant) -> Result<(), String> {
        let turned = *self.turned.lock().unwrap_or_else(PoisonError::into_inner);
        match turned.map(|at| now.saturating_duration_since(at)) {
            Some(age) if age > STUCK => {
                Err(format!("the loop has not turned for {} s", age.as_secs()))
            }
            _ => Ok(()),
        }
    }
}
