//! The tables in the database, by versions that only ever go forward.

use crate::connection::Connection;
use crate::failure::Failure;
use crate::number::Number;
use crate::table::{Table, VOUCHED};
use ripstop_catalog::{CatalogError, seal};

/// What takes a database from each version to the next: statements.
pub(crate) const MIGRATIONS: &[fn() -> Vec<String>] = &[first, second];

fn made(table: Table) -> String {
    let columns = table.columns().iter().map(|(name, kind)| format!(", {name} {kind} NOT NULL"));
    format!(
        "CREATE TABLE {} (key bytea PRIMARY KEY, record bytea NOT NULL{})",
        table.name(),
        columns.collect::<String>()
    )
}

/// Version 2: gateways.
fn second() -> Vec<String> {
    vec![made(Table::Gateways)]
}

/// Version 1.
fn first() -> Vec<String> {
    let mut statements = vec![
        "CREATE TABLE ripstop_turn (id bigint PRIMARY KEY)".into(),
        "INSERT INTO ripstop_turn (id) VALUES (0)".into(),
        "CREATE TABLE ripstop_done \
         (writer bytea PRIMARY KEY, batch bigint NOT NULL, at_ms bigint NOT NULL)"
            .into(),
    ];
    let tables = Table::ALL.into_iter().filter(|table| *table != Table::Gateways);
    statements.extend(tables.map(made));
    statements
}

/// The version that this program writes.
pub(crate) const VERSION: i64 = 2;

/// How long what a writer committed last is kept after its last commit: longer than any commit is
/// waited for.
const DONE_MS: i64 = 24 * 60 * 60 * 1000;

/// Makes the tables that are missing. Of several gateways that do so at once, one does.
pub(crate) async fn prepare(connection: &Connection, now_ms: u64) -> Result<(), Failure> {
    connection.simple("BEGIN ISOLATION LEVEL READ COMMITTED").await?;
    let known = "CREATE TABLE IF NOT EXISTS ripstop_schema \
                 (id bigint PRIMARY KEY, version bigint NOT NULL)";
    connection.simple(known).await?;
    let first = "INSERT INTO ripstop_schema (id, version) VALUES (0, 0) ON CONFLICT (id) DO \
                 UPDATE SET version = ripstop_schema.version";
    connection.simple(first).await?;
    let version = connection.number("SELECT version FROM ripstop_schema WHERE id = 0").await?;
    let version = version.unwrap_or(0);
    if version > VERSION {
        let reason = format!(
            "the database has version {version} of the catalog's tables, and this program knows \
             none above {VERSION}: a newer one made them"
        );
        return Err(CatalogError::Corrupt { reason }.into());
    }
    let missing = MIGRATIONS.get(usize::try_from(version).unwrap_or(0)..).unwrap_or(&[]);
    for migration in missing {
        for statement in migration() {
            connection.simple(&statement).await?;
        }
    }
    if version == 0 {
        let record = seal(Table::Facts.name(), VOUCHED, &Number(now_ms));
        let (key, record) = (hex::encode(VOUCHED), hex::encode(record));
        let vouched =
            format!("INSERT INTO ripstop_facts (key, record) VALUES ('\\x{key}', '\\x{record}')");
        connection.simple(&vouched).await?;
    }
    if !missing.is_empty() {
        let set = format!("UPDATE ripstop_schema SET version = {VERSION} WHERE id = 0");
        connection.simple(&set).await?;
        tracing::info!(from = version, to = VERSION, "the catalog's tables were made");
    }
    let old = i64::try_from(now_ms).unwrap_or(i64::MAX).saturating_sub(DONE_MS);
    connection.simple(&format!("DELETE FROM ripstop_done WHERE at_ms < {old}")).await?;
    connection.simple("COMMIT").await
}
