use super::{error::RebuildError, survey::Testimony};
use ripstop_model::NodeId;
use std::collections::BTreeMap;

/// The number of the store that the nodes are of: each node with fragments has one vote, however
/// many it lists. `None` where no node has a fragment.
pub(super) fn elect(nodes: &BTreeMap<NodeId, Testimony>) -> Result<Option<u64>, RebuildError> {
    let mut votes: BTreeMap<u64, usize> = BTreeMap::new();
    for store in nodes.values().filter_map(Testimony::vote) {
        *votes.entry(store).or_default() += 1;
    }
    let most = votes.values().copied().max();
    let mut winners = votes.into_iter().filter(|(_, count)| Some(*count) == most);
    match (winners.next(), winners.next()) {
        (Some((one, _)), Some((other, _))) => Err(RebuildError::WhichStore { one, other }),
        (winner, _) => Ok(winner.map(|(store, _)| store)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_model::StripeId;

    fn nodes(votes: &[&[(u64, u64)]]) -> BTreeMap<NodeId, Testimony> {
        let node = |stores: &&[(u64, u64)]| {
            let stores = stores.iter().map(|&(store, count)| (store, (count, StripeId(0))));
            Testimony { stores: stores.collect(), ..Testimony::default() }
        };
        (0..).map(NodeId).zip(votes.iter().map(node)).collect()
    }

    #[test]
    fn each_node_votes_once_however_many_fragments_it_lists() {
        let mixed: [&[_]; 5] = [&[(9, 1_000_000)], &[(1, 3)], &[(1, 5), (9, 2)], &[], &[(1, 1)]];
        assert_eq!(elect(&nodes(&mixed)).unwrap(), Some(1));
        assert_eq!(elect(&nodes(&[&[], &[]])).unwrap(), None);
    }

    #[test]
    fn equal_votes_are_an_error_that_names_both_stores() {
        let error = elect(&nodes(&[&[(1, 3)], &[(0xabc, 9)]])).unwrap_err().to_string();
        assert!(error.contains("store 0000000000000001 and of store 0000000000000abc"), "{error}");
    }
}
