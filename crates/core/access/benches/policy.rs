//! What a policy costs a request: `cargo bench -p ripstop-access`. Ends with an error if fifty
//! statements take more than [`RULING_MAX`].

use criterion::Criterion;
use ripstop_access::{
    AccessRequest, Fact, Facts, PolicyDocument, PolicyPlace, Requester, Ruling, S3Action, evaluate,
};
use std::{
    hint::black_box,
    io::{Write as _, stdout},
    process::ExitCode,
    time::{Duration, Instant},
};

/// Most that a ruling of fifty statements may take.
const RULING_MAX: Duration = Duration::from_micros(5);
const STATEMENTS: usize = 50;
/// Rulings of a round: short enough that some rounds are never interrupted.
const ROUNDS: u32 = 100;
const REPEATS: usize = 2_000;

/// A request from a page, of somebody with a name.
struct Asked;

impl Facts for Asked {
    fn values(&self, fact: &Fact, take: &mut dyn FnMut(&str)) {
        if *fact == Fact::Username {
            take("alice");
        } else if *fact == Fact::Header("referer") {
            take("https://www.example.com/some/page");
        }
    }
}

/// Statements that all are about the request but for one thing, which is looked at last.
fn policies() -> Vec<(&'static str, Vec<PolicyDocument>)> {
    let place = PolicyPlace { bucket: None, knows: &|_| true, has_account: &|_| true };
    let policy = |count: usize, rest: &dyn Fn(usize) -> String| {
        let statement =
            |at| format!("{{\"Effect\":\"Allow\",\"Action\":\"s3:Get*\",{}}}", rest(at));
        let all: Vec<_> = (0..count).map(statement).collect();
        let text = format!("{{\"Version\":\"2012-10-17\",\"Statement\":[{}]}}", all.join(","));
        PolicyDocument::read(&text, &place).expect("it is a policy")
    };
    let of_resource = |at: usize| format!("\"Resource\":\"arn:aws:s3:::b/folder-{at}/*/x\"");
    let of_condition = |at: usize| {
        format!(
            "\"Resource\":\"arn:aws:s3:::b/*\",\"Condition\":{{\"StringLike\":\
             {{\"aws:Referer\":\"https://*.example-{at}.com/*\"}}}}"
        )
    };
    let of_variable =
        |at: usize| format!("\"Resource\":\"arn:aws:s3:::b/${{aws:username}}/{at}/*\"");
    let ten = (0..10).map(|_| policy(STATEMENTS / 10, &of_resource)).collect();
    vec![
        ("another resource", vec![policy(STATEMENTS, &of_resource)]),
        ("another condition", vec![policy(STATEMENTS, &of_condition)]),
        ("another variable", vec![policy(STATEMENTS, &of_variable)]),
        ("another resource, ten policies", ten),
    ]
}

fn rule(policies: &[PolicyDocument], requester: &Requester) -> Ruling {
    let request = AccessRequest {
        requester,
        action: S3Action::named("GetObject").expect("S3 has it"),
        resource: "b/folder-49/some/longer/path/of/an/object/y",
        facts: &Asked,
    };
    evaluate(black_box(&request), black_box(policies))
}

/// Whether a ruling takes no longer than it may; the quickest of several rounds counts, since
/// whatever else the machine does makes it slower only.
fn is_quick(requester: &Requester) -> std::io::Result<bool> {
    let mut quick = true;
    for (title, policies) in policies() {
        let rounds = (0..REPEATS).map(|_| {
            let begun = Instant::now();
            for _ in 0..ROUNDS {
                black_box(rule(&policies, requester));
            }
            begun.elapsed() / ROUNDS
        });
        let best = rounds.min().unwrap_or_default();
        quick &= best <= RULING_MAX;
        writeln!(stdout(), "{title}: {best:?}")?;
    }
    let verdict = if quick { "holds" } else { "DOES NOT HOLD" };
    writeln!(stdout(), "at most {RULING_MAX:?} for {STATEMENTS} statements: {verdict}")?;
    Ok(quick)
}

fn main() -> ExitCode {
    let requester =
        Requester::User { account: "a".into(), name: "alice".into(), access_key: "K".into() };
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("fifty statements");
    for (title, policies) in policies() {
        group.bench_function(title, |bencher| bencher.iter(|| rule(&policies, &requester)));
    }
    group.finish();
    criterion.final_summary();
    // Without the word it is a test run: nothing is measured.
    let measured = std::env::args().any(|word| word == "--bench");
    let quick = !measured || is_quick(&requester).unwrap_or(false);
    if quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
