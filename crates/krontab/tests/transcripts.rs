//! What the documents show is what the program prints; how, says
//! [`kron_tidy::transcript`].
//!
//! `UPDATE=1 cargo test -p krontab --test transcripts` writes outputs anew; read
//! them before you keep them.

use kron_tidy::{root, transcript};
use std::path::Path;

#[test]
fn every_page_is_true() {
    let mut pages =
        transcript::pages_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages"));
    pages.extend(["README.md", "docs/KRONTAB.md"].map(|page| root().join(page)));
    let commands = transcript::check(&pages, Path::new(env!("CARGO_BIN_EXE_krontab")));
    assert!(commands >= 40, "{commands}");
}
