//! A planner goes by what the gateway knows, and not by what it counts for people to look at.

use bytes::Bytes;
use hyper::Method;
use ripstop_assembly::{AdminPort, CredentialsOrigin, Gateway, Signals, Start, config};
use ripstop_client::{Client, Presigner, noise};
use ripstop_planner::Replanner;
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;

const OBJECTS: usize = 40;
/// Measuring takes some seconds of reads, and a plan comes every second.
const PATIENCE: Duration = Duration::from_mins(1);

/// Three nodes in memory, of which a stripe takes two, and one is slow: a plan moves what is there.
fn text(data: &std::path::Path) -> String {
    let data = data.display();
    let node = |name: &str| format!("[[node]]\nname = \"{name}\"\nkind = \"memory\"\n");
    format!(
        "[gateway]\ndata = \"{data}\"\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\nmetrics = false\n\
         [[pool]]\nname = \"p\"\ncode = [2, 2]\nplan = \"auto\"\nplan_every = \"1s\"\n\
         {}{}{}delay = \"s3-2025\"\n",
        node("a"),
        node("b"),
        node("slow")
    )
}

async fn status(admin: &AdminPort) -> Value {
    let told = admin.ask(Method::GET, "/status").await.expect("the admin port answers");
    serde_json::from_str(&told).expect("the status is JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn with_metrics_off_a_gateway_is_ready_and_plans() {
    let folder = tempfile::tempdir().unwrap();
    let config = config::parse(&text(&folder.path().join("data")), []).unwrap();
    let again = config.clone();
    let start = Start {
        reread: Arc::new(move || Ok(again.clone())),
        planning: Replanner::start,
        task_log: None,
        record: None,
    };
    let gateway = Gateway::open(config, start).await.unwrap();
    let CredentialsOrigin::New { access_key, secret_key } = gateway.origin() else {
        panic!("the folder is new")
    };
    let signer = Presigner::new(gateway.listen(), "bucket", access_key, secret_key).unwrap();
    let (listen, admin) = (gateway.listen(), gateway.admin().to_string());
    let admin = AdminPort::at(&admin, None, None).unwrap();
    let stop = CancellationToken::new();
    let signals = Signals { stop: stop.clone(), reload: Arc::new(Notify::new()) };
    let serving = tokio::spawn(gateway.serve(signals));

    let mut client = Client::connect(listen).await.unwrap();
    client.put(&signer.url(Method::PUT, "").await.unwrap(), Bytes::new()).await.unwrap();
    let (body, mut reads) = (Bytes::from(noise(1000)), Vec::new());
    for object in 0..OBJECTS {
        let url = signer.url(Method::PUT, &object.to_string()).await.unwrap();
        client.put(&url, body.clone()).await.unwrap();
        reads.push(signer.url(Method::GET, &object.to_string()).await.unwrap());
    }
    assert_eq!(admin.ask(Method::GET, "/readyz").await.unwrap(), "ok");
    let refused = format!("{:#}", admin.ask(Method::GET, "/metrics").await.unwrap_err());
    assert!(refused.contains("metrics are off"), "{refused}");
    let end = Instant::now() + PATIENCE;
    let mut told = status(&admin).await;
    while told["pools"][0]["plan"].is_null() && Instant::now() < end {
        for url in &reads {
            assert_eq!(client.get(url).await.unwrap(), 1000);
        }
        told = status(&admin).await;
    }
    assert!(told["pools"][0]["plan"]["plans"].as_u64() >= Some(1), "{told}");
    assert_eq!(told["pools"][0]["nodes"][2]["name"], "slow", "{told}");
    let log = admin.ask(Method::GET, "/pools/p/task-log").await.unwrap();
    assert!(log.lines().filter(|line| line.contains(",read,")).count() >= OBJECTS);
    stop.cancel();
    serving.await.unwrap().unwrap();
}
