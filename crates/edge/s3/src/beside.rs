//! What a front does beside S3's operations: it shows websites, and records what was asked.

use crate::{
    S3Operation,
    access::{Client, Note},
    error::{Code, Outcome},
    front::Front,
    logging::{Begun, Logged},
    request::Reply,
    uri,
    visitor::Visitor,
    watched::Counts,
    website::Page,
};
use http::{Method, header, request::Parts, uri::Authority};

impl Front {
    /// A page of a website.
    pub(crate) async fn page(
        &self,
        parts: Parts,
        client: Client,
        counts: &Counts,
        note: &mut Note,
    ) -> Outcome<Reply> {
        let head = parts.method == Method::HEAD;
        note.operation = if head { S3Operation::HeadObject } else { S3Operation::GetObject };
        let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| parts.uri.authority().map(Authority::as_str));
        let origin = format!("{}://{}", client.scheme(), host.unwrap_or_default());
        let bucket = uri::website_bucket(host, self.settings.website_domain.as_deref());
        uri::check_len(parts.uri.path(), "")?;
        let path = uri::decode(parts.uri.path(), false).ok_or(Code::InvalidUri)?;
        let key = path.strip_prefix('/').unwrap_or(&path);
        uri::check_key(key)?;
        uri::check_path(key)?;
        let place = (bucket, key.to_owned());
        let page = Page::new(parts.method, place, origin, &parts.headers);
        Ok(page.answer(Visitor { front: self, client, counts, note }).await)
    }

    /// What is to be recorded of a request, if its bucket has an access log.
    pub(crate) async fn logged(
        &self,
        parts: &Parts,
        bucket: Option<&str>,
        id: &str,
        client: Client,
    ) -> Option<Logged> {
        let known = self.known.of(&self.store, bucket?).await?;
        let destination = known.log.clone()?;
        let begun = Begun::of(parts, (&self.settings, self.door.name()), id, client);
        let logs = self.logs.clone();
        Some(Logged { logs, destination, begun, object_len: None, version_id: None })
    }
}
