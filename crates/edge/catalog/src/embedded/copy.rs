//! Copies of the catalog's file, verified.

use super::failure::{corrupt, unavailable};
use super::health::caught;
use super::inspect::{Depth, Inspection, inspect};
use super::kinds::{COUNTED, LIVE, Number, VOUCHED};
use super::live::BEGIN_AGAIN;
use super::prepare::prepare;
use super::snapshot::{Extracted, HEADER_LEN, Reading};
use super::storage::{look_at, sync_folder};
use super::table::Tables;
use crate::{Audit, CatalogError};
use redb::Database;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes copied at once.
const PIECE: usize = 1 << 20;
/// Bytes of pages in memory while a copy is finished.
const CACHE_BYTES: usize = 8 << 20;

/// A copy that is whole, under a name of its own beside the one that it is to have.
#[derive(Debug)]
pub struct Copied {
    pub(super) path: PathBuf,
    pub(super) unfinished: PathBuf,
    /// What was found in it.
    pub inspection: Inspection,
}

/// Copies the file of a catalog to a new file beside `to`, for its owner alone, and inspects the
/// copy. A catalog that is in use is copied as `kept` has it, which must stay until this has ended.
/// The copy vouches for no names of stripes: what was written since it was made is newer than it.
///
/// # Errors
/// If there is a file `to`, something cannot be read or written, or the copy is not as it should
/// be.
pub fn copy(
    from: &Path,
    kept: Option<&Extracted>,
    to: &Path,
    reading: &Reading,
) -> Result<Copied, CatalogError> {
    let failed = |error: io::Error| CatalogError::Unavailable(Box::new(error));
    if to.symlink_metadata().is_ok() {
        let exists = io::Error::new(io::ErrorKind::AlreadyExists, "there is a file of that name");
        return Err(failed(exists));
    }
    let unfinished = to.with_added_extension("unfinished");
    let copied = copy_bytes(from, kept, &unfinished, reading)
        .map_err(failed)
        .and_then(|extracted| finish(&unfinished, &extracted, reading));
    match copied {
        Ok(inspection) => Ok(Copied { path: to.to_owned(), unfinished, inspection }),
        Err(error) => {
            drop(fs::remove_file(&unfinished));
            Err(error)
        }
    }
}

impl Copied {
    /// Gives the copy its name, if nobody has taken that meanwhile.
    pub fn keep(self) -> io::Result<()> {
        match fs::hard_link(&self.unfinished, &self.path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // The file system has no second names.
            Err(_) => fs::rename(&self.unfinished, &self.path)?,
        }
        sync_folder(&self.path)
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.unfinished));
    }
}

fn copy_bytes(
    from: &Path,
    kept: Option<&Extracted>,
    to: &Path,
    reading: &Reading,
) -> io::Result<Extracted> {
    let mut source = File::open(from)?;
    let extracted = match kept {
        Some(extracted) => extracted.clone(),
        None => extracted(&mut source)?,
    };
    if to.exists() {
        fs::remove_file(to)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut target = options.open(to)?;
    target.write_all(&extracted.header)?;
    source.seek(SeekFrom::Start(extracted.header.len() as u64))?;
    let mut left = extracted.len.saturating_sub(extracted.header.len() as u64);
    let mut piece = vec![0; PIECE];
    while left > 0 {
        reading.go_on()?;
        let wanted = left.min(PIECE as u64) as usize;
        let got = source.read(&mut piece[..wanted])?;
        if got == 0 {
            // The file became shorter behind the last page that was kept.
            break;
        }
        target.write_all(&piece[..got])?;
        reading.add_bytes(got);
        left -= got as u64;
    }
    target.set_len(extracted.len)?;
    target.sync_all()?;
    Ok(extracted)
}

/// What there is of a file that nobody writes to.
fn extracted(file: &mut File) -> io::Result<Extracted> {
    let mut header = Vec::new();
    Read::by_ref(file).take(HEADER_LEN as u64).read_to_end(&mut header)?;
    Ok(Extracted { header, len: file.metadata()?.len() })
}

/// Inspects a copy, and has it vouch for no names.
fn finish(
    path: &Path,
    extracted: &Extracted,
    reading: &Reading,
) -> Result<Inspection, CatalogError> {
    let inspection = inspected_as(path, extracted, reading)?;
    as_of_before(path, &inspection)?;
    Ok(inspection)
}

/// Inspects a file that nobody writes to; fails where a page of it is not what was written.
pub(super) fn inspected(path: &Path, reading: &Reading) -> Result<Inspection, CatalogError> {
    let failed = |error: io::Error| CatalogError::Unavailable(Box::new(error));
    let extracted = File::open(path).and_then(|mut file| extracted(&mut file)).map_err(failed)?;
    inspected_as(path, &extracted, reading)
}

fn inspected_as(
    path: &Path,
    extracted: &Extracted,
    reading: &Reading,
) -> Result<Inspection, CatalogError> {
    let failed = |error: io::Error| CatalogError::Unavailable(Box::new(error));
    let file = look_at(path).map_err(failed)?;
    let inspection =
        inspect(file, extracted, (reading, None), Depth::Records, || Ok(Audit::default()))?;
    match inspection.damaged {
        Some(damaged) => Err(corrupt(damaged)),
        None => Ok(inspection),
    }
}

/// Has a copy vouch for no names: what was written since it was made is newer than it.
pub(super) fn as_of_before(path: &Path, inspection: &Inspection) -> Result<(), CatalogError> {
    caught(|| {
        let mut builder = Database::builder();
        builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(true);
        let database = builder.open(path).map_err(unavailable)?;
        prepare(database.begin_write().map_err(unavailable)?)?;
        let txn = database.begin_write().map_err(unavailable)?;
        {
            let mut tables = Tables::open(&txn)?;
            tables.sessions.clear()?;
            tables.facts.insert(&VOUCHED, &Number(0))?;
            if !inspection.audit.is_clean() {
                tables.facts.remove(&COUNTED)?;
                tables.cursors.insert(&LIVE, &BEGIN_AGAIN)?;
            }
        }
        txn.commit().map_err(unavailable)?;
        database.close().map_err(unavailable)
    })
}

/// Inspects the file of a catalog that is not in use, without changing it.
pub fn verify(path: &Path, reading: &Reading) -> Result<Inspection, CatalogError> {
    let failed = |error: io::Error| CatalogError::Unavailable(Box::new(error));
    let extracted = File::open(path).and_then(|mut file| extracted(&mut file)).map_err(failed)?;
    let file = look_at(path).map_err(failed)?;
    inspect(file, &extracted, (reading, None), Depth::Records, || Ok(Audit::default()))
}
