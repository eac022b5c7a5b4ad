//! Objects out of a browser's form, whose signature is one of its fields.

use super::{Desk, Operate, Outcome, Reply, Request};
use crate::{
    FrontSettings,
    error::{Code, Failure},
};
use http::StatusCode;

/// Refused before the body is asked for: nobody has been let in yet.
pub(super) struct Post;

impl Operate for Post {
    type Done = ();

    async fn parse(_: &mut Request) -> Outcome<Self> {
        Ok(Self)
    }

    async fn run(self, _: &Desk) -> Outcome<()> {
        let message = "Objects are not taken out of forms (POST with multipart/form-data). Please \
                       use a presigned URL and PUT.";
        Err(Failure::new(Code::NotImplemented, message))
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }
}
