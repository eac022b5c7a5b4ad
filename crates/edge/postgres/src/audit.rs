//! Reads everything again: whether it is what was written, and whether it agrees.

use crate::connection::{Ask, Connection, Edge, Value};
use crate::failure::Failure;
use crate::fetched::column;
use crate::number::{Nothing, Number};
use crate::place::{
    LAST, key_of, leftover_of, outlived_at_key, part_key, place_of, split_outlived, split_stripe,
    upload_place,
};
use crate::postgres::Postgres;
use crate::short::Short;
use crate::statement::Sql;
use crate::table::Table;
use crate::wanted::read;
use ripstop_catalog::{
    Account, Audit, AuditFinding, Bucket, CatalogError, Garbage, GatewayRecord, Held, Lease,
    Object, Recount, Tombstone, Upload, UploadedPart, Watermark,
};
use ripstop_form::Record;
use ripstop_model::{FragmentId, NodeId, StripeId};
use ripstop_object::Place;
use std::collections::{BTreeMap, BTreeSet};

/// Records of one statement.
const ROWS_MAX: usize = 256;
/// Most stripes whose holders are counted at once, at some 80 bytes each.
const COUNTED_MAX: u64 = 1 << 20;

type Pair = (Vec<u8>, Vec<u8>);

/// A table, some rows at a time.
struct Scan<'a> {
    connection: &'a Connection,
    table: Table,
    after: Option<Vec<u8>>,
}

impl<'a> Scan<'a> {
    const fn of(connection: &'a Connection, table: Table) -> Self {
        Self { connection, table, after: Some(Vec::new()) }
    }

    /// The next rows; none any more at its end.
    async fn next(&mut self) -> Result<Vec<Pair>, Failure> {
        let Some(after) = self.after.take() else { return Ok(Vec::new()) };
        let end = Value::Bytes(LAST.to_vec());
        let values = vec![Value::Bytes(after), end, Value::limit(ROWS_MAX)];
        let answers = self.connection.ask(&[Ask(Sql::After(self.table), values)]).await?;
        let rows = answers[0].iter().map(|row| Ok((column(row, 0)?, column(row, 1)?)));
        let rows = rows.collect::<Result<Vec<_>, CatalogError>>()?;
        if rows.len() == ROWS_MAX {
            self.after = rows.last().map(|(key, _)| key.clone());
        }
        Ok(rows)
    }
}

/// Which of these keys a table has, with their records.
async fn rows(
    connection: &Connection,
    table: Table,
    keys: Vec<Vec<u8>>,
) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, Failure> {
    let answers = connection.ask(&[Ask(Sql::Rows(table), vec![Value::List(keys)])]).await?;
    let pairs = answers[0].iter().map(|row| Ok((column(row, 0)?, column(row, 1)?)));
    Ok(pairs.collect::<Result<_, CatalogError>>()?)
}

fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

fn unreadable(recount: &mut Recount, reason: String) {
    recount.find(AuditFinding::Unreadable { reason });
}

/// What a record is, if it is what was written; else that is a finding.
fn found<R: Record>(recount: &mut Recount, table: Table, (key, bytes): &Pair) -> Option<R> {
    match read(table, key, bytes) {
        Ok(record) => Some(record),
        Err(error) => {
            unreadable(recount, format!("{} in {}: {error}", shown(key), table.name()));
            None
        }
    }
}

/// The same, for what nobody counts.
async fn readable<R: Record>(
    connection: &Connection,
    table: Table,
    recount: &mut Recount,
) -> Result<(), Failure> {
    let mut scan = Scan::of(connection, table);
    loop {
        let rows = scan.next().await?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in &rows {
            found::<R>(recount, table, row);
        }
    }
}

impl Postgres {
    /// Fails at the first record that is not what was written.
    pub(crate) async fn verify(&self) -> Result<(), Failure> {
        let audit = self.audit_once().await?;
        let unreadable = audit.findings.into_iter().find_map(|finding| match finding {
            AuditFinding::Unreadable { reason } => Some(reason),
            AuditFinding::Miscounted { .. }
            | AuditFinding::LiveDiffers { .. }
            | AuditFinding::StripeMissing { .. }
            | AuditFinding::InForceAndGarbage { .. }
            | AuditFinding::LengthDiffers { .. }
            | AuditFinding::ExtentOutside { .. }
            | AuditFinding::UsageDiffers { .. }
            | AuditFinding::Orphan { .. } => None,
        });
        unreadable.map_or(Ok(()), |reason| Err(CatalogError::Corrupt { reason }.into()))
    }

    /// Recounts everything of one moment.
    pub(crate) async fn audit_once(&self) -> Result<Audit, Failure> {
        let lent = self.lend_reader().await?;
        let audited = async {
            lent.pipeline(Some(Edge::Look), &[], None).await?;
            let (mut stripes, mut scan) = (0, Scan::of(&lent, Table::Stripes));
            loop {
                let rows = scan.next().await?.len() as u64;
                if rows == 0 {
                    break;
                }
                stripes += rows;
            }
            let shares = stripes.div_ceil(COUNTED_MAX).max(1);
            let mut audit = recounted(&lent, Recount::of_share(0, shares)).await?;
            for share in 1..shares {
                audit.take(recounted(&lent, Recount::of_share(share, shares)).await?);
            }
            lent.end_look();
            Ok(audit)
        };
        let audited = audited.await;
        self.give_back(lent, audited)
    }
}

async fn recounted(connection: &Connection, mut recount: Recount) -> Result<Audit, Failure> {
    let it = &mut recount;
    stripes(connection, it).await?;
    objects(connection, it).await?;
    tombstones(connection, it).await?;
    outlived(connection, it).await?;
    uploads(connection, it).await?;
    readable::<Number>(connection, Table::Facts, it).await?;
    readable::<Number>(connection, Table::Nodes, it).await?;
    readable::<Number>(connection, Table::Sessions, it).await?;
    readable::<Watermark>(connection, Table::Watermarks, it).await?;
    readable::<Lease>(connection, Table::Leases, it).await?;
    readable::<GatewayRecord>(connection, Table::Gateways, it).await?;
    let mut scan = Scan::of(connection, Table::Accounts);
    loop {
        let rows = scan.next().await?;
        if rows.is_empty() {
            break;
        }
        for row in &rows {
            if let Some(account) = found::<Account>(it, Table::Accounts, row) {
                it.usage(&shown(&row.0), account.usage());
            }
        }
    }
    Ok(recount.finish())
}

async fn stripes(connection: &Connection, recount: &mut Recount) -> Result<(), Failure> {
    for table in [Table::Stripes, Table::Garbage, Table::Leftovers, Table::Buckets] {
        let mut scan = Scan::of(connection, table);
        loop {
            let found_rows = scan.next().await?;
            if found_rows.is_empty() {
                break;
            }
            if table == Table::Leftovers {
                leftovers(connection, recount, &found_rows).await?;
                continue;
            }
            for row in &found_rows {
                if table == Table::Buckets {
                    if let Some(bucket) = found::<Bucket>(recount, table, row) {
                        recount.bucket(&bucket);
                    }
                    continue;
                }
                let id = split_stripe(&row.0)?.0;
                if table == Table::Stripes {
                    if let Some(held) = found::<Held>(recount, table, row) {
                        recount.stripe(id, &held, true);
                    }
                } else if found::<Garbage>(recount, table, row).is_some() {
                    recount.garbage(id);
                }
            }
        }
    }
    Ok(())
}

async fn leftovers(
    connection: &Connection,
    recount: &mut Recount,
    copies: &[Pair],
) -> Result<(), Failure> {
    let keys = copies.iter().map(|(key, _)| split_stripe(key).map(|(id, _)| id.0.to_be_bytes()));
    let keys = keys.map(|key| key.map(Vec::from)).collect::<Result<_, _>>()?;
    let held = rows(connection, Table::Stripes, keys).await?;
    for row in copies {
        if found::<Number>(recount, Table::Leftovers, row).is_none() {
            continue;
        }
        let copy = leftover_of(&row.0)?;
        let key = copy.stripe.0.to_be_bytes();
        let stripe = held.get(key.as_slice()).and_then(|bytes| {
            // One that cannot be read is named already.
            read::<Held>(Table::Stripes, &key, bytes).ok()
        });
        let node: Option<NodeId> = stripe.and_then(|held| held.stripe.node(copy.index.into()));
        if node == Some(copy.node) {
            let name = FragmentId { stripe: copy.stripe, index: copy.index };
            unreadable(recount, format!("fragment {name} is where it is a leftover"));
        }
    }
    Ok(())
}

async fn objects(connection: &Connection, recount: &mut Recount) -> Result<(), Failure> {
    let mut scan = Scan::of(connection, Table::Objects);
    loop {
        let found_rows = scan.next().await?;
        let (Some((first, _)), Some((last, _))) = (found_rows.first(), found_rows.last()) else {
            return Ok(());
        };
        let end = [last.as_slice(), b"\0"].concat();
        let values =
            vec![Value::Bytes(first.clone()), Value::Bytes(end), Value::limit(found_rows.len())];
        let short = connection.ask(&[Ask(Sql::Shown, values)]).await?;
        let short = short[0].iter().map(|row| Ok((column(row, 0)?, column(row, 1)?)));
        let short = short.collect::<Result<BTreeMap<_, _>, CatalogError>>()?;
        for row in &found_rows {
            let Some(object) = found::<Object>(recount, Table::Objects, row) else { continue };
            let place = place_of(&row.0)?;
            recount.object(&place.bucket, &place.key, &object);
            let shown = short.get(&row.0).map(|bytes| Short::unseal(&row.0, bytes));
            if !matches!(shown, Some(Ok(shown)) if shown.is_of(&object)) {
                let at = format!("{}/{}", place.bucket, place.key);
                unreadable(recount, format!("what listings show of {at} is not what it is"));
            }
        }
    }
}

async fn tombstones(connection: &Connection, recount: &mut Recount) -> Result<(), Failure> {
    let mut scan = Scan::of(connection, Table::Tombstones);
    loop {
        let found_rows = scan.next().await?;
        if found_rows.is_empty() {
            return Ok(());
        }
        let keys: Vec<_> = found_rows.iter().map(|(key, _)| key.clone()).collect();
        let objects = rows(connection, Table::Objects, keys).await?;
        let names = found_rows.iter().map(|(key, _)| Ok(place_of(key)?.bucket.as_bytes().into()));
        let names = names.collect::<Result<_, CatalogError>>()?;
        let buckets = rows(connection, Table::Buckets, names).await?;
        for row in &found_rows {
            let Place { bucket, key } = place_of(&row.0)?;
            if objects.contains_key(&row.0) {
                unreadable(recount, format!("tombstone {bucket}/{key} is of what is there"));
            }
            if key.is_empty() && buckets.contains_key(bucket.as_bytes()) {
                unreadable(recount, format!("bucket {bucket} is there and deleted"));
            }
            if let Some(tombstone) = found::<Tombstone>(recount, Table::Tombstones, row) {
                recount.tombstone(&bucket, &key, &tombstone);
            }
        }
    }
}

async fn outlived(connection: &Connection, recount: &mut Recount) -> Result<(), Failure> {
    let (mut scan, mut count) = (Scan::of(connection, Table::Outlived), 0);
    loop {
        let found_rows = scan.next().await?;
        if found_rows.is_empty() {
            break;
        }
        count += found_rows.len();
        let split = found_rows.iter().map(|(key, _)| split_outlived(key));
        let split: Vec<(StripeId, Place<'_>)> = split.collect::<Result<_, _>>()?;
        let ids: Vec<_> = split.iter().map(|(id, _)| id.0.to_be_bytes().to_vec()).collect();
        let mut known = rows(connection, Table::Stripes, ids.clone()).await?;
        known.append(&mut rows(connection, Table::Garbage, ids).await?);
        let places = split.iter().map(|(id, at)| outlived_at_key(at, *id)).collect();
        let places = rows(connection, Table::OutlivedAt, places).await?;
        let tellers = tellers(connection, &split).await?;
        for (row, (id, at)) in found_rows.iter().zip(&split) {
            found::<Nothing>(recount, Table::Outlived, row);
            let what = || format!("what stripe {id} told of {}/{}", at.bucket, at.key);
            if !known.contains_key(id.0.to_be_bytes().as_slice()) {
                unreadable(recount, format!("{} is outlived, and the stripe is gone", what()));
            }
            if tellers.contains(&(*id, key_of(at))) {
                unreadable(recount, format!("{} is outlived and so", what()));
            }
            if !places.contains_key(&outlived_at_key(at, *id)) {
                unreadable(recount, format!("{} has no place", what()));
            }
        }
    }
    let (mut scan, mut places) = (Scan::of(connection, Table::OutlivedAt), 0);
    loop {
        let found_rows = scan.next().await?;
        if found_rows.is_empty() {
            break;
        }
        places += found_rows.len();
        for row in &found_rows {
            found::<Nothing>(recount, Table::OutlivedAt, row);
        }
    }
    if count != places {
        unreadable(recount, "what is outlived and its places differ in number".into());
    }
    Ok(())
}

/// Which stripes tell what stands at places, with these.
async fn tellers(
    connection: &Connection,
    split: &[(StripeId, Place<'_>)],
) -> Result<BTreeSet<(StripeId, Vec<u8>)>, Failure> {
    let keys: Vec<_> = split.iter().map(|(_, at)| key_of(at)).collect();
    let mut tellers = BTreeSet::new();
    // What cannot be read of these is named elsewhere.
    for (key, bytes) in rows(connection, Table::Objects, keys.clone()).await? {
        let object = read::<Object>(Table::Objects, &key, &bytes);
        tellers.extend(object.ok().map(|object| (object.told_by, key)));
    }
    for (key, bytes) in rows(connection, Table::Tombstones, keys).await? {
        let tombstone = read::<Tombstone>(Table::Tombstones, &key, &bytes);
        tellers.extend(tombstone.ok().map(|tombstone| (tombstone.told_by, key)));
    }
    let own = split.iter().filter(|(_, at)| at.key.is_empty());
    let names = own.map(|(_, at)| at.bucket.as_bytes().to_vec()).collect();
    for (name, bytes) in rows(connection, Table::Buckets, names).await? {
        if let Ok(bucket) = read::<Bucket>(Table::Buckets, &name, &bytes) {
            tellers.insert((bucket.told_by, key_of(&Place::of_bucket(&bucket.name))));
        }
    }
    Ok(tellers)
}

async fn uploads(connection: &Connection, recount: &mut Recount) -> Result<(), Failure> {
    let (mut scan, mut count) = (Scan::of(connection, Table::Uploads), 0);
    loop {
        let found_rows = scan.next().await?;
        if found_rows.is_empty() {
            break;
        }
        count += found_rows.len();
        let read =
            found_rows.iter().filter_map(|row| found::<Upload>(recount, Table::Uploads, row));
        let read: Vec<Upload> = read.collect();
        let place = |it: &Upload| upload_place(&Place::new(&it.bucket, &it.key), &it.id);
        let places =
            rows(connection, Table::UploadPlaces, read.iter().map(place).collect()).await?;
        for upload in read {
            if !places.contains_key(&place(&upload)) {
                unreadable(recount, format!("upload {} has no place", upload.id));
            }
            recount.upload(&upload);
        }
    }
    let (mut scan, mut places) = (Scan::of(connection, Table::UploadPlaces), 0);
    loop {
        let found_rows = scan.next().await?;
        if found_rows.is_empty() {
            break;
        }
        places += found_rows.len();
        for row in &found_rows {
            found::<Nothing>(recount, Table::UploadPlaces, row);
        }
    }
    if count != places {
        unreadable(recount, "places of uploads and uploads differ in number".into());
    }
    let mut scan = Scan::of(connection, Table::Parts);
    loop {
        let found_rows = scan.next().await?;
        if found_rows.is_empty() {
            return Ok(());
        }
        for row in &found_rows {
            if let Some(part) = found::<UploadedPart>(recount, Table::Parts, row) {
                let upload = ripstop_catalog::object_bucket(&row.0)?;
                if part_key(upload, part.number) != row.0 {
                    unreadable(recount, format!("a part of upload {upload} is not at its number"));
                }
                recount.part(upload, &part);
            }
        }
    }
}
