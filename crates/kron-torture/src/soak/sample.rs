//! What the daemon takes of the machine, at one moment.

use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Which daemon.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    pub pid: u32,
    /// Where it serves its metrics.
    pub port: u16,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    pub descriptors: u64,
    pub rss_kib: u64,
    pub threads: u64,
    /// Children that have ended and were not collected.
    pub zombies: u64,
    pub queue: u64,
    pub running: u64,
}

impl Sample {
    pub fn take(scope: Scope) -> io::Result<Self> {
        let process = format!("/proc/{}", scope.pid);
        let status = fs::read_to_string(format!("{process}/status"))?;
        let metrics = metrics(scope.port)?;
        Ok(Self {
            descriptors: fs::read_dir(format!("{process}/fd"))?.count() as u64,
            rss_kib: field(&status, "VmRSS:"),
            threads: field(&status, "Threads:"),
            zombies: zombies(scope.pid)?,
            queue: field(&metrics, "kron_queue_length "),
            running: field(&metrics, "kron_running "),
        })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { descriptors, rss_kib, threads, zombies, queue, running } = self;
        write!(
            f,
            "{rss_kib} KiB, {descriptors} descriptors, {threads} threads, {zombies} zombies, \
             {queue} in the queue, {running} running"
        )
    }
}

/// The number behind a word at the start of a line.
fn field(text: &str, word: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(word));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0) as u64
}

fn metrics(port: u16) -> io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(120)))?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

fn zombies(pid: u32) -> io::Result<u64> {
    let mut count = 0;
    for entry in fs::read_dir("/proc")?.flatten() {
        let name = entry.file_name();
        if !name.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        // It may be gone by now.
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let mut words = rest.split_whitespace();
        let (state, parent) = (words.next(), words.next());
        count += u64::from(state == Some("Z") && parent == Some(pid.to_string().as_str()));
    }
    Ok(count)
}
