//! A window as people would draw it: how dense the choice is, what the
//! constraints forbid, and where the choice fell.

use anstyle::{AnsiColor, Style};
use kron_core::{Decision, Slice, UtcSecond};

const HEIGHT: usize = 5;
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws a decision's window in at most `width` columns; nothing if it has only
/// one second.
pub fn draw(decision: &Decision<'_>, width: usize) -> Option<String> {
    let job = decision.job();
    let columns = width.saturating_sub(4).clamp(20, 100);
    let slices = job.profile(decision.period(), columns);
    if slices.len() < 2 {
        return None;
    }
    let density = |slice: &Slice| slice.probability / slice.seconds() as f64;
    let highest = slices.iter().map(density).fold(f64::MIN_POSITIVE, f64::max);
    let levels: Vec<usize> = slices
        .iter()
        .map(|slice| (density(slice) / highest * (HEIGHT * 8) as f64).ceil() as usize)
        .collect();
    let mut out = String::new();
    for row in (0..HEIGHT).rev() {
        out += "  ";
        out += &bars(&slices, &levels, row);
        out.push('\n');
    }
    out += &axis(decision, &slices);
    out += &legend(decision, &slices);
    Some(out)
}

const FORBIDDEN: Style = Style::new().dimmed();
const ALLOWED: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan)));
const CHOSEN: Style = Style::new().bold().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));

/// One row of bars, styled in runs.
fn bars(slices: &[Slice], levels: &[usize], row: usize) -> String {
    let mut line = String::new();
    let mut current = Style::new();
    for (slice, &level) in slices.iter().zip(levels) {
        let filled = level.saturating_sub(row * 8).min(8);
        let (style, c) = match (slice.allowed, filled) {
            (0, 0) if row > 0 => (Style::new(), ' '),
            (0, _) => (FORBIDDEN, '░'),
            (_, filled) => (ALLOWED, EIGHTHS[filled]),
        };
        if style != current {
            line += &format!("{current:#}{style}");
            current = style;
        }
        line.push(c);
    }
    let bare = line.trim_end_matches(' ');
    format!("{bare}{current:#}")
}

/// The line below the bars, the mark of the chosen second, and times.
fn axis(decision: &Decision<'_>, slices: &[Slice]) -> String {
    let column = |at: UtcSecond| slices.iter().position(|s| s.first <= at && at <= s.last);
    let nominal = column(decision.period().nominal());
    let chosen = decision.chosen().and_then(column);
    let line: String =
        (0..slices.len()).map(|i| if Some(i) == nominal { '┼' } else { '─' }).collect();
    let mut out = format!("  {line}\n");
    if let (Some(at), Some(second)) = (chosen, decision.chosen()) {
        let label = format!(" {}", clock(decision, second));
        // To the left of the mark where there is no room to the right.
        let text = if at + 1 + label.len() <= slices.len() {
            format!("{}{CHOSEN}▲{label}{CHOSEN:#}", " ".repeat(at))
        } else {
            let left = at.saturating_sub(label.len());
            format!("{}{CHOSEN}{} ▲{CHOSEN:#}", " ".repeat(left), label.trim_start())
        };
        out += &format!("  {text}\n");
    }
    let (first, last) =
        (clock(decision, slices[0].first), clock(decision, slices[slices.len() - 1].last));
    let between = slices.len().saturating_sub(first.len() + last.len()).max(1);
    out + &format!("  {first}{}{last}\n", " ".repeat(between))
}

/// A local time of day, with its date if the window is longer than a day.
fn clock(decision: &Decision<'_>, at: UtcSecond) -> String {
    let local = decision.job().zone().local_time(at);
    let (hour, minute, second) = local.time_of_day();
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    if decision.window().seconds() > 86_400 { format!("{} {time}", local.date()) } else { time }
}

fn legend(decision: &Decision<'_>, slices: &[Slice]) -> String {
    let mut parts = vec![format!("{ALLOWED}█{ALLOWED:#} likelihood")];
    if slices.iter().any(|slice| slice.allowed == 0) {
        parts.push(format!("{FORBIDDEN}░{FORBIDDEN:#} refused by the constraints"));
    }
    parts.push("┼ nominal time".into());
    if decision.chosen().is_some() {
        parts.push(format!("{CHOSEN}▲{CHOSEN:#} chosen"));
    }
    format!("  {}\n", parts.join("   "))
}
