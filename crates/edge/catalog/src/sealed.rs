//! Records with a checksum that is bound to the table and the key: a record that is not what was
//! written, or stands where another was, is an error and never an answer.

use crate::CatalogError;
use ripstop_form::{Record, Unreadable, encode};
use twox_hash::XxHash3_128;

/// First byte of every record: far from that of older ones, so that no flipped bit makes one of
/// them.
const FORM: u8 = 0xc2;
/// Bytes before a record's fields: the form, and the checksum.
const HEAD: usize = 1 + size_of::<u64>();

/// A record as the bytes that stand at a key of a table.
pub fn seal(table: &str, key: &[u8], record: &impl Record) -> Vec<u8> {
    let mut bytes = vec![FORM; HEAD];
    bytes = encode(record, bytes);
    let sum = checksum(table, key, &bytes[HEAD..]);
    bytes[1..HEAD].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// The fields of the record that such bytes are; fails if they are not what was written there.
pub fn unseal<'b>(table: &str, key: &[u8], bytes: &'b [u8]) -> Result<&'b [u8], CatalogError> {
    let corrupt = |reason| Err(CatalogError::Corrupt { reason });
    let (head, fields) = bytes.split_first_chunk::<HEAD>().unwrap_or((&[0; HEAD], &[]));
    match bytes.first() {
        None => corrupt("a record is empty".into()),
        Some(&FORM) if head[1..] == checksum(table, key, fields).to_le_bytes() => Ok(fields),
        Some(&FORM) => {
            corrupt(format!("what stands in table {table} is not what was written there"))
        }
        Some(version) => corrupt(format!("a record has the unknown version {version}")),
    }
}

fn checksum(table: &str, key: &[u8], fields: &[u8]) -> u64 {
    let hash = |seed, bytes: &[u8]| XxHash3_128::oneshot_with_seed(seed, bytes) as u64;
    let place = hash(hash(0, table.as_bytes()), key);
    hash(place, fields)
}

impl From<Unreadable> for CatalogError {
    fn from(why: Unreadable) -> Self {
        Self::Corrupt { reason: format!("a record is unreadable: {why}") }
    }
}
