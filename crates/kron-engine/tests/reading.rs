//! While a configuration is read, the engine forgets no job: whoever reads was told
//! that it is known, and does not look up what is kept of it.

use kron_core::{Job, UtcInstant, Zones};
use kron_engine::Engine;
use kron_engine::commit::Found;
use kron_engine::event::{Effect, Enrolment, Event, Exit, Moment, RunId};
use kron_engine::kept::Process;
use kron_engine::settings::Settings;
use std::time::Duration;

struct Driver {
    engine: Engine,
    start: UtcInstant,
    run: Option<RunId>,
}

impl Driver {
    /// Tells the engine something so many seconds after the start; every batch is
    /// durable at once, every process ready.
    fn tell(&mut self, event: Event, seconds: u64) {
        let uptime = Duration::from_secs(seconds);
        let moment = Moment { now: self.start.saturating_add(uptime), uptime };
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            let mut effects = Vec::new();
            self.engine.handle(event, moment, &mut effects);
            for effect in effects {
                match effect {
                    Effect::Commit(_) => events.push(Event::Committed),
                    Effect::Prepare(preparation) => {
                        self.run = Some(preparation.run);
                        let process = Process { pid: 7, start_ticks: Some(1), boot_id: None };
                        let run = preparation.run;
                        events.push(Event::Prepared {
                            run,
                            process,
                            user: None,
                            begun: Duration::ZERO,
                        });
                    }
                    _ => {}
                }
            }
        }
        self.engine.next_wake();
    }

    fn knows(&self) -> usize {
        self.engine.identities().count()
    }
}

fn configuration(text: &str) -> Event {
    let tab = kron_tab::read("/t/a.kron", text.as_bytes(), &mut Zones::bundled());
    assert_eq!(tab.problems, []);
    let enrol = |entry| Enrolment { entry, found: Found::default(), alive: Vec::new() };
    Event::Reload(tab.entries.into_iter().map(enrol).collect())
}

/// The same job by a schedule that chooses a later second for the same period.
fn later() -> String {
    let period = "2026-03-01T10:00:00Z".parse().unwrap();
    let schedules =
        (0..).map(|salt| format!("0 10 * * * @win(after,5m) @seed(stable,salt=\"{salt}\")"));
    let mut zones = Zones::bundled();
    let mut chooses_later = |schedule: &String| {
        let job = Job::parse("/t/a.kron:x", schedule, &mut zones).unwrap();
        job.decide(period).chosen().unwrap() > "2026-03-01T10:01:00Z".parse().unwrap()
    };
    schedules.into_iter().find(|schedule| chooses_later(schedule)).unwrap()
        + " name=x command=/bin/true\n"
}

/// STA-31, SCH-17: a job taken out, run to its end and put back while a configuration
/// is read keeps its marks, so that its period cannot run again by another schedule.
#[test]
fn what_is_known_while_a_configuration_is_read_stays_known() {
    for is_reading in [true, false] {
        let start: UtcInstant = "2026-03-01T09:59:50Z".parse().unwrap();
        let moment = Moment { now: start, uptime: Duration::ZERO };
        let engine = Engine::new(Settings::default(), Zones::bundled(), moment);
        let mut driver = Driver { engine, start, run: None };
        driver.tell(configuration("0 10 * * * name=x command=/bin/true\n"), 0);
        driver.tell(Event::Tick, 10);
        let run = driver.run.expect("a start");
        driver.tell(configuration(""), 11);
        assert_eq!(driver.knows(), 1, "it runs");
        driver.engine.set_reading(is_reading);
        driver.tell(Event::Exited { run, exit: Exit { code: Some(0), signal: None } }, 12);
        assert_eq!(driver.knows(), usize::from(is_reading));
        driver.run = None;
        driver.tell(configuration(&later()), 13);
        driver.engine.set_reading(false);
        for second in 14..400 {
            driver.tell(Event::Tick, second);
        }
        // Otherwise the store would have been asked, and would have told of the marks.
        assert_eq!(driver.run.is_some(), !is_reading);
    }
}
