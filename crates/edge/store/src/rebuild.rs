use crate::{
    clock::unix_ms, identity::adopt, record::Telling, store::stripe_record, sweep::listing,
};
use futures::StreamExt;
use ripstop_catalog::{Bucket, Catalog, CatalogError, Change, Condition, Object, Stripe};
use ripstop_model::{FragmentId, NodeId, StripeId, StripeShape};
use ripstop_node::Node;
use ripstop_runtime::{Cut, Header, Origin, Pool};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Headers read at once.
const HEADERS: usize = 32;
/// Most lost keys that are named one by one.
const LOST_MAX: usize = 1000;

/// What a rebuild found and made.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RebuildReport {
    /// Fragments with a whole header.
    pub fragments: u64,
    /// Fragments without one.
    pub damaged: u64,
    /// Stripes that another store wrote: passed over.
    pub foreign: u64,
    /// Nodes whose listing broke off: what only they tell of is not in the new catalog.
    pub unlisted: u64,
    /// Buckets made.
    pub buckets: u64,
    /// Objects made.
    pub objects: u64,
    /// Versions that were told of but whose stripes have fewer than K fragments left, as
    /// `bucket/key`; an older whole version was taken where there was one.
    pub lost: Vec<String>,
}

/// What the headers of one stripe's fragments say, together.
struct Found {
    shape: StripeShape,
    cut: Cut,
    origin: Origin,
    header_len: u32,
    nodes: Vec<Option<NodeId>>,
    told: Option<Telling>,
}

impl Found {
    fn is_readable(&self) -> bool {
        self.nodes.iter().flatten().count() >= self.cut.needed(self.shape)
    }

    fn record(&self) -> Stripe {
        stripe_record(self.origin.pool, self.shape, self.cut, self.header_len, &self.nodes)
    }
}

/// Makes the records of an empty catalog from the fragments at `nodes`, which it names first in this
/// order.
///
/// Of versions of one key, the one told by the latest readable stripe wins. What was deleted within the
/// last grace, its fragments being still there, is found again; uploads under way are not.
pub async fn rebuild(
    catalog: &dyn Catalog,
    nodes: &[(NodeId, Arc<dyn Node>)],
    progress: impl Fn(u64) + Send + Sync,
) -> Result<RebuildReport, CatalogError> {
    let mut report = RebuildReport::default();
    let mut stripes = survey(nodes, &mut report, progress).await;
    if let Some(store) = most_common(stripes.values().map(|found| found.origin.store)) {
        adopt(catalog, store).await?;
        let all = stripes.len();
        stripes.retain(|_, found| found.origin.store == store);
        report.foreign = (all - stripes.len()) as u64;
    }
    let mut buckets: BTreeMap<String, Bucket> = BTreeMap::new();
    let mut versions: BTreeMap<(String, String), Vec<Object>> = BTreeMap::new();
    for (id, found) in &stripes {
        match &found.told {
            None => {}
            Some(Telling::Bucket(bucket)) => {
                buckets.insert(bucket.name.clone(), bucket.clone());
            }
            Some(Telling::Object { bucket, key, object }) if object.told_by == *id => {
                versions.entry((bucket.clone(), key.clone())).or_default().push(object.clone());
            }
            Some(Telling::Object { .. }) => report.damaged += 1,
        }
    }
    let mut known = BTreeSet::new();
    // A bucket whose own telling is gone is told of by its objects.
    for ((name, _), objects) in &versions {
        let Some(told_by) = objects.first().map(|object| object.told_by) else { continue };
        let untold = || Bucket { name: name.clone(), created_ms: unix_ms(), told_by };
        buckets.entry(name.clone()).or_insert_with(untold);
    }
    for bucket in buckets.into_values() {
        let stripes = fresh(&stripes, &mut known, [bucket.told_by].into());
        catalog.commit(unix_ms(), Change::CreateBucket { bucket, stripes }).await?;
        report.buckets += 1;
    }
    for ((bucket, key), mut objects) in versions {
        objects.sort_by_key(|object| object.told_by);
        while let Some(object) = objects.pop() {
            let used: BTreeSet<StripeId> = used(&object);
            let readable = used.iter().all(|id| stripes.get(id).is_some_and(Found::is_readable));
            if !readable {
                note_lost(&mut report, &bucket, &key);
                continue;
            }
            let stripes = fresh(&stripes, &mut known, used);
            let condition = Condition::None;
            let change = Change::PutObject { bucket, key, object, stripes, condition };
            catalog.commit(unix_ms(), change).await?;
            report.objects += 1;
            break;
        }
    }
    Ok(report)
}

fn most_common(numbers: impl Iterator<Item = u64>) -> Option<u64> {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for number in numbers {
        *counts.entry(number).or_default() += 1;
    }
    counts.into_iter().max_by_key(|&(_, count)| count).map(|(number, _)| number)
}

fn note_lost(report: &mut RebuildReport, bucket: &str, key: &str) {
    if report.lost.len() < LOST_MAX {
        report.lost.push(format!("{bucket}/{key}"));
    }
}

fn used(object: &Object) -> BTreeSet<StripeId> {
    object.extents.iter().map(|extent| extent.stripe).chain([object.told_by]).collect()
}

/// Those of `ids` that the catalog has not been told of yet, with their records.
fn fresh(
    stripes: &BTreeMap<StripeId, Found>,
    known: &mut BTreeSet<StripeId>,
    ids: BTreeSet<StripeId>,
) -> Vec<(StripeId, Stripe)> {
    ids.into_iter()
        .filter(|id| known.insert(*id))
        .filter_map(|id| Some((id, stripes.get(&id)?.record())))
        .collect()
}

async fn survey(
    nodes: &[(NodeId, Arc<dyn Node>)],
    report: &mut RebuildReport,
    progress: impl Fn(u64),
) -> BTreeMap<StripeId, Found> {
    let mut stripes: BTreeMap<StripeId, Found> = BTreeMap::new();
    for (id, node) in nodes {
        let (listed, whole) = listing(&**node).await;
        report.unlisted += u64::from(!whole);
        let mut headers = futures::stream::iter(listed)
            .map(|listed| async move {
                (listed.name, Pool::header(&**node, listed.name, listed.len).await)
            })
            .buffer_unordered(HEADERS);
        while let Some((name, header)) = headers.next().await {
            match header.filter(|(header, _)| header.name == name) {
                None => report.damaged += 1,
                Some((header, header_len)) => {
                    report.fragments += 1;
                    let fragments = header.cut.fragments(header.shape.code());
                    let found = stripes.entry(name.stripe).or_insert_with(|| Found {
                        shape: header.shape,
                        cut: header.cut,
                        origin: header.origin,
                        header_len,
                        nodes: vec![None; fragments],
                        told: Telling::decode(&header.record),
                    });
                    note(found, name, *id, &header, report);
                }
            }
            progress(report.fragments);
        }
    }
    stripes
}

fn note(
    found: &mut Found,
    name: FragmentId,
    node: NodeId,
    header: &Header,
    report: &mut RebuildReport,
) {
    let index = usize::from(name.index);
    if (found.shape, found.cut) == (header.shape, header.cut) && index < found.nodes.len() {
        found.nodes[index].get_or_insert(node);
    } else {
        report.damaged += 1;
    }
}
