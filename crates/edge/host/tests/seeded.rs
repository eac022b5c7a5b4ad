//! What a rehearsal promises: equal seeds, equal courses.

use ripstop_host::{Host, carried, now, rehearse, since_1970, wall};
use std::{
    sync::{Arc, Mutex},
    time::{Duration, UNIX_EPOCH},
};
use tokio::{task::JoinSet, time::sleep};

const YEAR: Duration = Duration::from_hours(365 * 24);

/// Tasks that throw dice for how long they wait, and have more done beside them: who did what, when
/// by both clocks.
fn course(seed: u64) -> Vec<(u64, Duration, Duration)> {
    rehearse(async {
        let told = Arc::new(Mutex::new(Vec::new()));
        let host = Host::new(seed, UNIX_EPOCH + 50 * YEAR);
        let tell = told.clone();
        host.run(async move {
            let begun = now();
            let mut tasks = JoinSet::new();
            for number in 0..20 {
                let tell = tell.clone();
                tasks.spawn(carried(async move {
                    for turn in 0..5 {
                        sleep(Duration::from_micros(ripstop_host::random_u64() % 1_000_000)).await;
                        let drawn = ripstop_host::spawn_blocking(ripstop_host::random_u64);
                        let drawn =
                            ripstop_host::spawn(async { drawn.await.expect("it ends") ^ 1 });
                        let drawn = drawn.await.expect("it ends");
                        let mut told = tell.lock().expect("nobody panics");
                        told.push((number * 10 + turn, now() - begun, since_1970()));
                        told.push((drawn, now() - begun, since_1970()));
                    }
                }));
            }
            tasks.join_all().await;
        })
        .await;
        told.lock().expect("nobody panics").clone()
    })
}

#[test]
fn equal_seeds_have_equal_courses_and_others_have_others() {
    let begun = std::time::Instant::now();
    let one = course(7);
    assert_eq!(one.len(), 200);
    assert_eq!(one, course(7));
    assert_ne!(one, course(8));
    let waited = one.iter().map(|(_, at, _)| *at).max().unwrap();
    assert!(waited > Duration::from_secs(2), "{waited:?}");
    assert!(begun.elapsed() < waited, "nobody waits in earnest");
}

#[test]
fn each_host_has_its_own_wall_clock_and_all_have_one_steady_clock() {
    rehearse(async {
        let (one, other) = (Host::new(1, UNIX_EPOCH + YEAR), Host::new(2, UNIX_EPOCH));
        let begun = one.run(async { now() }).await;
        sleep(Duration::from_secs(10)).await;
        one.set_wall(UNIX_EPOCH + 2 * YEAR);
        sleep(Duration::from_secs(5)).await;
        let of_one = one.run(async { (now() - begun, wall()) }).await;
        let of_other = other.run(async { (now() - begun, wall()) }).await;
        let steady = Duration::from_secs(15);
        assert_eq!(of_one, (steady, UNIX_EPOCH + 2 * YEAR + Duration::from_secs(5)));
        assert_eq!(of_other, (steady, UNIX_EPOCH + steady));
    });
}

#[test]
fn a_wall_clock_before_1970_shows_nothing() {
    rehearse(async {
        let host = Host::new(1, UNIX_EPOCH - YEAR);
        assert_eq!(host.run(async { since_1970() }).await, Duration::ZERO);
    });
}

#[test]
fn what_a_host_began_ends_on_it() {
    /// Says on which host it was dropped, by its wall clock.
    struct Last(Arc<Mutex<Option<Duration>>>);
    impl Drop for Last {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = Some(since_1970());
        }
    }
    let seen = Arc::new(Mutex::new(None));
    let last = Last(seen.clone());
    rehearse(async {
        let host = Host::new(1, UNIX_EPOCH + YEAR);
        let course = host.run(async {
            let task = ripstop_host::spawn(async move {
                let _last = last;
                std::future::pending::<()>().await;
            });
            tokio::task::yield_now().await;
            task.abort();
            task.await.unwrap_err()
        });
        assert!(course.await.is_cancelled());
    });
    assert_eq!(*seen.lock().unwrap(), Some(YEAR));
}

#[test]
fn a_rehearsal_has_no_second_thread_and_everybody_else_has() {
    rehearse(async {
        let refused = Host::new(1, UNIX_EPOCH).run(async { ripstop_host::thread("x", || 7) });
        assert_eq!(refused.await.unwrap_err().kind(), std::io::ErrorKind::Unsupported);
    });
    let name = || std::thread::current().name().map(str::to_owned);
    let thread = ripstop_host::thread("beside", name).unwrap();
    assert_eq!(thread.join().unwrap().as_deref(), Some("beside"));
}

#[test]
fn outside_a_rehearsal_clocks_and_dice_are_the_systems() {
    let _there_is_one = rehearse(async { Host::new(1, UNIX_EPOCH) });
    assert!(since_1970() > 50 * YEAR);
    assert!(now() <= std::time::Instant::now());
    assert_ne!(ripstop_host::random_u64(), ripstop_host::random_u64());
}
