//! Any text is a job or a list of errors with places inside the text; a job
//! prints to a text that means the same, and can be decided.
#![no_main]

use kron_core::{Job, PeriodId, UtcSecond, Zones};
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;

thread_local! {
    static ZONES: RefCell<Zones> = RefCell::new(Zones::bundled());
}

fuzz_target!(|text: &str| {
    ZONES.with_borrow_mut(|zones| match Job::parse("fuzz", text, zones) {
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
                check(&job, period);
            }
        }
    });
});

fn check(job: &Job, period: PeriodId) {
    assert_eq!(job.prev_period(period.nominal()), Some(period));
    let decision = job.decide(period);
    if let Some(chosen) = decision.chosen() {
        assert!(decision.window().start() <= chosen.instant());
        assert!(chosen.instant() <= decision.window().end());
        let allowed = job.allowed_runs(period);
        assert!(allowed.iter().any(|(first, last)| (*first..=*last).contains(&chosen)));
    }
}
