//! What a move of the catalog leaves in the data folder, so that no gateway takes an empty catalog
//! for the one that is elsewhere.

use crate::data_folder::CATALOG_FILE;
use anyhow::{Context as _, Result, bail};
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

/// What a catalog that is being moved into the data folder is called until it is whole; before it
/// was verified, with `unfinished` behind it.
pub const MOVING_FILE: &str = "catalog.moving";
const UNFINISHED: &str = "unfinished";
/// How names of files begin that were catalogs until they were moved elsewhere.
const MOVED: &str = "catalog.moved-";
/// Names that are tried.
const NAMES_MAX: u64 = 1000;

/// A name in the data folder that nothing has, for a file that begins with `begin`.
pub fn free_name(data: &Path, begin: &str) -> Result<PathBuf> {
    let now = ripstop_host::wall().duration_since(UNIX_EPOCH)?.as_secs();
    let names = (0..NAMES_MAX).map(|at| data.join(format!("{begin}{}.redb", now + at)));
    let mut free = names.filter(|name| !name.exists());
    free.next().with_context(|| format!("{NAMES_MAX} files {begin}… are in the data folder"))
}

/// Puts the catalog's file aside, whose catalog is elsewhere now; answers with its name.
pub fn put_aside(data: &Path) -> Result<PathBuf> {
    let aside = free_name(data, MOVED)?;
    fs::rename(data.join(CATALOG_FILE), &aside).context("the catalog that was moved")?;
    fs::File::open(data)?.sync_all()?;
    Ok(aside)
}

/// Refuses to begin a catalog in a data folder whose catalog is elsewhere, or on its way.
pub(crate) fn must_not_be_elsewhere(data: &Path) -> Result<()> {
    if data.join(CATALOG_FILE).exists() {
        return Ok(());
    }
    let unfinished = data.join(MOVING_FILE).with_added_extension(UNFINISHED);
    for path in [data.join(MOVING_FILE), unfinished] {
        if path.exists() {
            bail!(
                "the catalog was being moved into the data folder, and that did not come to its end ({}): begin \
                 it again with `ripstop catalog move`, or remove that file and configure the database",
                path.display()
            );
        }
    }
    let entries = match fs::read_dir(data) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(MOVED) {
            bail!(
                "the catalog was moved into a database, and its file is {} now: configure that database \
                 (`catalog` of [store])",
                path.display()
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_catalog_is_begun_where_one_was_moved_from_or_is_on_its_way() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        must_not_be_elsewhere(&data.join("absent")).unwrap();
        must_not_be_elsewhere(data).unwrap();
        fs::write(data.join(CATALOG_FILE), "catalog").unwrap();
        let aside = put_aside(data).unwrap();
        assert!(aside.exists());
        let told = must_not_be_elsewhere(data).unwrap_err().to_string();
        assert!(told.contains(&*aside.to_string_lossy()), "{told}");
        fs::write(data.join("catalog.moving.unfinished"), "").unwrap();
        let told = must_not_be_elsewhere(data).unwrap_err().to_string();
        assert!(told.contains("did not come to its end"), "{told}");
        // Where there is a catalog, it is that.
        fs::write(data.join(CATALOG_FILE), "catalog").unwrap();
        must_not_be_elsewhere(data).unwrap();
        // A name that is taken is not given again.
        assert_ne!(put_aside(data).unwrap(), aside);
    }
}
