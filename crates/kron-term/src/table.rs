//! Columns for people: aligned, two blanks apart, nothing else.

use anstyle::Style;
use std::fmt::Write;

/// A table with a heading.
pub struct Table {
    heading: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

/// A text and how it looks.
pub struct Cell {
    text: String,
    style: Style,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), style: Style::new() }
    }
}

impl Cell {
    /// A text that looks like this.
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

impl Table {
    /// An empty table.
    #[must_use]
    pub const fn new(heading: Vec<&'static str>) -> Self {
        Self { heading, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// The whole table; the last column is not padded.
    #[must_use]
    pub fn render(&self) -> String {
        let columns = self.heading.len();
        let width = |i: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(i));
            let longest = cells.map(|cell| cell.text.chars().count()).max().unwrap_or(0);
            longest.max(self.heading[i].len())
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut out = String::new();
        let bold = Style::new().bold();
        let heading = self.heading.iter().map(|text| Cell::styled(*text, bold));
        push(&mut out, &heading.collect::<Vec<_>>(), &widths);
        for row in &self.rows {
            push(&mut out, row, &widths);
        }
        out
    }
}

fn push(out: &mut String, cells: &[Cell], widths: &[usize]) {
    let last = cells.len().saturating_sub(1);
    for (i, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let Cell { text, style } = cell;
        // Writing to a string cannot fail.
        let _ = write!(out, "{style}{text}{style:#}");
        if i < last {
            let length = text.chars().count();
            out.extend(std::iter::repeat_n(' ', width - length + 2));
        }
    }
    while out.ends_with(' ') {
        out.pop();
    }
    out.push('\n');
}
