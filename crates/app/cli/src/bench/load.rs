use super::{content::Content, cpu, measured::Measured, request::Signed, target::Target};
use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use hyper::Method;
use ripstop_client::Client;
use ripstop_delay::Dice;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tokio::{sync::Notify, task::JoinSet};

/// How long answers may be late, once no more are asked for.
const PATIENCE: Duration = Duration::from_mins(2);
/// One read in this many is compared with what was put.
const COMPARED_EVERY: usize = 16;

/// Which requests are sent, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// Each once, in order, until the time is over, but this many in any case.
    Each { warm: Duration, span: Duration, at_least: usize },
    /// Any of them by luck, until the time is over.
    Any { warm: Duration, span: Duration },
    /// Each once; nothing is measured.
    All,
}

/// Clients that each send one request after another on a connection of their own.
pub(super) struct Load {
    pub(super) method: Method,
    pub(super) requests: Arc<Vec<Signed>>,
    pub(super) content: Arc<Content>,
    pub(super) clients: usize,
    pub(super) phase: Phase,
    /// Whose processor time counts beside ours.
    pub(super) server: Option<u32>,
}

/// What came of them.
pub(super) struct Driven {
    pub(super) measured: Option<Measured>,
    /// How many of the requests were sent, from the first on.
    pub(super) begun: usize,
}

/// What the clients share.
struct Loop {
    load: Load,
    next: AtomicUsize,
    ends: Instant,
    exhausted: Notify,
}

/// What one client saw.
#[derive(Default)]
struct Seen {
    /// When an answer was whole, and how long it took.
    answers: Vec<(Instant, Duration)>,
    compared: usize,
    /// When it found no request left to send.
    exhausted: Option<Instant>,
}

impl Load {
    /// Sends, waits for all answers, and says what was found. Fails with the first request that
    /// does.
    pub(super) async fn drive(self, target: &Target) -> Result<Driven> {
        // What was written before is not to be paid for now.
        ripstop_host::spawn_blocking(rustix::fs::sync).await?;
        let mut clients = Vec::with_capacity(self.clients);
        for _ in 0..self.clients {
            clients.push(target.connect().await?);
        }
        let (begins, ends) = self.phase.times(ripstop_host::now());
        let (next, exhausted) = (AtomicUsize::new(0), Notify::new());
        let shared = Arc::new(Loop { load: self, next, ends, exhausted });
        let mut open = JoinSet::new();
        for (at, client) in clients.into_iter().enumerate() {
            open.spawn(shared.clone().run(client, at as u64));
        }
        let watched = ripstop_host::spawn(shared.clone().watch(begins));
        let mut seen = Vec::new();
        let late = ends + PATIENCE;
        while let Some(client) = tokio::time::timeout_at(late.into(), open.join_next())
            .await
            .with_context(|| format!("no answer within {} s", PATIENCE.as_secs()))?
        {
            seen.push(client??);
        }
        let begun = shared.next.load(Relaxed).min(shared.load.requests.len());
        let measured = match shared.load.phase {
            Phase::All => {
                watched.abort();
                None
            }
            Phase::Each { .. } | Phase::Any { .. } => {
                let cpus = watched.await?;
                Some(shared.measured(begins, &seen, cpus)?)
            }
        };
        Ok(Driven { measured, begun })
    }
}

impl Phase {
    /// When measuring begins and ends.
    fn times(self, now: Instant) -> (Instant, Instant) {
        match self {
            Self::Each { warm, span, .. } | Self::Any { warm, span } => {
                (now + warm, now + warm + span)
            }
            Self::All => (now, now),
        }
    }
}

impl Loop {
    /// One client.
    async fn run(self: Arc<Self>, mut client: Client, seed: u64) -> Result<Seen> {
        let (mut seen, mut dice) = (Seen::default(), Dice::new(seed));
        loop {
            let begins = ripstop_host::now();
            let Some(at) = self.next(begins, &mut dice) else {
                if begins < self.ends {
                    seen.exhausted = Some(begins);
                    self.exhausted.notify_one();
                }
                return Ok(seen);
            };
            let (method, content) = (&self.load.method, &self.load.content);
            let reads = method == Method::GET;
            let compares = reads && seen.answers.len().is_multiple_of(COMPARED_EVERY);
            let body = if method == Method::PUT { content.of(at) } else { Bytes::new() };
            let expected = if reads { content.size() } else { 0 };
            let request = self.load.requests[at].request(method, body);
            let (mut same, mut compare) = (true, content.compare(at));
            let len = client
                .exchange(request, |piece| same = same && (!compares || compare(piece)))
                .await
                .with_context(|| format!("{method} of object {at}"))?;
            let now = ripstop_host::now();
            ensure!(
                !reads || len == expected as u64,
                "{len} bytes of object {at} came, not {expected}"
            );
            ensure!(same, "object {at} is not what was put");
            seen.compared += usize::from(compares);
            seen.answers.push((now, now - begins));
        }
    }

    /// Which request is sent next, if any.
    fn next(&self, now: Instant, dice: &mut Dice) -> Option<usize> {
        let len = self.load.requests.len();
        match self.load.phase {
            Phase::Any { .. } if now >= self.ends => None,
            Phase::Any { .. } => Some(dice.next_u64() as usize % len),
            Phase::Each { at_least, .. } => {
                self.take().filter(|&at| now < self.ends || at < at_least)
            }
            Phase::All => self.take(),
        }
    }

    fn take(&self) -> Option<usize> {
        Some(self.next.fetch_add(1, Relaxed)).filter(|&at| at < self.load.requests.len())
    }

    /// How many processors were busy with this program and the server while it was measured.
    async fn watch(self: Arc<Self>, begins: Instant) -> (Option<f64>, Option<f64>) {
        tokio::time::sleep_until(begins.into()).await;
        let spent = || {
            (
                ripstop_host::now(),
                cpu::spent_s(None),
                self.load.server.and_then(|id| cpu::spent_s(Some(id))),
            )
        };
        let (since, ours, servers) = spent();
        tokio::select! {
            () = tokio::time::sleep_until(self.ends.into()) => {}
            () = self.exhausted.notified() => {}
        }
        let (until, ours_then, servers_then) = spent();
        let span = (until - since).as_secs_f64();
        let busy = |before: Option<f64>, after: Option<f64>| Some((after? - before?) / span);
        (busy(ours, ours_then), busy(servers, servers_then))
    }

    fn measured(
        &self,
        begins: Instant,
        seen: &[Seen],
        cpus: (Option<f64>, Option<f64>),
    ) -> Result<Measured> {
        // Clients that found nothing left to do make the load lighter: that time does not count.
        let exhausted = seen.iter().filter_map(|seen| seen.exhausted).min();
        let ends = exhausted.map_or(self.ends, |exhausted| exhausted.min(self.ends));
        let during = |at: &Instant| (begins..=ends).contains(at);
        let answers = seen.iter().flat_map(|seen| &seen.answers);
        let mut took: Vec<Duration> =
            answers.filter(|(at, _)| during(at)).map(|&(_, took)| took).collect();
        took.sort_unstable();
        let [Some(p50), Some(p99)] = [0.5, 0.99].map(|share| quantile(&took, share)) else {
            bail!("nothing was answered during the measurement: give more --seconds");
        };
        let (load, requests) = (&self.load, took.len());
        let seconds = (ends - begins).as_secs_f64();
        let rate = requests as f64 / seconds;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        Ok(Measured {
            operation: load.method.as_str().to_ascii_lowercase(),
            bytes: load.content.size(),
            clients: load.clients,
            seconds,
            requests,
            requests_per_s: rate,
            mib_per_s: rate * load.content.size() as f64 / f64::from(1 << 20),
            mean_ms: ms(took.iter().sum::<Duration>()) / requests as f64,
            p50_ms: ms(p50),
            p99_ms: ms(p99),
            loader_cpus: cpus.0,
            server_cpus: cpus.1,
            compared: seen.iter().map(|seen| seen.compared).sum(),
        })
    }
}

/// The least that so large a share of them, which are in order, does not exceed.
fn quantile(sorted: &[Duration], share: f64) -> Option<Duration> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}
