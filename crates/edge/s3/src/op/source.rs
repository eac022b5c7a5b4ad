//! The source of a copy.

use super::{
    Desk, Outcome, Request,
    version::{Subject, version_of},
};
use crate::{
    body::Pieces,
    condition::{Judgement, Preconditions, failed},
    digest::{Digests, Verdict},
    encryption::{self, Cover, Customer, source_customer},
    error::{Code, Failure},
    uri,
};
use futures::StreamExt as _;
use ripstop_catalog::{ChecksumAlgorithm, Located, ObjectVersion};
use ripstop_envelope::DataKey;
use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering},
};

/// Names the object that a copy reads.
pub(crate) const COPY_SOURCE: &str = "x-amz-copy-source";

/// Bucket, key and version that `x-amz-copy-source` names.
pub(crate) fn named(header: &str) -> Outcome<(String, String, Option<ObjectVersion>)> {
    let invalid = |message: &'static str| Failure::argument(message, "x-amz-copy-source", header);
    let (path, version) = match header.split_once("?versionId=") {
        Some((path, version)) => (path, Some(version)),
        None => (header, None),
    };
    let version = version.map(|text| version_of(text, "x-amz-copy-source")).transpose()?;
    let path = uri::decode(path, false).ok_or_else(|| invalid("Invalid copy source encoding"))?;
    let path = path.strip_prefix('/').unwrap_or(&path);
    let message = "Copy Source must mention the source bucket and key: sourcebucket/sourcekey";
    let (bucket, key) = path.split_once('/').ok_or_else(|| invalid(message))?;
    if bucket.is_empty() || key.is_empty() {
        return Err(invalid(message));
    }
    uri::check_bucket_name(bucket).map_err(|_| invalid("Invalid copy source bucket name"))?;
    uri::check_key(key)?;
    Ok((bucket.to_owned(), key.to_owned(), version))
}

/// The source of a copy, and what must hold of it.
pub(super) struct Source {
    pub(super) subject: Subject,
    preconditions: Preconditions,
    pub(super) customer: Option<Customer>,
}

impl Source {
    pub(super) fn parse(request: &Request) -> Outcome<Self> {
        let named = named(request.header(COPY_SOURCE).unwrap_or_default())?;
        let (bucket, key, version) = named;
        let subject = Subject { bucket, key, version };
        let preconditions = Preconditions::read(&request.headers, "x-amz-copy-source-");
        let customer = source_customer(&request.headers)?;
        Ok(Self { subject, preconditions, customer })
    }

    /// The data key of the object that was found, if it is encrypted.
    pub(super) async fn open(&self, desk: &Desk, located: &Located) -> Outcome<Option<DataKey>> {
        let encryption = located.object.attributes.encryption.as_deref();
        let name = (self.subject.bucket.as_str(), self.subject.key.as_str());
        encryption::open(encryption, name, self.customer.as_ref(), &desk.settings).await
    }

    /// The object, if its preconditions hold.
    pub(super) async fn find(&self, desk: &Desk) -> Outcome<Arc<Located>> {
        let located = self.subject.find(desk).await.map_err(|failure| {
            // What is copied must be an object.
            let is_marker = failure.code == Code::MethodNotAllowed;
            let message = "The source of a copy request may not specifically refer to a delete marker by version id.";
            if is_marker { Failure::new(Code::InvalidRequest, message) } else { failure }
        })?;
        let object = &located.object;
        match self.preconditions.judge(&object.attributes.etag, object.modified_ms) {
            Judgement::Holds => Ok(located),
            Judgement::Fails | Judgement::NotModified => Err(failed("x-amz-copy-source-If-*")),
        }
    }
}

/// Refuses to copy in one request what could not have been put in one.
pub(super) fn check_len(desk: &Desk, len: u64) -> Outcome<()> {
    let max = desk.settings.put_len_max;
    if len <= max {
        return Ok(());
    }
    Err(Failure::new(
        Code::InvalidRequest,
        format!(
            "The specified copy source is larger than the maximum allowable size for a copy source: {max}"
        ),
    ))
}

/// Bytes of an object as its client put them, with its data key if it is encrypted.
pub(super) async fn read(
    desk: &Desk,
    located: Arc<Located>,
    range: Range<u64>,
    key: Option<&DataKey>,
) -> Outcome<Pieces> {
    let cover = Cover::new(&located.object, &range, key);
    let stored = desk.store.read(located, cover.stored.clone()).await?;
    Ok(cover.pieces(stored).await?)
}

/// Reads bytes that are stored, for what is not known of them.
pub(super) async fn hashed(
    desk: &Desk,
    located: Arc<Located>,
    range: Range<u64>,
    algorithm: ChecksumAlgorithm,
    key: Option<&DataKey>,
) -> Outcome<Verdict> {
    let mut digests = Digests::new(false, &[algorithm]);
    if !range.is_empty() {
        let mut pieces = read(desk, located, range, key).await?;
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            // Long stretches of computation must not hold up other connections.
            digests = ripstop_host::spawn_blocking(move || {
                digests.update(&piece);
                digests
            })
            .await
            .map_err(|_| Code::InternalError)?;
        }
    }
    let verdict = digests.finish();
    let spent_ns = u64::try_from(verdict.spent.as_nanos()).unwrap_or(u64::MAX);
    desk.hashing_ns.fetch_add(spent_ns, Ordering::Relaxed);
    Ok(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_decoded_and_never_normalised() {
        for (header, bucket, key) in [
            ("src/k", "src", "k"),
            ("/src/a/b", "src", "a/b"),
            ("src%2Fa%20b", "src", "a b"),
            ("src//k", "src", "/k"),
            ("src/a+b%2B?versionId=null", "src", "a+b+"),
        ] {
            let version = header.contains("versionId").then_some(ObjectVersion::Null);
            let expected = (bucket.to_owned(), key.to_owned(), version);
            assert_eq!(named(header).unwrap(), expected, "{header}");
        }
        for bad in
            ["", "src", "src/", "/", "//k", "src/%zz", "src/k?versionId=1", "1.2.3.4/k", "s(c)/k"]
        {
            assert_eq!(named(bad).unwrap_err().code, Code::InvalidArgument, "{bad}");
        }
    }
}
