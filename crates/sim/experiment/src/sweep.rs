use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{num::NonZero, sync::Mutex, thread};

/// Does each job once, on all cores, and gives the results in the order of the jobs: the same
/// whatever the number of cores.
pub fn sweep<J: Sync, T: Send>(
    jobs: &[J],
    threads: Option<NonZero<usize>>,
    work: impl Fn(&J) -> T + Sync,
    done: impl Fn() + Sync,
) -> Vec<T> {
    let cores = thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let threads = threads.unwrap_or(cores).get().min(jobs.len().max(1));
    let next = AtomicUsize::new(0);
    let results = Mutex::new(jobs.iter().map(|_| None).collect::<Vec<Option<T>>>());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Relaxed);
                    let Some(job) = jobs.get(index) else { return };
                    let result = work(job);
                    results.lock().expect("no job panics while it holds this")[index] =
                        Some(result);
                    done();
                }
            });
        }
    });
    let results = results.into_inner().expect("every thread has ended");
    results.into_iter().map(|result| result.expect("every job was done")).collect()
}
