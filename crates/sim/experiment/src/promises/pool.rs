//! The pool that is promised, and what is tried with it.

use crate::{ClassSetting, Delay, Load, PolicyChoice, Process, Setting, TenantSetting, Tenants};
use core::time::Duration;
use ripstop_delay::Preset;
use ripstop_gateway::{Promised, Recombination};
use ripstop_model::Operation;
use ripstop_policy::Limits;

pub(super) const LANES: u16 = 16;
pub(super) const BYTES: u64 = 1 << 20;
pub(super) const LIMITS: Limits = Limits { k_max: 6, r_max: 2.0 };
/// Who decides codes: the default of a pool.
const POLICY: &str = "backfill";

/// All that can be tried; `None` looks at no promise.
pub(super) const VARIANTS: [Option<Recombination>; 6] = [
    None,
    Some(Recombination::Fifo),
    Some(Recombination::Split),
    Some(Recombination::Fair),
    Some(Recombination::PClock),
    Some(Recombination::Miser),
];

/// A pool with these tenants: what each is called, promised and granted (lanes), and in which
/// parts. The classes are theirs, one each.
pub(super) fn setting(tenants: &[(&str, &str, f64, Option<Vec<f64>>)]) -> Setting {
    let mut setting = Setting::of_tofec(Delay::Preset(Preset::S3In2025), LANES);
    let class = |index| {
        let read = ClassSetting::new(Operation::Read, BYTES, 1.0);
        ClassSetting { tenant: Tenants::id(index), ..read }
    };
    setting.classes = (0..tenants.len()).map(class).collect();
    let tenant = |(name, promise, lanes, parts): &(&str, &str, f64, Option<Vec<f64>>)| {
        let promise = promise.parse().expect("it is a promise");
        let promised = Promised::of(Some(promise), Some(*lanes), None, parts.clone());
        let tiers = promised.expect("it fits").map_or(Vec::new(), |p| p.tiers(LANES.into()));
        TenantSetting { name: (*name).to_owned(), tiers }
    };
    setting.tenants.list = tenants.iter().map(tenant).collect();
    setting
}

pub(super) fn with(setting: &Setting, recombination: Option<Recombination>) -> Setting {
    let mut setting = setting.clone();
    setting.tenants.recombination = recombination;
    setting
}

/// Its name, as it is told.
pub(super) fn name(recombination: Option<Recombination>) -> &'static str {
    match recombination {
        None => "without a shaper",
        Some(_) => Tenants::recombination_name(recombination),
    }
}

pub(super) fn policy() -> PolicyChoice {
    POLICY.parse().expect("it is a policy")
}

/// Classes that arrive each at rates of its own: seconds and requests per second.
pub(super) fn by_class(classes: &[&[(u64, f64)]]) -> Load {
    let phase =
        |&(seconds, rate): &(u64, f64)| (Duration::from_secs(seconds), Process::Poisson(rate));
    Load::ByClass(classes.iter().map(|phases| phases.iter().map(phase).collect()).collect())
}
