//! Where fragments are, what is to be deleted of them, and the names of nodes.

use super::{applied, brought, create, refused, tables};
use crate::{Audited, CatalogError, Change, Leftover, Refusal, conformance::make::stripe};
use ripstop_model::{NodeId, StripeId};
use std::collections::BTreeSet;

pub(super) async fn garbage_waits_until_it_is_due_and_is_forgotten(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    for (now_ms, id) in [(10, 2u128), (20, 3), (30, 4)] {
        let change = Change::Discard { stripes: brought(&[id]) };
        catalog.commit_one(now_ms, change).await.expect("discarded");
    }
    let due = async |due_ms, after, max| {
        let found = catalog.garbage(due_ms, StripeId(after), max).await.expect("garbage");
        found.into_iter().map(|(id, _)| id.0).collect::<Vec<_>>()
    };
    assert_eq!(due(10, 0, 9).await, [] as [u128; 0], "due since before, not at");
    assert_eq!(due(21, 0, 9).await, [2, 3]);
    assert_eq!(due(31, 2, 1).await, [3]);
    assert!(catalog.is_garbage(StripeId(2)).await.expect("read"));
    assert_eq!(
        catalog.stripes(&[StripeId(2), StripeId(1)]).await.expect("read"),
        [None, Some(stripe())]
    );
    let forget = vec![StripeId(2), StripeId(1), StripeId(77)];
    applied(catalog, Change::ForgetGarbage { stripes: forget }).await;
    assert_eq!(tables(catalog).await, (vec![1], vec![3, 4]));
    assert!(!catalog.is_garbage(StripeId(2)).await.expect("read"));
}

pub(super) async fn fragments_are_placed_in_stripes_in_force_only(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, Change::Discard { stripes: brought(&[2]) }).await;
    let place = |stripe, index, node: Option<u16>| Change::PlaceFragment {
        stripe: StripeId(stripe),
        index,
        node: node.map(NodeId),
    };
    for change in [
        place(1, 0, None),
        place(1, 2, Some(7)),
        place(1, 4, Some(8)),
        place(1, 9, None),
        place(2, 0, Some(9)),
        place(3, 0, Some(9)),
    ] {
        applied(catalog, change).await;
    }
    let placed = catalog.stripes(&[StripeId(1)]).await.expect("read");
    let nodes = placed[0].as_ref().expect("in force").nodes.clone();
    assert_eq!(nodes, [None, Some(2), Some(7), None, Some(8)]);
    let garbage = catalog.garbage(u64::MAX, StripeId(0), 9).await.expect("garbage");
    assert_eq!(garbage, [(StripeId(2), stripe())]);
}

fn copy(stripe: u128, index: u8, node: u16) -> Leftover {
    Leftover { stripe: StripeId(stripe), index, node: NodeId(node) }
}

fn move_fragment(stripe: u128, nodes: &[Option<u16>], index: u8, to: u16) -> Change {
    let nodes = nodes.to_vec();
    Change::MoveFragment { stripe: StripeId(stripe), nodes, index, to: NodeId(to) }
}

async fn leftovers(catalog: &dyn Audited) -> Vec<Leftover> {
    tables(catalog).await;
    catalog.leftovers(u64::MAX, None, 1000).await.expect("leftovers")
}

pub(super) async fn a_fragment_moves_only_from_where_it_was_read(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    applied(catalog, Change::Discard { stripes: brought(&[2]) }).await;
    let was = stripe().nodes;
    let gone = refused(catalog, move_fragment(2, &was, 0, 9)).await;
    assert!(
        matches!(gone, CatalogError::Refused(Refusal::StripeGone { stripe }) if stripe == StripeId(2))
    );
    let stale = [was.clone(), vec![Some(77)]].concat();
    for change in [
        move_fragment(1, &stale, 0, 9),
        move_fragment(1, &was[1..], 0, 9),
        move_fragment(1, &was, was.len() as u8, 9),
    ] {
        let why = refused(catalog, change.clone()).await;
        assert!(matches!(why, CatalogError::Refused(Refusal::ConditionFailed)), "{change:?}");
    }
    assert_eq!(leftovers(catalog).await, []);
    applied(catalog, move_fragment(1, &was, 1, 9)).await;
    let mut is = was.clone();
    is[1] = Some(9);
    let found = catalog.stripes(&[StripeId(1)]).await.expect("read");
    assert_eq!(found[0].as_ref().expect("in force").nodes, is);
    let former = was[1].expect("it was somewhere");
    assert_eq!(leftovers(catalog).await, [copy(1, 1, former)]);
    // A second one that read the same comes too late; back again, nothing is left where it is.
    assert!(matches!(
        refused(catalog, move_fragment(1, &was, 1, 8)).await,
        CatalogError::Refused(Refusal::ConditionFailed)
    ));
    applied(catalog, move_fragment(1, &is, 1, former)).await;
    assert_eq!(leftovers(catalog).await, [copy(1, 1, 9)]);
    // To where it is already: nothing becomes a leftover.
    applied(catalog, move_fragment(1, &was, 1, former)).await;
    assert_eq!(leftovers(catalog).await, [copy(1, 1, 9)]);
    let node = Some(NodeId(9));
    applied(catalog, Change::PlaceFragment { stripe: StripeId(1), index: 1, node }).await;
    assert_eq!(leftovers(catalog).await, []);
}

pub(super) async fn a_leftover_waits_until_it_is_due_and_is_forgotten(catalog: &dyn Audited) {
    applied(catalog, create("b", 1)).await;
    let mut nodes = stripe().nodes;
    let mut all = Vec::new();
    for (now_ms, to) in [(10, 20), (20, 21), (30, 22)] {
        all.push(copy(1, 0, nodes[0].expect("it is somewhere")));
        let change = move_fragment(1, &nodes, 0, to);
        catalog.commit_one(now_ms, change).await.expect("moved");
        nodes[0] = Some(to);
    }
    let due =
        async |due_ms, after, max| catalog.leftovers(due_ms, after, max).await.expect("leftovers");
    assert_eq!(due(10, None, 9).await, [], "due since before, not at");
    assert_eq!(due(21, None, 9).await, all[..2]);
    assert_eq!(due(31, Some(all[0]), 1).await, all[1..2]);
    // They outlive their stripe.
    applied(catalog, Change::DeleteBucket { name: "b".into(), tombstone: None, stripes: vec![] })
        .await;
    assert_eq!(leftovers(catalog).await, all);
    applied(catalog, Change::ForgetLeftovers { leftovers: vec![all[1], copy(7, 7, 7)] }).await;
    assert_eq!(leftovers(catalog).await, [all[0], all[2]]);
    assert!(!catalog.is_leftover(all[1]).await.expect("read"));
    assert!(catalog.is_leftover(all[2]).await.expect("read"));
}

pub(super) async fn nodes_keep_the_numbers_they_were_given(catalog: &dyn Audited) {
    let name = |name: &str| Change::NameNode { name: name.into() };
    let names = ["disk2", "disk1", "disk2", "disk3"];
    let mut numbers = Vec::new();
    for node in names {
        numbers.push(applied(catalog, name(node)).await.node.expect("a number"));
    }
    assert_eq!(numbers[0], numbers[2]);
    assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), 3);
    let nodes = catalog.nodes().await.expect("nodes");
    let expected = [("disk1", numbers[1]), ("disk2", numbers[0]), ("disk3", numbers[3])];
    assert_eq!(nodes, expected.map(|(name, number)| (name.to_owned(), number)));
}
