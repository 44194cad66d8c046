//! What a valid entry means, and that its canonical line means the same.

use kron_core::Zones;
use kron_tab::{Command, Entry, Output, Tab, edit, read, words};
use proptest::prelude::*;
use std::time::Duration;

fn tab(text: &str) -> Tab {
    read("/etc/krond.d/t.kron", text.as_bytes(), &mut Zones::bundled())
}

#[track_caller]
fn entry(text: &str) -> Entry {
    let tab = tab(text);
    assert_eq!(tab.problems, [], "{text}");
    assert_eq!(tab.entries.len(), 1, "{text}");
    tab.entries.into_iter().next().unwrap()
}

#[test]
fn a_full_entry() {
    let entry = entry(concat!(
        "  30 4 * * SUN  @tz(Europe/Paris) \\\n\t@win(after,2h) @policy(deadline=1h) \\\n",
        "  name=shop/report description=\"Weekly \\\"report\\\"\" \\\n",
        "  user=www-data group=adm cwd=/srv/shop env=LANG=C.UTF-8 env=\"A=b c\" env=E= \\\n",
        "  umask=027 timeout=90m stdout=file:/var/log/shop-%F.log stderr=syslog \\\n",
        "  limit-nofile=256 limit-memory=512M limit-cpu=60s \\\n",
        "  command=\"/usr/bin/report --to 'the boss' \\\n           --week\"\n",
    ));
    assert_eq!(entry.job.identity().as_str(), "/etc/krond.d/t.kron:shop/report");
    assert_eq!(
        entry.job.schedule().to_string(),
        "30 4 * * SUN @tz(Europe/Paris) @win(after,2h) @policy(deadline=1h)"
    );
    assert_eq!(entry.description.as_deref(), Some("Weekly \"report\""));
    assert_eq!((entry.user.as_deref(), entry.group.as_deref()), (Some("www-data"), Some("adm")));
    let env: Vec<_> = entry.env.iter().map(|v| format!("{}={}", v.name, v.value)).collect();
    assert_eq!(env, ["LANG=C.UTF-8", "A=b c", "E="]);
    assert_eq!(entry.umask, Some(0o027));
    assert_eq!(entry.timeout, Some(Duration::from_secs(5400)));
    assert_eq!(entry.stderr, Output::Syslog);
    assert_eq!(entry.limits.memory, Some(512 << 20));
    let expected = ["/usr/bin/report", "--to", "the boss", "--week"].map(String::from);
    assert_eq!(entry.command, Command::Direct(expected.into()));
    let Output::File(path) = &entry.stdout else { panic!() };
    let chosen = entry.job.zone().local_time("2026-03-01T23:30:00Z".parse().unwrap());
    assert_eq!(path.render(chosen), "/var/log/shop-2026-03-02.log");
}

#[test]
fn tokens_of_an_output_path() {
    let entry = entry(
        "0 0 * * * @tz(Europe/Paris) name=a command=x stdout=file:/l/%Y-%m-%d_%H%M%S_%F_%s_%%\n",
    );
    let Output::File(path) = &entry.stdout else { panic!() };
    let chosen = entry.job.zone().local_time("2026-12-31T23:04:05Z".parse().unwrap());
    assert_eq!(path.render(chosen), "/l/2027-01-01_000405_2027-01-01_1798758245_%");
}

/// A command, with and without quotes and a shell.
#[test]
fn commands() {
    for (field, expected) in [
        ("command=/bin/true", Ok(vec!["/bin/true"])),
        ("command=it's", Ok(vec!["it's"])),
        ("command=a#b", Ok(vec!["a#b"])),
        ("command=\"a #b c\"", Ok(vec!["a", "#b", "c"])),
        ("command=\"a $HOME * ; b\"", Ok(vec!["a", "$HOME", "*", ";", "b"])),
        ("command=\"a 'b  c' \\\"d e\\\" f\\\\ g ''\"", Ok(vec!["a", "b  c", "d e", "f g", ""])),
        ("shell=true command=\"a | b 'c\"", Err("a | b 'c")),
        ("shell=true command=it's", Err("it's")),
        ("shell=false command=\"a b\"", Ok(vec!["a", "b"])),
    ] {
        let entry = entry(&format!("0 0 * * * name=a {field}\n"));
        let expected = match expected {
            Ok(words) => Command::Direct(words.into_iter().map(String::from).collect()),
            Err(text) => Command::Shell(text.into()),
        };
        assert_eq!(entry.command, expected, "{field}");
        // SYN-44: what a tool writes is what was meant.
        let again = format!("{}\n", entry.line());
        assert_eq!(self::entry(&again).command, expected, "{again}");
    }
}

#[test]
fn layout() {
    let tab =
        tab("\n   # comment \\\n\t\n0 0 * * * name=a command=x\n  1 0 * * *   name=b\tcommand=y");
    assert_eq!(tab.problems, []);
    let names: Vec<_> = tab.entries.iter().map(Entry::name).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(read("/t.kron", b"", &mut Zones::bundled()), Tab::default());
}

/// ERR-07: what has a problem is no entry, even if it could be read alone.
#[test]
fn only_valid_entries() {
    let text =
        "0 0 * * * name=a command=x\n1 0 * * * name=a command=y\n2 0 * * * name=b command=z\n";
    let tab = tab(text);
    assert_eq!(tab.problems.len(), 1);
    let names: Vec<_> = tab.entries.iter().map(|e| (e.name(), e.command.to_string())).collect();
    assert_eq!(names, [("a", "x".to_string()), ("b", "z".to_string())]);
}

/// Edits change one entry and nothing else.
#[test]
fn edits() {
    let text = "# shop\n\n# nightly\n# backup\n0 0 * * *   @win(after,1h) \\\n  name=a command=it's\n\n# other\n1 0  * * * name=b command=x\n";
    let (mut line, range) = edit::find(text, "a").unwrap();
    assert_eq!(line.to_string(), "0 0 * * * @win(after,1h) name=a command=\"'it'\\\\''s'\"");
    line.set(kron_tab::Key::User, "root");
    line.set_env("A=1");
    line.set_env("A=2");
    let edited = edit::replace(text, range.clone(), &line);
    assert_eq!(
        edited,
        "# shop\n\n# nightly\n# backup\n0 0 * * * @win(after,1h) name=a user=root env=A=2 command=\"'it'\\\\''s'\"\n\n# other\n1 0  * * * name=b command=x\n"
    );
    assert_eq!(edit::remove(text, range), "# shop\n\n\n# other\n1 0  * * * name=b command=x\n");
    let (_, last) = edit::find(text, "b").unwrap();
    assert!(edit::remove(text, last).ends_with("command=it's\n\n"));
    assert_eq!(edit::find(text, "c"), None);
    let only = "# head\n0 0 * * * name=a command=x";
    let (line, range) = edit::find(only, "a").unwrap();
    assert_eq!(edit::remove(only, range), "# head\n");
    assert_eq!(edit::append(only, &line), format!("{only}\n0 0 * * * name=a command=x\n"));
}

fn value() -> impl Strategy<Value = String> {
    "[ -~\t\u{e4}\u{4e2d}]{1,24}".prop_filter("not blank", |text| !text.trim().is_empty())
}

proptest! {
    /// Whatever is in a file, reading it ends, and places are places in it.
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let tab = read("/t.kron", &bytes, &mut Zones::bundled());
        for problem in &tab.problems {
            prop_assert!(problem.span.start <= problem.span.end && problem.span.end <= bytes.len());
        }
    }

    /// Text that looks like a file, with any damage.
    #[test]
    fn any_text(text in "([0-9*] ?){0,6}( ?(@win\\(after,1h\\)|name=|command=|env=A=|\"|\\\\|\n|#| |[a-zé]){1,3}){0,12}") {
        let tab = tab(&text);
        for problem in &tab.problems {
            let place = text.get(problem.span.start..problem.span.end);
            prop_assert!(place.is_some(), "{problem:?}");
        }
        for entry in &tab.entries {
            let line = entry.line().to_string();
            let again = self::tab(&line);
            prop_assert_eq!(&again.problems, &[], "{}", line);
            prop_assert_eq!(again.entries[0].line().to_string(), line);
        }
    }

    /// SYN-44: printing and reading again keeps every value.
    #[test]
    fn print_is_a_fixed_point(
        command in value(), shell in any::<bool>(), description in value(), variable in value(),
        words in proptest::collection::vec(value(), 1..4),
    ) {
        let command = if shell { command } else { words::join(&words) };
        let mut line = kron_tab::Line { schedule: "0 0 * * * @win(after,1h)".into(), ..Default::default() };
        line.set(kron_tab::Key::Name, "a");
        line.set(kron_tab::Key::Command, &*command);
        line.set(kron_tab::Key::Shell, shell.to_string());
        line.set(kron_tab::Key::Description, &*description);
        line.set_env(&format!("V={variable}"));
        let entry = entry(&line.to_string());
        prop_assert_eq!(entry.description.as_deref(), Some(&*description));
        prop_assert_eq!(&*entry.env[0].value, &*variable);
        match &entry.command {
            Command::Shell(text) => prop_assert_eq!(text, &command),
            Command::Direct(split) => prop_assert_eq!(split, &words),
        }
        let printed = entry.line().to_string();
        let again = self::entry(&printed);
        prop_assert_eq!(&again.command, &entry.command);
        prop_assert_eq!(again.line().to_string(), printed);
    }
}
