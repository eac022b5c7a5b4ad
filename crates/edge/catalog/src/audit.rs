use crate::{
    Bucket, Catalog, CatalogError, Extent, Held, Object, Tombstone, Upload, UploadedPart, Usage,
    bucket_of,
};
use async_trait::async_trait;
use ripstop_model::StripeId;
use ripstop_object::Place;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Most findings that an audit keeps; it counts the rest.
pub const FINDINGS_MAX: usize = 1000;

/// A catalog that can check itself.
#[async_trait]
pub trait Audited: Catalog {
    /// Recounts everything from the records themselves and reports what does not agree. Reads the
    /// whole catalog at one moment; it may be in use meanwhile.
    async fn audit(&self) -> Result<Audit, CatalogError>;
}

/// What an audit saw.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Audit {
    /// How many buckets there are.
    pub buckets: u64,
    /// How many objects.
    pub objects: u64,
    /// How many uploads under way.
    pub uploads: u64,
    /// How many parts of them.
    pub parts: u64,
    /// How many stripes in force.
    pub stripes: u64,
    /// How many that are garbage.
    pub garbage: u64,
    /// What does not agree, at most [`FINDINGS_MAX`].
    pub findings: Vec<AuditFinding>,
    /// How many findings there were beyond those.
    pub findings_left_off: u64,
}

impl Audit {
    /// Whether everything agrees.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.findings_left_off == 0
    }

    /// Adds what another share of the stripes told.
    pub fn take(&mut self, share: Self) {
        self.findings_left_off += share.findings_left_off;
        share.findings.into_iter().for_each(|finding| self.find(finding));
    }

    pub(crate) fn find(&mut self, finding: AuditFinding) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        } else {
            self.findings_left_off += 1;
        }
    }
}

/// One thing that does not agree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AuditFinding {
    /// A stripe's recorded number of holders is not the number that was counted.
    Miscounted {
        /// The stripe.
        stripe: StripeId,
        /// What its record says.
        recorded: u64,
        /// How many objects, parts, buckets and tombstones name it.
        counted: u64,
    },
    /// The bytes that are recorded to be live in a stripe are not those that were counted.
    LiveDiffers {
        /// The stripe.
        stripe: StripeId,
        /// What its record says.
        recorded: u64,
        /// How many its holders' extents come to.
        counted: u64,
    },
    /// A holder names a stripe that is not in force.
    StripeMissing {
        /// The stripe.
        stripe: StripeId,
        /// Who names it.
        holder: String,
    },
    /// A stripe is in force and garbage at once.
    InForceAndGarbage {
        /// The stripe.
        stripe: StripeId,
    },
    /// A length is not the sum of the extents' lengths.
    LengthDiffers {
        /// Whose length.
        holder: String,
        /// What its record says, in bytes.
        len: u64,
        /// The sum, in bytes.
        extents: u64,
    },
    /// An extent is empty or reaches beyond its stripe's payload.
    ExtentOutside {
        /// Whose extent.
        holder: String,
        /// Of which stripe.
        stripe: StripeId,
    },
    /// What is recorded of what a bucket holds is not what was counted.
    UsageDiffers {
        /// The bucket.
        bucket: String,
        /// What is recorded.
        recorded: Usage,
        /// What its objects and parts come to.
        counted: Usage,
    },
    /// Something belongs to a bucket or an upload that is not there.
    Orphan {
        /// What.
        holder: String,
    },
    /// A record cannot be read, or two tables tell different things.
    Unreadable {
        /// Which, and why.
        reason: String,
    },
}

impl fmt::Display for AuditFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Miscounted { stripe, recorded, counted } => {
                write!(f, "stripe {stripe} has {counted} holders, its record says {recorded}")
            }
            Self::LiveDiffers { stripe, recorded, counted } => {
                write!(f, "stripe {stripe} has {counted} live bytes, its record says {recorded}")
            }
            Self::StripeMissing { stripe, holder } => {
                write!(f, "{holder} names stripe {stripe}, which is not in force")
            }
            Self::InForceAndGarbage { stripe } => {
                write!(f, "stripe {stripe} is in force and garbage at once")
            }
            Self::LengthDiffers { holder, len, extents } => {
                write!(f, "{holder} has length {len}, its extents have {extents}")
            }
            Self::ExtentOutside { holder, stripe } => {
                write!(f, "{holder} has an extent outside of stripe {stripe}")
            }
            Self::UsageDiffers { bucket, recorded, counted } => write!(
                f,
                "bucket {bucket} holds {} bytes in {} objects, its record says {} in {}",
                counted.bytes, counted.objects, recorded.bytes, recorded.objects
            ),
            Self::Orphan { holder } => write!(f, "{holder} belongs to nothing"),
            Self::Unreadable { reason } => f.write_str(reason),
        }
    }
}

/// Stripes, and how many bytes of each are held.
type Holding = BTreeMap<StripeId, u64>;

/// Counts holders again. Fed in the order of its methods, by any implementation of the catalog.
#[derive(Debug)]
pub struct Recount {
    pub(crate) audit: Audit,
    /// Which of the stripes it counts, of how many such shares: all are too many for memory.
    share: u64,
    shares: u64,
    buckets: BTreeSet<String>,
    /// With their buckets.
    uploads: BTreeMap<String, String>,
    /// What buckets hold: counted, and recorded.
    usages: BTreeMap<String, [Usage; 2]>,
    stripes: BTreeMap<StripeId, Counted>,
}

#[derive(Debug)]
struct Counted {
    recorded: u64,
    holders: u64,
    /// Recorded, unless nobody has counted, and counted.
    live: (Option<u64>, u64),
    payload_len: u32,
}

impl Default for Recount {
    fn default() -> Self {
        Self::of_share(0, 1)
    }
}

impl Recount {
    /// Counts one share of the stripes. What does not depend on them is told by the first.
    pub fn of_share(share: u64, shares: u64) -> Self {
        let (buckets, uploads, usages, stripes) = Default::default();
        Self { audit: Audit::default(), share, shares, buckets, uploads, usages, stripes }
    }

    fn counts(&self, id: StripeId) -> bool {
        id.0 as u64 % self.shares == self.share
    }

    /// Something that does not depend on stripes.
    pub fn find(&mut self, finding: AuditFinding) {
        if self.share == 0 {
            self.audit.find(finding);
        }
    }

    /// A stripe in force; whether its live bytes are known.
    pub fn stripe(&mut self, id: StripeId, held: &Held, is_live_known: bool) {
        self.audit.stripes += 1;
        if !self.counts(id) {
            return;
        }
        let Held { holders: recorded, live, .. } = *held;
        let live = (is_live_known.then_some(live), 0);
        let payload_len = held.stripe.payload_len;
        self.stripes.insert(id, Counted { recorded, holders: 0, live, payload_len });
    }

    /// A stripe that nothing holds.
    pub fn garbage(&mut self, id: StripeId) {
        self.audit.garbage += 1;
        if self.stripes.contains_key(&id) {
            self.audit.find(AuditFinding::InForceAndGarbage { stripe: id });
        }
    }

    /// A bucket.
    pub fn bucket(&mut self, bucket: &Bucket) {
        self.audit.buckets += 1;
        self.buckets.insert(bucket.name.clone());
        self.holds(&format!("bucket {}", bucket.name), [(bucket.told_by, 0)].into());
    }

    /// What stands at a place.
    pub fn object(&mut self, bucket: &str, key: &str, object: &Object) {
        self.audit.objects += 1;
        let place = Place::new(bucket, key);
        let holder = match place.version() {
            Some((key, id)) => format!("version {id} of object {}/{key}", place.bucket_name()),
            None => format!("object {bucket}/{key}"),
        };
        let bucket = bucket_of(bucket);
        if !self.buckets.contains(bucket) {
            self.find(AuditFinding::Orphan { holder: holder.clone() });
        }
        let counted = &mut self.usage_of(bucket)[0];
        counted.objects += 1;
        counted.bytes = counted.bytes.saturating_add(object.len);
        let mut held = self.extents(&holder, object.stored_len(), &object.extents);
        held.entry(object.told_by).or_default();
        self.holds(&holder, held);
    }

    /// That something was deleted; it is known not to be there.
    pub fn tombstone(&mut self, bucket: &str, key: &str, tombstone: &Tombstone) {
        self.holds(&format!("tombstone {bucket}/{key}"), [(tombstone.told_by, 0)].into());
    }

    /// An upload under way.
    pub fn upload(&mut self, upload: &Upload) {
        self.audit.uploads += 1;
        self.uploads.insert(upload.id.clone(), upload.bucket.clone());
        if !self.buckets.contains(&upload.bucket) {
            self.find(AuditFinding::Orphan { holder: format!("upload {}", upload.id) });
        }
    }

    /// A part of one.
    pub fn part(&mut self, upload: &str, part: &UploadedPart) {
        self.audit.parts += 1;
        let holder = format!("part {} of upload {upload}", part.number);
        if let Some(bucket) = self.uploads.get(upload).cloned() {
            let counted = &mut self.usage_of(&bucket)[0];
            counted.bytes = counted.bytes.saturating_add(part.len);
        } else {
            self.find(AuditFinding::Orphan { holder: holder.clone() });
        }
        let held = self.extents(&holder, part.stored_len(), &part.extents);
        self.holds(&holder, held);
    }

    /// What is recorded of what a bucket holds.
    pub fn usage(&mut self, bucket: &str, recorded: Usage) {
        self.usage_of(bucket)[1] = recorded;
    }

    fn usage_of(&mut self, bucket: &str) -> &mut [Usage; 2] {
        if !self.usages.contains_key(bucket) {
            self.usages.insert(bucket.to_owned(), Default::default());
        }
        self.usages.get_mut(bucket).expect("it was inserted, unless it was there")
    }

    /// What came out.
    pub fn finish(mut self) -> Audit {
        for (bucket, [counted, recorded]) in std::mem::take(&mut self.usages) {
            if counted != recorded {
                self.find(AuditFinding::UsageDiffers { bucket, recorded, counted });
            }
        }
        for (stripe, Counted { recorded, holders: counted, live, .. }) in self.stripes {
            if recorded != counted || counted == 0 {
                self.audit.find(AuditFinding::Miscounted { stripe, recorded, counted });
            }
            let (recorded, counted) = live;
            if let Some(recorded) = recorded.filter(|recorded| *recorded != counted) {
                self.audit.find(AuditFinding::LiveDiffers { stripe, recorded, counted });
            }
        }
        self.audit
    }

    /// How many bytes of each stripe the extents hold.
    fn extents(&mut self, holder: &str, len: u64, extents: &[Extent]) -> Holding {
        let sum = extents.iter().map(|extent| u64::from(extent.len)).sum();
        if sum != len {
            let holder = holder.to_owned();
            self.find(AuditFinding::LengthDiffers { holder, len, extents: sum });
        }
        for Extent { stripe, offset, len } in extents {
            let payload_len = self.stripes.get(stripe).map(|counted| counted.payload_len.into());
            let end = u64::from(*offset) + u64::from(*len);
            let is_empty = *len == 0 && self.counts(*stripe);
            if is_empty || payload_len.is_some_and(|payload_len: u64| end > payload_len) {
                let holder = holder.to_owned();
                self.audit.find(AuditFinding::ExtentOutside { holder, stripe: *stripe });
            }
        }
        let mut held = Holding::new();
        for Extent { stripe, len, .. } in extents {
            *held.entry(*stripe).or_default() += u64::from(*len);
        }
        held
    }

    fn holds(&mut self, holder: &str, held: Holding) {
        for (stripe, live) in held {
            if !self.counts(stripe) {
                continue;
            }
            if let Some(known) = self.stripes.get_mut(&stripe) {
                known.holders += 1;
                known.live.1 += live;
            } else {
                let holder = holder.to_owned();
                self.audit.find(AuditFinding::StripeMissing { stripe, holder });
            }
        }
    }
}
