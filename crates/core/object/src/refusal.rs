use crate::{BUCKET_DOCUMENTS_LEN_MAX, Limit, Object, Session, Stamp};
use core::{error, fmt};
use ripstop_model::{NodeId, StripeId};

/// Why a change is not applied: it has changed nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The bucket is not there.
    NoSuchBucket,
    /// The bucket is there already.
    BucketExists,
    /// The bucket still has objects or uploads.
    BucketNotEmpty,
    /// The bucket's documents are longer than its record has room for.
    DocumentsTooLong {
        /// Their bytes.
        len: usize,
    },
    /// The key stands for no object.
    NoSuchKey,
    /// The upload is not there (ended, aborted, or never begun).
    NoSuchUpload,
    /// A part was replaced, or is not there.
    PartChanged {
        /// The part.
        number: u16,
    },
    /// The change's condition does not hold.
    ConditionFailed,
    /// The change would make the bucket larger than its quota lets it be.
    QuotaExceeded {
        /// Which limit is in the way.
        limit: Limit,
    },
    /// An extent names a stripe that is not in force (its object was removed meanwhile).
    StripeGone {
        /// The stripe.
        stripe: StripeId,
    },
    /// A retention or a legal hold keeps the object: it is neither removed nor replaced.
    Locked,
    /// What the key stands for, or that it stands for nothing, was told later than this: it must be
    /// told again with a later stamp.
    Behind {
        /// The stamp of what is there.
        seen: Stamp,
    },
    /// Another session has the lease.
    Leased {
        /// Which.
        holder: Session,
        /// Until when, that not included, in milliseconds since 1970.
        until_ms: u64,
    },
    /// The lease under which the change was made, or the gateway that made it, has another epoch
    /// by now.
    Fenced {
        /// Which; 0 if nobody ever had it.
        epoch: u64,
    },
    /// The session was given up: it brings no stripes any more.
    Retired {
        /// Which.
        session: Session,
    },
    /// Every number of a node is taken.
    NodesExhausted,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchBucket => f.write_str("no such bucket"),
            Self::BucketExists => f.write_str("bucket exists"),
            Self::BucketNotEmpty => f.write_str("bucket not empty"),
            Self::DocumentsTooLong { len } => write!(
                f,
                "documents of {len} bytes; a bucket's may have {BUCKET_DOCUMENTS_LEN_MAX} together"
            ),
            Self::NoSuchKey => f.write_str("no such key"),
            Self::NoSuchUpload => f.write_str("no such upload"),
            Self::PartChanged { number } => write!(f, "part {number} is not as it was"),
            Self::ConditionFailed => f.write_str("condition failed"),
            Self::QuotaExceeded { limit } => {
                write!(f, "the bucket's quota of {limit} is reached")
            }
            Self::StripeGone { stripe } => write!(f, "stripe {stripe} is gone"),
            Self::Locked => f.write_str("a retention or a legal hold keeps the object"),
            Self::Behind { seen } => {
                write!(f, "behind what stripe {} told at {} ms", seen.stripe, seen.unix_ms())
            }
            Self::Leased { holder, until_ms } => {
                write!(f, "session {:08x} has the lease until {until_ms} ms", holder.0)
            }
            Self::Fenced { epoch } => {
                write!(f, "what this was done under has epoch {epoch} by now")
            }
            Self::Retired { session } => write!(f, "session {:08x} was given up", session.0),
            Self::NodesExhausted => f.write_str("every number of a node is taken"),
        }
    }
}

impl error::Error for Refusal {}

/// What a change did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Applied {
    /// The object that the change replaced or removed.
    pub replaced: Option<Object>,
    /// The number of the node that was named.
    pub node: Option<NodeId>,
    /// Which turn of a lease it is.
    pub epoch: Option<u64>,
    /// The least stripe that a session that is alive may still be writing; `None` if none is.
    pub least: Option<StripeId>,
    /// Whether it was overtaken while it was under way: it is applied as if it had come before what
    /// the key stands for now, so what it told was never seen.
    pub superseded: bool,
}

/// What became of one change.
pub type Outcome = Result<Applied, Refusal>;
