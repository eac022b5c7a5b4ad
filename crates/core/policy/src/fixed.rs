//! The same code whatever the load.

use crate::{
    Choice, Chunking, Load, Operation, Policy, PolicySettings, RequestClass, eager::eager,
};
use ripstop_model::{Code, Timestamp};

/// The same code whatever the load: reads fetch a set number of chunks; writes store all N, or
/// where chunks may be runs of strips as many as reads fetch.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    code: Option<Code>,
    read_chunks: Option<u8>,
}

impl Fixed {
    /// Serves with `settings.code` where chunks may be runs of strips, fetches
    /// `settings.read_chunks` where they are strips; without them, K.
    pub fn new(settings: &PolicySettings) -> Self {
        Self { code: settings.code, read_chunks: settings.read_chunks }
    }
}

impl Policy for Fixed {
    fn choose(&mut self, _now: Timestamp, class: &RequestClass, _load: Load) -> Choice {
        let storage = class.code;
        eager(match (class.chunking, class.operation) {
            (Chunking::Run, _) => {
                let (n, k) = self.code.map_or((0, storage.k()), |code| (code.n(), code.k()));
                class.nearest(n, k)
            }
            (Chunking::Strip, Operation::Write) => storage,
            (Chunking::Strip, Operation::Read) => {
                let n = self.read_chunks.map(usize::from).or(self.code.map(Code::n));
                class.nearest(n.unwrap_or(0), storage.k())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use expect_test::expect;
    use std::{fmt::Write, string::String};

    #[test]
    fn reads_take_the_set_number_within_the_storage_code_and_writes_take_all() {
        let mut table = String::new();
        for read_chunks in [None, Some(0), Some(5), Some(255)] {
            let mut policy =
                Fixed::new(&PolicySettings { read_chunks, ..PolicySettings::default() });
            let mut chosen = |operation| {
                let code = Code::new(6, 4).unwrap();
                let class =
                    RequestClass { operation, strip_bytes: 1, code, chunking: Chunking::Strip };
                policy.choose(Timestamp::ZERO, &class, Load::default()).code
            };
            let (read, write) = (chosen(Operation::Read), chosen(Operation::Write));
            writeln!(table, "{read_chunks:?}: read {read}, write {write}").unwrap();
        }
        expect![[r"
            None: read (4,4), write (6,4)
            Some(0): read (4,4), write (6,4)
            Some(5): read (5,4), write (6,4)
            Some(255): read (6,4), write (6,4)
        "]]
        .assert_eq(&table);
    }

    #[test]
    fn runs_of_strips_take_the_nearest_code_there_is() {
        let mut table = String::new();
        for (n, k) in [(1, 1), (2, 1), (4, 1), (5, 5), (12, 6), (24, 12), (30, 20)] {
            let code = Some(Code::new(n, k).unwrap());
            let mut policy = Fixed::new(&PolicySettings { code, ..PolicySettings::default() });
            let (operation, chunking) = (Operation::Read, Chunking::Run);
            let class = RequestClass {
                operation,
                strip_bytes: 1,
                code: Code::new(24, 12).unwrap(),
                chunking,
            };
            let chosen = policy.choose(Timestamp::ZERO, &class, Load::default()).code;
            writeln!(table, "({n},{k}): {chosen}").unwrap();
        }
        expect![[r"
            (1,1): (1,1)
            (2,1): (2,1)
            (4,1): (2,1)
            (5,5): (5,4)
            (12,6): (12,6)
            (24,12): (24,12)
            (30,20): (24,12)
        "]]
        .assert_eq(&table);
    }
}
