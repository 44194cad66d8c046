//! Listens to the daemon's log as it is written; an hour of it is not kept.

use super::account::Account;
use kron_core::logfmt::pairs;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader};
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

pub struct Ear(JoinHandle<()>);

impl Ear {
    pub fn open(daemon: &mut Child, account: Arc<Mutex<Account>>) -> io::Result<Self> {
        let log = daemon.stderr.take().ok_or_else(|| io::Error::other("no log"))?;
        Ok(Self(thread::spawn(move || {
            for line in BufReader::new(log).lines().map_while(Result::ok) {
                let time = line.split(' ').next().unwrap_or_default().to_string();
                let keys: HashMap<String, String> = pairs(&line)
                    .filter_map(Result::ok)
                    .map(|(key, value)| (key.to_string(), value.into_owned()))
                    .collect();
                account.lock().unwrap_or_else(PoisonError::into_inner).hear(&time, &keys, &line);
            }
        })))
    }

    /// Waits until everything is heard; the daemon has ended.
    pub fn close(self) {
        let _ = self.0.join();
    }
}
