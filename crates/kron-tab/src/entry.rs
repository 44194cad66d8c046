//! What the fields of an entry mean.

use crate::bounds::{ACCOUNT_BYTES, NAME_BYTES};
use crate::key::Key;
use crate::line::{Field, Raw};
use crate::output::Output;
use crate::problem::Problem;
use crate::words;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Deref;
use core::time::Duration;
use kron_core::time::duration;
use kron_core::{Job, Span, Zones, quoted};

/// A checked entry: when to run, and what.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The schedule, with the entry's identity.
    pub job: Job,
    /// What to run.
    pub command: Command,
    /// What it is for.
    pub description: Option<Box<str>>,
    /// User to run as, if not the daemon's own.
    pub user: Option<Box<str>>,
    /// Group to run as, if not the user's own.
    pub group: Option<Box<str>>,
    /// Directory to run in.
    pub cwd: Option<Box<str>>,
    /// Variables to set, in the order of the file.
    pub env: Vec<EnvVar>,
    /// File mode mask.
    pub umask: Option<u16>,
    /// Longest run.
    pub timeout: Option<Duration>,
    /// Where standard output goes.
    pub stdout: Output,
    /// Where standard error goes.
    pub stderr: Output,
    /// Limits of its processes.
    pub limits: Limits,
    /// Where it stands in its file; nothing if that was forgotten.
    places: Option<Box<Places>>,
}

/// Where an entry stands in its file.
#[derive(Clone, Debug, PartialEq)]
struct Places {
    /// All of it.
    entry: Span,
    /// Its schedule.
    schedule: Span,
    /// The values of its fields.
    fields: Box<[(Key, Span)]>,
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A program and its arguments; at least one word.
    Direct(Vec<String>),
    /// A text for `/bin/sh -c`.
    Shell(String),
}

/// An environment variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvVar {
    /// Its name.
    pub name: Box<str>,
    /// Its value, possibly empty.
    pub value: Box<str>,
}

/// Limits of the kernel for a job's processes; what is absent is inherited. Few
/// jobs have any, so they take room only where they are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits(Option<Box<GivenLimits>>);

/// Which limits are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GivenLimits {
    /// Most open files.
    pub nofile: Option<u64>,
    /// Most processes of the user.
    pub nproc: Option<u64>,
    /// Most address space, in bytes.
    pub memory: Option<u64>,
    /// Most processor time, in seconds.
    pub cpu: Option<u64>,
    /// Largest file, in bytes.
    pub fsize: Option<u64>,
    /// Largest core dump, in bytes.
    pub core: Option<u64>,
}

impl GivenLimits {
    const NONE: Self =
        Self { nofile: None, nproc: None, memory: None, cpu: None, fsize: None, core: None };
}

impl From<GivenLimits> for Limits {
    fn from(given: GivenLimits) -> Self {
        Self((given != GivenLimits::NONE).then(|| Box::new(given)))
    }
}

impl Deref for Limits {
    type Target = GivenLimits;

    fn deref(&self) -> &GivenLimits {
        self.0.as_deref().unwrap_or(&GivenLimits::NONE)
    }
}

impl Entry {
    /// The name, unique in the file: the end of its identity.
    #[must_use]
    pub fn name(&self) -> &str {
        let identity = self.job.identity().as_str();
        identity.rsplit_once(':').map_or(identity, |(_, name)| name)
    }

    /// The whole entry in its file.
    #[must_use]
    pub fn span(&self) -> Span {
        self.places.as_ref().map_or(Span::default(), |places| places.entry)
    }

    /// Its schedule in its file.
    #[must_use]
    pub fn schedule_span(&self) -> Span {
        self.places.as_ref().map_or(Span::default(), |places| places.schedule)
    }

    /// Where a field's value stands, if the field is given.
    #[must_use]
    pub fn place(&self, key: Key) -> Option<Span> {
        let places = self.places.as_ref()?;
        places.fields.iter().find(|(known, _)| *known == key).map(|(_, span)| *span)
    }

    /// Forgets where it stands, which only messages about its file need.
    pub fn forget_places(&mut self) {
        self.places = None;
    }
}

/// Turns a raw entry into a checked one; what is wrong goes to `problems`.
pub(crate) fn check(
    raw: &Raw<'_>,
    text: &str,
    path: &str,
    span: Span,
    zones: &mut Zones,
    problems: &mut Vec<Problem>,
) -> Option<Entry> {
    let before = problems.len();
    let name = required(raw, Key::Name, problems).map(|field| (field, name(field)));
    let named = match &name {
        Some((_, Ok(name))) => Some(*name),
        _ => None,
    };
    if let Some((_, Err(problem))) = &name {
        problems.push(problem.clone());
    }
    let job = job(raw, text, path, named, zones, problems);
    let mut reader = Reader { raw, problems };
    let shell = reader.take(Key::Shell, boolean).unwrap_or(false);
    let command = required(raw, Key::Command, reader.problems);
    let command = command.and_then(|field| kept(command_of(field, shell), reader.problems));
    let description = reader.take(Key::Description, |field| Ok((*field.value).into()));
    let user = reader.take(Key::User, account);
    let group = reader.take(Key::Group, account);
    let cwd = reader.take(Key::Cwd, directory);
    let umask = reader.take(Key::Umask, mode_mask);
    let timeout = reader.take(Key::Timeout, length);
    let stdout = reader.take(Key::Stdout, output).unwrap_or_default();
    let stderr = reader.take(Key::Stderr, output).unwrap_or_default();
    let limits = GivenLimits {
        nofile: reader.take(Key::LimitNofile, count),
        nproc: reader.take(Key::LimitNproc, count),
        memory: reader.take(Key::LimitMemory, size),
        cpu: reader.take(Key::LimitCpu, whole_seconds),
        fsize: reader.take(Key::LimitFsize, size),
        core: reader.take(Key::LimitCore, size),
    };
    let env = environment(raw, problems);
    if problems.len() > before {
        return None;
    }
    let fields = raw.fields.iter().map(|field| (field.key, field.value_span)).collect();
    let places = Places { entry: span, schedule: raw.schedule, fields };
    named?;
    Some(Entry {
        job: job?,
        command: command?,
        description,
        user,
        group,
        cwd,
        env,
        umask,
        timeout,
        stdout,
        stderr,
        limits: limits.into(),
        places: Some(Box::new(places)),
    })
}

pub(crate) fn job(
    raw: &Raw<'_>,
    text: &str,
    path: &str,
    name: Option<&str>,
    zones: &mut Zones,
    problems: &mut Vec<Problem>,
) -> Option<Job> {
    // Without a name the schedule is checked all the same.
    let identity = name.map_or_else(|| "unnamed".to_string(), |name| format!("{path}:{name}"));
    match Job::parse(&identity, &raw.schedule(text), zones) {
        Ok(job) => Some(job),
        Err(errors) => {
            let at = raw.schedule.start;
            problems.extend(errors.as_slice().iter().map(|e| Problem::in_schedule(e, at)));
            None
        }
    }
}

struct Reader<'a, 't> {
    raw: &'a Raw<'t>,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_, '_> {
    /// A field's meaning, if it is given and has one.
    fn take<T>(&mut self, key: Key, read: impl Fn(&Field<'_>) -> Result<T, Problem>) -> Option<T> {
        let field = self.raw.field(key)?;
        kept(read(field), self.problems)
    }
}

fn kept<T>(read: Result<T, Problem>, problems: &mut Vec<Problem>) -> Option<T> {
    read.map_err(|problem| problems.push(problem)).ok()
}

fn required<'r, 't>(
    raw: &'r Raw<'t>,
    key: Key,
    problems: &mut Vec<Problem>,
) -> Option<&'r Field<'t>> {
    let field = raw.fields.iter().find(|field| field.key == key);
    // A field that was written but could not be read has been reported.
    if field.is_none() && !problems.iter().any(|problem| problem.field == Some(key)) {
        let key = key.as_str();
        let example = if key == "name" { "name=backup" } else { "command=/usr/local/bin/backup" };
        problems.push(
            Problem::new(
                "missing-field",
                Span::new(raw.end, raw.end),
                format!("this entry has no `{key}`"),
            )
            .expect(format!("a field `{key}`"))
            .hint(format!("add `{example}`")),
        );
    }
    field
}

fn problem(field: &Field<'_>, what: &str) -> Problem {
    Problem::new("invalid-value", field.value_span, format!("{} {what}", quoted(&field.value)))
        .found(&field.value)
}

fn name<'f>(field: &'f Field<'_>) -> Result<&'f str, Problem> {
    const EXPECTED: &str = "lower-case letters and digits, with `-`, `/`, `.` or `_` inside";
    let name = &*field.value;
    if name.len() > NAME_BYTES {
        return Err(problem(field, &format!("is longer than {NAME_BYTES} bytes"))
            .senseless()
            .expect(EXPECTED));
    }
    let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = name.as_bytes();
    let ends = bytes.first().zip(bytes.last());
    let valid = ends.is_some_and(|(&first, &last)| alphanumeric(first) && alphanumeric(last))
        && bytes.iter().all(|&b| alphanumeric(b) || matches!(b, b'-' | b'/' | b'.' | b'_'));
    if valid {
        return Ok(name);
    }
    let slug: String = name
        .to_ascii_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-/._".contains(c) { c } else { '-' })
        .collect();
    let slug = slug.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let hint = (!slug.is_empty()).then(|| format!("did you mean `{slug}`?"));
    Err(problem(field, "is not a name").expect(EXPECTED).hint_if(hint))
}

fn boolean(field: &Field<'_>) -> Result<bool, Problem> {
    match &*field.value {
        "true" => Ok(true),
        "false" => Ok(false),
        other => {
            let hint = match other.to_ascii_lowercase().as_str() {
                "yes" | "on" | "1" | "true" | "sh" | "/bin/sh" => Some("write `true`".into()),
                "no" | "off" | "0" | "false" => Some("write `false`".into()),
                shell if shell.ends_with("sh") => {
                    Some(format!("name another shell in the command: `command=\"{other} -c '…'\"`"))
                }
                _ => None,
            };
            Err(problem(field, "is neither `true` nor `false`")
                .expect("`true` or `false`")
                .hint_if(hint))
        }
    }
}

fn command_of(field: &Field<'_>, shell: bool) -> Result<Command, Problem> {
    if field.value.trim().is_empty() {
        return Err(problem(field, "is not a command").expect("a program, and its arguments"));
    }
    if shell {
        return Ok(Command::Shell(field.value.clone().into_owned()));
    }
    if !field.quoted {
        return Ok(Command::Direct(Vec::from([field.value.clone().into_owned()])));
    }
    match words::split(&field.value) {
        Ok(words) if words.first().is_some_and(|word| !word.is_empty()) => {
            Ok(Command::Direct(words))
        }
        Ok(_) => Err(problem(field, "is not a command").expect("a program, and its arguments")),
        Err(error) => Err(Problem::new("invalid-value", field.value_span, error.to_string())
            .found(&field.value)
            .expect("words, with quotes as in a shell")
            .hint("with `shell=true` the text goes to a shell as it is")),
    }
}

fn account(field: &Field<'_>) -> Result<Box<str>, Problem> {
    let (name, key) = (&*field.value, field.key.as_str());
    let expected = format!("the name of a {key}");
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(problem(field, &format!("is not the name of a {key}"))
            .expect(expected)
            .hint("numbers are not accepted; name the account"));
    }
    let first = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    let inner = |b: u8| first(b) || b.is_ascii_digit() || matches!(b, b'-' | b'.' | b'@');
    let body = name.strip_suffix('$').unwrap_or(name).as_bytes();
    let valid = name.len() <= ACCOUNT_BYTES
        && body.first().is_some_and(|&b| first(b))
        && body.iter().all(|&b| inner(b));
    if valid {
        Ok(name.into())
    } else {
        Err(problem(field, &format!("is not the name of a {key}")).expect(expected))
    }
}

fn directory(field: &Field<'_>) -> Result<Box<str>, Problem> {
    let path = &*field.value;
    if path.starts_with('/') {
        return Ok(path.into());
    }
    let hint = path.starts_with('~').then(|| "`~` is not expanded; write the path".to_string());
    Err(problem(field, "is not an absolute path").expect("an absolute path").hint_if(hint))
}

fn mode_mask(field: &Field<'_>) -> Result<u16, Problem> {
    let digits = &*field.value;
    let octal = (3..=4).contains(&digits.len()) && digits.bytes().all(|b| matches!(b, b'0'..=b'7'));
    match u16::from_str_radix(digits, 8) {
        Ok(mask) if octal && mask <= 0o777 => Ok(mask),
        _ => {
            Err(problem(field, "is not a mask").expect("three or four octal digits, such as `022`"))
        }
    }
}

fn length(field: &Field<'_>) -> Result<Duration, Problem> {
    match duration::parse(&field.value) {
        Ok(length) if length.is_zero() => {
            Err(problem(field, "is too short").senseless().expect("more than zero"))
        }
        Ok(length) => Ok(length),
        Err(_) => Err(problem(field, "is not a duration").expect("such as `90s` or `1h30m`")),
    }
}

fn whole_seconds(field: &Field<'_>) -> Result<u64, Problem> {
    let length = length(field)?;
    if length.subsec_nanos() == 0 {
        return Ok(length.as_secs());
    }
    Err(problem(field, "has a fraction of a second").senseless().expect("whole seconds"))
}

fn output(field: &Field<'_>) -> Result<Output, Problem> {
    Output::parse(&field.value, field.key.as_str(), field.value_span)
}

fn count(field: &Field<'_>) -> Result<u64, Problem> {
    match field.value.parse() {
        Ok(count) if count > 0 && field.value.bytes().all(|b| b.is_ascii_digit()) => Ok(count),
        _ => Err(problem(field, "is not a limit").expect("a number, 1 or more")),
    }
}

/// Bytes, with `K`, `M` or `G` for powers of 1024.
fn size(field: &Field<'_>) -> Result<u64, Problem> {
    let text = &*field.value;
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K') => (&text[..text.len() - 1], 10),
        Some(b'M') => (&text[..text.len() - 1], 20),
        Some(b'G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits
        .parse::<u64>()
        .ok()
        .filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| {
            problem(field, "is not a size")
                .expect("a number of bytes, or such as `64K`, `512M`, `2G`")
        })
}

fn environment(raw: &Raw<'_>, problems: &mut Vec<Problem>) -> Vec<EnvVar> {
    let mut variables: Vec<EnvVar> = Vec::new();
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for field in raw.fields.iter().filter(|field| field.key == Key::Env) {
        let Some((name, value)) = field.value.split_once('=') else {
            problems.push(problem(field, "has no `=`").expect("`env=NAME=value`"));
            continue;
        };
        let first = name.bytes().next();
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if !first.is_some_and(|b| plain(b) && !b.is_ascii_digit()) || !name.bytes().all(plain) {
            problems.push(
                Problem::new(
                    "invalid-value",
                    field.value_span,
                    format!("{} is not the name of a variable", quoted(name)),
                )
                .found(name)
                .expect("letters, digits and `_`, not beginning with a digit"),
            );
            continue;
        }
        if !names.insert(name) {
            problems.push(
                Problem::new(
                    "duplicate-field",
                    field.value_span,
                    format!("variable `{name}` is set twice"),
                )
                .found(name)
                .expect("each variable once"),
            );
            continue;
        }
        variables.push(EnvVar { name: name.into(), value: value.into() });
    }
    variables
}
