use serde::{Deserialize, Serialize};

/// Who may end a version's retention early.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum RetentionMode {
    /// Whoever has the right to pass it by, and says so.
    Governance,
    /// Nobody.
    Compliance,
}

/// Until when a version stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Retention {
    /// Who may end it early.
    pub mode: RetentionMode,
    /// Until when, that not included, milliseconds since 1970.
    pub until_ms: u64,
}

impl Retention {
    const fn holds(self, release: Release) -> bool {
        match release {
            Release::AsTold => false,
            Release::Judged { as_of_ms, bypass } => {
                let yields = bypass && matches!(self.mode, RetentionMode::Governance);
                self.until_ms > as_of_ms && !yields
            }
        }
    }
}

/// What keeps a version from being removed (S3's object lock).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ObjectLock {
    /// Until when it stays, if that was ever said.
    pub retention: Option<Retention>,
    /// Whether it stays whatever its retention says; `None` if nothing was ever said.
    pub legal_hold: Option<bool>,
}

impl ObjectLock {
    /// Whether the version stays.
    pub const fn holds(&self, release: Release) -> bool {
        if matches!(release, Release::AsTold) {
            return false;
        }
        let is_retained = match self.retention {
            Some(retention) => retention.holds(release),
            None => false,
        };
        is_retained || matches!(self.legal_hold, Some(true))
    }

    /// Whether its retention may become another: while it holds, it is only made longer, and keeps
    /// its mode.
    pub fn may_become(&self, next: Option<Retention>, release: Release) -> bool {
        let Some(now) = self.retention.filter(|now| now.holds(release)) else { return true };
        next.is_some_and(|next| next.mode == now.mode && next.until_ms >= now.until_ms)
    }
}

/// By what right a version is removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// If nothing keeps it.
    Judged {
        /// As of when that is judged, milliseconds since 1970.
        as_of_ms: u64,
        /// Whether [`RetentionMode::Governance`] is passed by.
        bypass: bool,
    },
    /// Whatever keeps it: it was removed once already, and that is only told to a catalog which did
    /// not know.
    AsTold,
}

impl Default for Release {
    /// No time has passed: whatever has a retention stays.
    fn default() -> Self {
        Self::Judged { as_of_ms: 0, bypass: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RetentionMode::{Compliance, Governance};

    const fn at(as_of_ms: u64, bypass: bool) -> Release {
        Release::Judged { as_of_ms, bypass }
    }

    const fn retained(mode: RetentionMode, until_ms: u64) -> ObjectLock {
        ObjectLock { retention: Some(Retention { mode, until_ms }), legal_hold: None }
    }

    #[test]
    fn a_retention_holds_until_it_is_over_and_only_governance_yields() {
        for mode in [Governance, Compliance] {
            assert!(retained(mode, 10).holds(at(9, false)));
            assert!(!retained(mode, 10).holds(at(10, false)));
            assert!(!retained(mode, 10).holds(Release::AsTold));
            assert!(retained(mode, 1).holds(Release::default()));
        }
        assert!(!retained(Governance, 10).holds(at(9, true)));
        assert!(retained(Compliance, 10).holds(at(9, true)));
    }

    #[test]
    fn a_legal_hold_has_no_end_and_does_not_yield() {
        let held = ObjectLock { legal_hold: Some(true), ..retained(Governance, 10) };
        assert!(held.holds(at(u64::MAX, true)));
        let freed = ObjectLock { legal_hold: Some(false), ..held };
        assert!(!freed.holds(at(10, false)) && freed.holds(at(9, false)));
    }

    #[test]
    fn a_retention_that_holds_is_only_made_longer() {
        let next = |mode, until_ms| Some(Retention { mode, until_ms });
        for mode in [Governance, Compliance] {
            let lock = retained(mode, 10);
            assert!(lock.may_become(next(mode, 10), at(5, false)));
            assert!(lock.may_become(next(mode, 11), at(5, false)));
            assert!(!lock.may_become(next(mode, 9), at(5, false)));
            assert!(!lock.may_become(None, at(5, false)));
            assert!(lock.may_become(None, at(10, false)));
        }
        assert!(!retained(Governance, 10).may_become(next(Compliance, 20), at(5, false)));
        assert!(!retained(Compliance, 10).may_become(next(Governance, 20), at(5, true)));
        assert!(retained(Governance, 10).may_become(next(Compliance, 6), at(5, true)));
        assert!(retained(Governance, 10).may_become(None, at(5, true)));
    }
}
