//! Turns scripts into changes.

use super::make::{bucket, object, part, stripe, upload};
use super::script::{Key, Material, ScriptStep, Step, Turn, VersionWish, When, Wish};
use crate::{
    Change, Condition, GatewayClaim, GatewayId, GatewayRecord, Model, Object, Quota, Session,
    Stamp, State, Stripe, Tombstone, VersionId, Versioning, version_name, versions_of,
};
use ripstop_model::{NodeId, StripeId};
use ripstop_object::Place;

/// Turns actions into changes.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) now_ms: u64,
    /// How many stripes were ever made: their ids are 1, 2, …
    made: u128,
    /// How many stamps were ever taken.
    taken: u64,
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

    /// The stamp of something told by a stripe.
    fn stamp(&mut self, told_by: u128, when: When) -> Option<Stamp> {
        self.taken += 1;
        let (when, session) = match when {
            When::Untold => return None,
            When::Now => (self.taken, 0),
            When::Before => (self.taken / 2, 0),
            When::Elsewhere => (self.taken, 1),
            When::ElsewhereBefore => (self.taken / 2, 1),
        };
        // The session of the small names of stripes here is 0.
        let stripe = StripeId(told_by).0 | Session(session).name(0, 0).0;
        Some(Stamp { when: when << 16, stripe: StripeId(stripe) })
    }

    /// What tells of a deletion, and the stripes that come with it.
    fn tombstone(
        &mut self,
        told: Option<&(When, Material)>,
    ) -> (Option<Tombstone>, Vec<(StripeId, Stripe)>) {
        let Some((when, material)) = told else { return (None, vec![]) };
        let Made { told_by, brought, .. } = self.make(material);
        let stamp = self.stamp(told_by, *when).unwrap_or_else(|| Stamp::of(StripeId(told_by)));
        let told_by = StripeId(told_by);
        (Some(Tombstone { stamp, told_by, ..Tombstone::default() }), brought)
    }

    fn object(&mut self, when: When, material: &Material) -> (Object, Vec<(StripeId, Stripe)>) {
        let Made { named, told_by, brought } = self.make(material);
        let stamp = self.stamp(told_by, when);
        let object = object(&format!("e{}", self.made % 5), &named, told_by);
        (Object { stamp, ..object }, brought)
    }

    fn turn(&self, turn: &Turn) -> Change {
        match turn {
            Turn::Watch { session, back, alive } => Change::Watch {
                session: Session(u32::from(*session)),
                least: StripeId(self.made.saturating_sub(u128::from(*back))),
                alive_until_ms: self.now_ms + u64::from(*alive),
            },
            Turn::Retire => Change::Retire,
            Turn::Lease { name, session, lasts } => Change::Lease {
                name: format!("lease{name}"),
                holder: Session(u32::from(*session)),
                until_ms: self.now_ms + u64::from(*lasts),
            },
            Turn::Fenced { name, epoch, node } => Change::Fenced {
                lease: format!("lease{name}"),
                epoch: u64::from(*epoch),
                change: Box::new(Change::NameNode { name: format!("node{node}") }),
            },
            Turn::Beat { gateway, epoch, session, claims } => {
                let claim = |number| GatewayClaim {
                    of: format!("lanes {number}"),
                    wanted: u64::from(number) * 300,
                    taken: u64::from(*session),
                };
                Change::Beat {
                    id: GatewayId(u64::from(*gateway)),
                    gateway: GatewayRecord {
                        epoch: u64::from(*epoch),
                        beat: self.taken,
                        beat_ms: self.now_ms,
                        session: Session(u32::from(*session)),
                        address: format!("127.0.0.1:{gateway}"),
                        claims: (0..*claims).map(claim).collect(),
                        ..GatewayRecord::default()
                    },
                }
            }
            Turn::Release { name, session } => Change::Release {
                name: format!("lease{name}"),
                holder: Session(u32::from(*session)),
            },
        }
    }

    #[expect(clippy::too_many_lines, reason = "an arm for each action, most of three lines")]
    pub(super) fn change(&mut self, state: &State, action: &ScriptStep) -> Option<Change> {
        Some(match action {
            ScriptStep::CreateBucket { bucket: number, when, material } => {
                let Made { told_by, brought, .. } = self.make(material);
                let mut bucket = bucket(&format!("bucket{number}"), told_by);
                bucket.stamp = self.stamp(told_by, *when);
                bucket.versioning = versioning(*number);
                Change::CreateBucket { bucket, stripes: brought }
            }
            ScriptStep::SetBucket { bucket: number, document, is_stale, when, material } => {
                let Made { told_by, brought, .. } = self.make(material);
                let mut bucket = bucket(&format!("bucket{number}"), told_by);
                bucket.stamp = self.stamp(told_by, *when);
                bucket.versioning = versioning(*number);
                let present = state.buckets.get(&bucket.name);
                let was = present.filter(|_| !is_stale).map_or(StripeId(0), |it| it.told_by);
                let documents = present.map(|it| it.documents.clone()).unwrap_or_default();
                let document = document.map(|number| format!("document {number}"));
                bucket.documents = documents.with("name", document);
                Change::SetBucket { bucket, was, stripes: brought }
            }
            ScriptStep::DeleteBucket { bucket, told } => {
                let (tombstone, stripes) = self.tombstone(told.as_ref());
                Change::DeleteBucket { name: format!("bucket{bucket}"), tombstone, stripes }
            }
            ScriptStep::Put { bucket, key, when, material, condition, quota, version } => {
                let kept = kept(*bucket, *version);
                let (mut object, stripes) = self.object(*when, material);
                object.is_marker = kept.is_marker;
                let (bucket, key) = version_place(state, *bucket, key, kept, object.stamp());
                let condition = wished(state, &bucket, &key, *condition);
                Change::PutObject { bucket, key, object, stripes, condition, quota: *quota }
            }
            ScriptStep::Delete { bucket, key, version, condition, told } => {
                let (kept, taken) =
                    (kept(*bucket, *version), Stamp { when: self.taken << 16, ..Stamp::default() });
                let (bucket, key) = version_place(state, *bucket, key, kept, taken);
                let condition = wished(state, &bucket, &key, *condition);
                let (tombstone, stripes) = self.tombstone(told.as_ref());
                let release = crate::Release::default();
                Change::DeleteObject { bucket, key, condition, release, tombstone, stripes }
            }
            ScriptStep::Outlive { bucket, key, stripe: pick } => {
                let (bucket, key) = place(state, *bucket, key);
                let stripe = (StripeId(self.ever(*pick)), stripe());
                Change::Outlive { bucket, key, stripe }
            }
            ScriptStep::Bury { bucket, key, told } => {
                let (bucket, key) = place(state, *bucket, key);
                let (tombstone, stripes) = self.tombstone(Some(told));
                let tombstone = tombstone.expect("it is told");
                Change::Bury { bucket, key, tombstone, stripes }
            }
            ScriptStep::CreateUpload { bucket, key, id } => {
                let (bucket, key) = place(state, *bucket, key);
                Change::CreateUpload(upload(&format!("u{id}"), &bucket, &key))
            }
            ScriptStep::PutPart { upload, number, material, quota } => {
                let Made { named, brought, .. } = self.make(material);
                let part = part(u16::from(*number), &format!("p{}", self.made), &named);
                let (upload, quota) = (format!("u{upload}"), *quota);
                Change::PutPart { upload, part, stripes: brought, quota }
            }
            ScriptStep::Complete {
                upload,
                used,
                lies,
                when,
                material,
                condition,
                quota,
                version,
            } => {
                let made = self.make(material);
                let stamp = self.stamp(made.told_by, *when);
                let (upload, used) = (format!("u{upload}"), (*used, *lies));
                complete(state, upload, used, (made, stamp, *version), *condition, *quota)
            }
            ScriptStep::Abort { upload } => Change::AbortUpload { upload: format!("u{upload}") },
            ScriptStep::Discard { material } => {
                Change::Discard { stripes: self.make(material).brought }
            }
            ScriptStep::Place { stripe, index, node } => Change::PlaceFragment {
                stripe: StripeId(self.ever(*stripe)),
                index: *index,
                node: node.map(NodeId),
            },
            ScriptStep::Forget { stripe } => {
                Change::ForgetGarbage { stripes: vec![StripeId(self.ever(*stripe))] }
            }
            ScriptStep::Move { stripe, index, to, is_stale } => {
                let stripe = StripeId(self.ever(*stripe));
                let nodes = nodes_of(state, stripe, *is_stale);
                Change::MoveFragment { stripe, nodes, index: *index, to: NodeId(*to) }
            }
            ScriptStep::ForgetLeftover { pick } => {
                let mut all = state.leftovers.keys();
                let picked = all.nth(usize::from(*pick) % state.leftovers.len().max(1));
                Change::ForgetLeftovers { leftovers: picked.copied().into_iter().collect() }
            }
            ScriptStep::Gateway(turn) => self.turn(turn),
            ScriptStep::Name { node } => Change::NameNode { name: format!("node{node}") },
            ScriptStep::List(_) | ScriptStep::Versions(_) | ScriptStep::Uploads(_) => return None,
        })
    }
}

/// Where a stripe's fragments are, or were before.
fn nodes_of(state: &State, stripe: StripeId, is_stale: bool) -> Vec<Option<u16>> {
    let mut nodes = state.stripes.get(&stripe).map(|held| held.stripe.nodes.clone());
    if is_stale {
        nodes.get_or_insert_default().push(Some(77));
    }
    nodes.unwrap_or_default()
}

fn complete(
    state: &State,
    id: String,
    (used, lies): (u8, bool),
    (made, stamp, version): (Made, Option<Stamp>, VersionWish),
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
    let object = Object { stamp, ..object("whole", &named, told_by) };
    let keeps = |name: &String| {
        let bucket = state.buckets.get(name);
        bucket.is_some_and(|bucket| bucket.versioning != Versioning::Never)
    };
    let upload = state.uploads.get(&id).filter(|it| version.is_named && keeps(&it.bucket));
    let version = upload.map(|upload| {
        let name = version_name(&upload.key, VersionId::of(object.stamp()));
        (versions_of(&upload.bucket), name)
    });
    Change::CompleteUpload { upload: id, parts, object, version, stripes, condition, quota }
}

/// How buckets of the script keep versions.
fn versioning(bucket: u8) -> Versioning {
    [Versioning::Never, Versioning::Enabled, Versioning::Suspended][usize::from(bucket) % 3]
}

fn kept(bucket: u8, wanted: VersionWish) -> VersionWish {
    if versioning(bucket) == Versioning::Never { VersionWish::default() } else { wanted }
}

/// Where a version is; a new one is named by its stamp.
fn version_place(
    state: &State,
    bucket: u8,
    key: &Key,
    kept: VersionWish,
    stamp: Stamp,
) -> (String, String) {
    if !kept.is_named {
        return place(state, bucket, key);
    }
    let space = versions_of(&format!("bucket{bucket}"));
    let name = match key {
        Key::Named(key) => version_name(key, VersionId::of(stamp)),
        Key::Present(pick) => {
            let names: Vec<&String> =
                state.objects.keys().filter(|(of, _)| *of == space).map(|(_, name)| name).collect();
            names
                .get(usize::from(*pick) % names.len().max(1))
                .map_or_else(|| version_name("a", VersionId::of(stamp)), |name| (*name).clone())
        }
    };
    (space, name)
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
    let place = Place::new(bucket, key);
    let of_key = place.version().map_or_else(|| key.to_owned(), |(key, _)| key);
    let latest = state.current(&place.bucket_name(), &of_key);
    let latest = latest.map(|latest| latest.object).filter(|latest| !latest.is_marker);
    match wish {
        Wish::AsTold => Condition::AsTold,
        Wish::None => Condition::None,
        Wish::Absent => Condition::Absent,
        Wish::Present => Condition::Present,
        Wish::LatestAsItIs => Condition::Latest(latest.map_or(StripeId(0), |it| it.told_by)),
        Wish::LatestOther => Condition::Latest(StripeId(0)),
        Wish::SupersededAsItIs => {
            Condition::Superseded(present.map_or(StripeId(0), |it| it.told_by))
        }
        Wish::EtagAsItIs => Condition::Etag(latest.map_or("none".into(), |it| it.attributes.etag)),
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
