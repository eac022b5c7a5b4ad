//! Every statement that is prepared: what several engines have in common.

use crate::table::Table;

/// A statement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Sql {
    /// Waits until no other commit is under way, and keeps all others waiting until the end of the
    /// transaction; answers with what the tables are ([`State`](crate::state::State)).
    Turn,
    /// Which batch of a writer was committed last: $1.
    Done,
    /// Notes a batch: writer $1, batch $2, when $3.
    SetDone,
    /// Rows of keys $1.
    Rows(Table),
    /// Of each range from $1 to before $2 the first $3 rows.
    Ranges(Table),
    /// Rows behind key $1, before $2, at most $3.
    After(Table),
    /// Writes rows: keys $1, records $2, other columns.
    Set(Table),
    /// Removes rows of keys $1.
    Remove(Table),
    /// What stands at key $1, with its stripes.
    Object,
    /// What stands at key $1, and the first row from $2 to before $3, with their stripes; of
    /// bucket $4 how it keeps versions.
    Current,
    /// How bucket $1 keeps versions.
    Versioning,
    /// What listings show from $1 to before $2, at most $3 rows.
    Shown,
    /// The same, stepping over what is rolled up: keys with $4 behind their first $3 bytes, with
    /// $5 in its place; and over what is behind the first $6, unless that is empty, with $7 in its
    /// place; at most $8 steps.
    Steps,
    /// Rows of key above $1, below $4, since before $2, at most $3.
    Due(Table),
}

impl Sql {
    /// Those that a commit takes.
    pub(crate) fn of_commits() -> Vec<Self> {
        let of_tables = Table::ALL.into_iter().flat_map(|table| {
            [Self::Rows(table), Self::Ranges(table), Self::Set(table), Self::Remove(table)]
        });
        [Self::Turn, Self::Done, Self::SetDone].into_iter().chain(of_tables).collect()
    }

    /// As it is prepared.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Turn => "SELECT id FROM ripstop_turn FOR UPDATE".into(),
            Self::Done => "SELECT batch FROM ripstop_done WHERE writer = $1".into(),
            Self::SetDone => "INSERT INTO ripstop_done (writer, batch, at_ms) VALUES ($1, $2, $3) \
                 ON CONFLICT (writer) DO UPDATE SET batch = excluded.batch, at_ms = excluded.at_ms"
                .into(),
            Self::Rows(table) => {
                format!("SELECT key, record FROM {} WHERE key = ANY($1::bytea[])", table.name())
            }
            Self::Ranges(table) => format!(
                "SELECT n.low, o.key, o.record \
                 FROM unnest($1::bytea[], $2::bytea[]) AS n (low, high) \
                 CROSS JOIN LATERAL (SELECT t.key, t.record FROM {} AS t \
                 WHERE t.key >= n.low AND t.key < n.high ORDER BY t.key LIMIT $3) AS o",
                table.name()
            ),
            Self::After(table) => format!(
                "SELECT key, record FROM {} WHERE key > $1 AND key < $2 ORDER BY key LIMIT $3",
                table.name()
            ),
            Self::Set(table) => set(table),
            Self::Remove(table) => {
                format!("DELETE FROM {} WHERE key = ANY($1::bytea[])", table.name())
            }
            Self::Object => {
                format!("SELECT o.record, {STRIPES} FROM ripstop_objects AS o WHERE o.key = $1")
            }
            Self::Current => format!(
                "SELECT o.key, o.record, {STRIPES}, {VERSIONING} FROM ripstop_objects AS o \
                 WHERE o.key = $1 UNION ALL \
                 (SELECT o.key, o.record, {STRIPES}, {VERSIONING} FROM ripstop_objects AS o \
                 WHERE o.key >= $2 AND o.key < $3 ORDER BY o.key LIMIT 1)"
            ),
            Self::Versioning => "SELECT versioning FROM ripstop_buckets WHERE key = $1".into(),
            Self::Shown => "SELECT key, shown FROM ripstop_objects \
                 WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3"
                .into(),
            Self::Steps => steps(),
            Self::Due(table) => format!(
                "SELECT key, record FROM {} WHERE key > $1 AND key < $4 AND since_ms < $2 \
                 ORDER BY key LIMIT $3",
                table.name()
            ),
        }
    }
}

/// The stripes that come along with an object, each behind its name. A subquery of its own for
/// each: so each is looked up by its key, whatever a planner thinks of the table's size.
const STRIPES: &str = "ARRAY(SELECT (SELECT s.key || s.record FROM ripstop_stripes AS s \
    WHERE s.key = substring(o.stripes FROM i * 16 + 1 FOR 16)) \
    FROM generate_series(0, length(o.stripes) / 16 - 1) AS i)";
const VERSIONING: &str = "(SELECT b.versioning FROM ripstop_buckets AS b WHERE b.key = $4)";

fn set(table: Table) -> String {
    let mut names = vec!["key".to_owned(), "record".to_owned()];
    let mut arrays = vec!["$1::bytea[]".to_owned(), "$2::bytea[]".to_owned()];
    let mut updates = vec!["record = excluded.record".to_owned()];
    for (at, (name, kind)) in (3..).zip(table.columns()) {
        names.push((*name).to_owned());
        arrays.push(format!("${at}::{kind}[]"));
        updates.push(format!("{name} = excluded.{name}"));
    }
    let [names, arrays, updates] = [names, arrays, updates].map(|parts| parts.join(", "));
    format!(
        "INSERT INTO {} ({names}) SELECT {names} FROM unnest({arrays}) AS n ({names}) \
         ON CONFLICT (key) DO UPDATE SET {updates}",
        table.name()
    )
}

/// Each step looks up one key: the first that is not rolled up with the one before.
fn steps() -> String {
    let first = |from: &str| {
        format!(
            "(SELECT o.key FROM ripstop_objects AS o WHERE o.key >= {from} AND o.key < $2 \
             ORDER BY o.key LIMIT 1)"
        )
    };
    let behind = "substring(step.key FROM $3::int + 1)";
    let (found, ended) =
        (format!("position($4::bytea IN {behind})"), format!("position($6::bytea IN {behind})"));
    format!(
        "WITH RECURSIVE step (number, low, key) AS (\
         SELECT 1::bigint, $1::bytea, {} UNION ALL \
         SELECT step.number + 1, next.low, {} FROM step CROSS JOIN LATERAL (SELECT CASE \
         WHEN length($4::bytea) > 0 AND {found} > 0 \
         AND (length($6::bytea) = 0 OR {ended} = 0 OR {found} < {ended}) \
         THEN substring(step.key FROM 1 FOR $3::int + {found} - 1) || $5::bytea \
         WHEN length($6::bytea) > 0 AND length($7::bytea) > 0 AND {ended} > 0 \
         THEN substring(step.key FROM 1 FOR $3::int + {ended} - 1) || $7 \
         ELSE step.key || '\\x00'::bytea END AS low) AS next \
         WHERE step.key IS NOT NULL AND step.number < $8) \
         SELECT step.low, step.key, \
         (SELECT o.shown FROM ripstop_objects AS o WHERE o.key = step.key) \
         FROM step ORDER BY step.number",
        first("$1"),
        first("next.low"),
    )
}
