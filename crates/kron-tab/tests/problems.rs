//! Every mistake a file can contain: where it is, and what is said about it.
//!
//! A row is the text and what should be reported, one mistake a line:
//! `line:column-column code: message | hint`.

use kron_core::Zones;
use kron_tab::{Lines, read};

fn report(bytes: &[u8]) -> String {
    let tab = read("/etc/krond.d/t.kron", bytes, &mut Zones::bundled());
    let lines = Lines::new(bytes);
    let said: Vec<String> = tab
        .problems
        .iter()
        .map(|problem| {
            let (from, to) = (lines.position(problem.span.start), lines.position(problem.span.end));
            let hint = problem.hint.as_deref().map(|hint| format!(" | {hint}")).unwrap_or_default();
            let until = if from.line == to.line { to.column.to_string() } else { "…".into() };
            format!(
                "{}:{}-{until} {}: {}{hint}",
                from.line, from.column, problem.code, problem.message
            )
        })
        .collect();
    said.join("\n")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(report(text.as_bytes()), expected, "{text:?}");
}

#[track_caller]
fn check_bytes(bytes: &[u8], expected: &str) {
    assert_eq!(report(bytes), expected);
}

/// FAULTS 1: each kind of foreign byte has its own message.
#[test]
fn bytes_that_do_not_belong() {
    let good = "0 0 * * * name=a command=/bin/true\n";
    check(good, "");
    check_bytes(
        format!("\u{feff}{good}").as_bytes(),
        "1:1-2 byte-order-mark: file begins with a byte order mark | save the file as plain UTF-8",
    );
    check_bytes(
        format!("{good}# a\0b\n").as_bytes(),
        "2:4-5 nul-byte: file has a NUL byte | is this a binary file, or UTF-16?",
    );
    check_bytes(
        good.replace('\n', "\r\n").repeat(2).as_bytes(),
        "1:35-36 carriage-return: 2 lines end with a carriage return | convert the file: `sed -i 's/\\r$//' FILE`",
    );
    check_bytes(
        b"# caf\xe9\n",
        "1:6-7 invalid-utf8: file is not valid UTF-8 | convert the file: `iconv -f ISO-8859-1 -t UTF-8 FILE`",
    );
    // All of them at once.
    let kinds: Vec<String> = report(b"\xef\xbb\xbf\r\n\0\xff")
        .lines()
        .map(|line| line.split([' ', ':']).nth(2).unwrap().into())
        .collect();
    assert_eq!(kinds, ["byte-order-mark", "carriage-return", "nul-byte", "invalid-utf8"]);
}

/// A backslash in the middle of a line once kept the reader busy for ever.
#[test]
fn a_backslash_between_blanks() {
    assert!(report(b"0 0 \\\\ * * * \\ x name=a command=x\n").contains("field-count"));
}

/// FAULTS 3: what is not closed or not finished.
#[test]
fn unfinished() {
    check("0 0 * * * name=a command=\"/bin/true\n", "1:26-36 unclosed: this quote is never closed");
    check(
        "0 0 * * * name=a command=/bin/true \\",
        "1:36-37 unfinished-line: nothing follows this `\\` | remove the backslash",
    );
    check(
        "\\",
        "1:1-1 field-count: no cron fields\n1:1-2 unfinished-line: nothing follows this `\\` | remove the backslash\n1:2-2 missing-field: this entry has no `name` | add `name=backup`\n1:2-2 missing-field: this entry has no `command` | add `command=/usr/local/bin/backup`",
    );
    check(
        "0 0 * * * @seed(stable,salt=\"x) name=a command=/bin/true\n",
        "1:29-30 unclosed: this quote is never closed",
    );
    let nested = format!("0 0 * * * @win{} name=a command=x\n", "(".repeat(5000));
    assert!(!report(nested.as_bytes()).is_empty());
}

/// FAULTS 4, ERR-05: names, fields and values.
#[test]
fn fields() {
    check(
        "0 0 * * * command=/bin/true\n",
        "1:28-28 missing-field: this entry has no `name` | add `name=backup`",
    );
    check(
        "0 0 * * * name=a\n",
        "1:17-17 missing-field: this entry has no `command` | add `command=/usr/local/bin/backup`",
    );
    check(
        "0 0 * * * name=a cmd=/bin/true\n",
        "1:18-21 unknown-field: unknown field `cmd` | did you mean `command`?",
    );
    check(
        "0 0 * * * name=a command=x timezone=UTC comand=y\n",
        "1:28-36 unknown-field: unknown field `timezone` | that is part of the schedule: `@tz(Europe/Paris)`\n1:41-47 unknown-field: unknown field `comand` | did you mean `command`?",
    );
    check(
        "0 0 * * * name=a command=x user=a user=b\n",
        "1:35-39 duplicate-field: field `user` is given twice",
    );
    check(
        "0 0 * * * name=a command=x env=A=1 env=A=2\n",
        "1:40-43 duplicate-field: variable `A` is set twice",
    );
    check(
        "0 0 * * * name=a command=x\n\n1 0 * * * name=a command=y\n",
        "3:16-17 duplicate-name: name `a` is given to two entries",
    );
    check(
        "0 0 * * * name= command=x cwd=\"\"\n",
        "1:11-16 missing-value: field `name` has no value | leave the field out if nothing is meant\n1:27-33 missing-value: field `cwd` has no value | leave the field out if nothing is meant",
    );
    for (value, hint) in [
        ("Backup", " | did you mean `backup`?"),
        ("\"my job\"", " | did you mean `my-job`?"),
        ("-a-", " | did you mean `a`?"),
        ("%%", ""),
        ("büro", " | did you mean `b-ro`?"),
    ] {
        let text = format!("0 0 * * * name={value} command=x\n");
        let bare = value.trim_matches('"');
        let end = 16 + value.chars().count();
        check(&text, &format!("1:16-{end} invalid-value: `{bare}` is not a name{hint}"));
    }
    let long = format!("0 0 * * * name={} command=x\n", "a".repeat(129));
    assert!(report(long.as_bytes()).contains("is longer than 128 bytes"));
}

/// The mistake everyone makes once: a command without its quotes.
#[test]
fn stray_words() {
    check(
        "0 0 * * * name=a command=/bin/echo hello world user=root\n",
        "1:36-47 unexpected-word: unexpected `hello world` | a value with spaces needs double quotes: `command=\"/bin/echo hello world\"`",
    );
    check(
        "0 0 * * * name=a command=x # nightly\n",
        "1:28-37 unexpected-word: unexpected `# nightly` | a comment has a line of its own; or use `description=\"…\"`",
    );
    check(
        "0 0 * * * name=a command=x @win(after,1h)\n",
        "1:28-42 unexpected-word: unexpected `@win(after,1h)` | modifiers belong to the schedule; put them before the fields",
    );
    check("0 0 * * * name=a command=\"x\" y\n", "1:30-31 unexpected-word: unexpected `y`");
}

/// What people bring from cron gets one message each.
#[test]
fn lines_of_a_crontab() {
    let import = "with `shell=true` if a shell is needed; `krontab import` converts whole crontabs";
    for (line, expected) in [
        (
            "0 3 * * * /usr/bin/backup.sh --all",
            format!("1:11-35 crontab-line: `/usr/bin/backup.sh --all` is no part of a schedule | write `name=backup command=\"/usr/bin/backup.sh --all\"`, {import}"),
        ),
        (
            "17 * * * * root cd / && run-parts",
            format!("1:12-34 crontab-line: `root cd / && run-parts` is no part of a schedule | write `user=root name=cd command=\"cd / && run-parts\"`, {import}"),
        ),
        (
            "@daily /usr/bin/x",
            format!("1:1-7 macro: macro `@daily` is not accepted | write `0 0 * * *`\n1:8-18 crontab-line: `/usr/bin/x` is no part of a schedule | write `name=x command=\"/usr/bin/x\"`, {import}"),
        ),
        (
            "0 3 * * 7 /usr/bin/x",
            format!("1:9-10 out-of-range: day of week `7` is out of range | Sunday is `0` or `SUN`\n1:11-21 crontab-line: `/usr/bin/x` is no part of a schedule | write `name=x command=\"/usr/bin/x\"`, {import}"),
        ),
        (
            "0 3 * * 7 \\\n  /usr/bin/x",
            format!("1:9-10 out-of-range: day of week `7` is out of range | Sunday is `0` or `SUN`\n2:3-13 crontab-line: `/usr/bin/x` is no part of a schedule | write `name=x command=\"/usr/bin/x\"`, {import}"),
        ),
        (
            "MAILTO=root",
            "1:1-12 variable-line: a variable cannot be set for a whole file | Kron sends no mail; `stdout` and `stderr` say where output goes".into(),
        ),
        (
            "PATH=/usr/bin",
            "1:1-14 variable-line: a variable cannot be set for a whole file | write `env=PATH=/usr/bin` into each entry that needs it".into(),
        ),
        (
            "0 0 * * * name = a command = b",
            "1:11-31 blank-around-equals: a blank before `=` | write `name=` and the value right behind it".into(),
        ),
        (
            "0 0 0 * * * name=a command=b",
            "1:11-12 field-count: 6 cron fields, but there must be five | there is no seconds or year field".into(),
        ),
        (
            "@daily name=a command=b",
            "1:1-7 macro: macro `@daily` is not accepted | write `0 0 * * *`".into(),
        ),
        (
            "0 0 * * * name=a command='/bin/echo hello world'",
            "1:37-49 unexpected-word: unexpected `hello world'` | a value with spaces needs double quotes: `command=\"/bin/echo hello world\"`".into(),
        ),
        (
            "0 0 * * * name=my job command=x",
            "1:19-22 unexpected-word: unexpected `job`".into(),
        ),
        (
            "0 0 * * * name=c command=/bin/echo\\ a",
            "1:35-36 unquoted-backslash: a backslash outside quotes | write `command=\"/bin/echo\\\\\"`".into(),
        ),
    ] {
        check(&format!("{line}\n"), &expected);
    }
}

/// Found by fuzzing: the name of a line that is no entry was not taken, so that
/// an edit could have met the wrong one of two.
#[test]
fn a_foreign_line_takes_its_name() {
    let said = report(b"0 0 * * * x name=a command=b\n0 0 * * * name=a command=c\n");
    assert!(said.contains("1:11-12 crontab-line"), "{said}");
    assert!(said.contains("2:16-17 duplicate-name"), "{said}");
}

#[test]
fn quoting() {
    check(
        "0 0 * * * name=a command=\"x\"y\n",
        "1:29-30 text-after-quote: text right after a closing quote | write a quote inside a quoted value as `\\\"`",
    );
    check(
        "0 0 * * * name=a command=\"a\\n\"\n",
        "1:28-30 invalid-escape: unknown escape `\\n` | write a backslash as `\\\\`",
    );
    check(
        "0 0 * * * name=a command=a\\b\n",
        "1:27-28 unquoted-backslash: a backslash outside quotes | write `command=\"a\\\\b\"`",
    );
    check(
        "0 0 * * * name=a command=x stdout=file:\"/a b\"\n",
        "1:35-46 quote-inside-value: quotes must enclose the whole value | write `stdout=\"file:/a b\"`",
    );
    check(
        "0 0 * * * name=a command=\"a 'b\"\n",
        "1:26-32 invalid-value: a `'` in the command is never closed | with `shell=true` the text goes to a shell as it is",
    );
    check(
        "0 0 * * * name=a command=\"a\u{1b}[0m\"\n",
        "1:26-33 control-character: `command` has the control character `\\u{1b}`",
    );
}

/// ERR-05, ERR-08, FAULTS 11, 28: what a value may not be.
#[test]
fn values() {
    for (field, expected) in [
        ("user=0", "`0` is not the name of a user | numbers are not accepted; name the account"),
        (
            "user=1000",
            "`1000` is not the name of a user | numbers are not accepted; name the account",
        ),
        (
            "user=0day",
            "`0day` is not the name of a user | numbers are not accepted; name the account",
        ),
        ("group=7", "`7` is not the name of a group | numbers are not accepted; name the account"),
        ("user=-x", "`-x` is not the name of a user"),
        ("user=a/b", "`a/b` is not the name of a user"),
        ("cwd=tmp", "`tmp` is not an absolute path"),
        ("cwd=~/x", "`~/x` is not an absolute path | `~` is not expanded; write the path"),
        ("umask=22", "`22` is not a mask"),
        ("umask=0888", "`0888` is not a mask"),
        ("umask=1777", "`1777` is not a mask"),
        ("timeout=10", "`10` is not a duration"),
        ("timeout=0s", "`0s` is too short"),
        ("timeout=-1s", "`-1s` is not a duration"),
        ("shell=yes", "`yes` is neither `true` nor `false` | write `true`"),
        (
            "shell=/bin/bash",
            "`/bin/bash` is neither `true` nor `false` | name another shell in the command: `command=\"/bin/bash -c '…'\"`",
        ),
        ("stdout=/tmp/x", "`/tmp/x` is not a value of `stdout` | write `file:/tmp/x`"),
        ("stderr=journal", "`journal` is not a value of `stderr` | write `syslog`"),
        ("stdout=discrad", "`discrad` is not a value of `stdout` | did you mean `discard`?"),
        ("stdout=file:x", "path `x` is not absolute"),
        ("stdout=file:/a/../b", "path `/a/../b` contains `..` | write the path without detours"),
        ("stdout=file:/a/", "path `/a/` is a directory"),
        ("stdout=file:/a%q", "unknown token `%q` in a path | write a percent sign as `%%`"),
        ("stdout=file:/a%", "unknown token `%` in a path | write a percent sign as `%%`"),
        ("env=A", "`A` has no `=`"),
        ("env=1A=x", "`1A` is not the name of a variable"),
        ("env==x", "`` is not the name of a variable"),
        ("limit-nofile=0", "`0` is not a limit"),
        ("limit-nproc=+1", "`+1` is not a limit"),
        ("limit-memory=1T", "`1T` is not a size"),
        ("limit-memory=99999999999G", "`99999999999G` is not a size"),
        ("limit-cpu=1500ms", "`1500ms` has a fraction of a second"),
    ] {
        let said = report(format!("0 0 * * * name=a command=x {field}\n").as_bytes());
        let said = said.split_once(": ").map_or("", |(_, said)| said);
        assert_eq!(said, expected, "{field}");
    }
}

/// ERR-05: mistakes in the schedule have their place in the file, also after
/// a line was joined.
#[test]
fn schedules() {
    check("# x\n0 25 * * * name=a command=x\n", "2:3-5 out-of-range: hour `25` is out of range");
    check(
        "0 0 * * * \\\n  @tz(Europe/Pari) \\\n  name=a \\\n  command=x usr=y\n",
        "2:7-18 unknown-zone: `Europe/Pari` is not a time zone of the IANA database | did you mean `Europe/Paris`?\n4:13-16 unknown-field: unknown field `usr` | did you mean `user`?",
    );
    check(
        "0 0 * * * \\\n# not a comment\nname=a command=x\n",
        "2:1-16 field-count: 9 cron fields, but there must be five\n2:16-16 missing-field: this entry has no `name` | add `name=backup`\n2:16-16 missing-field: this entry has no `command` | add `command=/usr/local/bin/backup`\n3:1-1 field-count: no cron fields",
    );
    // Everything wrong with a file in one go, in its order.
    check(
        "60 * * * * name=a command=x\n0 0 * * * @wni(after,1h) name=b command=x\n0 0 * * * name=C\n",
        "1:1-3 out-of-range: minute `60` is out of range | the full hour is minute `0`\n2:11-25 unknown-modifier: unknown modifier `@wni` | did you mean `@win`?\n3:16-17 invalid-value: `C` is not a name | did you mean `c`?\n3:17-17 missing-field: this entry has no `command` | add `command=/usr/local/bin/backup`",
    );
}

/// A blank inside parentheses is the engine's to report, at its place.
#[test]
fn blanks_in_modifiers() {
    let hint = "remove the space; only a salt may have one, in double quotes";
    check(
        "0 0 * * * @policy(deadline=1h, concurrency=forbid) name=a command=x\n",
        &format!("1:31-32 whitespace: white space inside parentheses | {hint}"),
    );
    check("0 0 * * * @seed(stable,salt=\"a ) b\") name=a command=x\n", "");
    check(
        "0 0 * * * @win(after,1h name=a command=\"f(x)\"\n",
        "1:15-16 unclosed: this parenthesis is never closed",
    );
}

/// FAULTS 2: a single entry with thousands of mistakes, or of fields.
#[test]
fn one_entry_with_too_much() {
    let escapes = format!("0 0 * * * name=a command=\"{}\"\n", "\\q".repeat(30_000));
    assert_eq!(report(escapes.as_bytes()).lines().count(), 1);
    let fields = format!("0 0 * * * name=a command=x {}\n", "user=a ".repeat(9_000));
    assert!(report(fields.as_bytes()).lines().count() <= 32);
    let env: Vec<String> = (0..1_100).map(|i| format!(" env=A{i}=x")).collect();
    let env = env.concat();
    let said = report(format!("0 0 * * * name=a command=x{env}\n").as_bytes());
    assert!(said.contains("too-many-fields: more than 1000 fields"), "{said}");
}

/// FAULTS 2: refused at once, whatever their size.
#[test]
fn too_much() {
    let long = format!("0 0 * * * name=a command={}\n", "x".repeat(1 << 20));
    check_bytes(long.as_bytes(), "1:1-1 line-too-long: entry of 1048601 bytes is too long");
    let joined = "\\\n".repeat(40_000);
    let said = report(joined.as_bytes());
    assert!(said.starts_with("1:1-1 line-too-long"), "{said}");
    let large = vec![b'#'; (16 << 20) + 1];
    check_bytes(&large, "1:1-1 file-too-large: file of 16777217 bytes is too large");
    let many = "0\n".repeat(1_000_001);
    let tab = read("/t.kron", many.as_bytes(), &mut Zones::bundled());
    assert_eq!(tab.problems.last().unwrap().code, "too-many-entries");
}
