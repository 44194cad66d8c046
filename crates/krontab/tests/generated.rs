//! Man pages and completions are committed, and are those of this program.
//!
//! `make generate` writes them anew.

use clap::CommandFactory;
use kron_tidy::{generated, root};
use krontab::cli::Cli;
use std::fs;

#[test]
fn man_pages() {
    assert!(generated::man_pages(Cli::command(), "1", env!("CARGO_PKG_VERSION")) > 12);
}

#[test]
fn completions() {
    generated::completions(Cli::command());
}

/// The page of the file format is written by hand; it names every field and
/// every modifier.
#[test]
fn the_page_of_the_format_is_complete() {
    let page = fs::read_to_string(root().join("man/kron.5")).unwrap().replace("\\-", "-");
    for key in kron_tab::Key::ALL {
        assert!(page.contains(key.as_str()), "{}", key.as_str());
    }
    for modifier in ["@tz", "@win", "@dist", "@seed", "@policy", "@only", "@avoid"] {
        assert!(page.contains(modifier), "{modifier}");
    }
}
