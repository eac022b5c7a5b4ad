use crate::{
    format::{Entry, FILE_HEAD_LEN, MAGIC, POSITIONAL, Stop, VERSION},
    frame::{self, FRAME_LEN, Frame},
    numbered::{First, Reading},
    positional,
};
use ripstop_form::Unreadable;
use std::io::{self, Read};

/// Reads a recording, one record after the other.
#[derive(Debug)]
pub struct Recording<R> {
    from: R,
    version: u32,
    /// Where the next block begins.
    next: u64,
    /// Where the block at hand begins, for messages.
    offset: u64,
    number: u32,
    pool: u16,
    records: Vec<u8>,
    /// What the records of the block that were read say of those that follow.
    reading: Reading,
    /// Bytes of `records` that were read.
    read: usize,
    ending: Option<Ending>,
}

/// How a recording ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// As asked.
    Finished,
    /// Before it was asked to, for this reason.
    Stopped(Stop),
    /// With this many bytes of a block that was not written to its end; 0 if it ends between
    /// blocks. Its process was killed, most likely.
    CutOff(u64),
}

/// The file is no recording that can be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The system says no.
    #[error("it cannot be read")]
    Io(#[from] io::Error),
    /// It does not begin like one.
    #[error("it is not a recording")]
    Magic,
    /// Its format is not ours.
    #[error("it is of format {0}, which {age}; this program knows {POSITIONAL} and {VERSION}", age = age(*.0))]
    Version(u32),
    /// Bytes were changed or lost.
    #[error("it is damaged in the block at byte {0}")]
    Damaged(u64),
    /// A whole block holds a record that cannot be read.
    #[error("the block at byte {offset} cannot be read: {source}")]
    Record {
        /// Where the block begins.
        offset: u64,
        /// What is wrong with it.
        source: Unreadable,
    },
    /// Records do not follow on one another as they must.
    #[error("the block at byte {offset} holds a record that cannot occur there: {why}")]
    Order {
        /// Where the block begins.
        offset: u64,
        /// What is wrong with it.
        why: &'static str,
    },
}

impl<R: Read> Recording<R> {
    /// Reads the head of the file.
    pub fn open(mut from: R) -> Result<Self, RecordingError> {
        let mut head = [0; FILE_HEAD_LEN];
        let len = fill(&mut from, &mut head)?;
        let (magic, version) = head.split_at(MAGIC.len());
        if len < FILE_HEAD_LEN || magic != MAGIC {
            return Err(RecordingError::Magic);
        }
        let version = u32::from_le_bytes(version.try_into().expect("four bytes"));
        if !matches!(version, POSITIONAL | VERSION) {
            return Err(RecordingError::Version(version));
        }
        Ok(Self {
            from,
            version,
            next: FILE_HEAD_LEN as u64,
            offset: FILE_HEAD_LEN as u64,
            number: 0,
            pool: 0,
            records: Vec::new(),
            reading: Reading::default(),
            read: 0,
            ending: None,
        })
    }

    /// Where the block of the last record begins.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// How it ends, once [`Self::next_record`] has found the end.
    pub fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    /// The next record and its pool, by number; none at the end.
    pub fn next_record(&mut self) -> Result<Option<(u16, Entry)>, RecordingError> {
        let record = loop {
            while self.read == self.records.len() {
                if self.reading.is_amid() {
                    return Err(self.misplaced("it ends before all that was said"));
                }
                if self.ending.is_some() || !self.next_block()? {
                    return Ok(None);
                }
            }
            if let Some(record) = self.first()? {
                break record;
            }
        };
        self.ending = match &record {
            Entry::Finished => Some(Ending::Finished),
            Entry::Stopped(stop) => Some(Ending::Stopped(stop.clone())),
            Entry::Began(_) | Entry::Told { .. } | Entry::Said(_) => None,
        };
        if self.ending.is_some() {
            let mut more = [0];
            if self.read < self.records.len() || fill(&mut self.from, &mut more)? > 0 {
                return Err(self.misplaced("it is the last, and something follows"));
            }
            return Ok(None);
        }
        Ok(Some((self.pool, record)))
    }

    const fn misplaced(&self, why: &'static str) -> RecordingError {
        RecordingError::Order { offset: self.offset, why }
    }

    /// What follows in the block, if that is a record.
    fn first(&mut self) -> Result<Option<Entry>, RecordingError> {
        let rest = &self.records[self.read..];
        let was_amid = self.reading.is_amid();
        let first = match self.version {
            POSITIONAL => positional::first(rest).map(|(len, it)| (len, First::Entry(it))),
            _ => self.reading.first(rest),
        };
        let (len, first) =
            first.map_err(|source| RecordingError::Record { offset: self.offset, source })?;
        self.read += len;
        match first {
            First::Entry(Entry::Said(said)) => Ok(Some(Entry::Said(said))),
            First::Entry(_) if was_amid => {
                Err(self.misplaced("it begins before all was said to the one before"))
            }
            First::Entry(record) => Ok(Some(record)),
            First::Part | First::Unknown => Ok(None),
        }
    }

    /// Reads and checks a block; false at the end of the file.
    fn next_block(&mut self) -> Result<bool, RecordingError> {
        self.offset = self.next;
        let mut bytes = [0; FRAME_LEN];
        let bytes = &mut bytes[..frame::len(self.version)];
        let framed = fill(&mut self.from, bytes)?;
        if framed < bytes.len() {
            self.ending = Some(Ending::CutOff(framed as u64));
            return Ok(false);
        }
        let damaged = RecordingError::Damaged(self.offset);
        let Some(frame) = Frame::read(self.version, bytes) else { return Err(damaged) };
        (self.read, self.reading) = (0, Reading::default());
        self.records.clear();
        let found = (&mut self.from).take(frame.len as u64).read_to_end(&mut self.records)?;
        if found < frame.len {
            self.ending = Some(Ending::CutOff((framed + found) as u64));
            self.records.clear();
            return Ok(false);
        }
        if frame.number != self.number || !frame.holds(bytes, &self.records) {
            return Err(damaged);
        }
        self.pool = frame.pool;
        self.number = self.number.wrapping_add(1);
        self.next += (framed + frame.len) as u64;
        Ok(true)
    }
}

fn age(version: u32) -> &'static str {
    if version > VERSION { "a newer program must have written" } else { "no program wrote" }
}

/// Reads until `into` is full or the file ends; returns how much it read.
fn fill(from: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut len = 0;
    while len < into.len() {
        match from.read(&mut into[len..]) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}
