use super::*;
use crate::S3Operation;

/// What a request is for: an operation's name, or the code of its refusal.
fn routed(method: &str, path: &str, query: &str, copies: bool) -> &'static str {
    let mut headers = HeaderMap::new();
    if copies {
        headers.insert("x-amz-copy-source", "b/k".parse().unwrap());
    }
    let target = Target::parse(path, None, None).unwrap();
    let query = Query::parse(query).unwrap();
    match route(&method.parse().unwrap(), &target, &query, &headers) {
        Ok(row) => row.operation.name(),
        Err(failure) => failure.code.word(),
    }
}

#[test]
fn of_rows_that_fit_the_first_is_meant() {
    for (method, path, query, expected) in [
        ("GET", "/", "", "ListBuckets"),
        ("PUT", "/", "", "MethodNotAllowed"),
        ("OPTIONS", "/", "", "MethodNotAllowed"),
        ("GET", "/b", "acl&location", "GetBucketLocation"),
        ("GET", "/b", "uploads&acl", "GetAcl"),
        ("GET", "/b", "versions&uploads&policy", "ListMultipartUploads"),
        ("GET", "/b", "policy&versions", "ListObjectVersions"),
        ("GET", "/b", "list-type=2&policy", "GetBucketPolicy"),
        ("GET", "/b", "tagging", "GetBucketTagging"),
        ("GET", "/b", "list-type=2", "ListObjectsV2"),
        ("GET", "/b", "list-type=1", "ListObjects"),
        ("HEAD", "/b", "acl", "HeadBucket"),
        ("PUT", "/b", "acl&policy", "PutAcl"),
        ("PUT", "/b", "replication", "NotImplemented"),
        ("PUT", "/b", "versions", "CreateBucket"),
        ("DELETE", "/b", "analytics", "DeleteBucketSetting"),
        ("DELETE", "/b", "acl", "DeleteBucket"),
        ("POST", "/b", "delete", "DeleteObjects"),
        ("PUT", "/b", "cors", "PutBucketCors"),
        ("GET", "/b", "cors&policy", "GetBucketCors"),
        ("DELETE", "/b", "cors", "DeleteBucketCors"),
        ("POST", "/b", "", "PreconditionFailed"),
        ("OPTIONS", "/b", "", "Preflight"),
        ("PATCH", "/b", "", "MethodNotAllowed"),
        ("GET", "/b/k", "acl&tagging", "GetObjectTagging"),
        ("GET", "/b/k", "attributes&acl", "GetAcl"),
        ("GET", "/b/k", "uploadId=u&attributes", "GetObjectAttributes"),
        ("GET", "/b/k", "uploadId=u", "ListParts"),
        ("GET", "/b/k", "partNumber=1&policy&location", "GetObject"),
        ("GET", "/b/k", "tagging&torrent", "NoSuchKey"),
        ("PUT", "/b/k", "renameObject", "NotImplemented"),
        ("DELETE", "/b", "metadataTable", "NotImplemented"),
        ("DELETE", "/b/k", "retention", "NotImplemented"),
        ("OPTIONS", "/b/k", "retention", "Preflight"),
        ("OPTIONS", "/b/k", "", "Preflight"),
        ("HEAD", "/b/k", "tagging", "HeadObject"),
        ("PUT", "/b/k", "acl&tagging", "PutObjectTagging"),
        ("PUT", "/b/k", "acl&partNumber=1", "PutAcl"),
        ("PUT", "/b/k", "partNumber=1", "InvalidArgument"),
        ("PUT", "/b/k", "partNumber=1&uploadId=u", "UploadPart"),
        ("PUT", "/b/k", "policy", "PutObject"),
        ("DELETE", "/b/k", "uploadId=u&tagging", "DeleteObjectTagging"),
        ("DELETE", "/b/k", "uploadId=u", "AbortMultipartUpload"),
        ("DELETE", "/b/k", "acl", "DeleteObject"),
        ("POST", "/b/k", "uploadId=u&uploads", "CreateMultipartUpload"),
        ("POST", "/b/k", "uploadId=u", "CompleteMultipartUpload"),
        ("POST", "/b/k", "", "MethodNotAllowed"),
    ] {
        assert_eq!(routed(method, path, query, false), expected, "{method} {path}?{query}");
    }
    for (query, expected) in [
        ("", "CopyObject"),
        ("tagging", "PutObjectTagging"),
        ("uploadId=u&partNumber=1", "UploadPartCopy"),
        ("uploadId=u", "MethodNotAllowed"),
        ("partNumber=1", "InvalidArgument"),
    ] {
        assert_eq!(routed("PUT", "/b/k", query, true), expected, "a copy with {query}");
    }
    for (method, query) in [("GET", ""), ("HEAD", ""), ("DELETE", ""), ("POST", "uploadId=u")] {
        assert_eq!(routed(method, "/b/k", query, true), "InvalidArgument", "nothing is copied");
    }
}

fn rows() -> impl Iterator<Item = &'static Row> {
    ENTRIES.iter().filter_map(Entry::row)
}

#[test]
fn every_operation_has_one_row() {
    for operation in S3Operation::ALL.iter().filter(|known| **known != S3Operation::Unknown) {
        let rows = rows().filter(|row| row.operation == *operation).count();
        assert_eq!(rows, 1, "{operation:?}");
    }
    assert_eq!(rows().count() + 1, S3Operation::ALL.len());
}
