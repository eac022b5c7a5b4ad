use super::Code;
use crate::xml::Element;
use std::{borrow::Cow, fmt};

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
        Self::new(code, code.sentence())
    }
}
