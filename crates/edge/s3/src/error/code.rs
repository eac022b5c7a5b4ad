use http::StatusCode;

/// One code each: variant, HTTP status, the word on the wire, and what it means where nothing more
/// precise is known.
macro_rules! codes {
    ($($variant:ident $status:literal $word:literal: $sentence:literal,)*) => {
        /// S3's error codes, those that this face can answer with.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Code { $($variant,)* }

        impl Code {
            /// The word in the answer's `Code` element.
            pub(crate) const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// One sentence for a person.
            pub(super) const fn sentence(self) -> &'static str {
                match self { $(Self::$variant => $sentence,)* }
            }

            /// The HTTP status that goes with it.
            pub(crate) fn status(self) -> StatusCode {
                let status = match self { $(Self::$variant => $status,)* };
                StatusCode::from_u16(status).expect("the table holds valid statuses only")
            }
        }
    };
}

codes! {
    AccessControlListNotSupported 400 "AccessControlListNotSupported": "The bucket does not allow ACLs.",
    AccessDenied 403 "AccessDenied": "Access Denied",
    AccessForbidden 403 "AccessForbidden": "Access Denied",
    AuthorizationHeaderMalformed 400 "AuthorizationHeaderMalformed": "The authorization header is malformed.",
    AuthorizationQueryParametersError 400 "AuthorizationQueryParametersError": "The query parameters of the signature are malformed.",
    BadRequest 400 "BadRequest": "Bad request.",
    BadDigest 400 "BadDigest": "The Content-MD5 you specified did not match what we received.",
    BucketAlreadyExists 409 "BucketAlreadyExists": "The requested bucket name is not available. The bucket namespace is shared by all users of the system. Please select a different name and try again.",
    BucketAlreadyOwnedByYou 409 "BucketAlreadyOwnedByYou": "Your previous request to create the named bucket succeeded and you already own it.",
    BucketNotEmpty 409 "BucketNotEmpty": "The bucket you tried to delete is not empty.",
    ConditionalRequestConflict 409 "ConditionalRequestConflict": "The conditional request cannot succeed due to a conflicting operation against this resource.",
    EntityTooLarge 400 "EntityTooLarge": "Your proposed upload exceeds the maximum allowed size",
    EntityTooSmall 400 "EntityTooSmall": "Your proposed upload is smaller than the minimum allowed size",
    ExpiredToken 400 "ExpiredToken": "The provided token has expired.",
    IncorrectNumberOfFiles 400 "IncorrectNumberOfFilesInPostRequest": "POST requires exactly one file upload per request.",
    IllegalLocationConstraint 400 "IllegalLocationConstraintException": "The location constraint does not fit the region this request was sent to.",
    IllegalVersioningConfiguration 400 "IllegalVersioningConfigurationException": "The versioning configuration is not valid.",
    IncompleteBody 400 "IncompleteBody": "The request body terminated unexpectedly",
    InternalError 500 "InternalError": "We encountered an internal error. Please try again.",
    InvalidAccessKeyId 403 "InvalidAccessKeyId": "The AWS Access Key Id you provided does not exist in our records.",
    InvalidAction 400 "InvalidAction": "The action or operation requested is invalid.",
    InvalidArgument 400 "InvalidArgument": "Invalid argument.",
    InvalidBucketAclWithObjectOwnership 400 "InvalidBucketAclWithObjectOwnership": "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting",
    InvalidBucketState 409 "InvalidBucketState": "The request is not valid for the current state of the bucket.",
    InvalidBucketName 400 "InvalidBucketName": "The specified bucket is not valid.",
    InvalidChunkSize 400 "InvalidChunkSizeError": "Only the last chunk is allowed to have a size less than 8192 bytes",
    InvalidDigest 400 "InvalidDigest": "The Content-MD5 you specified was invalid.",
    InvalidEncryptionAlgorithm 400 "InvalidEncryptionAlgorithmError": "The encryption request you specified is not valid. The valid value is AES256.",
    InvalidLocationConstraint 400 "InvalidLocationConstraint": "The specified location-constraint is not valid",
    InvalidPart 400 "InvalidPart": "One or more of the specified parts could not be found.  The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.",
    InvalidPartNumber 416 "InvalidPartNumber": "The requested partnumber is not satisfiable",
    InvalidPartOrder 400 "InvalidPartOrder": "The list of parts was not in ascending order. Parts must be ordered by part number.",
    InvalidPolicyDocument 400 "InvalidPolicyDocument": "The content of the form does not meet the conditions specified in the policy document.",
    InvalidRange 416 "InvalidRange": "The requested range is not satisfiable",
    InvalidRedirectLocation 400 "InvalidRedirectLocation": "The website redirect location must have a prefix of 'http://' or 'https://' or '/'.",
    InvalidRequest 400 "InvalidRequest": "Invalid request.",
    InvalidRetentionPeriod 400 "InvalidRetentionPeriod": "The retention period is not valid.",
    InvalidS3DestinationBucket 400 "InvalidS3DestinationBucket": "The bucket that it is to go to does not exist.",
    InvalidStorageClass 400 "InvalidStorageClass": "The storage class you specified is not valid",
    InvalidTargetBucket 400 "InvalidTargetBucketForLogging": "The target bucket for logging does not exist.",
    InvalidTag 400 "InvalidTag": "The tag you provided is not valid.",
    InvalidToken 400 "InvalidToken": "The provided token is malformed or otherwise invalid.",
    InvalidUri 400 "InvalidURI": "Couldn't parse the specified URI.",
    KeyTooLong 400 "KeyTooLongError": "Your key is too long",
    KmsDisabled 400 "KMS.DisabledException": "The key is disabled.",
    KmsInvalidCiphertext 400 "KMS.InvalidCiphertextException": "What the key should have encrypted was changed, or was encrypted otherwise.",
    KmsInvalidKeyUsage 400 "KMS.InvalidKeyUsageException": "The key is of a kind that cannot encrypt keys of objects.",
    KmsNotFound 400 "KMS.NotFoundException": "Invalid keyId",
    KmsUnavailable 503 "KMS.DependencyTimeoutException": "The key service does not answer. Please try again.",
    MalformedAcl 400 "MalformedACLError": "The XML you provided was not well-formed or did not validate against our published schema",
    MalformedPolicy 400 "MalformedPolicy": "This policy contains invalid Json",
    MalformedPolicyDocument 400 "MalformedPolicyDocument": "The policy document is malformed.",
    MalformedPostRequest 400 "MalformedPOSTRequest": "The body of your POST request is not well-formed multipart/form-data.",
    MalformedTrailer 400 "MalformedTrailerError": "The request contained trailing data that was not well-formed or did not conform to our published schema.",
    MalformedXml 400 "MalformedXML": "The XML you provided was not well-formed or did not validate against our published schema",
    MaxMessageLengthExceeded 400 "MaxMessageLengthExceeded": "Your request was too big.",
    MaxPostPreDataLengthExceeded 400 "MaxPostPreDataLengthExceededError": "Your POST request fields preceding the upload file were too large.",
    MetadataTooLarge 400 "MetadataTooLarge": "Your metadata headers exceed the maximum allowed metadata size",
    MethodNotAllowed 405 "MethodNotAllowed": "The specified method is not allowed against this resource.",
    MissingAction 400 "MissingAction": "The request is missing an action or a required parameter.",
    MissingAuthenticationToken 403 "MissingAuthenticationToken": "Request is missing Authentication Token",
    MissingContentLength 411 "MissingContentLength": "You must provide the Content-Length HTTP header.",
    MissingRequestBody 400 "MissingRequestBodyError": "Request Body is empty",
    MissingSecurityHeader 400 "MissingSecurityHeader": "Your request was missing a required header.",
    NoSuchBucket 404 "NoSuchBucket": "The specified bucket does not exist",
    NoSuchBucketPolicy 404 "NoSuchBucketPolicy": "The bucket policy does not exist",
    NoSuchConfiguration 404 "NoSuchConfiguration": "The specified configuration does not exist.",
    NoSuchCorsConfiguration 404 "NoSuchCORSConfiguration": "The CORS configuration does not exist",
    NoSuchKey 404 "NoSuchKey": "The specified key does not exist.",
    NoSuchLifecycleConfiguration 404 "NoSuchLifecycleConfiguration": "The lifecycle configuration does not exist",
    NoSuchObjectLockConfiguration 404 "NoSuchObjectLockConfiguration": "The specified object does not have a ObjectLock configuration",
    NoSuchPublicAccessBlockConfiguration 404 "NoSuchPublicAccessBlockConfiguration": "The public access block configuration was not found",
    NoSuchTagSet 404 "NoSuchTagSet": "The TagSet does not exist",
    NoSuchUpload 404 "NoSuchUpload": "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.",
    NoSuchVersion 404 "NoSuchVersion": "The specified version does not exist.",
    NoSuchWebsiteConfiguration 404 "NoSuchWebsiteConfiguration": "The specified bucket does not have a website configuration",
    NotImplemented 501 "NotImplemented": "A header you provided implies functionality that is not implemented",
    NotModified 304 "NotModified": "Not modified.",
    ObjectLockConfigurationNotFound 404 "ObjectLockConfigurationNotFoundError": "Object Lock configuration does not exist for this bucket",
    OwnershipControlsNotFound 404 "OwnershipControlsNotFoundError": "The bucket ownership controls were not found",
    PackedPolicyTooLarge 400 "PackedPolicyTooLarge": "The policy of the session is too large to be carried by its token.",
    PreconditionFailed 412 "PreconditionFailed": "At least one of the pre-conditions you specified did not hold",
    QuotaExceeded 403 "QuotaExceeded": "The bucket has reached its quota.",
    ReplicationConfigurationNotFound 404 "ReplicationConfigurationNotFoundError": "The replication configuration was not found",
    RequestHeaderSectionTooLarge 400 "RequestHeaderSectionTooLarge": "Your request header section exceeds the maximum allowed size.",
    RequestTimeTooSkewed 403 "RequestTimeTooSkewed": "The difference between the request time and the current time is too large.",
    RequestTimeout 400 "RequestTimeout": "Your socket connection to the server was not read from or written to within the timeout period.",
    ServerSideEncryptionConfigurationNotFound 404 "ServerSideEncryptionConfigurationNotFoundError": "The server side encryption configuration was not found",
    ServiceUnavailable 503 "ServiceUnavailable": "The service is unavailable. Try again later.",
    SignatureDoesNotMatch 403 "SignatureDoesNotMatch": "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
    SlowDown 503 "SlowDown": "Please reduce your request rate.",
    TooManyConfigurations 400 "TooManyConfigurations": "There are too many configurations.",
    UnexpectedContent 400 "UnexpectedContent": "This request does not support content.",
    UnresolvableGrantByEmail 400 "UnresolvableGrantByEmailAddress": "The email address you provided does not match any account on record.",
    UriTooLong 414 "URITooLong": "The URI is longer than any that S3 has a use for.",
    ValidationError 400 "ValidationError": "The input fails to satisfy the constraints.",
    XAmzContentSha256Mismatch 400 "XAmzContentSHA256Mismatch": "The provided 'x-amz-content-sha256' header does not match what was computed.",
}
