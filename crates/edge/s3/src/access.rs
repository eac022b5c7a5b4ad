//! The one line that each request leaves: who asked, for what, and what came of it. Anybody can be
//! refused as often as they like, so lines of those whom no signature vouches for are short and
//! rare.

use crate::by_name::ByName as _;
use crate::{Answered, FrontSettings, S3Operation, error::Failure};
use http::{HeaderMap, header};
use ripstop_listen::{Network, Peer};
use std::{
    net::{IpAddr, SocketAddr},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Where the lines go, so that they can be filtered by themselves.
const ACCESS: &str = "ripstop_s3::access";
/// Bytes of a path that are shown: a key has 1024 at most.
pub(crate) const PATH_SHOWN_MAX: usize = 1024;
/// Bytes of a method that are shown.
pub(crate) const METHOD_SHOWN_MAX: usize = 16;
/// Bytes of what a client calls itself that are shown.
const AGENT_SHOWN_MAX: usize = 128;
/// Bytes of an access key that are shown where nobody vouches for it.
const KEY_SHOWN_MAX: usize = 128;
/// Bytes a second of lines of requests that no signature vouches for.
const STRANGERS_BYTES_PER_S: f64 = 4096.0;
/// … and how many at once after a calm time.
const STRANGERS_BYTES_AT_ONCE: f64 = 32768.0;
/// Bytes of a line beside its texts: names of fields, numbers, times.
const LINE_LEN: usize = 400;
/// How often those that have no line of their own are counted in one.
const COUNT_EVERY: Duration = Duration::from_secs(1);

/// The beginning of a text, in whole characters.
pub(crate) fn cut(text: &str, len_max: usize) -> &str {
    &text[..text.floor_char_boundary(len_max)]
}

/// Who asks, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Client {
    /// Where the client is, as far as it is known.
    pub(crate) address: Option<IpAddr>,
    /// The proxy that asks for it.
    pub(crate) proxy: Option<IpAddr>,
    /// Whether nobody between the client and us, or the proxy, can read or change what is said.
    pub(crate) secure: bool,
}

impl Client {
    /// Of a request with these headers that came from `peer`. Proxies are believed; the rest of the
    /// way is what they say, back to the first address that is none of them.
    pub(crate) fn of(peer: &Peer, headers: &HeaderMap, settings: &FrontSettings) -> Self {
        Self::behind(peer.address(), peer.secure(), headers, &settings.trusted_proxies)
    }

    fn behind(
        peer: Option<IpAddr>,
        secure: bool,
        headers: &HeaderMap,
        proxies: &[Network],
    ) -> Self {
        let trusted = |address: IpAddr| proxies.iter().any(|proxy| proxy.contains(address));
        if !peer.is_some_and(trusted) {
            return Self { address: peer, proxy: None, secure };
        }
        let way = headers.get_all("x-forwarded-for").iter().rev();
        let way = way.filter_map(|value| value.to_str().ok());
        let mut address = None;
        for said in way.flat_map(|value| value.rsplit(',')) {
            let Some(before) = forwarded(said) else { break };
            address = Some(before);
            if !trusted(before) {
                break;
            }
        }
        let asked = headers.named("x-forwarded-proto");
        let https = asked.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"https"));
        Self { address: address.or(peer), proxy: peer, secure: secure || https }
    }

    /// How URLs of this gateway begin for the client.
    pub(crate) const fn scheme(self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }
}

/// An address as proxies write it: with a port or without.
fn forwarded(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let alone = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = alone.parse().ok();
    let address = address.or_else(|| text.parse().ok().map(|at: SocketAddr| at.ip()));
    address.map(|address| address.to_canonical())
}

/// What a request's line says beside what the observer is told.
#[derive(Debug)]
pub(crate) struct Note {
    pub(crate) client: Client,
    agent: String,
    /// Bytes of path and method.
    shown: usize,
    /// The request's id.
    pub(crate) id: String,
    /// What is asked for.
    pub(crate) operation: S3Operation,
    /// Who signed.
    pub(crate) access_key: Option<String>,
    /// Who is said to have signed, where the signature is wrong.
    claimed_key: Option<String>,
    /// The error that was answered.
    pub(crate) error_code: Option<&'static str>,
}

impl Note {
    pub(crate) fn new(client: Client, headers: &HeaderMap, shown: usize) -> Self {
        let agent = headers.get(header::USER_AGENT).map(http::HeaderValue::as_bytes);
        let agent = String::from_utf8_lossy(agent.unwrap_or_default());
        let agent = cut(&agent, AGENT_SHOWN_MAX).to_owned();
        Self {
            client,
            agent,
            shown,
            id: String::new(),
            operation: S3Operation::Unknown,
            access_key: None,
            claimed_key: None,
            error_code: None,
        }
    }

    /// The request is answered with this error.
    pub(crate) fn refused(&mut self, failure: &Failure) {
        self.error_code = Some(failure.code.word());
        let claimed = failure.details.iter().find(|(name, _)| *name == "AWSAccessKeyId");
        if self.access_key.is_none() {
            self.claimed_key = claimed.map(|(_, key)| cut(key, KEY_SHOWN_MAX).to_owned());
        }
    }

    /// Writes the line, within the request's span.
    pub(crate) fn write(&self, answered: &Answered, strangers: &Strangers) {
        if self.access_key.is_none() {
            let claimed = self.claimed_key.as_ref().map_or(0, String::len);
            if !strangers
                .admit(LINE_LEN + self.shown + self.agent.len() + claimed, ripstop_host::now())
            {
                return;
            }
        }
        let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        tracing::info!(
            target: ACCESS,
            operation = answered.operation.name(),
            status = answered.status,
            code = self.error_code,
            access_key = self.access_key.as_deref(),
            claimed_key = self.claimed_key.as_deref(),
            client = self.client.address.map(display),
            proxy = self.client.proxy.map(display),
            encrypted = self.client.secure,
            user_agent = self.agent,
            received = answered.received,
            sent = answered.sent,
            broken = answered.broken,
            first_byte_us = us(answered.first_byte),
            duration_us = us(answered.duration),
            "answered"
        );
    }
}

/// How much of the log those may write whom no signature vouches for.
#[derive(Debug)]
pub(crate) struct Strangers(Mutex<Allowance>);

#[derive(Debug)]
struct Allowance {
    bytes: f64,
    at: Instant,
    without_line: u64,
}

impl Strangers {
    pub(crate) fn new() -> Self {
        let (bytes, at) = (STRANGERS_BYTES_AT_ONCE, ripstop_host::now());
        Self(Mutex::new(Allowance { bytes, at, without_line: 0 }))
    }

    /// Whether a line of `len` bytes may be written; it is counted if not.
    fn admit(&self, len: usize, now: Instant) -> bool {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let earned = now.saturating_duration_since(left.at).as_secs_f64() * STRANGERS_BYTES_PER_S;
        left.bytes = (left.bytes + earned).min(STRANGERS_BYTES_AT_ONCE);
        left.at = now;
        let admitted = left.bytes >= len as f64;
        if admitted {
            left.bytes -= len as f64;
        } else {
            left.without_line += 1;
        }
        admitted
    }

    fn count(&self) -> u64 {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut left.without_line)
    }

    /// Says once a second how many requests had no line of their own, for as long as it is polled.
    pub(crate) async fn tell(&self) {
        let mut ticks = tokio::time::interval(COUNT_EVERY);
        loop {
            ticks.tick().await;
            let refused = self.count();
            if refused > 0 {
                tracing::info!(target: ACCESS, refused, "more requests of strangers were refused");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, headers: &[(&'static str, &'static str)]) -> (String, bool) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let proxies = ["10.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()];
        let client = Client::behind(Some(peer.parse().unwrap()), false, &map, &proxies);
        (client.address.unwrap().to_string(), client.secure)
    }

    #[test]
    fn only_proxies_are_believed_and_only_back_to_the_first_stranger() {
        let said = |text| ("x-forwarded-for", text);
        for (peer, headers, address) in [
            ("192.0.2.1", vec![said("203.0.113.5")], "192.0.2.1"),
            ("10.0.0.1", vec![], "10.0.0.1"),
            ("10.0.0.1", vec![said("203.0.113.5")], "203.0.113.5"),
            ("10.0.0.1", vec![said("6.6.6.6, 203.0.113.5")], "203.0.113.5"),
            ("10.0.0.1", vec![said("6.6.6.6, 203.0.113.5, 10.2.3.4")], "203.0.113.5"),
            ("10.0.0.1", vec![said("6.6.6.6"), said("203.0.113.5")], "203.0.113.5"),
            ("10.0.0.1", vec![said("203.0.113.5:4711")], "203.0.113.5"),
            ("::1", vec![said("[2001:db8::7]:4711")], "2001:db8::7"),
            ("::1", vec![said("[2001:db8::7]")], "2001:db8::7"),
            ("10.0.0.1", vec![said("203.0.113.5, unknown")], "10.0.0.1"),
            ("10.0.0.1", vec![said("evil, 10.0.0.2")], "10.0.0.2"),
        ] {
            assert_eq!(client(peer, &headers).0, address, "{peer} {headers:?}");
        }
        let https = ("x-forwarded-proto", "HTTPS");
        assert!(client("10.0.0.1", &[https]).1);
        assert!(!client("192.0.2.1", &[https]).1);
        assert!(!client("10.0.0.1", &[("x-forwarded-proto", "http")]).1);
    }

    #[test]
    fn strangers_write_a_few_kilobytes_a_second_and_are_counted_beyond() {
        let strangers = Strangers::new();
        let begun = Instant::now();
        let mut written = 0;
        for request in 0..100_000_u32 {
            // Ten seconds of ten thousand requests each.
            let now = begun + Duration::from_micros(100) * request;
            written += if strangers.admit(2000, now) { 2000 } else { 0 };
        }
        assert!((64_000..80_000).contains(&written), "{written}");
        assert_eq!(strangers.count(), 100_000 - written / 2000);
        assert_eq!(strangers.count(), 0);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("abc", 5), "abc");
        assert_eq!(cut("aéb", 2), "a");
        assert_eq!(cut("aéb", 3), "aé");
    }
}
