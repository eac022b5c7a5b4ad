//! How much buckets may hold.

use super::{
    bounds::{self, given},
    raw,
    units::Size,
};
use anyhow::{Result, ensure};
use ripstop_catalog::Quota;
use ripstop_store::Quotas;

/// Most buckets that have quotas of their own.
const NAMED_MAX: usize = 100_000;
/// Longest name that a bucket can have.
const NAME_LEN_MAX: usize = 63;

pub(super) fn resolve(raw: raw::Quotas) -> Result<Quotas> {
    let raw::Quotas { bytes, objects, bucket } = raw;
    ensure!(bucket.len() <= NAMED_MAX, "quotas.bucket names more than {NAMED_MAX} buckets");
    let mut quotas = Quotas { others: quota("quotas", bytes, objects)?, ..Quotas::default() };
    for (name, raw::Quota { bytes, objects }) in bucket {
        ensure!(
            (1..=NAME_LEN_MAX).contains(&name.len()),
            "quotas.bucket.{name:?}: no bucket has such a name"
        );
        let quota = quota(&format!("quotas.bucket.{name:?}"), bytes, objects)?;
        quotas.named.insert(name, quota);
    }
    Ok(quotas)
}

fn quota(key: &str, bytes: Option<Size>, objects: Option<u64>) -> Result<Quota> {
    let bytes = given(&format!("{key}.bytes"), bytes, &bounds::QUOTA_BYTES)?;
    let objects = given(&format!("{key}.objects"), objects, &bounds::QUOTA_OBJECTS)?;
    Ok(Quota { bytes: bytes.map(|bytes| bytes.0), objects })
}

/// A sentence for each quota there is, that of the others first.
pub(super) fn describe(quotas: &Quotas) -> Vec<String> {
    let named = quotas.named.iter();
    let named = named.map(|(name, quota)| format!("bucket {name}: {}", may_hold(*quota)));
    let others = (quotas.others != Quota::NONE).then(|| {
        let which = if quotas.named.is_empty() { "every bucket" } else { "every other bucket" };
        format!("{which}: {}", may_hold(quotas.others))
    });
    others.into_iter().chain(named).collect()
}

fn may_hold(quota: Quota) -> String {
    let bytes = quota.bytes.map(|bytes| Size(bytes).to_string());
    let objects = quota.objects.map(|objects| format!("{objects} objects"));
    match (bytes, objects) {
        (None, None) => "no quota".into(),
        (Some(most), None) | (None, Some(most)) => format!("at most {most}"),
        (Some(bytes), Some(objects)) => format!("at most {bytes} and {objects}"),
    }
}
