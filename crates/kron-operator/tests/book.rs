//! What is kept in a status when there is much of it (OPR-10): an object can only be so large.

use kron_core::{Job, UtcInstant, UtcSecond, Zones};
use kron_operator::api::KronJobStatus;
use kron_operator::book::{ACTIVE, Basis, Book, Origin};
use kron_operator::facts::{Fact, Phase};
use kron_operator::plan::{Sight, Step, Surety, plan};
use kron_operator::upkeep::Limits;

const NOW: &str = "2026-03-02T10:00:00Z";

fn job(schedule: &str) -> Job {
    Job::parse("shop/a", schedule, &mut Zones::bundled()).unwrap()
}

/// Jobs of the minutes before now that have not ended.
fn endless(count: usize) -> Vec<Fact> {
    let now: UtcSecond = NOW.parse().unwrap();
    let fact = |number: usize| {
        let at = UtcSecond::new(now.unix_seconds() - 60 * (count - number) as i64).unwrap();
        Fact {
            name: format!("a-{}", at.unix_seconds() / 60),
            uid: format!("u{number}"),
            owner: "o".into(),
            period: at.to_string().parse().unwrap(),
            chosen: Some(at),
            seed_hash: None,
            phase: Phase::Active,
            created: at.instant(),
            finished: None,
            is_held: false,
            is_going: false,
        }
    };
    (0..count).map(fact).collect()
}

/// Only the latest are listed, all are counted, and whoever may not run beside one asks for all.
#[test]
fn active_jobs_without_end() {
    let now: UtcInstant = NOW.parse().unwrap();
    for (count, listed, is_cut) in [
        (0, 0, false),
        (1, 1, false),
        (ACTIVE, ACTIVE, false),
        (ACTIVE + 1, ACTIVE, true),
        (5000, ACTIVE, true),
    ] {
        let jobs = endless(count);
        let schedule = job("* * * * * @policy(concurrency=allow)");
        let (mut book, _) = Book::read(None, &schedule, Some(now), now);
        book.note_results(&jobs);
        let mut status = KronJobStatus::default();
        book.write(&mut status);
        assert_eq!((status.active.len(), status.active_count as usize), (listed, count));
        assert_eq!(status.active.last().map(|last| &last.name), jobs.last().map(|last| &last.name));
        let (again, origin) = Book::read(Some(&status), &schedule, Some(now), now);
        assert_eq!((&again, origin), (&book, Origin::Kept));
        assert_eq!(again.is_cut(), is_cut, "{count}");

        // Those that are listed have ended since; nobody knows of the others.
        let forbid = job("* * * * *");
        let mut book = again;
        book.active.clear();
        book.history.clear();
        let period = NOW.parse().unwrap();
        book.claim(None, &[forbid.decide(period)], &Basis::default());
        let sight = Sight {
            job: &forbid,
            generation: 1,
            book: &book,
            jobs: &[],
            is_live: false,
            since: now.saturating_sub(std::time::Duration::from_secs(60)),
            watched: None,
            now,
            clock: now,
            surety: Surety { sole_since: Some(UtcInstant::MIN), confirmed: None },
            obstacles: &[],
            replacing: &[],
            unended: None,
            limits: Limits { succeeded: 3, failed: 1 },
        };
        let is_look = matches!(plan(&sight).step, Step::Look);
        assert_eq!(is_look, count > 0, "{count}");
    }
}
