use anyhow::{Result, bail};
use toml::{Table, Value};

/// Sections that are one table.
const TABLES: &[&str] = &["gateway", "store", "quotas", "kv", "kms"];
/// Sections that are lists of tables, told apart by their `name`.
const LISTS: &[&str] = &["pool", "node", "tenant", "tier"];

/// Lays variables over the file's table: `RIPSTOP_<SECTION>_<KEY>` for `gateway`, `store`,
/// `quotas`, `kv` and `kms`, `RIPSTOP_<SECTION>_<NAME>_<KEY>` for `pool`, `node`, `tenant` and
/// `tier`. Values are written as in the file; what is no TOML value is a string.
pub(super) fn overlay(
    table: &mut Table,
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<()> {
    for (variable, text) in variables {
        let Some(path) = variable.strip_prefix("RIPSTOP_") else { continue };
        let path = path.to_ascii_lowercase();
        if let Some((section, key)) = split(&path, TABLES) {
            let section = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(section) = section {
                section.insert(key.to_owned(), value(&text));
            }
        } else if let Some((section, rest)) = split(&path, LISTS) {
            let Some((entry, key)) = named(table, section, rest) else {
                bail!("{variable} names no {section} of the configuration");
            };
            entry.insert(key, value(&text));
        }
    }
    Ok(())
}

fn split<'a>(path: &'a str, sections: &[&'static str]) -> Option<(&'static str, &'a str)> {
    let found = |section: &&'static str| {
        let key = path.strip_prefix(*section)?.strip_prefix('_')?;
        Some((*section, key))
    };
    sections.iter().find_map(found)
}

/// The entry of a list whose name `rest` begins with, and the key that follows it.
fn named<'a>(table: &'a mut Table, section: &str, rest: &str) -> Option<(&'a mut Table, String)> {
    let entries = table.get_mut(section)?.as_array_mut()?;
    entries.iter_mut().filter_map(Value::as_table_mut).find_map(|entry| {
        let name = entry.get("name")?.as_str()?.to_ascii_lowercase().replace('-', "_");
        let key = rest.strip_prefix(&name)?.strip_prefix('_')?.to_owned();
        Some((entry, key))
    })
}

fn value(text: &str) -> Value {
    let parsed = toml::from_str::<Table>(&format!("value = {text}"));
    let parsed = parsed.ok().and_then(|mut table| table.remove("value"));
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}
