//! One change against the tables of a transaction: everything is checked before anything is
//! written, so a refused change leaves no trace among its neighbours.

use super::failure::{Stop, corrupt};
use super::key::object_key;
use super::kinds::{Garbage, Nothing, Number, VOUCHED, leftover_key};
use super::reference::{Turnover, held_by, named};
use super::table::Tables;
use crate::{
    Applied, Bucket, Change, Condition, Leftover, Object, Quota, Refusal, SESSIONS_MAX, Session,
    Stripe, Upload, UploadedPart,
};
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
        Change::DeleteBucket { name, stripes, .. } => {
            let applied = delete_bucket(tables, now_ms, name)?;
            discard(tables, now_ms, stripes)?;
            Ok(applied)
        }
        Change::PutObject { bucket, key, object, stripes, condition, quota } => {
            must_have_bucket(tables, bucket)?;
            let new = New { object, stripes, condition, quota };
            put(tables, now_ms, (bucket, key), &new, &[])
        }
        Change::DeleteObject { bucket, key, condition, stripes, .. } => {
            let applied = delete_object(tables, now_ms, bucket, key, condition)?;
            discard(tables, now_ms, stripes)?;
            Ok(applied)
        }
        Change::Outlive { stripe, .. } => discard(tables, now_ms, std::slice::from_ref(stripe)),
        Change::Bury { stripes, .. } => discard(tables, now_ms, stripes),
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
                tables.leftovers.remove(&leftover_key(copy))?;
            }
            Ok(Applied::default())
        }
        Change::ForgetGarbage { stripes } => {
            for stripe in stripes {
                tables.garbage.remove(&stripe.0)?;
            }
            Ok(Applied::default())
        }
        Change::Reserve { session, until_ms } => reserve(tables, *session, *until_ms),
        Change::Vouch { before_ms } => {
            tables.sessions.clear()?;
            tables.facts.insert(&VOUCHED, &Number(*before_ms))?;
            Ok(Applied::default())
        }
        Change::NameNode { name } => name_node(tables, name),
    }
}

fn reserve(tables: &mut Tables<'_>, session: Session, until_ms: u64) -> Result<Applied, Stop> {
    let known = tables.sessions.number(&session.0)?;
    if known.is_none() && tables.sessions.len()? >= SESSIONS_MAX as u64 {
        let mut oldest = (u64::MAX, 0);
        for entry in tables.sessions.all()? {
            let entry = entry?;
            oldest = oldest.min((entry.read()?.0, entry.key()));
        }
        tables.sessions.remove(&oldest.1)?;
        let before = tables.facts.number(&VOUCHED)?.unwrap_or(0);
        tables.facts.insert(&VOUCHED, &Number(before.max(oldest.0 + 1)))?;
    }
    tables.sessions.insert(&session.0, &Number(known.unwrap_or(0).max(until_ms)))?;
    Ok(Applied::default())
}

fn refuse<T>(error: Refusal) -> Result<T, Stop> {
    Err(Stop::Refused(error))
}

fn must_have_bucket(tables: &Tables<'_>, name: &str) -> Result<(), Stop> {
    match tables.buckets.get(&name.as_bytes())? {
        Some(_) => Ok(()),
        None => refuse(Refusal::NoSuchBucket),
    }
}

fn create_bucket(
    tables: &mut Tables<'_>,
    now_ms: u64,
    bucket: &Bucket,
    stripes: &[(StripeId, Stripe)],
) -> Result<Applied, Stop> {
    if tables.buckets.get(&bucket.name.as_bytes())?.is_some() {
        return refuse(Refusal::BucketExists);
    }
    let mut turnover = Turnover::new(tables, stripes)?;
    turnover.gain(tables, &BTreeSet::from([bucket.told_by.0]))?;
    tables.buckets.insert(&bucket.name.as_bytes(), bucket)?;
    turnover.settle(tables, now_ms)?;
    Ok(Applied::default())
}

fn delete_bucket(tables: &mut Tables<'_>, now_ms: u64, name: &str) -> Result<Applied, Stop> {
    let Some(bucket) = tables.buckets.get(&name.as_bytes())? else {
        return refuse(Refusal::NoSuchBucket);
    };
    let keys = object_key(name, b"");
    if let Some(first) = tables.objects.range(keys.as_slice()..)?.next()
        && first?.key().starts_with(&keys)
    {
        return refuse(Refusal::BucketNotEmpty);
    }
    let uploads = (name.as_bytes(), b"".as_slice(), b"".as_slice());
    if let Some(first) = tables.uploads_by_key.range(uploads..)?.next()
        && first?.key().0 == name.as_bytes()
    {
        return refuse(Refusal::BucketNotEmpty);
    }
    let mut turnover = Turnover::default();
    turnover.lose(BTreeSet::from([bucket.told_by.0]));
    tables.buckets.remove(&name.as_bytes())?;
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
    let replaced = present(tables, &key, condition)?;
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
    tables.objects.insert(&key.as_slice(), object)?;
    turnover.settle(tables, now_ms)?;
    tables.set_account(bucket, after);
    Ok(Applied { replaced, ..Applied::default() })
}

/// The key's present object, if the condition holds of it. A condition is an answer to whoever asks: that
/// there is none must be certain then.
fn present(tables: &Tables<'_>, key: &[u8], condition: &Condition) -> Result<Option<Object>, Stop> {
    let present = if *condition == Condition::None {
        tables.objects.find(&key)?
    } else {
        tables.objects.get(&key)?
    };
    condition.check(present.as_ref()).or_else(refuse)?;
    Ok(present)
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
    let replaced = present(tables, &key, condition)?;
    if let Some(old) = &replaced {
        let mut turnover = Turnover::default();
        turnover.lose(held_by(old));
        tables.objects.remove(&key.as_slice())?;
        turnover.settle(tables, now_ms)?;
        let account = tables.account(bucket)?.exchange(replaced.as_ref(), None);
        tables.set_account(bucket, account);
    }
    Ok(Applied { replaced, ..Applied::default() })
}

fn create_upload(tables: &mut Tables<'_>, upload: &Upload) -> Result<Applied, Stop> {
    must_have_bucket(tables, &upload.bucket)?;
    if tables.uploads.find(&upload.id.as_bytes())?.is_some() {
        return refuse(Refusal::ConditionFailed);
    }
    tables.uploads.insert(&upload.id.as_bytes(), upload)?;
    tables.uploads_by_key.insert(&place(upload), &Nothing)?;
    Ok(Applied::default())
}

fn place(upload: &Upload) -> (&[u8], &[u8], &[u8]) {
    (upload.bucket.as_bytes(), upload.key.as_bytes(), upload.id.as_bytes())
}

fn must_have_upload(tables: &Tables<'_>, id: &str) -> Result<Upload, Stop> {
    match tables.uploads.get(&id.as_bytes())? {
        Some(upload) => Ok(upload),
        None => refuse(Refusal::NoSuchUpload),
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
    let old = tables.parts.get(&key)?;
    let before = tables.account(&bucket)?;
    let after = before.exchange_parts(old.as_slice(), Some(part));
    quota.check(before.usage(), after.usage()).or_else(refuse)?;
    let mut turnover = Turnover::new(tables, stripes)?;
    turnover.gain(tables, &named(&part.extents))?;
    if let Some(old) = &old {
        turnover.lose(named(&old.extents));
    }
    tables.parts.insert(&key, part)?;
    turnover.settle(tables, now_ms)?;
    tables.set_account(&bucket, after);
    Ok(Applied::default())
}

fn parts_of(tables: &Tables<'_>, upload: &str) -> Result<Vec<UploadedPart>, Stop> {
    let id = upload.as_bytes();
    let mut parts = Vec::new();
    for entry in tables.parts.range((id, 0)..=(id, u16::MAX))? {
        parts.push(entry?.read()?);
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
            return refuse(Refusal::PartChanged { number: *number });
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
        tables.parts.remove(&(upload.id.as_bytes(), part.number))?;
    }
    tables.uploads_by_key.remove(&place(upload))?;
    tables.uploads.remove(&upload.id.as_bytes())?;
    Ok(())
}

fn discard(
    tables: &mut Tables<'_>,
    now_ms: u64,
    stripes: &[(StripeId, Stripe)],
) -> Result<Applied, Stop> {
    for (id, stripe) in stripes {
        if !tables.stripes.has(&id.0)? && !tables.garbage.has(&id.0)? {
            let garbage = Garbage { since_ms: now_ms, stripe: stripe.clone() };
            tables.garbage.insert(&id.0, &garbage)?;
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
    let Some(mut held) = tables.stripes.find(&id.0)? else { return Ok(Applied::default()) };
    let (nodes, index) = (&mut held.stripe.nodes, usize::from(index));
    if index >= nodes.len() && node.is_some() {
        nodes.resize(index + 1, None);
    }
    if let Some(slot) = nodes.get_mut(index) {
        *slot = node.map(|node| node.0);
        tables.stripes.insert(&id.0, &held)?;
    }
    if let Some(node) = node {
        tables.leftovers.remove(&(id.0, index as u8, node.0))?;
    }
    Ok(Applied::default())
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
    let Some(held) = tables.stripes.get(&id.0)? else {
        return refuse(Refusal::StripeGone { stripe: id });
    };
    if held.stripe.nodes != nodes || usize::from(index) >= nodes.len() {
        return refuse(Refusal::ConditionFailed);
    }
    if let Some(node) = held.stripe.node(index.into()) {
        let copy = Leftover { stripe: id, index, node };
        tables.leftovers.insert(&leftover_key(&copy), &Number(now_ms))?;
    }
    place_fragment(tables, id, index, Some(to))
}

fn name_node(tables: &mut Tables<'_>, name: &str) -> Result<Applied, Stop> {
    if let Some(Number(number)) = tables.nodes.get(&name.as_bytes())? {
        let number = u16::try_from(number).map_err(|_| corrupt(format!("node {number}")))?;
        return Ok(Applied { node: Some(NodeId(number)), ..Applied::default() });
    }
    // Names are never removed, so their count is the lowest number that is free.
    let Ok(number) = u16::try_from(tables.nodes.len()?) else {
        return refuse(Refusal::NodesExhausted);
    };
    tables.nodes.insert(&name.as_bytes(), &Number(number.into()))?;
    Ok(Applied { node: Some(NodeId(number)), ..Applied::default() })
}
