use super::{
    Desk, Operate, Outcome, Reply, Request,
    list::{ENTRY_MEMORY, KEY_FACTOR},
    object_lock::{may_bypass, wants_bypass},
    version::{Subject, VERSION_HEADER, show_version, version_of},
};
use crate::{
    FrontSettings,
    allowance::Held,
    condition::{bare_tag, failed},
    date,
    error::{Code, Failure},
    gate::Need,
    notification::{EventKind, Happened},
    uri,
    xml::{Element, Malformed, Node},
};
use futures::{StreamExt as _, stream};
use http::StatusCode;
use ripstop_access::S3Action;
use ripstop_catalog::{Condition, Object, ObjectVersion};
use ripstop_identity::Privilege;
use ripstop_store::Removed;

/// Most keys in one request.
const KEYS_MAX: usize = 1000;
/// Deletes of one request that run at once: they share transactions.
const DELETES_AT_ONCE: usize = 64;

/// What must hold of an object that is to be deleted.
#[derive(Debug, Default)]
struct Demands {
    etag: Option<String>,
    modified_s: Option<i64>,
    len: Option<u64>,
}

impl Demands {
    fn hold(&self, object: &Object) -> bool {
        let etag =
            self.etag.as_deref().is_none_or(|tag| tag == "*" || tag == object.attributes.etag);
        let modified =
            self.modified_s.is_none_or(|s| s == (object.modified_ms / 1000).cast_signed());
        etag && modified && self.len.is_none_or(|len| len == object.len)
    }

    /// The catalog's condition, with a look at the object where tags do not say it all.
    async fn condition(&self, desk: &Desk, subject: &Subject) -> Outcome<Condition> {
        if self.modified_s.is_none() && self.len.is_none() {
            return Ok(match self.etag.as_deref() {
                None => Condition::None,
                Some("*") => Condition::Present,
                Some(tag) => Condition::Etag(tag.to_owned()),
            });
        }
        let located = subject.find(desk).await?;
        if self.hold(&located.object) {
            let told_by = located.object.told_by;
            // Without a version, what the key stands for is meant, whatever is written.
            Ok(match subject.version {
                None => Condition::Latest(told_by),
                Some(_) => Condition::ToldBy(told_by),
            })
        } else {
            Err(failed("If-Match"))
        }
    }
}

pub(super) struct One {
    subject: Subject,
    named: Option<String>,
    demands: Demands,
    wants_bypass: bool,
}

impl Operate for One {
    /// With the name of the version, as it came.
    type Done = (Removed, Option<String>);

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let subject = Subject::parse(request)?;
        let date = request.header("x-amz-if-match-last-modified-time");
        let len = request.header("x-amz-if-match-size");
        let demands = Demands {
            etag: request.header("if-match").map(|tag| bare_tag(tag).to_owned()),
            modified_s: date.and_then(date::parse_http),
            len: len.and_then(|len| len.parse().ok()),
        };
        let named = request.query.get("versionId").map(str::to_owned);
        Ok(Self { subject, named, demands, wants_bypass: wants_bypass(request) })
    }

    async fn run(self, desk: &Desk) -> Outcome<(Removed, Option<String>)> {
        let Self { subject, named, demands, wants_bypass } = self;
        let bypass = may_bypass(desk, &subject.bucket, &subject.key, wants_bypass)?;
        Ok((delete(desk, &subject, &demands, bypass).await?, named))
    }

    fn render((removed, named): (Removed, Option<String>), _: &FrontSettings) -> Reply {
        let reply = Reply::empty(StatusCode::NO_CONTENT);
        let reply = match named {
            // What could be an id elsewhere is none here, and is handed back as it came.
            Some(named) if removed.version.is_some() => reply.with(VERSION_HEADER, &named),
            Some(_) | None => show_version(reply, removed.version),
        };
        if removed.is_marker { reply.with("x-amz-delete-marker", "true") } else { reply }
    }
}

/// One entry of a `Delete` document.
pub(super) struct Entry {
    key: String,
    version: Option<String>,
    demands: Demands,
}

fn entry(node: &Node<'_>) -> Result<Entry, Malformed> {
    let filled = |name: &str| Ok(node.text_of(name)?.filter(|text| !text.is_empty()));
    let key = filled("Key")?.ok_or(Malformed)?;
    let demands = Demands {
        etag: filled("ETag")?.map(|tag| bare_tag(tag).to_owned()),
        modified_s: filled("LastModifiedTime")?.and_then(date::parse_http),
        len: filled("Size")?.and_then(|len| len.parse().ok()),
    };
    Ok(Entry { key: key.to_owned(), version: filled("VersionId")?.map(str::to_owned), demands })
}

/// What a `Delete` document asks for, and whether only what fails is to be told.
fn entries(root: &Node<'_>) -> Outcome<(Vec<Entry>, bool)> {
    let nodes: Vec<_> = root.named("Delete")?.all("Object").take(KEYS_MAX + 1).collect();
    if nodes.is_empty() || nodes.len() > KEYS_MAX {
        return Err(Malformed.into());
    }
    let entries = nodes.into_iter().map(entry).collect::<Result<_, Malformed>>()?;
    let quiet = root.text_of("Quiet")?.unwrap_or_default();
    Ok((entries, quiet.trim().eq_ignore_ascii_case("true")))
}

pub(super) struct Many {
    bucket: String,
    entries: Vec<Entry>,
    /// Only what fails is to be told.
    quiet: bool,
    wants_bypass: bool,
}

/// What came of each entry.
pub(super) struct Outcomes {
    each: Vec<(Entry, Outcome<Removed>)>,
    quiet: bool,
    held: Held,
}

impl Operate for Many {
    type Done = Outcomes;

    async fn parse(request: &mut Request) -> Outcome<Self> {
        let document = request.vouched_document().await?;
        let (entries, quiet) = document.read(Code::MalformedXml, entries).await?;
        let wants_bypass = wants_bypass(request);
        Ok(Self { bucket: request.bucket.clone(), entries, quiet, wants_bypass })
    }

    async fn run(self, desk: &Desk) -> Outcome<Outcomes> {
        let Self { bucket, entries, quiet, wants_bypass } = self;
        desk.store.bucket(&bucket).await?;
        // Before anything is deleted: an answer that there is no memory for would be missed.
        let echoed =
            |entry: &Entry| entry.key.len() + entry.version.as_ref().map_or(0, String::len);
        let answered = entries.iter().map(|entry| echoed(entry) * KEY_FACTOR + ENTRY_MEMORY);
        let held = desk.allowances.pages.take(answered.sum()).await?;
        let bucket = &bucket;
        let deletes = entries.into_iter().map(|entry| async move {
            let outcome = delete_entry(desk, bucket, &entry, wants_bypass).await;
            (entry, outcome)
        });
        let each = stream::iter(deletes).buffered(DELETES_AT_ONCE).collect().await;
        Ok(Outcomes { each, quiet, held })
    }

    fn render(done: Outcomes, _: &FrontSettings) -> Reply {
        let Outcomes { each, quiet, held } = done;
        let mut result = Element::in_namespace("DeleteResult");
        for (entry, outcome) in each {
            match outcome {
                Ok(_) if quiet => {}
                Ok(removed) => {
                    result.child("Deleted", |deleted| show(&entry, &removed, deleted));
                }
                Err(failure) => {
                    result.child("Error", |error| {
                        error.text("Key", &entry.key);
                        error.optional("VersionId", entry.version.as_deref());
                        error.text("Code", failure.code.word()).text("Message", &failure.message);
                    });
                }
            }
        }
        Reply::page(result.document(), held)
    }
}

fn show(entry: &Entry, removed: &Removed, deleted: &mut Element) {
    deleted.text("Key", &entry.key);
    deleted.optional("VersionId", entry.version.as_deref());
    if let Some(version) = removed.version.filter(|_| removed.is_marker) {
        deleted.value("DeleteMarker", true).value("DeleteMarkerVersionId", version);
    } else if entry.version.is_some() {
        // What was deleted for good was none.
        deleted.value("DeleteMarker", false);
    }
}

/// What it takes to delete a key, or a version of it.
fn of_deletion(of_version: bool) -> Vec<S3Action> {
    let name = if of_version { "DeleteObjectVersion" } else { "DeleteObject" };
    S3Action::named(name).into_iter().collect()
}

async fn delete_entry(
    desk: &Desk,
    bucket: &str,
    entry: &Entry,
    wants_bypass: bool,
) -> Outcome<Removed> {
    desk.gate.check(&Need {
        actions: of_deletion(entry.version.is_some()),
        privilege: Privilege::Write,
        bucket: bucket.to_owned(),
        key: Some(entry.key.clone()),
        looks: false,
    })?;
    uri::check_key(&entry.key)?;
    let bypass = may_bypass(desk, bucket, &entry.key, wants_bypass)?;
    let version = entry.version.as_deref().map(|text| version_of(text, "VersionId"));
    let version = version.transpose().map_err(|_| Failure::from(Code::NoSuchVersion))?;
    let subject = Subject { bucket: bucket.to_owned(), key: entry.key.clone(), version };
    delete(desk, &subject, &entry.demands, bypass).await
}

/// What a deletion came to, if it changed anything.
fn happened(is_of_version: bool, removed: &Removed) -> Option<EventKind> {
    if removed.is_marker && !is_of_version {
        return Some(EventKind::Marker);
    }
    removed.object.is_some().then_some(EventKind::Delete)
}

/// What is not there is deleted already, whatever was demanded of it.
async fn delete(
    desk: &Desk,
    subject: &Subject,
    demands: &Demands,
    bypass: bool,
) -> Outcome<Removed> {
    let Subject { bucket, key, version } = subject;
    let deleted = async {
        let condition = demands.condition(desk, subject).await?;
        let removed = match version {
            None => desk.store.delete(bucket, key, condition).await?,
            Some(version) => {
                desk.store.delete_version(bucket, key, *version, condition, bypass).await?
            }
        };
        if let Some(kind) = happened(version.is_some(), &removed) {
            let id = removed.version.filter(|version| *version != ObjectVersion::Null);
            let version = id.map(|id| id.to_string());
            let happened = || Happened { kind, key: key.clone(), object: None, version };
            desk.tell(bucket, happened).await;
        }
        Ok(removed)
    };
    match deleted.await {
        Err(Failure { code: Code::NoSuchKey | Code::NoSuchVersion, .. }) => Ok(Removed::default()),
        outcome => outcome,
    }
}
