//! Promises to tenants, played: what the gateway's shaper keeps when one of them floods the pool, what
//! is answered when, how far a promise can be used, and that nothing is left idle.

mod cascade;
mod conservation;
mod flood;

use crate::{
    ClassSetting, Delay, Evaluation, Load, PolicyChoice, Process, Setting, TenantSetting, Tenants,
};
use core::{num::NonZero, time::Duration};
use ripstop_delay::Preset;
use ripstop_figure::TableError;
use ripstop_gateway::{Promised, Recombination};
use ripstop_model::Operation;
use ripstop_policy::Limits;

const LANES: u16 = 16;
const BYTES: u64 = 1 << 20;
const LIMITS: Limits = Limits { k_max: 6, r_max: 2.0 };
/// Who decides codes: the default of a pool.
const POLICY: &str = "backfill";

/// All that can be tried; `None` looks at no promise.
const VARIANTS: [Option<Recombination>; 6] = [
    None,
    Some(Recombination::Fifo),
    Some(Recombination::Split),
    Some(Recombination::Fair),
    Some(Recombination::PClock),
    Some(Recombination::Miser),
];

const INTRODUCTION: &str = "16 lanes of s3-2025, reads of 1 MiB, policy backfill. Shares are of all \
requests of a tenant: one that was refused is within no bound.";

/// Runs it takes with so many seeds.
pub fn runs(seeds: u64) -> u64 {
    flood::runs(seeds) + cascade::runs(seeds) + conservation::runs(seeds)
}

/// Plays everything, on so many threads (all cores if not given); the outcome does not depend on how
/// many. `done` is called after each of [`runs`].
pub fn evaluate(
    seeds: u64,
    threads: Option<NonZero<usize>>,
    done: impl Fn() + Sync,
) -> Result<Evaluation, TableError> {
    let floods = flood::play(seeds, threads, &done);
    let cascades = cascade::play(seeds, threads, &done);
    let idles = conservation::play(seeds, threads, &done);
    let parts = vec![
        flood::part(&floods)?,
        flood::distribution(&floods),
        cascade::part(&cascades)?,
        conservation::part(&idles)?,
    ];
    Ok(Evaluation::new("Promises", INTRODUCTION, parts))
}

/// A pool with these tenants: what each is called, promised and granted (lanes), and in which parts. The
/// classes are theirs, one each.
fn setting(tenants: &[(&str, &str, f64, Option<Vec<f64>>)]) -> Setting {
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

fn with(setting: &Setting, recombination: Option<Recombination>) -> Setting {
    let mut setting = setting.clone();
    setting.tenants.recombination = recombination;
    setting
}

/// Its name, as it is told.
fn name(recombination: Option<Recombination>) -> &'static str {
    match recombination {
        None => "without a shaper",
        Some(_) => Tenants::recombination_name(recombination),
    }
}

fn policy() -> PolicyChoice {
    POLICY.parse().expect("it is a policy")
}

/// Classes that arrive each at rates of its own: seconds and requests per second.
fn by_class(classes: &[&[(u64, f64)]]) -> Load {
    let phase =
        |&(seconds, rate): &(u64, f64)| (Duration::from_secs(seconds), Process::Poisson(rate));
    Load::ByClass(classes.iter().map(|phases| phases.iter().map(phase).collect()).collect())
}
