//! A request for each operation, and what it takes to be let in.

use crate::{
    client::{Call, sha256},
    rights,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::Digest as _;
use ripstop_identity::{Right, Rights};
use ripstop_s3::S3Operation;
use sha1::Sha1;

/// The bucket that is asked for.
pub(crate) const BUCKET: &str = "theirs";
/// Where copies come from.
pub(crate) const OTHER: &str = "other";
/// An object in both.
pub(crate) const KEY: &str = "some-key";
/// What is configured of it.
const TAGS: &str = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";
const CORS: &str = "<CORSConfiguration><CORSRule><AllowedOrigin>*</AllowedOrigin>\
    <AllowedMethod>GET</AllowedMethod></CORSRule></CORSConfiguration>";
const ENCRYPTION: &str = "<ServerSideEncryptionConfiguration><Rule>\
    <ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm>\
    </ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>";
const INVENTORY: &str = "<InventoryConfiguration><Destination><S3BucketDestination>\
    <Format>CSV</Format><Bucket>arn:aws:s3:::lists</Bucket></S3BucketDestination></Destination>\
    <IsEnabled>true</IsEnabled><Id>one</Id><IncludedObjectVersions>All</IncludedObjectVersions>\
    <Schedule><Frequency>Daily</Frequency></Schedule></InventoryConfiguration>";
const LIFECYCLE: &str = "<LifecycleConfiguration><Rule><Status>Enabled</Status><Prefix/>\
    <Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>";
const WEBSITE: &str = "<WebsiteConfiguration><IndexDocument><Suffix>i</Suffix></IndexDocument>\
    </WebsiteConfiguration>";
const OWNERSHIP: &str = "<OwnershipControls><Rule><ObjectOwnership>BucketOwnerEnforced\
    </ObjectOwnership></Rule></OwnershipControls>";
const POLICY: &str = "{\"Statement\":{\"Effect\":\"Allow\",\"Principal\":\"KEY\",\
    \"Action\":\"s3:GetObject\",\"Resource\":\"arn:aws:s3:::theirs/none\"}}";
const PUBLIC_ACCESS: &str = "<PublicAccessBlockConfiguration><BlockPublicAcls>true\
    </BlockPublicAcls></PublicAccessBlockConfiguration>";

const LOCK: &str = "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled>\
    </ObjectLockConfiguration>";
const HOLD: &str = "<LegalHold><Status>ON</Status></LegalHold>";

/// What a key must have been given in [`BUCKET`]; for a copy also [`Right::Read`] in [`OTHER`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Needed {
    /// Not even a key: everybody is answered alike.
    NoKey,
    /// A key is enough.
    Nothing,
    /// Whatever right.
    Any,
    /// This one.
    Of(Right),
    /// To write here and to read there.
    Copy,
    /// To write, for whoever signed the form in the body.
    Form,
}

impl Needed {
    /// Rights that are not enough, in the bucket or elsewhere.
    pub(crate) fn insufficient(self) -> Vec<Rights> {
        use Right::{Owner, Read, Write};
        let elsewhere = [
            Rights::none(),
            rights(&[(OTHER, &[Owner])]),
            rights(&[("the", &[Owner]), ("theirs-*", &[Owner])]),
        ];
        let here: &[&[Right]] = match self {
            Self::NoKey | Self::Nothing => return Vec::new(),
            Self::Any => &[&[]],
            Self::Of(Read) => &[&[], &[Write]],
            Self::Of(Write) | Self::Copy | Self::Form => &[&[], &[Read]],
            Self::Of(Owner) => &[&[], &[Read], &[Write], &[Read, Write]],
        };
        let here = here.iter().map(|given| rights(&[(BUCKET, given), (OTHER, &[Owner])]));
        elsewhere.into_iter().chain(here).collect()
    }

    /// Rights that are enough.
    pub(crate) fn sufficient(self) -> Vec<Rights> {
        use Right::{Owner, Read, Write};
        let least = match self {
            Self::NoKey | Self::Nothing => vec![Rights::none()],
            Self::Any => [Read, Write].map(|right| rights(&[(BUCKET, &[right])])).to_vec(),
            Self::Of(right) => vec![rights(&[(BUCKET, &[right])]), rights(&[("the*", &[right])])],
            Self::Form => vec![rights(&[(BUCKET, &[Write])])],
            Self::Copy => vec![rights(&[(BUCKET, &[Write]), (OTHER, &[Read])])],
        };
        let everything = [rights(&[("*", &[Owner])]), Rights::administrator()];
        least.into_iter().chain(everything).collect()
    }
}

/// A request for an operation that is let in.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) needed: Needed,
    method: &'static str,
    pub(crate) path: String,
    /// `{upload}` stands for the upload's id.
    query: &'static str,
    headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// What is answered.
    pub(crate) status: u16,
}

impl Case {
    fn new(needed: Needed, method: &'static str, path: &str, query: &'static str) -> Self {
        let (headers, body) = (Vec::new(), Vec::new());
        Self { needed, method, path: path.to_owned(), query, headers, body, status: 200 }
    }

    fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn body(mut self, body: &str) -> Self {
        body.as_bytes().clone_into(&mut self.body);
        self.header("content-md5", &STANDARD.encode(md5::Md5::digest(body)))
    }

    /// With a form that `KEY` signed, for any bucket.
    fn form(mut self) -> Self {
        let policy = "{\"expiration\": \"2099-01-01T00:00:00Z\", \"conditions\": \
            [[\"starts-with\", \"$bucket\", \"\"], [\"starts-with\", \"$key\", \"\"]]}";
        let policy = STANDARD.encode(policy);
        let mut mac = Hmac::<Sha1>::new_from_slice(crate::SECRET.as_bytes()).unwrap();
        mac.update(policy.as_bytes());
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        for (name, value) in [
            ("key", KEY),
            ("AWSAccessKeyId", "KEY"),
            ("policy", &policy),
            ("signature", &signature),
            ("file", "something new"),
        ] {
            let head = format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
            self.body.extend_from_slice(format!("{head}{value}\r\n").as_bytes());
        }
        self.body.extend_from_slice(b"--b--\r\n");
        self.header("content-type", "multipart/form-data; boundary=b")
    }

    fn copy(self) -> Self {
        self.header("x-amz-copy-source", &format!("/{OTHER}/{KEY}"))
    }

    fn answered(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// The same of another path.
    pub(crate) fn at(&self, path: String) -> Self {
        Self { path, ..self.clone() }
    }

    pub(crate) fn call(&self, upload: &str) -> Call {
        let query = self.query.replace("{upload}", upload);
        let call = Call::new(self.method, &self.path).query(&query);
        let is_of_sts = self.method == "POST" && self.path == "/";
        let call = if is_of_sts { call.service("sts").payload(&sha256(&self.body)) } else { call };
        self.headers.iter().fold(call, |call, (name, value)| call.header(name, value))
    }
}

/// What a bucket's versions are put with.
const SUSPENDED: &str =
    "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>";

/// The case of each operation: one that is new has none, and does not compile.
#[expect(clippy::too_many_lines, reason = "a line or some for each operation")]
pub(crate) fn case(operation: S3Operation) -> Case {
    use Needed::{Any, Copy, Form, NoKey, Nothing, Of};
    use Right::{Owner, Read, Write};
    let bucket = |needed, method, query| Case::new(needed, method, &format!("/{BUCKET}"), query);
    let object =
        |needed, method, query| Case::new(needed, method, &format!("/{BUCKET}/{KEY}"), query);
    match operation {
        S3Operation::Unknown => unreachable!("it is what is no operation"),
        S3Operation::SecurityToken => {
            let call = Case::new(Nothing, "POST", "/", "");
            let call = call.header("content-type", "application/x-www-form-urlencoded");
            Case { body: b"Action=GetCallerIdentity&Version=2011-06-15".to_vec(), ..call }
        }
        S3Operation::ListBuckets => Case::new(Nothing, "GET", "/", ""),
        // No bucket lets other origins in unless that is configured, which everybody is told.
        S3Operation::Preflight => object(NoKey, "OPTIONS", "")
            .header("origin", "https://example.com")
            .header("access-control-request-method", "PUT")
            .answered(403),
        S3Operation::PostObject => bucket(Form, "POST", "").form().answered(204),
        S3Operation::GetBucketEncryption => bucket(Of(Read), "GET", "encryption=").answered(404),
        S3Operation::DeleteBucketEncryption => {
            bucket(Of(Owner), "DELETE", "encryption=").answered(204)
        }
        S3Operation::PutBucketEncryption => {
            bucket(Of(Owner), "PUT", "encryption=").body(ENCRYPTION)
        }
        S3Operation::GetBucketCors => bucket(Of(Read), "GET", "cors=").answered(404),
        S3Operation::DeleteBucketCors => bucket(Of(Owner), "DELETE", "cors=").answered(204),
        S3Operation::PutBucketCors => bucket(Of(Owner), "PUT", "cors=").body(CORS),
        S3Operation::HeadBucket => bucket(Any, "HEAD", ""),
        S3Operation::GetBucketLocation => bucket(Any, "GET", "location="),
        S3Operation::GetBucketTagging => bucket(Of(Read), "GET", "tagging=").answered(404),
        S3Operation::PutBucketTagging => {
            bucket(Of(Owner), "PUT", "tagging=").body(TAGS).answered(204)
        }
        S3Operation::DeleteBucketTagging => bucket(Of(Owner), "DELETE", "tagging=").answered(204),
        S3Operation::GetBucketOwnershipControls => bucket(Of(Read), "GET", "ownershipControls="),
        S3Operation::PutBucketOwnershipControls => {
            bucket(Of(Owner), "PUT", "ownershipControls=").body(OWNERSHIP)
        }
        S3Operation::DeleteBucketOwnershipControls => {
            bucket(Of(Owner), "DELETE", "ownershipControls=").answered(204)
        }
        S3Operation::GetBucketLifecycleConfiguration => {
            bucket(Of(Read), "GET", "lifecycle=").answered(404)
        }
        S3Operation::PutBucketLifecycleConfiguration => {
            bucket(Of(Owner), "PUT", "lifecycle=").body(LIFECYCLE)
        }
        S3Operation::DeleteBucketLifecycle => {
            bucket(Of(Owner), "DELETE", "lifecycle=").answered(204)
        }
        S3Operation::GetBucketWebsite => bucket(Of(Read), "GET", "website=").answered(404),
        S3Operation::PutBucketWebsite => bucket(Of(Owner), "PUT", "website=").body(WEBSITE),
        S3Operation::DeleteBucketWebsite => bucket(Of(Owner), "DELETE", "website=").answered(204),
        S3Operation::GetBucketInventoryConfiguration => {
            bucket(Of(Read), "GET", "id=one&inventory=").answered(404)
        }
        S3Operation::ListBucketInventoryConfigurations => bucket(Of(Read), "GET", "inventory="),
        // Its id is another: what it asks for takes the right to write elsewhere, too.
        S3Operation::PutBucketInventoryConfiguration => {
            bucket(Of(Owner), "PUT", "id=two&inventory=").body(INVENTORY).answered(400)
        }
        S3Operation::DeleteBucketInventoryConfiguration => {
            bucket(Of(Owner), "DELETE", "id=one&inventory=").answered(404)
        }
        S3Operation::GetBucketLogging => bucket(Of(Read), "GET", "logging="),
        S3Operation::PutBucketLogging => {
            bucket(Of(Owner), "PUT", "logging=").body("<BucketLoggingStatus/>")
        }
        S3Operation::GetBucketNotificationConfiguration => bucket(Of(Read), "GET", "notification="),
        S3Operation::PutBucketNotificationConfiguration => {
            bucket(Of(Owner), "PUT", "notification=").body("<NotificationConfiguration/>")
        }
        S3Operation::GetBucketSetting => bucket(Of(Read), "GET", "requestPayment="),
        S3Operation::GetBucketVersioning => bucket(Of(Read), "GET", "versioning="),
        S3Operation::PutBucketVersioning => bucket(Of(Owner), "PUT", "versioning=").body(SUSPENDED),
        S3Operation::GetObjectLockConfiguration => {
            bucket(Of(Read), "GET", "object-lock=").answered(404)
        }
        S3Operation::PutObjectLockConfiguration => {
            bucket(Of(Owner), "PUT", "object-lock=").body(LOCK).answered(409)
        }
        S3Operation::DeleteBucketSetting => {
            bucket(Of(Owner), "DELETE", "replication=").answered(204)
        }
        S3Operation::GetBucketPolicy => bucket(Of(Read), "GET", "policy=").answered(404),
        S3Operation::GetBucketPolicyStatus => {
            bucket(Of(Read), "GET", "policyStatus=").answered(404)
        }
        S3Operation::PutBucketPolicy => {
            bucket(Of(Owner), "PUT", "policy=").body(POLICY).answered(204)
        }
        S3Operation::DeleteBucketPolicy => bucket(Of(Owner), "DELETE", "policy=").answered(204),
        S3Operation::GetPublicAccessBlock => {
            bucket(Of(Read), "GET", "publicAccessBlock=").answered(404)
        }
        S3Operation::PutPublicAccessBlock => {
            bucket(Of(Owner), "PUT", "publicAccessBlock=").body(PUBLIC_ACCESS)
        }
        S3Operation::DeletePublicAccessBlock => {
            bucket(Of(Owner), "DELETE", "publicAccessBlock=").answered(204)
        }
        S3Operation::ListObjects => bucket(Of(Read), "GET", ""),
        S3Operation::ListObjectsV2 => bucket(Of(Read), "GET", "list-type=2"),
        S3Operation::ListObjectVersions => bucket(Of(Read), "GET", "versions="),
        S3Operation::ListMultipartUploads => bucket(Of(Read), "GET", "uploads="),
        S3Operation::GetAcl => bucket(Of(Read), "GET", "acl="),
        S3Operation::PutAcl => bucket(Of(Owner), "PUT", "acl=").header("x-amz-acl", "private"),
        // It is there: who may create it is told so.
        S3Operation::CreateBucket => bucket(Of(Owner), "PUT", ""),
        // It is not empty: who may delete it is told so.
        S3Operation::DeleteBucket => bucket(Of(Owner), "DELETE", "").answered(409),
        S3Operation::DeleteObjects => bucket(Of(Write), "POST", "delete=")
            .body(&format!("<Delete><Object><Key>{KEY}</Key></Object></Delete>")),
        S3Operation::GetObject => object(Of(Read), "GET", ""),
        S3Operation::HeadObject => object(Of(Read), "HEAD", ""),
        S3Operation::GetObjectAttributes => object(Of(Read), "GET", "attributes=")
            .header("x-amz-object-attributes", "ETag,ObjectSize"),
        S3Operation::GetObjectTagging => object(Of(Read), "GET", "tagging="),
        S3Operation::PutObjectTagging => object(Of(Write), "PUT", "tagging=").body(TAGS),
        S3Operation::DeleteObjectTagging => object(Of(Write), "DELETE", "tagging=").answered(204),
        // The bucket has no object lock: who may ask is told so.
        S3Operation::GetObjectRetention => object(Of(Read), "GET", "retention=").answered(400),
        S3Operation::GetObjectLegalHold => object(Of(Read), "GET", "legal-hold=").answered(400),
        S3Operation::PutObjectRetention => {
            object(Of(Write), "PUT", "retention=").body("<Retention/>").answered(400)
        }
        S3Operation::PutObjectLegalHold => {
            object(Of(Write), "PUT", "legal-hold=").body(HOLD).answered(400)
        }
        S3Operation::PutObject => object(Of(Write), "PUT", "").body("something new"),
        S3Operation::CopyObject => object(Copy, "PUT", "").copy(),
        S3Operation::DeleteObject => object(Of(Write), "DELETE", "").answered(204),
        S3Operation::CreateMultipartUpload => object(Of(Write), "POST", "uploads="),
        S3Operation::UploadPart => {
            object(Of(Write), "PUT", "partNumber=2&uploadId={upload}").body("another part")
        }
        S3Operation::UploadPartCopy => object(Copy, "PUT", "partNumber=3&uploadId={upload}").copy(),
        S3Operation::ListParts => object(Of(Read), "GET", "uploadId={upload}"),
        S3Operation::AbortMultipartUpload => {
            object(Of(Write), "DELETE", "uploadId={upload}").answered(204)
        }
        S3Operation::CompleteMultipartUpload => {
            let etag = hex::encode(md5::Md5::digest("a part"));
            let part = format!("<Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>");
            let document = format!("<CompleteMultipartUpload>{part}</CompleteMultipartUpload>");
            object(Of(Write), "POST", "uploadId={upload}").body(&document)
        }
    }
}
