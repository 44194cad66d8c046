//! Deciding allocates nothing, and neither does finding the next period.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[allow(unsafe_code, reason = "an allocator is unsafe by nature; this one only counts")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    work();
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn the_hot_path_does_not_allocate() {
    assert_eq!(allocations(|| drop(black_box(vec![0_u8; 16]))), 1, "the counter counts");
    for schedule in [
        "*/5 * * * * @win(after,5m)",
        "0 10 * * * @tz(Europe/Paris) @win(around,2h) @dist(normal) @seed(weekly,salt=x)",
        "0 10 * * * @tz(Europe/Paris) @win(after,48h) @only(dow=TUE;hours=9-17) @avoid(date=2026-03-03)",
        "0 3 29 2 * @win(after,366h) @dist(exponential,dir=late) @only(between=03:10-03:11)",
        "0 10 * * SUN @win(after,2h) @only(dow=MON)",
    ] {
        let job = support::job(schedule);
        let counted = allocations(|| {
            let mut at = support::second("2026-02-01T00:00:00Z");
            for _ in 0..50 {
                let period = job.next_period(at).unwrap();
                black_box(job.decide(period).chosen());
                black_box(job.prev_period(at));
                at = period.nominal();
            }
        });
        assert_eq!(counted, 0, "{schedule}");
    }
}

/// A hundred thousand jobs should fit where a few thousand do elsewhere.
#[test]
fn a_job_is_small() {
    assert!(size_of::<kron_core::Job>() <= 160, "{}", size_of::<kron_core::Job>());
    assert!(size_of::<kron_core::Ledger>() <= 96, "{}", size_of::<kron_core::Ledger>());
}
