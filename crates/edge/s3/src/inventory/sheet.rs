//! Rows of an inventory, compressed as they come.

use super::{document::Order, field::Column};
use crate::{date, digest, storage_class, uri};
use flate2::{Compression, write::GzEncoder};
use ripstop_catalog::{Attributes, EncryptionMethod, ListedVersion, ObjectVersion, RetentionMode};
use std::io::{self, Write as _};

/// Compressed bytes from which on a file is whole.
pub(super) const FILE_LEN: usize = 4 << 20;

/// One file of an inventory under way.
#[derive(Debug)]
pub(super) struct Sheet {
    rows: GzEncoder<Vec<u8>>,
}

impl Sheet {
    pub(super) fn new() -> Self {
        Self { rows: GzEncoder::new(Vec::new(), Compression::default()) }
    }

    /// Whether no more rows should come into it.
    pub(super) fn is_full(&self) -> bool {
        self.rows.get_ref().len() >= FILE_LEN
    }

    /// Adds a version of a key; `object` is what was found of it, where it was looked at.
    pub(super) fn add(
        &mut self,
        bucket: &str,
        order: &Order,
        version: &ListedVersion,
        object: Option<&Attributes>,
    ) -> io::Result<()> {
        let mut row = String::new();
        // Nothing of it has a quotation mark: keys are encoded.
        let mut cell = |text: &str| {
            let comma = if row.is_empty() { "" } else { "," };
            row.extend([comma, "\"", text, "\""]);
        };
        cell(bucket);
        cell(&uri::encode(&version.key, b"/"));
        if order.all_versions {
            match version.version {
                ObjectVersion::Null => cell("null"),
                version @ ObjectVersion::Id(_) => cell(&version.to_string()),
            }
            cell(word(version.is_latest));
            cell(word(version.is_marker));
        }
        for &column in &order.columns {
            cell(&value(column, version, object));
        }
        row.push('\n');
        self.rows.write_all(row.as_bytes())
    }

    /// All of it.
    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        self.rows.finish()
    }
}

const fn word(is: bool) -> &'static str {
    if is { "true" } else { "false" }
}

/// What a column says of a version: nothing where there is nothing to say.
fn value(column: Column, version: &ListedVersion, object: Option<&Attributes>) -> String {
    let listed = &version.object;
    if column == Column::LastModifiedDate {
        return date::document(listed.modified_ms);
    }
    if version.is_marker {
        return String::new();
    }
    match column {
        Column::Size => listed.len.to_string(),
        Column::ETag => listed.etag.clone(),
        Column::StorageClass => storage_class::shown(&listed.storage_class).to_owned(),
        Column::ChecksumAlgorithm => {
            listed.checksum.map_or("", |(algorithm, _)| digest::word(algorithm)).to_owned()
        }
        // Nothing is replicated, and nothing is tiered by itself.
        Column::LastModifiedDate
        | Column::ReplicationStatus
        | Column::IntelligentTieringAccessTier => String::new(),
        Column::IsMultipartUploaded
        | Column::EncryptionStatus
        | Column::ObjectLockRetainUntilDate
        | Column::ObjectLockMode
        | Column::ObjectLockLegalHoldStatus
        | Column::BucketKeyStatus => {
            object.map(|object| looked_at(column, object)).unwrap_or_default()
        }
    }
}

fn looked_at(column: Column, object: &Attributes) -> String {
    let encryption = object.encryption.as_deref();
    let retention = object.lock.retention;
    match column {
        Column::IsMultipartUploaded => word(!object.parts.is_empty()),
        Column::EncryptionStatus => match encryption.map(|it| it.method) {
            None => "NOT-SSE",
            Some(EncryptionMethod::Customer) => "SSE-C",
            Some(EncryptionMethod::Managed) => "SSE-S3",
            Some(EncryptionMethod::Named) => "SSE-KMS",
        },
        Column::BucketKeyStatus => {
            if encryption.is_some_and(|it| it.bucket_key) {
                "ENABLED"
            } else {
                "DISABLED"
            }
        }
        Column::ObjectLockMode => match retention.map(|it| it.mode) {
            None => "",
            Some(RetentionMode::Governance) => "GOVERNANCE",
            Some(RetentionMode::Compliance) => "COMPLIANCE",
        },
        Column::ObjectLockLegalHoldStatus => match object.lock.legal_hold {
            None => "",
            Some(true) => "ON",
            Some(false) => "OFF",
        },
        Column::ObjectLockRetainUntilDate => {
            return retention.map(|it| date::document(it.until_ms)).unwrap_or_default();
        }
        Column::Size
        | Column::LastModifiedDate
        | Column::ETag
        | Column::StorageClass
        | Column::ReplicationStatus
        | Column::IntelligentTieringAccessTier
        | Column::ChecksumAlgorithm => "",
    }
    .to_owned()
}
