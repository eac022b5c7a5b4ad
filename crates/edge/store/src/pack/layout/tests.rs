use super::*;
use proptest::prelude::*;
use ripstop_model::{Code, StripeShape};

/// What a strip of a pack's payload is long.
fn strip_len(k: usize, layout: &PackLayout) -> u32 {
    let shape = StripeShape::new(Code::new(k + 2, k).unwrap(), layout.payload_len);
    shape.expect("within limits").strip_len()
}

/// Checks that nothing overlaps or leaves the payload, and that members are whole where it says so.
fn check(k: usize, directory_len: u32, lens: &[u32], layout: &PackLayout) {
    let strip_len = strip_len(k, layout);
    let mut runs: Vec<Range<u32>> = Vec::with_capacity(lens.len() + 1);
    runs.push(0..directory_len);
    let mut crossing = 0;
    for (&len, &offset) in lens.iter().zip(&layout.offsets).filter(|(len, _)| **len > 0) {
        runs.push(offset..offset + len);
        let is_whole = offset / strip_len == (offset + len - 1) / strip_len;
        crossing += usize::from(!is_whole && len < strip_len);
        if layout.is_whole {
            assert!(is_whole, "{len} at {offset} in strips of {strip_len}");
            let (first, last) = (offset % strip_len, offset % strip_len + len - 1);
            assert!(len > IN_BLOCK_MAX || first / 4096 == last / 4096, "{len} at {offset}");
        }
    }
    assert!(crossing < k, "{crossing} cross that are shorter than a strip");
    runs.sort_by_key(|run| (run.start, run.end));
    assert!(runs.windows(2).all(|pair| pair[0].end <= pair[1].start), "{runs:?}");
    assert!(runs.iter().all(|run| run.end <= layout.payload_len), "{runs:?}");
    let used: u64 = runs.iter().map(|run| run.len() as u64).sum();
    let (payload, gaps) =
        (u64::from(layout.payload_len), u64::from(layout.payload_len).saturating_sub(used));
    let is_little = gaps * 4 <= payload || strip_len <= STRIP_LEN_FREE;
    assert!(is_little, "{gaps} of {payload} unused");
    if !layout.is_whole {
        assert_eq!(gaps, 0, "what crosses leaves no gaps");
    }
}

proptest! {
    #[test]
    fn members_lie_apart_within_the_payload_and_whole_in_one_strip_unless_they_are_said_to_cross(
        k in 1..20usize,
        directory_len in 1..200_000u32,
        lens in prop::collection::vec(prop_oneof![0..600u32, 0..20_000u32, 0..300_000u32], 0..120),
    ) {
        let layout = lay_out(k, directory_len, &lens).expect("within limits");
        check(k, directory_len, &lens, &layout);
    }

    #[test]
    fn many_small_members_are_whole_and_take_little_more_than_their_bytes(
        k in 1..13usize,
        record in 60..300u32,
        lens in prop::collection::vec(1..1000u32, 64..400),
    ) {
        let directory_len = record * lens.len() as u32;
        let layout = lay_out(k, directory_len, &lens).expect("within limits");
        check(k, directory_len, &lens, &layout);
        prop_assert!(layout.is_whole);
        let used = directory_len + lens.iter().sum::<u32>();
        let most = used + used / 6 + 64 * k as u32;
        prop_assert!(layout.payload_len <= most, "{} of {used}", layout.payload_len);
    }
}

#[test]
fn a_directory_may_run_over_strips_and_members_begin_behind_it() {
    // 300 documents of 256 bytes: nearly half of all is directory.
    let lens = vec![256; 300];
    let layout = lay_out(4, 60_000, &lens).expect("within limits");
    check(4, 60_000, &lens, &layout);
    assert!(layout.is_whole);
    assert!(60_000 > strip_len(4, &layout), "the directory is in more than one strip");
    assert_eq!(layout.offsets.iter().min(), Some(&60_000).filter(|_| 60_000 % 4096 <= 3840));
}

#[test]
fn few_or_very_unequal_members_cross_strips_instead_of_leaving_them_empty() {
    for lens in [vec![60_000, 60_000], vec![300; 40].into_iter().chain([900_000]).collect()] {
        let layout = lay_out(4, 400, &lens).expect("within limits");
        check(4, 400, &lens, &layout);
        assert!(!layout.is_whole);
    }
    // Short strips take a block of a disk each anyway.
    let layout = lay_out(4, 400, &[900, 300]).expect("within limits");
    assert!(layout.is_whole);
}

#[test]
fn more_than_a_stripe_holds_is_no_pack() {
    assert_eq!(lay_out(4, 100, &[STRIPE_PAYLOAD_MAX]), None);
    assert_eq!(lay_out(4, u32::MAX, &[u32::MAX, u32::MAX]), None);
    let layout = lay_out(4, 100, &[STRIPE_PAYLOAD_MAX - 100]).expect("just within");
    assert_eq!((layout.payload_len, layout.is_whole), (STRIPE_PAYLOAD_MAX, false));
    assert_eq!(lay_out(4, 100, &[]).expect("within limits").payload_len, 256);
}
