//! A request after its head was read and its signature verified; and the answer to it.

use crate::{
    Settings,
    body::{Outgoing, Payload},
    digest::Expectation,
    error::{Code, Failure, Outcome},
    uri::Query,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use ripstop_store::Store;
use std::sync::{Arc, atomic::AtomicU64};

/// What handlers work with.
pub(crate) struct Request {
    pub(crate) store: Store,
    pub(crate) settings: Arc<Settings>,
    /// Empty for the service itself.
    pub(crate) bucket: String,
    /// Empty for a bucket.
    pub(crate) key: String,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    /// Taken by whoever reads it.
    pub(crate) payload: Payload,
    /// Nanoseconds spent hashing the body.
    pub(crate) hashing_ns: Arc<AtomicU64>,
}

impl Request {
    /// A header's text; what is no ASCII is as if it were empty.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap_or_default())
    }

    /// The document in the body, held against what the client says of it.
    pub(crate) async fn document(&mut self) -> Outcome<bytes::Bytes> {
        use crate::digest::Digests;
        let expectation = Expectation::read(&self.headers)?;
        let document = self.payload.document(self.settings.document_len_max).await?;
        if expectation.is_some() {
            let mut digests = Digests::new(false, expectation.algorithm().as_slice());
            digests.update(&document);
            let verdict = digests.finish();
            let sha256 = self.payload.sha256;
            expectation.check(&self.payload, verdict.md5, sha256, &verdict.checksums)?;
        }
        Ok(document)
    }

    /// A number from the query that must be within 0 and 2³¹−1, as S3 has it; `None` if it is absent.
    pub(crate) fn count(&self, name: &str) -> Outcome<Option<usize>> {
        let Some(text) = self.query.filled(name) else { return Ok(None) };
        let invalid = |message: String| Failure::argument(message, name, text);
        let number: i64 = text.parse().map_err(|_| {
            invalid(format!("Provided {name} not an integer or within integer range"))
        })?;
        if !(0..=i64::from(i32::MAX)).contains(&number) {
            let message = format!("Argument {name} must be an integer between 0 and 2147483647");
            return Err(invalid(message));
        }
        Ok(Some(number as usize))
    }

    /// Buckets here have no versions: only the one that is called `null` exists.
    pub(crate) fn check_version(&self) -> Outcome<()> {
        match self.query.get("versionId") {
            None | Some("null") => Ok(()),
            Some(other) => {
                Err(Failure::argument("Invalid version id specified", "versionId", other))
            }
        }
    }

    /// Refuses requests that are meant for another owner's bucket.
    pub(crate) fn check_owner(&self) -> Outcome<()> {
        for name in ["x-amz-expected-bucket-owner", "x-amz-source-expected-bucket-owner"] {
            if self.header(name).is_some_and(|owner| owner != self.settings.owner) {
                return Err(Code::AccessDenied.into());
            }
        }
        Ok(())
    }
}

/// An answer under construction.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Outgoing,
}

impl Reply {
    /// Without a body.
    pub(crate) fn empty(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: Outgoing::Empty }
    }

    /// 200 with a document.
    pub(crate) fn document(document: String) -> Self {
        let mut reply = Self::empty(StatusCode::OK);
        reply.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        reply.body = document.into();
        reply
    }

    /// A failure as an answer.
    pub(crate) fn failure(failure: &Failure, resource: &str, request_id: &str) -> Self {
        let mut reply = if failure.code == Code::NotModified {
            Self::empty(StatusCode::NOT_MODIFIED)
        } else {
            Self::document(failure.document(resource, request_id))
        };
        reply.status = failure.code.status();
        reply.headers.extend(failure.headers.iter().cloned());
        if reply.status == StatusCode::SERVICE_UNAVAILABLE
            && !reply.headers.contains_key(header::RETRY_AFTER)
        {
            reply.headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        reply
    }

    /// With another header; a value that no header can hold is left out.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    /// As hyper wants it.
    pub(crate) fn into_response(self) -> Response<Outgoing> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}
