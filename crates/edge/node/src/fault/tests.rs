use super::*;
use crate::MemoryNode;
use futures::{FutureExt, TryStreamExt};
use ripstop_model::StripeId;
use std::time::Duration;
use tokio::time::Instant;

const fn name(stripe: u128) -> FragmentId {
    FragmentId { stripe: StripeId(stripe), index: 0 }
}

async fn node(settings: FaultSettings) -> Fault {
    let node = Fault::new(Arc::new(MemoryNode::new(1 << 20)), FaultSettings::default(), 11);
    for stripe in 0..3 {
        node.put(name(stripe), vec![Bytes::from(vec![stripe as u8; 64])]).await.unwrap();
    }
    node.handle().set(settings);
    node
}

fn unavailable<T>(outcome: &Result<T, NodeError>) -> bool {
    matches!(outcome, Err(NodeError::Unavailable { .. }))
}

#[tokio::test]
async fn a_node_that_is_down_does_nothing_until_it_is_up() {
    let node = node(FaultSettings::default()).await;
    node.handle().down(true);
    assert!(unavailable(&node.get(name(0), 0..1).await));
    assert!(unavailable(&node.put(name(9), vec![]).await));
    assert!(unavailable(&node.delete(name(0)).await));
    assert!(unavailable(&node.list().try_collect::<Vec<_>>().await));
    assert!(unavailable(&node.health().await));
    node.handle().down(false);
    assert_eq!(node.list().try_collect::<Vec<_>>().await.unwrap().len(), 3);
    assert_eq!(node.handle().injected(), Injected::default());
}

#[tokio::test]
async fn an_error_leaves_the_node_alone_and_a_lost_answer_does_not() {
    let node = node(FaultSettings { error: 1.0, ..Default::default() }).await;
    assert!(unavailable(&node.delete(name(0)).await));
    node.handle().set(FaultSettings { lost_answer: 1.0, ..Default::default() });
    assert!(unavailable(&node.delete(name(1)).await));
    assert!(unavailable(&node.list().try_collect::<Vec<_>>().await));
    node.handle().set(FaultSettings::default());
    assert!(node.get(name(0), 0..1).await.is_ok());
    assert!(matches!(node.get(name(1), 0..1).await, Err(NodeError::Missing)));
    let injected = node.handle().injected();
    assert_eq!((injected.errors, injected.lost_answers), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_stall_lasts_for_ever_or_its_time() {
    let for_ever = FaultSettings { stall: 1.0, ..Default::default() };
    let node = node(for_ever).await;
    let get = node.get(name(0), 0..1);
    assert!(tokio::time::timeout(Duration::from_hours(24), get).await.is_err());
    assert!(node.list().next().now_or_never().is_none());
    let stall_for = Some(Duration::from_secs(3));
    node.handle().set(FaultSettings { stall_for, ..for_ever });
    let start = Instant::now();
    assert_eq!(node.get(name(0), 0..1).await.unwrap().len(), 1);
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test]
async fn lies_are_of_the_kind_that_was_asked_for() {
    let node = node(FaultSettings { truncate: 1.0, ..Default::default() }).await;
    let got = node.get(name(1), 0..64).await.unwrap();
    assert!(got.len() < 64 && got.iter().all(|&byte| byte == 1));
    node.handle().set(FaultSettings { flip: 1.0, ..Default::default() });
    let got = node.get(name(1), 0..64).await.unwrap();
    let flipped: u32 = got.iter().map(|byte| (byte ^ 1).count_ones()).sum();
    assert_eq!((got.len(), flipped), (64, 1));
    node.handle().set(FaultSettings { swap: 1.0, ..Default::default() });
    let got = node.get(name(1), 0..64).await.unwrap();
    assert!(got.len() == 64 && got[0] != 1);
    let injected = node.handle().injected();
    assert_eq!((injected.truncations, injected.flips, injected.swaps), (1, 1, 1));
    node.handle().set(FaultSettings::default());
    assert_eq!(node.get(name(1), 0..64).await.unwrap(), vec![1; 64]);
}

#[tokio::test]
async fn equal_seeds_have_equal_faults_at_the_rate_asked_for() {
    let settings = FaultSettings { error: 0.2, flip: 0.1, ..Default::default() };
    let (one, other) = (node(settings).await, node(settings).await);
    for _ in 0..2000 {
        let outcomes = (one.get(name(2), 0..64).await.ok(), other.get(name(2), 0..64).await.ok());
        assert_eq!(outcomes.0, outcomes.1);
    }
    let injected = one.handle().injected();
    assert!((340..460).contains(&injected.errors), "{injected:?}");
    assert!((110..210).contains(&injected.flips), "{injected:?}");
}
