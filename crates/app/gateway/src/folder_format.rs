//! Which format the data folder has: what is in it, and under which names. What the files say of
//! themselves is theirs.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Name of the file in the data folder that says which format that has. One without it is of a
/// program from before there was one, and has format 1.
pub(crate) const FORMAT_FILE: &str = "format";
/// The format that this program makes; it knows all up to it.
const FORMAT: u64 = 1;
const FIRST_LINE: &str = "This is the data folder of a Ripstop gateway: leave what is in it alone.";
/// Most bytes of the file that are read: every program's fits.
const LEN_MAX: u64 = 4096;
const FILE_MODE: u32 = 0o600;

/// What a folder's format is to this program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    /// It knows it.
    Yes,
    /// It does not, for this reason.
    No(String),
}

fn judged(text: &str) -> Known {
    let told = text.lines().find_map(|line| line.strip_prefix("format "));
    match told.map(str::parse::<u64>) {
        Some(Ok(format)) if format <= FORMAT => Known::Yes,
        Some(Ok(format)) => Known::No(format!(
            "has format {format}, and this program knows none above {FORMAT}: a newer one wrote it"
        )),
        Some(Err(_)) | None => {
            Known::No(format!("has a file {FORMAT_FILE:?} that names no format that can be read"))
        }
    }
}

/// Looks which format a folder has, and at nothing else.
pub(crate) fn look(folder: &Path) -> io::Result<Known> {
    let file = match File::open(folder.join(FORMAT_FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Known::Yes),
        opened => opened?,
    };
    let mut text = Vec::new();
    file.take(LEN_MAX).read_to_end(&mut text)?;
    Ok(judged(&String::from_utf8_lossy(&text)))
}

/// Has a folder say its format, if it does not. What a crash leaves is the file, or none.
pub(crate) fn note(folder: &Path) -> io::Result<()> {
    let path = folder.join(FORMAT_FILE);
    if path.exists() {
        return Ok(());
    }
    let unfinished = folder.join(format!("{FORMAT_FILE}.unfinished"));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(FILE_MODE);
    let mut file = options.open(&unfinished)?;
    writeln!(file, "{FIRST_LINE}\nformat {FORMAT}")?;
    file.sync_all()?;
    fs::rename(unfinished, path)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_says_its_format_once_and_one_from_before_is_known() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(look(folder.path()).unwrap(), Known::Yes);
        assert_eq!(look(&folder.path().join("absent")).unwrap(), Known::Yes);
        // What a crash left is written over.
        fs::write(folder.path().join("format.unfinished"), "format").unwrap();
        note(folder.path()).unwrap();
        let text = fs::read_to_string(folder.path().join(FORMAT_FILE)).unwrap();
        assert_eq!(text, format!("{FIRST_LINE}\nformat 1\n"));
        assert_eq!(look(folder.path()).unwrap(), Known::Yes);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        // Nor is it written again.
        fs::write(folder.path().join(FORMAT_FILE), "an operator's\nformat 1\n").unwrap();
        note(folder.path()).unwrap();
        let text = fs::read_to_string(folder.path().join(FORMAT_FILE)).unwrap();
        assert_eq!(text, "an operator's\nformat 1\n");
    }

    #[test]
    fn a_newer_format_and_what_names_none_are_not_known() {
        let newer = Known::No(
            "has format 2, and this program knows none above 1: a newer one wrote it".into(),
        );
        assert_eq!(judged("whatever newer programs say\nformat 2\nand more\n"), newer);
        for text in ["", "format", "format two", "format -1", "format 99999999999999999999\n"] {
            assert!(matches!(judged(text), Known::No(why) if why.contains("names no format")));
        }
    }
}
