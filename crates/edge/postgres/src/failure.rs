//! What the database's errors mean.

use ripstop_catalog::{CatalogError, MayPass};
use std::error::Error;
use std::io;
use tokio_postgres::error::SqlState;

/// Why something did not go through.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It may go through when it is tried again, over another connection.
    Passing(Box<dyn Error + Send + Sync>),
    /// It will not.
    Lasting(CatalogError),
}

impl Failure {
    pub(crate) fn passing(why: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Passing(why.into())
    }

    /// Whether the server only rolled a transaction back: its connection is of use still.
    pub(crate) fn is_rolled_back(&self) -> bool {
        let Self::Passing(why) = self else { return false };
        let code =
            why.downcast_ref::<tokio_postgres::Error>().and_then(tokio_postgres::Error::code);
        code.is_some_and(|state| {
            let of_unknown_outcome = *state == SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN;
            state.code().starts_with("40") && !of_unknown_outcome
        })
    }

    /// For callers, once it is not tried again.
    pub(crate) fn told(self) -> CatalogError {
        match self {
            Self::Passing(why) => CatalogError::Unavailable(why),
            Self::Lasting(error) => error,
        }
    }
}

impl MayPass for Failure {
    fn is_passing(&self) -> bool {
        matches!(self, Self::Passing(_))
    }

    fn told(self) -> CatalogError {
        self.told()
    }
}

impl From<CatalogError> for Failure {
    fn from(error: CatalogError) -> Self {
        Self::Lasting(error)
    }
}

impl From<ripstop_object::Refusal> for Failure {
    fn from(refusal: ripstop_object::Refusal) -> Self {
        Self::Lasting(refusal.into())
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        if is_passing(&error) {
            Self::passing(error)
        } else {
            Self::Lasting(CatalogError::Unavailable(Box::new(error)))
        }
    }
}

fn is_passing(error: &tokio_postgres::Error) -> bool {
    if let Some(state) = error.code() {
        return passes(state);
    }
    let cause = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    // A certificate that is not trusted now will not be later.
    let is_tls = cause.is_some_and(|cause| cause.kind() == io::ErrorKind::InvalidData);
    error.is_closed() || cause.is_some() && !is_tls
}

/// Whether what the server says may be otherwise later.
fn passes(state: &SqlState) -> bool {
    let is_one = [
        // Another transaction was in the way.
        &SqlState::T_R_SERIALIZATION_FAILURE,
        &SqlState::T_R_DEADLOCK_DETECTED,
        &SqlState::UNIQUE_VIOLATION,
        &SqlState::LOCK_NOT_AVAILABLE,
        // It did not end in time.
        &SqlState::QUERY_CANCELED,
        &SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        // A server that became a standby.
        &SqlState::READ_ONLY_SQL_TRANSACTION,
        &SqlState::TOO_MANY_CONNECTIONS,
        &SqlState::IN_FAILED_SQL_TRANSACTION,
    ]
    .contains(&state);
    // Connections that break, operators who restart a server, transactions that are rolled back.
    is_one || ["08", "40", "57P"].iter().any(|class| state.code().starts_with(class))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_transactions_and_restarts_cause_is_tried_again_and_nothing_else() {
        for code in ["40001", "40003", "40P01", "08006", "57P01", "57P03", "25006", "53300"] {
            assert!(passes(&SqlState::from_code(code)), "{code}");
        }
        for code in ["28P01", "3D000", "42501", "42P01", "53100", "22021", "23502"] {
            assert!(!passes(&SqlState::from_code(code)), "{code}");
        }
    }
}
