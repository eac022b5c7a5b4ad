//! A decision reads nothing that was not named before: as over a network, where rows are fetched
//! first.

use super::State;
use crate::conformance::{changes, script};
use crate::{
    Account, Bucket, CatalogError, Change, GatewayId, GatewayRecord, Held, Lease, Object, Session,
    Tombstone, Upload, UploadedPart, Watermark,
};
use proptest::prelude::*;
use ripstop_model::{NodeId, StripeId};
use ripstop_object::{
    Absence, FoundRow, Named, Place, Rows, bucket_of, decide, versions_begin, versions_of,
};
use std::collections::BTreeSet;

/// Rows of which only those that were named are there to be read.
struct Fetched<'a> {
    state: &'a State,
    named: BTreeSet<Named<'a>>,
}

/// What is found where a row, or a range, is named.
fn found<'a>(state: &'a State, named: &Named<'a>) -> Vec<FoundRow<'a>> {
    let of = |place: &Place<'_>| (place.bucket.to_string(), place.key.to_string());
    match named {
        Named::Bucket(name) => state.buckets.get(*name).map(FoundRow::Bucket).into_iter().collect(),
        Named::Object(place) => {
            state.objects.get(&of(place)).map(FoundRow::Object).into_iter().collect()
        }
        Named::Tombstone(place) => {
            let found = state.tombstones.get(&of(place));
            found.map(|found| FoundRow::Tombstone(place.clone(), found)).into_iter().collect()
        }
        Named::Upload(id) => state.uploads.get(*id).map(FoundRow::Upload).into_iter().collect(),
        Named::Part(upload, number) => {
            let part = state.parts.get(&((*upload).to_owned(), *number));
            part.map(FoundRow::Part).into_iter().collect()
        }
        Named::Parts(upload) => {
            let parts = state.parts.iter().filter(|((of, _), _)| of == upload);
            parts.map(|(_, part)| FoundRow::Part(part)).collect()
        }
        Named::OutlivedBy(stripe) => {
            let outlived = state.outlived.iter().filter(|(id, _, _)| id == stripe);
            outlived.map(|(_, bucket, key)| FoundRow::Outlived(Place::new(bucket, key))).collect()
        }
        Named::Versions(bucket, key) => {
            let (space, begin) = (versions_of(bucket), versions_begin(key));
            let names =
                state.objects.keys().filter(|(of, name)| *of == space && name.starts_with(&begin));
            names.map(|(space, name)| FoundRow::Version(Place::new(space, name))).collect()
        }
        Named::Stripe(_)
        | Named::Outlived(..)
        | Named::Account(_)
        | Named::Node(_)
        | Named::Session(_)
        | Named::Watermark(_)
        | Named::Lease(_)
        | Named::Watermarks
        | Named::Gateways
        | Named::VouchedBefore
        | Named::Keys(_)
        | Named::Uploads(_)
        | Named::OutlivedAt(_)
        | Named::NodeCount
        | Named::Sessions => vec![],
    }
}

impl<'a> Fetched<'a> {
    fn for_changes(state: &'a State, changes: &'a [Change]) -> Self {
        let mut fetched = Self { state, named: BTreeSet::new() };
        let mut round: Vec<Named<'a>> = changes.iter().flat_map(Change::names).collect();
        let mut rounds = 0;
        while !round.is_empty() {
            rounds += 1;
            assert!(rounds <= 4, "too many rounds: {round:?}");
            round.retain(|named| fetched.named.insert(named.clone()));
            let found = round.iter().flat_map(|named| found(state, named));
            round = found.flat_map(FoundRow::names).collect();
        }
        fetched
    }

    fn must_have(&self, named: &Named<'_>) {
        assert!(self.named.contains(named), "{named:?} was not named");
    }
}

fn owned(at: &Place<'_>) -> Place<'static> {
    at.clone().into_owned()
}

impl Rows for Fetched<'_> {
    type Error = CatalogError;

    fn bucket(&self, name: &str) -> Result<Option<Bucket>, CatalogError> {
        self.must_have(&Named::Bucket(name));
        self.state.bucket(name)
    }

    fn object(&self, at: &Place<'_>, absence: Absence) -> Result<Option<Object>, CatalogError> {
        self.must_have(&Named::Object(owned(at)));
        self.state.object(at, absence)
    }

    fn tombstone(&self, at: &Place<'_>) -> Result<Option<Tombstone>, CatalogError> {
        self.must_have(&Named::Tombstone(owned(at)));
        self.state.tombstone(at)
    }

    fn stripe(&self, id: StripeId, absence: Absence) -> Result<Option<Held>, CatalogError> {
        self.must_have(&Named::Stripe(id));
        self.state.stripe(id, absence)
    }

    fn is_garbage(&self, id: StripeId) -> Result<bool, CatalogError> {
        self.must_have(&Named::Stripe(id));
        self.state.is_garbage(id)
    }

    fn is_outlived(&self, stripe: StripeId, at: &Place<'_>) -> Result<bool, CatalogError> {
        if !self.named.contains(&Named::OutlivedBy(stripe)) {
            self.must_have(&Named::Outlived(stripe, owned(at)));
        }
        self.state.is_outlived(stripe, at)
    }

    fn upload(&self, id: &str, absence: Absence) -> Result<Option<Upload>, CatalogError> {
        self.must_have(&Named::Upload(id));
        self.state.upload(id, absence)
    }

    fn part(&self, upload: &str, number: u16) -> Result<Option<UploadedPart>, CatalogError> {
        self.must_have(&Named::Part(upload, number));
        self.state.part(upload, number)
    }

    fn account(&self, bucket: &str) -> Result<Account, CatalogError> {
        self.must_have(&Named::Account(bucket));
        self.state.account(bucket)
    }

    fn node(&self, name: &str) -> Result<Option<NodeId>, CatalogError> {
        self.must_have(&Named::Node(name));
        self.state.node(name)
    }

    fn session(&self, session: Session) -> Result<Option<u64>, CatalogError> {
        self.must_have(&Named::Session(session));
        self.state.session(session)
    }

    fn watermark(&self, session: Session) -> Result<Option<Watermark>, CatalogError> {
        self.must_have(&Named::Watermark(session));
        Rows::watermark(self.state, session)
    }

    fn lease(&self, name: &str) -> Result<Option<Lease>, CatalogError> {
        self.must_have(&Named::Lease(name));
        self.state.lease(name)
    }

    fn gateways(&self) -> Result<Vec<(GatewayId, GatewayRecord)>, CatalogError> {
        self.must_have(&Named::Gateways);
        self.state.gateways()
    }

    fn watermarks(&self) -> Result<Vec<(Session, Watermark)>, CatalogError> {
        self.must_have(&Named::Watermarks);
        self.state.watermarks()
    }

    fn vouched_before(&self) -> Result<u64, CatalogError> {
        self.must_have(&Named::VouchedBefore);
        self.state.vouched_before()
    }

    fn versions(&self, bucket: &str, key: &str, max: usize) -> Result<Vec<String>, CatalogError> {
        self.must_have(&Named::Versions(bucket.into(), key.into()));
        self.state.versions(bucket, key, max)
    }

    fn keys(&self, bucket: &str, max: usize) -> Result<Vec<String>, CatalogError> {
        self.must_have(&Named::Keys(bucket_of(bucket)));
        self.state.keys(bucket, max)
    }

    fn uploads(&self, bucket: &str, max: usize) -> Result<Vec<(String, String)>, CatalogError> {
        self.must_have(&Named::Uploads(bucket));
        self.state.uploads(bucket, max)
    }

    fn parts(&self, upload: &str) -> Result<Vec<UploadedPart>, CatalogError> {
        self.must_have(&Named::Parts(upload));
        self.state.parts(upload)
    }

    fn outlived_by(&self, stripe: StripeId) -> Result<Vec<Place<'static>>, CatalogError> {
        self.must_have(&Named::OutlivedBy(stripe));
        self.state.outlived_by(stripe)
    }

    fn outlived_at(&self, at: &Place<'_>, max: usize) -> Result<Vec<StripeId>, CatalogError> {
        self.must_have(&Named::OutlivedAt(owned(at)));
        self.state.outlived_at(at, max)
    }

    fn node_count(&self) -> Result<u64, CatalogError> {
        self.must_have(&Named::NodeCount);
        self.state.node_count()
    }

    fn sessions(&self) -> Result<Vec<(Session, u64)>, CatalogError> {
        self.must_have(&Named::Sessions);
        self.state.sessions()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_read_that_was_not_named(steps in script(80), together in 1..20usize) {
        let changes: Vec<Change> = changes(&steps).into_iter().map(|(_, change)| change).collect();
        let mut state = State::default();
        for changes in changes.chunks(together) {
            let fetched = Fetched::for_changes(&state, changes);
            let (outcomes, writes) = decide(&fetched, 5, changes).expect("decided");
            let directly = decide(&state, 5, changes).expect("decided");
            prop_assert_eq!((&outcomes, &writes), (&directly.0, &directly.1));
            let mut next = state.clone();
            next.write(&writes);
            drop(writes);
            state = next;
        }
    }
}
