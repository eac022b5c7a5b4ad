//! Rings of memcached servers, wherever they are configured.

use anyhow::{Context as _, Result, ensure};
use ripstop_model::Code;
use std::{collections::BTreeSet, net::SocketAddr};

/// Bytes stored at a server, unless told otherwise: memcached's own 64 MiB, less what its slabs
/// leave unused and what one server has more than others.
pub(super) const SERVER_MEMORY: u64 = 40 << 20;

/// The code of these rings, of which `at` has the keys; without one nothing is coded.
pub(super) fn code(at: &str, rings: &[Vec<SocketAddr>], code: Option<[usize; 2]>) -> Result<Code> {
    let rings_len = rings.len();
    let [n, k] = code.unwrap_or([rings_len, rings_len]);
    let code = Code::new(n, k).with_context(|| format!("{at}.code = [{n}, {k}]"))?;
    ensure!(
        rings_len == n,
        "{at}.rings has {rings_len} rings, and {at}.code = [{n}, {k}] takes {n}"
    );
    let empty = rings.iter().position(Vec::is_empty);
    ensure!(empty.is_none(), "{at}.rings has a ring without servers");
    let mut seen = BTreeSet::new();
    for server in rings.iter().flatten() {
        ensure!(seen.insert(server), "{at}.rings has server {server} twice");
    }
    Ok(code)
}

/// Servers that one of `theirs` uses too, of which not both say so, are emptied under the other.
pub(super) fn apart(
    (at, rings, shared): (&str, &[Vec<SocketAddr>], bool),
    theirs: (&str, &[Vec<SocketAddr>], bool),
) -> Result<()> {
    let (other, their_rings, is_theirs_shared) = theirs;
    let both =
        rings.iter().flatten().find(|server| their_rings.iter().flatten().any(|it| it == *server));
    if let Some(server) = both {
        ensure!(
            shared && is_theirs_shared,
            "{at} and {other} both use server {server}, and would empty it under each other: give them \
             servers of their own, or say shared = true in both"
        );
    }
    Ok(())
}
