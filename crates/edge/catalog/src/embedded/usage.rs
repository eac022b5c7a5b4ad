//! What each bucket holds: kept with every change, and counted once where nobody has: in a file of
//! format 1, of which programs from before may have changed what it holds without keeping it, and
//! in a copy whose records did not agree.

use super::kinds::{COUNTED, Number};
use super::table::{Tables, View};
use crate::key::{object_bucket, text};
use crate::{Account, CatalogError, UploadedPart, Usage, bucket_of};
use std::collections::BTreeMap;

/// What buckets hold, by name.
type Accounts = BTreeMap<String, Account>;

/// Counts everything again. What cannot be read is left out: an audit names it.
pub(super) fn count(tables: &mut Tables<'_>) -> Result<(), CatalogError> {
    if tables.buckets.all()?.next().is_some() {
        tracing::info!("counting what the buckets hold: it has not been counted yet");
    }
    let counted = counted(tables)?;
    tables.usage.clear()?;
    for (bucket, account) in counted {
        if account != Account::default() {
            tables.usage.insert(&bucket.as_bytes(), &account)?;
        }
    }
    tables.facts.insert(&COUNTED, &Number(1))
}

fn counted(tables: &Tables<'_>) -> Result<Accounts, CatalogError> {
    let mut accounts = Accounts::default();
    for entry in tables.objects.all()? {
        let entry = entry?;
        let (Ok(bucket), Ok(object)) = (object_bucket(entry.key()), entry.read()) else {
            continue;
        };
        let account = of(&mut accounts, bucket_of(bucket));
        *account = account.exchange(None, Some(&object));
    }
    count_parts(tables, |bucket, part| {
        let account = of(&mut accounts, bucket);
        *account = account.exchange_parts([], Some(part));
    })?;
    Ok(accounts)
}

fn of<'a>(accounts: &'a mut Accounts, bucket: &str) -> &'a mut Account {
    if !accounts.contains_key(bucket) {
        accounts.insert(bucket.to_owned(), Account::default());
    }
    accounts.get_mut(bucket).expect("it was inserted, unless it was there")
}

/// Tells `tell` of each part and its bucket. Parts of one upload follow one another.
fn count_parts(
    tables: &Tables<'_>,
    mut tell: impl FnMut(&str, &UploadedPart),
) -> Result<(), CatalogError> {
    let mut of: Option<(Vec<u8>, Option<String>)> = None;
    for entry in tables.parts.all()? {
        let entry = entry?;
        let (upload, _) = entry.key();
        if of.as_ref().is_none_or(|(known, _)| known != upload) {
            let found = tables.uploads.find(&upload).ok().flatten();
            of = Some((upload.to_vec(), found.map(|upload| upload.bucket)));
        }
        let bucket = of.as_ref().and_then(|(_, bucket)| bucket.as_deref());
        if let (Some(bucket), Ok(part)) = (bucket, entry.read()) {
            tell(bucket, &part);
        }
    }
    Ok(())
}

impl View {
    /// What a bucket holds.
    pub(super) fn usage(&self, bucket: &str) -> Result<Usage, CatalogError> {
        Ok(self.usage.get(&bucket.as_bytes())?.unwrap_or_default().usage())
    }

    /// What each bucket holds, by name.
    pub(super) fn usages(
        &self,
        after: &str,
        max: usize,
    ) -> Result<Vec<(String, Usage)>, CatalogError> {
        let buckets = self.buckets(after, max)?.into_iter();
        buckets.map(|bucket| Ok((bucket.name.clone(), self.usage(&bucket.name)?))).collect()
    }

    /// What is written of each bucket, whether it is there or not.
    pub(super) fn usage_rows(&self) -> Result<Vec<(String, Usage)>, CatalogError> {
        let rows = self.usage.all()?.map(|entry| {
            let entry = entry?;
            Ok((text(entry.key())?, entry.read()?.usage()))
        });
        rows.collect()
    }
}
