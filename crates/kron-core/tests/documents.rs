//! The documents speak the truth: every schedule in them is one, and the
//! worked example comes out as written.

mod support;

use support::{job_of, period};

/// Lines inside blocks fenced as `kron`.
fn schedules(page: &str) -> Vec<&str> {
    let mut inside = false;
    page.lines()
        .filter(|line| {
            let fence = line.starts_with("```");
            inside = if fence { *line == "```kron" } else { inside };
            inside && !fence
        })
        .collect()
}

#[test]
fn every_schedule_of_the_reference_is_accepted_and_decided() {
    let lines = schedules(include_str!("../../../docs/SCHEDULE.md"));
    assert!(lines.len() >= 20, "{}", lines.len());
    for line in lines {
        let job = job_of("docs", line);
        let mut at = support::second("2026-03-02T12:00:00Z");
        let chosen = (0..80).find_map(|_| {
            let period = job.next_period(at)?;
            at = period.nominal();
            job.decide(period).chosen()
        });
        assert!(chosen.is_some(), "{line}");
    }
}

/// The schedules in the first block of the README, up to the explanation.
#[test]
fn schedules_of_the_readme() {
    let page = include_str!("../../../README.md");
    let block = page.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(block.lines().count(), 3);
    for line in block.lines() {
        let end = line.rfind(')').unwrap() + 1;
        job_of("readme", &line[..end]);
    }
}

/// CORE-30: the numbers of the worked example, from the engine and from its
/// description.
#[test]
fn the_worked_example() {
    let page = include_str!("../../../docs/ALGORITHM.md");
    let job = job_of("prod/db-backup", "0 0 * * * @win(after,1h)");
    let decision = job.decide(period("2026-03-01T00:00:00Z"));
    let hash = decision.seed_hash().to_string();
    let state = u64::from_str_radix(&hash[..16], 16).unwrap();
    let stepped = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = stepped;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    let u = (z >> 11) as f64 / 9_007_199_254_740_992.0;
    for number in [
        hash,
        format!("{state:#x}"),
        format!("{stepped:#x}"),
        format!("{z:#x}"),
        (z >> 11).to_string(),
        format!("{u:.15}"),
        format!("{:.6}", u * 3601.0),
        ((u * 3601.0) as u64).to_string(),
        decision.chosen().unwrap().to_string(),
    ] {
        assert!(page.contains(&number), "{number}");
    }
}
