use anyhow::{Context as _, Result};
use std::{fs, path::Path};

/// Makes the folder of a report and sees whether files can be made in it, so that an hour's work is not done for a
/// folder that takes nothing.
pub(crate) fn ready(folder: &Path) -> Result<()> {
    let made = fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder));
    made.with_context(|| format!("nothing can be written into {}", folder.display()))?;
    Ok(())
}
