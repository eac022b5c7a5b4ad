//! Made-up sequences of changes and listings, over few names so that they often meet.

use crate::{ListingRequest, Quota, VersionId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// One thing to do, some milliseconds after the one before.
#[derive(Clone, Debug)]
pub struct Step {
    /// How long after.
    pub after_ms: u8,
    /// What.
    pub action: ScriptStep,
}

/// What to do. Small numbers choose among what there is at that moment.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each field stands for the field of the change of that name")]
pub enum ScriptStep {
    CreateBucket {
        bucket: u8,
        when: When,
        material: Material,
    },
    SetBucket {
        bucket: u8,
        document: Option<u8>,
        is_stale: bool,
        when: When,
        material: Material,
    },
    DeleteBucket {
        bucket: u8,
        told: Option<(When, Material)>,
    },
    Put {
        bucket: u8,
        key: Key,
        when: When,
        material: Material,
        condition: Wish,
        quota: Quota,
        version: VersionWish,
    },
    Delete {
        bucket: u8,
        key: Key,
        version: VersionWish,
        condition: Wish,
        told: Option<(When, Material)>,
    },
    Outlive {
        bucket: u8,
        key: Key,
        stripe: u8,
    },
    Bury {
        bucket: u8,
        key: Key,
        told: (When, Material),
    },
    CreateUpload {
        bucket: u8,
        key: Key,
        id: u8,
    },
    PutPart {
        upload: u8,
        number: u8,
        material: Material,
        quota: Quota,
    },
    Complete {
        upload: u8,
        used: u8,
        lies: bool,
        when: When,
        material: Material,
        condition: Wish,
        quota: Quota,
        version: VersionWish,
    },
    Abort {
        upload: u8,
    },
    Discard {
        material: Material,
    },
    Place {
        stripe: u8,
        index: u8,
        node: Option<u16>,
    },
    Forget {
        stripe: u8,
    },
    Move {
        stripe: u8,
        index: u8,
        to: u16,
        is_stale: bool,
    },
    ForgetLeftover {
        pick: u8,
    },
    Name {
        node: u8,
    },
    Gateway(Turn),
    List(ListingRequest),
    Versions(ListingRequest),
    Uploads(ListingRequest),
}

/// Which version is written to, in a bucket that keeps them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VersionWish {
    /// Whether it has an id, and not the null version.
    pub is_named: bool,
    /// Whether it is a delete marker.
    pub is_marker: bool,
}

/// What a gateway does among others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each stands for the change of that name")]
pub enum Turn {
    Watch { session: u8, back: u8, alive: u8 },
    Retire,
    Lease { name: u8, session: u8, lasts: u8 },
    Release { name: u8, session: u8 },
    Fenced { name: u8, epoch: u8, node: u8 },
    Beat { gateway: u8, epoch: u8, session: u8, claims: u8 },
}

/// Which stripes a holder names.
#[derive(Clone, Debug)]
pub struct Material {
    /// How many new ones it brings and names.
    pub fresh: u8,
    /// Which of those ever made it names again, whatever became of them.
    pub again: Vec<u8>,
    /// Whether it brings those too.
    pub brings_again: bool,
    /// Whether it is told by the first that it names, or by a new one.
    pub told_by_first: bool,
    /// Whether it brings one that it does not name.
    pub brings_spare: bool,
}

/// Which key.
#[derive(Clone, Debug)]
pub enum Key {
    /// This one.
    Named(String),
    /// One of the bucket's.
    Present(u8),
}

/// Which condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each stands for the condition of that name, met or not")]
pub enum Wish {
    None,
    Absent,
    Present,
    EtagAsItIs,
    EtagOther,
    ToldByAsItIs,
    ToldByOther,
    LatestAsItIs,
    LatestOther,
    SupersededAsItIs,
    AsTold,
}

/// With which stamp something is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// None.
    Untold,
    /// One that is later than all before.
    Now,
    /// One from some time before.
    Before,
    /// One of another session, later than all before.
    Elsewhere,
    /// One of another session, from some time before.
    ElsewhereBefore,
}

/// At most `steps_max` steps.
pub fn script(steps_max: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = (0..3u8, action()).prop_map(|(after_ms, action)| Step { after_ms, action });
    // Without buckets at the start, most of what follows would be refused.
    let begin = (0..2u8).map(|bucket| {
        let material = Material {
            fresh: 0,
            again: vec![],
            brings_again: false,
            told_by_first: false,
            brings_spare: false,
        };
        Step { after_ms: 1, action: ScriptStep::CreateBucket { bucket, when: When::Now, material } }
    });
    let begin: Vec<Step> = begin.collect();
    vec(step, 0..=steps_max).prop_map(move |steps| [begin.clone(), steps].concat())
}

/// Names and pieces of names in which prefixes, delimiters and odd bytes meet.
fn name() -> impl Strategy<Value = String> {
    let piece = select(vec!["a", "b", "/", "//", "-", "--", "\0", "\u{e9}", "\u{10ffff}", "/a"]);
    vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

fn key() -> impl Strategy<Value = Key> {
    // No key is empty: `after` could not name it.
    let named = name().prop_map(|name| if name.is_empty() { "a".into() } else { name });
    prop_oneof![named.prop_map(Key::Named), any::<u8>().prop_map(Key::Present)]
}

fn material() -> impl Strategy<Value = Material> {
    let again = prop_oneof![3 => Just(vec![]), 1 => vec(any::<u8>(), 1..3)];
    (0..3u8, again, prop::bool::weighted(0.2), any::<bool>(), prop::bool::weighted(0.1)).prop_map(
        |(fresh, again, brings_again, told_by_first, brings_spare)| Material {
            fresh,
            again,
            brings_again,
            told_by_first,
            brings_spare,
        },
    )
}

fn wish() -> impl Strategy<Value = Wish> {
    use Wish::{
        Absent, AsTold, EtagAsItIs, EtagOther, LatestAsItIs, LatestOther, None, Present,
        SupersededAsItIs, ToldByAsItIs, ToldByOther,
    };
    let others = vec![
        Absent,
        Present,
        EtagAsItIs,
        EtagOther,
        ToldByAsItIs,
        ToldByOther,
        LatestAsItIs,
        LatestOther,
        SupersededAsItIs,
        AsTold,
    ];
    prop_oneof![2 => Just(None), 1 => select(others)]
}

fn when() -> impl Strategy<Value = When> {
    use When::{Before, Elsewhere, ElsewhereBefore, Now, Untold};
    prop_oneof![7 => Just(Now), 2 => select(vec![Untold, Before, Elsewhere, ElsewhereBefore])]
}

fn told() -> impl Strategy<Value = (When, Material)> {
    (when(), material())
}

/// None mostly, or one that what was made here until then may well have reached.
fn quota() -> impl Strategy<Value = Quota> {
    let bytes = prop_oneof![Just(None), (0..20u64).prop_map(|tens| Some(tens * 10))];
    let objects = prop_oneof![Just(None), (0..6u64).prop_map(Some)];
    let tight = (bytes, objects).prop_map(|(bytes, objects)| Quota { bytes, objects });
    prop_oneof![2 => Just(Quota::NONE), 1 => tight]
}

fn request() -> impl Strategy<Value = ListingRequest> {
    let delimiter = select(vec!["", "/", "//", "-", "--", "a", "\0", "/a"]);
    let after_upload = select(vec!["", "u1", "u3"]);
    let max = prop_oneof![Just(1000usize), 0..5usize];
    (0..3u8, name(), delimiter, name(), after_upload, max).prop_map(
        |(bucket, prefix, delimiter, after, after_upload, max)| ListingRequest {
            bucket: format!("bucket{bucket}"),
            prefix,
            delimiter: delimiter.into(),
            after,
            after_upload: after_upload.into(),
            max,
        },
    )
}

/// The same of versions: behind one that may be there.
fn versions() -> impl Strategy<Value = ListingRequest> {
    let id = |when: u128| VersionId(when << 80).to_string();
    let after = prop_oneof![Just(String::new()), Just("null".into()), (0..60u128).prop_map(id)];
    (request(), after).prop_map(|(request, after)| ListingRequest {
        after_upload: if request.after.is_empty() { String::new() } else { after },
        ..request
    })
}

fn kept() -> impl Strategy<Value = VersionWish> {
    (any::<bool>(), prop::bool::weighted(0.2))
        .prop_map(|(is_named, is_marker)| VersionWish { is_named, is_marker })
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        2 => (1..5u8, any::<u8>(), 0..60u8)
            .prop_map(|(session, back, alive)| Turn::Watch { session, back, alive }),
        1 => Just(Turn::Retire),
        2 => (0..2u8, 1..4u8, 0..20u8)
            .prop_map(|(name, session, lasts)| Turn::Lease { name, session, lasts }),
        1 => (0..2u8, 1..4u8).prop_map(|(name, session)| Turn::Release { name, session }),
        1 => (0..2u8, 0..4u8, 0..20u8)
            .prop_map(|(name, epoch, node)| Turn::Fenced { name, epoch, node }),
        1 => (0..3u8, 0..4u8, 1..5u8, 0..3u8).prop_map(|(gateway, epoch, session, claims)| {
            Turn::Beat { gateway, epoch, session, claims }
        }),
    ]
}

fn action() -> impl Strategy<Value = ScriptStep> {
    let bucket = || 0..3u8;
    prop_oneof![
        2 => (bucket(), when(), material())
            .prop_map(|(bucket, when, material)| ScriptStep::CreateBucket { bucket, when, material }),
        2 => (bucket(), prop::option::of(0..3u8), prop::bool::weighted(0.2), when(), material())
            .prop_map(|(bucket, document, is_stale, when, material)| ScriptStep::SetBucket {
                bucket, document, is_stale, when, material
            }),
        1 => (bucket(), prop::option::of(told()))
            .prop_map(|(bucket, told)| ScriptStep::DeleteBucket { bucket, told }),
        12 => (bucket(), key(), when(), material(), wish(), quota(), kept()).prop_map(
            |(bucket, key, when, material, condition, quota, version)| ScriptStep::Put {
                bucket, key, when, material, condition, quota, version
            }
        ),
        5 => (bucket(), key(), wish(), prop::option::of(told()), kept()).prop_map(
            |(bucket, key, condition, told, version)| ScriptStep::Delete {
                bucket, key, version, condition, told
            }
        ),
        1 => (bucket(), key(), any::<u8>())
            .prop_map(|(bucket, key, stripe)| ScriptStep::Outlive { bucket, key, stripe }),
        1 => (bucket(), key(), told())
            .prop_map(|(bucket, key, told)| ScriptStep::Bury { bucket, key, told }),
        4 => (bucket(), key(), 0..5u8)
            .prop_map(|(bucket, key, id)| ScriptStep::CreateUpload { bucket, key, id }),
        6 => (0..5u8, 1..4u8, material(), quota()).prop_map(
            |(upload, number, material, quota)| ScriptStep::PutPart { upload, number, material, quota }
        ),
        3 => (
            (0..5u8, any::<u8>(), prop::bool::weighted(0.2)), when(), material(), wish(), quota(),
            kept()
        ).prop_map(
            |((upload, used, lies), when, material, condition, quota, version)| {
                ScriptStep::Complete {
                    upload, used, lies, when, material, condition, quota, version
                }
            }
        ),
        1 => (0..5u8).prop_map(|upload| ScriptStep::Abort { upload }),
        1 => material().prop_map(|material| ScriptStep::Discard { material }),
        2 => (any::<u8>(), 0..6u8, prop::option::of(0..4u16))
            .prop_map(|(stripe, index, node)| ScriptStep::Place { stripe, index, node }),
        3 => any::<u8>().prop_map(|stripe| ScriptStep::Forget { stripe }),
        3 => (any::<u8>(), 0..6u8, 0..4u16, prop::bool::weighted(0.2)).prop_map(
            |(stripe, index, to, is_stale)| ScriptStep::Move { stripe, index, to, is_stale }
        ),
        1 => any::<u8>().prop_map(|pick| ScriptStep::ForgetLeftover { pick }),
        1 => (0..4u8).prop_map(|node| ScriptStep::Name { node }),
        6 => turn().prop_map(ScriptStep::Gateway),
        5 => request().prop_map(ScriptStep::List),
        4 => versions().prop_map(ScriptStep::Versions),
        3 => request().prop_map(ScriptStep::Uploads),
    ]
}
