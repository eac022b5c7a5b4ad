use super::{
    destination::{Destination, LIMITS, from_root, stored},
    held::{HELD_MAX, Logs},
    line::{Begun, Logged},
};
use crate::{
    Answered, S3Operation,
    error::{Code, Outcome},
    xml,
};
use std::{sync::Arc, time::Duration};

fn wanted(inner: &str) -> Outcome<Option<super::Wanted>> {
    let document = format!("<BucketLoggingStatus>{inner}</BucketLoggingStatus>");
    from_root(&xml::parse(document.as_bytes(), LIMITS)?)
}

fn enabled(more: &str) -> String {
    format!("<LoggingEnabled><TargetBucket>logs</TargetBucket>{more}</LoggingEnabled>")
}

fn destination(more: &str) -> Destination {
    let wanted = wanted(&enabled(more)).unwrap().unwrap();
    assert_eq!(wanted.target, "logs");
    stored(&wanted.document, "source").unwrap()
}

#[test]
fn keys_are_of_s3_s_forms() {
    let simple = destination("<TargetPrefix>p/</TargetPrefix>");
    let at_ms = 784_111_777_999;
    let place = ("me", "eu-1");
    assert_eq!(simple.key(place, at_ms, "NAME"), "p/1994-11-06-08-49-37-NAME");
    let partitioned = destination(
        "<TargetPrefix>p/</TargetPrefix><TargetObjectKeyFormat><PartitionedPrefix>\
         <PartitionDateSource>EventTime</PartitionDateSource></PartitionedPrefix>\
         </TargetObjectKeyFormat>",
    );
    let key = "p/me/eu-1/source/1994/11/06/1994-11-06-08-49-37-NAME";
    assert_eq!(partitioned.key(place, at_ms, "NAME"), key);
}

#[test]
fn documents_are_checked() {
    assert!(wanted("").unwrap().is_none(), "off");
    for (inner, code) in [
        (enabled(""), Code::MalformedXml),
        (enabled("<TargetPrefix/><What/>"), Code::MalformedXml),
        (enabled("<TargetPrefix/>").replace("logs", ""), Code::MalformedXml),
        (enabled("<TargetPrefix/><TargetObjectKeyFormat/>"), Code::MalformedXml),
        (
            enabled("<TargetPrefix/><TargetGrants><Grant/></TargetGrants>"),
            Code::AccessControlListNotSupported,
        ),
        (
            enabled(&format!("<TargetPrefix>{}</TargetPrefix>", "p".repeat(801))),
            Code::InvalidArgument,
        ),
    ] {
        assert_eq!(wanted(&inner).expect_err(&inner).code, code, "{inner}");
    }
}

fn logged(logs: Arc<Logs>, query: &str) -> Logged {
    let text = |text: &str| Some(text.to_owned());
    let begun = Begun {
        owner: "me".into(),
        key: text("a key"),
        id: "ID".into(),
        door: "REST",
        method: "GET".into(),
        path: "/source/a%20key".into(),
        query: text(query),
        version: "HTTP/1.1".into(),
        host: text("localhost:9000"),
        referer: None,
        agent: text("a \"quoted\" agent\n"),
        announced: None,
        signed: Some(("SigV4", "QueryString")),
        client: Some([192, 0, 2, 3].into()),
        secure: false,
        at_ms: 784_111_777_999,
    };
    let destination = destination("<TargetPrefix>p/</TargetPrefix>");
    Logged { logs, destination, begun, object_len: Some(7), version_id: None }
}

fn answered() -> Answered {
    Answered {
        operation: S3Operation::GetObject,
        status: 200,
        received: 0,
        sent: 5,
        broken: false,
        first_byte: Duration::from_millis(3),
        duration: Duration::from_millis(4),
        hashing: Duration::ZERO,
    }
}

#[test]
fn a_record_has_s3_s_fields_and_no_secret() {
    let logs = Arc::new(Logs::default());
    let one = logged(logs.clone(), "X-Amz-Signature=secret&x-id=GetObject");
    one.write(&answered(), Some("KEY"), None);
    one.write(&answered(), None, Some("NoSuchKey"));
    let [(_, part)] = &logs.take(false)[..] else { panic!("one destination") };
    let lines: Vec<_> = part.text.lines().collect();
    assert_eq!(
        lines[0],
        "me source [06/Nov/1994:08:49:37 +0000] 192.0.2.3 KEY ID REST.GET.OBJECT a%20key \
         \"GET /source/a%20key?X-Amz-Signature=REDACTED&x-id=GetObject HTTP/1.1\" 200 - 5 7 4 3 \"-\" \
         \"a 'quoted' agent \" - ID SigV4 - QueryString localhost:9000 - - -"
    );
    assert!(lines[1].contains(" 192.0.2.3 - ID ") && lines[1].contains(" 200 NoSuchKey 5 "));
    assert_eq!((lines.len(), part.since_ms), (2, 784_111_777_999));
}

#[test]
fn what_waits_is_bounded_and_what_is_lost_is_counted() {
    let logs = Logs::default();
    let destination = destination("<TargetPrefix>p/</TargetPrefix>");
    let line = "x".repeat((1 << 20) - 1) + "\n";
    let room = HELD_MAX >> 20;
    for _ in 0..room + 3 {
        logs.push(&destination, &line, 1);
    }
    assert_eq!((logs.lost(), logs.lost()), (3, 0));
    let taken = logs.take(true);
    let [(to, part)] = &taken[..] else { panic!("it is full") };
    assert_eq!(part.text.len(), HELD_MAX);
    logs.push(&destination, "later\n", 2);
    assert!(logs.take(true).is_empty(), "there is time");
    logs.put_back(to.clone(), part.clone());
    assert_eq!(logs.lost(), room as u64, "there is no room for both");
    let text = "earlier\n".to_owned();
    logs.put_back(to.clone(), super::held::Part { text, since_ms: 1 });
    let [(_, part)] = &logs.take(false)[..] else { panic!("one destination") };
    assert_eq!((&*part.text, part.since_ms), ("earlier\nlater\n", 1));
}
