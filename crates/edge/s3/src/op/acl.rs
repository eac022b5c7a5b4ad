//! Access lists: there is one, and it says that the owner owns.

use super::{Desk, Operate, Outcome, Reply, Request, version};
use crate::{
    FrontSettings,
    document::Envelope,
    error::{Code, Failure},
    metadata,
    xml::{Element, Malformed, Node},
};
use http::StatusCode;

/// What an access list is about.
enum Subject {
    Bucket(String),
    Object(version::Subject),
}

impl Subject {
    fn parse(request: &Request) -> Outcome<Self> {
        if request.key.is_empty() {
            Ok(Self::Bucket(request.bucket.clone()))
        } else {
            version::Subject::parse(request).map(Self::Object)
        }
    }

    async fn check_exists(&self, desk: &Desk) -> Outcome<()> {
        match self {
            Self::Bucket(bucket) => drop(desk.store.bucket(bucket).await?),
            Self::Object(object) => drop(object.find(desk).await?),
        }
        Ok(())
    }
}

pub(super) struct Get(Subject);

impl Operate for Get {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        Subject::parse(request).map(Self)
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        self.0.check_exists(desk).await
    }

    fn render((): (), settings: &FrontSettings) -> Reply {
        let owner = &settings.owner;
        let mut root = Element::in_namespace("AccessControlPolicy");
        root.child("Owner", |element| {
            element.text("ID", owner).text("DisplayName", owner);
        });
        root.child("AccessControlList", |list| {
            list.child("Grant", |grant| {
                let kind = " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
                            xsi:type=\"CanonicalUser\"";
                grant.child_with("Grantee", kind, |grantee| {
                    grantee.text("ID", owner).text("DisplayName", owner);
                });
                grant.text("Permission", "FULL_CONTROL");
            });
        });
        Reply::document(root.document())
    }
}

/// Takes what changes nothing, refuses the rest.
pub(super) struct Put {
    subject: Subject,
    /// The list, if the answer depends on one.
    list: Outcome<Option<Envelope>>,
}

impl Operate for Put {
    type Done = ();

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let subject = Subject::parse(request)?;
        Ok(Self { subject, list: list(request) })
    }

    async fn run(self, desk: &Desk) -> Outcome<()> {
        // Before the list is asked for: a client that waits to be told to go on is told so for
        // what is there alone.
        self.subject.check_exists(desk).await?;
        match self.list? {
            None => Ok(()),
            Some(envelope) => check_list(envelope, desk).await,
        }
    }

    fn render((): (), _: &FrontSettings) -> Reply {
        Reply::empty(StatusCode::OK)
    }
}

fn list(request: &mut Request) -> Outcome<Option<Envelope>> {
    metadata::refuse_unsupported(&request.headers)?;
    match request.header("x-amz-acl") {
        Some(_) => Ok(None),
        None => request.envelope().map(Some),
    }
}

async fn check_list(envelope: Envelope, desk: &Desk) -> Outcome<()> {
    let mut held = desk.allowances.documents.nothing();
    let document = envelope.open(&mut held).await?;
    if document.is_blank() {
        return Err(Failure::new(Code::MissingRequestBody, "Request body is empty"));
    }
    let owner = desk.settings.owner.clone();
    let check = move |root: &Node<'_>| {
        let are_owners = are_owners(root, &owner).map_err(|_| Code::MalformedAcl)?;
        if are_owners { Ok(()) } else { Err(Code::AccessControlListNotSupported.into()) }
    };
    document.read(Code::MalformedAcl, check).await
}

/// Whether all grants of a list are that the owner owns.
fn are_owners(root: &Node<'_>, owner: &str) -> Result<bool, Malformed> {
    let list = root.named("AccessControlPolicy")?.child("AccessControlList")?.ok_or(Malformed)?;
    for grant in list.all("Grant") {
        let grantee = grant.child("Grantee")?.ok_or(Malformed)?;
        let is_owner = grantee.text_of("ID")? == Some(owner);
        if grant.text_of("Permission")? != Some("FULL_CONTROL") || !is_owner {
            return Ok(false);
        }
    }
    Ok(true)
}
