//! `krontab import`: jobs of cron, systemd and Kubernetes as Kron's.
//!
//! What a converted job is, is decided in `kron-import`. Here files are read,
//! the outcome is shown, and, if asked for, written.

use crate::change::{self, Draft};
use crate::cli::{Format, Import, ImportFormat};
use crate::clock;
use crate::lint::counted;
use anstyle::{AnsiColor, Style};
use kron_core::{Job, UtcSecond, Zones};
use kron_host::{account, places};
use kron_import::{File, Host, Item, Names, Verdict};
use kron_tab::{Key, Line, edit, words};
use kron_term::failure::{Failure, INVALID, USER, note, warn};
use kron_term::sources::printable;
use kron_term::terminal;
use serde_json::{Value, json};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs shown before and after.
const RUNS: usize = 3;
/// How far ahead they are looked for.
const YEAR: Duration = Duration::from_secs(366 * 86_400);
/// Largest file, in bytes.
const FILE_BYTES: u64 = 16 << 20;

pub(crate) fn import(arguments: &Import) -> Result<u8, Failure> {
    let mut zones = Zones::bundled();
    let zone = host_zone(arguments, &mut zones)?;
    let user = user(arguments)?;
    let texts = read(arguments)?;
    let files: Vec<File<'_>> = texts.iter().map(|(name, text)| File { name, text }).collect();
    let home = |name: &str| {
        let account = account::by_name(name).ok().flatten()?;
        account.home.to_str().map(String::from)
    };
    let host = Host { zone: &zone, user: &user, home: &home, system: places::is_system() };
    let open = |path| open(path, arguments.dry_run);
    let mut draft = arguments.output.as_deref().map(open).transpose()?;
    let mut convert = |names: &mut Names| {
        kron_import::import(format(arguments.format), &files, &host, names, &mut zones)
    };
    let present = draft.as_ref().map(|draft| edit::lines(&draft.text)).unwrap_or_default();
    // What was imported before keeps its name; what is new gets one of its own.
    let before: Vec<Line> = convert(&mut Names::new()).items.iter().filter_map(item_line).collect();
    let mut names = Names::new();
    for line in present.iter().filter(|line| !before.contains(line)) {
        if let Some((_, name)) = line.fields.iter().find(|(key, _)| *key == Key::Name) {
            names.insert(name);
        }
    }
    let import = convert(&mut names);
    let report = Report { arguments, files: &files, zone: &zone, now: clock::now() };
    match arguments.output_format {
        Format::Text => terminal::print(&report.text(&import, &mut zones)),
        Format::Json => terminal::print_json(&report.json(&import, &mut zones)),
    }
    if let Some(draft) = draft.as_mut().filter(|_| !arguments.dry_run) {
        let (new, old) = write(draft, &import.items, &files, &present)?;
        let new = counted(new, "job", "jobs");
        let old = match old {
            0 => String::new(),
            1 => "; 1 was there already".into(),
            old => format!("; {old} were there already"),
        };
        if new.starts_with("0 ") {
            note(format_args!("nothing new was written{old}"));
        } else {
            note(format_args!("wrote {new} to {}{old}", draft.path().display()));
        }
        for name in left_behind(&draft.text, &files, &import) {
            warn(format_args!(
                "`{name}` was imported before and is not in the source any more; `krontab remove {name}` removes it"
            ));
        }
    } else if arguments.output_format == Format::Text {
        note("nothing was written; `--output PATH` writes the converted jobs");
    }
    let refused = import.items.iter().any(|item| matches!(item.verdict, Verdict::Refused { .. }));
    Ok(if refused { USER } else { 0 })
}

fn open(path: &Path, dry_run: bool) -> Result<Draft, Failure> {
    let path = change::target(Some(path))?;
    if dry_run { Draft::peek(&path) } else { Draft::open(&path) }
}

const fn format(format: ImportFormat) -> kron_import::Format {
    match format {
        ImportFormat::Crontab => kron_import::Format::Crontab,
        ImportFormat::SystemCrontab => kron_import::Format::SystemCrontab,
        ImportFormat::Systemd => kron_import::Format::Systemd,
        ImportFormat::Cronjob => kron_import::Format::CronJob,
    }
}

/// The zone that cron and systemd use on this host.
fn host_zone(arguments: &Import, zones: &mut Zones) -> Result<String, Failure> {
    if let Some(zone) = &arguments.zone {
        return match zones.get(zone) {
            Ok(_) => Ok(zone.clone()),
            Err(error) => Err(Failure::new(INVALID, format!("`{zone}` is {error}"))
                .hint_if(error.suggestion.map(|name| format!("did you mean `{name}`?")))),
        };
    }
    let linked = fs::read_link("/etc/localtime").ok().and_then(|target| {
        let target = target.to_str()?.to_string();
        target.split_once("zoneinfo/").map(|(_, name)| name.to_string())
    });
    let written = || fs::read_to_string("/etc/timezone").ok().map(|text| text.trim().to_string());
    let known = |name: &String| zones.get(name).is_ok();
    match linked.into_iter().chain(written()).find(known) {
        Some(name) => Ok(name),
        None => {
            note("the time zone of this host is not known; UTC is assumed, `--zone` names another");
            Ok("UTC".into())
        }
    }
}

fn user(arguments: &Import) -> Result<String, Failure> {
    if let Some(user) = &arguments.user {
        return Ok(user.clone());
    }
    match account::current() {
        Ok(Some(account)) => Ok(account.name),
        _ => Err(Failure::new(USER, "this user has no name").hint("name one with `--user`")),
    }
}

/// The files, and for a timer the service next to it.
fn read(arguments: &Import) -> Result<Vec<(String, String)>, Failure> {
    let mut paths: Vec<PathBuf> = arguments.files.clone();
    if arguments.format == ImportFormat::Systemd {
        for timer in &arguments.files {
            let service = timer.with_extension("service");
            let is_timer = timer.extension().is_some_and(|extension| extension == "timer");
            if is_timer && service.is_file() && !paths.contains(&service) {
                paths.push(service);
            }
        }
    }
    paths.iter().map(|path| read_one(path)).collect()
}

/// What a file is called in messages, and its text; `-` is standard input.
///
/// # Errors
/// When it cannot be read, is too large, or is not UTF-8.
pub fn read_one(path: &Path) -> Result<(String, String), Failure> {
    let mut bytes = Vec::new();
    let (name, result) = if path == Path::new("-") {
        (
            "standard input".into(),
            std::io::stdin().lock().take(FILE_BYTES + 1).read_to_end(&mut bytes),
        )
    } else {
        let read =
            fs::File::open(path).and_then(|file| file.take(FILE_BYTES + 1).read_to_end(&mut bytes));
        (printable(path), read)
    };
    result.map_err(|error| Failure::file(INVALID, Path::new(&name), &error))?;
    if bytes.len() as u64 > FILE_BYTES {
        return Err(Failure::new(INVALID, format!("{name}: larger than {FILE_BYTES} bytes")));
    }
    String::from_utf8(bytes)
        .map(|text| (name.clone(), text))
        .map_err(|_| Failure::new(INVALID, format!("{name}: not valid UTF-8")))
}

fn item_line(item: &Item) -> Option<Line> {
    item.verdict.entry().map(kron_import::Entry::line)
}

/// Jobs that an earlier import took from these files, and this one did not.
fn left_behind(text: &str, files: &[File<'_>], import: &kron_import::Import) -> Vec<String> {
    let now: Vec<&str> =
        import.items.iter().filter_map(|item| Some(&*item.verdict.entry()?.name)).collect();
    let origins: Vec<String> =
        files.iter().map(|file| edit::comment(&origin(file.name)).trim_end().into()).collect();
    let mut imported = false;
    let mut names = Vec::new();
    for line in text.lines() {
        if line.starts_with('#') {
            imported |= origins.iter().any(|origin| line.starts_with(origin.as_str()));
        } else if std::mem::take(&mut imported) {
            let entry = edit::lines(line).into_iter().next();
            let fields = entry.map(|line| line.fields).unwrap_or_default();
            names.extend(fields.into_iter().find(|(key, _)| *key == Key::Name).map(|(_, n)| n));
        }
    }
    names.retain(|name| !now.contains(&name.as_str()));
    names
}

/// The beginning of the comment above an imported job.
fn origin(file: &str) -> String {
    format!("from {file}: ")
}

/// Adds the converted jobs to a file, each below a comment that says where it
/// comes from; how many are new, and how many were there already.
fn write(
    draft: &mut Draft,
    items: &[Item],
    files: &[File<'_>],
    present: &[Line],
) -> Result<(usize, usize), Failure> {
    let mut text = draft.text.clone();
    let (mut count, mut old) = (0, 0);
    for item in items {
        let Some(line) = item_line(item) else { continue };
        if present.contains(&line) {
            old += 1;
            continue;
        }
        count += 1;
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let file = files.get(item.file).map_or("?", |file| file.name);
        text += &edit::comment(&format!("{}{}", origin(file), item.source));
        for change in item.verdict.notes() {
            text += &edit::comment(&format!("  {change}"));
        }
        text = edit::append(&text, &line);
    }
    draft.check(&text)?;
    if count > 0 {
        draft.write(&text)?;
    }
    Ok((count, old))
}

struct Report<'a> {
    arguments: &'a Import,
    files: &'a [File<'a>],
    zone: &'a str,
    now: UtcSecond,
}

impl Report<'_> {
    fn text(&self, import: &kron_import::Import, zones: &mut Zones) -> String {
        let bold = |colour: AnsiColor| Style::new().bold().fg_color(Some(colour.into()));
        let mut out = String::new();
        let mut counts = [0; 3];
        for item in &import.items {
            let (index, word, style) = match &item.verdict {
                Verdict::Exact(_) => (0, "exact", bold(AnsiColor::Green)),
                Verdict::Changed { .. } => (1, "changed", bold(AnsiColor::Yellow)),
                Verdict::Refused { .. } => (2, "refused", bold(AnsiColor::Red)),
            };
            counts[index] += 1;
            out += &format!("{style}{word:<8}{style:#} {}: {}\n", self.place(item), item.source);
            for text in item.verdict.notes() {
                out += &format!("         - {text}\n");
            }
            if let Some(entry) = item.verdict.entry() {
                out += &format!("         {}\n", entry.line());
                if let Some((before, after)) = self.runs(entry, zones) {
                    out += &format!("         before  {}\n", before.join("  "));
                    out += &format!("         after   {}\n", after.join("  "));
                }
            }
            out.push('\n');
        }
        for remark in &import.remarks {
            let name = self.files.get(remark.file).map_or("", |file| file.name);
            let line = remark.line.map(|line| format!(":{line}")).unwrap_or_default();
            out += &format!("note: {name}{line}: {}\n", remark.text);
        }
        if import.items.is_empty() {
            out += "nothing to convert was found\n";
        }
        let [exact, changed, refused] = counts;
        out += &format!("{exact} exact, {changed} changed, {refused} refused\n");
        if exact + changed > 0 {
            out += "\nTo end the originals, once the new jobs are in place:\n";
            for command in self.disable(import) {
                out += &format!("  {command}\n");
            }
        }
        out
    }

    fn place(&self, item: &Item) -> String {
        let name = self.files.get(item.file).map_or("?", |file| file.name);
        format!("{name}:{}", item.line)
    }

    /// The next nominal times, which is when the original runs, and the next
    /// chosen ones; local for people, UTC for programs.
    fn runs(
        &self,
        entry: &kron_import::Entry,
        zones: &mut Zones,
    ) -> Option<(Vec<String>, Vec<String>)> {
        let identity = match &self.arguments.output {
            Some(path) => format!("{}:{}", places::clean(path).ok()?.display(), entry.name),
            None => {
                let directory = places::config_dir()?;
                format!("{}:{}", directory.join(change::DEFAULT_FILE).display(), entry.name)
            }
        };
        let job = Job::parse(&identity, &entry.schedule, zones).ok()?;
        let local = |at: UtcSecond| {
            if self.arguments.output_format == Format::Json {
                return at.to_string();
            }
            let local = job.zone().local_time(at);
            let (hour, minute, second) = local.time_of_day();
            format!("{} {} {hour:02}:{minute:02}:{second:02}", local.weekday(), local.date())
        };
        let mut nominal = self.now;
        let before = std::iter::from_fn(|| {
            nominal = job.next_period(nominal)?.nominal();
            Some(local(nominal))
        });
        let before = before.take(RUNS).collect();
        let mut at = self.now;
        let after = std::iter::from_fn(|| {
            let year = at.instant().saturating_add(YEAR).floor();
            let chosen = job.next_chosen(at, year)?;
            at = chosen.instant().saturating_add(Duration::from_secs(1)).floor();
            Some(local(chosen))
        });
        let after = after.take(RUNS).collect();
        Some((before, after))
    }

    fn disable_crontab(&self) -> String {
        let whose = match &self.arguments.user {
            Some(user) => format!("crontab -u {user} -e"),
            None => "crontab -e".into(),
        };
        format!("{whose}    # put a `#` before the converted lines")
    }

    /// How to keep the originals from running, too.
    fn disable(&self, import: &kron_import::Import) -> Vec<String> {
        let mut commands: Vec<String> = Vec::new();
        for item in import.items.iter().filter(|item| item.verdict.entry().is_some()) {
            let file = self.files.get(item.file).map_or("", |file| file.name);
            let command = match self.arguments.format {
                ImportFormat::Crontab => self.disable_crontab(),
                ImportFormat::SystemCrontab if file.starts_with("/etc/cron.d/") => {
                    let away = words::join(&["mv", file, &format!("{file}.disabled")]);
                    format!("{away}    # cron passes over names with a dot")
                }
                ImportFormat::SystemCrontab => {
                    format!("put a `#` before line {} of {file}", item.line)
                }
                ImportFormat::Systemd => {
                    let unit = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
                    words::join(&["systemctl", "disable", "--now", &unit])
                }
                ImportFormat::Cronjob => {
                    // The source is `CronJob namespace/name`, or without a namespace.
                    let whole =
                        item.source.split_ascii_whitespace().next_back().unwrap_or_default();
                    let (space, name) = match whole.split_once('/') {
                        Some((space, name)) => (Some(space), name),
                        None => (None, whole),
                    };
                    let mut command = vec!["kubectl", "patch", "cronjob", name];
                    command.extend(space.iter().flat_map(|space| ["-n", *space]));
                    command.extend(["-p", r#"{"spec":{"suspend":true}}"#]);
                    words::join(&command)
                }
            };
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
        commands
    }

    fn json(&self, import: &kron_import::Import, zones: &mut Zones) -> Value {
        let items: Vec<Value> = import
            .items
            .iter()
            .map(|item| {
                let (verdict, entry) = match &item.verdict {
                    Verdict::Exact(entry) => ("exact", Some(entry)),
                    Verdict::Changed { entry, .. } => ("changed", Some(entry)),
                    Verdict::Refused { .. } => ("refused", None),
                };
                let (before, after) =
                    entry.and_then(|entry| self.runs(entry, zones)).unwrap_or_default();
                json!({
                    "verdict": verdict,
                    "file": self.files.get(item.file).map(|file| file.name),
                    "line": item.line,
                    "source": item.source,
                    "notes": item.verdict.notes(),
                    "job": entry.map(|entry| &entry.name),
                    "entry": entry.map(|entry| entry.line().to_string()),
                    "before": before,
                    "after": after,
                })
            })
            .collect();
        let remarks: Vec<Value> = import
            .remarks
            .iter()
            .map(|remark| {
                json!({
                    "file": self.files.get(remark.file).map(|file| file.name),
                    "line": remark.line,
                    "text": remark.text,
                })
            })
            .collect();
        json!({
            "zone": self.zone,
            "items": items,
            "remarks": remarks,
            "disable": self.disable(import),
        })
    }
}
