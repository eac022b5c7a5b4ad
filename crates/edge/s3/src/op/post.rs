//! Objects out of a browser's form. Its fields were read, and its signature and policy hold.

use super::{
    Desk, Operate, Outcome, Reply, Request,
    expiring::{Made, OfObject},
    put::{Put, PutObject},
};
use crate::{
    FrontSettings, digest,
    error::{Code, Failure},
    form::Wish,
    lifecycle::Facts,
    notification::EventKind,
    tagging, uri,
    xml::{self, Element, Limits},
};
use http::{HeaderValue, StatusCode, header};

/// How much a document of tags may be, in a field.
const TAGGING: Limits = Limits { bytes: 20 << 10, depth: 8, elements: 1024 };

/// Stores the file as an object, as a `PUT` does.
pub(super) struct Post {
    put: Put,
    asked: Asked,
}

/// What the answer is made of besides the object.
pub(super) struct Asked {
    bucket: String,
    key: String,
    /// Where the object is.
    location: String,
    wish: Wish,
}

impl OfObject for (PutObject, Asked) {
    fn facts(&self) -> Option<Facts> {
        self.0.facts()
    }

    fn made(&self) -> Option<Made> {
        Some(Made::of(EventKind::Post, &self.0.stored))
    }
}

impl Operate for Post {
    type Done = (PutObject, Asked);

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let wish = request.wish.take().ok_or(Code::InternalError)?;
        digest::check_form(&request.headers)?;
        let mut put = Put::parse(request).await?;
        if let Some(document) = &wish.tagging {
            let root = xml::parse(document.as_bytes(), TAGGING).map_err(Failure::from)?;
            put.attributes.tags = tagging::from_root(&root, tagging::OBJECT)?;
        }
        let (bucket, key) = (request.bucket.clone(), request.key.clone());
        let host = request.header("host").unwrap_or_default();
        let names_bucket = uri::host_bucket(Some(host), request.settings.domain.as_deref());
        let bucket_path = if names_bucket.is_some() { String::new() } else { format!("/{bucket}") };
        let path = uri::encode(&key, b"/");
        let location = format!("{}://{host}{bucket_path}/{path}", request.scheme);
        Ok(Self { put, asked: Asked { bucket, key, location, wish } })
    }

    async fn run(self, desk: &Desk) -> Outcome<(PutObject, Asked)> {
        Ok((Box::pin(self.put.run(desk)).await?, self.asked))
    }

    fn render((done, asked): (PutObject, Asked), settings: &FrontSettings) -> Reply {
        let Asked { bucket, key, location, wish } = asked;
        let etag = format!("\"{}\"", done.stored.object.attributes.etag);
        let mut reply = Put::render(done, settings);
        if let Some(to) = wish.redirect.and_then(|to| redirect(&to, &bucket, &key, &etag)) {
            reply.status = StatusCode::SEE_OTHER;
            reply.headers.insert(header::LOCATION, to);
            return reply;
        }
        reply.status = StatusCode::NO_CONTENT;
        match wish.status.as_deref() {
            Some("200") => reply.status = StatusCode::OK,
            Some("201") => {
                let mut root = Element::new("PostResponse");
                root.text("Location", &location).text("Bucket", &bucket);
                root.text("Key", &key).text("ETag", &etag);
                let document = Reply::document(root.document());
                reply.headers.extend(document.headers);
                (reply.status, reply.body) = (StatusCode::CREATED, document.body);
            }
            // Any other is as if none were named.
            Some(_) | None => {}
        }
        reply.with("location", &location)
    }
}

/// Where a browser goes next, with what came of the form in the query; `None` if that is no address
/// to go to.
fn redirect(to: &str, bucket: &str, key: &str, etag: &str) -> Option<HeaderValue> {
    let is_address = to.starts_with("http://") || to.starts_with("https://");
    let mark = if to.contains('?') { '&' } else { '?' };
    let (bucket, key, etag) =
        (uri::encode(bucket, b""), uri::encode(key, b""), uri::encode(etag, b""));
    let to = format!("{to}{mark}bucket={bucket}&key={key}&etag={etag}");
    is_address.then(|| HeaderValue::from_bytes(to.as_bytes()).ok())?
}
