use super::*;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

#[tokio::test]
async fn checks_that_hang_do_not_pile_up_and_the_next_after_it_asks_again() {
    let (health, looks) = (Health::new(), Arc::new(AtomicUsize::new(0)));
    let (open, gate) = mpsc::channel::<()>();
    let counted = Arc::clone(&looks);
    let first = health.check(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        let _ = gate.recv();
        Err(NodeError::Unavailable { reason: "hung".into() })
    });
    assert!(tokio::time::timeout(Duration::from_millis(20), first).await.is_err());
    let counting = |looks: &Arc<AtomicUsize>| {
        let looks = Arc::clone(looks);
        move || {
            looks.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    };
    for _ in 0..100 {
        let asked = health.check(counting(&looks));
        assert!(tokio::time::timeout(Duration::from_micros(100), asked).await.is_err());
    }
    let mut sharing = Box::pin(health.check(counting(&looks)));
    assert!(futures::poll!(&mut sharing).is_pending());
    drop(open);
    assert!(sharing.await.unwrap_err().to_string().contains("hung"));
    assert_eq!(looks.load(Ordering::SeqCst), 1);
    health.check(counting(&looks)).await.unwrap();
    assert_eq!(looks.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_check_that_is_stuck_is_answered_at_once() {
    let health = Health::new();
    let (open, gate) = mpsc::channel::<()>();
    let first = health.check(move || {
        let _ = gate.recv();
        Ok(())
    });
    assert!(tokio::time::timeout(Duration::from_millis(20), first).await.is_err());
    let Some(long_ago) = Instant::now().checked_sub(2 * STUCK_AFTER) else { return };
    health.last.lock().unwrap().as_mut().unwrap().since = long_ago;
    let refused = health.check(|| Ok(())).await.unwrap_err();
    assert!(refused.to_string().contains("stuck for 20 s"), "{refused}");
    drop(open);
}

#[tokio::test]
async fn a_check_that_panics_is_unavailable_and_another_can_follow() {
    let health = Health::new();
    let outcome = health.check(|| panic!("on purpose")).await;
    assert!(matches!(outcome, Err(NodeError::Unavailable { .. })), "{outcome:?}");
    health.check(|| Ok(())).await.unwrap();
}
