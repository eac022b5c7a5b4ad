//! What a client asks for next.

use crate::{
    actor::{Actor, BUCKETS},
    history::When,
    taste::Kind,
};
use std::time::Duration;
use tokio::time::sleep;

impl Actor {
    pub(crate) async fn run(mut self, operations: u64) {
        for _ in 0..operations {
            let thinks = self.taste.thinks_ms as f64 * self.dice().exponential();
            sleep(Duration::from_micros((thinks * 1000.0) as u64)).await;
            if self.customers > 0 && self.below(100) < self.customers {
                self.ask_with_a_key().await;
                continue;
            }
            self.act().await;
        }
    }

    pub(crate) async fn act(&mut self) {
        let taste = self.taste.clone();
        match taste.next(self.dice()) {
            Kind::Put => self.put(When::Always).await,
            Kind::PutIfAbsent => self.put(When::Absent).await,
            Kind::PutIfSame => self.put_if_the_same().await,
            Kind::PutLocked => self.put_locked().await,
            Kind::Get => {
                let name = self.name();
                self.get(name).await;
            }
            Kind::Head => {
                let name = self.name();
                self.head(name).await;
            }
            Kind::Delete => self.delete().await,
            Kind::DeleteMany => self.delete_many().await,
            Kind::List => {
                let bucket = self.one_of(&BUCKETS);
                let page = 1 + self.below(5);
                self.list(bucket, page).await;
            }
            Kind::Copy => self.copy().await,
            Kind::Multipart => self.multipart().await,
            Kind::Tag => self.tag().await,
            Kind::SeeTag => {
                let name = self.name();
                self.see_tag(name).await;
            }
            Kind::SeeVersion => self.see_version().await,
            Kind::DeleteVersion => self.delete_version().await,
            Kind::Hold => self.hold().await,
            Kind::Open => self.open().await,
            Kind::ReadUnsigned => self.read_unsigned().await,
        }
    }
}
