//! Runs to come as an iCalendar feed (RFC 5545).

use crate::next::Listed;
use kron_core::UtcSecond;

/// Longest line, in bytes, before it is folded.
const LINE: usize = 75;

/// A calendar with one event for each run. Periods without a time and suspended
/// jobs are left out: a calendar shows what happens.
pub fn calendar(listed: &[Listed<'_>], stamp: UtcSecond) -> String {
    let mut out = String::new();
    line(&mut out, "BEGIN:VCALENDAR");
    line(&mut out, "VERSION:2.0");
    line(&mut out, "PRODID:-//Kron//krontab//EN");
    line(&mut out, "CALSCALE:GREGORIAN");
    line(&mut out, "X-WR-CALNAME:Kron");
    for Listed { named, period } in listed {
        let decision = named.job.decide(*period);
        let Some(chosen) = decision.chosen() else { continue };
        if named.job.policy().suspend {
            continue;
        }
        let window = decision.window();
        line(&mut out, "BEGIN:VEVENT");
        // The same period has the same event, whenever the feed is made.
        line(
            &mut out,
            &format!(
                "UID:{}-{}@kron",
                compact(period.nominal()),
                &decision.seed_hash().to_string()[..16]
            ),
        );
        line(&mut out, &format!("DTSTAMP:{}", compact(stamp)));
        line(&mut out, &format!("DTSTART:{}", compact(chosen)));
        line(&mut out, "DURATION:PT1M");
        line(&mut out, &format!("SUMMARY:{}", escaped(&named.name)));
        let text = format!(
            "{}\nperiod {period}, window {} to {}\n{}",
            named.job.identity(),
            window.start(),
            window.end(),
            named.job.schedule()
        );
        line(&mut out, &format!("DESCRIPTION:{}", escaped(&text)));
        line(&mut out, "TRANSP:TRANSPARENT");
        line(&mut out, "END:VEVENT");
    }
    line(&mut out, "END:VCALENDAR");
    out
}

/// `20260301T005829Z`
fn compact(at: UtcSecond) -> String {
    at.to_string().replace(['-', ':'], "")
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace(';', "\\;").replace(',', "\\,").replace('\n', "\\n")
}

/// Adds a line, folded where it is too long, never inside a character.
fn line(out: &mut String, text: &str) {
    let mut rest = text;
    let mut room = LINE;
    while rest.len() > room {
        let cut = (1..=room).rev().find(|&at| rest.is_char_boundary(at)).unwrap_or(rest.len());
        out.push_str(&rest[..cut]);
        out.push_str("\r\n ");
        rest = &rest[cut..];
        room = LINE - 1;
    }
    out.push_str(rest);
    out.push_str("\r\n");
}
