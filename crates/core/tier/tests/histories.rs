//! Random histories against servers that die, restart and lose answers.

mod world;

use proptest::prelude::*;
use ripstop_model::Code;
use ripstop_tier::{Presence, ServerId, TierAnswer, TierRefusal, Version};
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
                let len = [8, 64, 256, 1000, 2000, 4096][world.dice(6) as usize];
                let presence = match world.dice(8) {
                    0 => Presence::Absent,
                    1 => Presence::Present,
                    2 => Presence::Is(Version(world.dice(200))),
                    _ => Presence::Any,
                };
                world.put(key, len, presence);
            }
            4 => {
                world.delete(key);
            }
            5..8 => {
                world.read(key);
            }
            _ => {
                world.advance();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

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
        world.drain();
        for number in 0..KEYS {
            world.read(World::key(number));
        }
        world.drain();
        world.check();
    }
}

/// Whatever is lost, every request is answered, and no read is wrong.
#[test]
fn lost_answers_and_many_lost_servers_never_make_a_read_wrong_or_endless() {
    for seed in 0..100 {
        let mut world = World::new(Code::new(5, 3).expect("it is a code"), 2, seed);
        world.losses = 20;
        play(&mut world, 900, &[100, 200, 300, 400]);
        world.drain();
        assert!(world.calls.values().all(|call| call.answered.is_some()));
        let is_lost = |answer| answer == Some(TierAnswer::Refused(TierRefusal::Unavailable));
        let keys: Vec<_> = world.calls.values().filter(|call| is_lost(call.answer)).collect();
        let keys: Vec<_> = keys.into_iter().map(|call| call.key).collect();
        // Values may be gone now. What was read was written by somebody: the world sees to that.
        world.calls.retain(|_, call| !keys.contains(&call.key));
    }
}

#[test]
fn any_two_servers_of_a_sealed_store_can_die_and_all_is_read() {
    let code = Code::new(6, 4).expect("it is a code");
    for seed in 0..20 {
        let mut world = World::new(code, 2, seed);
        let tickets: Vec<_> =
            (0..400).map(|number| world.put(World::key(number), 300, Presence::Any)).collect();
        world.drain();
        assert!(tickets.iter().all(|ticket| world.calls[ticket].answered.is_some()));
        assert!(world.tier.sealed_stripes() >= 5, "{}", world.tier.sealed_stripes());
        for _ in 0..2 {
            let server = victim(&mut world);
            world.kill(server, true);
        }
        for number in 0..400 {
            world.read(World::key(number));
        }
        world.drain();
        world.check();
        assert!(world.decoded > 0);
    }
}
