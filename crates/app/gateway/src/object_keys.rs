//! The file of the keys that wrap those of encrypted objects, and what the catalog says of it.

use crate::{config::Config, secret_file};
use anyhow::{Context as _, Result, bail};
use ripstop_catalog::{Catalog, Change};
use ripstop_s3::{KeyRing, ObjectKeys};
use std::{fs, path::Path, time::UNIX_EPOCH};
use zeroize::Zeroizing;

/// The catalog numbers names; those with this before them are ids of keys that objects may be
/// encrypted with.
const PREFIX: &str = "object-key:";

/// The ring in a file, if there is one.
pub fn read_ring(path: &Path) -> Result<Option<KeyRing>> {
    let Some(text) = secret_file::read(path)? else { return Ok(None) };
    let ring = KeyRing::from_text(&text);
    ring.with_context(|| format!("keys of objects {}", path.display())).map(Some)
}

/// Copies the file of a ring, which is looked at before, to a place where there is none.
pub fn copy_ring(from: &Path, to: &Path) -> Result<()> {
    read_ring(from)?.with_context(|| format!("there are no keys {}", from.display()))?;
    let bytes = Zeroizing::new(fs::read(from)?);
    secret_file::create(to, &bytes)
}

/// Has a new key wrap the keys of objects from now on: of the gateway's own, or of this name. Those
/// before it stay, for what they wrapped. Makes the file if there is none.
pub fn rotate_ring(path: &Path, name: Option<&str>) -> Result<KeyRing> {
    let found = read_ring(path)?;
    let is_new = found.is_none();
    let mut ring = found.unwrap_or_default().rotated(name)?;
    if !ring.has_own() {
        ring = ring.rotated(None)?;
    }
    let text = ring.to_text();
    if is_new {
        secret_file::create(path, text.as_bytes())?;
    } else {
        secret_file::replace(path, text.as_bytes())?;
    }
    Ok(ring)
}

/// The keys of objects of the store with this catalog, and whether their file was made just now; a
/// store that has none gets one.
pub(crate) async fn object_keys_of(
    config: &Config,
    catalog: &dyn Catalog,
) -> Result<(ObjectKeys, bool)> {
    let names: Vec<String> = catalog.nodes().await?.into_iter().map(|(name, _)| name).collect();
    let known: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix(PREFIX)).collect();
    let path = &config.object_keys_file();
    let found = read_ring(path)?;
    let is_new = found.is_none();
    let ring = match found {
        Some(ring) if ring.has_own() => ring,
        Some(_) => rotate_ring(path, None)?,
        None if known.is_empty() => {
            tracing::info!(
                keys = %path.display(),
                "objects that clients or buckets have encrypted are lost without these keys: keep a copy of them elsewhere"
            );
            rotate_ring(path, None)?
        }
        None => bail!(
            "objects of this store may be encrypted with key {}, and there is no {}: put the copy of it back \
             there, readable by its owner only (chmod 600). If no copy is left, what is encrypted with it is lost: \
             make an empty file there, and the store serves the rest",
            known.join(", "),
            path.display()
        ),
    };
    let ids: Vec<String> = ring.ids().map(|id| id.to_string()).collect();
    for lost in known.iter().filter(|id| !ids.iter().any(|own| own == *id)) {
        tracing::error!(
            key = lost,
            keys = %path.display(),
            "objects that are encrypted with this key cannot be read: it is not in the file"
        );
    }
    note(catalog, &ids, &known).await?;
    Ok((ObjectKeys::new(ring), is_new))
}

/// Has the catalog of a rebuild say which keys objects may be encrypted with, if there are any.
pub async fn note_object_keys(config: &Config, catalog: &dyn Catalog) -> Result<()> {
    let ring = read_ring(&config.object_keys_file())?.unwrap_or_default();
    let ids: Vec<String> = ring.ids().map(|id| id.to_string()).collect();
    note(catalog, &ids, &[]).await
}

async fn note(catalog: &dyn Catalog, ids: &[String], known: &[&str]) -> Result<()> {
    let now_ms = ripstop_host::wall().duration_since(UNIX_EPOCH)?.as_millis() as u64;
    for id in ids.iter().filter(|id| !known.contains(&id.as_str())) {
        let name = format!("{PREFIX}{id}");
        catalog.commit_one(now_ms, Change::NameNode { name }).await.context("the catalog")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_ring_is_made_for_its_owner_grows_by_rotation_and_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("object.keys");
        assert!(read_ring(&path).unwrap().is_none());
        let first = rotate_ring(&path, Some("reports")).unwrap();
        assert!(first.has_own() && first.names().eq(["reports"]));
        let second = rotate_ring(&path, None).unwrap();
        assert_eq!(second.ids().count(), 3);
        assert!(first.ids().all(|id| second.ids().any(|kept| kept == id)));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let copy = folder.path().join("copy");
        copy_ring(&path, &copy).unwrap();
        assert!(read_ring(&copy).unwrap().unwrap().ids().eq(second.ids()));
        assert!(copy_ring(&path, &copy).is_err(), "a file is never overwritten");
        assert!(rotate_ring(&path, Some("a name")).is_err());
    }

    #[test]
    fn a_ring_that_others_can_read_or_that_is_none_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("object.keys");
        rotate_ring(&path, None).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(format!("{:#}", read_ring(&path).unwrap_err()).contains("chmod 600"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "own no-key").unwrap();
        let told = format!("{:#}", read_ring(&path).unwrap_err());
        assert!(told.contains("object.keys") && told.contains("line 1"), "{told}");
    }
}
