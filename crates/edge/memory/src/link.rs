//! What keeps one server connected, and notices when it lost what it had.

use crate::{
    connection::{Connection, Replies, Reply},
    fault::LinkFault,
    keepsake::Keepsake,
    queue::{Asked, Awaited, Payload, Queue, Shut},
    settings::LinkSettings,
    survey::Survey,
    wire,
};
use bytes::BytesMut;
use std::{
    collections::VecDeque,
    fmt,
    net::SocketAddr,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{sync::Notify, time};
use tracing::{debug, warn};

/// Who is told what happens at servers.
pub(crate) trait Deliver: Send + Sync + 'static {
    /// By which an answer is known.
    type Ticket: Send + fmt::Debug + 'static;

    /// Answers came from the server of this number. All are taken.
    fn deliver(&self, server: u16, replies: &mut Replies<Self::Ticket>);

    /// The server lost what it had, or may have: it takes no requests.
    fn lost(&self, server: u16);

    /// The server that was lost takes requests; it is empty.
    fn returned(&self, server: u16);
}

/// How a server stands when its link is started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// It is used, and was not looked at: it is emptied before it takes anything.
    New,
    /// What it has is known.
    Known,
    /// It is known to be lost: when it is there it is emptied, and has returned.
    Lost,
}

/// A server, and what waits for it.
#[derive(Debug)]
pub(crate) struct Link<T> {
    wire: Arc<Wire<T>>,
}

#[derive(Debug)]
struct Wire<T> {
    number: u16,
    at: SocketAddr,
    settings: LinkSettings,
    keepsake: Option<Keepsake>,
    queue: Queue<T>,
    is_expelled: AtomicBool,
    is_closed: AtomicBool,
    /// One of these two was set.
    changed: Notify,
}

impl<T: Send + fmt::Debug + 'static> Link<T> {
    /// A link to the server, whose answers and changes `owner` is told under this number. Without a
    /// keepsake nobody asks whether the server still has what it had.
    pub(crate) fn start<D: Deliver<Ticket = T>>(
        number: u16,
        at: SocketAddr,
        settings: LinkSettings,
        (keepsake, standing): (Option<Keepsake>, Standing),
        owner: Weak<D>,
    ) -> Self {
        let queue = Queue::new(settings.requests_max, settings.bytes_max);
        let wire = Arc::new(Wire {
            number,
            at,
            settings,
            keepsake,
            queue,
            is_expelled: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            changed: Notify::new(),
        });
        if standing == Standing::Lost {
            wire.queue.shut(Arc::new(LinkFault::Emptied { at }));
        }
        ripstop_host::spawn(Keeper { wire: wire.clone(), owner }.keep(standing));
        Self { wire }
    }

    pub(crate) fn get(&self, key: &[u8], ticket: T) -> Result<(), (Shut, T)> {
        self.wire.queue.get(key, ticket)
    }

    pub(crate) fn set(
        &self,
        key: &[u8],
        payload: &Payload<'_>,
        is_add: bool,
        ticket: T,
    ) -> Result<(), (Shut, T)> {
        self.wire.queue.set(key, payload, is_add, ticket)
    }

    pub(crate) fn delete(&self, key: &[u8], ticket: T) -> Result<(), (Shut, T)> {
        self.wire.queue.delete(key, ticket)
    }

    pub(crate) fn delete_quietly(&self, key: &[u8], ticket: T) -> Result<(), (Shut, T)> {
        self.wire.queue.delete_quietly(key, ticket)
    }

    pub(crate) fn fence(&self, ticket: T) -> Result<(), (Shut, T)> {
        self.wire.queue.fence(ticket)
    }

    /// What was asked for leaves.
    pub(crate) fn wake(&self) {
        self.wire.queue.wake();
    }

    /// Requests outstanding, and their bytes.
    pub(crate) fn outstanding(&self) -> (usize, usize) {
        self.wire.queue.outstanding()
    }

    /// The server takes no requests until it was emptied.
    pub(crate) fn expel(&self) {
        self.wire.is_expelled.store(true, Ordering::Release);
        self.wire.changed.notify_one();
    }
}

impl<T> Link<T> {
    /// Nobody uses the server any more.
    pub(crate) fn close(&self) {
        self.wire.is_closed.store(true, Ordering::Release);
        self.wire.changed.notify_one();
    }
}

impl<T> Drop for Link<T> {
    fn drop(&mut self) {
        self.close();
    }
}

/// What a server may have when it is connected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Contact {
    /// Anything: it is emptied.
    Stranger,
    /// All that it had, if it has the keepsake.
    Known,
}

/// Connects again and again.
struct Keeper<D: Deliver> {
    wire: Arc<Wire<D::Ticket>>,
    owner: Weak<D>,
}

impl<D: Deliver> Keeper<D> {
    async fn keep(self, standing: Standing) {
        let mut contact = match standing {
            Standing::Known => Contact::Known,
            Standing::New | Standing::Lost => Contact::Stranger,
        };
        let mut is_announced = standing == Standing::Lost;
        let LinkSettings { backoff_min, backoff_max, .. } = self.wire.settings;
        let mut backoff = backoff_min;
        while !self.wire.is_closed.load(Ordering::Acquire) && self.owner.strong_count() > 0 {
            let begun = ripstop_host::now();
            match self.connected(contact).await {
                Ok(connection) => {
                    self.wire.queue.open();
                    if is_announced {
                        self.tell(|owner| owner.returned(self.wire.number));
                        is_announced = false;
                    }
                    contact = Contact::Known;
                    let fault = self.serve(connection).await;
                    debug!(%fault, "a connection ended");
                    if self.wire.is_expelled.swap(false, Ordering::AcqRel) {
                        contact = Contact::Stranger;
                        self.lose(&fault, &mut is_announced);
                    }
                }
                Err(fault) => {
                    contact = Contact::Stranger;
                    self.lose(&Arc::new(fault), &mut is_announced);
                }
            }
            if ripstop_host::since(begun) > backoff_max {
                // It went well: at once, for requests may wait for it.
                backoff = backoff_min;
                continue;
            }
            self.wait(backoff).await;
            backoff = (2 * backoff).min(backoff_max);
        }
        let closed = Arc::new(LinkFault::Closed { at: self.wire.at });
        self.fail(self.wire.queue.shut(closed.clone()), &closed);
    }

    /// A connection to a server that has what is expected.
    async fn connected(&self, contact: Contact) -> Result<Connection<D::Ticket>, LinkFault> {
        let (at, settings) = (self.wire.at, &self.wire.settings);
        if let (Contact::Stranger, Some(keepsake)) = (contact, &self.wire.keepsake) {
            // Apart, since it may take longer.
            let mut survey = Survey::connect(at, settings.connect_timeout).await?;
            survey.clear(&keepsake.names, keepsake.is_alone).await?;
        }
        let met = async {
            let mut connection = Connection::connect(at, settings.answer_timeout).await?;
            let Some(keepsake) = &self.wire.keepsake else { return Ok(connection) };
            match contact {
                Contact::Known => check(&mut connection, keepsake, at).await?,
                Contact::Stranger => mark(&mut connection, keepsake, at).await?,
            }
            Ok(connection)
        };
        let late = LinkFault::Silent { at, waited: settings.connect_timeout };
        time::timeout(settings.connect_timeout, met).await.unwrap_or(Err(late))
    }

    /// Serves requests until the connection ends; why it did.
    async fn serve(&self, mut connection: Connection<D::Ticket>) -> Arc<LinkFault> {
        let number = self.wire.number;
        let tell = |replies: &mut Replies<D::Ticket>| {
            let owner = self.owner.upgrade();
            if let Some(owner) = owner.as_ref().filter(|_| !replies.is_empty()) {
                owner.deliver(number, replies);
            }
            owner.is_some()
        };
        let fault = tokio::select! {
            fault = connection.run(&self.wire.queue, tell) => fault,
            () = self.is_over() => LinkFault::Expelled { at: self.wire.at },
        };
        let fault = Arc::new(fault);
        self.fail(connection.into_unanswered(), &fault);
        fault
    }

    /// The server was expelled, or nobody uses it.
    async fn is_over(&self) {
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Acquire);
        while !is_set(&self.wire.is_expelled) && !is_set(&self.wire.is_closed) {
            self.wire.changed.notified().await;
        }
    }

    /// No requests are taken any more, and those that wait are lost.
    fn lose(&self, fault: &Arc<LinkFault>, is_announced: &mut bool) {
        if !*is_announced {
            warn!(server = self.wire.number, %fault, "a memory server is lost");
        }
        let waiting = self.wire.queue.shut(fault.clone());
        if !*is_announced {
            *is_announced = true;
            self.tell(|owner| owner.lost(self.wire.number));
        }
        self.fail(waiting, fault);
        // Whoever expelled it meanwhile has what was wanted: it is about to be emptied.
        self.wire.is_expelled.store(false, Ordering::Release);
    }

    async fn wait(&self, backoff: Duration) {
        let is_closed = async {
            while !self.wire.is_closed.load(Ordering::Acquire) {
                self.wire.changed.notified().await;
            }
        };
        drop(time::timeout(backoff, is_closed).await);
    }

    fn tell(&self, told: impl FnOnce(&D)) {
        if let Some(owner) = self.owner.upgrade() {
            told(&owner);
        }
    }

    fn fail(&self, requests: VecDeque<Awaited<D::Ticket>>, fault: &Arc<LinkFault>) {
        let bytes = requests.iter().map(|request| request.len).sum();
        self.wire.queue.release(requests.len(), bytes);
        let tickets = requests.into_iter().filter_map(|request| request.ticket);
        let mut replies: Replies<_> =
            tickets.map(|ticket| (ticket, Reply::Lost(fault.clone()))).collect();
        if !replies.is_empty() {
            self.tell(|owner| owner.deliver(self.wire.number, &mut replies));
        }
    }
}

/// It has what it had.
async fn check<T>(
    connection: &mut Connection<T>,
    keepsake: &Keepsake,
    at: SocketAddr,
) -> Result<(), LinkFault> {
    let put = |out: &mut BytesMut| wire::put_get(out, &keepsake.key, 0);
    let found = connection.ask(Asked::Get, put).await?;
    let is_same = matches!(found, Reply::Value(bytes) if bytes == keepsake.token);
    is_same.then_some(()).ok_or(LinkFault::Emptied { at })
}

/// It has nothing, and gets the keepsake.
async fn mark<T>(
    connection: &mut Connection<T>,
    keepsake: &Keepsake,
    at: SocketAddr,
) -> Result<(), LinkFault> {
    let put = |out: &mut BytesMut| {
        wire::put_set(out, &keepsake.key, keepsake.token.len(), false, 0);
        out.extend_from_slice(&keepsake.token);
        out.extend_from_slice(b"\r\n");
    };
    let reply = connection.ask(Asked::Set, put).await?;
    let is_done = matches!(reply, Reply::Done);
    is_done.then_some(()).ok_or_else(|| LinkFault::NotEmptied { at, said: format!("{reply:?}") })
}
