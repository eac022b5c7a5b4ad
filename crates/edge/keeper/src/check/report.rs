use ripstop_catalog::Stripe;
use ripstop_model::{FragmentId, NodeId, StripeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most findings that are named one by one; the counts are always whole.
const FINDINGS_MAX: usize = 1000;

/// What a check does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CheckOptions {
    /// Whether it mends what it finds, and deletes what nothing claims.
    pub repair: bool,
}

/// What a check found. A fragment counts once.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CheckReport {
    /// Stripes in force.
    pub stripes: u64,
    /// Fragments that they should have.
    pub fragments: u64,
    /// Not there.
    pub missing: u64,
    /// There, and not what was written.
    pub damaged: u64,
    /// The same, and made by somebody without the store's key: a checksum holds where that key
    /// should have sealed.
    #[serde(default)]
    pub forged: u64,
    /// On nodes that could not be asked.
    pub unknown: u64,
    /// At a node, claimed by no stripe, older than the grace.
    pub unclaimed: u64,
    /// At a node where their stripe does not have them.
    pub misplaced: u64,
    /// At a node, claimed by no stripe, written under a newer catalog than this.
    #[serde(default)]
    pub newer: u64,
    /// Stripes that cannot be read: fewer than K whole strips.
    pub lost: u64,
    /// Fragments mended, adopted or deleted.
    pub repaired: u64,
    /// Files that writes left at nodes which never ended; a repair removes them.
    #[serde(default)]
    pub leftovers: u64,
    /// Their bytes.
    #[serde(default)]
    pub leftover_bytes: u64,
    /// The first of the flaws, one by one.
    pub findings: Vec<CheckFinding>,
    /// The catalog itself, where it was looked at.
    #[serde(default)]
    pub catalog: CatalogReport,
}

/// What a check found of the catalog itself: pages that are not what was written, records that
/// cannot be read or do not agree.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CatalogReport {
    /// Bytes of its file.
    pub bytes: u64,
    /// Objects that it holds.
    pub objects: u64,
    /// The first findings, one by one.
    pub findings: Vec<String>,
    /// How many there were beyond those.
    pub findings_left_off: u64,
}

impl CatalogReport {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.findings_left_off == 0
    }
}

/// One fragment, or stripe, that is not as it should be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckFinding {
    /// What is wrong.
    pub flaw: Flaw,
    /// The fragment's name, or the stripe's.
    pub name: String,
    /// The node's name, if it is, or should be, at one.
    pub node: Option<String>,
    /// Whether it was put right.
    pub repaired: bool,
}

/// What is wrong with a fragment or stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flaw {
    /// Not there.
    Missing,
    /// Not what was written.
    Damaged,
    /// Not what was written either, and no accident: made by somebody without the store's key.
    Forged,
    /// Its node could not be asked.
    Unknown,
    /// Claimed by no stripe.
    Unclaimed,
    /// Not where its stripe has it.
    Misplaced,
    /// Written under a newer catalog than this.
    Newer,
    /// A stripe with fewer than K whole strips.
    Lost,
}

impl CheckReport {
    /// Whether everything is as it should be, or was put right.
    pub fn is_clean(&self) -> bool {
        let flaws = self.missing + self.damaged + self.forged + self.unclaimed + self.misplaced;
        self.catalog.is_clean()
            && self.lost == 0
            && self.unknown == 0
            && self.newer == 0
            && flaws == self.repaired
    }
}

/// A report being written.
pub(super) struct Findings {
    pub(super) report: CheckReport,
    /// What nodes are called.
    pub(super) names: BTreeMap<NodeId, String>,
}

impl Findings {
    pub(super) fn add(&mut self, flaw: Flaw, name: String, node: Option<NodeId>, repaired: bool) {
        let report = &mut self.report;
        let count = match flaw {
            Flaw::Missing => &mut report.missing,
            Flaw::Damaged => &mut report.damaged,
            Flaw::Forged => &mut report.forged,
            Flaw::Unknown => &mut report.unknown,
            Flaw::Unclaimed => &mut report.unclaimed,
            Flaw::Misplaced => &mut report.misplaced,
            Flaw::Newer => &mut report.newer,
            Flaw::Lost => &mut report.lost,
        };
        *count += 1;
        report.repaired += u64::from(repaired);
        if report.findings.len() < FINDINGS_MAX {
            let node = node.and_then(|id| self.names.get(&id).cloned());
            report.findings.push(CheckFinding { flaw, name, node, repaired });
        }
    }
}

impl Findings {
    /// Notes a stripe whose pool is not configured: there is nobody to ask for it.
    pub(super) fn add_strange(&mut self, id: StripeId, stripe: &Stripe) {
        self.report.stripes += 1;
        self.report.fragments += stripe.nodes.len() as u64;
        for index in 0..stripe.nodes.len() {
            let name = FragmentId { stripe: id, index: index as u8 };
            self.add(Flaw::Unknown, name.to_string(), stripe.node(index), false);
        }
    }
}
