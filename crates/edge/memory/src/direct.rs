use crate::{
    connection::{Replies, Reply},
    fault::LinkFault,
    link::{Deliver, Link, Standing},
    queue::{Payload, Shut},
    settings::LinkSettings,
};
use bytes::Bytes;
use std::{net::SocketAddr, sync::Arc};
use thiserror::Error;
use tokio::sync::oneshot;

/// Longest key that memcached takes.
pub const SERVER_KEY_MAX: usize = 250;

/// Why a server did not do what it was asked.
#[derive(Clone, Debug, Error)]
pub enum ClientError {
    /// As much is outstanding there as may be.
    #[error("as many requests are outstanding at the server as may be")]
    Busy,
    /// A key is 1 to 250 bytes, each printable and no space.
    #[error("no key of memcached: \"{0}\"")]
    Key(String),
    /// It could not, with its words.
    #[error("the server could not: {0}")]
    Refused(String),
    /// No answer came; whether it was done is not known.
    #[error(transparent)]
    Lost(#[from] Arc<LinkFault>),
}

/// A pipelined client of one memcached server: requests that come while others are being written
/// leave together, and answers come back in order. Values are not copied.
#[derive(Debug)]
pub struct MemcachedClient {
    link: Link<Waiter>,
    // The link tells it only while it is there.
    _waiters: Arc<Waiters>,
}

/// Each answer goes to whoever waits for it.
#[derive(Debug)]
struct Waiters;

impl Deliver for Waiters {
    type Ticket = Waiter;

    fn deliver(&self, _server: u16, replies: &mut Replies<Self::Ticket>) {
        for (waiter, reply) in replies.drain(..) {
            // Who gave up waiting does not want it.
            drop(waiter.send(reply));
        }
    }

    fn lost(&self, _server: u16) {}

    fn returned(&self, _server: u16) {}
}

type Waiter = oneshot::Sender<Reply>;
type Asking = Result<(), (Shut, Waiter)>;

impl MemcachedClient {
    /// A client of the server at this address, which need not be there yet.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn new(at: SocketAddr, settings: LinkSettings) -> Self {
        let waiters = Arc::new(Waiters);
        let link = Link::start(0, at, settings, (None, Standing::New), Arc::downgrade(&waiters));
        Self { link, _waiters: waiters }
    }

    /// The item's bytes, if there is one.
    pub async fn get(&self, key: &[u8]) -> Result<Option<Bytes>, ClientError> {
        item(self.ask(key, |link, waiter| link.get(key, waiter)).await?)
    }

    /// Items' bytes, in the order of the keys; all are asked for at once.
    pub async fn get_many(&self, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, ClientError> {
        let ask = |key: &&[u8]| {
            let (waiter, answer) = oneshot::channel();
            check(key)?;
            self.link.get(key, waiter).map_err(|(shut, _)| ClientError::from(shut))?;
            Ok(answer)
        };
        let answers = keys.iter().map(ask).collect::<Result<Vec<_>, ClientError>>();
        self.link.wake();
        let answers = answers?;
        let mut found = Vec::with_capacity(keys.len());
        for answer in answers {
            found.push(item(answered(answer).await?)?);
        }
        Ok(found)
    }

    /// Stores an item.
    pub async fn set(&self, key: &[u8], value: &Bytes) -> Result<(), ClientError> {
        let payload = Payload { head: &[], body: value };
        let reply = self.ask(key, |link, waiter| link.set(key, &payload, false, waiter)).await?;
        is_done(reply).map(drop)
    }

    /// Stores an item unless there is one; whether it did.
    pub async fn add(&self, key: &[u8], value: &Bytes) -> Result<bool, ClientError> {
        let payload = Payload { head: &[], body: value };
        is_done(self.ask(key, |link, waiter| link.set(key, &payload, true, waiter)).await?)
    }

    /// Deletes an item; whether there was one.
    pub async fn delete(&self, key: &[u8]) -> Result<bool, ClientError> {
        is_done(self.ask(key, |link, waiter| link.delete(key, waiter)).await?)
    }

    /// Deletes an item, without being told whether there was one: with the next request, or a
    /// little later.
    pub fn delete_quietly(&self, key: &[u8]) -> Result<(), ClientError> {
        check(key)?;
        // Nobody waits for it.
        let (waiter, _) = oneshot::channel();
        drop(self.link.delete_quietly(key, waiter));
        Ok(())
    }

    /// Waits until everything that was asked before is done.
    pub async fn fence(&self) -> Result<(), ClientError> {
        let (waiter, answer) = oneshot::channel();
        self.link.fence(waiter).map_err(|(shut, _)| ClientError::from(shut))?;
        self.link.wake();
        answered(answer).await.map(drop)
    }

    /// Requests outstanding, and their bytes.
    pub fn outstanding(&self) -> (usize, usize) {
        self.link.outstanding()
    }

    async fn ask(
        &self,
        key: &[u8],
        ask: impl FnOnce(&Link<Waiter>, Waiter) -> Asking,
    ) -> Result<Reply, ClientError> {
        check(key)?;
        let (waiter, answer) = oneshot::channel();
        ask(&self.link, waiter).map_err(|(shut, _)| ClientError::from(shut))?;
        self.link.wake();
        answered(answer).await
    }
}

fn check(key: &[u8]) -> Result<(), ClientError> {
    let is_key = (1..=SERVER_KEY_MAX).contains(&key.len()) && key.iter().all(u8::is_ascii_graphic);
    let told = || ClientError::Key(key[..key.len().min(64)].escape_ascii().to_string());
    is_key.then_some(()).ok_or_else(told)
}

async fn answered(answer: oneshot::Receiver<Reply>) -> Result<Reply, ClientError> {
    match answer.await {
        Ok(Reply::Lost(fault)) => Err(ClientError::Lost(fault)),
        Ok(reply) => Ok(reply),
        // The runtime ends.
        Err(_) => Err(ClientError::Busy),
    }
}

fn item(reply: Reply) -> Result<Option<Bytes>, ClientError> {
    match reply {
        Reply::Value(bytes) => Ok(Some(bytes)),
        Reply::Missing => Ok(None),
        Reply::Refused(words) => Err(ClientError::Refused(words)),
        Reply::Lost(fault) => Err(ClientError::Lost(fault)),
        Reply::Done | Reply::NotStored | Reply::Damaged => {
            unreachable!("a connection takes no such answer")
        }
    }
}

fn is_done(reply: Reply) -> Result<bool, ClientError> {
    match reply {
        Reply::Done => Ok(true),
        Reply::Missing | Reply::NotStored => Ok(false),
        Reply::Refused(words) => Err(ClientError::Refused(words)),
        Reply::Lost(fault) => Err(ClientError::Lost(fault)),
        Reply::Value(_) | Reply::Damaged => unreachable!("a connection takes no such answer"),
    }
}

impl From<Shut> for ClientError {
    fn from(shut: Shut) -> Self {
        match shut {
            Shut::Down(fault) => Self::Lost(fault),
            Shut::Full => Self::Busy,
        }
    }
}
