//! *Greedy* of Liang and Kozat, TOFEC: whatever lanes idle are used, as if nobody else would come.

use crate::{Choice, Limits, Load, Policy, PolicySettings, RequestClass, eager::eager};
use ripstop_model::Timestamp;

/// With l lanes idle (none, if any request waits): k = l within its bounds, then n = l within its.
#[derive(Clone, Copy, Debug)]
pub struct Greedy {
    limits: Limits,
}

impl Greedy {
    /// Within `settings.limits`.
    pub fn new(settings: &PolicySettings) -> Self {
        Self { limits: settings.limits }
    }
}

impl Policy for Greedy {
    fn choose(&mut self, _now: Timestamp, class: &RequestClass, load: Load) -> Choice {
        let idle = if load.backlog > 0 { 0 } else { load.lanes_idle };
        eager(self.limits.nearest(class, idle, idle))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::{Chunking, Operation};
    use expect_test::expect;
    use ripstop_model::Code;
    use std::{fmt::Write, string::String};

    #[test]
    fn it_takes_what_idles() {
        let limits = Limits { k_max: 6, r_max: 2.0 };
        let mut policy = Greedy::new(&PolicySettings { limits, ..PolicySettings::default() });
        let (operation, chunking) = (Operation::Read, Chunking::Run);
        let class =
            RequestClass { operation, strip_bytes: 1, code: Code::new(120, 60).unwrap(), chunking };
        let mut table = String::new();
        for (lanes_idle, backlog) in [(0, 0), (1, 0), (5, 0), (9, 0), (16, 0), (16, 1)] {
            let load = Load { lanes_idle, backlog, lanes: 16, ..Load::default() };
            let code = policy.choose(Timestamp::ZERO, &class, load).code;
            writeln!(table, "{lanes_idle} idle, {backlog} waiting: {code}").unwrap();
        }
        expect![[r"
            0 idle, 0 waiting: (1,1)
            1 idle, 0 waiting: (1,1)
            5 idle, 0 waiting: (5,5)
            9 idle, 0 waiting: (9,6)
            16 idle, 0 waiting: (12,6)
            16 idle, 1 waiting: (1,1)
        "]]
        .assert_eq(&table);
    }
}
