use crate::tls::{Tls, TlsError};
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;
use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, Host, SslMode, TargetSessionAttrs};

/// How long one server of several is tried, unless the URL says.
const CONNECTING_MAX: Duration = Duration::from_secs(3);

/// Where a database is, and who asks: `postgres://user:password@host,host:port/database`. Neither
/// its `Debug` nor its `Display` shows the password.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    config: Config,
    tls: Option<Authorities>,
}

/// Whom a server's certificate must be from.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Authorities {
    /// Those that the system trusts.
    System,
    /// Those in a file.
    File(PathBuf),
}

/// Why something is no URL of a database.
#[derive(Debug, Error)]
pub enum PostgresUrlError {
    /// It does not begin with `postgres://` or `postgresql://`.
    #[error("begins with neither postgres:// nor postgresql://")]
    Scheme,
    /// It names no host.
    #[error("names no host")]
    Host,
    /// It cannot be understood.
    #[error("{0}")]
    Unreadable(String),
    /// Its `sslmode` is none that is served.
    #[error(
        "sslmode={0:?} is not served: `disable`, or `require` (or `verify-full`), which checks the \
         server's certificate and name"
    )]
    Mode(String),
    /// It names authorities, and no TLS.
    #[error("sslrootcert is given, and sslmode=disable")]
    Authorities,
}

impl PostgresUrl {
    /// Whether something is meant to be one.
    pub fn is_one(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    pub(crate) const fn config(&self) -> &Config {
        &self.config
    }

    /// What TLS takes, if it is used. Reads the authorities' certificates.
    pub(crate) fn tls(&self) -> Result<Option<Tls>, TlsError> {
        match &self.tls {
            None => Ok(None),
            Some(Authorities::System) => Tls::by_the_system().map(Some),
            Some(Authorities::File(path)) => Tls::by_file(path).map(Some),
        }
    }
}

impl FromStr for PostgresUrl {
    type Err = PostgresUrlError;

    fn from_str(text: &str) -> Result<Self, PostgresUrlError> {
        if !Self::is_one(text) {
            return Err(PostgresUrlError::Scheme);
        }
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut mode, mut authorities, mut rest) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => authorities = Some(unescaped(value)?),
                Some(_) | None => rest.push(pair),
            }
        }
        let rest = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
        // What it could not read is not shown: it may be a part of the password.
        let unreadable = |error: tokio_postgres::Error| {
            let reason = std::error::Error::source(&error).map(ToString::to_string);
            PostgresUrlError::Unreadable(reason.unwrap_or_else(|| "is no URL".into()))
        };
        let mut config: Config = format!("{address}{rest}").parse().map_err(unreadable)?;
        if config.get_hosts().is_empty() {
            return Err(PostgresUrlError::Host);
        }
        let tls = match mode {
            Some("disable") if authorities.is_some() => return Err(PostgresUrlError::Authorities),
            Some("disable") => None,
            Some("require" | "verify-full") => Some(from(authorities)),
            Some(other) => return Err(PostgresUrlError::Mode(other.into())),
            None if authorities.is_none() && config.get_hosts().iter().all(is_here) => None,
            None => Some(from(authorities)),
        };
        config.ssl_mode(if tls.is_some() { SslMode::Require } else { SslMode::Disable });
        config.channel_binding(ChannelBinding::Disable);
        // Of several servers, the one that takes writes.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECTING_MAX);
        }
        if config.get_application_name().is_none() {
            config.application_name("ripstop");
        }
        Ok(Self { config, tls })
    }
}

fn from(file: Option<String>) -> Authorities {
    file.map_or(Authorities::System, |file| Authorities::File(file.into()))
}

/// Whether a server is on this machine, so that nobody listens between.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
        }
        Host::Unix(_) => true,
    }
}

fn unescaped(text: &str) -> Result<String, PostgresUrlError> {
    let bad = || PostgresUrlError::Unreadable("a % stands before what is no byte".into());
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first == b'%' {
            let (digits, behind) = behind.split_at_checked(2).ok_or_else(bad)?;
            bytes.extend(hex::decode(digits).map_err(|_| bad())?);
            rest = behind;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports = self.config.get_ports();
        let port = |at: usize| ports.get(at).or(ports.last()).copied();
        let hosts = self.config.get_hosts().iter().enumerate().map(|(at, host)| {
            let port = port(at).map_or_else(String::new, |port| format!(":{port}"));
            match host {
                Host::Tcp(name) => format!("{name}{port}"),
                Host::Unix(path) => format!("{}{port}", path.display()),
            }
        });
        let user = self.config.get_user().map_or_else(String::new, |user| format!("{user}@"));
        let hosts = hosts.collect::<Vec<_>>().join(",");
        write!(f, "postgres://{user}{hosts}/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> PostgresUrl {
        text.parse().unwrap()
    }

    #[test]
    fn no_password_is_shown() {
        let url = read("postgres://rip:s3cret@127.0.0.1:5433,localhost/cat?application_name=x");
        assert_eq!(url.to_string(), "postgres://rip@127.0.0.1:5433,localhost:5432/cat");
        assert!(!format!("{url:?} {:?}", url.config()).contains("s3cret"));
        let error = "postgres://rip:s3cr%et@h/x?connect_timeout=abc".parse::<PostgresUrl>();
        assert!(!error.unwrap_err().to_string().contains("s3cr"));
    }

    #[test]
    fn what_leaves_the_machine_is_encrypted_unless_told_otherwise() {
        let tls = |text: &str| read(text).tls;
        assert_eq!(tls("postgres://u@127.0.0.1/d"), None);
        assert_eq!(tls("postgres://u@[::1]/d"), None);
        assert_eq!(tls("postgres://u@%2Frun%2Fpg/d"), None);
        assert_eq!(tls("postgres://u@db.example.org/d"), Some(Authorities::System));
        assert_eq!(tls("postgres://u@localhost,db/d"), Some(Authorities::System));
        assert_eq!(tls("postgres://u@db/d?sslmode=disable"), None);
        assert_eq!(tls("postgres://u@localhost/d?sslmode=require"), Some(Authorities::System));
        let file = Some(Authorities::File("/etc/ca 1.pem".into()));
        assert_eq!(tls("postgres://u@db/d?sslrootcert=%2Fetc%2Fca%201.pem"), file);
    }

    #[test]
    fn what_is_no_url_is_refused_with_a_reason() {
        let refused = |text: &str| text.parse::<PostgresUrl>().unwrap_err().to_string();
        assert!(refused("mysql://h/d").contains("postgres://"));
        assert_eq!(refused("postgres:///d"), "names no host");
        assert!(refused("postgres://h/d?sslmode=prefer").contains("\"prefer\" is not served"));
        assert!(
            refused("postgres://h/d?sslmode=disable&sslrootcert=x").contains("sslmode=disable")
        );
        assert!(refused("postgres://h/d?grazing=1").contains("grazing"));
        assert!(refused("postgres://h/d?sslrootcert=%zz").contains("no byte"));
    }
}
