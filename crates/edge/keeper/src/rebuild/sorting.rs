//! Sorting more than memory holds: sorted runs in files, merged as they are read.

use super::scratch::{Scratch, ScratchError};
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    io::{BufReader, BufWriter, ErrorKind, Read, Write},
    path::PathBuf,
    sync::Arc,
};

/// Bytes of items, with what sorting them takes, that are in memory before they go to a run.
pub(super) const SORTED_BYTES_MAX: usize = 48 << 20;
/// Runs that are merged at once; where there are more, these become one.
const FAN_IN_MAX: usize = 64;
/// Bytes read ahead in each run.
const READ_AHEAD: usize = 128 << 10;
const WRITE_BEHIND: usize = 1 << 20;

/// Where an item is in memory: its first bytes, so that most comparisons need no more, start,
/// length.
type Slot = (u128, u32, u32);

/// Takes byte strings in any order.
#[derive(Debug)]
pub(super) struct Sorter {
    scratch: Arc<Scratch>,
    name: &'static str,
    bytes_max: usize,
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    runs: Vec<PathBuf>,
    made: usize,
}

impl Sorter {
    pub(super) fn new(scratch: &Arc<Scratch>, name: &'static str) -> Self {
        Self::within(scratch, name, SORTED_BYTES_MAX)
    }

    fn within(scratch: &Arc<Scratch>, name: &'static str, bytes_max: usize) -> Self {
        let scratch = Arc::clone(scratch);
        let (bytes, slots, runs) = (Vec::new(), Vec::new(), Vec::new());
        Self { scratch, name, bytes_max, bytes, slots, runs, made: 0 }
    }

    /// Where its runs are.
    pub(super) fn scratch(&self) -> &Arc<Scratch> {
        &self.scratch
    }

    /// Takes an item of less than 4 GiB.
    pub(super) fn push(&mut self, item: &[u8]) -> Result<(), ScratchError> {
        let taken = self.bytes.len() + (self.slots.len() + 1) * size_of::<Slot>();
        if taken + item.len() > self.bytes_max && !self.slots.is_empty() {
            self.spill()?;
        }
        let slot = (prefix(item), self.bytes.len() as u32, item.len() as u32);
        self.bytes.extend_from_slice(item);
        self.slots.push(slot);
        Ok(())
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.slots.sort_unstable_by(|one, other| {
            one.0.cmp(&other.0).then_with(|| at(bytes, one).cmp(at(bytes, other)))
        });
    }

    /// Writes what is in memory to a new run.
    fn spill(&mut self) -> Result<(), ScratchError> {
        self.sort();
        let mut run = self.new_run()?;
        for slot in &self.slots {
            run.write(at(&self.bytes, slot))?;
        }
        self.runs.push(run.finish()?);
        self.bytes.clear();
        self.slots.clear();
        if self.runs.len() == FAN_IN_MAX {
            let mut merged = self.new_run()?;
            let mut merge = Merge::new(&self.scratch, &self.runs)?;
            while let Some(item) = merge.next()? {
                merged.write(item)?;
            }
            self.runs = vec![merged.finish()?];
        }
        Ok(())
    }

    fn new_run(&mut self) -> Result<RunWriter, ScratchError> {
        self.made += 1;
        let path = self.scratch.path(&format!("{}-{}", self.name, self.made));
        let file = BufWriter::with_capacity(WRITE_BEHIND, Scratch::create_file(&path)?);
        Ok(RunWriter { path, file })
    }

    /// Everything that was taken, in order.
    pub(super) fn finish(mut self) -> Result<Sorted, ScratchError> {
        if self.runs.is_empty() {
            self.sort();
            return Ok(Sorted::InMemory { bytes: self.bytes, slots: self.slots, next: 0 });
        }
        if !self.slots.is_empty() {
            self.spill()?;
        }
        drop((self.bytes, self.slots));
        Ok(Sorted::Merged(Merge::new(&self.scratch, &self.runs)?))
    }
}

fn prefix(item: &[u8]) -> u128 {
    let mut first = [0; 16];
    let len = item.len().min(16);
    first[..len].copy_from_slice(&item[..len]);
    u128::from_be_bytes(first)
}

fn at<'a>(bytes: &'a [u8], slot: &Slot) -> &'a [u8] {
    &bytes[slot.1 as usize..][..slot.2 as usize]
}

/// The items of a [`Sorter`] in order.
#[derive(Debug)]
pub(super) enum Sorted {
    /// They were few.
    InMemory { bytes: Vec<u8>, slots: Vec<Slot>, next: usize },
    /// They come from runs.
    Merged(Merge),
}

impl Sorted {
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, ScratchError> {
        match self {
            Self::InMemory { bytes, slots, next } => {
                *next += 1;
                Ok(slots.get(*next - 1).map(|slot| at(bytes, slot)))
            }
            Self::Merged(merge) => merge.next(),
        }
    }
}

#[derive(Debug)]
struct RunWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl RunWriter {
    fn write(&mut self, item: &[u8]) -> Result<(), ScratchError> {
        let len = (item.len() as u32).to_le_bytes();
        let written = self.file.write_all(&len).and_then(|()| self.file.write_all(item));
        written.map_err(|source| ScratchError::new(&self.path, source))
    }

    fn finish(mut self) -> Result<PathBuf, ScratchError> {
        self.file.flush().map_err(|source| ScratchError::new(&self.path, source))?;
        Ok(self.path)
    }
}

/// Sorted runs read as one. One item of each run is in memory.
#[derive(Debug)]
pub(super) struct Merge {
    scratch: Arc<Scratch>,
    runs: Vec<(PathBuf, BufReader<File>)>,
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    last: Vec<u8>,
}

impl Merge {
    fn new(scratch: &Arc<Scratch>, paths: &[PathBuf]) -> Result<Self, ScratchError> {
        let mut runs = Vec::with_capacity(paths.len());
        for path in paths {
            let file = File::open(path).map_err(|source| ScratchError::new(path, source))?;
            runs.push((path.clone(), BufReader::with_capacity(READ_AHEAD, file)));
        }
        let heads = BinaryHeap::with_capacity(runs.len());
        let mut merge = Self { scratch: Arc::clone(scratch), runs, heads, last: Vec::new() };
        for run in 0..merge.runs.len() {
            merge.read(run, Vec::new())?;
        }
        Ok(merge)
    }

    /// Reads a run's next item into `into`, if there is one; a run that was read is not kept.
    fn read(&mut self, run: usize, mut into: Vec<u8>) -> Result<(), ScratchError> {
        let (path, file) = &mut self.runs[run];
        let failed = |source| ScratchError::new(path, source);
        let mut len = [0; 4];
        match file.read_exact(&mut len) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return self.scratch.remove(&self.runs[run].0);
            }
            Err(error) => return Err(failed(error)),
        }
        into.resize(u32::from_le_bytes(len) as usize, 0);
        file.read_exact(&mut into).map_err(failed)?;
        self.heads.push(Reverse((into, run)));
        Ok(())
    }

    fn next(&mut self) -> Result<Option<&[u8]>, ScratchError> {
        let Some(Reverse((item, run))) = self.heads.pop() else { return Ok(None) };
        let spare = std::mem::replace(&mut self.last, item);
        self.read(run, spare)?;
        Ok(Some(&self.last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_back_in_order_whatever_memory_there_is() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Arc::new(Scratch::create(&folder.path().join("scratch")).unwrap());
        let mut items: Vec<Vec<u8>> = (0..5000_u32)
            .map(|at| {
                let mixed = at.wrapping_mul(2_654_435_761);
                mixed.to_be_bytes().repeat(1 + (at % 9) as usize)[at as usize % 3..].to_vec()
            })
            .collect();
        for bytes_max in [SORTED_BYTES_MAX, 20_000, 1] {
            let mut sorter = Sorter::within(&scratch, "items", bytes_max);
            for item in &items {
                sorter.push(item).unwrap();
                assert!(sorter.bytes.len() <= bytes_max.max(item.len()));
                assert!(sorter.runs.len() < FAN_IN_MAX);
            }
            let mut sorted = sorter.finish().unwrap();
            items.sort();
            for item in &items {
                assert_eq!(sorted.next().unwrap(), Some(&item[..]));
            }
            assert_eq!(sorted.next().unwrap(), None);
            items.reverse();
            drop(sorted);
            assert_eq!(std::fs::read_dir(scratch.path("")).unwrap().count(), 0, "no run is left");
        }
    }
}
