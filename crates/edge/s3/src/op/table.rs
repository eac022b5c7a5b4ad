//! All operations, one row each. What must be known of an operation stands here and follows from it: routing,
//! authorisation, names in metrics and logs, what is taken of a body.

use super::{
    Outcome, Reply, Request, acl, attributes, bucket, complete, copy, delete, list, list_uploads,
    multipart, object, part, put, setting, tags,
};
use crate::{
    authorise::COPY_SOURCE,
    error::Code,
    operation::{
        Input::{Bytes, Document, Nothing},
        Level::{Bucket, BucketOrObject, Object, Service},
        Row,
        Selector::{Has, Header, Is, NamesSetting},
        Signer::{Key, KeyOrNobody},
    },
};
use ripstop_identity::Action;

macro_rules! operations {
    ($($name:ident: $method:ident $level:ident $selectors:tt $input:ident $signer:ident
        $action:ident => $handler:path;)*) => {
        /// What a request asks for, by S3's names.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[expect(missing_docs, reason = "the names are S3's own")]
        pub enum Operation { $($name,)* Unknown }

        impl Operation {
            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                    Self::Unknown => "Unknown",
                }
            }

            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)* Self::Unknown];
        }

        /// Of two rows that a request fits, the first is meant.
        pub(crate) static ROWS: &[Row] = &[$(Row {
            operation: Operation::$name,
            method: stringify!($method),
            level: $level,
            selectors: &$selectors,
            input: $input,
            signer: $signer,
            action: Action::$action,
        },)*];

        /// Does what a request asks for.
        pub(super) async fn run(operation: Operation, request: Request) -> Outcome<Reply> {
            match operation {
                $(Operation::$name => $handler(request).await,)*
                Operation::Unknown => Err(Code::MethodNotAllowed.into()),
            }
        }
    };
}

operations! {
    ListBuckets: GET Service [] Nothing Key ListBuckets => bucket::list;

    GetBucketLocation: GET Bucket [Has("location")] Nothing KeyOrNobody Know => bucket::location;
    GetObjectTagging: GET Object [Has("tagging")] Nothing KeyOrNobody Read => tags::get;
    GetAcl: GET BucketOrObject [Has("acl")] Nothing KeyOrNobody Read => acl::get;
    ListMultipartUploads: GET Bucket [Has("uploads")] Nothing KeyOrNobody Read => list_uploads::list;
    ListObjectVersions: GET Bucket [Has("versions")] Nothing KeyOrNobody Read => list::versions;
    GetBucketSetting: GET Bucket [NamesSetting] Nothing KeyOrNobody Read => setting::get;
    ListObjectsV2: GET Bucket [Is("list-type", "2")] Nothing KeyOrNobody Read => list::version_2;
    ListObjects: GET Bucket [] Nothing KeyOrNobody Read => list::version_1;
    GetObjectAttributes: GET Object [Has("attributes")] Nothing KeyOrNobody Read => attributes::get;
    ListParts: GET Object [Has("uploadId")] Nothing KeyOrNobody Read => part::list;
    GetObject: GET Object [] Nothing KeyOrNobody Read => object::get;

    HeadBucket: HEAD Bucket [] Nothing KeyOrNobody Know => bucket::head;
    HeadObject: HEAD Object [] Nothing KeyOrNobody Read => object::head;

    PutObjectTagging: PUT Object [Has("tagging")] Document KeyOrNobody Configure => tags::put;
    PutAcl: PUT BucketOrObject [Has("acl")] Document KeyOrNobody Configure => acl::put;
    CreateBucket: PUT Bucket [] Document Key Own => bucket::create;
    UploadPartCopy: PUT Object [Has("uploadId"), Header(COPY_SOURCE)] Nothing KeyOrNobody Write
        => copy::part;
    UploadPart: PUT Object [Has("uploadId")] Bytes KeyOrNobody Write => part::upload;
    CopyObject: PUT Object [Header(COPY_SOURCE)] Nothing KeyOrNobody Write => copy::copy;
    PutObject: PUT Object [] Bytes KeyOrNobody Write => put::put;

    DeleteBucketSetting: DELETE Bucket [NamesSetting] Nothing Key Configure => setting::delete;
    DeleteBucket: DELETE Bucket [] Nothing Key Own => bucket::delete;
    DeleteObjectTagging: DELETE Object [Has("tagging")] Nothing KeyOrNobody Configure => tags::delete;
    AbortMultipartUpload: DELETE Object [Has("uploadId")] Nothing KeyOrNobody Write
        => multipart::abort;
    DeleteObject: DELETE Object [] Nothing KeyOrNobody Write => delete::one;

    DeleteObjects: POST Bucket [Has("delete")] Document KeyOrNobody Write => delete::many;
    CreateMultipartUpload: POST Object [Has("uploads")] Nothing KeyOrNobody Write
        => multipart::create;
    CompleteMultipartUpload: POST Object [Has("uploadId")] Document KeyOrNobody Write
        => complete::complete;
}
