//! Readers, from bytes to records.
#![expect(clippy::unwrap_used, reason = "functions of tests are tests too")]

use expect_test::expect;
use flate2::{Compression as Level, write::GzEncoder};
use ripstop_model::Operation;
use ripstop_trace::{
    BadLine, Compression, Disorder, Format, LINE_MAX, OnBadLine, Options, Reader, Record, Spread,
    TraceError, open, open_with,
};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::{
    io::{BufReader, Cursor, Write},
    time::Duration,
};

const CSV: &str = "time_s,operation,bytes,tenant\n\
                   10.5,read,100,a\n\
                   \n\
                   10.75,write,200,b\r\n\
                   12,read,300,a";

fn reader(bytes: impl Into<Vec<u8>>, options: Options) -> Result<Reader, TraceError> {
    Reader::from_reader(Cursor::new(bytes.into()), None, options)
}

fn records(bytes: impl Into<Vec<u8>>, options: Options) -> Result<Vec<Record>, TraceError> {
    reader(bytes, options)?.collect()
}

/// Times in nanoseconds.
fn times(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.time.as_nanos() as u64).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Level::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

const SKIP: Options = Options {
    on_bad_line: OnBadLine::Skip,
    disorder: Disorder::Sort { window: 4 },
    spread: Spread::Off,
};

#[test]
fn times_are_since_the_first_record() {
    let records = records(CSV, Options::default()).unwrap();
    assert_eq!(times(&records), [0, 250_000_000, 1_500_000_000]);
    assert_eq!(records[1].operation, Operation::Write);
    assert_eq!((records[1].bytes, records[1].tenant.as_deref()), (200, Some("b")));
}

#[test]
fn what_was_read_is_summed_up() {
    let mut reader = reader(CSV, Options::default()).unwrap();
    assert_eq!(reader.by_ref().map(Result::unwrap).count(), 3);
    expect![[r"
        format        csv, plain, 5 lines
        records       3 in 1.5s, 2.000 per second
        reads         2, 400 bytes
        writes        1, 200 bytes
        left out      0 failed, 0 that move no object's bytes
        out of order  0
        resolution    10ms
        bad lines     0
    "]]
    .assert_eq(&reader.summary().to_string());
    assert_eq!(reader.summary().origin_ns, Some(10_500_000_000));
    assert!((reader.summary().rate_per_s() - 2.0).abs() < 1e-9);
}

#[test]
fn packed_traces_are_unpacked() {
    let plain = records(CSV, Options::default()).unwrap();
    let (one, two) = CSV.as_bytes().split_at(37);
    let skipped =
        [&b"\x5a\x2a\x4d\x18\x03\0\0\0abc"[..], &zstd(one), &zstd(b""), &zstd(two)].concat();
    for (packed, compression) in [
        (gzip(CSV.as_bytes()), Compression::Gzip),
        ([gzip(one), gzip(two)].concat(), Compression::Gzip),
        (zstd(CSV.as_bytes()), Compression::Zstd),
        (skipped, Compression::Zstd),
    ] {
        let mut reader = reader(packed, Options::default()).unwrap();
        let found: Vec<Record> = reader.by_ref().map(Result::unwrap).collect();
        assert_eq!(found, plain);
        assert_eq!(reader.summary().compression, compression);
    }
}

#[test]
fn damage_to_packed_traces_is_told() {
    let long: String = (0..50_000).fold("time_s,operation,bytes\n".to_owned(), |text, index| {
        text + &[index, index * 7919 % 10_007].map(|n| n.to_string()).join(",read,") + "\n"
    });
    for packed in [gzip(long.as_bytes()), zstd(long.as_bytes())] {
        assert!(records(packed.clone(), Options::default()).is_ok());
        let cut = records(&packed[..packed.len() - 9], SKIP);
        assert!(matches!(cut, Err(TraceError::Read { line: 1.., .. })), "{cut:?}");
        let mut flipped = packed.clone();
        *flipped.last_mut().unwrap() ^= 1;
        let flipped = records(flipped, SKIP);
        assert!(matches!(flipped, Err(TraceError::Read { line: 1.., .. })), "{flipped:?}");
    }
}

#[test]
fn small_pieces_make_no_difference() {
    let plain = records(CSV, Options::default()).unwrap();
    for bytes in [CSV.as_bytes().to_vec(), gzip(CSV.as_bytes()), zstd(CSV.as_bytes())] {
        let dripping = BufReader::with_capacity(1, Cursor::new(bytes));
        let reader = Reader::from_reader(dripping, None, Options::default()).unwrap();
        assert_eq!(reader.collect::<Result<Vec<_>, _>>().unwrap(), plain);
    }
}

#[test]
fn a_bad_line_ends_reading_or_is_passed_over() {
    let text = "time_s,operation,bytes\n1,read,1\n2,read,x\n3,read,3\n4,read\n5,write,5\n";
    let mut reader = reader(text, Options::default()).unwrap();
    assert_eq!(reader.next().unwrap().unwrap().bytes, 1);
    let error = reader.next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "line 3: bytes is \"x\", not a whole number");
    assert!(reader.next().is_none());
    assert!(reader.next().is_none());

    let mut reader = self::reader(text, SKIP).unwrap();
    let bytes: Vec<u64> = reader.by_ref().map(|record| record.unwrap().bytes).collect();
    assert_eq!(bytes, [1, 3, 5]);
    let shown: Vec<String> = reader
        .summary()
        .skipped_first
        .iter()
        .map(|bad| format!("{}: {}", bad.line, bad.reason))
        .collect();
    assert_eq!(shown, ["3: bytes is \"x\", not a whole number", "5: has 2 fields, the header 3"]);
    assert_eq!(reader.summary().skipped, 2);
}

#[test]
fn only_the_first_bad_lines_are_remembered() {
    let text = format!("time_s,operation,bytes\n{}9,read,9\n", "?\n".repeat(1000));
    let mut reader = reader(text, SKIP).unwrap();
    assert_eq!(reader.by_ref().count(), 1);
    assert_eq!((reader.summary().skipped, reader.summary().skipped_first.len()), (1000, 16));
}

#[test]
fn a_line_without_end_is_not_kept() {
    for tail in ["\n9,read,9\n", "\r\n9,read,9\n", ""] {
        for extra in [1, 2, 70_000] {
            let long = "x".repeat(LINE_MAX + extra);
            let text = format!("time_s,operation,bytes\n{long}{tail}");
            let mut reader = reader(text, SKIP).unwrap();
            assert_eq!(reader.by_ref().count(), usize::from(!tail.is_empty()));
            let skipped = &reader.summary().skipped_first;
            assert_eq!(skipped.len(), 1);
            assert_eq!(
                (skipped[0].line, &skipped[0].reason),
                (2, &BadLine::TooLong { max: LINE_MAX })
            );
        }
    }
    let padding = "x".repeat(LINE_MAX - "1,read,1,".len());
    let text = format!("time_s,operation,bytes,note\n1,read,1,{padding}\r\n");
    assert_eq!(records(text, Options::default()).unwrap().len(), 1);
}

#[test]
fn times_that_go_backwards_are_sorted_refused_or_too_late() {
    let text = "time_s,operation,bytes\n1,r,1\n3,r,3\n2,r,2\n2,r,22\n3,r,33\n4,r,4\n";
    let mut sorted = reader(text, Options::default()).unwrap();
    let bytes: Vec<u64> = sorted.by_ref().map(|record| record.unwrap().bytes).collect();
    assert_eq!(bytes, [1, 2, 22, 3, 33, 4]);
    assert_eq!(sorted.summary().out_of_order, 2);

    let refuse = Options { disorder: Disorder::Refuse, ..SKIP };
    let error = records(text, refuse).unwrap_err();
    assert_eq!(error.to_string(), "line 4: goes back in time by 1s");

    let narrow = |on_bad_line| {
        let disorder = Disorder::Sort { window: 1 };
        Options { on_bad_line, disorder, spread: Spread::Off }
    };
    let text = "time_s,operation,bytes\n5,r,5\n6,r,6\n7,r,7\n4,r,4\n8,r,8\n";
    let late = records(text, narrow(OnBadLine::Refuse)).unwrap_err();
    expect!["line 5: is too late to be sorted in, by 2s: its place is more than 1 records before"]
        .assert_eq(&late.to_string());
    let kept = records(text, narrow(OnBadLine::Skip)).unwrap();
    assert_eq!(times(&kept), [0, 1_000_000_000, 2_000_000_000, 3_000_000_000]);
}

#[test]
fn requests_of_one_second_are_spread_over_it() {
    let text = "time_s,operation,bytes\n7,r,1\n7,r,2\n7,r,3\n7,r,4\n8,r,5\n10,r,6\n10,r,7\n";
    let spread = |spread| records(text, Options { spread, ..Options::default() }).unwrap();
    let off = spread(Spread::Off);
    assert_eq!(times(&off), [0, 0, 0, 0, 1, 3, 3].map(|second| second * 1_000_000_000));
    let even = spread(Spread::Even);
    let expected = [0, 250, 500, 750, 1000, 3000, 3500].map(|ms| ms * 1_000_000);
    assert_eq!(times(&even), expected);
    let random = spread(Spread::Random { seed: 7 });
    assert_eq!(random, spread(Spread::Random { seed: 7 }));
    assert_ne!(random, spread(Spread::Random { seed: 8 }));
    let order: Vec<u64> = random.iter().map(|record| record.bytes).collect();
    assert_eq!(order, [1, 2, 3, 4, 5, 6, 7]);
    assert!(random.is_sorted_by_key(|record| record.time));
    expect!["[0, 17562133, 100614029, 510705070, 794975927, 3120095938, 3182907292]"]
        .assert_eq(&format!("{:?}", times(&random)));
}

#[test]
fn random_times_fill_their_second_evenly() {
    let text = format!("time_s,operation,bytes\n{}", "7,r,1\n".repeat(10_000));
    let spread = Spread::Random { seed: 1 };
    let times = times(&records(text, Options { spread, ..Options::default() }).unwrap());
    let mut tenths = [0_u32; 10];
    for time in times {
        tenths[(time / 100_000_000) as usize] += 1;
    }
    // Each is binomial, 1000 ± 30.
    assert!(tenths.iter().all(|count| (850..1150).contains(count)), "{tenths:?}");
}

#[test]
fn times_finer_than_a_second_are_not_spread() {
    let options = Options { spread: Spread::Even, ..Options::default() };
    let error = records(CSV, options).unwrap_err();
    assert!(matches!(error, TraceError::Fine { line: 2 }), "{error}");
}

#[test]
fn resolution_is_that_of_the_finest_time() {
    for (times, expected) in [
        (["1", "20"], Some(Duration::from_secs(1))),
        (["1.5", "20"], Some(Duration::from_millis(100))),
        (["1.005", "20"], Some(Duration::from_millis(1))),
        (["1.000005", "20.000000001"], Some(Duration::from_nanos(1))),
    ] {
        let text = format!("time_s,operation,bytes\n{},r,1\n{},r,1\n", times[0], times[1]);
        let mut reader = reader(text, Options::default()).unwrap();
        assert_eq!(reader.by_ref().count(), 2);
        assert_eq!(reader.summary().resolution, expected);
    }
}

#[test]
fn what_is_no_trace_is_refused() {
    assert!(matches!(records("", Options::default()), Err(TraceError::Empty)));
    assert!(matches!(records("\n \n", Options::default()), Err(TraceError::Empty)));
    let unknown = records("what is this\n", SKIP).unwrap_err();
    expect![[r#"cannot tell the format of the trace that begins "what is this"; there are: s3, ripstop, csv, spc, sectors"#]].assert_eq(&unknown.to_string());
    let header = records("time_s,operation,size\n1,r,1\n", SKIP).unwrap_err();
    expect![[r#"line 1: the header has no column "bytes", only "time_s,operation,size""#]]
        .assert_eq(&header.to_string());
    let noise: Vec<u8> = (0..100_000_u32).map(|index| (index * 7919 % 251) as u8 + 3).collect();
    assert!(matches!(records(noise, SKIP), Err(TraceError::Unknown { .. })));
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_header() {
    assert_eq!(records(format!("\u{feff}{CSV}"), Options::default()).unwrap().len(), 3);
}

#[test]
fn files_are_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.gz");
    std::fs::write(&path, gzip(b"0,20941264,8192,W,0.551706\n0,1,512,R,0.6\n")).unwrap();
    let found: Vec<Record> = open(&path).unwrap().map(Result::unwrap).collect();
    assert_eq!(times(&found), [0, 48_294_000]);
    assert_eq!(found[0].tenant.as_deref(), Some("0"));
    let forced = open_with(&path, Some(Format::Sectors), SKIP).unwrap();
    assert_eq!(forced.count(), 0);
    let missing = open(folder.path().join("none")).unwrap_err();
    assert!(matches!(missing, TraceError::Open { .. }));
}

#[test]
fn more_records_than_may_be_sorted_are_refused() {
    let disorder = Disorder::SortAll { records_max: 2 };
    let refused = records(CSV, Options { disorder, ..Options::default() }).unwrap_err();
    assert!(matches!(refused, TraceError::Many { line: 5, max: 2 }), "{refused}");
    let disorder = Disorder::SortAll { records_max: 3 };
    let read = records(CSV, Options { disorder, ..Options::default() }).unwrap();
    assert_eq!(times(&read), [0, 250_000_000, 1_500_000_000]);
}
