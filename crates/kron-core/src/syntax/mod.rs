//! The schedule syntax: five cron fields and seven modifiers (SYNTAX).
//!
//! [`Spec::parse`] turns a line into a [`Spec`], every part with its place in
//! the text, or into all errors of the line at once. What needs a time zone
//! database is left to [`Job`](crate::Job).
//!
//! | file | reads |
//! |---|---|
//! | `scan` | tokens: fields, modifiers, parentheses, quotes |
//! | `cron` | the five fields |
//! | `modifier` | `@tz @win @dist @seed @policy` |
//! | `clause` | `@only @avoid` |
//! | `print` | the way back: the canonical text |

mod clause;
mod cron;
mod modifier;
pub(crate) mod names;
pub(crate) mod print;
mod scan;

pub use print::Schedule;

use crate::bounds::{OPEN_WINDOWS, SCHEDULE_BYTES};
use crate::calendar::Cron;
use crate::constraint::{Clauses, Constraints};
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
use modifier::Modifier;
use scan::Token;

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
            Some(spec) if draft.errors.is_empty() => Ok(spec),
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
pub(crate) struct Draft {
    /// Present if nothing is wrong.
    pub spec: Option<Spec>,
    /// The zone, even if something else is wrong.
    pub zone: Option<Spanned<Box<str>>>,
    pub errors: Vec<DefinitionError>,
}

impl Draft {
    pub fn parse(text: &str) -> Self {
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
        let tokens = scan::tokens(text, &mut errors);
        let fields = tokens.iter().take_while(|token| matches!(token, Token::Word { .. })).count();
        let (fields, modifiers) = tokens.split_at(fields);
        let cron = read_cron(text, fields, modifiers.first(), &mut errors);
        let parts = read_modifiers(text, modifiers, &mut errors);
        let zone = parts.zone.clone();
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

/// What the modifiers gave; each defaulted where absent, `None` where invalid.
struct Parts {
    zone: Option<Spanned<Box<str>>>,
    window: Option<Spanned<WindowSpec>>,
    distribution: Option<Spanned<Distribution>>,
    seed: Option<(SeedStrategy, Box<str>)>,
    policy: Option<PolicySpec>,
    only: Option<Clauses>,
    avoid: Option<Clauses>,
}

impl Parts {
    fn into_spec(self, cron: Spanned<Cron>) -> Option<Spec> {
        let (seed_strategy, salt) = self.seed?;
        Some(Spec {
            cron,
            zone: self.zone,
            window: self.window?,
            distribution: self.distribution?,
            seed_strategy,
            salt,
            policy: self.policy?,
            constraints: Constraints::new(self.only?, self.avoid?),
        })
    }
}

fn read_cron(
    text: &str,
    fields: &[Token<'_>],
    next: Option<&Token<'_>>,
    errors: &mut Vec<DefinitionError>,
) -> Option<Spanned<Cron>> {
    let words: Vec<(&str, usize)> = fields
        .iter()
        .filter_map(|token| match token {
            Token::Word { text, at } => Some((*text, *at)),
            Token::Modifier { .. } => None,
        })
        .collect();
    let end = words.last().map_or(0, |(word, at)| at + word.len());
    let Ok(five) = <&[(&str, usize); 5]>::try_from(words.as_slice()) else {
        errors.push(wrong_field_count(text, &words, next, end));
        return None;
    };
    let span = Span::new(five[0].1, end);
    cron::parse(five, errors).map(|value| Spanned { value, span })
}

fn wrong_field_count(
    text: &str,
    words: &[(&str, usize)],
    next: Option<&Token<'_>>,
    end: usize,
) -> DefinitionError {
    const EXPECTED: &str = "minute hour day-of-month month day-of-week";
    if let (true, Some(Token::Modifier { name, span, .. })) = (words.is_empty(), next) {
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
    let count = words.len();
    let span = match words.get(5) {
        Some((_, at)) => Span::new(*at, end),
        None => Span::new(end, end),
    };
    let hint = match (words.get(5), count) {
        (Some((extra, _)), _) if extra.contains('(') => {
            Some(format!("modifiers begin with `@`: `@{extra}`"))
        }
        (Some(_), 6) => Some("there is no seconds or year field".into()),
        _ => None,
    };
    let message = match count {
        0 => "no cron fields".to_string(),
        1 => "one cron field, but there must be five".to_string(),
        _ => format!("{count} cron fields, but there must be five"),
    };
    DefinitionError::configuration(Code::FieldCount, span, message)
        .found(span.slice(text))
        .expect(EXPECTED)
        .hint_if(hint)
}

fn read_modifiers(text: &str, tokens: &[Token<'_>], errors: &mut Vec<DefinitionError>) -> Parts {
    let mut seen: [Option<&Token<'_>>; 7] = [None; 7];
    for token in tokens {
        let (name, span) = match token {
            Token::Word { text: word, at } => {
                errors.push(stray_word(word, *at));
                continue;
            }
            Token::Modifier { name, span, .. } => (*name, *span),
        };
        let Some(modifier) = Modifier::ALL.into_iter().find(|known| known.as_str() == name) else {
            errors.push(unknown_modifier(name, span));
            continue;
        };
        let slot = &mut seen[modifier as usize];
        if slot.is_some() {
            let message = format!("modifier `@{name}` is given twice");
            errors.push(
                DefinitionError::configuration(Code::DuplicateModifier, span, message)
                    .found(span.slice(text))
                    .expect(format!("`@{name}` at most once")),
            );
            continue;
        }
        *slot = Some(token);
    }
    let mut arguments = |modifier: Modifier| {
        seen[modifier as usize].map(|token| modifier::arguments(token, modifier, errors))
    };
    let zone = arguments(Modifier::Tz);
    let window = arguments(Modifier::Win);
    let distribution = arguments(Modifier::Dist);
    let seed = arguments(Modifier::Seed);
    let policy = arguments(Modifier::Policy);
    let only = arguments(Modifier::Only);
    let avoid = arguments(Modifier::Avoid);

    let window = modifier::window(window, errors);
    let stated = window.as_ref().map(|window| window.value);
    Parts {
        zone: modifier::zone(zone, errors),
        distribution: modifier::distribution(distribution, stated, errors),
        window,
        seed: modifier::seed(seed, errors),
        policy: modifier::policy(policy, errors),
        only: clause::clauses(only, errors),
        avoid: clause::clauses(avoid, errors),
    }
}

fn stray_word(word: &str, at: usize) -> DefinitionError {
    let span = Span::new(at, at + word.len());
    let message = format!("unexpected {} after the modifiers", quoted(word));
    DefinitionError::configuration(Code::UnexpectedCharacter, span, message)
        .found(word)
        .expect("a modifier such as `@win(after,1h)`, or the end")
}

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
