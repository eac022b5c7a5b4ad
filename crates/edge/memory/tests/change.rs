//! The tier while values expire, memory is short, servers are mended, and rings change.

#[path = "support/load.rs"]
mod load;
mod support;

use bytes::Bytes;
use futures::future::join_all;
use load::{items, name, put_all, read_all, said, until, value, write_until};
use ripstop_memory::{MemoryServerState, Presence, RingChangeError};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, SystemTime},
};
use support::{Server, is_there, memory};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_values_are_coded_by_themselves_and_survive_two_servers() {
    if !is_there() {
        return;
    }
    for (code, count) in [((5, 3), 5), ((3, 3), 3), ((6, 4), 9)] {
        let (mut servers, memory) = memory(code, count);
        let lens = [4093, 4100, 10_000, 65_536, 300_001, 1 << 20];
        let long = |len: usize| -> Bytes { (0..len).map(|at| (at * 7 + at / 251) as u8).collect() };
        for len in lens {
            let key = format!("{len}");
            memory.put(key.as_bytes(), Bytes::from_static(b"x"), Presence::Any).await.unwrap();
            memory.put(key.as_bytes(), long(len), Presence::Any).await.unwrap();
        }
        for is_killed in [false, code.0 > code.1] {
            if is_killed {
                servers[0].kill();
                servers[4].kill();
            }
            for len in lens {
                let got = memory.get(format!("{len}").as_bytes()).await.unwrap().unwrap();
                assert!(got.bytes == long(len), "{len}, {is_killed}");
            }
        }
        let status = memory.status();
        assert_eq!(status.decoded > 0, code.0 > code.1, "{status:?}");
        assert_eq!((status.keys, status.held_bytes, status.damaged), (6, 0, 0), "{status:?}");
    }
}

#[tokio::test]
async fn values_expire_when_the_wall_clock_says_so() {
    if !is_there() {
        return;
    }
    let (_servers, memory) = memory((5, 3), 5);
    let soon = SystemTime::now() + Duration::from_millis(300);
    let bytes = || Bytes::from_static(b"value");
    memory.put_until(b"soon", bytes(), Presence::Any, Some(soon)).await.unwrap();
    memory.put_until(b"long", vec![7; 9000].into(), Presence::Any, Some(soon)).await.unwrap();
    let later = SystemTime::now() + Duration::from_hours(1);
    memory.put_until(b"later", bytes(), Presence::Any, Some(later)).await.unwrap();
    memory.put_until(b"past", bytes(), Presence::Any, Some(SystemTime::UNIX_EPOCH)).await.unwrap();
    assert_eq!(memory.get(b"past").await, Ok(None));
    assert!(memory.get(b"soon").await.unwrap().is_some());
    assert!(memory.get(b"long").await.unwrap().is_some());
    until("they expire unasked", || memory.status().keys == 1).await;
    assert_eq!(memory.get(b"soon").await, Ok(None));
    assert_eq!(memory.get(b"long").await, Ok(None));
    assert_eq!(memory.get(b"later").await.unwrap().unwrap().bytes, bytes());
    memory.put(b"soon", bytes(), Presence::Absent).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_have_no_more_than_the_limit_and_dead_bytes_go() {
    if !is_there() {
        return;
    }
    let (servers, memory) = memory((5, 3), 5);
    for turn in 0..20 {
        put_all(&memory, 0..300, turn).await;
    }
    read_all(&memory, 0..300, 19).await;
    until("dead items are deleted", || {
        let status = memory.status();
        status.dead_bytes * 3 < status.chunk_bytes + 15 * 4096
    })
    .await;
    let limit = 1 << 20;
    memory.limit_memory(limit);
    put_all(&memory, 300..3000, 1).await;
    let mut bytes = 0;
    for server in &servers {
        let text = said(server, "stats\r\n").await;
        let of_server = text.lines().find_map(|line| line.strip_prefix("STAT bytes "));
        bytes += of_server.and_then(|of| of.parse::<u64>().ok()).expect("it counts bytes");
    }
    let status = memory.status();
    assert!(bytes < limit * 5 / 4, "{bytes} bytes, {status:?}");
    assert!(bytes > limit / 2 && bytes < status.stored_bytes * 5 / 4, "{bytes}, {status:?}");
    // What is left is right.
    for number in 0..3000 {
        let got = memory.get(name(number).as_bytes()).await.unwrap();
        let turn = if number < 300 { 19 } else { 1 };
        assert!(got.is_none_or(|got| got.bytes == value(number, turn)), "{number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_lost_server_had_is_made_again_so_that_others_may_be_lost() {
    if !is_there() {
        return;
    }
    let (mut servers, memory) = memory((5, 3), 10);
    put_all(&memory, 0..1000, 1).await;
    memory.put(b"long", vec![7; 100_000].into(), Presence::Any).await.unwrap();
    // One after another, six of ten; each ring keeps a server.
    for (lost, server) in servers.iter_mut().enumerate().take(5) {
        server.kill();
        put_all(&memory, 0..50, lost + 2).await;
        read_all(&memory, 50..1000, 1).await;
        until("all is mended", || memory.status().wounds == 0).await;
    }
    let decoded = memory.status().decoded;
    read_all(&memory, 50..1000, 1).await;
    read_all(&memory, 0..50, 6).await;
    assert_eq!(memory.status().decoded, decoded, "all is where it was read from");
    servers[5].kill();
    servers[8].kill();
    read_all(&memory, 50..1000, 1).await;
    read_all(&memory, 0..50, 6).await;
    assert_eq!(memory.get(b"long").await.unwrap().unwrap().bytes, vec![7; 100_000]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_come_and_go_under_load() {
    if !is_there() {
        return;
    }
    let (servers, memory) = memory((5, 3), 5);
    put_all(&memory, 0..600, 0).await;
    memory.put(b"long", vec![7; 100_000].into(), Presence::Any).await.unwrap();
    let more = [Server::start(), Server::start()];
    let is_over = AtomicBool::new(false);
    let keys = |writer: usize| (0..600).filter(|key| key % 16 == writer).collect();
    let writers = join_all((0..16).map(|writer| write_until(&memory, &is_over, keys(writer))));
    let changes = async {
        memory.add_server(1, more[0].at()).unwrap();
        memory.add_server(4, more[1].at()).unwrap();
        memory.remove_server(servers[1].at()).unwrap();
        for _ in 0..400 {
            tokio::time::sleep(Duration::from_millis(10)).await;
            if memory.servers().len() == 6 {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    };
    let (turns, ()) = tokio::join!(writers, changes);
    assert_eq!(memory.servers().len(), 6);
    // All that it has is what tells whether it was emptied.
    assert_eq!(items(&servers[1]).await, 1);
    assert!(items(&more[0]).await > 50 && items(&more[1]).await > 50);
    for (writer, turns) in turns.into_iter().enumerate() {
        for (number, turn) in keys(writer).into_iter().zip(turns) {
            read_all(&memory, number..number + 1, turn).await;
        }
    }
    assert_eq!(memory.get(b"long").await.unwrap().unwrap().bytes, vec![7; 100_000]);
    let status = memory.status();
    assert_eq!((status.decoded, status.damaged, status.wounds), (0, 0, 0), "{status:?}");
    let known = RingChangeError::Known(more[0].at());
    assert_eq!(memory.add_server(0, more[0].at()), Err(known));
    assert_eq!(memory.add_server(5, servers[1].at()), Err(RingChangeError::Ring(5)));
    let gone = RingChangeError::Unknown(servers[1].at());
    assert_eq!(memory.remove_server(servers[1].at()), Err(gone));
    let last = RingChangeError::Last(more[0].at());
    assert_eq!(memory.remove_server(more[0].at()), Err(last));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flush_leaves_nothing_at_the_servers() {
    if !is_there() {
        return;
    }
    let (servers, memory) = memory((5, 3), 5);
    put_all(&memory, 0..1000, 1).await;
    memory.put(b"long", vec![7; 100_000].into(), Presence::Any).await.unwrap();
    memory.flush().await.unwrap();
    let status = memory.status();
    assert_eq!((status.keys, status.stored_bytes, status.sealed_stripes), (0, 0, 0), "{status:?}");
    for server in &servers {
        assert_eq!(items(server).await, 1);
    }
    assert_eq!(memory.get(name(1).as_bytes()).await, Ok(None));
    put_all(&memory, 0..1000, 2).await;
    read_all(&memory, 0..1000, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rings_become_what_they_are_set_to_and_what_cannot_be_changes_nothing() {
    if !is_there() {
        return;
    }
    let (servers, memory) = memory((3, 2), 3);
    put_all(&memory, 0..500, 1).await;
    let more: Vec<Server> = (0..2).map(|_| Server::start()).collect();
    let at = |server: &Server| server.at();
    let rings =
        vec![vec![at(&servers[0]), at(&more[0])], vec![at(&more[1])], vec![at(&servers[2])]];
    for wrong in [
        vec![rings[0].clone(), rings[1].clone()],
        vec![rings[0].clone(), rings[1].clone(), Vec::new()],
        // One of another ring has to leave first.
        vec![rings[0].clone(), vec![at(&servers[2])], vec![at(&servers[1])]],
    ] {
        memory.set_rings(&wrong).unwrap_err();
        let there: Vec<_> = memory.servers().iter().map(|server| server.at).collect();
        assert_eq!(there, [at(&servers[0]), at(&servers[1]), at(&servers[2])]);
    }
    memory.set_rings(&rings).unwrap();
    assert!(memory.status().points_left > 0);
    until("rings are what they should be", || {
        memory.status().points_left == 0 && memory.servers().len() == 4
    })
    .await;
    let servers_now = memory.servers();
    assert!(servers_now.iter().all(|server| server.state == MemoryServerState::Up));
    for (ring, named) in rings.iter().enumerate() {
        let there = servers_now.iter().filter(|server| server.ring == ring).map(|it| it.at);
        let (mut there, mut named): (Vec<_>, _) = (there.collect(), named.clone());
        there.sort_unstable();
        named.sort_unstable();
        assert_eq!(there, named);
    }
    assert!(items(&more[0]).await > 20 && items(&more[1]).await > 100);
    assert_eq!(items(&servers[1]).await, 1);
    let decoded = memory.status().decoded;
    read_all(&memory, 0..500, 1).await;
    assert_eq!(memory.status().decoded, decoded, "everything is where it is looked for");
    memory.set_rings(&rings).unwrap();
    assert_eq!(memory.status().points_left, 0, "nothing is left to do");
    memory.repair();
    assert_eq!(memory.status().wounds, 0);
}
