//! One who asks a gateway, over connections that may be cut.

use crate::{
    ask::Ask,
    door::{Door, Doors},
    wire::{CutWire, UNDER_WAY},
};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    HeaderMap,
    client::conn::http1::{SendRequest, handshake},
};
use hyper_util::rt::TokioIo;
use ripstop_delay::Dice;
use ripstop_listen::Handed;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How long a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(40);

/// How long one who comes to a closed door waits before it tries again.
const REFUSED_AFTER: Duration = Duration::from_millis(20);
/// Where there are several doors, one request in this many goes to one that is drawn again.
const ELSEWHERE_ONE_IN: u64 = 3;

/// A connection, and what says that its gateway is gone.
type Sender = (SendRequest<Full<Bytes>>, CancellationToken);

/// How connections fare, in a thousand.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Weather {
    pub(crate) lags: u32,
    pub(crate) cuts: u32,
}

/// An answer that came whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn etag(&self) -> Option<String> {
        self.header("etag").map(|etag| etag.trim_matches('"').to_owned())
    }

    pub(crate) fn version(&self) -> Option<String> {
        self.header("x-amz-version-id").map(str::to_owned)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The texts of all elements of a name, in their order.
    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        texts(&self.text(), name)
    }
}

/// The texts of all elements of a name in a document.
pub(crate) fn texts(document: &str, name: &str) -> Vec<String> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    let parts = document.split(&begin).skip(1);
    let text = |part: &str| part.split(&end).next().unwrap_or_default().to_owned();
    parts.map(|part| text(part).replace("&quot;", "\"")).collect()
}

/// One connection after the other, one request at a time.
#[derive(Debug)]
pub(crate) struct DrillClient {
    doors: Doors,
    sender: Option<Sender>,
    pub(crate) dice: Dice,
    weather: Weather,
    number: u8,
}

impl DrillClient {
    pub(crate) fn new(doors: Doors, dice: Dice, weather: Weather, number: u8) -> Self {
        Self { doors, sender: None, dice, weather, number }
    }

    async fn connect(&mut self) -> Option<Sender> {
        let Some(Door { port, gone }) = self.doors.pick(&mut self.dice) else {
            sleep(REFUSED_AFTER).await;
            return None;
        };
        let (mine, end) = tokio::io::duplex(UNDER_WAY);
        let address = Some([192, 0, 2, self.number].into());
        port.send(Handed { end, address }).await.ok()?;
        let dice = Dice::new(self.dice.next_u64());
        let Weather { lags, cuts } = self.weather;
        let wire = CutWire::new(mine, dice, lags, cuts);
        let (sender, connection) = handshake(TokioIo::new(wire)).await.ok()?;
        ripstop_host::spawn(async move {
            let _ = connection.await;
        });
        Some((sender, gone))
    }

    /// Asks, and waits for the whole answer; nothing if none came.
    pub(crate) async fn send(&mut self, ask: Ask) -> Option<Answer> {
        if self.doors.are_several() && self.dice.below(ELSEWHERE_ONE_IN) == 0 {
            self.sender = None;
        }
        let answer = timeout(PATIENCE, self.exchange(ask)).await.ok().flatten();
        if answer.is_none() {
            self.sender = None;
        }
        answer
    }

    async fn exchange(&mut self, ask: Ask) -> Option<Answer> {
        let (mut sender, gone) = match self.sender.take().filter(|(it, _)| !it.is_closed()) {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let answered = async {
            sender.ready().await.ok()?;
            let response = sender.send_request(ask.sign()).await.ok()?;
            let (parts, body) = response.into_parts();
            Some((parts, body.collect().await.ok()?.to_bytes()))
        };
        let (parts, body) = tokio::select! {
            biased;
            () = gone.cancelled() => return None,
            answered = answered => answered?,
        };
        self.sender = Some((sender, gone));
        Some(Answer { status: parts.status.as_u16(), headers: parts.headers, body })
    }
}
