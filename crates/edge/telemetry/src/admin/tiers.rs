//! Memory tiers: how they stand, and what they can be told.

use axum::{
    Json,
    extract::{Query, rejection::QueryRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use ripstop_memory::{CodedMemory, RingChangeError};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// A memory tier, by name.
pub type NamedTier = (String, CodedMemory);

/// What `GET /tiers` answers of a tier.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemoryTierStatus {
    /// Its name.
    pub name: String,
    /// Its servers.
    pub servers: Vec<MemoryServerStatus>,
    /// Keys that have a value.
    pub keys: usize,
    /// Bytes of servers' memory that items take, about.
    pub stored_bytes: u64,
    /// Bytes of objects in chunks, dead ones included.
    pub chunk_bytes: u64,
    /// Those of them that are dead.
    pub dead_bytes: u64,
    /// Bytes of this process's memory that the index takes.
    pub index_bytes: usize,
    /// Stripes whose parity is stored.
    pub sealed_stripes: usize,
    /// Chunks, long values and stripes that may lack an item.
    pub wounds: usize,
    /// Points of rings that are still to change, since servers come or go.
    pub points_left: usize,
    /// Values that were decoded, since their server is lost.
    pub decoded: u64,
    /// Items that came back other than they were stored.
    pub damaged: u64,
    /// Items that a server would not store.
    pub refused: u64,
}

/// A server of a tier.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemoryServerStatus {
    /// Its ring, counted from 0.
    pub ring: usize,
    /// Where it is.
    pub server: SocketAddr,
    /// How it stands: `up`, `lost`, `leaving`.
    pub state: String,
}

impl MemoryTierStatus {
    /// How a tier stands.
    pub fn of((name, memory): &NamedTier) -> Self {
        let status = memory.status();
        let servers = memory.servers().into_iter().map(|server| MemoryServerStatus {
            ring: server.ring,
            server: server.at,
            state: server.state.name().to_owned(),
        });
        Self {
            name: name.clone(),
            servers: servers.collect(),
            keys: status.keys,
            stored_bytes: status.stored_bytes,
            chunk_bytes: status.chunk_bytes,
            dead_bytes: status.dead_bytes,
            index_bytes: status.metadata_bytes,
            sealed_stripes: status.sealed_stripes,
            wounds: status.wounds,
            points_left: status.points_left,
            decoded: status.decoded,
            damaged: status.damaged,
            refused: status.refused,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddQuery {
    ring: usize,
    server: SocketAddr,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RemoveQuery {
    server: SocketAddr,
}

pub(super) type AddAsked = Result<Query<AddQuery>, QueryRejection>;
pub(super) type RemoveAsked = Result<Query<RemoveQuery>, QueryRejection>;

pub(super) fn show(tiers: &[NamedTier]) -> Response {
    let tiers: Vec<_> = tiers.iter().map(MemoryTierStatus::of).collect();
    Json(tiers).into_response()
}

pub(super) fn add(tiers: &[NamedTier], tier: &str, query: &AddAsked) -> Response {
    let Ok(Query(AddQuery { ring, server })) = *query else {
        return wrong("the query must say ring=NUMBER&server=ADDRESS:PORT, and no more\n");
    };
    tell(tiers, tier, |memory| memory.add_server(ring, server))
}

pub(super) fn remove(tiers: &[NamedTier], tier: &str, query: &RemoveAsked) -> Response {
    let Ok(Query(RemoveQuery { server })) = *query else {
        return wrong("the query must say server=ADDRESS:PORT, and no more\n");
    };
    tell(tiers, tier, |memory| memory.remove_server(server))
}

pub(super) fn repair(tiers: &[NamedTier], tier: &str) -> Response {
    tell(tiers, tier, |memory| {
        memory.repair();
        Ok(())
    })
}

fn wrong(told: &'static str) -> Response {
    (StatusCode::BAD_REQUEST, told).into_response()
}

/// Tells a tier something; answers how it stands then.
fn tell(
    tiers: &[NamedTier],
    name: &str,
    told: impl FnOnce(&CodedMemory) -> Result<(), RingChangeError>,
) -> Response {
    let Some(tier) = tiers.iter().find(|(tier, _)| tier == name) else {
        return (StatusCode::NOT_FOUND, "there is no such tier\n").into_response();
    };
    match told(&tier.1) {
        Ok(()) => Json(MemoryTierStatus::of(tier)).into_response(),
        Err(error) => (StatusCode::CONFLICT, format!("{error}\n")).into_response(),
    }
}
