//! A request after its head was read and its signature verified; and the answer to it.

use crate::{
    FrontSettings,
    allowance::Held,
    body::{Outgoing, Payload},
    by_name::ByName as _,
    digest::Expectation,
    document::{Document, Envelope},
    error::{Code, Failure, Outcome},
    form::Wish,
    gate::Gate,
    uri::Query,
    xml::Limits,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use std::sync::Arc;

/// What operations read.
pub(crate) struct Request {
    pub(crate) settings: Arc<FrontSettings>,
    /// Empty for the service itself.
    pub(crate) bucket: String,
    /// Empty for a bucket.
    pub(crate) key: String,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    /// The body, as far as it is the operation's to read, until it is taken.
    pub(crate) payload: Option<Payload>,
    /// How much a document in the body may be, for an operation that takes one.
    pub(crate) limits: Option<Limits>,
    /// The memory of the document in the body, and of what was made of it.
    pub(crate) held: Held,
    /// How URLs of this gateway begin for the client.
    pub(crate) scheme: &'static str,
    /// How the sender of a form wants to be answered.
    pub(crate) wish: Option<Wish>,
    /// The parameters of a call.
    pub(crate) call: Option<Query>,
}

impl Request {
    /// A header's text; what is no ASCII is as if it were empty.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.named(name).map(|value| value.to_str().unwrap_or_default())
    }

    /// The body, for who takes it as it comes.
    pub(crate) fn body(&mut self) -> Outcome<Payload> {
        self.payload.take().ok_or_else(|| Code::InternalError.into())
    }

    /// The document in the body, held against what the client says of it.
    pub(crate) async fn document(&mut self) -> Outcome<Document> {
        self.envelope()?.open(&mut self.held).await
    }

    /// The same where S3 takes none that its sender does not vouch for.
    pub(crate) async fn vouched_document(&mut self) -> Outcome<Document> {
        self.envelope()?.open_vouched(&mut self.held).await
    }

    /// The document in the body, held against its signature and nothing else: where headers of a
    /// checksum are about something else.
    pub(crate) async fn bare_document(&mut self) -> Outcome<Document> {
        let envelope = self.envelope_of(Expectation::default())?;
        envelope.open(&mut self.held).await
    }

    /// The document in the body, not read yet.
    pub(crate) fn envelope(&mut self) -> Outcome<Envelope> {
        let expectation = Expectation::read(&self.headers)?;
        self.envelope_of(expectation)
    }

    fn envelope_of(&mut self, expectation: Expectation) -> Outcome<Envelope> {
        let limits = self.limits.ok_or(Code::InternalError)?;
        let bytes = limits.bytes.min(self.settings.document_len_max);
        Ok(Envelope::new(self.body()?, expectation, Limits { bytes, ..limits }))
    }

    /// A number from the query that must be within 0 and 2³¹−1, as S3 has it; `None` if it is
    /// absent.
    pub(crate) fn count(&self, name: &str) -> Outcome<Option<usize>> {
        self.query.filled(name).map(|text| count(name, text)).transpose()
    }

    /// Refuses requests that are meant for another owner's bucket.
    pub(crate) fn check_owner(&self, gate: &Gate) -> Outcome<()> {
        let source = gate.source.as_ref().map_or(&*gate.store_account, |source| &source.owner);
        for (name, is) in [
            ("x-amz-expected-bucket-owner", gate.bucket_owner()),
            ("x-amz-source-expected-bucket-owner", source),
        ] {
            if self.header(name).is_some_and(|owner| owner != is) {
                return Err(Code::AccessDenied.into());
            }
        }
        Ok(())
    }
}

/// A number that must be within 0 and 2³¹−1, as S3 has it.
pub(crate) fn count(name: &str, text: &str) -> Outcome<usize> {
    let invalid = |message: String| Failure::argument(message, name, text);
    let number: i64 = text
        .parse()
        .map_err(|_| invalid(format!("Provided {name} not an integer or within integer range")))?;
    if !(0..=i64::from(i32::MAX)).contains(&number) {
        let message = format!("Argument {name} must be an integer between 0 and 2147483647");
        return Err(invalid(message));
    }
    Ok(number as usize)
}

/// A document with its memory.
struct Page {
    document: String,
    _held: Held,
}

impl AsRef<[u8]> for Page {
    fn as_ref(&self) -> &[u8] {
        self.document.as_bytes()
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

    /// 200 with a document whose memory is `held` until it is sent.
    pub(crate) fn page(document: String, mut held: Held) -> Self {
        held.shrink_to(document.len());
        let mut reply = Self::document(String::new());
        reply.body = Outgoing::Whole(Bytes::from_owner(Page { document, _held: held }));
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
