//! Answers browsers: objects that anybody may read, redirections, errors as pages.

use super::{
    document::{DOCUMENT, stored},
    redirect::Step,
    site::Site,
};
use crate::{
    error::{Code, Failure, Outcome},
    metadata,
    op::{self, Desk},
    request::{Reply, Request},
    route::route,
    uri::{Query, Target},
    visitor::Visitor,
    xml::Element,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

/// Headers of a request that are heeded; what else S3 has a meaning for is no browser's.
const HEEDED: [header::HeaderName; 6] = [
    header::RANGE,
    header::IF_RANGE,
    header::IF_MATCH,
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_UNMODIFIED_SINCE,
];
/// Methods that are answered.
const METHODS: &str = "GET, HEAD";

/// A page that a browser asks for.
pub(crate) struct Page {
    method: Method,
    bucket: String,
    /// Empty for the website's own address.
    key: String,
    /// How its address begins: scheme and host.
    origin: String,
    headers: HeaderMap,
}

impl Page {
    /// The page at this path of a bucket's website.
    pub(crate) fn new(
        method: Method,
        (bucket, key): (String, String),
        origin: String,
        headers: &HeaderMap,
    ) -> Self {
        let heeded = HEEDED.iter().filter_map(|name| {
            let value: HeaderValue = headers.get(name)?.clone();
            Some((name.clone(), value))
        });
        Self { method, bucket, key, origin, headers: heeded.collect() }
    }

    /// Answers it, whatever happens.
    pub(crate) async fn answer(self, visitor: Visitor<'_>) -> Reply {
        if self.method != Method::GET && self.method != Method::HEAD {
            let failure = Failure::from(Code::MethodNotAllowed).header(header::ALLOW, METHODS);
            return told(&failure);
        }
        let site = match self.site(&visitor.desk()).await {
            Ok(site) => site,
            Err(failure) => return told(&failure),
        };
        let wanted = match site.first(&self.key, &self.origin) {
            Step::Redirect(status, to) => return redirected(status, &to),
            Step::Show(key) => key,
            Step::Tell(_) => self.key.clone(),
        };
        let failure = match self.show(&wanted, &self.headers, &visitor).await {
            Ok(reply) => return sent_on(reply),
            Err(failure) if failure.code == Code::NotModified => return unchanged(&failure),
            Err(failure) => failure,
        };
        if failure.code == Code::NoSuchKey
            && let Some(below) = site.below(&self.key)
            && self.is_there(&below, &visitor).await
        {
            let path = crate::uri::encode(&self.key, b"/");
            return redirected(StatusCode::FOUND.as_u16(), &format!("/{path}/"));
        }
        match site.after(failure.code.status().as_u16(), &self.key, &self.origin) {
            Step::Redirect(status, to) => redirected(status, &to),
            Step::Tell(Some(key)) => match self.show(key, &HeaderMap::new(), &visitor).await {
                Ok(reply) => Reply { status: failure.code.status(), ..reply },
                Err(_) => told(&failure),
            },
            Step::Tell(None) | Step::Show(_) => told(&failure),
        }
    }

    async fn site(&self, desk: &Desk) -> Outcome<Site> {
        crate::uri::check_bucket_name(&self.bucket)?;
        let bucket = desk.store.bucket(&self.bucket).await?;
        let document = bucket.documents.get(DOCUMENT).ok_or(Code::NoSuchWebsiteConfiguration)?;
        stored(document).ok_or_else(|| {
            tracing::error!(bucket = self.bucket, "a bucket's website cannot be read");
            Code::InternalError.into()
        })
    }

    /// An object, if anybody may read it: asked as an unsigned request for it would be.
    async fn show(&self, key: &str, headers: &HeaderMap, visitor: &Visitor<'_>) -> Outcome<Reply> {
        self.ask(&self.method, key, headers, visitor).await
    }

    async fn is_there(&self, key: &str, visitor: &Visitor<'_>) -> bool {
        self.ask(&Method::HEAD, key, &HeaderMap::new(), visitor).await.is_ok()
    }

    async fn ask(
        &self,
        method: &Method,
        key: &str,
        headers: &HeaderMap,
        visitor: &Visitor<'_>,
    ) -> Outcome<Reply> {
        let target = Target { bucket: Some(self.bucket.clone()), key: Some(key.to_owned()) };
        let query = Query::default();
        let row = route(method, &target, &query, headers)?;
        let desk = visitor.admit(row, &target, headers).await?;
        let request = Request {
            settings: desk.settings.clone(),
            held: desk.allowances.documents.nothing(),
            bucket: self.bucket.clone(),
            key: key.to_owned(),
            query,
            headers: headers.clone(),
            payload: None,
            limits: None,
            scheme: "http",
            wish: None,
            call: None,
        };
        op::run(row.operation, Box::new(request), Box::new(desk)).await
    }
}

/// An object that says that it is elsewhere is not shown.
fn sent_on(reply: Reply) -> Reply {
    let to = reply.headers.get(metadata::REDIRECT).and_then(|to| to.to_str().ok());
    match to {
        Some(to) => redirected(StatusCode::MOVED_PERMANENTLY.as_u16(), to),
        None => reply,
    }
}

fn redirected(status: u16, to: &str) -> Reply {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::MOVED_PERMANENTLY);
    Reply::empty(status).with("location", to)
}

fn unchanged(failure: &Failure) -> Reply {
    let mut reply = Reply::empty(StatusCode::NOT_MODIFIED);
    reply.headers.extend(failure.headers.iter().cloned());
    reply
}

/// An error as a page.
fn told(failure: &Failure) -> Reply {
    let status = failure.code.status();
    let title = status.to_string();
    let mut page = Element::html();
    page.child("head", |head| _ = head.text("title", &title));
    page.child("body", |body| {
        body.text("h1", &title).child("ul", |list| {
            list.text("li", &format!("Code: {}", failure.code.word()));
            list.text("li", &format!("Message: {}", failure.message));
        });
    });
    let mut reply = Reply::document(page.document());
    reply.status = status;
    reply.headers.extend(failure.headers.iter().cloned());
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    reply.headers.insert(header::CONTENT_TYPE, html);
    reply
        .with("x-amz-error-code", failure.code.word())
        .with("x-amz-error-message", &failure.message)
}
