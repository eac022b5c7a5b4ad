use crate::{
    error::{Code, Failure, Outcome},
    uri::{Query, Target},
};
use http::{HeaderMap, Method};

macro_rules! operations {
    ($($variant:ident,)*) => {
        /// What a request asks for, by S3's names.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[expect(missing_docs, reason = "the names are S3's own")]
        pub enum Operation { $($variant,)* }

        impl Operation {
            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)* }
            }

            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];
        }
    };
}

operations! {
    AbortMultipartUpload,
    CompleteMultipartUpload,
    CopyObject,
    CreateBucket,
    CreateMultipartUpload,
    DeleteBucket,
    DeleteBucketSetting,
    DeleteObject,
    DeleteObjectTagging,
    DeleteObjects,
    GetAcl,
    GetBucketLocation,
    GetBucketSetting,
    GetObject,
    GetObjectAttributes,
    GetObjectTagging,
    HeadBucket,
    HeadObject,
    ListBuckets,
    ListMultipartUploads,
    ListObjectVersions,
    ListObjects,
    ListObjectsV2,
    ListParts,
    PutAcl,
    PutObject,
    PutObjectTagging,
    Unknown,
    UploadPart,
    UploadPartCopy,
}

/// Parts of a bucket's configuration that can be asked for.
const BUCKET_SETTINGS: [&str; 19] = [
    "accelerate",
    "analytics",
    "cors",
    "encryption",
    "intelligent-tiering",
    "inventory",
    "lifecycle",
    "logging",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "replication",
    "requestPayment",
    "tagging",
    "versioning",
];

/// Which part of a bucket's configuration a query asks for.
pub(crate) fn bucket_setting(query: &Query) -> Option<&'static str> {
    if query.has("website") {
        return Some("website");
    }
    BUCKET_SETTINGS.into_iter().find(|setting| query.has(setting))
}

/// Finds out what a request asks for.
pub(crate) fn route(
    method: &Method,
    target: &Target,
    query: &Query,
    headers: &HeaderMap,
) -> Outcome<Operation> {
    match (&target.bucket, &target.key) {
        (None, _) => match *method {
            Method::GET => Ok(Operation::ListBuckets),
            _ => Err(Code::MethodNotAllowed.into()),
        },
        (Some(_), None) => bucket_route(method, query),
        (Some(_), Some(_)) => object_route(method, query, headers),
    }
}

fn bucket_route(method: &Method, query: &Query) -> Outcome<Operation> {
    let setting = bucket_setting(query).is_some();
    Ok(match *method {
        Method::GET if query.has("location") => Operation::GetBucketLocation,
        Method::GET if query.has("acl") => Operation::GetAcl,
        Method::GET if query.has("uploads") => Operation::ListMultipartUploads,
        Method::GET if query.has("versions") => Operation::ListObjectVersions,
        Method::GET if setting => Operation::GetBucketSetting,
        Method::GET if query.get("list-type") == Some("2") => Operation::ListObjectsV2,
        Method::GET => Operation::ListObjects,
        Method::HEAD => Operation::HeadBucket,
        Method::PUT if query.has("acl") => Operation::PutAcl,
        Method::PUT if setting => return Err(Code::NotImplemented.into()),
        Method::PUT => Operation::CreateBucket,
        Method::DELETE if setting => Operation::DeleteBucketSetting,
        Method::DELETE => Operation::DeleteBucket,
        Method::POST if query.has("delete") => Operation::DeleteObjects,
        Method::POST => return Err(Code::NotImplemented.into()),
        Method::OPTIONS => return Err(Code::AccessForbidden.into()),
        _ => return Err(Code::MethodNotAllowed.into()),
    })
}

fn object_route(method: &Method, query: &Query, headers: &HeaderMap) -> Outcome<Operation> {
    const NOT_HERE: [&str; 6] =
        ["legal-hold", "retention", "restore", "select", "torrent", "encryption"];
    if NOT_HERE.iter().any(|name| query.has(name)) {
        return Err(Code::NotImplemented.into());
    }
    let copies = headers.contains_key("x-amz-copy-source");
    let part = query.has("uploadId");
    Ok(match *method {
        Method::GET if query.has("tagging") => Operation::GetObjectTagging,
        Method::GET if query.has("acl") => Operation::GetAcl,
        Method::GET if query.has("attributes") => Operation::GetObjectAttributes,
        Method::GET if part => Operation::ListParts,
        Method::GET => Operation::GetObject,
        Method::HEAD => Operation::HeadObject,
        Method::PUT if query.has("tagging") => Operation::PutObjectTagging,
        Method::PUT if query.has("acl") => Operation::PutAcl,
        Method::PUT if part && copies => Operation::UploadPartCopy,
        Method::PUT if query.has("partNumber") && !part => {
            let number = query.get("partNumber").unwrap_or_default();
            let message = "This operation does not accept partNumber without uploadId";
            return Err(Failure::argument(message, "partNumber", number));
        }
        Method::PUT if part => Operation::UploadPart,
        Method::PUT if copies => Operation::CopyObject,
        Method::PUT => Operation::PutObject,
        Method::DELETE if query.has("tagging") => Operation::DeleteObjectTagging,
        Method::DELETE if part => Operation::AbortMultipartUpload,
        Method::DELETE => Operation::DeleteObject,
        Method::POST if query.has("uploads") => Operation::CreateMultipartUpload,
        Method::POST if part => Operation::CompleteMultipartUpload,
        Method::OPTIONS => return Err(Code::AccessForbidden.into()),
        _ => return Err(Code::MethodNotAllowed.into()),
    })
}
