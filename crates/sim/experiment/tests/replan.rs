//! Pools on paper that plan themselves, by the code that plans live ones.

use core::num::NonZero;
use ripstop_experiment::{Delays, Played, Scenario, ScenarioError};
use ripstop_model::Timestamp;
use ripstop_rehearsal::{PlanCourse, PlanVerdict};
use std::{path::Path, time::Duration};

fn at(seconds: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_secs(seconds)
}

/// How long requests took that came in these seconds.
fn delays(played: &Played, from: u64, until: u64) -> Delays {
    let came = |course: &&ripstop_experiment::Course| {
        course.arrived >= at(from) && course.arrived < at(until)
    };
    let took = played.outcome.courses.iter().filter(came);
    Delays::of(&mut took.map(|course| course.took_ns).collect::<Vec<_>>())
}

fn course(played: &Played) -> &PlanCourse {
    played.outcome.plan.as_ref().expect("its stripes are known")
}

/// The example: one of twelve nodes becomes ten times slower at second 120.
fn slowed() -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut scenario =
        Scenario::read(&path.join("../../../examples/scenarios/replan.toml")).expect("it is one");
    scenario.seeds.truncate(1);
    scenario
}

#[test]
fn a_pool_that_plans_itself_gets_back_to_its_latency_and_one_that_does_not_stays_slow() {
    let scenario = slowed();
    let played = scenario.play(NonZero::new(2), || ());
    let [own, none] = &played[..] else { panic!("there are two variants") };
    assert!(own.plans && !none.plans);
    assert_eq!(own.outcome.failed + none.outcome.failed, 0);

    let seen = course(own).noticed(at(119)).expect("it was noticed");
    assert!(seen.at <= at(140), "within two plans: {:?}", seen.at);
    let [(node, since, mean_s)] = seen.changed[..] else { panic!("{:?}", seen.changed) };
    assert_eq!(node, 0);
    assert!(since >= at(118) && since <= at(124), "{since:?}");
    assert!((0.5..1.0).contains(&mean_s), "ten times 83 ms: {mean_s}");
    let followed = course(own).followed(at(120)).expect("another plan was followed");
    assert!(followed <= at(140), "{followed:?}");

    let [before, after] = [(50, 120), (300, 420)].map(|(from, until)| delays(own, from, until));
    assert!(after.mean_ms < 1.25 * before.mean_ms, "{before:?} {after:?}");
    assert!(after.p95_ms < 1.3 * before.p95_ms, "{before:?} {after:?}");
    let [before, after] = [(50, 120), (300, 420)].map(|(from, until)| delays(none, from, until));
    assert!(after.mean_ms > 5.0 * before.mean_ms, "{before:?} {after:?}");
    assert_eq!(course(none), &PlanCourse::default(), "nothing is planned and nothing moves");

    let text = scenario.plan_text(&played).unwrap();
    for told in ["node 1 takes 10 times as long", "plan followed", "node 1 since 1", "after"] {
        assert!(text.contains(told), "{told} is not in\n{text}");
    }
    let page = scenario.report(&played).unwrap().html();
    assert!(page.contains("part of the plan") && page.contains("a node changes"), "no drawing");
}

/// Six unlike nodes under (4,2), a tenth of what is asked writes a stripe again, the first node is
/// lost at second 60.
fn lost() -> Scenario {
    Scenario::parse(
        "name = \"lost\"\npolicies = [\"fixed\"]\nlayout = \"spread\"\ncode = [4, 2]\nrates_per_s = [30]\n\
         requests = 9000\nseeds = 1\nplan = \"auto\"\nplan_every_s = 20\nstripes = 60\n\
         [machine]\nanswer_extra = 1\n\
         [[node]]\nlanes = 4\nshifted_exponential = [10, 0, 10, 0]\n\
         [[node.change]]\nfrom_s = 60\nuntil_s = 1e6\nlost = true\n\
         [[node]]\ncount = 5\nlanes = 4\nshifted_exponential = [20, 0, 10, 0]\n\
         [[class]]\noperation = \"read\"\nbytes = 20_000\nshare = 9\n\
         [[class]]\noperation = \"write\"\nbytes = 20_000\nshare = 1\n",
    )
    .expect("it is one")
}

#[test]
fn what_a_lost_node_held_is_computed_again_where_the_next_plan_wants_it() {
    let played = lost().play(NonZero::new(2), || ()).remove(0);
    let plan = course(&played);
    let after = plan.looks.iter().filter(|look| look.at > at(60));
    let groups = after.filter_map(|look| match &look.verdict {
        PlanVerdict::Followed { groups, .. } => Some(groups),
        PlanVerdict::Unknown | PlanVerdict::Kept { .. } | PlanVerdict::Failed(_) => None,
    });
    let groups: Vec<_> = groups.collect();
    assert!(!groups.is_empty(), "{:?}", plan.looks);
    let is_left = groups.iter().all(|all| all.iter().all(|group| !group.nodes.contains(&0)));
    assert!(is_left, "{:#?}", plan.looks);
    let settled = plan.settled(at(61)).expect("all is where the plan wants it");
    assert!(settled < at(150), "{settled:?}");
    let moved = plan.moves.iter().filter(|moved| moved.at > at(60));
    assert!(moved.clone().count() > 0 && moved.clone().all(|moved| moved.to.0 != 0));
    let stored: u64 = plan.load.iter().map(|load| load.writes).sum();
    assert!(stored >= plan.fragments_moved, "{stored} of {}", plan.fragments_moved);
    assert_eq!(played.outcome.failed, 0);
}

#[test]
fn equal_seeds_give_equal_plans_and_moves() {
    let [one, two] = [1, 2].map(|threads| lost().play(NonZero::new(threads), || ()));
    assert_eq!(one, two);
}

#[test]
fn what_means_nothing_without_a_plan_or_cannot_be_is_refused() {
    let text = "name = \"x\"\npolicies = [\"fixed\"]\nlayout = \"spread\"\ncode = [2, 1]\nrates_per_s = [1]\n\
        KEYS\n[[node]]\ncount = 2\nlanes = 1\ndelay = \"s3-2025\"\n[[class]]\noperation = \"read\"\nbytes = 1\n";
    let read = |keys: &str| Scenario::parse(&text.replace("KEYS", keys));
    let refusal = |keys: &str| read(keys).map_err(|error: ScenarioError| error.to_string());
    assert!(read("plan = [\"auto\", \"none\"]").is_ok());
    for (keys, told) in [
        ("plan_gain = 0.1", "plan_gain is for a pool with plan = \"auto\""),
        ("stripes = 9", "stripes is for a pool with plan = \"auto\""),
        ("plan = []", "plan is \"auto\", \"none\" or a list of both, each once"),
        ("plan = [\"auto\", \"auto\"]", "plan is \"auto\", \"none\" or a list of both, each once"),
        ("plan = \"auto\"\nplan_gain = 1.0", "plan_gain is 1.0: it must be from 0 to less than 1"),
        ("plan = \"auto\"\nplan_gain = nan", "plan_gain is NaN: it must be from 0 to less than 1"),
        ("plan = \"auto\"\nplan_every_s = 0.001", "plan_every_s is at least 0.01"),
        ("plan = \"auto\"\nstripes = 0", "stripes is from 1 to 1000000, not 0"),
        ("plan = \"auto\"\nsurvive_sites = 256", "survive_sites is 256: it must be from 0 to 255"),
        (
            "plan = \"none\"\nselection = \"least-work-planned\"",
            "selection \"least-work-planned\" needs plan = \"auto\"",
        ),
        (
            "plan = \"auto\"\nplan_every_s = 1\nrequests = 100_000",
            "a run would plan 100000 times: at most 10000 are possible; raise plan_every_s",
        ),
    ] {
        assert_eq!(refusal(keys).unwrap_err(), told, "{keys}");
    }
    let together = text.replace("\"spread\"", "\"together\"").replace("KEYS", "plan = \"auto\"");
    let told = Scenario::parse(&together).unwrap_err().to_string();
    assert!(told.starts_with("plan is for the layout \"spread\""), "{told}");
}
