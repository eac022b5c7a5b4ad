//! Every key of the configuration with the least, the most and the strangest that can be written:
//! it is refused by name, or a gateway of it serves.

use super::super::{Config, KvConfig, parse};
use crate::{
    assembly::assemble, data_folder::DataFolder, kv::KvPort, telemetry::Telemetry, watch::Unwatched,
};
use bytes::Bytes;
use hyper::Method;
use ripstop_client::{Client, Presigner};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "255",
    "4294967296",
    "9000000000000000000",
    "0.0",
    "1e308",
    "nan",
    "inf",
    "\"0 B\"",
    "\"1 B\"",
    "\"1 TiB\"",
    "\"16000000 TiB\"",
    "\"0ms\"",
    "\"1ms\"",
    "\"366d\"",
    "\"18446744073709551615ms\"",
    "[0, 0]",
    "[255, 1]",
    "[255, 255]",
    "[1e308]",
    "[0, 0, 0, 0]",
    "[1e308, 1e308, 1e308, 1e308]",
    "[3.6e6, 3.6e6, 3.6e6, 3.6e6]",
];

/// What the key stands beside, in sections where keys mean something only beside others.
fn surroundings(section: &str) -> &'static [&'static str] {
    match section {
        "pool" => &[
            "",
            "layout = \"shared\"",
            "layout = \"shared\"\npolicy = \"tofec\"",
            "policy = \"hedge\"",
            "plan = \"auto\"",
        ],
        "node" => &["kind = \"memory\"\ndelay = \"s3-2013-a\""],
        "tenant" => &[
            "access_keys = [\"KEY\"]\npromise = \"1:1s\"\nshare = 0.5",
            "access_keys = [\"KEY\"]\npromise = \"1:1s\"",
        ],
        "kms" => &["url = \"https://127.0.0.1:1\"\ntoken = \"t\""],
        _ => &[""],
    }
}

/// A configuration in which this stands in this section.
fn text(section: &str, keys: &str) -> String {
    let tables = ["gateway", "store", "quotas"].map(|table| {
        let keys = if table == section { keys } else { "" };
        format!("[{table}]\n{keys}\n")
    });
    let pool = if section == "pool" { keys } else { "" };
    let node = |number: usize| {
        let keys = if section == "node" && number == 0 { keys } else { "kind = \"memory\"" };
        format!("[[node]]\nname = \"n{number}\"\n{keys}\n")
    };
    let nodes: String = (0..6).map(node).collect();
    let tenant = match section {
        "tenant" => format!("[[tenant]]\nname = \"t\"\n{keys}\n"),
        _ => String::new(),
    };
    let kv = match section {
        "kv" | "kms" => format!("[{section}]\n{keys}\n"),
        _ => String::new(),
    };
    format!("{kv}{}[[pool]]\nname = \"p\"\n{pool}\n{nodes}{tenant}", tables.concat())
}

/// The keys of a section, from what is said to one that is none.
fn keys(section: &str) -> Vec<String> {
    let error = parse(&text(section, "no_such_key = 1"), []).expect_err("there is no such key");
    let said = format!("{error:#}");
    let (_, names) = said.split_once("expected one of ").expect("the keys are named");
    names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Everything of every key that is not refused; what is refused names the key.
fn accepted() -> BTreeMap<String, (String, Config)> {
    let (mut accepted, mut complaints) = (BTreeMap::new(), Vec::new());
    for section in ["gateway", "store", "quotas", "pool", "node", "tenant", "kv", "kms"] {
        for key in keys(section) {
            for (value, beside) in VALUES
                .iter()
                .flat_map(|value| surroundings(section).iter().map(move |at| (value, at)))
            {
                let written = format!("{beside}\n{key} = {value}");
                match parse(&text(section, &written), []) {
                    Ok(config) => {
                        let name = format!("{section}.{key} = {value}");
                        let same = format!("{config:?}");
                        accepted.entry(same).or_insert((name, config));
                    }
                    Err(error) => {
                        let said = format!("{error:#}");
                        // Promises are refused by what is missing for them, all together.
                        let is_told = said.contains(&key) || said.contains("lanes are missing");
                        let alone = parse(&text(section, beside), []);
                        if !is_told && alone.is_ok() {
                            complaints.push(format!("{section}.{key} = {value}: {said}"));
                        }
                    }
                }
            }
        }
    }
    assert!(complaints.is_empty(), "the key is not named:\n{}", complaints.join("\n"));
    accepted
}

/// Where threads panicked, since this was first asked.
fn panics() -> Vec<String> {
    static SEEN: Mutex<Option<Vec<String>>> = Mutex::new(None);
    let mut seen = SEEN.lock().unwrap();
    if let Some(seen) = &mut *seen {
        return std::mem::take(seen);
    }
    *seen = Some(Vec::new());
    let former = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if let Some(seen) = &mut *SEEN.lock().unwrap() {
            seen.push(panic.to_string());
        }
        former(panic);
    }));
    Vec::new()
}

/// Serves, is asked to store and to read, and stops. A gateway may be as slow as it is told to be,
/// so that who asks does not wait for the answers.
async fn serve(mut config: Config) {
    const ANSWER_MAX: Duration = Duration::from_millis(200);
    let folder = tempfile::tempdir().unwrap();
    config.data = folder.path().join("data");
    config.key_file = config.key_file.map(|file| folder.path().join(file));
    config.object_keys_file = config.object_keys_file.map(|file| folder.path().join(file));
    let _folder = DataFolder::create(&config).unwrap();
    let assembly = assemble(&config, &Unwatched).await.unwrap();
    assembly.pools[0].1.shape(super::super::shaping(
        &config.pools[0],
        &config.tenants,
        &super::super::TenantNumbers::default(),
    ));
    assembly.store.set_quotas(config.quotas.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let settings = ripstop_s3::FrontSettings {
        connections_max: config.connections_max.unwrap_or(4096),
        drain_timeout: config.stop_within.min(Duration::from_millis(100)),
        ..ripstop_s3::FrontSettings::default()
    };
    let credentials: ripstop_s3::Credentials = [("KEY", "SECRET")].into_iter().collect();
    let served = tokio::spawn(ripstop_s3::serve(
        listener,
        assembly.store.clone(),
        credentials,
        settings,
        std::sync::Arc::new(ripstop_s3::Unobserved),
        stop.clone(),
    ));
    let mut client = timeout(ANSWER_MAX * 10, Client::connect(address)).await.unwrap().unwrap();
    let signer = Presigner::new(address, "bucket", "KEY", "SECRET").unwrap();
    for (method, key) in
        [(Method::PUT, ""), (Method::PUT, "key"), (Method::GET, "key"), (Method::DELETE, "key")]
    {
        let target = signer.url(method.clone(), key).await.unwrap();
        let body = if key.is_empty() { Bytes::new() } else { Bytes::from(vec![7; 70_000]) };
        let asked = async {
            match method {
                Method::PUT => client.put(&target, body).await,
                _ => client.get(&target).await.map(drop),
            }
        };
        // Refusals and slowness are as configured.
        if timeout(ANSWER_MAX, asked).await.is_err() {
            client = Client::connect(address).await.unwrap();
        }
    }
    if let Some(kv) = config.kv {
        speak_memcached(kv, &stop).await;
    }
    stop.cancel();
    timeout(Duration::from_secs(20), served).await.expect("it stops").expect("it does not panic");
}

/// Serves the door that speaks memcached as well, and is asked to store and to read.
async fn speak_memcached(kv: KvConfig, stop: &CancellationToken) {
    let listen = ([127, 0, 0, 1], 0).into();
    // There are no such files.
    let folder = tempfile::tempdir().unwrap();
    let kv = KvConfig { listen, users: None, tls: None, ..kv };
    let port = KvPort::open(&kv, folder.path()).await.unwrap();
    let at = port.at;
    let nothing = Telemetry::new(false, None);
    let served = port.serve(Duration::from_millis(100), &nothing, stop.clone());
    let mut client = TcpStream::connect(at).await.unwrap();
    client.write_all(b"set a 0 0 1\r\n1\r\nget a\r\nquit\r\n").await.unwrap();
    let mut said = Vec::new();
    // A timeout may be as short as it is configured.
    let _ = timeout(Duration::from_secs(5), client.read_to_end(&mut said)).await.unwrap();
    assert!(said.is_empty() || said.starts_with(b"STORED\r\n"), "{}", said.escape_ascii());
    stop.cancel();
    timeout(Duration::from_secs(20), served).await.expect("it stops").expect("it does not panic");
}

#[test]
fn every_extreme_of_every_key_is_refused_by_name_or_served() {
    let accepted = accepted();
    let keys: BTreeSet<&str> =
        accepted.values().filter_map(|(name, _)| name.split(" = ").next()).collect();
    assert!(keys.len() > 25, "too few keys take any of the values: {keys:?}");
    panics();
    let mut complaints = Vec::new();
    for (name, config) in accepted.into_values() {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_all().build().unwrap();
        let run =
            || runtime.block_on(async { timeout(Duration::from_mins(1), serve(config)).await });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        runtime.shutdown_timeout(Duration::from_secs(5));
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(_)) => complaints.push(format!("{name}: hangs")),
            Err(_) => complaints.push(format!("{name}: does not serve")),
        }
        complaints.extend(panics().into_iter().map(|panic| format!("{name}: {panic}")));
    }
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}
