use crate::{
    Bucket, GatewayId, GatewayRecord, Leftover, Object, Quota, Refusal, Release, Session, Stripe,
    Tombstone, Upload, UploadedPart,
};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::slice;
use ripstop_model::{NodeId, StripeId};

/// One atomic change. A catalog applies it whole or answers why not and changes nothing.
///
/// Stripes count the references that objects, parts and buckets (`told_by`) hold on them; whenever
/// a change lets go of the last one, the stripe leaves the table of stripes and enters the garbage,
/// due at the change's `now_ms`, in the same transaction. A holder holds each stripe that it names
/// once.
///
/// Stripes that come with a change ("new"): one that is in force already stays as it is, so several
/// objects of a pack may each bring it; the name of one that is garbage is refused with
/// `StripeGone`; one that nothing holds after the change becomes garbage at once, until a later
/// change of the same commit brings it again and holds it. Whatever the change's object, part or
/// bucket names (`told_by` too) must be new or in force: else `StripeGone`.
///
/// What is told of a key (an object, or with a tombstone that it was deleted) has a stamp. If that
/// is below the stamp of what the key stands for, or of its tombstone, the change was overtaken on
/// its way. Where both stamps are of one session and neither has a condition
/// ([`Stamp::is_decided`](crate::Stamp::is_decided)), it is applied as if it had come before
/// ([`Applied::superseded`](crate::Applied::superseded)); else it is refused with `Behind`, and so
/// is a bucket always.
///
/// When something stops being so, the stripe that told it is *outlived* there (unless it tells what
/// is so now too), until its fragments are forgotten as garbage. A tombstone stays, and holds its
/// stripe, until the key is put again, a later deletion is told, or no stripe is outlived there.
///
/// A version of a key that has an id is named by the space of versions of its bucket and its name
/// there ([`Place::of_version`](crate::Place::of_version)), and is a name like any other, with two
/// differences. A condition on what the key stands for is judged by the latest of all its versions,
/// where a delete marker counts as nothing. And a new version that is not the latest was overtaken
/// too: within a session, and without a condition, it takes its place behind the later ones, else
/// it is `Behind`.
///
/// Of several reasons to refuse a change, the first is answered: bucket or upload, then parts, then
/// condition, then `Behind`, then `Locked`, then quota, then stripes. A stripe that is new is
/// refused with `Retired` if the session that named it was given up ([`Change::Retire`]). A quota
/// is compared with what the bucket holds at the moment the change is applied: of changes that come
/// together, each counts what those before it have brought.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Makes a bucket; fails with `BucketExists`.
    CreateBucket {
        /// The bucket.
        bucket: Bucket,
        /// The stripe that tells of it, new.
        stripes: Vec<(StripeId, Stripe)>,
    },
    /// Makes a bucket other than it was, of the same name; fails with `NoSuchBucket`, with
    /// `ConditionFailed` if it is no longer told by `was` (somebody changed it since it was read),
    /// or with `DocumentsTooLong`.
    SetBucket {
        /// The bucket, as it is to be.
        bucket: Bucket,
        /// What told of it as it was.
        was: StripeId,
        /// The stripe that tells of it, new.
        stripes: Vec<(StripeId, Stripe)>,
    },
    /// Removes an empty bucket; fails with `NoSuchBucket` or `BucketNotEmpty` (objects or uploads).
    DeleteBucket {
        /// Its name.
        name: String,
        /// What tells of the deletion; `None` if nothing does.
        tombstone: Option<Tombstone>,
        /// The stripe that tells of it, new; several deletions may bring the same one.
        stripes: Vec<(StripeId, Stripe)>,
    },
    /// Makes `object` what the key stands for; fails with `NoSuchBucket`, or with `Locked` if
    /// something keeps another object that it would replace. Keys are never empty.
    PutObject {
        /// The bucket's name, or that of its space of versions.
        bucket: String,
        /// The key, or the version's name.
        key: String,
        /// The object.
        object: Object,
        /// Stripes that are new with it. Extents may also name stripes that exist (a copy).
        stripes: Vec<(StripeId, Stripe)>,
        /// What must hold of the key's present object.
        condition: Condition,
        /// How much the bucket may hold: else `QuotaExceeded`.
        quota: Quota,
    },
    /// Removes the key's object; absent keys are removed already unless the condition says other.
    /// Fails with `NoSuchBucket`, or with `Locked` if something keeps the object.
    DeleteObject {
        /// The bucket's name.
        bucket: String,
        /// The key.
        key: String,
        /// What must hold of the key's present object.
        condition: Condition,
        /// By what right, should something keep the object.
        release: Release,
        /// What tells of the deletion; `None` if nothing does.
        tombstone: Option<Tombstone>,
        /// The stripe that tells of it, new; several deletions may bring the same one.
        stripes: Vec<(StripeId, Stripe)>,
    },
    /// A stripe tells of a key what is no longer so (of a bucket, if the key is empty). If the
    /// stripe is neither in force nor garbage, it becomes garbage. One that tells what is so is
    /// left as it is.
    Outlive {
        /// The bucket's name.
        bucket: String,
        /// The key.
        key: String,
        /// The stripe.
        stripe: (StripeId, Stripe),
    },
    /// That a key's object was deleted, or a bucket if the key is empty, as it was told: kept
    /// unless the key stands for an object or was deleted later. A deletion of the same stamp is
    /// told by this stripe from now on.
    Bury {
        /// The bucket's name; it need not be there.
        bucket: String,
        /// The key.
        key: String,
        /// What tells of the deletion.
        tombstone: Tombstone,
        /// The stripe that tells of it, new.
        stripes: Vec<(StripeId, Stripe)>,
    },
    /// Begins an upload; fails with `NoSuchBucket`, or `ConditionFailed` if its id is in use.
    CreateUpload(Upload),
    /// Stores a part, replacing one of the same number; fails with `NoSuchUpload`.
    PutPart {
        /// The upload's id.
        upload: String,
        /// The part.
        part: UploadedPart,
        /// Stripes that are new with it.
        stripes: Vec<(StripeId, Stripe)>,
        /// How much the upload's bucket may hold: else `QuotaExceeded`.
        quota: Quota,
    },
    /// Ends an upload: removes it with all its parts, and puts the object. `parts` are the numbers
    /// and etags that the object was made of: if the upload no longer has one of them with that
    /// etag and with stripes that the object names, it fails with `PartChanged` and nothing
    /// changes. Parts that were not used are let go of. A second time, it fails with
    /// `NoSuchUpload`.
    CompleteUpload {
        /// The upload's id.
        upload: String,
        /// Number and etag of each part used.
        parts: Vec<(u16, String)>,
        /// The object; its extents are those of the parts.
        object: Object,
        /// If it is a version with an id: the space of versions of the upload's bucket, and the
        /// version's name there.
        version: Option<(String, String)>,
        /// The stripe that tells of it, new.
        stripes: Vec<(StripeId, Stripe)>,
        /// What must hold of the key's present object.
        condition: Condition,
        /// How much the upload's bucket may hold, its parts gone and the object there: else
        /// `QuotaExceeded`.
        quota: Quota,
    },
    /// Ends an upload and lets go of its parts; fails with `NoSuchUpload`.
    AbortUpload {
        /// The upload's id.
        upload: String,
    },
    /// Stripes that were written and will not be used: into the garbage with them. Those that are
    /// in force, or garbage already, stay as they are.
    Discard {
        /// The stripes.
        stripes: Vec<(StripeId, Stripe)>,
    },
    /// A fragment was stored, moved or lost. A stripe that is gone (or garbage) is left as it is.
    /// An index beyond the record's nodes makes them more. What was a leftover at that node is the
    /// fragment again.
    PlaceFragment {
        /// The stripe.
        stripe: StripeId,
        /// Which of its fragments.
        index: u8,
        /// Where it is now.
        node: Option<NodeId>,
    },
    /// A copy of a fragment was stored at another node, which is its place from now on; the copy
    /// where it was, if it was anywhere, is a [`Leftover`] from `now_ms` on, and one at the new
    /// node no longer is. Fails with `StripeGone` if the stripe is not in force, and with
    /// `ConditionFailed` if its fragments are no longer where they were as the copy was made.
    MoveFragment {
        /// The stripe.
        stripe: StripeId,
        /// Where its fragments were: all of [`Stripe::nodes`].
        nodes: Vec<Option<u16>>,
        /// Which of them was copied.
        index: u8,
        /// Where to.
        to: NodeId,
    },
    /// Leftovers that have been deleted. What is none is left as it is.
    ForgetLeftovers {
        /// The leftovers.
        leftovers: Vec<Leftover>,
    },
    /// Garbage whose fragments have all been deleted. What is not garbage is left as it is.
    ForgetGarbage {
        /// The stripes.
        stripes: Vec<StripeId>,
    },
    /// A session may name stripes until `until_ms`, that included, and those before stay as they
    /// are. It names none before this is answered.
    Reserve {
        /// The session.
        session: Session,
        /// Until when, in milliseconds since 1970.
        until_ms: u64,
    },
    /// A session may not name stripes below `least` that it has not brought yet, and counts as
    /// alive until `alive_until_ms`, that included; neither is ever taken back. Fails with
    /// `Retired` if it was given up.
    Watch {
        /// The session.
        session: Session,
        /// The least stripe that it may still be writing, or the next that it will name.
        least: StripeId,
        /// Until when, in milliseconds since 1970.
        alive_until_ms: u64,
    },
    /// Gives up the sessions that no longer count as alive at `now_ms`: whatever stripes they bring
    /// from now on is refused with `Retired`. Answers in `Applied::least` what is least of the
    /// others' watermarks: a stripe below it of a session with a watermark that the catalog does
    /// not hold is of nobody.
    Retire,
    /// Takes or renews a lease until `until_ms`. Its holder renews it with the epoch that it has;
    /// another takes it over with the next once it is over or its holder was given up, and before
    /// fails with `Leased`. Answers in `Applied::epoch`. A session that was given up gets none:
    /// `Retired`.
    Lease {
        /// What only its holder does.
        name: String,
        /// Who asks.
        holder: Session,
        /// Until when, in milliseconds since 1970.
        until_ms: u64,
    },
    /// Gives a lease back; left as it is if somebody else has it.
    Release {
        /// What only its holder does.
        name: String,
        /// Who had it.
        holder: Session,
    },
    /// A gateway tells of itself. One that begins has epoch 0, and gets the next of its lives,
    /// which is answered in `Applied::epoch`; fails with `Fenced` if it has begun again since.
    /// Those that have told nothing for a day
    /// ([`GATEWAY_FORGOTTEN_MS`](crate::GATEWAY_FORGOTTEN_MS)) are forgotten, and of too many
    /// ([`GATEWAYS_MAX`](crate::GATEWAYS_MAX)) the one that told something the longest ago.
    Beat {
        /// Which.
        id: GatewayId,
        /// What it tells.
        gateway: GatewayRecord,
    },
    /// A change made under a lease: refused with `Fenced` unless the lease's last epoch is this. So
    /// what a holder does that lost it, and does not know, changes nothing; by whose clock it was
    /// over does not matter.
    Fenced {
        /// The lease's name.
        lease: String,
        /// The epoch that who asks has, or had.
        epoch: u64,
        /// What is done under it.
        change: Box<Self>,
    },
    /// From now on the catalog knows exactly the names given before `before_ms`, by any session, as
    /// one that was made again from the fragments at that time. With 0 it knows none, as befits a
    /// copy.
    Vouch {
        /// In milliseconds since 1970.
        before_ms: u64,
    },
    /// Gives a node's name its number, if it has none; answers in `Applied::node`.
    NameNode {
        /// The configured name.
        name: String,
    },
}

impl Change {
    /// The stripes that come with it.
    pub fn stripes(&self) -> &[(StripeId, Stripe)] {
        match self {
            Self::CreateBucket { stripes, .. }
            | Self::SetBucket { stripes, .. }
            | Self::DeleteBucket { stripes, .. }
            | Self::PutObject { stripes, .. }
            | Self::DeleteObject { stripes, .. }
            | Self::Bury { stripes, .. }
            | Self::PutPart { stripes, .. }
            | Self::CompleteUpload { stripes, .. }
            | Self::Discard { stripes } => stripes,
            Self::Outlive { stripe, .. } => slice::from_ref(stripe),
            Self::Fenced { change, .. } => change.stripes(),
            Self::CreateUpload(_)
            | Self::AbortUpload { .. }
            | Self::PlaceFragment { .. }
            | Self::MoveFragment { .. }
            | Self::ForgetLeftovers { .. }
            | Self::ForgetGarbage { .. }
            | Self::Reserve { .. }
            | Self::Watch { .. }
            | Self::Retire
            | Self::Lease { .. }
            | Self::Release { .. }
            | Self::Beat { .. }
            | Self::Vouch { .. }
            | Self::NameNode { .. } => &[],
        }
    }
}

/// What must hold of a key's present object for a change to be applied.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Condition {
    /// Nothing.
    #[default]
    None,
    /// There must be none: else `ConditionFailed`.
    Absent,
    /// There must be one with this etag: else `ConditionFailed`, or `NoSuchKey` where there is
    /// none.
    Etag(String),
    /// There must be one: else `NoSuchKey`.
    Present,
    /// There must be one told by this stripe (nobody has written since it was read): else
    /// `ConditionFailed`. Where there are versions, the one that is written to is meant.
    ToldBy(StripeId),
    /// What the key stands for must be told by this stripe, whatever is written: else
    /// `ConditionFailed`.
    Latest(StripeId),
    /// There must be one told by this stripe, and it must not be what its key stands for: else
    /// `ConditionFailed`.
    Superseded(StripeId),
    /// Nothing: what is put was told once, and takes its place among the versions of its key,
    /// whichever is the latest.
    AsTold,
}

impl Condition {
    /// Whether anything is asked, so that its outcome is an answer to the caller.
    pub fn is_asked(&self) -> bool {
        !matches!(self, Self::None | Self::AsTold)
    }

    /// Whether what is put with it is there already, and is only told again.
    pub(crate) const fn is_again(&self) -> bool {
        matches!(self, Self::ToldBy(_) | Self::AsTold)
    }

    /// Whether it is about what its key stands for, whatever version is written to.
    pub(crate) fn is_of_key(&self) -> bool {
        matches!(self, Self::Absent | Self::Etag(_) | Self::Present | Self::Latest(_))
    }

    /// Whether it holds of a key's `present` object; says why not. To what is of the key a delete
    /// marker is nothing.
    pub fn check(&self, present: Option<&Object>) -> Result<(), Refusal> {
        let present = present.filter(|object| !(object.is_marker && self.is_of_key()));
        match (self, present) {
            (Self::None | Self::AsTold, _) | (Self::Absent, None) | (Self::Present, Some(_)) => {
                Ok(())
            }
            (Self::Etag(etag), Some(object)) if object.attributes.etag == *etag => Ok(()),
            (
                Self::ToldBy(stripe) | Self::Latest(stripe) | Self::Superseded(stripe),
                Some(object),
            ) if object.told_by == *stripe => Ok(()),
            (Self::Etag(_) | Self::Present, None) => Err(Refusal::NoSuchKey),
            (Self::Absent | Self::Etag(_), Some(_))
            | (Self::ToldBy(_) | Self::Latest(_) | Self::Superseded(_), _) => {
                Err(Refusal::ConditionFailed)
            }
        }
    }
}
