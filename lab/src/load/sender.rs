//! Requests that come as they come, whether or not earlier ones were answered.

use anyhow::Result;
use ripstop_client::{Client, Url};
use ripstop_delay::Dice;
use ripstop_figure::Progress;
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// Reads objects at a rate.
pub(crate) struct Sender {
    pub address: SocketAddr,
    /// What is read, any of them by luck.
    pub urls: Vec<Url>,
    /// Bytes of an answer.
    pub len: u64,
}

/// When requests come that are independent of one another, `rate` a second; without an end.
pub(crate) fn times(rate: f64, seed: u64) -> impl Iterator<Item = Duration> {
    let (mut dice, mut due) = (Dice::new(seed), Duration::ZERO);
    std::iter::repeat_with(move || {
        due += Duration::from_secs_f64(dice.exponential() / rate);
        due
    })
}

/// What came of them.
#[derive(Default)]
pub(crate) struct Answers {
    pub sent: usize,
    /// Told to slow down.
    pub refused: usize,
    pub failed: usize,
    /// What was wrong with the first of these.
    pub failure: Option<String>,
    /// Those that were answered: when they were due, and how long they took from then, seconds.
    pub done: Vec<(f64, f64)>,
}

/// What became of one request.
enum Answer {
    Done { due: Duration, took: Duration },
    Refused,
    Failed(String),
}

impl Sender {
    /// Sends for `span` at `rate` per second, the times between requests exponential, and waits for
    /// the answers.
    pub(crate) async fn send(
        self,
        rate: f64,
        span: Duration,
        seed: u64,
        progress: Arc<Progress>,
    ) -> Result<Answers> {
        let this = Arc::new(self);
        let idle = Arc::new(Mutex::new(Vec::new()));
        // Luck of its own for what is read: when requests come is known by the seed alone.
        let (mut dice, mut open) = (Dice::numbered(seed, 1), tokio::task::JoinSet::new());
        let begun = Instant::now();
        let mut answers = Answers::default();
        for due in times(rate, seed).take_while(|due| *due <= span) {
            tokio::time::sleep_until(begun + due).await;
            let url = dice.next_u64() as usize % this.urls.len();
            let url = this.urls[url].clone();
            let (this, idle, progress) = (this.clone(), idle.clone(), progress.clone());
            answers.sent += 1;
            open.spawn(async move {
                let answer = this.get(&idle, &url, begun, due).await;
                progress.advance(1);
                answer
            });
        }
        while let Some(answer) = open.join_next().await {
            match answer? {
                Answer::Done { due, took } => {
                    answers.done.push((due.as_secs_f64(), took.as_secs_f64()));
                }
                Answer::Refused => answers.refused += 1,
                Answer::Failed(failure) => {
                    answers.failed += 1;
                    answers.failure.get_or_insert(failure);
                }
            }
        }
        Ok(answers)
    }

    /// One request on a connection of its own, from when it was due.
    async fn get(
        &self,
        idle: &Mutex<Vec<Client>>,
        url: &Url,
        begun: Instant,
        due: Duration,
    ) -> Answer {
        let pop = || {
            let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
            // The server closes those that were idle for long.
            idle.retain(Client::is_open);
            idle.pop()
        };
        let mut client = match pop() {
            Some(client) => client,
            None => match Client::connect(self.address).await {
                Ok(client) => client,
                Err(error) => return Answer::Failed(format!("no connection: {error:#}")),
            },
        };
        let answer = match client.get(url).await {
            Ok(len) if len == self.len => Answer::Done { due, took: (begun + due).elapsed() },
            Err(error) if error.to_string().contains("SlowDown") => Answer::Refused,
            Ok(len) => return Answer::Failed(format!("{len} bytes came")),
            Err(error) => return Answer::Failed(format!("{error:#}")),
        };
        idle.lock().unwrap_or_else(PoisonError::into_inner).push(client);
        answer
    }
}
