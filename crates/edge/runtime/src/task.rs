use crate::{
    Spent,
    fragment::{Chunk, body_range},
    job::{Fetch, Load, Sought},
};
use bytes::Bytes;
use ripstop_gateway::{Outcome, Task};
use ripstop_model::FragmentId;
use ripstop_node::{Node, NodeError};
use std::time::Instant;

/// Runs one storage operation to its end; answers the chunk of each strip that it fetched.
pub(crate) async fn run(
    node: &dyn Node,
    task: &Task,
    load: Load,
    spent: &Spent,
) -> (Outcome, Vec<(usize, Chunk)>) {
    let start = Instant::now();
    match load {
        Load::Store { name, fragment } => {
            let result = node.put(name, fragment).await;
            Spent::add(&spent.node_put, start);
            (outcome(name, result.err()), Vec::new())
        }
        Load::Fetch(sought) => fetch(node, task, &sought, spent).await,
    }
}

async fn fetch(
    node: &dyn Node,
    task: &Task,
    sought: &Sought,
    spent: &Spent,
) -> (Outcome, Vec<(usize, Chunk)>) {
    let start = Instant::now();
    let fetch = sought.fetch(task);
    let result = node.get(fetch.name, fetch.range.clone()).await;
    Spent::add(&spent.node_get, start);
    match result {
        Err(error) => (outcome(fetch.name, Some(error)), Vec::new()),
        Ok(bytes) => {
            let start = Instant::now();
            let chunks = verify(sought, &fetch, bytes);
            Spent::add(&spent.verify, start);
            if chunks.is_none() {
                tracing::warn!(fragment = %fetch.name, "fragment is damaged");
            }
            let outcome = if chunks.is_some() { Outcome::Done } else { Outcome::Damaged };
            (outcome, chunks.unwrap_or_default())
        }
    }
}

/// Checks every block that was fetched; `None` if one is not what was stored there.
fn verify(sought: &Sought, fetch: &Fetch, mut bytes: Bytes) -> Option<Vec<(usize, Chunk)>> {
    let strip_len = sought.shape.strip_len();
    let mut chunks = Vec::with_capacity(fetch.columns.len());
    for (strip, columns) in &fetch.columns {
        let len = body_range(columns, strip_len).len();
        if bytes.len() < len {
            return None;
        }
        let body = bytes.split_to(len);
        let chunk = Chunk::verify(sought.stripe, *strip as u8, strip_len, columns, &body)?;
        chunks.push((*strip, chunk));
    }
    bytes.is_empty().then_some(chunks)
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
