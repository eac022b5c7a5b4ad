//! An XML document of a request.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ripstop_s3::fuzz::document(bytes));
