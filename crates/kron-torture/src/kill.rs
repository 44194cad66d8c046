//! `kron-torture kill`: lanes beside each other, each a process with its own
//! mounts, its own directory and its own daemon.

use crate::place::leave_mounts;
use crate::random::Random;
use crate::round::{Outcome, Round, Setup};
use crate::tally::Tally;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

/// Kills of one round; then everything is checked, and begins anew.
const ROUND: u64 = 120;
/// The file that tells lanes to end.
const OVER: &str = "over";

#[derive(Clone, Debug, clap::Args)]
pub struct Kill {
    /// How often to kill
    #[arg(long, default_value_t = 1000, value_name = "N")]
    kills: u64,

    /// Daemons to torture at once
    #[arg(long, default_value_t = 6, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=64))]
    lanes: u64,

    /// What everything follows from but the machine's timing
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,

    /// Jobs of each daemon
    #[arg(long, default_value_t = 100, value_name = "N")]
    jobs: usize,

    /// The daemon; by default the one beside this program
    #[arg(long, value_name = "PATH")]
    krond: Option<PathBuf>,

    /// A mistake that the daemon is to make (it must be built for that)
    #[arg(long, value_name = "NAME")]
    mutant: Option<String>,

    /// Remove the directories of what failed, too
    #[arg(long)]
    forget: bool,

    /// Where to work; by default a directory for temporary files
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// One lane, as its process is told.
#[derive(Clone, Debug, clap::Args)]
pub struct Lane {
    #[arg(long)]
    number: u64,
    #[arg(long)]
    kills: u64,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    jobs: usize,
    #[arg(long)]
    krond: PathBuf,
    #[arg(long)]
    mutant: Option<String>,
    #[arg(long)]
    directory: PathBuf,
}

/// What a lane says after each round.
#[derive(Debug, Serialize, Deserialize)]
struct Word {
    lane: u64,
    round: u64,
    tally: Tally,
    told: Vec<String>,
    kept: Option<PathBuf>,
    /// Why the lane could not go on.
    broken: Option<String>,
}

impl Kill {
    /// `false` if a law was broken.
    pub fn run(&self) -> io::Result<bool> {
        let krond = match &self.krond {
            Some(path) => path.canonicalize()?,
            None => std::env::current_exe()?.with_file_name("krond"),
        };
        for program in [&krond, &krond.with_file_name("krontab")] {
            if !program.is_file() {
                return Err(io::Error::other(format!("{}: build it first", program.display())));
            }
        }
        let base = match &self.directory {
            Some(directory) => tempfile::Builder::new().prefix("torture.").tempdir_in(directory)?,
            None => tempfile::Builder::new().prefix("torture.").tempdir()?,
        };
        let begun = Instant::now();
        let (mut tally, mut kept, mut broken) = (Tally::default(), Vec::new(), false);
        for word in self.lanes(&krond, base.path())? {
            tally.add(&word.tally);
            for told in &word.told {
                println!("lane {} round {} seed {}: {told}", word.lane, word.round, self.seed);
            }
            if let Some(error) = &word.broken {
                println!("lane {} round {}: {error}", word.lane, word.round);
                broken = true;
            }
            if !word.told.is_empty() || word.broken.is_some() {
                let _ = fs::write(base.path().join(OVER), "");
            }
            kept.extend(word.kept);
            progress(&tally, self.kills, begun);
        }
        eprintln!();
        let seconds = begun.elapsed().as_secs_f64();
        print!("{}", tally.table());
        let rate = tally.kills() as f64 / seconds;
        println!("{:<57} {seconds:>9.0}\n{:<57} {rate:>9.1}", "seconds", "kills a second");
        if !self.forget && (!kept.is_empty() || broken) {
            for path in &kept {
                println!("kept: {}", path.display());
            }
            let _ = base.keep();
        }
        Ok(tally.is_clean() && !broken)
    }

    /// Starts all lanes; what they say, as they say it.
    fn lanes(&self, krond: &Path, base: &Path) -> io::Result<mpsc::Receiver<Word>> {
        let (sender, receiver) = mpsc::channel();
        for number in 0..self.lanes {
            let share = self.kills / self.lanes + u64::from(number < self.kills % self.lanes);
            let mut child = self.lane(number, share, krond, base)?;
            let sender = sender.clone();
            thread::spawn(move || {
                let lines = child.stdout.take().map(BufReader::new);
                for line in lines.into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
                    if let Ok(word) = serde_json::from_str(&line) {
                        let _ = sender.send(word);
                    }
                }
                let status = child.wait();
                if !status.as_ref().is_ok_and(std::process::ExitStatus::success) {
                    let broken = Some(format!("the lane ended: {status:?}"));
                    let (tally, told, kept) = (Tally::default(), Vec::new(), None);
                    let word = Word { lane: number, round: 0, tally, told, kept, broken };
                    let _ = sender.send(word);
                }
            });
        }
        Ok(receiver)
    }

    fn lane(&self, number: u64, share: u64, krond: &Path, base: &Path) -> io::Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("lane").arg("--krond").arg(krond).arg("--directory").arg(base);
        let numbers = [("--number", number), ("--kills", share), ("--seed", self.seed)];
        for (name, value) in numbers {
            command.arg(name).arg(value.to_string());
        }
        command.arg("--jobs").arg(self.jobs.to_string());
        if let Some(mutant) = &self.mutant {
            command.arg("--mutant").arg(mutant);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()
    }
}

fn progress(tally: &Tally, kills: u64, begun: Instant) {
    let seconds = begun.elapsed().as_secs();
    let line = format!(
        "{seconds} s: {} of {kills} kills, {} runs, {} duplicates, {} unexplained, {} others",
        tally.kills(),
        tally.runs,
        tally.duplicates,
        tally.unexplained,
        tally.violations
    );
    let mut err = io::stderr();
    let _ = if err.is_terminal() {
        write!(err, "\r{line} ").and_then(|()| err.flush())
    } else {
        writeln!(err, "{line}")
    };
}

impl Lane {
    pub fn run(&self) -> io::Result<()> {
        // Before there is a second thread.
        let can_mount = leave_mounts().is_ok();
        let setup = Setup {
            krond: self.krond.clone(),
            mutant: self.mutant.clone(),
            mark: std::env::current_exe()?,
            jobs: self.jobs,
            can_mount,
        };
        let over = self.directory.join(OVER);
        let (mut done, mut round) = (0, 0);
        while done < self.kills && !over.exists() {
            let word = self.round(&setup, round, ROUND.min(self.kills - done), &over);
            done += word.tally.kills();
            round += 1;
            println!("{}", serde_json::to_string(&word)?);
            if word.broken.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn round(&self, setup: &Setup, round: u64, kills: u64, over: &Path) -> Word {
        let random = Random::new(self.seed, (self.number << 32) + round);
        let directory = self.directory.join(format!("lane-{}-round-{round}", self.number));
        let own_volume = (self.number + round).is_multiple_of(2);
        let outcome = Round::new(setup, directory.clone(), random, own_volume)
            .and_then(|round| round.run(kills, || over.exists()));
        let lane = self.number;
        match outcome {
            Ok(Outcome { tally, told, kept }) => {
                Word { lane, round, tally, told, kept, broken: None }
            }
            Err(error) => Word {
                lane,
                round,
                tally: Tally::default(),
                told: Vec::new(),
                kept: Some(directory),
                broken: Some(error.to_string()),
            },
        }
    }
}
