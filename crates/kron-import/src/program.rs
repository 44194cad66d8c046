//! Which program a shell command is about, for naming it.
//!
//! A guess, not a shell: guards, wrappers and assignments are looked through.
//! Nothing but names depends on it.

use std::collections::VecDeque;

/// The program's name, and its arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Program {
    pub name: String,
    pub arguments: Vec<String>,
}

/// How deep `sh -c "sh -c …"` is followed.
const DEPTH: usize = 4;
/// As much of a command as is looked at, in bytes.
const LOOKED_AT: usize = 4096;

/// Words that are no program, but may come before one.
const KEYWORDS: [&str; 12] =
    ["if", "then", "else", "elif", "while", "until", "do", "!", "{", "}", "fi", "done"];
/// Programs that prepare or ask, rather than do the work.
const PREPARATIONS: [&str; 17] = [
    "cd", "[", "[[", "test", "true", "false", ":", "export", "set", "umask", ".", "source",
    "sleep", "which", "ulimit", "exit", "pushd",
];
/// Programs that run another, with the options of theirs that take a value.
const WRAPPERS: [(&str, &[&str]); 17] = [
    ("nice", &["-n"]),
    ("ionice", &["-c", "-n"]),
    ("chrt", &[]),
    ("sudo", &["-u", "-g"]),
    ("doas", &["-u"]),
    ("chronic", &[]),
    ("cronic", &[]),
    ("nohup", &[]),
    ("setsid", &[]),
    ("env", &["-u"]),
    ("exec", &[]),
    ("time", &[]),
    ("eatmydata", &[]),
    ("systemd-cat", &["-t", "-p"]),
    ("timeout", &["-k", "-s"]),
    ("flock", &["-w", "-E"]),
    ("stdbuf", &["-i", "-o", "-e"]),
];
/// Programs that run a script.
const INTERPRETERS: [&str; 15] = [
    "sh", "bash", "dash", "ksh", "zsh", "fish", "perl", "php", "python", "python2", "python3",
    "ruby", "node", "java", "Rscript",
];
const EXTENSIONS: [&str; 11] =
    [".sh", ".bash", ".ksh", ".zsh", ".py", ".pl", ".rb", ".php", ".js", ".jar", ".R"];

/// The program of a command.
pub(crate) fn program(command: &str) -> Program {
    find(command, 0).unwrap_or_default()
}

/// The program of words that no shell sees.
pub(crate) fn program_of(words: &[String]) -> Program {
    simple(words.iter().cloned().collect(), 0).unwrap_or_default()
}

fn find(command: &str, depth: usize) -> Option<Program> {
    let commands = split(command);
    let found = commands.iter().find_map(|words| simple(words.clone(), depth));
    found.or_else(|| {
        let mut words = commands.into_iter().rev().find(|words| !words.is_empty())?;
        let name = stem(&words.pop_front()?);
        Some(Program { name, arguments: words.into() })
    })
}

/// What a simple command is about; nothing if it only prepares another.
fn simple(mut words: VecDeque<String>, depth: usize) -> Option<Program> {
    loop {
        let word = words.pop_front()?;
        if KEYWORDS.contains(&word.as_str()) || is_assignment(&word) {
            continue;
        }
        let name = base(&word).to_string();
        if PREPARATIONS.contains(&name.as_str()) {
            return None;
        }
        if name == "command" {
            if words.front().is_some_and(|word| word.starts_with("-v") || word == "-V") {
                return None;
            }
            continue;
        }
        if let Some((_, valued)) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name) {
            skip_options(&mut words, valued);
            match name.as_str() {
                // A number, and a file with possibly `-c TEXT`.
                "timeout" => drop(words.pop_front()),
                "flock" => {
                    words.pop_front();
                    if words.front().is_some_and(|word| word == "-c") && depth < DEPTH {
                        return find(words.get(1)?, depth + 1);
                    }
                    skip_options(&mut words, valued);
                }
                _ => {}
            }
            continue;
        }
        if name == "run-parts" {
            let directory = words.iter().find(|word| !word.starts_with('-'))?;
            return Some(Program { name: base(directory).into(), arguments: Vec::new() });
        }
        if INTERPRETERS.contains(&name.as_str()) {
            let dash_c = words.iter().position(|word| {
                word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
            });
            let first = words.iter().position(|word| !word.starts_with('-'));
            let is_shell = name.ends_with("sh");
            match (dash_c, first) {
                (Some(at), _) if is_shell && depth < DEPTH => {
                    return find(words.get(at + 1)?, depth + 1);
                }
                (None, Some(at)) if !words.iter().take(at).any(|word| word == "-e") => {
                    words.drain(..at);
                    let name = stem(&words.pop_front()?);
                    return Some(Program { name, arguments: words.into() });
                }
                _ => {}
            }
        }
        return Some(Program { name: stem(&word), arguments: words.into() });
    }
}

fn skip_options(words: &mut VecDeque<String>, valued: &[&str]) {
    while let Some(word) = words.front().filter(|word| word.starts_with('-') && *word != "-c") {
        let takes_value = valued.contains(&word.as_str());
        words.pop_front();
        if takes_value {
            words.pop_front();
        }
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// The last component of a path.
pub(crate) fn base(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// The last component of a path, without the extension of a script.
fn stem(path: &str) -> String {
    let base = base(path);
    let stem = EXTENSIONS.iter().find_map(|extension| base.strip_suffix(extension));
    stem.unwrap_or(base).into()
}

/// The simple commands of a shell text, as words; redirections are left out.
fn split(text: &str) -> Vec<VecDeque<String>> {
    let mut commands = vec![VecDeque::new()];
    let mut word: Option<String> = None;
    let mut is_target = false;
    let mut chars = text.char_indices().take_while(|&(at, _)| at < LOOKED_AT).peekable();
    let mut end_word = |word: &mut Option<String>, commands: &mut Vec<VecDeque<String>>, to| {
        if let Some(word) = word.take()
            && !core::mem::replace(&mut is_target, to)
        {
            if let Some(words) = commands.last_mut() {
                words.push_back(word);
            }
        } else if to {
            is_target = true;
        }
    };
    while let Some((_, c)) = chars.next() {
        match c {
            ' ' | '\t' => end_word(&mut word, &mut commands, false),
            // What a substitution runs is an argument, not the program.
            '$' if chars.peek().is_some_and(|(_, c)| *c == '(') => {
                let mut depth = 0_usize;
                let inside = chars.by_ref().map(|(_, c)| c).take_while(|c| {
                    depth += usize::from(*c == '(');
                    depth -= usize::from(*c == ')');
                    depth > 0
                });
                word.get_or_insert_default().extend(inside.skip(1));
            }
            '`' => {
                let inside = chars.by_ref().map(|(_, c)| c).take_while(|&c| c != '`');
                word.get_or_insert_default().extend(inside);
            }
            ';' | '&' | '|' | '(' | ')' | '\n' => {
                // In `2>&1` it ends nothing.
                if c == '&' && chars.peek().is_some_and(|(_, c)| c.is_ascii_digit()) {
                    continue;
                }
                end_word(&mut word, &mut commands, false);
                commands.push(VecDeque::new());
            }
            '>' | '<' => {
                // A number before it is a descriptor, not a word.
                if word.as_ref().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit())) {
                    word = None;
                }
                end_word(&mut word, &mut commands, true);
            }
            '\'' => {
                let word = word.get_or_insert_default();
                word.extend(chars.by_ref().map(|(_, c)| c).take_while(|&c| c != '\''));
            }
            '"' => {
                let word = word.get_or_insert_default();
                while let Some((_, c)) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => word.extend(chars.next().map(|(_, c)| c)),
                        _ => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next().map(|(_, c)| c)),
            _ => word.get_or_insert_default().push(c),
        }
    }
    end_word(&mut word, &mut commands, false);
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs() {
        for (command, expected) in [
            ("/usr/local/bin/backup.sh home", "backup home"),
            ("cd / && run-parts --report /etc/cron.hourly", "cron.hourly"),
            (
                "test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }",
                "cron.daily",
            ),
            (
                "[ -x /usr/lib/php/sessionclean ] && if [ ! -d /run/x ]; then /usr/lib/php/sessionclean; fi",
                "sessionclean",
            ),
            ("command -v sa1 > /dev/null && sa1 1 1", "sa1 1 1"),
            ("SERVICE_MODE=1 /sbin/scrub -A -r", "scrub -A -r"),
            ("nice -n 19 ionice -c2 -n7 updatedb", "updatedb"),
            ("flock -n /run/x.lock /opt/sync.py --all", "sync --all"),
            ("flock -w 5 /run/x.lock -c 'cd /srv; ./run.sh'", "run"),
            ("sudo -u www-data php -q /srv/www/cron.php >/dev/null 2>&1", "cron"),
            ("/bin/sh -c 'exec timeout 30 rsync -a /a /b'", "rsync -a /a /b"),
            ("bash -lc \"source ~/.profile; backup\"", "backup"),
            ("python3 -m http.server", "http.server"),
            ("perl -e 'print 1'", "perl -e print 1"),
            ("timeout -k 5 1h chronic /opt/x", "x"),
            ("cd /srv", "cd /srv"),
            (">/dev/null", ""),
            ("", ""),
            ("echo 2>&1 hello", "echo hello"),
            ("(umask 077; dump)", "dump"),
            ("'unclosed", "unclosed"),
            ("[ $(date +%d) -le 7 ] && check $(echo (a) b) `c d`", "check echo (a) b c d"),
            ("x $(", "x "),
        ] {
            let Program { name, arguments } = program(command);
            let mut words = vec![name];
            words.extend(arguments);
            assert_eq!(words.join(" "), expected, "{command}");
        }
    }
}
