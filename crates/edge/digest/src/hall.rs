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

/// How long the first waits for others: short beside what a body that is hashed here takes to
/// arrive.
const PATIENCE: Duration = Duration::from_millis(4);

/// Workers that a caller asks before it hashes by itself: one may panic, or be lost to a runtime
/// that shuts down.
const WORKERS_ASKED: usize = 2;

/// Where bodies meet to have their bytes hashed side by side.
///
/// A body that is alone is hashed at once. Where several have seats, the first waits a moment for
/// company, since eight cost little more than one; others join within 16 KiB. One thread works as
/// long as there is work, and is given back when there is none. Should it be lost, those who wait
/// ask for another, and then do it themselves.
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
    pub async fn update(&self, mut md5: Md5, pieces: Vec<Bytes>) -> Md5 {
        // Who waits at the desk holds its thread, and a rehearsal has no other.
        let workers = if ripstop_host::has_threads() { WORKERS_ASKED } else { 0 };
        for _ in 0..workers {
            let (done, answer) = oneshot::channel();
            let job = Job::new(md5.clone(), &pieces, done);
            if job.is_done() {
                job.answer();
            } else if let Some(shift) = self.enter(job) {
                ripstop_host::spawn_blocking(move || shift.work());
            }
            if let Ok(md5) = answer.await {
                return md5;
            }
        }
        for piece in &pieces {
            md5.update(piece);
        }
        md5
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.0.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a job; answers the shift that somebody must come to work.
    fn enter(&self, job: Job) -> Option<Shift> {
        let mut desk = self.desk();
        desk.waiting.push_back(job);
        self.0.came.notify_one();
        let was_staffed = mem::replace(&mut desk.is_staffed, true);
        (!was_staffed).then(|| Shift::new(self.clone()))
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
}

/// The work at the desk, from the first job until there is none. Dropping it before leaves nobody
/// waiting.
#[derive(Debug)]
struct Shift {
    hall: Hall,
    /// What is being hashed.
    jobs: Vec<Job>,
    is_over: bool,
}

impl Shift {
    fn new(hall: Hall) -> Self {
        Self { hall, jobs: Vec::with_capacity(LANES), is_over: false }
    }

    /// Works until nothing is left.
    fn work(mut self) {
        while self.take() {
            lane::advance(&mut self.jobs);
            for job in self.jobs.extract_if(.., |job| job.is_done()) {
                job.answer();
            }
        }
    }

    /// Fills the lanes that are free; answers whether there is anything to do, and ends the shift
    /// if not.
    fn take(&mut self) -> bool {
        let mut desk = self.hall.company(self.jobs.len());
        while self.jobs.len() < LANES
            && let Some(job) = desk.waiting.pop_front()
        {
            self.jobs.push(job);
        }
        self.is_over = self.jobs.is_empty();
        desk.is_staffed = !self.is_over;
        !self.is_over
    }
}

impl Drop for Shift {
    /// A worker that panicked may have left a job half advanced, so none is passed on: with the
    /// jobs their answers are dropped, and the callers begin again.
    fn drop(&mut self) {
        if !self.is_over {
            let mut desk = self.hall.desk();
            desk.is_staffed = false;
            desk.waiting.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use md5::Digest as _;
    use std::time::Instant;
    use tokio::task::JoinHandle;

    /// How long a test waits for what must come.
    const LONG: Duration = Duration::from_secs(30);

    /// Longer than what waits for a block to be whole.
    fn body(seed: usize) -> Bytes {
        (0..5000).map(|at| (at * 31 + seed) as u8).collect()
    }

    fn digest(body: &Bytes) -> [u8; 16] {
        md5::Md5::digest(body).into()
    }

    /// A job that nobody waits for.
    fn abandoned(body: Bytes) -> Job {
        Job::new(Md5::default(), &[body], oneshot::channel().0)
    }

    /// Bodies that wait at the desk behind the first of its jobs.
    async fn waiting(hall: &Hall, count: usize) -> Vec<JoinHandle<()>> {
        let bodies = (0..count).map(|seed| {
            let (hall, body) = (hall.clone(), body(seed));
            tokio::spawn(async move {
                let md5 = hall.update(Md5::default(), vec![body.clone()]);
                let md5 = tokio::time::timeout(LONG, md5).await.expect("nobody is left waiting");
                assert_eq!(md5.finish(), digest(&body));
            })
        });
        let bodies = bodies.collect();
        until(|| hall.desk().waiting.len() > count).await;
        bodies
    }

    async fn until(holds: impl Fn() -> bool) {
        let begun = Instant::now();
        while !holds() {
            assert!(begun.elapsed() < LONG);
            tokio::task::yield_now().await;
        }
    }

    /// Memory whose return goes wrong.
    struct Cursed(Bytes);

    impl AsRef<[u8]> for Cursed {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    impl Drop for Cursed {
        fn drop(&mut self) {
            panic!("this memory cannot be given back");
        }
    }

    #[tokio::test]
    async fn a_worker_that_panics_leaves_nobody_waiting() {
        let hall = Hall::default();
        let shift = hall.enter(abandoned(Bytes::from_owner(Cursed(body(9))))).unwrap();
        // More than it has in hand when it panics.
        let bodies = waiting(&hall, 2 * LANES).await;
        tokio::task::spawn_blocking(move || shift.work()).await.unwrap_err();
        for body in bodies {
            body.await.unwrap();
        }
        until(|| !hall.desk().is_staffed).await;
    }

    #[tokio::test]
    async fn a_worker_that_never_comes_leaves_nobody_waiting() {
        let hall = Hall::default();
        let shift = hall.enter(abandoned(body(9))).unwrap();
        let bodies = waiting(&hall, 3).await;
        drop(shift);
        for body in bodies {
            body.await.unwrap();
        }
        until(|| !hall.desk().is_staffed).await;
    }

    #[tokio::test]
    async fn a_runtime_that_shuts_down_has_its_bodies_hashed() {
        let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let inside = other.handle().clone();
        other.shutdown_background();
        let _inside = inside.enter();
        let hall = Hall::default();
        let md5 = hall.update(Md5::default(), vec![body(1)]).await;
        assert_eq!(md5.finish(), digest(&body(1)));
        assert!(!hall.desk().is_staffed);
    }

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
                assert_eq!(md5.finish(), digest(&body), "{len} bytes");
            }));
        }
        for body in bodies {
            body.await.unwrap();
        }
    }
}
