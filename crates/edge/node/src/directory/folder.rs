use bytes::Bytes;
use ripstop_block::{BLOCK_LEN, Blocks, Buffer};
use rustix::{
    buffer::spare_capacity,
    io::{ReadWriteFlags, Result, pread, preadv2, retry_on_intr},
};
use std::{
    fs::File,
    io::{self, ErrorKind, IoSlice, IoSliceMut, Write},
    os::fd::AsFd,
};

/// Most pieces that the system reads or writes in one call.
const SLICES_MAX: usize = 1024;

/// A kind of file system, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FileSystem {
    Ext4,
    Xfs,
    Other,
}

impl FileSystem {
    /// What a file or folder is on. May block.
    pub(super) fn of(file: impl AsFd) -> Result<Self> {
        Ok(match rustix::fs::fstatfs(file)?.f_type {
            0xef53 => Self::Ext4,
            0x5846_5342 => Self::Xfs,
            _ => Self::Other,
        })
    }

    /// Whether it makes a file's newest name last when the file is synced: its journal has the
    /// rename in the transaction, or an earlier one, of the file's own last change, and commits in
    /// order.
    pub(super) const fn syncs_names(self) -> bool {
        matches!(self, Self::Ext4 | Self::Xfs)
    }

    /// Whether it opens files without asking anybody but its disk, and what the kernel has in
    /// memory without that; and its device is its disk's, so that no other file system has the same
    /// while it is in use.
    pub(super) const fn opens_from_memory(self) -> bool {
        matches!(self, Self::Ext4 | Self::Xfs)
    }
}

/// What a read may wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Patience {
    /// The disk.
    Disk,
    /// Nothing: what is not in memory is an error, or missing at the end.
    InMemory,
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

/// Reads pieces of these lengths from `start` on, each that nearly fills a block into a block;
/// fewer bytes only if the file ends before, or what may be waited for does. Answers how many came.
pub(super) fn read_pieces(
    file: &File,
    start: u64,
    lens: &[u32],
    blocks: &Blocks,
    patience: Patience,
) -> io::Result<(Vec<Bytes>, u64)> {
    // A block for what nearly fills one; the rest shares one allocation.
    let is_small = |len: u32| !(BLOCK_LEN / 2 + 1..=BLOCK_LEN).contains(&(len as usize));
    let small_len: usize = lens.iter().filter(|len| is_small(**len)).map(|len| *len as usize).sum();
    let mut small = vec![0; small_len];
    let mut large: Vec<Buffer> = lens
        .iter()
        .filter(|len| !is_small(**len))
        .map(|len| blocks.buffer(*len as usize))
        .collect();
    let mut slices = Vec::with_capacity(lens.len());
    let (mut small_left, mut large_left) = (&mut small[..], large.iter_mut());
    for &len in lens {
        if is_small(len) {
            let (piece, rest) = small_left.split_at_mut(len as usize);
            small_left = rest;
            slices.push(IoSliceMut::new(piece));
        } else if let Some(buffer) = large_left.next() {
            slices.push(IoSliceMut::new(buffer.whole()));
        }
    }
    let read = fill(file, start, &mut slices, patience)?;
    drop(slices);
    let small = Bytes::from(small);
    let (mut at, mut large) = (0, large.into_iter());
    let pieces = lens.iter().filter_map(|&len| {
        let len = len as usize;
        if is_small(len as u32) {
            at += len;
            return Some(small.slice(at - len..at));
        }
        let mut buffer = large.next()?;
        buffer.fill_to(len);
        Some(buffer.freeze())
    });
    Ok((pieces.collect(), read))
}

/// Fills the slices one after the other from `start` on, as far as the file goes.
fn fill(
    file: &File,
    start: u64,
    slices: &mut [IoSliceMut<'_>],
    patience: Patience,
) -> io::Result<u64> {
    let flags = match patience {
        Patience::Disk => ReadWriteFlags::empty(),
        Patience::InMemory => ReadWriteFlags::NOWAIT,
    };
    let mut slices = slices;
    IoSliceMut::advance_slices(&mut slices, 0);
    let mut read = 0;
    while !slices.is_empty() {
        let now = slices.len().min(SLICES_MAX);
        match retry_on_intr(|| preadv2(file, &mut slices[..now], start + read, flags))? {
            0 => break,
            some => {
                read += some as u64;
                IoSliceMut::advance_slices(&mut slices, some);
            }
        }
    }
    Ok(read)
}
