use crate::driver::at_ms;
use proptest::prelude::*;
use ripstop_model::Timestamp;
use ripstop_shaping::{Discipline, FlowId, Scheduler, ServedRequest, Terms};

#[test]
fn an_idle_flows_servers_are_lent_and_come_back_one_by_one() {
    let (own, guest, now) = (FlowId(0), FlowId(1), at_ms(0));
    let mut scheduler = Scheduler::new(Discipline::Split);
    scheduler.set_flow(now, own, Terms { share: 2, ..Terms::new(100) });
    scheduler.set_flow(now, guest, Terms { share: 1, ..Terms::new(100) });
    for token in 0..10 {
        scheduler.push(now, guest, 1, token).unwrap();
    }
    let mut lanes: Vec<ServedRequest> =
        (0..3).map(|_| scheduler.pop(now).unwrap().service).collect();
    for token in 10..20 {
        scheduler.push(now, own, 1, token).unwrap();
    }
    for _ in 0..6 {
        scheduler.ended(now, lanes.remove(0));
        lanes.push(scheduler.pop(now).unwrap().service);
    }
    let flows: Vec<u16> = lanes.iter().map(|service| service.flow.0).collect();
    assert_eq!(flows.iter().filter(|&&flow| flow == 0).count(), 2, "{flows:?}");
}

proptest! {
    #[test]
    fn nobody_borrows_while_an_owner_waits(
        shares in prop::collection::vec(0..4u32, 1..6),
        steps in prop::collection::vec((0..6u16, 0..3u8), 1..200),
    ) {
        let now = Timestamp::ZERO;
        let mut scheduler = Scheduler::new(Discipline::Split);
        for (flow, &share) in (0..).zip(&shares) {
            scheduler.set_flow(now, FlowId(flow), Terms { share, ..Terms::new(100) });
        }
        let mut used = vec![0; shares.len()];
        let mut lanes: Vec<ServedRequest> = Vec::new();
        let servers = shares.iter().sum::<u32>().max(1) as usize;
        for (pick, what) in steps {
            let flow = usize::from(pick) % shares.len();
            match what {
                0 => _ = scheduler.push(now, FlowId(flow as u16), 1, ()).unwrap(),
                1 if !lanes.is_empty() => {
                    let service = lanes.swap_remove(usize::from(pick) % lanes.len());
                    used[usize::from(service.flow.0)] -= 1;
                    scheduler.ended(now, service);
                }
                _ if lanes.len() < servers => {
                    let waits = |flow: usize| scheduler.flow_len(FlowId(flow as u16)) > 0;
                    let owner = (0..shares.len()).any(|f| waits(f) && used[f] < shares[f]);
                    let Some(served) = scheduler.pop(now) else { continue };
                    let flow = usize::from(served.service.flow.0);
                    prop_assert!(used[flow] < shares[flow] || !owner);
                    used[flow] += 1;
                    lanes.push(served.service);
                }
                _ => {}
            }
        }
    }
}
