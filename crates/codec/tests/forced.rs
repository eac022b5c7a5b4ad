//! The environment variable that forces an engine, in processes of their own.

use ripstop_codec::{Codec, Engine};
use ripstop_model::Code;
use std::process::{Command, Output};

fn child(value: &str) -> Output {
    Command::new(std::env::current_exe().expect("a test is a file"))
        .args(["--exact", "engine_of_a_new_codec", "--ignored", "--nocapture"])
        .env("RIPSTOP_CODEC_ENGINE", value)
        .output()
        .expect("this test can run itself")
}

#[test]
#[ignore = "run in a child process by the other tests here"]
fn engine_of_a_new_codec() {
    println!("<{}>", Codec::new(Code::new(3, 2).unwrap()).engine());
}

#[test]
fn every_available_engine_can_be_forced() {
    for engine in Engine::available() {
        let output = child(engine.name());
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(printed.contains(&format!("<{engine}>")), "{engine}: {printed}");
    }
}

#[test]
fn an_empty_force_is_none() {
    let printed = String::from_utf8_lossy(&child("").stdout).into_owned();
    assert!(printed.contains(&format!("<{}>", Engine::best())), "{printed}");
}

#[test]
fn a_force_that_cannot_be_met_stops_the_program() {
    let output = child("abacus");
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("RIPSTOP_CODEC_ENGINE") && said.contains("abacus"), "{said}");
}
