//! Which discipline recombines the tiers.

use crate::face::{Recombination, Shaping, TenantTerms};
use ripstop_shaping::Discipline;

pub(super) fn discipline(shaping: &Shaping) -> Discipline {
    match shaping.recombination {
        Recombination::Fifo => Discipline::Fifo,
        Recombination::Split => Discipline::Split,
        Recombination::Fair => Discipline::Fair,
        Recombination::PClock => Discipline::PClock,
        Recombination::Miser => {
            let first = |tenant: &TenantTerms| tenant.tiers.first().map_or(0, |t| t.capacity);
            let rate_min = shaping.tenants.iter().map(first).sum();
            // As one server: what the others add to how long a request takes is in the time that is
            // taken off its bound already.
            Discipline::Miser { rate_min, servers: 1 }
        }
    }
}
