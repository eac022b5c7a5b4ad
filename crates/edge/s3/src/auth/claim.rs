use super::Presented;
use crate::{
    by_name::ByName as _,
    date,
    error::{Code, Failure, Outcome},
};
use std::borrow::Cow;

/// Longest that a presigned URL may last.
pub(super) const EXPIRY_S_MAX: i64 = 7 * 24 * 60 * 60;

pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";
/// Version 4A, for many regions at once.
const ALGORITHM_4A: &str = "AWS4-ECDSA-P256-SHA256";
/// Most headers that a signature covers: as many as a request may have.
const SIGNED_HEADERS_MAX: usize = 200;
/// Longest word of an `Authorization` header that is shown to its sender.
const SHOWN_LEN_MAX: usize = 64;

/// A lone word of an `Authorization` header, as it is shown: the name of a scheme, say. With what
/// goes with one, such as a signature, nothing is shown, since answers may be seen by others.
fn shown(word: &str) -> &str {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if word.len() <= SHOWN_LEN_MAX && word.bytes().all(is_name) { word } else { "" }
}

/// Where a signature was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// In `Authorization`.
    Header,
    /// In the query string: a presigned URL.
    Query {
        /// How long after its date it may be used.
        expires_s: i64,
    },
}

impl Place {
    /// The failure for a claim that cannot be read, or is not meant for us.
    pub(super) fn malformed(self, message: impl AsRef<str>) -> Failure {
        let message = message.as_ref();
        match self {
            Self::Header => Failure::new(
                Code::AuthorizationHeaderMalformed,
                format!("The authorization header is malformed; {message}"),
            ),
            Self::Query { .. } => Failure::new(
                Code::AuthorizationQueryParametersError,
                format!("Error parsing the X-Amz-Credential parameter; {message}"),
            ),
        }
    }
}

/// What a request says about its own signature. Nothing of it is verified yet.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) place: Place,
    pub(super) access_key: String,
    /// Of the scope: `20260131`.
    pub(super) date: String,
    pub(super) region: String,
    pub(super) service: String,
    /// Lower case, sorted.
    pub(super) signed_headers: Vec<String>,
    /// Hexadecimal.
    pub(super) signature: String,
    /// `20260131T120000Z`.
    pub(super) date_time: String,
    /// The same in seconds since 1970.
    pub(super) at_s: i64,
}

impl Claim {
    pub(super) fn read(presented: &Presented<'_>) -> Outcome<Self> {
        let authorization = presented.headers.get(http::header::AUTHORIZATION);
        let authorization = authorization.filter(|value| !value.is_empty());
        let query = presented.query;
        let in_query = query.has("X-Amz-Algorithm") || query.has("X-Amz-Signature");
        match (authorization, in_query) {
            (Some(_), true) => Err(Failure::new(
                Code::InvalidArgument,
                "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, \
                 Signature query string parameter or the Authorization header should be specified",
            )),
            (Some(value), false) => {
                let value = value.to_str().map_err(|_| Code::AuthorizationHeaderMalformed)?;
                Self::in_header(presented, value)
            }
            (None, true) => Self::in_query(presented),
            (None, false) => Err(Code::AccessDenied.into()),
        }
    }

    fn in_header(presented: &Presented<'_>, value: &str) -> Outcome<Self> {
        let place = Place::Header;
        let Some((algorithm, fields)) = value.trim().split_once(' ') else {
            let message =
                "Authorization header is invalid -- one and only one ' ' (space) required.";
            return Err(Failure::argument(message, "Authorization", shown(value.trim())));
        };
        if algorithm == "AWS" {
            return Err(version_2());
        }
        if algorithm == ALGORITHM_4A {
            return Err(version_4a());
        }
        if algorithm != ALGORITHM {
            return Err(Failure::argument(
                "Unsupported Authorization Type",
                "Authorization",
                // Not what follows it, which may be somebody's password.
                algorithm,
            ));
        }
        let [credential, signed_headers, signature] = components(fields)?;
        let (date_time, at_s) = header_date(presented)?;
        Self::assemble(place, credential, signed_headers, signature, date_time, at_s)
    }

    fn in_query(presented: &Presented<'_>) -> Outcome<Self> {
        let bad =
            |message: &'static str| Failure::new(Code::AuthorizationQueryParametersError, message);
        let parameter = |name: &str| {
            presented.query.filled(name).ok_or_else(|| {
                bad("Query-string authentication version 4 requires the X-Amz-Algorithm, \
                     X-Amz-Credential, X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and \
                     X-Amz-Expires parameters.")
            })
        };
        let algorithm = parameter("X-Amz-Algorithm")?;
        let credential = parameter("X-Amz-Credential")?;
        let signature = parameter("X-Amz-Signature")?;
        let date_time = parameter("X-Amz-Date")?;
        let signed_headers = parameter("X-Amz-SignedHeaders")?;
        let expires = parameter("X-Amz-Expires")?;
        if algorithm == ALGORITHM_4A {
            return Err(version_4a());
        }
        if algorithm != ALGORITHM {
            return Err(bad("X-Amz-Algorithm only supports \"AWS4-HMAC-SHA256\""));
        }
        let at_s = date::parse_basic(date_time).ok_or_else(|| {
            bad("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"")
        })?;
        let expires_s: i64 =
            expires.parse().map_err(|_| bad("X-Amz-Expires should be a number"))?;
        if expires_s < 0 {
            return Err(bad("X-Amz-Expires must be non-negative"));
        }
        if expires_s > EXPIRY_S_MAX {
            return Err(bad(
                "X-Amz-Expires must be less than a week (in seconds); that is, the given \
                            X-Amz-Expires must be less than 604800 seconds",
            ));
        }
        let place = Place::Query { expires_s };
        Self::assemble(place, credential, signed_headers, signature, date_time.to_owned(), at_s)
    }

    fn assemble(
        place: Place,
        credential: &str,
        signed_headers: &str,
        signature: &str,
        date_time: String,
        at_s: i64,
    ) -> Outcome<Self> {
        let scope = scoped(credential).map_err(|message| place.malformed(message))?;
        let Scoped { access_key, date, region, service } = scope;
        if access_key.is_empty() {
            return Err(place.malformed("the access key is empty."));
        }
        let names = signed_headers.split(';').take(SIGNED_HEADERS_MAX + 1);
        let mut signed_headers: Vec<String> = names.map(str::to_ascii_lowercase).collect();
        signed_headers.sort_unstable();
        let again = signed_headers.windows(2).any(|pair| pair[0] == pair[1]);
        if again || signed_headers.len() > SIGNED_HEADERS_MAX {
            return Err(place.malformed(format!(
                "SignedHeaders names a header twice, or more than {SIGNED_HEADERS_MAX}."
            )));
        }
        Ok(Self {
            place,
            access_key: access_key.to_owned(),
            date: date.to_owned(),
            region: region.to_owned(),
            service: service.to_owned(),
            signed_headers,
            signature: signature.to_owned(),
            date_time,
            at_s,
        })
    }

    /// `20260131/us-east-1/s3/aws4_request`.
    pub(super) fn scope(&self) -> String {
        format!("{}/{}/{}/aws4_request", self.date, self.region, self.service)
    }
}

/// Credential, signed headers and signature of an `Authorization` header.
fn components(fields: &str) -> Outcome<[&str; 3]> {
    let place = Place::Header;
    let mut found = Vec::new();
    for field in fields.split(',').map(str::trim).filter(|field| !field.is_empty()) {
        found.push(field.split_once('=').ok_or_else(|| {
            place.malformed(format!("the authorization component \"{field}\" is malformed."))
        })?);
    }
    if found.len() < 3 {
        return Err(place.malformed(
            "the authorization header requires three components: Credential, SignedHeaders, and \
             Signature.",
        ));
    }
    let value = |name: &str| {
        let value = found.iter().find(|(given, value)| *given == name && !value.is_empty());
        let value = value.map(|(_, value)| *value);
        value.ok_or_else(|| place.malformed(format!("missing {name}.")))
    };
    Ok([value("Credential")?, value("SignedHeaders")?, value("Signature")?])
}

/// What is said of a credential that is none.
pub(super) const MALFORMED: &str = "the Credential is mal-formed; expecting \
     \"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request\".";

/// An access key, and what a signature of its owner's is good for.
pub(super) struct Scoped<'a> {
    pub(super) access_key: &'a str,
    pub(super) date: &'a str,
    pub(super) region: &'a str,
    pub(super) service: &'a str,
}

/// The parts of a credential, or what is wrong with it. Access keys may hold slashes: the scope is
/// what comes last.
pub(super) fn scoped(credential: &str) -> Result<Scoped<'_>, Cow<'static, str>> {
    let mut parts = credential.rsplitn(5, '/');
    let scope = (parts.next(), parts.next(), parts.next(), parts.next(), parts.next());
    let (Some(terminal), Some(service), Some(region), Some(date), Some(access_key)) = scope else {
        return Err(MALFORMED.into());
    };
    match terminal {
        "aws4_request" => Ok(Scoped { access_key, date, region, service }),
        _ if access_key.contains('/') => Err(MALFORMED.into()),
        _ => {
            let fault = format!("incorrect terminal \"{terminal}\".");
            Err(format!("{fault} This endpoint uses \"aws4_request\".").into())
        }
    }
}

fn version_4a() -> Failure {
    Failure::new(
        Code::NotImplemented,
        "Signature Version 4A is not implemented. Please use AWS4-HMAC-SHA256.",
    )
}

pub(super) fn version_2() -> Failure {
    Failure::new(
        Code::InvalidRequest,
        "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.",
    )
}

/// `x-amz-date`, or else HTTP's `date`.
fn header_date(presented: &Presented<'_>) -> Outcome<(String, i64)> {
    let missing = || {
        Failure::new(
            Code::AccessDenied,
            "AWS authentication requires a valid Date or x-amz-date header",
        )
    };
    let text = |name: &str| presented.headers.named(name).and_then(|value| value.to_str().ok());
    if let Some(date_time) = text("x-amz-date") {
        let at_s = date::parse_basic(date_time).ok_or_else(missing)?;
        return Ok((date_time.to_owned(), at_s));
    }
    let given = text("date").ok_or_else(missing)?;
    let at_s = date::parse_basic(given).or_else(|| date::parse_http(given)).ok_or_else(missing)?;
    Ok((date::basic(at_s), at_s))
}
