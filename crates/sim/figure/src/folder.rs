use std::{
    fs::{self, OpenOptions},
    io,
    path::Path,
};

/// Makes the folder of a report and sees whether files can be made in it, so that an hour's work is
/// not done for a folder that takes nothing.
pub fn ready_folder(folder: impl AsRef<Path>) -> io::Result<()> {
    let folder = folder.as_ref();
    let probe = folder.join(format!(".ripstop-{}", std::process::id()));
    let made = fs::create_dir_all(folder)
        .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&probe))
        .and_then(|_| fs::remove_file(&probe));
    let named = |error: io::Error| {
        let told = format!("nothing can be written into {}: {error}", folder.display());
        io::Error::new(error.kind(), told)
    };
    made.map_err(named)
}
