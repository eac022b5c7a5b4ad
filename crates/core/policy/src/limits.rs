use crate::RequestClass;
use ripstop_model::Code;
use serde::{Deserialize, Serialize};

/// Which codes a policy may choose: those of the class, within these bounds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Limits {
    /// Largest k.
    pub k_max: u8,
    /// Largest n/k.
    pub r_max: f64,
}

impl Default for Limits {
    /// As far as storage codes go.
    fn default() -> Self {
        Self { k_max: u8::MAX, r_max: f64::from(u8::MAX) }
    }
}

impl Limits {
    /// Each k that a class allows within these limits, ascending; at least one.
    pub(crate) fn ks(self, class: &RequestClass) -> impl Iterator<Item = usize> + use<> {
        let least = class.ks().next();
        class.ks().filter(move |&k| k <= usize::from(self.k_max) || Some(k) == least)
    }

    /// The largest n for this k.
    pub(crate) fn n_max(self, class: &RequestClass, k: usize) -> usize {
        class.n_max(k).min(libm::floor(self.r_max * k as f64) as usize).max(k)
    }

    /// The allowed code nearest to (n,k): k not above this one if that is possible, then n between
    /// k and the most there may be.
    pub(crate) fn nearest(self, class: &RequestClass, n: usize, k: usize) -> Code {
        let k = class.k_below(k.min(usize::from(self.k_max)));
        class.nearest(n.min(self.n_max(class, k)), k)
    }
}
