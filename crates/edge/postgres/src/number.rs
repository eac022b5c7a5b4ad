//! Records that only this catalog has.

use ripstop_form::{Fields, Found, Record, Unreadable};

/// A number. It is never written again with less than everything known, so there are no unknown
/// fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Number(pub(crate) u64);

impl Record for Number {
    fn write(&self, to: &mut Fields) {
        to.number(1, self.0);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.0 = from.number()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// That a key is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Nothing;

impl Record for Nothing {
    fn write(&self, _to: &mut Fields) {}

    fn read(&mut self, _field: u64, _from: &mut Found<'_>) -> Result<bool, Unreadable> {
        Ok(false)
    }
}
