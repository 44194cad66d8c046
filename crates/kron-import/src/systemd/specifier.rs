//! `%i` and the like in unit files.
//!
//! Those are expanded that follow from the unit's name, its user, or the layout
//! that every system has. The rest depends on the machine and is refused.

use crate::message::quoted;

/// What specifiers stand for.
pub(super) struct Specifiers<'a> {
    /// `prefix@instance.suffix`.
    pub unit: &'a str,
    /// Whether it is a unit of the system, not of a user.
    pub system: bool,
    pub user: &'a str,
    pub home: Option<String>,
}

impl Specifiers<'_> {
    /// The text with all specifiers expanded.
    pub fn expand(&self, text: &str) -> Result<String, String> {
        let mut out = String::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let letter = chars.next();
            let value = letter.and_then(|letter| self.value(letter)).ok_or_else(|| {
                let found: String = core::iter::once('%').chain(letter).collect();
                format!("the specifier {} is not known here", quoted(&found))
            })?;
            out.push_str(&value);
        }
        Ok(out)
    }

    fn value(&self, letter: char) -> Option<String> {
        let stem = self.unit.rsplit_once('.').map_or(self.unit, |(stem, _)| stem);
        let (prefix, instance) = stem.split_once('@').unwrap_or((stem, ""));
        let last = |text: &str| text.rsplit('-').next().unwrap_or_default().to_string();
        let of_system = |path: &str| self.system.then(|| path.to_string());
        Some(match letter {
            '%' => "%".into(),
            'n' => self.unit.into(),
            'N' => stem.into(),
            'p' => prefix.into(),
            'P' => unescape(prefix)?,
            'i' => instance.into(),
            'I' => unescape(instance)?,
            'j' => last(prefix),
            'u' => self.user.into(),
            'U' if self.user == "root" => "0".into(),
            'h' => return self.home.clone(),
            't' => return of_system("/run"),
            'S' => return of_system("/var/lib"),
            'C' => return of_system("/var/cache"),
            'L' => return of_system("/var/log"),
            'E' => return of_system("/etc"),
            'T' => "/tmp".into(),
            'V' => "/var/tmp".into(),
            _ => return None,
        })
    }
}

/// `-` for `/`, and `\x2d` for a byte.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match first {
            b'-' => bytes.push(b'/'),
            b'\\' => {
                let hex = after.strip_prefix(b"x")?.get(..2)?;
                bytes.push(u8::from_str_radix(core::str::from_utf8(hex).ok()?, 16).ok()?);
                rest = after.get(3..)?;
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expansion() {
        let unit = r"check-disk@srv-my\x2ddata.service";
        let root = Specifiers { unit, system: true, user: "root", home: Some("/root".into()) };
        for (text, expected) in [
            ("100%%", Some("100%")),
            ("%n", Some(unit)),
            ("%N %p", Some(r"check-disk@srv-my\x2ddata check-disk")),
            ("%i %I", Some(r"srv-my\x2ddata srv/my-data")),
            ("%j %u %U %h", Some("disk root 0 /root")),
            ("%t %S", Some("/run /var/lib")),
            ("%H", None),
            ("%", None),
        ] {
            assert_eq!(root.expand(text).ok().as_deref(), expected, "{text}");
        }
        assert_eq!(unescape(r"\x"), None);
        assert_eq!(unescape(r"\xzz"), None);
    }
}
