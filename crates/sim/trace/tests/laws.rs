//! Laws of reading and writing.
#![expect(clippy::unwrap_used, reason = "functions of tests are tests too")]

use proptest::prelude::*;
use ripstop_model::Operation;
use ripstop_trace::{Disorder, OnBadLine, Options, Reader, Record, Spread, Writer};
use std::{fmt::Write, io::Cursor, sync::Arc, time::Duration};

fn record() -> impl Strategy<Value = Record> {
    let tenant = prop_oneof!["[^\n]{1,9}", "[a-z]{1,3}", "[\", \r#é]{1,4}"];
    let tenant = proptest::option::of(tenant.prop_map(Arc::from));
    let time = (0..u64::from(u32::MAX) * 1000).prop_map(Duration::from_nanos);
    let operation = prop_oneof![Just(Operation::Read), Just(Operation::Write)];
    (time, operation, any::<u64>(), any::<Option<u64>>(), tenant).prop_map(
        |(time, operation, bytes, key, tenant)| Record { time, operation, bytes, key, tenant },
    )
}

fn read(bytes: Vec<u8>, options: Options) -> Vec<Record> {
    let reader = Reader::from_reader(Cursor::new(bytes), None, options).unwrap();
    reader.map(Result::unwrap).collect()
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(mut records in prop::collection::vec(record(), 1..40)) {
        records.sort_by_key(|record| record.time);
        let first = records[0].time;
        for record in &mut records {
            record.time -= first;
        }
        let mut writer = Writer::new(Vec::new()).unwrap();
        for record in &records {
            writer.write(record).unwrap();
        }
        let bytes = writer.finish().unwrap();
        let options = Options { disorder: Disorder::Refuse, ..Options::default() };
        prop_assert_eq!(read(bytes, options), records);
    }

    #[test]
    fn a_window_that_is_wide_enough_sorts(times in prop::collection::vec(0_u32..50, 1..60)) {
        let mut text = String::from("time_s,operation,bytes\n");
        for (index, time) in times.iter().enumerate() {
            writeln!(text, "{time},r,{index}").unwrap();
        }
        let mut expected: Vec<(u64, u64)> =
            times.iter().enumerate().map(|(index, time)| (u64::from(*time), index as u64)).collect();
        expected.sort_unstable();
        let first = expected[0].0;
        for (time, _) in &mut expected {
            *time -= first;
        }
        let found = read(text.into_bytes(), Options::default());
        let found: Vec<(u64, u64)> =
            found.iter().map(|record| (record.time.as_secs(), record.bytes)).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn whatever_their_order_all_records_can_be_sorted(times in prop::collection::vec(0_u32..900, 0..200)) {
        let mut text = String::from("time_ms,operation,bytes\n");
        for (bytes, time) in times.iter().enumerate() {
            writeln!(text, "{time},r,{bytes}").unwrap();
        }
        let disorder = Disorder::SortAll { records_max: times.len() };
        let found = read(text.into_bytes(), Options { disorder, ..Options::default() });
        let mut expected: Vec<(u32, u64)> = times.iter().copied().zip(0..).collect();
        expected.sort_by_key(|one| one.0);
        let zero = expected.first().map_or(0, |first| first.0);
        let expected: Vec<(u128, u64)> =
            expected.iter().map(|&(time, bytes)| (u128::from(time - zero), bytes)).collect();
        let found: Vec<(u128, u64)> =
            found.iter().map(|record| (record.time.as_millis(), record.bytes)).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn spreading_keeps_each_request_in_its_second(
        times in prop::collection::vec(0_u32..9, 1..60),
        seed: u64,
        window in 60_usize..90,
    ) {
        let mut text = String::from("time_s,operation,bytes\n");
        for time in &times {
            writeln!(text, "{time},r,{time}").unwrap();
        }
        for spread in [Spread::Even, Spread::Random { seed }] {
            let disorder = Disorder::Sort { window };
            let options = Options { on_bad_line: OnBadLine::Refuse, disorder, spread };
            let found = read(text.clone().into_bytes(), options);
            prop_assert_eq!(found.len(), times.len());
            prop_assert!(found.is_sorted_by_key(|record| record.time));
            prop_assert_eq!(found[0].time, Duration::ZERO);
            let lags: Vec<i128> = found
                .iter()
                .map(|record| record.time.as_nanos().cast_signed() - i128::from(record.bytes) * 1_000_000_000)
                .collect();
            let spread = lags.iter().max().unwrap() - lags.iter().min().unwrap();
            prop_assert!(spread < 1_000_000_000);
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        kind in 0_usize..4,
    ) {
        let begin: [&[u8]; 4] =
            [b"", b"time_s,operation,bytes\n1,r,", b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08\0\0\0\0\0\0\x03"];
        let input = [begin[kind], &bytes].concat();
        let options = Options { on_bad_line: OnBadLine::Skip, ..Options::default() };
        if let Ok(reader) = Reader::from_reader(Cursor::new(input), None, options) {
            for record in reader {
                if record.is_err() {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_tenant_with_a_line_feed_cannot_be_written() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let record = Record {
        time: Duration::ZERO,
        operation: Operation::Read,
        bytes: 1,
        key: None,
        tenant: Some("a\nb".into()),
    };
    let error = writer.write(&record).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert_eq!(writer.finish().unwrap(), b"time_s,operation,bytes,key,tenant\n");
}
