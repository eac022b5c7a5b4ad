//! What becomes of deletions where the nodes do not take what tells of them.

mod common;
mod scene;

use common::{Kept, get, put, rebuilt, settings, store_settings, target};
use ripstop_catalog::{Attributes, Catalog as _, Condition};
use ripstop_store::{Removed, StoreError, StoreSettings};
use scene::{Life, Scene, World};
use std::time::Duration;
use tokio::runtime;

/// More requests than a pool lets wait.
const CROWD: usize = 4000;
/// More than a gateway asks for to write one small object.
const STEPS: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_for_which_too_much_waits_is_told_to_come_back_and_deletes_nothing() {
    let patience = Duration::from_millis(200);
    let hasty = StoreSettings { memory_wait: patience, ..store_settings() };
    let scene = Scene::by((hasty, settings())).await;
    put(&scene.store, "k", b"content").await;
    let source = scene.store.object("b", "k").await.expect("there");
    scene.gates.puts.shut();
    let copies: Vec<_> = (0..CROWD)
        .map(|at| {
            let (store, source) = (scene.store.clone(), source.clone());
            let to = target(&format!("copy{at}"));
            tokio::spawn(async move { store.copy(&source, to, Attributes::default()).await })
        })
        .collect();
    let mut deleted = Ok(Removed::default());
    for _ in 0..5000 {
        if copies.iter().any(tokio::task::JoinHandle::is_finished) {
            deleted = scene.store.delete("b", "k", Condition::None).await;
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(matches!(deleted, Err(StoreError::Busy { .. })), "{deleted:?}");
    scene.gates.puts.open();
    copies.iter().for_each(tokio::task::JoinHandle::abort);
    assert_eq!(get(&scene.store, "k").await.expect("read"), b"content");
    for _ in 0..1000 {
        match scene.store.delete("b", "k", Condition::None).await {
            Err(StoreError::Busy { .. }) => tokio::time::sleep(Duration::from_millis(5)).await,
            deleted => return assert!(deleted.expect("deleted").object.is_some()),
        }
    }
    panic!("too much waits although all was let go");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_deleted_although_too_few_nodes_are_there_to_tell_of_it() {
    let scene = Scene::with(settings()).await;
    put(&scene.store, "k", b"content").await;
    scene.down(&[0, 1, 2, 3, 4, 5, 6], true);
    assert!(scene.store.delete("b", "k", Condition::None).await.expect("deleted").object.is_some());
    assert!(scene.store.object("b", "k").await.is_err());
}

/// Has a gateway of such a life do something; whether it lived to its end.
fn live(world: &mut World, life: Life, acts: impl AsyncFnOnce(&World, &Kept)) -> bool {
    world.begin(life);
    let runtime = runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let lived = runtime.block_on(async {
        let store = world.open((store_settings(), settings()));
        tokio::select! {
            biased;
            () = world.is_over() => false,
            () = acts(world, &store) => true,
        }
    });
    // As a kill does.
    runtime.shutdown_background();
    lived
}

/// What is left of a gateway that made a bucket, and of the next, which was killed as it put `k`
/// after this many steps; none if it lived on.
fn killed_after(steps: usize) -> Option<World> {
    let mut world = World::new();
    live(&mut world, Life::Endless, async |_, store| {
        store.create_bucket("b").await.expect("made");
    });
    let lived = live(&mut world, Life::Steps(steps), async |_, store| {
        put(store, "k", b"not answered").await;
    });
    (!lived).then_some(world)
}

#[test]
fn what_a_killed_gateway_wrote_and_the_next_was_told_to_delete_does_not_come_back() {
    let mut found_nothing = 0;
    for steps in 1..STEPS {
        let Some(mut world) = killed_after(steps) else { continue };
        live(&mut world, Life::Endless, async |_, store| {
            let deleted = store.delete("b", "k", Condition::None).await.expect("answered");
            assert!(store.object("b", "k").await.is_err(), "killed after {steps} steps");
            found_nothing += usize::from(deleted.object.is_none());
        });
        live(&mut world, Life::Endless, async |world, _| {
            let (again, _) = rebuilt(world.surveyed()).await;
            let found = again.object("b", "k").await.expect("read");
            assert!(found.is_none(), "killed after {steps} steps: {found:?}");
        });
    }
    assert!(found_nothing > 5, "{found_nothing} were killed before the catalog had it");
}

#[test]
fn a_put_that_comes_after_such_a_deletion_stays() {
    let mut world = killed_after(STEPS / 6).expect("it is at it");
    live(&mut world, Life::Endless, async |world, store| {
        let deleted = store.delete("b", "k", Condition::None);
        let ((), deleted) = tokio::join!(put(store, "k", b"answered"), deleted);
        assert!(deleted.expect("answered").object.is_none());
        assert_eq!(get(store, "k").await.expect("read"), b"answered");
        let (again, _) = rebuilt(world.surveyed()).await;
        let found = again.object("b", "k").await.expect("read").expect("there");
        assert_eq!(found.object.len, 8);
    });
}

#[test]
fn once_what_a_killed_gateway_left_is_swept_a_deletion_of_nothing_writes_nothing() {
    let mut world = killed_after(STEPS / 6).expect("it is at it");
    live(&mut world, Life::Endless, async |world, store| {
        let delete = async || {
            let before = world.fragments().await;
            assert!(
                store.delete("b", "k", Condition::None).await.expect("answered").object.is_none()
            );
            world.fragments().await != before
        };
        assert!(delete().await, "it is told");
        // What was named in this millisecond is too young.
        tokio::time::sleep(Duration::from_millis(3)).await;
        assert!(store.keeper.sweep_unclaimed().await.expect("swept") > 0);
        store.keeper.sweep_garbage().await.expect("swept");
        assert!(!delete().await, "it is told, for no reason");
    });
}
