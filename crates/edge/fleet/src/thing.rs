//! One thing that gateways have together, and this gateway's part of it.

use ripstop_catalog::GatewayClaim;
use ripstop_model::{NodeId, TenantId};
use ripstop_shaping::{divide, is_steady, may_take};

/// What it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Lanes of a node.
    Lanes { pool: usize, node: NodeId },
    /// A tenant's promise in a pool: lane-nanoseconds a second, of all its tiers.
    Promise { pool: usize, tenant: TenantId },
}

/// A thing, and what this gateway wants and takes of it.
#[derive(Clone, Debug)]
pub(crate) struct Thing {
    pub kind: Kind,
    pub whole: u64,
    /// The most that was wanted since the last beat.
    pub peak: u64,
    /// What could be used, as it is told: it falls slowly.
    pub wanted: u64,
    /// In use now, whatever it may take: tasks that began when it had more.
    pub busy: u64,
    /// What it may use.
    pub taken: u64,
    /// What it told last to take at most.
    claimed: u64,
    /// Its share, by what was seen last.
    share: u64,
    /// What others told last to take.
    others: u64,
}

/// Of what was wanted a beat before, this many quarters are wanted still.
const KEPT_QUARTERS: u64 = 3;
/// One part of this many is what a gateway keeps whose beats fail.
const LATE_PARTS: u64 = 64;

impl Thing {
    pub(crate) fn new(kind: Kind, whole: u64) -> Self {
        let (peak, wanted, busy, taken, claimed, share, others) = (0, 0, 0, 0, 0, whole, 0);
        Self { kind, whole, peak, wanted, busy, taken, claimed, share, others }
    }

    /// The same under another number of its tenant.
    pub(crate) fn of_kind(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    /// What is told of it in the next beat. What it is to have more of it tells before it takes it.
    pub(crate) fn claim(&mut self, of: &str) -> GatewayClaim {
        self.wanted = self.peak.max(self.wanted * KEPT_QUARTERS / 4);
        self.peak = 0;
        self.claimed = if is_steady(self.whole, self.share, self.taken) {
            self.taken
        } else {
            let may = may_take(self.whole, self.share, [self.others].into_iter());
            may.max(self.taken)
        };
        let taken = self.claimed.max(self.busy);
        GatewayClaim { of: of.to_owned(), wanted: self.wanted, taken }
    }

    /// Takes in what all who live told, this gateway among them, whose place is given. It may grow
    /// if it has told so before these were read. Whether others wait for what it let go.
    pub(crate) fn settle(&mut self, own: usize, claims: &[(u64, u64)], may_grow: bool) -> bool {
        let wanted: Vec<u64> = claims.iter().map(|(wanted, _)| *wanted).collect();
        let others = claims.iter().enumerate().filter(|(at, _)| *at != own);
        self.others = others.map(|(_, (_, taken))| *taken).fold(0, u64::saturating_add);
        self.share = divide(self.whole, &wanted)[own];
        let before = self.taken;
        self.taken = self.taken.min(self.share);
        if may_grow && !is_steady(self.whole, self.share, self.taken) {
            let told = self.share.min(self.claimed);
            self.taken = may_take(self.whole, told, [self.others].into_iter());
        }
        self.taken < before
    }

    /// An equal part, of which nothing is told.
    pub(crate) fn settle_equally(&mut self, gateways: usize) {
        self.taken = (self.whole / gateways.max(1) as u64).max(1);
    }

    /// Lets go of all but the least.
    pub(crate) fn let_go(&mut self) {
        self.taken = self.taken.min((self.whole / LATE_PARTS).max(1));
    }

    /// Everything: there is nobody else.
    pub(crate) fn take_all(&mut self) {
        self.taken = self.whole;
    }
}
