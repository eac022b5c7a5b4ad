use super::*;
use crate::{Fault, FaultSettings, MemoryNode};
use futures::TryStreamExt;
use ripstop_model::StripeId;

const NAME: FragmentId = FragmentId { stripe: StripeId(1), index: 0 };

fn reading(meter: &Meter, operation: Operation) -> MeterReading {
    meter.readings()[operation as usize].clone()
}

#[tokio::test]
async fn every_end_is_counted_once() {
    let fault = Fault::new(Arc::new(MemoryNode::new(100)), FaultSettings::default(), 0);
    let handle = fault.handle();
    let meter = Meter::new(Arc::new(fault));
    meter.put(NAME, vec![Bytes::from_static(b"12"), Bytes::from_static(b"345")]).await.unwrap();
    meter.put(NAME, vec![Bytes::from(vec![0; 101])]).await.unwrap_err();
    let put = reading(&meter, Operation::Put);
    assert_eq!((put.started, put.succeeded, put.refused, put.bytes), (2, 1, 1, 5));
    meter.get(NAME, 1..4).await.unwrap();
    meter.get(NAME, 1..40).await.unwrap_err();
    meter.get(FragmentId { index: 1, ..NAME }, 0..1).await.unwrap_err();
    handle.set(FaultSettings { stall: 1.0, ..Default::default() });
    let given_up = tokio::time::timeout(Duration::from_millis(50), meter.get(NAME, 0..1));
    given_up.await.unwrap_err();
    handle.set(FaultSettings { error: 1.0, ..Default::default() });
    meter.get(NAME, 0..1).await.unwrap_err();
    let get = reading(&meter, Operation::Get);
    let counts = (get.started, get.succeeded, get.short, get.missing, get.dropped, get.unavailable);
    assert_eq!(counts, (5, 1, 1, 1, 1, 1));
    assert_eq!(get.bytes, 3);
    assert!(get.time < Duration::from_millis(25), "of what was given up nothing is counted");
    assert_eq!(reading(&meter, Operation::Health).started, 0);
}

#[tokio::test]
async fn a_listing_ends_with_its_last_fragment_or_first_error() {
    let fault = Fault::new(Arc::new(MemoryNode::new(100)), FaultSettings::default(), 0);
    let handle = fault.handle();
    let meter = Meter::new(Arc::new(fault));
    meter.put(NAME, vec![]).await.unwrap();
    assert_eq!(meter.list().try_collect::<Vec<_>>().await.unwrap().len(), 1);
    drop(meter.list());
    assert!(meter.list().next().await.is_some());
    handle.set(FaultSettings { lost_answer: 1.0, ..Default::default() });
    assert_eq!(meter.list().collect::<Vec<_>>().await.len(), 2);
    let list = reading(&meter, Operation::List);
    let counts = (list.started, list.succeeded, list.dropped, list.unavailable);
    assert_eq!(counts, (3, 1, 1, 1));
}
