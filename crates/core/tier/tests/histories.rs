//! Random histories against servers that die, restart and lose answers.

mod linear;
mod world;

use proptest::prelude::*;
use ripstop_model::Code;
use ripstop_tier::{Presence, ServerId, TierEvent, Version};
use std::collections::BTreeMap;
use world::World;

const KEYS: u64 = 60;

fn victim(world: &mut World) -> ServerId {
    let servers: Vec<ServerId> = world.servers.keys().copied().collect();
    servers[world.dice(servers.len() as u64) as usize]
}

/// One step of a history: mostly servers' answers, in any order.
fn play(world: &mut World, steps: u64, deaths: &[u64]) {
    for step in 0..steps {
        if deaths.contains(&step) {
            let server = victim(world);
            let is_told = world.dice(2) == 0;
            if !world.dead.contains(&server) {
                world.kill(server, is_told);
                if world.dice(2) == 0 {
                    world.restart(server);
                }
            }
        }
        let key = World::key(world.dice(KEYS));
        match world.dice(20) {
            0..4 => {
                let len = [8, 64, 256, 1000, 2000, 4096, 5000, 40_000][world.dice(8) as usize];
                let presence = presence(world);
                let is_short = world.dice(4) == 0;
                let steps = is_short.then(|| 1 + world.dice(300));
                world.put_until(key, len, presence, steps);
            }
            4 => {
                let presence = presence(world);
                world.delete(key, presence);
            }
            5..8 => {
                world.read(key);
            }
            8 => world.tell(TierEvent::TimePassed),
            _ => {
                world.advance();
            }
        }
    }
}

fn presence(world: &mut World) -> Presence {
    match world.dice(8) {
        0 => Presence::Absent,
        1 => Presence::Present,
        2 => Presence::Is(Version(world.dice(200))),
        _ => Presence::Any,
    }
}

fn read_all(world: &mut World) {
    world.drain();
    for number in 0..KEYS {
        world.read(World::key(number));
    }
    world.drain();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_answered_write_is_lost_with_n_minus_k_servers(
        seed: u64,
        code in prop::sample::select(vec![(3, 2), (5, 3), (6, 4)]),
        servers_per_ring in 1u16..4,
        deaths in prop::collection::vec(0u64..900, 2),
    ) {
        let code = Code::new(code.0, code.1).expect("it is a code");
        let mut world = World::new(code, servers_per_ring, seed);
        play(&mut world, 900, &deaths[..code.parity().min(2)]);
        read_all(&mut world);
        world.check(None);
        world.check_for_leaks();
    }
}

/// Whatever is lost, every request is answered, and no read is wrong.
#[test]
fn lost_answers_and_many_lost_servers_never_make_a_read_wrong_or_endless() {
    for seed in 0..100 {
        let mut world = World::new(Code::new(5, 3).expect("it is a code"), 2, seed);
        world.losses = [2, 10, 20][seed as usize % 3];
        play(&mut world, 900, &[100, 200, 300, 400]);
        read_all(&mut world);
        // Servers are expelled for lost answers too: from the first on, values may be lost.
        world.check(Some(0));
        world.losses = 0;
        world.drain();
    }
}

/// After one loss everything is made again, so that as many may be lost again.
#[test]
fn lost_servers_are_mended_one_after_another() {
    for seed in 0..60 {
        let code = [(5, 3), (6, 4), (3, 2)][seed as usize % 3];
        let code = Code::new(code.0, code.1).expect("it is a code");
        let mut world = World::new(code, 3, seed);
        play(&mut world, 700, &[]);
        for round in 0..6 {
            let server = victim(&mut world);
            world.kill(server, round % 2 == 0);
            play(&mut world, 100, &[]);
            if round % 3 != 2 {
                world.restart(server);
            }
            read_all(&mut world);
            assert_eq!(world.tier.wounds(), 0, "round {round}, seed {seed}");
            if round % 3 == 2 {
                world.restart(server);
            }
        }
        for _ in 0..code.parity() {
            let server = victim(&mut world);
            world.kill(server, true);
        }
        read_all(&mut world);
        world.check(None);
        world.check_for_leaks();
    }
}

/// Servers come and go while clients read and write; no parity is encoded for it.
#[test]
fn rings_change_under_load_without_parity_and_without_a_wrong_read() {
    for seed in 0..100 {
        let mut world = World::new(Code::new(5, 3).expect("it is a code"), 2, seed);
        world.losses = [0, 0, 3][seed as usize % 3];
        play(&mut world, 1000, &[]);
        let ring = world.dice(5) as u8;
        let (added, leaving) = (world.add(ring), ServerId(u16::from(ring) * 100));
        play(&mut world, 500, &[]);
        world.tell(TierEvent::ServerLeaves(leaving));
        play(&mut world, 1500, if seed % 4 == 3 { &[300] } else { &[] });
        world.losses = 0;
        read_all(&mut world);
        assert!(world.copies > 0);
        assert_eq!(world.dismissed, [leaving], "seed {seed}");
        if world.expelled == 0 {
            assert!(!world.servers[&added].is_empty());
            // Nothing is encoded but once for each stripe.
            let sealed = world.parities;
            world.add(ring);
            world.tell(TierEvent::ServerLeaves(added));
            world.drain();
            assert_eq!((world.parities, world.dismissed.len()), (sealed, 2));
        }
        read_all(&mut world);
        world.check((world.expelled > 2).then_some(0));
        world.check_for_leaks();
    }
}

#[test]
fn a_flush_leaves_nothing_and_is_in_order_with_all_else() {
    for seed in 0..40 {
        let mut world = World::new(Code::new(5, 3).expect("it is a code"), 2, seed);
        world.losses = [0, 3][seed as usize % 2];
        for _ in 0..4 {
            play(&mut world, 400, if seed % 4 == 0 { &[200] } else { &[] });
            world.flush(KEYS);
        }
        play(&mut world, 50, &[]);
        world.losses = 0;
        read_all(&mut world);
        world.check((world.expelled > 0 || seed % 4 == 0).then_some(0));
        world.check_for_leaks();
        world.flush(KEYS);
        world.drain();
        assert!(world.servers.values().all(BTreeMap::is_empty));
        assert_eq!((world.tier.len(), world.tier.stored_bytes()), (0, 0));
    }
}

/// Whoever has the index may be gone at any moment: what was answered is found at the servers, and
/// nothing that was overwritten, deleted or expired comes back.
#[test]
fn an_index_is_made_again_from_what_servers_have() {
    for seed in 0..200 {
        let code = [(5, 3), (6, 4), (3, 2), (2, 2)][seed as usize % 4];
        let code = Code::new(code.0, code.1).expect("it is a code");
        let mut world = World::new(code, 2, seed);
        for round in 0..5 {
            play(&mut world, 200 + 100 * (seed % 7), &[]);
            if round == 3 && seed % 8 < 3 {
                // One more is lost with it.
                let server = victim(&mut world);
                world.kill(server, true);
            }
            world.crash();
            for _ in 0..seed % 3 {
                for _ in 0..20 {
                    world.advance();
                }
                world.crash();
            }
            // What had no answer may be at one server alone until it is mended.
            world.drain();
        }
        read_all(&mut world);
        world.check(None);
        world.check_for_leaks();
    }
}

/// Nothing about a run but its seed decides how it goes.
#[test]
fn equal_seeds_make_equal_runs() {
    let run = |seed| {
        let mut world = World::new(Code::new(5, 3).expect("it is a code"), 2, seed);
        world.losses = 3;
        play(&mut world, 600, &[200]);
        world.add(2);
        play(&mut world, 600, &[]);
        world.crash();
        read_all(&mut world);
        let calls: Vec<_> = world.calls.values().map(|call| call.history).collect();
        (calls, world.servers)
    };
    for seed in 0..10 {
        let (one, other) = (run(seed), run(seed));
        assert_eq!(one.0, other.0);
        assert_eq!(one.1, other.1);
    }
    assert_ne!(run(1).0, run(2).0);
}

/// Timeouts of one incident are one silence, however many there are.
#[test]
fn a_burst_of_lost_answers_expels_nobody() {
    for seed in 0..30 {
        let mut world = World::new(Code::new(5, 3).expect("it is a code"), 2, seed);
        play(&mut world, 300, &[]);
        world.losses = 100;
        for _ in 0..200 {
            let key = World::key(world.dice(KEYS));
            world.put(key, 100, Presence::Any);
            world.read(key);
        }
        world.fail_all_once();
        world.losses = 0;
        read_all(&mut world);
        assert_eq!(world.expelled, 0);
        world.check(None);
        world.check_for_leaks();
    }
}

/// A damaged item is an erasure, and no word about its server.
#[test]
fn damaged_items_are_erasures_and_cost_no_server() {
    let mut decoded = 0;
    for seed in 0..20 {
        let mut world = World::new(Code::new(5, 3).expect("it is a code"), 2, seed);
        play(&mut world, 2000, &[]);
        world.drain();
        // All of them are of one ring, so no stripe has more than one in a range.
        let servers = [ServerId(0), ServerId(1)].map(|server| world.servers[&server].len());
        for _ in 0..servers[0] + servers[1] {
            let server = ServerId(world.dice(2) as u16);
            world.damage(server);
        }
        read_all(&mut world);
        decoded += world.decoded;
        assert_eq!(world.expelled, 0);
        world.check(None);
        world.check_for_leaks();
    }
    assert!(decoded > 20, "{decoded}");
}

#[test]
fn any_two_servers_of_a_sealed_store_can_die_and_all_is_read() {
    let code = Code::new(6, 4).expect("it is a code");
    for seed in 0..20 {
        let mut world = World::new(code, 2, seed);
        for number in 0..400 {
            let len = if number % 20 == 0 { 1 << 20 >> (number / 20 % 8) } else { 300 };
            world.put(World::key(number), len, Presence::Any);
        }
        world.drain();
        assert!(world.tier.sealed_stripes() >= 3, "{}", world.tier.sealed_stripes());
        for _ in 0..2 {
            let server = victim(&mut world);
            world.kill(server, true);
        }
        for number in 0..400 {
            world.read(World::key(number));
        }
        world.drain();
        world.check(None);
        assert!(world.decoded > 0);
    }
}

/// Overwritten values leave the servers, and nothing that lives goes with them.
#[test]
fn dead_bytes_are_cleaned_while_servers_die() {
    for seed in 0..40 {
        let mut world = World::new(Code::new(5, 3).expect("it is a code"), 2, seed);
        world.losses = if seed % 2 == 0 { 0 } else { 2 };
        play(&mut world, 4000, if seed % 4 == 0 { &[1000, 2500] } else { &[] });
        world.losses = 0;
        read_all(&mut world);
        world.check((world.expelled > 2).then_some(0));
        world.check_for_leaks();
        let (used, dead) = world.tier.chunk_bytes();
        // Sealed stripes are three quarters alive; open chunks may be dead.
        assert!(dead < used / 4 + 12 * 4096, "{dead} of {used}");
        assert_eq!(world.tier.stored_bytes() > 0, !world.tier.is_empty() || used > 0);
    }
}

/// What is evicted is lost for ever: nothing older comes instead of it.
#[test]
fn memory_stays_below_its_limit() {
    for seed in 0..10 {
        let mut world = World::new(Code::new(5, 3).expect("it is a code"), 2, seed);
        let limit = 600_000;
        world.tier.limit_memory(limit);
        let mut bytes_max = 0;
        for _ in 0..30 {
            play(&mut world, 100, &[]);
            bytes_max = bytes_max.max(world.bytes());
        }
        read_all(&mut world);
        world.check(Some(0));
        world.check_for_leaks();
        assert!(bytes_max < limit + limit / 4, "{bytes_max}");
        assert!(!world.tier.is_empty(), "not everything was evicted");
    }
}
