use super::leftover;
use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::Path,
};

/// What the owner may do, who is the only one.
const FOLDER_MODE: u32 = 0o700;

/// What anybody but the owner may do.
const OTHERS: u32 = 0o077;

/// Closes the folders of a [`super::Directory`] in `root` to everybody but their owner, and so the
/// fragments in them; tells how many were open. The root itself is the operator's and stays as it
/// is.
pub fn close_to_others(root: &Path) -> io::Result<u32> {
    let mut closed = 0;
    let ours = (0..=255).map(|byte| format!("{byte:02x}")).chain([leftover::FOLDER.to_owned()]);
    for folder in ours.map(|name| root.join(name)) {
        let Ok(found) = fs::symlink_metadata(&folder) else { continue };
        if found.is_dir() && found.permissions().mode() & OTHERS != 0 {
            fs::set_permissions(&folder, Permissions::from_mode(FOLDER_MODE))?;
            closed += 1;
        }
    }
    Ok(closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_fragments_are_closed_and_no_others() {
        let root = tempfile::tempdir().unwrap();
        let names = ["0f", "ff", ".ripstop-tmp", "lost+found", "tmp"];
        for name in names {
            fs::create_dir(root.path().join(name)).unwrap();
            fs::set_permissions(root.path().join(name), Permissions::from_mode(0o755)).unwrap();
        }
        assert_eq!(close_to_others(root.path()).unwrap(), 3);
        assert_eq!(close_to_others(root.path()).unwrap(), 0);
        let mode = |name: &str| {
            let metadata = fs::metadata(root.path().join(name)).unwrap();
            metadata.permissions().mode() & 0o777
        };
        assert_eq!(names.map(mode), [0o700, 0o700, 0o700, 0o755, 0o755]);
        assert_eq!(close_to_others(&root.path().join("gone")).unwrap(), 0);
    }
}
