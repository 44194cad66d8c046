//! Threads that start processes, so that the daemon's loop never does.
//!
//! Orders go in by a channel; results come back in a queue, with a descriptor
//! that is readable when there are any. Whoever has blocked signals for himself
//! makes the launcher afterwards, so that its threads have them blocked, too.

use super::nursery::Nursery;
use super::spawn::{self, Prepared};
use super::{is_transient, process};
use kron_host::launch::{Plan, PlanError};
use nix::errno::Errno;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// What the queue's descriptor is called among the companions'; none of them has
/// this number.
const QUEUE: u64 = 0;

/// Where things are.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program to call with a hidden word: this one.
    pub program: PathBuf,
    /// The socket by which the journal takes streams, if there is a journal.
    pub journal: PathBuf,
    /// The socket of the system log.
    pub syslog: PathBuf,
    /// How many threads start processes.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            // Not its path: an update may have put another version there.
            program: "/proc/self/exe".into(),
            journal: "/run/systemd/journal/stdout".into(),
            syslog: "/dev/log".into(),
            threads: 2,
        }
    }
}

/// Where standard output or standard error of a run goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// Where the daemon's goes.
    #[default]
    Inherit,
    /// Nowhere.
    Discard,
    /// To the end of this file.
    File(String),
    /// To the journal, or to the system log where there is none.
    Syslog,
}

type MakePlan = Box<dyn FnOnce() -> Result<Plan, PlanError> + Send>;

/// A process to prepare.
pub struct Order {
    /// What the result is to be called; not looked at.
    pub run: u64,
    /// Where standard output goes; what the plan says of it is not used.
    pub stdout: Target,
    /// Where standard error goes.
    pub stderr: Target,
    /// The name under which lines appear in a log: the job's.
    pub tag: String,
    pub(super) plan: MakePlan,
}

impl Order {
    /// An order whose plan is made by the thread that carries it out: making one
    /// asks the user database, which may be somewhere in a network.
    pub fn new(
        run: u64,
        tag: impl Into<String>,
        plan: impl FnOnce() -> Result<Plan, PlanError> + Send + 'static,
    ) -> Self {
        let (stdout, stderr) = (Target::Inherit, Target::Inherit);
        Self { run, stdout, stderr, tag: tag.into(), plan: Box::new(plan) }
    }

    /// The same with its output elsewhere.
    #[must_use]
    pub fn output(self, stdout: Target, stderr: Target) -> Self {
        Self { stdout, stderr, ..self }
    }
}

impl fmt::Debug for Order {
    // The plan may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Order")
            .field("run", &self.run)
            .field("tag", &self.tag)
            .finish_non_exhaustive()
    }
}

/// Why there is no process.
#[derive(Debug)]
pub enum Refusal {
    /// The entry cannot be run here.
    Plan(PlanError),
    /// The system could not make one.
    Spawn(io::Error),
}

impl Refusal {
    /// Whether it may be otherwise a little later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Plan(PlanError::Database(errno)) => is_transient(*errno),
            Self::Plan(_) => false,
            Self::Spawn(error) => {
                error.raw_os_error().is_some_and(|errno| is_transient(Errno::from_raw(errno)))
            }
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Spawn(error)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(error) => error.fmt(f),
            Self::Spawn(error) => write!(f, "cannot start a process: {error}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// What became of an order.
#[derive(Debug)]
pub struct Spawned {
    /// What the order called it.
    pub run: u64,
    /// The process, or why there is none.
    pub result: Result<Prepared, Refusal>,
}

/// Starts processes. Dropping it drops orders that no thread has taken up yet.
#[derive(Debug)]
pub struct Launcher {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    orders: Mutex<Orders>,
    /// Told when there is an order, or the end.
    news: Condvar,
    results: Mutex<Vec<Spawned>>,
    /// A nursery that nobody is using: one is always at hand, so that a start does
    /// not wait for a program to be executed.
    nursery: Mutex<Option<Nursery>>,
    /// Companions that run, by number.
    companions: Mutex<HashMap<u64, OwnedFd>>,
    wake: OwnedFd,
    /// Readable when `wake` is, or a companion has ended.
    poll: OwnedFd,
}

#[derive(Debug, Default)]
struct Orders {
    waiting: VecDeque<Order>,
    is_over: bool,
}

impl Launcher {
    /// Starts the threads.
    ///
    /// # Errors
    /// When threads or descriptors cannot be made.
    pub fn new(options: Options) -> io::Result<Self> {
        // Once, here, so that it is known before it is needed.
        process::boot_id()?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&poll, &wake, epoll::EventData::new_u64(QUEUE), epoll::EventFlags::IN)?;
        let threads = options.threads.max(1);
        let shared = Arc::new(Shared {
            options,
            orders: Mutex::default(),
            news: Condvar::new(),
            results: Mutex::default(),
            nursery: Mutex::default(),
            companions: Mutex::default(),
            wake,
            poll,
        });
        let launcher = Self { shared };
        for number in 0..threads {
            let shared = Arc::clone(&launcher.shared);
            let thread = thread::Builder::new().name(format!("start-{number}"));
            thread.spawn(move || shared.serve(number))?;
        }
        Ok(launcher)
    }

    /// The descriptor that is readable when there is something for
    /// [`Launcher::results`] to do.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.shared.poll.as_fd()
    }

    /// Has a process prepared; never waits.
    pub fn prepare(&self, order: Order) {
        lock(&self.shared.orders).waiting.push_back(order);
        self.shared.news.notify_one();
    }

    /// What has become of orders since the last call, and collects companions
    /// that have ended. Never waits.
    #[must_use]
    pub fn results(&self) -> Vec<Spawned> {
        let mut events = Vec::with_capacity(64);
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        // What is not seen now is seen next time: the descriptor stays readable.
        let buffer = rustix::buffer::spare_capacity(&mut events);
        if epoll::wait(&self.shared.poll, buffer, Some(&now)).is_err() {
            return Vec::new();
        }
        for event in &events {
            let number = event.data.u64();
            if number == QUEUE {
                let _ = rustix::io::read(&self.shared.wake, &mut [0; 8]);
                continue;
            }
            let mut companions = lock(&self.shared.companions);
            let ended = companions.get(&number).is_some_and(|pidfd| {
                // An error is a child that somebody else has collected.
                !matches!(process::reap(pidfd), Ok(None))
            });
            if ended {
                companions.remove(&number);
            }
        }
        std::mem::take(&mut *lock(&self.shared.results))
    }

    /// How many companions run.
    #[must_use]
    pub fn companions(&self) -> usize {
        lock(&self.shared.companions).len()
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        lock(&self.shared.orders).is_over = true;
        self.shared.news.notify_all();
    }
}

impl Shared {
    fn serve(&self, number: usize) {
        // Kept as long as there is more to do, so that many starts need one. If none
        // can be had now, the next start says why.
        let begin = || Nursery::begin(&self.options.program).ok();
        let mut nursery = if number == 0 { begin() } else { None };
        loop {
            let order = match self.next() {
                Some(order) => order,
                None => {
                    self.put_by(nursery.take());
                    match self.wait() {
                        Some(order) => order,
                        None => return,
                    }
                }
            };
            if nursery.is_none() {
                nursery = lock(&self.nursery).take();
                if nursery.as_mut().is_some_and(|nursery| !nursery.is_alive()) {
                    nursery = None;
                }
            }
            let run = order.run;
            let spawned = spawn::spawn(&self.options, &mut nursery, order);
            let result = spawned.map(|(prepared, companion)| {
                if let Some((pid, pidfd)) = companion {
                    self.watch(u64::from(pid), pidfd);
                }
                prepared
            });
            lock(&self.results).push(Spawned { run, result });
            // Fails only if 2^64 results are waiting.
            let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        }
    }

    /// Keeps a nursery for the next start, unless there is one: then it ends.
    fn put_by(&self, nursery: Option<Nursery>) {
        let mut kept = lock(&self.nursery);
        let superfluous =
            if kept.is_none() { std::mem::replace(&mut *kept, nursery) } else { nursery };
        // Ending one is not waited for by others.
        drop(kept);
        drop(superfluous);
    }

    /// The next order, if there is one.
    fn next(&self) -> Option<Order> {
        let mut orders = lock(&self.orders);
        if orders.is_over { None } else { orders.waiting.pop_front() }
    }

    /// Waits for an order; `None` at the end.
    fn wait(&self) -> Option<Order> {
        let mut orders = lock(&self.orders);
        loop {
            if orders.is_over {
                return None;
            }
            if let Some(order) = orders.waiting.pop_front() {
                return Some(order);
            }
            orders = self.news.wait(orders).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn watch(&self, number: u64, pidfd: OwnedFd) {
        let mut companions = lock(&self.companions);
        // If it cannot be watched, it stays a zombie until the daemon ends.
        let data = epoll::EventData::new_u64(number);
        if epoll::add(&self.poll, &pidfd, data, epoll::EventFlags::IN).is_ok() {
            companions.insert(number, pidfd);
        }
    }
}

/// What is behind these locks is whole at any time.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
