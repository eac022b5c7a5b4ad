//! Writing past the page cache: large fragments are read back rarely, and copying them into pages
//! that the system must find, track and write back costs more processor time than all the rest of
//! storing them.

use bytes::Bytes;
use ripstop_block::{ALIGN, BLOCK_LEN, Blocks, Buffer};
use rustix::io::{pwritev, retry_on_intr};
use std::{
    fs::File,
    io::{self, ErrorKind, IoSlice},
};

/// Shortest fragment that is written so: below it the page cache costs no more than the disk's own
/// granularity.
pub(super) const LEN_MIN: usize = 256 << 10;
/// Blocks that a fragment is put together in on its way to the disk: the memory that each write
/// under way takes beside the fragment's own, so at most this for each of a node's threads.
const STAGED_BLOCKS: usize = 8;

/// Writes the segments one after the other, from memory and in lengths that the disk takes as they
/// are.
pub(super) fn write_all(file: &File, segments: &[Bytes], blocks: &Blocks) -> io::Result<()> {
    let mut segments = segments.iter().map(|segment| &segment[..]);
    let (mut rest, mut written) = (&[][..], 0);
    loop {
        let mut staged: Vec<Buffer> = Vec::with_capacity(STAGED_BLOCKS);
        let ended = loop {
            if rest.is_empty() {
                let Some(segment) = segments.next() else { break true };
                rest = segment;
                continue;
            }
            if staged.last().is_none_or(|block| block.room() == 0) {
                if staged.len() == STAGED_BLOCKS {
                    break false;
                }
                staged.push(blocks.buffer(BLOCK_LEN));
            }
            let block = staged.last_mut().expect("one was added where there was none");
            let (taken, left) = rest.split_at(rest.len().min(block.room()));
            block.extend_from_slice(taken);
            rest = left;
        };
        let len: usize = staged.iter().map(Buffer::len).sum();
        if let Some(last) = staged.last_mut() {
            let padded = last.len().next_multiple_of(ALIGN);
            let filled = last.len();
            last.whole()[filled..padded].fill(0);
            last.fill_to(padded);
        }
        write_at(file, &staged, written)?;
        written += len as u64;
        if ended {
            break;
        }
    }
    if written % ALIGN as u64 != 0 {
        file.set_len(written)?;
    }
    Ok(())
}

fn write_at(file: &File, staged: &[Buffer], at: u64) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> =
        staged.iter().map(|block| IoSlice::new(block.filled())).collect();
    let (mut slices, mut at) = (&mut slices[..], at);
    while !slices.is_empty() {
        match retry_on_intr(|| pwritev(file, slices, at))? {
            0 => return Err(ErrorKind::WriteZero.into()),
            written => {
                at += written as u64;
                IoSlice::advance_slices(&mut slices, written);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::place::Folder;

    #[test]
    fn what_is_written_is_what_was_given_whatever_its_lengths() {
        let folder = tempfile::tempdir().unwrap();
        let blocks = Blocks::new(1 << 20);
        for (at, lens) in [
            &[0_usize][..],
            &[1],
            &[4096],
            &[64, 65_536, 8, 65_536, 8, 100],
            &[64, 4095, 1, 3_000_000, 7, 524_288, 4096],
        ]
        .iter()
        .enumerate()
        {
            let path = folder.path().join(at.to_string());
            let opened = Folder::open(folder.path()).unwrap();
            let Some(file) = opened.create_direct(&at.to_string()).unwrap() else { return };
            let segments: Vec<Bytes> =
                lens.iter().map(|&len| (0..len).map(|i| (i * 7 + len) as u8).collect()).collect();
            write_all(&file, &segments, &blocks).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), segments.concat(), "{lens:?}");
        }
        assert_eq!(blocks.in_use(), 0);
    }
}
