use super::*;
use futures::FutureExt as _;

const MIB: usize = 1 << 20;

fn anybody(memory: &Memory) -> TenantMemory {
    memory.of(TenantId::ANYBODY)
}

#[tokio::test]
async fn shares_come_back_whole_and_in_part() {
    let memory = Memory::new(32 * UNIT);
    let all = memory.free();
    assert_eq!(all, 32 * UNIT);
    let mut share = memory.acquire(Purpose::Write, 8 * UNIT).await;
    assert_eq!(memory.free(), 24 * UNIT);
    share.release(5 * UNIT);
    assert_eq!(memory.free(), 29 * UNIT);
    assert!(share.try_grow(2 * UNIT));
    assert_eq!((memory.free(), share.len()), (27 * UNIT, 5 * UNIT));
    share.shrink_to(UNIT);
    assert_eq!(memory.free(), 31 * UNIT);
    drop(share);
    drop(memory.acquire(Purpose::Write, 1000 * UNIT).await);
    assert!(memory.is_free());
}

#[tokio::test]
async fn writers_and_slow_readers_hold_up_no_small_read() {
    let memory = Memory::new(128 * MIB);
    let _written = memory.acquire(Purpose::Write, 128 * MIB).await;
    let _checked = memory.acquire(Purpose::Background, 128 * MIB).await;
    let mut slices = Vec::new();
    for _ in 0..80 {
        slices.push(anybody(&memory).acquire_slice(8 * MIB, 1.0, false).await);
    }
    assert_eq!(slices[0].len, 8 * MIB, "plenty for the first");
    assert!(slices[79].len <= 256 << 10, "little for the last");
    drop(anybody(&memory).acquire_slice(1000, 1.0, false).await);
}

#[tokio::test]
async fn hundreds_that_do_not_read_leave_memory_for_one_that_does() {
    let memory = Memory::new(256 * MIB);
    let of = anybody(&memory);
    let mut slices = Vec::new();
    for _ in 0..300 {
        let slice = of.acquire_slice(8 * MIB, 1.0, false);
        slices.push(slice.now_or_never().expect("nobody waits"));
    }
    assert!(slices.iter().all(|slice| slice.len >= 64 << 10));
    assert!(memory.read_pressure() > 0.5);
}

#[tokio::test]
async fn slow_bodies_hold_up_neither_fast_nor_short_ones() {
    let memory = Memory::new(64 * MIB);
    let of = anybody(&memory);
    let _arriving = of.acquire_arriving(64 * MIB).await;
    let _slow = of.acquire_slow(64 * MIB).await;
    assert!(of.acquire_slow(MIB).now_or_never().is_none());
    drop(of.acquire(12 * MIB).now_or_never().expect("fast bodies have a part of their own"));
    drop(of.acquire_complete(MIB).now_or_never().expect("and short ones"));
}

#[tokio::test]
async fn pressure_is_what_is_taken_and_whole_where_somebody_waits() {
    let memory = Memory::new(64 * MIB);
    assert!(memory.write_pressure() < f64::EPSILON);
    let held = anybody(&memory).acquire_slow(2 * MIB).await;
    assert!((memory.write_pressure() - 0.5).abs() < 0.01);
    assert!(!held.is_wanted());
    let of = anybody(&memory);
    let mut second = Box::pin(of.acquire_slow(3 * MIB));
    assert!(futures::poll!(&mut second).is_pending());
    assert!((memory.write_pressure() - 1.0).abs() < f64::EPSILON);
    assert!(held.is_wanted());
    drop(second);
    assert!(!held.is_wanted(), "one that left does not wait");
}

#[tokio::test]
async fn what_one_tenant_holds_keeps_nobody_else_waiting() {
    let memory = Memory::new(128 * MIB);
    let all = memory.free();
    let patience = Some(Duration::from_millis(5));
    let claim = |tenant, share| MemoryClaim { tenant: TenantId(tenant), share, patience };
    memory.divide(&[claim(1, 0.5), claim(2, 0.25)]);
    assert!(memory.is_free());
    assert!(all - memory.free() < 16 * UNIT, "rounded down, no more");
    let flood = memory.of(TenantId(1));
    let _held = flood.acquire(1 << 30).await;
    assert!(!memory.is_free());
    assert!(tokio::time::timeout(Duration::from_millis(5), flood.acquire(UNIT)).await.is_err());
    for other in [TenantId(2), TenantId(3), TenantId::ANYBODY] {
        drop(memory.of(other).acquire(8 * MIB).await);
    }
    assert_eq!(memory.of(TenantId(3)).patience(), None);
    // Too much is scaled down, and what did not change is as it was.
    memory.divide(&[claim(1, 0.5), claim(2, 1.0)]);
    assert!(memory.free() <= all);
    memory.divide(&[]);
    assert_eq!(memory.free(), all);
}

#[tokio::test]
async fn what_is_indivisible_is_whole_until_half_is_left() {
    let memory = Memory::new(128 * MIB);
    let mut slices = Vec::new();
    for _ in 0..6 {
        slices.push(anybody(&memory).acquire_slice(6 * MIB, 1.0, true).await);
    }
    let lens: Vec<usize> = slices.iter().map(|slice| slice.len).collect();
    assert_eq!(lens[..3], [6 * MIB, 6 * MIB, 2 * MIB], "of 32 MiB for slices");
    assert!(lens[3] < 6 * MIB);
}

#[tokio::test]
async fn what_must_be_computed_takes_more_memory() {
    let memory = Memory::new(128 * MIB);
    let slice = anybody(&memory).acquire_slice(2 * MIB, 2.0, false).await;
    assert_eq!((slice.len, slice.share.len()), (2 * MIB, 4 * MIB));
}
