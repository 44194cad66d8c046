//! Colours on a terminal and nowhere else.

use std::process::Command;

const NEXT: &str = "next --count 1 --identity x --schedule '0 0 * * *'";

/// What a command prints on a terminal that `script` makes for it; nothing where
/// there is no `script`.
fn on_a_terminal(setup: &str, arguments: &str) -> Option<String> {
    let krontab = env!("CARGO_BIN_EXE_krontab");
    let command = format!("{setup} '{krontab}' {arguments}");
    let output = Command::new("script").args(["-qec", &command, "/dev/null"]).output();
    let Ok(output) = output else {
        println!("SKIPPED: there is no `script`, so no terminal to print on");
        return None;
    };
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn colours() {
    for (setup, arguments, coloured) in [
        ("env -i TERM=xterm", NEXT, true),
        ("env -i NO_COLOR=1 TERM=xterm", NEXT, false),
        ("env -i TERM=dumb", NEXT, false),
        ("env -i TERM=xterm", &format!("{NEXT} --color never"), false),
        ("env -i TERM=xterm", &format!("{NEXT} --format json"), false),
    ] {
        let Some(printed) = on_a_terminal(setup, arguments) else { return };
        assert!(printed.contains('2'), "{printed}");
        assert_eq!(printed.contains('\u{1b}'), coloured, "{setup} {arguments}: {printed:?}");
    }
}

/// Piped, there are none, unless they are asked for.
#[test]
fn pipes() {
    for (choice, coloured) in [("auto", false), ("always", true), ("never", false)] {
        let output = Command::new(env!("CARGO_BIN_EXE_krontab"))
            .args(["next", "--count", "1", "--identity", "x", "--schedule", "0 0 * * *"])
            .args(["--color", choice])
            .env_clear()
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed.contains('\u{1b}'), coloured, "{choice}: {printed:?}");
    }
}
