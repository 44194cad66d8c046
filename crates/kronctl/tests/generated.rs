//! Man pages and completions are committed, and are those of this program.
//!
//! `make generate` writes them anew.

use kron_tidy::generated;
use kronctl::cli::command;

#[test]
fn man_pages() {
    assert_eq!(generated::man_pages(command(None), "1", env!("CARGO_PKG_VERSION")), 7);
}

#[test]
fn completions() {
    generated::completions(command(None));
}
