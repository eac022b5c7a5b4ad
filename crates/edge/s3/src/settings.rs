use crate::Webhooks;
use crate::gate::ObjectOwnership;
use ripstop_envelope::ObjectKeys;
use ripstop_listen::{Network, Pace, Pressure, Tls};
use std::time::Duration;

/// How the face behaves. [`FrontSettings::default`] suits a gateway on its own.
#[derive(Clone, Debug)]
pub struct FrontSettings {
    /// The region that clients must sign for. Default `us-east-1`.
    pub region: String,
    /// Whether URLs presigned with Signature Version 2 are taken, as some clients make them unless
    /// told otherwise. Default true.
    pub signature_v2: bool,
    /// Hosts `bucket.domain` name the bucket there; any other host leaves it to the path. Default
    /// none: always in the path.
    pub domain: Option<String>,
    /// Hosts `bucket.domain` name the bucket whose website is asked for; any other host is a
    /// bucket's name itself. Default none.
    pub website_domain: Option<String>,
    /// How often access logs of buckets are put into the buckets that they go to. Default 5 min.
    pub access_log_every: Duration,
    /// Who may be told what happens in buckets. Default nobody.
    pub webhooks: Webhooks,
    /// The name of the one owner of all buckets and objects. Default `ripstop`.
    pub owner: String,
    /// Who owns what others put into a new bucket, unless its maker says otherwise, and so whether
    /// lists mean anything there. Default: the bucket's owner, and they mean nothing, as S3.
    pub object_ownership: ObjectOwnership,
    /// Most connections at once. Where all are taken, the one that has been idle the longest gives
    /// way to a new one; where none is idle, new ones wait. Default 4096.
    pub connections_max: usize,
    /// Most connections at once from one address. Default half of them, and all from this machine.
    pub connections_per_address_max: Option<usize>,
    /// Proxies, which are believed when they say for whom they ask (`X-Forwarded-For`) and how they
    /// were asked (`X-Forwarded-Proto`). Default none.
    pub trusted_proxies: Vec<Network>,
    /// Speaks TLS with this. Default: plain HTTP.
    pub tls: Option<Tls>,
    /// Refuses bodies that are not signed (`UNSIGNED-PAYLOAD`, unsigned chunks, presigned URLs)
    /// over a connection without TLS. Default false.
    pub unsigned_payload_needs_tls: bool,
    /// Longest wait for the first byte on a new connection, and for the end of a TLS handshake.
    /// Default 10 s.
    pub first_byte_timeout: Duration,
    /// Longest wait for a request's head, on a new connection and between requests: so also how
    /// long an idle connection is kept. Default 60 s.
    pub head_timeout: Duration,
    /// Longest wait for the next bytes of a body, or for the client to take some of an answer.
    /// Default 30 s.
    pub body_timeout: Duration,
    /// Slowest that a body may come or an answer be taken, bytes per second: memory is held until
    /// it is there. Waits of up to [`FrontSettings::body_timeout`] are forgiven. Default 4096.
    pub body_pace_min: u64,
    /// Makes both stricter for bodies while the memory of writes is short. Default: it never is.
    pub write_pressure: Pressure,
    /// The same for answers, while the memory of reads is short.
    pub read_pressure: Pressure,
    /// How long requests that run may go on once the face shuts down. Default 30 s.
    pub drain_timeout: Duration,
    /// Longest XML body, bytes. Default 4 MiB: ten thousand parts, or a thousand keys of full
    /// length.
    pub document_len_max: usize,
    /// Most bytes of documents that are in memory at once, from the first byte that came until the
    /// answer; further ones wait shortly, then are answered 503 `SlowDown`. Default 16 MiB.
    pub documents_memory_max: usize,
    /// The same of pages of listings, until they are sent. Default 32 MiB.
    pub pages_memory_max: usize,
    /// The same of lists of where objects' bytes are that have more than a thousand entries, while
    /// these objects are read or copied. Default 64 MiB.
    pub extents_memory_max: usize,
    /// Largest object in one request, and largest part, bytes. Default 5 GiB, as S3.
    pub put_len_max: u64,
    /// Smallest part that is not an upload's last, bytes. Default 5 MiB, as S3.
    pub part_len_min: u64,
    /// Bodies longer than this are hashed beside while they arrive, several at once, bytes. Default
    /// 128 KiB.
    pub hash_aside_above: u64,
    /// How objects are encrypted before they come to the store.
    pub encryption: EncryptionSettings,
    /// Classes of storage beside `STANDARD` that the store has, in the order in which objects may
    /// be moved on. Default none.
    pub storage_classes: Vec<String>,
}

/// How objects are encrypted before they come to the store.
#[derive(Clone, Debug, Default)]
pub struct EncryptionSettings {
    /// What wraps the keys of objects, where no client does. Default: nothing, so that it is
    /// refused to encrypt with any.
    pub keys: ObjectKeys,
    /// What is done where neither a request nor its bucket says anything. Default: nothing.
    pub default: DefaultEncryption,
}

/// What objects are encrypted with of which nothing is said.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum DefaultEncryption {
    /// They are not.
    #[default]
    Off,
    /// The gateway's own keys: `AES256`.
    Managed,
    /// The key of this name: `aws:kms`.
    Named(String),
}

impl Default for FrontSettings {
    fn default() -> Self {
        Self {
            region: "us-east-1".to_owned(),
            signature_v2: true,
            domain: None,
            website_domain: None,
            access_log_every: Duration::from_mins(5),
            webhooks: Webhooks::default(),
            owner: "ripstop".to_owned(),
            object_ownership: ObjectOwnership::default(),
            connections_max: 4096,
            connections_per_address_max: None,
            trusted_proxies: Vec::new(),
            tls: None,
            unsigned_payload_needs_tls: false,
            first_byte_timeout: Duration::from_secs(10),
            head_timeout: Duration::from_mins(1),
            body_timeout: Duration::from_secs(30),
            body_pace_min: 4096,
            write_pressure: Pressure::default(),
            read_pressure: Pressure::default(),
            drain_timeout: Duration::from_secs(30),
            document_len_max: 4 << 20,
            documents_memory_max: 16 << 20,
            pages_memory_max: 32 << 20,
            extents_memory_max: 64 << 20,
            put_len_max: 5 << 30,
            part_len_min: 5 << 20,
            hash_aside_above: 128 << 10,
            encryption: EncryptionSettings::default(),
            storage_classes: Vec::new(),
        }
    }
}

impl FrontSettings {
    /// How slowly bodies may come, or answers be taken, under this pressure.
    pub(crate) fn pace(&self, pressure: &Pressure) -> Pace {
        Pace {
            wait_max: self.body_timeout,
            bytes_per_s_min: self.body_pace_min,
            pressure: pressure.clone(),
        }
    }
}
