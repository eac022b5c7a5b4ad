//! Puts a script to an implementation and to the model.

use super::script::{ScriptStep, Step};
use super::writer::Writer;
use crate::{Audited, Catalog, Leftover, ListingRequest, Model, State};
use ripstop_model::{NodeId, StripeId};
use ripstop_object::Place;
use std::collections::BTreeSet;
use std::fmt::Debug;

/// Asked for where everything is wanted.
const ALL: usize = 100_000;

/// Follows the script, `together` steps at a time, each with its changes in one commit, and
/// compares the implementation's answers with the model's.
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
        // What a change is made of is what those before it in the same commit leave.
        let ahead = Model::of(model.state().clone());
        let mut changes = Vec::new();
        for step in steps {
            writer.now_ms += u64::from(step.after_ms);
            let change = writer.change(&ahead.state(), &step.action);
            if let Some(change) = change {
                drop(ahead.apply(writer.now_ms, &change));
                changes.push(change);
            }
        }
        let expected = model.apply_all(writer.now_ms, &changes).expect("what it holds agrees");
        let answers = catalog.commit(writer.now_ms, changes.clone()).await.expect("committed");
        assert_eq!(answers.len(), changes.len());
        for ((change, expected), answer) in changes.iter().zip(&expected).zip(&answers) {
            assert_eq!(shown(answer), shown(expected), "answer to {change:?}");
        }
        for step in steps {
            match &step.action {
                ScriptStep::List(request) => compare_list(catalog, &model, request).await,
                ScriptStep::Versions(request) => compare_versions(catalog, &model, request).await,
                ScriptStep::Uploads(request) => compare_uploads(catalog, &model, request).await,
                ScriptStep::CreateBucket { .. }
                | ScriptStep::SetBucket { .. }
                | ScriptStep::DeleteBucket { .. }
                | ScriptStep::Put { .. }
                | ScriptStep::Delete { .. }
                | ScriptStep::CreateUpload { .. }
                | ScriptStep::PutPart { .. }
                | ScriptStep::Complete { .. }
                | ScriptStep::Abort { .. }
                | ScriptStep::Discard { .. }
                | ScriptStep::Place { .. }
                | ScriptStep::Forget { .. }
                | ScriptStep::Move { .. }
                | ScriptStep::ForgetLeftover { .. }
                | ScriptStep::Name { .. }
                | ScriptStep::Gateway(_)
                | ScriptStep::Outlive { .. }
                | ScriptStep::Bury { .. } => {}
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
    same("watermarks", shown(&catalog.watermarks().await), shown(&model.watermarks().await));
    same("gateways", shown(&catalog.gateways().await), shown(&model.gateways().await));
    for name in state.leases.keys() {
        same("lease", shown(&catalog.lease(name).await), shown(&model.lease(name).await));
    }
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
        compare_versions(catalog, model, &request).await;
        compare_uploads(catalog, model, &request).await;
        paged(catalog, &request).await;
    }
    for (name, key) in state.objects.keys() {
        same(
            "object",
            shown(&catalog.object(name, key).await),
            shown(&model.object(name, key).await),
        );
        let place = Place::new(name, key);
        let key = place.version().map_or_else(|| key.clone(), |(key, _)| key);
        let name = place.bucket_name();
        let (is, should) = (catalog.current(&name, &key).await, model.current(&name, &key).await);
        same("latest version", shown(&is), shown(&should));
        let both = (catalog.bucket_with(&name, &key).await, model.bucket_with(&name, &key).await);
        same("bucket with a key", shown(&both.0), shown(&both.1));
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
        for due_ms in [u64::MAX, state.garbage.values().map(|it| it.since_ms).max().unwrap_or(0)] {
            let garbage = catalog.garbage(due_ms, after, max).await;
            same("garbage", shown(&garbage), shown(&model.garbage(due_ms, after, max).await));
        }
    }
    let ids: Vec<StripeId> = state.stripes.keys().chain(state.garbage.keys()).copied().collect();
    same("stripes", shown(&catalog.stripes(&ids).await), shown(&model.stripes(&ids).await));
    same("held", shown(&catalog.held(&ids).await), shown(&model.held(&ids).await));
    for id in ids {
        same("garbage", shown(&catalog.is_garbage(id).await), shown(&model.is_garbage(id).await));
    }
    compare_leftovers(catalog, model, &state).await;
    compare_tellings(catalog, model, &state).await;
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
    for (id, held) in &state.stripes {
        let nodes =
            (0..).zip(&held.stripe.nodes).filter_map(|(index, node)| Some((index, (*node)?)));
        for (index, node) in nodes {
            let copy = Leftover { stripe: *id, index, node: NodeId(node) };
            assert!(!catalog.is_leftover(copy).await.expect("read"), "{copy:?} is in force");
        }
    }
    for copy in state.leftovers.keys() {
        assert!(catalog.is_leftover(*copy).await.expect("read"), "{copy:?}");
    }
}

async fn compare_tellings(catalog: &dyn Audited, model: &Model, state: &State) {
    let outlived = state.outlived.iter().map(|(_, bucket, key)| (bucket.clone(), key.clone()));
    let places = state.objects.keys().chain(state.tombstones.keys()).cloned().chain(outlived);
    for (bucket, key) in places.collect::<BTreeSet<_>>() {
        let at = (bucket.as_str(), key.as_str());
        let (is, should) = (catalog.tombstone(at.0, at.1).await, model.tombstone(at.0, at.1).await);
        assert_eq!(shown(&is), shown(&should), "tombstone of {at:?}");
        for (after, max) in [(StripeId(0), ALL), (StripeId(2), 1), (StripeId(u128::MAX), 1)] {
            let is = catalog.outlived_at(at, after, max).await;
            let should = model.outlived_at(at, after, max).await;
            assert_eq!(shown(&is), shown(&should), "outlived at {at:?}");
        }
    }
    for stripe in state.stripes.keys().chain(state.garbage.keys()) {
        for (after, max) in [(("", ""), ALL), (("bucket1", "a"), 1)] {
            let is = catalog.outlived_by(*stripe, after, max).await;
            let should = model.outlived_by(*stripe, after, max).await;
            assert_eq!(shown(&is), shown(&should), "outlived by {stripe}");
        }
    }
}

async fn compare_list(catalog: &dyn Audited, model: &Model, request: &ListingRequest) {
    let (is, should) = (catalog.list(request).await, model.list(request).await);
    assert_eq!(shown(&is), shown(&should), "listing {request:?}");
}

async fn compare_versions(catalog: &dyn Audited, model: &Model, request: &ListingRequest) {
    let (is, should) = (catalog.versions(request).await, model.versions(request).await);
    assert_eq!(shown(&is), shown(&should), "versions {request:?}");
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
        let (mut versions, mut prefixes) = (Vec::new(), Vec::new());
        loop {
            let page = catalog.versions(&request).await.expect("the bucket is there");
            versions.extend(page.versions);
            prefixes.extend(page.prefixes);
            let Some(next) = page.next else { break };
            request.after = next;
            request.after_upload = page.next_upload.unwrap_or_default();
        }
        let whole = catalog.versions(&all).await.expect("the bucket is there");
        assert_eq!(
            (versions, prefixes),
            (whole.versions, whole.prefixes),
            "pages by {delimiter:?}"
        );

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

/// Everything readable in one text: equal for catalogs that hold the same.
///
/// # Panics
///
/// If the catalog cannot be read.
pub async fn whole(catalog: &dyn Catalog) -> String {
    let zero = StripeId(0);
    let buckets = catalog.buckets("", ALL).await.expect("buckets");
    let stripes = catalog.stripes_after(zero, ALL).await.expect("stripes");
    let garbage = catalog.garbage(u64::MAX, zero, ALL).await.expect("garbage");
    let ids: Vec<StripeId> = stripes.iter().map(|(id, _)| *id).collect();
    let mut whole = vec![
        shown(&catalog.nodes().await),
        shown(&catalog.watermarks().await),
        shown(&stripes),
        shown(&catalog.held(&ids).await),
        shown(&garbage),
        shown(&catalog.leftovers(u64::MAX, None, ALL).await),
        shown(&buckets),
        shown(&catalog.usages("", ALL).await),
    ];
    for (id, _) in stripes.iter().chain(&garbage) {
        let outlived = catalog.outlived_by(*id, ("", ""), ALL).await.expect("what is outlived");
        for (bucket, key) in outlived {
            let tombstone = shown(&catalog.tombstone(&bucket, &key).await);
            whole.push(format!("{id} is outlived at {bucket}/{key}: {tombstone}"));
        }
    }
    for bucket in buckets {
        let request = ListingRequest { max: ALL, ..super::listing_of(&bucket.name) };
        let listing = catalog.list(&request).await.expect("the bucket is there");
        for (key, _) in &listing.objects {
            whole.push(shown(&catalog.object(&bucket.name, key).await));
        }
        whole.push(shown(&listing));
        let versions = catalog.versions(&request).await.expect("the bucket is there");
        for listed in &versions.versions {
            let place = Place::of_version(&bucket.name, &listed.key, listed.version);
            whole.push(shown(&catalog.object(&place.bucket, &place.key).await));
        }
        whole.push(shown(&versions));
        let uploads = catalog.uploads(&request).await.expect("the bucket is there").uploads;
        for upload in &uploads {
            whole.push(shown(&catalog.parts(&upload.id, 0, ALL).await));
        }
        whole.push(shown(&uploads));
    }
    whole.join("\n")
}
