//! Whether requests should come: each check is a sentence of what is wrong, if something is.

use ripstop_catalog::{Health, Trouble};
use ripstop_store::Store;
use ripstop_telemetry::Readiness;
use std::sync::Arc;

/// One thing that must hold; answers what is wrong.
pub(crate) type Look = Box<dyn Fn() -> Option<String> + Send + Sync>;

/// All of them together: a line for each that does not hold.
pub(crate) fn all(looks: Vec<Look>) -> Readiness {
    Arc::new(move || {
        let wrong: Vec<String> = looks.iter().filter_map(|look| look()).collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
    })
}

/// Whether the catalog takes changes.
pub(crate) fn catalog(health: Health) -> Look {
    Box::new(move || {
        let trouble = health.trouble()?;
        let advice = match trouble {
            Trouble::Unwritable { .. } => "make room, or mend its disk: it goes on by itself",
            Trouble::InDoubt { .. } => "look at its disk, then start the gateway again",
            Trouble::Damaged { .. } => DAMAGED,
        };
        Some(format!("{trouble}; {advice}"))
    })
}

/// Whether the catalog is the newest that wrote to the nodes.
pub(crate) fn lineage(store: Store) -> Look {
    Box::new(move || {
        let newer = store.newer()?;
        Some(format!(
            "the catalog is older than what the nodes hold (fragment {newer}): stop the gateway and bring in \
             what it lacks with `ripstop rebuild --onto`"
        ))
    })
}

/// What to do about a catalog that is not what was written.
pub const DAMAGED: &str = "put a backup back with `ripstop restore FILE`, or move the catalog away and make \
                                  it again with `ripstop rebuild`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_that_does_not_hold_has_a_line() {
        let wrong = |why: Option<&'static str>| -> Look { Box::new(move || why.map(Into::into)) };
        assert_eq!(all(vec![wrong(None), catalog(Health::default())])(), Ok(()));
        let two = all(vec![wrong(Some("no disk")), wrong(None), wrong(Some("no nodes"))]);
        assert_eq!(two(), Err("no disk\nno nodes".to_owned()));
    }
}
