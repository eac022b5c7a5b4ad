//! Two who change at the same time what a bucket says of the public: whoever comes second is held
//! against what the first has said.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]

#[path = "common/client.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod client;
#[path = "common/mod.rs"]
mod common;
#[path = "common/people.rs"]
#[allow(dead_code, reason = "each user takes its part")]
mod people;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use people::{ALICE, NOBODY, People, denied};
use ripstop_model::FragmentId;
use ripstop_node::{Capabilities, Listed, MemoryNode, Node, NodeError};
use ripstop_store::StoreSettings;
use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::sync::Semaphore;

/// Holds up what is put while it is shut, until it lets go.
#[derive(Debug)]
struct Latch {
    is_shut: AtomicBool,
    held: AtomicUsize,
    let_go: Semaphore,
}

impl Latch {
    /// Waits until something is held up, at most ten seconds.
    async fn catches(&self) {
        for _ in 0..1000 {
            if self.held.load(SeqCst) > 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("nothing was put");
    }
}

#[derive(Debug)]
struct Latched {
    inner: MemoryNode,
    latch: Arc<Latch>,
}

#[async_trait]
impl Node for Latched {
    async fn put(&self, name: FragmentId, fragment: Vec<Bytes>) -> Result<(), NodeError> {
        if self.latch.is_shut.load(SeqCst) {
            self.latch.held.fetch_add(1, SeqCst);
            drop(self.latch.let_go.acquire().await.unwrap());
        }
        self.inner.put(name, fragment).await
    }

    async fn get(&self, name: FragmentId, range: Range<u64>) -> Result<Bytes, NodeError> {
        self.inner.get(name, range).await
    }

    async fn delete(&self, name: FragmentId) -> Result<(), NodeError> {
        self.inner.delete(name).await
    }

    fn list(&self) -> BoxStream<'_, Result<Listed, NodeError>> {
        self.inner.list()
    }

    async fn health(&self) -> Result<(), NodeError> {
        self.inner.health().await
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
}

/// People before nodes that hold up what is put while the latch is shut.
async fn before_latch() -> (People, Arc<Latch>) {
    let (is_shut, held) = (AtomicBool::new(false), AtomicUsize::new(0));
    let latch = Arc::new(Latch { is_shut, held, let_go: Semaphore::new(0) });
    let node = |_| {
        let inner = MemoryNode::new(1 << 30);
        Arc::new(Latched { inner, latch: latch.clone() }) as Arc<dyn Node>
    };
    let folder = tempfile::tempdir().unwrap();
    let nodes: Vec<_> = (0..3).map(node).collect();
    let store = common::store_over(folder.path(), StoreSettings::default(), &nodes);
    let people = People::over(store, folder).await;
    people.ok(ALICE, "PUT", "/mine", "", b"").await;
    people.ok(ALICE, "PUT", "/mine/k", "", b"x").await;
    (people, latch)
}

/// What the first is answered, into which the second comes once it has looked at the bucket.
async fn meet(
    people: &People,
    latch: &Latch,
    (first, document): (&str, &str),
    (second, other): (&str, &str),
) -> (u16, String) {
    latch.is_shut.store(true, SeqCst);
    let slow = people.told(ALICE, "PUT", "/mine", first, document.as_bytes());
    let quick = async {
        latch.catches().await;
        latch.is_shut.store(false, SeqCst);
        people.ok(ALICE, "PUT", "/mine", second, other.as_bytes()).await;
        latch.let_go.add_permits(100);
    };
    let both = async { tokio::join!(slow, quick) };
    let (told, ()) = tokio::time::timeout(Duration::from_mins(1), both).await.unwrap();
    told
}

const BLOCK_POLICY: &str = "<PublicAccessBlockConfiguration><BlockPublicPolicy>true\
    </BlockPublicPolicy></PublicAccessBlockConfiguration>";
const BLOCK_LISTS: &str = "<PublicAccessBlockConfiguration><BlockPublicAcls>true\
    </BlockPublicAcls></PublicAccessBlockConfiguration>";
const PUBLIC_POLICY: &str = "{\"Statement\":{\"Effect\":\"Allow\",\"Principal\":\"*\",\
    \"Action\":\"s3:GetObject\",\"Resource\":\"arn:aws:s3:::mine/*\"}}";
const PUBLIC_LIST: &str = "<AccessControlPolicy><Owner><ID>alice</ID></Owner><AccessControlList>\
    <Grant><Grantee xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"Group\">\
    <URI>http://acs.amazonaws.com/groups/global/AllUsers</URI></Grantee>\
    <Permission>READ</Permission></Grant></AccessControlList></AccessControlPolicy>";

fn ownership(word: &str) -> String {
    format!(
        "<OwnershipControls><Rule><ObjectOwnership>{word}</ObjectOwnership></Rule>\
         </OwnershipControls>"
    )
}

#[tokio::test]
async fn a_public_policy_that_meets_a_block_of_such_is_refused() {
    let (people, latch) = before_latch().await;
    let told =
        meet(&people, &latch, ("policy=", PUBLIC_POLICY), ("publicAccessBlock=", BLOCK_POLICY));
    assert_eq!(told.await, denied());
    let kept = people.told(ALICE, "GET", "/mine", "policy=", b"").await;
    assert_eq!(kept, (404, "NoSuchBucketPolicy".to_owned()));
    assert_eq!(people.status(NOBODY, "GET", "/mine/k", "").await, 403);
}

#[tokio::test]
async fn a_public_list_that_meets_a_block_of_such_is_refused() {
    let (people, latch) = before_latch().await;
    let writer = ownership("ObjectWriter");
    people.ok(ALICE, "PUT", "/mine", "ownershipControls=", writer.as_bytes()).await;
    let told = meet(&people, &latch, ("acl=", PUBLIC_LIST), ("publicAccessBlock=", BLOCK_LISTS));
    assert_eq!(told.await, denied());
    assert_eq!(people.status(NOBODY, "GET", "/mine", "").await, 403);
}

#[tokio::test]
async fn ownership_that_ends_lists_meets_a_list_and_is_refused() {
    let (people, latch) = before_latch().await;
    let (writer, enforced) = (ownership("ObjectWriter"), ownership("BucketOwnerEnforced"));
    people.ok(ALICE, "PUT", "/mine", "ownershipControls=", writer.as_bytes()).await;
    let told = meet(&people, &latch, ("ownershipControls=", &enforced), ("acl=", PUBLIC_LIST));
    let refused = (400, "InvalidBucketAclWithObjectOwnership".to_owned());
    assert_eq!(told.await, refused);
    assert_eq!(people.status(NOBODY, "GET", "/mine", "").await, 200);
}
