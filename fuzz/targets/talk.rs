//! What somebody says at the door that speaks memcached, in pieces of all lengths.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ripstop_kv::fuzz::talk(bytes));
