//! All operations, one row each. What must be known of an operation stands here and follows from
//! it: routing, authorisation, names in metrics and logs, what is taken of a body, what signatures
//! cover. Rows of their own refuse what S3 has and this face has not.

use super::{
    COPY_SOURCE, Desk, Input, Level, Outcome, Reply, Request, Selector, Signer, When, acl,
    act::perform, attributes, bucket, bucket_document, bucket_encryption, bucket_tags, complete,
    copy, cors, delete, expiring::Expiring, inventory, lifecycle, list, list_uploads,
    list_versions, logging, multipart, notification, object, object_lock, ownership, part, policy,
    post, public_access, put, security_token, setting, settings::SETTINGS, tags, versioning,
    website,
};
use crate::{
    error::{Code, Failure},
    uri::Query,
    xml::Limits,
};
use Input::{Bytes, Document, Nothing};
use Level::{Bucket, BucketOrObject, Object, Service};
use Selector::{Has, Header, Is, NamesSetting};
use Signer::{Anybody, Caller, Form, Key, KeyOrNobody};
use futures::{
    FutureExt as _,
    future::{BoxFuture, ready},
};
use ripstop_identity::Privilege;
use std::sync::LazyLock;

/// A row of the table: one operation.
#[derive(Debug)]
pub(crate) struct Row {
    /// Which one.
    pub(crate) operation: S3Operation,
    /// Which requests are for it.
    pub(crate) when: When,
    /// What it takes from the body.
    pub(crate) input: Input,
    /// Who may send it.
    pub(crate) signer: Signer,
    /// What must be allowed to its sender.
    pub(crate) action: Privilege,
    /// Parameters of the query, beside those that select it, that change what it does and are
    /// under a signature of Version 2.
    pub(crate) covers: &'static [&'static str],
}

/// What the table says of a request.
#[derive(Debug)]
pub(crate) enum Entry {
    /// It is for this operation.
    Is(Row),
    /// It is for none.
    Refused {
        /// Which requests are meant.
        when: When,
        /// What they are told.
        answer: fn(&Query) -> Failure,
    },
}

impl Entry {
    /// Which requests are meant.
    pub(crate) const fn when(&self) -> &When {
        match self {
            Self::Is(row) => &row.when,
            Self::Refused { when, .. } => when,
        }
    }

    /// The operation, if it is one.
    pub(crate) const fn row(&self) -> Option<&Row> {
        match self {
            Self::Is(row) => Some(row),
            Self::Refused { .. } => None,
        }
    }
}

macro_rules! covers {
    () => {
        &[]
    };
    ($list:ident) => {
        $list
    };
}

macro_rules! operations {
    ($($method:ident $level:ident $selectors:tt
        $($name:ident: $input:ident $(($limits:ident))? $signer:ident $action:ident
            $(+ $covers:ident)? => $handler:ty)?
        $(= $answer:ident)?;)*) => {
        /// What a request asks for, by S3's names.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[expect(missing_docs, reason = "the names are S3's own")]
        pub enum S3Operation { $($($name,)?)* Unknown }

        impl S3Operation {
            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(Self::$name => stringify!($name),)?)*
                    Self::Unknown => "Unknown",
                }
            }

            /// All of them.
            pub const ALL: &'static [Self] = &[$($(Self::$name,)?)* Self::Unknown];
        }

        /// Of two that a request fits, the first is meant.
        pub(crate) static ENTRIES: &[Entry] = &[$(
            $(Entry::Is(Row {
                operation: S3Operation::$name,
                when: When { method: stringify!($method), level: $level, selectors: &$selectors },
                input: $input$(($limits))?,
                signer: $signer,
                action: Privilege::$action,
                covers: covers!($($covers)?),
            }),)?
            $(Entry::Refused {
                when: When { method: stringify!($method), level: $level, selectors: &$selectors },
                answer: $answer,
            },)?
        )*];

        /// Does what a request asks for. Each operation's future is on the heap by itself: one of
        /// all together is as large as the largest, and is moved as a whole when it is made.
        pub(crate) fn run(
            operation: S3Operation,
            request: Box<Request>,
            desk: Box<Desk>,
        ) -> BoxFuture<'static, Outcome<Reply>> {
            match operation {
                $($(S3Operation::$name => Box::pin(perform::<$handler>(request, desk)),)?)*
                S3Operation::Unknown => ready(Err(Code::MethodNotAllowed.into())).boxed(),
            }
        }
    };
}

operations! {
    GET Service [Has("max-directory-buckets")] = not_implemented;
    GET Service [] ListBuckets: Nothing Key ListBuckets => bucket::List;
    POST Service [Selector::Call] SecurityToken: Nothing Caller Know => security_token::Ask;

    OPTIONS BucketOrObject [] Preflight: Nothing Anybody Know => cors::Preflight;

    GET Object [Has("uploads")] = uploads_of_key;
    GET Object [Has("versions")] = versions_of_key;
    GET Object [Has("retention")] GetObjectRetention: Nothing KeyOrNobody Read + VERSION
        => object_lock::GetRetention;
    GET Object [Has("legal-hold")] GetObjectLegalHold: Nothing KeyOrNobody Read + VERSION
        => object_lock::GetHold;
    PUT Object [Has("retention")] PutObjectRetention: Document(SMALL) KeyOrNobody Configure
        + VERSION => object_lock::PutRetention;
    PUT Object [Has("legal-hold")] PutObjectLegalHold: Document(SMALL) KeyOrNobody Configure
        + VERSION => object_lock::PutHold;
    ANY Object [Has("retention")] = not_implemented;
    ANY Object [Has("legal-hold")] = not_implemented;
    ANY Object [Has("restore")] = not_implemented;
    ANY Object [Has("select")] = not_implemented;
    GET Object [Has("torrent")] = no_torrent;
    ANY Object [Has("torrent")] = not_implemented;
    ANY Object [Has("encryption")] = not_implemented;
    ANY Object [Has("annotation")] = not_implemented;
    ANY Object [Has("renameObject")] = not_implemented;
    ANY Bucket [Has("abac")] = not_implemented;
    ANY Bucket [Has("metadataAnnotationTable")] = not_implemented;
    ANY Bucket [Has("metadataConfiguration")] = not_implemented;
    ANY Bucket [Has("metadataInventoryTable")] = not_implemented;
    ANY Bucket [Has("metadataJournalTable")] = not_implemented;
    ANY Bucket [Has("metadataTable")] = not_implemented;
    ANY Bucket [Has("session")] = not_implemented;
    POST Bucket [Header("x-amz-request-route")] = not_implemented;

    GET Bucket [Has("location")] GetBucketLocation: Nothing KeyOrNobody Know => bucket::Location;
    GET Object [Has("tagging")] GetObjectTagging: Nothing KeyOrNobody Read + VERSION => tags::Get;
    GET BucketOrObject [Has("acl")] GetAcl: Nothing KeyOrNobody Read + VERSION => acl::Get;
    GET Bucket [Has("uploads")] ListMultipartUploads: Nothing KeyOrNobody Read
        => list_uploads::List;
    GET Bucket [Has("versions")] ListObjectVersions: Nothing KeyOrNobody Read
        => list_versions::List;
    GET Bucket [Has("versioning")] GetBucketVersioning: Nothing KeyOrNobody Read
        => versioning::Get;
    GET Bucket [Has("tagging")] GetBucketTagging: Nothing KeyOrNobody Read => bucket_document::Get<bucket_tags::TagsDocument>;
    GET Bucket [Has("ownershipControls")] GetBucketOwnershipControls: Nothing KeyOrNobody Read
        => ownership::Get;
    GET Bucket [Has("cors")] GetBucketCors: Nothing KeyOrNobody Read => bucket_document::Get<cors::CorsDocument>;
    GET Bucket [Has("object-lock")] GetObjectLockConfiguration: Nothing KeyOrNobody Read
        => bucket_document::Get<object_lock::RuleDocument>;
    GET Bucket [Has("encryption")] GetBucketEncryption: Nothing KeyOrNobody Read
        => bucket_encryption::Get;
    GET Bucket [Has("lifecycle")] GetBucketLifecycleConfiguration: Nothing KeyOrNobody Read
        => lifecycle::Get;
    GET Bucket [Has("website")] GetBucketWebsite: Nothing KeyOrNobody Read
        => bucket_document::Get<website::WebsiteDocument>;
    GET Bucket [Has("logging")] GetBucketLogging: Nothing KeyOrNobody Read => bucket_document::Get<logging::LogDocument>;
    GET Bucket [Has("notification")] GetBucketNotificationConfiguration: Nothing KeyOrNobody Read
        => bucket_document::Get<notification::NotificationDocument>;
    GET Bucket [Has("policy")] GetBucketPolicy: Nothing KeyOrNobody Read => policy::Get;
    GET Bucket [Has("policyStatus")] GetBucketPolicyStatus: Nothing KeyOrNobody Read
        => policy::Status;
    GET Bucket [Has("publicAccessBlock")] GetPublicAccessBlock: Nothing KeyOrNobody Read
        => public_access::Get;
    GET Bucket [Has("inventory"), Has("id")] GetBucketInventoryConfiguration: Nothing KeyOrNobody
        Read => inventory::Get;
    GET Bucket [Has("inventory")] ListBucketInventoryConfigurations: Nothing KeyOrNobody Read
        => inventory::List;
    GET Bucket [NamesSetting] GetBucketSetting: Nothing KeyOrNobody Read => setting::Get;
    GET Bucket [Is("list-type", "2")] ListObjectsV2: Nothing KeyOrNobody Read => list::Version2;
    GET Bucket [] ListObjects: Nothing KeyOrNobody Read => list::Version1;
    GET Object [Has("attributes")] GetObjectAttributes: Nothing KeyOrNobody Read + VERSION
        => attributes::Get;
    GET Object [Has("uploadId")] ListParts: Nothing KeyOrNobody Read => part::List;
    GET Object [] GetObject: Nothing KeyOrNobody Read + READING => Expiring<object::Get>;

    HEAD Bucket [] HeadBucket: Nothing KeyOrNobody Know => bucket::Head;
    HEAD Object [] HeadObject: Nothing KeyOrNobody Read + READING => Expiring<object::Head>;

    PUT Object [Has("tagging")] PutObjectTagging: Document(TAGS) KeyOrNobody Configure + VERSION
        => tags::Put;
    PUT BucketOrObject [Has("acl")] PutAcl: Document(GRANTS) KeyOrNobody Configure + VERSION
        => acl::Put;
    PUT Bucket [Has("versioning")] PutBucketVersioning: Document(SMALL) Key Configure
        => versioning::Put;
    PUT Bucket [Has("tagging")] PutBucketTagging: Document(BUCKET) Key Configure
        => bucket_tags::Put;
    PUT Bucket [Has("ownershipControls")] PutBucketOwnershipControls: Document(BUCKET) Key Configure
        => ownership::Put;
    PUT Bucket [Has("cors")] PutBucketCors: Document(CORS) Key Configure => cors::Put;
    PUT Bucket [Has("object-lock")] PutObjectLockConfiguration: Document(SMALL) Key Configure
        => object_lock::PutRule;
    PUT Bucket [Has("encryption")] PutBucketEncryption: Document(SMALL) Key Configure
        => bucket_encryption::Put;
    PUT Bucket [Has("lifecycle")] PutBucketLifecycleConfiguration: Document(LIFECYCLE) Key Configure
        => lifecycle::Put;
    PUT Bucket [Has("website")] PutBucketWebsite: Document(WEBSITE) Key Configure => website::Put;
    PUT Bucket [Has("logging")] PutBucketLogging: Document(LOGGING) Key Configure => logging::Put;
    PUT Bucket [Has("notification")] PutBucketNotificationConfiguration: Document(NOTIFICATION) Key
        Configure => notification::Put;
    PUT Bucket [Has("policy")] PutBucketPolicy: Document(POLICY) Key Configure => policy::Put;
    PUT Bucket [Has("publicAccessBlock")] PutPublicAccessBlock: Document(SMALL) Key Configure
        => public_access::Put;
    PUT Bucket [Has("inventory")] PutBucketInventoryConfiguration: Document(INVENTORY) Key Configure
        => inventory::Put;
    PUT Bucket [NamesSetting] = not_implemented;
    PUT Bucket [] CreateBucket: Document(BUCKET) Key Own => bucket::Create;
    PUT Object [Has("uploadId"), Has("partNumber"), Header(COPY_SOURCE)] UploadPartCopy: Nothing
        KeyOrNobody Write => copy::Part;
    PUT Object [Has("uploadId"), Has("partNumber")] UploadPart: Bytes KeyOrNobody Write
        => part::Put;
    PUT Object [Has("uploadId")] = part_without_number;
    PUT Object [Has("partNumber")] = part_of_nothing;
    PUT Object [Header(COPY_SOURCE)] CopyObject: Nothing KeyOrNobody Write => Expiring<copy::Copy>;
    PUT Object [] PutObject: Bytes KeyOrNobody Write => Expiring<put::Put>;

    DELETE Bucket [Has("tagging")] DeleteBucketTagging: Nothing Key Configure
        => bucket_document::Delete<bucket_tags::TagsDocument>;
    DELETE Bucket [Has("ownershipControls")] DeleteBucketOwnershipControls: Nothing Key Configure
        => ownership::Delete;
    DELETE Bucket [Has("cors")] DeleteBucketCors: Nothing Key Configure => bucket_document::Delete<cors::CorsDocument>;
    DELETE Bucket [Has("encryption")] DeleteBucketEncryption: Nothing Key Configure
        => bucket_document::Delete<bucket_encryption::EncryptionDocument>;
    DELETE Bucket [Has("lifecycle")] DeleteBucketLifecycle: Nothing Key Configure
        => bucket_document::Delete<lifecycle::LifecycleDocument>;
    DELETE Bucket [Has("website")] DeleteBucketWebsite: Nothing Key Configure
        => bucket_document::Delete<website::WebsiteDocument>;
    DELETE Bucket [Has("policy")] DeleteBucketPolicy: Nothing Key Configure => bucket_document::Delete<policy::PolicyText>;
    DELETE Bucket [Has("publicAccessBlock")] DeletePublicAccessBlock: Nothing Key Configure
        => bucket_document::Delete<public_access::BlockDocument>;
    DELETE Bucket [Has("inventory")] DeleteBucketInventoryConfiguration: Nothing Key Configure
        => inventory::Delete;
    DELETE Bucket [NamesSetting] DeleteBucketSetting: Nothing Key Configure => setting::Delete;
    DELETE Bucket [] DeleteBucket: Nothing Key Own => bucket::Delete;
    DELETE Object [Has("tagging")] DeleteObjectTagging: Nothing KeyOrNobody Configure + VERSION
        => tags::Delete;
    DELETE Object [Has("uploadId")] AbortMultipartUpload: Nothing KeyOrNobody Write
        => multipart::Abort;
    DELETE Object [] DeleteObject: Nothing KeyOrNobody Write + VERSION => delete::One;

    POST Bucket [Has("delete")] DeleteObjects: Document(KEYS) KeyOrNobody Write => delete::Many;
    POST Bucket [Selector::Form] PostObject: Bytes Form Write => Expiring<post::Post>;
    POST Bucket [] = no_form;
    POST Object [Has("uploads")] CreateMultipartUpload: Nothing KeyOrNobody Write
        => multipart::Create;
    POST Object [Has("uploadId")] CompleteMultipartUpload: Document(PARTS) KeyOrNobody Write
        => Expiring<complete::Complete>;
}

/// Ten tags, as long as they may be, with each character spelled as a reference; and far more short
/// ones, which are told what is wrong with them.
const TAGS: Limits = Limits { bytes: 64 << 10, depth: 8, elements: 1024 };
/// A hundred grants, the most that S3 takes.
const GRANTS: Limits = Limits { bytes: 64 << 10, depth: 8, elements: 1024 };
/// A few words.
const SMALL: Limits = Limits { bytes: 64 << 10, depth: 8, elements: 64 };
/// A policy and some more, which is told that it is too long; of JSON, which has no elements.
const POLICY: Limits = Limits { bytes: 64 << 10, depth: 0, elements: 0 };
/// A hundred rules.
const CORS: Limits = crate::cors::LIMITS;
/// Fifty rules of routing.
const WEBSITE: Limits = crate::website::LIMITS;
/// A hundred subscriptions.
const NOTIFICATION: Limits = crate::notification::LIMITS;
/// A place, and a form of keys.
const LOGGING: Limits = crate::logging::LIMITS;
/// A place, a filter, some columns.
const INVENTORY: Limits = crate::inventory::LIMITS;
/// A thousand rules.
const LIFECYCLE: Limits = crate::lifecycle::LIMITS;
/// A region, a place, fifty tags; and some more, which are told what is wrong with them.
const BUCKET: Limits = Limits { bytes: 256 << 10, depth: 8, elements: 512 };
/// A thousand keys of full length, each with what else S3 lets an entry say.
const KEYS: Limits = Limits { bytes: 4 << 20, depth: 8, elements: 2 + 1000 * 8 };
/// Ten thousand parts of nine fields each.
const PARTS: Limits = Limits { bytes: 4 << 20, depth: 8, elements: 1 + 10_000 * 10 };

const VERSION: &[&str] = &["versionId"];
const READING: &[&str] = &[
    "partNumber",
    "response-cache-control",
    "response-content-disposition",
    "response-content-encoding",
    "response-content-language",
    "response-content-type",
    "response-expires",
    "versionId",
];

/// Words of S3's that select operations there and none here. Signers put them under a signature of
/// Version 2.
const ELSEWHERE: [&str; 3] = ["defaultObjectAcl", "select-type", "storageClass"];
/// Words that came to S3 after Version 2: no signer of that puts them under a signature.
const LATER: [&str; 7] = [
    "abac",
    "annotation",
    "max-directory-buckets",
    "metadataAnnotationTable",
    "metadataInventoryTable",
    "metadataJournalTable",
    "renameObject",
];

/// Parameters of the query that are under a signature of Version 2, sorted: all that change what is
/// done. What is not under it could be cut off a URL unseen.
pub(crate) fn covered() -> &'static [&'static str] {
    static COVERED: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let selectors = ENTRIES.iter().flat_map(|entry| entry.when().selectors);
        let selecting = selectors.filter_map(|selector| match selector {
            // Of what follows a request for a listing may have any value, and signers leave an id
            // out: with one that is not covered it is refused.
            Has("id") | Is(..) | NamesSetting | Header(_) | Selector::Form | Selector::Call => None,
            Has(name) => Some(*name).filter(|name| !LATER.contains(name)),
        });
        let changing = ENTRIES.iter().filter_map(Entry::row).flat_map(|row| row.covers).copied();
        let settings = SETTINGS.iter().map(|setting| setting.name);
        let mut all: Vec<_> = selecting.chain(changing).chain(settings).chain(ELSEWHERE).collect();
        all.sort_unstable();
        all.dedup();
        all
    });
    &COVERED
}

fn not_implemented(_: &Query) -> Failure {
    Code::NotImplemented.into()
}

/// S3 has ended torrents, so no object has one; suites and clients take this for an answer.
fn no_torrent(_: &Query) -> Failure {
    Failure::new(Code::NoSuchKey, "There is no torrent of the specified key.")
}

fn no_form(_: &Query) -> Failure {
    let condition = "Bucket POST must be of the enclosure-type multipart/form-data";
    Failure::from(Code::PreconditionFailed).with("Condition", condition)
}

fn uploads_of_key(_: &Query) -> Failure {
    let message = "Key is not expected for the GET method ?uploads subresource";
    Failure::new(Code::InvalidRequest, message)
}

fn versions_of_key(_: &Query) -> Failure {
    let message = "There is no such thing as the ?versions sub-resource for a key";
    Failure::new(Code::InvalidRequest, message)
}

fn part_without_number(_: &Query) -> Failure {
    Failure::from(Code::MethodNotAllowed).with("Method", "PUT").with("ResourceType", "UPLOAD")
}

fn part_of_nothing(_: &Query) -> Failure {
    let message = "This operation does not accept partNumber without uploadId";
    // S3 says the name, not the number.
    Failure::argument(message, "partNumber", "partNumber")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What signers of Version 2 put under a signature, as far as S3 or this face has it.
    const SIGNED: &str = "accelerate acl analytics attributes cors defaultObjectAcl delete encryption \
        intelligent-tiering inventory legal-hold lifecycle location logging \
        metadataConfiguration metadataTable metrics notification object-lock \
        ownershipControls partNumber policy policyStatus publicAccessBlock replication \
        requestPayment response-cache-control response-content-disposition \
        response-content-encoding response-content-language response-content-type \
        response-expires restore retention select select-type session storageClass \
        tagging torrent uploadId uploads versionId versioning versions website";

    #[test]
    fn what_changes_an_operation_is_covered_and_nothing_that_signers_leave_out() {
        assert_eq!(covered(), SIGNED.split(' ').collect::<Vec<_>>());
    }

    #[test]
    fn no_row_hides_a_later_one() {
        for (at, later) in ENTRIES.iter().map(Entry::when).enumerate() {
            let mut earlier = ENTRIES[..at].iter().map(Entry::when);
            let hidden = earlier.find(|earlier| {
                earlier.method == later.method
                    && earlier.level == later.level
                    && earlier.selectors.iter().all(|it| later.selectors.contains(it))
            });
            assert!(hidden.is_none(), "{hidden:?} stands before {later:?}");
        }
    }
}
