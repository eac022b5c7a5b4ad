//! What a client asks for next.

use crate::{
    actor::{Actor, BUCKETS, KEYS},
    history::When,
    taste::Kind,
};
use std::time::Duration;
use tokio::time::sleep;

impl Actor {
    pub(crate) async fn run(mut self, operations: u64) {
        for _ in 0..operations {
            let often = self.meets.often;
            if often > 0 && self.below(100) < often {
                self.meet().await;
                continue;
            }
            let thinks = self.taste.thinks_ms as f64 * self.dice().exponential();
            sleep(Duration::from_micros((thinks * 1000.0) as u64)).await;
            if self.customers > 0 && self.below(100) < self.customers {
                self.ask_with_a_key().await;
                continue;
            }
            let taste = self.taste.clone();
            let kind = taste.next(self.dice());
            self.act(kind).await;
        }
    }

    /// Asks as others do at the same moment.
    async fn meet(&mut self) {
        let taste = self.taste.clone();
        let (wait, mut dice) = self.meets.next(self.world.passed());
        let bucket = BUCKETS[dice.below(BUCKETS.len() as u64) as usize];
        let name = (bucket, KEYS[dice.below(taste.keys) as usize]);
        let kind = (dice.below(2) == 0).then(|| taste.next(&mut dice));
        sleep(wait).await;
        let kind = kind.unwrap_or_else(|| taste.next(self.dice()));
        // Some only come at the same time.
        self.meets.name = (self.below(4) > 0).then_some(name);
        self.act(kind).await;
        self.meets.name = None;
    }

    async fn act(&mut self, kind: Kind) {
        match kind {
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
