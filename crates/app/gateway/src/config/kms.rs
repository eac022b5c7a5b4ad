//! The key service that named keys of objects may be at.

use super::{
    address::{TlsFiles, tls_files},
    bounds, raw,
};
use anyhow::{Context as _, Result, bail, ensure};
use std::{net::IpAddr, path::PathBuf, time::Duration};

/// A key service, as configured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KmsConfig {
    /// Its address: scheme, host, port.
    pub url: http::Uri,
    /// Where its transit engine is mounted.
    pub mount: String,
    /// The namespace there.
    pub namespace: Option<String>,
    /// The key that is meant where none is named.
    pub default_key: Option<String>,
    /// Who the gateway is there.
    pub login: KmsLoginConfig,
    /// The file of the authorities that vouch for it; without it, those that the system trusts.
    pub ca: Option<PathBuf>,
    /// The certificate that the gateway shows.
    pub identity: Option<TlsFiles>,
    /// Longest that a call may take.
    pub timeout: Duration,
    /// Calls at once.
    pub calls_max: usize,
    /// How long an opened key is kept.
    pub cached_for: Duration,
    /// Opened keys that are kept.
    pub cached_max: usize,
}

/// Who a gateway is at the key service. Secrets are in files that only their owner may read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KmsLoginConfig {
    /// Who has the token in this file.
    Token(PathBuf),
    /// A role.
    AppRole {
        /// Where the method is mounted.
        mount: String,
        /// The role's id.
        role_id: String,
        /// The file of its secret id.
        secret_id: PathBuf,
    },
    /// Who shows the certificate.
    Certificate {
        /// Where the method is mounted.
        mount: String,
        /// The role.
        role: Option<String>,
    },
}

pub(super) fn resolve(raw: Option<raw::Kms>) -> Result<Option<KmsConfig>> {
    raw.map(kms).transpose()
}

fn kms(raw: raw::Kms) -> Result<KmsConfig> {
    let text = raw.url.clone().context("kms.url is wanted: the address of the key service")?;
    let url: http::Uri = text.parse().context("kms.url")?;
    let has_path = url.path_and_query().is_some_and(|path| path.as_str() != "/");
    let is_whole = matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some();
    ensure!(
        is_whole && !has_path,
        "kms.url is {text:?}: an address such as https://host:8200 is wanted, without a path"
    );
    ensure!(
        url.scheme_str() == Some("https") || is_here(url.host()),
        "kms.url is {text:?}: keys are sent to other machines over https only"
    );
    let identity = tls_files(
        (raw.certificate.clone(), raw.certificate_key.clone()),
        ("kms.certificate", "kms.certificate_key"),
    )?;
    let login = login(&raw, identity.is_some())?;
    let default_key = raw.default_key.map(|key| name("kms.default_key", key)).transpose()?;
    Ok(KmsConfig {
        url,
        mount: path("kms.mount", raw.mount, "transit")?,
        namespace: raw.namespace.map(|name| path("kms.namespace", Some(name), "")).transpose()?,
        default_key,
        login,
        ca: raw.ca,
        identity,
        timeout: bounds::span(
            "kms.timeout",
            raw.timeout,
            Duration::from_secs(2),
            &bounds::KMS_TIMEOUT,
        )?,
        calls_max: bounds::given("kms.calls_max", raw.calls_max, &bounds::KMS_CALLS)?.unwrap_or(32),
        cached_for: bounds::span(
            "kms.cached_for",
            raw.cached_for,
            Duration::from_mins(5),
            &bounds::KMS_CACHED_FOR,
        )?,
        cached_max: bounds::given("kms.cached_max", raw.cached_max, &bounds::KMS_CACHED)?
            .unwrap_or(4096),
    })
}

/// Whether this host is the machine itself.
fn is_here(host: Option<&str>) -> bool {
    let host = host.unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn login(raw: &raw::Kms, has_certificate: bool) -> Result<KmsLoginConfig> {
    let mount = |usual| path("kms.login_mount", raw.login_mount.clone(), usual);
    match (&raw.token, &raw.role_id, &raw.secret_id) {
        (Some(_), None, None) if raw.login_mount.is_some() || raw.certificate_role.is_some() => {
            bail!(
                "kms.token is a login by itself: kms.login_mount and kms.certificate_role are of others"
            )
        }
        (Some(token), None, None) => Ok(KmsLoginConfig::Token(token.clone())),
        (None, Some(role_id), Some(secret_id)) if raw.certificate_role.is_none() => {
            let (role_id, secret_id) = (role_id.clone(), secret_id.clone());
            Ok(KmsLoginConfig::AppRole { mount: mount("approle")?, role_id, secret_id })
        }
        (None, None, None) if has_certificate => Ok(KmsLoginConfig::Certificate {
            mount: mount("cert")?,
            role: raw.certificate_role.clone(),
        }),
        _ => bail!(
            "one way to log in at the key service is wanted: kms.token, or kms.role_id and kms.secret_id, or \
             kms.certificate and kms.certificate_key alone"
        ),
    }
}

/// What becomes part of a path.
fn path(key: &str, said: Option<String>, usual: &str) -> Result<String> {
    let said = said.unwrap_or_else(|| usual.to_owned());
    let said = said.trim_matches('/');
    let fits = |part: &str| {
        let in_parts = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !part.is_empty() && part != "." && part != ".." && part.bytes().all(in_parts)
    };
    ensure!(
        said.len() <= 256 && said.split('/').all(fits),
        "{key} is {said:?}: a path of letters, digits and any of -_. is wanted"
    );
    Ok(said.to_owned())
}

fn name(key: &str, said: String) -> Result<String> {
    ensure!(!said.contains('/'), "{key} is {said:?}: the name of a key has no slashes");
    path(key, Some(said), "")
}

#[cfg(test)]
mod tests {
    use super::super::{Config, describe, parse};
    use anyhow::Result;

    fn with(keys: &str) -> Result<Config> {
        let rest =
            "[[pool]]\nname = \"p\"\ncode = [1, 1]\n[[node]]\nname = \"n\"\nkind = \"memory\"\n";
        parse(&format!("[kms]\n{keys}\n{rest}"), [])
    }

    #[test]
    fn a_key_service_is_what_is_said_of_it_and_the_usual_besides() {
        let config = with("url = \"https://keys:8200\"\ntoken = \"t\"\ndefault_key = \"reports\"");
        let config = config.unwrap();
        let kms = config.kms.as_ref().unwrap();
        assert_eq!((&*kms.mount, kms.calls_max, kms.cached_max), ("transit", 32, 4096));
        assert_eq!((kms.timeout.as_secs(), kms.cached_for.as_secs()), (2, 300));
        let said =
            "named keys at https://keys:8200/transit by the token in t, key reports by default";
        assert!(describe(&config).iter().any(|line| line == said), "{:?}", describe(&config));
        let role = "role_id = \"r\"\nsecret_id = \"s\"\nnamespace = \"a/b\"";
        for keys in [
            &format!("url = \"http://127.0.0.1:8200\"\n{role}"),
            "url = \"http://[::1]:8200/\"\ntoken = \"t\"\nmount = \"/team/transit/\"",
            "url = \"https://keys\"\ncertificate = \"c\"\ncertificate_key = \"k\"\ncertificate_role = \"r\"",
            "url = \"https://keys\"\ncertificate = \"c\"\ncertificate_key = \"k\"\ntoken = \"t\"",
        ] {
            with(keys).unwrap();
        }
    }

    #[test]
    fn what_is_no_key_service_is_refused_by_name() {
        let https = "url = \"https://keys\"";
        for (keys, told) in [
            ("token = \"t\"", "kms.url is wanted"),
            ("url = \"keys\"\ntoken = \"t\"", "https://host:8200"),
            ("url = \"https://keys/v1\"\ntoken = \"t\"", "without a path"),
            ("url = \"http://keys:8200\"\ntoken = \"t\"", "over https only"),
            (https, "one way to log in"),
            (
                &format!("{https}\ntoken = \"t\"\nrole_id = \"r\"\nsecret_id = \"s\""),
                "one way to log in",
            ),
            (&format!("{https}\nrole_id = \"r\""), "one way to log in"),
            (&format!("{https}\ntoken = \"t\"\nlogin_mount = \"m\""), "a login by itself"),
            (&format!("{https}\ncertificate = \"c\""), "without kms.certificate_key"),
            (&format!("{https}\ntoken = \"t\"\nmount = \"a/../sys\""), "kms.mount"),
            (&format!("{https}\ntoken = \"t\"\ndefault_key = \"a/b\""), "kms.default_key"),
            (&format!("{https}\ntoken = \"t\"\ntimeout = \"1ms\""), "kms.timeout"),
            (&format!("{https}\ntoken = \"t\"\ncalls_max = 0"), "kms.calls_max"),
            (&format!("{https}\ntoken = \"t\"\ncached_max = 100000"), "kms.cached_max"),
        ] {
            let error = format!("{:#}", with(keys).unwrap_err());
            assert!(error.contains(told), "{keys}: {error}");
        }
    }
}
