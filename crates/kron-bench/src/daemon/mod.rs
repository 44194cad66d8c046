//! `krond` beside other daemons: how late they start jobs, and what they take
//! of the machine while they wait.
//!
//! `krond` is measured with its clock set to shortly before a full minute, again
//! and again; the peers have to be waited for. Everything stands in a temporary
//! directory on a disk, in `TMPDIR`.

mod contenders;
mod floor;
mod marks;
mod queue;
mod usage;

use contenders::{Daemon, Jobs, Peer, Place, programs};
use floor::Floor;
use marks::{Herd, MINUTE, Nanos, SECOND, millis, now, quantile, sleep_until, sorted};
use std::io;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

pub use queue::lives;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
const HERD: usize = 1_000;
/// Longest that anything is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
const SINGLES: usize = 120;
const HERDS: usize = 3;

/// Counts instructions of the engine under callgrind.
pub fn instructions() -> ExitCode {
    for jobs in [SIZES[0], SIZES[2]] {
        let Some(count) = queue::count(jobs) else {
            eprintln!("kron-bench: valgrind did not run; install it to count instructions");
            return ExitCode::FAILURE;
        };
        println!("engine, from due to over, among {jobs} jobs: {count} instructions");
    }
    ExitCode::SUCCESS
}

/// What there is to measure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Everything, beside the peers.
    All,
    /// Everything of ours, which takes half as long.
    Alone,
    /// Only many jobs at once, beside the peers.
    Herd,
}

/// Prints the report.
pub fn report(what: What) -> ExitCode {
    let directory = std::env::temp_dir().join(format!("kron-bench.{}", std::process::id()));
    let Some(place) = programs(&directory) else {
        eprintln!("kron-bench: first: cargo build --release -p krond -p kron-bench");
        return ExitCode::from(2);
    };
    let made = std::fs::create_dir(&directory).and_then(|()| measure(&place, what));
    let _ = std::fs::remove_dir_all(&directory);
    match made {
        Ok(table) => table.print(),
        Err(error) => {
            eprintln!("kron-bench: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// A row: what, what we aim at, and what everybody has.
struct Row {
    what: String,
    aim: &'static str,
    cells: Vec<String>,
}

struct Table {
    peers: Vec<Peer>,
    rows: Vec<Row>,
}

impl Table {
    fn add(&mut self, what: impl Into<String>, aim: &'static str, cells: Vec<String>) {
        let what = what.into();
        eprintln!("kron-bench: {what}: {}", cells.join(" | "));
        self.rows.push(Row { what, aim, cells });
    }

    fn print(&self) {
        let names: Vec<&str> =
            ["krond"].into_iter().chain(self.peers.iter().map(|peer| peer.name())).collect();
        print!("{:<46} {:>12}", "row", "aim");
        for name in names {
            print!(" {name:>16}");
        }
        println!();
        for Row { what, aim, cells } in &self.rows {
            print!("{what:<46} {aim:>12}");
            for cell in cells {
                print!(" {cell:>16}");
            }
            println!();
        }
    }
}

fn measure(place: &Place, what: What) -> io::Result<Table> {
    let alone = what == What::Alone;
    let peers: Vec<Peer> = [Peer::Debian, Peer::Busybox]
        .into_iter()
        .filter(|peer| !alone && peer.is_there())
        .collect();
    let mut table = Table { peers, rows: Vec::new() };
    if what == What::Herd {
        herd_rows(place, &mut table)?;
        return Ok(table);
    }
    standing(place, &mut table, alone)?;
    starting(place, &mut table)?;
    for jobs in [SIZES[0], SIZES[2]] {
        let least = (0..3).map(|_| queue::time(jobs)).min().unwrap_or_default();
        let cell = format!("{:.1} µs", least.as_secs_f64() * 1e6);
        table.add(format!("engine, from due to over, among {jobs} jobs"), "", vec![cell]);
    }
    Ok(table)
}

/// What daemons take that have nothing to do.
fn standing(place: &Place, table: &mut Table, alone: bool) -> io::Result<()> {
    let mut idle: Vec<(usize, Vec<(Daemon, u64)>)> = Vec::new();
    let mut loads = Vec::new();
    let empty = place.krond("empty", Jobs::Far { count: 0 })?;
    let mut none = vec![memory(&empty)?];
    empty.stop()?;
    for &peer in &table.peers {
        none.push(memory(&place.peer(peer, "empty-peer", Jobs::Far { count: 0 })?)?);
    }
    for size in SIZES {
        eprintln!("kron-bench: {size} jobs");
        let (jobs, name) = (Jobs::Far { count: size }, format!("krond-{size}"));
        let krond = place.krond(&name, jobs)?;
        let first = krond.ready;
        krond.stop()?;
        let krond = place.krond_again(&name)?;
        let mut cells = vec![(first, krond.ready)];
        let mut daemons = vec![(krond, none[0])];
        for (&peer, &none) in table.peers.iter().zip(&none[1..]) {
            let daemon = place.peer(peer, &format!("{}-{size}", peer.name()), jobs)?;
            cells.push((daemon.ready, None));
            daemons.push((daemon, none));
        }
        loads.push((size, cells));
        idle.push((size, daemons));
    }
    for (size, cells) in &loads {
        let aim = if *size == 100_000 { "2 s" } else { "" };
        let first = cells.iter().map(|(first, _)| seconds(*first)).collect();
        table.add(format!("load, {size} jobs, all new"), aim, first);
        let again = cells.iter().map(|(_, again)| seconds(*again)).take(1).collect();
        table.add(format!("load, {size} jobs, known"), aim, again);
    }
    thread::sleep(Duration::from_secs(2));
    for (size, daemons) in &idle {
        let each = |(daemon, none): &(Daemon, u64)| {
            let bytes = memory(daemon)?.saturating_sub(*none) as f64 / *size as f64;
            Ok(format!("{bytes:.0} B"))
        };
        let cells = daemons.iter().map(each).collect::<io::Result<Vec<_>>>()?;
        table.add(format!("memory a job, {size} jobs"), "1024 B", cells);
    }
    let span = Duration::from_secs(if alone { 10 } else { 60 });
    eprintln!("kron-bench: {span:?} of nothing to do");
    let works = || -> io::Result<Vec<Vec<_>>> {
        let all = idle.iter().map(|(_, daemons)| daemons.iter().map(|(daemon, _)| daemon.work()));
        all.map(Iterator::collect).collect()
    };
    let before = works()?;
    thread::sleep(span);
    for ((size, _), (before, after)) in idle.iter().zip(before.iter().zip(works()?)) {
        let cells = before.iter().zip(after).map(|(before, after)| {
            let work = after.since(*before);
            format!("{:.2} ms, {} ×", work.nanos as f64 / 1e6, work.wakes)
        });
        let what = format!("idle for {span:?}, {size} jobs: cpu, wake-ups");
        table.add(what, "0", cells.collect());
    }
    Ok(())
}

/// How late jobs start.
fn starting(place: &Place, table: &mut Table) -> io::Result<()> {
    let peers = table.peers.clone();
    let mut late: Vec<Vec<f64>> = vec![Vec::new(); peers.len() + 1];
    let one = Jobs::EachMinute { count: 1, shell: false };
    let few = if peers.is_empty() { 0 } else { 2 };
    eprintln!("kron-bench: single starts");
    let mut floor = Floor::new(place.directory.join("floor"), &place.mark)?;
    let states = place.directory.join("single").join("state");
    late[0].extend(singles(place, "single", 0, || floor.start(&states))?);
    for round in 0..few {
        wait_for_minute(Duration::from_secs(6));
        let daemons: Vec<Daemon> = (peers.iter().enumerate())
            .map(|(at, &peer)| place.peer(peer, &format!("single-{at}"), one))
            .collect::<io::Result<_>>()?;
        let due = next_minute();
        for (late, daemon) in late[1..].iter_mut().zip(&daemons) {
            let marks =
                daemon.marks.wait(1, PATIENCE + Duration::from_nanos((due - now()) as u64))?;
            late.extend(marks.iter().map(|mark| millis(mark - due)));
        }
        drop(daemons);
        eprintln!("kron-bench: round {} of {few}", round + 1);
    }
    let late: Vec<Vec<f64>> = late.into_iter().map(sorted).collect();
    let part = |part: f64| late.iter().map(|late| ms(quantile(late, part))).collect();
    table.add(format!("one job, late, p50 of {SINGLES} (peers: {few})"), "", part(0.5));
    table.add("one job, late, p99", "10 ms", part(0.99));
    table.add("one job, late, worst", "", part(1.0));
    let floor = sorted(floor.late);
    for (name, part) in [("p50", 0.5), ("p99", 0.99)] {
        let least = quantile(&floor, part);
        let ratio = quantile(&late[0], part) / least;
        let what = format!("one job, the floor, {name} (krond ÷ that)");
        table.add(what, "", vec![format!("{} ({ratio:.1})", ms(least))]);
    }
    herd_rows(place, table)?;
    let busy = singles(place, "single-busy", 100_000, || Ok(()))?;
    let busy = sorted(busy);
    let what = "one job beside 100,000, late, p50, worst";
    table.add(
        what,
        "",
        vec![format!("{}, {}", ms(quantile(&busy, 0.5)), ms(quantile(&busy, 1.0)))],
    );
    Ok(())
}

/// How late many jobs start that are due at once.
fn herd_rows(place: &Place, table: &mut Table) -> io::Result<()> {
    type Which = fn(&Herd) -> f64;
    let herds = herds(place, &table.peers)?.into_iter().filter_map(Herd::median);
    let herds: Vec<Herd> = herds.collect();
    let parts: [(&str, &'static str, Which); 4] = [
        ("first", "", |herd| herd.first),
        ("p50", "", |herd| herd.half),
        ("p99", "", |herd| herd.most),
        ("last", "cron ÷ 4", |herd| herd.last),
    ];
    for (name, aim, which) in parts {
        let ours = herds.first().map_or(f64::NAN, which);
        let cells = herds.iter().enumerate().map(|(at, herd)| match at {
            0 => ms(which(herd)),
            _ => format!("{} ({:.1}×)", ms(which(herd)), which(herd) / ours),
        });
        table.add(format!("{HERD} jobs, {name} start"), aim, cells.collect());
    }
    let shell = Jobs::EachMinute { count: HERD, shell: true };
    let mut krond = Herds::of_krond(place, "herd-shell", shell, now() + SECOND)?;
    let shells = (0..HERDS).map(|_| krond.next()).collect::<io::Result<Vec<_>>>()?;
    krond.end()?;
    if let Some(herd) = Herd::median(shells) {
        table.add(format!("{HERD} jobs with shell=true, last start"), "", vec![ms(herd.last)]);
    }
    Ok(())
}

/// Herds of `krond` and of each peer, in turn: how fast this machine is changes within
/// minutes. The peers have the full minute, `krond` the middle of it.
fn herds(place: &Place, peers: &[Peer]) -> io::Result<Vec<Vec<Herd>>> {
    let many = Jobs::EachMinute { count: HERD, shell: false };
    let mut herds: Vec<Vec<Herd>> = vec![Vec::new(); peers.len() + 1];
    let begin = |due| Herds::of_krond(place, "herd", many, due);
    let mut krond = if peers.is_empty() { Some(begin(now() + SECOND)?) } else { None };
    for _ in 0..HERDS {
        for (at, &peer) in peers.iter().enumerate() {
            wait_for_minute(Duration::from_secs(6));
            let daemon = place.peer(peer, "herd-peer", many)?;
            let due = next_minute();
            sleep_until(due);
            let marks = daemon.marks.wait(HERD, PATIENCE)?;
            // Before the middle of the minute.
            drop(daemon);
            if marks.len() < HERD {
                return Err(io::Error::other(format!("{}: {} starts", peer.name(), marks.len())));
            }
            let herd = Herd::of(&marks, due);
            eprintln!("kron-bench: {}: last start after {}", peer.name(), ms(herd.last));
            herds[at + 1].push(herd);
            let ours = match &mut krond {
                Some(krond) => krond,
                None => krond.insert(begin(due + MINUTE / 2)?),
            };
            herds[0].push(ours.next()?);
        }
        if let Some(krond) = krond.as_mut().filter(|_| peers.is_empty()) {
            herds[0].push(krond.next()?);
        }
    }
    krond.map_or(Ok(()), Herds::end)?;
    Ok(herds)
}

/// Herds a minute apart, as they are in life: a file system remembers for a while what was
/// just removed.
struct Herds {
    krond: Daemon,
    /// By our clock.
    due: Nanos,
}

impl Herds {
    /// The first is due at this time of our clock, in less than a minute.
    fn of_krond(place: &Place, name: &str, jobs: Jobs, due: Nanos) -> io::Result<Self> {
        let krond = place.krond(name, jobs)?;
        let time = now();
        // Whatever time it was there, it is now as long before a full minute as here.
        krond.approach_minute(time.max(due) + MINUTE, due - time)?;
        Ok(Self { krond, due })
    }

    fn next(&mut self) -> io::Result<Herd> {
        sleep_until(self.due);
        let marks = self.krond.marks.wait(HERD, PATIENCE)?;
        if marks.len() != HERD {
            return Err(io::Error::other(format!("krond: {} starts", marks.len())));
        }
        let herd = Herd::of(&marks, self.due);
        eprintln!("kron-bench: krond: last start after {}", ms(herd.last));
        self.krond.marks.clear()?;
        self.due += MINUTE;
        Ok(herd)
    }

    /// When the ends are recorded, too.
    fn end(self) -> io::Result<()> {
        thread::sleep(Duration::from_secs(1));
        self.krond.stop()
    }
}

/// How late `krond` starts a single job, many times over; what is measured in turn with
/// it is done in between.
fn singles(
    place: &Place,
    name: &str,
    beside: usize,
    mut between: impl FnMut() -> io::Result<()>,
) -> io::Result<Vec<f64>> {
    let krond = place.krond(name, Jobs::Beside { count: beside + 1 })?;
    let mut late = Vec::new();
    let mut due = now() + SECOND;
    for _ in 0..if beside > 0 { SINGLES / 4 } else { SINGLES } {
        krond.marks.clear()?;
        let (minute, ahead) = krond.approach_minute(due, SECOND / 4)?;
        due = minute;
        let marks = krond.marks.wait(1, PATIENCE)?;
        let mark = marks.first().ok_or_else(|| io::Error::other("krond started nothing"))?;
        late.push(millis(mark + ahead - due));
        between()?;
    }
    krond.stop()?;
    Ok(late)
}

fn next_minute() -> Nanos {
    (now() / MINUTE + 1) * MINUTE
}

/// Waits until the next full minute is no further than this.
fn wait_for_minute(before: Duration) {
    let before = before.as_nanos() as Nanos;
    // If it is too near already, the one after it.
    let minute = (now() + before) / MINUTE * MINUTE + MINUTE;
    sleep_until(minute - before);
}

fn memory(daemon: &Daemon) -> io::Result<u64> {
    let end = Instant::now() + Duration::from_millis(500);
    let mut least = u64::MAX;
    while Instant::now() < end {
        least = least.min(daemon.memory()?);
        thread::sleep(Duration::from_millis(100));
    }
    Ok(least)
}

fn ms(millis: f64) -> String {
    if millis < 100.0 { format!("{millis:.1} ms") } else { format!("{millis:.0} ms") }
}

fn seconds(time: Option<Duration>) -> String {
    time.map_or("-".into(), |time| format!("{:.3} s", time.as_secs_f64()))
}
