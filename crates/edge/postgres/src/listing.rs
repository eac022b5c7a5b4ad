//! Pages of keys: in about two round trips, for what is rolled up is stepped over by the database.

use crate::connection::{Ask, Connection, Edge, Value};
use crate::failure::Failure;
use crate::fetched::column;
use crate::postgres::Postgres;
use crate::short::Short;
use crate::statement::Sql;
use crate::table::Table;
use crate::wanted::read;
use crate::window::{Objects, Uploads, Window};
use crate::write::versioning_of;
use ripstop_catalog::{
    AllVersions, CatalogError, Come, Latest, ListedVersion, Listing, ListingRequest, Page, Refusal,
    Upload, VersionRow as _, Versioning, escaped, object_key, page,
};
use ripstop_object::{versions_of, versions_prefix};
use std::collections::BTreeMap;
use tokio_postgres::Row;

/// Rows, or steps, of one statement at most.
const ROWS_MAX: usize = 2048;

/// Which listing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Objects,
    Versions,
}

/// How rows that are needed are asked for.
#[derive(Clone, Copy)]
struct Skips<'a> {
    delimiter: &'a [u8],
    /// What ends a key among names of versions, and what stands behind them all.
    end: &'static [u8],
    beyond: &'static [u8],
}

impl Skips<'_> {
    const fn are_any(&self) -> bool {
        !self.delimiter.is_empty() || !self.beyond.is_empty()
    }
}

/// Asks for what a window needs.
fn ask(window: &Window, from: &[u8], skips: Option<Skips<'_>>, max: usize) -> Ask {
    let rows = Value::limit(max.saturating_add(1).min(ROWS_MAX));
    let (from, end) = (Value::Bytes(from.to_vec()), Value::Bytes(window.end().to_vec()));
    let Some(skips) = skips else { return Ask(Sql::Shown, vec![from, end, rows]) };
    let mut beyond = skips.delimiter.to_vec();
    if let Some(last) = beyond.last_mut() {
        // UTF-8 has no byte 255.
        *last += 1;
    }
    let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
    let prefix_len = Value::Small(i32::try_from(window.prefix_len()).unwrap_or(i32::MAX));
    let (delimiter, end_of_key) = (bytes(skips.delimiter), bytes(skips.end));
    let behind = bytes(skips.beyond);
    let beyond = Value::Bytes(beyond);
    Ask(Sql::Steps, vec![from, end, prefix_len, delimiter, beyond, end_of_key, behind, rows])
}

/// Takes what [`ask`] was answered.
fn take(
    window: &mut Window,
    from: Vec<u8>,
    (sql, rows): (Sql, &[Row]),
    max: usize,
) -> Result<(), CatalogError> {
    if sql == Sql::Steps {
        for row in rows {
            let found = |at| row.try_get::<_, Option<Vec<u8>>>(at);
            let (key, shown) = (found(1).map_err(odd)?, found(2).map_err(odd)?);
            window.know(column(row, 0)?, key.as_deref());
            if let (Some(key), Some(shown)) = (key, shown) {
                window.take(key, shown);
            }
        }
        return Ok(());
    }
    for row in rows {
        window.take(column(row, 0)?, column(row, 1)?);
    }
    let is_full = rows.len() > max.min(ROWS_MAX - 1);
    let last = rows.last().filter(|_| is_full).map(|row| column(row, 0)).transpose()?;
    window.know(from, last.as_deref());
    Ok(())
}

fn odd(error: tokio_postgres::Error) -> CatalogError {
    CatalogError::Unavailable(Box::new(error))
}

/// How the bucket keeps versions, which must be there.
fn versioning(rows: &[Row]) -> Result<Versioning, CatalogError> {
    let row = rows.first().ok_or(CatalogError::Refused(Refusal::NoSuchBucket))?;
    Ok(versioning_of(row.try_get(0).map_err(odd)?))
}

/// A page as it was made, and what more it needs of the one window, and of the other.
type Made<T> = (Result<T, CatalogError>, [Option<Vec<u8>>; 2]);

fn make(
    request: &ListingRequest,
    kind: Kind,
    versioning: Option<Versioning>,
    [nulls, named]: &[Window; 2],
) -> Made<Listing> {
    let objects = |window| Objects(Window::cursor(window));
    let listing = match (kind, versioning) {
        (Kind::Objects, Some(Versioning::Never)) => {
            page(request, &mut objects(nulls)).and_then(of_objects)
        }
        (Kind::Objects, _) => {
            page(request, &mut Latest::new(objects(nulls), objects(named))).and_then(of_objects)
        }
        (Kind::Versions, _) => {
            let all = &mut AllVersions::new(objects(nulls), objects(named));
            page(request, all).and_then(|page| page.of_versions(shown_version))
        }
    };
    (listing, [nulls.needed(), named.needed()])
}

fn of_objects(page: Page<Short>) -> Result<Listing, CatalogError> {
    page.of_objects(|short| Ok(short.listed()))
}

fn shown_version(key: &str, come: Come<Short>) -> Result<ListedVersion, CatalogError> {
    let Come { version, is_latest, row } = come;
    let (is_marker, object) = (row.is_marker()?, row.listed());
    Ok(ListedVersion { key: key.to_owned(), version, is_latest, is_marker, object })
}

impl Postgres {
    pub(crate) async fn list(
        &self,
        request: &ListingRequest,
        kind: Kind,
    ) -> Result<Listing, Failure> {
        let lent = self.lend_reader().await?;
        let listing = self.list_over(&lent, request, kind).await;
        self.give_back(lent, listing)
    }

    /// All in one transaction, so that its rounds see one moment.
    async fn list_over(
        &self,
        connection: &Connection,
        request: &ListingRequest,
        kind: Kind,
    ) -> Result<Listing, Failure> {
        let space = versions_of(&request.bucket);
        let mut windows = [
            Window::new(object_key(&request.bucket, b""), &request.prefix),
            Window::new(object_key(&space, b""), &versions_prefix(&request.prefix)),
        ];
        let delimiter = escaped(request.delimiter.as_bytes());
        let beyond: &[u8] = if kind == Kind::Objects { b"\0\x01" } else { b"" };
        let nulls = Skips { delimiter: request.delimiter.as_bytes(), end: b"", beyond: b"" };
        let named = Skips { delimiter: &delimiter, end: b"\0\0", beyond };
        let (mut known, mut is_first) = (None, true);
        loop {
            let (listing, needed) = make(request, kind, known, &windows);
            if known.is_some() && needed.iter().all(Option::is_none) {
                connection.end_look();
                return Ok(listing?);
            }
            let mut asks = Vec::new();
            for ((window, from), skips) in windows.iter().zip(&needed).zip([nulls, named]) {
                let skips = (!is_first && skips.are_any() && self.has_steps).then_some(skips);
                asks.extend(from.iter().map(|from| ask(window, from, skips, request.max)));
            }
            let before = is_first.then_some(Edge::Look);
            if is_first {
                asks.push(Ask(
                    Sql::Versioning,
                    vec![Value::Bytes(request.bucket.as_bytes().to_vec())],
                ));
            }
            let mut answers = connection.pipeline(before, &asks, None).await?;
            if is_first {
                known = Some(versioning(&answers.pop().unwrap_or_default())?);
            }
            let mut answers = asks.iter().map(|ask| ask.0).zip(&answers);
            for (window, from) in windows.iter_mut().zip(needed) {
                if let (Some(from), Some((sql, rows))) =
                    (from.clone(), from.and_then(|_| answers.next()))
                {
                    take(window, from, (sql, rows), request.max)?;
                }
            }
            is_first = false;
        }
    }

    pub(crate) async fn list_uploads(&self, request: &ListingRequest) -> Result<Listing, Failure> {
        let lent = self.lend_reader().await?;
        let listing = uploads_over(&lent, request).await;
        self.give_back(lent, listing)
    }
}

async fn uploads_over(
    connection: &Connection,
    request: &ListingRequest,
) -> Result<Listing, Failure> {
    let base = object_key(&request.bucket, b"");
    let mut window = Window::new(base, &versions_prefix(&request.prefix));
    let bucket = Ask(Sql::Versioning, vec![Value::Bytes(request.bucket.as_bytes().to_vec())]);
    let answers = connection.pipeline(Some(Edge::Look), &[bucket], None).await?;
    versioning(&answers[0])?;
    let found = loop {
        let found = page(request, &mut Uploads(window.cursor()))?;
        let Some(from) = window.needed() else { break found };
        let rows = request.max.saturating_add(1).min(ROWS_MAX);
        let (low, high) = (vec![from.clone()], vec![window.end().to_vec()]);
        let values = vec![Value::List(low), Value::List(high), Value::limit(rows)];
        let answers = connection.ask(&[Ask(Sql::Ranges(Table::UploadPlaces), values)]).await?;
        for row in &answers[0] {
            window.take(column(row, 1)?, Vec::new());
        }
        let last = answers[0].last().filter(|_| answers[0].len() == rows);
        let last = last.map(|row| column(row, 1)).transpose()?;
        window.know(from, last.as_deref());
    };
    let ids = found.items.iter().map(|(_, id)| id.as_bytes().to_vec()).collect();
    let answers = connection.ask(&[Ask(Sql::Rows(Table::Uploads), vec![Value::List(ids)])]).await?;
    connection.end_look();
    let mut uploads = BTreeMap::new();
    for row in &answers[0] {
        let (key, bytes) = (column(row, 0)?, column(row, 1)?);
        let upload: Upload = read(Table::Uploads, &key, &bytes)?;
        uploads.insert(upload.id.clone(), upload);
    }
    Ok(found.of_uploads(|id| {
        let reason = format!("upload {id} has a place but no record");
        uploads.get(&id).cloned().ok_or(CatalogError::Corrupt { reason })
    })?)
}
