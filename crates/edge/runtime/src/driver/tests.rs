use super::*;
use ripstop_block::Blocks;
use ripstop_gateway::{MachineSettings, NodeSpec};
use ripstop_node::{Fault, FaultHandle, FaultSettings, MemoryNode};

#[derive(Debug)]
struct Nobody;

impl Observer for Nobody {
    fn report(&self, _: Timestamp, _: &Report) {}
}

const NODE: NodeId = NodeId(1);

/// A pool of one node whose operations all stall, and how many did.
fn stalled(stall_for: Option<Duration>, probe_every: Duration) -> (Arc<Shared>, FaultHandle) {
    let faults = FaultSettings { stall: 1.0, stall_for, ..FaultSettings::default() };
    let node = Fault::new(Arc::new(MemoryNode::new(1)), faults, 1);
    let handle = node.handle();
    let settings = MachineSettings { probe_every, ..MachineSettings::default() };
    let specs = vec![NodeSpec { id: NODE, lanes: 1 }];
    let policy = ripstop_policy::by_name("fixed", &ripstop_policy::PolicySettings::default());
    let machine = Machine::new(settings, specs, policy.unwrap());
    let nodes = BTreeMap::from([(NODE, Arc::new(node) as Arc<dyn Node>)]);
    (Shared::new(machine, nodes, Arc::new(Nobody), Arc::default(), Blocks::default()), handle)
}

fn is_up(pool: &Shared) -> bool {
    pool.inspect(|machine| machine.nodes().all(|node| node.state == NodeState::Up))
}

#[tokio::test]
async fn a_node_that_does_not_say_how_it_is_is_not_asked_again_meanwhile() {
    let (pool, handle) = stalled(None, Duration::from_millis(2));
    pool.tell(Event::NodeChanged(NODE, NodeState::Down));
    // A hundred times as long as the machine waits before it wants to know again.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(handle.injected().stalls, 1);
}

#[tokio::test]
async fn a_caller_beside_the_machine_has_an_answer_of_its_own() {
    let (pool, handle) = stalled(Some(Duration::from_millis(50)), Duration::from_secs(9));
    pool.tell(Event::NodeChanged(NODE, NodeState::Down));
    assert!(!is_up(&pool));
    let (one, other) = (pool.probe(NODE), pool.probe(NODE));
    futures::join!(one, other);
    assert!(is_up(&pool));
    assert!(handle.injected().stalls >= 2);
}
