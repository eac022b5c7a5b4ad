use super::{connector::Connector, credentials::BucketCredentials, error::BucketError};
use object_store::{
    RetryConfig,
    aws::{AmazonS3, AmazonS3Builder},
};
use std::net::IpAddr;

/// Where a bucket is and how to speak to it.
#[derive(Clone, Debug)]
pub struct BucketSettings {
    /// Address of the server with its scheme, such as `https://s3.eu-west-1.amazonaws.com`.
    pub endpoint: String,
    /// Region that requests are signed for; `us-east-1` suits most servers outside AWS.
    pub region: String,
    /// Name of the bucket, which must be there.
    pub bucket: String,
    /// Put before every object's name, with a `/` between; may be empty.
    pub prefix: String,
    /// Who signs.
    pub credentials: BucketCredentials,
    /// Whether an endpoint without TLS is accepted.
    pub allow_http: bool,
    /// Whether the bucket is the first part of the path rather than of the host's name.
    pub path_style: bool,
    /// Whether uploads are hashed with SHA-256 and signed: some servers insist on it. Fragments
    /// carry checksums of their own, so it adds nothing but time.
    pub sign_payload: bool,
}

/// Whether what is sent to this endpoint can be read, and changed, on its way over a network: it
/// has no TLS and is not this machine.
pub fn is_exposed(endpoint: &str) -> bool {
    let Some(rest) = endpoint.strip_prefix("http://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let name = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let is_here = match name.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => name.eq_ignore_ascii_case("localhost"),
    };
    !is_here
}

impl BucketSettings {
    pub(super) fn location(&self) -> String {
        format!("{}/{}/{}", self.endpoint, self.bucket, self.prefix)
    }

    pub(super) fn build(self) -> Result<AmazonS3, BucketError> {
        // Whatever stands before an @ may be a secret.
        let shown = self.endpoint.rsplit('@').next().unwrap_or_default();
        let unusable = || BucketError::Endpoint(shown.to_owned());
        let (scheme, host) =
            self.endpoint.trim_end_matches('/').split_once("://").ok_or_else(unusable)?;
        if host.is_empty() || host.contains(['/', '?', '#', '@', ' ']) {
            return Err(unusable());
        }
        let allowed = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        if self.bucket.is_empty() || !self.bucket.chars().all(allowed) {
            return Err(BucketError::Bucket(self.bucket));
        }
        let connector = match (scheme, self.allow_http) {
            ("https", _) => Connector::https()?,
            ("http", true) => Connector::http(),
            ("http", false) => return Err(BucketError::PlainHttp(self.endpoint)),
            _ => return Err(unusable()),
        };
        let endpoint = if self.path_style {
            format!("{scheme}://{host}")
        } else {
            format!("{scheme}://{}.{host}", self.bucket)
        };
        let BucketCredentials { access_key, secret_key, token } = self.credentials;
        let builder = AmazonS3Builder::new()
            .with_endpoint(endpoint)
            .with_region(self.region)
            .with_bucket_name(self.bucket)
            .with_virtual_hosted_style_request(!self.path_style)
            .with_access_key_id(access_key)
            .with_secret_access_key(secret_key.as_str())
            .with_allow_http(self.allow_http)
            .with_unsigned_payload(!self.sign_payload)
            // One request to delete one object; the bulk form costs a body and its digest.
            .with_disable_bulk_delete(true)
            .with_retry(RetryConfig { max_retries: 0, ..RetryConfig::default() })
            .with_http_connector(connector);
        let builder = match token {
            Some(token) => builder.with_token(token.as_str()),
            None => builder,
        };
        builder.build().map_err(BucketError::Client)
    }
}

#[cfg(test)]
mod tests {
    use super::is_exposed;

    #[test]
    fn plain_http_is_exposed_unless_it_ends_at_this_machine() {
        for here in [
            "https://s3.example.com",
            "http://127.0.0.1:9000",
            "http://127.8.8.8",
            "http://[::1]:9000/",
            "http://LocalHost:80",
            "http://user@localhost",
        ] {
            assert!(!is_exposed(here), "{here}");
        }
        for away in [
            "http://10.0.0.5:9000",
            "http://s3.example.com",
            "http://localhost.example.com",
            "http://127.0.0.1@s3.example.com",
            "http://127.0.0.1.example.com:80",
            "http://[2001:db8::1]:9000",
            "http://",
        ] {
            assert!(is_exposed(away), "{away}");
        }
    }
}
