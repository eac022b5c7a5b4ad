//! One change against the tables of a transaction: everything is checked before anything is
//! written, so a refused change leaves no trace among its neighbours.

use super::encoding::{Held, VOUCHED, decode, encode, garbage, leftover_key, object_key};
use super::failure::Stop;
use super::reference::{Turnover, held_by, named};
use super::table::{Tables, record};
use crate::{
    Applied, Bucket, CatalogError, Change, Condition, Leftover, Object, Quota, SESSIONS_MAX,
    Session, Stripe, Upload, UploadedPart,
};
use redb::{ReadableTable, ReadableTableMetadata};
use ripstop_model::{NodeId, StripeId};
use std::collections::BTreeSet;

/// Applies `change`, or says why not.
pub(super) fn apply(
    tables: &mut Tables<'_>,
    now_ms: u64,
    change: &Change,
) -> Result<Applied, Stop> {
    match change {
        Change::CreateBucket { bucket, stripes } => create_bucket(tables, now_ms, bucket, stripes),
        Change::DeleteBucket { name } => delete_bucket(tables, now_ms, name),
        Change::PutObject { bucket, key, object, stripes, condition, quota } => {
            must_have_bucket(tables, bucket)?;
            let new = New { object, stripes, condition, quota };
            put(tables, now_ms, (bucket, key), &new, &[])
        }
        Change::DeleteObject { bucket, key, condition } => {
            delete_object(tables, now_ms, bucket, key, condition)
        }
        Change::CreateUpload(upload) => create_upload(tables, upload),
        Change::PutPart { upload, part, stripes, quota } => {
            put_part(tables, now_ms, upload, part, stripes, quota)
        }
        Change::CompleteUpload { upload, parts, object, stripes, condition, quota } => {
            let new = New { object, stripes, condition, quota };
            complete_upload(tables, now_ms, upload, parts, &new)
        }
        Change::AbortUpload { upload } => abort_upload(tables, now_ms, upload),
        Change::Discard { stripes } => discard(tables, now_ms, stripes),
        Change::PlaceFragment { stripe, index, node } => {
            place_fragment(tables, *stripe, *index, *node)
        }
        Change::MoveFragment { stripe, nodes, index, to } => {
            move_fragment(tables, now_ms, *stripe, nodes, *index, *to)
        }
        Change::ForgetLeftovers { leftovers } => {
            for copy in leftovers {
                tables.leftovers.remove(leftover_key(copy))?;
            }
            Ok(Applied::default())
        }
        Change::ForgetGarbage { stripes } => {
            for stripe in stripes {
                tables.garbage.remove(stripe.0)?;
            }
            Ok(Applied::default())
        }
        Change::Reserve { session, until_ms } => reserve(tables, *session, *until_ms),
        Change::Vouch { before_ms } => {
            tables.sessions.retain(|_, _| false)?;
            tables.meta.insert(VOUCHED, before_ms)?;
            tables.sign_accounts()?;
            Ok(Applied::default())
        }
        Change::NameNode { name } => name_node(tables, name),
    }
}

fn reserve(tables: &mut Tables<'_>, session: Session, until_ms: u64) -> Result<Applied, Stop> {
    let known = tables.sessions.get(session.0)?.map(|until| until.value());
    if known.is_none() && tables.sessions.len()? >= SESSIONS_MAX as u64 {
        let mut oldest = (u64::MAX, 0);
        for entry in tables.sessions.iter()? {
            let (session, until) = entry?;
            oldest = oldest.min((until.value(), session.value()));
        }
        tables.sessions.remove(oldest.1)?;
        let before = tables.meta.get(VOUCHED)?.map_or(0, |before| before.value());
        tables.meta.insert(VOUCHED, before.max(oldest.0 + 1))?;
    }
    tables.sessions.insert(session.0, known.unwrap_or(0).max(until_ms))?;
    tables.sign_accounts()?;
    Ok(Applied::default())
}

fn refuse<T>(error: CatalogError) -> Result<T, Stop> {
    Err(Stop::Refused(error))
}

fn must_have_bucket(tables: &Tables<'_>, name: &str) -> Result<(), Stop> {
    match tables.buckets.get(name.as_bytes())? {
        Some(_) => Ok(()),
        None => refuse(CatalogError::NoSuchBucket),
    }
}

fn create_bucket(
    tables: &mut Tables<'_>,
    now_ms: u64,
    bucket: &Bucket,
    stripes: &[(StripeId, Stripe)],
) -> Result<Applied, Stop> {
    if tables.buckets.get(bucket.name.as_bytes())?.is_some() {
        return refuse(CatalogError::BucketExists);
    }
    let mut turnover = Turnover::new(tables, stripes)?;
    turnover.gain(tables, &BTreeSet::from([bucket.told_by.0]))?;
    tables.buckets.insert(bucket.name.as_bytes(), encode(bucket).as_slice())?;
    turnover.settle(tables, now_ms)?;
    Ok(Applied::default())
}

fn delete_bucket(tables: &mut Tables<'_>, now_ms: u64, name: &str) -> Result<Applied, Stop> {
    let Some(bucket) = record::<Bucket>(&tables.buckets, name.as_bytes())? else {
        return refuse(CatalogError::NoSuchBucket);
    };
    let keys = object_key(name, b"");
    if let Some(first) = tables.objects.range(keys.as_slice()..)?.next()
        && first?.0.value().starts_with(&keys)
    {
        return refuse(CatalogError::BucketNotEmpty);
    }
    let uploads = (name.as_bytes(), b"".as_slice(), b"".as_slice());
    if let Some(first) = tables.uploads_by_key.range(uploads..)?.next()
        && first?.0.value().0 == name.as_bytes()
    {
        return refuse(CatalogError::BucketNotEmpty);
    }
    let mut turnover = Turnover::default();
    turnover.lose(BTreeSet::from([bucket.told_by.0]));
    tables.buckets.remove(name.as_bytes())?;
    turnover.settle(tables, now_ms)?;
    Ok(Applied::default())
}

/// An object that is to be put, and what must hold for it.
struct New<'a> {
    object: &'a Object,
    stripes: &'a [(StripeId, Stripe)],
    condition: &'a Condition,
    quota: &'a Quota,
}

/// Puts the object if the condition holds of the present one, whose stripes it lets go of, and of
/// those of the `ended` parts.
fn put(
    tables: &mut Tables<'_>,
    now_ms: u64,
    (bucket, key): (&str, &str),
    new: &New<'_>,
    ended: &[UploadedPart],
) -> Result<Applied, Stop> {
    let New { object, stripes, condition, quota } = *new;
    let key = object_key(bucket, key.as_bytes());
    let replaced = record::<Object>(&tables.objects, &key)?;
    hold(condition, replaced.as_ref())?;
    let before = tables.account(bucket)?;
    let after = before.exchange(replaced.as_ref(), Some(object)).exchange_parts(ended, None);
    quota.check(before.usage(), after.usage()).or_else(refuse)?;
    let mut turnover = Turnover::new(tables, stripes)?;
    turnover.gain(tables, &held_by(object))?;
    if let Some(old) = &replaced {
        turnover.lose(held_by(old));
    }
    for part in ended {
        turnover.lose(named(&part.extents));
    }
    tables.objects.insert(key.as_slice(), encode(object).as_slice())?;
    turnover.settle(tables, now_ms)?;
    tables.set_account(bucket, after);
    Ok(Applied { replaced, node: None })
}

/// Refuses unless the condition holds of the key's present object.
fn hold(condition: &Condition, present: Option<&Object>) -> Result<(), Stop> {
    condition.check(present).or_else(refuse)
}

fn delete_object(
    tables: &mut Tables<'_>,
    now_ms: u64,
    bucket: &str,
    key: &str,
    condition: &Condition,
) -> Result<Applied, Stop> {
    must_have_bucket(tables, bucket)?;
    let key = object_key(bucket, key.as_bytes());
    let replaced = record::<Object>(&tables.objects, &key)?;
    hold(condition, replaced.as_ref())?;
    if let Some(old) = &replaced {
        let mut turnover = Turnover::default();
        turnover.lose(held_by(old));
        tables.objects.remove(key.as_slice())?;
        turnover.settle(tables, now_ms)?;
        let account = tables.account(bucket)?.exchange(replaced.as_ref(), None);
        tables.set_account(bucket, account);
    }
    Ok(Applied { replaced, node: None })
}

fn create_upload(tables: &mut Tables<'_>, upload: &Upload) -> Result<Applied, Stop> {
    must_have_bucket(tables, &upload.bucket)?;
    if tables.uploads.get(upload.id.as_bytes())?.is_some() {
        return refuse(CatalogError::ConditionFailed);
    }
    tables.uploads.insert(upload.id.as_bytes(), encode(upload).as_slice())?;
    tables.uploads_by_key.insert(place(upload), ())?;
    Ok(Applied::default())
}

fn place(upload: &Upload) -> (&[u8], &[u8], &[u8]) {
    (upload.bucket.as_bytes(), upload.key.as_bytes(), upload.id.as_bytes())
}

fn must_have_upload(tables: &Tables<'_>, id: &str) -> Result<Upload, Stop> {
    match record(&tables.uploads, id.as_bytes())? {
        Some(upload) => Ok(upload),
        None => refuse(CatalogError::NoSuchUpload),
    }
}

fn put_part(
    tables: &mut Tables<'_>,
    now_ms: u64,
    upload: &str,
    part: &UploadedPart,
    stripes: &[(StripeId, Stripe)],
    quota: &Quota,
) -> Result<Applied, Stop> {
    let bucket = must_have_upload(tables, upload)?.bucket;
    let key = (upload.as_bytes(), part.number);
    let old = tables.parts.get(key)?.map(|old| decode::<UploadedPart>(old.value()));
    let old = old.transpose().map_err(Stop::Failed)?;
    let before = tables.account(&bucket)?;
    let after = before.exchange_parts(old.as_slice(), Some(part));
    quota.check(before.usage(), after.usage()).or_else(refuse)?;
    let mut turnover = Turnover::new(tables, stripes)?;
    turnover.gain(tables, &named(&part.extents))?;
    if let Some(old) = &old {
        turnover.lose(named(&old.extents));
    }
    tables.parts.insert(key, encode(part).as_slice())?;
    turnover.settle(tables, now_ms)?;
    tables.set_account(&bucket, after);
    Ok(Applied::default())
}

fn parts_of(tables: &Tables<'_>, upload: &str) -> Result<Vec<UploadedPart>, Stop> {
    let id = upload.as_bytes();
    let mut parts = Vec::new();
    for entry in tables.parts.range((id, 0)..=(id, u16::MAX))? {
        parts.push(decode(entry?.1.value()).map_err(Stop::Failed)?);
    }
    Ok(parts)
}

fn complete_upload(
    tables: &mut Tables<'_>,
    now_ms: u64,
    id: &str,
    used: &[(u16, String)],
    new: &New<'_>,
) -> Result<Applied, Stop> {
    let upload = must_have_upload(tables, id)?;
    let parts = parts_of(tables, id)?;
    let held = held_by(new.object);
    for (number, etag) in used {
        let found = parts.binary_search_by_key(number, |part| part.number).map(|at| &parts[at]);
        let is_as_it_was =
            found.is_ok_and(|part| part.etag == *etag && named(&part.extents).is_subset(&held));
        if !is_as_it_was {
            return refuse(CatalogError::PartChanged { number: *number });
        }
    }
    let applied = put(tables, now_ms, (&upload.bucket, &upload.key), new, &parts)?;
    forget_upload(tables, &upload, &parts)?;
    Ok(applied)
}

fn abort_upload(tables: &mut Tables<'_>, now_ms: u64, id: &str) -> Result<Applied, Stop> {
    let upload = must_have_upload(tables, id)?;
    let parts = parts_of(tables, id)?;
    let mut turnover = Turnover::default();
    for part in &parts {
        turnover.lose(named(&part.extents));
    }
    forget_upload(tables, &upload, &parts)?;
    turnover.settle(tables, now_ms)?;
    let account = tables.account(&upload.bucket)?.exchange_parts(&parts, None);
    tables.set_account(&upload.bucket, account);
    Ok(Applied::default())
}

fn forget_upload(
    tables: &mut Tables<'_>,
    upload: &Upload,
    parts: &[UploadedPart],
) -> Result<(), Stop> {
    for part in parts {
        tables.parts.remove((upload.id.as_bytes(), part.number))?;
    }
    tables.uploads_by_key.remove(place(upload))?;
    tables.uploads.remove(upload.id.as_bytes())?;
    Ok(())
}

fn discard(
    tables: &mut Tables<'_>,
    now_ms: u64,
    stripes: &[(StripeId, Stripe)],
) -> Result<Applied, Stop> {
    for (id, stripe) in stripes {
        if tables.stripes.get(id.0)?.is_none() && tables.garbage.get(id.0)?.is_none() {
            tables.garbage.insert(id.0, garbage(now_ms, stripe).as_slice())?;
        }
    }
    Ok(Applied::default())
}

fn place_fragment(
    tables: &mut Tables<'_>,
    id: StripeId,
    index: u8,
    node: Option<NodeId>,
) -> Result<Applied, Stop> {
    let Some(mut held) = in_force(tables, id)? else { return Ok(Applied::default()) };
    let (nodes, index) = (&mut held.stripe.nodes, usize::from(index));
    if index >= nodes.len() && node.is_some() {
        nodes.resize(index + 1, None);
    }
    if let Some(slot) = nodes.get_mut(index) {
        *slot = node.map(|node| node.0);
        tables.stripes.insert(id.0, encode(&held).as_slice())?;
    }
    if let Some(node) = node {
        tables.leftovers.remove((id.0, index as u8, node.0))?;
    }
    Ok(Applied::default())
}

fn in_force(tables: &Tables<'_>, id: StripeId) -> Result<Option<Held>, Stop> {
    let found = tables.stripes.get(id.0)?;
    found.map(|found| decode::<Held>(found.value())).transpose().map_err(Stop::Failed)
}

/// Places a fragment elsewhere if its stripe is as it was; what is left of it there is to be deleted.
fn move_fragment(
    tables: &mut Tables<'_>,
    now_ms: u64,
    id: StripeId,
    nodes: &[Option<u16>],
    index: u8,
    to: NodeId,
) -> Result<Applied, Stop> {
    let Some(held) = in_force(tables, id)? else {
        return refuse(CatalogError::StripeGone { stripe: id });
    };
    if held.stripe.nodes != nodes || usize::from(index) >= nodes.len() {
        return refuse(CatalogError::ConditionFailed);
    }
    if let Some(node) = held.stripe.node(index.into()) {
        let copy = Leftover { stripe: id, index, node };
        tables.leftovers.insert(leftover_key(&copy), now_ms)?;
    }
    place_fragment(tables, id, index, Some(to))
}

fn name_node(tables: &mut Tables<'_>, name: &str) -> Result<Applied, Stop> {
    if let Some(number) = tables.nodes.get(name.as_bytes())? {
        return Ok(Applied { replaced: None, node: Some(NodeId(number.value())) });
    }
    // Names are never removed, so their count is the lowest number that is free.
    let Ok(number) = u16::try_from(tables.nodes.len()?) else {
        return refuse(CatalogError::Unavailable("every number of a node is taken".into()));
    };
    tables.nodes.insert(name.as_bytes(), number)?;
    Ok(Applied { replaced: None, node: Some(NodeId(number)) })
}
