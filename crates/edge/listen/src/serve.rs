use crate::{
    ListenSettings, Listener, Peer,
    connection::connection,
    listener::Socket,
    places::{Places, Seat},
    stream::Stream,
    wire::Wire,
};
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use rustix::io::Errno;
use std::{
    error::Error,
    io,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How long to wait when the system has no descriptors left.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);
/// How often a trouble that goes on is told.
const TELL_EVERY: Duration = Duration::from_secs(1);

/// Serves connections on `listener` until `shutdown`; then accepts nothing more, lets the requests
/// that run finish for [`ListenSettings::drain_timeout`], and returns.
pub async fn serve<A, F, B>(
    listener: Listener,
    settings: ListenSettings,
    answer: A,
    shutdown: CancellationToken,
) where
    A: Fn(Request<Incoming>, Peer) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
{
    let settings = Arc::new(settings);
    let (of_each, stop) = (settings.clone(), shutdown.clone());
    let talk = move |socket, address, seat| {
        connection(socket, address, seat, of_each.clone(), answer.clone(), stop.clone())
    };
    accept(listener, settings, talk, shutdown).await;
}

/// The same for who speaks something other than HTTP: `talk` has each connection to its end, and is
/// to hear of `shutdown` itself. It tells the peer of every request ([`Peer::begin`]), and flushes
/// the wire when that is answered: from then on the connection may give way to another.
pub async fn serve_wires<T, F>(
    listener: Listener,
    settings: ListenSettings,
    talk: T,
    shutdown: CancellationToken,
) where
    T: Fn(Wire, Peer) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let settings = Arc::new(settings);
    let of_each = settings.clone();
    let talk =
        move |socket, address, seat| wire(socket, address, seat, of_each.clone(), talk.clone());
    accept(listener, settings, talk, shutdown).await;
}

/// Has what a connection is, once it can be spoken on.
async fn wire<T, F>(
    socket: Socket,
    address: Option<IpAddr>,
    seat: Arc<Seat>,
    settings: Arc<ListenSettings>,
    talk: T,
) where
    T: Fn(Wire, Peer) -> F,
    F: Future<Output = ()>,
{
    let peer = Peer::new(address, settings.tls.is_some(), seat.clone());
    let first_byte_timeout = settings.first_byte_timeout;
    let stream = Stream::new(socket, seat, first_byte_timeout, settings.pace.clone());
    let Some(tls) = &settings.tls else { return talk(stream.into(), peer).await };
    let shaken = TlsAcceptor::from(tls.now()).accept(stream);
    match tokio::time::timeout(first_byte_timeout, shaken).await {
        Err(_) => tracing::debug!("no TLS handshake in time"),
        Ok(Err(error)) => tracing::debug!(%error, "no TLS handshake"),
        Ok(Ok(stream)) => talk(stream.into(), peer).await,
    }
}

/// Accepts connections until `shutdown`, and has each served to its end.
async fn accept<T, F>(
    listener: Listener,
    settings: Arc<ListenSettings>,
    talk: T,
    shutdown: CancellationToken,
) where
    T: Fn(Socket, Option<IpAddr>, Arc<Seat>) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let places = Places::new(&settings);
    let connections = TaskTracker::new();
    let abandon = CancellationToken::new();
    let mut door = Door { listener, places, settings: settings.clone(), told: None, silent: 0 };
    loop {
        let came = tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            came = door.next() => came,
        };
        let Some((socket, address, seat)) = came else { continue };
        let (abandon, cut) = (abandon.clone(), seat.clone());
        let served = talk(socket, address, seat.clone());
        let place = Place(seat);
        connections.spawn(ripstop_host::carried(async move {
            tokio::select! {
                biased;
                () = abandon.cancelled() => {}
                () = cut.is_cut() => tracing::debug!("a quiet connection gives way"),
                () = served => {}
            }
            drop(place);
        }));
    }
    drop(door);
    connections.close();
    if tokio::time::timeout(settings.drain_timeout, connections.wait()).await.is_err() {
        let left = connections.len();
        tracing::warn!(port = settings.name, left, "abandoning connections");
        abandon.cancel();
        connections.wait().await;
    }
}

/// Gives a place back, whatever becomes of its connection.
struct Place(Arc<Seat>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Where connections come in.
struct Door {
    listener: Listener,
    places: Arc<Places>,
    settings: Arc<ListenSettings>,
    /// When the last trouble was told, and how many were not told since.
    told: Option<Instant>,
    silent: u64,
}

impl Door {
    /// The next connection with its place; `None` if it did not come to that.
    async fn next(&mut self) -> Option<(Socket, Option<IpAddr>, Arc<Seat>)> {
        match self.listener.accept().await {
            Ok((socket, address)) => {
                if let Ok(seat) = self.places.enter(address).await {
                    return Some((socket, address, seat));
                }
                let told =
                    "an address has its part of the connections, and requests run on all of them";
                self.tell(|silent, port| tracing::warn!(port, ?address, silent, "{told}"));
            }
            Err(error) => {
                let short = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
                if error.raw_os_error().is_some_and(|code| short.contains(&code)) {
                    self.places.cut_one();
                }
                self.tell(|silent, port| {
                    tracing::warn!(port, %error, silent, "accept failed");
                });
                // A client that gave up while it waited is no reason to wait.
                if error.kind() != io::ErrorKind::ConnectionAborted {
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            }
        }
        None
    }

    /// Tells of a trouble, but not every time.
    fn tell(&mut self, line: impl FnOnce(u64, &'static str)) {
        if self.told.is_some_and(|told| ripstop_host::since(told) < TELL_EVERY) {
            self.silent += 1;
            return;
        }
        self.told = Some(ripstop_host::now());
        line(std::mem::take(&mut self.silent), self.settings.name);
    }
}
