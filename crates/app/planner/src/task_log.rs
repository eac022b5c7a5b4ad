//! A task log's file, plain or packed.

use anyhow::{Context as _, Result, bail};
use flate2::read::MultiGzDecoder;
use std::{fs::File, io::Read as _, path::Path};

/// A log of more bytes than this is not read.
const LOG_MAX: u64 = 4 << 30;
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The text of a log, unpacked if it is packed.
pub fn read_log(path: &Path) -> Result<String> {
    let named = || format!("task log {} cannot be read", path.display());
    let mut file = File::open(path).with_context(named)?;
    let mut bytes = Vec::new();
    (&mut file).take(LOG_MAX).read_to_end(&mut bytes).with_context(named)?;
    if bytes.starts_with(&GZIP) {
        let mut unpacked = Vec::new();
        let packed = MultiGzDecoder::new(&bytes[..]);
        packed.take(LOG_MAX).read_to_end(&mut unpacked).with_context(named)?;
        bytes = unpacked;
    }
    if bytes.len() as u64 >= LOG_MAX {
        bail!("task log {} has more than {} GiB", path.display(), LOG_MAX >> 30);
    }
    String::from_utf8(bytes).with_context(named)
}
