//! `fit`, `simulate` and `whatif` as they are used: a session each.

use flate2::{Compression, write::GzEncoder};
use ripstop_delay::{Dice, Preset};
use ripstop_model::Operation;
use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Output},
};
use tempfile::TempDir;

/// Runs the program in a folder, without what the environment might configure.
fn ripstop(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ripstop"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("RIPSTOP_")) {
        command.env_remove(name);
    }
    command.current_dir(folder).args(arguments).output().expect("the program starts")
}

/// What it prints when all is well.
fn printed(folder: &Path, arguments: &[&str]) -> String {
    let output = ripstop(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {errors}");
    assert_eq!(errors, "", "nothing is said beside it where there is no terminal");
    String::from_utf8(output.stdout).expect("it prints text")
}

/// What it complains of.
fn complaint(folder: &Path, arguments: &[&str]) -> String {
    let output = ripstop(folder, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).expect("it complains in text")
}

fn has(folder: &Path, files: &[&str]) {
    for file in files {
        let length = fs::metadata(folder.join(file)).map(|found| found.len());
        assert!(length.is_ok_and(|length| length > 40), "{file} in {}", folder.display());
    }
}

/// Tasks at two nodes, the second twice as slow as the first.
fn task_log(tasks: u64) -> String {
    let (mut model, mut dice) = (Preset::S3In2013A.model(), Dice::new(5));
    let mut log = String::from("time_s,operation,node,bytes,served_ms,outcome\n");
    for at in 0..tasks {
        let operation = if at % 3 == 0 { Operation::Write } else { Operation::Read };
        let bytes = 250_000 * (1 + at % 4);
        let served = model.sample(operation.into(), bytes, &mut dice) * (1 + at as u32 / 4 % 2);
        let ms = served.as_secs_f64() * 1000.0;
        let (name, node) = (operation.name(), 3 + at / 4 % 2);
        writeln!(log, "{at},{name},{node},{bytes},{ms:.3},done").expect("a string takes all");
    }
    log
}

#[test]
fn a_task_log_is_fitted_described_and_drawn() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("tasks.csv"), task_log(12_000)).unwrap();
    let text = printed(folder, &["fit", "tasks.csv", "--out", "fit"]);
    assert!(text.starts_with("12000 tasks finished, 0 were cancelled"), "{text}");
    for words in ["\nread: 8000 samples", "\nwrite: 4000 samples", "corrected", "as the paper"] {
        assert!(text.contains(words), "{words:?} is not in\n{text}");
    }
    let times = text.lines().find_map(|line| {
        line.strip_prefix("node 4 takes ")?.split(' ').next()?.parse::<f64>().ok()
    });
    assert!((1.9..2.1).contains(&times.unwrap()), "{text}");
    has(&folder.join("fit"), &["report.html", "models.csv", "sizes.csv", "ccdf.csv"]);
    has(&folder.join("fit"), &["ccdf_read.svg", "sizes_write.svg"]);

    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(task_log(12_000).as_bytes()).unwrap();
    fs::write(folder.join("tasks.csv.gz"), packed.finish().unwrap()).unwrap();
    let again = printed(folder, &["fit", "tasks.csv.gz"]);
    assert!(text.starts_with(&again), "packed or not, it says the same");
}

#[test]
fn a_log_that_says_nothing_is_refused() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    assert!(complaint(folder, &["fit", "none.csv"]).contains("task log none.csv cannot be read"));
    fs::write(folder.join("a.csv"), "what,is,this\n").unwrap();
    assert!(complaint(folder, &["fit", "a.csv"]).contains("not the header of a task log"));
    fs::write(folder.join("b.csv"), task_log(0)).unwrap();
    assert!(complaint(folder, &["fit", "b.csv"]).contains("has no tasks"));
    fs::write(folder.join("c.csv"), task_log(9)).unwrap();
    assert!(complaint(folder, &["fit", "c.csv"]).contains("says too little"));
    fs::write(folder.join("d.csv"), task_log(2) + "1,read,3,x,5,done\n").unwrap();
    assert!(complaint(folder, &["fit", "d.csv"]).contains("line 4: \"x\" is no bytes"));
}

const SCENARIO: &str = "name = \"small\"\npolicies = [\"tofec\", \"fixed(2,1)\"]\nevery_fixed = true\n\
    loads = [0.2, 0.5]\nrequests = 400\nk_max = 3\nr_max = 2.0\n\
    [[node]]\nlanes = 16\ndelay = \"s3-2013-a\"\n[[class]]\noperation = \"read\"\nbytes = 3000000\n";

#[test]
fn a_scenario_is_played_the_same_on_one_core_and_on_many() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("small.toml"), SCENARIO).unwrap();
    let play = |threads: &str, out: &str| {
        let arguments =
            ["simulate", "small.toml", "--seeds", "2", "--threads", threads, "--out", out];
        let text = printed(folder, &arguments);
        text.split("\nWritten").next().unwrap().to_owned()
    };
    let text = play("1", "one");
    assert_eq!(text, play("3", "three"));
    for words in ["of full capacity\n", "tofec ", "fixed(2,1) ", "best fixed code: mean fixed("] {
        assert!(text.contains(words), "{words:?} is not in\n{text}");
    }
    assert!(!text.contains("\nfixed(1,1)"), "only what is named is shown:\n{text}");
    let files = ["results.csv", "summary.csv", "codes.csv", "ccdf.csv", "delay.svg", "codes.svg"];
    has(&folder.join("one"), &files);
    for file in files.into_iter().chain(["report.html"]) {
        let read = |of: &str| fs::read_to_string(folder.join(of).join(file)).unwrap();
        assert_eq!(read("one"), read("three"), "{file}");
    }
    // 9 policies (8 fixed codes, one of them named), 2 loads, 2 seeds.
    let results = fs::read_to_string(folder.join("one/results.csv")).unwrap();
    assert_eq!(results.lines().count(), 1 + 10 * 2 * 2, "{results}");
}

#[test]
fn a_wrong_scenario_is_refused() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let none = complaint(folder, &["simulate", "none.toml"]);
    assert!(none.contains("scenario none.toml"), "{none}");
    fs::write(folder.join("a.toml"), SCENARIO.replace("tofec", "best")).unwrap();
    let unknown = complaint(folder, &["simulate", "a.toml"]);
    assert!(unknown.contains("no policy is named \"best\"; there are: fixed"), "{unknown}");
}

/// Four nodes of which any two hold a stripe.
fn configuration(delay: &str, prices: &str) -> String {
    let mut text =
        String::from("[store]\nstripe_max = \"1 MiB\"\n[[pool]]\nname = \"p\"\ncode = [4, 2]\n");
    for node in 0..4 {
        write!(text, "[[node]]\nname = \"n{node}\"\nkind = \"memory\"\n{delay}{prices}")
            .expect("a string takes all");
    }
    text
}

fn access_log() -> String {
    let mut log = String::from("time_ms,operation,bytes,key\n");
    for at in 0..600 {
        let (operation, bytes) = if at % 5 == 4 { ("put", 3_000_000) } else { ("get", 400_000) };
        writeln!(log, "{},{operation},{bytes},k{}", at * 40, at % 30).expect("a string takes all");
    }
    log
}

#[test]
fn a_log_is_replayed_through_the_configured_pool() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let prices =
        "price_per_get = 0.4\nprice_per_put = 5\nprice_per_gb_out = 90\nprice_per_gb_month = 23\n";
    fs::write(folder.join("r.toml"), configuration("delay = \"s3-2025\"\n", prices)).unwrap();
    fs::write(folder.join("log.csv"), access_log()).unwrap();
    let ask = ["whatif", "log.csv", "--config", "r.toml", "--seeds", "2"];
    let text = printed(folder, &[&ask[..], &["--out", "out"]].concat());
    for words in [
        "600 objects, 840 stripes",
        "4 nodes, 64 lanes, layout spread, code (4,2)",
        "% of full capacity",
        "\nfixed(2,2) ",
        "\nbackfill ",
        "\nhedge-p95 ",
        "$/month",
    ] {
        assert!(text.contains(words), "{words:?} is not in\n{text}");
    }
    let legend = text.replace('\n', " ");
    assert!(legend.contains("with the storage of the objects that the log names"), "{text}");
    has(&folder.join("out"), &["report.html", "results.csv", "headroom.csv", "ccdf.svg"]);
    let short = text.split("\nWritten").next().unwrap();
    assert_eq!(printed(folder, &[&ask[..], &["--threads", "1"]].concat()), short);
    let other =
        printed(folder, &[&ask[..], &["--speed", "2", "--policies", "all,fixed(3,2)"]].concat());
    assert!(other.contains("at 2 times its speed") && other.contains("\nfixed(3,2) "), "{other}");
    assert!(!other.contains("backfill"), "{other}");
}

#[test]
fn what_packs_would_change_is_said_where_it_is_asked() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let prices = "price_per_put = 5\n";
    let pool = configuration("delay = \"s3-2025\"\n", prices);
    fs::write(folder.join("r.toml"), &pool).unwrap();
    let mut log = String::from("time_ms,operation,bytes,key\n");
    for at in 0..900 {
        let (operation, bytes) = if at % 3 == 2 { ("get", 400_000) } else { ("put", 1000) };
        writeln!(log, "{},{operation},{bytes},k{at}", at * 10).unwrap();
    }
    fs::write(folder.join("log.csv"), log).unwrap();
    let ask = ["whatif", "log.csv", "--seeds", "1", "--policies", "fixed(2,2)", "--config"];
    let with = |more: &[&str]| printed(folder, &[&ask[..], more].concat());
    assert!(!with(&["r.toml"]).contains("Packs"), "nobody asked");
    let asked = with(&["r.toml", "--pack-below", "8 KiB"]);
    let words =
        "Packs under fixed(2,2), batching natural: 600 writes are shorter than 8192 bytes; ";
    assert!(asked.contains(words), "{asked}");
    with(&["r.toml", "--pack-below", "8 KiB", "--out", "out"]);
    has(&folder.join("out"), &["packs.csv"]);
    let row = |name: &str| {
        let row = asked.lines().find_map(|line| line.strip_prefix(name)).expect("there is one");
        let cells: Vec<f64> = row.split_whitespace().map(|cell| cell.parse().unwrap()).collect();
        <[f64; 6]>::try_from(cells).expect("six columns")
    };
    let [stripes, requests, _, _, failed, dollars] = row("each by itself");
    let [packs, fewer, _, _, none, cheaper] = row("in packs");
    assert!((stripes, failed, none) == (600.0, 0.0, 0.0) && packs < 400.0, "{asked}");
    assert!(fewer < requests && cheaper < dollars, "{asked}");
    let none = with(&["r.toml", "--pack-below", "1000"]);
    assert!(none.contains("Packs: no write of the log is shorter than 1000 bytes"), "{none}");
    let wrong = complaint(folder, &[&ask[..], &["r.toml", "--pack-below", "1 MiB"]].concat());
    assert!(wrong.contains("--pack-below is 1048576: it must be from 1 B to 128 KiB"), "{wrong}");
}

#[test]
fn delays_come_from_a_task_log_too() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("r.toml"), configuration("", "")).unwrap();
    fs::write(folder.join("log.csv"), access_log()).unwrap();
    fs::write(folder.join("tasks.csv"), task_log(4000)).unwrap();
    let ask = ["whatif", "log.csv", "--config", "r.toml", "--seeds", "1"];
    let refused = complaint(folder, &ask);
    assert!(refused.contains("node \"n0\": nothing is known of its delays"), "{refused}");
    let drawn = printed(folder, &[&ask[..], &["--task-log", "tasks.csv"]].concat());
    assert!(drawn.contains("delays drawn from tasks.csv (2 nodes)"), "{drawn}");
    assert!(!drawn.contains("$/month"), "{drawn}");
    let fitted = printed(folder, &[&ask[..], &["--task-log", "tasks.csv", "--fitted"]].concat());
    assert!(fitted.contains("delays fitted to tasks.csv"), "{fitted}");
    let preset = printed(folder, &[&ask[..], &["--delay", "s3-2013-b"]].concat());
    assert!(preset.contains("delays of s3-2013-b"), "{preset}");
}

#[test]
fn whole_seconds_are_spread_and_that_is_said() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("r.toml"), configuration("delay = \"s3-2025\"\n", "")).unwrap();
    let mut log = String::from("time_s,operation,bytes\n");
    (0..200).for_each(|at| writeln!(log, "{},get,70000", at / 4).unwrap());
    fs::write(folder.join("log.csv"), log).unwrap();
    let ask = ["whatif", "log.csv", "--config", "r.toml", "--seeds", "1", "--policies", "fixed"];
    let text = printed(folder, &ask);
    assert!(text.contains("times within a second are made up: at random, seed 1"), "{text}");
    let wrong = complaint(folder, &[&ask[..], &["--pool", "q"]].concat());
    assert!(wrong.contains("there is no pool \"q\"; there are: p"), "{wrong}");
    fs::write(folder.join("none.csv"), "time_s,operation,bytes\n1,get,0\n").unwrap();
    let empty = complaint(folder, &["whatif", "none.csv", "--config", "r.toml"]);
    assert!(empty.contains("has no request that moves bytes"), "{empty}");
}

#[test]
fn prices_below_nothing_are_refused() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("r.toml"), configuration("", "price_per_get = -1\n")).unwrap();
    let wrong = complaint(folder, &["check-config", "--config", "r.toml"]);
    assert!(wrong.contains("price_per_get is -1: it must be from 0"), "{wrong}");
}

#[cfg(unix)]
#[test]
fn an_answer_that_nobody_reads_or_no_disk_takes_is_no_panic() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("tasks.csv"), task_log(12_000)).unwrap();
    let ends = |stdout: std::process::Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ripstop"));
        let arguments = ["fit", "tasks.csv", "--out", "fit"];
        let command = command.current_dir(folder).args(arguments).stdout(stdout);
        let output = command.output().expect("the program starts");
        (output.status.code(), String::from_utf8(output.stderr).expect("it complains in text"))
    };
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(ends(writer.into()), (Some(141), String::new()));
    has(&folder.join("fit"), &["report.html"]);
    #[cfg(target_os = "linux")]
    {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (code, complaint) = ends(full.into());
        assert_eq!(code, Some(2));
        assert!(complaint.contains("the answer cannot be printed"), "{complaint}");
    }
}

#[test]
fn a_folder_that_takes_nothing_is_named_before_anything_is_played() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    // It would take minutes.
    let long = SCENARIO.replace("requests = 400", "requests = 1000000");
    fs::write(folder.join("long.toml"), long).unwrap();
    fs::write(folder.join("file"), "").unwrap();
    for out in ["file", "file/in", "/dev/null/in"] {
        let refusal = complaint(folder, &["simulate", "long.toml", "--out", out]);
        assert!(refusal.contains("nothing can be written into"), "{refusal}");
    }
}

#[test]
fn a_node_that_was_hardly_read_reads_like_the_others_and_not_as_it_writes() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    fs::write(folder.join("r.toml"), configuration("", "")).unwrap();
    fs::write(folder.join("log.csv"), access_log()).unwrap();
    // Four nodes, each with eight reads of 2 ms and twenty writes of 200 ms.
    let tasks = |reads: u64| {
        let mut log = String::from("time_s,operation,node,bytes,served_ms,outcome\n");
        for at in 0..4 * 28_u64 {
            let (node, is_read) = (2 + at % 4, at / 4 < 8);
            let (name, ms) = if is_read { ("read", 2) } else { ("write", 200) };
            if !is_read || at < reads {
                writeln!(log, "{at},{name},{node},100000,{ms}.{at:03},done").unwrap();
            }
        }
        fs::write(folder.join("tasks.csv"), log).unwrap();
    };
    let ask = |more: &[&str]| {
        let ask =
            ["whatif", "log.csv", "--config", "r.toml", "--seeds", "1", "--task-log", "tasks.csv"];
        let text = printed(folder, &[&ask[..], &["--policies", "fixed(2,2)"], more].concat());
        let row =
            text.lines().find(|line| line.starts_with("fixed(2,2)")).expect("a row").to_owned();
        let p50 = row.split_whitespace().nth(1).expect("reads").parse::<f64>().expect("ms");
        (p50, text)
    };
    tasks(4 * 8);
    for more in [&[][..], &["--fitted"]] {
        let (p50, text) = ask(more);
        assert!((1.5..4.0).contains(&p50), "{more:?}: {text}");
        assert!(!text.contains("reads like writes"), "{text}");
    }
    tasks(0);
    let (p50, text) = ask(&["--fitted"]);
    assert!(p50 > 150.0 && text.contains("; reads like writes"), "{text}");
}
