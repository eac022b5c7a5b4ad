//! What each bucket holds: kept with every change, in the transaction of the change.
//!
//! Programs from before there was this table change a file without keeping it. Three things tell at
//! the opening that one has, and everything is counted again then:
//!
//! * Whatever brings new stripes is preceded by a reservation of their names, and a rebuild ends by
//!   saying what it vouches for: [`fingerprint`] is over both, is written with either by this program,
//!   and not by those.
//! * What they can do without new stripes makes objects fewer: the table's numbers do not sum up.
//! * Or it changes parts of unfinished uploads: those are counted at every opening, few as they are.

use super::encoding::{USAGE_AS_OF, VOUCHED, object_bucket, text};
use super::failure::{Stop, unavailable};
use super::short::{object_len, part_len, upload_bucket};
use super::table::Tables;
use crate::{CatalogError, Object, UploadedPart, Usage};
use redb::{ReadableTable, ReadableTableMetadata};
use std::collections::BTreeMap;
use twox_hash::XxHash3_128;

/// What a bucket holds; [`Usage`] in its parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Account {
    objects: u64,
    object_bytes: u64,
    part_bytes: u64,
}

/// As it is in the table.
pub(super) type AccountRow = (u64, u64, u64);

impl Account {
    pub(super) fn of(row: AccountRow) -> Self {
        let (objects, object_bytes, part_bytes) = row;
        Self { objects, object_bytes, part_bytes }
    }

    fn row(self) -> AccountRow {
        (self.objects, self.object_bytes, self.part_bytes)
    }

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
    pub(super) fn account(&self, bucket: &str) -> Result<Account, Stop> {
        if let Some(account) = self.accounts.0.get(bucket) {
            return Ok(*account);
        }
        let row = self.usage.get(bucket.as_bytes())?;
        Ok(row.map(|row| Account::of(row.value())).unwrap_or_default())
    }

    pub(super) fn set_account(&mut self, bucket: &str, account: Account) {
        match self.accounts.0.get_mut(bucket) {
            Some(known) => *known = account,
            None => drop(self.accounts.0.insert(bucket.to_owned(), account)),
        }
    }

    /// Writes the accounts that have changed. Nothing of the transaction counts before.
    pub(super) fn write_accounts(&mut self) -> Result<(), Stop> {
        for (bucket, account) in std::mem::take(&mut self.accounts).0 {
            if account == Account::default() {
                self.usage.remove(bucket.as_bytes())?;
            } else {
                self.usage.insert(bucket.as_bytes(), account.row())?;
            }
        }
        Ok(())
    }

    /// Notes that the accounts go with what is vouched for now: with every change of that.
    pub(super) fn sign_accounts(&mut self) -> Result<(), Stop> {
        let fingerprint = fingerprint(self)?;
        self.meta.insert(USAGE_AS_OF, fingerprint)?;
        Ok(())
    }

    /// Has the accounts counted again when the catalog is next opened.
    pub(super) fn doubt_accounts(&mut self) -> Result<(), Stop> {
        self.meta.remove(USAGE_AS_OF)?;
        Ok(())
    }
}

/// A number over all names that are vouched for.
fn fingerprint(tables: &Tables<'_>) -> Result<u64, Stop> {
    let before = tables.meta.get(VOUCHED)?.map_or(0, |before| before.value());
    let mut bytes = before.to_le_bytes().to_vec();
    for entry in tables.sessions.iter()? {
        let (session, until) = entry?;
        bytes.extend_from_slice(&session.value().to_le_bytes());
        bytes.extend_from_slice(&until.value().to_le_bytes());
    }
    Ok(XxHash3_128::oneshot(&bytes) as u64)
}

/// Whether the accounts are what the last program that wrote to the file left.
pub(super) fn is_counted(tables: &Tables<'_>) -> Result<bool, Stop> {
    let signed = tables.meta.get(USAGE_AS_OF)?.map(|signed| signed.value());
    if signed != Some(fingerprint(tables)?) {
        return Ok(false);
    }
    let (mut objects, mut part_bytes) = (0u64, BTreeMap::new());
    for entry in tables.usage.iter()? {
        let (bucket, row) = entry?;
        let account = Account::of(row.value());
        objects = objects.saturating_add(account.objects);
        if account.part_bytes > 0 {
            part_bytes.insert(bucket.value().to_vec(), account.part_bytes);
        }
    }
    let mut counted = BTreeMap::new();
    count_parts(tables, |bucket, len| {
        *counted.entry(bucket.as_bytes().to_vec()).or_insert(0u64) += len;
    })?;
    counted.retain(|_, bytes| *bytes > 0);
    Ok(objects == tables.objects.len()? && part_bytes == counted)
}

/// Counts everything again. What cannot be read is left out: an audit names it.
pub(super) fn count(tables: &mut Tables<'_>) -> Result<(), CatalogError> {
    tracing::info!(
        "what the buckets hold is counted: nobody has, or an older program wrote meanwhile"
    );
    let counted = counted(tables).and_then(|counted| {
        tables.usage.retain(|_, _| false)?;
        tables.accounts = counted;
        tables.write_accounts()?;
        tables.sign_accounts()
    });
    counted.map_err(error)
}

/// What stopped what refuses nothing.
pub(super) fn error(stop: Stop) -> CatalogError {
    match stop {
        Stop::Refused(error) | Stop::Failed(error) => error,
    }
}

fn counted(tables: &Tables<'_>) -> Result<Accounts, Stop> {
    let mut accounts = Accounts::default();
    for entry in tables.objects.iter()? {
        let (key, record) = entry?;
        let (Ok(bucket), Ok(len)) = (object_bucket(key.value()), object_len(record.value())) else {
            continue;
        };
        let account = accounts.of(bucket);
        account.objects += 1;
        account.object_bytes = account.object_bytes.saturating_add(len);
    }
    count_parts(tables, |bucket, len| {
        let account = accounts.of(bucket);
        account.part_bytes = account.part_bytes.saturating_add(len);
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

/// Tells `tell` of each part's bucket and length. Parts of one upload follow one another.
fn count_parts(tables: &Tables<'_>, mut tell: impl FnMut(&str, u64)) -> Result<(), Stop> {
    let mut of: Option<(Vec<u8>, Option<String>)> = None;
    for entry in tables.parts.iter()? {
        let (place, record) = entry?;
        let (upload, _) = place.value();
        if of.as_ref().is_none_or(|(known, _)| known != upload) {
            let found = tables.uploads.get(upload)?;
            let bucket = found.and_then(|record| upload_bucket(record.value()).ok());
            of = Some((upload.to_vec(), bucket));
        }
        let bucket = of.as_ref().and_then(|(_, bucket)| bucket.as_deref());
        if let (Some(bucket), Ok(len)) = (bucket, part_len(record.value())) {
            tell(bucket, len);
        }
    }
    Ok(())
}

impl super::table::View {
    /// What a bucket holds.
    pub(super) fn usage(&self, bucket: &str) -> Result<Usage, CatalogError> {
        let row = self.usage.get(bucket.as_bytes()).map_err(unavailable)?;
        Ok(row.map(|row| Account::of(row.value()).usage()).unwrap_or_default())
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
        let rows = self.usage.range::<&[u8]>(..).map_err(unavailable)?;
        rows.map(|entry| {
            let (bucket, row) = entry.map_err(unavailable)?;
            Ok((text(bucket.value())?, Account::of(row.value()).usage()))
        })
        .collect()
    }
}
