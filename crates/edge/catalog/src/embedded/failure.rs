//! What the database's errors mean to callers.

use crate::CatalogError;
use std::io;

pub(super) fn corrupt(reason: String) -> CatalogError {
    CatalogError::Corrupt { reason }
}

pub(super) fn unavailable(error: impl Into<redb::Error>) -> CatalogError {
    let error = error.into();
    if let redb::Error::Corrupted(reason) = error {
        return corrupt(reason);
    }
    if let redb::Error::UpgradeRequired(version) = error {
        return corrupt(format!("the file has the unknown version {version} of redb's format"));
    }
    // Tables never change their types.
    if let redb::Error::TypeDefinitionChanged { .. } | redb::Error::TableTypeMismatch { .. } = error
    {
        return corrupt(error.to_string());
    }
    // So redb says that a file is no database.
    if matches!(&error, redb::Error::Io(io) if io.kind() == io::ErrorKind::InvalidData) {
        return corrupt(error.to_string());
    }
    // The file ends before a page that another names.
    if matches!(&error, redb::Error::Io(io) if io.kind() == io::ErrorKind::UnexpectedEof) {
        return corrupt(error.to_string());
    }
    CatalogError::Unavailable(Box::new(error))
}
