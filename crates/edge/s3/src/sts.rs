//! What is particular to answers of AWS's Security Token Service.

use crate::{
    error::{Code, Failure},
    request::Reply,
    xml::Element,
};
use http::{HeaderValue, header};

/// A failure, as that service tells it.
pub(crate) fn refused(failure: &Failure, request_id: &str) -> Reply {
    let status = failure.code.status();
    // It has a word of its own for what S3 tells apart.
    let word = match failure.code {
        Code::InvalidAccessKeyId | Code::InvalidToken => "InvalidClientTokenId",
        code => code.word(),
    };
    let kind = if status.is_server_error() { "Receiver" } else { "Sender" };
    let mut root = Element::of_sts("ErrorResponse");
    root.child("Error", |error| {
        error.text("Type", kind).text("Code", word).text("Message", &failure.message);
    });
    root.text("RequestId", request_id);
    let mut reply = Reply::document(root.document());
    reply.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/xml"));
    reply.status = status;
    reply
}
