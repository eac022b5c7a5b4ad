//! A browser's form, in pieces of all lengths.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ripstop_s3::fuzz::form(bytes));
