//! Whether the tables are a catalog that is served: what the one row of `ripstop_turn` says, which
//! every commit reads as it takes its turn.

use crate::failure::Failure;
use ripstop_catalog::CatalogError;
use thiserror::Error;
use tokio_postgres::Row;

/// What the row says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// It is a catalog.
    Open,
    /// It was one, which was moved elsewhere.
    Left,
    /// It is to be one, and is being filled by whoever drew this number, or was.
    Filling(i64),
}

/// Why no gateway may serve from the tables.
#[derive(Clone, Copy, Debug, Error)]
enum Closed {
    #[error(
        "the catalog was moved out of this database by `ripstop catalog move`: its tables are what \
         was left behind"
    )]
    Left,
    #[error(
        "this database is being filled with a catalog, or was, and that did not come to its end: \
         begin it again (`ripstop catalog move`, `ripstop restore`, `ripstop rebuild`)"
    )]
    Filling,
    #[error("another command has begun to fill this database meanwhile")]
    TakenOver,
    #[error("the database is a catalog already, which is served")]
    Open,
    #[error("the database has lost the row of ripstop_turn")]
    Lost,
}

impl From<Closed> for Failure {
    fn from(closed: Closed) -> Self {
        Self::Lasting(CatalogError::Unavailable(Box::new(closed)))
    }
}

impl State {
    /// One of whoever begins to fill tables.
    pub(crate) fn drawn() -> Self {
        let drawn = (ripstop_host::random_u64() >> 2) as i64;
        Self::Filling(-1 - drawn)
    }

    pub(crate) const fn number(self) -> i64 {
        match self {
            Self::Open => 0,
            Self::Left => 1,
            Self::Filling(by) => by,
        }
    }

    const fn of(number: i64) -> Self {
        match number {
            0 => Self::Open,
            ..0 => Self::Filling(number),
            1.. => Self::Left,
        }
    }

    /// What the turn was answered.
    pub(crate) fn of_turn(rows: &[Row]) -> Result<Self, Failure> {
        let row = rows.first().ok_or(Closed::Lost)?;
        Ok(Self::of(row.try_get(0)?))
    }

    /// What the row's number says; fails where there is no row.
    pub(crate) fn of_number(number: Option<i64>) -> Result<Self, Failure> {
        Ok(Self::of(number.ok_or(Closed::Lost)?))
    }

    /// Fails unless it is this one.
    pub(crate) fn must_be(self, wanted: Self) -> Result<(), Failure> {
        if self == wanted {
            return Ok(());
        }
        Err(match (self, wanted) {
            (Self::Left, _) => Closed::Left,
            (Self::Filling(_), Self::Filling(_)) => Closed::TakenOver,
            (Self::Filling(_), _) => Closed::Filling,
            (Self::Open, _) => Closed::Open,
        }
        .into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_for_each_state() {
        for state in [State::Open, State::Left, State::drawn(), State::Filling(i64::MIN)] {
            assert_eq!(State::of(state.number()), state);
        }
        assert!(State::drawn().number() < 0);
        assert_ne!(State::drawn(), State::drawn());
    }
}
