//! What it costs to queue a request and to choose the next, with 100 flows of which 10 or 1000
//! requests each wait.

use core::{hint::black_box, time::Duration};
use criterion::{Criterion, criterion_group, criterion_main};
use ripstop_model::Timestamp;
use ripstop_shaping::{Discipline, FlowId, Reservation, Scheduler, Terms};

const FLOWS: u16 = 100;

fn filled(discipline: Discipline, waiting: u64) -> Scheduler<u64> {
    let mut scheduler = Scheduler::new(discipline);
    for flow in 0..FLOWS {
        let bound = Duration::from_millis(500 + u64::from(flow));
        let reservation = Reservation { burst: 10, rate: 5_000, bound };
        let terms = Terms {
            waiting_max: 1000,
            share: 1 + u32::from(flow) % 4,
            reservation: (flow % 4 != 0).then_some(reservation),
        };
        scheduler.set_flow(Timestamp::ZERO, FlowId(flow), terms);
        for token in 0..waiting {
            scheduler.push(Timestamp::ZERO, FlowId(flow), 1, token).expect("below every limit");
        }
    }
    scheduler
}

fn push_and_pop(c: &mut Criterion) {
    let disciplines = [
        ("fifo", Discipline::Fifo),
        ("split", Discipline::Split),
        ("fair", Discipline::Fair),
        ("pclock", Discipline::PClock),
        ("miser", Discipline::Miser { rate_min: 1_000_000, servers: 1 }),
    ];
    let cases = [10, 1000].into_iter().flat_map(|waiting| disciplines.map(|case| (waiting, case)));
    for (waiting, (name, discipline)) in cases {
        let mut scheduler = filled(discipline, waiting);
        let mut now = Timestamp::ZERO;
        c.bench_function(&format!("push, pop, ended: {name}, {waiting} wait"), |b| {
            b.iter(|| {
                now = now + Duration::from_micros(2);
                let served = scheduler.pop(now).expect("requests wait");
                let again = scheduler.push(now, served.service.flow, 1, served.token);
                scheduler.ended(now, served.service);
                black_box(again).expect("one went, one came")
            });
        });
    }
}

criterion_group!(benches, push_and_pop);
criterion_main!(benches);
