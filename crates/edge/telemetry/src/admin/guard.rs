use axum::http::{HeaderMap, StatusCode, Uri, header, uri::Authority};
use std::net::IpAddr;
use thiserror::Error;

/// Why a request that would change something is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub(crate) enum Refusal {
    /// Whoever sent it took us for somebody else: a web page whose name was made to resolve to our
    /// address, perhaps.
    #[error("the Host header must be an address, localhost, or a configured name")]
    Host,
    /// A browser sent it for a page.
    #[error("requests of web pages are refused")]
    Page,
}

impl Refusal {
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Page => StatusCode::FORBIDDEN,
        }
    }
}

/// Admits a request that changes something: it must be sent to us by name, and by no web page.
/// `names` are in lower case.
pub(crate) fn admit(uri: &Uri, headers: &HeaderMap, names: &[String]) -> Result<(), Refusal> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok()).ok_or(Refusal::Host)?;
    let absolute = uri.authority().map(Authority::as_str);
    if hosts.next().is_some()
        || !is_ours(host, names)
        || !absolute.is_none_or(|at| is_ours(at, names))
    {
        return Err(Refusal::Host);
    }
    if headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site") {
        return Err(Refusal::Page);
    }
    Ok(())
}

fn is_ours(host: &str, names: &[String]) -> bool {
    let Some(name) = without_port(host) else { return false };
    let name = name.to_ascii_lowercase();
    name.parse::<IpAddr>().is_ok() || name == "localhost" || names.contains(&name)
}

/// The host without its port and brackets; `None` if it is not well formed.
fn without_port(host: &str) -> Option<&str> {
    let (name, rest) = match host.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?,
        None => host.find(':').map_or((host, ""), |at| host.split_at(at)),
    };
    let port = rest.strip_prefix(':').unwrap_or(rest);
    (rest.is_empty() || port.len() < rest.len() && port.parse::<u16>().is_ok()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_localhost_and_configured_names_are_ours() {
        let names = ["ripstop.internal".to_owned()];
        for host in [
            "127.0.0.1",
            "127.0.0.1:9100",
            "10.0.0.7:1",
            "[::1]",
            "[::1]:9100",
            "LocalHost:80",
            "ripstop.internal:9100",
            "Ripstop.Internal",
        ] {
            assert!(is_ours(host, &names), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:9100",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost:",
            "localhost:99999",
            "[::1",
            "[::1]x",
            "::1:80:",
            "localhost:80:80",
            "user@localhost",
        ] {
            assert!(!is_ours(host, &names), "{host}");
        }
    }

    #[test]
    fn pages_and_strangers_are_refused() {
        let told = |uri: &'static str, headers: &[(&'static str, &'static str)]| {
            let headers = headers.iter().map(|(name, value)| {
                (name.parse::<header::HeaderName>().unwrap(), value.parse().unwrap())
            });
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(name, value);
            }
            admit(&Uri::from_static(uri), &map, &[])
        };
        assert_eq!(told("/check", &[("host", "127.0.0.1:9100")]), Ok(()));
        assert_eq!(told("/check", &[]), Err(Refusal::Host));
        assert_eq!(told("/check", &[("host", "evil.example")]), Err(Refusal::Host));
        assert_eq!(told("/check", &[("host", "[::1]"), ("host", "[::1]")]), Err(Refusal::Host));
        assert_eq!(told("http://evil.example/check", &[("host", "localhost")]), Err(Refusal::Host));
        let origin = [("host", "localhost"), ("origin", "null")];
        assert_eq!(told("/check", &origin), Err(Refusal::Page));
        let fetched = [("host", "localhost"), ("sec-fetch-site", "cross-site")];
        assert_eq!(told("/check", &fetched), Err(Refusal::Page));
    }
}
