//! The header of a fragment that a node returns: as it is, and as a node that forges would seal it.
#![no_main]

use bytes::Bytes;
use crc_fast::{CrcAlgorithm, checksum};
use ripstop_runtime::{Header, Seals};

const SEAL_LEN: usize = 8;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = Header::parse(&Bytes::copy_from_slice(bytes), &Seals::default());
    let mut sealed = bytes.to_vec();
    let Some(body) = sealed.len().checked_sub(SEAL_LEN).filter(|&body| body >= 12) else { return };
    let len = u32::try_from(sealed.len()).expect("inputs are short");
    sealed[8..12].copy_from_slice(&len.to_le_bytes());
    let seal = checksum(CrcAlgorithm::Crc64Nvme, &sealed[..body]);
    sealed[body..].copy_from_slice(&seal.to_le_bytes());
    if let Ok((header, len)) = Header::parse(&sealed.into(), &Seals::default()) {
        assert!(header.record.len() < len as usize);
    }
});
