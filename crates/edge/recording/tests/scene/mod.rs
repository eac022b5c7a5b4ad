//! Pools over memory nodes that are slow, fail and lie, under load, recorded.
#![allow(dead_code, reason = "each test file uses its part")]

use ripstop_delay::{Preset, ShiftedExponential};
use ripstop_gateway::{MachineSettings, NodeSpec, Report};
use ripstop_model::{Code, NodeId, PoolId, StripeId, StripeShape, Timestamp};
use ripstop_node::{Delay, Fault, FaultSettings, MemoryNode, Node};
use ripstop_recording::{Beginning, Recorder};
use ripstop_runtime::{
    Layout, Memory, Observer, Origin, Pool, PoolNode, Purpose, StripeDraft, StripePlace, Written,
};
use std::{sync::Arc, time::Duration};

#[derive(Debug)]
struct Unwatched;

impl Observer for Unwatched {
    fn report(&self, _: Timestamp, _: &Report) {}
}

/// A pool of nodes with faults.
pub(crate) struct Scene {
    pub(crate) pool: Pool,
    memory: Memory,
    faults: Vec<ripstop_node::FaultHandle>,
}

pub(crate) fn beginning(name: &str, policy: &str, nodes: u16) -> Beginning {
    let limits = ripstop_policy::Limits { k_max: 6, r_max: 2.0 };
    Beginning {
        program: "test".into(),
        pool: name.into(),
        settings: MachineSettings {
            late_after: Duration::from_millis(20),
            probe_every: Duration::from_millis(10),
            task_timeout: Duration::from_millis(60),
            request_timeout: Duration::from_millis(500),
            degraded_after: Duration::from_millis(30),
            requests_waiting_max: 24,
            ..MachineSettings::default()
        },
        nodes: (0..nodes).map(|id| NodeSpec { id: NodeId(id), lanes: 3 }).collect(),
        policy: policy.into(),
        policy_settings: ripstop_policy::PolicySettings {
            limits,
            memory: 0.5,
            model: Some(ShiftedExponential::S3_2013_A),
            hedge_after: Duration::from_millis(3),
            ..Default::default()
        },
    }
}

impl Scene {
    pub(crate) fn new(recorder: &Recorder, beginning: &Beginning, layout: Layout) -> Self {
        let mut faults = Vec::new();
        let node = |seed: u64| -> Arc<dyn Node> {
            let inner = Arc::new(MemoryNode::new(1 << 30));
            let settings = FaultSettings {
                error: 0.02,
                lost_answer: 0.01,
                stall: 0.01,
                stall_for: Some(Duration::from_millis(100)),
                truncate: 0.01,
                flip: 0.02,
                ..FaultSettings::default()
            };
            let fault = Fault::new(inner, settings, seed);
            faults.push(fault.handle());
            Arc::new(Delay::new(Arc::new(fault), Preset::S3In2013A.model(), seed, 0.03))
        };
        let nodes: Vec<_> = (beginning.nodes.iter().zip((1..).map(node)))
            .map(|(&NodeSpec { id, lanes }, node)| PoolNode { id, lanes, node })
            .collect();
        let settings = &beginning.policy_settings;
        let policy =
            ripstop_policy::by_name(&beginning.policy, settings).expect("it is registered");
        let (to, mut aftermath) = ripstop_runtime::aftermaths();
        tokio::spawn(async move { while aftermath.recv().await.is_some() {} });
        let memory = Memory::new(256 << 20);
        let pool = Pool::new(
            Origin { store: 1, pool: PoolId(0) },
            Code::new(6, 4).expect("a code"),
            beginning.settings,
            policy,
            nodes,
            Arc::new(Unwatched),
            Arc::default(),
            memory.blocks().clone(),
            ripstop_runtime::Pins::default(),
            to,
        );
        let pool = pool.with_layout(layout).with_witness(recorder.pool(beginning));
        Self { pool, memory, faults }
    }

    async fn write(&self, number: u64, len: u32) -> Option<StripePlace> {
        let code = if self.pool.layout() == Layout::Spread { (6, 4) } else { (24, 12) };
        let code = Code::new(code.0, code.1).expect("a code");
        let shape = StripeShape::new(code, len).expect("within limits");
        let share = self.memory.acquire(Purpose::Write, StripeDraft::memory(shape)).await;
        let mut draft = StripeDraft::new(StripeId::new(1, number.into()), shape, share);
        draft.fill(&mut vec![number as u8; len as usize].into());
        let sealed = draft.seal(self.pool.origin(), "".into());
        let written = self.pool.write(sealed).await.ok()?;
        let Written { id, shape, cut, header_len, sealing, ref nodes, .. } = written;
        Some(StripePlace { id, shape, cut, header_len, sealing, nodes: nodes.clone() })
    }

    /// Writes stripes and reads them again and again, from many sides at once, while a node goes
    /// and comes back and some readers leave before they are answered.
    pub(crate) async fn run(self: Arc<Self>, clients: u64, rounds: u64) {
        let clients = (0..clients).map(|client| {
            let scene = self.clone();
            tokio::spawn(async move {
                for round in 0..rounds {
                    let number = client * 1000 + round;
                    let len = 1 + (number * 7919 % 40_000) as u32;
                    let Some(place) = scene.write(number, len).await else { continue };
                    for _ in 0..3 {
                        let read = scene.pool.read(&place, 0..len);
                        let patience =
                            Duration::from_millis(if client % 4 == 0 { 3 } else { 1000 });
                        if let Ok(Ok(bytes)) = tokio::time::timeout(patience, read).await {
                            assert!(bytes.iter().flatten().all(|byte| *byte == number as u8));
                        }
                    }
                    let _ = scene.pool.read(&place, len / 3..len / 2).await;
                }
            })
        });
        let clients: Vec<_> = clients.collect();
        tokio::time::sleep(Duration::from_millis(30)).await;
        self.faults[0].down(true);
        tokio::time::sleep(Duration::from_millis(60)).await;
        self.faults[0].down(false);
        for client in clients {
            client.await.expect("no client panics");
        }
    }
}
