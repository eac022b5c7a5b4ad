use crate::error::{Code, Failure, Outcome};
use crc_fast::{CrcAlgorithm, Digest as Crc};
use md5::Md5;
use ripstop_catalog::{Checksum, ChecksumAlgorithm};
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};
use std::hash::Hasher as _;
use twox_hash::{XxHash3_64, XxHash3_128, XxHash64};

macro_rules! algorithms {
    ($($algorithm:ident $header:literal $word:literal $len:literal;)*) => {
        /// All of them, in the order in which S3 names them.
        pub(crate) const ALL: [ChecksumAlgorithm; [$($len),*].len()] =
            [$(ChecksumAlgorithm::$algorithm),*];

        /// The header that carries its value.
        pub(crate) const fn header(algorithm: ChecksumAlgorithm) -> &'static str {
            match algorithm { $(ChecksumAlgorithm::$algorithm => $header,)* }
        }

        /// Its name; with `Checksum` before it, the element that carries its value.
        pub(crate) const fn word(algorithm: ChecksumAlgorithm) -> &'static str {
            match algorithm { $(ChecksumAlgorithm::$algorithm => $word,)* }
        }

        /// Bytes of its value.
        pub(crate) const fn len(algorithm: ChecksumAlgorithm) -> usize {
            match algorithm { $(ChecksumAlgorithm::$algorithm => $len,)* }
        }
    };
}

algorithms! {
    Crc32 "x-amz-checksum-crc32" "CRC32" 4;
    Crc32c "x-amz-checksum-crc32c" "CRC32C" 4;
    Crc64Nvme "x-amz-checksum-crc64nvme" "CRC64NVME" 8;
    Sha1 "x-amz-checksum-sha1" "SHA1" 20;
    Sha256 "x-amz-checksum-sha256" "SHA256" 32;
    Sha512 "x-amz-checksum-sha512" "SHA512" 64;
    Md5 "x-amz-checksum-md5" "MD5" 16;
    XxHash64 "x-amz-checksum-xxhash64" "XXHASH64" 8;
    XxHash3 "x-amz-checksum-xxhash3" "XXHASH3" 8;
    XxHash128 "x-amz-checksum-xxhash128" "XXHASH128" 16;
}

/// The algorithm of that name, in any case.
pub(crate) fn parse(name: &str) -> Option<ChecksumAlgorithm> {
    ALL.into_iter().find(|&algorithm| word(algorithm).eq_ignore_ascii_case(name))
}

/// The same for a name that a client says, or what it is told if there is none such.
pub(crate) fn named(name: &str) -> Outcome<ChecksumAlgorithm> {
    parse(name).ok_or_else(|| {
        let mut words = ALL.map(word);
        words.sort_unstable();
        let message = format!(
            "Checksum algorithm provided is unsupported. Please try again with any of the valid \
             types: [{}]",
            words.join(", ")
        );
        Failure::new(Code::InvalidRequest, message)
    })
}

/// Whether the value over the whole can be had from those over the parts: as of CRCs.
pub(crate) const fn full_object_is_possible(algorithm: ChecksumAlgorithm) -> bool {
    matches!(
        algorithm,
        ChecksumAlgorithm::Crc32 | ChecksumAlgorithm::Crc32c | ChecksumAlgorithm::Crc64Nvme
    )
}

/// One checksum under computation.
pub(crate) struct Hasher {
    algorithm: ChecksumAlgorithm,
    state: State,
}

enum State {
    Crc(Crc),
    Sha1(Sha1),
    Sha256(Sha256),
    Sha512(Sha512),
    Md5(Md5),
    XxHash64(XxHash64),
    XxHash3(XxHash3_64),
    XxHash128(XxHash3_128),
}

impl Hasher {
    pub(crate) fn new(algorithm: ChecksumAlgorithm) -> Self {
        let state = match algorithm {
            ChecksumAlgorithm::Crc32 => State::Crc(Crc::new(CrcAlgorithm::Crc32IsoHdlc)),
            ChecksumAlgorithm::Crc32c => State::Crc(Crc::new(CrcAlgorithm::Crc32Iscsi)),
            ChecksumAlgorithm::Crc64Nvme => State::Crc(Crc::new(CrcAlgorithm::Crc64Nvme)),
            ChecksumAlgorithm::Sha1 => State::Sha1(Sha1::new()),
            ChecksumAlgorithm::Sha256 => State::Sha256(Sha256::new()),
            ChecksumAlgorithm::Sha512 => State::Sha512(Sha512::new()),
            ChecksumAlgorithm::Md5 => State::Md5(Md5::new()),
            ChecksumAlgorithm::XxHash64 => State::XxHash64(XxHash64::with_seed(0)),
            ChecksumAlgorithm::XxHash3 => State::XxHash3(XxHash3_64::new()),
            ChecksumAlgorithm::XxHash128 => State::XxHash128(XxHash3_128::new()),
        };
        Self { algorithm, state }
    }

    /// Whether it takes so long that it must not keep others waiting: what resists forgers does.
    pub(crate) const fn is_slow(&self) -> bool {
        match self.state {
            State::Crc(_) | State::XxHash64(_) | State::XxHash3(_) | State::XxHash128(_) => false,
            State::Sha1(_) | State::Sha256(_) | State::Sha512(_) | State::Md5(_) => true,
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match &mut self.state {
            State::Crc(crc) => crc.update(bytes),
            State::Sha1(sha1) => sha1.update(bytes),
            State::Sha256(sha256) => sha256.update(bytes),
            State::Sha512(sha512) => sha512.update(bytes),
            State::Md5(md5) => md5.update(bytes),
            State::XxHash64(xxh64) => xxh64.write(bytes),
            State::XxHash3(xxh3) => xxh3.write(bytes),
            State::XxHash128(xxh128) => xxh128.write(bytes),
        }
    }

    pub(crate) fn finish(self) -> Checksum {
        let value = match self.state {
            State::Crc(crc) => big_endian(crc.finalize(), len(self.algorithm)),
            State::Sha1(sha1) => sha1.finalize().to_vec(),
            State::Sha256(sha256) => sha256.finalize().to_vec(),
            State::Sha512(sha512) => sha512.finalize().to_vec(),
            State::Md5(md5) => md5.finalize().to_vec(),
            State::XxHash64(xxh64) => xxh64.finish().to_be_bytes().to_vec(),
            State::XxHash3(xxh3) => xxh3.finish().to_be_bytes().to_vec(),
            State::XxHash128(xxh128) => xxh128.finish_128().to_be_bytes().to_vec(),
        };
        Checksum { algorithm: self.algorithm, value, composite: false }
    }
}

fn big_endian(value: u64, len: usize) -> Vec<u8> {
    value.to_be_bytes()[8 - len..].to_vec()
}

/// The CRC over the whole from those over its parts, with their lengths; `None` for what is no CRC.
pub(crate) fn combine(algorithm: ChecksumAlgorithm, parts: &[(&[u8], u64)]) -> Option<Checksum> {
    let number = |value: &[u8]| value.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
    let parts = parts.iter().map(|&(value, len)| (number(value), len));
    let whole = super::combination::combined(algorithm, parts)?;
    Some(Checksum { algorithm, value: big_endian(whole, len(algorithm)), composite: false })
}

/// The checksum over the parts' checksums.
pub(crate) fn composite<'a>(
    algorithm: ChecksumAlgorithm,
    parts: impl Iterator<Item = &'a [u8]>,
) -> Checksum {
    let mut hasher = Hasher::new(algorithm);
    parts.for_each(|value| hasher.update(value));
    Checksum { composite: true, ..hasher.finish() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::base64;

    fn of(algorithm: ChecksumAlgorithm, bytes: &[u8]) -> Checksum {
        let mut hasher = Hasher::new(algorithm);
        hasher.update(bytes);
        hasher.finish()
    }

    #[test]
    fn values_are_those_that_others_compute() {
        // The CRCs' catalogue and the published vectors have the digits, S3's clients the text.
        let of_digits = ["y/Q5Jg==", "4waSgw==", "rosUhgp5mIg="];
        let of_text = [
            "z3mWAA==",
            "rxvjPA==",
            "dYnI3/Fh0gM=",
            "8O8FwCfmd5fCbCBvH09mrKMVoHU=",
            "OoSow5X4zTIPl27MtdFdYT+9O3C367C75+Cb2MFtRBc=",
            "uiz+VuENyLjzFxWrdmbN/NdIdldj/V3saJF6FsckcYu6xu26fM0CfAaTySaoFJmIdI2m5wbYMJxtShQ1PXk3Tg==",
            "EtWtthXtCk3RxUiXKw+ydw==",
            "McmxUfNFLUs=",
            "tLh+aNltTM4=",
            "MXqrLVobrQkTBf82+7i9AQ==",
        ];
        for (algorithm, expected) in ALL.into_iter().zip(of_digits) {
            assert_eq!(base64(&of(algorithm, b"123456789").value), expected, "{algorithm:?}");
        }
        for (algorithm, expected) in ALL.into_iter().zip(of_text) {
            let checksum = of(algorithm, b"the object data");
            assert_eq!(checksum.value.len(), len(algorithm));
            assert_eq!(base64(&checksum.value), expected, "{algorithm:?}");
        }
    }

    #[test]
    fn bytes_that_come_in_pieces_give_the_same_value() {
        let bytes: Vec<u8> = (0..5000_u32).map(|i| (i * 7 % 251) as u8).collect();
        for algorithm in ALL {
            let mut hasher = Hasher::new(algorithm);
            bytes.chunks(37).for_each(|piece| hasher.update(piece));
            assert_eq!(hasher.finish(), of(algorithm, &bytes));
        }
    }

    #[test]
    fn crcs_of_parts_combine_to_that_of_the_whole() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|i| (i * 7 % 251) as u8).collect();
        for algorithm in ALL.into_iter().filter(|&a| full_object_is_possible(a)) {
            let (a, rest) = bytes.split_at(33_333);
            let (b, c) = rest.split_at(50_001);
            let parts: Vec<_> =
                [a, b, c, &[]].map(|part| (of(algorithm, part).value, part.len() as u64)).into();
            let parts: Vec<_> = parts.iter().map(|(value, len)| (value.as_slice(), *len)).collect();
            assert_eq!(combine(algorithm, &parts), Some(of(algorithm, &bytes)));
        }
        assert_eq!(combine(ChecksumAlgorithm::Sha1, &[(&[0; 20], 1)]), None);
    }
}
