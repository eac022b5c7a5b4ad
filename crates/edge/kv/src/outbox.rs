use crate::base64_key;
use bytes::{Buf, Bytes};
use std::{collections::VecDeque, io::IoSlice};

/// Values up to this are copied behind their line; a piece of its own would cost more.
const COPIED_LEN_MAX: usize = 8 << 10;

/// Answers that are not sent yet.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// What comes first.
    pieces: VecDeque<Bytes>,
    /// Bytes of these.
    pieces_len: usize,
    /// What comes last.
    tail: Vec<u8>,
    /// Bytes of the tail that are sent.
    sent: usize,
}

impl Outbox {
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
    }

    /// A line, and its end.
    pub(crate) fn line(&mut self, text: &str) {
        self.put(text.as_bytes());
        self.end();
    }

    /// The end of a line.
    pub(crate) fn end(&mut self) {
        self.put(b"\r\n");
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.put(itoa::Buffer::new().format(number).as_bytes());
    }

    /// A flag of a meta answer.
    pub(crate) fn flag(&mut self, letter: u8) {
        self.put(&[b' ', letter]);
    }

    /// A key as base64.
    pub(crate) fn base64(&mut self, key: &[u8]) {
        base64_key::encode(key, &mut self.tail);
    }

    /// A value, and the end of its line.
    pub(crate) fn value(&mut self, value: &Bytes) {
        if value.len() > COPIED_LEN_MAX {
            self.cut();
            self.push(value.clone());
        } else {
            self.put(value);
        }
        self.end();
    }

    /// What another one has, behind this.
    pub(crate) fn append(&mut self, other: Self) {
        if !other.pieces.is_empty() {
            self.cut();
            other.pieces.into_iter().for_each(|piece| self.push(piece));
        }
        self.put(&other.tail[other.sent..]);
    }

    /// The tail becomes a piece.
    fn cut(&mut self) {
        if self.tail.len() > self.sent {
            let tail = std::mem::take(&mut self.tail);
            self.push(Bytes::from(tail).slice(self.sent..));
        }
        self.tail.clear();
        self.sent = 0;
    }

    fn push(&mut self, piece: Bytes) {
        self.pieces_len += piece.len();
        self.pieces.push_back(piece);
    }
}

impl Buf for Outbox {
    fn remaining(&self) -> usize {
        self.pieces_len + self.tail.len() - self.sent
    }

    fn chunk(&self) -> &[u8] {
        self.pieces.front().map_or(&self.tail[self.sent..], |piece| piece)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let tail = &self.tail[self.sent..];
        let pieces = self.pieces.iter().map(|piece| &piece[..]);
        let mut filled = 0;
        for (slice, piece) in
            slices.iter_mut().zip(pieces.chain((!tail.is_empty()).then_some(tail)))
        {
            *slice = IoSlice::new(piece);
            filled += 1;
        }
        filled
    }

    fn advance(&mut self, mut sent: usize) {
        while let Some(piece) = self.pieces.front_mut() {
            let len = piece.len().min(sent);
            piece.advance(len);
            self.pieces_len -= len;
            sent -= len;
            if !piece.is_empty() {
                return;
            }
            self.pieces.pop_front();
        }
        self.sent += sent;
        if self.sent == self.tail.len() {
            self.tail.clear();
            self.sent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(lens: &[usize]) -> (Outbox, Vec<u8>) {
        let (mut outbox, mut plain) = (Outbox::default(), Vec::new());
        for (at, &len) in lens.iter().enumerate() {
            let value = Bytes::from(vec![at as u8; len]);
            outbox.number(at as u64);
            outbox.value(&value);
            plain.extend_from_slice(at.to_string().as_bytes());
            plain.extend_from_slice(&value);
            plain.extend_from_slice(b"\r\n");
        }
        (outbox, plain)
    }

    proptest! {
        #[test]
        fn what_comes_out_is_what_went_in_whatever_is_taken_at_once(
            lens in prop::collection::vec(0..20_000_usize, 0..12),
            more in prop::collection::vec(0..20_000_usize, 0..4),
            takes in prop::collection::vec(1..30_000_usize, 1..30),
        ) {
            let (mut outbox, mut plain) = filled(&lens);
            let first = takes[0].min(outbox.remaining());
            outbox.advance(first);
            let mut taken = plain[..first].to_vec();
            let (other, others) = filled(&more);
            outbox.append(other);
            plain.extend_from_slice(&others);
            let mut takes = takes.iter().cycle();
            while outbox.has_remaining() {
                prop_assert_eq!(outbox.remaining(), plain.len() - taken.len());
                let mut slices = [IoSlice::new(&[]); 5];
                let filled = outbox.chunks_vectored(&mut slices);
                let all: Vec<u8> = slices[..filled].iter().flat_map(|slice| slice.to_vec()).collect();
                let len = (*takes.next().unwrap()).min(all.len());
                prop_assert!(len > 0);
                taken.extend_from_slice(&all[..len]);
                outbox.advance(len);
            }
            prop_assert_eq!(taken, plain);
        }
    }
}
