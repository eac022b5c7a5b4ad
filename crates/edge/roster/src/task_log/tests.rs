use super::*;
use crate::task_log_file::{TaskLogError, TaskLogFile, TaskLogFileSettings};
use core::time::Duration;
use ripstop_estimator::{LoggedOutcome as Logged, fit_log, parse_log};
use ripstop_gateway::{Task, TaskEnd, TaskOutcome};
use ripstop_model::{NodeId, Operation, RequestId, TaskId};
use std::{fs, sync::Arc};

fn task(number: u64, outcome: TaskOutcome, served_ms: u64) -> Report {
    let (id, request) = (TaskId(number), RequestId(1));
    let node = NodeId(number as u16 % 3);
    Report::Task(TaskEnd {
        task: Task { id, request, node, fragment: 0, strips: 1 },
        write: number.is_multiple_of(2),
        outcome,
        bytes: 1000 + number,
        waited: Duration::from_micros(5),
        served: Duration::from_millis(served_ms),
        extra: false,
        redundant: outcome == TaskOutcome::Cancelled,
    })
}

fn fill(log: &TaskLog, numbers: std::ops::Range<u64>) {
    for number in numbers {
        log.report(Timestamp::from_nanos(number), &task(number, TaskOutcome::Done, 1));
    }
}

fn text(log: &Arc<TaskLog>) -> String {
    log.clone().pages().collect()
}

#[test]
fn the_tasks_that_had_a_lane_are_lines_that_the_estimator_reads() {
    let log = Arc::new(TaskLog::new());
    assert_eq!(text(&log), format!("{LOG_HEADER}\n"));
    let tasks = [
        (TaskOutcome::Done, 4),
        (TaskOutcome::Cancelled, 2),
        (TaskOutcome::Cancelled, 0),
        (TaskOutcome::Unavailable, 0),
        (TaskOutcome::Damaged, 7),
    ];
    for (number, (outcome, served)) in (0..).zip(tasks) {
        log.report(Timestamp::from_nanos(1_000_000_000 * number), &task(number, outcome, served));
    }
    let answered = Report::Node { node: NodeId(0), up: true };
    log.report(Timestamp::ZERO, &answered);
    let records = log.records();
    assert_eq!(parse_log(&text(&log)), Ok(records.clone()));
    let seen: Vec<_> = records.iter().map(|record| (record.bytes, record.outcome)).collect();
    assert_eq!(seen, [(1000, Logged::Done), (1001, Logged::Cancelled), (1004, Logged::Other)]);
    assert_eq!(records[1].operation, Operation::Read);
    assert!(records[1].redundant && !records[0].redundant);
    assert_eq!(records[1].at - records[0].at, Duration::from_secs(1));
    let year_2020 = Timestamp::from_nanos(1_577_836_800_000_000_000);
    assert!(records[0].at > year_2020, "{:?}", records[0].at);
    assert_eq!(fit_log(&text(&log)).unwrap().cancelled, 1);
}

#[test]
fn the_last_records_are_kept_and_no_more() {
    let log = Arc::new(TaskLog::new());
    fill(&log, 0..TASK_LOG_MAX as u64 + 10);
    let records = log.records();
    assert_eq!(parse_log(&text(&log)), Ok(records.clone()));
    assert_eq!(records.len(), TASK_LOG_MAX);
    assert_eq!((records[0].bytes, records[TASK_LOG_MAX - 1].bytes), (1010, 1009 + (1 << 16)));
}

#[test]
fn a_file_goes_on_where_it_ended_and_what_was_overrun_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.csv");
    let settings = TaskLogFileSettings::default();
    let log = Arc::new(TaskLog::new());
    fill(&log, 0..3000);
    drop(TaskLogFile::append(&path, vec![log.clone()], settings).unwrap());
    // Killed in the middle of a line.
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend_from_slice(b"12.5,rea");
    fs::write(&path, bytes).unwrap();
    let (second, third) = (Arc::new(TaskLog::new()), Arc::new(TaskLog::new()));
    fill(&second, 0..TASK_LOG_MAX as u64 + 7);
    fill(&third, 0..5);
    drop(TaskLogFile::append(&path, vec![second.clone(), third.clone()], settings).unwrap());
    let records = parse_log(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(records.len(), 3000 + TASK_LOG_MAX + 5);
    assert_eq!((log.missed(), second.missed(), third.missed()), (0, 7, 0));
}

#[test]
fn a_full_file_is_put_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.csv");
    let settings = TaskLogFileSettings { file_max: 100_000, ..Default::default() };
    let log = Arc::new(TaskLog::new());
    fill(&log, 0..5000);
    drop(TaskLogFile::append(&path, vec![log.clone()], settings).unwrap());
    let read = |name: &str| parse_log(&fs::read_to_string(folder.path().join(name)).unwrap());
    let (new, old) = (read("tasks.csv").unwrap(), read("tasks.csv.1").unwrap());
    assert_eq!(new.last().unwrap().bytes, 5999);
    assert_eq!(old.last().unwrap().bytes + 1, new[0].bytes);
    assert!(fs::metadata(&path).unwrap().len() < 200_000);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_file_that_is_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    for text in ["dear diary", "time_s,operation,node,bytes,served_ms,outcome\n", "\n"] {
        fs::write(&path, text).unwrap();
        let refused = TaskLogFile::append(&path, Vec::new(), TaskLogFileSettings::default());
        assert!(matches!(refused, Err(TaskLogError::Foreign(_))), "{text:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    fs::write(&path, &LOG_HEADER[..20]).unwrap();
    drop(TaskLogFile::append(&path, Vec::new(), TaskLogFileSettings::default()).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{LOG_HEADER}\n"));
}
