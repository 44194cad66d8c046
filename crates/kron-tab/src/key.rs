//! The fields an entry may have.

use alloc::format;
use alloc::string::String;
use kron_core::nearest;

macro_rules! keys {
    ($($(#[doc = $doc:literal])+ $name:ident => $text:literal,)+) => {
        /// A field's key. The order is that of a canonical line.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Key { $($(#[doc = $doc])+ $name,)+ }

        impl Key {
            /// Every key, in canonical order.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The word of the format.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// What the field is for, in a few words.
            #[must_use]
            pub const fn purpose(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}

keys! {
    /// Name of the job, unique in its file.
    Name => "name",
    /// What it is for, in words.
    Description => "description",
    /// User to run as.
    User => "user",
    /// Group to run as.
    Group => "group",
    /// Directory to run in.
    Cwd => "cwd",
    /// Environment variable, `K=V`; may be repeated.
    Env => "env",
    /// File mode mask, octal.
    Umask => "umask",
    /// Longest run.
    Timeout => "timeout",
    /// Where standard output goes.
    Stdout => "stdout",
    /// Where standard error goes.
    Stderr => "stderr",
    /// Most open files.
    LimitNofile => "limit-nofile",
    /// Most processes of the user.
    LimitNproc => "limit-nproc",
    /// Most memory (address space).
    LimitMemory => "limit-memory",
    /// Most processor time.
    LimitCpu => "limit-cpu",
    /// Largest file written.
    LimitFsize => "limit-fsize",
    /// Largest core dump.
    LimitCore => "limit-core",
    /// Whether the command goes to a shell.
    Shell => "shell",
    /// What to run.
    Command => "command",
}

impl Key {
    /// The key of a word.
    #[must_use]
    pub fn find(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|key| key.as_str() == word)
    }

    /// The key that was probably meant by a word that is none.
    #[must_use]
    pub fn guess(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "cmd" | "run" | "exec" | "execstart" => Self::Command,
            "dir" | "directory" | "workdir" | "workingdirectory" | "working-directory" | "home" => {
                Self::Cwd
            }
            "environment" | "path" => Self::Env,
            "id" | "job" | "title" => Self::Name,
            "desc" | "comment" => Self::Description,
            "uid" | "runas" | "username" => Self::User,
            "gid" => Self::Group,
            "output" | "log" | "logfile" => Self::Stdout,
            "nofile" => Self::LimitNofile,
            "nproc" => Self::LimitNproc,
            "memory" => Self::LimitMemory,
            other => Self::find(nearest(other, Self::ALL.iter().map(|key| key.as_str()))?)?,
        })
    }

    /// What to say about a word that is no key.
    #[must_use]
    pub fn suggest(word: &str) -> Option<String> {
        let modifier = |text: &str| Some(format!("that is part of the schedule: `{text}`"));
        match word.to_ascii_lowercase().as_str() {
            "tz" | "timezone" | "zone" | "cron_tz" => modifier("@tz(Europe/Paris)"),
            "win" | "window" | "jitter" | "delay" | "splay" => modifier("@win(after,1h)"),
            "dist" | "distribution" => modifier("@dist(normal)"),
            "seed" | "salt" => modifier("@seed(stable,salt=x)"),
            "deadline" => modifier("@policy(deadline=10m)"),
            "concurrency" => modifier("@policy(concurrency=forbid)"),
            "suspend" | "disabled" | "enabled" => modifier("@policy(suspend=true)"),
            "only" | "avoid" => modifier("@avoid(hours=0-6)"),
            "schedule" | "cron" => Some("the schedule comes first, without a key".into()),
            "mailto" | "mail" => Some("Kron sends no mail; see `stdout` and `stderr`".into()),
            _ => Self::guess(word).map(|key| format!("did you mean `{}`?", key.as_str())),
        }
    }
}
