//! How long starts take: `starts PROGRAM MEGABYTES THREADS [COUNT]` prepares,
//! releases and collects COUNT commands (1,000) with PROGRAM as set-up process,
//! in a daemon of that size; with `-` before PROGRAM it spawns that and nothing
//! else, for comparison. Processor time is that of the daemon and all children.

use kron_host::launch::{Daemon, Plan, Sink};
use krond::exec::{Launcher, Options, Order, Prepared, Report, process};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::event::epoll::{self, EventData, EventFlags};
use std::collections::HashMap;
use std::error::Error;
use std::process::Command;
use std::task::Poll;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [program, megabytes, threads, rest @ ..] = words.as_slice() else {
        return Err("starts PROGRAM MEGABYTES THREADS [COUNT]".into());
    };
    let count: u64 = rest.first().map_or(Ok(1_000), |count| count.parse())?;
    // Touched, so that it is there.
    let ballast = vec![1_u8; megabytes.parse::<usize>()? << 20];
    let threads = threads.parse()?;
    let begin = Instant::now();
    let before = processor_micros()?;
    match program.strip_prefix('-') {
        Some(program) => plain(count, threads, program),
        None => all(count, threads, program)?,
    }
    let millis = begin.elapsed().as_millis();
    let each = (processor_micros()? - before) / count as i64;
    println!(
        "{program}, {megabytes} MB, {threads} threads: {millis} ms, {each} µs of processor each"
    );
    std::hint::black_box(ballast);
    Ok(())
}

fn processor_micros() -> Result<i64, Box<dyn Error>> {
    let mut sum = 0;
    for who in [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN] {
        let usage = getrusage(who)?;
        sum += usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    }
    Ok(sum)
}

fn plain(count: u64, threads: u64, program: &str) {
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..count / threads {
                    let _ = Command::new(program).status();
                }
            });
        }
    });
}

fn order(run: u64) -> Order {
    Order::new(run, "bench", || {
        let here = Daemon::here();
        Ok(Plan {
            words: vec!["/bin/true".into()],
            inherit_env: true,
            unset: here.unset,
            env: vec![("KRON_JOB".into(), "bench".into())],
            cwd: Some("/".into()),
            umask: None,
            ids: None,
            limits: Vec::new(),
            restore_nofile: None,
            stdout: Sink::Inherit,
            stderr: Sink::Inherit,
        })
    })
}

fn all(count: u64, threads: u64, program: &str) -> Result<(), Box<dyn Error>> {
    let options =
        Options { program: program.into(), threads: threads as usize, ..Options::default() };
    let launcher = Launcher::new(options)?;
    for run in 0..count {
        launcher.prepare(order(run));
    }
    serve(&launcher, count)
}

fn serve(launcher: &Launcher, count: u64) -> Result<(), Box<dyn Error>> {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&poll, launcher.descriptor(), EventData::new_u64(u64::MAX), EventFlags::IN)?;
    let (mut gates, mut pidfds) = (HashMap::new(), HashMap::new());
    let mut left = count;
    let mut events = Vec::with_capacity(256);
    while left > 0 {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            let number = event.data.u64();
            if number == u64::MAX {
                for spawned in launcher.results() {
                    let Prepared { pidfd, gate, .. } = spawned.result?;
                    let run = spawned.run * 2;
                    epoll::add(&poll, gate.fd(), EventData::new_u64(run), EventFlags::IN)?;
                    epoll::add(&poll, &pidfd, EventData::new_u64(run + 1), EventFlags::IN)?;
                    gates.insert(run, gate);
                    pidfds.insert(run + 1, pidfd);
                }
            } else if let Some(mut gate) = gates.remove(&number) {
                match gate.report() {
                    Poll::Ready(Report::Ready) => drop(gate.release()?),
                    other => return Err(format!("{other:?}").into()),
                }
            } else if let Some(pidfd) = pidfds.remove(&number) {
                process::reap(&pidfd)?.ok_or("it runs")?;
                left -= 1;
            }
        }
    }
    Ok(())
}
