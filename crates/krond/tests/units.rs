//! The units for systemd: every key is one that systemd knows, and every option that they
//! give to `krond` is one that it has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const KROND: &str = env!("CARGO_BIN_EXE_krond");

fn unit(whose: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("contrib/systemd").join(whose).join("krond.service")
}

/// The values of a key, in order.
fn values<'u>(text: &'u str, key: &str) -> Vec<&'u str> {
    text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).collect()
}

#[test]
fn what_they_call_is_there() {
    for whose in ["system", "user"] {
        let text = fs::read_to_string(unit(whose)).unwrap();
        let calls = ["ExecStart", "ExecReload"].map(|key| values(&text, key));
        let [[start], [reload]] = [&calls[0][..], &calls[1][..]] else { panic!("{calls:?}") };
        for (call, command) in [(start, "start"), (reload, "reload")] {
            let mut words = call.split(' ');
            assert_eq!(words.next(), Some("/usr/local/bin/krond"), "{call}");
            assert_eq!(words.next(), Some(command), "{call}");
            let words: Vec<&str> = words.collect();
            // What is understood up to `--help` is printed with it.
            let output = Command::new(KROND).arg(command).args(&words).arg("--help").output();
            let output = output.unwrap();
            let help = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.success(), "{call}: {help}");
            for word in words.iter().filter(|word| word.starts_with("--")) {
                assert!(help.contains(word), "{call}: no {word} in\n{help}");
            }
        }
        // It says when it is ready, and what it has started is left alone.
        assert_eq!(values(&text, "Type"), ["notify"], "{whose}");
        assert_eq!(values(&text, "KillMode"), ["process"], "{whose}");
        // What nobody but a person can mend is not tried again.
        assert_eq!(values(&text, "RestartPreventExitStatus"), ["1 2"], "{whose}");
    }
    let text = fs::read_to_string(unit("system")).unwrap();
    assert_eq!(values(&text, "StateDirectory"), ["krond"]);
    assert_eq!(values(&text, "StateDirectoryMode"), ["0700"]);
}

#[test]
fn systemd_knows_every_key() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        println!("SKIPPED: needs `systemd-analyze`");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    for (whose, is_broken) in [("system", false), ("user", false), ("system", true)] {
        let text = fs::read_to_string(unit(whose)).unwrap();
        // It looks whether the program is there.
        let mut text = text.replace("/usr/local/bin/krond", KROND);
        if is_broken {
            text = text.replace("KillMode=", "KilMode=");
        }
        let directory = place.path().join(format!("{whose}-{is_broken}"));
        fs::create_dir(&directory).unwrap();
        let file = directory.join("krond.service");
        fs::write(&file, text).unwrap();
        let mut command = Command::new("systemd-analyze");
        command.arg(format!("--{whose}")).args(["verify", "--man=no"]).arg(&file);
        let output = command.env("XDG_RUNTIME_DIR", place.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() && !said.contains("krond.service") {
            println!("SKIPPED: {said}");
            return;
        }
        // What it says of others is not ours.
        let of_ours = said.lines().any(|line| line.contains("krond.service"));
        assert_eq!(of_ours, is_broken, "{whose}: {said}");
    }
}
