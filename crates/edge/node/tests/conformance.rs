//! Every node type runs the one suite.

use ripstop_delay::Preset;
use ripstop_node::{
    Delay, Directory, DirectorySettings, Fault, FaultSettings, MemoryNode, Meter, Node,
    PutDurability,
    conformance::{Scale, check},
};
use std::sync::Arc;

const SCALE: Scale = Scale { fragments: 1000, rounds: 60, seed: 42 };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory() {
    let node: Arc<dyn Node> = Arc::new(MemoryNode::new(1 << 30));
    check(&node, SCALE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directory_relaxed() {
    let root = tempfile::tempdir().unwrap();
    let settings =
        DirectorySettings { durability: PutDurability::Relaxed, ..DirectorySettings::default() };
    let node: Arc<dyn Node> = Arc::new(Directory::new(root.path().into(), settings));
    check(&node, Scale { fragments: 10_000, ..SCALE }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directory_full() {
    let root = tempfile::tempdir().unwrap();
    let settings = DirectorySettings::default();
    let node: Arc<dyn Node> = Arc::new(Directory::new(root.path().into(), settings));
    check(&node, SCALE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn delay() {
    let memory = Arc::new(MemoryNode::new(1 << 30));
    let model = Preset::S3In2025.model();
    let node: Arc<dyn Node> = Arc::new(Delay::new(memory, model, 1, 0.02));
    check(&node, Scale { fragments: 300, rounds: 30, ..SCALE }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fault_without_faults() {
    let memory = Arc::new(MemoryNode::new(1 << 30));
    let node: Arc<dyn Node> = Arc::new(Fault::new(memory, FaultSettings::default(), 1));
    check(&node, SCALE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn meter() {
    let node: Arc<dyn Node> = Arc::new(Meter::new(Arc::new(MemoryNode::new(1 << 30))));
    check(&node, SCALE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[should_panic(expected = "differ")]
async fn the_suite_finds_a_lie() {
    let memory = Arc::new(MemoryNode::new(1 << 30));
    let settings = FaultSettings { flip: 0.2, ..FaultSettings::default() };
    let node: Arc<dyn Node> = Arc::new(Fault::new(memory, settings, 1));
    check(&node, SCALE).await;
}
