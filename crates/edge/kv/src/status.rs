use crate::{
    count::Count,
    door::Door,
    shelf::{Shelf, ShelfGauge},
};

/// What a door did since it was made, and what its shelf has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KvStatus {
    /// Connections that there are.
    pub connections: u64,
    /// Connections that there were.
    pub accepted: u64,
    /// Connections that were closed since they said nothing.
    pub kicked: u64,
    /// Bytes that came.
    pub received: u64,
    /// Bytes that were sent.
    pub sent: u64,
    /// Commands by what they did, each with what became of it, and how many.
    pub commands: [(&'static str, &'static str, u64); 15],
    /// Commands that could not be done.
    pub failed: u64,
    /// What the shelf has and did.
    pub shelf: ShelfGauge,
}

impl KvStatus {
    pub(crate) fn of<S: Shelf>(door: &Door<S>) -> Self {
        let totals = door.counts.all();
        let of = |count| totals.of(count);
        Self {
            connections: door.open() as u64,
            accepted: of(Count::Connection),
            kicked: of(Count::IdleKick),
            received: of(Count::BytesRead),
            sent: of(Count::BytesWritten),
            commands: [
                ("get", "hit", of(Count::GetHit)),
                ("get", "miss", of(Count::GetMiss)),
                ("touch", "hit", of(Count::TouchHit)),
                ("touch", "miss", of(Count::TouchMiss)),
                ("delete", "hit", of(Count::DeleteHit)),
                ("delete", "miss", of(Count::DeleteMiss)),
                ("incr", "hit", of(Count::IncrHit)),
                ("incr", "miss", of(Count::IncrMiss)),
                ("decr", "hit", of(Count::DecrHit)),
                ("decr", "miss", of(Count::DecrMiss)),
                ("cas", "hit", of(Count::CasHit)),
                ("cas", "miss", of(Count::CasMiss)),
                ("cas", "other", of(Count::CasBad)),
                ("set", "any", of(Count::Set)),
                ("flush", "any", of(Count::Flush)),
            ],
            failed: of(Count::Failed),
            shelf: door.shelf.gauge(),
        }
    }
}
