use super::AdminToken;
use axum::{
    extract::Request,
    http::{HeaderValue, Method, StatusCode, header, uri::Authority},
    response::{IntoResponse, Response},
};
use std::net::IpAddr;
use thiserror::Error;

/// Paths that need no token: what asks there whether the gateway is well has none.
const OPEN: [&str; 2] = ["/livez", "/readyz"];

/// Why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub(crate) enum Refusal {
    /// Its sender took us for somebody else: a web page whose name was made to resolve to our
    /// address, perhaps.
    #[error("the Host header must be an address, localhost, or a configured name")]
    Host,
    /// A browser sent it for a page.
    #[error("requests from web pages are refused")]
    Page,
    /// Its sender did not show the token.
    #[error("a token is required: Authorization: Bearer …")]
    Token,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Page => StatusCode::FORBIDDEN,
            Self::Token => StatusCode::UNAUTHORIZED,
        };
        let mut response = (status, format!("{self}\n")).into_response();
        if self == Self::Token {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

/// Admits a request: it must be sent to us by name (`names` are in lower case), by no web page if
/// it would change something, and with the token if there is one.
pub(crate) fn admit(
    request: &Request,
    names: &[String],
    token: Option<&AdminToken>,
) -> Result<(), Refusal> {
    let (uri, headers) = (request.uri(), request.headers());
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok()).ok_or(Refusal::Host)?;
    let absolute = uri.authority().map(Authority::as_str);
    if hosts.next().is_some()
        || !is_ours(host, names)
        || !absolute.is_none_or(|at| is_ours(at, names))
    {
        return Err(Refusal::Host);
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let of_page = headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site");
    if changes && of_page {
        return Err(Refusal::Page);
    }
    let Some(token) = token else { return Ok(()) };
    let mut shown = headers.get_all(header::AUTHORIZATION).iter();
    if OPEN.contains(&uri.path()) || shown.any(|shown| token.is_shown(shown.as_bytes())) {
        return Ok(());
    }
    Err(Refusal::Token)
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

/// What is answered on a port that anybody on the machine may ask, which this is not done for.
pub(super) fn unguarded(what: &str) -> Response {
    let told = format!(
        "{what} only where the admin port has a token (gateway.admin_token) or is a Unix socket\n"
    );
    (StatusCode::FORBIDDEN, told).into_response()
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
        let told = |uri, headers: &[_]| admit(&request("POST", uri, headers), &[], None);
        assert_eq!(told("/check", &[("host", "127.0.0.1:9100")]), Ok(()));
        assert_eq!(told("/check", &[]), Err(Refusal::Host));
        assert_eq!(told("/check", &[("host", "evil.example")]), Err(Refusal::Host));
        assert_eq!(told("/check", &[("host", "[::1]"), ("host", "[::1]")]), Err(Refusal::Host));
        assert_eq!(told("http://evil.example/check", &[("host", "localhost")]), Err(Refusal::Host));
        let origin = [("host", "localhost"), ("origin", "null")];
        assert_eq!(told("/check", &origin), Err(Refusal::Page));
        let fetched = [("host", "localhost"), ("sec-fetch-site", "cross-site")];
        assert_eq!(told("/check", &fetched), Err(Refusal::Page));
        let looked = |headers: &[_]| admit(&request("GET", "/status", headers), &[], None);
        assert_eq!(looked(&[("host", "localhost")]), Ok(()));
        assert_eq!(looked(&fetched), Ok(()), "somebody looks at it in a browser");
        assert_eq!(looked(&[("host", "evil.example")]), Err(Refusal::Host));
    }

    fn request(
        method: &'static str,
        uri: &'static str,
        headers: &[(&'static str, &'static str)],
    ) -> Request {
        let request = axum::http::Request::builder().method(method).uri(uri);
        let request = headers.iter().fold(request, |to, (name, value)| to.header(*name, *value));
        request.body(axum::body::Body::empty()).unwrap()
    }

    #[test]
    fn with_a_token_only_health_is_open() {
        let token = AdminToken::new("0123456789abcdef");
        let told =
            |method, uri, headers: &[_]| admit(&request(method, uri, headers), &[], Some(&token));
        let host = ("host", "localhost");
        for uri in ["/status", "/metrics", "/pools/main/task-log", "/", "/livez/", "/none"] {
            assert_eq!(told("GET", uri, &[host]), Err(Refusal::Token), "{uri}");
        }
        let shown = [host, ("authorization", "Bearer 0123456789abcdef")];
        let wrong = [host, ("authorization", "Bearer 0123456789abcdee")];
        for (method, uri) in [("POST", "/check"), ("POST", "/reload"), ("GET", "/status")] {
            assert_eq!(told(method, uri, &shown), Ok(()));
            assert_eq!(told(method, uri, &wrong), Err(Refusal::Token));
        }
        for uri in ["/livez", "/readyz"] {
            assert_eq!(told("GET", uri, &[host]), Ok(()));
            assert_eq!(told("GET", uri, &[("host", "evil.example")]), Err(Refusal::Host));
        }
    }
}
