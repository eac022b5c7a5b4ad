extern crate std;
use super::*;
use proptest::prelude::*;
use std::{format, string::ToString as _, vec};

const RECORD: LogRecord = LogRecord {
    at: Timestamp::from_nanos(1_500_000_000),
    operation: Operation::Write,
    node: NodeId(3),
    bytes: 1_000_000,
    served: Duration::from_micros(12_500),
    outcome: LoggedOutcome::Cancelled,
    waited: Duration::from_millis(2),
    redundant: true,
};

#[test]
fn each_format_is_read() {
    let full = format!("{LOG_HEADER}\n1.5,write,3,1000000,12.5,cancelled,2,1\n");
    assert_eq!(parse_log(&full), Ok([RECORD].into()));
    let short = "time_s,operation,node,bytes,served_ms,outcome\r\n\r\n 1.5 , put,3,1000000,1.25e1,cancelled\r\n";
    let without = LogRecord { waited: Duration::ZERO, redundant: false, ..RECORD };
    assert_eq!(parse_log(short), Ok([without].into()));
    let delays = "operation,bytes,delay_ms\nlist,0,9\nput,1000000,12.5\ndelete,0,3";
    let (at, node, outcome) = (Timestamp::ZERO, NodeId(0), LoggedOutcome::Done);
    assert_eq!(parse_log(delays), Ok([LogRecord { at, node, outcome, ..without }].into()));
}

#[test]
fn columns_that_a_newer_program_added_are_named() {
    let told = parse_log(&format!("{LOG_HEADER},site\n1.5,write,3,1000000,12.5,cancelled,2,1,x\n"));
    let expected = format!(
        "it has the columns \"site\", which a newer program must have written; this program knows {LOG_HEADER:?}"
    );
    assert_eq!(told.unwrap_err().to_string(), expected);
    let other = parse_log(&format!("{LOG_HEADER}s\n")).unwrap_err();
    assert!(matches!(other, LogError::Header { .. }), "{other}");
}

#[test]
fn logs_may_follow_one_another_and_end_anywhere() {
    let line = "1.5,write,3,1000000,12.5,cancelled,2,1";
    let both = format!("\u{feff}{LOG_HEADER}\n{line}\n{LOG_HEADER}\r\n{line}\n");
    assert_eq!(parse_log(&both), Ok([RECORD; 2].into()));
    // What a process that was killed left of a line.
    for cut in ["1", "1.5,wri", "1.5,write,3,1000000,12.5,cancelled,2,"] {
        assert_eq!(parse_log(&format!("{both}{cut}")), Ok([RECORD; 2].into()), "{cut}");
        assert!(parse_log(&format!("{both}{cut}\n{line}")).is_err(), "{cut}");
    }
}

#[test]
fn failed_tasks_are_no_samples() {
    let text = format!("{LOG_HEADER}\n0,read,0,5,1,timed out,0,0\n0,read,0,5,1,done,0,0");
    let records = parse_log(&text).unwrap();
    assert_eq!(records[0].outcome, LoggedOutcome::Other);
    assert_eq!(records[0].sample(), None);
    assert!(records[1].sample().unwrap().finished);
    assert!(!RECORD.sample().unwrap().finished);
}

#[test]
fn what_is_no_log_is_refused_with_its_line() {
    let line = "1.5,write,3,1000000,12.5,cancelled,2,1";
    for (from, to, error) in [
        ("1.5", "-1", "line 3: \"-1\" is no time_s"),
        ("1.5", "NaN", "line 3: \"NaN\" is no time_s"),
        ("1.5", "1e300", "line 3: \"1e300\" is no time_s"),
        ("1.5", "99999999999999", "line 3: \"99999999999999\" is no time_s"),
        ("write", "head", "line 3: \"head\" is no operation"),
        ("write", "list", "line 3: \"list\" is no operation"),
        (",3,", ",65536,", "line 3: \"65536\" is no node"),
        ("1000000", "1.5", "line 3: \"1.5\" is no bytes"),
        ("12.5", "", "line 3: \"\" is no served_ms"),
        ("12.5", "inf", "line 3: \"inf\" is no served_ms"),
        ("cancelled", "", "line 3: \"\" is no outcome"),
        (",2,", ",.,", "line 3: \".\" is no waited_ms"),
        (",2,1", ",2,yes", "line 3: \"yes\" is no redundant"),
        (
            ",2,1",
            ",2",
            "line 3 has not as many columns as the header: \"1.5,write,3,1000000,12.5,cancelled,2\"",
        ),
    ] {
        let text = format!("{LOG_HEADER}\n{line}\n{}\n", line.replacen(from, to, 1));
        assert_eq!(parse_log(&text).unwrap_err().to_string(), error);
    }
    let error = parse_log("").unwrap_err().to_string();
    assert!(error.starts_with("line 1 is \"\", not the header"), "{error}");
}

proptest! {
    #[test]
    fn records_are_read_as_they_were_written(
        ns: u64, write: bool, node: u16, bytes: u64, served: u64, waited: u64, redundant: bool,
        outcome in prop::sample::select(vec![LoggedOutcome::Done, LoggedOutcome::Cancelled, LoggedOutcome::Other]),
    ) {
        let record = LogRecord {
            at: Timestamp::from_nanos(ns),
            operation: if write { Operation::Write } else { Operation::Read },
            node: NodeId(node),
            bytes,
            served: Duration::from_nanos(served),
            outcome,
            waited: Duration::from_nanos(waited),
            redundant,
        };
        let text = format!("{LOG_HEADER}\n{record}\n");
        prop_assert_eq!(parse_log(&text), Ok([record].into()));
    }

    #[test]
    fn no_text_leads_to_a_panic(line in "[-0-9.,eread done]{0,60}") {
        let _ = parse_log(&format!("{LOG_HEADER}\n{line}"));
        let _ = parse_log(&format!("operation,bytes,delay_ms\n{line}"));
    }
}
