use ripstop_catalog::Stripe;
use ripstop_model::{Code, NodeId, PoolId, StripeShape};
use ripstop_runtime::{Cut, Sealing, Written};

/// The catalog's record of a stripe that was written.
pub(crate) fn record_of(written: &Written) -> Stripe {
    let Written { pool, shape, cut, header_len, sealing, .. } = *written;
    stripe_record(pool, shape, cut, header_len, sealing, &written.nodes)
}

/// The catalog's record of a stripe.
pub fn stripe_record(
    pool: PoolId,
    shape: StripeShape,
    cut: Cut,
    header_len: u32,
    sealing: Sealing,
    nodes: &[Option<NodeId>],
) -> Stripe {
    let code: Code = shape.code();
    Stripe {
        pool: pool.0,
        n: code.n() as u8,
        k: code.k() as u8,
        payload_len: shape.payload_len(),
        header_len,
        nodes: nodes.iter().map(|node| node.map(|id| id.0)).collect(),
        run: cut.number(code),
        sealing: sealing.number(),
        block_len: shape.block_len().number(),
        ..Stripe::default()
    }
}
