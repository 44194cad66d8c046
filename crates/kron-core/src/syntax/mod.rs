//! The schedule syntax: five cron fields and seven modifiers (SYNTAX).
//!
//! [`Spec::parse`] turns a line into a [`Spec`], every part with its place in
//! the text, or into all errors of the line at once. What needs a time zone
//! database is left to [`Job`](crate::Job).
//!
//! | file | reads |
//! |---|---|
//! | `scan` | tokens: fields, modifiers, parentheses, quotes |
//! | `piece` | parts of a token, each with its place |
//! | `cron` | the five fields |
//! | `modifier` | `@tz @win @dist @seed @policy` |
//! | `clause` | `@only @avoid` |
//! | `print` | the way back: the canonical text |

mod clause;
mod cron;
mod modifier;
pub(crate) mod names;
mod piece;
pub(crate) mod print;
mod scan;

pub use print::Schedule;

use crate::bounds::{OPEN_WINDOWS, SCHEDULE_BYTES};
use crate::calendar::Cron;
use crate::constraint::Constraints;
use crate::distribution::Distribution;
use crate::error::{Code, DefinitionError, DefinitionErrors, Span, quoted};
use crate::policy::PolicySpec;
use crate::seed::SeedStrategy;
use crate::suggest::nearest;
use crate::time::duration::Pretty;
use crate::window::WindowSpec;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use modifier::{Argument, Modifier};
use piece::Piece;
use scan::{Scanner, Token};

/// A value and where it stands in the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub span: Span,
}

/// A schedule as written: checked for everything but its time zone.
///
/// ```
/// use kron_core::syntax::Spec;
/// let spec = Spec::parse("0 10 * * * @win(around,45m) @tz(Europe/Paris)")?;
/// assert_eq!(spec.zone().unwrap().value, "Europe/Paris");
/// assert_eq!(spec.zone().unwrap().span.start, 32);
/// # Ok::<(), kron_core::DefinitionErrors>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    cron: Spanned<Cron>,
    zone: Option<Spanned<Box<str>>>,
    window: Spanned<WindowSpec>,
    distribution: Spanned<Distribution>,
    seed_strategy: SeedStrategy,
    salt: Box<str>,
    policy: PolicySpec,
    constraints: Constraints,
}

impl Spec {
    /// Reads a schedule.
    ///
    /// # Errors
    /// With everything wrong in the line, in the order of the text.
    pub fn parse(text: &str) -> Result<Self, DefinitionErrors> {
        let mut draft = Draft::parse(text);
        match draft.spec.take() {
            Some(spec) if draft.errors.is_empty() => {
                let boxed =
                    |zone: Spanned<&str>| Spanned { value: zone.value.into(), span: zone.span };
                Ok(Self { zone: draft.zone.map(boxed), ..spec })
            }
            _ => Err(draft.into_errors()),
        }
    }

    /// The cron fields.
    #[must_use]
    pub const fn cron(&self) -> &Spanned<Cron> {
        &self.cron
    }

    /// The zone's name, if one is given; the span is that of the name.
    #[must_use]
    pub fn zone(&self) -> Option<Spanned<&str>> {
        self.zone.as_ref().map(|zone| Spanned { value: &*zone.value, span: zone.span })
    }

    /// The window, stated or default.
    #[must_use]
    pub const fn window(&self) -> &WindowSpec {
        &self.window.value
    }

    /// The distribution, complete with its defaults.
    #[must_use]
    pub const fn distribution(&self) -> &Distribution {
        &self.distribution.value
    }

    /// The seed strategy.
    #[must_use]
    pub const fn seed_strategy(&self) -> SeedStrategy {
        self.seed_strategy
    }

    /// The salt, without its quotes.
    #[must_use]
    pub const fn salt(&self) -> &str {
        &self.salt
    }

    /// The policy.
    #[must_use]
    pub const fn policy(&self) -> &PolicySpec {
        &self.policy
    }

    /// What `@only` and `@avoid` say.
    #[must_use]
    pub const fn constraints(&self) -> &Constraints {
        &self.constraints
    }

    /// Gives up the parts that a job keeps.
    pub(crate) fn into_salt_and_constraints(self) -> (Box<str>, Constraints) {
        (self.salt, self.constraints)
    }
}

/// What could be read of a line, and what is wrong with it.
pub(crate) struct Draft<'a> {
    /// Present if nothing is wrong; without its zone.
    pub spec: Option<Spec>,
    /// The zone, even if something else is wrong.
    pub zone: Option<Spanned<&'a str>>,
    pub errors: Vec<DefinitionError>,
}

impl<'a> Draft<'a> {
    pub fn parse(text: &'a str) -> Self {
        let mut errors = Vec::new();
        if !SCHEDULE_BYTES.contains(text.len()) && !text.is_empty() {
            errors.push(
                DefinitionError::configuration(
                    Code::TooLong,
                    Span::new(SCHEDULE_BYTES.max, text.len()),
                    format!("schedule of {} bytes is too long", text.len()),
                )
                .expect(format!("at most {} bytes", SCHEDULE_BYTES.max)),
            );
            return Self { spec: None, zone: None, errors };
        }
        let mut scanner = Scanner::new(text);
        let (fields, next) = Fields::read(&mut scanner, &mut errors);
        let cron = fields.cron(text, next.as_ref(), &mut errors);
        let modifiers = Modifiers::read(text, next, &mut scanner, &mut errors);
        let (zone, parts) = modifiers.parts(&mut errors);
        drop_consequences(&mut errors);
        if let (Some(cron), Some(window)) = (&cron, &parts.window) {
            check_open_windows(cron, window, &mut errors);
        }
        let spec = match cron {
            Some(cron) if errors.is_empty() => parts.into_spec(cron),
            _ => None,
        };
        Self { spec, zone, errors }
    }

    pub fn into_errors(self) -> DefinitionErrors {
        // A draft without a spec has errors; an empty list cannot be reported.
        DefinitionErrors::collect(self.errors).unwrap_or_else(|| {
            let message = "schedule could not be read".to_string();
            let error =
                DefinitionError::configuration(Code::InvalidValue, Span::default(), message);
            DefinitionErrors::one(error)
        })
    }
}

/// Drops errors that only follow from another: an unknown modifier that is known
/// to be a macro, and what is wrong with a value because of a blank in it.
fn drop_consequences(errors: &mut Vec<DefinitionError>) {
    if errors.len() < 2 {
        return;
    }
    let causes: Vec<(Code, Span)> = errors
        .iter()
        .filter(|error| matches!(error.code(), Code::Macro | Code::Whitespace))
        .map(|error| (error.code(), error.span()))
        .collect();
    errors.retain(|error| {
        let (code, span) = (error.code(), error.span());
        !causes.iter().any(|&(cause, at)| match cause {
            Code::Macro => code == Code::UnknownModifier && span == at,
            _ => code != Code::Whitespace && span.start <= at.start && at.start < span.end,
        })
    });
}

/// What the modifiers but `@tz` gave; each defaulted where absent, `None` where
/// invalid.
struct Parts {
    window: Option<Spanned<WindowSpec>>,
    distribution: Option<Spanned<Distribution>>,
    seed: Option<(SeedStrategy, Box<str>)>,
    policy: Option<PolicySpec>,
    constraints: Option<Constraints>,
}

impl Parts {
    fn into_spec(self, cron: Spanned<Cron>) -> Option<Spec> {
        let (seed_strategy, salt) = self.seed?;
        Some(Spec {
            cron,
            zone: None,
            window: self.window?,
            distribution: self.distribution?,
            seed_strategy,
            salt,
            policy: self.policy?,
            constraints: self.constraints?,
        })
    }
}

/// The words before the first modifier: cron fields, if there are five.
struct Fields<'a> {
    /// The fields, and the first word too many.
    words: [Piece<'a>; 6],
    count: usize,
    /// Where the last word ends.
    end: usize,
}

impl<'a> Fields<'a> {
    /// Reads words up to a modifier; returns that, too.
    fn read(
        scanner: &mut Scanner<'a>,
        errors: &mut Vec<DefinitionError>,
    ) -> (Self, Option<Token<'a>>) {
        let mut fields = Self { words: [Piece { text: "", at: 0 }; 6], count: 0, end: 0 };
        loop {
            match scanner.next(errors) {
                Some(Token::Word(word)) => {
                    if let Some(slot) = fields.words.get_mut(fields.count) {
                        *slot = word;
                    }
                    fields.count += 1;
                    fields.end = word.end();
                }
                next => return (fields, next),
            }
        }
    }

    fn cron(
        &self,
        text: &str,
        next: Option<&Token<'_>>,
        errors: &mut Vec<DefinitionError>,
    ) -> Option<Spanned<Cron>> {
        let [five @ .., _] = &self.words;
        if self.count != five.len() {
            errors.push(self.wrong_count(text, next));
            return None;
        }
        let span = Span::new(five[0].at, self.end);
        cron::parse(five, errors).map(|value| Spanned { value, span })
    }

    #[cold]
    fn wrong_count(&self, text: &str, next: Option<&Token<'_>>) -> DefinitionError {
        const EXPECTED: &str = "minute hour day-of-month month day-of-week";
        if let (0, Some(Token::Modifier { name, span, .. })) = (self.count, next) {
            let macros = ["yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly"];
            let fields = ["0 0 1 1 *", "0 0 1 1 *", "0 0 1 * *", "0 0 * * SUN"];
            let fields = fields.into_iter().chain(["0 0 * * *", "0 0 * * *", "0 * * * *"]);
            let known = macros.into_iter().zip(fields).find(|(known, _)| known == name);
            let hint = match (known, *name) {
                (Some((_, fields)), _) => Some(format!("write `{fields}`")),
                (None, "reboot") => Some("Kron schedules times; it has no start-up event".into()),
                (None, "every") => Some("write a step, such as `*/15 * * * *`".into()),
                (None, _) => None,
            };
            if hint.is_some() {
                return DefinitionError::configuration(
                    Code::Macro,
                    *span,
                    format!("macro {} is not accepted", quoted(span.slice(text))),
                )
                .found(span.slice(text))
                .expect(format!("five fields: {EXPECTED}"))
                .hint_if(hint);
            }
        }
        let [.., extra] = self.words;
        let start = if self.count > 5 { extra.at } else { self.end };
        let span = Span::new(start, self.end);
        let zone = self.words.iter().find_map(|word| {
            word.text.strip_prefix("CRON_TZ=").or_else(|| word.text.strip_prefix("TZ="))
        });
        let hint = match self.count {
            _ if let Some(zone) = zone => {
                Some(format!("a zone is written behind the five fields: `@tz({zone})`"))
            }
            6.. if extra.text.contains('(') => {
                Some(format!("modifiers begin with `@`: `@{}`", extra.text))
            }
            6 => Some("there is no seconds or year field".into()),
            _ => None,
        };
        let message = match self.count {
            0 => "no cron fields".to_string(),
            1 => "one cron field, but there must be five".to_string(),
            count => format!("{count} cron fields, but there must be five"),
        };
        DefinitionError::configuration(Code::FieldCount, span, message)
            .found(span.slice(text))
            .expect(EXPECTED)
            .hint_if(hint)
    }
}

/// The arguments of each modifier, in the order of [`Modifier::ALL`].
struct Modifiers<'a>([Option<Argument<'a>>; 7]);

impl<'a> Modifiers<'a> {
    /// Reads the rest of a line, `next` first.
    fn read(
        text: &str,
        mut next: Option<Token<'a>>,
        scanner: &mut Scanner<'a>,
        errors: &mut Vec<DefinitionError>,
    ) -> Self {
        let mut given = [None; 7];
        while let Some(token) = next {
            match token {
                Token::Word(word) => errors.push(stray_word(word)),
                Token::Modifier { name, span, body } => match Modifier::named(name) {
                    None => errors.push(unknown_modifier(name, span)),
                    Some(modifier) => match &mut given[modifier as usize] {
                        Some(_) => errors.push(given_twice(name, span, text)),
                        slot => *slot = Some(modifier.argument(span, body, errors)),
                    },
                },
            }
            next = scanner.next(errors);
        }
        Self(given)
    }

    /// What they say: the zone, and the rest.
    fn parts(self, errors: &mut Vec<DefinitionError>) -> (Option<Spanned<&'a str>>, Parts) {
        let [zone, window, distribution, seed, policy, only, avoid] = self.0;
        let zone = zone.flatten().map(|name| Spanned { value: name.text, span: name.span() });
        let window = modifier::window(window, errors);
        let stated = window.as_ref().map(|window| window.value);
        let parts = Parts {
            distribution: modifier::distribution(distribution, stated, errors),
            window,
            seed: modifier::seed(seed, errors),
            policy: modifier::policy(policy, errors),
            constraints: clause::constraints(only, avoid, errors),
        };
        (zone, parts)
    }
}

#[cold]
fn given_twice(name: &str, span: Span, text: &str) -> DefinitionError {
    let message = format!("modifier `@{name}` is given twice");
    DefinitionError::configuration(Code::DuplicateModifier, span, message)
        .found(span.slice(text))
        .expect(format!("`@{name}` at most once"))
}

#[cold]
fn stray_word(word: Piece<'_>) -> DefinitionError {
    let message = format!("unexpected {} after the modifiers", quoted(word.text));
    DefinitionError::configuration(Code::UnexpectedCharacter, word.span(), message)
        .found(word.text)
        .expect("a modifier such as `@win(after,1h)`, or the end")
}

#[cold]
fn unknown_modifier(name: &str, span: Span) -> DefinitionError {
    let names = Modifier::ALL.map(Modifier::as_str);
    let synonym = match name {
        "timezone" | "zone" | "TZ" | "CRON_TZ" => Some("tz"),
        "window" | "jitter" | "splay" => Some("win"),
        "distribution" => Some("dist"),
        "salt" => Some("seed"),
        "deadline" | "concurrency" | "suspend" => Some("policy"),
        "not" | "except" | "exclude" => Some("avoid"),
        _ => nearest(name, names.into_iter()),
    };
    let message = format!("unknown modifier {}", quoted(&format!("@{name}")));
    DefinitionError::configuration(Code::UnknownModifier, span, message)
        .found(format!("@{name}"))
        .expect(names.map(|name| format!("@{name}")).join(" "))
        .hint_if(synonym.map(|name| format!("did you mean `@{name}`?")))
}

fn check_open_windows(
    cron: &Spanned<Cron>,
    window: &Spanned<WindowSpec>,
    errors: &mut Vec<DefinitionError>,
) {
    if cron.value.exceeds_open_windows(window.value.duration, OPEN_WINDOWS) {
        let length = Pretty(window.value.duration);
        let message = format!("more than {OPEN_WINDOWS} windows of {length} would be open at once");
        errors.push(
            DefinitionError::validation(Code::TooManyOpenWindows, window.span, message)
                .found(length.to_string())
                .expect(format!("at most {OPEN_WINDOWS} windows open at the same moment"))
                .hint("shorten the window, or run less often"),
        );
    }
}
