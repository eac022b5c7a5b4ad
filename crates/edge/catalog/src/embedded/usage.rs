//! What each bucket holds: kept with every change, in the transaction of the change, and counted once
//! where nobody has: in a file of format 1, of which programs from before may have changed what it holds
//! without keeping it, and in a copy whose records did not agree.

use super::key::{object_bucket, text};
use super::kinds::{Account, COUNTED, Number};
use super::table::{Tables, View};
use crate::{CatalogError, Object, UploadedPart, Usage};
use std::collections::BTreeMap;

impl Account {
    pub(super) fn usage(self) -> Usage {
        let bytes = self.object_bytes.saturating_add(self.part_bytes);
        Usage { bytes, objects: self.objects }
    }

    /// With one object in the place of another. A figure that is too small already, as only an audit
    /// can tell, ends at zero.
    pub(super) fn exchange(mut self, old: Option<&Object>, new: Option<&Object>) -> Self {
        if let Some(old) = old {
            self.objects = self.objects.saturating_sub(1);
            self.object_bytes = self.object_bytes.saturating_sub(old.len);
        }
        if let Some(new) = new {
            self.objects = self.objects.saturating_add(1);
            self.object_bytes = self.object_bytes.saturating_add(new.len);
        }
        self
    }

    /// With one part in the place of others.
    pub(super) fn exchange_parts(
        mut self,
        old: &[UploadedPart],
        new: Option<&UploadedPart>,
    ) -> Self {
        for part in old {
            self.part_bytes = self.part_bytes.saturating_sub(part.len);
        }
        self.part_bytes = self.part_bytes.saturating_add(new.map_or(0, |part| part.len));
        self
    }
}

/// Accounts that the changes of a transaction have come to; written once, at its end.
#[derive(Default)]
pub(super) struct Accounts(BTreeMap<String, Account>);

impl Tables<'_> {
    /// A bucket's account, with the changes of this transaction.
    pub(super) fn account(&self, bucket: &str) -> Result<Account, CatalogError> {
        if let Some(account) = self.accounts.0.get(bucket) {
            return Ok(*account);
        }
        Ok(self.usage.find(&bucket.as_bytes())?.unwrap_or_default())
    }

    pub(super) fn set_account(&mut self, bucket: &str, account: Account) {
        match self.accounts.0.get_mut(bucket) {
            Some(known) => *known = account,
            None => drop(self.accounts.0.insert(bucket.to_owned(), account)),
        }
    }

    /// Writes the accounts that have changed. Nothing of the transaction counts before.
    pub(super) fn write_accounts(&mut self) -> Result<(), CatalogError> {
        for (bucket, account) in std::mem::take(&mut self.accounts).0 {
            if account == Account::default() {
                self.usage.remove(&bucket.as_bytes())?;
            } else {
                self.usage.insert(&bucket.as_bytes(), &account)?;
            }
        }
        Ok(())
    }
}

/// Counts everything again. What cannot be read is left out: an audit names it.
pub(super) fn count(tables: &mut Tables<'_>) -> Result<(), CatalogError> {
    tracing::info!("what the buckets hold is counted: nobody has");
    let counted = counted(tables)?;
    tables.usage.clear()?;
    tables.accounts = counted;
    tables.write_accounts()?;
    tables.facts.insert(&COUNTED, &Number(1))
}

fn counted(tables: &Tables<'_>) -> Result<Accounts, CatalogError> {
    let mut accounts = Accounts::default();
    for entry in tables.objects.all()? {
        let entry = entry?;
        let (Ok(bucket), Ok(object)) = (object_bucket(entry.key()), entry.read()) else {
            continue;
        };
        let account = accounts.of(bucket);
        *account = account.exchange(None, Some(&object));
    }
    count_parts(tables, |bucket, part| {
        let account = accounts.of(bucket);
        *account = account.exchange_parts(&[], Some(part));
    })?;
    Ok(accounts)
}

impl Accounts {
    fn of(&mut self, bucket: &str) -> &mut Account {
        if !self.0.contains_key(bucket) {
            self.0.insert(bucket.to_owned(), Account::default());
        }
        self.0.get_mut(bucket).expect("it was inserted, unless it was there")
    }
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
