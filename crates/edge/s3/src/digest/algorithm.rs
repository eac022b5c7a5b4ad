use crc_fast::{CrcAlgorithm, Digest as Crc};
use ripstop_catalog::{Checksum, ChecksumAlgorithm};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// All of them, in the order in which S3 names them.
pub(super) const ALL: [ChecksumAlgorithm; 5] = [
    ChecksumAlgorithm::Crc32,
    ChecksumAlgorithm::Crc32c,
    ChecksumAlgorithm::Crc64Nvme,
    ChecksumAlgorithm::Sha1,
    ChecksumAlgorithm::Sha256,
];

/// The header that carries its value.
pub(crate) const fn header(algorithm: ChecksumAlgorithm) -> &'static str {
    match algorithm {
        ChecksumAlgorithm::Crc32 => "x-amz-checksum-crc32",
        ChecksumAlgorithm::Crc32c => "x-amz-checksum-crc32c",
        ChecksumAlgorithm::Crc64Nvme => "x-amz-checksum-crc64nvme",
        ChecksumAlgorithm::Sha1 => "x-amz-checksum-sha1",
        ChecksumAlgorithm::Sha256 => "x-amz-checksum-sha256",
    }
}

/// Its name; with `Checksum` before it, the element that carries its value.
pub(crate) const fn word(algorithm: ChecksumAlgorithm) -> &'static str {
    match algorithm {
        ChecksumAlgorithm::Crc32 => "CRC32",
        ChecksumAlgorithm::Crc32c => "CRC32C",
        ChecksumAlgorithm::Crc64Nvme => "CRC64NVME",
        ChecksumAlgorithm::Sha1 => "SHA1",
        ChecksumAlgorithm::Sha256 => "SHA256",
    }
}

/// The algorithm of that name, in any case.
pub(crate) fn parse(name: &str) -> Option<ChecksumAlgorithm> {
    ALL.into_iter().find(|&algorithm| word(algorithm).eq_ignore_ascii_case(name))
}

/// Bytes of its value.
pub(crate) const fn len(algorithm: ChecksumAlgorithm) -> usize {
    match algorithm {
        ChecksumAlgorithm::Crc32 | ChecksumAlgorithm::Crc32c => 4,
        ChecksumAlgorithm::Crc64Nvme => 8,
        ChecksumAlgorithm::Sha1 => 20,
        ChecksumAlgorithm::Sha256 => 32,
    }
}

/// Whether the value over the whole can be had from those over the parts.
pub(crate) const fn full_object_is_possible(algorithm: ChecksumAlgorithm) -> bool {
    crc(algorithm).is_some()
}

const fn crc(algorithm: ChecksumAlgorithm) -> Option<CrcAlgorithm> {
    match algorithm {
        ChecksumAlgorithm::Crc32 => Some(CrcAlgorithm::Crc32IsoHdlc),
        ChecksumAlgorithm::Crc32c => Some(CrcAlgorithm::Crc32Iscsi),
        ChecksumAlgorithm::Crc64Nvme => Some(CrcAlgorithm::Crc64Nvme),
        ChecksumAlgorithm::Sha1 | ChecksumAlgorithm::Sha256 => None,
    }
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
}

impl Hasher {
    pub(crate) fn new(algorithm: ChecksumAlgorithm) -> Self {
        let state = match (crc(algorithm), algorithm) {
            (Some(crc), _) => State::Crc(Crc::new(crc)),
            (None, ChecksumAlgorithm::Sha1) => State::Sha1(Sha1::new()),
            (None, _) => State::Sha256(Sha256::new()),
        };
        Self { algorithm, state }
    }

    /// Whether it takes so long that it must not keep others waiting: all but CRCs do.
    pub(crate) fn is_slow(&self) -> bool {
        !full_object_is_possible(self.algorithm)
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match &mut self.state {
            State::Crc(crc) => crc.update(bytes),
            State::Sha1(sha1) => sha1.update(bytes),
            State::Sha256(sha256) => sha256.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> Checksum {
        let value = match self.state {
            State::Crc(crc) => big_endian(crc.finalize(), len(self.algorithm)),
            State::Sha1(sha1) => sha1.finalize().to_vec(),
            State::Sha256(sha256) => sha256.finalize().to_vec(),
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
    fn values_are_those_of_the_check_string() {
        let expected = [
            "y/Q5Jg==",
            "4waSgw==",
            "rosUhgp5mIg=",
            "98O8HYCOBHMqCRjhQ1eK4vGcSSk=",
            "FeKw01uvSkr1Qsm8y50pp7z+qEJM7MrFlqsgsbqo3SU=",
        ];
        for (algorithm, expected) in ALL.into_iter().zip(expected) {
            let checksum = of(algorithm, b"123456789");
            assert_eq!(checksum.value.len(), len(algorithm));
            if full_object_is_possible(algorithm) {
                assert_eq!(base64(&checksum.value), expected, "{algorithm:?}");
            }
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
