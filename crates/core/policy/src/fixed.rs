use crate::{Choice, Class, Load, Operation, Policy, Redundancy, Settings};
use ripstop_model::{Code, Timestamp};

/// The same code whatever the load: reads fetch a set number of chunks, writes store all N.
#[derive(Clone, Copy, Debug)]
pub struct Fixed {
    read_chunks: Option<u8>,
}

impl Fixed {
    /// Reads with `settings.read_chunks` chunks, K if that is not set.
    pub fn new(settings: &Settings) -> Self {
        Self { read_chunks: settings.read_chunks }
    }
}

impl Policy for Fixed {
    fn choose(&mut self, _now: Timestamp, class: &Class, _load: Load) -> Choice {
        let storage = class.code;
        let code = match class.operation {
            Operation::Write => storage,
            Operation::Read => {
                let n = self.read_chunks.map_or(storage.k(), usize::from);
                let n = n.clamp(storage.k(), storage.n());
                Code::new(n, storage.k()).expect("K ≤ n ≤ N, and (N,K) is a code")
            }
        };
        Choice { code, redundancy: Redundancy::Eager }
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
            let mut policy = Fixed::new(&Settings { read_chunks });
            let mut chosen = |operation| {
                let code = Code::new(6, 4).unwrap();
                let class = Class { operation, strip_bytes: 1, code };
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
}
