//! `@tz`, `@win`, `@dist`, `@seed` and `@policy`.

use super::Spanned;
use super::piece::Piece;
use crate::bounds::{Bounds, LAMBDA, SALT_BYTES, SHAPE, SIGMA, WINDOW};
use crate::distribution::{Anchor, DEFAULT_LAMBDA, DEFAULT_SHAPE, Direction, Distribution};
use crate::error::{Code, DefinitionError, Span, quoted};
use crate::policy::{Concurrency, PolicySpec};
use crate::seed::SeedStrategy;
use crate::suggest::nearest;
use crate::time::duration::{self, DurationErrorKind, Pretty};
use crate::window::{Mode, WindowSpec};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

/// The seven modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Modifier {
    Tz,
    Win,
    Dist,
    Seed,
    Policy,
    Only,
    Avoid,
}

impl Modifier {
    pub const ALL: [Self; 7] =
        [Self::Tz, Self::Win, Self::Dist, Self::Seed, Self::Policy, Self::Only, Self::Avoid];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tz => "tz",
            Self::Win => "win",
            Self::Dist => "dist",
            Self::Seed => "seed",
            Self::Policy => "policy",
            Self::Only => "only",
            Self::Avoid => "avoid",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }

    /// The body of a modifier; missing or empty parentheses are an error.
    pub fn argument<'a>(
        self,
        span: Span,
        body: Option<Piece<'a>>,
        errors: &mut Vec<DefinitionError>,
    ) -> Argument<'a> {
        let (at, message) = match body {
            Some(body) if !body.text.is_empty() => return Some(body),
            Some(_) => (Span::new(span.end - 2, span.end), "empty parentheses".into()),
            // A broken body has been reported by the scanner already.
            None if errors.iter().any(|error| covers(span, error.span())) => return None,
            None => (span, format!("`@{}` needs its argument in parentheses", self.as_str())),
        };
        errors.push(
            DefinitionError::configuration(Code::MissingArgument, at, message)
                .expect(self.example()),
        );
        None
    }

    /// An example that is always accepted.
    const fn example(self) -> &'static str {
        match self {
            Self::Tz => "`@tz(Europe/Paris)`",
            Self::Win => "`@win(after,2h)` or `@win(around,45m)`",
            Self::Dist => "`@dist(uniform)` or `@dist(skewLate,shape=2)`",
            Self::Seed => "`@seed(daily,salt=prod)`",
            Self::Policy => "`@policy(concurrency=forbid,deadline=10m)`",
            Self::Only => "`@only(dow=MON-FRI;between=08:00-20:00)`",
            Self::Avoid => "`@avoid(hours=0-6)`",
        }
    }
}

fn covers(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// The body of a modifier, or nothing after an error.
pub(super) type Argument<'a> = Option<Piece<'a>>;

fn one_of<T: Copy>(
    piece: Piece<'_>,
    what: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<T, DefinitionError> {
    if let Some(found) = all.iter().find(|known| name(**known) == piece.text) {
        return Ok(*found);
    }
    let names: Vec<&str> = all.iter().map(|known| name(*known)).collect();
    let (code, message) = if piece.text.is_empty() {
        (Code::MissingValue, format!("a {what} is missing here"))
    } else {
        (Code::UnknownName, format!("unknown {what} {}", quoted(piece.text)))
    };
    let synonym = match piece.text {
        "gaussian" | "gauss" | "bell" => Some("normal"),
        "flat" | "random" | "equal" => Some("uniform"),
        "before" | "about" | "centered" | "centred" => Some("around"),
        _ => None,
    };
    let hint = synonym
        .filter(|name| names.contains(name))
        .or_else(|| nearest(piece.text, names.iter().copied()));
    Err(DefinitionError::configuration(code, piece.span(), message)
        .found(piece.text)
        .expect(names.join(", "))
        .hint_if(hint.map(|name| format!("did you mean `{name}`?"))))
}

fn length(piece: Piece<'_>, what: &str) -> Result<Duration, DefinitionError> {
    duration::parse(piece.text).map_err(|error| {
        use DurationErrorKind as Kind;
        let span = Span::new(piece.at + error.start, piece.at + error.end);
        let text = quoted(piece.text);
        let fault = quoted(&piece.text[error.start..error.end]);
        let (code, message, hint) = match error.kind {
            Kind::Empty => (Code::MissingValue, format!("{what} is missing"), None),
            Kind::Negative => (Code::NegativeDuration, format!("{what} {text} is negative"), None),
            Kind::Signed => (
                Code::InvalidDuration,
                format!("{what} {text} has a sign"),
                Some("leave out the `+`".into()),
            ),
            Kind::MissingNumber => {
                (Code::InvalidDuration, format!("a number is missing in {what} {text}"), None)
            }
            Kind::MissingUnit => (
                Code::InvalidDuration,
                format!("{what} {text} has no unit after {fault}"),
                Some(format!("did you mean `{}m`?", piece.text)),
            ),
            Kind::UnknownUnit => {
                let unit = &piece.text[error.start..error.end];
                (
                    Code::InvalidDuration,
                    format!("unknown unit {fault} in {what} {text}"),
                    unit_hint(piece.text, unit),
                )
            }
            Kind::Overflow => (
                Code::InvalidDuration,
                format!("{what} {text} is too long to be counted"),
                Some(format!("the longest duration is `{}`", Pretty(duration::MAX))),
            ),
        };
        DefinitionError::configuration(code, span, message)
            .found(piece.text)
            .expect("a duration of `h`, `m`, `s`, `ms`, `us` or `ns`, such as `1h30m`")
            .hint_if(hint)
    })
}

fn unit_hint(text: &str, unit: &str) -> Option<String> {
    let days = |unit: &str, hours: u64| {
        let count: u64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(format!("write `{}h`", count.checked_mul(hours)?))
    };
    match unit {
        "d" | "day" | "days" => days(unit, 24),
        "w" => days(unit, 168),
        "H" | "hr" | "hrs" | "hour" | "hours" => Some("hours are `h`".into()),
        "M" | "min" | "mins" | "minutes" => Some("minutes are `m`".into()),
        "S" | "sec" | "secs" | "seconds" => Some("seconds are `s`".into()),
        _ => None,
    }
}

fn in_bounds<T: Copy + PartialOrd>(
    value: T,
    bounds: &Bounds<T>,
    piece: Piece<'_>,
    show: impl Fn(T) -> String,
) -> Result<T, DefinitionError> {
    if bounds.contains(value) {
        return Ok(value);
    }
    let message = format!("{} {} is out of range", bounds.what, quoted(piece.text));
    Err(DefinitionError::validation(Code::ParameterOutOfRange, piece.span(), message)
        .found(piece.text)
        .expect(format!("{} to {}", show(bounds.min), show(bounds.max))))
}

fn float(piece: Piece<'_>, bounds: &Bounds<f64>) -> Result<f64, DefinitionError> {
    let value: f64 = piece.text.parse().map_err(|_| {
        let message = format!("{} {} is not a number", bounds.what, quoted(piece.text));
        DefinitionError::configuration(Code::InvalidValue, piece.span(), message)
            .found(piece.text)
            .expect(format!("a number from {} to {}", bounds.min, bounds.max))
    })?;
    in_bounds(value, bounds, piece, |value| value.to_string())
}

pub(super) fn window(
    argument: Option<Argument<'_>>,
    errors: &mut Vec<DefinitionError>,
) -> Option<Spanned<WindowSpec>> {
    let Some(body) = argument else {
        return Some(Spanned { value: WindowSpec::default(), span: Span::default() });
    };
    let body = body?;
    let mut pieces = body.arguments();
    let mut keep = |error: DefinitionError| errors.push(error);
    let mode = pieces.next()?;
    // The one argument that people leave out.
    if duration::parse(mode.text).is_ok() {
        let hint = format!("write `@win(after,{})`", body.text);
        keep(
            DefinitionError::configuration(
                Code::MissingArgument,
                mode.span(),
                "the window's mode is missing".into(),
            )
            .found(mode.text)
            .expect("a mode and a duration, such as `after,2h`")
            .hint(hint),
        );
        return None;
    }
    let mode = one_of(mode, "window mode", &Mode::ALL, Mode::as_str).map_err(&mut keep);
    let Some(length_piece) = pieces.next() else {
        keep(
            DefinitionError::configuration(
                Code::MissingArgument,
                Span::new(body.end(), body.end()),
                "the window's duration is missing".into(),
            )
            .expect("a mode and a duration, such as `after,2h`"),
        );
        return None;
    };
    if let Some(extra) = pieces.next() {
        let span = Span::new(extra.at, body.end());
        keep(
            DefinitionError::configuration(
                Code::ExtraArgument,
                span,
                "`@win` takes a mode and a duration, no more".into(),
            )
            .found(extra.text)
            .expect("`)`"),
        );
    }
    let duration = length(length_piece, "window duration")
        .and_then(|length| in_bounds(length, &WINDOW, length_piece, |d| Pretty(d).to_string()))
        .map_err(&mut keep);
    let value = WindowSpec { mode: mode.ok()?, duration: duration.ok()? };
    Some(Spanned { value, span: body.span() })
}

/// Reads `k=v` pieces; `read` gets each key and value.
fn pairs<'a>(
    pieces: impl Iterator<Item = Piece<'a>>,
    owner: &str,
    keys: &[&'static str],
    errors: &mut Vec<DefinitionError>,
    mut read: impl FnMut(&str, Piece<'a>, &mut Vec<DefinitionError>),
) {
    // Bit *i* for the key of that index.
    let mut seen = 0_u8;
    for piece in pieces {
        let error = |code, span, message: String| {
            let accepted = if keys.is_empty() { "no parameters".into() } else { keys.join(", ") };
            DefinitionError::configuration(code, span, message).found(piece.text).expect(accepted)
        };
        let Some((key, value)) = piece.cut(b'=') else {
            let (code, message) = if piece.text.is_empty() {
                (Code::MissingValue, format!("a parameter of `{owner}` is missing here"))
            } else {
                (Code::InvalidValue, format!("{} is not `key=value`", quoted(piece.text)))
            };
            errors.push(error(code, piece.span(), message));
            continue;
        };
        let Some(i) = keys.iter().position(|known| *known == key.text) else {
            let message = format!("`{owner}` has no parameter {}", quoted(key.text));
            let hint = nearest(key.text, keys.iter().copied());
            errors.push(
                error(Code::UnknownKey, key.span(), message)
                    .hint_if(hint.map(|key| format!("did you mean `{key}`?"))),
            );
            continue;
        };
        if seen >> i & 1 == 1 {
            let message = format!("{} is given twice", quoted(key.text));
            errors.push(error(Code::DuplicateKey, key.span(), message));
            continue;
        }
        seen |= 1 << i;
        if value.text.is_empty() {
            let message = format!("{} has no value", quoted(key.text));
            errors.push(error(Code::MissingValue, piece.span(), message));
            continue;
        }
        read(key.text, value, errors);
    }
}

/// Takes the value of a result, or keeps its error.
fn take<T>(slot: &mut T, result: Result<T, DefinitionError>, errors: &mut Vec<DefinitionError>) {
    match result {
        Ok(value) => *slot = value,
        Err(error) => errors.push(error),
    }
}

pub(super) fn distribution(
    argument: Option<Argument<'_>>,
    window: Option<WindowSpec>,
    errors: &mut Vec<DefinitionError>,
) -> Option<Spanned<Distribution>> {
    let Some(body) = argument else {
        return Some(Spanned { value: Distribution::Uniform, span: Span::default() });
    };
    let body = body?;
    let mut rest = body.arguments();
    let kind = one_of(rest.next()?, "distribution", &Distribution::NAMES, |name| name);
    let kind = match kind {
        Ok(kind) => kind,
        Err(error) => {
            errors.push(error);
            return None;
        }
    };
    let before = errors.len();
    let window = window.unwrap_or_default();
    let value = match kind {
        "normal" => {
            let mut mu = Anchor::default_for(window.mode);
            let mut sigma = Distribution::default_sigma(&window);
            pairs(rest, kind, &["mu", "sigma"], errors, |key, value, errors| match key {
                "mu" => {
                    take(&mut mu, one_of(value, "anchor", &Anchor::ALL, Anchor::as_str), errors);
                }
                _ => {
                    let read = length(value, "sigma")
                        .and_then(|d| in_bounds(d, &SIGMA, value, |d| Pretty(d).to_string()));
                    take(&mut sigma, read, errors);
                }
            });
            Distribution::Normal { mu, sigma }
        }
        "skewEarly" | "skewLate" => {
            let mut shape = DEFAULT_SHAPE;
            pairs(rest, kind, &["shape"], errors, |_, value, errors| {
                take(&mut shape, float(value, &SHAPE), errors);
            });
            if kind == "skewEarly" {
                Distribution::SkewEarly { shape }
            } else {
                Distribution::SkewLate { shape }
            }
        }
        "exponential" => {
            let mut lambda = DEFAULT_LAMBDA;
            let mut direction = Direction::default();
            pairs(rest, kind, &["lambda", "dir"], errors, |key, value, errors| match key {
                "lambda" => take(&mut lambda, float(value, &LAMBDA), errors),
                _ => {
                    let read = one_of(value, "direction", &Direction::ALL, Direction::as_str);
                    take(&mut direction, read, errors);
                }
            });
            Distribution::Exponential { lambda, direction }
        }
        _ => {
            pairs(rest, kind, &[], errors, |_, _, _| {});
            Distribution::Uniform
        }
    };
    (errors.len() == before).then(|| Spanned { value, span: body.span() })
}

pub(super) fn seed(
    argument: Option<Argument<'_>>,
    errors: &mut Vec<DefinitionError>,
) -> Option<(SeedStrategy, Box<str>)> {
    let Some(body) = argument else {
        return Some((SeedStrategy::default(), "".into()));
    };
    let mut pieces = body?.arguments();
    let before = errors.len();
    let mut strategy = SeedStrategy::default();
    let read = one_of(pieces.next()?, "seed strategy", &SeedStrategy::ALL, SeedStrategy::as_str);
    take(&mut strategy, read, errors);
    let mut salt = Cow::Borrowed("");
    pairs(pieces, "@seed", &["salt"], errors, |_, value, errors| {
        take(&mut salt, string(value), errors);
    });
    (errors.len() == before).then(|| (strategy, salt.into()))
}

/// A string, bare or in double quotes with `\"` and `\\`.
fn string(piece: Piece<'_>) -> Result<Cow<'_, str>, DefinitionError> {
    let error = |code, at: usize, length: usize, message: &str| {
        let span = Span::new(piece.at + at, piece.at + at + length);
        DefinitionError::configuration(code, span, message.into())
            .found(piece.text)
            .expect("plain characters, or a double-quoted string with `\\\"` and `\\\\`")
    };
    let value = match piece.text.strip_prefix('"') {
        None => {
            if let Some(at) = piece.text.find(['"', '\\']) {
                return Err(error(
                    Code::InvalidValue,
                    at,
                    1,
                    "quotes and backslashes need a quoted string",
                ));
            }
            Cow::Borrowed(piece.text)
        }
        Some(inside) => {
            let mut value = String::new();
            let mut characters = inside.char_indices();
            loop {
                match characters.next() {
                    None => return Err(error(Code::Unclosed, 0, 1, "this quote is never closed")),
                    Some((i, '"')) if i + 1 == inside.len() => break,
                    Some((i, '"')) => {
                        let rest = inside.len() - i - 1;
                        return Err(error(
                            Code::InvalidValue,
                            i + 2,
                            rest,
                            "something follows the closing quote",
                        ));
                    }
                    Some((i, '\\')) => match characters.next() {
                        Some((_, c @ ('"' | '\\'))) => value.push(c),
                        next => {
                            let length = 1 + next.map_or(0, |(_, c)| c.len_utf8());
                            return Err(error(
                                Code::InvalidEscape,
                                i + 1,
                                length,
                                "unknown escape in a quoted string",
                            ));
                        }
                    },
                    Some((_, c)) => value.push(c),
                }
            }
            Cow::Owned(value)
        }
    };
    if let Some((at, c)) = piece.text.char_indices().find(|(_, c)| c.is_control()) {
        let message = "control character in a string";
        return Err(error(Code::UnexpectedCharacter, at, c.len_utf8(), message));
    }
    if !SALT_BYTES.contains(value.len()) {
        return Err(error(Code::TooLong, 0, piece.text.len(), "salt is too long")
            .hint(format!("at most {} bytes", SALT_BYTES.max)));
    }
    Ok(value)
}

pub(super) fn policy(
    argument: Option<Argument<'_>>,
    errors: &mut Vec<DefinitionError>,
) -> Option<PolicySpec> {
    let mut policy = PolicySpec::default();
    let Some(body) = argument else {
        return Some(policy);
    };
    let pieces = body?.arguments();
    let before = errors.len();
    let keys = ["concurrency", "deadline", "suspend"];
    pairs(pieces, "@policy", &keys, errors, |key, value, errors| match key {
        "concurrency" => {
            let read = one_of(value, "concurrency", &Concurrency::ALL, Concurrency::as_str);
            take(&mut policy.concurrency, read, errors);
        }
        "deadline" => take(&mut policy.deadline, length(value, "deadline"), errors),
        _ => {
            let name = |value: bool| if value { "true" } else { "false" };
            take(&mut policy.suspend, one_of(value, "suspend", &[true, false], name), errors);
        }
    });
    (errors.len() == before).then_some(policy)
}
