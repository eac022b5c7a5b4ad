use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::{num::NonZero, sync::Mutex, thread};

/// More threads than this are not begun, whatever is asked for.
const THREADS_MAX: usize = 256;

/// Does each job once, on all cores, and gives the results in the order of the jobs: the same
/// whatever the number of cores.
pub fn sweep<J: Sync, T: Send>(
    jobs: &[J],
    threads: Option<NonZero<usize>>,
    work: impl Fn(&J) -> T + Sync,
    done: impl Fn() + Sync,
) -> Vec<T> {
    let cores = thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let threads = threads.unwrap_or(cores).get().min(jobs.len().max(1)).min(THREADS_MAX);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_threads_than_a_system_has_give_the_same() {
        let jobs: Vec<u64> = (0..200_000).collect();
        let twice = |threads| sweep(&jobs, NonZero::new(threads), |job| 2 * job, || ());
        assert_eq!(twice(1), twice(usize::MAX));
    }
}
