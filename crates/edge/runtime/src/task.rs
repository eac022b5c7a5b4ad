use crate::{
    Spent,
    fragment::Chunk,
    job::{Fetch, Load, Sought},
};
use bytes::Bytes;
use ripstop_block::Blocks;
use ripstop_gateway::{Task, TaskOutcome};
use ripstop_model::FragmentId;
use ripstop_node::{Node, NodeError};

/// Runs one storage operation to its end; answers the chunk of each strip that it fetched.
pub(crate) async fn run(
    node: &dyn Node,
    task: &Task,
    load: Load,
    spent: &Spent,
    blocks: &Blocks,
) -> (TaskOutcome, Vec<(usize, Chunk)>) {
    let start = ripstop_host::now();
    match load {
        Load::Store { name, fragment } => {
            let result = node.put(name, fragment).await;
            Spent::add(&spent.node_put, start);
            (outcome(name, result.err()), Vec::new())
        }
        Load::Fetch(sought) => fetch(node, task, &sought, spent, blocks).await,
    }
}

async fn fetch(
    node: &dyn Node,
    task: &Task,
    sought: &Sought,
    spent: &Spent,
    blocks: &Blocks,
) -> (TaskOutcome, Vec<(usize, Chunk)>) {
    let start = ripstop_host::now();
    let fetch = sought.fetch(task);
    let result = node.get_pieces(fetch.name, fetch.start, &fetch.lens).await;
    Spent::add(&spent.node_get, start);
    match result {
        Err(error) => (outcome(fetch.name, Some(error)), Vec::new()),
        Ok(pieces) => {
            let start = ripstop_host::now();
            let chunks = verify(sought, &fetch, pieces, blocks);
            Spent::add(&spent.verify, start);
            if chunks.is_none() {
                tracing::warn!(fragment = %fetch.name, "fragment is damaged or forged");
            }
            let outcome = if chunks.is_some() { TaskOutcome::Done } else { TaskOutcome::Damaged };
            (outcome, chunks.unwrap_or_default())
        }
    }
}

/// Checks every block that was fetched; `None` if one is not what was stored there.
fn verify(
    sought: &Sought,
    fetch: &Fetch,
    pieces: Vec<Bytes>,
    blocks: &Blocks,
) -> Option<Vec<(usize, Chunk)>> {
    let shape = sought.shape;
    let mut pieces = pieces.into_iter();
    let strips = fetch.columns.iter().map(|(strip, columns)| {
        let number = *strip as u8;
        let guard = &sought.guard;
        let chunk = Chunk::verify(guard, number, shape, columns, &mut pieces, blocks)?;
        Some((*strip, chunk))
    });
    strips.collect()
}

fn outcome(name: FragmentId, error: Option<NodeError>) -> TaskOutcome {
    let Some(error) = error else { return TaskOutcome::Done };
    tracing::debug!(fragment = %name, %error, "task failed");
    match error {
        NodeError::Missing | NodeError::Short { .. } => TaskOutcome::Missing,
        NodeError::Refused { .. } => TaskOutcome::Refused,
        NodeError::Unavailable { .. } => TaskOutcome::Unavailable,
    }
}
