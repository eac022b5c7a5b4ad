use ripstop_runtime::RECORD_LEN_MAX;

/// Bytes of an extent in a record, at most: a stripe's id, and two numbers up to 2^28.
const EXTENT_LEN: usize = 16 + 4 + 4;
/// Bytes of everything else in a record, at most: ten thousand parts with their checksums and
/// salts, headers, tags, names.
const REST_LEN: usize = 5 << 17;
/// Most extents of an object: its record must fit a header, or a lost catalog could not be made
/// again. 5 TiB in whole stripes of 8 MiB.
pub const EXTENTS_MAX: usize = (15 << 20) / EXTENT_LEN;

const _: () = assert!(EXTENTS_MAX * EXTENT_LEN + REST_LEN <= RECORD_LEN_MAX, "a record fits");
