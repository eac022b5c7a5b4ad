//! A client of a drill: what it asks for next, and what it makes of the answers.

use crate::{
    ask::{Ask, md5},
    client::{Answer, DrillClient},
    history::{Came, History},
    life::Life,
    taste::{Sizes, Taste},
    tempo::Meets,
    world::World,
};
use bytes::Bytes;
use ripstop_delay::Dice;
use std::{fmt::Display, sync::Arc};

/// The bucket that keeps one object for each key, and those that keep versions.
pub(crate) const BUCKETS: [&str; 3] = ["plain", KEEPS, LOCKS];
/// A bucket that keeps versions.
pub(crate) const KEEPS: &str = "kept";
/// The one of which versions may be locked.
pub(crate) const LOCKS: &str = "locked";
/// The bucket that everybody may read, or not.
pub(crate) const OPEN: &str = "open";
/// The other class of storage, where there is one.
pub(crate) const COLD: &str = "COLD";
/// Keys of each bucket.
pub(crate) const KEYS: [&str; 7] = ["a", "b", "b/c", "b/d", "e", "f", "g"];
/// Stripes of the largest objects; where most are large, of those.
const STRIPES_MAX: u64 = 3;
const LARGE_STRIPES_MAX: u64 = 7;
/// Payload of a stripe.
pub(crate) const STRIPE: u64 = 16 << 10;
/// Objects below this are packed.
pub(crate) const PACK_BELOW: u64 = 4 << 10;
/// Least bytes of a part.
pub(crate) const PART: u64 = 1000;

/// What an answer is to the one who asked.
pub(crate) enum Said {
    Yes(Answer),
    /// Nothing was done, for this reason (an S3 code).
    No(u16, String),
    /// Nothing was done, and nothing follows from it.
    Nothing,
    Unknown,
}

/// One client.
#[derive(Debug)]
pub(crate) struct Actor {
    pub(crate) client: DrillClient,
    pub(crate) history: Arc<History>,
    pub(crate) life: Arc<Life>,
    pub(crate) world: Arc<World>,
    pub(crate) number: u8,
    pub(crate) taste: Arc<Taste>,
    /// Of a hundred requests this many are about objects with clients' keys.
    pub(crate) customers: u64,
    pub(crate) meets: Meets,
    /// Whether there is nothing that excuses an answer which says that it did not work.
    pub(crate) is_strict: bool,
}

/// A bucket and a key of it.
pub(crate) type Name = (&'static str, &'static str);

impl Actor {
    pub(crate) fn dice(&mut self) -> &mut Dice {
        &mut self.client.dice
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.dice().below(end)
    }

    /// A key; the first ones more often.
    pub(crate) fn name(&mut self) -> Name {
        if let Some(name) = self.meets.name {
            return name;
        }
        let bucket = self.one_of(&BUCKETS);
        let most = self.below(self.taste.keys) + 1;
        (bucket, KEYS[self.below(most) as usize])
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// Bytes that no other object has, unless there are none.
    pub(crate) fn content(&mut self, most: u64) -> Bytes {
        let (drawn, sizes) = (self.below(10), self.taste.sizes);
        let len = match (drawn, sizes) {
            (0, Sizes::All | Sizes::Small) => 0,
            (1, Sizes::All | Sizes::Small) => 1,
            (2..=6, Sizes::All) | (2.., Sizes::Small) => self.below(PACK_BELOW),
            (7, Sizes::All) | (0..=2, Sizes::Large) => STRIPE - 1 + self.below(3),
            (8.., Sizes::All) => self.below(STRIPES_MAX * STRIPE),
            (3.., Sizes::Large) => self.below(LARGE_STRIPES_MAX * STRIPE),
        };
        self.content_of(len.min(most))
    }

    pub(crate) fn content_of(&mut self, len: u64) -> Bytes {
        let mut own = Dice::new(self.dice().next_u64());
        let mut bytes = vec![0; len as usize];
        for word in bytes.chunks_mut(8) {
            word.copy_from_slice(&own.next_u64().to_le_bytes()[..word.len()]);
        }
        bytes.into()
    }

    /// Asks, and says what the answer is worth.
    pub(crate) async fn ask(&mut self, ask: Ask) -> Said {
        let number = self.number;
        let shown = format!("{} {}?{} {}", ask.method, ask.path, ask.query, ask.body.len());
        self.world.trace.note(format_args!("client {number} asks {shown}"));
        self.history.requested();
        let answer = self.client.send(ask).await;
        if self.life.is_over() {
            return Said::Unknown;
        }
        let is_failure = answer.as_ref().is_none_or(|answer| {
            // Who is slow is told to come again while others wait.
            answer.status >= 500 && answer.texts("Code") != ["SlowDown"]
        });
        if self.is_strict && is_failure {
            let status = answer.as_ref().map(|answer| (answer.status, answer.text()));
            self.complain(format!("{shown} was answered {status:?}"));
        }
        let Some(answer) = answer else {
            self.world.trace.note(format_args!("client {number} got nothing"));
            return Said::Unknown;
        };
        let (status, sum) = (answer.status, hex::encode(md5(&told(&answer))));
        self.world.trace.note(format_args!("client {number} got {status} {sum}"));
        let is_document = answer.body.starts_with(b"<");
        let codes = if is_document { answer.texts("Code") } else { Vec::new() };
        let code = codes.into_iter().next().unwrap_or_default();
        match (status, code.as_str()) {
            (500.., _) | (200..300, "InternalError" | "ServiceUnavailable" | "SlowDown") => {
                Said::Unknown
            }
            (400, "RequestTimeout" | "IncompleteBody") | (408, _) => Said::Unknown,
            (403, "RequestTimeTooSkewed")
            | (409, "ConditionalRequestConflict" | "OperationAborted") => Said::Nothing,
            (200..300, _) => Said::Yes(answer),
            (_, code) => Said::No(status, code.to_owned()),
        }
    }

    pub(crate) fn complain(&self, what: impl Display) {
        self.history.complain(format!("client {}: {what}", self.number));
    }

    /// Ends a call that was not answered by a success.
    pub(crate) fn settle(&self, call: u64, said: Said, what: &str) {
        match said {
            Said::Unknown => {}
            Said::Nothing => self.history.forget(call),
            Said::No(412, _) => self.history.end(call, Came::Refused),
            Said::No(404 | 405, _) => self.history.end(call, Came::Missing),
            Said::No(status, code) => {
                self.complain(format!("{what} was answered {status} {code}"));
                self.history.forget(call);
            }
            Said::Yes(answer) => {
                self.complain(format!("{what} was answered {} {}", answer.status, answer.text()));
                self.history.forget(call);
            }
        }
    }
}

/// What of an answer's body is the same whenever it is asked for: ids of requests are not.
fn told(answer: &Answer) -> Vec<u8> {
    match answer.status {
        200..300 => answer.body.to_vec(),
        _ => answer.texts("Code").concat().into_bytes(),
    }
}

/// As it goes into a query.
pub(crate) fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let byte = |byte: u8| {
        if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(byte).collect()
}
