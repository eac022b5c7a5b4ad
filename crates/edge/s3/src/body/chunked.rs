use crate::{
    auth::ChunkSigner,
    error::{Code, Failure, Outcome},
};
use bytes::{Bytes, BytesMut};
use sha2::{Digest as _, Sha256};

/// Longest line between chunks.
const LINE_LEN_MAX: usize = 4096;
/// Shorter pieces of the body are gathered up to this many bytes: each costs its hashing and its
/// storing something, and a sender may make chunks of one byte.
const PIECE_MIN: usize = 4096;
/// Fewest bytes of a chunk that others follow.
const CHUNK_LEN_MIN: u64 = 8 << 10;
/// Hexadecimal digits of a signature.
const SIGNATURE_LEN: usize = 64;
/// Most lines of a trailer.
const TRAILERS_MAX: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Before the line with a chunk's size.
    Size,
    /// Within a chunk.
    Data {
        left: u64,
    },
    /// Before the line end that closes a chunk.
    DataEnd,
    /// After the last chunk, before an empty line.
    Trailer,
    Ended,
}

/// Undoes S3's framing of streamed uploads, and verifies the signatures of chunks and trailer.
/// Bytes are handed on before their chunk is verified: the reader must not commit before the end.
#[derive(Debug)]
pub(crate) struct Chunked {
    state: State,
    line: Vec<u8>,
    /// Short pieces, to be handed on together; at most [`PIECE_MIN`] bytes.
    gathered: BytesMut,
    signer: Option<ChunkSigner>,
    signature: String,
    sha256: Sha256,
    /// How many chunks came, and how long the last of them was.
    chunks: u64,
    chunk_len: u64,
    /// Names that the request announced, lower case.
    announced: Vec<String>,
    trailers: Vec<(String, String)>,
}

fn incomplete() -> Failure {
    Code::IncompleteBody.into()
}

/// A line without its end, which must be a carriage return and a line feed; no other carriage
/// return is in a line.
fn ended_line(line: &[u8]) -> Outcome<&[u8]> {
    let line = line.strip_suffix(b"\r\n").filter(|line| !line.contains(&b'\r'));
    line.ok_or_else(incomplete)
}

fn is_signature(text: &str) -> bool {
    text.len() == SIGNATURE_LEN && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl Chunked {
    /// A decoder that verifies with `signer`, if chunks are signed, and expects the `announced`
    /// headers after the last one.
    pub(crate) fn new(signer: Option<ChunkSigner>, announced: Vec<String>) -> Self {
        Self {
            state: State::Size,
            line: Vec::new(),
            gathered: BytesMut::new(),
            signer,
            signature: String::new(),
            sha256: Sha256::new(),
            chunks: 0,
            chunk_len: 0,
            announced,
            trailers: Vec::new(),
        }
    }

    /// Whether the framing's own end was reached.
    pub(super) fn ended(&self) -> bool {
        self.state == State::Ended
    }

    /// A header of the trailer.
    pub(super) fn trailer(&self, name: &str) -> Option<&str> {
        self.trailers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// Takes from `input` what it can; the next bytes of the body, or `None` when it needs more
    /// input (or is at the end).
    pub(crate) fn decode(&mut self, input: &mut Bytes) -> Outcome<Option<Bytes>> {
        loop {
            let is_last = matches!(self.state, State::Trailer | State::Ended);
            if self.gathered.len() >= PIECE_MIN || is_last && !self.gathered.is_empty() {
                return Ok(Some(std::mem::take(&mut self.gathered).freeze()));
            }
            if input.is_empty() || self.state == State::Ended {
                return Ok(None);
            }
            if let State::Data { left } = self.state {
                if let Some(piece) = self.data(input, left) {
                    return Ok(Some(piece));
                }
                continue;
            }
            let Some(end) = memchr(input) else {
                self.push_line(&input.split_to(input.len()))?;
                return Ok(None);
            };
            self.push_line(&input.split_to(end + 1))?;
            let line = std::mem::take(&mut self.line);
            self.end_line(ended_line(&line)?)?;
        }
    }

    /// Takes bytes of a chunk of which `left` are due; hands them on as they are unless they are
    /// few.
    fn data(&mut self, input: &mut Bytes, left: u64) -> Option<Bytes> {
        let len = input.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let is_long = self.gathered.is_empty() && len >= PIECE_MIN;
        let room = PIECE_MIN - self.gathered.len();
        let piece = input.split_to(if is_long { len } else { len.min(room) });
        if self.signer.is_some() {
            self.sha256.update(&piece);
        }
        let left = left - piece.len() as u64;
        self.state = if left == 0 { State::DataEnd } else { State::Data { left } };
        if is_long {
            return Some(piece);
        }
        self.gathered.reserve(room);
        self.gathered.extend_from_slice(&piece);
        None
    }

    fn push_line(&mut self, bytes: &[u8]) -> Outcome<()> {
        if self.line.len() + bytes.len() > LINE_LEN_MAX {
            return Err(incomplete());
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, line: &[u8]) -> Outcome<()> {
        match self.state {
            State::Size => self.begin_chunk(line),
            State::DataEnd if line.is_empty() => {
                self.verify_chunk()?;
                self.state = State::Size;
                Ok(())
            }
            State::DataEnd | State::Data { .. } => Err(incomplete()),
            State::Trailer if line.is_empty() => self.end_trailer(),
            State::Trailer => self.trailer_line(line),
            State::Ended => Ok(()),
        }
    }

    fn begin_chunk(&mut self, line: &[u8]) -> Outcome<()> {
        let line = std::str::from_utf8(line).map_err(|_| incomplete())?;
        let (size, extension) = line.split_once(';').unwrap_or((line, ""));
        if size.is_empty() || size.len() > 16 || !size.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(incomplete());
        }
        let size = u64::from_str_radix(size, 16).map_err(|_| incomplete())?;
        if self.signer.is_some() {
            let signature = extension.trim().strip_prefix("chunk-signature=");
            let signature = signature.filter(|text| is_signature(text)).ok_or_else(incomplete)?;
            signature.clone_into(&mut self.signature);
        }
        if size > 0 && self.chunks > 0 && self.chunk_len < CHUNK_LEN_MIN {
            return Err(Failure::from(Code::InvalidChunkSize)
                .with("Chunk", self.chunks.to_string())
                .with("BadChunkSize", self.chunk_len.to_string()));
        }
        (self.chunks, self.chunk_len) = (self.chunks + 1, size);
        if size == 0 {
            self.verify_chunk()?;
            self.state = State::Trailer;
        } else {
            self.state = State::Data { left: size };
        }
        Ok(())
    }

    fn verify_chunk(&mut self) -> Outcome<()> {
        let Some(signer) = &mut self.signer else { return Ok(()) };
        let sha256 = self.sha256.finalize_reset().into();
        if signer.accepts_chunk(sha256, &self.signature) {
            Ok(())
        } else {
            Err(Code::SignatureDoesNotMatch.into())
        }
    }

    fn trailer_line(&mut self, line: &[u8]) -> Outcome<()> {
        let malformed = || Failure::from(Code::MalformedTrailer);
        let line = std::str::from_utf8(line).map_err(|_| malformed())?;
        let (name, value) = line.split_once(':').ok_or_else(malformed)?;
        if self.trailers.len() == TRAILERS_MAX {
            return Err(malformed());
        }
        self.trailers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        Ok(())
    }

    fn end_trailer(&mut self) -> Outcome<()> {
        self.state = State::Ended;
        let signature_at =
            self.trailers.iter().position(|(name, _)| name == "x-amz-trailer-signature");
        let signature = signature_at.map(|at| self.trailers.remove(at).1);
        let is_signed = self.signer.is_some() && !self.announced.is_empty();
        if self.trailers.is_empty() && !self.announced.is_empty() {
            return Err(Code::MalformedTrailer.into());
        }
        if is_signed && !signature.as_deref().is_some_and(is_signature) {
            return Err(incomplete());
        }
        if self.announced.iter().any(|name| self.trailer(name).is_none())
            || self.trailers.iter().any(|(name, _)| !self.announced.contains(name))
        {
            return Err(Code::MalformedTrailer.into());
        }
        let Some(signer) = &mut self.signer else { return Ok(()) };
        if self.announced.is_empty() {
            return Ok(());
        }
        let mut sha256 = Sha256::new();
        for (name, value) in &self.trailers {
            sha256.update(format!("{name}:{value}\n"));
        }
        let signature = signature.ok_or(Code::MalformedTrailer)?;
        if signer.accepts_trailer(sha256.finalize().into(), &signature) {
            Ok(())
        } else {
            Err(Code::SignatureDoesNotMatch.into())
        }
    }

    /// The connection delivers no more. Some clients leave out the last line end where there is no
    /// trailer.
    pub(crate) fn finish(&mut self) -> Outcome<()> {
        match self.state {
            State::Trailer if self.announced.is_empty() && self.line.trim_ascii().is_empty() => {
                self.end_trailer()
            }
            State::Ended => Ok(()),
            State::Trailer | State::Size | State::Data { .. } | State::DataEnd => Err(incomplete()),
        }
    }
}

fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&byte| byte == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes `framed`, which comes in pieces of `step` bytes.
    fn decode(framed: &[u8], step: usize, announced: &[&str]) -> Outcome<(Vec<u8>, Chunked)> {
        let announced = announced.iter().map(|&name| name.to_owned()).collect();
        let mut chunked = Chunked::new(None, announced);
        let mut out = Vec::new();
        for piece in framed.chunks(step) {
            let mut input = Bytes::copy_from_slice(piece);
            while let Some(bytes) = chunked.decode(&mut input)? {
                out.extend_from_slice(&bytes);
            }
        }
        chunked.finish()?;
        Ok((out, chunked))
    }

    #[test]
    fn chunks_and_trailers_are_read_whatever_the_pieces() {
        let first = [7; CHUNK_LEN_MIN as usize];
        let framed = [
            &b"2000\r\n"[..],
            &first,
            b"\r\n6;x=y\r\n world\r\n0\r\nx-amz-checksum-crc32: AAAA\r\n\r\n",
        ]
        .concat();
        for step in (1..50).chain([framed.len() - 1, framed.len()]) {
            let (bytes, chunked) = decode(&framed, step, &["x-amz-checksum-crc32"]).unwrap();
            assert_eq!(bytes, [&first[..], b" world"].concat());
            assert_eq!(chunked.trailer("x-amz-checksum-crc32"), Some("AAAA"));
        }
        assert_eq!(decode(b"0\r\n\r\n", 9, &[]).unwrap().0, b"");
        assert_eq!(decode(b"0\r\n", 9, &[]).unwrap().0, b"");
    }

    /// The lengths of the pieces in which `framed` is handed on, and all of it.
    fn pieces(framed: &[u8], step: usize) -> (Vec<usize>, Vec<u8>) {
        let mut chunked = Chunked::new(None, Vec::new());
        let (mut lens, mut whole) = (Vec::new(), Vec::new());
        for piece in framed.chunks(step) {
            let mut input = Bytes::copy_from_slice(piece);
            while let Some(bytes) = chunked.decode(&mut input).unwrap() {
                lens.push(bytes.len());
                whole.extend_from_slice(&bytes);
            }
        }
        chunked.finish().unwrap();
        (lens, whole)
    }

    #[test]
    fn bytes_that_come_one_by_one_are_handed_on_together() {
        let body: Vec<u8> = (0..10_000u32).map(|at| at as u8).collect();
        let framed = [b"2710\r\n", body.as_slice(), b"\r\n0\r\n\r\n"].concat();
        for step in [1, 7, 1000] {
            let (lens, whole) = pieces(&framed, step);
            assert_eq!(whole, body);
            assert_eq!(lens, [PIECE_MIN, PIECE_MIN, 10_000 - 2 * PIECE_MIN]);
        }
        // Without the last line end.
        assert_eq!(pieces(&framed[..framed.len() - 2], 1000).1, body);
    }

    #[test]
    fn long_chunks_are_handed_on_as_they_came() {
        let mut framed = b"5000\r\n".to_vec();
        framed.resize(framed.len() + 0x5000, 7);
        framed.extend_from_slice(b"\r\n3\r\nabc\r\n0\r\n\r\n");
        assert_eq!(pieces(&framed, framed.len()).0, [0x5000, 3]);
        let mut input = Bytes::from(framed);
        let at = input[6..].as_ptr();
        let first = Chunked::new(None, Vec::new()).decode(&mut input).unwrap().unwrap();
        assert_eq!(first.as_ptr(), at, "it was copied");
    }

    #[test]
    fn broken_framing_is_an_incomplete_body() {
        for framed in [
            &b""[..],
            b"5\r\nhel",
            b"5\r\nhello",
            b"5\r\nhello\r\n",
            b"5\r\nhelloo\r\n0\r\n\r\n",
            b"5\nhello\r\n0\r\n\r\n",
            b"5\r\nhello\n0\r\n\r\n",
            b"5\r\nhello\r\n0\n\r\n",
            b"5\r\nhello\r\n0\r\nx",
            b"5\r\nhello\r\n0\r\nx:y\rz:a\r\n\r\n",
            b"g\r\n",
            b"\r\n",
            b"-1\r\n",
            b"11111111111111111\r\n",
        ] {
            assert_eq!(
                decode(framed, 3, &[]).unwrap_err().code,
                Code::IncompleteBody,
                "{framed:?}"
            );
        }
        let long = vec![b'1'; 2 * LINE_LEN_MAX];
        assert_eq!(decode(&long, 1000, &[]).unwrap_err().code, Code::IncompleteBody);
    }

    #[test]
    fn only_the_last_chunk_may_be_short() {
        let chunk =
            |len: usize| [format!("{len:x}\r\n").as_bytes(), &vec![1; len], b"\r\n"].concat();
        let framed = |lens: &[usize]| {
            let chunks: Vec<u8> = lens.iter().flat_map(|&len| chunk(len)).collect();
            [chunks.as_slice(), b"0\r\n\r\n"].concat()
        };
        for lens in [&[100][..], &[8192, 8192, 100], &[10_000, 8192, 8191]] {
            let whole: usize = lens.iter().sum();
            assert_eq!(decode(&framed(lens), 1000, &[]).unwrap().0.len(), whole, "{lens:?}");
        }
        for (lens, chunk, len) in [(&[100, 8192][..], "1", "100"), (&[8192, 8191, 1], "2", "8191")]
        {
            let failure = decode(&framed(lens), 1000, &[]).unwrap_err();
            assert_eq!(failure.code, Code::InvalidChunkSize);
            let details = [("Chunk", chunk.to_owned()), ("BadChunkSize", len.to_owned())];
            assert_eq!(failure.details, details);
        }
    }

    #[test]
    fn a_trailer_that_was_announced_ends_with_an_empty_line() {
        for framed in [&b"0\r\n"[..], b"0\r\nx:y", b"0\r\nx:y\r\n"] {
            let failure = decode(framed, 64, &["x"]).unwrap_err();
            assert_eq!(failure.code, Code::IncompleteBody, "{framed:?}");
        }
    }

    #[test]
    fn trailers_must_be_those_announced() {
        let announced = &["x-amz-checksum-crc32"];
        for framed in [&b"0\r\n\r\n"[..], b"0\r\nno colon\r\n\r\n", b"0\r\nx:y\r\n\r\n"] {
            let failure = decode(framed, 64, announced).unwrap_err();
            assert_eq!(failure.code, Code::MalformedTrailer, "{framed:?}");
        }
        assert_eq!(decode(b"0\r\nx:y\r\n\r\n", 64, &[]).unwrap_err().code, Code::MalformedTrailer);
    }
}
