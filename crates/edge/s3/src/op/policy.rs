//! A bucket's policy: put, shown, removed, and whether it lets the public in.

use super::{Desk, Operate, Outcome, Reply, Request, bucket_document::BucketDocument};
use crate::{
    FrontSettings,
    error::{Code, Failure},
    gate::{BucketAccess, POLICY},
    xml::Element,
};
use http::{HeaderValue, StatusCode, header};
use ripstop_access::{PolicyDocument, PolicyPlace};
use ripstop_catalog::Bucket;

fn none(bucket: &str) -> Failure {
    Failure::from(Code::NoSuchBucketPolicy).with("BucketName", bucket)
}

/// The policy of a bucket that a text is, if it names only who is there.
fn read(text: &str, bucket: &str, desk: &Desk) -> Outcome<PolicyDocument> {
    let credentials = desk.keyring.credentials();
    let has_account = |id: &str| id == desk.settings.owner || credentials.have_account(id);
    let knows = |name: &str| has_account(name) || credentials.know_user(name);
    let place = PolicyPlace { bucket: Some(bucket), knows: &knows, has_account: &has_account };
    PolicyDocument::read(text, &place)
        .map_err(|fault| Failure::new(Code::MalformedPolicy, fault.to_string()))
}

pub(super) struct Put {
    bucket: String,
    text: String,
}

impl Operate for Put {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let document = request.document().await?;
        // What is no text is no JSON either.
        let text = document.text().unwrap_or_default().to_owned();
        Ok(Self { bucket: request.bucket.clone(), text })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        let Self { bucket, text } = self;
        let is_public = read(&text, &bucket, desk).map(|policy| policy.is_public());
        let put = |old: Bucket| {
            let is_blocked = BucketAccess::of(&old, &desk.settings.owner).block.blocks_policy();
            if is_public.clone()? && is_blocked {
                let message = "Public policies are blocked by the BlockPublicPolicy setting of the \
                               bucket's public access block.";
                return Err(Failure::new(Code::AccessDenied, message));
            }
            Ok(Bucket { guards: old.guards.with(POLICY, Some(text.clone())), ..old })
        };
        desk.store.change_bucket(&bucket, put).await
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::NO_CONTENT)
    }
}

pub(super) struct Get {
    bucket: String,
}

impl Operate for Get {
    type Done = String;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<String> {
        let bucket = desk.store.bucket(&self.bucket).await?;
        bucket.guards.get(POLICY).map(str::to_owned).ok_or_else(|| none(&self.bucket))
    }

    fn render(text: String, _: &FrontSettings) -> Reply {
        let mut reply = Reply::document(text);
        reply.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        reply
    }
}

/// The document that says so.
pub(super) struct PolicyText;

impl BucketDocument for PolicyText {
    const NAME: &'static str = POLICY;
    const IS_GUARD: bool = true;

    fn none() -> Outcome<String> {
        Err(Code::NoSuchBucketPolicy.into())
    }
}

pub(super) struct Status {
    bucket: String,
}

impl Operate for Status {
    /// Whether it is public.
    type Done = bool;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Ok(Self { bucket: request.bucket.clone() })
    }

    async fn run(self, desk: &Desk) -> Outcome<bool> {
        let bucket = desk.store.bucket(&self.bucket).await?;
        if bucket.guards.get(POLICY).is_none() {
            return Err(none(&self.bucket));
        }
        Ok(BucketAccess::of(&bucket, &desk.settings.owner).policy_is_public)
    }

    fn render(is_public: bool, _: &FrontSettings) -> Reply {
        let mut root = Element::in_namespace("PolicyStatus");
        root.value("IsPublic", is_public);
        Reply::document(root.document())
    }
}
