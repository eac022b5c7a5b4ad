//! What `stats` answers.

use crate::{
    count::{Count, Totals},
    door::Door,
    outbox::Outbox,
    request::StatsOf,
    roll::Seen,
    shelf::{Shelf, ShelfGauge},
};
use std::fmt::Display;

/// The version of memcached whose commands these are.
pub(crate) const MEMCACHED_VERSION: &str = "1.6.18";

/// Writes what was asked for.
pub(crate) fn write<S: Shelf>(door: &Door<S>, of: StatsOf, out: &mut Outbox) {
    match of {
        StatsOf::Reset => {
            door.reset();
            return out.line("RESET");
        }
        StatsOf::All => {
            let (totals, gauge) = door.seen();
            process(door, &totals, out);
            commands(&totals, &gauge, out);
            items(door, &totals, &gauge, out);
        }
        StatsOf::Settings => settings(door, out),
        StatsOf::Items => classes(&door.seen().1, out),
        StatsOf::Slabs => slabs(&door.seen(), out),
        StatsOf::Conns => connections(door, out),
        StatsOf::Sizes => row(out, "sizes_status", "disabled"),
    }
    out.line("END");
}

fn row(out: &mut Outbox, name: &str, value: impl Display) {
    out.line(&format!("STAT {name} {value}"));
}

fn process<S: Shelf>(door: &Door<S>, totals: &Totals, out: &mut Outbox) {
    row(out, "pid", std::process::id());
    row(out, "uptime", door.clock.uptime_s());
    row(out, "time", door.clock.now());
    row(out, "version", MEMCACHED_VERSION);
    row(out, "ripstop_version", env!("CARGO_PKG_VERSION"));
    row(out, "pointer_size", usize::BITS);
    row(out, "max_connections", door.settings.connections_max);
    row(out, "curr_connections", door.open());
    row(out, "total_connections", door.connections());
    row(out, "idle_kicks", totals.of(Count::IdleKick));
}

fn commands(totals: &Totals, gauge: &ShelfGauge, out: &mut Outbox) {
    let of = |count| totals.of(count);
    row(out, "cmd_get", of(Count::GetHit) + of(Count::GetMiss));
    row(out, "cmd_set", of(Count::Set));
    row(out, "cmd_flush", of(Count::Flush));
    row(out, "cmd_touch", of(Count::TouchHit) + of(Count::TouchMiss));
    row(out, "cmd_meta", of(Count::Meta));
    row(out, "get_hits", of(Count::GetHit));
    row(out, "get_misses", of(Count::GetMiss));
    row(out, "get_expired", gauge.found_ended);
    row(out, "get_flushed", gauge.found_flushed);
    for (name, count) in [
        ("delete_misses", Count::DeleteMiss),
        ("delete_hits", Count::DeleteHit),
        ("incr_misses", Count::IncrMiss),
        ("incr_hits", Count::IncrHit),
        ("decr_misses", Count::DecrMiss),
        ("decr_hits", Count::DecrHit),
        ("cas_misses", Count::CasMiss),
        ("cas_hits", Count::CasHit),
        ("cas_badval", Count::CasBad),
        ("touch_hits", Count::TouchHit),
        ("touch_misses", Count::TouchMiss),
        ("store_too_large", Count::TooLarge),
        ("store_no_memory", Count::NoMemory),
        ("auth_cmds", Count::Auth),
        ("auth_errors", Count::AuthError),
        ("failed", Count::Failed),
        ("bytes_read", Count::BytesRead),
        ("bytes_written", Count::BytesWritten),
    ] {
        row(out, name, of(count));
    }
}

fn items<S: Shelf>(door: &Door<S>, totals: &Totals, gauge: &ShelfGauge, out: &mut Outbox) {
    row(out, "limit_maxbytes", gauge.bytes_max);
    row(out, "accepting_conns", u8::from(door.open() < door.settings.connections_max));
    row(out, "bytes", gauge.bytes);
    row(out, "curr_items", gauge.items);
    row(out, "total_items", gauge.stored);
    row(out, "expired_unfetched", gauge.expired_unfetched);
    row(out, "evicted_unfetched", gauge.evicted_unfetched);
    row(out, "evictions", gauge.evicted);
    row(out, "reclaimed", gauge.reclaimed);
    row(out, "malloc_fails", totals.of(Count::NoMemory));
}

fn settings<S: Shelf>(door: &Door<S>, out: &mut Outbox) {
    let settings = &door.settings;
    let yes = |is_so: bool| if is_so { "yes" } else { "no" };
    row(out, "maxbytes", door.shelf.gauge().bytes_max);
    row(out, "maxconns", settings.connections_max);
    row(out, "verbosity", 0);
    row(out, "evictions", "on");
    row(out, "shutdown_command", "no");
    row(out, "detail_enabled", "no");
    row(out, "cas_enabled", "yes");
    row(out, "binding_protocol", "ascii");
    row(out, "auth_enabled_sasl", "no");
    row(out, "auth_enabled_ascii", yes(settings.users.is_some()));
    row(out, "item_size_max", settings.item_max);
    row(out, "lru_crawler", "no");
    row(out, "flush_enabled", "yes");
    row(out, "dump_enabled", "no");
    row(out, "idle_timeout", settings.idle_timeout.map_or(0, |timeout| timeout.as_secs()));
    row(out, "ssl_enabled", yes(settings.tls.is_some()));
}

/// As memcached shows them, but for the port that they come from.
fn connections<S: Shelf>(door: &Door<S>, out: &mut Outbox) {
    let now_s = door.clock.now();
    for Seen { number, address, heard_s, is_busy } in door.roll.seen() {
        match address {
            Some(address) => row(out, &format!("{number}:addr"), format!("tcp:{address}")),
            None => row(out, &format!("{number}:addr"), "unix:"),
        }
        let state = if is_busy { "conn_parse_cmd" } else { "conn_read" };
        row(out, &format!("{number}:state"), state);
        let since_s = now_s.saturating_sub(heard_s);
        row(out, &format!("{number}:secs_since_last_cmd"), since_s);
    }
}

/// All lengths are one class here.
fn classes(gauge: &ShelfGauge, out: &mut Outbox) {
    if gauge.items == 0 {
        return;
    }
    for (name, value) in [
        ("number", gauge.items),
        ("mem_requested", gauge.bytes),
        ("evicted", gauge.evicted),
        ("outofmemory", 0),
        ("reclaimed", gauge.reclaimed),
        ("expired_unfetched", gauge.expired_unfetched),
        ("evicted_unfetched", gauge.evicted_unfetched),
    ] {
        row(out, &format!("items:1:{name}"), value);
    }
}

fn slabs((totals, gauge): &(Totals, ShelfGauge), out: &mut Outbox) {
    if gauge.items > 0 {
        for (name, value) in [
            ("used_chunks", gauge.items),
            ("get_hits", totals.of(Count::GetHit)),
            ("cmd_set", totals.of(Count::Set)),
            ("delete_hits", totals.of(Count::DeleteHit)),
            ("incr_hits", totals.of(Count::IncrHit)),
            ("decr_hits", totals.of(Count::DecrHit)),
            ("cas_hits", totals.of(Count::CasHit)),
            ("cas_badval", totals.of(Count::CasBad)),
            ("touch_hits", totals.of(Count::TouchHit)),
        ] {
            row(out, &format!("1:{name}"), value);
        }
    }
    row(out, "active_slabs", u8::from(gauge.items > 0));
    row(out, "total_malloced", gauge.bytes);
}
