use super::*;
use std::sync::{
    atomic::{AtomicUsize, Ordering},
    mpsc,
};
use std::thread;

const SOON: Duration = Duration::from_secs(20);

/// Jobs that block until the gate is dropped: what a disk that hangs does.
struct Hang {
    gate: Arc<Mutex<mpsc::Receiver<()>>>,
    open: mpsc::Sender<()>,
    begun: Arc<AtomicUsize>,
}

impl Hang {
    fn new() -> Self {
        let (open, gate) = mpsc::channel();
        Self { gate: Arc::new(Mutex::new(gate)), open, begun: Arc::default() }
    }

    fn job(&self) -> impl FnOnce() + Send + 'static {
        let (gate, begun) = (Arc::clone(&self.gate), Arc::clone(&self.begun));
        move || {
            begun.fetch_add(1, Ordering::SeqCst);
            // Ends with an error once the sender is gone.
            let _ = gate.lock().unwrap_or_else(PoisonError::into_inner).recv();
        }
    }

    async fn begun(&self, count: usize) {
        let start = Instant::now();
        while self.begun.load(Ordering::SeqCst) < count {
            assert!(start.elapsed() < SOON, "{count} jobs have not begun");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn end(self) {
        drop(self.open);
    }
}

/// Polls once and leaves.
async fn leave<T>(asked: impl Future<Output = T>) {
    let _ = tokio::time::timeout(Duration::ZERO, asked).await;
}

fn threads_named(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|at| at.trim_end() == name).count()
}

#[tokio::test]
async fn a_job_is_done_on_another_thread_and_answers() {
    let threads = Threads::new("t-answer", 2, 10);
    let here = thread::current().id();
    let there = threads.run(SOON, || thread::current().id()).await.unwrap();
    assert_ne!(here, there);
    let end = Instant::now() + SOON;
    while threads.shared.state().idle == 0 && Instant::now() < end {
        thread::yield_now();
    }
    let again = threads.run(SOON, || thread::current().id()).await.unwrap();
    assert_eq!(there, again, "a thread that is idle is used again");
}

#[tokio::test]
async fn jobs_that_block_take_this_many_threads_and_what_waits_is_bounded() {
    let (threads, hang) = (Threads::new("t-bounded", 3, 5), Hang::new());
    for _ in 0..3 {
        threads.hand_in(hang.job()).unwrap().keep();
    }
    hang.begun(3).await;
    let waiting: Vec<_> = (0..5).map(|_| threads.hand_in(|| ()).unwrap()).collect();
    let refused = threads.hand_in(|| ()).map(drop).unwrap_err();
    assert!(refused.to_string().contains("5 wait for 3 threads"), "{refused}");
    assert_eq!(threads_named("t-bounded"), 3);
    drop(waiting);
    assert!(threads.hand_in(|| ()).is_ok(), "those that left made room");
    hang.end();
    threads.run(SOON, || ()).await.unwrap();
}

#[tokio::test]
async fn a_job_that_was_dropped_before_it_began_never_runs() {
    let (threads, hang) = (Threads::new("t-dropped", 1, 5), Hang::new());
    threads.hand_in(hang.job()).unwrap().keep();
    hang.begun(1).await;
    let ran = Arc::new(AtomicUsize::new(0));
    let count = |ran: &Arc<AtomicUsize>| {
        let ran = Arc::clone(ran);
        move || ran.fetch_add(1, Ordering::SeqCst)
    };
    leave(threads.run(SOON, count(&ran))).await;
    assert_eq!(threads.shared.state().waiting.len(), 0, "what it holds is given up at once");
    hang.end();
    assert_eq!(threads.run(SOON, count(&ran)).await.unwrap(), 0);
}

#[tokio::test]
async fn many_jobs_at_once_are_each_done_once() {
    let threads = Threads::new("t-many", 4, 2000);
    let jobs = (0..2000usize).map(|i| threads.run(SOON, move || i));
    let done = futures::future::try_join_all(jobs).await.unwrap();
    assert!(done.into_iter().eq(0..2000));
    assert!(threads.shared.state().threads <= 4);
}

#[tokio::test]
async fn a_job_that_does_not_end_in_time_is_unavailable() {
    let (threads, hang) = (Threads::new("t-late", 1, 1), Hang::new());
    let late = threads.run(Duration::from_millis(20), hang.job()).await;
    assert!(matches!(late, Err(NodeError::Unavailable { .. })), "{late:?}");
    hang.end();
}

#[tokio::test]
#[should_panic(expected = "a job's own words")]
async fn a_panic_reaches_the_caller() {
    let threads = Threads::new("t-panic", 1, 1);
    let _ = threads.run(SOON, || panic!("a job's own words")).await;
}

#[tokio::test]
async fn stuck_jobs_are_counted_also_after_their_callers_left() {
    let (threads, hang) = (Threads::new("t-stuck", 2, 1), Hang::new());
    threads.hand_in(hang.job()).unwrap().keep();
    hang.begun(1).await;
    assert_eq!(threads.stuck(), 0);
    let Some(long_ago) = Instant::now().checked_sub(2 * REFUSED_AFTER) else { return };
    threads.shared.state().running[0].1 = long_ago;
    assert_eq!(threads.stuck(), 1);
    assert!(threads.all_stuck().is_ok(), "one thread is left");
    threads.hand_in(hang.job()).unwrap().keep();
    hang.begun(2).await;
    threads.shared.state().running[1].1 = long_ago;
    assert!(threads.all_stuck().unwrap_err().to_string().contains("all 2 threads"));
    let start = Instant::now();
    let refused = threads.run(SOON, || ()).await.unwrap_err().to_string();
    assert!(refused.contains("all 2 threads") && start.elapsed() < STUCK_AFTER, "{refused}");
    hang.end();
}

#[tokio::test]
async fn closing_waits_for_nobody_and_answers_those_that_wait() {
    let (threads, hang) = (Threads::new("t-close", 1, 5), Hang::new());
    threads.hand_in(hang.job()).unwrap().keep();
    hang.begun(1).await;
    let (told, tell) = mpsc::channel();
    threads.hand_in(move || told.send(()).unwrap()).unwrap().keep();
    let start = Instant::now();
    drop(threads);
    assert!(start.elapsed() < Duration::from_secs(5));
    assert!(tell.recv().is_err(), "it never ran, and nothing holds it");
    hang.end();
    let start = Instant::now();
    while threads_named("t-close") > 0 {
        assert!(start.elapsed() < SOON, "the thread ends with its job");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
