//! Tells webhooks of events: one after another, again until they take it or too long.

use bytes::Bytes;
use http::{HeaderValue, Method, Uri, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use std::{
    collections::BTreeMap,
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{sync::mpsc, time::timeout};

/// Events that wait for one webhook; beyond, they are lost.
const WAITING_MAX: usize = 4096;
/// Longest that a webhook may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How soon an event is told again that a webhook did not take; twice as late each further time …
const AGAIN_AFTER: Duration = Duration::from_millis(500);
/// … but no later than this.
const AGAIN_AFTER_MAX: Duration = Duration::from_mins(1);
/// How often an event is told before it is lost: for about ten minutes.
const TRIES_MAX: u32 = 16;
/// Bytes of an answer that are read, so that its connection can be used again.
const ANSWER_MAX: usize = 64 << 10;
/// Idle connections are closed before servers do it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// A place that events are told to by `POST`.
#[derive(Clone)]
pub struct Webhook {
    /// Its name, in the last part of the ARNs that mean it.
    pub name: String,
    /// Its address, `http` or `https`.
    pub url: Uri,
    /// What it is asked with, as `Authorization: Bearer`.
    pub token: Option<String>,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, .. } = self;
        f.debug_struct("Webhook").field("name", name).finish_non_exhaustive()
    }
}

/// The webhooks that there are. Cheap to clone; telling them ends with the last clone.
#[derive(Clone, Debug, Default)]
pub struct Webhooks(Arc<BTreeMap<String, Line>>);

/// What waits for one of them.
#[derive(Debug)]
struct Line {
    events: mpsc::Sender<Bytes>,
    lost: Arc<AtomicU64>,
}

type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

impl Webhooks {
    /// Begins to tell these, in the runtime that this is called in. Fails where the system's
    /// certificates cannot be read and one of them speaks TLS.
    pub fn begin(webhooks: Vec<Webhook>) -> io::Result<Self> {
        if webhooks.is_empty() {
            return Ok(Self::default());
        }
        let client = client(webhooks.iter().any(|hook| hook.url.scheme_str() == Some("https")))?;
        let lines = webhooks.into_iter().map(|webhook| {
            let (events, waiting) = mpsc::channel(WAITING_MAX);
            let (name, lost) = (webhook.name.clone(), Arc::<AtomicU64>::default());
            let telling = Telling { webhook, client: client.clone(), lost: lost.clone() };
            ripstop_host::spawn(telling.go(waiting));
            (name, Line { events, lost })
        });
        Ok(Self(Arc::new(lines.collect())))
    }

    /// Whether there is one of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Has one of them be told, in its turn. Where too much waits, the event is lost and counted.
    pub(crate) fn tell(&self, name: &str, event: String) {
        let Some(line) = self.0.get(name) else {
            tracing::warn!(
                webhook = name,
                "no webhook of that name is configured: an event is lost"
            );
            return;
        };
        if line.events.try_send(event.into()).is_err() {
            line.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many events were lost since the start, by webhook.
    pub fn lost(&self) -> Vec<(&str, u64)> {
        let lost = |line: &Line| line.lost.load(Ordering::Relaxed);
        self.0.iter().map(|(name, line)| (&**name, lost(line))).collect()
    }
}

fn client(with_tls: bool) -> io::Result<HttpClient> {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(ANSWER_WITHIN));
    tcp.enforce_http(false);
    let provider = rustls::crypto::ring::default_provider();
    let builder = HttpsConnectorBuilder::new();
    let connector = if with_tls {
        builder.with_provider_and_native_roots(provider)?
    } else {
        let roots = rustls::RootCertStore::empty();
        let versions = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?;
        builder.with_tls_config(versions.with_root_certificates(roots).with_no_client_auth())
    };
    let connector = connector.https_or_http().enable_http1().wrap_connector(tcp);
    let client = Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .build(connector);
    Ok(client)
}

struct Telling {
    webhook: Webhook,
    client: HttpClient,
    lost: Arc<AtomicU64>,
}

impl Telling {
    async fn go(self, mut waiting: mpsc::Receiver<Bytes>) {
        let mut said = 0;
        while let Some(event) = waiting.recv().await {
            self.tell(event).await;
            let lost = self.lost.load(Ordering::Relaxed);
            if lost > said {
                let (webhook, events) = (&*self.webhook.name, lost - said);
                tracing::warn!(webhook, events, "events were lost");
                said = lost;
            }
        }
    }

    async fn tell(&self, event: Bytes) {
        let mut again_after = AGAIN_AFTER;
        for tried in 1..=TRIES_MAX {
            let why = match timeout(ANSWER_WITHIN, self.post(event.clone())).await {
                Ok(Ok(())) => return,
                Ok(Err(why)) => why,
                Err(_) => "it does not answer".to_owned(),
            };
            let webhook = &*self.webhook.name;
            if tried == 1 {
                tracing::warn!(webhook, why, "a webhook does not take an event: it is told again");
            }
            if tried < TRIES_MAX {
                tokio::time::sleep(again_after).await;
                again_after = (again_after * 2).min(AGAIN_AFTER_MAX);
            }
        }
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    async fn post(&self, event: Bytes) -> Result<(), String> {
        let mut request = http::Request::new(Full::new(event));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.webhook.url.clone();
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static("Ripstop"));
        if let Some(token) = &self.webhook.token {
            let value = HeaderValue::from_str(&format!("Bearer {token}"));
            let mut value = value.map_err(|_| "its token is no header".to_owned())?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        let answer = self.client.request(request).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        // What it says besides does not matter.
        drop(Limited::new(answer.into_body(), ANSWER_MAX).collect().await);
        if status.is_success() { Ok(()) } else { Err(status.to_string()) }
    }
}
