use bytes::Bytes;
use rustix::{
    buffer::spare_capacity,
    io::{pread, retry_on_intr},
};
use std::{
    fs::File,
    io::{self, ErrorKind, IoSlice, Write},
    path::Path,
};

/// The byte that a fragments' subfolder is named after.
pub(super) fn byte_of(folder: &Path) -> Option<u8> {
    let name = folder.file_name()?.to_str().filter(|name| name.len() == 2)?;
    u8::from_str_radix(name, 16).ok()
}

/// Writes the segments one after the other, with as few system calls as the system allows.
pub(super) fn write_all(file: &mut File, segments: &[Bytes]) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> = segments.iter().map(|bytes| IoSlice::new(bytes)).collect();
    let mut slices = &mut slices[..];
    // Leading empty slices would make a write of nothing look like a full disk.
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match file.write_vectored(slices) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads `len` bytes from `start` on, fewer only if the file ends before.
pub(super) fn read(file: &File, start: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        let at = start + bytes.len() as u64;
        if retry_on_intr(|| pread(file, spare_capacity(&mut bytes), at))? == 0 {
            break;
        }
    }
    bytes.truncate(len);
    Ok(bytes)
}
