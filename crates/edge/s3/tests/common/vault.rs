//! A face that encrypts, its keys, and what its nodes hold.
#![allow(dead_code, reason = "each user takes its part")]
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

use crate::{
    client::{Answer, Call},
    common,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use futures::StreamExt as _;
use md5::Digest as _;
use ripstop_catalog::{CatalogSettings, Embedded, Quota};
use ripstop_keeper::{RebuildProgress, RebuildReport, SurveyedNode, SurveyedPool};
use ripstop_model::{Code, Layout, NodeId, PoolId};
use ripstop_node::{MemoryNode, Node};
use ripstop_runtime::Seals;
use ripstop_s3::{
    Credentials, DefaultEncryption, EncryptionSettings, FrontSettings, KeyRing, ObjectKeys,
    Unobserved, serve,
};
use ripstop_store::{PackSettings, Quotas, Store, StoreSettings};
use std::{net::SocketAddr, sync::Arc};
use tokio_util::sync::CancellationToken;

pub(crate) const SSE: &str = "x-amz-server-side-encryption";
pub(crate) const KEY_ID: &str = "x-amz-server-side-encryption-aws-kms-key-id";

/// A face with buckets `bkt` and `other`.
pub(crate) struct Vault {
    pub(crate) at: SocketAddr,
    pub(crate) keys: ObjectKeys,
    pub(crate) ring: KeyRing,
    pub(crate) store: Store,
    nodes: Vec<Arc<MemoryNode>>,
    _folder: tempfile::TempDir,
}

/// The key of a client, told by a letter.
#[derive(Clone, Copy)]
pub(crate) struct Key(pub(crate) u8);

impl Key {
    fn text(self) -> String {
        STANDARD.encode([self.0; 32])
    }

    pub(crate) fn md5(self) -> String {
        STANDARD.encode(md5::Md5::digest([self.0; 32]))
    }

    /// With the headers of it.
    pub(crate) fn of(self, call: Call) -> Call {
        self.with(call, SSE)
    }

    /// With those of a copy's source.
    pub(crate) fn of_source(self, call: Call) -> Call {
        self.with(call, "x-amz-copy-source-server-side-encryption")
    }

    fn with(self, call: Call, prefix: &str) -> Call {
        call.header(&format!("{prefix}-customer-algorithm"), "AES256")
            .header(&format!("{prefix}-customer-key"), self.text())
            .header(&format!("{prefix}-customer-key-md5"), self.md5())
    }
}

/// How something is to be encrypted.
#[derive(Clone, Copy)]
pub(crate) enum How {
    Plain,
    Customer(Key),
    Managed,
    Named(&'static str),
}

impl How {
    pub(crate) const ALL: [Self; 4] =
        [Self::Plain, Self::Customer(Key(b'a')), Self::Managed, Self::Named("reports")];

    pub(crate) fn write(self, call: Call) -> Call {
        match self {
            Self::Plain => call,
            Self::Customer(key) => key.of(call),
            Self::Managed => call.header(SSE, "AES256"),
            Self::Named(name) => call.header(SSE, "aws:kms").header(KEY_ID, name),
        }
    }

    pub(crate) fn read(self, call: Call) -> Call {
        match self {
            Self::Customer(key) => key.of(call),
            Self::Plain | Self::Managed | Self::Named(_) => call,
        }
    }

    pub(crate) fn read_source(self, call: Call) -> Call {
        match self {
            Self::Customer(key) => key.of_source(call),
            Self::Plain | Self::Managed | Self::Named(_) => call,
        }
    }

    /// Asserts that an answer says so.
    pub(crate) fn assert_said(self, answer: &Answer) {
        let of_customer = answer.header("x-amz-server-side-encryption-customer-key-md5");
        let said = (answer.header(SSE), answer.header(KEY_ID), of_customer.map(str::to_owned));
        let expected = match self {
            Self::Plain => (None, None, None),
            Self::Customer(key) => (None, None, Some(key.md5())),
            Self::Managed => (Some("AES256"), None, None),
            Self::Named(name) => (Some("aws:kms"), Some(name), None),
        };
        assert_eq!(said, expected, "{answer:?}");
    }
}

pub(crate) fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

/// Bytes in which every stretch of a few can be found again.
pub(crate) fn bytes(len: usize) -> Vec<u8> {
    (0..len.div_ceil(12)).flat_map(|at| format!("plain{at:06}\n").into_bytes()).take(len).collect()
}

impl Vault {
    pub(crate) async fn new() -> Self {
        Self::with(DefaultEncryption::Off, 0, Quota::NONE).await
    }

    /// Objects below `packed` bytes wait for company.
    pub(crate) async fn with(default: DefaultEncryption, packed: u32, quota: Quota) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let packs = PackSettings { below: packed, ..PackSettings::default() };
        let packs = [(PoolId(0), packs)].into();
        let settings = StoreSettings { packs, ..StoreSettings::default() };
        let (store, nodes) = common::store(folder.path(), settings);
        store.set_quotas(Quotas { others: quota, ..Quotas::default() });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let credentials: Credentials = [("test", "testtest")].into_iter().collect();
        let ring = KeyRing::generate().rotated(Some("reports")).unwrap();
        let keys = ObjectKeys::new(ring.clone());
        let encryption = EncryptionSettings { keys: keys.clone(), default };
        let settings = FrontSettings { part_len_min: 1000, encryption, ..FrontSettings::default() };
        let (of_face, observer) = (store.clone(), Arc::new(Unobserved));
        let shutdown = CancellationToken::new();
        tokio::spawn(serve(listener, of_face, credentials, settings, observer, shutdown));
        let vault = Self { at, keys, ring, store, nodes, _folder: folder };
        for bucket in ["/bkt", "/other"] {
            assert_eq!(vault.send(Call::new("PUT", bucket), b"").await.status, 200);
        }
        vault
    }

    pub(crate) async fn send(&self, call: Call, body: &[u8]) -> Answer {
        call.send(self.at, body).await
    }

    pub(crate) async fn put(&self, key: &str, body: &[u8], how: How) -> Answer {
        let call = how.write(Call::new("PUT", &format!("/bkt/{key}")));
        let put = self.send(call, body).await;
        assert_eq!(put.status, 200, "{}", text(&put));
        put
    }

    /// Asserts that an object is these bytes, whole and in ranges, and says how it is encrypted.
    pub(crate) async fn assert_is(&self, path: &str, body: &[u8], how: How) {
        let get = || how.read(Call::new("GET", path));
        let whole = self.send(get(), b"").await;
        assert!(whole.status == 200 && whole.body == body, "{path}: {}", whole.head);
        how.assert_said(&whole);
        let head = self.send(how.read(Call::new("HEAD", path)), b"").await;
        assert_eq!(head.header("content-length"), Some(body.len().to_string().as_str()));
        how.assert_said(&head);
        let len = body.len();
        let ends = [0, 1, 65_535, 65_536, 65_537, 131_072, len / 2, len.saturating_sub(1)];
        for from in ends.into_iter().filter(|from| *from < len) {
            for to in ends.into_iter().filter(|to| (from..len).contains(to)) {
                let range = format!("bytes={from}-{to}");
                let part = self.send(get().header("range", &range), b"").await;
                assert_eq!(part.status, 206, "{path} {range}");
                assert!(part.body == body[from..=to], "{path} {range}");
                let said = format!("bytes {from}-{to}/{len}");
                assert_eq!(part.header("content-range"), Some(said.as_str()));
            }
        }
    }

    /// A catalog that is made from what nodes hold.
    pub(crate) async fn rebuilt(&self) -> (Embedded, RebuildReport) {
        let nodes = (0..).zip(&self.nodes).map(|(id, node)| SurveyedNode {
            id: NodeId(id),
            name: format!("n{id}"),
            node: node.clone() as Arc<dyn Node>,
        });
        let pool = SurveyedPool {
            id: PoolId(0),
            name: "p".to_owned(),
            code: Code::new(3, 2).unwrap(),
            layout: Layout::Spread,
            nodes: nodes.collect(),
        };
        let folder = tempfile::tempdir().unwrap();
        let catalog = Embedded::in_memory(CatalogSettings::default()).unwrap();
        let (scratch, progress) = (folder.path().join("scratch"), RebuildProgress::default());
        let seals = Seals::default();
        let report =
            ripstop_keeper::rebuild(&catalog, vec![pool], &scratch, &progress, &seals).await;
        (catalog, report.unwrap())
    }

    /// Whether some node holds these bytes anywhere in a row.
    pub(crate) async fn nodes_hold(&self, wanted: &[u8]) -> bool {
        for node in &self.nodes {
            let mut listed = node.list();
            while let Some(found) = listed.next().await {
                let found = found.unwrap();
                let all = node.get(found.name, 0..found.len).await.unwrap();
                if all.windows(wanted.len()).any(|here| here == wanted) {
                    return true;
                }
            }
        }
        false
    }
}
