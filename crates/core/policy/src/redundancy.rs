use core::time::Duration;

/// How redundant tasks run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Redundancy {
    /// All n at once, all alike.
    Eager,
    /// The needed ones first; the redundant ones on lanes that nobody else wants.
    Spare {
        /// Tasks that start at once all the same, all alike; k, if it is less.
        at_once: u8,
        /// Lanes of a node that must stay idle beside a redundant task.
        keep_idle: u16,
        /// How long after a read began its other redundant tasks join those that wait for such
        /// lanes; those of writes do so at once.
        spare_after: Duration,
        /// If the request is not answered this long after it began, one redundant task is needed
        /// like any other; and one more each time as long after that.
        rescue_after: Option<Duration>,
        /// Whether a needed task may take the lane of a running redundant one.
        preemptible: bool,
    },
    /// The needed ones first; if the request is not answered this long after it began, the
    /// redundant ones too, like any other.
    After(Duration),
}

/// What is to be done when a request that began some time ago is not answered yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Late {
    /// Nothing: all its tasks began at once.
    Nothing,
    /// Its redundant tasks begin, needed like any other.
    Hedge,
    /// The redundant tasks that it did not begin with join those that wait for lanes nobody wants.
    Spares {
        /// Tasks that it began with.
        begun: usize,
        /// How long from now until one of them is needed.
        rescue_after: Option<Duration>,
    },
    /// One redundant task is needed like any other.
    Rescue {
        /// How long from now until one more is.
        again_after: Option<Duration>,
    },
}

impl Redundancy {
    /// How many of its n tasks a read begins with; the others are made when it is late.
    pub fn begins_with(self, n: usize, k: usize) -> usize {
        match self {
            Self::Eager | Self::Spare { spare_after: Duration::ZERO, .. } => n,
            Self::Spare { at_once, .. } => n.min(k.max(usize::from(at_once))),
            Self::After(_) => k,
        }
    }

    /// Tasks for which a request wants lanes at once.
    pub fn lanes_at_once(self, k: usize) -> usize {
        match self {
            Self::Spare { at_once, .. } => k.max(usize::from(at_once)),
            Self::Eager | Self::After(_) => k,
        }
    }

    /// How long after a read begins it is first late.
    pub fn late_after(self, n: usize, k: usize) -> Option<Duration> {
        match self {
            Self::Eager => None,
            Self::After(span) => Some(span),
            Self::Spare { spare_after, .. } if self.begins_with(n, k) < n => Some(spare_after),
            Self::Spare { rescue_after, .. } => rescue_after,
        }
    }

    /// What a read that is late does; `has_spares`: it did so before.
    pub fn late(self, n: usize, k: usize, has_spares: bool) -> Late {
        match self {
            Self::Eager => Late::Nothing,
            Self::After(_) => Late::Hedge,
            Self::Spare { spare_after, rescue_after, .. } => {
                let begun = self.begins_with(n, k);
                if begun == n || has_spares {
                    return Late::Rescue { again_after: rescue_after };
                }
                let rescue_after = rescue_after.map(|after| after.saturating_sub(spare_after));
                Late::Spares { begun, rescue_after }
            }
        }
    }

    /// Of a request's task of this `rank`, of which the first `needed` are needed: how many
    /// redundant ones come before it if it is to wait for a lane that nobody else wants; none if it
    /// is like any other.
    pub fn spare_rank(self, rank: usize, needed: usize) -> Option<u8> {
        match self {
            Self::Spare { at_once, .. } if rank >= needed.max(usize::from(at_once)) => {
                let before = usize::from(at_once).max(needed);
                Some((rank - before).min(255) as u8)
            }
            Self::Spare { .. } | Self::Eager | Self::After(_) => None,
        }
    }

    /// Whether a redundant task may start at a node with this many busy lanes of `lanes`.
    pub fn may_fill(self, lanes: u16, busy: u16) -> bool {
        match self {
            // A node with nothing to do does it in any case: nothing waits for ever.
            Self::Spare { keep_idle, .. } => busy == 0 || lanes - busy > keep_idle,
            Self::Eager | Self::After(_) => true,
        }
    }

    /// Whether a running redundant task gives its lane to a needed one.
    pub fn gives_way(self) -> bool {
        match self {
            Self::Spare { preemptible, .. } => preemptible,
            Self::Eager | Self::After(_) => false,
        }
    }

    /// Whether redundant tasks take only what nobody else wants, and so cost a tenant nothing.
    pub fn is_spare(self) -> bool {
        match self {
            Self::Spare { .. } => true,
            Self::Eager | Self::After(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn spare(at_once: u8, spare_after: Duration) -> Redundancy {
        let rescue_after = Some(9 * MS);
        Redundancy::Spare { at_once, keep_idle: 1, spare_after, rescue_after, preemptible: true }
    }

    #[test]
    fn a_read_begins_with_what_is_needed_and_is_late_for_the_rest() {
        let hedge = Redundancy::After(5 * MS);
        assert_eq!((hedge.begins_with(6, 4), hedge.late_after(6, 4)), (4, Some(5 * MS)));
        assert_eq!(hedge.late(6, 4, false), Late::Hedge);
        assert_eq!(Redundancy::Eager.begins_with(6, 4), 6);
        assert_eq!(Redundancy::Eager.late_after(6, 4), None);
        assert_eq!(Redundancy::Eager.late(6, 4, false), Late::Nothing);
    }

    #[test]
    fn spares_join_once_and_are_then_rescued_one_by_one() {
        let held = spare(5, 2 * MS);
        assert_eq!((held.begins_with(6, 4), held.late_after(6, 4)), (5, Some(2 * MS)));
        let first = Late::Spares { begun: 5, rescue_after: Some(7 * MS) };
        assert_eq!(held.late(6, 4, false), first);
        let again = Late::Rescue { again_after: Some(9 * MS) };
        assert_eq!(held.late(6, 4, true), again);
        let at_once = spare(0, Duration::ZERO);
        assert_eq!((at_once.begins_with(6, 4), at_once.late_after(6, 4)), (6, Some(9 * MS)));
        assert_eq!(at_once.late(6, 4, false), again);
    }

    #[test]
    fn only_spares_beyond_those_at_once_wait_for_lanes_nobody_wants() {
        let ranks =
            |redundancy: Redundancy| [3, 4, 5, 6].map(|rank| redundancy.spare_rank(rank, 4));
        assert_eq!(ranks(spare(0, MS)), [None, Some(0), Some(1), Some(2)]);
        assert_eq!(ranks(spare(5, MS)), [None, None, Some(0), Some(1)]);
        assert_eq!(ranks(Redundancy::Eager), [None; 4]);
        assert_eq!((spare(5, MS).lanes_at_once(4), Redundancy::Eager.lanes_at_once(4)), (5, 4));
    }

    #[test]
    fn a_spare_leaves_lanes_idle_but_where_all_are() {
        let spare = spare(0, MS);
        assert!(spare.may_fill(1, 0) && spare.may_fill(4, 2) && !spare.may_fill(4, 3));
        assert!(Redundancy::Eager.may_fill(1, 1) && !Redundancy::Eager.gives_way());
    }
}
