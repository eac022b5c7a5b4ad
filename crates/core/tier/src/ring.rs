use crate::{KeyHash, ServerId};
use alloc::{collections::BTreeSet, vec::Vec};

/// Points on a ring for each of its servers.
const VIRTUAL_NODES: u64 = 64;

/// Consistent hashing over the servers of one ring (Karger et al., STOC 1997).
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    points: Vec<(u64, ServerId)>,
}

impl Ring {
    pub(crate) fn new(servers: &[ServerId]) -> Self {
        let of = |server: &ServerId| {
            let server = *server;
            points(server).map(move |point| (point, server))
        };
        let mut points: Vec<_> = servers.iter().flat_map(of).collect();
        points.sort_unstable();
        Self { points }
    }

    /// The server has this point, or not.
    pub(crate) fn set_point(&mut self, point: u64, server: ServerId, is_there: bool) {
        match (self.points.binary_search(&(point, server)), is_there) {
            (Ok(at), false) => {
                self.points.remove(at);
            }
            (Err(at), true) => self.points.insert(at, (point, server)),
            (Ok(_), true) | (Err(_), false) => {}
        }
    }

    /// The first server at or after the key's place that is not down.
    pub(crate) fn server(&self, key: KeyHash, down: &BTreeSet<ServerId>) -> Option<ServerId> {
        let place = key.0 as u64;
        let start = self.points.partition_point(|point| point.0 < place);
        let (before, after) = self.points.split_at(start);
        let mut clockwise = after.iter().chain(before).map(|point| point.1);
        clockwise.find(|server| !down.contains(server))
    }
}

/// Where a server is on its ring.
pub(crate) fn points(server: ServerId) -> impl Iterator<Item = u64> {
    (0..VIRTUAL_NODES).map(move |node| scatter(u64::from(server.0) << 32 | node))
}

/// Which of `count` rings a key belongs to. The other half of the hash says where on it.
pub(crate) const fn ring_of(key: KeyHash, count: usize) -> usize {
    ((key.0 >> 64) as u64 % count as u64) as usize
}

/// The finalizer of `SplitMix64` (Steele, Lea, Flood, OOPSLA 2014).
const fn scatter(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_down_is_passed_over_and_only_its_keys_move() {
        let ring = Ring::new(&[ServerId(1), ServerId(2), ServerId(3)]);
        let down = BTreeSet::from([ServerId(2)]);
        let mut counts = [0; 4];
        for key in (0..3000).map(|number| KeyHash(scatter(number).into())) {
            let usual = ring.server(key, &BTreeSet::new()).expect("three are up");
            counts[usize::from(usual.0)] += 1;
            let now = ring.server(key, &down).expect("two are up");
            assert_ne!(now, ServerId(2));
            assert!(usual == ServerId(2) || now == usual);
        }
        assert!(counts[1..].iter().all(|&count| count > 600), "{counts:?}");
    }
}
