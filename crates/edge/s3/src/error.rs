use crate::xml::Element;
use http::StatusCode;
use std::{borrow::Cow, fmt};

/// One line per code: variant, the word on the wire, HTTP status.
macro_rules! codes {
    ($($variant:ident = $status:literal $(as $word:literal)?,)*) => {
        /// S3's error codes, those that this face can answer with.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Code { $($variant,)* }

        impl Code {
            /// The word in the answer's `Code` element.
            pub(crate) const fn word(self) -> &'static str {
                match self { $(Self::$variant => codes!(@word $variant $($word)?),)* }
            }

            /// The HTTP status that goes with it.
            pub(crate) fn status(self) -> StatusCode {
                let status = match self { $(Self::$variant => $status,)* };
                StatusCode::from_u16(status).expect("the table holds valid statuses only")
            }
        }
    };
    (@word $variant:ident) => { stringify!($variant) };
    (@word $variant:ident $word:literal) => { $word };
}

codes! {
    AccessControlListNotSupported = 400,
    AccessDenied = 403,
    AccessForbidden = 403,
    AuthorizationHeaderMalformed = 400,
    AuthorizationQueryParametersError = 400,
    BadDigest = 400,
    BucketAlreadyOwnedByYou = 409,
    BucketNotEmpty = 409,
    ConditionalRequestConflict = 409,
    EntityTooLarge = 400,
    EntityTooSmall = 400,
    IllegalLocationConstraint = 400 as "IllegalLocationConstraintException",
    IncompleteBody = 400,
    InternalError = 500,
    InvalidAccessKeyId = 403,
    InvalidArgument = 400,
    InvalidBucketName = 400,
    InvalidDigest = 400,
    InvalidLocationConstraint = 400,
    InvalidPart = 400,
    InvalidPartNumber = 416,
    InvalidPartOrder = 400,
    InvalidRange = 416,
    InvalidRequest = 400,
    InvalidStorageClass = 400,
    InvalidTag = 400,
    InvalidUri = 400 as "InvalidURI",
    KeyTooLong = 400 as "KeyTooLongError",
    MalformedAcl = 400 as "MalformedACLError",
    MalformedTrailer = 400 as "MalformedTrailerError",
    MalformedXml = 400 as "MalformedXML",
    MaxMessageLengthExceeded = 400,
    MetadataTooLarge = 400,
    MethodNotAllowed = 405,
    MissingContentLength = 411,
    MissingRequestBody = 400 as "MissingRequestBodyError",
    NoSuchBucket = 404,
    NoSuchBucketPolicy = 404,
    NoSuchConfiguration = 404,
    NoSuchCorsConfiguration = 404 as "NoSuchCORSConfiguration",
    NoSuchKey = 404,
    NoSuchLifecycleConfiguration = 404,
    NoSuchPublicAccessBlockConfiguration = 404,
    NoSuchTagSet = 404,
    NoSuchUpload = 404,
    NoSuchVersion = 404,
    NoSuchWebsiteConfiguration = 404,
    NotImplemented = 501,
    NotModified = 304,
    ObjectLockConfigurationNotFound = 404 as "ObjectLockConfigurationNotFoundError",
    PreconditionFailed = 412,
    ReplicationConfigurationNotFound = 404 as "ReplicationConfigurationNotFoundError",
    RequestTimeTooSkewed = 403,
    RequestTimeout = 400,
    ServerSideEncryptionConfigurationNotFound = 404 as "ServerSideEncryptionConfigurationNotFoundError",
    ServiceUnavailable = 503,
    SignatureDoesNotMatch = 403,
    SlowDown = 503,
    XAmzContentSha256Mismatch = 400 as "XAmzContentSHA256Mismatch",
}

/// An answer that says no: what the client is told.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// Which of S3's codes.
    pub(crate) code: Code,
    /// One sentence for a person.
    pub(crate) message: Cow<'static, str>,
    /// Further elements of the answer: name and text.
    pub(crate) details: Vec<(&'static str, String)>,
    /// Further headers of the answer.
    pub(crate) headers: Vec<(http::HeaderName, http::HeaderValue)>,
}

/// What a handler answers with.
pub(crate) type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// A failure with its sentence.
    pub(crate) fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), details: Vec::new(), headers: Vec::new() }
    }

    /// With another element in its answer.
    pub(crate) fn with(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.details.push((name, text.into()));
        self
    }

    /// With another header in its answer; a value that no header can hold is left out.
    pub(crate) fn header(mut self, name: http::HeaderName, value: &str) -> Self {
        if let Ok(value) = http::HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// `InvalidArgument` for one named argument.
    pub(crate) fn argument(message: impl Into<Cow<'static, str>>, name: &str, value: &str) -> Self {
        Self::new(Code::InvalidArgument, message)
            .with("ArgumentName", name)
            .with("ArgumentValue", value)
    }

    /// The answer's document.
    pub(crate) fn document(&self, resource: &str, request_id: &str) -> String {
        let mut error = Element::new("Error");
        error.text("Code", self.code.word()).text("Message", &self.message);
        for (name, text) in &self.details {
            error.text(name, text);
        }
        error.text("Resource", resource).text("RequestId", request_id).text("HostId", "ripstop");
        error.document()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.word(), self.message)
    }
}

impl std::error::Error for Failure {}

impl From<Code> for Failure {
    fn from(code: Code) -> Self {
        Self::new(code, sentence(code))
    }
}

/// What a code means, where nothing more precise is known.
const fn sentence(code: Code) -> &'static str {
    match code {
        Code::AccessControlListNotSupported => "The bucket does not allow ACLs.",
        Code::AccessDenied | Code::AccessForbidden => "Access Denied.",
        Code::AuthorizationHeaderMalformed => "The authorization header is malformed.",
        Code::AuthorizationQueryParametersError => {
            "The query parameters of the signature are malformed."
        }
        Code::BadDigest => {
            "The Content-MD5 or checksum you specified did not match what was received."
        }
        Code::BucketAlreadyOwnedByYou => "The bucket exists already, and it is yours.",
        Code::BucketNotEmpty => "The bucket you tried to delete is not empty.",
        Code::ConditionalRequestConflict => {
            "A conflicting operation happened during this request. Try again."
        }
        Code::EntityTooLarge => "Your proposed upload exceeds the maximum allowed object size.",
        Code::EntityTooSmall => {
            "Your proposed upload is smaller than the minimum allowed object size."
        }
        Code::IllegalLocationConstraint => {
            "The location constraint does not fit the region this request was sent to."
        }
        Code::IncompleteBody => "The request body ended before the announced length was reached.",
        Code::InternalError => "An internal error happened. Try again.",
        Code::InvalidAccessKeyId => "The access key id you provided does not exist.",
        Code::InvalidArgument => "Invalid argument.",
        Code::InvalidBucketName => "The specified bucket is not valid.",
        Code::InvalidDigest => "The Content-MD5 you specified is not valid.",
        Code::InvalidLocationConstraint => "The specified location constraint is not valid.",
        Code::InvalidPart => {
            "One or more of the specified parts could not be found, or its entity tag does not match."
        }
        Code::InvalidPartNumber => "The requested part number is not satisfiable.",
        Code::InvalidPartOrder => "The list of parts was not in ascending order of part numbers.",
        Code::InvalidRange => "The requested range is not satisfiable.",
        Code::InvalidRequest => "Invalid request.",
        Code::InvalidStorageClass => "The storage class you specified is not valid.",
        Code::InvalidTag => "The tag you provided is not valid.",
        Code::InvalidUri => "The URI could not be parsed.",
        Code::KeyTooLong => "Your key is too long.",
        Code::MalformedAcl => "The ACL that you provided is not well formed.",
        Code::MalformedTrailer => "The trailer of the request is not well formed.",
        Code::MalformedXml => {
            "The XML you provided was not well formed or did not fit the published schema."
        }
        Code::MaxMessageLengthExceeded => "Your request was too big.",
        Code::MetadataTooLarge => "Your metadata headers exceed the maximum allowed metadata size.",
        Code::MethodNotAllowed => "The method is not allowed against this resource.",
        Code::MissingContentLength => "You must provide the Content-Length HTTP header.",
        Code::MissingRequestBody => "Request body is empty.",
        Code::NoSuchBucket => "The specified bucket does not exist.",
        Code::NoSuchBucketPolicy => "The bucket policy does not exist.",
        Code::NoSuchConfiguration => "The specified configuration does not exist.",
        Code::NoSuchCorsConfiguration => "The CORS configuration does not exist.",
        Code::NoSuchKey => "The specified key does not exist.",
        Code::NoSuchLifecycleConfiguration => "The lifecycle configuration does not exist.",
        Code::NoSuchPublicAccessBlockConfiguration => {
            "The public access block configuration was not found."
        }
        Code::NoSuchTagSet => "The TagSet does not exist.",
        Code::NoSuchUpload => {
            "The specified multipart upload does not exist. It may have been aborted or completed."
        }
        Code::NoSuchVersion => "The specified version does not exist.",
        Code::NoSuchWebsiteConfiguration => {
            "The specified bucket does not have a website configuration."
        }
        Code::NotImplemented => {
            "A header or parameter you provided implies functionality that is not implemented."
        }
        Code::NotModified => "Not modified.",
        Code::ObjectLockConfigurationNotFound => {
            "Object Lock configuration does not exist for this bucket."
        }
        Code::PreconditionFailed => "At least one of the preconditions you specified did not hold.",
        Code::ReplicationConfigurationNotFound => "The replication configuration was not found.",
        Code::RequestTimeTooSkewed => {
            "The difference between the request time and the server's time is too large."
        }
        Code::RequestTimeout => "Nothing was read from the connection within the timeout period.",
        Code::ServerSideEncryptionConfigurationNotFound => {
            "The server side encryption configuration was not found."
        }
        Code::ServiceUnavailable => "The service is unavailable. Try again later.",
        Code::SignatureDoesNotMatch => {
            "The request signature we calculated does not match the signature you provided."
        }
        Code::SlowDown => "Please reduce your request rate.",
        Code::XAmzContentSha256Mismatch => {
            "The provided x-amz-content-sha256 header does not match what was computed."
        }
    }
}
