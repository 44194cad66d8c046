//! Whether every decision in the logs comes out again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Has every decision made again; what is said if one does not come out. The last line of
/// a log may be cut short.
pub fn verify(krontab: &Path, logs: &[PathBuf], decisions: &Path) -> io::Result<Option<String>> {
    let mut all = String::new();
    for log in logs {
        let text = fs::read(log)?;
        let text = String::from_utf8_lossy(&text);
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        all.extend(whole.filter(|line| line.contains("event=decision")));
    }
    fs::write(decisions, all)?;
    let output = Command::new(krontab).arg("verify").arg(decisions).output()?;
    let said = || String::from_utf8_lossy(&output.stdout).chars().take(2_000).collect();
    Ok((!output.status.success()).then(said))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kron_core::line::{Level, Line};
    use kron_core::{EVENT, Job, Record, UtcSecond, Zones};

    /// A line as the daemon writes it.
    fn decision() -> String {
        let mut zones = Zones::bundled();
        let job = Job::parse("/jobs.kron:j", "* * * * * @win(after,59s)", &mut zones).unwrap();
        let noon = UtcSecond::new(1_906_718_400).unwrap();
        let mut line = Line::new(Level::Info, EVENT);
        let period = job.next_period(noon).unwrap();
        line.fields = Record::of(&job.decide(period), &zones).into_log_fields();
        let mut text = String::new();
        line.push_text(&mut text, noon.into(), "krond");
        text.trim_end().to_string() + "\n"
    }

    /// The law `Unverified`.
    #[test]
    fn decisions_are_made_again() {
        let this = std::env::current_exe().unwrap();
        let krontab = this.ancestors().nth(2).unwrap().join("krontab");
        if !krontab.is_file() {
            println!("SKIPPED: {} is not built", krontab.display());
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let log = place.path().join("log");
        let verify = |text: &str| {
            fs::write(&log, text).unwrap();
            verify(&krontab, std::slice::from_ref(&log), &place.path().join("all")).unwrap()
        };
        let good = decision();
        assert_eq!(verify(&good), None);
        let torn = good.trim_end().replace("chosen_time=2030", "chosen_time=2031");
        assert_eq!(verify(&format!("{good}{torn}")), None);
        // Another second.
        let chosen = good.split(" chosen_time=").nth(1).unwrap().split(' ').next().unwrap();
        let bad =
            good.replace(&format!(" chosen_time={chosen}"), " chosen_time=2030-06-03T12:01:00Z");
        assert_ne!(bad, good);
        assert!(verify(&format!("{good}{bad}")).is_some());
        // Nothing to make again is no proof.
        assert!(verify("event=ready\n").is_some());
    }
}
