//! Puts a script to an implementation and to the model.

use super::make::{bucket, object, part, stripe, upload};
use super::script::{Action, Key, Material, Step, Wish};
use crate::{
    Audited, Catalog, CatalogError, Change, Condition, Leftover, ListingRequest, Model, Quota,
    State, Stripe,
};
use futures::future::join_all;
use ripstop_model::{NodeId, StripeId};
use std::fmt::Debug;

/// Asked for where everything is wanted.
const ALL: usize = 100_000;

/// Follows the script, `together` changes at a time, and compares the implementation's answers with
/// the model's. Changes made together are in one another's way as far as the
/// implementation lets them, but take effect in their order.
///
/// Gives back the model as it is in the end.
///
/// # Panics
///
/// At the first answer that differs.
pub async fn follow(catalog: &dyn Audited, steps: &[Step], together: usize) -> Model {
    let model = Model::default();
    let mut writer = Writer::default();
    for steps in steps.chunks(together.max(1)) {
        let mut expected = Vec::new();
        let mut answers = Vec::new();
        for step in steps {
            writer.now_ms += u64::from(step.after_ms);
            let change = writer.change(&model.state(), &step.action);
            if let Some(change) = change {
                let applied = model.apply(writer.now_ms, &change).map_err(CatalogError::from);
                expected.push((change.clone(), shown(&applied)));
                answers.push(catalog.commit_one(writer.now_ms, change));
            }
        }
        let answers = join_all(answers).await;
        for ((change, expected), answer) in expected.iter().zip(&answers) {
            assert_eq!(shown(answer), *expected, "answer to {change:?}");
        }
        for step in steps {
            match &step.action {
                Action::List(request) => compare_list(catalog, &model, request).await,
                Action::Uploads(request) => compare_uploads(catalog, &model, request).await,
                Action::CreateBucket { .. }
                | Action::DeleteBucket { .. }
                | Action::Put { .. }
                | Action::Delete { .. }
                | Action::CreateUpload { .. }
                | Action::PutPart { .. }
                | Action::Complete { .. }
                | Action::Abort { .. }
                | Action::Discard { .. }
                | Action::Place { .. }
                | Action::Forget { .. }
                | Action::Move { .. }
                | Action::ForgetLeftover { .. }
                | Action::Name { .. } => {}
            }
        }
    }
    compare(catalog, &model).await;
    model
}

/// Compares everything readable with the model, and audits.
///
/// # Panics
///
/// Where something differs, or the audit is not clean.
pub async fn compare(catalog: &dyn Audited, model: &Model) {
    let state = model.state().clone();
    let same = |what: &str, one: String, other: String| assert_eq!(one, other, "{what}");
    same("buckets", shown(&catalog.buckets("", ALL).await), shown(&model.buckets("", ALL).await));
    same("nodes", shown(&catalog.nodes().await), shown(&model.nodes().await));
    same("usages", shown(&catalog.usages("", ALL).await), shown(&model.usages("", ALL).await));
    for name in state.buckets.keys() {
        same("usage", shown(&catalog.usage(name).await), shown(&model.usage(name).await));
        let usages = catalog.usages(name, 1).await;
        same("next usage", shown(&usages), shown(&model.usages(name, 1).await));
        same("bucket", shown(&catalog.bucket(name).await), shown(&model.bucket(name).await));
        let request = super::listing_of(name);
        compare_list(catalog, model, &request).await;
        compare_uploads(catalog, model, &request).await;
        paged(catalog, &request).await;
    }
    for (name, key) in state.objects.keys() {
        same(
            "object",
            shown(&catalog.object(name, key).await),
            shown(&model.object(name, key).await),
        );
    }
    for id in state.uploads.keys() {
        same("upload", shown(&catalog.upload(id).await), shown(&model.upload(id).await));
        for (after, max) in [(0, ALL), (1, 1), (0, 0), (u16::MAX, ALL)] {
            let parts = catalog.parts(id, after, max).await;
            same("parts", shown(&parts), shown(&model.parts(id, after, max).await));
        }
    }
    let zero = StripeId(0);
    let middle = state.stripes.keys().nth(state.stripes.len() / 2).copied().unwrap_or(zero);
    for (after, max) in [(zero, ALL), (middle, 2)] {
        let stripes = catalog.stripes_after(after, max).await;
        same("stripes", shown(&stripes), shown(&model.stripes_after(after, max).await));
        for due_ms in [u64::MAX, state.garbage.values().map(|(due, _)| *due).max().unwrap_or(0)] {
            let garbage = catalog.garbage(due_ms, after, max).await;
            same("garbage", shown(&garbage), shown(&model.garbage(due_ms, after, max).await));
        }
    }
    let ids: Vec<StripeId> = state.stripes.keys().chain(state.garbage.keys()).copied().collect();
    same("stripes", shown(&catalog.stripes(&ids).await), shown(&model.stripes(&ids).await));
    for id in ids {
        same("garbage", shown(&catalog.is_garbage(id).await), shown(&model.is_garbage(id).await));
    }
    compare_leftovers(catalog, model, &state).await;
    let audit = catalog.audit().await.expect("the audit runs");
    assert!(audit.is_clean(), "{:?}", audit.findings);
    assert_eq!(audit.objects, state.objects.len() as u64);
    assert_eq!(audit.stripes, state.stripes.len() as u64);
    assert_eq!(audit.garbage, state.garbage.len() as u64);
}

async fn compare_leftovers(catalog: &dyn Audited, model: &Model, state: &State) {
    let middle = state.leftovers.keys().nth(state.leftovers.len() / 2).copied();
    let latest = state.leftovers.values().max().copied().unwrap_or(0);
    for (after, max) in [(None, ALL), (middle, 2)] {
        for due_ms in [u64::MAX, latest] {
            let is = catalog.leftovers(due_ms, after, max).await;
            let should = model.leftovers(due_ms, after, max).await;
            assert_eq!(shown(&is), shown(&should), "leftovers");
        }
    }
    for (id, stripe) in &state.stripes {
        let nodes = (0..).zip(&stripe.nodes).filter_map(|(index, node)| Some((index, (*node)?)));
        for (index, node) in nodes {
            let copy = Leftover { stripe: *id, index, node: NodeId(node) };
            assert!(!catalog.is_leftover(copy).await.expect("read"), "{copy:?} is in force");
        }
    }
    for copy in state.leftovers.keys() {
        assert!(catalog.is_leftover(*copy).await.expect("read"), "{copy:?}");
    }
}

async fn compare_list(catalog: &dyn Audited, model: &Model, request: &ListingRequest) {
    let (is, should) = (catalog.list(request).await, model.list(request).await);
    assert_eq!(shown(&is), shown(&should), "listing {request:?}");
}

async fn compare_uploads(catalog: &dyn Audited, model: &Model, request: &ListingRequest) {
    let (is, should) = (catalog.uploads(request).await, model.uploads(request).await);
    assert_eq!(shown(&is), shown(&should), "uploads {request:?}");
}

/// Pages of one, followed by `next`, give what one page of all gives.
async fn paged(catalog: &dyn Audited, all: &ListingRequest) {
    for delimiter in ["", "/", "--"] {
        let all = ListingRequest { delimiter: delimiter.into(), ..all.clone() };
        let mut request = ListingRequest { max: 1, ..all.clone() };
        let (mut keys, mut prefixes) = (Vec::new(), Vec::new());
        loop {
            let page = catalog.list(&request).await.expect("the bucket is there");
            keys.extend(page.objects);
            prefixes.extend(page.prefixes);
            let Some(next) = page.next else { break };
            request.after = next;
        }
        let whole = catalog.list(&all).await.expect("the bucket is there");
        assert_eq!((keys, prefixes), (whole.objects, whole.prefixes), "pages by {delimiter:?}");

        let mut request = ListingRequest { max: 1, ..all.clone() };
        let (mut uploads, mut prefixes) = (Vec::new(), Vec::new());
        loop {
            let page = catalog.uploads(&request).await.expect("the bucket is there");
            uploads.extend(page.uploads);
            prefixes.extend(page.prefixes);
            let Some(next) = page.next else { break };
            request.after = next;
            request.after_upload = page.next_upload.unwrap_or_default();
        }
        let whole = catalog.uploads(&all).await.expect("the bucket is there");
        assert_eq!((uploads, prefixes), (whole.uploads, whole.prefixes), "pages by {delimiter:?}");
    }
}

fn shown(answer: &impl Debug) -> String {
    format!("{answer:?}")
}

/// Turns actions into changes.
#[derive(Default)]
struct Writer {
    now_ms: u64,
    /// How many stripes were ever made: their ids are 1, 2, …
    made: u128,
}

/// What a [`Material`] turns into.
struct Made {
    named: Vec<u128>,
    told_by: u128,
    brought: Vec<(StripeId, Stripe)>,
}

impl Writer {
    fn fresh(&mut self) -> u128 {
        self.made += 1;
        self.made
    }

    fn ever(&self, pick: u8) -> u128 {
        u128::from(pick) % self.made.max(1) + 1
    }

    fn make(&mut self, material: &Material) -> Made {
        let again: Vec<u128> = material.again.iter().map(|pick| self.ever(*pick)).collect();
        let mut brought: Vec<u128> = (0..material.fresh).map(|_| self.fresh()).collect();
        let named = [brought.as_slice(), &again].concat();
        let told_by = match named.first() {
            Some(first) if material.told_by_first => *first,
            Some(_) | None => {
                brought.push(self.fresh());
                self.made
            }
        };
        if material.brings_again {
            brought.extend(again);
        }
        if material.brings_spare {
            brought.push(self.fresh());
        }
        let brought = brought.into_iter().map(|id| (StripeId(id), stripe())).collect();
        Made { named, told_by, brought }
    }

    fn change(&mut self, state: &State, action: &Action) -> Option<Change> {
        Some(match action {
            Action::CreateBucket { bucket: number, material } => {
                let Made { told_by, brought, .. } = self.make(material);
                let bucket = bucket(&format!("bucket{number}"), told_by);
                Change::CreateBucket { bucket, stripes: brought }
            }
            Action::DeleteBucket { bucket } => Change::DeleteBucket {
                name: format!("bucket{bucket}"),
                tombstone: None,
                stripes: vec![],
            },
            Action::Put { bucket, key, material, condition, quota } => {
                let (bucket, key) = place(state, *bucket, key);
                let condition = wished(state, &bucket, &key, *condition);
                let Made { named, told_by, brought } = self.make(material);
                let object = object(&format!("e{}", self.made % 5), &named, told_by);
                let quota = *quota;
                Change::PutObject { bucket, key, object, stripes: brought, condition, quota }
            }
            Action::Delete { bucket, key, condition } => {
                let (bucket, key) = place(state, *bucket, key);
                let condition = wished(state, &bucket, &key, *condition);
                Change::DeleteObject { bucket, key, condition, tombstone: None, stripes: vec![] }
            }
            Action::CreateUpload { bucket, key, id } => {
                let (bucket, key) = place(state, *bucket, key);
                Change::CreateUpload(upload(&format!("u{id}"), &bucket, &key))
            }
            Action::PutPart { upload, number, material, quota } => {
                let Made { named, brought, .. } = self.make(material);
                let part = part(u16::from(*number), &format!("p{}", self.made), &named);
                let (upload, quota) = (format!("u{upload}"), *quota);
                Change::PutPart { upload, part, stripes: brought, quota }
            }
            Action::Complete { upload, used, lies, material, condition, quota } => {
                let made = self.make(material);
                let (upload, used) = (format!("u{upload}"), (*used, *lies));
                complete(state, upload, used, made, *condition, *quota)
            }
            Action::Abort { upload } => Change::AbortUpload { upload: format!("u{upload}") },
            Action::Discard { material } => {
                Change::Discard { stripes: self.make(material).brought }
            }
            Action::Place { stripe, index, node } => Change::PlaceFragment {
                stripe: StripeId(self.ever(*stripe)),
                index: *index,
                node: node.map(NodeId),
            },
            Action::Forget { stripe } => {
                Change::ForgetGarbage { stripes: vec![StripeId(self.ever(*stripe))] }
            }
            Action::Move { stripe, index, to, is_stale } => {
                let stripe = StripeId(self.ever(*stripe));
                let found = state.stripes.get(&stripe).map(|found| found.nodes.clone());
                let mut nodes = found.unwrap_or_default();
                if *is_stale {
                    nodes.push(Some(77));
                }
                Change::MoveFragment { stripe, nodes, index: *index, to: NodeId(*to) }
            }
            Action::ForgetLeftover { pick } => {
                let mut all = state.leftovers.keys();
                let picked = all.nth(usize::from(*pick) % state.leftovers.len().max(1));
                Change::ForgetLeftovers { leftovers: picked.copied().into_iter().collect() }
            }
            Action::Name { node } => Change::NameNode { name: format!("node{node}") },
            Action::List(_) | Action::Uploads(_) => return None,
        })
    }
}

fn complete(
    state: &State,
    id: String,
    (used, lies): (u8, bool),
    made: Made,
    condition: Wish,
    quota: Quota,
) -> Change {
    let of_upload = state.parts.iter().filter(|((upload, _), _)| *upload == id);
    let chosen: Vec<_> = of_upload
        .map(|(_, part)| part)
        .filter(|part| used & (1 << part.number.min(7)) != 0)
        .collect();
    let mut parts: Vec<(u16, String)> =
        chosen.iter().map(|part| (part.number, part.etag.clone())).collect();
    if lies {
        parts.push((3, "other".into()));
    }
    let named: Vec<u128> =
        chosen.iter().flat_map(|part| &part.extents).map(|extent| extent.stripe.0).collect();
    let Made { told_by, brought: stripes, .. } = made;
    let condition = match state.uploads.get(&id) {
        Some(upload) => wished(state, &upload.bucket, &upload.key, condition),
        None => Condition::None,
    };
    let object = object("whole", &named, told_by);
    Change::CompleteUpload { upload: id, parts, object, stripes, condition, quota }
}

fn place(state: &State, bucket: u8, key: &Key) -> (String, String) {
    let bucket = format!("bucket{bucket}");
    let key = match key {
        Key::Named(key) => key.clone(),
        Key::Present(pick) => {
            let keys: Vec<&String> =
                state.objects.keys().filter(|(of, _)| *of == bucket).map(|(_, key)| key).collect();
            keys.get(usize::from(*pick) % keys.len().max(1))
                .map_or("a".into(), |key| (*key).clone())
        }
    };
    (bucket, key)
}

fn wished(state: &State, bucket: &str, key: &str, wish: Wish) -> Condition {
    let present = state.objects.get(&(bucket.to_owned(), key.to_owned()));
    match wish {
        Wish::None => Condition::None,
        Wish::Absent => Condition::Absent,
        Wish::Present => Condition::Present,
        Wish::EtagAsItIs => {
            Condition::Etag(present.map_or("none".into(), |it| it.attributes.etag.clone()))
        }
        Wish::EtagOther => Condition::Etag("other".into()),
        Wish::ToldByAsItIs => Condition::ToldBy(present.map_or(StripeId(0), |it| it.told_by)),
        Wish::ToldByOther => Condition::ToldBy(StripeId(0)),
    }
}

/// The changes of a script and when they are made, as they follow from one another.
pub fn changes(steps: &[Step]) -> Vec<(u64, Change)> {
    let model = Model::default();
    let mut writer = Writer::default();
    let mut changes = Vec::new();
    for step in steps {
        writer.now_ms += u64::from(step.after_ms);
        let change = writer.change(&model.state(), &step.action);
        if let Some(change) = change {
            // Refused ones belong to the script too.
            drop(model.apply(writer.now_ms, &change));
            changes.push((writer.now_ms, change));
        }
    }
    changes
}

/// Everything readable in one text: equal for catalogs that hold the same.
///
/// # Panics
///
/// If the catalog cannot be read.
pub async fn whole(catalog: &dyn Catalog) -> String {
    let zero = StripeId(0);
    let buckets = catalog.buckets("", ALL).await.expect("buckets");
    let mut whole = vec![
        shown(&catalog.nodes().await),
        shown(&catalog.stripes_after(zero, ALL).await),
        shown(&catalog.garbage(u64::MAX, zero, ALL).await),
        shown(&catalog.leftovers(u64::MAX, None, ALL).await),
        shown(&buckets),
        shown(&catalog.usages("", ALL).await),
    ];
    for bucket in buckets {
        let request = ListingRequest { max: ALL, ..super::listing_of(&bucket.name) };
        let listing = catalog.list(&request).await.expect("the bucket is there");
        for (key, _) in &listing.objects {
            whole.push(shown(&catalog.object(&bucket.name, key).await));
        }
        whole.push(shown(&listing));
        let uploads = catalog.uploads(&request).await.expect("the bucket is there").uploads;
        for upload in &uploads {
            whole.push(shown(&catalog.parts(&upload.id, 0, ALL).await));
        }
        whole.push(shown(&uploads));
    }
    whole.join("\n")
}
