use super::{document, place};
use crate::{error::Outcome, xml};

const DAY_MS: u64 = 86_400_000;

fn configuration(id: &str, more: &str) -> String {
    format!(
        "<InventoryConfiguration><Destination><S3BucketDestination><Format>CSV</Format>\
         <Bucket>arn:aws:s3:::lists</Bucket></S3BucketDestination></Destination>\
         <IsEnabled>true</IsEnabled><Id>{id}</Id>\
         <IncludedObjectVersions>All</IncludedObjectVersions>\
         <Schedule><Frequency>Daily</Frequency></Schedule>{more}</InventoryConfiguration>"
    )
}

fn wanted(text: &str) -> Outcome<document::Wanted> {
    document::from_root(&xml::parse(text.as_bytes(), document::LIMITS)?)
}

#[test]
fn a_period_is_a_day_or_the_week_from_sunday() {
    // 2026-11-26 is a Thursday.
    let at = 1_795_688_813_000;
    let day = at / DAY_MS * DAY_MS;
    assert_eq!(place::began_ms(false, at), day);
    assert_eq!(place::began_ms(true, at), day - 4 * DAY_MS);
    let sunday = day - 4 * DAY_MS;
    assert_eq!(place::began_ms(true, sunday), sunday);
    assert_eq!(place::began_ms(true, sunday - 1), sunday - 7 * DAY_MS);
    assert_eq!(place::began_ms(true, 0), 0, "no week began in 1970 before");
}

#[test]
fn configurations_are_kept_by_their_ids() {
    let mut all: Option<String> = None;
    for id in ["b", "a", "c", "b"] {
        all =
            Some(document::with(all.as_deref(), &wanted(&configuration(id, "")).unwrap()).unwrap());
    }
    let all = all.unwrap();
    let ids: Vec<_> = document::stored(&all).unwrap().into_iter().map(|order| order.id).collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert!(document::find(Some(&all), "b").unwrap().contains("<Id>b</Id>"));
    let code = |outcome: Outcome<String>| outcome.unwrap_err().code.word();
    assert_eq!(code(document::find(Some(&all), "d")), "NoSuchConfiguration");
    assert_eq!(code(document::find(None, "a")), "NoSuchConfiguration");
    let mut left = Some(all);
    for id in ["b", "c", "a"] {
        left = document::without(left.as_deref(), id).unwrap();
    }
    assert_eq!(left, None);
    assert!(document::without(None, "a").is_err());
}

#[test]
fn a_list_of_configurations_comes_in_pages() {
    let mut all: Option<String> = None;
    for at in 0..=document::PAGE {
        let wanted = wanted(&configuration(&format!("{at:04}"), "")).unwrap();
        all = Some(document::with(all.as_deref(), &wanted).unwrap());
    }
    let first = document::page(all.as_deref(), None).unwrap();
    assert_eq!(first.matches("<Id>").count(), document::PAGE);
    assert!(first.contains("<IsTruncated>true</IsTruncated>"), "{first}");
    assert!(first.contains("<NextContinuationToken>0099</NextContinuationToken>"), "{first}");
    let second = document::page(all.as_deref(), Some("0099")).unwrap();
    assert!(second.contains("<Id>0100</Id>") && !second.contains("<Id>0099</Id>"), "{second}");
    assert!(second.contains("<IsTruncated>false</IsTruncated>"), "{second}");
    let none = document::page(None, None).unwrap();
    assert!(none.contains("<IsTruncated>false</IsTruncated>"), "{none}");
}

#[test]
fn what_is_no_configuration_is_refused() {
    let good = configuration("a", "<OptionalFields><Field>Size</Field></OptionalFields>");
    assert!(wanted(&good).is_ok());
    for (from, to, code) in [
        ("CSV", "ORC", "NotImplemented"),
        ("CSV", "csv", "MalformedXML"),
        ("Daily", "Hourly", "MalformedXML"),
        ("All<", "Latest<", "MalformedXML"),
        ("true", "yes", "MalformedXML"),
        ("arn:aws:s3:::lists", "lists", "InvalidArgument"),
        ("<Id>a", "<Id>a/b", "InvalidArgument"),
        ("<Field>Size", "<Field>Weight", "MalformedXML"),
        ("<Field>Size", "<Field>ObjectOwner", "NotImplemented"),
        ("<Format>", "<Encryption></Encryption><Format>", "MalformedXML"),
        ("<IsEnabled>", "<Filter></Filter><IsEnabled>", "MalformedXML"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good);
        assert_eq!(wanted(&bad).unwrap_err().code.word(), code, "{to}");
    }
}
