use crate::error::{Code, Failure, Outcome};
use bytes::{Bytes, BytesMut};

/// The file in a form: what comes until the delimiter, which ends it, is its bytes. What follows is
/// not looked at.
#[derive(Debug)]
pub(crate) struct File {
    /// A line end, two dashes, and the form's boundary. It has one carriage return, at its
    /// beginning.
    delimiter: Vec<u8>,
    /// What came last, if that is the beginning of the delimiter.
    begun: BytesMut,
    /// Most bytes that it may have, as the form has that much room for it.
    pub(crate) len_max: u64,
    /// The least and the most bytes that it may have, as its form's policy says.
    range: Option<(u64, u64)>,
    came: u64,
    ended: bool,
}

/// Where a delimiter is in some bytes.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Find {
    /// All of it, from here.
    Whole(usize),
    /// Its beginning, from here to the end of the bytes.
    Begun(usize),
    Nowhere,
}

/// Looks for a delimiter that has one carriage return, at its beginning.
pub(super) fn find(bytes: &[u8], delimiter: &[u8]) -> Find {
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|&byte| byte == b'\r') {
        let at = from + at;
        let rest = &bytes[at..];
        if rest.starts_with(delimiter) {
            return Find::Whole(at);
        }
        if delimiter.starts_with(rest) {
            return Find::Begun(at);
        }
        from = at + 1;
    }
    Find::Nowhere
}

impl File {
    /// The file of a form with this delimiter.
    pub(super) fn new(delimiter: Vec<u8>, len_max: u64) -> Self {
        let begun = BytesMut::new();
        Self { delimiter, begun, len_max, range: None, came: 0, ended: false }
    }

    /// From now on it may have this many bytes, from the least to the most.
    pub(crate) const fn bound(&mut self, range: (u64, u64)) {
        self.range = Some(range);
    }

    /// Whether its end was come to.
    pub(super) const fn ended(&self) -> bool {
        self.ended
    }

    /// Takes from `input` what it can; the next bytes of the file, or `None` when it needs more
    /// input (or is at the end).
    pub(super) fn decode(&mut self, input: &mut Bytes) -> Outcome<Option<Bytes>> {
        if self.ended {
            return Ok(None);
        }
        let piece = self.piece(input);
        self.came += piece.as_ref().map_or(0, |piece| piece.len() as u64);
        match self.range {
            Some((_, max)) if self.came > max => Err(Failure::from(Code::EntityTooLarge)
                .with("ProposedSize", self.came.to_string())
                .with("MaxSizeAllowed", max.to_string())),
            Some((min, _)) if self.ended && self.came < min => {
                Err(Failure::from(Code::EntityTooSmall)
                    .with("ProposedSize", self.came.to_string())
                    .with("MinSizeAllowed", min.to_string()))
            }
            // There is no room left for the delimiter.
            Some(_) | None if self.came > self.len_max => Err(Code::MalformedPostRequest.into()),
            Some(_) | None => Ok(piece),
        }
    }

    fn piece(&mut self, input: &mut Bytes) -> Option<Bytes> {
        if !self.begun.is_empty() {
            let wanted = &self.delimiter[self.begun.len()..];
            let same = wanted.iter().zip(input.iter()).take_while(|(one, other)| one == other);
            let same = same.count();
            self.begun.extend_from_slice(&input.split_to(same));
            if self.begun.len() < self.delimiter.len() {
                // A carriage return that is not the first of the delimiter begins another.
                return (!input.is_empty()).then(|| std::mem::take(&mut self.begun).freeze());
            }
            self.end(input);
            return None;
        }
        let piece = match find(input, &self.delimiter) {
            Find::Nowhere => std::mem::take(input),
            Find::Begun(at) => {
                let piece = input.split_to(at);
                self.begun.extend_from_slice(&std::mem::take(input));
                piece
            }
            Find::Whole(at) => {
                let piece = input.split_to(at);
                self.end(input);
                piece
            }
        };
        (!piece.is_empty()).then_some(piece)
    }

    fn end(&mut self, input: &mut Bytes) {
        self.ended = true;
        self.begun.clear();
        input.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file() -> File {
        File::new(b"\r\n--b".to_vec(), 1000)
    }

    /// What is read of a form that comes in pieces of `step` bytes, and whether the file ended.
    fn read(mut file: File, form: &[u8], step: usize) -> Outcome<(Vec<u8>, bool)> {
        let mut whole = Vec::new();
        for piece in form.chunks(step) {
            let mut input = Bytes::copy_from_slice(piece);
            while let Some(piece) = file.decode(&mut input)? {
                whole.extend_from_slice(&piece);
            }
        }
        Ok((whole, file.ended()))
    }

    #[test]
    fn a_file_ends_at_its_delimiter_however_it_is_cut() {
        for (form, content) in [
            (&b"\r\n--b--\r\n"[..], &b""[..]),
            (b"a\r\n--b--\r\n", b"a"),
            (b"\r\n-\r\n--\r\r\n\r\n--\r\n--b", b"\r\n-\r\n--\r\r\n\r\n--"),
            (b"x--b\r\n\r\n--b\r\nContent-Disposition: form-data; name=y\r\n\r\nz", b"x--b\r\n"),
        ] {
            for step in 1..=form.len() {
                let (read, ended) = read(file(), form, step).unwrap();
                assert_eq!((read.as_slice(), ended), (content, true), "{form:?} by {step}");
            }
        }
        for open in [&b"a"[..], b"a\r", b"a\r\n--", b"a\r\n--c"] {
            assert!(!read(file(), open, 2).unwrap().1, "{open:?}");
        }
    }

    #[test]
    fn a_file_has_as_many_bytes_as_its_policy_lets_it() {
        for (range, code) in [
            ((0, 3), Some(Code::EntityTooLarge)),
            ((5, 9), Some(Code::EntityTooSmall)),
            ((4, 4), None),
        ] {
            for step in [1, 3, 100] {
                let mut file = file();
                file.bound(range);
                let read = read(file, b"four\r\n--b--", step);
                assert_eq!(read.err().map(|failure| failure.code), code, "{range:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_is_in_a_file_comes_out(
            content in prop::collection::vec(prop::sample::select(b"\r\n-bx".to_vec()), 0..60),
            step in 1..9_usize,
        ) {
            let end = content.windows(5).position(|five| five == b"\r\n--b");
            let form = [&content, &b"\r\n--b--\r\n"[..]].concat();
            let first = form.windows(5).position(|five| five == b"\r\n--b").unwrap();
            prop_assert!(end.is_none_or(|end| end == first));
            let (read, ended) = read(file(), &form, step).unwrap();
            prop_assert_eq!((read.as_slice(), ended), (&form[..first], true));
        }
    }
}
