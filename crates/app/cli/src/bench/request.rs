use super::content::Content;
use anyhow::{Context as _, Result};
use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Request, Uri,
    header::{AUTHORIZATION, HeaderName, HeaderValue},
};
use object_store::{
    aws::{AwsAuthorizer, AwsCredential},
    client::{HttpRequest, HttpRequestBody},
};
use std::sync::Arc;

const REGION: &str = "us-east-1";
const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const DIGEST: HeaderName = HeaderName::from_static("x-amz-content-sha256");

/// A request that is signed already, so that signing costs nothing while something is measured.
pub(super) struct Signed {
    uri: Uri,
    authorization: HeaderValue,
    date: HeaderValue,
    digest: HeaderValue,
}

impl Signed {
    /// The request as it is sent.
    pub(super) fn request(&self, method: &Method, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method.clone();
        *request.uri_mut() = self.uri.clone();
        let headers = request.headers_mut();
        headers.reserve(4);
        headers.insert(AUTHORIZATION, self.authorization.clone());
        headers.insert(DATE, self.date.clone());
        headers.insert(DIGEST, self.digest.clone());
        request
    }
}

/// Signs requests for objects of one bucket, by their headers, as SDKs do.
pub(super) struct Signer {
    /// Scheme, name and port.
    pub(super) endpoint: String,
    pub(super) bucket: String,
    /// What all keys begin with.
    pub(super) prefix: String,
    pub(super) credential: AwsCredential,
    /// Whether the hash of what is put is signed too.
    pub(super) payload: bool,
}

impl Signer {
    /// A request for the bucket itself.
    pub(super) fn bucket(&self, method: &Method) -> Result<Signed> {
        self.sign(method, &format!("/{}", self.bucket), Bytes::new())
    }

    /// Requests for objects; what is put is hashed on all processors.
    pub(super) async fn objects(
        self: &Arc<Self>,
        method: &Method,
        content: &Arc<Content>,
        objects: usize,
    ) -> Result<Vec<Signed>> {
        let parts = std::thread::available_parallelism()?.get();
        let share = objects.div_ceil(parts);
        let mut signing = Vec::with_capacity(parts);
        for part in 0..parts {
            let (this, content, method) = (self.clone(), content.clone(), method.clone());
            let part = (part * share).min(objects)..((part + 1) * share).min(objects);
            signing.push(ripstop_host::spawn_blocking(move || {
                part.map(|object| this.object(&method, &content, object))
                    .collect::<Result<Vec<_>>>()
            }));
        }
        let mut signed = Vec::with_capacity(objects);
        for part in signing {
            signed.extend(part.await??);
        }
        Ok(signed)
    }

    fn object(&self, method: &Method, content: &Content, object: usize) -> Result<Signed> {
        let body = if method == Method::PUT { content.of(object) } else { Bytes::new() };
        // Several prefixes, as objects of several users would have.
        let path = format!("/{}/{}/{:x}/{object}", self.bucket, self.prefix, object % 16);
        self.sign(method, &path, body)
    }

    fn sign(&self, method: &Method, path: &str, body: Bytes) -> Result<Signed> {
        let mut request = HttpRequest::new(HttpRequestBody::from(body));
        *request.method_mut() = method.clone();
        *request.uri_mut() = format!("{}{path}", self.endpoint).parse().context("its address")?;
        let signer = AwsAuthorizer::new(&self.credential, "s3", REGION);
        let payload = self.payload || method != Method::PUT;
        signer.with_sign_payload(payload).try_authorize(&mut request, None)?;
        let headers = request.headers_mut();
        Ok(Signed {
            uri: path.parse()?,
            authorization: take(headers, &AUTHORIZATION)?,
            date: take(headers, &DATE)?,
            digest: take(headers, &DIGEST)?,
        })
    }
}

fn take(headers: &mut HeaderMap, name: &HeaderName) -> Result<HeaderValue> {
    headers.remove(name).with_context(|| format!("signing sets no {name}"))
}
