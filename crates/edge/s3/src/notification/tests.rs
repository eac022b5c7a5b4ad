use super::{
    document::{LIMITS, Wanted, from_root, stored},
    event::{EventKind, Happened, Setting, record},
};
use crate::{
    error::{Code, Outcome},
    xml,
};

fn wanted(inner: &str) -> Outcome<Wanted> {
    let document = format!("<NotificationConfiguration>{inner}</NotificationConfiguration>");
    from_root(&xml::parse(document.as_bytes(), LIMITS)?)
}

fn queue(id: &str, event: &str, rules: &[(&str, &str)]) -> String {
    let rules: Vec<_> = rules
        .iter()
        .map(|(name, value)| {
            format!("<FilterRule><Name>{name}</Name><Value>{value}</Value></FilterRule>")
        })
        .collect();
    let rules = rules.concat();
    format!(
        "<QueueConfiguration><Id>{id}</Id><Queue>arn:aws:sqs:us-east-1:1:hook</Queue>\
         <Event>{event}</Event><Filter><S3Key>{rules}</S3Key></Filter></QueueConfiguration>"
    )
}

#[test]
fn a_subscription_is_about_events_of_keys_that_begin_and_end_so() {
    let inner = queue("one", "s3:ObjectCreated:*", &[("Prefix", "in/"), ("suffix", ".jpg")])
        + "<TopicConfiguration><Topic>arn:x:other</Topic><Event>s3:ObjectRemoved:Delete</Event>\
           </TopicConfiguration>";
    let wanted = wanted(&inner).unwrap();
    assert_eq!(wanted.webhooks.into_iter().collect::<Vec<_>>(), ["hook", "other"]);
    let kept = stored(&wanted.document.unwrap());
    let about = |kind, key: &str| {
        let about = kept.iter().filter(|it| it.is_about(kind, key));
        about.map(|it| (&*it.id, &*it.webhook)).collect::<Vec<_>>()
    };
    assert_eq!(about(EventKind::Put, "in/a.jpg"), [("one", "hook")]);
    assert_eq!(about(EventKind::Complete, "in/a.jpg"), [("one", "hook")]);
    assert_eq!(about(EventKind::Put, "in/a.png"), []);
    assert_eq!(about(EventKind::Put, "a.jpg"), []);
    assert_eq!(about(EventKind::Delete, "in/a.jpg"), [("notification-1", "other")]);
    assert_eq!(about(EventKind::Marker, "in/a.jpg"), []);
    assert!(stored("<no>").is_empty());
}

#[test]
fn what_a_document_may_not_say_is_refused() {
    let put = "s3:ObjectCreated:Put";
    for (inner, code) in [
        (queue("a", "s3:ObjectCreated:Whatever", &[]), Code::InvalidArgument),
        (queue("a", "ObjectCreated:Put", &[]), Code::InvalidArgument),
        (queue("a", "s3:*", &[]), Code::InvalidArgument),
        (queue("a", "s3:ObjectRestore:Post", &[]), Code::NotImplemented),
        ("<EventBridgeConfiguration/>".to_owned(), Code::NotImplemented),
        (queue("a", put, &[("middle", "x")]), Code::InvalidArgument),
        (queue("a", put, &[("prefix", "x"), ("Prefix", "y")]), Code::InvalidArgument),
        (queue("a", put, &[]).replace("arn:", "urn:"), Code::InvalidArgument),
        (queue("a", put, &[]).replace(":hook", ":"), Code::InvalidArgument),
        (queue("a", put, &[]) + &queue("a", "s3:ObjectRemoved:*", &[]), Code::InvalidArgument),
        (
            queue("a", put, &[("prefix", "x")]) + &queue("b", "s3:ObjectCreated:*", &[]),
            Code::InvalidArgument,
        ),
        ("<QueueConfiguration/>".to_owned(), Code::MalformedXml),
        ("<Whatever/>".to_owned(), Code::MalformedXml),
        (queue(&"i".repeat(256), put, &[]), Code::InvalidArgument),
    ] {
        assert_eq!(wanted(&inner).expect_err(&inner).code, code, "{inner}");
    }
    let apart = queue("a", put, &[("prefix", "x")]) + &queue("b", put, &[("prefix", "y")]);
    assert!(wanted(&apart).is_ok());
    assert!(wanted("").unwrap().document.is_none(), "nobody is told anything");
}

#[test]
fn a_record_is_of_s3_s_form() {
    let setting = Setting {
        region: "eu-1".into(),
        owner: "me".into(),
        bucket: "bkt".into(),
        access_key: None,
        client: Some([192, 0, 2, 3].into()),
        request_id: "ID".into(),
        at_ms: 784_111_777_042,
        sequencer: 0xab,
    };
    let happened = Happened {
        kind: EventKind::Put,
        key: "a b/é".into(),
        object: Some((7, "etag".into())),
        version: None,
    };
    let record: serde_json::Value =
        serde_json::from_str(&record(&setting, &happened, "sub")).unwrap();
    let record = &record["Records"][0];
    assert_eq!(record["eventName"], "ObjectCreated:Put");
    assert_eq!(record["eventTime"], "1994-11-06T08:49:37.042Z");
    assert_eq!(record["s3"]["bucket"]["arn"], "arn:aws:s3:::bkt");
    assert_eq!(record["s3"]["configurationId"], "sub");
    let object = serde_json::json!({
        "key": "a+b/%C3%A9", "size": 7, "eTag": "etag", "sequencer": "00000000000000AB",
    });
    assert_eq!(record["s3"]["object"], object);
}
