use crate::{
    Spent,
    fragment::{Chunk, body_range},
    job::{Load, Sought},
};
use ripstop_gateway::Outcome;
use ripstop_model::FragmentId;
use ripstop_node::{Node, NodeError};
use std::time::Instant;

/// Runs one storage operation to its end.
pub(crate) async fn run(
    node: &dyn Node,
    fragment: u8,
    load: Load,
    spent: &Spent,
) -> (Outcome, Option<Chunk>) {
    let start = Instant::now();
    match load {
        Load::Store { name, fragment } => {
            let result = node.put(name, fragment).await;
            Spent::add(&spent.node_put, start);
            (outcome(name, result.err()), None)
        }
        Load::Fetch(sought) => fetch(node, fragment, &sought, spent).await,
    }
}

async fn fetch(
    node: &dyn Node,
    index: u8,
    sought: &Sought,
    spent: &Spent,
) -> (Outcome, Option<Chunk>) {
    let start = Instant::now();
    let name = FragmentId { stripe: sought.stripe, index };
    let strip_len = sought.shape.strip_len();
    let range = body_range(&sought.columns, strip_len);
    let header_len = u64::from(sought.header_len);
    let range = header_len + u64::from(range.start)..header_len + u64::from(range.end);
    let result = node.get(name, range).await;
    Spent::add(&spent.node_get, start);
    match result {
        Err(error) => (outcome(name, Some(error)), None),
        Ok(bytes) => {
            let start = Instant::now();
            let chunk = Chunk::verify(sought.stripe, index, strip_len, &sought.columns, &bytes);
            Spent::add(&spent.verify, start);
            if chunk.is_none() {
                tracing::warn!(fragment = %name, "fragment is damaged");
            }
            (if chunk.is_some() { Outcome::Done } else { Outcome::Damaged }, chunk)
        }
    }
}

fn outcome(name: FragmentId, error: Option<NodeError>) -> Outcome {
    let Some(error) = error else { return Outcome::Done };
    tracing::debug!(fragment = %name, %error, "task failed");
    match error {
        NodeError::Missing | NodeError::Short { .. } => Outcome::Missing,
        NodeError::Refused { .. } => Outcome::Refused,
        NodeError::Unavailable { .. } => Outcome::Unavailable,
    }
}
