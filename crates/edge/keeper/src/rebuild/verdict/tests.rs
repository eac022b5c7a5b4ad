use super::*;
use crate::rebuild::{
    roster::{SurveyedNode, SurveyedPool},
    sighting::{Kept, Said},
};
use ripstop_model::{Code, FragmentId, PoolId, StripeId, StripeShape};
use ripstop_runtime::{Origin, Sealing};
use std::sync::Arc;

const OWN: u64 = 7;

fn roster(pools: &[(usize, usize, Layout)]) -> Roster {
    let mut next = 0;
    let pool = |&(n, k, layout): &(usize, usize, Layout)| {
        let nodes = (0..n as u16).map(|nth| {
            let node = Arc::new(ripstop_node::MemoryNode::new(0));
            SurveyedNode { id: NodeId(next + nth), name: format!("d{}", next + nth), node }
        });
        let nodes = nodes.collect();
        next += n as u16;
        let code = Code::new(n, k).unwrap();
        SurveyedPool { id: PoolId(900 + next), name: format!("p{next}"), code, layout, nodes }
    };
    Roster::new(pools.iter().map(pool).collect())
}

/// Fragment `index` at `node`, whose header says `what` of a stripe of this code.
fn says(node: u16, index: u8, what: u8, (n, k): (usize, usize), cut: Cut) -> Sighting {
    let shape = StripeShape::new(Code::new(n, k).unwrap(), 100).unwrap();
    let origin = Origin { store: OWN, pool: PoolId(3) };
    let (record_len, header_len) = (what.into(), 64);
    let sealing = Sealing::Checksum;
    let facts = Facts { shape, cut, origin, record_len, header_len, sealing };
    let said = Said { digest: [what; 32], facts, kept: Kept::Elsewhere };
    Sighting { name: name(index), node: NodeId(node), said: Some(said) }
}

fn spread(node: u16, index: u8, what: u8) -> Sighting {
    says(node, index, what, (6, 4), Cut::Spread)
}

fn damaged(node: u16, index: u8) -> Sighting {
    Sighting { name: name(index), node: NodeId(node), said: None }
}

fn name(index: u8) -> FragmentId {
    FragmentId { stripe: StripeId::new(1, 2), index }
}

fn believed(verdict: Verdict) -> (u8, Vec<Option<u16>>) {
    match verdict {
        Verdict::Believed(it) => {
            (it.digest[0], it.nodes.iter().map(|node| node.map(|id| id.0)).collect())
        }
        Verdict::TooFew { .. } | Verdict::Disputed(_) | Verdict::Foreign => {
            panic!("not believed: {verdict:?}")
        }
    }
}

fn too_few(digest: Option<u8>, needed: usize) -> Verdict {
    Verdict::TooFew { digest: digest.map(|digest| [digest; 32]), pool: 0, needed }
}

#[test]
fn k_that_agree_are_believed_whatever_the_others_say() {
    let roster = roster(&[(6, 4, Layout::Spread)]);
    let mut seen: Vec<_> = (0..6).map(|at| spread(at.into(), at, 1)).collect();
    seen[0] = spread(0, 0, 9);
    seen[1] = damaged(1, 1);
    let all = vec![None, None, Some(2), Some(3), Some(4), Some(5)];
    assert_eq!(believed(judge(&roster, OWN, &seen)), (1, all));
    seen[2] = spread(2, 2, 8);
    assert_eq!(judge(&roster, OWN, &seen), Verdict::Disputed(Dispute::Split { needed: 4 }));
    seen.drain(..3);
    assert_eq!(judge(&roster, OWN, &seen), too_few(Some(1), 4));
}

#[test]
fn where_k_is_small_the_majority_wins_and_a_tie_nobody() {
    let roster = roster(&[(6, 2, Layout::Spread)]);
    let say = |node: u8, what| says(node.into(), node, what, (6, 2), Cut::Spread);
    let seen = [say(0, 9), say(1, 9), say(2, 1), say(3, 1), say(4, 1)];
    assert_eq!(believed(judge(&roster, OWN, &seen)).0, 1);
    let tie = Verdict::Disputed(Dispute::Tie { voices: 2 });
    assert_eq!(judge(&roster, OWN, &seen[..4]), tie);
}

#[test]
fn a_node_has_one_voice_however_many_fragments_it_lists() {
    let roster = roster(&[(6, 4, Layout::Spread)]);
    let forged: Vec<_> = (0..6).map(|index| spread(0, index, 9)).collect();
    assert_eq!(judge(&roster, OWN, &forged), too_few(Some(9), 4));
    // Nor does it take the place of others that say the same.
    let mut seen: Vec<_> = (1..5).map(|at| spread(at.into(), at, 1)).collect();
    seen.extend((0..6).map(|index| spread(0, index, 1)));
    let places = vec![Some(0), Some(1), Some(2), Some(3), Some(4), None];
    assert_eq!(believed(judge(&roster, OWN, &seen)), (1, places));
    // Equal fragments at many nodes are one fragment.
    let copies: Vec<_> = (0..6).map(|node| spread(node, 2, 1)).collect();
    assert_eq!(judge(&roster, OWN, &copies), too_few(Some(1), 4));
}

#[test]
fn a_fragment_that_moved_and_its_old_copy_are_one_and_the_others_keep_their_places() {
    let roster = roster(&[(7, 4, Layout::Spread)]);
    // Fragment 0 moved from node 0 to node 6; fragment 1 then from node 1 to node 0.
    let mut seen = vec![spread(6, 0, 1), spread(0, 0, 1), spread(0, 1, 1), spread(1, 1, 1)];
    seen.extend((2..6).map(|at| spread(at.into(), at, 1)));
    let (_, places) = believed(judge(&roster, OWN, &seen));
    assert_eq!(places.iter().flatten().count(), 6, "{places:?}");
}

#[test]
fn codes_and_layouts_that_the_pool_does_not_write_are_believed_of_no_few() {
    let pools = roster(&[(6, 4, Layout::Spread)]);
    let lone = says(0, 0, 9, (1, 1), Cut::Spread);
    let form = |n, k, layout| Verdict::Disputed(Dispute::Form { n, k, layout });
    assert_eq!(judge(&pools, OWN, &[lone]), form(1, 1, Layout::Spread));
    let lone = says(0, 0, 9, (6, 4), Cut::Shared);
    assert_eq!(judge(&pools, OWN, &[lone]), form(6, 4, Layout::Shared));
    // A code that the pool had before: as many as of the present one.
    let before: Vec<_> = (0..4).map(|at| says(at.into(), at, 1, (4, 2), Cut::Spread)).collect();
    assert_eq!(believed(judge(&pools, OWN, &before)).0, 1);
    assert_eq!(judge(&pools, OWN, &before[1..]), form(4, 2, Layout::Spread));
    // Nor do many fragments of another layout, at one node, drown those that are believed.
    let unique = Cut::Unique { run: 1, fragments: 6 };
    let mut drowned: Vec<_> = (0..6).map(|index| says(0, index, 9, (6, 4), unique)).collect();
    drowned.extend((1..5).map(|at| spread(at.into(), at, 1)));
    assert_eq!(believed(judge(&pools, OWN, &drowned)).0, 1);
    // Nodes of two pools do not add up.
    let two = roster(&[(6, 4, Layout::Spread), (6, 4, Layout::Spread)]);
    let seen: Vec<_> = (3..9).map(|at| spread(at, at as u8 - 3, 1)).collect();
    assert_eq!(judge(&two, OWN, &seen), Verdict::Disputed(Dispute::Split { needed: 4 }));
}

#[test]
fn where_all_is_at_one_node_its_headers_must_agree() {
    let roster = roster(&[(2, 2, Layout::Unique)]);
    let unique = Cut::Unique { run: 1, fragments: 4 };
    let say = |node, index, what| says(node, index, what, (4, 2), unique);
    let seen = [say(1, 0, 1), say(1, 1, 1), say(1, 3, 1), say(1, 2, 9)];
    let (digest, places) = believed(judge(&roster, OWN, &seen));
    assert_eq!((digest, places), (1, vec![Some(1), Some(1), None, Some(1)]));
    assert_eq!(judge(&roster, OWN, &seen[..1]), too_few(Some(1), 2));
    // A lone fragment's two headers.
    let one = says(0, 0, 1, (4, 2), Cut::Shared);
    let other = says(0, 0, 9, (4, 2), Cut::Shared);
    assert_eq!(believed(judge(&roster, OWN, &[one.clone(), one.clone()])).0, 1);
    let split = Verdict::Disputed(Dispute::Split { needed: 1 });
    assert_eq!(judge(&roster, OWN, &[one.clone(), other.clone()]), split);
    let elsewhere = Sighting { node: NodeId(1), ..other };
    let tie = Verdict::Disputed(Dispute::Tie { voices: 1 });
    assert_eq!(judge(&roster, OWN, &[one, elsewhere]), tie);
}

#[test]
fn stripes_of_other_stores_are_foreign_and_those_without_a_header_too_few() {
    let roster = roster(&[(6, 4, Layout::Spread)]);
    let mut seen: Vec<_> = (0..6).map(|at| spread(at.into(), at, 1)).collect();
    assert_eq!(judge(&roster, OWN + 1, &seen), Verdict::Foreign);
    seen.truncate(1);
    assert_eq!(judge(&roster, OWN, &[damaged(0, 0), damaged(1, 1)]), too_few(None, 4));
    // Another number among the own is not heard.
    let mut mixed: Vec<_> = (0..5).map(|at| spread(at.into(), at, 1)).collect();
    let mut other = spread(5, 5, 9);
    if let Some(said) = &mut other.said {
        said.facts.origin.store += 1;
    }
    mixed.push(other);
    assert_eq!(believed(judge(&roster, OWN, &mixed)).0, 1);
}
