//! What can be wrong with a definition, and where (ERROR-MODEL).
//!
//! One type, [`DefinitionError`]: a category, a place in the text, a stable
//! code, and the words a person needs: what was found, what is accepted, and
//! what was probably meant. Everything that needs a *period* rather than a
//! definition (missed, skipped, unschedulable) is an outcome, never an error.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The error categories a definition can fall into.
///
/// The other categories of the error model (execution, persistence, system,
/// incompatible state) belong to the adapters; the engine has no way to raise
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// The text cannot be understood.
    Configuration,
    /// The text is understood but asks for something senseless.
    Validation,
}

impl Category {
    /// The word used in logs and JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "ConfigurationError",
            Self::Validation => "ValidationError",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A range of bytes of the source text; empty where something is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// A span from `start` up to but not including `end`.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The text it covers, or nothing if it does not fit.
    #[must_use]
    pub fn slice(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident => $text:literal,)+) => {
        /// Stable names of the mistakes a definition can contain.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code { $($(#[doc = $doc])+ $name,)+ }

        impl Code {
            /// Every code, for documentation and tests.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The word used in JSON.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }
        }
    };
}

codes! {
    /// An identity that is empty, too long or has control characters.
    InvalidIdentity => "invalid-identity",
    /// A schedule that is too long.
    TooLong => "too-long",
    /// A character that cannot stand here.
    UnexpectedCharacter => "unexpected-character",
    /// Not exactly five cron fields.
    FieldCount => "field-count",
    /// A cron macro such as `@daily`.
    Macro => "macro",
    /// A cron field that does not parse.
    InvalidField => "invalid-field",
    /// A number outside its range.
    OutOfRange => "out-of-range",
    /// A range whose end lies before its start.
    ReversedRange => "reversed-range",
    /// A step of zero, or one that never takes a second step.
    InvalidStep => "invalid-step",
    /// A cron expression without a single match.
    NeverMatches => "never-matches",
    /// A modifier that does not exist.
    UnknownModifier => "unknown-modifier",
    /// A modifier given twice.
    DuplicateModifier => "duplicate-modifier",
    /// A modifier without its parentheses, or with nothing in them.
    MissingArgument => "missing-argument",
    /// An argument that the modifier does not take.
    ExtraArgument => "extra-argument",
    /// A parenthesis or quote that is not closed.
    Unclosed => "unclosed",
    /// White space inside parentheses and outside quotes.
    Whitespace => "whitespace",
    /// A name that is not one of the accepted ones.
    UnknownName => "unknown-name",
    /// A key that does not exist here.
    UnknownKey => "unknown-key",
    /// A key given twice.
    DuplicateKey => "duplicate-key",
    /// A key without a value.
    MissingValue => "missing-value",
    /// A value that does not parse.
    InvalidValue => "invalid-value",
    /// A quoted string with an escape that does not exist.
    InvalidEscape => "invalid-escape",
    /// A zone that the tz database does not have.
    UnknownZone => "unknown-zone",
    /// A text that is not a duration.
    InvalidDuration => "invalid-duration",
    /// A duration with a minus sign.
    NegativeDuration => "negative-duration",
    /// A window, deviation, shape or rate outside its range.
    ParameterOutOfRange => "parameter-out-of-range",
    /// More windows open at once than allowed.
    TooManyOpenWindows => "too-many-open-windows",
    /// A constraint clause that does not parse.
    MalformedClause => "malformed-clause",
}

/// One mistake in a definition.
///
/// ```
/// use kron_core::{Job, Zones};
/// let errors = Job::parse("/etc/krond.d/a.kron:x", "0 25 * * *", &mut Zones::bundled()).unwrap_err();
/// let error = &errors.as_slice()[0];
/// assert_eq!((error.span().start, error.span().end), (2, 4));
/// assert_eq!(error.to_string(), "hour `25` is out of range");
/// assert_eq!(error.expected(), "0-23");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionError {
    category: Category,
    code: Code,
    span: Span,
    message: String,
    found: String,
    expected: String,
    hint: Option<String>,
}

impl DefinitionError {
    pub(crate) fn new(category: Category, code: Code, span: Span, message: String) -> Self {
        Self {
            category,
            code,
            span,
            message,
            found: String::new(),
            expected: String::new(),
            hint: None,
        }
    }

    pub(crate) fn configuration(code: Code, span: Span, message: String) -> Self {
        Self::new(Category::Configuration, code, span, message)
    }

    pub(crate) fn validation(code: Code, span: Span, message: String) -> Self {
        Self::new(Category::Validation, code, span, message)
    }

    pub(crate) fn found(mut self, found: impl Into<String>) -> Self {
        self.found = found.into();
        self
    }

    pub(crate) fn expect(mut self, expected: impl Into<String>) -> Self {
        self.expected = expected.into();
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn hint_if(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    pub(crate) fn in_category(mut self, category: Category) -> Self {
        self.category = category;
        self
    }

    /// Configuration or validation.
    #[must_use]
    pub const fn category(&self) -> Category {
        self.category
    }

    /// The stable name of this mistake.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// Where it stands.
    #[must_use]
    pub const fn span(&self) -> Span {
        self.span
    }

    /// The text at fault, shortened if it is long; empty if something is missing.
    #[must_use]
    pub fn found_text(&self) -> &str {
        &self.found
    }

    /// What would be accepted.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// What was probably meant, or what to write instead.
    #[must_use]
    pub fn suggestion(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for DefinitionError {}

/// Everything wrong with one definition, in the order of the text; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionErrors(Vec<DefinitionError>);

impl DefinitionErrors {
    /// `None` if there is nothing to report.
    pub(crate) fn collect(mut errors: Vec<DefinitionError>) -> Option<Self> {
        errors.sort_by_key(|error| error.span);
        errors.truncate(crate::bounds::REPORTED_ERRORS);
        (!errors.is_empty()).then_some(Self(errors))
    }

    pub(crate) fn one(error: DefinitionError) -> Self {
        Self(Vec::from([error]))
    }

    /// The errors, by position.
    #[must_use]
    pub fn as_slice(&self) -> &[DefinitionError] {
        &self.0
    }
}

impl fmt::Display for DefinitionErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{error} at byte {}", error.span.start)?;
        }
        Ok(())
    }
}

impl core::error::Error for DefinitionErrors {}

impl IntoIterator for DefinitionErrors {
    type Item = DefinitionError;
    type IntoIter = alloc::vec::IntoIter<DefinitionError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// A piece of input fit for a message: in backticks, no control characters, not
/// longer than a line.
#[must_use]
pub fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut out = String::from("`");
    for (i, c) in text.chars().enumerate() {
        if i == LONGEST {
            out.push('…');
            break;
        }
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out.push('`');
    out
}
