//! What the documents show is what the program prints; how, says
//! [`kron_tidy::transcript`].
//!
//! `UPDATE=1 cargo test -p kronctl --test transcripts` writes outputs anew; read
//! them before you keep them.

use kron_tidy::{root, transcript};
use std::path::Path;

#[test]
fn every_page_is_true() {
    let mut pages =
        transcript::pages_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages"));
    pages.push(root().join("docs/KRONCTL.md"));
    let commands = transcript::check(&pages, Path::new(env!("CARGO_BIN_EXE_kronctl")));
    assert!(commands >= 30, "{commands}");
}
