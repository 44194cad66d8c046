//! The text of a unit file: sections, assignments, continued lines.

/// One assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub line: usize,
    pub section: String,
    pub key: String,
    pub value: String,
}

/// A unit file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unit {
    /// `name.suffix`, without directories.
    pub name: String,
    pub settings: Vec<Setting>,
}

impl Unit {
    pub fn parse(name: &str, text: &str) -> Self {
        let mut settings = Vec::new();
        let mut section = String::new();
        // A logical line under construction: where it began, and its text.
        let mut open: Option<(usize, String)> = None;
        for (i, line) in text.lines().enumerate() {
            let trimmed = line.trim();
            // Comments are skipped even between the parts of a continued line.
            if trimmed.starts_with(['#', ';']) {
                continue;
            }
            let (start, mut joined) = open.take().unwrap_or((i + 1, String::new()));
            match line.trim_end().strip_suffix('\\') {
                Some(part) => {
                    joined.push_str(part);
                    joined.push(' ');
                    open = Some((start, joined));
                }
                None => {
                    joined.push_str(line);
                    read(&joined, start, &mut section, &mut settings);
                }
            }
        }
        if let Some((start, joined)) = open {
            read(&joined, start, &mut section, &mut settings);
        }
        Self { name: crate::program::base(name).into(), settings }
    }

    /// All settings of a key; an empty assignment forgets those before it.
    pub fn all<'a>(&'a self, section: &'a str, key: &'a str) -> Vec<&'a Setting> {
        let mut found = Vec::new();
        for setting in self.settings.iter().filter(|s| s.section == section && s.key == key) {
            if setting.value.is_empty() {
                found.clear();
            } else {
                found.push(setting);
            }
        }
        found
    }

    /// The setting of a key that counts: the last.
    pub fn last<'a>(&'a self, section: &'a str, key: &'a str) -> Option<&'a str> {
        self.all(section, key).last().map(|setting| setting.value.as_str())
    }

    pub fn is_true(&self, section: &str, key: &str) -> bool {
        self.last(section, key).is_some_and(is_true)
    }

    /// The name up to the suffix.
    pub fn stem(&self) -> &str {
        self.name.rsplit_once('.').map_or(&*self.name, |(stem, _)| stem)
    }
}

fn is_true(value: &str) -> bool {
    ["1", "yes", "y", "true", "t", "on"].iter().any(|word| word.eq_ignore_ascii_case(value))
}

pub(super) fn is_false(value: &str) -> bool {
    ["0", "no", "n", "false", "f", "off"].iter().any(|word| word.eq_ignore_ascii_case(value))
}

fn read(line: &str, number: usize, section: &mut String, settings: &mut Vec<Setting>) {
    let line = line.trim();
    if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
        *section = name.into();
    } else if let Some((key, value)) = line.split_once('=') {
        settings.push(Setting {
            line: number,
            section: section.clone(),
            key: key.trim().into(),
            value: value.trim().into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings() {
        let text = "\n[Unit]\nA = 1\n# no\n; no\n[Service]\nX=a \\\n# between\n  b\nX=\nX=c\nX=d\\";
        let unit = Unit::parse("/etc/x.service", text);
        assert_eq!((unit.name.as_str(), unit.stem()), ("x.service", "x"));
        assert_eq!(unit.last("Unit", "A"), Some("1"));
        assert_eq!(unit.settings[1].value, "a    b");
        assert_eq!(unit.settings[1].line, 7);
        let values: Vec<_> = unit.all("Service", "X").iter().map(|s| s.value.clone()).collect();
        assert_eq!(values, ["c", "d"]);
    }
}
