use crate::NodeError;
use http::{HeaderMap, StatusCode, header::CONTENT_RANGE};
use std::{error::Error, fmt};

/// Stands for the length of an object whose server did not tell it.
pub(super) const LEN_UNKNOWN: u64 = u64::MAX;

/// Characters of a server's message that an error keeps.
const MESSAGE_MAX: usize = 200;

/// A server's answer that is not a success, carried as an error through the S3 client.
#[derive(Debug)]
pub(super) struct Answer {
    status: StatusCode,
    /// S3's word for it, such as `NoSuchKey`; empty if the body had none.
    code: String,
    message: String,
    /// Length of the object, where the answer to an unsatisfiable range tells it.
    len: Option<u64>,
}

/// What a failed request means.
pub(super) enum Failure {
    /// All that there is to know.
    Node(NodeError),
    /// The key, the bucket, or a proxy's idea of either.
    SomethingMissing,
}

impl Answer {
    pub(super) fn new(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let body = String::from_utf8_lossy(body);
        let range = headers.get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
        let len = range.and_then(|range| range.strip_prefix("bytes */")?.parse().ok());
        let message = element(&body, "Message").chars().take(MESSAGE_MAX).collect();
        Self { status, code: element(&body, "Code").to_owned(), message, len }
    }

    fn failure(&self, asked: u64) -> Failure {
        let refused = || Failure::Node(NodeError::Refused { reason: self.to_string() });
        let unavailable = || Failure::Node(NodeError::Unavailable { reason: self.to_string() });
        match (self.status.as_u16(), self.code.as_str()) {
            (404, "NoSuchKey") => Failure::Node(NodeError::Missing),
            (404, "NoSuchBucket") => unavailable(),
            (404, _) => Failure::SomethingMissing,
            (416, _) => {
                let len = self.len.unwrap_or(LEN_UNKNOWN);
                Failure::Node(NodeError::Short { len, asked })
            }
            // Said of bodies that were damaged or late on their way.
            (400, "RequestTimeout" | "IncompleteBody" | "BadDigest")
            | (_, "XAmzContentSHA256Mismatch") => unavailable(),
            // Nothing that trying again would change: no space, and no such operation.
            (501 | 507, _) | (_, "QuotaExceeded") => refused(),
            (408 | 409 | 425 | 429 | 500.., _) => unavailable(),
            _ => refused(),
        }
    }
}

/// The text of the first element `name` of an S3 error document; empty if there is none.
fn element<'a>(body: &'a str, name: &str) -> &'a str {
    let inner = body.split_once(&format!("<{name}>")).map(|(_, rest)| rest);
    inner.and_then(|rest| rest.split_once("</")).map_or("", |(text, _)| text)
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, code, message, .. } = self;
        match (code.as_str(), message.as_str()) {
            ("", _) => write!(f, "{status}"),
            (code, "") => write!(f, "{} {code}", status.as_u16()),
            (code, message) => write!(f, "{} {code}: {message}", status.as_u16()),
        }
    }
}

impl Error for Answer {}

/// What a failed request for an object means; `asked` is the end of the range asked for.
pub(super) fn failure(error: &object_store::Error, asked: u64) -> Failure {
    let mut innermost: &(dyn Error + 'static) = error;
    loop {
        if let Some(answer) = innermost.downcast_ref::<Answer>() {
            return answer.failure(asked);
        }
        match innermost.source() {
            Some(source) => innermost = source,
            None => break,
        }
    }
    // Only the innermost: those around it repeat each other, and the request's address.
    Failure::Node(NodeError::Unavailable { reason: innermost.to_string() })
}

/// What a failed request for no object in particular means.
pub(super) fn of_bucket(error: &object_store::Error) -> NodeError {
    match failure(error, 0) {
        Failure::SomethingMissing | Failure::Node(NodeError::Missing) => {
            NodeError::Unavailable { reason: "no such bucket".into() }
        }
        Failure::Node(NodeError::Short { .. }) => {
            NodeError::Unavailable { reason: "416 in answer to a listing".into() }
        }
        Failure::Node(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use object_store::client::{HttpError, HttpErrorKind};
    use std::fmt::Write;

    fn meaning(status: u16, code: &str) -> String {
        let body = format!("<?xml?><Error><Code>{code}</Code><Message>why</Message></Error>");
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_RANGE, "bytes */77".parse().unwrap());
        let answer = Answer::new(StatusCode::from_u16(status).unwrap(), &headers, body.as_bytes());
        let wrapped = HttpError::new(HttpErrorKind::Unknown, answer);
        let error = object_store::Error::Generic { store: "S3", source: Box::new(wrapped) };
        match failure(&error, 99) {
            Failure::Node(error) => error.to_string(),
            Failure::SomethingMissing => "something is missing".into(),
        }
    }

    #[test]
    fn every_answer_has_a_meaning() {
        let mut table = String::new();
        for (status, code) in [
            (404, "NoSuchKey"),
            (404, "NoSuchBucket"),
            (404, ""),
            (416, "InvalidRange"),
            (403, "AccessDenied"),
            (401, ""),
            (301, "PermanentRedirect"),
            (400, "ExpiredToken"),
            (400, "RequestTimeout"),
            (409, "OperationAborted"),
            (429, ""),
            (500, "InternalError"),
            (503, "SlowDown"),
            (507, "XMinioStorageFull"),
            (403, "QuotaExceeded"),
        ] {
            writeln!(table, "{status} {code} => {}", meaning(status, code)).unwrap();
        }
        expect![[r"
            404 NoSuchKey => no such fragment
            404 NoSuchBucket => unavailable: 404 NoSuchBucket: why
            404  => something is missing
            416 InvalidRange => fragment ends at byte 77, asked for 99
            403 AccessDenied => refused: 403 AccessDenied: why
            401  => refused: 401 Unauthorized
            301 PermanentRedirect => refused: 301 PermanentRedirect: why
            400 ExpiredToken => refused: 400 ExpiredToken: why
            400 RequestTimeout => unavailable: 400 RequestTimeout: why
            409 OperationAborted => unavailable: 409 OperationAborted: why
            429  => unavailable: 429 Too Many Requests
            500 InternalError => unavailable: 500 InternalError: why
            503 SlowDown => unavailable: 503 SlowDown: why
            507 XMinioStorageFull => refused: 507 XMinioStorageFull: why
            403 QuotaExceeded => refused: 403 QuotaExceeded: why
        "]]
        .assert_eq(&table);
    }
}
