//! What browsers ask before they send what a page of another origin wants sent.

use super::{Desk, Operate, Outcome, Reply, Request};
use crate::{
    FrontSettings,
    error::{Code, Failure},
};
use http::StatusCode;

/// Methods that another origin could be let use.
const METHODS: [&str; 5] = ["GET", "PUT", "POST", "DELETE", "HEAD"];

/// Whether a page may send a request: asked without a signature, before any that has one.
pub(super) struct Preflight {
    /// By which method.
    method: String,
    is_for_bucket: bool,
}

impl Operate for Preflight {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let bad = |message: String| Failure::new(Code::BadRequest, message);
        if request.header("origin").is_none_or(str::is_empty) {
            return Err(bad("Insufficient information. Origin request header needed.".to_owned()));
        }
        let method = request.header("access-control-request-method").unwrap_or("null");
        if !METHODS.contains(&method) {
            return Err(bad(format!("Invalid Access-Control-Request-Method: {method}")));
        }
        Ok(Self { method: method.to_owned(), is_for_bucket: request.key.is_empty() })
    }

    /// No bucket lets other origins in. Whether there is such a bucket is not looked at: it would
    /// be told to everybody.
    async fn run(self, _: &Desk) -> Outcome<()> {
        let message = "CORSResponse: CORS is not enabled for this bucket.";
        let kind = if self.is_for_bucket { "BUCKET" } else { "OBJECT" };
        let refused = Failure::new(Code::AccessForbidden, message);
        Err(refused.with("Method", self.method).with("ResourceType", kind))
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}
