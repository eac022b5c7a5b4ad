//! The form of stored records: numbered fields, of which later versions may add some.
//!
//! A record is one CBOR map (RFC 8949) from the numbers of fields to their values, so that any CBOR
//! tool can show it. A field at its default (0, no bytes, an empty list) is left out. A list of
//! structures is one field per member (a *column*): a member added later is a field like any other,
//! and nothing is written before each element.
//!
//! **What a program does with a number that it does not know** depends on the number alone. Below
//! [`PASSABLE`] the record means something else than the program would take it for: it is refused,
//! and the error says that a newer program wrote it. From there on the field may be passed over,
//! and is kept as it is ([`Unknown`]) when the record is written again.
//!
//! ```
//! use ripstop_form::{Fields, Found, Record, Unknown, Unreadable, decode, encode};
//!
//! #[derive(Debug, Default, PartialEq)]
//! struct Photo {
//!     name: String,
//!     width: u64,
//!     unknown: Unknown,
//! }
//!
//! impl Record for Photo {
//!     fn write(&self, to: &mut Fields) {
//!         to.text(1, &self.name);
//!         to.number(2, self.width);
//!         to.unknown(&self.unknown);
//!     }
//!
//!     fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
//!         match field {
//!             1 => self.name = from.text()?.into(),
//!             2 => self.width = from.number()?,
//!             _ => return Ok(false),
//!         }
//!         Ok(true)
//!     }
//!
//!     fn unknown(&mut self) -> Option<&mut Unknown> {
//!         Some(&mut self.unknown)
//!     }
//! }
//!
//! let photo = Photo { name: "sea".into(), width: 640, ..Photo::default() };
//! let bytes = encode(&photo, vec![]);
//! assert_eq!(decode(&bytes), Ok(photo));
//! ```

mod coded;
mod encryption;
mod gateway;
mod lock;
mod record;
mod sequence;
mod unreadable;

pub use coded::{checksum_algorithm, versioning};
pub use record::{Fields, Found, PASSABLE, Record, compose, decode, encode, paired, scan};
pub use ripstop_object::Unknown;
pub use sequence::{append, first};
pub use unreadable::Unreadable;

#[cfg(test)]
mod tests;
