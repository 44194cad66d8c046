//! CORE-02, CORE-08: the engine cannot reach the clock, files, the environment
//! or the platform's mathematics; and the checks that say so do catch it.
//!
//! A copy of the engine is built as it is, then with one forbidden line each
//! time. The copy has its own target directory, kept between runs.

use kron_tidy::{cargo, files, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The copies share a directory, so only one test at a time may use it.
static COPY: Mutex<()> = Mutex::new(());

/// A fresh copy of the engine, with `line` added to its library.
fn copy_with(line: &str) -> PathBuf {
    let copy = root().join("target/tidy/engine");
    let _ = fs::remove_dir_all(copy.join("crates"));
    let from = root().join("crates/kron-core");
    let to = copy.join("crates/kron-core");
    for path in files(&from.join("src")).unwrap() {
        copy_file(&path, &to.join(path.strip_prefix(&from).unwrap()));
    }
    for name in ["Cargo.toml", "clippy.toml"] {
        copy_file(&from.join(name), &to.join(name));
    }
    // A workspace of its own, with the same lints and the same versions.
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let members = manifest.lines().map(|line| {
        if line.starts_with("members") || line.starts_with("default-members") {
            line.split(" = ").next().unwrap().to_string() + r#" = ["crates/kron-core"]"#
        } else {
            line.to_string()
        }
    });
    fs::write(copy.join("Cargo.toml"), members.collect::<Vec<_>>().join("\n")).unwrap();
    copy_file(&root().join("Cargo.lock"), &copy.join("Cargo.lock"));
    let library = to.join("src/lib.rs");
    let text = fs::read_to_string(&library).unwrap();
    fs::write(&library, format!("{text}\n{line}\n")).unwrap();
    copy
}

fn copy_file(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(from, to).unwrap();
}

/// Whether a cargo command accepts the engine with `line`, and what it says.
fn accepts(command: &[&str], line: &str) -> (bool, String) {
    let _guard = COPY.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let copy = copy_with(line);
    let output = cargo(&copy, command).unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

const CHECK: &[&str] = &["check", "--offline", "--lib"];
const CLIPPY: &[&str] = &["clippy", "--offline", "--lib", "--", "-D", "warnings"];

#[test]
fn std_is_not_there() {
    let (ok, text) = accepts(CHECK, "");
    assert!(ok, "{text}");
    for line in [
        "/// Clock.\npub fn f() -> u64 { std::time::SystemTime::now().elapsed().unwrap().as_secs() }",
        "/// Environment.\npub fn f() -> bool { std::env::var(\"TZ\").is_ok() }",
        "/// Files.\npub fn f() -> bool { std::fs::read(\"/etc/localtime\").is_ok() }",
        "/// Mathematics.\n#[must_use]\npub fn f(x: f64) -> f64 { x.powf(2.5) }",
        "/// Mathematics.\n#[must_use]\npub fn f(x: f64) -> f64 { x.ln() }",
        "/// Clock.\n#[must_use]\npub fn f() -> i64 { jiff::Timestamp::now().as_second() }",
        "/// Unsafe.\n#[must_use]\npub fn f(x: *const u8) -> u8 { unsafe { *x } }",
    ] {
        let (ok, text) = accepts(CHECK, line);
        assert!(!ok, "accepted: {line}");
        assert!(text.contains("error"), "{line}: {text}");
    }
}

/// Even with `extern crate std` the lints name what is forbidden.
#[test]
fn lints_catch_it_all_the_same() {
    let (ok, text) = accepts(CLIPPY, "");
    if text.contains("no such command") || text.contains("is not installed") {
        println!(
            "SKIPPED: clippy is not installed, so its part of the architecture is not checked"
        );
        return;
    }
    assert!(ok, "{text}");
    let add_std = "extern crate std;";
    for (line, says) in [
        (
            "/// Clock.\n#[must_use]\npub fn f() -> bool { std::time::SystemTime::now() > std::time::UNIX_EPOCH }",
            "SystemTime::now",
        ),
        (
            "/// Clock.\n#[must_use]\npub fn f() -> u32 { std::time::Instant::now().elapsed().subsec_nanos() }",
            "Instant::now",
        ),
        (
            "/// Environment.\n#[must_use]\npub fn f() -> bool { std::env::var(\"TZ\").is_ok() }",
            "env::var",
        ),
        (
            "/// Files.\n#[must_use]\npub fn f() -> bool { std::fs::read(\"/etc/localtime\").is_ok() }",
            "fs::read",
        ),
        ("/// Mathematics.\n#[must_use]\npub fn f(x: f64) -> f64 { x.powf(2.5) }", "powf"),
        ("/// Mathematics.\n#[must_use]\npub fn f(x: f64) -> f64 { x.exp() }", "exp"),
        (
            "/// Order.\n#[must_use]\npub fn f() -> std::collections::HashMap<u8, u8> { std::collections::HashMap::default() }",
            "HashMap",
        ),
    ] {
        let (ok, text) = accepts(CLIPPY, &format!("{add_std}\n{line}"));
        assert!(!ok, "accepted: {line}");
        let named = text.contains("disallowed") && text.contains(says);
        assert!(named, "{line}: {text}");
    }
}

/// No dependency of the engine brings `std` in by a feature.
#[test]
fn dependencies_are_built_without_std() {
    let arguments = [
        "tree",
        "-p",
        "kron-core",
        "-e",
        "no-dev,no-proc-macro,features",
        "--offline",
        "--prefix",
        "none",
    ];
    let output = cargo(&root(), &arguments).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("kron-core"), "{text}");
    let with_std: Vec<&str> =
        text.lines().filter(|line| line.contains("feature \"std\"")).collect();
    assert!(with_std.is_empty(), "{with_std:?}");
}
