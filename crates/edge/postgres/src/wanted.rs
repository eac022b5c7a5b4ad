//! Which rows of which tables a decision may look at.

use crate::place::{
    LAST, beyond, key_of, outlived_at_begin, outlived_key, part_key, place_of, split_outlived,
    stripe_key,
};
use crate::table::{Table, VOUCHED};
use ripstop_catalog::{
    Bucket, CatalogError, Object, Tombstone, Upload, UploadedPart, object_key, unseal,
};
use ripstop_form::{Record, decode};
use ripstop_object::{FoundRow, Named, versions_begin, versions_of};
use std::collections::BTreeSet;

/// What is to be fetched.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Wanted {
    /// A row.
    Row(Table, Vec<u8>),
    /// Rows from a key to before another; all of them, or as many as a decision takes.
    Range { table: Table, low: Vec<u8>, high: Vec<u8>, is_whole: bool },
}

impl Wanted {
    fn beginning(table: Table, low: Vec<u8>, is_whole: bool) -> Self {
        let high = beyond(&low);
        Self::Range { table, low, high, is_whole }
    }

    const fn whole(table: Table) -> Self {
        Self::Range { table, low: Vec::new(), high: Vec::new(), is_whole: true }
    }

    /// What is named.
    pub(crate) fn of(named: &Named<'_>) -> Vec<Self> {
        let row = |table, key: &[u8]| vec![Self::Row(table, key.to_vec())];
        match named {
            Named::Bucket(name) => row(Table::Buckets, name.as_bytes()),
            Named::Object(at) => row(Table::Objects, &key_of(at)),
            Named::Tombstone(at) => row(Table::Tombstones, &key_of(at)),
            Named::Stripe(id) => {
                let key = stripe_key(*id);
                vec![Self::Row(Table::Stripes, key.clone()), Self::Row(Table::Garbage, key)]
            }
            Named::Outlived(stripe, at) => row(Table::Outlived, &outlived_key(*stripe, at)),
            Named::Upload(id) => row(Table::Uploads, id.as_bytes()),
            Named::Part(upload, number) => row(Table::Parts, &part_key(upload, *number)),
            Named::Account(bucket) => row(Table::Accounts, bucket.as_bytes()),
            Named::Node(name) => row(Table::Nodes, name.as_bytes()),
            Named::Session(session) => row(Table::Sessions, &session.0.to_be_bytes()),
            Named::Watermark(session) => row(Table::Watermarks, &session.0.to_be_bytes()),
            Named::Lease(name) => row(Table::Leases, name.as_bytes()),
            Named::VouchedBefore => row(Table::Facts, VOUCHED),
            Named::Keys(bucket) => [(*bucket).to_owned(), versions_of(bucket)]
                .map(|space| Self::beginning(Table::Objects, object_key(&space, b""), false))
                .into(),
            Named::Versions(bucket, key) => vec![versions_range(bucket, key)],
            Named::Uploads(bucket) => {
                vec![Self::beginning(Table::UploadPlaces, object_key(bucket, b""), false)]
            }
            Named::Parts(upload) => {
                vec![Self::beginning(Table::Parts, object_key(upload, b""), true)]
            }
            Named::OutlivedBy(stripe) => {
                vec![Self::beginning(Table::Outlived, stripe_key(*stripe), true)]
            }
            Named::OutlivedAt(at) => {
                vec![Self::beginning(Table::OutlivedAt, outlived_at_begin(at), false)]
            }
            Named::NodeCount => vec![Self::whole(Table::Nodes)],
            Named::Sessions => vec![Self::whole(Table::Sessions)],
            Named::Gateways => vec![Self::whole(Table::Gateways)],
            Named::Watermarks => vec![Self::whole(Table::Watermarks)],
        }
    }

    /// Where a range ends.
    pub(crate) fn end(high: &[u8]) -> &[u8] {
        if high.is_empty() { LAST } else { high }
    }
}

fn versions_range(bucket: &str, key: &str) -> Wanted {
    let low = object_key(&versions_of(bucket), versions_begin(key).as_bytes());
    Wanted::beginning(Table::Objects, low, false)
}

/// Reads what stands at a key of a table.
pub(crate) fn read<R: Record>(table: Table, key: &[u8], bytes: &[u8]) -> Result<R, CatalogError> {
    Ok(decode(unseal(table.name(), key, bytes)?)?)
}

/// What a row that was fetched leads to.
pub(crate) fn led_to(
    table: Table,
    key: &[u8],
    bytes: &[u8],
) -> Result<BTreeSet<Wanted>, CatalogError> {
    let of = |found: FoundRow<'_>| found.names().iter().flat_map(Wanted::of).collect();
    Ok(match table {
        Table::Buckets => of(FoundRow::Bucket(&read::<Bucket>(table, key, bytes)?)),
        Table::Objects => of(FoundRow::Object(&read::<Object>(table, key, bytes)?)),
        Table::Tombstones => {
            let tombstone: Tombstone = read(table, key, bytes)?;
            of(FoundRow::Tombstone(place_of(key)?, &tombstone))
        }
        Table::Uploads => of(FoundRow::Upload(&read::<Upload>(table, key, bytes)?)),
        Table::Parts => of(FoundRow::Part(&read::<UploadedPart>(table, key, bytes)?)),
        Table::Outlived => of(FoundRow::Outlived(split_outlived(key)?.1)),
        Table::Facts
        | Table::Stripes
        | Table::Garbage
        | Table::Leftovers
        | Table::UploadPlaces
        | Table::Nodes
        | Table::Sessions
        | Table::Accounts
        | Table::OutlivedAt
        | Table::Watermarks
        | Table::Leases
        | Table::Gateways => BTreeSet::new(),
    })
}
