//! A door over memcached servers that is killed at random moments and started again: what was
//! answered is there, what was deleted is not, and versions go on.
#![allow(clippy::unwrap_used, reason = "a test ends where anything fails")]
#![allow(clippy::print_stdout, reason = "the door says where it is")]

mod killed;
#[path = "../../memory/tests/support/mod.rs"]
mod support;

use killed::{Client, Killed, RINGS, Seen};
use ripstop_kv::{CodedShelf, KvDoor, KvSettings};
use ripstop_memory::{CodedMemory, CodedMemorySettings};
use std::{env, io::Read as _, thread, time::Duration};
use support::{Server, is_there};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const CLIENTS: usize = 6;
const KEYS: usize = 240;

#[test]
#[ignore = "it is the door, which the tests here start and kill"]
fn door() {
    let rings = env::var(RINGS).expect("its servers are named");
    thread::spawn(|| {
        // Whoever started it is gone.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let settings = CodedMemorySettings {
            rings: rings.split(';').map(|server| vec![server.parse().unwrap()]).collect(),
            ..support::settings((5, 3), &[])
        };
        let memory = CodedMemory::recover(settings, &support::key()).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("\nat {}", listener.local_addr().unwrap());
        let door = KvDoor::new(CodedShelf::new(memory), KvSettings::default());
        door.serve(listener, CancellationToken::new()).await;
    });
}

/// Plays it with a door that is killed as often as that; before which of these starts a server
/// dies for good.
fn play(seed: u64, kills: u64, deaths: &[u64]) {
    let mut servers: Vec<Server> = (0..5).map(|_| Server::start()).collect();
    let rings: Vec<String> = servers.iter().map(|server| server.at().to_string()).collect();
    let keys = |client| (0..KEYS).filter(move |key| key % CLIENTS == client);
    let mut clients: Vec<Client> =
        (0..CLIENTS).map(|client| Client::new(seed + client as u64, keys(client))).collect();
    let mut dice = seed;
    for start in 0..kills {
        for death in deaths.iter().filter(|death| **death == start) {
            servers[(*death as usize * 3) % 5].kill();
        }
        let door = Killed::start(&rings.join(";"));
        dice = dice.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let span = Duration::from_millis(30 + (dice >> 40) % 400);
        thread::scope(|scope| {
            for client in &mut clients {
                let at = door.at;
                scope.spawn(move || {
                    client.audit(at);
                    client.write_until_killed(at);
                });
            }
            thread::sleep(span);
            door.kill();
        });
    }
    let door = Killed::start(&rings.join(";"));
    let mut seen = Seen::default();
    for client in &mut clients {
        client.audit(door.at);
        seen.add(client.seen);
    }
    assert!(seen.answered > 20 * kills && seen.values > 0 && seen.nothing > 0, "{seen:?}");
    // Nothing is left that the index does not know of.
    killed::flush(door.at);
    for server in servers.iter().filter(|server| server.is_running()) {
        assert_eq!(killed::items(server.at()), 1, "of the keepsake alone");
    }
}

#[test]
fn what_was_answered_is_there_after_each_of_many_kills() {
    if is_there() {
        play(1, 12, &[]);
    }
}

#[test]
fn the_same_with_as_many_servers_dead_as_may_be() {
    if is_there() {
        play(7, 8, &[2, 4]);
    }
}
