//! Bytes on their way out: those blocks are read and decrypted that a range touches.

use crate::body::{Broken, Pieces};
use bytes::Bytes;
use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use ripstop_catalog::{
    CIPHER_BLOCK_LEN, CIPHER_BLOCK_TAG_LEN, Encryption, Object, Salt, encrypted_len,
};
use ripstop_envelope::{DataKey, StreamCipher};
use ripstop_store::StoreError;
use std::{ops::Range, vec};

/// What has to be read of an object for a range of its bytes, and what becomes of that.
#[derive(Debug)]
pub(crate) struct Cover {
    /// Which bytes, as they are stored.
    pub(crate) stored: Range<u64>,
    unsealing: Option<Unsealing>,
}

impl Cover {
    /// For `span` of an object with this data key, or that is not encrypted.
    pub(crate) fn new(object: &Object, span: &Range<u64>, key: Option<&DataKey>) -> Self {
        match (key, &object.attributes.encryption) {
            (Some(key), Some(encryption)) => Self::of_encrypted(object, encryption, span, key),
            (Some(_) | None, _) => Self { stored: span.clone(), unsealing: None },
        }
    }

    fn of_encrypted(
        object: &Object,
        encryption: &Encryption,
        span: &Range<u64>,
        key: &DataKey,
    ) -> Self {
        let parts = &object.attributes.parts;
        let is_whole = encryption.salts.len() <= 1;
        let len =
            |at: usize| if is_whole { object.len } else { parts.get(at).map_or(0, |it| it.len) };
        // Where a stream begins, as its client counts and as it is stored.
        let (mut begin, mut stored) = (0, 0);
        let mut cover: Option<(Range<u64>, u64)> = None;
        let mut streams = Vec::new();
        for (at, salt) in encryption.salts.iter().enumerate() {
            let (len, end) = (len(at), begin + len(at));
            if begin >= span.end {
                break;
            }
            if end > span.start && len > 0 {
                let within = span.start.saturating_sub(begin)..span.end.min(end) - begin;
                let first = within.start / CIPHER_BLOCK_LEN;
                let last = within.end.div_ceil(CIPHER_BLOCK_LEN);
                let from = stored + encrypted_len(first * CIPHER_BLOCK_LEN);
                let to = stored + encrypted_len((last * CIPHER_BLOCK_LEN).min(len));
                let (range, _) =
                    cover.get_or_insert((from..to, within.start - first * CIPHER_BLOCK_LEN));
                range.end = to;
                let left = len - first * CIPHER_BLOCK_LEN;
                streams.push(Stretch { salt: *salt, first: first as u32, left });
            }
            (begin, stored) = (end, stored + encrypted_len(len));
        }
        let (stored, skip) = cover.unwrap_or_default();
        let unsealing = Unsealing {
            key: key.clone(),
            streams: streams.into_iter(),
            skip,
            left: span.end.saturating_sub(span.start),
        };
        Self { stored, unsealing: Some(unsealing) }
    }

    /// The bytes that are wanted, out of those that are stored. The first piece is awaited, so that
    /// what cannot be decrypted is an error and not a stream that breaks off.
    pub(crate) async fn pieces(
        self,
        stored: impl Stream<Item = Result<Bytes, StoreError>> + Send + 'static,
    ) -> Result<Pieces, Broken> {
        let stored = stored.map_err(Broken::from);
        let Some(unsealing) = self.unsealing else { return Ok(stored.boxed()) };
        let decrypting =
            Decrypting { stored: stored.boxed(), here: Bytes::new(), under_way: None, unsealing };
        let mut pieces = stream::try_unfold(decrypting, Decrypting::next).boxed();
        let Some(first) = pieces.next().await.transpose()? else { return Ok(pieces) };
        Ok(stream::once(async { Ok(first) }).chain(pieces).boxed())
    }
}

/// A stream of which something is wanted.
#[derive(Debug)]
struct Stretch {
    salt: Salt,
    /// The first block that is.
    first: u32,
    /// Bytes from that block on, without tags.
    left: u64,
}

/// How what is read becomes what is wanted.
#[derive(Debug)]
struct Unsealing {
    key: DataKey,
    streams: vec::IntoIter<Stretch>,
    /// Bytes of the first block before what is wanted.
    skip: u64,
    /// Bytes that are still wanted.
    left: u64,
}

/// Encrypted bytes that are being decrypted: one block is in memory, and the piece it is from.
struct Decrypting {
    stored: Pieces,
    here: Bytes,
    /// The stream under way, and which block of it is next.
    under_way: Option<(StreamCipher, Stretch)>,
    unsealing: Unsealing,
}

impl Decrypting {
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, Broken> {
        if self.unsealing.left == 0 {
            return Ok(None);
        }
        let (cipher, mut stream) = match self.under_way.take() {
            Some((cipher, stream)) if stream.left > 0 => (cipher, stream),
            Some(_) | None => {
                let stream = self.unsealing.streams.next().ok_or(Broken::Length)?;
                (self.unsealing.key.stream(&stream.salt), stream)
            }
        };
        let len = stream.left.min(CIPHER_BLOCK_LEN);
        let mut block = self.block((len + CIPHER_BLOCK_TAG_LEN) as usize).await?;
        let len = cipher.decrypt(stream.first, &mut block)?;
        block.truncate(len);
        (stream.first, stream.left) = (stream.first.wrapping_add(1), stream.left - len as u64);
        self.under_way = Some((cipher, stream));
        let Unsealing { skip, left, .. } = &mut self.unsealing;
        let begin = std::mem::take(skip);
        let end = (len as u64).min(begin.saturating_add(*left));
        *left -= end - begin;
        let bytes = Bytes::from(block).slice(begin as usize..end as usize);
        Ok(Some((bytes, self)))
    }

    /// The next block as it is stored.
    async fn block(&mut self, len: usize) -> Result<Vec<u8>, Broken> {
        let mut block = Vec::with_capacity(len);
        while block.len() < len {
            if self.here.is_empty() {
                self.here = self.stored.next().await.ok_or(Broken::Length)??;
                continue;
            }
            let next = self.here.split_to((len - block.len()).min(self.here.len()));
            block.extend_from_slice(&next);
        }
        Ok(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        encryption::sealing::{Plain, Sealed, Sealing},
        error::Outcome,
    };
    use proptest::prelude::*;
    use ripstop_catalog::{Attributes, Part};

    struct Given(vec::IntoIter<Vec<u8>>);

    impl Plain for Given {
        async fn next(&mut self) -> Option<Outcome<Bytes>> {
            self.0.next().map(|piece| Ok(piece.into()))
        }
    }

    /// Parts of these lengths, encrypted as they come in pieces of `piece` bytes.
    async fn encrypted(key: &DataKey, lens: &[u64], piece: usize) -> (Object, Vec<u8>, Vec<u8>) {
        let (mut plain, mut stored, mut salts) = (Vec::new(), Vec::new(), Vec::new());
        for (at, len) in lens.iter().enumerate() {
            let bytes: Vec<u8> = (0..*len).map(|byte| (byte * 31 / 7 + at as u64) as u8).collect();
            let pieces: Vec<Vec<u8>> = bytes.chunks(piece).map(<[u8]>::to_vec).collect();
            plain.extend(bytes);
            let sealing = Sealing::new(key);
            salts.push(sealing.salt());
            let mut sealed =
                Sealed { plain: Given(pieces.into_iter()), sealing: Some(Box::new(sealing)) };
            let before = stored.len();
            while let Some(block) = sealed.next().await {
                stored.extend_from_slice(&block.unwrap());
            }
            assert_eq!((stored.len() - before) as u64, encrypted_len(*len));
        }
        let part = |(number, len): (u16, &u64)| Part { number, len: *len, checksum: None };
        let parts = if lens.len() > 1 { (1..).zip(lens).map(part).collect() } else { Vec::new() };
        let encryption = Some(Box::new(Encryption { salts, ..Encryption::default() }));
        let attributes = Attributes { parts, encryption, ..Attributes::default() };
        let object = Object { len: plain.len() as u64, attributes, ..Object::default() };
        assert_eq!(object.stored_len(), stored.len() as u64);
        assert_eq!(object.attributes.len_of(stored.len() as u64), object.len);
        (object, plain, stored)
    }

    async fn decrypted(
        object: &Object,
        stored: &[u8],
        span: &Range<u64>,
        key: &DataKey,
        piece: usize,
    ) -> Result<(Vec<u8>, usize), Broken> {
        let cover = Cover::new(object, span, Some(key));
        let read = &stored[cover.stored.start as usize..cover.stored.end as usize];
        let pieces: Vec<_> = read.chunks(piece).map(|it| Ok(Bytes::copy_from_slice(it))).collect();
        let pieces = cover.pieces(stream::iter(pieces).boxed()).await?;
        let pieces: Vec<Bytes> = pieces.try_collect().await?;
        Ok((pieces.concat(), read.len()))
    }

    fn wait<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Also parts without bytes, and ranges without any.
        #[test]
        fn every_range_is_what_was_put_and_reads_only_blocks_that_it_touches(
            lens in prop::collection::vec(prop_oneof![0..70_u64, 65_530..65_545_u64, 0..200_000_u64], 1..5),
            ends: (prop::sample::Index, prop::sample::Index),
            pieces in (1..100_000_usize, 1..100_000_usize),
        ) {
            let key = DataKey::generate();
            let (object, plain, stored) = wait(encrypted(&key, &lens, pieces.0));
            let (a, b) = ends;
            let (a, b) = (a.index(plain.len() + 1) as u64, b.index(plain.len() + 1) as u64);
            let span = a.min(b)..a.max(b);
            let (found, read) = wait(decrypted(&object, &stored, &span, &key, pieces.1)).unwrap();
            prop_assert!(found == plain[span.start as usize..span.end as usize]);
            let blocks = (span.end - span.start).div_ceil(CIPHER_BLOCK_LEN) + 1 + lens.len() as u64;
            prop_assert!(read as u64 <= blocks * (CIPHER_BLOCK_LEN + CIPHER_BLOCK_TAG_LEN));
        }
    }

    #[tokio::test]
    async fn what_was_changed_cut_off_or_exchanged_is_never_given_out() {
        let key = DataKey::generate();
        let (object, _, stored) = encrypted(&key, &[70_000, 70_000], 1000).await;
        let whole = 0..object.len;
        let mut flipped = stored.clone();
        flipped[100] ^= 1;
        let found = decrypted(&object, &flipped, &whole, &key, 999).await;
        assert!(matches!(found, Err(Broken::Altered(_))));
        let half = stored.len() / 2;
        let exchanged = [&stored[half..], &stored[..half]].concat();
        let found = decrypted(&object, &exchanged, &whole, &key, 999).await;
        assert!(matches!(found, Err(Broken::Altered(_))));
        let cover = Cover::new(&object, &whole, Some(&key));
        let cut = stream::iter([Ok(Bytes::copy_from_slice(&stored[..half]))]).boxed();
        let pieces = cover.pieces(cut).await.unwrap();
        let found: Result<Vec<Bytes>, Broken> = pieces.try_collect().await;
        assert!(matches!(found, Err(Broken::Length)));
    }
}
