//! A scheduler that has been this full before asks for no memory.
#![expect(unsafe_code, reason = "an allocator is the only one that sees every allocation")]

use core::{cell::Cell, time::Duration};
use ripstop_model::Timestamp;
use ripstop_shaping::{Discipline, FlowId, Reservation, Scheduler, Terms};
use std::alloc::{GlobalAlloc, Layout, System};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does all the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the same promises to us.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the same promises to us.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const FLOWS: u16 = 20;
const WAITING: u32 = 50;

/// Fills every queue, withdraws some, and empties them.
fn round(scheduler: &mut Scheduler<u32>, now: Timestamp) {
    for token in 0..WAITING {
        for flow in 0..FLOWS {
            let pushed = scheduler.push(now, FlowId(flow), u64::from(token % 7), token);
            let ticket = pushed.expect("the queue was empty and the bound is wide");
            if token % 5 == 0 {
                scheduler.remove(now, ticket);
            }
        }
    }
    while let Some(served) = scheduler.pop(now) {
        scheduler.ended(now, served.service);
    }
}

#[test]
fn the_steady_state_allocates_nothing() {
    let disciplines = [
        Discipline::Fifo,
        Discipline::Split,
        Discipline::Fair,
        Discipline::PClock,
        Discipline::Miser { rate_min: 1_000_000, servers: 3 },
    ];
    for discipline in disciplines {
        let mut scheduler = Scheduler::new(discipline);
        for flow in 0..FLOWS {
            let bound = Duration::from_secs(1);
            let reservation = Reservation { burst: 9, rate: u64::from(flow), bound };
            let reservation = (flow % 3 != 0).then_some(reservation);
            let terms = Terms { waiting_max: WAITING, share: u32::from(flow), reservation };
            scheduler.set_flow(Timestamp::ZERO, FlowId(flow), terms);
        }
        round(&mut scheduler, Timestamp::ZERO);
        let before = ALLOCATIONS.get();
        for second in 1..20 {
            round(&mut scheduler, Timestamp::ZERO + Duration::from_secs(second));
        }
        assert_eq!(ALLOCATIONS.get() - before, 0, "{discipline:?}");
    }
}
