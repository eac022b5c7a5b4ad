//! `ripstop-lab tail`, for some seconds.

use ripstop_figure::Table;
use std::{fs, process::Command};

#[test]
fn every_request_is_answered_live_and_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let words = "tail --minutes 0.05 --sizes 100000 --loads 0.3 --policy backfill --policy fixed(1,1) --out";
    let mut command = Command::new(env!("CARGO_BIN_EXE_ripstop-lab"));
    let output = command.args(words.split(' ')).arg(folder.path()).output().unwrap();
    // On a busy machine it may be 1: then it was slower than predicted.
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    assert!(text.contains("fixed(1,1)") && text.contains("checks hold"), "{text}");
    let drawing = fs::read_to_string(folder.path().join("tail.svg")).unwrap();
    assert!(drawing.contains("backfill") && drawing.contains("<path"), "{drawing}");
    let table = Table::read(folder.path().join("tail.csv")).unwrap();
    assert_eq!(table.numbers("failed").unwrap(), [0.0, 0.0], "{text}");
    let (requests, long) =
        (table.numbers("requests").unwrap(), table.numbers("long_run_mean_ms").unwrap());
    assert!(requests.iter().all(|requests| *requests > 50.0), "{text}");
    for (live, long) in table.numbers("live_mean_ms").unwrap().into_iter().zip(long) {
        assert!((live / long - 1.0).abs() < 0.5, "{text}");
    }
}
