//! Every operation of S3 is done or refused by name, as the table in `docs/s3.md` says.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "common/served.rs"]
mod served;

use client::Call;
use served::face;

/// All operations of S3, as AWS's clients send them.
const OPERATIONS: [(&str, &str, &str, &str); 116] = [
    ("AbortMultipartUpload", "DELETE", "/bkt/k", "uploadId=u"),
    ("CompleteMultipartUpload", "POST", "/bkt/k", "uploadId=u"),
    ("CopyObject", "PUT", "/bkt/k", ""),
    ("CreateBucket", "PUT", "/bkt", ""),
    ("CreateBucketMetadataConfiguration", "POST", "/bkt", "metadataConfiguration="),
    ("CreateBucketMetadataTableConfiguration", "POST", "/bkt", "metadataTable="),
    ("CreateMultipartUpload", "POST", "/bkt/k", "uploads="),
    ("CreateSession", "GET", "/bkt", "session="),
    ("DeleteBucket", "DELETE", "/bkt", ""),
    ("DeleteBucketAnalyticsConfiguration", "DELETE", "/bkt", "analytics="),
    ("DeleteBucketCors", "DELETE", "/bkt", "cors="),
    ("DeleteBucketEncryption", "DELETE", "/bkt", "encryption="),
    ("DeleteBucketIntelligentTieringConfiguration", "DELETE", "/bkt", "intelligent-tiering="),
    ("DeleteBucketInventoryConfiguration", "DELETE", "/bkt", "inventory="),
    ("DeleteBucketLifecycle", "DELETE", "/bkt", "lifecycle="),
    ("DeleteBucketMetadataConfiguration", "DELETE", "/bkt", "metadataConfiguration="),
    ("DeleteBucketMetadataTableConfiguration", "DELETE", "/bkt", "metadataTable="),
    ("DeleteBucketMetricsConfiguration", "DELETE", "/bkt", "metrics="),
    ("DeleteBucketOwnershipControls", "DELETE", "/bkt", "ownershipControls="),
    ("DeleteBucketPolicy", "DELETE", "/bkt", "policy="),
    ("DeleteBucketReplication", "DELETE", "/bkt", "replication="),
    ("DeleteBucketTagging", "DELETE", "/bkt", "tagging="),
    ("DeleteBucketWebsite", "DELETE", "/bkt", "website="),
    ("DeleteObject", "DELETE", "/bkt/k", ""),
    ("DeleteObjectAnnotation", "DELETE", "/bkt/k", "annotation="),
    ("DeleteObjectTagging", "DELETE", "/bkt/k", "tagging="),
    ("DeleteObjects", "POST", "/bkt", "delete="),
    ("DeletePublicAccessBlock", "DELETE", "/bkt", "publicAccessBlock="),
    ("GetBucketAbac", "GET", "/bkt", "abac="),
    ("GetBucketAccelerateConfiguration", "GET", "/bkt", "accelerate="),
    ("GetBucketAcl", "GET", "/bkt", "acl="),
    ("GetBucketAnalyticsConfiguration", "GET", "/bkt", "analytics=&id=a"),
    ("GetBucketCors", "GET", "/bkt", "cors="),
    ("GetBucketEncryption", "GET", "/bkt", "encryption="),
    ("GetBucketIntelligentTieringConfiguration", "GET", "/bkt", "intelligent-tiering=&id=a"),
    ("GetBucketInventoryConfiguration", "GET", "/bkt", "inventory=&id=a"),
    ("GetBucketLifecycle", "GET", "/bkt", "lifecycle="),
    ("GetBucketLifecycleConfiguration", "GET", "/bkt", "lifecycle="),
    ("GetBucketLocation", "GET", "/bkt", "location="),
    ("GetBucketLogging", "GET", "/bkt", "logging="),
    ("GetBucketMetadataConfiguration", "GET", "/bkt", "metadataConfiguration="),
    ("GetBucketMetadataTableConfiguration", "GET", "/bkt", "metadataTable="),
    ("GetBucketMetricsConfiguration", "GET", "/bkt", "metrics=&id=a"),
    ("GetBucketNotification", "GET", "/bkt", "notification="),
    ("GetBucketNotificationConfiguration", "GET", "/bkt", "notification="),
    ("GetBucketOwnershipControls", "GET", "/bkt", "ownershipControls="),
    ("GetBucketPolicy", "GET", "/bkt", "policy="),
    ("GetBucketPolicyStatus", "GET", "/bkt", "policyStatus="),
    ("GetBucketReplication", "GET", "/bkt", "replication="),
    ("GetBucketRequestPayment", "GET", "/bkt", "requestPayment="),
    ("GetBucketTagging", "GET", "/bkt", "tagging="),
    ("GetBucketVersioning", "GET", "/bkt", "versioning="),
    ("GetBucketWebsite", "GET", "/bkt", "website="),
    ("GetObject", "GET", "/bkt/k", ""),
    ("GetObjectAcl", "GET", "/bkt/k", "acl="),
    ("GetObjectAnnotation", "GET", "/bkt/k", "annotation="),
    ("GetObjectAttributes", "GET", "/bkt/k", "attributes="),
    ("GetObjectLegalHold", "GET", "/bkt/k", "legal-hold="),
    ("GetObjectLockConfiguration", "GET", "/bkt", "object-lock="),
    ("GetObjectRetention", "GET", "/bkt/k", "retention="),
    ("GetObjectTagging", "GET", "/bkt/k", "tagging="),
    ("GetObjectTorrent", "GET", "/bkt/k", "torrent="),
    ("GetPublicAccessBlock", "GET", "/bkt", "publicAccessBlock="),
    ("HeadBucket", "HEAD", "/bkt", ""),
    ("HeadObject", "HEAD", "/bkt/k", ""),
    ("ListBucketAnalyticsConfigurations", "GET", "/bkt", "analytics="),
    ("ListBucketIntelligentTieringConfigurations", "GET", "/bkt", "intelligent-tiering="),
    ("ListBucketInventoryConfigurations", "GET", "/bkt", "inventory="),
    ("ListBucketMetricsConfigurations", "GET", "/bkt", "metrics="),
    ("ListBuckets", "GET", "/", ""),
    ("ListDirectoryBuckets", "GET", "/", "max-directory-buckets=1"),
    ("ListMultipartUploads", "GET", "/bkt", "uploads="),
    ("ListObjectAnnotations", "GET", "/bkt/k", "annotation="),
    ("ListObjectVersions", "GET", "/bkt", "versions="),
    ("ListObjects", "GET", "/bkt", ""),
    ("ListObjectsV2", "GET", "/bkt", "list-type=2"),
    ("ListParts", "GET", "/bkt/k", "uploadId=u"),
    ("PutBucketAbac", "PUT", "/bkt", "abac="),
    ("PutBucketAccelerateConfiguration", "PUT", "/bkt", "accelerate="),
    ("PutBucketAcl", "PUT", "/bkt", "acl="),
    ("PutBucketAnalyticsConfiguration", "PUT", "/bkt", "analytics="),
    ("PutBucketCors", "PUT", "/bkt", "cors="),
    ("PutBucketEncryption", "PUT", "/bkt", "encryption="),
    ("PutBucketIntelligentTieringConfiguration", "PUT", "/bkt", "intelligent-tiering="),
    ("PutBucketInventoryConfiguration", "PUT", "/bkt", "inventory="),
    ("PutBucketLifecycle", "PUT", "/bkt", "lifecycle="),
    ("PutBucketLifecycleConfiguration", "PUT", "/bkt", "lifecycle="),
    ("PutBucketLogging", "PUT", "/bkt", "logging="),
    ("PutBucketMetricsConfiguration", "PUT", "/bkt", "metrics="),
    ("PutBucketNotification", "PUT", "/bkt", "notification="),
    ("PutBucketNotificationConfiguration", "PUT", "/bkt", "notification="),
    ("PutBucketOwnershipControls", "PUT", "/bkt", "ownershipControls="),
    ("PutBucketPolicy", "PUT", "/bkt", "policy="),
    ("PutBucketReplication", "PUT", "/bkt", "replication="),
    ("PutBucketRequestPayment", "PUT", "/bkt", "requestPayment="),
    ("PutBucketTagging", "PUT", "/bkt", "tagging="),
    ("PutBucketVersioning", "PUT", "/bkt", "versioning="),
    ("PutBucketWebsite", "PUT", "/bkt", "website="),
    ("PutObject", "PUT", "/bkt/k", ""),
    ("PutObjectAcl", "PUT", "/bkt/k", "acl="),
    ("PutObjectAnnotation", "PUT", "/bkt/k", "annotation="),
    ("PutObjectLegalHold", "PUT", "/bkt/k", "legal-hold="),
    ("PutObjectLockConfiguration", "PUT", "/bkt", "object-lock="),
    ("PutObjectRetention", "PUT", "/bkt/k", "retention="),
    ("PutObjectTagging", "PUT", "/bkt/k", "tagging="),
    ("PutPublicAccessBlock", "PUT", "/bkt", "publicAccessBlock="),
    ("RenameObject", "PUT", "/bkt/k", "renameObject="),
    ("RestoreObject", "POST", "/bkt/k", "restore="),
    ("SelectObjectContent", "POST", "/bkt/k", "select=&select-type=2"),
    ("UpdateBucketMetadataAnnotationTableConfiguration", "PUT", "/bkt", "metadataAnnotationTable="),
    ("UpdateBucketMetadataInventoryTableConfiguration", "PUT", "/bkt", "metadataInventoryTable="),
    ("UpdateBucketMetadataJournalTableConfiguration", "PUT", "/bkt", "metadataJournalTable="),
    ("UpdateObjectEncryption", "PUT", "/bkt/k", "encryption="),
    ("UploadPart", "PUT", "/bkt/k", "partNumber=1&uploadId=u"),
    ("UploadPartCopy", "PUT", "/bkt/k", "partNumber=1&uploadId=u"),
    ("WriteGetObjectResponse", "POST", "/WriteGetObjectResponse", ""),
];

/// Operations with what the documentation says of them.
fn told() -> Vec<(&'static str, &'static str)> {
    let page = include_str!("../../../../docs/s3.md");
    let (_, from) = page.split_once("\n## Operations\n").unwrap();
    let section = from.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let row = |row: &'static str| row.strip_suffix(" |")?.split_once("` | ");
    rows.map(|it| row(it).unwrap()).collect()
}

fn call(name: &str, method: &'static str, path: &str, query: &str) -> Call {
    let call = Call::new(method, path).query(query);
    match name {
        "CopyObject" | "UploadPartCopy" => call.header("x-amz-copy-source", "bkt/k"),
        "WriteGetObjectResponse" => call.header("x-amz-request-route", "r"),
        _ => call,
    }
}

#[test]
fn the_documentation_has_a_row_for_each_operation() {
    let named: Vec<_> = OPERATIONS.iter().map(|(name, ..)| *name).collect();
    assert_eq!(told().into_iter().map(|(name, _)| name).collect::<Vec<_>>(), named);
}

#[tokio::test]
async fn every_operation_is_done_or_refused_by_name_as_the_documentation_says() {
    let (to, _folder) = face().await;
    for ((name, said), (_, method, path, query)) in told().into_iter().zip(OPERATIONS) {
        assert_eq!(Call::new("PUT", "/bkt/k").send(to, b"kept").await.status, 200);
        let answer = call(name, method, path, query).send(to, b"").await;
        if said.starts_with("yes") {
            assert!(![405, 501].contains(&answer.status), "{name}: {answer:?}");
            continue;
        }
        let (status, code) = if said == "501" {
            (501, "NotImplemented")
        } else {
            assert!(said.starts_with("404 `NoSuchKey`"), "{name}: {said}");
            (404, "NoSuchKey")
        };
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{name}: {answer:?}");
        let kept = Call::new("GET", "/bkt/k").send(to, b"").await;
        assert_eq!(kept.body, b"kept", "{name} changes nothing");
    }
}

#[tokio::test]
async fn what_is_refused_by_name_is_not_told_to_nobody() {
    let (to, _folder) = face().await;
    for (name, method, path, query) in OPERATIONS {
        if told().contains(&(name, "501")) || name == "GetObjectTorrent" {
            let answer = call(name, method, path, query).send_unsigned(to, b"").await;
            assert_eq!((answer.status, answer.code().as_str()), (403, "AccessDenied"), "{name}");
        }
    }
}

#[tokio::test]
async fn headers_of_a_put_have_eight_kibibytes_whatever_they_say_and_wherever_it_goes() {
    let (to, _folder) = face().await;
    let with =
        |path: &str, len: usize| Call::new("PUT", path).header("x-amz-other", "x".repeat(len));
    assert_eq!(with("/bkt/k", 7 << 10).send(to, b"1").await.status, 200);
    for path in ["/bkt/k", "/b/k", "/none-here/k"] {
        let refused = with(path, 8 << 10).send(to, b"1").await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (400, "RequestHeaderSectionTooLarge")
        );
        let told = String::from_utf8_lossy(&refused.body);
        assert!(told.contains("<MaxSizeAllowed>8192</MaxSizeAllowed>"), "{told}");
    }
    let get = Call::new("GET", "/bkt/k").header("x-amz-other", "x".repeat(8 << 10));
    assert_eq!(get.send(to, b"").await.body, b"1");
}
