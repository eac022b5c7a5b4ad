//! The fields of each record, by their numbers: for ever.

use crate::{Fields, Found, Record, Unreadable, lock, paired};
use ripstop_model::StripeId;
use ripstop_object::{
    Account, Attributes, Bucket, Checksum, ChecksumAlgorithm, Extent, Garbage, Held, Lease, Object,
    Part, Session, Stamp, Stripe, Tombstone, Unknown, Upload, UploadedPart, Versioning, Watermark,
};

impl Record for Bucket {
    fn write(&self, to: &mut Fields) {
        to.text(1, &self.name);
        to.number(2, self.created_ms);
        to.bytes(3, &id(self.told_by));
        write_stamp(to, 4, self.stamp);
        to.pairs(6, self.documents.pairs());
        to.number(8, number_of(self.versioning));
        to.text(18, &self.owner);
        to.pairs(19, self.guards.pairs());
        to.unknown(&self.unknown);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.name = from.text()?.into(),
            2 => self.created_ms = from.number()?,
            3 => self.told_by = read_id(from)?,
            4..=5 => read_stamp(field - 4, from, self.stamp.get_or_insert_default())?,
            6 => self.documents = from.pairs()?.into(),
            8 => self.versioning = versioning(from)?,
            18 => self.owner = from.text()?.into(),
            19 => self.guards = from.pairs()?.into(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unknown(&mut self) -> Option<&mut Unknown> {
        Some(&mut self.unknown)
    }
}

impl Record for Object {
    fn write(&self, to: &mut Fields) {
        to.number(1, self.len);
        to.number(2, self.modified_ms);
        to.record(3, &self.attributes);
        // In a pack's directory it goes without saying.
        if self.told_by != StripeId(0) {
            to.bytes(4, &id(self.told_by));
        }
        write_extents(to, 5, &self.extents);
        write_stamp(to, 8, self.stamp);
        to.truth(10, self.is_marker);
        to.number(11, self.born.unwrap_or_default());
        to.unknown(&self.unknown);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.len = from.number()?,
            2 => self.modified_ms = from.number()?,
            3 => self.attributes = from.record()?,
            4 => self.told_by = read_id(from)?,
            5..=7 => read_extents(field - 5, from, &mut self.extents)?,
            8..=9 => read_stamp(field - 8, from, self.stamp.get_or_insert_default())?,
            10 => self.is_marker = from.truth()?,
            11 => self.born = Some(from.number()?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unknown(&mut self) -> Option<&mut Unknown> {
        Some(&mut self.unknown)
    }
}

impl Record for Tombstone {
    fn write(&self, to: &mut Fields) {
        write_stamp(to, 1, Some(self.stamp));
        to.bytes(3, &id(self.told_by));
        to.unknown(&self.unknown);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1..=2 => read_stamp(field - 1, from, &mut self.stamp)?,
            3 => self.told_by = read_id(from)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unknown(&mut self) -> Option<&mut Unknown> {
        Some(&mut self.unknown)
    }
}

impl Record for Attributes {
    fn write(&self, to: &mut Fields) {
        to.text(1, &self.etag);
        to.pairs(2, &self.headers);
        to.pairs(3, &self.user);
        to.pairs(4, &self.tags);
        write_checksum(to, 5, self.checksum.as_ref());
        to.column(8, self.parts.iter().map(|part| part.number.to_le_bytes()));
        to.column(9, self.parts.iter().map(|part| part.len.to_le_bytes()));
        to.blobs(10, self.parts.iter().map(|part| part.checksum.as_deref()));
        lock::write(to, 12, &self.lock);
        if let Some(encryption) = &self.encryption {
            to.record(15, &**encryption);
        }
        to.text(18, &self.owner);
        to.text(19, &self.grants);
        to.text(22, &self.storage_class);
        to.unknown(&self.unknown);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.etag = from.text()?.into(),
            2 => self.headers = from.pairs()?,
            3 => self.user = from.pairs()?,
            4 => self.tags = from.pairs()?,
            5..=7 => read_checksum(field - 5, from, &mut self.checksum)?,
            8 => {
                let numbers = from.column()?.iter().map(|number| u16::from_le_bytes(*number));
                let part = |number| Part { number, len: 0, checksum: None };
                self.parts = numbers.map(part).collect();
            }
            9 => {
                let lens = from.column()?;
                for (part, len) in paired(&mut self.parts, lens, from)? {
                    part.len = u64::from_le_bytes(*len);
                }
            }
            10 => {
                let checksums = from.blobs()?;
                for (part, checksum) in paired(&mut self.parts, checksums, from)? {
                    part.checksum = checksum;
                }
            }
            12..=14 => lock::read(field - 12, from, &mut self.lock)?,
            15 => self.encryption = Some(Box::new(from.record()?)),
            18 => self.owner = from.text()?.into(),
            19 => self.grants = from.text()?.into(),
            22 => self.storage_class = from.text()?.into(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unknown(&mut self) -> Option<&mut Unknown> {
        Some(&mut self.unknown)
    }
}

impl Record for Stripe {
    fn write(&self, to: &mut Fields) {
        to.number(1, self.pool.into());
        to.number(2, self.n.into());
        to.number(3, self.k.into());
        to.number(4, self.payload_len.into());
        to.number(5, self.header_len.into());
        to.options(6, self.nodes.iter().map(|node| node.map(u64::from)));
        to.number(7, self.run.into());
        to.number(8, self.sealing.into());
        to.number(9, self.block_len.into());
        to.number(128, self.members.into());
        to.number(129, self.member_bytes.into());
        to.unknown(&self.unknown);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.pool = from.small()?,
            2 => self.n = from.small()?,
            3 => self.k = from.small()?,
            4 => self.payload_len = from.small()?,
            5 => self.header_len = from.small()?,
            6 => self.nodes = from.options()?,
            7 => self.run = from.small()?,
            8 => self.sealing = from.small()?,
            9 => self.block_len = from.small()?,
            128 => self.members = from.small()?,
            129 => self.member_bytes = from.small()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unknown(&mut self) -> Option<&mut Unknown> {
        Some(&mut self.unknown)
    }
}

impl Record for Held {
    fn write(&self, to: &mut Fields) {
        to.number(1, self.holders);
        to.record(2, &self.stripe);
        to.number(3, self.live);
        to.unknown(&self.unknown);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.holders = from.number()?,
            2 => self.stripe = from.record()?,
            3 => self.live = from.number()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unknown(&mut self) -> Option<&mut Unknown> {
        Some(&mut self.unknown)
    }
}

impl Record for Garbage {
    fn write(&self, to: &mut Fields) {
        // The first field: a sweep passes over what is not due without reading more.
        to.number(1, self.since_ms);
        to.record(2, &self.stripe);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.since_ms = from.number()?,
            2 => self.stripe = from.record()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Record for Lease {
    fn write(&self, to: &mut Fields) {
        to.number(1, self.holder.0.into());
        to.number(2, self.until_ms);
        to.number(3, self.epoch);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.holder = Session(from.small()?),
            2 => self.until_ms = from.number()?,
            3 => self.epoch = from.number()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Record for Watermark {
    fn write(&self, to: &mut Fields) {
        to.bytes(1, &id(self.least));
        to.number(2, self.alive_until_ms);
        to.truth(3, self.is_retired);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.least = read_id(from)?,
            2 => self.alive_until_ms = from.number()?,
            3 => self.is_retired = from.truth()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Record for Account {
    fn write(&self, to: &mut Fields) {
        to.number(1, self.objects);
        to.number(2, self.object_bytes);
        to.number(3, self.part_bytes);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.objects = from.number()?,
            2 => self.object_bytes = from.number()?,
            3 => self.part_bytes = from.number()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Record for Upload {
    fn write(&self, to: &mut Fields) {
        to.text(1, &self.id);
        to.text(2, &self.bucket);
        to.text(3, &self.key);
        to.number(4, self.created_ms);
        if let Some((algorithm, composite)) = self.checksum {
            to.number(5, number(algorithm));
            to.truth(6, composite);
        }
        to.record(7, &self.attributes);
        to.unknown(&self.unknown);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.id = from.text()?.into(),
            2 => self.bucket = from.text()?.into(),
            3 => self.key = from.text()?.into(),
            4 => self.created_ms = from.number()?,
            5 => self.checksum = Some((checksum_algorithm(from)?, false)),
            6 => match &mut self.checksum {
                Some((_, composite)) => *composite = from.truth()?,
                None => return Err(from.wrong("has no checksum before it")),
            },
            7 => self.attributes = from.record()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unknown(&mut self) -> Option<&mut Unknown> {
        Some(&mut self.unknown)
    }
}

impl Record for UploadedPart {
    fn write(&self, to: &mut Fields) {
        to.number(1, self.number.into());
        to.number(2, self.len);
        to.number(3, self.modified_ms);
        to.text(4, &self.etag);
        write_checksum(to, 5, self.checksum.as_ref());
        write_extents(to, 8, &self.extents);
        if let Some(salt) = &self.salt {
            to.bytes(15, salt);
        }
        to.unknown(&self.unknown);
    }

    fn read(&mut self, field: u64, from: &mut Found<'_>) -> Result<bool, Unreadable> {
        match field {
            1 => self.number = from.small()?,
            2 => self.len = from.number()?,
            3 => self.modified_ms = from.number()?,
            4 => self.etag = from.text()?.into(),
            5..=7 => read_checksum(field - 5, from, &mut self.checksum)?,
            8..=10 => read_extents(field - 8, from, &mut self.extents)?,
            15 => self.salt = Some(from.array()?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unknown(&mut self) -> Option<&mut Unknown> {
        Some(&mut self.unknown)
    }
}

/// The number that stands for a checksum's function.
const fn number(algorithm: ChecksumAlgorithm) -> u64 {
    match algorithm {
        ChecksumAlgorithm::Crc32 => 1,
        ChecksumAlgorithm::Crc32c => 2,
        ChecksumAlgorithm::Crc64Nvme => 3,
        ChecksumAlgorithm::Sha1 => 4,
        ChecksumAlgorithm::Sha256 => 5,
        ChecksumAlgorithm::Sha512 => 6,
        ChecksumAlgorithm::Md5 => 7,
        ChecksumAlgorithm::XxHash64 => 8,
        ChecksumAlgorithm::XxHash3 => 9,
        ChecksumAlgorithm::XxHash128 => 10,
    }
}

/// The checksum's function that a field's value stands for.
pub fn checksum_algorithm(from: &mut Found<'_>) -> Result<ChecksumAlgorithm, Unreadable> {
    Ok(match from.number()? {
        1 => ChecksumAlgorithm::Crc32,
        2 => ChecksumAlgorithm::Crc32c,
        3 => ChecksumAlgorithm::Crc64Nvme,
        4 => ChecksumAlgorithm::Sha1,
        5 => ChecksumAlgorithm::Sha256,
        6 => ChecksumAlgorithm::Sha512,
        7 => ChecksumAlgorithm::Md5,
        8 => ChecksumAlgorithm::XxHash64,
        9 => ChecksumAlgorithm::XxHash3,
        10 => ChecksumAlgorithm::XxHash128,
        _ => return Err(from.wrong("is a checksum's function that is not known")),
    })
}

const fn number_of(versioning: Versioning) -> u64 {
    match versioning {
        Versioning::Never => 0,
        Versioning::Enabled => 1,
        Versioning::Suspended => 2,
    }
}

/// How a bucket keeps versions.
pub fn versioning(from: &mut Found<'_>) -> Result<Versioning, Unreadable> {
    Ok(match from.number()? {
        1 => Versioning::Enabled,
        2 => Versioning::Suspended,
        _ => return Err(from.wrong("is no way to keep versions that is known")),
    })
}

/// Function, value, whether it is a composite: three fields from `first` on, none where there is
/// none.
fn write_checksum(to: &mut Fields, first: u64, checksum: Option<&Checksum>) {
    if let Some(Checksum { algorithm, value, composite }) = checksum {
        to.number(first, number(*algorithm));
        to.bytes(first + 1, value);
        to.truth(first + 2, *composite);
    }
}

fn read_checksum(
    member: u64,
    from: &mut Found<'_>,
    checksum: &mut Option<Checksum>,
) -> Result<(), Unreadable> {
    if member == 0 {
        let algorithm = checksum_algorithm(from)?;
        *checksum = Some(Checksum { algorithm, value: vec![], composite: false });
        return Ok(());
    }
    let Some(Checksum { value, composite, .. }) = checksum else {
        return Err(from.wrong("has no checksum before it"));
    };
    match member {
        1 => *value = from.bytes()?.to_vec(),
        _ => *composite = from.truth()?,
    }
    Ok(())
}

/// Stripes, offsets, lengths: three columns from `first` on.
fn write_extents(to: &mut Fields, first: u64, extents: &[Extent]) {
    to.column(first, extents.iter().map(|extent| id(extent.stripe)));
    to.sparse_column(first + 1, extents.iter().map(|extent| extent.offset.to_le_bytes()));
    to.column(first + 2, extents.iter().map(|extent| extent.len.to_le_bytes()));
}

fn read_extents(
    member: u64,
    from: &mut Found<'_>,
    extents: &mut Vec<Extent>,
) -> Result<(), Unreadable> {
    if member == 0 {
        let ids = from.column()?.iter().map(|id| StripeId(u128::from_be_bytes(*id)));
        *extents = ids.map(|stripe| Extent { stripe, offset: 0, len: 0 }).collect();
        return Ok(());
    }
    let numbers = from.column()?;
    for (extent, number) in paired(extents, numbers, from)? {
        let number = u32::from_le_bytes(*number);
        match member {
            1 => extent.offset = number,
            _ => extent.len = number,
        }
    }
    Ok(())
}

/// A reading of a clock and a stripe: two fields from `first` on, none where there is no stamp.
fn write_stamp(to: &mut Fields, first: u64, stamp: Option<Stamp>) {
    if let Some(Stamp { when, stripe }) = stamp {
        to.number(first, when);
        to.bytes(first + 1, &id(stripe));
    }
}

fn read_stamp(member: u64, from: &mut Found<'_>, stamp: &mut Stamp) -> Result<(), Unreadable> {
    match member {
        0 => stamp.when = from.number()?,
        _ => stamp.stripe = read_id(from)?,
    }
    Ok(())
}

/// The bytes of a stripe's name, which sort as names do.
const fn id(stripe: StripeId) -> [u8; 16] {
    stripe.0.to_be_bytes()
}

fn read_id(from: &mut Found<'_>) -> Result<StripeId, Unreadable> {
    from.array().map(|bytes| StripeId(u128::from_be_bytes(bytes)))
}
