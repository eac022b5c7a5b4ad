//! Answers to queries.

use crate::connection::{Ask, Connection, Edge, Value};
use crate::failure::Failure;
use crate::fetched::column;
use crate::listing::Kind;
use crate::number::Number;
use crate::place::{
    LAST, beyond, gateway_of, key_of, last_stripe, leftover_key, leftover_of, outlived_at_begin,
    outlived_at_key, outlived_key, part_key, session_of, split_outlived, split_stripe, stripe_key,
};
use crate::postgres::Postgres;
use crate::statement::Sql;
use crate::table::{Table, VOUCHED};
use crate::wanted::read;
use crate::write::{signed, versioning_of};
use ripstop_catalog::{
    Account, BUCKETS_LEN_MAX, Bucket, CatalogError, Garbage, Held, LOCATED_EXTENTS_MAX, Located,
    Object, ObjectVersion, PARTS_LEN_MAX, Query, Reply, Stripe, Usage, Versioning, Vouched,
    object_key, split_object_key,
};
use ripstop_form::Record;
use ripstop_model::{NodeId, StripeId};
use ripstop_object::{Place, split_version_name, versions_begin, versions_end, versions_of};
use std::collections::BTreeMap;
use tokio_postgres::Row;

/// Records that may be long, of one statement.
const LONG_ROWS_MAX: usize = 64;
/// What is wrong with a catalog that does not say which names of stripes are all its own.
const UNDATED: &str = "the time before which it knows every name of a stripe is not recorded";

type Pair = (Vec<u8>, Vec<u8>);

fn corrupt(reason: String) -> CatalogError {
    CatalogError::Corrupt { reason }
}

fn pairs(rows: &[Row]) -> Result<Vec<Pair>, CatalogError> {
    rows.iter().map(|row| Ok((column(row, 0)?, column(row, 1)?))).collect()
}

fn decoded<R: Record>(table: Table, pairs: &[Pair]) -> Result<Vec<R>, CatalogError> {
    pairs.iter().map(|(key, bytes)| read(table, key, bytes)).collect()
}

/// An object with the stripes that came along.
fn located(key: &[u8], bytes: &[u8], row: &Row, at: usize) -> Result<Located, CatalogError> {
    let object: Object = read(Table::Objects, key, bytes)?;
    let came: Vec<Option<Vec<u8>>> =
        row.try_get(at).map_err(|error| CatalogError::Unavailable(Box::new(error)))?;
    let mut found: BTreeMap<StripeId, Stripe> = BTreeMap::new();
    for came in came.into_iter().flatten() {
        let (id, bytes) = split_stripe(&came)?;
        let held: Held = read(Table::Stripes, &stripe_key(id), bytes)?;
        found.insert(id, held.stripe);
    }
    let mut stripes = Vec::new();
    let few = object.extents.len() <= LOCATED_EXTENTS_MAX;
    for extent in object.extents.iter().filter(|_| few) {
        let id = extent.stripe;
        if stripes.iter().all(|(known, _)| *known != id) {
            let gone = || corrupt(format!("an object names stripe {id}, which is gone"));
            stripes.push((id, found.remove(&id).ok_or_else(gone)?));
        }
    }
    Ok(Located { object, stripes, version: None })
}

fn current(bucket: &str, key: &str) -> Ask {
    let space = versions_of(bucket);
    let values = vec![
        Value::Bytes(object_key(bucket, key.as_bytes())),
        Value::Bytes(object_key(&space, versions_begin(key).as_bytes())),
        Value::Bytes(object_key(&space, versions_end(key).as_bytes())),
        Value::Bytes(bucket.as_bytes().to_vec()),
    ];
    Ask(Sql::Current, values)
}

/// What [`current`] was answered.
fn current_of(bucket: &str, rows: &[Row]) -> Result<Option<Located>, Failure> {
    let (mut null, mut latest, mut keeps) = (None, None, false);
    for row in rows {
        let (key, bytes) = (column(row, 0)?, column(row, 1)?);
        let found = located(&key, &bytes, row, 2)?;
        let versioning: Option<i64> = row.try_get(3)?;
        keeps = versioning.is_some_and(|it| versioning_of(it) != Versioning::Never);
        let (of, name) = split_object_key(&key)?;
        if of == bucket {
            null = Some(found);
            continue;
        }
        let odd = || corrupt(format!("{name:?} is no name of a version"));
        latest = Some((found, split_version_name(&name).ok_or_else(odd)?.1));
    }
    if !keeps {
        return Ok(null);
    }
    let of = |located: Located, version| Located { version: Some(version), ..located };
    Ok(match (null, latest) {
        (Some(null), Some((_, id))) if null.object.null_order() > id => {
            Some(of(null, ObjectVersion::Null))
        }
        (_, Some((latest, id))) => Some(of(latest, ObjectVersion::Id(id))),
        (null, None) => null.map(|null| of(null, ObjectVersion::Null)),
    })
}

impl Postgres {
    /// Answers a query, once.
    #[expect(clippy::too_many_lines, reason = "an arm for each query, most of two lines")]
    pub(crate) async fn answer(&self, query: Query<'_>) -> Result<Reply, Failure> {
        Ok(match query {
            Query::Object { bucket, key } => {
                let key = object_key(bucket, key.as_bytes());
                Reply::Object(self.object(&key).await?)
            }
            Query::Current { bucket, key } => {
                let answers = self.ask(&[current(bucket, key)]).await?;
                Reply::Current(current_of(bucket, &answers[0])?)
            }
            Query::BucketWith { bucket, key } => {
                Reply::BucketWith(Box::new(self.bucket_with(bucket, key).await?))
            }
            Query::List { request } => Reply::List(self.list(request, Kind::Objects).await?),
            Query::Versions { request } => {
                Reply::Versions(self.list(request, Kind::Versions).await?)
            }
            Query::Uploads { request } => Reply::Uploads(self.list_uploads(request).await?),
            Query::Bucket { name } => {
                Reply::Bucket(self.row(Table::Buckets, name.as_bytes().into()).await?)
            }
            Query::Buckets { after, max } => Reply::Buckets(self.buckets(after, max).await?),
            Query::Usage { bucket } => {
                let found = self.row::<Account>(Table::Accounts, bucket.as_bytes().into()).await?;
                Reply::Usage(found.unwrap_or_default().usage())
            }
            Query::Usages { after, max } => Reply::Usages(self.usages(after, max).await?),
            Query::Upload { id } => {
                Reply::Upload(self.row(Table::Uploads, id.as_bytes().into()).await?)
            }
            Query::Parts { id, after, max } => {
                let end = beyond(&object_key(id, b""));
                let from = part_key(id, after);
                let found = self.long(Table::Parts, (from, end), max, PARTS_LEN_MAX).await?;
                Reply::Parts(decoded(Table::Parts, &found)?)
            }
            Query::Stripes { ids } => {
                let held = self.held(ids).await?;
                Reply::Stripes(held.into_iter().map(|held| held.map(|held| held.stripe)).collect())
            }
            Query::Held { ids } => Reply::Held(self.held(ids).await?),
            Query::StripesAfter { after, max } => {
                let found = self.after(Table::Stripes, stripe_key(after), LAST, max).await?;
                let of = |(key, bytes): &Pair| {
                    let held: Held = read(Table::Stripes, key, bytes)?;
                    Ok((split_stripe(key)?.0, held.stripe))
                };
                Reply::StripesAfter(found.iter().map(of).collect::<Result<_, CatalogError>>()?)
            }
            Query::Garbage { due_ms, after, max } => {
                let found = self.due(Table::Garbage, stripe_key(after), due_ms, max).await?;
                let of = |(key, bytes): &Pair| {
                    let garbage: Garbage = read(Table::Garbage, key, bytes)?;
                    Ok((split_stripe(key)?.0, garbage.stripe))
                };
                Reply::Garbage(found.iter().map(of).collect::<Result<_, CatalogError>>()?)
            }
            Query::IsGarbage { id } => {
                let found = self.row::<Garbage>(Table::Garbage, stripe_key(id)).await?;
                Reply::IsGarbage(found.is_some())
            }
            Query::Leftovers { due_ms, after, max } => {
                let after = after.as_ref().map(leftover_key).unwrap_or_default();
                let found = self.due(Table::Leftovers, after, due_ms, max).await?;
                let keys = found.iter().map(|(key, _)| leftover_of(key));
                Reply::Leftovers(keys.collect::<Result<_, _>>()?)
            }
            Query::IsLeftover { copy } => {
                let found = self.row::<Number>(Table::Leftovers, leftover_key(&copy)).await?;
                Reply::IsLeftover(found.is_some())
            }
            Query::Tombstone { bucket, key } => {
                let at = key_of(&Place::new(bucket, key));
                Reply::Tombstone(self.row(Table::Tombstones, at).await?)
            }
            Query::OutlivedBy { stripe, after, max } => {
                let from = outlived_key(stripe, &Place::new(after.0, after.1));
                let end = beyond(&stripe_key(stripe));
                let found = self.after(Table::Outlived, from, &end, max).await?;
                let of = |(key, _): &Pair| {
                    let Place { bucket, key } = split_outlived(key)?.1;
                    Ok((bucket.into_owned(), key.into_owned()))
                };
                Reply::OutlivedBy(found.iter().map(of).collect::<Result<_, CatalogError>>()?)
            }
            Query::OutlivedAt { at, after, max } => {
                let at = Place::new(at.0, at.1);
                let end = beyond(&outlived_at_begin(&at));
                let from = outlived_at_key(&at, after);
                let found = self.after(Table::OutlivedAt, from, &end, max).await?;
                let stripes = found.iter().map(|(key, _)| last_stripe(key));
                Reply::OutlivedAt(stripes.collect::<Result<_, _>>()?)
            }
            Query::Watermarks {} => {
                let found = self.after(Table::Watermarks, Vec::new(), LAST, usize::MAX).await?;
                let of = |(key, bytes): &Pair| {
                    Ok((session_of(key)?, read(Table::Watermarks, key, bytes)?))
                };
                Reply::Watermarks(found.iter().map(of).collect::<Result<_, CatalogError>>()?)
            }
            Query::Gateways {} => {
                let found = self.after(Table::Gateways, Vec::new(), LAST, usize::MAX).await?;
                let of = |(key, bytes): &Pair| {
                    Ok((gateway_of(key)?, read(Table::Gateways, key, bytes)?))
                };
                Reply::Gateways(found.iter().map(of).collect::<Result<_, CatalogError>>()?)
            }
            Query::Lease { name } => {
                Reply::Lease(self.row(Table::Leases, name.as_bytes().into()).await?)
            }
            Query::Vouched {} => Reply::Vouched(self.vouched().await?),
            Query::Nodes {} => Reply::Nodes(self.nodes().await?),
            Query::Verify {} => {
                self.verify().await?;
                Reply::Verify(())
            }
        })
    }

    /// Answers to statements that have nothing to do with one another.
    async fn ask(&self, asks: &[Ask]) -> Result<Vec<Vec<Row>>, Failure> {
        let lent = self.lend_reader().await?;
        let answers = lent.ask(asks).await;
        self.give_back(lent, answers)
    }

    async fn pairs(&self, ask: Ask) -> Result<Vec<Pair>, Failure> {
        let answers = self.ask(&[ask]).await?;
        Ok(pairs(&answers[0])?)
    }

    async fn row<R: Record>(&self, table: Table, key: Vec<u8>) -> Result<Option<R>, Failure> {
        let found = self.pairs(Ask(Sql::Rows(table), vec![Value::List(vec![key])])).await?;
        Ok(decoded(table, &found)?.pop())
    }

    async fn after(
        &self,
        table: Table,
        from: Vec<u8>,
        end: &[u8],
        max: usize,
    ) -> Result<Vec<Pair>, Failure> {
        let values = vec![Value::Bytes(from), Value::Bytes(end.to_vec()), Value::limit(max)];
        self.pairs(Ask(Sql::After(table), values)).await
    }

    async fn due(
        &self,
        table: Table,
        from: Vec<u8>,
        due_ms: u64,
        max: usize,
    ) -> Result<Vec<Pair>, Failure> {
        let values = vec![
            Value::Bytes(from),
            Value::Number(signed(due_ms)),
            Value::limit(max),
            Value::Bytes(LAST.to_vec()),
        ];
        self.pairs(Ask(Sql::Due(table), values)).await
    }

    /// Records that may be long: until they are longer than `len_max` together; one at least, if
    /// there is any.
    async fn long(
        &self,
        table: Table,
        (mut from, end): (Vec<u8>, Vec<u8>),
        max: usize,
        len_max: usize,
    ) -> Result<Vec<Pair>, Failure> {
        let (mut found, mut len) = (Vec::new(), 0);
        while found.len() < max {
            let wanted = (max - found.len()).min(LONG_ROWS_MAX);
            let rows = self.after(table, from, &end, wanted).await?;
            let is_last = rows.len() < wanted;
            for (key, bytes) in rows {
                len += bytes.len();
                if len > len_max && !found.is_empty() {
                    return Ok(found);
                }
                found.push((key, bytes));
            }
            let Some((last, _)) = found.last().filter(|_| !is_last) else { break };
            from = last.clone();
        }
        Ok(found)
    }

    async fn object(&self, key: &[u8]) -> Result<Option<Located>, Failure> {
        let answers = self.ask(&[Ask(Sql::Object, vec![Value::Bytes(key.to_vec())])]).await?;
        let Some(row) = answers[0].first() else { return Ok(None) };
        Ok(Some(located(key, &column(row, 0)?, row, 1)?))
    }

    /// Sent together: each statement begins when the one before it has ended.
    async fn bucket_with(
        &self,
        bucket: &str,
        key: &str,
    ) -> Result<(Option<Bucket>, Option<Located>), Failure> {
        let names = vec![Value::List(vec![bucket.as_bytes().to_vec()])];
        let asks = [Ask(Sql::Rows(Table::Buckets), names), current(bucket, key)];
        let answers = self.ask(&asks).await?;
        let found = decoded(Table::Buckets, &pairs(&answers[0])?)?.pop();
        Ok((found, current_of(bucket, &answers[1])?))
    }

    async fn buckets(&self, after: &str, max: usize) -> Result<Vec<Bucket>, Failure> {
        let range = (after.as_bytes().to_vec(), LAST.to_vec());
        let found = self.long(Table::Buckets, range, max, BUCKETS_LEN_MAX).await?;
        Ok(decoded(Table::Buckets, &found)?)
    }

    async fn usages(&self, after: &str, max: usize) -> Result<Vec<(String, Usage)>, Failure> {
        let buckets = self.buckets(after, max).await?;
        let names = buckets.iter().map(|bucket| bucket.name.as_bytes().to_vec()).collect();
        let found = self.pairs(Ask(Sql::Rows(Table::Accounts), vec![Value::List(names)])).await?;
        let mut accounts = BTreeMap::new();
        for (key, bytes) in found {
            let account: Account = read(Table::Accounts, &key, &bytes)?;
            accounts.insert(key, account.usage());
        }
        let usage = |name: &String| accounts.get(name.as_bytes()).copied().unwrap_or_default();
        Ok(buckets.into_iter().map(|bucket| (bucket.name.clone(), usage(&bucket.name))).collect())
    }

    async fn held(&self, ids: &[StripeId]) -> Result<Vec<Option<Held>>, Failure> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let keys = ids.iter().map(|id| stripe_key(*id)).collect();
        let found = self.pairs(Ask(Sql::Rows(Table::Stripes), vec![Value::List(keys)])).await?;
        let mut held = BTreeMap::new();
        for (key, bytes) in found {
            let stripe: Held = read(Table::Stripes, &key, &bytes)?;
            held.insert(split_stripe(&key)?.0, stripe);
        }
        Ok(ids.iter().map(|id| held.get(id).cloned()).collect())
    }

    async fn vouched(&self) -> Result<Vouched, Failure> {
        let all = vec![Value::Bytes(Vec::new()), Value::Bytes(LAST.to_vec())];
        let all = [all, vec![Value::limit(usize::MAX)]].concat();
        let asks = [
            Ask(Sql::Rows(Table::Facts), vec![Value::List(vec![VOUCHED.to_vec()])]),
            Ask(Sql::After(Table::Sessions), all),
        ];
        // At one moment: what a session gives up, the time before which all is known takes over.
        let lent = self.lend_reader().await?;
        let answers = looked(&lent, &asks).await;
        let answers = self.give_back(lent, answers)?;
        let before: Vec<Number> = decoded(Table::Facts, &pairs(&answers[0])?)?;
        let before = before.first().ok_or_else(|| corrupt(UNDATED.into()))?;
        let mut vouched = Vouched::before(before.0);
        for (key, bytes) in pairs(&answers[1])? {
            let until: Number = read(Table::Sessions, &key, &bytes)?;
            vouched.sessions.insert(session_of(&key)?, until.0);
        }
        Ok(vouched)
    }

    async fn nodes(&self) -> Result<Vec<(String, NodeId)>, Failure> {
        let mut nodes = Vec::new();
        for (key, bytes) in self.after(Table::Nodes, Vec::new(), LAST, usize::MAX).await? {
            let Number(number) = read(Table::Nodes, &key, &bytes)?;
            let number = u16::try_from(number).map_err(|_| corrupt(format!("node {number}")))?;
            let name = String::from_utf8(key).map_err(|_| corrupt("a name is not UTF-8".into()))?;
            nodes.push((name, NodeId(number)));
        }
        Ok(nodes)
    }
}

async fn looked(connection: &Connection, asks: &[Ask]) -> Result<Vec<Vec<Row>>, Failure> {
    let answers = connection.pipeline(Some(Edge::Look), asks, None).await?;
    connection.end_look();
    Ok(answers)
}
