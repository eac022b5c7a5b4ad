//! What a client asks for next.

use crate::{
    actor::{Actor, BUCKETS},
    history::When,
};
use std::time::Duration;
use tokio::time::sleep;

/// How long a client thinks on average.
const THINKS_MS: f64 = 60.0;

impl Actor {
    pub(crate) async fn run(mut self, operations: u64) {
        for _ in 0..operations {
            let thinks = THINKS_MS * self.dice().exponential();
            sleep(Duration::from_micros((thinks * 1000.0) as u64)).await;
            self.act().await;
        }
    }

    pub(crate) async fn act(&mut self) {
        match self.below(100) {
            0..32 => self.put(When::Always).await,
            32..36 => self.put(When::Absent).await,
            36..40 => self.put_if_the_same().await,
            40..54 => {
                let name = self.name();
                self.get(name).await;
            }
            54..58 => {
                let name = self.name();
                self.head(name).await;
            }
            58..66 => self.delete().await,
            66..70 => self.delete_many().await,
            70..76 => {
                let bucket = BUCKETS[self.below(2) as usize];
                let page = 1 + self.below(5);
                self.list(bucket, page).await;
            }
            76..82 => self.copy().await,
            82..87 => self.multipart().await,
            87..91 => self.tag().await,
            91..94 => {
                let name = self.name();
                self.see_tag(name).await;
            }
            94..97 => self.see_version().await,
            _ => self.delete_version().await,
        }
    }
}
