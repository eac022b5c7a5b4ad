//! What must hold once everything has come to rest.

use crate::{
    actor::{Actor, BUCKETS, KEYS},
    classes,
    plan::Plan,
    world::World,
};
use ripstop_assembly::Assembly;
use ripstop_keeper::CheckOptions;
use ripstop_model::{FragmentId, StripeId};
use std::{collections::BTreeSet, time::Duration};
use tokio::time::sleep;

/// How often what is left is swept and mended before it is a fault.
const ROUNDS_MAX: usize = 12;
/// How long a round is, at least: all together are longer than the longest stall, for who waits for
/// a node to delete something keeps others from it.
const ROUND_MIN: Duration = Duration::from_secs(2);
/// How long what was answered may go on, and hold memory.
const SETTLES: Duration = Duration::from_mins(2);
/// More stripes than a drill has.
const ALL: usize = 100_000;

/// Has everything made good, and complains of what is not.
pub(crate) async fn comes_to_rest(
    world: &World,
    (plan, at): (&Plan, usize),
    assembly: &Assembly,
    mut actor: Actor,
) -> Result<(), String> {
    assembly.settle(SETTLES).await;
    if !assembly.memory.is_free() {
        return Err(format!("memory is held: {} bytes are free", assembly.memory.free()));
    }
    let repair = plan.may_need_a_check(at);
    let mut left = String::new();
    for _ in 0..ROUNDS_MAX {
        let keeper = &assembly.keeper;
        keeper.mend_waiting().await;
        let checked = keeper.check(CheckOptions { repair }, |_| {}).await;
        let checked = checked.map_err(|error| format!("a check fails: {error}"))?;
        if checked.lost > 0 {
            return Err(format!("stripes are lost: {checked:?}"));
        }
        sleep(plan.grace.max(ROUND_MIN) + Duration::from_millis(50)).await;
        let swept = keeper.sweep_garbage().await.map(drop);
        let swept = swept.and(keeper.sweep_unclaimed().await.map(drop));
        left = match swept {
            Ok(()) => match is_at_rest(world, assembly).await {
                Ok(()) => String::new(),
                Err(left) => left,
            },
            Err(error) => format!("a sweep fails: {error}"),
        };
        if left.is_empty() {
            break;
        }
    }
    if !left.is_empty() {
        return Err(left);
    }
    actor.locks_hold().await;
    actor.aged_are_gone().await;
    actor.keys_open().await;
    for bucket in BUCKETS {
        for key in KEYS {
            actor.get((bucket, key)).await;
            actor.see_tag((bucket, key)).await;
        }
        actor.list(bucket, 1000).await;
    }
    assembly.settle(SETTLES).await;
    if !assembly.memory.is_free() {
        return Err(format!("reads hold memory: {} bytes are free", assembly.memory.free()));
    }
    Ok(())
}

async fn is_at_rest(world: &World, assembly: &Assembly) -> Result<(), String> {
    let failed = |error| format!("the catalog does not answer: {error}");
    let catalog = assembly.catalog.audited();
    let audit = catalog.audit().await.map_err(failed)?;
    if !audit.is_clean() {
        return Err(format!("the audit finds {:?}", audit.findings));
    }
    if let Some(elsewhere) = classes::elsewhere(assembly, catalog).await.map_err(failed)? {
        return Err(elsewhere);
    }
    let garbage = catalog.garbage(u64::MAX, StripeId(0), ALL).await.map_err(failed)?;
    if !garbage.is_empty() {
        return Err(format!("garbage stays: {garbage:?}"));
    }
    let leftovers = catalog.leftovers(u64::MAX, None, ALL).await.map_err(failed)?;
    if !leftovers.is_empty() {
        return Err(format!("leftovers stay: {leftovers:?}"));
    }
    let nodes = assembly.pools.iter().flat_map(|(_, pool)| pool.nodes());
    let numbers: Vec<u16> = nodes.map(|(id, _)| id.0).collect();
    let mut wanted = BTreeSet::new();
    for (stripe, held) in catalog.stripes_after(StripeId(0), ALL).await.map_err(failed)? {
        let places: BTreeSet<_> = held.nodes.iter().flatten().collect();
        if places.len() < held.nodes.iter().flatten().count() {
            return Err(format!("stripe {stripe} has two fragments at one node: {held:?}"));
        }
        for (index, node) in (0..).zip(&held.nodes) {
            let node = node.and_then(|node| numbers.iter().position(|number| *number == node));
            let Some(node) = node else {
                return Err(format!("stripe {stripe} lacks fragment {index}: {held:?}"));
            };
            wanted.insert((node, FragmentId { stripe, index }));
        }
    }
    let mut found = BTreeSet::new();
    for node in 0..world.nodes() {
        let mut held = world.held(node);
        // Nobody can tell whose it is: an operator would remove it.
        held.fragments.retain(|name, it| !it.is_spoiled || wanted.contains(&(node, *name)));
        found.extend(held.fragments.keys().map(|name| (node, *name)));
    }
    let shown = |names: Vec<&(usize, FragmentId)>| {
        let name = |(node, name): &&(usize, FragmentId)| format!("{name} at {node}");
        names.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    let missing: Vec<_> = wanted.difference(&found).collect();
    if !missing.is_empty() {
        return Err(format!("fragments are missing: {}", shown(missing)));
    }
    let unclaimed: Vec<_> = found.difference(&wanted).collect();
    if !unclaimed.is_empty() {
        return Err(format!("fragments are nobody's: {}", shown(unclaimed)));
    }
    let options = CheckOptions { repair: false };
    let checked = assembly.keeper.check(options, |_| {}).await;
    let checked = checked.map_err(|error| format!("a check fails: {error}"))?;
    if !checked.is_clean() {
        return Err(format!("a check finds {checked:?}"));
    }
    Ok(())
}
