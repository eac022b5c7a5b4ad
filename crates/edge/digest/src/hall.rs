use crate::{
    kernel::LANES,
    lane::{self, Job},
    stream::Md5,
};
use bytes::Bytes;
use std::{
    collections::VecDeque,
    mem,
    sync::{
        Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::sync::oneshot;

/// How long the first waits for others: short beside what a body that is hashed here takes to arrive.
const PATIENCE: Duration = Duration::from_millis(4);

/// Where bodies meet to have their bytes hashed side by side.
///
/// A body that is alone is hashed at once. Where several have seats, the first waits a moment for company, since
/// eight cost little more than one; others join within 16 KiB. One thread works as long as there is work, and
/// is given back when there is none.
#[derive(Clone, Default, Debug)]
pub struct Hall(Arc<Room>);

#[derive(Default, Debug)]
struct Room {
    desk: Mutex<Desk>,
    came: Condvar,
    seats: AtomicUsize,
}

#[derive(Default, Debug)]
struct Desk {
    /// As many as callers wait for.
    waiting: VecDeque<Job>,
    /// Whether somebody works on them.
    is_staffed: bool,
}

/// A body that is being hashed, until this is dropped: others may wait for its company.
#[derive(Debug)]
pub struct Seat(Hall);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.0.seats.fetch_sub(1, Relaxed);
    }
}

impl Hall {
    /// The one of this process: the more bodies meet, the less each costs.
    pub fn shared() -> &'static Self {
        static SHARED: LazyLock<Hall> = LazyLock::new(Hall::default);
        &SHARED
    }

    /// Says that a body is going to be hashed.
    pub fn sit(&self) -> Seat {
        self.0.seats.fetch_add(1, Relaxed);
        Seat(self.clone())
    }

    /// Takes `pieces` into a digest.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn update(&self, md5: Md5, pieces: Vec<Bytes>) -> Md5 {
        let (done, answer) = oneshot::channel();
        let job = Job::new(md5, pieces, done);
        if job.is_done() {
            job.answer();
        } else if self.enter(job) {
            let hall = self.clone();
            tokio::task::spawn_blocking(move || hall.work());
        }
        answer.await.expect("every job is answered")
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.0.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a job; answers whether somebody must come to work.
    fn enter(&self, job: Job) -> bool {
        let mut desk = self.desk();
        desk.waiting.push_back(job);
        self.0.came.notify_one();
        !mem::replace(&mut desk.is_staffed, true)
    }

    /// The desk, once half of those who have seats are there, or the first has waited long enough.
    fn company(&self, working: usize) -> MutexGuard<'_, Desk> {
        let wanted = self.0.seats.load(Relaxed).min(LANES).div_ceil(2);
        let lacks = |desk: &mut Desk| {
            working == 0 && !desk.waiting.is_empty() && desk.waiting.len() < wanted
        };
        let waited = self.0.came.wait_timeout_while(self.desk(), PATIENCE, lacks);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Works until nothing is left.
    fn work(&self) {
        let mut jobs: Vec<Job> = Vec::with_capacity(LANES);
        loop {
            {
                let mut desk = self.company(jobs.len());
                while jobs.len() < LANES
                    && let Some(job) = desk.waiting.pop_front()
                {
                    jobs.push(job);
                }
                if jobs.is_empty() {
                    desk.is_staffed = false;
                    return;
                }
            }
            lane::advance(&mut jobs);
            for job in jobs.extract_if(.., |job| job.is_done()) {
                job.answer();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use md5::Digest as _;

    /// Bodies of all lengths around blocks and strides, each in pieces of its own, in two goes.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn many_bodies_at_once_have_the_digests_they_have_alone() {
        let hall = Hall::default();
        let mut bodies = Vec::new();
        for at in 0..60_usize {
            let len =
                [0, 1, 63, 64, 65, 127, 5000, 16_384, 16_385, 70_000][at % 10] * (1 + at / 10);
            let body: Bytes = (0..len).map(|i| (i * 31 + at) as u8).collect();
            let hall = hall.clone();
            let seat = hall.sit();
            bodies.push(tokio::spawn(async move {
                let pieces: Vec<Bytes> =
                    body.chunks(17 + 900 * at).map(|piece| body.slice_ref(piece)).collect();
                let (first, second) = pieces.split_at(pieces.len() / 2);
                let md5 = hall.update(Md5::default(), first.to_vec()).await;
                let md5 = hall.update(md5, second.to_vec()).await;
                drop(seat);
                let expected: [u8; 16] = md5::Md5::digest(&body).into();
                assert_eq!(md5.finish(), expected, "{len} bytes");
            }));
        }
        for body in bodies {
            body.await.unwrap();
        }
    }
}
