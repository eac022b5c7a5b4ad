//! Statements are made of what several engines have in common.

use crate::schema::MIGRATIONS;
use crate::statement::Sql;
use crate::table::Table;
use std::collections::BTreeSet;

/// What statements may be made of: keywords, functions and types that `PostgreSQL`, `CockroachDB`
/// and `YugabyteDB` have in common. Besides names of tables and columns, which are lower case.
const ALLOWED: &str = "
    SELECT FROM WHERE AND OR ORDER BY LIMIT AS IN IS NOT NULL FOR UPDATE UNION ALL
    CASE WHEN THEN ELSE END WITH RECURSIVE CROSS JOIN LATERAL ARRAY ANY
    INSERT INTO VALUES ON CONFLICT DO SET DELETE
    CREATE TABLE IF EXISTS PRIMARY KEY
    unnest substring position length generate_series bytea bigint int excluded";

fn all() -> Vec<String> {
    let mut all: Vec<String> = Sql::of_commits().into_iter().map(Sql::text).collect();
    all.extend(Table::ALL.map(|table| Sql::After(table).text()));
    let others = [Sql::Object, Sql::Current, Sql::Versioning, Sql::Shown, Sql::Steps];
    all.extend(others.map(Sql::text));
    all.extend([Table::Garbage, Table::Leftovers].map(|table| Sql::Due(table).text()));
    all.extend(MIGRATIONS.iter().flat_map(|statements| statements()));
    all
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(move |c| !is_word(c)).filter(|word| !word.is_empty())
}

#[test]
fn statements_are_made_of_what_engines_have_in_common() {
    let mut allowed: BTreeSet<&str> = ALLOWED.split_whitespace().collect();
    let columns = Table::ALL.into_iter().flat_map(Table::columns);
    allowed.extend(columns.map(|(name, _)| *name));
    allowed.extend(Table::ALL.map(Table::name));
    allowed.extend(["ripstop_turn", "ripstop_done", "ripstop_schema", "id", "writer", "batch"]);
    allowed.extend(["at_ms", "version", "key", "record", "low", "high", "number", "step"]);
    allowed.extend(["next", "n", "o", "t", "s", "b", "i", "x00"]);
    for text in all() {
        for word in words(&text) {
            let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
            assert!(is_number || allowed.contains(word), "{word:?} in {text:?}");
        }
    }
}

#[test]
fn the_list_leaves_out_what_engines_do_not_share() {
    let allowed: Vec<String> = ALLOWED.split_whitespace().map(str::to_uppercase).collect();
    for word in [
        "LISTEN",
        "NOTIFY",
        "SERIAL",
        "NEXTVAL",
        "SEQUENCE",
        "TRIGGER",
        "FUNCTION",
        "DEFERRABLE",
        "DEFERRED",
        "PG_ADVISORY_XACT_LOCK",
        "TEMPORARY",
        "CTID",
        "RULE",
    ] {
        assert!(!allowed.iter().any(|known| known == word), "{word}");
    }
}

#[test]
fn a_migration_leads_to_each_version() {
    assert_eq!(i64::try_from(MIGRATIONS.len()).unwrap(), crate::schema::VERSION);
}
