//! Threads that start processes, so that the daemon's loop never does.
//!
//! Orders go in by a channel; results come back in a queue, with a descriptor
//! that is readable when there are any. Whoever has blocked signals for himself
//! makes the launcher afterwards, so that its threads have them blocked, too.

use super::nursery::Nurseries;
use super::spawn::{self, Prepared};
use super::{is_transient, process, stray};
use crate::clock::uptime;
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
use std::time::Duration;

/// What the queue's descriptor is called among the companions'; none of them has
/// this number.
const QUEUE: u64 = 0;

/// From so many waiting orders on, another nursery is worth its while.
const CROWD: usize = 8;
/// How many plans may be made at once that ask the user database. It may be somewhere in a
/// network and not answer: whoever needs it waits, and nobody else does.
const PLANNERS: usize = 16;
/// How long a nursery waits for the next start before it ends.
const IDLE: Duration = Duration::from_secs(5);

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
    /// Whether making the plan asks the user database.
    asks: bool,
    /// Uptime at which a thread took it up, once one has.
    begun: Option<Duration>,
}

impl Order {
    /// An order whose plan is made by the thread that carries it out.
    pub fn new(
        run: u64,
        tag: impl Into<String>,
        plan: impl FnOnce() -> Result<Plan, PlanError> + Send + 'static,
    ) -> Self {
        let (stdout, stderr) = (Target::Inherit, Target::Inherit);
        Self {
            run,
            stdout,
            stderr,
            tag: tag.into(),
            plan: Box::new(plan),
            asks: false,
            begun: None,
        }
    }

    /// The same with a plan that asks the user database, or not.
    #[must_use]
    pub fn asking(self, asks: bool) -> Self {
        Self { asks, ..self }
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
    /// Uptime at which it was begun: until then it waited for others.
    pub begun: Duration,
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
    nurseries: Nurseries,
    /// Companions that run, by number.
    companions: Mutex<HashMap<u64, OwnedFd>>,
    wake: OwnedFd,
    /// Readable when `wake` is, or a companion has ended.
    poll: OwnedFd,
}

#[derive(Debug, Default)]
struct Orders {
    waiting: VecDeque<Order>,
    /// Those whose plan is to be made first.
    unplanned: VecDeque<Order>,
    /// Threads that make plans.
    planners: usize,
    /// Whether a start is about to be asked for.
    is_expected: bool,
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
            nurseries: Nurseries::default(),
            companions: Mutex::default(),
            wake,
            poll,
        });
        let launcher = Self { shared };
        for number in 0..threads {
            let shared = Arc::clone(&launcher.shared);
            let thread = thread::Builder::new().name(format!("start-{number}"));
            thread.spawn(move || shared.serve())?;
        }
        Ok(launcher)
    }

    /// The descriptor that is readable when there is something for
    /// [`Launcher::results`] to do.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.shared.poll.as_fd()
    }

    /// Something will be started within the next seconds: has the means for it made.
    pub fn expect(&self) {
        lock(&self.shared.orders).is_expected = true;
        self.shared.news.notify_one();
    }

    /// Has a process prepared; never waits.
    pub fn prepare(&self, order: Order) {
        if order.asks {
            return self.plan(order);
        }
        lock(&self.shared.orders).waiting.push_back(order);
        self.shared.news.notify_one();
    }

    fn plan(&self, order: Order) {
        let mut orders = lock(&self.shared.orders);
        orders.unplanned.push_back(order);
        if orders.planners == PLANNERS {
            return;
        }
        orders.planners += 1;
        drop(orders);
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name("plan".into());
        if thread.spawn(move || shared.make_plans()).is_err() {
            // Then those who start processes make the plans as well.
            let mut orders = lock(&self.shared.orders);
            orders.planners -= 1;
            let unplanned = std::mem::take(&mut orders.unplanned);
            orders.waiting.extend(unplanned);
            self.shared.news.notify_all();
        }
    }

    /// Nobody wants this process any more. One that is being made is made all the same.
    pub fn withdraw(&self, run: u64) {
        let mut orders = lock(&self.shared.orders);
        orders.waiting.retain(|order| order.run != run);
        orders.unplanned.retain(|order| order.run != run);
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
    fn serve(&self) {
        while let Some(order) = self.wait() {
            let (run, begun) = (order.run, order.begun.unwrap_or_else(uptime));
            let spawned = spawn::spawn(&self.options, order, |order| {
                let is_crowded = || lock(&self.orders).waiting.len() >= CROWD;
                self.nurseries.bear(&self.options.program, order, is_crowded)
            });
            let result = spawned.map(|(prepared, companion)| {
                if let Some((pid, pidfd)) = companion {
                    self.watch(u64::from(pid), pidfd);
                }
                prepared
            });
            self.adopt_strays();
            lock(&self.results).push(Spawned { run, begun, result });
            // Fails only if 2^64 results are waiting.
            let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        }
    }

    /// Waits for an order; `None` at the end. Begins a nursery when an order is expected,
    /// and ends those that nobody has needed for a while: with nothing to start, the daemon
    /// is alone.
    fn wait(&self) -> Option<Order> {
        let mut orders = lock(&self.orders);
        let mut is_idle = !self.nurseries.is_open();
        loop {
            if orders.is_over {
                return None;
            }
            if let Some(order) = orders.waiting.pop_front() {
                return Some(order);
            }
            if std::mem::take(&mut orders.is_expected) {
                drop(orders);
                // If that fails, the start says why.
                let _ = self.nurseries.open(&self.options.program);
                is_idle = false;
                orders = lock(&self.orders);
            } else if is_idle {
                orders = self.news.wait(orders).unwrap_or_else(PoisonError::into_inner);
                is_idle = false;
            } else {
                let waited = self.news.wait_timeout(orders, IDLE);
                let (guard, passed) = waited.unwrap_or_else(PoisonError::into_inner);
                orders = guard;
                if passed.timed_out() && orders.waiting.is_empty() {
                    drop(orders);
                    self.nurseries.close(IDLE);
                    self.adopt_strays();
                    is_idle = true;
                    orders = lock(&self.orders);
                }
            }
        }
    }

    /// Makes plans as long as any are to be made.
    fn make_plans(&self) {
        let mut orders = lock(&self.orders);
        while let Some(order) = orders.unplanned.pop_front().filter(|_| !orders.is_over) {
            drop(orders);
            let begun = Some(uptime());
            let plan = (order.plan)();
            orders = lock(&self.orders);
            orders.waiting.push_back(Order { plan: Box::new(move || plan), begun, ..order });
            self.news.notify_one();
        }
        orders.planners -= 1;
    }

    /// Sees to it that those are collected whom nobody else knows of, as companions are.
    fn adopt_strays(&self) {
        for (pid, pidfd) in stray::find() {
            self.watch(u64::from(pid), pidfd);
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
