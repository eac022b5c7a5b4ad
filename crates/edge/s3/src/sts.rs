//! What is particular to answers of AWS's Security Token Service.

use crate::{
    error::{Code, Failure},
    op::S3Operation,
    request::Reply,
    xml::Element,
};
use http::{HeaderValue, header};

/// A failure, as clients of an operation read it.
pub(crate) fn told(
    operation: S3Operation,
    failure: &Failure,
    resource: &str,
    request_id: &str,
) -> Reply {
    if operation == S3Operation::SecurityToken {
        refused(failure, request_id)
    } else {
        Reply::failure(failure, resource, request_id)
    }
}

/// A failure, as that service tells it.
fn refused(failure: &Failure, request_id: &str) -> Reply {
    let status = failure.code.status();
    // It has a word of its own for what S3 tells apart.
    let is_of_key = matches!(failure.code, Code::InvalidAccessKeyId | Code::InvalidToken);
    let word = if is_of_key { "InvalidClientTokenId" } else { failure.code.word() };
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
