//! The S3 face: protocol, signatures, checksums, conditions.
