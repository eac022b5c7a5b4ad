use super::*;
use crate::conformance::{bucket, changes, script, stripe};
use crate::{CatalogSettings, Embedded, Model, Refusal};
use futures::FutureExt;
use futures::future::join_all;
use proptest::prelude::*;
use ripstop_model::StripeId;
use tokio::time::{sleep, timeout};

/// A model whose commits are counted, may be held, and may fail.
#[derive(Debug)]
struct Watched {
    model: Model,
    /// The time and the changes of each commit so far.
    commits: Mutex<Vec<(u64, Vec<Change>)>>,
    /// Commits that may go on.
    free: Semaphore,
    fails: Mutex<Option<fn() -> CatalogError>>,
}

impl Watched {
    fn new(free: usize) -> Arc<Self> {
        let (model, commits, fails) = Default::default();
        Arc::new(Self { model, commits, free: Semaphore::new(free), fails })
    }

    fn sizes(&self) -> Vec<usize> {
        self.commits.lock().unwrap().iter().map(|(_, changes)| changes.len()).collect()
    }
}

#[async_trait]
impl Catalog for Watched {
    async fn commit(
        &self,
        now_ms: u64,
        changes: Vec<Change>,
    ) -> Result<Vec<Outcome>, CatalogError> {
        self.commits.lock().unwrap().push((now_ms, changes.clone()));
        self.free.acquire().await.unwrap().forget();
        if let Some(fails) = *self.fails.lock().unwrap() {
            return Err(fails());
        }
        self.model.apply_all(now_ms, &changes)
    }

    async fn read(&self, query: Query<'_>) -> Result<Reply, CatalogError> {
        self.model.read(query).await
    }
}

fn create(name: &str) -> Change {
    let stripes = vec![(StripeId(1), stripe())];
    Change::CreateBucket { bucket: bucket(name, 1), stripes }
}

fn name(at: usize) -> Change {
    Change::NameNode { name: format!("node{at}") }
}

/// Held commits are let go once nobody comes any more.
async fn let_go(watched: &Watched) {
    sleep(Duration::from_millis(1)).await;
    watched.free.add_permits(1000);
}

#[tokio::test(start_paused = true)]
async fn what_comes_during_a_commit_goes_into_the_next_at_the_latest_time() {
    let watched = Watched::new(0);
    let grouped = Grouped::over(watched.clone());
    let first = grouped.commit_one(7, name(0));
    let others = async {
        sleep(Duration::from_micros(10)).await;
        join_all((1..10).map(|at| grouped.commit_one(100 - at as u64, name(at)))).await
    };
    let (first, others, ()) = tokio::join!(first, others, let_go(&watched));
    assert_eq!(watched.sizes(), [1, 9]);
    let times: Vec<u64> = watched.commits.lock().unwrap().iter().map(|(now, _)| *now).collect();
    assert_eq!(times, [7, 99]);
    let numbers = iter::once(first).chain(others).map(|it| it.unwrap().node.unwrap().0);
    assert!(numbers.eq(0..10), "each is answered its own");
}

#[tokio::test(start_paused = true)]
async fn each_caller_is_answered_what_became_of_its_own_changes() {
    let watched = Watched::new(0);
    let grouped = Grouped::over(watched.clone());
    let callers = [
        vec![create("a"), create("a"), name(0)],
        vec![],
        vec![create("a")],
        vec![name(1), create("b")],
    ];
    let callers = callers.map(|changes| grouped.commit(1, changes));
    let (answers, ()) = tokio::join!(join_all(callers), let_go(&watched));
    assert_eq!(watched.sizes(), [6]);
    let shown = |outcome: Outcome| match outcome {
        Ok(applied) => format!("{:?}", applied.node.map(|node| node.0)),
        Err(refusal) => refusal.to_string(),
    };
    let answers = answers.into_iter().map(|it| it.unwrap().into_iter().map(shown).collect());
    let answers: Vec<Vec<String>> = answers.collect();
    let exists = Refusal::BucketExists.to_string();
    let (none, zero, one) = ("None".to_owned(), "Some(0)".to_owned(), "Some(1)".to_owned());
    let first = vec![none.clone(), exists.clone(), zero];
    assert_eq!(answers, [first, vec![], vec![exists], vec![one, none]]);
}

#[tokio::test(start_paused = true)]
async fn a_group_ends_with_the_caller_that_fills_it() {
    let watched = Watched::new(1000);
    let grouped = Grouped::by(AtOnce { changes_max: 3 }, 100, watched.clone());
    let pair = |at: usize| grouped.commit(1, vec![name(2 * at), name(2 * at + 1)]);
    assert!(join_all((0..5).map(pair)).await.iter().all(Result::is_ok));
    assert_eq!(watched.sizes(), [4, 4, 2]);
}

#[tokio::test(start_paused = true)]
async fn no_more_changes_wait_than_there_are_places() {
    let watched = Watched::new(0);
    let grouped = Grouped::by(AtOnce::default(), 3, watched.clone());
    let callers = join_all((0..20).map(|at| grouped.commit_one(1, name(at))));
    // More than there are places for: they take all of them.
    let many = grouped.commit(1, (20..30).map(name).collect());
    let (answers, many, ()) = tokio::join!(callers, many, let_go(&watched));
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(many.unwrap().len(), 10);
    let sizes = watched.sizes();
    assert!(sizes.iter().all(|size| *size <= 3 || *size == 10), "{sizes:?}");
    assert_eq!(sizes.iter().sum::<usize>(), 30);
}

#[tokio::test(start_paused = true)]
async fn what_a_caller_asked_for_that_has_gone_is_committed() {
    let watched = Watched::new(0);
    let grouped = Grouped::over(watched.clone());
    for at in 0..3 {
        assert!(grouped.commit_one(1, name(at)).now_or_never().is_none());
    }
    let (last, ()) = tokio::join!(grouped.commit_one(1, name(3)), let_go(&watched));
    assert_eq!(last.unwrap().node.unwrap().0, 3);
    assert_eq!(grouped.nodes().await.unwrap().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_fails_fails_for_all_of_a_group_and_the_next_goes_on() {
    type Fails = fn() -> CatalogError;
    let failures: [(Fails, &str); 2] = [
        (|| CatalogError::Unavailable("no disk".into()), "catalog unavailable"),
        (|| CatalogError::Corrupt { reason: "a page".into() }, "catalog corrupt: a page"),
    ];
    for (fails, told) in failures {
        for callers in [1, 5] {
            let watched = Watched::new(1000);
            let grouped = Grouped::over(watched.clone());
            *watched.fails.lock().unwrap() = Some(fails);
            let answers = join_all((0..callers).map(|at| grouped.commit_one(1, name(at)))).await;
            for answer in answers {
                assert_eq!(answer.unwrap_err().to_string(), told);
            }
            *watched.fails.lock().unwrap() = None;
            grouped.commit_one(1, name(0)).await.unwrap();
            assert_eq!(watched.sizes(), [callers, 1]);
        }
    }
}

/// Waits for a number of changes, and notes what it was told.
#[derive(Debug)]
struct Until {
    changes: usize,
    told: Arc<Mutex<Vec<Gathered>>>,
}

impl Gather for Until {
    fn gather(&mut self, gathered: &Gathered) -> Verdict {
        self.told.lock().unwrap().push(*gathered);
        if gathered.changes >= self.changes {
            Verdict::Commit { changes_max: usize::MAX }
        } else {
            Verdict::Wait(Duration::from_mins(1))
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_may_wait_for_more_and_is_told_what_the_last_commit_cost() {
    let (watched, told) = (Watched::new(1000), Arc::default());
    let until = Until { changes: 3, told: Arc::clone(&told) };
    let grouped = Grouped::by(until, 100, watched.clone());
    let callers = (0..6).map(|at| {
        let grouped = &grouped;
        async move {
            sleep(Duration::from_millis(10 * at)).await;
            grouped.commit_one(1, name(at as usize)).await
        }
    });
    assert!(join_all(callers).await.iter().all(Result::is_ok));
    assert_eq!(watched.sizes(), [3, 3]);
    let told = told.lock().unwrap();
    let of = |at: usize| (told[at].changes, told[at].waited.as_millis(), told[at].last);
    let last = Some(LastCommit { changes: 3, took: Duration::ZERO });
    assert_eq!([of(0), of(1), of(2)], [(1, 0, None), (2, 10, None), (3, 20, None)]);
    assert_eq!([of(3), of(4), of(5)], [(1, 0, last), (2, 10, last), (3, 20, last)]);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_longer_for_others_than_the_limit() {
    let (watched, told) = (Watched::new(1000), Arc::default());
    let grouped = Grouped::by(Until { changes: 3, told }, 100, watched.clone());
    let begun = ripstop_host::now();
    timeout(Duration::from_secs(5), grouped.commit_one(1, name(0))).await.unwrap().unwrap();
    assert_eq!(ripstop_host::since(begun).as_millis(), GATHERING_MAX.as_millis());
}

#[test]
fn callers_are_told_when_the_runtime_ends_and_another_one_commits_again() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let watched = Watched::new(0);
    let grouped = Grouped::over(watched.clone());
    let first = runtime();
    let mut waiting = Box::pin(grouped.commit_one(1, name(1)));
    first.block_on(async {
        // It gives up while it commits, and a task goes on.
        assert!(grouped.commit_one(1, name(0)).now_or_never().is_none());
        assert!((&mut waiting).now_or_never().is_none());
        while watched.sizes().is_empty() {
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(watched.sizes(), [2]);
    drop(first);
    assert_eq!(runtime().block_on(waiting).unwrap_err().to_string(), "catalog unavailable");
    watched.free.add_permits(10);
    let applied = runtime().block_on(grouped.commit_one(1, name(1))).unwrap();
    assert_eq!(applied.node.unwrap().0, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_caller_answered_last_may_open_the_file_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog");
    for round in 0..50 {
        let catalog = Embedded::open(&path, CatalogSettings::default()).unwrap();
        let grouped = Grouped::over(Arc::new(catalog));
        let answers = join_all((0..4).map(|at| grouped.commit_one(1, name(4 * round + at)))).await;
        assert!(answers.iter().all(Result::is_ok));
        drop(grouped);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever the groups are: the changes of all of them in order, as commits of the model.
    #[test]
    fn callers_are_answered_what_their_groups_were(
        steps in script(80), together in 1..30usize, changes_max in 1..20usize,
    ) {
        let watched = Watched::new(100_000);
        let grouped = Grouped::by(AtOnce { changes_max }, 16, watched.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut answers = Vec::new();
        for group in changes(&steps).chunks(together) {
            let callers = group.iter().map(|(now, change)| grouped.commit(*now, vec![change.clone()]));
            answers.extend(runtime.block_on(join_all(callers)));
        }
        let again = Model::default();
        let mut expected = Vec::new();
        for (now_ms, changes) in &*watched.commits.lock().unwrap() {
            expected.extend(again.apply_all(*now_ms, changes).unwrap());
        }
        let answers: Vec<Outcome> = answers.into_iter().flat_map(Result::unwrap).collect();
        prop_assert_eq!(answers, expected);
    }
}
