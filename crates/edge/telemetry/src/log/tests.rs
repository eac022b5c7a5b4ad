use super::{LogFormat, LogsError, init_logs, layer::Lines};
use serde_json::Value;
use std::{
    io,
    sync::{Arc, Mutex},
};
use tracing::{field::Empty, info, info_span, warn};
use tracing_subscriber::{fmt::MakeWriter, layer::SubscriberExt};

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Written {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// What is logged while `events` runs.
fn logged(format: LogFormat, events: impl FnOnce()) -> String {
    let written = Written::default();
    let lines = Lines::new(format, written.clone());
    tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), events);
    let written = written.0.lock().unwrap().clone();
    String::from_utf8(written).unwrap()
}

#[test]
fn an_event_is_one_json_line_with_the_fields_of_its_spans_beside_its_own() {
    let text = logged(LogFormat::Json, || {
        let outer = info_span!("connection", peer = "10.0.0.7", request_id = "old").entered();
        let inner = info_span!("request", request_id = "5f", bucket = Empty).entered();
        inner.record("bucket", "photos");
        warn!(node = 3, late = true, "no \"answer\"\nfrom node");
        drop((inner, outer));
        info!("alone");
    });
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    let mut first = lines[0].as_object().unwrap().clone();
    let time = first.remove("timestamp").unwrap();
    let time = time.as_str().unwrap();
    assert_eq!((time.len(), &time[10..11], &time[26..]), (27, "T", "Z"), "{time}");
    let target = first.remove("target").unwrap();
    assert!(target.as_str().unwrap().starts_with("ripstop_telemetry"));
    let expected = serde_json::json!({
        "level": "WARN", "message": "no \"answer\"\nfrom node", "node": 3, "late": true,
        "request_id": "5f", "peer": "10.0.0.7", "bucket": "photos",
    });
    assert_eq!(Value::from(first), expected);
    assert_eq!(lines[1].as_object().unwrap().len(), 4);
}

#[test]
fn a_text_line_cannot_be_broken_by_what_is_logged() {
    let text = logged(LogFormat::Text, || {
        info!(key = "a\u{9b}b", id = 7, plain = "x/y", "one\ntwo \u{1b}[31m");
    });
    let (_, rest) = text.split_once(" INFO ").unwrap();
    assert!(rest.ends_with(": one\\ntwo \\u{1b}[31m id=7 key=\"a\\u{9b}b\" plain=x/y\n"), "{rest}");
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn secrets_are_not_written_in_either_format() {
    for format in [LogFormat::Json, LogFormat::Text] {
        let text = logged(format, || {
            let span =
                info_span!("request", authorization = "AWS4 hush-1", session_token = "hush-2");
            let _entered = span.entered();
            let uri = "/b/k?X-Amz-Signature=hush-3";
            info!(secret_key = ?"hush-4", %uri, "asked for {uri}");
        });
        assert!(!text.contains("hush"), "{text}");
        assert_eq!(text.matches("[redacted]").count(), 5, "{text}");
    }
}

#[test]
fn a_field_cannot_pose_as_what_the_line_says_itself() {
    let text = logged(LogFormat::Json, || info!(level = "ERROR", timestamp = 0, "x"));
    let line: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&line["level"], &line["level_"]), (&"INFO".into(), &"ERROR".into()));
    assert_eq!(line["timestamp_"], 0);
    assert_eq!(text.matches("\"level\"").count(), 1);
}

#[test]
fn formats_and_filters_that_mean_nothing_are_refused() {
    assert_eq!("text".parse::<LogFormat>().unwrap(), LogFormat::Text);
    let error = "xml".parse::<LogFormat>().unwrap_err();
    assert_eq!(error.to_string(), "no log format is named \"xml\"; there are: json, text");
    let error = init_logs(LogFormat::Json, "info,,=x=").unwrap_err();
    assert!(matches!(error, LogsError::Filter { .. }), "{error}");
}
