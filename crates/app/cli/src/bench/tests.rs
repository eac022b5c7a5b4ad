use super::*;
use crate::args::{Arguments, Command};
use bytes::Bytes;
use clap::Parser as _;
use ripstop_assembly::{CredentialsOrigin, Gateway, Signals, Start, config};
use tokio::{sync::Notify, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// A gateway over memory nodes, in this process.
struct Served {
    url: String,
    access_key: String,
    secret: String,
    stop: CancellationToken,
    serving: JoinHandle<Result<()>>,
    _folder: tempfile::TempDir,
}

impl Served {
    async fn new(n: usize, k: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let node = |node| format!("[[node]]\nname = \"m{node}\"\nkind = \"memory\"\n");
        let nodes: String = (0..n).map(node).collect();
        let text = format!(
            "[gateway]\ndata = {data:?}\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n\
             [[pool]]\nname = \"p\"\ncode = [{n}, {k}]\n{nodes}"
        );
        let config = config::parse(&text, []).unwrap();
        let again = config.clone();
        let start = Start {
            reread: Arc::new(move || Ok(again.clone())),
            planning: |_| unreachable!("no pool is to plan itself"),
            task_log: None,
            record: None,
        };
        let gateway = Gateway::open(config, start).await.unwrap();
        let CredentialsOrigin::New { access_key, secret_key } = gateway.origin() else {
            panic!("the folder is new")
        };
        let (access_key, secret) = (access_key.clone(), secret_key.to_string());
        let url = format!("http://{}", gateway.listen());
        let stop = CancellationToken::new();
        let signals = Signals { stop: stop.clone(), reload: Arc::new(Notify::new()) };
        let serving = tokio::spawn(gateway.serve(signals));
        Self { url, access_key, secret, stop, serving, _folder: folder }
    }

    fn arguments(&self, secret: &str, more: &[&str]) -> Bench {
        let words = ["ripstop", "bench", "--endpoint", &self.url];
        let values = ["--access-key", &self.access_key, "--secret-key", secret, "--seconds", "0.2"];
        let parsed = Arguments::parse_from(words.iter().chain(&values).chain(more)).command;
        let Command::Bench(bench) = parsed else { panic!("{parsed:?}") };
        bench
    }

    async fn stop(self) {
        self.stop.cancel();
        self.serving.await.unwrap().unwrap();
    }
}

async fn listed(target: &Target) -> String {
    let list = target.signer.bucket(&Method::GET).unwrap();
    let list = list.request(&Method::GET, Bytes::new());
    let mut page = Vec::new();
    let mut client = target.connect().await.unwrap();
    client.exchange(list, |piece| page.extend_from_slice(piece)).await.unwrap();
    String::from_utf8(page).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_put_read_back_compared_and_deleted() {
    let served = Served::new(3, 2).await;
    for unsigned in [&["--keep"][..], &["--unsigned-payload"][..]] {
        let arguments = served.arguments(&served.secret, unsigned);
        let target = arguments.target().await.unwrap();
        target.make_bucket().await.unwrap();
        let found = measure(&target, &arguments, 4096, 16).await.unwrap();
        let [put, get] = &found[..] else { panic!("{found:?}") };
        assert_eq!((&*put.operation, &*get.operation), ("put", "get"));
        assert!(put.requests > 0 && put.compared == 0, "{put:?}");
        assert!(get.requests > 0 && get.compared > 0, "{get:?}");
        assert!(get.p50_ms <= get.p99_ms, "{get:?}");
        assert!((get.mib_per_s - get.requests_per_s / 256.0).abs() < 1e-6, "{get:?}");
        let kept = listed(&target).await.contains(&target.signer.prefix);
        assert_eq!(kept, arguments.keep);
    }
    served.stop().await;
}

#[tokio::test]
async fn a_wrong_secret_and_a_bad_address_are_told() {
    let served = Served::new(1, 1).await;
    let refused = run(&served.arguments("another", &[])).await.unwrap_err();
    assert!(format!("{refused:#}").contains("SignatureDoesNotMatch"), "{refused:#}");
    for bad in ["https://127.0.0.1:1", "http://127.0.0.1:1/path", "127.0.0.1:1", "http://a@b:1"] {
        assert!(
            Bench { endpoint: bad.into(), ..served.arguments("x", &[]) }.target().await.is_err(),
            "{bad} was taken"
        );
    }
    served.stop().await;
}
