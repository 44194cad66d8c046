//! The names of files in the state directory (STATE, Storage Location). No part
//! of an identity is ever part of a name.

use super::error::Problem;
use super::folder::{Folder, Step};
use kron_core::{Identity, UtcInstant};
use sha2::{Digest, Sha256};

/// The file that knows every job ever seen.
pub(super) const ROSTER: &str = "roster";

const STATE: &str = ".json";
const TEMPORARY: &str = ".tmp";
const SPARE: &str = "spare-";

/// What a state file is named after.
pub(super) type Hash = [u8; 32];

pub(super) fn hash(identity: &Identity) -> Hash {
    Sha256::digest(identity.as_str().as_bytes()).into()
}

/// The name of a job's state file.
pub(super) fn state(hash: &Hash) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut name = String::with_capacity(2 * hash.len() + STATE.len() + TEMPORARY.len());
    for byte in hash {
        name.push(char::from(DIGITS[usize::from(byte >> 4)]));
        name.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    name.push_str(STATE);
    name
}

/// Whose state file a name is.
pub(super) fn state_hash(name: &[u8]) -> Option<Hash> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let digits: &[u8; 64] = name.strip_suffix(STATE.as_bytes())?.try_into().ok()?;
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(hash)
}

/// The name under which a file is written before it takes its own.
pub(super) fn temporary(name: &str) -> String {
    format!("{name}{TEMPORARY}")
}

/// The name of a file that was replaced, by this process.
pub(super) fn spare(number: u32) -> String {
    format!("{SPARE}{}-{number}", std::process::id())
}

pub(super) fn is_spare(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let numbers = name.strip_prefix(SPARE).and_then(|name| name.split_once('-'));
    numbers.is_some_and(|(process, number)| is_number(process) && is_number(number))
}

pub(super) fn is_temporary(name: &str) -> bool {
    name.strip_suffix(TEMPORARY)
        .is_some_and(|name| name == ROSTER || state_hash(name.as_bytes()).is_some())
}

/// Moves a damaged file aside, durably, and never over an earlier one. Returns
/// its new name.
pub(super) fn quarantine(folder: &Folder, name: &str, now: UtcInstant) -> Result<String, Problem> {
    let failed = |step| move |error| Problem::failed(folder.path_of(name), step, error);
    let time: String = now.floor().to_string().replace(['-', ':'], "");
    let first = format!("{name}.corrupt.{time}");
    let mut aside = first.clone();
    let mut number = 1_u32;
    // We hold the lock, so nobody takes the name in between.
    while folder.exists(&aside).map_err(failed(Step::Rename))? {
        number += 1;
        aside = format!("{first}-{number}");
    }
    folder.rename(name, &aside).map_err(failed(Step::Rename))?;
    folder.sync_directory().map_err(failed(Step::SyncDirectory))?;
    Ok(aside)
}
