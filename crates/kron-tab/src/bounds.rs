//! Every limit of the format, each once.

/// Largest file, in bytes.
pub const FILE_BYTES: usize = 16 << 20;
/// Most entries in a file.
pub const ENTRIES: usize = 1_000_000;
/// Longest entry, continuation lines included, in bytes.
pub const LINE_BYTES: usize = 65_536;
/// Longest name, in bytes.
pub const NAME_BYTES: usize = 128;
/// Longest name of a user or group, in bytes.
pub const ACCOUNT_BYTES: usize = 256;
/// Problems after which a file is not read on: it is something else.
pub const PROBLEMS: usize = 10_000;
/// Problems after which an entry is not read on.
pub const ENTRY_PROBLEMS: usize = 32;
/// Most fields of an entry.
pub const FIELDS: usize = 1_000;
