//! A store has one number, however many gateways begin on an empty catalog at the same time.

use async_trait::async_trait;
use futures::future::join_all;
use ripstop_catalog::{
    Catalog, CatalogError, CatalogSettings, Change, Embedded, Outcome, Query, Reply,
};
use ripstop_store::{adopt, identity, identity_or};

/// A catalog at which whoever asks lets all others ask before.
#[derive(Debug)]
struct Polite(Embedded);

#[async_trait]
impl Catalog for Polite {
    async fn commit(
        &self,
        now_ms: u64,
        changes: Vec<Change>,
    ) -> Result<Vec<Outcome>, CatalogError> {
        tokio::task::yield_now().await;
        self.0.commit(now_ms, changes).await
    }

    async fn read(&self, query: Query<'_>) -> Result<Reply, CatalogError> {
        tokio::task::yield_now().await;
        self.0.read(query).await
    }
}

#[tokio::test]
async fn gateways_that_begin_together_are_of_one_store() {
    let catalog = Polite(Embedded::in_memory(CatalogSettings::default()).expect("opened"));
    let all = join_all((0..6).map(|_| identity(&catalog))).await;
    let all: Vec<u64> = all.into_iter().collect::<Result<_, _>>().expect("asked");
    assert!(all.iter().all(|one| *one == all[0]), "{all:x?}");
    let named = catalog.nodes().await.expect("read").len();
    assert!(named > 1, "they began together, and {named} drew a number");
    assert_eq!(identity(&catalog).await.expect("asked"), all[0], "for ever");
    assert_eq!(identity_or(&catalog, 7).await.expect("asked"), all[0]);
}

#[tokio::test]
async fn the_first_that_was_adopted_counts_whatever_it_is_called() {
    let catalog = Embedded::in_memory(CatalogSettings::default()).expect("opened");
    for number in [0xff, 0x1, 0xaa] {
        adopt(&catalog, number).await.expect("adopted");
    }
    assert_eq!(identity(&catalog).await.expect("asked"), 0xff);
}
