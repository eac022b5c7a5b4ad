mod buckets;
mod giving;
mod keys;
mod packs;
mod stranger;
mod tenants;
mod tiers;

use super::{Admin, AdminSettings, Check, Checked, Reload, Status, check_of, serve_admin};
use crate::metrics::{Metrics, TenantNames};
use futures::StreamExt;
use ripstop_catalog::Embedded;
use ripstop_gateway::{
    MachineSettings, NodeGauge, NodeState, Report, Task, TaskEnd, TaskOutcome, TierGauge,
};
use ripstop_keeper::{CheckReport, Keeper, KeeperSettings};
use ripstop_model::{Code, NodeId, PoolId, RequestId, TaskId, TenantId, Timestamp};
use ripstop_node::{MemoryNode, Node};
use ripstop_policy::Fixed;
use ripstop_roster::{PoolGauges, PoolNames, Roster};
use ripstop_runtime::{Memory, Observer, Pins, Pool, PoolNode, Spent};
use ripstop_shaping::Fraction;
use ripstop_store::Store;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Notify, Semaphore, mpsc},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// An admin port that is being served.
struct Served {
    at: SocketAddr,
    shutdown: CancellationToken,
    ended: JoinHandle<()>,
}

impl Served {
    async fn new(metrics: Metrics, check: Check, settings: AdminSettings) -> Self {
        Self::of(metrics, check, None, settings).await
    }

    async fn of(
        metrics: Metrics,
        check: Check,
        reload: Option<Reload>,
        settings: AdminSettings,
    ) -> Self {
        Self::by(Admin { check, reload, ..admin(Some(metrics)) }, settings).await
    }

    async fn by(admin: Admin, settings: AdminSettings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (at, shutdown) = (listener.local_addr().unwrap(), CancellationToken::new());
        let ended = tokio::spawn(serve_admin(listener, admin, settings, shutdown.clone()));
        Self { at, shutdown, ended }
    }

    async fn send(&self, line: &str, headers: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.at).await.unwrap();
        let head = format!("{line} HTTP/1.1\r\nconnection: close\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    }

    /// Status and the whole answer.
    async fn ask(&self, line: &str, headers: &str) -> (u16, String) {
        rest(self.send(line, headers).await).await
    }

    async fn get(&self, path: &str) -> (u16, String) {
        self.ask(&format!("GET {path}"), "host: localhost\r\n").await
    }

    async fn check(&self, query: &str) -> (u16, String) {
        self.ask(&format!("POST /check{query}"), &format!("host: {}\r\n", self.at)).await
    }
}

async fn rest(mut stream: TcpStream) -> (u16, String) {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    (answer[9..12].parse().unwrap(), answer)
}

/// An admin port over the pools that these metrics count, which can be told nothing.
fn admin(metrics: Option<Metrics>) -> Admin {
    let counted = metrics.as_ref().map(Metrics::pools).unwrap_or_default();
    Admin {
        version: "1.2.3",
        started: Instant::now(),
        pools: counted.iter().map(|counts| counts.roster().clone()).collect(),
        store: None,
        metrics,
        readiness: Arc::new(|| Ok(())),
        check: no_check(),
        reload: None,
        catalog: None,
        keys: None,
        users: None,
        give: None,
        tiers: Vec::new(),
        gateways: None,
    }
}

/// The JSON lines of an answer.
fn lines(answer: &str) -> Vec<Value> {
    let lines = answer.lines().filter(|line| line.starts_with('{'));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn no_check() -> Check {
    Arc::new(|_, _| Box::pin(async { Ok(CheckReport::default()) }))
}

fn roster(nodes: &[&str]) -> Arc<Roster> {
    let nodes = nodes.iter().enumerate().map(|(id, name)| (NodeId(id as u16), (*name).to_owned()));
    let (code, nodes) = (Code::new(3, 2).unwrap(), nodes.collect());
    Arc::new(Roster::new(PoolNames { name: "main".to_owned(), code, nodes_needed: 2, nodes }))
}

/// A store of one bucket over three nodes in memory.
async fn stored(metrics: &Metrics) -> (Store, Keeper, Vec<Arc<MemoryNode>>) {
    let counts = metrics.count_pool(&roster(&["a", "b", "c"]));
    let nodes: Vec<_> = (0..3).map(|_| Arc::new(MemoryNode::new(1 << 20))).collect();
    let pool_nodes = nodes.iter().enumerate();
    let pool_nodes = pool_nodes
        .map(|(id, node)| PoolNode { id: NodeId(id as u16), lanes: 2, node: node.clone() })
        .collect();
    let (aftermath, told) = ripstop_runtime::aftermaths();
    let pins = Pins::default();
    let memory = Memory::new(64 << 20);
    let pool = Pool::new(
        ripstop_runtime::Origin { store: 1, pool: PoolId(0) },
        Code::new(3, 2).unwrap(),
        MachineSettings::default(),
        Box::new(Fixed::new(&ripstop_policy::PolicySettings::default())),
        pool_nodes,
        counts.roster().observer(Some(counts.clone())),
        Arc::new(Spent::default()),
        memory.blocks().clone(),
        pins.clone(),
        aftermath,
    );
    let watched = pool.clone();
    counts.roster().watch(move || PoolGauges::of(&watched));
    let catalog = Embedded::in_memory(ripstop_catalog::CatalogSettings::default()).unwrap();
    let catalog = Arc::new(metrics.metered(Arc::new(catalog)));
    let settings = packs::gathering();
    let store = Store::new(catalog, vec![pool], BTreeMap::new(), memory, pins, settings);
    let keeper = Keeper::begin(store.clone(), told, KeeperSettings::default());
    store.create_bucket("photos").await.unwrap();
    (store, keeper, nodes)
}

#[tokio::test]
async fn a_store_is_shown_checked_and_mended() {
    let metrics = Metrics::new("1.2.3", &[]);
    let (_store, keeper, nodes) = stored(&metrics).await;
    let served = Served::new(metrics, check_of(keeper), AdminSettings::default()).await;

    for path in ["/livez", "/readyz"] {
        let (status, answer) = served.get(path).await;
        assert!(status == 200 && answer.ends_with("\r\n\r\nok"), "{answer}");
    }
    let (_, answer) = served.get("/status").await;
    let status = &lines(&answer)[0];
    assert_eq!((&status["version"], &status["pools"][0]["ready"]), (&"1.2.3".into(), &true.into()));
    let node = serde_json::json!({
        "id": 2, "name": "c", "up": true, "refuses": false, "lanes": 2, "busy": 0, "waiting": 0
    });
    assert_eq!(status["pools"][0]["nodes"][2], node);

    let fragment = wait_for_fragment(&nodes[1]).await;
    nodes[1].delete(fragment).await.unwrap();
    for (query, missing, repaired) in
        [("", 1, 0), ("?repair=false", 1, 0), ("?repair=true", 1, 1), ("", 0, 0)]
    {
        let (status, answer) = served.check(query).await;
        assert_eq!(status, 200, "{answer}");
        let lines = lines(&answer);
        let report: CheckReport =
            serde_json::from_value(lines.last().unwrap()["report"].clone()).unwrap();
        let found = (report.stripes, report.fragments, report.missing, report.repaired);
        assert_eq!(found, (1, 3, missing, repaired), "{query}: {answer}");
    }

    let (status, answer) = served.get("/metrics").await;
    assert!(status == 200 && answer.contains("content-type: application/openmetrics-text"));
    assert!(answer.contains("\nripstop_node_up{pool=\"main\",node=\"a\"} 1"), "{answer}");
    let row =
        "ripstop_node_tasks_total{pool=\"main\",node=\"a\",operation=\"write\",outcome=\"done\"} 1";
    assert!(answer.contains(row) && answer.contains("# EOF\n"), "{answer}");

    let (status, answer) = served.get("/pools/main/task-log").await;
    assert!(status == 200 && answer.contains("content-type: text/csv"), "{answer}");
    let header = answer.find(ripstop_estimator::LOG_HEADER).unwrap();
    assert!(answer[header..].contains(",write,0,") && answer.contains(",done,"), "{answer}");
    let (status, answer) = served.get("/pools/other/task-log").await;
    assert!(status == 404 && answer.ends_with("there is no such pool\n"), "{answer}");
}

/// The writes of a bucket's last fragments go on after its answer.
async fn wait_for_fragment(node: &MemoryNode) -> ripstop_model::FragmentId {
    for _ in 0..1000 {
        if let Some(Ok(listed)) = node.list().next().await {
            return listed.name;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the node has no fragment");
}

#[tokio::test]
async fn a_pool_with_too_few_nodes_is_not_ready_and_says_why() {
    let metrics = Metrics::new("1.2.3", &[]);
    let counts = metrics.count_pool(&roster(&["a", "b", "c"]));
    let served = Served::new(metrics.clone(), no_check(), AdminSettings::default()).await;
    let (status, answer) = served.get("/readyz").await;
    assert!(status == 503 && answer.ends_with("pool main: not started"), "{answer}");
    let both_down = Arc::new(AtomicBool::new(true));
    let down = both_down.clone();
    counts.roster().watch(move || {
        let nodes = (0..3).map(|id| NodeGauge {
            id: NodeId(id),
            state: if id == 0 || id == 1 && down.load(SeqCst) {
                NodeState::Down
            } else {
                NodeState::Up
            },
            lanes: 1,
            lanes_busy: 0,
            tasks_waiting: 0,
        });
        PoolGauges { nodes: nodes.collect(), ..PoolGauges::default() }
    });
    let (status, answer) = served.get("/readyz").await;
    let reason = "pool main: 1 of 3 nodes up, 2 needed (down: a, b)";
    assert!(status == 503 && answer.ends_with(reason), "{answer}");
    both_down.store(false, SeqCst);
    assert_eq!(served.get("/readyz").await.0, 200);
    assert_eq!(served.get("/livez").await.0, 200);
}

#[tokio::test]
async fn nodes_that_refuse_make_a_pool_bare_and_then_not_ready_until_they_take_fragments_again() {
    let metrics = Metrics::new("1.2.3", &[]);
    let counts = metrics.count_pool(&roster(&["a", "b", "c"]));
    let served = Served::new(metrics.clone(), no_check(), AdminSettings::default()).await;
    counts.roster().watch(|| {
        let node = |id| NodeGauge {
            id: NodeId(id),
            state: NodeState::Up,
            lanes: 1,
            lanes_busy: 0,
            tasks_waiting: 0,
        };
        PoolGauges { nodes: (0..3).map(node).collect(), ..PoolGauges::default() }
    });
    let stored = |node, outcome| {
        let task = Task {
            id: TaskId(1),
            request: RequestId(1),
            node: NodeId(node),
            fragment: 0,
            strips: 1,
        };
        let (waited, served, bytes) = (Duration::ZERO, Duration::from_millis(1), 10);
        let (write, extra, redundant) = (true, false, false);
        let end = TaskEnd { task, write, outcome, bytes, waited, served, extra, redundant };
        counts.roster().report(Timestamp::ZERO, &Report::Task(end));
    };
    let (status, answer) = served.get("/readyz").await;
    assert!(status == 200 && answer.ends_with("\r\n\r\nok"), "{answer}");
    stored(2, TaskOutcome::Refused);
    let (status, answer) = served.get("/readyz").await;
    let told =
        "ok\npool main: 2 of 3 nodes take fragments: writes have no redundancy (refusing: c)";
    assert!(status == 200 && answer.ends_with(told), "{answer}");
    stored(1, TaskOutcome::Refused);
    let (status, answer) = served.get("/readyz").await;
    let told = "pool main: 1 of 3 nodes take fragments, 2 needed (refusing: b, c)";
    assert!(status == 503 && answer.ends_with(told), "{answer}");
    let told = admin(Some(metrics.clone())).status().pools.remove(0);
    assert_eq!((told.ready, told.redundant), (false, false));
    assert_eq!(told.nodes.iter().map(|node| node.refuses).collect::<Vec<_>>(), [false, true, true]);
    stored(1, TaskOutcome::Unavailable);
    assert_eq!(served.get("/readyz").await.0, 503);
    stored(1, TaskOutcome::Done);
    stored(2, TaskOutcome::Done);
    let (status, answer) = served.get("/readyz").await;
    assert!(status == 200 && answer.ends_with("ok"), "{answer}");
    assert!(admin(Some(metrics.clone())).status().pools[0].redundant);
}

/// A check that runs until it is told to end; says when it is dropped.
fn slow_check(end: Arc<Notify>, dropped: mpsc::UnboundedSender<()>) -> Check {
    struct Tell(mpsc::UnboundedSender<()>);
    impl Drop for Tell {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    Arc::new(move |_, progress| {
        let (end, tell) = (end.clone(), Tell(dropped.clone()));
        Box::pin(async move {
            progress(Checked { catalog_bytes: 4096, stripes: 41 });
            end.notified().await;
            drop(tell);
            Ok(CheckReport { stripes: 42, ..CheckReport::default() })
        })
    })
}

#[tokio::test]
async fn checks_run_one_at_a_time_and_stop_when_their_client_leaves() {
    let end = Arc::new(Notify::new());
    let (dropped, mut drops) = mpsc::unbounded_channel();
    let check = slow_check(end.clone(), dropped);
    let served = Served::new(Metrics::new("1.2.3", &[]), check, AdminSettings::default()).await;
    let host = format!("host: {}\r\n", served.at);
    let mut first = served.send("POST /check", &host).await;
    let mut begun = vec![0; 4096];
    let len = first.read(&mut begun).await.unwrap();
    assert!(begun[..len].starts_with(b"HTTP/1.1 200"));
    let (status, answer) = served.check("").await;
    assert!(status == 409 && answer.ends_with("a check is running\n"), "{answer}");
    drop(first);
    drops.recv().await.unwrap();
    // The permit comes back just after the check is dropped.
    let second = loop {
        let mut second = served.send("POST /check", &host).await;
        let len = second.read(&mut begun).await.unwrap();
        if begun[..len].starts_with(b"HTTP/1.1 200") {
            break second;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    end.notify_one();
    let mut answer = String::new();
    let mut second = second;
    second.read_to_string(&mut answer).await.unwrap();
    let mut lines = lines(&answer);
    assert_eq!(lines.pop().unwrap()["report"]["stripes"], 42);
    let progress = serde_json::json!({ "catalog_bytes": 4096, "stripes": 41 });
    assert!(lines.iter().all(|line| line["progress"] == progress), "{answer}");
}

/// A reload that counts those that run and says how many ran before; the third is refused, the
/// fourth breaks off. Each takes until it gets a permit to end.
fn slow_reload(running: Arc<AtomicUsize>, end: Arc<Semaphore>) -> Reload {
    let ran = Arc::new(AtomicUsize::new(0));
    Arc::new(move || {
        let (end, running, ran) = (end.clone(), running.clone(), ran.clone());
        Box::pin(async move {
            assert_eq!(running.fetch_add(1, SeqCst), 0, "one at a time");
            end.acquire().await.unwrap().forget();
            running.fetch_sub(1, SeqCst);
            match ran.fetch_add(1, SeqCst) {
                2 => Err("ripstop.toml: no pool is named x\n".to_owned()),
                3 => panic!("this one breaks off"),
                before => Ok(format!("{before} before")),
            }
        })
    })
}

#[tokio::test]
async fn reloads_run_one_after_the_other_and_say_what_came_of_them() {
    let (running, end) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
    let reload = slow_reload(running.clone(), end.clone());
    let (metrics, settings) = (Metrics::new("1.2.3", &[]), AdminSettings::default());
    let served = Served::of(metrics, no_check(), Some(reload), settings).await;
    let ask = || served.ask("POST /reload", "host: localhost\r\n");
    // The first one's client leaves; it ends all the same.
    let left = served.send("POST /reload", "host: localhost\r\n").await;
    while running.load(SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(left);
    let (second, ()) = tokio::join!(ask(), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        end.add_permits(5);
    });
    assert!(second.0 == 200 && second.1.ends_with("\r\n\r\n1 before\n"), "{second:?}");
    let (status, answer) = ask().await;
    let reason = "\r\n\r\nripstop.toml: no pool is named x\n";
    assert!(status == 400 && answer.ends_with(reason), "{answer}");
    assert_eq!(ask().await.0, 500);
    let (status, answer) = ask().await;
    assert!(status == 200 && answer.ends_with("4 before\n"), "{answer}");
}

#[tokio::test]
async fn a_snapshot_is_kept_until_its_client_leaves_and_says_where_it_is() {
    let catalog = Embedded::in_memory(ripstop_catalog::CatalogSettings::default());
    let admin = Admin { catalog: Some(Arc::new(catalog.unwrap())), ..admin(None) };
    let served = Served::by(admin, AdminSettings::default()).await;
    let mut first = served.send("POST /snapshot", "host: localhost\r\n").await;
    let mut told = String::new();
    while !told.contains("\"kept\":true") {
        let mut some = Vec::with_capacity(16 << 10);
        assert!(first.read_buf(&mut some).await.unwrap() > 0, "{told}");
        told.push_str(str::from_utf8(&some).unwrap());
    }
    let snapshot = &lines(&told)[0]["snapshot"];
    // The file begins with redb's magic number.
    assert!(snapshot["header"].as_str().unwrap().starts_with("72656462"), "{snapshot}");
    assert!(snapshot["len"].as_u64().unwrap() > 4096, "{snapshot}");
    let (status, answer) = served.ask("POST /snapshot", "host: localhost\r\n").await;
    assert!(status == 409 && answer.ends_with("the catalog is being copied\n"), "{answer}");
    drop(first);
    for _ in 0..1000 {
        let mut next = served.send("POST /snapshot", "host: localhost\r\n").await;
        let mut begun = [0; 12];
        next.read_exact(&mut begun).await.unwrap();
        if begun.ends_with(b"200") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it is kept for nobody");
}

#[tokio::test]
async fn without_metrics_readiness_status_and_task_log_are_told_all_the_same() {
    let metrics = Metrics::new("1.2.3", &[]);
    let (store, _keeper, _nodes) = stored(&metrics).await;
    let pools = metrics.pools().iter().map(|counts| counts.roster().clone()).collect();
    let off = Admin { pools, store: Some(store), ..admin(None) };
    let served = Served::by(off, AdminSettings::default()).await;
    let (status, answer) = served.get("/readyz").await;
    assert!(status == 200 && answer.ends_with("\r\n\r\nok"), "{answer}");
    let (_, answer) = served.get("/status").await;
    let told = &lines(&answer)[0];
    assert_eq!((&told["version"], &told["pools"][0]["ready"]), (&"1.2.3".into(), &true.into()));
    let (status, answer) = served.get("/pools/main/task-log").await;
    assert!(status == 200 && answer.contains(",write,0,"), "{answer}");
    let (status, answer) = served.get("/buckets").await;
    assert!(status == 200 && answer.contains("photos"), "{answer}");
    let (status, answer) = served.get("/metrics").await;
    assert!(status == 501 && answer.ends_with("metrics are off (gateway.metrics)\n"), "{answer}");
}
