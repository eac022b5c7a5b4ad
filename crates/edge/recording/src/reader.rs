use crate::format::{
    BLOCK_HEAD_LEN, BLOCK_LEN_MAX, FILE_HEAD_LEN, FRAME_LEN, MAGIC, Record, Stop, VERSION, checksum,
};
use std::io::{self, Read};

/// Reads a recording, one record after the other.
#[derive(Debug)]
pub struct Recording<R> {
    from: R,
    /// Where the next block begins.
    next: u64,
    /// Where the block at hand begins, for messages.
    offset: u64,
    number: u32,
    pool: u16,
    records: Vec<u8>,
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
    /// With so many bytes of a block that was not written to its end; 0 if it ends between blocks.
    /// Its process was killed, most likely.
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
    #[error("it has version {0} of the format, and this program reads version {VERSION}")]
    Version(u32),
    /// Bytes were changed or lost.
    #[error("it is damaged in the block at byte {0}")]
    Damaged(u64),
    /// A whole block holds what is no record.
    #[error("the block at byte {offset} holds what is no record: {source}")]
    Record {
        /// Where the block begins.
        offset: u64,
        /// What is wrong with it.
        source: postcard::Error,
    },
    /// Records do not follow on one another as they must.
    #[error("the block at byte {offset} holds a record that cannot be there: {why}")]
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
        let version = number(version);
        if version != VERSION {
            return Err(RecordingError::Version(version));
        }
        Ok(Self {
            from,
            next: FILE_HEAD_LEN as u64,
            offset: FILE_HEAD_LEN as u64,
            number: 0,
            pool: 0,
            records: Vec::new(),
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
    pub fn next_record(&mut self) -> Result<Option<(u16, Record)>, RecordingError> {
        while self.read == self.records.len() {
            if self.ending.is_some() || !self.next_block()? {
                return Ok(None);
            }
        }
        let rest = &self.records[self.read..];
        let (record, after) = postcard::take_from_bytes::<Record>(rest)
            .map_err(|source| RecordingError::Record { offset: self.offset, source })?;
        self.read = self.records.len() - after.len();
        self.ending = match &record {
            Record::Finished => Some(Ending::Finished),
            Record::Stopped(stop) => Some(Ending::Stopped(stop.clone())),
            Record::Began(_) | Record::Told { .. } | Record::Said(_) => None,
        };
        if self.ending.is_some() {
            let mut more = [0];
            if self.read < self.records.len() || fill(&mut self.from, &mut more)? > 0 {
                let why = "it is the last, and something follows";
                return Err(RecordingError::Order { offset: self.offset, why });
            }
            return Ok(None);
        }
        Ok(Some((self.pool, record)))
    }

    /// Reads and checks a block; false at the end of the file.
    fn next_block(&mut self) -> Result<bool, RecordingError> {
        self.offset = self.next;
        let mut frame = [0; FRAME_LEN];
        let framed = fill(&mut self.from, &mut frame)?;
        if framed < FRAME_LEN {
            self.ending = Some(Ending::CutOff(framed as u64));
            return Ok(false);
        }
        let (len, sum) = (number(&frame[..4]) as usize, number(&frame[4..]));
        if !(BLOCK_HEAD_LEN..=BLOCK_LEN_MAX).contains(&len) {
            return Err(RecordingError::Damaged(self.offset));
        }
        self.records.clear();
        let found = (&mut self.from).take(len as u64).read_to_end(&mut self.records)?;
        if found < len {
            self.ending = Some(Ending::CutOff((FRAME_LEN + found) as u64));
            self.records.clear();
            self.read = 0;
            return Ok(false);
        }
        let in_order = number(&self.records[..4]) == self.number;
        if checksum(&self.records) != sum || !in_order {
            return Err(RecordingError::Damaged(self.offset));
        }
        self.pool = u16::from_le_bytes([self.records[4], self.records[5]]);
        self.read = BLOCK_HEAD_LEN;
        self.number = self.number.wrapping_add(1);
        self.next += (FRAME_LEN + len) as u64;
        Ok(true)
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
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
