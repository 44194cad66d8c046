//! Any text is a job or a list of errors with places inside the text; a job
//! prints to a text that means the same, and its decision is the one that is
//! made again from the log.
#![no_main]

use kron_core::{Job, PeriodId, Record, UtcSecond, Zones};
use kron_fuzz::with_zones;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    with_zones(|zones| match Job::parse("fuzz", text, zones) {
        Err(errors) => {
            assert!(!errors.as_slice().is_empty());
            for error in errors.as_slice() {
                assert!(text.get(error.span().start..error.span().end).is_some());
            }
        }
        Ok(job) => {
            let printed = job.schedule().to_string();
            let again = Job::parse("fuzz", &printed, zones).expect("canonical text parses");
            assert_eq!(job, again);
            assert_eq!(again.schedule().to_string(), printed);
            let start = UtcSecond::new(1_772_323_200).expect("in range");
            if let Some(period) = job.next_period(start) {
                check(&job, period, zones);
            }
        }
    });
});

fn check(job: &Job, period: PeriodId, zones: &mut Zones) {
    assert_eq!(job.prev_period(period.nominal()), Some(period));
    if let Some(later) = job.next_period(period.nominal()) {
        assert!(later > period);
    }
    let decision = job.decide(period);
    let record = Record::of(&decision, zones);
    assert_eq!(record.verify(zones), Ok(Vec::new()));
    let fields = record.log_fields();
    let logged = |key: &str| fields.iter().find(|(known, _)| *known == key).map(|(_, v)| v.clone());
    assert_eq!(Record::from_log_fields(logged), Ok(record));
    if let Some(chosen) = decision.chosen() {
        assert!(decision.window().start() <= chosen.instant());
        assert!(chosen.instant() <= decision.window().end());
        let allowed = job.allowed_runs(period);
        assert!(allowed.iter().any(|(first, last)| (*first..=*last).contains(&chosen)));
    }
}
