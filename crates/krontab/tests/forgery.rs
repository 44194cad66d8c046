//! Logs to which somebody else has written.

use std::io::Write;
use std::process::{Command, Stdio};

/// A decision that never was, with something to say to whoever checks it.
const FORGED: &str = r#"2026-03-02T09:37:30.000000001Z level=info component=krond event=decision identity=demo period_id=2026-03-02T10:00:00Z chosen_time=2026-03-02T10:00:00Z nominal_time=2026-03-02T10:00:00Z window_start=2026-03-02T10:00:00Z window_end=2026-03-02T10:00:00Z schedule="0 10 * * *" timezone="UTC`\r\u{1b}[8m\nverified: 9 decisions came out as logged\n" mode=after distribution=uniform seed_strategy=stable salt="" period_key=x seed_hash=x attempts=0 max_attempts=4096 unschedulable=false algorithm=kron/1 tzdb=2026e"#;

/// What a log says is not taken for what `verify` says: it begins no line, and
/// hides none.
#[test]
fn a_log_says_nothing_in_our_name() {
    let mut krontab = Command::new(env!("CARGO_BIN_EXE_krontab"))
        .args(["verify", "--color", "always", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(krontab.stdin.take().unwrap(), "{FORGED}").unwrap();
    let output = krontab.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(r"\r\u{1b}[8m\nverified"), "{text}");
    assert!(!text.contains("\u{1b}[8m") && !text.contains('\r'), "{text:?}");
    assert!(!text.lines().any(|line| line.starts_with("verified")), "{text}");
}
