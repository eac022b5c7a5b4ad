use super::{Configured, LIMITS, Sizes, answer, stored};
use crate::{
    error::{Code, Failure, Outcome},
    xml,
};
use ripstop_lifecycle::{Due, Expiration, Filter, Noncurrent, Rules, Transition};

fn configured(document: &str) -> Outcome<Configured> {
    let classes = ["STANDARD_IA", "WARM", "GLACIER"].map(str::to_owned);
    Configured::from_root(&xml::parse(document.as_bytes(), LIMITS)?, &classes)
}

fn document(rules: &str) -> String {
    format!("<LifecycleConfiguration>{rules}</LifecycleConfiguration>")
}

fn of(rule: &str) -> Outcome<Configured> {
    configured(&document(&format!("<Rule>{rule}</Rule>")))
}

const ON: &str = "<Status>Enabled</Status>";
const DAYS: &str = "<Expiration><Days>3</Days></Expiration>";

#[test]
fn a_document_comes_back_in_the_form_it_had_and_says_the_same() {
    let rules = "<Rule><ID>a &amp; b</ID><Prefix> x/</Prefix><Status>Enabled</Status>\
        <Expiration><Date>2030-01-02T00:00:00Z</Date></Expiration></Rule>\
        <Rule><ID>c</ID><Filter><And><Prefix>p</Prefix><Tag><Key>k</Key><Value>v</Value></Tag>\
        <ObjectSizeGreaterThan>5</ObjectSizeGreaterThan></And></Filter>\
        <Status>Disabled</Status><NoncurrentVersionExpiration><NoncurrentDays>7</NoncurrentDays>\
        <NewerNoncurrentVersions>2</NewerNoncurrentVersions></NoncurrentVersionExpiration></Rule>\
        <Rule><ID>d</ID><Filter></Filter><Status>Enabled</Status><AbortIncompleteMultipartUpload>\
        <DaysAfterInitiation>4</DaysAfterInitiation></AbortIncompleteMultipartUpload></Rule>";
    let read = configured(&document(rules)).unwrap();
    let expected = read.rules.clone();
    let [first, second, third] = &expected[..] else { panic!("{expected:?}") };
    assert_eq!((&*first.id, first.is_enabled, &*first.filter.prefix), ("a & b", true, " x/"));
    let date = Expiration::Objects(Due::At(1_893_542_400_000));
    assert_eq!(first.expiration, Some(date));
    let filter = Filter {
        prefix: "p".into(),
        tags: vec![("k".into(), "v".into())],
        longer_than: Some(5),
        shorter_than: None,
    };
    assert_eq!((second.is_enabled, &second.filter), (false, &filter));
    assert_eq!(second.noncurrent, Some(Noncurrent { after_days: 7, kept: 2 }));
    assert_eq!((&third.filter, third.uploads_after_days), (&Filter::default(), Some(4)));
    let kept = read.document(Sizes::ByClass);
    let sizes = ripstop_lifecycle::Sizes::ByClass;
    assert_eq!(stored(&kept), Some(Rules::new(expected).with_sizes(sizes)));
    let (answered, sizes) = answer(&kept);
    assert_eq!(sizes, Sizes::ByClass);
    let whole = format!(
        "\n<LifecycleConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{rules}</LifecycleConfiguration>"
    );
    assert!(answered.ends_with(&whole), "{answered}");
    assert_eq!(stored("<no>"), None);
}

#[test]
fn rules_without_a_name_get_one() {
    let rule = format!("<Rule>{ON}<Prefix/>{DAYS}</Rule>");
    let read = configured(&document(&rule.repeat(3))).unwrap();
    let mut ids: Vec<_> = read.rules.iter().map(|rule| rule.id.clone()).collect();
    assert!(ids.iter().all(|id| id.len() == 48));
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    let kept = read.document(Sizes::AllClasses);
    assert!(ids.iter().all(|id| kept.contains(&format!("<ID>{id}</ID>"))), "{kept}");
}

fn refused(rule: &str) -> (Code, String) {
    let Failure { code, message, .. } = of(rule).expect_err(rule);
    (code, message.into_owned())
}

#[test]
fn what_is_no_document_of_rules_is_malformed() {
    for rule in [
        format!("<Prefix/>{DAYS}"),
        format!("<Status>enabled</Status><Prefix/>{DAYS}"),
        format!("{ON}{DAYS}"),
        format!("{ON}<Prefix/><Filter/>{DAYS}"),
        format!("{ON}<Prefix/><What/>{DAYS}"),
        format!("{ON}<Filter><What/></Filter>{DAYS}"),
        format!("{ON}<Filter><And/></Filter>{DAYS}"),
        format!(
            "{ON}<Filter><Prefix>a</Prefix><ObjectSizeLessThan>1</ObjectSizeLessThan></Filter>{DAYS}"
        ),
        format!("{ON}<Filter><Tag><Key>k</Key></Tag></Filter>{DAYS}"),
        format!("{ON}<Prefix/><Expiration/>"),
        format!("{ON}<Prefix/><Expiration><Days>x</Days></Expiration>"),
        format!("{ON}<Prefix/><Expiration><Days>2147483648</Days></Expiration>"),
        format!("{ON}<Prefix/><Expiration><Date>20200101</Date></Expiration>"),
        format!(
            "{ON}<Prefix/><Expiration><Days>1</Days><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>"
        ),
        format!(
            "{ON}<Prefix/><NoncurrentVersionExpiration><NewerNoncurrentVersions>1</NewerNoncurrentVersions></NoncurrentVersionExpiration>"
        ),
        format!("{ON}<Prefix/><AbortIncompleteMultipartUpload/>"),
        format!(
            "{ON}<Prefix/><Transition><Days>1</Days><StorageClass>STANDARD</StorageClass></Transition>"
        ),
        format!(
            "{ON}<Prefix/><Transition><Date>20220927</Date><StorageClass>GLACIER</StorageClass></Transition>"
        ),
    ] {
        assert_eq!(refused(&rule).0, Code::MalformedXml, "{rule}");
    }
    for document in [
        "<LifecycleConfiguration/>",
        "<Rule/>",
        "<LifecycleConfiguration><X/></LifecycleConfiguration>",
    ] {
        assert_eq!(configured(document).unwrap_err().code, Code::MalformedXml, "{document}");
    }
}

#[test]
fn what_a_rule_may_not_say_is_refused_in_s3_s_words() {
    let id = |len| format!("{ON}<Prefix/>{DAYS}<ID>{}</ID>", "é".repeat(len));
    assert!(of(&id(255)).is_ok());
    let expiration = |what: &str| format!("{ON}<Prefix/><Expiration>{what}</Expiration>");
    let days = "'Days' for Expiration action must be a positive integer";
    let uploads = "<AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation></AbortIncompleteMultipartUpload>";
    for (rule, code, message) in [
        (id(256), Code::InvalidArgument, "ID length should not exceed allowed limit of 255"),
        (
            format!("{ON}<Prefix/>"),
            Code::InvalidRequest,
            "At least one action needs to be specified in a rule",
        ),
        (expiration("<Days>0</Days>"), Code::InvalidArgument, days),
        (expiration("<Days>-1</Days>"), Code::InvalidArgument, days),
        (
            expiration("<Date>2030-01-02T00:00:01Z</Date>"),
            Code::InvalidArgument,
            "'Date' must be at midnight GMT",
        ),
        (
            expiration("<Date>2030-01-02T00:00:00+01:00</Date>"),
            Code::InvalidArgument,
            "'Date' must be at midnight GMT",
        ),
        (
            format!("{ON}<Filter><ObjectSizeLessThan>9</ObjectSizeLessThan></Filter>{uploads}"),
            Code::InvalidRequest,
            "AbortIncompleteMultipartUpload cannot be specified with Object Size.",
        ),
        (
            format!(
                "{ON}<Prefix/><NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays><NewerNoncurrentVersions>101</NewerNoncurrentVersions></NoncurrentVersionExpiration>"
            ),
            Code::InvalidArgument,
            "'NewerNoncurrentVersions' for NoncurrentVersionExpiration action must be an integer between 1 and 100",
        ),
    ] {
        assert_eq!(refused(&rule), (code, message.to_owned()), "{rule}");
    }
}

fn moves(class: &str, when: &str) -> String {
    format!("<Transition>{when}<StorageClass>{class}</StorageClass></Transition>")
}

fn days(days: u32) -> String {
    format!("<Days>{days}</Days>")
}

#[test]
fn transitions_come_back_and_are_read() {
    let noncurrent = "<NoncurrentVersionTransition><NoncurrentDays>0</NoncurrentDays>\
        <NewerNoncurrentVersions>3</NewerNoncurrentVersions><StorageClass>WARM</StorageClass>\
        </NoncurrentVersionTransition>";
    let rule = format!("<ID>t</ID>{ON}<Prefix>p</Prefix>")
        + &moves("GLACIER", &days(90))
        + &moves("STANDARD_IA", &days(30))
        + noncurrent
        + "<Expiration><Days>91</Days></Expiration>";
    let read = of(&rule).unwrap();
    let [rule] = &read.rules[..] else { panic!("{:?}", read.rules) };
    let transition = |class: &str, when| Transition { class: class.to_owned(), when };
    let expected =
        [transition("GLACIER", Due::AfterDays(90)), transition("STANDARD_IA", Due::AfterDays(30))];
    assert_eq!(rule.transitions, expected);
    let when = Noncurrent { after_days: 0, kept: 3 };
    assert_eq!(rule.noncurrent_transitions, [Transition { class: "WARM".into(), when }]);
    let rules = Rules::new(read.rules.clone());
    assert_eq!(stored(&read.document(Sizes::AllClasses)), Some(rules));
    let date = "<Date>2030-01-01T00:00:00Z</Date>";
    assert!(of(&format!("{ON}<Prefix/>{}", moves("GLACIER", date))).is_ok());
}

#[test]
fn what_a_transition_may_not_say_is_refused_in_s3_s_words() {
    let (of_date, later) =
        ("<Date>2030-01-01T00:00:00Z</Date>", "<Expiration><Days>90</Days></Expiration>");
    for (actions, code, message) in [
        (moves("ONEZONE_IA", &days(90)), Code::InvalidStorageClass, "The storage class"),
        (moves("COLDEST", &days(90)), Code::MalformedXml, ""),
        (
            moves("STANDARD_IA", &days(29)),
            Code::InvalidArgument,
            "'Days' in Transition action must",
        ),
        (
            moves("WARM", &days(5)) + &moves("GLACIER", &days(5)),
            Code::InvalidArgument,
            "'Days' in the 'Transition' action for StorageClass 'GLACIER'",
        ),
        (
            moves("WARM", &days(5)) + &moves("WARM", &days(6)),
            Code::InvalidRequest,
            "'StorageClass' must be different for 'Transition'",
        ),
        (
            moves("WARM", &days(5)) + &moves("GLACIER", of_date),
            Code::InvalidRequest,
            "Found mixed 'Date' and 'Days' based Transition",
        ),
        (
            moves("GLACIER", of_date) + later,
            Code::InvalidRequest,
            "Found mixed 'Date' and 'Days' based Expiration and Transition",
        ),
        (
            moves("GLACIER", &days(90)) + later,
            Code::InvalidArgument,
            "'Days' in the Expiration action for prefix '' must be greater than 'Days'",
        ),
        (
            moves("GLACIER", of_date)
                + "<Expiration><Date>2029-01-01T00:00:00Z</Date></Expiration>",
            Code::InvalidArgument,
            "'Date' in the Expiration action for prefix '' must be later than 'Date'",
        ),
        (moves("GLACIER", "<Days>-1</Days>"), Code::InvalidArgument, "'Days' for Transition"),
        (moves("GLACIER", "<Date>2030-01-01T01:00:00Z</Date>"), Code::InvalidArgument, "'Date'"),
    ] {
        let rule = format!("{ON}<Prefix/>{actions}");
        let (found, said) = refused(&rule);
        assert!(found == code && said.starts_with(message), "{rule}: {found:?} {said}");
    }
}

#[test]
fn what_a_filter_may_not_say_is_refused_in_s3_s_words() {
    let tag = "<Tag><Key>k</Key><Value>v</Value></Tag>";
    let sizes = |more, less| {
        format!(
            "<Filter><And><ObjectSizeGreaterThan>{more}</ObjectSizeGreaterThan><ObjectSizeLessThan>{less}</ObjectSizeLessThan></And></Filter>"
        )
    };
    for (rule, code, message) in [
        (
            format!(
                "{ON}<Filter>{tag}</Filter><Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>"
            ),
            Code::InvalidRequest,
            "ExpiredObjectDeleteMarker cannot be specified with Tags.",
        ),
        (
            format!("{ON}<Filter><And>{tag}{tag}</And></Filter>{DAYS}"),
            Code::InvalidRequest,
            "Duplicate Tag Keys are not allowed.",
        ),
        (
            format!("{ON}{}{DAYS}", sizes(5, 6)),
            Code::InvalidRequest,
            "'ObjectSizeLessThan' must be greater than 'ObjectSizeGreaterThan' by more than 1",
        ),
    ] {
        assert_eq!(refused(&rule), (code, message.to_owned()), "{rule}");
    }
    assert!(of(&format!("{ON}{}{DAYS}", sizes(5, 7))).is_ok());
    assert!(
        of(&format!(
            "{ON}<Filter><Prefix/><ObjectSizeGreaterThan>5</ObjectSizeGreaterThan></Filter>{DAYS}"
        ))
        .is_ok()
    );
}

#[test]
fn names_are_unique_and_rules_are_bounded() {
    let rule = format!("<Rule><ID>same</ID>{ON}<Prefix/>{DAYS}</Rule>");
    let failure = configured(&document(&rule.repeat(2))).unwrap_err();
    assert_eq!(failure.code, Code::InvalidArgument);
    let rules = |count: usize| {
        let rule = |at| format!("<Rule><ID>{at}</ID>{ON}<Prefix/>{DAYS}</Rule>");
        configured(&document(&(0..count).map(rule).collect::<String>()))
    };
    assert!(rules(1000).is_ok());
    assert_eq!(rules(1001).unwrap_err().code, Code::InvalidRequest);
}
