//! The rows that a decision looks at, fetched before it is made.

use crate::connection::{Ask, Connection, Edge, Value};
use crate::failure::Failure;
use crate::number::Number;
use crate::place::{
    gateway_of, key_of, last_stripe, outlived_at_begin, outlived_key, part_key, session_of,
    split_outlived, split_upload, stripe_key,
};
use crate::statement::Sql;
use crate::table::{Table, VOUCHED};
use crate::wanted::{Wanted, led_to, read};
use ripstop_catalog::{
    Account, Bucket, CatalogError, Change, GatewayId, GatewayRecord, Held, Lease, Object, Session,
    Tombstone, Upload, UploadedPart, Watermark, object_key, split_object_key,
};
use ripstop_form::Record;
use ripstop_model::{NodeId, StripeId};
use ripstop_object::{Absence, Named, Place, Rows, versions_begin, versions_of};
use std::collections::{BTreeMap, BTreeSet};
use tokio_postgres::Row;

/// How often rows lead to others at most: three times, says whoever names them; what is found of
/// ranges leads on as rows do.
const ROUNDS_MAX: usize = 8;

/// How many rows of ranges a decision takes, unless it takes all.
#[derive(Clone, Copy)]
struct Limits {
    changes: usize,
    stripes: usize,
}

impl Limits {
    fn of(changes: &[Change], named: &[Named<'_>]) -> Self {
        let stripes = named.iter().filter(|named| matches!(named, Named::Stripe(_))).count();
        Self { changes: changes.len(), stripes }
    }

    /// One more than there are changes; of stripes that tell of a key, than there are stripes.
    const fn rows(self, table: Table) -> usize {
        1 + if matches!(table, Table::OutlivedAt) { self.stripes } else { self.changes }
    }
}

/// The keys found of a range.
#[derive(Debug)]
struct Range {
    high: Vec<u8>,
    keys: Vec<Vec<u8>>,
    /// Whether there are no more.
    is_whole: bool,
}

/// What was fetched.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    rows: BTreeMap<(Table, Vec<u8>), Option<Vec<u8>>>,
    ranges: BTreeMap<(Table, Vec<u8>), Range>,
}

impl Fetched {
    /// Begins a transaction, asks `first` in it, and fetches all that changes may look at; answers
    /// with what `first` was answered.
    pub(crate) async fn begin(
        connection: &Connection,
        first: Vec<Ask>,
        changes: &[Change],
    ) -> Result<(Vec<Vec<Row>>, Self), Failure> {
        let named: Vec<Named<'_>> = changes.iter().flat_map(Change::names).collect();
        let limits = Limits::of(changes, &named);
        let mut round: BTreeSet<Wanted> = named.iter().flat_map(Wanted::of).collect();
        let mut fetched = Self::default();
        let mut asks = first.clone();
        asks.extend(fetching(&round, limits));
        let mut answers = connection.pipeline(Some(Edge::Begin), &asks, None).await?;
        let rows = answers.split_off(first.len());
        let mut found = fetched.take(&round, limits, rows)?;
        for _ in 0..ROUNDS_MAX {
            round = fetched.leads(&found)?;
            if round.is_empty() {
                return Ok((answers, fetched));
            }
            let rows = connection.ask(&fetching(&round, limits)).await?;
            found = fetched.take(&round, limits, rows)?;
        }
        Err(corrupt("rows lead to others without end".into()).into())
    }

    /// What rows that were found lead to, as far as it was not fetched yet.
    fn leads(&self, found: &[(Table, Vec<u8>)]) -> Result<BTreeSet<Wanted>, CatalogError> {
        let mut wanted = BTreeSet::new();
        for at @ (table, key) in found {
            if let Some(Some(bytes)) = self.rows.get(at) {
                wanted.append(&mut led_to(*table, key, bytes)?);
            }
        }
        wanted.retain(|wanted| match wanted {
            Wanted::Row(table, key) => !self.rows.contains_key(&(*table, key.clone())),
            Wanted::Range { table, low, .. } => !self.ranges.contains_key(&(*table, low.clone())),
        });
        Ok(wanted)
    }

    /// Takes what [`fetching`] was answered; tells which rows are new.
    fn take(
        &mut self,
        round: &BTreeSet<Wanted>,
        limits: Limits,
        answers: Vec<Vec<Row>>,
    ) -> Result<Vec<(Table, Vec<u8>)>, CatalogError> {
        for wanted in round {
            match wanted {
                Wanted::Row(table, key) => {
                    self.rows.entry((*table, key.clone())).or_default();
                }
                Wanted::Range { table, low, high, is_whole } => {
                    let high = Wanted::end(high).to_vec();
                    let range = Range { high, keys: Vec::new(), is_whole: *is_whole };
                    self.ranges.insert((*table, low.clone()), range);
                }
            }
        }
        let mut found = Vec::new();
        for (part, rows) in parts(round).into_iter().zip(answers) {
            for row in rows {
                let (low, key, bytes) = match part {
                    Part::Rows(_) => (None, column(&row, 0)?, column(&row, 1)?),
                    Part::Ranges(..) => {
                        (Some(column(&row, 0)?), column(&row, 1)?, column(&row, 2)?)
                    }
                };
                let table = part.table();
                if let Some(low) = low {
                    let range = self.ranges.get_mut(&(table, low));
                    let unasked = || corrupt("a range was answered that was not asked for".into());
                    range.ok_or_else(unasked)?.keys.push(key.clone());
                }
                found.push((table, key.clone()));
                self.rows.insert((table, key), Some(bytes));
            }
        }
        for ((table, _), range) in &mut self.ranges {
            range.is_whole |= range.keys.len() < limits.rows(*table);
        }
        Ok(found)
    }

    fn bytes(&self, table: Table, key: &[u8]) -> Result<Option<&[u8]>, CatalogError> {
        if let Some(row) = self.rows.get(&(table, key.to_vec())) {
            return Ok(row.as_deref());
        }
        // Where a whole range is known, what was not found in it is not there.
        let until = (table, key.to_vec());
        let is_known = self.ranges.range(..=until).next_back().is_some_and(|((of, _), range)| {
            *of == table && range.is_whole && key < range.high.as_slice()
        });
        if is_known { Ok(None) } else { Err(unfetched(table)) }
    }

    fn row<R: Record>(&self, table: Table, key: &[u8]) -> Result<Option<R>, CatalogError> {
        self.bytes(table, key)?.map(|bytes| read(table, key, bytes)).transpose()
    }

    /// The keys of a range, at most `max`.
    fn range(
        &self,
        table: Table,
        low: Vec<u8>,
        max: usize,
    ) -> Result<impl Iterator<Item = &Vec<u8>>, CatalogError> {
        let range = self.ranges.get(&(table, low)).ok_or_else(|| unfetched(table))?;
        if !range.is_whole && range.keys.len() < max {
            return Err(unfetched(table));
        }
        Ok(range.keys.iter().take(max))
    }
}

/// One statement of a round.
#[derive(Clone, Copy)]
enum Part {
    Rows(Table),
    Ranges(Table, bool),
}

impl Part {
    const fn table(self) -> Table {
        match self {
            Self::Rows(table) | Self::Ranges(table, _) => table,
        }
    }
}

/// Which statements fetch what is wanted.
fn parts(round: &BTreeSet<Wanted>) -> Vec<Part> {
    let (mut rows, mut ranges) = (BTreeSet::new(), BTreeSet::new());
    for wanted in round {
        match wanted {
            Wanted::Row(table, _) => _ = rows.insert(*table),
            Wanted::Range { table, is_whole, .. } => _ = ranges.insert((*table, *is_whole)),
        }
    }
    let rows = rows.into_iter().map(Part::Rows);
    rows.chain(ranges.into_iter().map(|(table, is_whole)| Part::Ranges(table, is_whole))).collect()
}

/// The statements, with their values.
fn fetching(round: &BTreeSet<Wanted>, limits: Limits) -> Vec<Ask> {
    let ask = |part| match part {
        Part::Rows(of) => {
            let keys = round.iter().filter_map(|wanted| match wanted {
                Wanted::Row(table, key) if *table == of => Some(key.clone()),
                Wanted::Row(..) | Wanted::Range { .. } => None,
            });
            Ask(Sql::Rows(of), vec![Value::List(keys.collect())])
        }
        Part::Ranges(of, whole) => {
            let (mut lows, mut highs) = (Vec::new(), Vec::new());
            for wanted in round {
                match wanted {
                    Wanted::Range { table, low, high, is_whole }
                        if *table == of && *is_whole == whole =>
                    {
                        lows.push(low.clone());
                        highs.push(Wanted::end(high).to_vec());
                    }
                    Wanted::Row(..) | Wanted::Range { .. } => {}
                }
            }
            let limit = Value::limit(if whole { usize::MAX } else { limits.rows(of) });
            Ask(Sql::Ranges(of), vec![Value::List(lows), Value::List(highs), limit])
        }
    };
    parts(round).into_iter().map(ask).collect()
}

/// A column of bytes.
pub(crate) fn column(row: &Row, at: usize) -> Result<Vec<u8>, CatalogError> {
    row.try_get(at).map_err(|error| CatalogError::Unavailable(Box::new(error)))
}

fn corrupt(reason: String) -> CatalogError {
    CatalogError::Corrupt { reason }
}

fn unfetched(table: Table) -> CatalogError {
    corrupt(format!("a row of {} is looked at that was not named", table.name()))
}

pub(crate) fn node_of(number: Number) -> Result<NodeId, CatalogError> {
    let Number(number) = number;
    Ok(NodeId(u16::try_from(number).map_err(|_| corrupt(format!("node {number}")))?))
}

impl Rows for Fetched {
    type Error = CatalogError;

    fn bucket(&self, name: &str) -> Result<Option<Bucket>, CatalogError> {
        self.row(Table::Buckets, name.as_bytes())
    }

    fn object(&self, at: &Place<'_>, _absence: Absence) -> Result<Option<Object>, CatalogError> {
        self.row(Table::Objects, &key_of(at))
    }

    fn tombstone(&self, at: &Place<'_>) -> Result<Option<Tombstone>, CatalogError> {
        self.row(Table::Tombstones, &key_of(at))
    }

    fn stripe(&self, id: StripeId, _absence: Absence) -> Result<Option<Held>, CatalogError> {
        self.row(Table::Stripes, &stripe_key(id))
    }

    fn is_garbage(&self, id: StripeId) -> Result<bool, CatalogError> {
        Ok(self.bytes(Table::Garbage, &stripe_key(id))?.is_some())
    }

    fn is_outlived(&self, stripe: StripeId, at: &Place<'_>) -> Result<bool, CatalogError> {
        Ok(self.bytes(Table::Outlived, &outlived_key(stripe, at))?.is_some())
    }

    fn upload(&self, id: &str, _absence: Absence) -> Result<Option<Upload>, CatalogError> {
        self.row(Table::Uploads, id.as_bytes())
    }

    fn part(&self, upload: &str, number: u16) -> Result<Option<UploadedPart>, CatalogError> {
        self.row(Table::Parts, &part_key(upload, number))
    }

    fn account(&self, bucket: &str) -> Result<Account, CatalogError> {
        Ok(self.row(Table::Accounts, bucket.as_bytes())?.unwrap_or_default())
    }

    fn node(&self, name: &str) -> Result<Option<NodeId>, CatalogError> {
        self.row(Table::Nodes, name.as_bytes())?.map(node_of).transpose()
    }

    fn session(&self, session: Session) -> Result<Option<u64>, CatalogError> {
        let found: Option<Number> = self.row(Table::Sessions, &session.0.to_be_bytes())?;
        Ok(found.map(|until| until.0))
    }

    fn watermark(&self, session: Session) -> Result<Option<Watermark>, CatalogError> {
        self.row(Table::Watermarks, &session.0.to_be_bytes())
    }

    fn lease(&self, name: &str) -> Result<Option<Lease>, CatalogError> {
        self.row(Table::Leases, name.as_bytes())
    }

    fn vouched_before(&self) -> Result<u64, CatalogError> {
        let found: Option<Number> = self.row(Table::Facts, VOUCHED)?;
        Ok(found.unwrap_or_default().0)
    }

    fn versions(&self, bucket: &str, key: &str, max: usize) -> Result<Vec<String>, CatalogError> {
        let low = object_key(&versions_of(bucket), versions_begin(key).as_bytes());
        let names = self.range(Table::Objects, low, max)?;
        names.map(|key| Ok(split_object_key(key)?.1)).collect()
    }

    fn keys(&self, bucket: &str, max: usize) -> Result<Vec<String>, CatalogError> {
        let keys = self.range(Table::Objects, object_key(bucket, b""), max)?;
        keys.map(|key| Ok(split_object_key(key)?.1)).collect()
    }

    fn uploads(&self, bucket: &str, max: usize) -> Result<Vec<(String, String)>, CatalogError> {
        let places = self.range(Table::UploadPlaces, object_key(bucket, b""), max)?;
        places.map(|place| split_upload(&split_object_key(place)?.1)).collect()
    }

    fn parts(&self, upload: &str) -> Result<Vec<UploadedPart>, CatalogError> {
        let low = object_key(upload, b"");
        let parts = self.range(Table::Parts, low, usize::MAX)?;
        parts.filter_map(|key| self.row(Table::Parts, key).transpose()).collect()
    }

    fn outlived_by(&self, stripe: StripeId) -> Result<Vec<Place<'static>>, CatalogError> {
        let keys = self.range(Table::Outlived, stripe_key(stripe), usize::MAX)?;
        keys.map(|key| Ok(split_outlived(key)?.1)).collect()
    }

    fn outlived_at(&self, at: &Place<'_>, max: usize) -> Result<Vec<StripeId>, CatalogError> {
        let keys = self.range(Table::OutlivedAt, outlived_at_begin(at), max)?;
        keys.map(|key| last_stripe(key)).collect()
    }

    fn node_count(&self) -> Result<u64, CatalogError> {
        Ok(self.range(Table::Nodes, Vec::new(), usize::MAX)?.count() as u64)
    }

    fn gateways(&self) -> Result<Vec<(GatewayId, GatewayRecord)>, CatalogError> {
        let keys = self.range(Table::Gateways, Vec::new(), usize::MAX)?;
        let of = |key: &Vec<u8>| Ok((gateway_of(key)?, self.row(Table::Gateways, key)?));
        let rows = keys.map(of).collect::<Result<Vec<_>, CatalogError>>()?;
        Ok(rows.into_iter().filter_map(|(id, row)| Some((id, row?))).collect())
    }

    fn watermarks(&self) -> Result<Vec<(Session, Watermark)>, CatalogError> {
        let keys = self.range(Table::Watermarks, Vec::new(), usize::MAX)?;
        let of = |key: &Vec<u8>| Some((session_of(key), self.row(Table::Watermarks, key)));
        keys.filter_map(of)
            .filter_map(|(session, row)| Some(row.transpose()?.and_then(|row| Ok((session?, row)))))
            .collect()
    }

    fn sessions(&self) -> Result<Vec<(Session, u64)>, CatalogError> {
        let keys = self.range(Table::Sessions, Vec::new(), usize::MAX)?;
        let of = |key: &Vec<u8>| {
            let until: Option<Number> = self.row(Table::Sessions, key)?;
            Ok((session_of(key)?, until.unwrap_or_default().0))
        };
        keys.map(of).collect()
    }
}
