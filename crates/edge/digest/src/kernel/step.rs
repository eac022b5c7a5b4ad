//! What MD5 mixes, and in which order.

/// Bytes that are compressed at a time.
pub(crate) const BLOCK_LEN: usize = 64;
/// Digests that are computed side by side.
pub(crate) const LANES: usize = 8;

/// A lane's A, B, C and D.
pub(crate) type State = [u32; 4];

/// By round: how far each of four steps rotates.
pub(super) const ROTATIONS: [[u32; 4]; 4] =
    [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

/// T: the integer part of 2^32 · |sin(i + 1)|, i in radians.
pub(super) const SINES: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];

/// All 64 steps, each as `step!(round, place in the round, word)`: written out, so that every index
/// is known when it is compiled.
macro_rules! steps {
    ($step:ident) => {
        steps!(@ $step, 0, 1, 0, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        steps!(@ $step, 1, 5, 1, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        steps!(@ $step, 2, 3, 5, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        steps!(@ $step, 3, 7, 0, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    };
    (@ $step:ident, $round:tt, $factor:literal, $first:literal, $($at:literal)*) => {
        $( $step!($round, $at, ($factor * $at + $first) % 16); )*
    };
}
pub(super) use steps;
