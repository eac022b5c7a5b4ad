//! All operations, one row each. What must be known of an operation stands here and follows from
//! it: routing, authorisation, names in metrics and logs, what is taken of a body.

use super::{
    COPY_SOURCE, Desk, Input, Level, Outcome, Reply, Request, Selector, Signer, acl, act::perform,
    attributes, bucket, complete, copy, delete, list, list_uploads, multipart, object, part, put,
    setting, tags,
};
use crate::error::Code;
use Input::{Bytes, Document, Nothing};
use Level::{Bucket, BucketOrObject, Object, Service};
use Selector::{Has, Header, Is, NamesSetting};
use Signer::{Key, KeyOrNobody};
use ripstop_identity::Action;

/// A row of the table: one operation.
#[derive(Debug)]
pub(crate) struct Row {
    /// Which one.
    pub(crate) operation: Operation,
    /// By which method it is asked for.
    pub(crate) method: &'static str,
    /// What it is about.
    pub(crate) level: Level,
    /// What else selects it: all must hold.
    pub(crate) selectors: &'static [Selector],
    /// What it takes from the body.
    pub(crate) input: Input,
    /// Who may send it.
    pub(crate) signer: Signer,
    /// What must be allowed to its sender.
    pub(crate) action: Action,
}

macro_rules! operations {
    ($($name:ident: $method:ident $level:ident $selectors:tt $input:ident $signer:ident
        $action:ident => $handler:ty;)*) => {
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
        pub(crate) async fn run(
            operation: Operation,
            request: Request,
            desk: Desk,
        ) -> Outcome<Reply> {
            match operation {
                $(Operation::$name => perform::<$handler>(request, desk).await,)*
                Operation::Unknown => Err(Code::MethodNotAllowed.into()),
            }
        }
    };
}

operations! {
    ListBuckets: GET Service [] Nothing Key ListBuckets => bucket::List;

    GetBucketLocation: GET Bucket [Has("location")] Nothing KeyOrNobody Know => bucket::Location;
    GetObjectTagging: GET Object [Has("tagging")] Nothing KeyOrNobody Read => tags::Get;
    GetAcl: GET BucketOrObject [Has("acl")] Nothing KeyOrNobody Read => acl::Get;
    ListMultipartUploads: GET Bucket [Has("uploads")] Nothing KeyOrNobody Read => list_uploads::List;
    ListObjectVersions: GET Bucket [Has("versions")] Nothing KeyOrNobody Read => list::Versions;
    GetBucketSetting: GET Bucket [NamesSetting] Nothing KeyOrNobody Read => setting::Get;
    ListObjectsV2: GET Bucket [Is("list-type", "2")] Nothing KeyOrNobody Read => list::Version2;
    ListObjects: GET Bucket [] Nothing KeyOrNobody Read => list::Version1;
    GetObjectAttributes: GET Object [Has("attributes")] Nothing KeyOrNobody Read => attributes::Get;
    ListParts: GET Object [Has("uploadId")] Nothing KeyOrNobody Read => part::List;
    GetObject: GET Object [] Nothing KeyOrNobody Read => object::Get;

    HeadBucket: HEAD Bucket [] Nothing KeyOrNobody Know => bucket::Head;
    HeadObject: HEAD Object [] Nothing KeyOrNobody Read => object::Head;

    PutObjectTagging: PUT Object [Has("tagging")] Document KeyOrNobody Configure => tags::Put;
    PutAcl: PUT BucketOrObject [Has("acl")] Document KeyOrNobody Configure => acl::Put;
    CreateBucket: PUT Bucket [] Document Key Own => bucket::Create;
    UploadPartCopy: PUT Object [Has("uploadId"), Header(COPY_SOURCE)] Nothing KeyOrNobody Write
        => copy::Part;
    UploadPart: PUT Object [Has("uploadId")] Bytes KeyOrNobody Write => part::Put;
    CopyObject: PUT Object [Header(COPY_SOURCE)] Nothing KeyOrNobody Write => copy::Copy;
    PutObject: PUT Object [] Bytes KeyOrNobody Write => put::Put;

    DeleteBucketSetting: DELETE Bucket [NamesSetting] Nothing Key Configure => setting::Delete;
    DeleteBucket: DELETE Bucket [] Nothing Key Own => bucket::Delete;
    DeleteObjectTagging: DELETE Object [Has("tagging")] Nothing KeyOrNobody Configure => tags::Delete;
    AbortMultipartUpload: DELETE Object [Has("uploadId")] Nothing KeyOrNobody Write
        => multipart::Abort;
    DeleteObject: DELETE Object [] Nothing KeyOrNobody Write => delete::One;

    DeleteObjects: POST Bucket [Has("delete")] Document KeyOrNobody Write => delete::Many;
    CreateMultipartUpload: POST Object [Has("uploads")] Nothing KeyOrNobody Write
        => multipart::Create;
    CompleteMultipartUpload: POST Object [Has("uploadId")] Document KeyOrNobody Write
        => complete::Complete;
}
