use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{
    FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// How long a line may be, in bytes.
pub const LINE_MAX: usize = 1 << 20;

const BUFFER: usize = 1 << 17;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The last three bytes of the magic number of a frame that is to be skipped.
const ZSTD_SKIP_MAGIC: [u8; 3] = [0x2a, 0x4d, 0x18];

/// What a file is packed with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// Nothing.
    Plain,
    /// gzip, any number of members.
    Gzip,
    /// zstd, any number of frames, with windows of up to 128 MiB.
    Zstd,
}

impl Compression {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    fn of(magic: &[u8]) -> Self {
        let skips = magic.len() == 4 && magic[0] & 0xf0 == 0x50 && magic[1..] == ZSTD_SKIP_MAGIC;
        if magic.starts_with(&GZIP_MAGIC) {
            Self::Gzip
        } else if magic == ZSTD_MAGIC || skips {
            Self::Zstd
        } else {
            Self::Plain
        }
    }
}

/// Bytes, unpacked.
pub(crate) type Source = Box<dyn BufRead + Send>;

/// Unpacks what its first bytes show to be packed.
pub(crate) fn unpack(
    mut packed: impl BufRead + Send + 'static,
) -> io::Result<(Source, Compression)> {
    let (magic, packed) =
        ahead(&mut packed, 4).map(|magic| (magic.clone(), put_back(magic, packed)))?;
    let compression = Compression::of(&magic);
    let source: Source = match compression {
        Compression::Plain => packed,
        Compression::Gzip => {
            Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(packed)))
        }
        Compression::Zstd => Box::new(BufReader::with_capacity(BUFFER, Zstd::new(packed))),
    };
    Ok((source, compression))
}

/// The next `max` bytes, or all there are.
pub(crate) fn ahead(source: &mut impl BufRead, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Puts bytes back before a source.
pub(crate) fn put_back(bytes: Vec<u8>, source: impl BufRead + Send + 'static) -> Source {
    Box::new(Cursor::new(bytes).chain(source))
}

/// Unpacks zstd frames one behind the other, and holds them to their checksums.
struct Zstd<R> {
    decoder: FrameDecoder,
    packed: R,
    /// Whether a frame has begun and not ended.
    is_inside: bool,
}

impl<R: BufRead> Zstd<R> {
    fn new(packed: R) -> Self {
        Self { decoder: FrameDecoder::new(), packed, is_inside: false }
    }

    /// Begins the next frame; false if there is none.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.packed.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.packed) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let skipped =
                        io::copy(&mut self.packed.by_ref().take(length), &mut io::sink())?;
                    if skipped < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            }
        }
        Ok(false)
    }

    fn verify(&self) -> io::Result<()> {
        let (told, found) =
            (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
        if told.is_some() && told != found {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "zstd frame: wrong checksum"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use ruzstd::decoding::BlockDecodingStrategy::UptoBlocks;
        loop {
            if !self.is_inside && !self.begin()? {
                return Ok(0);
            }
            self.is_inside = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder
                    .decode_blocks(&mut self.packed, UptoBlocks(1))
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            }
            let read = self.decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            self.verify()?;
            self.is_inside = false;
        }
    }
}

/// Lines of a source, without their ends.
pub(crate) struct Lines {
    source: Source,
    line: Vec<u8>,
    /// The number of the line that was read last, from 1.
    pub(crate) number: u64,
}

/// What a source has next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// A line: see [`Lines::bytes`].
    Line,
    /// A line that is longer than [`LINE_MAX`], passed over.
    TooLong,
    /// Nothing.
    End,
}

impl Lines {
    pub(crate) fn new(source: Source) -> Self {
        Self { source, line: Vec::new(), number: 0 }
    }

    pub(crate) fn read(&mut self) -> io::Result<Next> {
        self.line.clear();
        let max = LINE_MAX as u64 + 2;
        let read = self.source.by_ref().take(max).read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(Next::End);
        }
        self.number += 1;
        let is_whole = self.line.pop_if(|byte| *byte == b'\n').is_some();
        self.line.pop_if(|byte| *byte == b'\r');
        if self.line.len() <= LINE_MAX {
            return Ok(Next::Line);
        }
        if !is_whole {
            self.pass()?;
        }
        Ok(Next::TooLong)
    }

    /// Passes over the rest of a line.
    fn pass(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.source.fill_buf()?;
            let (len, end) = (buffer.len(), buffer.iter().position(|byte| *byte == b'\n'));
            self.source.consume(end.map_or(len, |end| end + 1));
            if end.is_some() || len == 0 {
                return Ok(());
            }
        }
    }

    /// The line that was read last.
    pub(crate) fn bytes(&self) -> &[u8] {
        let mark: &[u8] = if self.number == 1 { b"\xef\xbb\xbf" } else { b"" };
        self.line.strip_prefix(mark).unwrap_or(&self.line)
    }
}
