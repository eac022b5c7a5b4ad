use crate::driver::at_ms;
use proptest::prelude::*;
use ripstop_model::Timestamp;
use ripstop_shaping::{Discipline, FlowId, Scheduler, Terms, Ticket};

const COST_MAX: u64 = 9;

/// One server's start and end of every request, in units of its work.
fn spread_while_both_wait(
    shares: [u32; 3],
    steps: &[(usize, u64, u8)],
) -> Result<(), TestCaseError> {
    let now = Timestamp::ZERO;
    let mut scheduler = Scheduler::new(Discipline::Fair);
    for (flow, share) in (0..).zip(shares) {
        scheduler.set_flow(now, FlowId(flow), Terms { share, ..Terms::new(1000) });
    }
    let mut tickets: Vec<Ticket> = Vec::new();
    // For each pair: the least and the most that one was ahead of the other since both wait.
    let mut lead = [[None::<(f64, f64)>; 3]; 3];
    let mut work = [0.0; 3];
    let mut serving = None;
    for &(flow, cost, what) in steps {
        match what {
            0..4 => {
                let pushed = scheduler.push(now, FlowId(flow as u16), cost, ());
                tickets.push(pushed.expect("the limits are wide"));
            }
            4 if !tickets.is_empty() => {
                _ = scheduler.remove(now, tickets.swap_remove(cost as usize % tickets.len()));
            }
            _ => {
                if let Some(service) = serving.take() {
                    scheduler.ended(now, service);
                }
                if let Some(served) = scheduler.pop(now) {
                    let flow = usize::from(served.service.flow.0);
                    work[flow] += served.service.cost as f64 / f64::from(shares[flow]);
                    serving = Some(served.service);
                }
            }
        }
        let waits = |flow: usize| scheduler.flow_len(FlowId(flow as u16)) > 0;
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            let ahead = work[i] - work[j];
            lead[i][j] = (waits(i) && waits(j)).then(|| {
                let (least, most) = lead[i][j].unwrap_or((ahead, ahead));
                (least.min(ahead), most.max(ahead))
            });
            let Some((least, most)) = lead[i][j] else { continue };
            let per_share = |flow: usize| COST_MAX as f64 / f64::from(shares[flow]);
            prop_assert!(most - least <= per_share(i) + per_share(j) + 1e-6, "{least} … {most}");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn work_per_share_differs_by_at_most_one_request_of_each(
        shares in [1..8u32, 1..8u32, 1..8u32],
        steps in prop::collection::vec((0..3usize, 1..=COST_MAX, 0..9u8), 0..400),
    ) {
        spread_while_both_wait(shares, &steps)?;
    }
}

#[test]
fn an_idle_flow_saves_nothing_up_and_owes_nothing() {
    let (busy, idle) = (FlowId(0), FlowId(1));
    let mut scheduler = Scheduler::new(Discipline::Fair);
    scheduler.set_flow(at_ms(0), busy, Terms::new(1000));
    scheduler.set_flow(at_ms(0), idle, Terms::new(1000));
    for _ in 0..100 {
        scheduler.push(at_ms(0), busy, 5, busy).unwrap();
        let served = scheduler.pop(at_ms(0)).unwrap();
        scheduler.ended(at_ms(0), served.service);
    }
    for _ in 0..50 {
        scheduler.push(at_ms(1), idle, 5, idle).unwrap();
        scheduler.push(at_ms(1), busy, 5, busy).unwrap();
    }
    let order: Vec<FlowId> = (0..20).map(|_| scheduler.pop(at_ms(1)).unwrap().token).collect();
    assert_eq!(order.iter().filter(|&&flow| flow == idle).count(), 10, "{order:?}");
}

#[test]
fn costs_count_not_requests() {
    let mut scheduler = Scheduler::new(Discipline::Fair);
    for (flow, cost) in [(0, 8), (1, 1)] {
        scheduler.set_flow(at_ms(0), FlowId(flow), Terms::new(1000));
        for _ in 0..800 {
            scheduler.push(at_ms(0), FlowId(flow), cost, flow).unwrap();
        }
    }
    let small = (0..450).filter(|_| scheduler.pop(at_ms(0)).unwrap().token == 1).count();
    assert!((398..=402).contains(&small), "{small} of 450 are small, 8 for each big one");
}

/// The order of ten requests of each of two flows.
fn order_of_twenty(scheduler: &mut Scheduler<u16>) -> Vec<u16> {
    for _ in 0..10 {
        for flow in [0, 1] {
            scheduler.push(at_ms(1), FlowId(flow), 10, flow).expect("below its limit");
        }
    }
    core::iter::from_fn(|| scheduler.pop(at_ms(1))).map(|served| served.token).collect()
}

fn after_a_costly_request() -> Scheduler<u16> {
    let mut scheduler = Scheduler::new(Discipline::Fair);
    for flow in [0, 1] {
        scheduler.set_flow(at_ms(0), FlowId(flow), Terms::new(100));
    }
    scheduler.push(at_ms(0), FlowId(0), 1000, 0).expect("below its limit");
    scheduler
}

#[test]
fn after_a_rest_all_start_level() {
    let mut scheduler = after_a_costly_request();
    let served = scheduler.pop(at_ms(0)).unwrap();
    scheduler.ended(at_ms(1), served.service);
    assert_eq!(order_of_twenty(&mut scheduler), [0, 1].repeat(10));

    let mut scheduler = after_a_costly_request();
    scheduler.pop(at_ms(0)).unwrap();
    assert_eq!(order_of_twenty(&mut scheduler)[..10], [1; 10], "it is being served more still");
}

#[test]
fn a_flow_that_comes_back_is_a_new_one() {
    let mut scheduler = after_a_costly_request();
    scheduler.push(at_ms(0), FlowId(1), 1, 1).unwrap();
    let served = scheduler.pop(at_ms(0)).unwrap();
    scheduler.ended(at_ms(1), served.service);
    scheduler.retire_flow(at_ms(1), FlowId(0));
    scheduler.set_flow(at_ms(1), FlowId(0), Terms::new(100));
    let order = order_of_twenty(&mut scheduler);
    assert_eq!(order[..4], [1, 0, 1, 0], "{order:?}");
}
