use crate::clock::unix_ms;
use ripstop_catalog::{
    Bucket, Catalog, CatalogError, Change, Condition, ListingRequest, Located, Quota, Refusal,
    Stripe,
};
use ripstop_model::StripeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Buckets, or objects, of the newer catalog that are looked at together.
const PAGE: usize = 500;

/// What was brought into a catalog.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CompleteReport {
    /// Buckets that it lacked.
    pub buckets: u64,
    /// Objects that it lacked, or had older versions of.
    pub objects: u64,
    /// Objects that share a stripe with something that was deleted: left out.
    pub left_out: u64,
}

/// Brings into `catalog` what it lacks of `found`, a catalog made from all fragments of the same nodes,
/// by the same numbers: buckets, and objects told by later stripes than its own. What it knows to have
/// been deleted stays so. `progress` is told of objects looked at.
///
/// # Errors
/// If either catalog fails: what was brought in until then stays, and doing it again does the rest.
pub async fn complete(
    catalog: &dyn Catalog,
    found: &dyn Catalog,
    progress: impl Fn(u64),
) -> Result<CompleteReport, CatalogError> {
    let mut completing = Completing { catalog, found, report: CompleteReport::default() };
    let (mut after, mut seen) = (String::new(), 0);
    loop {
        let buckets = found.buckets(&after, PAGE).await?;
        let Some(last) = buckets.last() else { return Ok(completing.report) };
        after.clone_from(&last.name);
        for bucket in buckets {
            let mut request =
                ListingRequest { bucket: bucket.name.clone(), max: PAGE, ..Default::default() };
            completing.bucket(bucket).await?;
            loop {
                let page = found.list(&request).await?;
                for (key, _) in page.objects {
                    completing.object(&request.bucket, key).await?;
                    seen += 1;
                    progress(seen);
                }
                let Some(next) = page.next else { break };
                request.after = next;
            }
        }
    }
}

struct Completing<'a> {
    catalog: &'a dyn Catalog,
    found: &'a dyn Catalog,
    report: CompleteReport,
}

impl Completing<'_> {
    async fn bucket(&mut self, bucket: Bucket) -> Result<(), CatalogError> {
        let is_gone = self.catalog.is_garbage(bucket.told_by).await?;
        if is_gone || self.catalog.bucket(&bucket.name).await?.is_some() {
            return Ok(());
        }
        let stripes = self.new_stripes([bucket.told_by].into()).await?;
        self.catalog.commit_one(unix_ms(), Change::CreateBucket { bucket, stripes }).await?;
        self.report.buckets += 1;
        Ok(())
    }

    async fn object(&mut self, bucket: &str, key: String) -> Result<(), CatalogError> {
        let Some(Located { object, .. }) = self.found.object(bucket, &key).await? else {
            return Ok(());
        };
        let present = self.catalog.object(bucket, &key).await?;
        let is_known = present.is_some_and(|present| present.object.told_by >= object.told_by);
        if is_known || self.catalog.is_garbage(object.told_by).await? {
            return Ok(());
        }
        let extents = object.extents.iter().map(|extent| extent.stripe);
        let stripes = self.new_stripes(extents.chain([object.told_by]).collect()).await?;
        let (bucket, condition) = (bucket.to_owned(), Condition::None);
        // What the nodes hold was let in once.
        let quota = Quota::NONE;
        let change = Change::PutObject { bucket, key, object, stripes, condition, quota };
        match self.catalog.commit_one(unix_ms(), change).await {
            Ok(_) => self.report.objects += 1,
            // Its bucket was deleted, or a stripe of it was.
            Err(
                CatalogError::Refused(Refusal::StripeGone { .. })
                | CatalogError::Refused(Refusal::NoSuchBucket),
            ) => {
                self.report.left_out += 1;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Those of `ids` that the catalog does not hold, as they were found.
    async fn new_stripes(
        &self,
        ids: BTreeSet<StripeId>,
    ) -> Result<Vec<(StripeId, Stripe)>, CatalogError> {
        let ids: Vec<StripeId> = ids.into_iter().collect();
        let (known, found) = (self.catalog.stripes(&ids).await?, self.found.stripes(&ids).await?);
        let new = ids.into_iter().zip(known.into_iter().zip(found));
        Ok(new.filter_map(|(id, (known, found))| known.is_none().then_some((id, found?))).collect())
    }
}
