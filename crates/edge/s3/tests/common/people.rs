//! A face with an administrator, users with accounts of their own, and a key that the operator lets
//! into one bucket.

use crate::{
    client::{Answer, Call},
    common::store,
};
use ripstop_identity::{BucketRights, Credentials, Keyring, Right, Rights};
use ripstop_s3::{EncryptionSettings, FrontSettings, KeyRing, ObjectKeys, Unobserved, serve};
use ripstop_store::{Store, StoreSettings};
use std::{net::SocketAddr, sync::Arc};
use tokio_util::sync::CancellationToken;

pub(crate) const SECRET: &str = "a-secret-of-a-key";
/// Who is let in, beside the administrator `test`: users, and a key that may read `shared`.
pub(crate) const ALICE: &str = "ALICE";
pub(crate) const BOB: &str = "BOB";
pub(crate) const CLERK: &str = "CLERK";
/// Nobody.
pub(crate) const NOBODY: &str = "";

pub(crate) struct People {
    pub(crate) to: SocketAddr,
    /// What is behind it.
    pub(crate) store: Store,
    _folder: tempfile::TempDir,
}

pub(crate) fn credentials() -> Credentials {
    let keys = [("test", "testtest"), (ALICE, SECRET), (BOB, SECRET), (CLERK, SECRET)];
    let mut credentials: Credentials = keys.into_iter().collect();
    credentials.call(ALICE, "alice");
    credentials.call(BOB, "bob");
    credentials.grant(ALICE, Rights::user());
    credentials.grant(BOB, Rights::user());
    let rule = BucketRights::new("shared".parse().unwrap(), [Right::Read]);
    credentials.grant(CLERK, Rights::of(vec![rule]).unwrap());
    credentials
}

impl People {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (store, _nodes) = store(folder.path(), StoreSettings::default());
        Self::over(store, folder).await
    }

    /// Before a store with its catalog in `folder`.
    pub(crate) async fn over(store: Store, folder: tempfile::TempDir) -> Self {
        Self::who_are(credentials().into(), store, folder).await
    }

    /// These people, before a store with its catalog in `folder`.
    pub(crate) async fn who_are(keyring: Keyring, store: Store, folder: tempfile::TempDir) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        let encryption =
            EncryptionSettings { keys: ObjectKeys::new(KeyRing::generate()), ..Default::default() };
        let settings = FrontSettings { part_len_min: 1, encryption, ..FrontSettings::default() };
        let shutdown = CancellationToken::new();
        let observer = Arc::new(Unobserved);
        tokio::spawn(serve(listener, store.clone(), keyring, settings, observer, shutdown));
        Self { to, store, _folder: folder }
    }

    /// With a bucket of Alice's that has some objects.
    pub(crate) async fn with_bucket(bucket: &str, keys: &[&str]) -> Self {
        let people = Self::new().await;
        people.ok(ALICE, "PUT", &format!("/{bucket}"), "", b"").await;
        for key in keys {
            people.ok(ALICE, "PUT", &format!("/{bucket}/{key}"), "", key.as_bytes()).await;
        }
        people
    }

    pub(crate) async fn send(
        &self,
        who: &'static str,
        method: &'static str,
        path: &str,
        query: &str,
        body: &[u8],
    ) -> Answer {
        self.send_with(who, Call::new(method, path).query(query), body).await
    }

    pub(crate) async fn send_with(&self, who: &'static str, call: Call, body: &[u8]) -> Answer {
        match who {
            NOBODY => call.send_unsigned(self.to, body).await,
            "test" => call.send(self.to, body).await,
            key => call.key(key, SECRET).send(self.to, body).await,
        }
    }

    /// What must be answered with success.
    pub(crate) async fn ok(
        &self,
        who: &'static str,
        method: &'static str,
        path: &str,
        query: &str,
        body: &[u8],
    ) -> Answer {
        let answer = self.send(who, method, path, query, body).await;
        assert!((200..300).contains(&answer.status), "{who} {method} {path}?{query}: {answer:?}");
        answer
    }

    /// Status and code.
    pub(crate) async fn told(
        &self,
        who: &'static str,
        method: &'static str,
        path: &str,
        query: &str,
        body: &[u8],
    ) -> (u16, String) {
        let answer = self.send(who, method, path, query, body).await;
        let is_error = answer.status >= 300 && !answer.body.is_empty();
        (answer.status, if is_error { answer.code() } else { String::new() })
    }

    pub(crate) async fn status(
        &self,
        who: &'static str,
        method: &'static str,
        path: &str,
        query: &str,
    ) -> u16 {
        self.send(who, method, path, query, b"").await.status
    }

    /// Has a bucket of Alice's have this policy.
    pub(crate) async fn policy(&self, bucket: &str, statements: &str) {
        let text = format!("{{\"Version\":\"2012-10-17\",\"Statement\":[{statements}]}}");
        self.ok(ALICE, "PUT", &format!("/{bucket}"), "policy=", text.as_bytes()).await;
    }
}

pub(crate) fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).into_owned()
}

/// A refusal, in one word.
pub(crate) fn denied() -> (u16, String) {
    (403, "AccessDenied".to_owned())
}
