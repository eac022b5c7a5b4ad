//! A request's head, signed or not, up to the verdict on its signature.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ripstop_s3::fuzz::head(bytes));
