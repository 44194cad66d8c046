//! Ports that nobody uses.
//!
//! They are below the range from which Linux takes the near end of connections. Otherwise
//! a client that tries again and again to reach a stopped API server would now and then
//! get its port as its own, and connect to itself.

use crate::error::Error;
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};

const FIRST: u16 = 16_000;
const COUNT: u16 = 16_000;

/// As many different free ports as asked for.
pub fn free<const N: usize>() -> Result<[u16; N], Error> {
    // At random, because other test processes look for ports at the same time.
    let from = (RandomState::new().hash_one(std::process::id()) % u64::from(COUNT)) as u16;
    let mut listeners = Vec::new();
    let mut ports = [0; N];
    let candidates = (0..COUNT).map(|step| FIRST + (from + step) % COUNT);
    for port in candidates {
        if listeners.len() == N {
            break;
        }
        // Held until all are found, so that none is found twice.
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            ports[listeners.len()] = port;
            listeners.push(listener);
        }
    }
    if listeners.len() < N {
        return Err(Error::failed(format!("no free port from {FIRST} on")));
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    #[test]
    fn ports_differ_and_can_be_bound() {
        let ports = super::free::<3>().unwrap();
        assert!(ports[0] != ports[1] && ports[1] != ports[2] && ports[0] != ports[2], "{ports:?}");
        for port in ports {
            std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
        }
    }
}
