//! Objects that are encrypted with keys of clients, which no gateway keeps.

use crate::{
    actor::{Actor, Said},
    ask::{Ask, md5},
    history::{Came, Deed, When},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use ripstop_delay::Dice;

/// The bucket of such objects, and its keys.
const SEALED: &str = "sealed";
const KEYS: [&str; 2] = ["a", "b"];
/// Keys of clients: each is this byte, again and again.
const CUSTOMERS: [u8; 2] = [1, 2];
/// The stream of dice that says whether there are such objects.
const STREAM: u64 = 60;
/// Where there are, of a hundred requests this many are about them.
const OFTEN: u64 = 25;
/// Where an object says what it is: its ETag is no hash of its bytes.
const SUM: &str = "x-amz-meta-sum";

/// Of a hundred requests in a seed's drill this many are about such objects.
pub(crate) fn often(seed: u64) -> u64 {
    if Dice::numbered(seed, STREAM).below(3) == 0 { OFTEN } else { 0 }
}

fn with_key(ask: Ask, customer: u8) -> Ask {
    let key = [customer; 32];
    ask.header("x-amz-server-side-encryption-customer-algorithm", "AES256")
        .header("x-amz-server-side-encryption-customer-key", STANDARD.encode(key))
        .header("x-amz-server-side-encryption-customer-key-md5", STANDARD.encode(md5(&key)))
}

impl Actor {
    /// Asks for something of such an object.
    pub(crate) async fn ask_with_a_key(&mut self) {
        // It is there, or nothing follows from what is asked.
        let made = self.ask(Ask::new("PUT", SEALED, "")).await;
        let (Said::Yes(_) | Said::No(409, _)) = made else {
            return;
        };
        let (key, customer) = (self.one_of(&KEYS), self.one_of(&CUSTOMERS));
        match self.below(6) {
            0 | 1 => self.put_with_a_key(key, customer).await,
            2 => self.delete_of(key).await,
            3 => self.get_without_a_key(key).await,
            _ => _ = self.get_with_a_key(key, customer).await,
        }
    }

    async fn put_with_a_key(&mut self, key: &'static str, customer: u8) {
        let content = self.content(u64::MAX);
        let sum = format!("{customer}-{}", hex::encode(md5(&content)));
        self.history.store(&sum, content.clone());
        let ask = Ask::new("PUT", SEALED, key).body(content).header(SUM, sum.clone());
        let deed = Deed::Put { etag: sum, when: When::Always };
        let call = self.history.begin(self.number, SEALED, key, deed);
        match self.ask(with_key(ask, customer)).await {
            Said::Yes(_) => self.history.end(call, Came::Done { version: None }),
            said @ (Said::No(..) | Said::Nothing | Said::Unknown) => {
                self.settle(call, said, "a put with a key");
            }
        }
    }

    async fn delete_of(&mut self, key: &'static str) {
        let call = self.history.begin(self.number, SEALED, key, Deed::Delete);
        match self.ask(Ask::new("DELETE", SEALED, key)).await {
            Said::Yes(_) => self.history.end(call, Came::Done { version: None }),
            said @ (Said::No(..) | Said::Nothing | Said::Unknown) => {
                self.settle(call, said, "a deletion");
            }
        }
    }

    /// Nobody is told anything of it who has no key.
    async fn get_without_a_key(&mut self, key: &'static str) {
        if let Said::Yes(answer) = self.ask(Ask::new("GET", SEALED, key)).await {
            self.complain(format!("{key} was read without its key: {}", answer.body.len()));
        }
    }

    /// Whether it is of another client's key, if it is there.
    async fn get_with_a_key(&mut self, key: &'static str, customer: u8) -> bool {
        let call = self.history.begin(self.number, SEALED, key, Deed::See);
        let ask = with_key(Ask::new("GET", SEALED, key), customer);
        match self.ask(ask).await {
            Said::Yes(answer) => {
                let etag = answer.header(SUM).unwrap_or_default().to_owned();
                let content = self.history.content(&etag);
                if !etag.starts_with(&format!("{customer}-")) || content != Some(answer.body) {
                    self.complain(format!("key {customer} opened {key}, which is {etag:?}"));
                }
                self.history.end(call, Came::Found { etag });
            }
            Said::No(400, _) => {
                self.history.forget(call);
                return true;
            }
            said @ (Said::No(..) | Said::Nothing | Said::Unknown) => {
                self.settle(call, said, "a get with a key");
            }
        }
        false
    }

    /// Once all is quiet, each of these objects is opened by one of the keys.
    pub(crate) async fn keys_open(&mut self) {
        if self.customers == 0 {
            return;
        }
        for key in KEYS {
            let mut is_of_others = true;
            for customer in CUSTOMERS {
                is_of_others &= self.get_with_a_key(key, customer).await;
            }
            if is_of_others {
                self.complain(format!("no key opens {key}"));
            }
        }
    }
}
