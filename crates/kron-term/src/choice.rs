//! What all of Kron's command lines have in common: version, looks, choices.

use clap::ValueEnum;
use clap::builder::styling::{AnsiColor, Styles};
use kron_core::line::Level;
use std::sync::LazyLock;

/// Version, with the release of the time zone database that decides.
pub static VERSION: LazyLock<String> = LazyLock::new(|| {
    let zones = kron_core::Zones::bundled();
    format!("{} (tzdb {}, {})", env!("CARGO_PKG_VERSION"), zones.version(), kron_core::ALGORITHM)
});

/// How help looks.
pub const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Text for people, or JSON for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// For programs; stable
    Json,
}

/// Which lines are written, as chosen on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// Everything
    Debug,
    /// What happens
    #[default]
    Info,
    /// What somebody should look at
    Warn,
    /// What went wrong
    Error,
}

impl From<LogLevel> for Level {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Debug => Self::Debug,
            LogLevel::Info => Self::Info,
            LogLevel::Warn => Self::Warn,
            LogLevel::Error => Self::Error,
        }
    }
}
