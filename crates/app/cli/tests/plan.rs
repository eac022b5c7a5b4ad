//! `plan` as it is used: a session.

mod session;

use session::{complaint, printed};
use std::{
    fmt::Write as _,
    fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    path::{Path, PathBuf},
    thread,
};
use tempfile::TempDir;

fn answer(folder: &Path, arguments: &str) -> serde_json::Value {
    serde_json::from_str(&printed(folder, &format!("{arguments} --json"))).expect("one object")
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/inventory")
}

/// A folder with the example of three sites, changed.
fn three_sites(change: impl Fn(String) -> String) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let text =
        fs::read_to_string(examples().join("three-sites.toml")).expect("the example is there");
    fs::write(folder.path().join("nodes.toml"), change(text)).expect("it can be written");
    folder
}

#[derive(serde::Deserialize)]
struct Applied {
    pool: String,
    selection: String,
    group: Vec<AppliedGroup>,
}

#[derive(serde::Deserialize)]
struct AppliedGroup {
    weight: u64,
    nodes: Vec<String>,
    dispatch: Vec<f64>,
}

#[test]
fn every_example_has_a_plan_near_the_best() {
    for file in fs::read_dir(examples()).unwrap() {
        let name = file.unwrap().file_name();
        let told = answer(&examples(), &format!("plan {}", name.display()));
        assert!(told["gap"].as_f64().unwrap() < 1e-3, "{name:?}");
        let bounds = [&told["lower_bound_s"], &told["objective_s"]].map(|s| s.as_f64().unwrap());
        assert!(bounds[0] <= bounds[1] * (1.0 + 1e-9));
        for node in told["nodes"].as_array().unwrap() {
            assert!(node["utilisation"].as_f64().unwrap() < 1.0);
        }
    }
}

#[test]
fn a_plan_is_applied_and_stays_when_it_is_solved_again() {
    let folder = three_sites(|text| text);
    let folder = folder.path();
    let told = printed(folder, "plan nodes.toml --apply plan.toml");
    assert!(
        told.contains("of the best possible") && told.contains("Written to plan.toml"),
        "{told}"
    );
    let applied: Applied =
        toml::from_str(&fs::read_to_string(folder.join("plan.toml")).unwrap()).unwrap();
    assert_eq!((&*applied.pool, &*applied.selection), ("main", "least-work-planned"));
    assert_eq!(applied.group.iter().map(|group| group.weight).sum::<u64>(), 2_000_000);
    for AppliedGroup { nodes, dispatch, .. } in &applied.group {
        assert!(nodes.len() == 6 && dispatch.len() == 6);
        assert!((dispatch.iter().sum::<f64>() - 4.0).abs() < 1e-9, "{dispatch:?}");
        for site in ["east", "west", "north"] {
            assert_eq!(nodes.iter().filter(|name| name.starts_with(site)).count(), 2);
        }
    }
    let told = printed(folder, "plan nodes.toml --previous plan.toml");
    assert!(told.ends_with("nothing moves\n"), "{told}");
    // The same of what --json printed.
    fs::write(folder.join("plan.json"), printed(folder, "plan nodes.toml --json")).unwrap();
    let told = printed(folder, "plan nodes.toml --previous plan.json");
    assert!(told.ends_with("nothing moves\n"), "{told}");
}

#[test]
fn a_node_that_goes_down_is_left_and_nothing_else_is() {
    let folder = three_sites(|text| text);
    let folder = folder.path();
    printed(folder, "plan nodes.toml --apply plan.toml");
    let text = fs::read_to_string(folder.join("nodes.toml")).unwrap();
    let down = text.replace("name = \"west-2\"", "name = \"west-2\"\nstate = \"down\"");
    fs::write(folder.join("nodes.toml"), format!("seconds_per_moved_gb = 1\n{down}")).unwrap();
    let told = answer(folder, "plan nodes.toml --previous plan.toml");
    let moves = told["moves"].as_array().unwrap();
    assert!(!moves.is_empty());
    assert!(moves.iter().all(|change| change["from"] == "west-2" && change["to"] != "west-2"));
    let files: u64 = moves.iter().map(|change| change["files"].as_u64().unwrap()).sum();
    assert_eq!(told["moved_bytes"].as_u64().unwrap(), files * (2 << 20));
}

#[test]
fn what_cannot_be_met_is_named_with_how_far_off_it_is() {
    let said = |change: fn(String) -> String| {
        let folder = three_sites(change);
        complaint(folder.path(), "plan nodes.toml --apply plan.toml")
    };
    let told = said(|text| text.replace("survive_sites = 1", "survive_sites = 2"));
    assert!(told.contains("2 sites may be lost") && told.contains("missing"), "{told}");
    let told = said(|text| text.replace("rate_per_s = 120", "rate_per_s = 1200"));
    assert!(told.contains("chunks per second more would have to be served"), "{told}");
    let told = said(|text| text.replace("6 TB", "1 TB"));
    assert!(told.contains("bytes of capacity are missing in all"), "{told}");
    let told = said(|text| text.replace("n = 6", "n = 12").replace("survive_sites = 1", ""));
    assert!(told.contains("needs 12 nodes") && told.contains("9 take chunks: 3 missing"), "{told}");
}

#[test]
fn inventories_that_make_no_sense_are_refused() {
    let said = |change: fn(String) -> String| {
        let folder = three_sites(change);
        complaint(folder.path(), "plan nodes.toml")
    };
    for (told, change) in [
        ("unknown field", (|text| text.replace("months", "moons")) as fn(String) -> String),
        ("n is 3, less than k, 4", |text| text.replace("n = 6", "n = 3")),
        ("must be given in one way", |text| text.replacen("sd_s = 0.030", "samples_s = [0.1]", 1)),
        ("mean_s needs sd_s", |text| text.replacen("sd_s = 0.030", "", 1)),
        ("two nodes are called", |text| text.replace("east-2", "east-1")),
        ("needs rate_per_s", |text| text.replace("rate_per_s = 120", "")),
        ("say the same", |text| text.replace("n = 6", "n = 6\nsurvive_nodes = 2")),
        ("lanes is 0", |text| text.replacen("lanes = 8", "lanes = 0", 1)),
        ("node east-1", |text| text.replacen("mean_s = 0.060", "mean_s = -1", 1)),
    ] {
        let complaint = said(change);
        assert!(complaint.contains(told), "{told}: {complaint}");
    }
    let folder = TempDir::new().unwrap();
    assert!(complaint(folder.path(), "plan absent.toml").contains("absent.toml"));
}

#[test]
fn a_pool_is_not_given_a_plan_of_several_classes() {
    let folder = TempDir::new().unwrap();
    let inventory = examples().join("testbed.toml");
    let told = complaint(folder.path(), &format!("plan {} --apply plan.toml", inventory.display()));
    assert!(told.contains("one class") && told.contains("a, b, c, d"), "{told}");
    assert!(!folder.path().join("plan.toml").exists());
}

#[test]
fn the_dearer_a_second_the_more_is_paid_for_it() {
    let of = |theta: &str| {
        let told = answer(&examples(), &format!("plan three-sites.toml --theta {theta}"));
        (told["money"].as_f64().unwrap(), told["latency_s"].as_f64().unwrap())
    };
    let (fast, cheap) = (of("0.00001"), of("1"));
    assert!(fast.0 > cheap.0 && fast.1 < cheap.1, "{fast:?} {cheap:?}");
}

#[test]
fn a_class_is_explained_and_the_trade_off_drawn() {
    let folder = three_sites(|text| text);
    let folder = folder.path();
    let told = printed(folder, "plan nodes.toml --explain stripes --out out");
    assert!(told.contains("binds: 1 sites may be lost"), "{told}");
    assert!(told.contains("next best for the"), "{told}");
    for file in ["report.html", "tradeoff.svg", "tradeoff.csv", "nodes.csv", "classes.csv"] {
        assert!(folder.join("out").join(file).exists(), "{file}");
    }
    let table = fs::read_to_string(folder.join("out/tradeoff.csv")).unwrap();
    let money = table.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap());
    let money: Vec<f64> = money.collect();
    assert!(money.len() > 15 && money.is_sorted_by(|a, b| *b <= a * (1.0 + 1e-3)), "{money:?}");
    assert!(complaint(folder, "plan nodes.toml --explain other").contains("there are: stripes"));
}

/// Answers this many requests as an admin port does.
fn admin_port(requests: usize, status: String, log: String) -> (String, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("it is bound"));
    let serve = move || {
        for _ in 0..requests {
            let (mut stream, _) = listener.accept().expect("it listens");
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("a request");
                asked.push(byte[0]);
            }
            let asked = String::from_utf8(asked).expect("text");
            let body = if asked.starts_with("GET /status ") { &status } else { &log };
            assert!(body == &status || asked.starts_with("GET /pools/main/task-log "), "{asked}");
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all((head + body).as_bytes()).expect("it is read");
        }
    };
    (address, thread::spawn(serve))
}

#[test]
fn a_running_gateway_is_an_inventory() {
    let node = |id: u16| {
        format!(
            "{{\"id\":{id},\"name\":\"n{id}\",\"up\":{},\"lanes\":4,\"busy\":0,\"waiting\":0}}",
            id != 6
        )
    };
    let nodes: Vec<String> = (1..=6).map(node).collect();
    let status = format!(
        "{{\"version\":\"1\",\"uptime_seconds\":1.0,\"pools\":[{{\"name\":\"main\",\"ready\":true,\
         \"nodes_needed\":3,\"code\":[4,2],\"backlog\":0,\"serving\":0,\"nodes\":[{}]}}]}}",
        nodes.join(",")
    );
    let mut log =
        String::from("time_s,operation,node,bytes,served_ms,outcome,waited_ms,redundant\n");
    // 2001 reads of chunks in 20 s at five nodes: 50 requests per second. Node n served it in 10 n
    // ms.
    for at in 0..=2000 {
        let node = 1 + at % 5;
        writeln!(log, "{}.{:02},read,{node},1000,{}.0,done,0,0", at / 100, at % 100, 10 * node)
            .unwrap();
    }
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let (admin, served) = admin_port(4, status, log);
    let told = answer(folder, &format!("plan --from {admin}"));
    let class = &told["classes"][0];
    assert!((class["rate_per_s"].as_f64().unwrap() - 50.0).abs() < 0.1, "{class}");
    assert_eq!(class["k"], 2);
    for group in class["groups"].as_array().unwrap() {
        let nodes = group["nodes"].as_array().unwrap();
        assert!(nodes.len() == 4 && nodes.iter().all(|node| node != "n6"), "{nodes:?}");
    }
    let loads: Vec<f64> =
        (0..6).map(|at| told["nodes"][at]["chunks_per_s"].as_f64().unwrap()).collect();
    assert!(loads[0] > loads[4] && loads[5] == 0.0, "{loads:?}");
    assert_eq!(told["nodes"][0]["lanes"], 4);
    let over = "[[node]]\nname = \"n1\"\nprice_per_gb_month = 1000\n[[class]]\nname = \"all\"\nfiles = 50\n";
    fs::write(folder.join("prices.toml"), format!("theta = 1\n{over}")).unwrap();
    let told = answer(folder, &format!("plan prices.toml --from {admin}"));
    assert_eq!(told["classes"][0]["files"], 50);
    assert_eq!(told["nodes"][0]["bytes"], 0.0, "the others suffice");
    served.join().unwrap();
}
