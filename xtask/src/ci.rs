use crate::{check, tally::Tally, test};
use anyhow::Result;

/// Everything that must hold before a change lands.
pub(crate) fn ci() -> Result<Tally> {
    let mut tally = check::check()?;
    tally.add(test::test(&test::Arguments { all: true, ..test::Arguments::default() })?);
    Ok(tally)
}
